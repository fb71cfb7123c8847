//! What becomes of the sums of [`Eights`](super::eight::Eights): C of `bf16` or `f32`, as boxes by TMA where it takes
//! them.

use super::super::Output;
use super::Packed;
use super::mapped::{BOX, BOXES, Mapped, STORED};
use super::mapped_store::each;
use simt::tensor_map::TensorMap;
use simt::warp::{self, FULL};
use simt::warpgroup::{KMajor, Tile};
use simt::{bf16, bulk, four, opaque, thread, unroll};

/// What fills the ring for elements of C of type `C`, and has boxes of C written.
pub(super) type Loads<C, const SUMS: usize, const STAGES: u32, const BLOCKS: u32> =
    Mapped<C, KMajor, KMajor, SUMS, STAGES, BLOCKS>;

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
    #[simt::device]
    fn put<const SUMS: usize, const STAGES: u32, const BLOCKS: u32, const N: usize>(
        map: TensorMap<f32>,
        c: Output<f32>,
        at: (u32, u32),
        sums: &[f32; N],
        boxes: bool,
    ) {
        let boxes_at = Loads::<f32, SUMS, STAGES, BLOCKS>::RING.bytes_of_stages();
        // Before the ways part, or ptxas would move half of the sums in each step of the products.
        let mut all = [0.0; N];
        each::<N>(|i| all[i] = c.alpha * sums[i]);
        if boxes {
            store_boxes(map, at, &all, boxes_at);
        } else {
            store_rows(Output { alpha: 1.0, ..c }, at, all, boxes_at);
        }
    }
}

impl OfC for bf16 {
    #[simt::device]
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
#[simt::device]
fn place(first: u32, i: usize) -> Tile<f32> {
    let warp = thread::thread_idx_x() / 32;
    Tile::dynamic(first + warp * BOXES * BOX + i as u32 % BOXES * BOX, STORED)
}

/// Writes the warp's sums of columns 32·`i` and following to a box.
#[simt::device]
fn fill<const N: usize>(to: Tile<f32>, lane: u32, sums: &[f32; N], i: usize) {
    let (g, t, odd) = (lane / 4, lane % 4, lane / 4 % 2 == 1);
    let words = to.elements().cast::<u64>();
    let two = |x: f32, y: f32| u64::from(x.to_bits()) | u64::from(y.to_bits()) << 32;
    let write = |j: usize, [a, b, c, d]: [f32; 4]| {
        let column = (j as u32 ^ (u32::from(odd) * 2)) * 8 + 2 * t;
        words.set(Tile::<f32>::place(g, column) / 2, two(a, b));
        words.set(Tile::<f32>::place(g + 8, column) / 2, two(c, d));
    };
    unroll::<2>(|j| {
        // Lanes of odd rows take the columns in another sequence: they would meet those of the row before in its banks.
        let [[a, b, c, d], [e, f, g, h]] = [j, j + 2].map(|j| four(|e| sums[16 * i + 4 * j + e]));
        // By value: LLVM 7 leaves arrays in memory of which one is chosen.
        let chosen = |of_even: f32, of_odd: f32| if odd { of_odd } else { of_even };
        write(j, [chosen(a, e), chosen(b, f), chosen(c, g), chosen(d, h)]);
        write(j + 2, [chosen(e, a), chosen(f, b), chosen(g, c), chosen(h, d)]);
    });
}

/// Has TMA write the warp's rows of C, box by box; `at` is the first place of the group's.
#[simt::device]
fn store_boxes<const N: usize>(map: TensorMap<f32>, at: (u32, u32), sums: &[f32; N], first: u32) {
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
            fill(to, lane, sums, i);
            bulk::fence(); // the copy engine sees what the lanes wrote …
            warp::sync_warp(FULL); // … all of them
            if lane == 0 {
                map.store(row, at.1 + i as u32 * Tile::<f32>::DEPTH, to);
                bulk::commit();
            }
        }
    });
}

/// Writes the warp's rows of C by way of a box, so that eight lanes write 128 bytes of a row: from registers, an
/// instruction would reach 16 lines of L1 instead of four. The sums move up in a loop: what is short here leaves ptxas
/// the registers of the products.
#[simt::device]
fn store_rows<const N: usize>(c: Output<f32>, at: (u32, u32), mut sums: [f32; N], first: u32) {
    let lane = opaque(warp::lane_id()); // as above
    let (row, within) = (at.0 + thread::thread_idx_x() / 32 % 4 * STORED + lane / 8, lane % 8 * 4);
    let (from, packs) = (place(first, 0), c.matrix.has_packs());
    let (mut column, end) = (at.1, opaque(at.1 + 2 * N as u32));
    while column < end {
        fill(from, lane, &sums, 0);
        warp::sync_warp(FULL); // the box is whole
        let mut q = 0;
        while q < 4 {
            let pack = from.elements().get_pack(Tile::<f32>::place(lane / 8 + 4 * q, within) / 4);
            c.set_4(row + 4 * q, column + within, pack, packs);
            q += 1;
        }
        warp::sync_warp(FULL); // all lanes have read it
        each::<N>(|i| {
            if i + 16 < N {
                sums[i] = sums[i + 16];
            }
        });
        column += Tile::<f32>::DEPTH;
    }
}
