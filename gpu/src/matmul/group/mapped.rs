//! The product from operands as they are: the copy engine takes boxes of A and B by their tensor maps, and puts boxes
//! of C where they belong.

use super::super::{Output, Shape};
use super::ring::{Ring, empty, full};
use super::{BLOCK, FEW, GROUP, MANY, MULTIPLIERS, Packed, ROWS, Tiles};
use crate::ring::Place;
use core::marker::PhantomData;
use simt::math::{to_bf16, to_f16};
use simt::tensor_map::TensorMap;
use simt::warp::{self, FULL};
use simt::warpgroup::{self, Lies, Sums, Tile, store_fragments};
use simt::{bf16, bulk, f16, grid, thread, unroll};

/// Elements of 16 bits in a row of a box, and rows of a box of an operand that lies across k.
pub(super) const SIDE: u32 = 64;
/// Rows of a box of C: those of a warp.
pub(super) const STORED: u32 = 16;
/// Bytes of a box of C, and boxes per warp.
const BOX: u32 = STORED * warpgroup::ROW;
const BOXES: u32 = 2;

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
    /// Columns of a tile of C.
    const COLUMNS: u32;

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

/// Blocks with tiles of C of `ROWS` × 2·`SUMS`. `A` and `B` say how tiles of the operands lie: their rows are rows of
/// the matrix as it is stored.
pub struct Mapped<T, A, B, const SUMS: usize, const STAGES: u32>(PhantomData<(T, A, B)>);

impl<T: Half, A: Lies, B: Lies, const SUMS: usize, const STAGES: u32> Products<T> for Mapped<T, A, B, SUMS, STAGES> {
    const COLUMNS: u32 = 2 * SUMS as u32;
    #[cfg(not(target_os = "cuda"))]
    const SHARED_BYTES: u32 = Self::RING.bytes() + MULTIPLIERS / 32 * BOXES * BOX;
    #[cfg(not(target_os = "cuda"))]
    const BOX_ROWS: [u32; 3] =
        [if A::ACROSS { SIDE } else { ROWS }, if B::ACROSS { SIDE } else { Self::COLUMNS }, STORED];

    #[inline(always)]
    fn product(maps: Maps<T>, c: Output<T>, shape: Shape, boxes: bool) {
        Self::by_roles(maps, shape, || Self::multiply(maps[2], c, shape, boxes));
    }
}

impl<T: Packed, A: Lies, B: Lies, const SUMS: usize, const STAGES: u32> Mapped<T, A, B, SUMS, STAGES> {
    /// The tiles of a stage.
    pub(super) const RING: Ring = Ring { rows: ROWS, columns: 2 * SUMS as u32, parts: 1, stages: STAGES };

    /// What the threads do: one fills the ring, and those of the first warps `multiply`.
    #[inline(always)]
    pub(super) fn by_roles([a, b, _]: Maps<T>, shape: Shape, multiply: impl FnOnce()) {
        let thread = thread::thread_idx_x();
        match thread {
            0 => Self::RING.init_barriers(MULTIPLIERS / 32),
            MULTIPLIERS => {
                a.prefetch();
                b.prefetch();
            }
            _ => (),
        }
        thread::sync_threads(); // the barriers are known before any thread uses them
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
            multiply();
        }
    }

    /// Fills stage after stage, for all tiles of the block.
    #[inline(always)]
    fn produce(a: TensorMap<T>, b: TensorMap<T>, shape: Shape) {
        let (steps, mut place) = (shape.k.div_ceil(Tile::<T>::DEPTH), Place::FIRST);
        let mut tiles = Tiles::of_block(&shape, Self::RING.columns);
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
    /// column.
    #[inline(always)]
    fn fill(Place { stage, parity }: Place, a: (TensorMap<T>, u32), b: (TensorMap<T>, u32), k: u32) {
        // The phase before the first counts as ended.
        empty(stage, STAGES).wait(parity ^ 1);
        let barrier = full(stage);
        barrier.arrive_expecting(Self::RING.stage());
        // Rows of a box of an operand that lies across k.
        let side = Tile::<T>::DEPTH;
        let load = |(map, first): (TensorMap<T>, u32), to: Tile<T>, across: bool, boxes: u32| {
            if across {
                unroll::<4>(|i| {
                    let i = i as u32;
                    if i < boxes {
                        map.load(to.rows(i * side, side), k, first + i * side, barrier);
                    }
                });
            } else {
                map.load(to, first, k, barrier);
            }
        };
        load(a, Self::RING.a(stage, 0), A::ACROSS, ROWS / side);
        load(b, Self::RING.b(stage, 0), B::ACROSS, Self::RING.columns / side);
    }
}

