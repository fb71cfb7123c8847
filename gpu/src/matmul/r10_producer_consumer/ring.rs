//! The ring of stages in shared memory, its barriers, and the thread that fills it.

use super::work::{Unit, Units};
use super::{COLUMNS, DEPTH, ROWS, STAGES, WARPS};
use crate::matmul::operand::Source;
use crate::ring::Place;
use simt::mbarrier::{self, Mbarrier};
use simt::{Shared, bulk, shared};

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

/// The elements of a stage: `DEPTH` times 256 rows of A, then `DEPTH` times 128 columns of B.
#[inline(always)]
pub(super) fn elements(stage: u32) -> Shared<f32> {
    Shared::dynamic(stage * STAGE * 4, STAGE)
}

/// The thread that fills the ring.
pub(super) struct Producer {
    a: Source,
    b: Source,
    /// Steps of a tile of A, and of B, along k.
    steps: u32,
    place: Place,
}

impl Producer {
    /// Fills stage after stage, for all units of the block.
    #[inline(always)]
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
        // Those who multiply load the first elements of a stage while they multiply the last of the one before. Behind
        // the last stage there is one more for that, whose sums nobody uses.
        if let Some(unit) = last {
            producer.fill(unit, 0);
        }
    }

    /// Waits until the next stage is empty, and has a step of A and B copied to it.
    #[inline(always)]
    fn fill(&mut self, unit: Unit, step: u32) {
        let Place { stage, parity } = self.place;
        // The phase before the first counts as ended.
        empty(stage).wait(parity ^ 1);
        let (to, barrier) = (elements(stage), full(stage));
        barrier.arrive_expecting(STAGE * 4);
        self.a.load(to.slice(0, STAGE_A), (unit.row, ROWS), (step, self.steps), barrier);
        self.b.load(to.slice(STAGE_A, STAGE_B), (unit.column, COLUMNS), (step, self.steps), barrier);
        self.place = self.place.next(STAGES);
    }
}
