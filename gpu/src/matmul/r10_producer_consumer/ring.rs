//! The ring of stages in shared memory, its barriers, and the thread that fills it.

use super::work::{Units, Work};
use super::{COLUMNS, DEPTH, ROWS, STAGES, WARPS};
use crate::matmul::Shape;
use simt::mbarrier::{self, Mbarrier};
use simt::{Global, Shared, bulk, shared, thread};

/// Elements of A, of B, and of both in a stage.
pub(super) const STAGE_A: u32 = ROWS * DEPTH;
const STAGE_B: u32 = COLUMNS * DEPTH;
pub(super) const STAGE: u32 = STAGE_A + STAGE_B;
/// Bytes of the barriers.
#[cfg(not(target_os = "cuda"))]
pub(super) const BARRIER_BYTES: u32 = 2 * STAGES * 8;

shared!(
    /// Two barriers per stage.
    BARRIERS: [u64; 2 * STAGES]
);

/// A stage is first full: its elements are there …
#[inline(always)]
pub(super) fn full(stage: u32) -> Mbarrier {
    Mbarrier::at(BARRIERS::view(), stage)
}

/// … then empty: all warps have them in registers.
#[inline(always)]
pub(super) fn empty(stage: u32) -> Mbarrier {
    Mbarrier::at(BARRIERS::view(), STAGES + stage)
}

/// Makes the barriers; one thread calls it.
#[inline(always)]
pub(super) fn init_barriers() {
    let mut stage = 0;
    while stage < STAGES {
        full(stage).init(1); // the producer, and the bytes that it announces
        empty(stage).init(WARPS);
        stage += 1;
    }
    mbarrier::fence_init();
    bulk::fence(); // the copy engine sees the barriers too
}

/// Where in the ring a role is: the stage, and the parity of its barriers' phase.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub(super) stage: u32,
    pub(super) parity: u32,
}

impl Place {
    pub(super) const FIRST: Self = Self { stage: 0, parity: 0 };

    #[inline(always)]
    pub(super) fn next(self) -> Self {
        let wraps = self.stage == STAGES - 1;
        Self { stage: if wraps { 0 } else { self.stage + 1 }, parity: self.parity ^ wraps as u32 }
    }
}

/// The elements of a stage: `DEPTH` times 256 rows of A, then `DEPTH` times 128 columns of B.
#[inline(always)]
pub(super) fn elements(stage: u32) -> Shared<f32> {
    Shared::dynamic(stage * STAGE * 4, STAGE)
}

/// Where the operands are. A is copied to tiles of all k of 256 rows.
#[simt::argument]
#[derive(Clone, Copy)]
pub struct Operands {
    /// Rows of B that are there; behind them it counts as zero.
    pub deep: u32,
    /// Elements of B from one tile to the next.
    pub of_tile: u32,
    /// Elements of B from one row to the next.
    pub of_row: u32,
    /// Whether every tile of B has all its columns.
    pub whole: u32,
    /// Elements along k of a tile of A.
    pub depth: u32,
}

/// The thread that fills the ring.
pub(super) struct Producer {
    a: Global<f32>,
    b: Global<f32>,
    zeros: Global<f32>,
    operands: Operands,
    place: Place,
}

impl Producer {
    #[inline(always)]
    pub(super) fn new(a: Global<f32>, b: Global<f32>, zeros: Global<f32>, operands: Operands) -> Self {
        Self { a, b, zeros, operands, place: Place::FIRST }
    }

    /// Fills stage after stage, for all units of the block.
    #[inline(always)]
    pub(super) fn run(mut self, shape: Shape, work: Work) {
        let mut units = Units::of_block(work, thread::block_idx_x());
        let mut last = None;
        while let Some(unit) = units.next() {
            let columns = if self.operands.whole != 0 { COLUMNS } else { (shape.n - unit.column).min(COLUMNS) };
            let mut step = unit.from;
            while step < unit.from + unit.steps {
                self.fill(unit.row, unit.column, step, columns);
                step += 1;
            }
            last = Some((unit.row, unit.column, columns));
        }
        // Those who multiply load the first elements of a stage while they multiply the last of the one before. Behind
        // the last stage there is one more for that, whose sums nobody uses.
        if let Some((row, column, columns)) = last {
            self.fill(row, column, 0, columns);
        }
    }

    /// Waits until the next stage is empty, and has a step of A and B copied to it.
    #[inline(always)]
    fn fill(&mut self, row: u32, column: u32, step: u32, columns: u32) {
        let Place { stage, parity } = self.place;
        // The phase before the first counts as ended.
        empty(stage).wait(parity ^ 1);
        let (to, barrier, operands) = (elements(stage), full(stage), self.operands);
        barrier.arrive_expecting((STAGE_A + DEPTH * columns) * 4);
        bulk::load(to.slice(0, STAGE_A), self.a.slice(row * operands.depth + step * STAGE_A, STAGE_A), barrier);
        if operands.whole != 0 {
            let from = column / COLUMNS * operands.of_tile + step * STAGE_B;
            bulk::load(to.slice(STAGE_A, STAGE_B), self.b.slice(from, STAGE_B), barrier);
        } else {
            self.rows_of_b(to, column, step, columns, barrier);
        }
        self.place = self.place.next();
    }

    /// Has the rows of a step of B copied, one by one.
    #[inline(always)]
    fn rows_of_b(&self, to: Shared<f32>, column: u32, step: u32, columns: u32, barrier: Mbarrier) {
        let mut e = 0;
        while e < DEPTH {
            let of_k = step * DEPTH + e;
            let from = if of_k < self.operands.deep {
                self.b.slice(column + of_k * self.operands.of_row, columns)
            } else {
                self.zeros.slice(0, columns)
            };
            bulk::load(to.slice(STAGE_A + e * COLUMNS, columns), from, barrier);
            e += 1;
        }
    }
}
