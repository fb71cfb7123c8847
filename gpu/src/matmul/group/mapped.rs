//! The product from operands as they are: the copy engine takes boxes of A and B by their tensor maps, and puts boxes
//! of C where they belong. The blocks of a cluster, if there are several, have tiles of C below each other, and share
//! the boxes of B.

use super::super::{Output, Shape};
use super::ring::{Ring, empty, full};
use super::{BLOCK, FEW, GROUP, MANY, MULTIPLIERS, Packed, ROWS, Tiles};
use crate::ring::Place;
use core::marker::PhantomData;
use simt::math::{to_bf16, to_f16};
use simt::tensor_map::TensorMap;
use simt::warp::{self, FULL};
use simt::warpgroup::{self, Lies, Sums, Tile};
use simt::{bf16, bulk, cluster, f16, grid, thread, unroll};

/// Elements of 16 bits in a row of a box, and rows of a box of an operand that lies across k.
pub(super) const SIDE: u32 = 64;
/// Rows of a box of C: those of a warp.
pub(super) const STORED: u32 = 16;
/// Bytes of a box of C, and boxes per warp.
pub(super) const BOX: u32 = STORED * warpgroup::ROW;
pub(super) const BOXES: u32 = 2;

const _: () = assert!(BLOCK == MULTIPLIERS + 128, "one group copies");

/// A type of elements of 16 bits.
pub trait Half: Packed {
    /// The bits of the nearest element to a sum.
    fn nearest(sum: f32) -> u16;
}

impl Half for bf16 {
    #[inline(always)]
    fn nearest(sum: f32) -> u16 {
        to_bf16(sum).to_bits()
    }
}

impl Half for f16 {
    #[inline(always)]
    fn nearest(sum: f32) -> u16 {
        to_f16(sum).to_bits()
    }
}

/// The tensor maps of A, B and C.
pub type Maps<T> = [TensorMap<T>; 3];

/// What the blocks of a kernel do: tiles of C of one width, from operands that lie in one way.
pub trait Products<T: Packed> {
    /// Blocks of a cluster; 1 for a kernel without clusters.
    #[cfg(not(target_os = "cuda"))]
    const BLOCKS: u32;

    /// Rows and columns of a tile of C.
    const ROWS: u32;
    const COLUMNS: u32;

    /// Groups of warps that multiply each the steps along k that the others do not.
    const TURNS: u32;

    /// Bytes of dynamic shared memory: the ring, and the boxes of C.
    #[cfg(not(target_os = "cuda"))]
    const SHARED_BYTES: u32;

    /// Rows of a box of A, of B and of C.
    #[cfg(not(target_os = "cuda"))]
    const BOX_ROWS: [u32; 3];

    /// C = alpha·A·B + beta·C, where k is not 0. `maps`: those of A, B and C; the last is there if `boxes`, and beta is
    /// 0 then.
    fn product(maps: Maps<T>, c: Output<T>, shape: Shape, boxes: bool);

    /// The part of the threads that multiply what is in the ring.
    fn multiply_all(of_c: TensorMap<T>, c: Output<T>, shape: Shape, boxes: bool);
}

/// Blocks with tiles of C of 2·`SUMS` columns. `A` and `B` say how tiles of the operands lie: their rows are rows of
/// the matrix as it is stored. A cluster has `BLOCKS`, one or two. The two groups have rows of the tile each, or, if
/// `TURNS` is 2, each has the whole tile, of half as many rows, and every other step along k.
pub struct Mapped<T, A, B, const SUMS: usize, const STAGES: u32, const BLOCKS: u32 = 1, const TURNS: u32 = 1>(
    PhantomData<(T, A, B)>,
);

