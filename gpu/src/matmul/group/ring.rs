//! The ring of stages in shared memory, its barriers, and what fills a stage.

use crate::ring::Place;
use simt::mbarrier::{self, Mbarrier};
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
#[inline(always)]
pub(super) fn full(stage: u32) -> Mbarrier {
    Mbarrier::at(BARRIERS::view(), stage)
}

/// … then empty: all warps have multiplied what is there. Of a ring of so many stages.
#[inline(always)]
pub(super) fn empty(stage: u32, stages: u32) -> Mbarrier {
    Mbarrier::at(BARRIERS::view(), stages + stage)
}

/// Two more barriers, for sums that one group gives another. Of a ring that has less than the most stages.
#[inline(always)]
pub(super) fn given(stages: u32) -> Mbarrier {
    Mbarrier::at(BARRIERS::view(), 2 * stages)
}

/// See [`given`].
#[inline(always)]
pub(super) fn taken(stages: u32) -> Mbarrier {
    Mbarrier::at(BARRIERS::view(), 2 * stages + 1)
}

/// The sizes of a ring: a stage has the parts of a tile of A, one after the other, and then those of B.
#[derive(Clone, Copy)]
pub(super) struct Ring {
    /// Rows of A.
    pub(super) rows: u32,
    /// Columns of B.
    pub(super) columns: u32,
    /// Parts of an element.
    pub(super) parts: u32,
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
        self.parts * (self.part_a() + self.part_b())
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

    /// A part of the tile of A in a stage.
    #[inline(always)]
    pub(super) fn a<T: Operand>(self, stage: u32, part: u32) -> Tile<T> {
        Tile::dynamic(stage * self.stage() + part * self.part_a(), self.rows)
    }

    /// A part of the tile of B in a stage.
    #[inline(always)]
    pub(super) fn b<T: Operand>(self, stage: u32, part: u32) -> Tile<T> {
        let first = stage * self.stage() + self.parts * self.part_a();
        Tile::dynamic(first + part * self.part_b(), self.columns)
    }

    /// Makes the barriers, for so many warps that multiply; one thread calls it.
    #[inline(always)]
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

    /// Waits until a stage is empty, and has a step of A and one of B copied to it. `a` and `b` are copies in tiles.
    #[inline(always)]
    pub(super) fn fill<T: Operand>(
        self,
        Place { stage, parity }: Place,
        (a, of_a): (Global<T>, u32),
        (b, of_b): (Global<T>, u32),
    ) {
        // The phase before the first counts as ended.
        empty(stage, self.stages).wait(parity ^ 1);
        let barrier = full(stage);
        barrier.arrive_expecting(self.stage());
        let bytes = size_of::<T>() as u32;
        let (len_a, len_b) = (self.parts * self.part_a() / bytes, self.parts * self.part_b() / bytes);
        let (to_a, to_b) = (
            Tile::<T>::dynamic(stage * self.stage(), self.parts * self.rows),
            Tile::<T>::dynamic(stage * self.stage() + len_a * bytes, self.parts * self.columns),
        );
        bulk::load(to_a.elements(), a.slice(of_a * len_a, len_a), barrier);
        bulk::load(to_b.elements(), b.slice(of_b * len_b, len_b), barrier);
    }
}
