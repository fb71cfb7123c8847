//! # Matrix product, warpgroup MMA on operands copied to tiles
//!
//! **Idea.** A warpgroup multiplies 64 rows by up to 256 columns and eight k (sixteen of 16-bit elements) with one
//! `wgmma`, which reads both operands from shared memory. A first launch copies A and B to tiles in the order that
//! `wgmma` reads, whatever their layout; then one thread fills a ring of stages by bulk copies, and two warpgroups
//! multiply. The grid is persistent. The other Hopper products fall back to this one for operands that TMA cannot
//! take.
//!
//! **Bottleneck.** The tensor cores, and for large matrices the power limit. The launch that copies A and B comes on
//! top.
//!
//! **Cost.** 2·m·n·k operations, with m, n and k rounded up to tiles. Copies of A and B in global memory, in as much
//! scratch memory; from there, copies of 4·k·(m·⌈n/COLUMNS⌉ + n·⌈m/ROWS⌉) bytes to shared memory. One barrier per
//! block; two launches. 16-bit elements are half the bytes.
//!
//! **Threads.** 384 per block: two warpgroups multiply, 64 of a tile's 128 rows each, and one thread of the third
//! copies; the third is whole because `setmaxnreg` works on warpgroups. Tiles of C have 128 rows and 256 columns, or
//! 128 or 64 where those fill the SMs better. A thread holds every 128th element of what its group computes.
//!
//! **Limits.** Any m and n, k below 2²³, any strides, factors, transposed operands. The products of a batch follow
//! each other, and so do parts of a product whose copies one view cannot hold. `f32` elements are rounded to TF32;
//! `bf16` and `f16` are taken as they are, summed in `f32`, and each element of C is rounded once. Compute capability
//! 9.0 only.
//!
//! **Source.** NVIDIA, "Parallel Thread Execution ISA", chapter on `wgmma`; P. Shah, "Outperforming cuBLAS on H100: a
//! worklog" (2024), for the shapes of tiles. Our own prototype in CUDA C++.

use super::Shape;
use super::group::pack::{self, PACK};
use super::group::{BLOCK, Blocks, Groups, Packed, Whole};
use super::panel::Panel;
use simt::warpgroup::Tile;
use simt::{Global, bf16, f16, kernel};

pub use super::group::ROWS;

/// Columns of a tile of C.
pub const COLUMNS: u32 = Wide::<f32>::COLUMNS;
/// Depth in K of tiles in shared memory; of elements of 16 bits they have twice as many.
pub const DEPTH: u32 = Tile::<f32>::DEPTH;

type Wide<T> = Groups<T, Whole, 128, 1, 4>;
type Middle<T> = Groups<T, Whole, 64, 1, 6>;
type Narrow<T> = Groups<T, Whole, 32, 1, 8>;

/// C = alpha·A·B + beta·C for one product of the batch. `a` and `b` are copies in tiles.
#[kernel(
    sm_90a,
    max_threads = BLOCK,
    min_blocks = 1,
    instances(
        product_packed: <f32>,
        product_packed_bf16: <bf16>,
        product_packed_f16: <f16>,
    )
)]
pub fn product_packed<T: Packed>(a: Global<T>, b: Global<T>, c: Global<T>, shape: Shape, product: u32) {
    Wide::product(a, b, c, shape, product);
}

/// The product with tiles of 128 columns.
#[kernel(
    sm_90a,
    max_threads = BLOCK,
    min_blocks = 1,
    instances(
        product_packed_middle: <f32>,
        product_packed_middle_bf16: <bf16>,
        product_packed_middle_f16: <f16>,
    )
)]
pub fn product_packed_middle<T: Packed>(a: Global<T>, b: Global<T>, c: Global<T>, shape: Shape, product: u32) {
    Middle::product(a, b, c, shape, product);
}

/// The product with tiles of 64 columns.
#[kernel(
    sm_90a,
    max_threads = BLOCK,
    min_blocks = 1,
    instances(
        product_packed_narrow: <f32>,
        product_packed_narrow_bf16: <bf16>,
        product_packed_narrow_f16: <f16>,
    )
)]
pub fn product_packed_narrow<T: Packed>(a: Global<T>, b: Global<T>, c: Global<T>, shape: Shape, product: u32) {
    Narrow::product(a, b, c, shape, product);
}

/// Copies A and B to tiles; elements of `f32` are rounded.
#[kernel(
    max_threads = PACK,
    instances(
        product_packed_pack: <f32>,
        product_packed_pack_bf16: <bf16>,
        product_packed_pack_f16: <f16>,
    )
)]
pub fn product_packed_pack<T: Packed>(
    from_a: Global<T>,
    to_a: Global<T>,
    a: Panel,
    from_b: Global<T>,
    to_b: Global<T>,
    b: Panel,
) {
    pack::pack::<T, Whole>((from_a, to_a, a), (from_b, to_b, b));
}

#[cfg(not(target_os = "cuda"))]
pub mod launches {
    //! What the host launches: A and B are copied; then the product.

    use super::*;
    use crate::group::Parts;
    use crate::group::host::{self, Kernels, PackArgs, ProductArgs};
    use crate::ladder::*;

    /// The rung.
    pub static RUNG: Entry<Matmul> =
        rung!("packed.rs", [product_packed, product_packed_middle, product_packed_narrow, product_packed_pack])
            .refusing(|ask| host::refuses("packed", ask, Wide::<f32>::SHARED_BYTES))
            .run_by(&TensorGroup);

    pub(in super::super) struct TensorGroup;

    impl<T: Packed> MultipliesOf<T> for TensorGroup
    where
        product_packed<T>: Kernel<Args = ProductArgs<T>>,
        product_packed_middle<T>: Kernel<Args = ProductArgs<T>>,
        product_packed_narrow<T>: Kernel<Args = ProductArgs<T>>,
        product_packed_pack<T>: Kernel<Args = PackArgs<T>>,
    {
        fn launches_of(&self, on: &dyn Launcher, sizes: Sizes) -> Result<Launches<Product<T>>> {
            let products = [
                Wide::by(|on, geometry, args| on.launch(product_packed::<T>::default(), geometry, args), 1.0),
                Middle::by(|on, geometry, args| on.launch(product_packed_middle::<T>::default(), geometry, args), 1.08),
                Narrow::by(|on, geometry, args| on.launch(product_packed_narrow::<T>::default(), geometry, args), 1.25),
            ];
            let pack: host::Pack<T> =
                |on, geometry, args| on.launch(product_packed_pack::<T>::default(), geometry, args);
            host::launches(on, sizes, Kernels { pack, parts: <Whole as Parts<T>>::COUNT, products })
        }
    }

    impl Multiplies for TensorGroup {
        fn precision(&self) -> Precision {
            Precision::Tf32
        }

        fn launches(&self, on: &dyn Launcher, sizes: Sizes) -> Result<Launches<Product>> {
            self.launches_of(on, sizes)
        }

        fn bf16(&self) -> Option<&dyn MultipliesOf<bf16>> {
            Some(self)
        }

        fn f16(&self) -> Option<&dyn MultipliesOf<f16>> {
            Some(self)
        }
    }
}
