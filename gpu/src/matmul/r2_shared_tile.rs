//! # Matrix product, tiles in shared memory
//!
//! **Idea.** C is cut into tiles. A block computes one tile of C by walking along a row of tiles of A and a column of
//! tiles of B. It copies each pair of tiles to shared memory once and uses every element `TILE` times.
//!
//! **Changed from the rung before.** `naive` reads every element of A n times and every element of B m times; here it
//! is n/TILE and m/TILE times.
//!
//! **Bottleneck.** Two shared loads for each multiply-add: shared memory is busy and the arithmetic waits. A small
//! square of C in the registers of each thread would need fewer loads.
//!
//! **Cost.** 2·m·n·k operations; 8·m·n·k/TILE bytes of global loads; 2·⌈k/TILE⌉ barriers per block; one launch.
//!
//! **Threads.** Blocks of TILE × TILE; thread (x, y) computes element (y, x) of the block's tile.
//!
//! **Limits.** Any m, n, k and strides: elements outside the matrices are read as zero and not written.
//!
//! **Source.** V. A. Antonyuk, "GPGPU programming" (2015). Changed: any sizes and strides.

use super::Shape;
use simt::math::fma;
use simt::{Global, kernel, shared, thread};

/// Side of a tile: 16 × 16 threads; 16 consecutive floats of a row fill two sectors.
pub const TILE: u32 = 16;

shared!(TILE_A: [f32; TILE * TILE]);
shared!(TILE_B: [f32; TILE * TILE]);

/// C = A·B: `a` is m × k, `b` is k × n, `c` is m × n.
#[kernel(max_threads = TILE * TILE)]
pub fn matmul_shared_tile(a: Global<f32>, b: Global<f32>, c: Global<f32>, shape: Shape) {
    let (x, y) = (thread::thread_idx_x(), thread::thread_idx_y());
    let (first_row, first_column) = shape.tile_of_block(TILE);
    let (a, b, c) = shape.matrices(a, b, c);
    let mut sum = 0.0;
    let mut t = 0;
    while t < shape.k {
        TILE_A::view().set(y * TILE + x, a.get(first_row + y, t + x));
        TILE_B::view().set(y * TILE + x, b.get(t + y, first_column + x));
        thread::sync_threads(); // the tiles are complete before any thread reads them
        sum = dot(x, y, sum);
        thread::sync_threads(); // all threads are done with the tiles before they are overwritten
        t += TILE;
    }
    c.sub(first_row, first_column, TILE, TILE).set(y, x, sum);
}

/// Adds row `y` of the tile of A times column `x` of the tile of B to `sum`.
#[inline(always)]
fn dot(x: u32, y: u32, mut sum: f32) -> f32 {
    let (a, b) = (TILE_A::view(), TILE_B::view());
    let mut e = 0;
    while e < TILE {
        sum = fma(a.get(y * TILE + e), b.get(e * TILE + x), sum);
        e += 1;
    }
    sum
}

#[cfg(not(target_os = "cuda"))]
pub mod launches {
    //! What the host launches: the kernel, once.

    use super::*;
    use crate::ladder::matmul::*;

    /// The rung.
    pub static RUNG: Entry<Matmul> = rung!("r2_shared_tile.rs", [matmul_shared_tile]).run_by(&SharedTile);

    struct SharedTile;

    impl Multiplies for SharedTile {
        fn launches(&self, _: &dyn Launcher) -> Result<Launches<Product>> {
            Ok(Box::new(|on, Product { a, b, c }| {
                let (shape, block) = (Shape::of(&a, &b, &c), [TILE, TILE, 1]);
                let geometry = Geometry { block, ..Geometry::linear(shape.tiles(TILE), 0) };
                on.launch(matmul_shared_tile, geometry, (a.data, b.data, c.data, shape))
            }))
        }
    }
}
