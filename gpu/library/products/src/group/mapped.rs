//! The product from operands as they are: TMA takes boxes of A and B by their tensor maps, and puts boxes
//! of C where they belong. The blocks of a cluster, if there are several, have tiles of C below each other, and share
//! the boxes of B.

use super::super::{Output, Shape};
use super::ring::{Ring, empty, full};
use super::tiles::{At, NARROW, Tiles};
use super::{BLOCK, FEW, GROUP, MANY, MULTIPLIERS, Packed, ROWS};
use core::marker::PhantomData;
use rungs_common::ring::Place;
use simt::math::{to_bf16_pair, to_f16};
use simt::tensor_map::TensorMap;
use simt::warp::{self, FULL};
use simt::warpgroup::{self, Lies, Sums, Tile};
use simt::{Operand, bf16, bulk, cluster, f16, grid, thread};

/// Elements of 16 bits in a row of a box, and rows of a box of an operand that is MN-major.
pub(super) const SIDE: u32 = 64;
/// Rows of a box of C: those of a warp.
pub(super) const STORED: u32 = 16;
/// Bytes of a box of C, and boxes per warp.
pub(super) const BOX: u32 = STORED * warpgroup::ROW;
pub(super) const BOXES: u32 = 2;

const _: () = assert!(BLOCK == MULTIPLIERS + 128, "one group copies");

/// A type of elements of 16 bits.
pub trait Half: Packed {
    /// The bits of the nearest elements to two sums, the first in the low half.
    fn nearest_two(first: f32, second: f32) -> u32;
}

impl Half for bf16 {
    #[simt::device]
    fn nearest_two(first: f32, second: f32) -> u32 {
        to_bf16_pair(first, second)
    }
}

impl Half for f16 {
    #[simt::device]
    fn nearest_two(first: f32, second: f32) -> u32 {
        let [first, second] = [first, second].map(|sum| to_f16(sum).to_bits() as u32);
        first | second << 16
    }
}

/// The tensor maps of A, B and C.
pub type Maps<T> = [TensorMap<T>; 3];

/// The work of a kernel's blocks: tiles of C of one width, from operands in one layout.
pub trait Products<T: Packed> {
    /// Blocks of a cluster; 1 for a kernel without clusters.
    #[cfg(not(target_os = "cuda"))]
    const BLOCKS: u32;

    /// Rows of a tile of C.
    #[cfg(not(target_os = "cuda"))]
    const ROWS: u32;

    /// Columns of a tile of C.
    const COLUMNS: u32;

    /// Whether there are narrow tiles.
    #[cfg(not(target_os = "cuda"))]
    const NARROW: bool;

    /// Groups of warps that multiply each the K steps that the others do not.
    #[cfg(not(target_os = "cuda"))]
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
}

/// The part of the threads that multiply what is in the ring. It is no closure, because LLVM calls a long one, and then
/// ptxas finishes each product before the next.
pub(super) trait Role<A> {
    /// Multiplies all tiles of the block.
    fn multiply_all(args: A);
}

/// The map of C, and whether it is there; C, and the sizes of the product.
pub(super) type Written<T> = (TensorMap<T>, Output<T>, Shape, bool);

/// Blocks with tiles of C of 2·`SUMS` columns. `A` and `B` say how tiles of the operands lie: their rows are rows of
/// the matrix as it is stored. A cluster has `BLOCKS`, one or two. The two groups have rows of the tile each, or, if
/// `TURNS` is 2, each has the whole tile, of half as many rows, and every other K step.
pub struct Mapped<T, A, B, const SUMS: usize, const STAGES: u32, const BLOCKS: u32 = 1, const TURNS: u32 = 1>(
    PhantomData<(T, A, B)>,
);

impl<T: Half, A: Lies, B: Lies, const SUMS: usize, const STAGES: u32, const BLOCKS: u32, const TURNS: u32> Products<T>
    for Mapped<T, A, B, SUMS, STAGES, BLOCKS, TURNS>
{
    #[cfg(not(target_os = "cuda"))]
    const BLOCKS: u32 = BLOCKS;
    #[cfg(not(target_os = "cuda"))]
    const ROWS: u32 = ROWS / TURNS;
    const COLUMNS: u32 = 2 * SUMS as u32;
    #[cfg(not(target_os = "cuda"))]
    const NARROW: bool = Self::HAS_NARROW;
    #[cfg(not(target_os = "cuda"))]
    const TURNS: u32 = TURNS;
    #[cfg(not(target_os = "cuda"))]
    const SHARED_BYTES: u32 = Self::RING.bytes() + Self::BOXES_BYTES + (TURNS - 1) * Self::GIVEN_BYTES;
    #[cfg(not(target_os = "cuda"))]
    const BOX_ROWS: [u32; 3] =
        [if A::ACROSS { SIDE } else { Self::ROWS }, if B::ACROSS { SIDE } else { Self::SHARE }, STORED];

    #[simt::device]
    fn product([a, b, of_c]: Maps<T>, c: Output<T>, shape: Shape, boxes: bool) {
        Self::by_roles::<Self, _, _, _>(a, b, shape, (of_c, c, shape, boxes));
    }
}

