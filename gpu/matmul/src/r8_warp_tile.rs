//! # Matrix product, a tile per warp
//!
//! **Idea.** The 32 threads of a warp form a rectangle of 8 × 4, so that the warp has a tile of 64 × 32 of its own. For
//! each k it loads 64 + 32 elements. Threads that load the same element share one access.
//!
//! **Changed from the rung before.** `vector-loads` has 2 × 16 threads in a warp, which load 16 + 128 elements for as
//! many products. The tiles in shared memory have a depth of 16, for half as many barriers.
//!
//! **Bottleneck.** The latency of global memory: while the block copies it does not multiply, and only the SM's other
//! resident block does. The next rung copies the next tiles while it multiplies these.
//!
//! **Cost.** 2·m·n·k operations; 4·k·(m·⌈n/TILE⌉ + n·⌈m/TILE⌉) bytes of global loads; 2·⌈k/DEPTH⌉ barriers per block;
//! one launch.
//!
//! **Threads.** 256 threads compute a tile of 128 × 128; their eight warps compute 2 × 4 tiles of 64 × 32. The lanes of
//! a warp are 4 × 8. Lane (x, y) has the four rows from 4·y on and those 32 below, and the four columns from 4·x on and
//! those 16 to the right.
//!
//! **Limits.** Any m, n and k. A matrix whose address is no multiple of 16 bytes, or whose rows are no multiple of four
//! elements, is copied element by element.
//!
//! **Source.** S. Boehm, "How to optimize a CUDA matmul kernel for cuBLAS-like performance" (2022), kernel 10; A. Kerr
//! et al., "CUTLASS: fast linear algebra in CUDA C++" (2017). Changed: any sizes; the shape of the tiles.

use super::{Matrix, tile_of_block};
use simt::math::fma;
use simt::{Global, Shared, kernel, shared, thread, unroll, warp};

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
/// Fours of each tile that a thread copies.
const COPIES: usize = (TILE * DEPTH / 4 / BLOCK) as usize;

shared!(TILE_A: [f32; DEPTH * STRIDE_A]);
shared!(TILE_B: [f32; DEPTH * TILE]);

/// C = A·B: `a` is m × k, `b` is k × n, `c` is m × n.
#[kernel(max_threads = BLOCK, min_blocks = 2)]
pub fn matmul_warp_tile(a: Global<f32>, b: Global<f32>, c: Global<f32>, m: u32, n: u32, k: u32) {
    let (a, b, c) = (Matrix::new(a, m, k), Matrix::new(b, k, n), Matrix::new(c, m, n));
    let packs = (a.has_packs(), b.has_packs());
    let (first_row, first_column) = tile_of_block(n, TILE, TILE);
    let (row, column) = place_of_thread();
    let mut sums = [[0.0; SIDE]; SIDE];
    let mut t = 0;
    while t < k {
        copy(a, first_row, b, first_column, t, packs);
        thread::sync_threads(); // the tiles are complete before any thread reads them
        multiply(row, column, &mut sums);
        thread::sync_threads(); // all threads are done with the tiles before they are overwritten
        t += DEPTH;
    }
    store(c, first_row + row, first_column + column, &sums);
}

/// The thread's first row and column within the tile: by its warp, then by its lane.
#[simt::device]
fn place_of_thread() -> (u32, u32) {
    let (number, lane, across) = (thread::thread_idx_x() / 32, warp::lane_id(), TILE / WARP_TILE.1);
    let (row, column) = (number / across * WARP_TILE.0, number % across * WARP_TILE.1);
    (row + lane / LANES.1 * 4, column + lane % LANES.1 * 4)
}

/// Copies the tiles from k = `t` on to shared memory. All loads come before the first store, so that a thread waits
/// only once.
#[simt::device]
fn copy(a: Matrix, first_row: u32, b: Matrix, first_column: u32, t: u32, (packs_a, packs_b): (bool, bool)) {
    let thread = thread::thread_idx_x();
    // A thread copies from one row of A. It and its neighbour load eight elements at a time: a whole sector.
    let (row, e) = (thread / 2, |i: usize| (thread % 2 + 2 * i as u32) * 4);
    let place_b = |i: usize| i as u32 * BLOCK + thread;
    let (mut of_a, mut of_b) = ([[0.0; 4]; COPIES], [[0.0; 4]; COPIES]);
    unroll::<COPIES>(|i| {
        let (row_b, column_b) = (place_b(i) / (TILE / 4), place_b(i) % (TILE / 4) * 4);
        of_a[i] = a.get_4(first_row + row, t + e(i), packs_a);
        of_b[i] = b.get_4(t + row_b, first_column + column_b, packs_b);
    });
    unroll::<COPIES>(|i| {
        unroll::<4>(|j| TILE_A::view().set((e(i) + j as u32) * STRIDE_A + row, of_a[i][j]));
        TILE_B::view().set_pack(place_b(i), of_b[i]);
    });
}

/// Adds the products of the tiles to the thread's sums.
#[simt::device]
fn multiply(row: u32, column: u32, sums: &mut [[f32; SIDE]; SIDE]) {
    // Views that begin at the thread's first element: the places of all others are then constants.
    let tile_a = TILE_A::view().slice(row, DEPTH * STRIDE_A - row);
    let tile_b = TILE_B::view().slice(column, DEPTH * TILE - column);
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
    pub static RUNG: Entry<Multiply> = rung!("r8_warp_tile.rs", [matmul_warp_tile]).run_by(Multiply::F32(multiply));

    /// C = A·B.
    ///
    /// # Errors
    /// Fails if the launch fails.
    pub fn multiply(on: &dyn Launcher, Product { a, b, c, m, n, k }: Product<f32>) -> Result {
        on.launch(matmul_warp_tile, Geometry::linear(tiles(m, n, TILE, TILE), BLOCK), (a, b, c, m, n, k))
    }
}
