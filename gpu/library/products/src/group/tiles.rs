//! The distribution of C's tiles over blocks.

use super::super::{Real, Shape, divide, in_groups};
use super::ROWS;
use simt::warp::{self, FULL};
use simt::{cluster, thread};

/// Columns of a narrow tile, the last of a row of wider ones: all that these leave, if that is no more.
pub const NARROW: u32 = 64;

/// The tiles of C of a block, in sequence. The blocks of a cluster walk together, with tiles below each other.
pub(super) struct Tiles {
    /// Tiles of the whole cluster: how many there are along m, and along n without narrow ones; their size.
    down: u32,
    along: u32,
    rows: u32,
    columns: u32,
    /// The next tile that is not narrow, and the next narrow one, if it is below `narrow`.
    next: u32,
    next_narrow: u32,
    narrow: u32,
    /// Clusters in the grid, and those that have narrow tiles.
    step: u32,
    step_narrow: u32,
    /// The block's first row in a tile of the cluster.
    row: u32,
}

/// A tile: its first row and column, and whether it is narrow.
#[derive(Clone, Copy)]
pub(super) struct At {
    pub(super) row: u32,
    pub(super) column: u32,
    pub(super) narrow: bool,
}

/// How many tiles of C there are along m and along n without narrow ones, and how many narrow ones: `rows` and
/// `columns` are those of a tile.
#[simt::device]
pub(super) fn count<R: Real>(shape: &Shape<R>, rows: u32, columns: u32, has_narrow: bool) -> (u32, u32, u32) {
    let (down, rest) = (shape.m.div_ceil(rows), shape.n % columns);
    if has_narrow && rest > 0 && rest <= NARROW {
        (down, shape.n / columns, down)
    } else {
        (down, shape.n.div_ceil(columns), 0)
    }
}

/// The clusters that have narrow tiles: the first of them, and how many. Those with one wide tile less than others have
/// up to two each; if that is not enough, all clusters have some.
#[simt::device]
pub(super) fn among(wide: u32, narrow: u32, clusters: u32) -> (u32, u32) {
    let (_, more) = divide(wide, clusters);
    if narrow <= 2 * (clusters - more) { (more, clusters - more) } else { (0, clusters) }
}

impl Tiles {
    #[simt::device]
    pub(super) fn of_block(shape: &Shape, columns: u32) -> Self {
        Self::of_cluster::<1>(shape, ROWS, columns, false)
    }

    /// The tiles of a cluster of the given size, whose blocks all have the same tiles.
    #[simt::device]
    pub(super) fn of_parts<const BLOCKS: u32>(shape: &Shape, columns: u32) -> Self {
        let (next, step) = (thread::block_idx_x() / BLOCKS, thread::grid_dim_x() / BLOCKS);
        Self { next, step, ..Self::of_block(shape, columns) }
    }

    /// The tiles of a block in a cluster of the given size, if a tile has `own` rows.
    #[simt::device]
    pub(super) fn of_cluster<const BLOCKS: u32>(
        shape: &Shape<impl Real>,
        own: u32,
        columns: u32,
        has_narrow: bool,
    ) -> Self {
        let rows = BLOCKS * own;
        let (down, along, narrow) = count(shape, rows, columns, has_narrow);
        let (next, step) = (thread::block_idx_x() / BLOCKS, thread::grid_dim_x() / BLOCKS);
        let (first, step_narrow) = if has_narrow { among(down * along, narrow, step) } else { (0, step) };
        // For a cluster before the first that is a large number, and no such tile.
        let next_narrow = next.wrapping_sub(first);
        let row = if BLOCKS > 1 { cluster::rank() * own } else { 0 };
        Self { down, along, rows, columns, next, next_narrow, narrow, step, step_narrow, row }
    }

    #[simt::device]
    pub(super) fn next(&mut self) -> Option<At> {
        let Self { down, along, rows, columns, next, next_narrow, .. } = *self;
        if next < down * along {
            self.next = next + self.step;
            let (row, column) = in_groups(next, down, along);
            return Some(At { row: row * rows + self.row, column: column * columns, narrow: false });
        }
        if next_narrow < self.narrow {
            self.next_narrow = next_narrow + self.step_narrow;
            return Some(At { row: next_narrow * rows + self.row, column: along * columns, narrow: true });
        }
        None
    }

    /// [`Tiles::next`], for all lanes of a warp. What a shuffle of one lane's value decides, ptxas knows to be the same
    /// for the warp, and then keeps the stage and the descriptors in uniform registers. Otherwise four values move from
    /// one kind of registers to the other between two products of `wgmma`. (So they do if the places are shuffled,
    /// too.)
    #[simt::device]
    pub(super) fn next_alike(&mut self) -> Option<At> {
        let (kind, at) = match self.next() {
            None => (0, At { row: 0, column: 0, narrow: false }),
            Some(at) => (1 + at.narrow as u32, at),
        };
        let kind = warp::shuffle(FULL, kind, 0);
        if kind > 0 { Some(At { narrow: kind > 1, ..at }) } else { None }
    }
}
