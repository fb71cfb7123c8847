//! # Matrix product, one thread per element
//!
//! **Idea.** Each thread computes one element of C: the sum over k of a row of A times a column of B, read from global
//! memory as the formula says. Thread (x, y) takes row x and column y, as one counts the elements of a matrix.
//!
//! **Changed from the rung before.** First rung.
//!
//! **Bottleneck.** The threads of a warp differ in x, so they work on different rows: each of their loads of A touches
//! 16 lines of memory for 64 bytes. The next rung exchanges x and y.
//!
//! **Cost.** 2·m·n·k operations; 8·m·n·k bytes of loads; no barrier; one launch. Elements of `f64` are twice the bytes.
//!
//! **Threads.** Blocks of 16 × 16; thread (x, y) of a block computes element (x, y) of the block's tile, so the threads
//! of a warp share two columns of B and read 16 rows of A.
//!
//! **Limits.** Any m, n, k and strides; `f32` and `f64`; transposed operands, factors and batches.
//!
//! **Source.** S. Boehm, "How to optimize a CUDA matmul kernel for cuBLAS-like performance" (2022), kernel 1. Changed:
//! any sizes and strides.

use super::{Matrix, Real, Shape};
use simt::{Global, kernel, thread};

/// Side of a block.
pub const SIDE: u32 = 16;

/// C = alpha·A·B + beta·C: `a` is m × k, `b` is k × n, `c` is m × n.
#[kernel(instances(product_naive: <f32>, product_naive_f64: <f64>))]
pub fn product_naive<T: Real>(a: Global<T>, b: Global<T>, c: Global<T>, shape: Shape<T>) {
    let task = shape.task(SIDE, SIDE, a, b, c);
    let (row, column) = (task.row + thread::thread_idx_x(), task.column + thread::thread_idx_y());
    // Threads beyond the edge of C have nothing to do, and no barrier waits for them.
    if row < shape.m && column < shape.n {
        T::set(task.c, row, column, dot(task.a, row, task.b, column, shape.k));
    }
}

/// The sum of the products of the `k` elements of a row and of a column.
#[inline(always)]
pub(super) fn dot<T: Real>(a: Matrix<T>, row: u32, b: Matrix<T>, column: u32, k: u32) -> T {
    if k == 0 {
        return T::ZERO;
    }
    // From each element the next one is found by its distance: places computed anew, in 32 bits that are then made an
    // address, would be most of the loop's instructions.
    let (mut a, mut b, mut sum, mut behind) = (a.row(row), b.column(column), T::ZERO, k - 1);
    while behind > 0 {
        sum = T::fma(a.first(), b.first(), sum);
        (a, b) = (a.rest(), b.rest());
        behind -= 1;
    }
    T::fma(a.first(), b.first(), sum)
}

#[cfg(not(target_os = "cuda"))]
pub mod launches {
    //! What the host launches: the kernel, once.

    use super::*;
    use crate::host::by_tiles;
    use crate::ladder::*;

    /// The rung.
    pub static RUNG: Entry<Matmul> = rung!("r1_naive.rs", [product_naive]).run_by(&Naive);

    struct Naive;

    impl<T: Real> MultipliesOf<T> for Naive
    where
        product_naive<T>: Kernel<Args = (Global<T>, Global<T>, Global<T>, Shape<T>)>,
    {
        fn launches_of(&self, _: &dyn Launcher, _: Sizes) -> Result<Launches<Product<T>>> {
            by_tiles(product_naive::<T>::default(), SIDE, SIDE, [SIDE, SIDE, 1])
        }
    }

    impl Multiplies for Naive {
        fn launches(&self, on: &dyn Launcher, sizes: Sizes) -> Result<Launches<Product>> {
            self.launches_of(on, sizes)
        }

        fn f64(&self) -> Option<&dyn MultipliesOf<f64>> {
            Some(self)
        }
    }
}
