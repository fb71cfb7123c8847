//! # Saxpy, a kernel by hand
//!
//! **Idea.** One thread per element: it reads x and y, multiplies, adds and writes y.
//!
//! **Changed from the rung before.** First rung.
//!
//! **Bottleneck.** Loads in flight: a thread has two and then ends, which is too few for the bandwidth of global
//! memory. The next rung has eight.
//!
//! **Cost.** One fused multiply-add and 12 bytes per element; no barrier; one launch.
//!
//! **Threads.** 256 per block, one element each; neighbouring threads use neighbouring elements.
//!
//! **Limits.** Any n.
//!
//! **Source.** V. A. Antonyuk, "GPGPU programming" (2015). Changed: any n, and one rounding.

use simt::math::fma;
use simt::{Global, kernel, thread};

/// Threads per block.
pub const BLOCK: u32 = 256;

/// Blocks for `n` elements.
pub const fn grid(n: u32) -> u32 {
    n.div_ceil(BLOCK)
}

/// y = a·x + y, rounded once.
#[kernel(max_threads = BLOCK)]
pub fn saxpy_kernel(a: f32, x: Global<f32>, y: Global<f32>) {
    let i = thread::index_1d();
    if i < y.len() {
        y.set(i, fma(a, x.get(i), y.get(i)));
    }
}

#[cfg(not(target_os = "cuda"))]
pub mod launches {
    //! What the host launches: the kernel, once.

    use super::*;
    use rungs_common::ladder::saxpy::*;

    /// The rung.
    pub static RUNG: Entry<Axpy> = rung!("r1_kernel.rs", [saxpy_kernel]).with_tiles(&[BLOCK as u64]).run_by(&AsKernel);

    struct AsKernel;

    impl AddsScaled for AsKernel {
        fn launch(&self, on: &dyn Launcher, Vectors { a, x, y }: Vectors) -> Result {
            on.launch(saxpy_kernel, Geometry::linear(grid(y.len()), BLOCK), (a, x, y))
        }
    }
}