impl<T: Half, A: Lies, B: Lies, const SUMS: usize, const STAGES: u32, const BLOCKS: u32, const TURNS: u32> Products<T>
    for Mapped<T, A, B, SUMS, STAGES, BLOCKS, TURNS>
{
    #[cfg(not(target_os = "cuda"))]
    const BLOCKS: u32 = BLOCKS;
    const ROWS: u32 = ROWS / TURNS;
    const COLUMNS: u32 = 2 * SUMS as u32;
    const TURNS: u32 = TURNS;
    #[cfg(not(target_os = "cuda"))]
    const SHARED_BYTES: u32 = Self::RING.bytes() + Self::BOXES_BYTES + (TURNS - 1) * Self::GIVEN_BYTES;
    #[cfg(not(target_os = "cuda"))]
    const BOX_ROWS: [u32; 3] =
        [if A::ACROSS { SIDE } else { Self::ROWS }, if B::ACROSS { SIDE } else { Self::SHARE }, STORED];

    #[inline(always)]
    fn product(maps: Maps<T>, c: Output<T>, shape: Shape, boxes: bool) {
        Self::by_roles::<Self>(maps, c, shape, boxes);
    }

    #[inline(always)]
    fn multiply_all(of_c: TensorMap<T>, c: Output<T>, shape: Shape, boxes: bool) {
        Self::multiply(of_c, c, shape, boxes);
    }
}

