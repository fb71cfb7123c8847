//! # Matrix product, neighbours in a row
//!
//! **Idea.** The same loop, but neighbouring threads compute neighbouring elements of a row of C. Their loads of B are
//! then next to each other, and those of A are of one element, which all of them get at once.
//!
//! **Changed from the rung before.** x and y are exchanged, and a warp has one row of the block: a warp of `naive`
//! loads from 16 rows of A at a time, here from one.
//!
//! **Bottleneck.** Every element of A is read n times and every element of B m times. The caches catch most of these
//! reads, but each multiply-add waits for two loads. The next rung loads a tile once and uses it from shared memory.
//!
//! **Cost.** 2·m·n·k operations; 8·m·n·k bytes of loads; no barrier; one launch. Elements of `f64` are twice the bytes.
//!
//! **Threads.** Blocks of 8 × 32; thread (x, y) of a block computes element (y, x) of the block's tile, so the threads
//! of a warp read one element of A and 32 neighbouring columns of B.
//!
//! **Limits.** Any m, n, k and strides; `f32` and `f64`; transposed operands (B is then read as `naive` reads A),
//! factors and batches.
//!
//! **Source.** V. A. Antonyuk, "GPGPU programming" (2015). Changed: any sizes and strides.

use super::r1_naive::dot;
use super::{Real, Shape};
use simt::{Global, kernel, thread};

/// Threads of a block along a column of C.
pub const ROWS: u32 = 8;
/// Threads of a block along a row of C: a warp.
pub const COLUMNS: u32 = 32;

/// C = alpha·A·B + beta·C: `a` is m × k, `b` is k × n, `c` is m × n.
#[kernel(instances(product_coalesced: <f32>, product_coalesced_f64: <f64>))]
pub fn product_coalesced<T: Real>(a: Global<T>, b: Global<T>, c: Global<T>, shape: Shape<T>) {
    let task = shape.task(ROWS, COLUMNS, a, b, c);
    let (row, column) = (task.row + thread::thread_idx_y(), task.column + thread::thread_idx_x());
    // Threads beyond the edge of C have nothing to do, and no barrier waits for them.
    if row < shape.m && column < shape.n {
        T::set(task.c, row, column, dot(task.a, row, task.b, column, shape.k));
    }
}

#[cfg(not(target_os = "cuda"))]
pub mod launches {
    //! What the host launches: the kernel, once.

    use super::*;
    use crate::host::by_tiles;
    use crate::ladder::*;

    /// The rung.
    pub static RUNG: Entry<Matmul> = rung!("r2_coalesced.rs", [product_coalesced]).run_by(&Coalesced);

    struct Coalesced;

    impl<T: Real> MultipliesOf<T> for Coalesced
    where
        product_coalesced<T>: Kernel<Args = (Global<T>, Global<T>, Global<T>, Shape<T>)>,
    {
        fn launches_of(&self, _: &dyn Launcher, _: Sizes) -> Result<Launches<Product<T>>> {
            by_tiles(product_coalesced::<T>::default(), ROWS, COLUMNS, [COLUMNS, ROWS, 1])
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
