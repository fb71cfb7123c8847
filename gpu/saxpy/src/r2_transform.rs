//! # Saxpy, a transform with a functor
//!
//! **Idea.** The loop over the elements is written once. The work on an element is a type with one function, the
//! functor. Its field `a` reaches the GPU as an argument of the kernel.
//!
//! **Changed from the rung before.** The kernel is one line. A thread has four elements instead of one, so eight of its
//! loads are in flight at once. The author of a functor need not think of that.
//!
//! **Bottleneck.** The bandwidth of global memory.
//!
//! **Cost.** One fused multiply-add and 12 bytes per element; no barrier; one launch.
//!
//! **Threads.** 256 per block, four elements each, 256 apart; neighbouring threads use neighbouring elements.
//!
//! **Limits.** Any n.
//!
//! **Source.** V. A. Antonyuk, "GPGPU programming" (2015), which uses Thrust's transform. Changed: our own transform,
//! and one rounding.

use rungs_common::transform::{Functor, transform_pairs};
use simt::math::fma;
use simt::{Global, kernel};

pub use rungs_common::transform::{BLOCK, grid};

/// a·x + y of a pair (x, y), rounded once.
#[simt::argument]
#[derive(Clone, Copy, Debug)]
pub struct Saxpy {
    /// The factor.
    pub a: f32,
}

impl Functor<(f32, f32)> for Saxpy {
    type Out = f32;

    #[simt::device]
    fn call(&self, (x, y): (f32, f32)) -> f32 {
        fma(self.a, x, y)
    }
}

/// Writes a·x + y to `output`, which may be `y`.
#[kernel(max_threads = BLOCK)]
pub fn saxpy_transform(x: Global<f32>, y: Global<f32>, output: Global<f32>, functor: Saxpy) {
    transform_pairs(x, y, output, functor)
}

#[cfg(not(target_os = "cuda"))]
pub mod launches {
    //! What the host launches: the kernel, once.

    use super::*;
    use rungs_common::ladder::saxpy::*;
    use rungs_common::transform;

    /// The rung.
    pub static RUNG: Entry<Axpy> =
        rung!("r2_transform.rs", [saxpy_transform]).with_tiles(&[transform::TILE as u64]).run_by(&AsTransform);

    struct AsTransform;

    impl AddsScaled for AsTransform {
        fn launch(&self, on: &dyn Launcher, Vectors { a, x, y }: Vectors) -> Result {
            let geometry = Geometry::linear(transform::grid(y.len()), transform::BLOCK);
            on.launch(saxpy_transform, geometry, (x, y, y, Saxpy { a }))
        }
    }
}
