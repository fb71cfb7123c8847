//! # Matrix product, one thread an element
//!
//! **Idea.** Each thread computes one element of C: the sum over k of a row of A times a column of B, read from
//! global memory as the formula says.
//!
//! **Changed from the rung before.** First rung.
//!
//! **Bottleneck.** Every element of A is read n times and every element of B m times. The caches catch most of it, but
//! each multiply-add waits for two loads. The next rung reads a tile once and uses it from shared memory.
//!
//! **Cost.** 2·m·n·k operations, 8·m·n·k bytes asked of the memory system, no barrier.
//!
//! **Threads.** Blocks of 16 × 16; thread (x, y) of block (X, Y) computes element (16·Y + y, 16·X + x), so the threads
//! of a warp share two rows of A and read neighbouring columns of B.
//!
//! **Limits.** Any m, n, k and strides.
//!
//! **Source.** V. A. Antonyuk, "GPGPU programming" (2015).

use super::Matrix;
use simt::math::fma;
use simt::{Global, kernel, thread};

/// Side of a block.
pub const SIDE: u32 = 16;

/// Blocks along (columns, rows) of an m × n product.
pub const fn grid(m: u32, n: u32) -> (u32, u32) {
    (n.div_ceil(SIDE), m.div_ceil(SIDE))
}

/// C = A·B: `a` is m × k with `lda` elements from row to row, `b` is k × n with `ldb`, `c` is m × n with `ldc`.
#[kernel]
#[rustfmt::skip]
pub fn matmul_naive(
    a: Global<f32>, lda: u32, b: Global<f32>, ldb: u32, c: Global<f32>, ldc: u32, m: u32, n: u32, k: u32,
) {
    let (a, b, c) = (Matrix::new(a, m, k, lda), Matrix::new(b, k, n, ldb), Matrix::new(c, m, n, ldc));
    let row = thread::block_idx_y() * SIDE + thread::thread_idx_y();
    let column = thread::block_idx_x() * SIDE + thread::thread_idx_x();
    // Threads beyond the edge of C have nothing to do, and nobody waits for them.
    if row < m && column < n {
        let mut sum = 0.0;
        let mut e = 0;
        while e < k {
            sum = fma(a.get(row, e), b.get(e, column), sum);
            e += 1;
        }
        c.set(row, column, sum);
    }
}

#[cfg(not(target_os = "cuda"))]
pub mod launches {
    //! What the host launches: the kernel, once.

    use super::*;
    use crate::ladder::matmul::*;

    /// The rung.
    pub static RUNG: Entry<Matmul> = rung!("r1_naive.rs", [matmul_naive]).run_by(&Naive);

    struct Naive;

    impl Multiplies for Naive {
        fn launches(&self, _: &dyn Launcher) -> Result<Launches<Product>> {
            Ok(Box::new(|on, Product { a, b, c }| {
                let geometry = Geometry::plane(grid(c.rows, c.columns), (SIDE, SIDE));
                let args = (a.data, a.stride, b.data, b.stride, c.data, c.stride, c.rows, c.columns, a.columns);
                on.launch(matmul_naive, geometry, args)
            }))
        }
    }
}
