//! # Matrix product, tiles in shared memory
//!
//! **Idea.** C is cut into tiles, one per block. A block walks along a row of tiles of A and down a column of tiles of
//! B. It copies each pair of tiles to shared memory once and uses every element `TILE` times.
//!
//! **Changed from the rung before.** `coalesced` reads every element of A n times and every element of B m times from
//! global memory; here it is n/TILE and m/TILE times.
//!
//! **Bottleneck.** Two shared loads for each multiply-add, and a pair of barriers for every 16 of them. The next rung
//! has larger tiles, for fewer copies and barriers.
//!
//! **Cost.** 2·m·n·k operations; 8·m·n·k/TILE bytes of global loads; 2·⌈k/TILE⌉ barriers per block; one launch.
//!
//! **Threads.** Blocks of TILE × TILE. Thread (x, y) copies one element of each tile and computes element (y, x) of the
//! block's tile of C.
//!
//! **Limits.** Any m, n and k: elements outside the matrices are read as zero and not written.
//!
//! **Source.** V. A. Antonyuk, "GPGPU programming" (2015). Changed: any sizes.

use super::{Matrix, tile_of_block};
use simt::math::fma;
use simt::{Global, kernel, shared, thread, unroll};

/// Side of a tile: 16 × 16 threads. 16 neighbouring floats are two sectors of 32 bytes.
pub const TILE: u32 = 16;

shared!(TILE_A: [f32; TILE * TILE]);
shared!(TILE_B: [f32; TILE * TILE]);

/// C = A·B: `a` is m × k, `b` is k × n, `c` is m × n.
#[kernel(max_threads = TILE * TILE)]
pub fn matmul_shared_tile(a: Global<f32>, b: Global<f32>, c: Global<f32>, m: u32, n: u32, k: u32) {
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
    pub static RUNG: Entry<Multiply> = rung!("r3_shared_tile.rs", [matmul_shared_tile]).run_by(Multiply::F32(multiply));

    /// C = A·B.
    ///
    /// # Errors
    /// Fails if the launch fails.
    pub fn multiply(on: &dyn Launcher, Product { a, b, c, m, n, k }: Product<f32>) -> Result {
        let geometry = Geometry::plane((tiles(m, n, TILE, TILE), 1), (TILE, TILE));
        on.launch(matmul_shared_tile, geometry, (a, b, c, m, n, k))
    }
}
