//! # Matrix product, fp32 precision by three TF32 products, warpgroup MMA
//!
//! **Idea.** `three-tf32` with `wgmma`: large part and residual of each element are two tiles in shared memory, and a
//! stage makes three products of the four tiles. `wgmma` also takes its first operand from registers, so a K-major A
//! needs no copy: the threads split the fragments that they hold. Each element of B is split once, when it is copied.
//! The tensor cores sum the products of one stage, 32 k; the SM adds these sums while the other warpgroup multiplies.
//!
//! **Bottleneck.** The tensor cores, and for large matrices the power limit. At 1024³ the begin and end of launches:
//! by ncu on an H200 the copies of B take 6 µs and the product 25, with the tensor cores busy for 52 %; at 2048³ the
//! copies take 14 µs. Tiles of 256 columns with A in registers would spill: the tensor cores were then busy 79 % at
//! 2048³, and the product took 7 % longer.
//!
//! **Cost.** 6·m·n·k operations, three times those of one product, with m, n and k rounded up to tiles. Copies of B in
//! global memory, in twice as much scratch memory, and of A that is not taken as it is; from there, copies of
//! 8·k·(m·⌈n/COLUMNS⌉ + n·⌈m/ROWS⌉) bytes to shared memory, or with A as it is of 4·k·m·⌈n/HELD_COLUMNS⌉ and
//! 8·k·n·⌈m/ROWS⌉. One barrier per block; two launches. In a pair one barrier of the multiplying warps and two of the
//! pair more; a block writes 2·ROWS·HELD_COLUMNS bytes of sums to shared memory, and reads as many of the other's.
//!
//! **Threads.** As `packed`. With tiles of 256 columns a thread has 128 sums, and 64 for a stage; where it holds A,
//! tiles have 128 columns. Where tiles are too few, the two blocks of a cluster share a tile of 128 columns, and each
//! multiplies half of k.
//!
//! **Limits.** As `packed`, but for the precision: the error is no larger than that of sums in `f32`. Elements of
//! 2¹²⁸ - 2¹¹⁶ and more in magnitude, and infinite ones, make NaN; a residual below 2⁻¹²⁶ may be lost. A is taken as
//! it is if it is not transposed and its address and row stride are multiples of 16 bytes. The width of tiles, whether
//! k is halved and how residuals of A are rounded depend on the sides, on the number of SMs and on whether A is taken
//! as it is; so do the last bits. The first product of an A that is not taken as it is may allocate the memory of its
//! copy.
//!
//! **Source.** As `three-tf32`. Our own prototype in CUDA C++.

use super::Shape;
use super::group::pack::{self, PACK};
use super::group::{BLOCK, Blocks, Groups, HeldSplit, Split};
use super::panel::Panel;
use simt::tensor_map::TensorMap;
use simt::{Global, kernel};

pub use super::group::ROWS;

/// Columns of a tile of C.
pub const COLUMNS: u32 = Wide::COLUMNS;
/// Columns of a tile where the threads hold A, and of that of a pair.
pub const HELD_COLUMNS: u32 = Held::COLUMNS;

type Wide = Groups<f32, Split, 64, 2, 2>;
type Middle = Groups<f32, Split, 64, 1, 3>;
type Narrow = Groups<f32, Split, 32, 1, 4>;
type Pair = Groups<f32, Split, 64, 1, 3, 2>;
type Held = Groups<f32, HeldSplit, 64, 1, 4>;
type HeldPair = Groups<f32, HeldSplit, 64, 1, 4, 2>;

/// C = alpha·A·B + beta·C for one product of the batch. `a` and `b` are copies in tiles.
#[kernel(sm_90a, max_threads = BLOCK, min_blocks = 1)]
pub fn product_three_tf32_group(a: Global<f32>, b: Global<f32>, c: Global<f32>, shape: Shape, product: u32) {
    Wide::product(a, b, c, shape, product);
}

/// The product with tiles of 128 columns.
#[kernel(sm_90a, max_threads = BLOCK, min_blocks = 1)]
pub fn product_three_tf32_group_middle(a: Global<f32>, b: Global<f32>, c: Global<f32>, shape: Shape, product: u32) {
    Middle::product(a, b, c, shape, product);
}

