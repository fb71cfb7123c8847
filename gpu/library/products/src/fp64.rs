//! # Matrix product, eight elements per thread, for f64
//!
//! **Idea.** A thread computes eight elements of one column of C: it loads one element of B and eight of A for eight
//! multiply-adds. This is the product of `f64` on GPUs. It runs on the CUDA cores, not on the tensor cores.
//!
//! **Bottleneck.** More than one load from shared memory per multiply-add. The loop over a tile's k is unrolled, so
//! that ptxas merges four loads of A into one of 16 bytes: 16.1 instead of 11.8 TFLOP/s for `f32` at 4096³ (H200).
//!
//! **Cost.** 2·m·n·k operations; 4·k·(m·⌈n/TILE⌉ + n·⌈m/TILE⌉) bytes of global loads; 2·⌈k/DEPTH⌉ barriers per block;
//! one launch. Elements of `f64` are twice the bytes.
//!
//! **Threads.** 512 threads have a tile of 64 × 64; thread t has column t % 64 and the eight rows from t / 64 · 8 on.
//!
//! **Limits.** `f32` and `f64`. Any m, n, k and strides: elements outside the matrices are read as zero and not
//! written; transposed operands (copied to shared memory without coalescing), factors and batches.
//!
//! **Source.** S. Boehm, "How to optimize a CUDA matmul kernel for cuBLAS-like performance" (2022), kernel 4. Changed:
//! any sizes and strides.

use super::registers::add_outer;
use super::{Real, Shape};
use simt::{Global, Shared, kernel, shared, thread, unroll};

/// Side of a tile of C.
pub const TILE: u32 = 64;
/// Elements along k of the tiles in shared memory: one element of each tile per thread.
pub const DEPTH: u32 = 8;
/// Rows of C per thread.
const ROWS: usize = 8;
/// Threads per block.
const BLOCK: u32 = TILE * TILE / ROWS as u32;

const _: () = assert!(TILE * DEPTH == BLOCK, "each thread copies one element of A and one of B");

shared!(TILE_A: [f32; TILE * DEPTH]);
shared!(TILE_B: [f32; DEPTH * TILE]);
shared!(TILE_A_F64: [f64; TILE * DEPTH]);
shared!(TILE_B_F64: [f64; DEPTH * TILE]);

/// C = alpha·A·B + beta·C: `a` is m × k, `b` is k × n, `c` is m × n.
#[kernel(max_threads = BLOCK)]
pub fn product_fp64(a: Global<f32>, b: Global<f32>, c: Global<f32>, shape: Shape) {
    product(a, b, c, shape, || (TILE_A::view(), TILE_B::view()));
}

/// The same for elements of `f64`.
#[kernel(max_threads = BLOCK)]
pub fn product_fp64_f64(a: Global<f64>, b: Global<f64>, c: Global<f64>, shape: Shape<f64>) {
    product(a, b, c, shape, || (TILE_A_F64::view(), TILE_B_F64::view()));
}

/// The block's tile of C, by way of two tiles in shared memory.
#[inline(always)]
fn product<T: Real>(
    a: Global<T>,
    b: Global<T>,
    c: Global<T>,
    shape: Shape<T>,
    tiles: impl Fn() -> (Shared<T>, Shared<T>),
) {
    let (task, thread) = (shape.task(TILE, TILE, a, b, c), thread::thread_idx_x());
    let (row, column) = (thread / TILE * ROWS as u32, thread % TILE);
    let mut sums = [[T::ZERO]; ROWS];
    let mut t = 0;
    while t < shape.k {
        tiles().0.set(thread, task.a.get(task.row + thread / DEPTH, t + thread % DEPTH));
        tiles().1.set(thread, task.b.get(t + thread / TILE, task.column + column));
        thread::sync_threads(); // the tiles are complete before any thread reads them
        multiply(tiles(), row, column, &mut sums);
        thread::sync_threads(); // all threads are done with the tiles before they are overwritten
        t += DEPTH;
    }
    unroll::<ROWS>(|i| T::set(task.c, task.row + row + i as u32, task.column + column, sums[i][0]));
}

/// Adds the products of the tiles: the rows from `row` on by `column`.
#[inline(always)]
fn multiply<T: Real>((tile_a, tile_b): (Shared<T>, Shared<T>), row: u32, column: u32, sums: &mut [[T; 1]; ROWS]) {
    unroll::<{ DEPTH as usize }>(|e| {
        let e = e as u32;
        let mut a = [T::ZERO; ROWS];
        unroll::<ROWS>(|i| a[i] = tile_a.get((row + i as u32) * DEPTH + e));
        add_outer(sums, &a, &[tile_b.get(e * TILE + column)]);
    });
}

#[cfg(not(target_os = "cuda"))]
pub mod launches {
    //! What the host launches: the kernel, once.

    use super::*;
    use crate::host::by_tiles;
    use crate::ladder::*;

    /// The rung.
    pub static RUNG: Entry<Matmul> = rung!("fp64.rs", [product_fp64, product_fp64_f64]).run_by(&ThreadColumn);

    struct ThreadColumn;

    impl Multiplies for ThreadColumn {
        fn launches(&self, _: &dyn Launcher, _: Sizes) -> Result<Launches<Product>> {
            by_tiles(product_fp64, TILE, TILE, [BLOCK, 1, 1])
        }

        fn f64(&self) -> Option<&dyn MultipliesOf<f64>> {
            Some(self)
        }
    }

    impl MultipliesOf<f64> for ThreadColumn {
        fn launches_of(&self, _: &dyn Launcher, _: Sizes) -> Result<Launches<Product<f64>>> {
            by_tiles(product_fp64_f64, TILE, TILE, [BLOCK, 1, 1])
        }
    }
}
