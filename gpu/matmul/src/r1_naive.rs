//! # Matrix product, one thread per element
//!
//! **Idea.** Each thread computes one element of C as the formula says: the sum over k of a row of A times a column of
//! B, all read from global memory. Thread (x, y) takes row x and column y.
//!
//! **Changed from the rung before.** First rung.
//!
//! **Bottleneck.** The loads of A are *uncoalesced*: the threads of a warp differ in x, so they read 16 different rows,
//! and one load of the warp touches 16 cache lines to get 64 bytes. The next rung exchanges x and y.
//!
//! **Cost.** 2·m·n·k operations; 8·m·n·k bytes of loads; no barrier; one launch.
//!
//! **Threads.** Blocks of 16 × 16. Thread (x, y) computes element (x, y) of the block's tile of C, so a warp reads two
//! columns of B and 16 rows of A.
//!
//! **Limits.** Any m, n and k; each matrix has fewer than 2³² elements, as all views have.
//!
//! **Source.** S. Boehm, "How to optimize a CUDA matmul kernel for cuBLAS-like performance" (2022), kernel 1. Changed:
//! any sizes.

use super::tile_of_block;
use simt::math::fma;
use simt::{Global, kernel, thread};

/// Side of a block.
pub const SIDE: u32 = 16;

/// C = A·B: `a` is m × k, `b` is k × n, `c` is m × n.
#[kernel(max_threads = SIDE * SIDE)]
pub fn matmul_naive(a: Global<f32>, b: Global<f32>, c: Global<f32>, m: u32, n: u32, k: u32) {
    let (first_row, first_column) = tile_of_block(n, SIDE, SIDE);
    let (row, column) = (first_row + thread::thread_idx_x(), first_column + thread::thread_idx_y());
    // Tiles at the edges of C have threads without an element.
    if row < m && column < n {
        let row_of_a = a.slice(row * k, k);
        let (mut sum, mut i) = (0.0, 0);
        while i < k {
            sum = fma(row_of_a.get(i), b.get(i * n + column), sum);
            i += 1;
        }
        c.set(row * n + column, sum);
    }
}

#[cfg(not(target_os = "cuda"))]
pub mod launches {
    //! What the host launches: the kernel, once.

    use super::*;
    use crate::ladder::*;
    use crate::tiles;

    /// The rung's row in the ladder: the file with its head, its kernels, and the function below.
    pub static RUNG: Entry<Multiply> = rung!("r1_naive.rs", [matmul_naive]).run_by(Multiply::F32(multiply));

    /// C = A·B.
    ///
    /// # Errors
    /// Fails if the launch fails.
    pub fn multiply(on: &dyn Launcher, Product { a, b, c, m, n, k }: Product<f32>) -> Result {
        let geometry = Geometry::plane((tiles(m, n, SIDE, SIDE), 1), (SIDE, SIDE));
        on.launch(matmul_naive, geometry, (a, b, c, m, n, k))
    }
}