/// The product with tiles of 64 columns.
#[kernel(sm_90a, max_threads = BLOCK, min_blocks = 1)]
pub fn product_three_tf32_group_narrow(a: Global<f32>, b: Global<f32>, c: Global<f32>, shape: Shape, product: u32) {
    Narrow::product(a, b, c, shape, product);
}

/// The product by pairs of blocks, each of which sums half of k.
#[kernel(sm_90a, max_threads = BLOCK, min_blocks = 1, cluster = 2)]
pub fn product_three_tf32_group_pair(a: Global<f32>, b: Global<f32>, c: Global<f32>, shape: Shape, product: u32) {
    Pair::product(a, b, c, shape, product);
}

/// The product that reads a K-major A in place.
#[kernel(
    sm_90a,
    max_threads = BLOCK,
    min_blocks = 1,
    cluster = <G as Blocks<f32>>::CLUSTER,
    instances(
        product_three_tf32_group_held: <Held>,
        product_three_tf32_group_held_pair: <HeldPair>,
    )
)]
pub fn product_three_tf32_group_held<G: Blocks<f32>>(
    map_a: TensorMap<f32>,
    _a: Global<f32>,
    b: Global<f32>,
    c: Global<f32>,
    shape: Shape,
    product: u32,
) {
    G::product(map_a, b, c, shape, product);
}

/// Copies A and B to tiles, each element as a large part and a rest.
#[kernel(max_threads = PACK)]
pub fn product_three_tf32_group_pack(
    from_a: Global<f32>,
    to_a: Global<f32>,
    a: Panel,
    from_b: Global<f32>,
    to_b: Global<f32>,
    b: Panel,
) {
    pack::pack::<f32, Split>((from_a, to_a, a), (from_b, to_b, b));
}

#[cfg(not(target_os = "cuda"))]
pub mod launches {
    //! What the host launches: B is copied, and A unless it is taken as it is; then the product.

    use super::*;
    use crate::group::Parts;
    use crate::group::host::{self, Kernels};
    use crate::ladder::*;
    use simt::Kernel;

    /// The rung.
    pub static RUNG: Entry<Matmul> = rung!(
        "three_tf32_group.rs",
        [
            product_three_tf32_group,
            product_three_tf32_group_middle,
            product_three_tf32_group_narrow,
            product_three_tf32_group_pair,
            product_three_tf32_group_held,
            product_three_tf32_group_pack
        ]
    )
    .refusing(|ask| host::refuses("three-tf32-group", ask, Wide::SHARED_BYTES))
    .run_by(&ThreeTf32Group);

    pub(in super::super) struct ThreeTf32Group;

    fn held<G: Blocks<f32>>() -> host::Hold<f32>
    where
        product_three_tf32_group_held<G>: Kernel<Args = host::HeldArgs<f32>>,
    {
        |on, geometry, args| on.launch(product_three_tf32_group_held::<G>::default(), geometry, args)
    }

    impl Multiplies for ThreeTf32Group {
        fn precision(&self) -> Precision {
            Precision::ThreeTf32
        }

        fn launches(&self, on: &dyn Launcher, sizes: Sizes) -> Result<Launches<Product>> {
            let products = [
                Wide::by(|on, geometry, args| on.launch(product_three_tf32_group, geometry, args), 1.0),
                Middle::by(|on, geometry, args| on.launch(product_three_tf32_group_middle, geometry, args), 1.08),
                Narrow::by(|on, geometry, args| on.launch(product_three_tf32_group_narrow, geometry, args), 1.25),
                Pair::by(|on, geometry, args| on.launch(product_three_tf32_group_pair, geometry, args), 1.08),
                Held::held(held::<Held>(), 0.95),
                HeldPair::held(held::<HeldPair>(), 0.95),
            ];
            let pack: host::Pack<f32> = |on, geometry, args| on.launch(product_three_tf32_group_pack, geometry, args);
            host::launches(on, sizes, Kernels { pack, parts: Split::COUNT, products })
        }
    }
}
