//! # Matrix product, TMA and warpgroup MMA, for bf16 and f16
//!
//! **Idea.** A tensor map tells TMA where a matrix is and how far its rows are apart. TMA then copies boxes of the
//! matrix into shared memory in the swizzled order that `wgmma` reads, so A and B need no copy before the product.
//! Tiles that are not K-major are read transposed by the instruction. The MMAs of one stage overlap the wait for the
//! next: a warpgroup frees the stage before last. C goes to shared memory by `stmatrix` and from there by TMA, while
//! the block is at its next tile. Programmatic dependent launch lets the next launch begin early.
//!
//! **Bottleneck.** The tensor cores, and for large matrices the power limit. Where rows of B do not begin on L2 lines,
//! L2: by ncu on an H200 at 4000 × 4104 × 4056 it is at 78 % of its peak, and the tensor cores at 52 %.
//!
//! **Cost.** 2·m·n·k operations, with m, n and k rounded up to tiles. Copies of 2·k·(m·⌈n/COLUMNS⌉ + n·⌈m/ROWS⌉) bytes
//! to shared memory, and of C from there. One barrier per block, and two per small tile; one launch.
//!
//! **Threads.** 384 per block, as in `packed`. Tiles of C have 128 rows and 256 columns, or 128 or 64. If tiles of 256
//! columns leave 64 columns of C or fewer, these make narrow tiles, which go to blocks that have fewer of the others.
//! Where there are too few tiles for all SMs, they have 64 rows and columns; each warpgroup makes every other step
//! along K, and the first adds the sums of the second to its own.
//!
//! **Limits.** `bf16` and `f16`: for `f32`, `wgmma` reads only K-major tiles. A and B whose addresses and row strides
//! are multiples of 16 bytes, and k > 0; any other product is made by `packed`. C that is not such a matrix, or with
//! beta other than 0, is written by the threads. The products of a batch follow each other. Compute capability 9.0
//! only.
//!
//! **Source.** NVIDIA, "Parallel Thread Execution ISA", chapters on `wgmma`, `stmatrix` and tensor copies; P. Shah,
//! "Outperforming cuBLAS on H100: a worklog" (2024). Our own prototype in CUDA C++.

use super::Shape;
use super::group::BLOCK;
use super::group::mapped::{Half, Mapped, Products};
use simt::tensor_map::TensorMap;
use simt::warpgroup::{KMajor, MnMajor};
use simt::{Global, bf16, f16, kernel};

pub use super::group::ROWS;

/// Columns of a tile of C.
pub const COLUMNS: u32 = Wide::<f16, KMajor, MnMajor>::COLUMNS;

type Wide<T, A, B> = Mapped<T, A, B, 128, 4>;
type Middle<T, A, B> = Mapped<T, A, B, 64, 6>;
type Narrow<T, A, B> = Mapped<T, A, B, 32, 8>;
type Small<T, A, B> = Mapped<T, A, B, 32, 6, 1, 2>;

/// C = alpha·A·B + beta·C for one product. `map_c` is used if `boxes`. The views of A and B say what their maps are of.
#[kernel(
    sm_90a,
    max_threads = BLOCK,
    min_blocks = 1,
    instances(
        product_half_hopper_nn_bf16: <bf16, Wide<bf16, KMajor, MnMajor>>,
        product_half_hopper_nt_bf16: <bf16, Wide<bf16, KMajor, KMajor>>,
        product_half_hopper_tn_bf16: <bf16, Wide<bf16, MnMajor, MnMajor>>,
        product_half_hopper_tt_bf16: <bf16, Wide<bf16, MnMajor, KMajor>>,
        product_half_hopper_nn_f16: <f16, Wide<f16, KMajor, MnMajor>>,
        product_half_hopper_nt_f16: <f16, Wide<f16, KMajor, KMajor>>,
        product_half_hopper_tn_f16: <f16, Wide<f16, MnMajor, MnMajor>>,
        product_half_hopper_tt_f16: <f16, Wide<f16, MnMajor, KMajor>>,
        product_half_hopper_middle_nn_bf16: <bf16, Middle<bf16, KMajor, MnMajor>>,
        product_half_hopper_middle_nt_bf16: <bf16, Middle<bf16, KMajor, KMajor>>,
        product_half_hopper_middle_tn_bf16: <bf16, Middle<bf16, MnMajor, MnMajor>>,
        product_half_hopper_middle_tt_bf16: <bf16, Middle<bf16, MnMajor, KMajor>>,
        product_half_hopper_middle_nn_f16: <f16, Middle<f16, KMajor, MnMajor>>,
        product_half_hopper_middle_nt_f16: <f16, Middle<f16, KMajor, KMajor>>,
        product_half_hopper_middle_tn_f16: <f16, Middle<f16, MnMajor, MnMajor>>,
        product_half_hopper_middle_tt_f16: <f16, Middle<f16, MnMajor, KMajor>>,
        product_half_hopper_narrow_nn_bf16: <bf16, Narrow<bf16, KMajor, MnMajor>>,
        product_half_hopper_narrow_nt_bf16: <bf16, Narrow<bf16, KMajor, KMajor>>,
        product_half_hopper_narrow_tn_bf16: <bf16, Narrow<bf16, MnMajor, MnMajor>>,
        product_half_hopper_narrow_tt_bf16: <bf16, Narrow<bf16, MnMajor, KMajor>>,
        product_half_hopper_narrow_nn_f16: <f16, Narrow<f16, KMajor, MnMajor>>,
        product_half_hopper_narrow_nt_f16: <f16, Narrow<f16, KMajor, KMajor>>,
        product_half_hopper_narrow_tn_f16: <f16, Narrow<f16, MnMajor, MnMajor>>,
        product_half_hopper_narrow_tt_f16: <f16, Narrow<f16, MnMajor, KMajor>>,
        product_half_hopper_small_nn_bf16: <bf16, Small<bf16, KMajor, MnMajor>>,
        product_half_hopper_small_nt_bf16: <bf16, Small<bf16, KMajor, KMajor>>,
        product_half_hopper_small_tn_bf16: <bf16, Small<bf16, MnMajor, MnMajor>>,
        product_half_hopper_small_tt_bf16: <bf16, Small<bf16, MnMajor, KMajor>>,
        product_half_hopper_small_nn_f16: <f16, Small<f16, KMajor, MnMajor>>,
        product_half_hopper_small_nt_f16: <f16, Small<f16, KMajor, KMajor>>,
        product_half_hopper_small_tn_f16: <f16, Small<f16, MnMajor, MnMajor>>,
        product_half_hopper_small_tt_f16: <f16, Small<f16, MnMajor, KMajor>>,
    )
)]
pub fn product_half_hopper<T: Half, P: Products<T>>(
    map_a: TensorMap<T>,
    map_b: TensorMap<T>,
    map_c: TensorMap<T>,
    _a: Global<T>,
    _b: Global<T>,
    c: Global<T>,
    shape: Shape,
    boxes: u32,
) {
    P::product([map_a, map_b, map_c], shape.matrices(0, c, c, c).2, shape, boxes != 0);
}

