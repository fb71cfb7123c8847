//! # Matrix product, in fp32 by one product in TF32 and two in bf16
//!
//! **Idea.** Of the three products of `three-tf32-group` only that of the large parts needs TF32. The two others have a
//! rest as a factor, which is 2⁻¹¹ of an element at most. If their factors are rounded to `bf16`, to 8 bits, they are
//! wrong by 2⁻¹⁸ of the whole each, and mostly by far less. Sums of `f32` over many k are wrong by more. The tensor
//! cores multiply `bf16` twice as fast.
//!
//! **Changed from the rung before.** Beside `three-tf32-group`: its second tile has elements and rests in `bf16`, side
//! by side along k. A has the elements first and B the rests, so that both small products are one product of two tiles,
//! with 64 k for 32. A stage has as many bytes as before, and takes the time of two products in TF32, not of three. The
//! small sums come first, and those of the large parts are added to them; the multiprocessor adds the sums of a stage.
//!
//! **Bottleneck.** The tensor cores, and for large matrices the power that they take: by ncu on an H200 they are busy
//! 88 % of the time at 4096³ and 90 at 8192³. The copies of A and B come before that, in a launch of their own.
//!
//! **Cost.** 2·m·n·k operations in TF32 and 4·m·n·k in `bf16`, with m, n and k rounded up to tiles. Copies of A and B
//! in global memory, in twice as much scratch memory; from there, copies of 8·k·(m·⌈n/COLUMNS⌉ + n·⌈m/ROWS⌉) bytes to
//! shared memory. One barrier per block; two launches.
//!
//! **Threads.** As `tensor-group`; with tiles of 256 columns a thread has 128 sums, and 64 for a stage.
//!
//! **Limits.** As `three-tf32-group`, but for the error: of random elements it is no larger than that of sums in `f32`
//! from k = LEAST_K on. It hardly grows with k, so for fewer k it would be the larger one: such products are made by
//! the kernels of `three-tf32-group`. For others A is always copied, and there are no pairs. Elements of 2¹²⁸ - 2¹¹⁹
//! and more in magnitude make NaN or infinity, and infinite ones NaN.
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

/// The same with tiles of 128 columns.
#[kernel(sm_90a, max_threads = BLOCK, min_blocks = 1)]
pub fn product_mixed_middle(a: Global<f32>, b: Global<f32>, c: Global<f32>, shape: Shape, product: u32) {
    Middle::product(a, b, c, shape, product);
}

/// The same with tiles of 64 columns.
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
    //! What the host launches: A and B are copied; then the product. Of few k, the launches of `three-tf32-group`.

    use super::super::r14_three_tf32_group::launches::ThreeTf32Group;
    use super::*;
    use crate::group::Parts;
    use crate::group::host::{self, Kernels};
    use crate::ladder::*;
    use std::boxed::Box;

    /// The rung.
    pub static RUNG: Entry<Matmul> =
        rung!("r18_mixed.rs", [product_mixed, product_mixed_middle, product_mixed_narrow, product_mixed_pack])
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
