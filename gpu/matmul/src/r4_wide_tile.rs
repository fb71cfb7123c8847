//! # Matrix product, the largest block
//!
//! **Idea.** A tile with twice the side: a block of 1024 threads, the most that a GPU allows, uses every element that
//! it copies 32 times.
//!
//! **Changed from the rung before.** Only the side, 32 instead of 16: half as many loads from global memory and half as
//! many barriers.
//!
//! **Bottleneck.** Two shared loads for each multiply-add, as before: shared memory is busy and the arithmetic units
//! wait. The next rung keeps several elements of C in the registers of each thread, for fewer loads.
//!
//! **Cost.** 2·m·n·k operations; 8·m·n·k/TILE bytes of global loads; 2·⌈k/TILE⌉ barriers per block; one launch.
//!
//! **Threads.** Blocks of TILE × TILE. Thread (x, y) copies one element of each tile and computes element (y, x) of the
//! block's tile of C. A warp works on one row: its loads of A are of one element, those of B of 32 neighbours.
//!
//! **Limits.** Any m, n and k: elements outside the matrices are read as zero and not written.
//!
//! **Source.** V. A. Antonyuk, "GPGPU programming" (2015), which lets the reader choose the side. Changed: any sizes.

use super::{Matrix, tile_of_block};
use simt::math::fma;
use simt::{Global, kernel, shared, thread, unroll};

/// Side of a tile: 32 × 32 threads are the largest block.
pub const TILE: u32 = 32;

shared!(TILE_A: [f32; TILE * TILE]);
shared!(TILE_B: [f32; TILE * TILE]);

/// C = A·B: `a` is m × k, `b` is k × n, `c` is m × n.
#[kernel(max_threads = TILE * TILE)]
pub fn matmul_wide_tile(a: Global<f32>, b: Global<f32>, c: Global<f32>, m: u32, n: u32, k: u32) {
    let (a, b, c) = (Matrix::new(a, m, k), Matrix::new(b, k, n), Matrix::new(c, m, n));
    let (tile_a, tile_b) = (TILE_A::view(), TILE_B::view());
    let (x, y) = (thread::thread_idx_x(), thread::thread_idx_y());
    let (first_row, first_column) = tile_of_block(n, TILE, TILE);
    let (row, column) = (first_row + y, first_column + x);
    let (mut sum, mut t) = (0.0, 0);
    while t < k {
        // Both loads are in flight before the first store waits for its value.
        let (of_a, of_b) = (a.get(row, t + x), b.get(t + y, column));
        tile_a.set(y * TILE + x, of_a);
        tile_b.set(y * TILE + x, of_b);
        thread::sync_threads(); // the tiles are complete before any thread reads them
        unroll::<{ TILE as usize }>(|i| {
            sum = fma(tile_a.get(y * TILE + i as u32), tile_b.get(i as u32 * TILE + x), sum);
        });
        thread::sync_threads(); // all threads are done with the tiles before they are overwritten
        t += TILE;
    }
    c.set(row, column, sum);
}

#[cfg(not(target_os = "cuda"))]
pub mod launches {
    //! What the host launches: the kernel, once.

    use super::*;
    use crate::ladder::*;
    use crate::tiles;

    /// The rung.
    pub static RUNG: Entry<Multiply> = rung!("r4_wide_tile.rs", [matmul_wide_tile]).run_by(Multiply::F32(multiply));

    /// C = A·B.
    ///
    /// # Errors
    /// Fails if the launch fails.
    pub fn multiply(on: &dyn Launcher, Product { a, b, c, m, n, k }: Product<f32>) -> Result {
        let geometry = Geometry::plane((tiles(m, n, TILE, TILE), 1), (TILE, TILE));
        on.launch(matmul_wide_tile, geometry, (a, b, c, m, n, k))
    }
}
