//! # Matrix product, 8 × 8 elements per thread
//!
//! **Idea.** A thread computes 8 × 8 elements of C. For each k it loads eight elements of A and eight of B into
//! registers and multiplies all pairs: an *outer product*.
//!
//! **Changed from the rung before.** Sixteen shared loads for 64 multiply-adds, where `thread-column` needs nine for
//! eight. A tile has a side of 128.
//!
//! **Bottleneck.** One instruction in five is a shared load, each of four bytes. The next rung loads four elements at
//! once.
//!
//! **Cost.** 2·m·n·k operations; 4·k·(m·⌈n/TILE⌉ + n·⌈m/TILE⌉) bytes of global loads; 2·⌈k/DEPTH⌉ barriers per block;
//! one launch.
//!
//! **Threads.** 256 threads, as 16 × 16, compute a tile of 128 × 128. Thread (x, y) has the rows y + 16·i and the
//! columns x + 16·j, so that neighbouring threads read from neighbouring banks and write neighbouring elements of C.
//!
//! **Limits.** Any m, n and k: elements outside the matrices are read as zero and not written.
//!
//! **Source.** S. Boehm, "How to optimize a CUDA matmul kernel for cuBLAS-like performance" (2022), kernel 5. Changed:
//! any sizes; the elements of a thread are 16 apart, to avoid bank conflicts.

use super::{Matrix, tile_of_block};
use simt::math::fma;
use simt::{Global, kernel, shared, thread, unroll};

/// Side of a tile of C.
pub const TILE: u32 = 128;
/// Columns of the tile of A, rows of the tile of B.
pub const DEPTH: u32 = 8;
/// Rows and columns of C per thread.
const SIDE: usize = 8;
/// Threads along a side of the tile: the distance of a thread's elements.
const APART: u32 = TILE / SIDE as u32;
/// Threads per block.
const BLOCK: u32 = APART * APART;
/// Elements of each tile that a thread copies.
const COPIES: usize = (TILE * DEPTH / BLOCK) as usize;

shared!(TILE_A: [f32; TILE * DEPTH]);
shared!(TILE_B: [f32; DEPTH * TILE]);

/// C = A·B: `a` is m × k, `b` is k × n, `c` is m × n.
#[kernel(max_threads = BLOCK, min_blocks = 2)]
pub fn matmul_thread_tile(a: Global<f32>, b: Global<f32>, c: Global<f32>, m: u32, n: u32, k: u32) {
    let (a, b, c) = (Matrix::new(a, m, k), Matrix::new(b, k, n), Matrix::new(c, m, n));
    let (x, y) = (thread::thread_idx_x() % APART, thread::thread_idx_x() / APART);
    let (first_row, first_column) = tile_of_block(n, TILE, TILE);
    let mut sums = [[0.0; SIDE]; SIDE];
    let mut t = 0;
    while t < k {
        copy(a, first_row, b, first_column, t);
        thread::sync_threads(); // the tiles are complete before any thread reads them
        multiply(x, y, &mut sums);
        thread::sync_threads(); // all threads are done with the tiles before they are overwritten
        t += DEPTH;
    }
    let (row, column) = (first_row + y, first_column + x);
    unroll::<SIDE>(|i| {
        unroll::<SIDE>(|j| c.set(row + APART * i as u32, column + APART * j as u32, sums[i][j]));
    });
}

/// Copies the tiles from k = `t` on to shared memory. All loads come before the first store, so that a thread waits
/// only once.
#[simt::device]
fn copy(a: Matrix, first_row: u32, b: Matrix, first_column: u32, t: u32) {
    let place = |i: usize| i as u32 * BLOCK + thread::thread_idx_x();
    let (mut of_a, mut of_b) = ([0.0; COPIES], [0.0; COPIES]);
    unroll::<COPIES>(|i| {
        of_a[i] = a.get(first_row + place(i) / DEPTH, t + place(i) % DEPTH);
        of_b[i] = b.get(t + place(i) / TILE, first_column + place(i) % TILE);
    });
    unroll::<COPIES>(|i| {
        TILE_A::view().set(place(i), of_a[i]);
        TILE_B::view().set(place(i), of_b[i]);
    });
}

/// Adds the products of the tiles to the thread's sums.
#[simt::device]
fn multiply(x: u32, y: u32, sums: &mut [[f32; SIDE]; SIDE]) {
    let (tile_a, tile_b) = (TILE_A::view(), TILE_B::view());
    let mut e = 0;
    while e < DEPTH {
        let (mut a, mut b) = ([0.0; SIDE], [0.0; SIDE]);
        unroll::<SIDE>(|i| a[i] = tile_a.get((y + APART * i as u32) * DEPTH + e));
        unroll::<SIDE>(|j| b[j] = tile_b.get(e * TILE + x + APART * j as u32));
        outer_product(sums, &a, &b);
        e += 1;
    }
}

/// Adds the products of all pairs of a column of A and a row of B.
///
/// The order goes to and fro along the rows: neighbouring instructions then share an operand, which comes from the
/// operand cache instead of from the banks of the register file.
#[simt::device]
fn outer_product(sums: &mut [[f32; SIDE]; SIDE], a: &[f32; SIDE], b: &[f32; SIDE]) {
    unroll::<SIDE>(|j| {
        unroll::<SIDE>(|i| {
            let i = if j % 2 == 0 { i } else { SIDE - 1 - i };
            sums[i][j] = fma(a[i], b[j], sums[i][j]);
        });
    });
}

#[cfg(not(target_os = "cuda"))]
pub mod launches {
    //! What the host launches: the kernel, once.

    use super::*;
    use crate::ladder::*;
    use crate::tiles;

    /// The rung.
    pub static RUNG: Entry<Multiply> = rung!("r6_thread_tile.rs", [matmul_thread_tile]).run_by(Multiply::F32(multiply));

    /// C = A·B.
    ///
    /// # Errors
    /// Fails if the launch fails.
    pub fn multiply(on: &dyn Launcher, Product { a, b, c, m, n, k }: Product<f32>) -> Result {
        on.launch(matmul_thread_tile, Geometry::linear(tiles(m, n, TILE, TILE), BLOCK), (a, b, c, m, n, k))
    }
}
