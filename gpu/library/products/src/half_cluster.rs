//! # Matrix product, pairs of SMs share B by TMA multicast, for bf16 and f16
//!
//! **Idea.** A cluster is a group of blocks on neighbouring SMs that can access each other's shared memory. The two
//! blocks of our clusters compute tiles of C one above the other, so both need the same tiles of B. Each block loads
//! one half of every B tile and multicasts it to both. L2 delivers B once per pair. A stage is filled by two blocks,
//! so each consumer warp arrives at the `empty` mbarrier of both. Two cluster-wide barriers remain: one after the
//! mbarriers are initialised, because the peer may arrive at once, and one at the end, because a block must not exit
//! while its peer still writes to it. Products too small for pairs are made by `half-hopper`.
//!
//! **Bottleneck.** The tensor cores, and for large matrices the power limit: by ncu on an H200 they are busy 88 % of
//! the time at 4096³ and 93 % at 8192³. At 4000 × 4104 × 4056, where rows of B do not begin on L2 lines, they are busy
//! 74 %, and L2 is at 52 % of its peak.
//!
//! **Cost.** 2·m·n·k operations, with m, n and k rounded up to tiles of a pair. Copies of 2·k·(m·⌈n/COLUMNS⌉ +
//! n·⌈m/PAIR_ROWS⌉) bytes to shared memory, of which those of B arrive twice, and of C from there. Two barriers of the
//! pair; one launch.
//!
//! **Threads.** 384 per block, two blocks per cluster. Tiles of C have 128 rows and 256 columns; those of a pair
//! together have 256 rows. If the rows of tiles are odd in number, one block of the last pairs has a tile outside of
//! C, and copies its half of B for the other. Tiles may be narrow as in `half-hopper`; the first block then copies B
//! for both.
//!
//! **Limits.** Those of `half-hopper`.
//!
//! **Source.** NVIDIA, "Parallel Thread Execution ISA", chapters on clusters and on multicast copies; P. Shah,
//! "Outperforming cuBLAS on H100: a worklog" (2024).

use super::Shape;
use super::group::BLOCK;
use super::group::mapped::{Half, Mapped, Products};
use simt::tensor_map::TensorMap;
use simt::warpgroup::{KMajor, MnMajor};
use simt::{Global, bf16, f16, kernel};

pub use super::half_hopper::COLUMNS;

/// Blocks of a cluster.
const BLOCKS: u32 = 2;

/// Rows of the tiles of C of a pair of blocks.
pub const PAIR_ROWS: u32 = BLOCKS * super::group::ROWS;

type Pair<T, A, B> = Mapped<T, A, B, 128, 4, BLOCKS>;

/// C = alpha·A·B + beta·C for one product. `map_c` is used if `boxes`. The views of A and B say what their maps are of.
#[kernel(
    sm_90a,
    max_threads = BLOCK,
    min_blocks = 1,
    cluster = BLOCKS,
    instances(
        product_half_cluster_nn_bf16: <bf16, Pair<bf16, KMajor, MnMajor>>,
        product_half_cluster_nt_bf16: <bf16, Pair<bf16, KMajor, KMajor>>,
        product_half_cluster_tn_bf16: <bf16, Pair<bf16, MnMajor, MnMajor>>,
        product_half_cluster_tt_bf16: <bf16, Pair<bf16, MnMajor, KMajor>>,
        product_half_cluster_nn_f16: <f16, Pair<f16, KMajor, MnMajor>>,
        product_half_cluster_nt_f16: <f16, Pair<f16, KMajor, KMajor>>,
        product_half_cluster_tn_f16: <f16, Pair<f16, MnMajor, MnMajor>>,
        product_half_cluster_tt_f16: <f16, Pair<f16, MnMajor, KMajor>>,
    )
)]
pub fn product_half_cluster<T: Half, P: Products<T>>(
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

    use super::super::half_hopper::launches::Mappable;
    use super::super::packed::launches::TensorGroup;
    use super::*;
    use crate::group::mapped_host::{self, Args, Kernels, Way, Width};
    use crate::ladder::*;
    use simt::Kernel;
    use std::vec;

    /// The rung.
    pub static RUNG: Entry<Matmul> = rung!("half_cluster.rs", [product_half_cluster])
        .refusing(|ask| mapped_host::refuses("half-cluster", ask, Pair::<f16, KMajor, MnMajor>::SHARED_BYTES))
        .run_by(&Pairing);

    struct Pairing;

    fn way<T: Half, P: Products<T>>() -> Option<Way<T>>
    where
        product_half_cluster<T, P>: Kernel<Args = Args<T>>,
    {
        Some(Way::of::<P>(|on, geometry, args| on.launch(product_half_cluster::<T, P>::default(), geometry, args)))
    }

    impl<T: Mappable> MultipliesOf<T> for Pairing
    where
        TensorGroup: MultipliesOf<T>,
        product_half_cluster<T, Pair<T, KMajor, KMajor>>: Kernel<Args = Args<T>>,
        product_half_cluster<T, Pair<T, KMajor, MnMajor>>: Kernel<Args = Args<T>>,
        product_half_cluster<T, Pair<T, MnMajor, KMajor>>: Kernel<Args = Args<T>>,
        product_half_cluster<T, Pair<T, MnMajor, MnMajor>>: Kernel<Args = Args<T>>,
    {
        fn launches_of(&self, on: &dyn Launcher, sizes: Sizes) -> Result<Launches<Product<T>>> {
            let pairs = Width {
                ways: [
                    [way::<T, Pair<T, KMajor, MnMajor>>(), way::<T, Pair<T, KMajor, KMajor>>()],
                    [way::<T, Pair<T, MnMajor, MnMajor>>(), way::<T, Pair<T, MnMajor, KMajor>>()],
                ],
                cost: 1.0,
            };
            // Of those that take the same time the first are chosen.
            let mut widths = vec![pairs];
            widths.extend(T::widths());
            let otherwise = |on: &dyn Launcher, sizes| MultipliesOf::<T>::launches_of(&TensorGroup, on, sizes);
            let kernels = Kernels { widths, turn: |product| product, by_columns: false };
            mapped_host::launches(on, sizes, kernels, otherwise)
        }
    }

    impl Multiplies for Pairing {
        fn f32(&self) -> bool {
            false
        }

        fn launches(&self, _: &dyn Launcher, _: Sizes) -> Result<Launches<Product>> {
            Err(Failed::Unsuitable("tensor-cluster does not multiply matrices of f32; tensor-group does".into()))
        }

        fn bf16(&self) -> Option<&dyn MultipliesOf<bf16>> {
            Some(self)
        }

        fn f16(&self) -> Option<&dyn MultipliesOf<f16>> {
            Some(self)
        }
    }
}
