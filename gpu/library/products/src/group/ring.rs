//! The ring of stages in shared memory, its barriers, and what fills a stage.

use rungs_common::ring::Place;
use simt::mbarrier::{self, Mbarrier};
use simt::tensor_map::TensorMap;
#[cfg(not(target_os = "cuda"))]
use simt::warpgroup::MORE;
use simt::warpgroup::{ROW, Tile};
use simt::{Global, Operand, bulk, shared};

/// Stages that any ring has at most.
const MOST: u32 = 8;
/// Bytes of the barriers.
#[cfg(not(target_os = "cuda"))]
pub(super) const BARRIER_BYTES: u32 = 2 * MOST * 8;

shared!(
    /// Two barriers per stage.
    BARRIERS: [u64; 2 * MOST]
);

/// A stage is first full: its tiles are there …
#[simt::device]
pub(super) fn full(stage: u32) -> Mbarrier {
    Mbarrier::at(BARRIERS::view(), stage)
}

/// … then empty: all warps have multiplied its elements. For a ring of the given number of stages.
#[simt::device]
pub(super) fn empty(stage: u32, stages: u32) -> Mbarrier {
    Mbarrier::at(BARRIERS::view(), stages + stage)
}

/// An operand that stages are filled from, by tiles of its rows and K steps.
pub trait Filled<T>: Copy {
    /// Has the operand's map fetched, if it has one, so that the first copy need not wait for it.
    fn prefetch(self);

    /// Starts to fill `to` with one K step of a tile. `first`: the tile's first row, in rows of a part. `step`:
    /// the number of the step, and of how many.
    fn load(self, to: Tile<T>, first: (u32, u32), step: (u32, u32), barrier: Mbarrier);
}

/// A copy in tiles: the parts of a step are side by side.
impl<T: Operand> Filled<T> for Global<T> {
    #[simt::device]
    fn prefetch(self) {}

    #[simt::device]
    fn load(self, to: Tile<T>, (first, rows): (u32, u32), (step, steps): (u32, u32), barrier: Mbarrier) {
        let len = to.elements().len();
        bulk::load(to.elements(), self.slice((first / rows * steps + step) * len, len), barrier);
    }
}

/// The operand as it is, which is K-major.
impl<T: Operand> Filled<T> for TensorMap<T> {
    #[simt::device]
    fn prefetch(self) {
        TensorMap::prefetch(self);
    }

    #[simt::device]
    fn load(self, to: Tile<T>, (first, _): (u32, u32), (step, _): (u32, u32), barrier: Mbarrier) {
        TensorMap::load(self, to, first, step * Tile::<T>::DEPTH, barrier);
    }
}

/// The sizes of a ring: a stage has the parts of a tile of A, in sequence, and then those of B.
#[derive(Clone, Copy)]
pub(super) struct Ring {
    /// Rows of A.
    pub(super) rows: u32,
    /// Columns of B.
    pub(super) columns: u32,
    /// Parts of an element of A, and of B.
    pub(super) parts_a: u32,
    pub(super) parts_b: u32,
    pub(super) stages: u32,
}

impl Ring {
    /// Bytes of one part of A, of one of B, and of a stage.
    const fn part_a(self) -> u32 {
        self.rows * ROW
    }

    const fn part_b(self) -> u32 {
        self.columns * ROW
    }

    pub(super) const fn stage(self) -> u32 {
        self.parts_a * self.part_a() + self.parts_b * self.part_b()
    }

    /// Bytes of dynamic shared memory.
    #[cfg(not(target_os = "cuda"))]
    pub(super) const fn bytes(self) -> u32 {
        assert!(self.stages <= MOST);
        self.bytes_of_stages() + MORE
    }

    /// Bytes of the stages.
    pub(super) const fn bytes_of_stages(self) -> u32 {
        self.stages * self.stage()
    }

    /// All stages, as one tile whose address is kept: for roles that have no registers to save.
    #[simt::device]
    pub(super) fn whole<T: Operand>(self) -> Tile<T> {
        Tile::dynamic(0, self.bytes_of_stages() / ROW).kept()
    }

    /// The rows of a stage of [`Ring::whole`] that are the only part of the tile of A, and those of B.
    #[simt::device]
    pub(super) fn stage_of<T: Operand>(self, whole: Tile<T>, stage: u32) -> (Tile<T>, Tile<T>) {
        let first = stage * (self.rows + self.columns);
        (whole.rows(first, self.rows), whole.rows(first + self.rows, self.columns))
    }

    /// A part of the tile of A in a stage.
    #[simt::device]
    pub(super) fn a<T: Operand>(self, stage: u32, part: u32) -> Tile<T> {
        Tile::dynamic(stage * self.stage() + part * self.part_a(), self.rows)
    }

    /// A part of the tile of B in a stage.
    #[simt::device]
    pub(super) fn b<T: Operand>(self, stage: u32, part: u32) -> Tile<T> {
        let first = stage * self.stage() + self.parts_a * self.part_a();
        Tile::dynamic(first + part * self.part_b(), self.columns)
    }

    /// Initialises the mbarriers for the given number of warps that multiply; one thread calls it.
    #[simt::device]
    pub(super) fn init_barriers(self, warps: u32) {
        let mut stage = 0;
        while stage < self.stages {
            full(stage).init(1); // the thread that copies, and the bytes that it announces
            empty(stage, self.stages).init(warps);
            stage += 1;
        }
        mbarrier::fence_init();
        bulk::fence(); // the copy engine sees the barriers too
    }

    /// Waits until a stage is empty, and has one K step of A and of B copied to it, for the tile of C whose first
    /// row and column are given.
    #[simt::device]
    pub(super) fn fill<T: Operand>(
        self,
        Place { stage, parity }: Place,
        (a, b): (impl Filled<T>, Global<T>),
        (row, column): (u32, u32),
        step: (u32, u32),
    ) {
        // The phase before the first counts as ended.
        empty(stage, self.stages).wait(parity ^ 1);
        let barrier = full(stage);
        barrier.arrive_expecting(self.stage());
        let first = stage * self.stage();
        let to_a = Tile::dynamic(first, self.parts_a * self.rows);
        let to_b = Tile::dynamic(first + self.parts_a * self.part_a(), self.parts_b * self.columns);
        a.load(to_a, (row, self.rows), step, barrier);
        b.load(to_b, (column, self.columns), step, barrier);
    }
}
