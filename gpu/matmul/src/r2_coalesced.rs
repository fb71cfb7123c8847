//! # Matrix product, coalesced loads
//!
//! **Idea.** The same loop, but neighbouring threads compute neighbouring elements of a row of C. Their loads of B are
//! then of neighbouring elements, which the hardware combines into whole cache lines (*coalescing*). Their loads of A
//! are of one element, which one access brings to all of them.
//!
//! **Changed from the rung before.** x and y are exchanged, and a warp works on one row: a warp of `naive` loads from
//! 16 rows of A at a time, here from one.
//!
//! **Bottleneck.** Every element of A is read n times and every element of B m times. The caches serve most of these
//! reads, but each multiply-add needs two loads. The next rung loads a tile once and reads it from shared memory.
//!
//! **Cost.** 2·m·n·k operations; 8·m·n·k bytes of loads; no barrier; one launch.
//!
//! **Threads.** Blocks of 32 × 8. Thread (x, y) computes element (y, x) of the block's tile of C, so a warp reads one
//! element of A and 32 neighbouring elements of B at a time.
//!
//! **Limits.** Any m, n and k.
//!
//! **Source.** V. A. Antonyuk, "GPGPU programming" (2015). Changed: any sizes.

use super::tile_of_block;
use simt::math::fma;
use simt::{Global, kernel, thread};

/// Threads of a block along a column of C.
pub const ROWS: u32 = 8;
/// Threads of a block along a row of C: a warp.
pub const COLUMNS: u32 = 32;

/// C = A·B: `a` is m × k, `b` is k × n, `c` is m × n.
#[kernel(max_threads = ROWS * COLUMNS)]
pub fn matmul_coalesced(a: Global<f32>, b: Global<f32>, c: Global<f32>, m: u32, n: u32, k: u32) {
    let (first_row, first_column) = tile_of_block(n, ROWS, COLUMNS);
    let (row, column) = (first_row + thread::thread_idx_y(), first_column + thread::thread_idx_x());
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

    /// The rung.
    pub static RUNG: Entry<Multiply> = rung!("r2_coalesced.rs", [matmul_coalesced]).run_by(Multiply::F32(multiply));

    /// C = A·B.
    ///
    /// # Errors
    /// Fails if the launch fails.
    pub fn multiply(on: &dyn Launcher, Product { a, b, c, m, n, k }: Product<f32>) -> Result {
        let geometry = Geometry::plane((tiles(m, n, ROWS, COLUMNS), 1), (COLUMNS, ROWS));
        on.launch(matmul_coalesced, geometry, (a, b, c, m, n, k))
    }
}
