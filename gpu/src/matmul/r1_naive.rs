//! # Matrix product, one thread per element
//!
//! **Idea.** Each thread computes one element of C: the sum over k of a row of A times a column of B, read from global
//! memory as the formula says.
//!
//! **Changed from the rung before.** First rung.
//!
//! **Bottleneck.** Every element of A is read n times and every element of B m times. The caches catch most of these
//! reads, but each multiply-add waits for two loads. The next rung loads a tile once and uses it from shared memory.
//!
//! **Cost.** 2·m·n·k operations; 8·m·n·k bytes of loads; no barrier; one launch.
//!
//! **Threads.** Blocks of 16 × 16; thread (x, y) of a block computes element (y, x) of the block's tile, so the threads
//! of a warp share two rows of A and read neighbouring columns of B.
//!
//! **Limits.** Any m, n, k and strides.
//!
//! **Source.** V. A. Antonyuk, "GPGPU programming" (2015). Changed: any sizes and strides.

use super::Shape;
use simt::math::fma;
use simt::{Global, kernel, thread};

/// Side of a block.
pub const SIDE: u32 = 16;

/// C = A·B: `a` is m × k, `b` is k × n, `c` is m × n.
#[kernel]
pub fn matmul_naive(a: Global<f32>, b: Global<f32>, c: Global<f32>, shape: Shape) {
    let Shape { m, n, k, .. } = shape;
    let (a, b, c) = shape.matrices(a, b, c);
    let (first_row, first_column) = shape.tile_of_block(SIDE);
    let (row, column) = (first_row + thread::thread_idx_y(), first_column + thread::thread_idx_x());
    // Threads beyond the edge of C have nothing to do, and no barrier waits for them.
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
                let (shape, block) = (Shape::of(&a, &b, &c), [SIDE, SIDE, 1]);
                let geometry = Geometry { block, ..Geometry::linear(shape.tiles(SIDE), 0) };
                on.launch(matmul_naive, geometry, (a.data, b.data, c.data, shape))
            }))
        }
    }
}
