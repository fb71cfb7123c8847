//! The thread of [`Mapped`] that has TMA fill the ring.

use super::mapped::Mapped;
use super::ring::{empty, full};
use super::tiles::{At, NARROW, Tiles};
use super::{Packed, ROWS};
use crate::Shape;
use rungs_common::ring::Place;
use simt::tensor_map::TensorMap;
use simt::warpgroup::{Lies, ROW, Tile};
use simt::{Operand, Scalar, cluster, unroll};

/// The rows of an operand that a block has copied to a stage.
#[derive(Clone, Copy)]
struct Share<T: Scalar> {
    map: TensorMap<T>,
    /// The first row, or column.
    first: u32,
    /// Whether the operand is MN-major. Then it is `boxes` boxes, otherwise one.
    across: bool,
    boxes: u32,
    /// Whether the blocks of the cluster all get it.
    shared: bool,
}

impl<T: Packed, A: Lies, B: Lies, const SUMS: usize, const STAGES: u32, const BLOCKS: u32, const TURNS: u32>
    Mapped<T, A, B, SUMS, STAGES, BLOCKS, TURNS>
{
    /// Fills stage after stage, for all tiles of the block.
    #[simt::device]
    pub(super) fn produce<L: Operand, R: Operand>(a: TensorMap<L>, b: TensorMap<R>, shape: Shape) {
        let (steps, mut place) = (Self::steps::<L>(&shape), Place::FIRST);
        let mut tiles = Tiles::of_cluster::<BLOCKS>(&shape, ROWS / TURNS, Self::RING.columns, Self::HAS_NARROW);
        while let Some(tile) = tiles.next() {
            let mut step = 0;
            while step < steps {
                Self::fill(place, (a, b), tile, step * Tile::<L>::DEPTH);
                place = place.next(STAGES);
                step += 1;
            }
        }
    }

    /// Waits until a stage is empty, and has the boxes from `k` on copied to it. In a cluster each block copies its
    /// share of B to all.
    #[simt::device]
    fn fill<L: Operand, R: Operand>(
        Place { stage, parity }: Place,
        (a, b): (TensorMap<L>, TensorMap<R>),
        tile: At,
        k: u32,
    ) {
        // The phase before the first counts as ended. Warps of all blocks arrive: what is copied goes to all of them.
        let empty = empty(stage, STAGES);
        if BLOCKS > 1 {
            empty.wait_cluster(parity ^ 1)
        } else {
            empty.wait(parity ^ 1)
        }
        // What the others copy to this block is announced here, too; it may come before the announcement.
        let narrow = Self::HAS_NARROW && tile.narrow;
        let missing = (Self::RING.columns - Self::narrow_rows()) * ROW;
        full(stage).arrive_expecting(Self::RING.stage() - if narrow { missing } else { 0 });
        // Rows of a box of an operand that is MN-major.
        let side = Tile::<L>::DEPTH;
        let rows = ROWS / TURNS;
        let of_a = Share { map: a, first: tile.row, across: A::ACROSS, boxes: rows / side, shared: false };
        Self::load(of_a, Self::RING.a(stage, 0), stage, k);
        let rank = if BLOCKS > 1 { cluster::rank() } else { 0 };
        if narrow && rank > 0 {
            return; // the first block copies all of a narrow tile
        }
        let (first, boxes) = (rank * Self::SHARE, if narrow { NARROW / side } else { Self::SHARE / side });
        let of_b = Share { map: b, first: tile.column + first, across: B::ACROSS, boxes, shared: BLOCKS > 1 };
        Self::load(of_b, Self::RING.b(stage, 0).rows(first, Self::SHARE), stage, k);
    }

    /// Rows of B in shared memory that are copied for a narrow tile: a box that is K-major is whole.
    const fn narrow_rows() -> u32 {
        if B::ACROSS { NARROW } else { Self::SHARE }
    }

    /// Has the boxes of an operand copied that begin at `k`.
    #[simt::device]
    fn load<E: Operand>(Share { map, first, across, boxes, shared }: Share<E>, to: Tile<E>, stage: u32, k: u32) {
        let (side, barrier) = (Tile::<E>::DEPTH, full(stage));
        let load = |to: Tile<E>, row: u32, column: u32| match shared {
            true => map.load_multicast(to, row, column, barrier, (1 << BLOCKS) - 1),
            false => map.load(to, row, column, barrier),
        };
        if across {
            unroll::<4>(|i| {
                let i = i as u32;
                if i < boxes {
                    load(to.rows(i * side, side), k, first + i * side);
                }
            });
        } else {
            load(to, first, k);
        }
    }
}
