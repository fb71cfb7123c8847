//! # Matrix product, tiles of 32 × 32
//!
//! **Idea.** A tile with twice the side: a block of 1024 threads, the most that there can be, uses every element that
//! it copies 32 times.
//!
//! **Changed from the rung before.** Only the side, 32 for 16: half as many loads from global memory and half as many
//! barriers.
//!
//! **Bottleneck.** Two shared loads for each multiply-add, as before: shared memory is busy and the arithmetic waits.
//! The next rung keeps several elements of C in the registers of each thread, for fewer loads.
//!
//! **Cost.** 2·m·n·k operations; 8·m·n·k/TILE bytes of global loads; 2·⌈k/TILE⌉ barriers per block; one launch.
//! Elements of `f64` are twice the bytes.
//!
//! **Threads.** Blocks of TILE × TILE; thread (x, y) computes element (y, x) of the block's tile. A warp has one row:
//! its loads of A are of one element, those of B of 32 neighbours.
//!
//! **Limits.** As `shared-tile`.
//!
//! **Source.** V. A. Antonyuk, "GPGPU programming" (2015), which lets the reader choose the side. Changed: any sizes
//! and strides.

use super::Shape;
use super::r3_shared_tile::product;
use simt::{Global, kernel, shared};

/// Side of a tile: 32 × 32 threads are the largest block.
pub const TILE: u32 = 32;

shared!(TILE_A: [f32; TILE * TILE]);
shared!(TILE_B: [f32; TILE * TILE]);
shared!(TILE_A_F64: [f64; TILE * TILE]);
shared!(TILE_B_F64: [f64; TILE * TILE]);

/// C = alpha·A·B + beta·C: `a` is m × k, `b` is k × n, `c` is m × n.
#[kernel(max_threads = TILE * TILE)]
pub fn product_wide_tile(a: Global<f32>, b: Global<f32>, c: Global<f32>, shape: Shape) {
    product::<f32, { TILE as usize }>(shape.task(TILE, TILE, a, b, c), shape.k, TILE_A::view(), TILE_B::view());
}

/// The same for elements of `f64`.
#[kernel(max_threads = TILE * TILE)]
pub fn product_wide_tile_f64(a: Global<f64>, b: Global<f64>, c: Global<f64>, shape: Shape<f64>) {
    product::<f64, { TILE as usize }>(shape.task(TILE, TILE, a, b, c), shape.k, TILE_A_F64::view(), TILE_B_F64::view());
}

#[cfg(not(target_os = "cuda"))]
pub mod launches {
    //! What the host launches: the kernel, once.

    use super::*;
    use crate::host::by_tiles;
    use crate::ladder::*;

    /// The rung.
    pub static RUNG: Entry<Matmul> =
        rung!("r4_wide_tile.rs", [product_wide_tile, product_wide_tile_f64]).run_by(&WideTile);

    struct WideTile;

    impl Multiplies for WideTile {
        fn launches(&self, _: &dyn Launcher, _: Sizes) -> Result<Launches<Product>> {
            by_tiles(product_wide_tile, TILE, TILE, [TILE, TILE, 1])
        }

        fn f64(&self) -> Option<&dyn MultipliesOf<f64>> {
            Some(self)
        }
    }

    impl MultipliesOf<f64> for WideTile {
        fn launches_of(&self, _: &dyn Launcher, _: Sizes) -> Result<Launches<Product<f64>>> {
            by_tiles(product_wide_tile_f64, TILE, TILE, [TILE, TILE, 1])
        }
    }
}
