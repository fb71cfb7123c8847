//! # Matrix product, asynchronous copies and a double buffer
//!
//! **Idea.** Shared memory holds two pairs of tiles (a *double buffer*). While the block multiplies one pair,
//! `cp.async` copies the other from global memory: no register holds the elements on their way, and no thread waits for
//! them before it needs them.
//!
//! **Changed from the rung before.** `warp-tile` copies, then multiplies. Here both happen at once, and one barrier per
//! step is enough: the barrier that completes one pair also ends the last use of the other.
//!
//! **Bottleneck.** All threads do both: in each step every warp issues instructions that start copies, and all warps
//! meet at a barrier. The next rung leaves the copies to warps of their own.
//!
//! **Cost.** 2·m·n·k operations; 4·k·(m·⌈n/TILE⌉ + n·⌈m/TILE⌉) bytes of global loads; ⌈k/DEPTH⌉ barriers per block; one
//! launch.
//!
//! **Threads.** As in `warp-tile`: 256 threads compute a tile of 128 × 128, a warp 64 × 32, a thread 8 × 8. A is
//! transposed by copies of four bytes; B is copied by 16 bytes.
//!
//! **Limits.** Any m, n and k. If the address of B is no multiple of 16 bytes, or its rows are no multiple of four
//! elements, B is copied by four bytes, too. `cp.async` needs compute capability 8.0.
//!
//! **Source.** A. Kerr et al., "CUTLASS: fast linear algebra in CUDA C++" (2017), for the double buffer; NVIDIA, "CUDA
//! C++ programming guide", asynchronous data copies.

use super::{Matrix, tile_of_block};
use simt::math::fma;
use simt::{Global, Shared, async_copy, kernel, opaque, shared, thread, unroll, warp};

/// Side of a tile of C.
pub const TILE: u32 = 128;
/// Columns of the tile of A, rows of the tile of B.
pub const DEPTH: u32 = 16;
/// Elements from one row of the transposed tile of A to the next.
const STRIDE_A: u32 = TILE + 4;
/// Rows and columns of C per thread, in two fours.
const SIDE: usize = 8;
/// Rows and columns of threads in a warp.
const LANES: (u32, u32) = (8, 4);
/// Rows and columns of a warp's tile.
const WARP_TILE: (u32, u32) = (LANES.0 * SIDE as u32, LANES.1 * SIDE as u32);
/// Threads per block.
const BLOCK: u32 = TILE / WARP_TILE.0 * (TILE / WARP_TILE.1) * 32;
/// Pairs of tiles in shared memory.
const STAGES: u32 = 2;
/// Elements of a tile of A, and of B, in shared memory.
const SIZE_A: u32 = DEPTH * STRIDE_A;
const SIZE_B: u32 = DEPTH * TILE;
/// Elements of A, and fours of B, that a thread copies.
const COPIES_A: usize = (TILE * DEPTH / BLOCK) as usize;
const COPIES_B: usize = COPIES_A / 4;

shared!(TILES_A: [f32; STAGES * SIZE_A]);
shared!(TILES_B: [f32; STAGES * SIZE_B]);

/// C = A·B: `a` is m × k, `b` is k × n, `c` is m × n.
#[kernel(max_threads = BLOCK, min_blocks = 2)]
pub fn matmul_async_copy(a: Global<f32>, b: Global<f32>, c: Global<f32>, m: u32, n: u32, k: u32) {
    let (a, b, c) = (Matrix::new(a, m, k), Matrix::new(b, k, n), Matrix::new(c, m, n));
    let packs = b.has_packs();
    let (first_row, first_column) = tile_of_block(n, TILE, TILE);
    let (row, column) = place_of_thread();
    let mut sums = [[0.0; SIDE]; SIDE];
    let (mut t, mut stage) = (0, 0);
    start_copy(stage, a, first_row, b, first_column, t, packs);
    while t < k {
        async_copy::wait::<0>();
        // All threads' copies to this pair of tiles are complete, and all threads are done with the other pair.
        thread::sync_threads();
        start_copy(stage ^ 1, a, first_row, b, first_column, t + DEPTH, packs);
        multiply(stage, row, column, &mut sums);
        (t, stage) = (t + DEPTH, stage ^ 1);
    }
    async_copy::wait::<0>(); // no copy is in flight when the block ends and its shared memory is given to another
    store(c, first_row + row, first_column + column, &sums);
}

/// The thread's first row and column within the tile: by its warp, then by its lane.
#[simt::device]
fn place_of_thread() -> (u32, u32) {
    let (number, lane, across) = (thread::thread_idx_x() / 32, warp::lane_id(), TILE / WARP_TILE.1);
    let (row, column) = (number / across * WARP_TILE.0, number % across * WARP_TILE.1);
    (row + lane / LANES.1 * 4, column + lane % LANES.1 * 4)
}

