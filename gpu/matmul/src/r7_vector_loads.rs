//! # Matrix product, 16 bytes per load
//!
//! **Idea.** A thread's rows and columns come in fours. Four neighbouring elements are one access of 16 bytes: from
//! global memory, from shared memory and to C. The tile of A is transposed on its way to shared memory, so that four
//! rows of one k are neighbours there.
//!
//! **Changed from the rung before.** Four shared loads for 64 multiply-adds, where `thread-tile` needs sixteen.
//!
//! **Bottleneck.** The threads of a warp lie in two rows of 16: for each k a warp loads 2 × 8 elements of A and 16 × 8
//! of B. A squarer warp, as in the next rung, needs fewer.
//!
//! **Cost.** 2·m·n·k operations; 4·k·(m·⌈n/TILE⌉ + n·⌈m/TILE⌉) bytes of global loads; 2·⌈k/DEPTH⌉ barriers per block;
//! one launch.
//!
//! **Threads.** 256 threads, as 16 × 16, compute a tile of 128 × 128. Thread (x, y) has the four rows from 4·y on and
//! those 64 below, and columns likewise. Rows of the transposed tile are padded by four elements, so that the threads
//! of a warp store to different banks.
//!
//! **Limits.** Any m, n and k. A matrix whose address is no multiple of 16 bytes, or whose rows are no multiple of four
//! elements, is copied element by element.
//!
//! **Source.** S. Boehm, "How to optimize a CUDA matmul kernel for cuBLAS-like performance" (2022), kernel 6. Changed:
//! any sizes; no bank conflicts.

use super::{Matrix, tile_of_block};
use simt::math::fma;
use simt::{Global, Shared, kernel, shared, thread, unroll};

/// Side of a tile of C.
pub const TILE: u32 = 128;
/// Columns of the tile of A, rows of the tile of B.
pub const DEPTH: u32 = 8;
/// Elements from one row of the transposed tile of A to the next.
const STRIDE_A: u32 = TILE + 4;
/// Rows and columns of C per thread, in two fours.
const SIDE: usize = 8;
/// Distance of a thread's fours.
const APART: u32 = TILE / 2;
/// Threads along a side of the tile.
const ACROSS: u32 = TILE / SIDE as u32;
/// Threads per block.
const BLOCK: u32 = ACROSS * ACROSS;

const _: () = assert!(TILE * DEPTH == 4 * BLOCK, "each thread copies four elements of A and of B");

shared!(TILE_A: [f32; DEPTH * STRIDE_A]);
shared!(TILE_B: [f32; DEPTH * TILE]);

/// C = A·B: `a` is m × k, `b` is k × n, `c` is m × n.
#[kernel(max_threads = BLOCK, min_blocks = 2)]
pub fn matmul_vector_loads(a: Global<f32>, b: Global<f32>, c: Global<f32>, m: u32, n: u32, k: u32) {
    let (a, b, c) = (Matrix::new(a, m, k), Matrix::new(b, k, n), Matrix::new(c, m, n));
    let packs = (a.has_packs(), b.has_packs());
    let (first_row, first_column) = tile_of_block(n, TILE, TILE);
    // The thread's first row and column within the tile.
    let (row, column) = (thread::thread_idx_x() / ACROSS * 4, thread::thread_idx_x() % ACROSS * 4);
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

/// Copies the tiles from k = `t` on to shared memory.
#[simt::device]
fn copy(a: Matrix, first_row: u32, b: Matrix, first_column: u32, t: u32, (packs_a, packs_b): (bool, bool)) {
    let thread = thread::thread_idx_x();
    let (row, e) = (thread / (DEPTH / 4), thread % (DEPTH / 4) * 4);
    let of_a = a.get_4(first_row + row, t + e, packs_a);
    let of_b = b.get_4(t + thread / (TILE / 4), first_column + thread % (TILE / 4) * 4, packs_b);
    unroll::<4>(|i| TILE_A::view().set((e + i as u32) * STRIDE_A + row, of_a[i]));
    TILE_B::view().set_pack(thread, of_b);
}

/// Adds the products of the tiles to the thread's sums.
#[simt::device]
fn multiply(row: u32, column: u32, sums: &mut [[f32; SIDE]; SIDE]) {
    // Views that begin at the thread's first element: the places of all others are then constants.
    let tile_a = TILE_A::view().slice(row, DEPTH * STRIDE_A - row);
    let tile_b = TILE_B::view().slice(column, DEPTH * TILE - column);
    unroll::<{ DEPTH as usize }>(|e| {
        let a = two_fours(tile_a, e as u32 * STRIDE_A);
        let b = two_fours(tile_b, e as u32 * TILE);
        outer_product(sums, &a, &b);
    });
}

/// The four elements from `at` on, and the four that are `APART` further.
#[simt::device]
fn two_fours(tile: Shared<f32>, at: u32) -> [f32; SIDE] {
    let ([a, b, c, d], [e, f, g, h]) = (tile.get_pack(at / 4), tile.get_pack((at + APART) / 4));
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
        let row = row + i as u32 % 4 + i as u32 / 4 * APART;
        let [a, b, c0, d, e, f, g, h] = sums[i];
        c.set_pack(row, column, [a, b, c0, d], packs);
        c.set_pack(row, column + APART, [e, f, g, h], packs);
    });
}

#[cfg(not(target_os = "cuda"))]
pub mod launches {
    //! What the host launches: the kernel, once.

    use super::*;
    use crate::ladder::*;
    use crate::tiles;

    /// The rung.
    pub static RUNG: Entry<Multiply> =
        rung!("r7_vector_loads.rs", [matmul_vector_loads]).run_by(Multiply::F32(multiply));

    /// C = A·B.
    ///
    /// # Errors
    /// Fails if the launch fails.
    pub fn multiply(on: &dyn Launcher, Product { a, b, c, m, n, k }: Product<f32>) -> Result {
        on.launch(matmul_vector_loads, Geometry::linear(tiles(m, n, TILE, TILE), BLOCK), (a, b, c, m, n, k))
    }
}
