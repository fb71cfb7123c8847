//! # Matrix product, one thread per element, any type and layout
//!
//! **Idea.** One thread computes one element of C, in a loop over k. Neighbouring threads have neighbouring columns,
//! so loads of B coalesce and a load of A is one element for the whole warp. The kernel is short and takes every
//! product; it serves the simulator, where larger tiles cost more than they save.
//!
//! **Bottleneck.** Every element of A is read n times and every element of B m times, mostly from L1 and L2.
//!
//! **Cost.** 2·m·n·k operations; 8·m·n·k bytes of loads; no barrier; one launch. Elements of `f64` are twice the
//! bytes.
//!
//! **Threads.** Blocks of 8 × 32; thread (x, y) computes element (y, x) of the block's tile.
//!
//! **Limits.** Any m, n, k and strides; `f32` and `f64`; transposed operands, factors and batches.
//!
//! **Source.** V. A. Antonyuk, "GPGPU programming" (2015). Changed: any sizes and strides.

use super::{Matrix, Real, Shape};
use simt::{Global, kernel, thread};

/// Threads of a block along a column of C.
pub const ROWS: u32 = 8;
/// Threads of a block along a row of C: a warp.
pub const COLUMNS: u32 = 32;

/// C = alpha·A·B + beta·C: `a` is m × k, `b` is k × n, `c` is m × n.
#[kernel(instances(product_any_type: <f32>, product_any_type_f64: <f64>))]
pub fn product_any_type<T: Real>(a: Global<T>, b: Global<T>, c: Global<T>, shape: Shape<T>) {
    let task = shape.task(ROWS, COLUMNS, a, b, c);
    let (row, column) = (task.row + thread::thread_idx_y(), task.column + thread::thread_idx_x());
    // Threads beyond the edge of C have nothing to do, and no barrier waits for them.
    if row < shape.m && column < shape.n {
        T::set(task.c, row, column, dot(task.a, row, task.b, column, shape.k));
    }
}

/// The sum of the products of the `k` elements of a row and of a column.
#[simt::device]
fn dot<T: Real>(a: Matrix<T>, row: u32, b: Matrix<T>, column: u32, k: u32) -> T {
    if k == 0 {
        return T::ZERO;
    }
    // From each element the next one is found by its distance: places computed again, in 32 bits that are then made an
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
    pub static RUNG: Entry<Matmul> = rung!("any_type.rs", [product_any_type]).run_by(&Coalesced);

    struct Coalesced;

    impl<T: Real> MultipliesOf<T> for Coalesced
    where
        product_any_type<T>: Kernel<Args = (Global<T>, Global<T>, Global<T>, Shape<T>)>,
    {
        fn launches_of(&self, _: &dyn Launcher, _: Sizes) -> Result<Launches<Product<T>>> {
            by_tiles(product_any_type::<T>::default(), ROWS, COLUMNS, [COLUMNS, ROWS, 1])
        }
    }

    impl Multiplies for Coalesced {
        fn launches(&self, on: &dyn Launcher, sizes: Sizes) -> Result<Launches<Product>> {
            self.launches_of(on, sizes)
        }

        fn f64(&self) -> Option<&dyn MultipliesOf<f64>> {
            Some(self)
        }
    }
}