#[cfg(not(target_os = "cuda"))]
pub mod launches {
    //! What the host launches: the product, once per matrix of a batch.

    use super::super::packed::launches::TensorGroup;
    use super::*;
    use crate::group::mapped_host::{self, Args, Kernels, Way, Width};
    use crate::ladder::*;
    use simt::Kernel;
    use std::vec;
    use std::vec::Vec;

    /// The rung.
    pub static RUNG: Entry<Matmul> = rung!("half_hopper.rs", [product_half_hopper])
        .refusing(|ask| mapped_host::refuses("half-hopper", ask, Wide::<f16, KMajor, MnMajor>::SHARED_BYTES))
        .run_by(&Mapping);

    struct Mapping;

    fn way<T: Half, P: Products<T>>() -> Option<Way<T>>
    where
        product_half_hopper<T, P>: Kernel<Args = Args<T>>,
    {
        Some(Way::of::<P>(|on, geometry, args| on.launch(product_half_hopper::<T, P>::default(), geometry, args)))
    }

    /// The kernels with tiles of one size.
    fn width<T: Half, const SUMS: usize, const STAGES: u32, const TURNS: u32>(cost: f64) -> Width<T>
    where
        product_half_hopper<T, Mapped<T, KMajor, KMajor, SUMS, STAGES, 1, TURNS>>: Kernel<Args = Args<T>>,
        product_half_hopper<T, Mapped<T, KMajor, MnMajor, SUMS, STAGES, 1, TURNS>>: Kernel<Args = Args<T>>,
        product_half_hopper<T, Mapped<T, MnMajor, KMajor, SUMS, STAGES, 1, TURNS>>: Kernel<Args = Args<T>>,
        product_half_hopper<T, Mapped<T, MnMajor, MnMajor, SUMS, STAGES, 1, TURNS>>: Kernel<Args = Args<T>>,
    {
        let by_rows = [
            way::<T, Mapped<T, KMajor, MnMajor, SUMS, STAGES, 1, TURNS>>(),
            way::<T, Mapped<T, KMajor, KMajor, SUMS, STAGES, 1, TURNS>>(),
        ];
        let by_columns = [
            way::<T, Mapped<T, MnMajor, MnMajor, SUMS, STAGES, 1, TURNS>>(),
            way::<T, Mapped<T, MnMajor, KMajor, SUMS, STAGES, 1, TURNS>>(),
        ];
        Width { ways: [by_rows, by_columns], cost }
    }

    /// A type with kernels here.
    pub(crate) trait Mappable: Half {
        /// The kernels of each tile width for this type: wide, middle, narrow and small.
        fn widths() -> Vec<Width<Self>>;
    }

    impl Mappable for bf16 {
        fn widths() -> Vec<Width<Self>> {
            vec![
                width::<_, 128, 4, 1>(1.0),
                width::<_, 64, 6, 1>(1.02),
                width::<_, 32, 8, 1>(1.25),
                width::<_, 32, 6, 2>(1.4),
            ]
        }
    }

    impl Mappable for f16 {
        fn widths() -> Vec<Width<Self>> {
            vec![
                width::<_, 128, 4, 1>(1.0),
                width::<_, 64, 6, 1>(1.02),
                width::<_, 32, 8, 1>(1.25),
                width::<_, 32, 6, 2>(1.4),
            ]
        }
    }

    impl<T: Mappable> MultipliesOf<T> for Mapping
    where
        TensorGroup: MultipliesOf<T>,
    {
        fn launches_of(&self, on: &dyn Launcher, sizes: Sizes) -> Result<Launches<Product<T>>> {
            let otherwise = |on: &dyn Launcher, sizes| MultipliesOf::<T>::launches_of(&TensorGroup, on, sizes);
            let kernels = Kernels { widths: T::widths(), turn: |product| product, by_columns: false };
            mapped_host::launches(on, sizes, kernels, otherwise)
        }
    }

    impl Multiplies for Mapping {
        fn f32(&self) -> bool {
            false
        }

        fn launches(&self, _: &dyn Launcher, _: Sizes) -> Result<Launches<Product>> {
            Err(Failed::Unsuitable("tensor-map does not multiply matrices of f32; tensor-group does".into()))
        }

        fn bf16(&self) -> Option<&dyn MultipliesOf<bf16>> {
            Some(self)
        }

        fn f16(&self) -> Option<&dyn MultipliesOf<f16>> {
            Some(self)
        }
    }
}
