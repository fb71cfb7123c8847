//! Which block multiplies what.

use super::{COLUMNS, ROWS};
use crate::matmul::in_groups;

/// The tiles of C and their distribution. Tiles before `shared` are multiplied whole, each by one block. The steps
/// along k of the others are divided evenly among all blocks, which add their parts to C.
#[simt::argument]
#[derive(Clone, Copy)]
pub struct Work {
    /// Tiles along m.
    pub down: u32,
    /// Tiles along n.
    pub along: u32,
    /// Steps along k.
    pub steps: u32,
    /// Blocks.
    pub blocks: u32,
    /// The first tile that several blocks work on.
    pub shared: u32,
}

/// A tile, or a part of its steps along k.
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
    /// Whether the sums are added to C, for others add to it too.
    pub(super) adds: bool,
}

/// The units of a block, one after the other. Those who copy and those who multiply count through them alike.
#[derive(Clone, Copy)]
pub(super) struct Units {
    work: Work,
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
        (row * ROWS, column * COLUMNS)
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

#[cfg(not(target_os = "cuda"))]
mod host {
    use super::*;
    use crate::matmul::Shape;
    use crate::matmul::r10_producer_consumer::DEPTH;

    /// Below this share of busy blocks in the last round of whole tiles it pays to divide fewer tiles than blocks.
    const BUSY: f64 = 0.8;

    impl Work {
        /// The distribution for so many blocks at a time.
        pub(in super::super) fn of(shape: &Shape, multiprocessors: u32) -> Self {
            let (down, along) = (shape.m.div_ceil(ROWS), shape.n.div_ceil(COLUMNS));
            let (tiles, steps) = (down * along, shape.k.div_ceil(DEPTH));
            let rounds = tiles / multiprocessors;
            if steps == 0 {
                return Self { down, along, steps, blocks: 0, shared: 0 };
            }
            let whole = tiles.is_multiple_of(multiprocessors)
                || rounds == 0 && f64::from(tiles) >= BUSY * f64::from(multiprocessors);
            // With one full round among the shared tiles a block has more than a tile's steps, so that no tile has
            // more than two blocks.
            let shared = if whole { tiles } else { rounds.saturating_sub(1) * multiprocessors };
            let parts = (u64::from(tiles - shared) * u64::from(steps)).max(shared.into());
            let blocks = parts.min(multiprocessors.into()) as u32;
            Self { down, along, steps, blocks, shared }
        }
    }
}