impl<T: Half, A: Lies, B: Lies, const SUMS: usize, const STAGES: u32> Mapped<T, A, B, SUMS, STAGES> {
    /// Multiplies what is in the ring, for all tiles of the block.
    #[inline(always)]
    fn multiply(map: TensorMap<T>, c: Output<T>, shape: Shape, boxes: bool) {
        let (steps, mut place) = (shape.k.div_ceil(SIDE), Place::FIRST);
        let (group, lane) = (thread::thread_idx_x() / 128, warp::lane_id());
        let mut tiles = Tiles::of_block(&shape, Self::COLUMNS);
        while let Some((row, column)) = tiles.next() {
            let mut sums = Sums::<SUMS>::ZERO;
            let (mut step, mut before) = (0, place.stage);
            // There is a first step. ptxas keeps no products in flight if sums can come to the end without one.
            loop {
                full(place.stage).wait(place.parity);
                // The lanes saw the end of the phase one by one; what follows they do together.
                warp::sync_warp(FULL);
                let of_a = Self::RING.a::<T>(place.stage, 0).rows(group * GROUP, GROUP);
                sums = sums.add::<T, A, B>(of_a, Self::RING.b(place.stage, 0));
                // All lanes have the products of the stage before, which may be filled again. Those of this stage are
                // being made meanwhile.
                warp::sync_warp(FULL);
                if step > 0 && lane == 0 {
                    empty(before, STAGES).arrive();
                }
                before = place.stage;
                place = place.next(STAGES);
                step += 1;
                if step >= steps {
                    break;
                }
            }
            let sums = sums.finish();
            // The same for the last stage.
            warp::sync_warp(FULL);
            if lane == 0 {
                empty(before, STAGES).arrive();
            }
            let row = row + group * GROUP;
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

    /// Has the copy engine write the warp's rows of C, box by box; (`row`, `column`) is the first of the group's.
    #[inline(always)]
    fn store(map: TensorMap<T>, row: u32, column: u32, sums: &[f32; SUMS], alpha: f32) {
        let (warp, lane) = (thread::thread_idx_x() / 32, warp::lane_id());
        let first = STAGES * Self::RING.stage() + warp * BOXES * BOX;
        unroll::<4>(|i| {
            let chunk = i as u32;
            if chunk < Self::COLUMNS / SIDE {
                let to = Tile::<T>::dynamic(first + chunk % BOXES * BOX, STORED);
                if lane == 0 {
                    // The box has been read that was here before: with one box per tile that is the last one.
                    if Self::COLUMNS == SIDE { bulk::wait_read::<0>() } else { bulk::wait_read::<1>() }
                }
                warp::sync_warp(FULL); // all lanes may write
                unroll::<4>(|q| {
                    let bits = |e: usize| T::nearest(alpha * sums[32 * i + 8 * q + e]) as u32;
                    let two = |e: usize| bits(e) | bits(e + 1) << 16;
                    let at = Tile::<T>::place(lane % STORED, (2 * q as u32 + lane / STORED) * T::PACK);
                    store_fragments(to.elements().slice(at, T::PACK), [two(0), two(2), two(4), two(6)]);
                });
                bulk::fence(); // the copy engine sees what the lanes wrote …
                warp::sync_warp(FULL); // … all of them
                if lane == 0 {
                    map.store(row + warp % 4 * STORED, column + chunk * SIDE, to);
                    bulk::commit();
                }
            }
        });
    }
}
