//! # Matrix product, TMA and warp MMA in f64, tiles of 64 columns
//!
//! **Idea.** A variant of `fp64-hopper`, for a comparison.
//!
//! **Bottleneck.** As there.
//!
//! **Cost.** As there.
//!
//! **Threads.** As there.
//!
//! **Limits.** As there.
//!
//! **Source.** As there.

use super::Shape;
use super::group::double::Doubles;
use simt::tensor_map::TensorMap;
use simt::{Global, kernel};

type Tiles = Doubles<8, 2, 2, 8, 1>;

/// C = alpha·A·B + beta·C for one product.
#[kernel(sm_90a, max_threads = Tiles::BLOCK, min_blocks = 1)]
pub fn product_fp64_hopper_thin(
    map_a: TensorMap<f32>,
    map_b: TensorMap<f32>,
    _a: Global<f64>,
    _b: Global<f64>,
    c: Global<f64>,
    shape: Shape<f64>,
) {
    Tiles::product(map_a, map_b, shape.matrices(0, c, c, c).2, shape);
}

#[cfg(not(target_os = "cuda"))]
pub mod launches {
    //! What the host launches.

    use super::*;
    use crate::fp64_hopper::launches::launches_by;
    use crate::group::mapped_host::refuses;
    use crate::ladder::*;
    use std::vec;

    /// The rung.
    pub static RUNG: Entry<Matmul> = rung!("fp64_hopper_thin.rs", [product_fp64_hopper_thin])
        .refusing(|ask| refuses("fp64-hopper-thin", ask, Tiles::SHARED_BYTES))
        .run_by(&Variant);

    struct Variant;

    impl MultipliesOf<f64> for Variant {
        fn launches_of(&self, on: &dyn Launcher, sizes: Sizes) -> Result<Launches<Product<f64>>> {
            let way = Tiles::by(|on, geometry, args| on.launch(product_fp64_hopper_thin, geometry, args), 1.0);
            launches_by(on, sizes, vec![way], f64::INFINITY)
        }
    }

    impl Multiplies for Variant {
        fn f32(&self) -> bool {
            false
        }

        fn launches(&self, _: &dyn Launcher, _: Sizes) -> Result<Launches<Product>> {
            Err(Failed::Unsuitable("fp64-hopper-thin multiplies matrices of f64".into()))
        }

        fn f64(&self) -> Option<&dyn MultipliesOf<f64>> {
            Some(self)
        }
    }
}
