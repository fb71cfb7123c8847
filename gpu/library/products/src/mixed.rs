//! # Matrix product, fp32 precision by one TF32 and two bf16 products
//!
//! **Idea.** Of the three products of `three-tf32-group`, only large·large needs TF32. The two correction products
//! involve a residual (at most 2⁻¹¹ of the element), so their factors may be rounded to `bf16`: the error is 2⁻¹⁸ of
//! the whole at most, and sums of `f32` over many k err by more. The tensor cores multiply `bf16` at twice the rate.
//! The second tile of a stage holds elements and residuals in `bf16` next to each other in K, A with the elements
//! first and B with the residuals first, so that both corrections are one product with 64 k for 32. The small sums are
//! made first, and the large products are added to them.
//!
//! **Bottleneck.** The tensor cores, and for large matrices the power limit: by ncu on an H200 they are busy 88 % of
//! the time at 4096³ and 90 % at 8192³. The launch that copies A and B comes on top.
//!
//! **Cost.** 2·m·n·k operations in TF32 and 4·m·n·k in `bf16`, with m, n and k rounded up to tiles. Copies of A and B
//! in global memory, in twice as much scratch memory; from there, copies of 8·k·(m·⌈n/COLUMNS⌉ + n·⌈m/ROWS⌉) bytes to
//! shared memory. One barrier per block; two launches.
//!
//! **Threads.** As `packed`; with tiles of 256 columns a thread has 128 sums, and 64 for a stage.
//!
//! **Limits.** As `three-tf32-group`, but for the error: on random elements it is no larger than that of sums in `f32`
//! from k = LEAST_K on. It hardly grows with k, so products of smaller k are made by `three-tf32-group`. A is always
//! copied, and there are no pairs of blocks. Elements of 2¹²⁸ - 2¹¹⁹ and more in magnitude make NaN or infinity, and
//! infinite ones NaN.
//!
//! **Source.** As `three-tf32-group`. Our own prototype in CUDA C++.

use super::Shape;
use super::group::pack::{self, PACK};
use super::group::{BLOCK, Blocks, Groups, Mixed};
use super::panel::Panel;
use simt::{Global, kernel};

pub use super::group::ROWS;

/// Columns of a tile of C.
pub const COLUMNS: u32 = Wide::COLUMNS;
/// The least k of a product that is made so: from there on its error is no larger than that of sums in `f32`.
pub const LEAST_K: u32 = 2048;

type Wide = Groups<f32, Mixed, 64, 2, 2>;
type Middle = Groups<f32, Mixed, 64, 1, 3>;
type Narrow = Groups<f32, Mixed, 32, 1, 4>;

/// C = alpha·A·B + beta·C for one product of the batch. `a` and `b` are copies in tiles.
#[kernel(sm_90a, max_threads = BLOCK, min_blocks = 1)]
pub fn product_mixed(a: Global<f32>, b: Global<f32>, c: Global<f32>, shape: Shape, product: u32) {
    Wide::product(a, b, c, shape, product);
}

/// The product with tiles of 128 columns.
#[kernel(sm_90a, max_threads = BLOCK, min_blocks = 1)]
pub fn product_mixed_middle(a: Global<f32>, b: Global<f32>, c: Global<f32>, shape: Shape, product: u32) {
    Middle::product(a, b, c, shape, product);
}

/// The product with tiles of 64 columns.
#[kernel(sm_90a, max_threads = BLOCK, min_blocks = 1)]
pub fn product_mixed_narrow(a: Global<f32>, b: Global<f32>, c: Global<f32>, shape: Shape, product: u32) {
    Narrow::product(a, b, c, shape, product);
}

/// Copies A and B to tiles: of each element the large part, and in 16 bits the element and its rest.
#[kernel(max_threads = PACK)]
pub fn product_mixed_pack(
    from_a: Global<f32>,
    to_a: Global<f32>,
    a: Panel,
    from_b: Global<f32>,
    to_b: Global<f32>,
    b: Panel,
) {
    pack::pack::<f32, Mixed>((from_a, to_a, a), (from_b, to_b, b));
}

#[cfg(not(target_os = "cuda"))]
pub mod launches {
    //! What the host launches: A and B are copied; then the product. If k is small, the launches of `three-tf32-group`.

    use super::super::three_tf32_group::launches::ThreeTf32Group;
    use super::*;
    use crate::group::Parts;
    use crate::group::host::{self, Kernels};
    use crate::ladder::*;
    use std::boxed::Box;

    /// The rung.
    pub static RUNG: Entry<Matmul> =
        rung!("mixed.rs", [product_mixed, product_mixed_middle, product_mixed_narrow, product_mixed_pack])
            .refusing(|ask| host::refuses("mixed", ask, Wide::SHARED_BYTES))
            .run_by(&OneAndTwo);

    struct OneAndTwo;

    /// The launches for any k from [`LEAST_K`] on.
    fn deep(on: &dyn Launcher, sizes: Sizes) -> Result<Launches<Product>> {
        let products = [
            Wide::by(|on, geometry, args| on.launch(product_mixed, geometry, args), 1.0),
            Middle::by(|on, geometry, args| on.launch(product_mixed_middle, geometry, args), 1.08),
            Narrow::by(|on, geometry, args| on.launch(product_mixed_narrow, geometry, args), 1.25),
        ];
        let pack: host::Pack<f32> = |on, geometry, args| on.launch(product_mixed_pack, geometry, args);
        host::launches(on, sizes, Kernels { pack, parts: Mixed::COUNT, products })
    }

    /// The launches for products of this k.
    fn of_k(on: &dyn Launcher, sizes: Sizes) -> Result<Launches<Product>> {
        if sizes.k < LEAST_K { ThreeTf32Group.launches(on, sizes) } else { deep(on, sizes) }
    }

    impl Multiplies for OneAndTwo {
        fn precision(&self) -> Precision {
            Precision::Mixed
        }

        fn launches(&self, on: &dyn Launcher, sizes: Sizes) -> Result<Launches<Product>> {
            // Those for few k, and the others. Those for these sizes are made at once, so that their memory is seen.
            let mut both = [None, None];
            let which = |sizes: Sizes| usize::from(sizes.k >= LEAST_K);
            both[which(sizes)] = Some(of_k(on, sizes)?);
            Ok(Box::new(move |on, product: Product| {
                let sizes = Sizes { m: product.c.rows, n: product.c.columns, k: product.a.columns };
                let launches = match &mut both[which(sizes)] {
                    Some(launches) => launches,
                    none => none.insert(of_k(on, sizes)?),
                };
                launches(on, product)
            }))
        }
    }
}
