//! # Matrix product, in fp32 by three products in TF32, by groups of four warps
//!
//! **Idea.** `three-tf32`, with the instruction of `tensor-group`: the large part and the rest of each element are two
//! tiles in shared memory, and three products are made from the four tiles of a stage.
//!
//! **Changed from the rung before.** Beside `tensor-group`: three products per stage. Beside `three-tf32`: each element
//! is split once, when it is copied, and not by every warp that needs it. The tensor cores sum the products of a stage,
//! 32 k, alone; the multiprocessor adds these sums, so that the precision is that of `f32`. While one group does so,
//! the other one multiplies.
//!
//! **Bottleneck.** The tensor cores, and for large matrices the power that they take. The copies of A and B come before
//! that, in a launch of their own.
//!
//! **Cost.** 6·m·n·k operations, three times those of one product, with m, n and k rounded up to tiles. Copies of A and
//! B in global memory, in twice as much scratch memory; from there, copies of 8·k·(m·⌈n/COLUMNS⌉ + n·⌈m/ROWS⌉) bytes to
//! shared memory. One barrier per block; two launches.
//!
//! **Threads.** As `tensor-group`. With tiles of 256 columns a thread has 128 sums, and 64 for a stage.
//!
//! **Limits.** As `tensor-group`, but for the precision: the error is no larger than that of sums in `f32`. Elements of
//! 2¹²⁸ - 2¹¹⁶ and more in magnitude, and infinite ones, make NaN; an element's rest below 2⁻¹²⁶ may be lost.
//!
//! **Source.** As `three-tf32`. Our own prototype in CUDA C++.

use super::Shape;
use super::group::pack::{self, PACK, Panel};
use super::group::{BLOCK, Groups, Split};
use simt::{Global, kernel};

pub use super::group::ROWS;

/// Columns of a tile of C.
pub const COLUMNS: u32 = Wide::COLUMNS;

type Wide = Groups<f32, Split, 64, 2, 2>;
type Middle = Groups<f32, Split, 64, 1, 3>;
type Narrow = Groups<f32, Split, 32, 1, 4>;

/// C = alpha·A·B + beta·C for one product of the batch. `a` and `b` are copies in tiles.
#[kernel(sm_90a, max_threads = BLOCK, min_blocks = 1)]
pub fn matmul_three_tf32_group(a: Global<f32>, b: Global<f32>, c: Global<f32>, shape: Shape, product: u32) {
    Wide::product(a, b, c, shape, product);
}

/// The same with tiles of 128 columns.
#[kernel(sm_90a, max_threads = BLOCK, min_blocks = 1)]
pub fn matmul_three_tf32_group_middle(a: Global<f32>, b: Global<f32>, c: Global<f32>, shape: Shape, product: u32) {
    Middle::product(a, b, c, shape, product);
}

/// The same with tiles of 64 columns.
#[kernel(sm_90a, max_threads = BLOCK, min_blocks = 1)]
pub fn matmul_three_tf32_group_narrow(a: Global<f32>, b: Global<f32>, c: Global<f32>, shape: Shape, product: u32) {
    Narrow::product(a, b, c, shape, product);
}

/// Copies A and B to tiles, each element as a large part and a rest.
#[kernel(max_threads = PACK)]
pub fn matmul_three_tf32_group_pack(
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
    //! What the host launches: A and B are copied; then the product.

    use super::*;
    use crate::ladder::matmul::*;
    use crate::matmul::group::Parts;
    use crate::matmul::group::host::{self, Kernels};

    /// The rung.
    pub static RUNG: Entry<Matmul> = rung!(
        "r14_three_tf32_group.rs",
        [
            matmul_three_tf32_group,
            matmul_three_tf32_group_middle,
            matmul_three_tf32_group_narrow,
            matmul_three_tf32_group_pack
        ]
    )
    .refusing(|ask| host::refuses("three-tf32-group", ask, Wide::SHARED_BYTES))
    .run_by(&ThreeTf32Group);

    pub(in super::super) struct ThreeTf32Group;

    impl Multiplies for ThreeTf32Group {
        fn precision(&self) -> Precision {
            Precision::ThreeTf32
        }

        fn launches(&self, on: &dyn Launcher, sizes: Sizes) -> Result<Launches<Product>> {
            let products = [
                Wide::by(|on, geometry, args| on.launch(matmul_three_tf32_group, geometry, args), 1.0),
                Middle::by(|on, geometry, args| on.launch(matmul_three_tf32_group_middle, geometry, args), 1.08),
                Narrow::by(|on, geometry, args| on.launch(matmul_three_tf32_group_narrow, geometry, args), 1.25),
            ];
            let pack: host::Pack<f32> = |on, geometry, args| on.launch(matmul_three_tf32_group_pack, geometry, args);
            host::launches(on, sizes, Kernels { pack, parts: Split::COUNT, products })
        }
    }
}
