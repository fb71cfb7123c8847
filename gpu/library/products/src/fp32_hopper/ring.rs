//! The ring of stages in shared memory, its barriers, and the thread that fills it.

use super::work::{Unit, Units};
use super::{COLUMNS, DEPTH, ROWS, STAGES};
use crate::operand::Source;
use rungs_common::ring::Place;
use simt::mbarrier::{self, Mbarrier};
use simt::{Shared, bulk, shared};

/// Elements of A in a stage, of B, and of both.
const STAGE_A: u32 = ROWS * DEPTH;
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
#[simt::device]
pub(super) fn full(stage: u32) -> Mbarrier {
    Mbarrier::at(BARRIERS::view(), stage)
}

/// … then empty: all warps have them in registers.
#[simt::device]
pub(super) fn empty(stage: u32) -> Mbarrier {
    Mbarrier::at(BARRIERS::view(), STAGES + stage)
}

/// Initialises the mbarriers for the given number of warps that multiply a stage; one thread calls it.
#[simt::device]
pub(super) fn init_barriers(warps: u32) {
    let mut stage = 0;
    while stage < STAGES {
        full(stage).init(1); // the producer, and the bytes that it announces
        empty(stage).init(warps);
        stage += 1;
    }
    mbarrier::fence_init();
    bulk::fence(); // the copy engine sees the barriers too
}

/// The elements of A in a stage of a tile with the given number of rows: `DEPTH` times that number.
#[simt::device]
pub(super) fn of_a(stage: u32, rows: u32) -> Shared<f32> {
    Shared::dynamic(stage * STAGE * 4, rows * DEPTH)
}

/// The elements of B in a stage: `DEPTH` times 128 columns.
#[simt::device]
pub(super) fn of_b(stage: u32) -> Shared<f32> {
    Shared::dynamic((stage * STAGE + STAGE_A) * 4, STAGE_B)
}

/// The thread that fills the ring, for `GROUPS` groups that take turns.
pub(super) struct Producer<const GROUPS: u32> {
    a: Source,
    b: Source,
    /// Steps of a tile of A, and of B, along K.
    steps: u32,
    place: Place,
}

impl<const GROUPS: u32> Producer<GROUPS> {
    /// Rows of a tile.
    const ROWS: u32 = ROWS / GROUPS;

    /// Fills stage after stage, for all units of the block.
    #[simt::device]
    pub(super) fn run(a: Source, b: Source, mut units: Units) {
        a.prefetch();
        b.prefetch();
        let mut producer = Self { a, b, steps: units.work.steps, place: Place::FIRST };
        let mut last = None;
        while let Some(unit) = units.next() {
            let mut step = unit.from;
            while step < unit.from + unit.steps {
                producer.fill(unit, step);
                step += 1;
            }
            last = Some(unit);
        }
        // Consumers prefetch from the next stage while they multiply the last elements of this one. So the producer
        // fills one extra stage per group at the end, whose sums are never used.
        if let Some(unit) = last {
            let mut group = 0;
            while group < GROUPS {
                producer.fill(unit, 0);
                group += 1;
            }
        }
    }

    /// Waits until the next stage is empty, and has a step of A and B copied to it.
    #[simt::device]
    fn fill(&mut self, unit: Unit, step: u32) {
        let Place { stage, parity } = self.place;
        // The phase before the first counts as ended.
        empty(stage).wait(parity ^ 1);
        let barrier = full(stage);
        barrier.arrive_expecting((Self::ROWS + COLUMNS) * DEPTH * 4);
        self.a.load(of_a(stage, Self::ROWS), (unit.row, Self::ROWS), (step, self.steps), barrier);
        self.b.load(of_b(stage), (unit.column, COLUMNS), (step, self.steps), barrier);
        self.place = self.place.next(STAGES);
    }
}
