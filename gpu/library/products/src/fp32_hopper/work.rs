//! The distribution of tiles and K steps over blocks.

use super::COLUMNS;
use crate::in_groups;

/// The tiles of C and their distribution, and what the operands are. Tiles before `shared` are multiplied whole, each
/// by one block. The K steps of the others are divided evenly among all blocks, which add their parts to C. A
/// cluster has one tile, and that is shared.
#[simt::argument]
#[derive(Clone, Copy)]
pub struct Work {
    /// Rows of a tile.
    pub rows: u32,
    /// Tiles along m.
    pub down: u32,
    /// Tiles along n.
    pub along: u32,
    /// K steps.
    pub steps: u32,
    /// Blocks.
    pub blocks: u32,
    /// The first tile that several blocks work on.
    pub shared: u32,
    /// Whether A has a tensor map; otherwise there is a copy in tiles.
    pub boxes_a: u32,
    /// Whether B has a tensor map; otherwise there is a copy in tiles.
    pub boxes_b: u32,
}

/// A tile, or a part of its K steps.
#[derive(Clone, Copy)]
pub(super) struct Unit {
    /// First row of the tile.
    pub(super) row: u32,
    /// First column of the tile.
    pub(super) column: u32,
    /// The first step.
    pub(super) from: u32,
    /// Steps.
    pub(super) steps: u32,
    /// Whether the sums are added to C atomically, because other blocks add to it too.
    pub(super) adds: bool,
}

/// The units of a block, in sequence. Those who copy and those who multiply count through them alike.
#[derive(Clone, Copy)]
pub(super) struct Units {
    pub(super) work: Work,
    /// The next step of the shared tiles, counted over all of them, and the end of the block's part.
    step: u32,
    end: u32,
    /// The next whole tile.
    tile: u32,
}

impl Work {
    /// The tiles of C.
    pub(super) const fn tiles(&self) -> u32 {
        self.down * self.along
    }

    /// First row and column of a tile.
    #[inline(always)]
    pub(super) fn place(&self, tile: u32) -> (u32, u32) {
        let (row, column) = in_groups(tile, self.down, self.along);
        (row * self.rows, column * COLUMNS)
    }
}

impl Units {
    /// All units of the block with this number.
    #[inline(always)]
    pub(super) fn of_block(work: Work, block: u32) -> Self {
        let all = (work.tiles() - work.shared) as u64 * work.steps as u64;
        let begin = |block: u32| (block as u64 * all / work.blocks as u64) as u32;
        Self { work, step: begin(block), end: begin(block + 1), tile: block }
    }

    /// The steps of `tile` that a block of its cluster takes, by its rank and the cluster's size.
    #[inline(always)]
    pub(super) fn of_part(work: Work, tile: u32, (rank, blocks): (u32, u32)) -> Self {
        let begin = |rank: u32| tile * work.steps + rank * work.steps / blocks;
        Self { work, step: begin(rank), end: begin(rank + 1), tile: 0 }
    }

    /// The next unit: first the block's parts of shared tiles, then whole tiles.
    #[inline(always)]
    pub(super) fn next(&mut self) -> Option<Unit> {
        let work = self.work;
        if self.step < self.end {
            let (tile, from) = (self.step / work.steps, self.step % work.steps);
            let steps = (work.steps - from).min(self.end - self.step);
            self.step += steps;
            let (row, column) = work.place(work.shared + tile);
            return Some(Unit { row, column, from, steps, adds: true });
        }
        if self.tile < work.shared {
            let (row, column) = work.place(self.tile);
            self.tile += work.blocks;
            return Some(Unit { row, column, from: 0, steps: work.steps, adds: false });
        }
        None
    }
}