/// Starts to copy the tiles from k = `t` on to a stage. Elements outside the matrices become zero: all of them,
/// after the last tile.
#[simt::device]
fn start_copy(stage: u32, a: Matrix, first_row: u32, b: Matrix, first_column: u32, t: u32, packs: bool) {
    let tile_a = TILES_A::view().slice(stage * SIZE_A, SIZE_A);
    let tile_b = TILES_B::view().slice(stage * SIZE_B, SIZE_B);
    // Opaque: places in A would be kept in registers from step to step, and there are too few for that.
    let (thread, first_row) = (thread::thread_idx_x(), opaque(first_row));
    unroll::<COPIES_A>(|i| {
        let (row, e) = (i as u32 * (BLOCK / DEPTH) + thread / DEPTH, thread % DEPTH);
        start_element(tile_a, e * STRIDE_A + row, a, first_row + row, t + e);
    });
    unroll::<COPIES_B>(|i| {
        let place = i as u32 * BLOCK + thread;
        let (row, column) = (t + place / (TILE / 4), first_column + place % (TILE / 4) * 4);
        if packs {
            let inside = if row < b.rows && column < b.columns { 4 } else { 0 };
            async_copy::pack(tile_b, place, b.data, row.wrapping_mul(b.columns).wrapping_add(column) / 4, inside);
        } else {
            unroll::<4>(|j| start_element(tile_b, place * 4 + j as u32, b, row, column + j as u32));
        }
    });
    async_copy::commit();
}

/// Starts to copy one element to place `i` of `to`.
#[simt::device]
fn start_element(to: Shared<f32>, i: u32, from: Matrix, row: u32, column: u32) {
    let inside = row < from.rows && column < from.columns;
    // Outside the product may not fit 32 bits; the place is not used then.
    async_copy::element(to, i, from.data, row.wrapping_mul(from.columns).wrapping_add(column), inside);
}

/// Adds the products of a stage's tiles to the thread's sums.
#[simt::device]
fn multiply(stage: u32, row: u32, column: u32, sums: &mut [[f32; SIDE]; SIDE]) {
    // Views that begin at the thread's first element: the places of all others are then constants.
    let tile_a = TILES_A::view().slice(stage * SIZE_A + row, SIZE_A - row);
    let tile_b = TILES_B::view().slice(stage * SIZE_B + column, SIZE_B - column);
    unroll::<{ DEPTH as usize }>(|e| {
        let a = two_fours(tile_a, e as u32 * STRIDE_A, WARP_TILE.0 / 2);
        let b = two_fours(tile_b, e as u32 * TILE, WARP_TILE.1 / 2);
        outer_product(sums, &a, &b);
    });
}

/// The four elements from `at` on, and the four that are `apart` further.
#[simt::device]
fn two_fours(tile: Shared<f32>, at: u32, apart: u32) -> [f32; SIDE] {
    let ([a, b, c, d], [e, f, g, h]) = (tile.get_pack(at / 4), tile.get_pack((at + apart) / 4));
    [a, b, c, d, e, f, g, h]
}

/// Adds the products of all pairs of a column of A and a row of B, to and fro along the rows, so that neighbouring
/// instructions share an operand.
#[simt::device]
fn outer_product(sums: &mut [[f32; SIDE]; SIDE], a: &[f32; SIDE], b: &[f32; SIDE]) {
    unroll::<SIDE>(|j| {
        unroll::<SIDE>(|i| {
            let i = if j % 2 == 0 { i } else { SIDE - 1 - i };
            sums[i][j] = fma(a[i], b[j], sums[i][j]);
        });
    });
}

/// Writes the thread's elements of C, from (`row`, `column`) on.
#[simt::device]
fn store(c: Matrix, row: u32, column: u32, sums: &[[f32; SIDE]; SIDE]) {
    let packs = c.has_packs();
    unroll::<SIDE>(|i| {
        let row = row + i as u32 % 4 + i as u32 / 4 * (WARP_TILE.0 / 2);
        let [a, b, c0, d, e, f, g, h] = sums[i];
        c.set_pack(row, column, [a, b, c0, d], packs);
        c.set_pack(row, column + WARP_TILE.1 / 2, [e, f, g, h], packs);
    });
}

#[cfg(not(target_os = "cuda"))]
pub mod launches {
    //! What the host launches: the kernel, once.

    use super::*;
    use crate::ladder::*;
    use crate::tiles;

    /// The rung.
    pub static RUNG: Entry<Multiply> = rung!("r9_async_copy.rs", [matmul_async_copy]).run_by(Multiply::F32(multiply));

    /// C = A·B.
    ///
    /// # Errors
    /// Fails if the launch fails.
    pub fn multiply(on: &dyn Launcher, Product { a, b, c, m, n, k }: Product<f32>) -> Result {
        on.launch(matmul_async_copy, Geometry::linear(tiles(m, n, TILE, TILE), BLOCK), (a, b, c, m, n, k))
    }
}