impl<T: Half, A: Lies, B: Lies, const SUMS: usize, const STAGES: u32, const BLOCKS: u32, const TURNS: u32>
    Role<Written<T>> for Mapped<T, A, B, SUMS, STAGES, BLOCKS, TURNS>
{
    #[simt::device]
    fn multiply_all((of_c, c, shape, boxes): Written<T>) {
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
    pub(super) const SHARE: u32 = Self::RING.columns / BLOCKS;
    /// Whether the last tile of a row may be narrow: only kernels with the widest tiles have narrow ones.
    pub(super) const HAS_NARROW: bool = SUMS == 128;
    /// The tiles of a stage.
    pub(super) const RING: Ring =
        Ring { rows: ROWS / TURNS, columns: 2 * SUMS as u32, parts_a: 1, parts_b: 1, stages: STAGES };

    /// The roles of the threads: one fills the ring with boxes of A and B, whose elements may differ from those of C,
    /// and those of the first warps multiply as `P` does.
    #[simt::device]
    pub(super) fn by_roles<P: Role<W>, W, L: Operand, R: Operand>(
        a: TensorMap<L>,
        b: TensorMap<R>,
        shape: Shape,
        args: W,
    ) {
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
            P::multiply_all(args);
        }
        if BLOCKS > 1 {
            cluster::sync(); // the other block's last arrivals, at stages that nobody fills again, have found this one
        }
    }

    /// K steps, rounded up so that each group has the same number: elements past k are zero.
    #[simt::device]
    pub(super) fn steps<L: Operand>(shape: &Shape) -> u32 {
        shape.k.div_ceil(Tile::<L>::DEPTH).next_multiple_of(TURNS)
    }

    /// The warp has multiplied what is in a stage: the blocks that fill it may do so again. Lanes see it alike.
    #[simt::device]
    pub(super) fn give_back(stage: u32, lane: u32) {
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
    #[simt::device]
    fn multiply(map: TensorMap<T>, c: Output<T>, shape: Shape, boxes: bool) {
        let (steps, mut place) = (Self::steps::<T>(&shape), Place::FIRST);
        // As lane 0 has it, for the reason given at `Tiles::next_alike`.
        let group = warp::shuffle(FULL, thread::thread_idx_x() / 128, 0);
        let (whole, lane) = (Self::RING.whole(), warp::lane_id());
        // The group's rows of a tile, or its turn.
        let (down, turn) = if TURNS > 1 { (0, group) } else { (group * GROUP, 0) };
        if turn > 0 {
            place = place.next(STAGES);
        }
        let mut tiles = Tiles::of_cluster::<BLOCKS>(&shape, ROWS / TURNS, Self::COLUMNS, Self::HAS_NARROW);
        while let Some(At { row, column, narrow }) = tiles.next_alike() {
            let to = (row + down, column);
            // No wide tile follows a narrow one: `store` relies on that.
            if Self::HAS_NARROW && narrow {
                let (sums, next) = Self::sums::<{ NARROW as usize / 2 }>(place, steps, (whole, down), lane);
                place = next;
                Self::put(map, c, to, &sums, boxes);
                continue;
            }
            let (mut sums, next) = Self::sums::<SUMS>(place, steps, (whole, down), lane);
            place = next;
            if TURNS > 1 {
                Self::join(&mut sums, turn == 0);
                if turn > 0 {
                    continue;
                }
            }
            Self::put(map, c, to, &sums, boxes);
        }
        if lane == 0 {
            bulk::wait_read::<0>(); // the block's shared memory is another's when it ends
        }
    }

    /// Multiplies a tile of `N` sums per thread, from `place` on. Returns the sums, and the place after it.
    #[simt::device]
    fn sums<const N: usize>(
        mut place: Place,
        steps: u32,
        (whole, down): (Tile<T>, u32),
        lane: u32,
    ) -> ([f32; N], Place) {
        let mut sums = Sums::<N>::ZERO;
        let (mut step, mut before) = (0, place.stage);
        // There is a first step. ptxas keeps no products in flight if sums can come to the end without one.
        loop {
            full(place.stage).wait(place.parity);
            // The lanes saw the end of the phase one by one; what follows they do together.
            warp::sync_warp(FULL);
            let (of_a, of_b) = Self::RING.stage_of(whole, place.stage);
            sums = sums.add::<T, A, B>(of_a.rows(down, GROUP), of_b.rows(0, 2 * N as u32));
            // The warp's products of the stage before are made: it may be filled again. Those of this stage are being
            // made meanwhile.
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
        let sums = sums.finish();
        // The same for the last stage.
        Self::give_back(before, lane);
        (sums, place)
    }

    /// Writes a tile of C, whose first row and column are given.
    #[simt::device]
    pub(super) fn put<const N: usize>(
        map: TensorMap<T>,
        c: Output<T>,
        (row, column): (u32, u32),
        sums: &[f32; N],
        boxes: bool,
    ) {
        if boxes {
            Self::store(map, row, column, sums, c.alpha);
        } else {
            T::store(c, row, column, &[*sums]);
        }
    }
}
