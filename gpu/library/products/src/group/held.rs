//! The product of elements of `f32` as they are: TMA takes boxes of A and B by their tensor maps, the
//! threads load their fragments of A, and the tensor cores read B, which is K-major.

use super::super::{Output, Shape};
use super::GROUP;
use super::mapped::{Mapped, Maps, Products, Role, Written};
use super::ring::{empty, full};
use super::tiles::{At, Tiles};
#[cfg(not(target_os = "cuda"))]
use super::{MULTIPLIERS, ROWS};
use core::marker::PhantomData;
use rungs_common::ring::Place;
use simt::math::fma;
use simt::mma::{FragmentA, Tf32};
use simt::tensor_map::TensorMap;
use simt::warp::{self, FULL};
use simt::warpgroup::{self, KMajor, Lies, Sums, Tile};
use simt::{bulk, opaque, thread, unroll};

/// Depth in K of a stage; rows and columns of a box of C.
const SIDE: u32 = Tile::<f32>::DEPTH;
/// Bytes of a box of C, and boxes per two warps.
const BOX: u32 = SIDE * warpgroup::ROW;
const BOXES: u32 = 2;

/// Blocks with tiles of C of `ROWS` × 2·`SUMS`. `A` says how tiles of A lie; those of B are K-major. Boxes of C are
/// those of a matrix that is stored by columns.
pub struct Held<A, const SUMS: usize, const STAGES: u32>(PhantomData<A>);

/// The ring that copies A and B.
type Loads<A, const SUMS: usize, const STAGES: u32> = Mapped<f32, A, KMajor, SUMS, STAGES>;

impl<A: Lies, const SUMS: usize, const STAGES: u32> Products<f32> for Held<A, SUMS, STAGES> {
    #[cfg(not(target_os = "cuda"))]
    const BLOCKS: u32 = 1;
    #[cfg(not(target_os = "cuda"))]
    const ROWS: u32 = ROWS;
    const COLUMNS: u32 = 2 * SUMS as u32;
    #[cfg(not(target_os = "cuda"))]
    const NARROW: bool = false;
    #[cfg(not(target_os = "cuda"))]
    const TURNS: u32 = 1;
    #[cfg(not(target_os = "cuda"))]
    const SHARED_BYTES: u32 = Loads::<A, SUMS, STAGES>::RING.bytes() + MULTIPLIERS / 64 * BOXES * BOX;
    #[cfg(not(target_os = "cuda"))]
    const BOX_ROWS: [u32; 3] = [if A::ACROSS { SIDE } else { ROWS }, Self::COLUMNS, SIDE];

    #[simt::device]
    fn product([a, b, of_c]: Maps<f32>, c: Output<f32>, shape: Shape, boxes: bool) {
        Loads::<A, SUMS, STAGES>::by_roles::<Self, _, _, _>(a, b, shape, (of_c, c, shape, boxes));
    }
}

impl<A: Lies, const SUMS: usize, const STAGES: u32> Role<Written<f32>> for Held<A, SUMS, STAGES> {
    #[simt::device]
    fn multiply_all((of_c, c, shape, boxes): Written<f32>) {
        Self::multiply(of_c, c, shape, boxes);
    }
}

/// The lane's two neighbouring rows of its warpgroup's 64.
///
/// The rows of a fragment may be any of A's, as long as those of C are the same. Here fragment rows g and g + 8 of a
/// warp are two neighbours of the 32 that two warps share, in a pack that `pack` gives. For lanes g and g + 2 it
/// differs by 5: so the sixteen lanes that load together, from four rows of a box with one k each, find their eight
/// packs in different banks, and when C is written to boxes those of four rows with two columns between each.
#[derive(Clone, Copy)]
struct Rows {
    /// The first of the 32.
    first: u32,
    /// The first of the two, from there.
    two: u32,
    /// Of K-major tiles, lanes with g > 3 have the two the other way round: eight lanes have eight different rows in
    /// the order of packs.
    swapped: u32,
    t: u32,
}

impl Rows {
    #[simt::device]
    fn of_lane() -> Self {
        let (warp, lane) = (thread::thread_idx_x() / 32 % 4, warp::lane_id());
        let (g, t) = (lane / 4, lane % 4);
        let pack = (warp % 2 * 2 + g / 4) ^ (g / 2 % 2 * 5);
        Self { first: warp / 2 * SIDE, two: pack * 4 + g % 2 * 2, swapped: g / 4, t }
    }
}

/// A number of which the tensor cores see one of the two nearest to `x`, at most 2⁻¹¹·|x| from it, and `x` itself if
/// they see all of it. They cut it off where it is up to 2⁻¹⁰·|x| too large. `Tf32::nearest` takes an instruction that
/// is slow, and the adding of half a unit to the bits, as in `Tf32::split`, would make zero of some NaN.
#[simt::device]
fn nearest(x: f32) -> Tf32 {
    Tf32::truncated(fma(x, 1.0 / 2048.0, x))
}