impl<T: Packed, A: Lies, B: Lies, const SUMS: usize, const STAGES: u32, const BLOCKS: u32, const TURNS: u32>
    Mapped<T, A, B, SUMS, STAGES, BLOCKS, TURNS>
{
    /// Warps of a block that multiply a stage.
    const ARRIVE: u32 = MULTIPLIERS / 32 / TURNS;
    /// Bytes of the boxes of C, and of the sums that one group gives the other.
    pub(super) const BOXES_BYTES: u32 = Self::ARRIVE * BOXES * BOX;
    pub(super) const GIVEN_BYTES: u32 = SUMS as u32 * 128 * 4;
    /// Columns of B that a block has copied, to all blocks of its cluster.
    const SHARE: u32 = Self::RING.columns / BLOCKS;
    /// The tiles of a stage.
    pub(super) const RING: Ring = Ring { rows: ROWS / TURNS, columns: 2 * SUMS as u32, parts: 1, stages: STAGES };

    /// What the threads do: one fills the ring, and those of the first warps multiply as `P` does.
    #[inline(always)]
    pub(super) fn by_roles<P: Products<T>>([a, b, of_c]: Maps<T>, c: Output<T>, shape: Shape, boxes: bool) {
        let thread = thread::thread_idx_x();
        match thread {
            0 => Self::RING.init_barriers(BLOCKS * Self::ARRIVE),
            MULTIPLIERS => {
                a.prefetch();
                b.prefetch();
            }
            _ => (),
        }
        // The barriers are known before any thread uses them, and any of the other block.
        if BLOCKS > 1 {
            cluster::sync()
        } else {
            thread::sync_threads()
        }
        // The next launch may begin; it waits where it needs what this one writes.
        grid::let_next_start();
        if thread >= MULTIPLIERS {
            warpgroup::release_registers::<FEW>();
            if thread == MULTIPLIERS {
                // For A and B. C is written after boxes of them have come, so after the launch before, too.
                grid::wait_for_previous();
                Self::produce(a, b, shape);
            }
        } else {
            warpgroup::claim_registers::<MANY>();
            P::multiply_all(of_c, c, shape, boxes);
        }
        if BLOCKS > 1 {
            cluster::sync(); // the other block's last arrivals, at stages that nobody fills again, have found this one
        }
    }

    /// Steps along k, as many for each group that has some of them: behind k there are zeros.
    #[inline(always)]
    fn steps(shape: &Shape) -> u32 {
        shape.k.div_ceil(Tile::<T>::DEPTH).next_multiple_of(TURNS)
    }

    /// Fills stage after stage, for all tiles of the block.
    #[inline(always)]
    fn produce(a: TensorMap<T>, b: TensorMap<T>, shape: Shape) {
        let (steps, mut place) = (Self::steps(&shape), Place::FIRST);
        let mut tiles = Tiles::of_cluster::<BLOCKS>(&shape, ROWS / TURNS, Self::RING.columns);
        while let Some((row, column)) = tiles.next() {
            let mut step = 0;
            while step < steps {
                Self::fill(place, (a, row), (b, column), step * Tile::<T>::DEPTH);
                place = place.next(STAGES);
                step += 1;
            }
        }
    }

    /// Waits until a stage is empty, and has the boxes from `k` on copied to it: of A from a row on, of B from a
    /// column. In a cluster each block copies its share of B to all.
    #[inline(always)]
    fn fill(Place { stage, parity }: Place, a: (TensorMap<T>, u32), b: (TensorMap<T>, u32), k: u32) {
        // The phase before the first counts as ended. Warps of all blocks arrive: what is copied goes to all of them.
        let empty = empty(stage, STAGES);
        if BLOCKS > 1 {
            empty.wait_cluster(parity ^ 1)
        } else {
            empty.wait(parity ^ 1)
        }
        let barrier = full(stage);
        // What the others copy to this block is announced here, too; it may come before the announcement.
        barrier.arrive_expecting(Self::RING.stage());
        // Rows of a box of an operand that lies across k.
        let side = Tile::<T>::DEPTH;
        let load = |(map, first): (TensorMap<T>, u32), to: Tile<T>, (across, boxes): (bool, u32), shared: bool| {
            let load = |to: Tile<T>, row: u32, column: u32| match shared {
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
        };
        load(a, Self::RING.a(stage, 0), (A::ACROSS, ROWS / TURNS / side), false);
        let first = if BLOCKS > 1 { cluster::rank() * Self::SHARE } else { 0 };
        let (map, column) = b;
        let to = Self::RING.b(stage, 0).rows(first, Self::SHARE);
        load((map, column + first), to, (B::ACROSS, Self::SHARE / side), BLOCKS > 1);
    }

    /// The warp has multiplied what is in a stage: the blocks that fill it may do so again. Lanes see it alike.
    #[inline(always)]
    fn give_back(stage: u32, lane: u32) {
        let empty = empty(stage, STAGES);
        match BLOCKS {
            1 if lane == 0 => empty.arrive(),
            2.. if lane < BLOCKS => empty.arrive_at(lane),
            _ => (),
        }
    }
}

impl<T: Half, A: Lies, B: Lies, const SUMS: usize, const STAGES: u32, const BLOCKS: u32, const TURNS: u32>
    Mapped<T, A, B, SUMS, STAGES, BLOCKS, TURNS>
{
    /// Multiplies what is in the ring, for all tiles of the block.
    #[inline(always)]
    fn multiply(map: TensorMap<T>, c: Output<T>, shape: Shape, boxes: bool) {
        let (steps, mut place) = (Self::steps(&shape), Place::FIRST);
        let (group, lane) = (thread::thread_idx_x() / 128, warp::lane_id());
        // The group's rows of a tile, or its turn.
        let (down, turn) = if TURNS > 1 { (0, group) } else { (group * GROUP, 0) };
        if turn > 0 {
            place = place.next(STAGES);
        }
        let mut tiles = Tiles::of_cluster::<BLOCKS>(&shape, ROWS / TURNS, Self::COLUMNS);
        while let Some((row, column)) = tiles.next() {
            let mut sums = Sums::<SUMS>::ZERO;
            let (mut step, mut before) = (0, place.stage);
            // There is a first step. ptxas keeps no products in flight if sums can come to the end without one.
            loop {
                full(place.stage).wait(place.parity);
                // The lanes saw the end of the phase one by one; what follows they do together.
                warp::sync_warp(FULL);
                let of_a = Self::RING.a::<T>(place.stage, 0).rows(down, GROUP);
                sums = sums.add::<T, A, B>(of_a, Self::RING.b(place.stage, 0));
                // All lanes have the products of the stage before, which may be filled again. Those of this stage are
                // being made meanwhile.
                warp::sync_warp(FULL);
                if step > 0 {
                    Self::give_back(before, lane);
                }
                before = place.stage;
                place = place.next(STAGES);
                if TURNS > 1 {
                    place = place.next(STAGES);
                }
                step += TURNS;
                if step >= steps {
                    break;
                }
            }
            let mut sums = sums.finish();
            // The same for the last stage.
            warp::sync_warp(FULL);
            Self::give_back(before, lane);
            let row = row + down;
            if TURNS > 1 {
                Self::join(&mut sums, turn == 0);
                if turn > 0 {
                    continue;
                }
            }
            if boxes {
                Self::store(map, row, column, &sums, c.alpha);
            } else {
                T::store(c, row, column, &[sums]);
            }
        }
        if lane == 0 {
            bulk::wait_read::<0>(); // the block's shared memory is another's when it ends
        }
    }
}
