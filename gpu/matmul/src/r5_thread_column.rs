//! # Matrix product, eight elements per thread
//!
//! **Idea.** A thread computes eight elements of a column of C. For each k it loads one element of B and the eight
//! elements of A next to it, and keeps its eight sums in registers.
//!
//! **Changed from the rung before.** Nine shared loads for eight multiply-adds, where `wide-tile` needs sixteen. A tile
//! needs an eighth of the threads, so its side grows to 64.
//!
//! **Bottleneck.** Still more than one shared load for each multiply-add. The next rung gives a thread several columns
//! too, so that each element of A in a register is used more than once.
//!
//! **Cost.** 2·m·n·k operations; 4·k·(m·⌈n/TILE⌉ + n·⌈m/TILE⌉) bytes of global loads; 2·⌈k/DEPTH⌉ barriers per block;
//! one launch.
//!
//! **Threads.** 512 threads compute a tile of 64 × 64. Thread t has column t % 64 and the eight rows from t / 64 · 8
//! on, so a warp's loads of A are of one element, and those of B of 32 neighbours.
//!
//! **Limits.** Any m, n and k: elements outside the matrices are read as zero and not written.
//!
//! **Source.** S. Boehm, "How to optimize a CUDA matmul kernel for cuBLAS-like performance" (2022), kernel 4. Changed:
//! any sizes.

use super::{Matrix, tile_of_block};
use simt::math::fma;
use simt::{Global, kernel, shared, thread, unroll};

/// Side of a tile of C.
pub const TILE: u32 = 64;
/// Columns of the tile of A, rows of the tile of B.
pub const DEPTH: u32 = 8;
/// Rows of C per thread.
const ROWS: usize = 8;
/// Threads per block.
const BLOCK: u32 = TILE * TILE / ROWS as u32;

const _: () = assert!(TILE * DEPTH == BLOCK, "each thread copies one element of A and one of B");

shared!(TILE_A: [f32; TILE * DEPTH]);
shared!(TILE_B: [f32; DEPTH * TILE]);

/// C = A·B: `a` is m × k, `b` is k × n, `c` is m × n.
#[kernel(max_threads = BLOCK)]
pub fn matmul_thread_column(a: Global<f32>, b: Global<f32>, c: Global<f32>, m: u32, n: u32, k: u32) {
    let (a, b, c) = (Matrix::new(a, m, k), Matrix::new(b, k, n), Matrix::new(c, m, n));
    let (tile_a, tile_b) = (TILE_A::view(), TILE_B::view());
    let thread = thread::thread_idx_x();
    let (first_row, first_column) = tile_of_block(n, TILE, TILE);
    // The thread's first row, and its column, within the tile.
    let (row, column) = (thread / TILE * ROWS as u32, thread % TILE);
    let mut sums = [0.0; ROWS];
    let mut t = 0;
    while t < k {
        // Both loads are in flight before the first store waits for its value.
        let of_a = a.get(first_row + thread / DEPTH, t + thread % DEPTH);
        let of_b = b.get(t + thread / TILE, first_column + thread % TILE);
        tile_a.set(thread, of_a);
        tile_b.set(thread, of_b);
        thread::sync_threads(); // the tiles are complete before any thread reads them
        // Written out for all of DEPTH: ptxas then combines the loads from a row of A into some of 16 bytes.
        unroll::<{ DEPTH as usize }>(|e| {
            let of_b = tile_b.get(e as u32 * TILE + column);
            unroll::<ROWS>(|i| {
                sums[i] = fma(tile_a.get((row + i as u32) * DEPTH + e as u32), of_b, sums[i]);
            });
        });
        thread::sync_threads(); // all threads are done with the tiles before they are overwritten
        t += DEPTH;
    }
    unroll::<ROWS>(|i| c.set(first_row + row + i as u32, first_column + column, sums[i]));
}

#[cfg(not(target_os = "cuda"))]
pub mod launches {
    //! What the host launches: the kernel, once.

    use super::*;
    use crate::ladder::*;
    use crate::tiles;

    /// The rung.
    pub static RUNG: Entry<Multiply> =
        rung!("r5_thread_column.rs", [matmul_thread_column]).run_by(Multiply::F32(multiply));

    /// C = A·B.
    ///
    /// # Errors
    /// Fails if the launch fails.
    pub fn multiply(on: &dyn Launcher, Product { a, b, c, m, n, k }: Product<f32>) -> Result {
        on.launch(matmul_thread_column, Geometry::linear(tiles(m, n, TILE, TILE), BLOCK), (a, b, c, m, n, k))
    }
}
