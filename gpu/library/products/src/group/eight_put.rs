//! What becomes of the sums of [`Eights`](super::eight::Eights): C of `bf16` or `f32`, as boxes by TMA where it takes C.

use super::super::Output;
use super::Packed;
use super::eight::Loads;
use super::mapped::{BOX, BOXES, STORED};
use simt::tensor_map::TensorMap;
use simt::warp::{self, FULL};
use simt::warpgroup::Tile;
use simt::{bf16, bulk, four, opaque, thread, unroll};

/// A type of elements of C.
pub trait OfC: Packed {
    /// Writes a tile of C, whose first row and column are given: as boxes by TMA if `boxes`.
    fn put<const SUMS: usize, const STAGES: u32, const BLOCKS: u32, const N: usize>(
        map: TensorMap<Self>,
        c: Output<Self>,
        at: (u32, u32),
        sums: &[f32; N],
        boxes: bool,
    );
}

impl OfC for f32 {
    #[inline(always)]
    fn put<const SUMS: usize, const STAGES: u32, const BLOCKS: u32, const N: usize>(
        map: TensorMap<f32>,
        c: Output<f32>,
        (row, column): (u32, u32),
        sums: &[f32; N],
        boxes: bool,
    ) {
        let boxes_at = Loads::<f32, SUMS, STAGES, BLOCKS>::RING.bytes_of_stages();
        if boxes {
            store_boxes(map, (row, column), sums, c.alpha, boxes_at);
        } else {
            store_rows(c, (row, column), sums, boxes_at);
        }
    }
}

impl OfC for bf16 {
    #[inline(always)]
    fn put<const SUMS: usize, const STAGES: u32, const BLOCKS: u32, const N: usize>(
        map: TensorMap<bf16>,
        c: Output<bf16>,
        at: (u32, u32),
        sums: &[f32; N],
        boxes: bool,
    ) {
        Loads::<bf16, SUMS, STAGES, BLOCKS>::put(map, c, at, sums, boxes);
    }
}

/// The place of a warp's box in dynamic shared memory, where the first of all begins at `first`: of those of a tile,
/// number `i`.
#[inline(always)]
fn place(first: u32, i: usize) -> Tile<f32> {
    let warp = thread::thread_idx_x() / 32;
    Tile::dynamic(first + warp * BOXES * BOX + i as u32 % BOXES * BOX, STORED)
}

/// Writes the warp's sums of columns 32·`i` and following to a box.
#[inline(always)]
fn fill<const N: usize>(to: Tile<f32>, lane: u32, sums: &[f32; N], i: usize, alpha: f32) {
    let (g, t, odd) = (lane / 4, lane % 4, lane / 4 % 2);
    let words = to.elements().cast::<u64>();
    unroll::<4>(|j| {
        // Lanes of odd rows take the columns in another sequence: they would meet those of the row before in its banks.
        let [own, other] = [j, j ^ 2].map(|j| four(|e| sums[16 * i + 4 * j + e]));
        let [a, b, c, d] = four(|e| alpha * if odd == 1 { other[e] } else { own[e] });
        let column = (j as u32 ^ odd * 2) * 8 + 2 * t;
        let two = |x: f32, y: f32| u64::from(x.to_bits()) | u64::from(y.to_bits()) << 32;
        words.set(Tile::<f32>::place(g, column) / 2, two(a, b));
        words.set(Tile::<f32>::place(g + 8, column) / 2, two(c, d));
    });
}

/// Has TMA write the warp's rows of C, box by box; (`row`, `column`) is the first of the group's.
#[inline(always)]
fn store_boxes<const N: usize>(map: TensorMap<f32>, at: (u32, u32), sums: &[f32; N], alpha: f32, first: u32) {
    // Not known before, so that no addresses take registers while tiles are multiplied.
    let lane = opaque(warp::lane_id());
    let row = at.0 + thread::thread_idx_x() / 32 % 4 * STORED;
    unroll::<8>(|i| {
        if 16 * i < N {
            let to = place(first, i);
            if lane == 0 {
                bulk::wait_read::<1>(); // the box has been read that was here before: tiles have an even number
            }
            warp::sync_warp(FULL); // all lanes may write
            fill(to, lane, sums, i, alpha);
            bulk::fence(); // the copy engine sees what the lanes wrote …
            warp::sync_warp(FULL); // … all of them
            if lane == 0 {
                map.store(row, at.1 + i as u32 * Tile::<f32>::DEPTH, to);
                bulk::commit();
            }
        }
    });
}

/// Writes the warp's rows of C by way of its boxes, so that eight lanes write 128 bytes of a row. From registers, an
/// instruction would reach 16 lines of L1 instead of four.
#[inline(always)]
fn store_rows<const N: usize>(c: Output<f32>, at: (u32, u32), sums: &[f32; N], first: u32) {
    let lane = opaque(warp::lane_id()); // as above
    let (row, column) = (at.0 + thread::thread_idx_x() / 32 % 4 * STORED + lane / 8, at.1 + lane % 8 * 4);
    let packs = c.matrix.has_packs();
    unroll::<8>(|i| {
        if 16 * i < N {
            let (from, column) = (place(first, i), column + 32 * i as u32);
            fill(from, lane, sums, i, 1.0);
            // The box is whole, and all lanes have read the one before.
            warp::sync_warp(FULL);
            let pack = |q: u32| from.elements().get_pack(Tile::<f32>::place(lane / 8 + 4 * q, lane % 8 * 4) / 4);
            if packs && c.beta == 0.0 && column + 4 <= c.columns() {
                let packs = four(|q| pack(q as u32));
                unroll::<4>(|q| c.set_4_inside(row + 4 * q as u32, column, packs[q]));
            } else {
                let mut q = 0;
                while q < 4 {
                    c.set_4(row + 4 * q, column, pack(q), packs);
                    q += 1;
                }
            }
        }
    });
}