impl<A: Lies, const SUMS: usize, const STAGES: u32> Held<A, SUMS, STAGES> {
    /// Multiplies what is in the ring, for all tiles of the block.
    #[simt::device]
    fn multiply(map: TensorMap<f32>, c: Output<f32>, shape: Shape, boxes: bool) {
        let ring = Loads::<A, SUMS, STAGES>::RING;
        let (steps, mut place) = (shape.k.div_ceil(SIDE), Place::FIRST);
        let (group, lane) = (thread::thread_idx_x() / 128, warp::lane_id());
        let rows = Rows::of_lane();
        let mut tiles = Tiles::of_block(&shape, Self::COLUMNS);
        while let Some(At { row, column, .. }) = tiles.next() {
            let mut sums = Sums::<SUMS>::ZERO;
            let (mut step, mut before) = (0, place.stage);
            // There is a first step, as in `Mapped::multiply`.
            loop {
                full(place.stage).wait(place.parity);
                let of_a = ring.a::<f32>(place.stage, 0).rows(group * GROUP + rows.first, SIDE);
                let of_b = ring.b::<f32>(place.stage, 0);
                // Loaded while the products of the stage before are made; so is the second half during the first.
                let fragments = Self::fragments(of_a, rows, 0);
                // The lanes saw the end of the phase one by one; what follows they do together.
                warp::sync_warp(FULL);
                sums = sums.add_held(fragments, of_b, 0);
                // All lanes have their fragments and the products of the stage before, which may be filled again.
                warp::sync_warp(FULL);
                if step > 0 && lane == 0 {
                    empty(before, STAGES).arrive();
                }
                let fragments = Self::fragments(of_a, rows, 1);
                sums = sums.add_held(fragments, of_b, 1);
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
            let row = row + group * GROUP + rows.first;
            if boxes {
                Self::store_boxes(map, row, column, rows, &sums, c.alpha);
            } else {
                Self::store(c, row, column, rows, &sums);
            }
        }
        if lane == 0 {
            bulk::wait_read::<0>(); // the block's shared memory is another's when it ends
        }
    }

    /// The lane's fragments of sixteen k, the first or the second of a stage: `of_a` is a box of 32 k and the warp's 32
    /// rows, which lies as `A` says.
    #[simt::device]
    fn fragments(of_a: Tile<f32>, Rows { two, swapped, t, .. }: Rows, half: u32) -> [FragmentA; 2] {
        [0, 1].map(|step| {
            let k = half * 16 + step * 8 + t;
            if A::ACROSS {
                let pairs = of_a.elements().cast::<u64>();
                let load = |k: u32| {
                    let both = pairs.get(Tile::<f32>::place(k, two) / 2);
                    [both as u32, (both >> 32) as u32].map(|bits| nearest(f32::from_bits(bits)))
                };
                let ([a0, a1], [a2, a3]) = (load(k), load(k + 4));
                [a0, a1, a2, a3]
            } else {
                let load = |h: u32, k: u32| {
                    let row = two + (h ^ swapped);
                    nearest(of_a.elements().get(Tile::<f32>::place(row, k)))
                };
                [load(0, k), load(1, k), load(0, k + 4), load(1, k + 4)]
            }
        })
    }

    /// The lane's sums of two neighbouring rows and column `e` of its two in the eight with number `j`.
    #[simt::device]
    fn two(sums: &[f32; SUMS], rows: Rows, j: usize, e: usize) -> [f32; 2] {
        let (first, second) = (sums[4 * j + e], sums[4 * j + 2 + e]);
        if !A::ACROSS && rows.swapped == 1 { [second, first] } else { [first, second] }
    }

    /// Has TMA write the rows of C that two warps have, box by box; (`row`, `column`) is the first of the 32 rows.
    #[simt::device]
    fn store_boxes(map: TensorMap<f32>, row: u32, column: u32, rows: Rows, sums: &[f32; SUMS], alpha: f32) {
        let (warp, lane) = (thread::thread_idx_x() / 32, warp::lane_id());
        let (pair, writes) = (warp / 2, warp % 2 == 0 && lane == 0);
        let first = Loads::<A, SUMS, STAGES>::RING.bytes_of_stages() + pair * BOXES * BOX;
        unroll::<8>(|i| {
            let chunk = i as u32;
            if chunk < Self::COLUMNS / SIDE {
                let to = Tile::<f32>::dynamic(first + chunk % BOXES * BOX, SIDE);
                if writes {
                    bulk::wait_read::<{ BOXES - 1 }>(); // the box has been read that was here before
                }
                thread::barrier(1 + pair, 64); // both warps may write
                unroll::<4>(|q| {
                    unroll::<2>(|e| {
                        let [x, y] = Self::two(sums, rows, 4 * i + q, e).map(|sum| (alpha * sum).to_bits() as u64);
                        let at = Tile::<f32>::place(8 * q as u32 + 2 * rows.t + e as u32, rows.two);
                        to.elements().cast::<u64>().set(at / 2, x | y << 32);
                    });
                });
                bulk::fence(); // the copy engine sees what the lanes wrote …
                thread::barrier(1 + pair, 64); // … of both warps
                if writes {
                    map.store(column + chunk * SIDE, row, to);
                    bulk::commit();
                }
            }
        });
    }

    /// Writes the thread's elements of C; (`row`, `column`) is the first of the 32 rows.
    #[simt::device]
    fn store(c: Output<f32>, row: u32, column: u32, rows: Rows, sums: &[f32; SUMS]) {
        let (row, column) = (row + rows.two, column + 2 * rows.t);
        let (down, has_pairs) = (c.by_columns(), c.has_pairs());
        unroll::<32>(|j| {
            if 4 * j < SUMS {
                // Two rows of two columns.
                let ([a, x], [b, y]) = (Self::two(sums, rows, j, 0), Self::two(sums, rows, j, 1));
                let column = opaque(column) + 8 * j as u32;
                c.set_2((row, column), down, [a, if down { x } else { b }], has_pairs);
                let second = (row + !down as u32, column + down as u32);
                c.set_2(second, down, [if down { b } else { x }, y], has_pairs);
            }
        });
    }
}
