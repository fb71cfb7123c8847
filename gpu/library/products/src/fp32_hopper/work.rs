//! The distribution of tiles and K steps over blocks.

use super::COLUMNS;
use crate::in_groups;
use core::ops::Range;

/// The tiles of C and their distribution, and what the operands are. Tiles before `shared` are multiplied whole, each
/// by one block. The K steps of the others are divided evenly among all blocks; what is a part of a tile goes to
/// scratch memory, and another launch adds up the parts. A cluster has one tile, and that is shared.
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
    /// The number of the part if other blocks have the tile's other steps.
    pub(super) part: Option<u32>,
}

/// The units of a block, in sequence. Those who copy and those who multiply count through them alike.
#[derive(Clone, Copy)]
pub(super) struct Units {
    pub(super) work: Work,
    block: u32,
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
    #[simt::device]
    pub(super) fn place(&self, tile: u32) -> (u32, u32) {
        let (row, column) = in_groups(tile, self.down, self.along);
        (row * self.rows, column * COLUMNS)
    }

    /// The K steps of all shared tiles.
    #[simt::device]
    fn shared_steps(&self) -> u64 {
        u64::from(self.tiles() - self.shared) * u64::from(self.steps)
    }

    /// The number of the part that a block has of a tile, from step `from` on. A block has at most two parts of tiles:
    /// the end of one or the middle, and the beginning of another.
    #[simt::device]
    pub(super) fn part(block: u32, from: u32) -> u32 {
        2 * block + u32::from(from == 0)
    }

    /// The parts of a shared tile in the order of their steps, none if one block has it whole: the first, and the
    /// blocks that have the others.
    #[simt::device]
    pub(super) fn parts(&self, tile: u32) -> Option<(u32, Range<u32>)> {
        let all = self.shared_steps();
        let block_of = |step: u64| (((step + 1) * u64::from(self.blocks) - 1) / all) as u32;
        let first = u64::from(tile) * u64::from(self.steps);
        let (from, to) = (block_of(first), block_of(first + u64::from(self.steps) - 1));
        (from < to).then(|| (Self::part(from, 0), from + 1..to + 1))
    }
}

impl Units {
    /// All units of the block with this number.
    #[simt::device]
    pub(super) fn of_block(work: Work, block: u32) -> Self {
        let all = work.shared_steps();
        let begin = |block: u32| (block as u64 * all / work.blocks as u64) as u32;
        Self { work, block, step: begin(block), end: begin(block + 1), tile: block }
    }

    /// The steps of `tile` that a block of its cluster takes, by its rank and the cluster's size.
    #[simt::device]
    pub(super) fn of_part(work: Work, tile: u32, (rank, blocks): (u32, u32)) -> Self {
        let begin = |rank: u32| tile * work.steps + rank * work.steps / blocks;
        Self { work, block: 0, step: begin(rank), end: begin(rank + 1), tile: 0 }
    }

    /// The next unit: first the block's parts of shared tiles, then whole tiles.
    #[simt::device]
    pub(super) fn next(&mut self) -> Option<Unit> {
        let work = self.work;
        if self.step < self.end {
            let (tile, from) = (self.step / work.steps, self.step % work.steps);
            let steps = (work.steps - from).min(self.end - self.step);
            self.step += steps;
            let (row, column) = work.place(work.shared + tile);
            let part = (steps < work.steps).then(|| Work::part(self.block, from));
            return Some(Unit { row, column, from, steps, part });
        }
        if self.tile < work.shared {
            let (row, column) = work.place(self.tile);
            self.tile += work.blocks;
            return Some(Unit { row, column, from: 0, steps: work.steps, part: None });
        }
        None
    }
}
