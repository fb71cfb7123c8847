//! # Matrix product, fp8 by warpgroup MMA and TMA with promoted sums
//!
//! **Idea.** `wgmma` multiplies elements of 8 bits twice as fast as those of 16, but keeps only about 14 bits of a sum:
//! the larger the sum, the more of each product is cut off. So besides the sums as the hardware has them
//! ([`Adding::OnTensorCores`](launches::Adding)) there are promoted ones: each K step of 128 begins a sum of its own,
//! which the threads add to `f32` registers. Two warpgroups take turns, so that one adds while the other's products
//! are made. The sum of a step is also where scales of blocks of 128 k belong: `fma` instead of an addition.
//!
//! **Errors.** On an H100, relative to the norm of C in `f32`: elements in [0, 1) have 5.1e-4, 5.2e-3, 3.1e-2 and 0.13
//! at k = 128, 512, 2048 and 8192 on the tensor cores alone, and 5.1e-4 or less at every k promoted. These are the
//! errors of cuBLASLt with and without its fast accumulation, to three digits. The simulator's model of the hardware
//! gives the same ones ([`simt::warpgroup`]).
//!
//! **Bottleneck.** The tensor cores. Two warpgroups share them, and each must have its products in the queue before the
//! other's end. So the loop has nothing between two `wgmma`: stage, addresses and descriptors are the same for a warp,
//! and ptxas keeps them in uniform registers if it can see that. A tile of C takes at most as long as the other
//! warpgroup can go on alone, four steps: it leaves by TMA. Stores of `f32` from registers took 16,000 of 180,000
//! cycles at 4096³. On an H200, over the fastest of cuBLASLt's proposals at 2048³, 4096³, 8192³ and 4000 × 4104 × 4064:
//! C of `bf16` 1.01, 0.99, 0.99 and 0.96, promoted 1.07, 1.01, 0.98 and 1.01; C of `f32` 0.97, 0.94, 0.94 and 0.93,
//! promoted 1.05, 0.94, 0.92 and 0.97. At 1024³ all are ahead, by 1.3 to 1.5.
//!
//! **Cost.** 2·m·n·k operations, with m, n and k rounded up to tiles. Copies of k·(m·⌈n/COLUMNS⌉ + n·⌈m/ROWS⌉) bytes to
//! shared memory. Promoted sums add one `fma` per element of C and K step. One launch.
//!
//! **Threads.** 384 per block, as in `packed`. Tiles of C have 128 rows and 256 columns, and a pair of blocks shares B
//! by TMA multicast, as in `half-cluster`; or, where that leaves SMs idle, 128 or 64 columns.
//!
//! **Limits.** A is stored by rows, and B by columns: from shared memory `wgmma` reads fp8 K-major only. Addresses and
//! strides of A and B are multiples of 16 bytes, as TMA demands; k itself may be any number. C is of `f32` or `bf16`,
//! any size and stride. Scales of blocks: both operands of e4m3, one factor for each row of A and for each 128 columns
//! of B, per 128 k. Compute capability 9.0 only.
//!
//! **Source.** NVIDIA, "Parallel Thread Execution ISA", chapter on `wgmma`; P. Micikevicius et al., "FP8 formats for
//! deep learning" (2022); DeepSeek-AI, "DeepSeek-V3 technical report" (2024), for sums promoted every 128 k and scales
//! of blocks. Our own prototype in CUDA C++.

use super::Shape;
use super::group::eight::{Eights, OfC, OnTensorCores, Promoted, Scaled, Unscaled};
use super::group::{BLOCK, eight};
use simt::tensor_map::TensorMap;
use simt::{Eight, F8E4M3, F8E5M2, Global, bf16, kernel};

/// Rows of a tile of C.
pub const ROWS: u32 = super::group::ROWS;
/// Columns of a tile of C.
pub const COLUMNS: u32 = Pair::<Promoted>::COLUMNS;
/// K of a step: promoted sums, and blocks that have a scale, span this number of products.
pub const DEPTH: u32 = eight::DEPTH;
/// Columns of B that have one scale.
pub const COLUMNS_SCALED: u32 = eight::COLUMNS_SCALED;

/// Blocks of a cluster.
const BLOCKS: u32 = 2;

type Pair<A> = Eights<A, 128, 4, BLOCKS>;
type Middle<A> = Eights<A, 64, 6, 1>;
type Small<A> = Eights<A, 32, 8, 1>;

/// C = alpha·A·B + beta·C by pairs of blocks. `map_c` is used if `boxes`. The views of A and B say what their maps are
/// of.
#[kernel(
    sm_90a,
    max_threads = BLOCK,
    min_blocks = 1,
    cluster = BLOCKS,
    instances(
        product_fp8_pair_e4m3_e4m3_f32: <F8E4M3, F8E4M3, f32, OnTensorCores>,
        product_fp8_pair_e4m3_e5m2_f32: <F8E4M3, F8E5M2, f32, OnTensorCores>,
        product_fp8_pair_e5m2_e4m3_f32: <F8E5M2, F8E4M3, f32, OnTensorCores>,
        product_fp8_pair_e4m3_e4m3_bf16: <F8E4M3, F8E4M3, bf16, OnTensorCores>,
        product_fp8_pair_e4m3_e5m2_bf16: <F8E4M3, F8E5M2, bf16, OnTensorCores>,
        product_fp8_pair_e5m2_e4m3_bf16: <F8E5M2, F8E4M3, bf16, OnTensorCores>,
        product_fp8_pair_promoted_e4m3_e4m3_f32: <F8E4M3, F8E4M3, f32, Promoted>,
        product_fp8_pair_promoted_e4m3_e5m2_f32: <F8E4M3, F8E5M2, f32, Promoted>,
        product_fp8_pair_promoted_e5m2_e4m3_f32: <F8E5M2, F8E4M3, f32, Promoted>,
        product_fp8_pair_promoted_e4m3_e4m3_bf16: <F8E4M3, F8E4M3, bf16, Promoted>,
        product_fp8_pair_promoted_e4m3_e5m2_bf16: <F8E4M3, F8E5M2, bf16, Promoted>,
        product_fp8_pair_promoted_e5m2_e4m3_bf16: <F8E5M2, F8E4M3, bf16, Promoted>,
    )
)]
pub fn product_fp8_pair<L: Eight, R: Eight, C: OfC, A: Unscaled>(
    map_a: TensorMap<L>,
    map_b: TensorMap<R>,
    map_c: TensorMap<C>,
    _a: Global<L>,
    _b: Global<R>,
    c: Global<C>,
    shape: Shape,
    boxes: u32,
) {
    Pair::<A>::product((map_a, map_b, map_c), shape.matrices(0, c, c, c).2, shape, boxes != 0, A::HERE);
}

/// The product with tiles of 128 columns, without clusters.
#[kernel(
    sm_90a,
    max_threads = BLOCK,
    min_blocks = 1,
    instances(
        product_fp8_e4m3_e4m3_f32: <F8E4M3, F8E4M3, f32, OnTensorCores>,
        product_fp8_e4m3_e5m2_f32: <F8E4M3, F8E5M2, f32, OnTensorCores>,
        product_fp8_e5m2_e4m3_f32: <F8E5M2, F8E4M3, f32, OnTensorCores>,
        product_fp8_e4m3_e4m3_bf16: <F8E4M3, F8E4M3, bf16, OnTensorCores>,
        product_fp8_e4m3_e5m2_bf16: <F8E4M3, F8E5M2, bf16, OnTensorCores>,
        product_fp8_e5m2_e4m3_bf16: <F8E5M2, F8E4M3, bf16, OnTensorCores>,
        product_fp8_promoted_e4m3_e4m3_f32: <F8E4M3, F8E4M3, f32, Promoted>,
        product_fp8_promoted_e4m3_e5m2_f32: <F8E4M3, F8E5M2, f32, Promoted>,
        product_fp8_promoted_e5m2_e4m3_f32: <F8E5M2, F8E4M3, f32, Promoted>,
        product_fp8_promoted_e4m3_e4m3_bf16: <F8E4M3, F8E4M3, bf16, Promoted>,
        product_fp8_promoted_e4m3_e5m2_bf16: <F8E4M3, F8E5M2, bf16, Promoted>,
        product_fp8_promoted_e5m2_e4m3_bf16: <F8E5M2, F8E4M3, bf16, Promoted>,
    )
)]
pub fn product_fp8<L: Eight, R: Eight, C: OfC, A: Unscaled>(
    map_a: TensorMap<L>,
    map_b: TensorMap<R>,
    map_c: TensorMap<C>,
    _a: Global<L>,
    _b: Global<R>,
    c: Global<C>,
    shape: Shape,
    boxes: u32,
) {
    Middle::<A>::product((map_a, map_b, map_c), shape.matrices(0, c, c, c).2, shape, boxes != 0, A::HERE);
}

/// The product with tiles of 64 columns: for products of so few tiles that wider ones leave SMs idle.
#[kernel(
    sm_90a,
    max_threads = BLOCK,
    min_blocks = 1,
    instances(
        product_fp8_small_e4m3_e4m3_f32: <F8E4M3, F8E4M3, f32, OnTensorCores>,
        product_fp8_small_e4m3_e5m2_f32: <F8E4M3, F8E5M2, f32, OnTensorCores>,
        product_fp8_small_e5m2_e4m3_f32: <F8E5M2, F8E4M3, f32, OnTensorCores>,
        product_fp8_small_e4m3_e4m3_bf16: <F8E4M3, F8E4M3, bf16, OnTensorCores>,
        product_fp8_small_e4m3_e5m2_bf16: <F8E4M3, F8E5M2, bf16, OnTensorCores>,
        product_fp8_small_e5m2_e4m3_bf16: <F8E5M2, F8E4M3, bf16, OnTensorCores>,
        product_fp8_small_promoted_e4m3_e4m3_f32: <F8E4M3, F8E4M3, f32, Promoted>,
        product_fp8_small_promoted_e4m3_e5m2_f32: <F8E4M3, F8E5M2, f32, Promoted>,
        product_fp8_small_promoted_e5m2_e4m3_f32: <F8E5M2, F8E4M3, f32, Promoted>,
        product_fp8_small_promoted_e4m3_e4m3_bf16: <F8E4M3, F8E4M3, bf16, Promoted>,
        product_fp8_small_promoted_e4m3_e5m2_bf16: <F8E4M3, F8E5M2, bf16, Promoted>,
        product_fp8_small_promoted_e5m2_e4m3_bf16: <F8E5M2, F8E4M3, bf16, Promoted>,
    )
)]
pub fn product_fp8_small<L: Eight, R: Eight, C: OfC, A: Unscaled>(
    map_a: TensorMap<L>,
    map_b: TensorMap<R>,
    map_c: TensorMap<C>,
    _a: Global<L>,
    _b: Global<R>,
    c: Global<C>,
    shape: Shape,
    boxes: u32,
) {
    Small::<A>::product((map_a, map_b, map_c), shape.matrices(0, c, c, c).2, shape, boxes != 0, A::HERE);
}

/// The product of elements whose blocks of 128 k have scales: row-major, of each row of A, and of each
/// [`COLUMNS_SCALED`] columns of B.
#[kernel(
    sm_90a,
    max_threads = BLOCK,
    min_blocks = 1,
    cluster = BLOCKS,
    instances(product_fp8_scaled_f32: <f32>, product_fp8_scaled_bf16: <bf16>)
)]
pub fn product_fp8_scaled<C: OfC>(
    map_a: TensorMap<F8E4M3>,
    map_b: TensorMap<F8E4M3>,
    map_c: TensorMap<C>,
    _a: Global<F8E4M3>,
    _b: Global<F8E4M3>,
    c: Global<C>,
    shape: Shape,
    boxes: u32,
    scales_a: Global<f32>,
    scales_b: Global<f32>,
) {
    let adds = Scaled { a: scales_a, b: scales_b, steps: shape.k.div_ceil(DEPTH) };
    Pair::<Scaled>::product((map_a, map_b, map_c), shape.matrices(0, c, c, c).2, shape, boxes != 0, adds);
}

/// The kernels here, for the list of kernels that belong to no rung.
#[cfg(not(target_os = "cuda"))]
pub const KERNELS: &[&[&str]] = &[
    <product_fp8_pair as simt::Instances>::NAMES,
    <product_fp8 as simt::Instances>::NAMES,
    <product_fp8_small as simt::Instances>::NAMES,
    <product_fp8_scaled as simt::Instances>::NAMES,
];

#[cfg(not(target_os = "cuda"))]
pub mod launches {
    //! What the host launches: the product, once.

    use super::*;
    use crate::Steps;
    use crate::group::eight::Sizing;
    use crate::group::mapped_host;
    use crate::ladder::*;
    use simt::tensor_map::Described;

    pub use crate::group::eight::OfC;

    /// How the products of an element of C are added up.
    #[derive(Clone, Copy)]
    pub enum Adding {
        /// All on the tensor cores, which keep about 14 bits of a sum: for small k, or where speed is worth more.
        OnTensorCores,
        /// Sums of [`DEPTH`] k on the tensor cores, and the sums of these in `f32`.
        Promoted,
        /// The same, with scales for blocks of [`DEPTH`] k, of elements of e4m3 alone. A product of row i of A and
        /// column j of B counts as much as `a` says in row i, and `b` in row j / [`COLUMNS_SCALED`], at k / [`DEPTH`].
        Scaled {
            /// The scales of A, row-major without gaps: a row for each of A.
            a: Global<f32>,
            /// The scales of B, row-major without gaps: a row for each [`COLUMNS_SCALED`] columns of B.
            b: Global<f32>,
        },
    }

    /// Two matrices of fp8, and the memory for their product: C = alpha·A·B + beta·C.
    #[derive(Clone, Copy)]
    pub struct Product<L, R, C> {
        /// A, m × k, stored by rows.
        pub a: Matrix<L>,
        /// B, k × n, stored by columns.
        pub b: Matrix<R>,
        /// C, m × n, stored by rows.
        pub c: Matrix<C>,
        /// The factor of the product: that of A, times that of B, where each has one for all elements.
        pub alpha: f32,
        /// The factor of what is in C. If it is 0, C is not read.
        pub beta: f32,
        /// Who adds up the products.
        pub adding: Adding,
    }

    type Args<L, R, C> = (TensorMap<L>, TensorMap<R>, TensorMap<C>, Global<L>, Global<R>, Global<C>, Shape, u32);

    /// The scales of A and of B.
    type TwoScales = (Global<f32>, Global<f32>);

    /// What a product with scales takes.
    #[rustfmt::skip]
    type ScaledArgs<C> = (
        TensorMap<F8E4M3>, TensorMap<F8E4M3>, TensorMap<C>, Global<F8E4M3>, Global<F8E4M3>, Global<C>, Shape, u32,
        Global<f32>, Global<f32>,
    );

    /// The tiles of a kernel, from the widest on.
    #[doc(hidden)]
    #[derive(Clone, Copy, PartialEq)]
    pub enum Width {
        Pair,
        Middle,
        Small,
    }

    /// The kernels' tiles, and the time that a column of them takes, as a multiple of the widest's. The ways of adding
    /// up do not differ in size.
    const KINDS: [(Width, Sizing, f64); 3] = [
        (Width::Pair, Pair::<Promoted>::SIZING, 1.0),
        (Width::Middle, Middle::<Promoted>::SIZING, 1.03),
        (Width::Small, Small::<Promoted>::SIZING, 1.25),
    ];

    /// A type of elements that is multiplied by another, with a product of type `C`.
    pub trait Times<R: Eight, C: OfC>: Eight {
        /// Launches the product by the kernel with tiles of such a width.
        ///
        /// # Errors
        /// Those of a launch; [`Failed::Unsuitable`] if products of these types have no scales.
        #[doc(hidden)]
        fn launch(on: &dyn Launcher, by: (Width, Geometry), adding: Adding, args: Args<Self, R, C>) -> Result;
    }

    impl<L: Scales<R, C>, R: Eight, C: OfC> Times<R, C> for L
    where
        product_fp8<L, R, C, OnTensorCores>: Kernel<Args = Args<L, R, C>>,
        product_fp8<L, R, C, Promoted>: Kernel<Args = Args<L, R, C>>,
        product_fp8_pair<L, R, C, OnTensorCores>: Kernel<Args = Args<L, R, C>>,
        product_fp8_pair<L, R, C, Promoted>: Kernel<Args = Args<L, R, C>>,
        product_fp8_small<L, R, C, OnTensorCores>: Kernel<Args = Args<L, R, C>>,
        product_fp8_small<L, R, C, Promoted>: Kernel<Args = Args<L, R, C>>,
    {
        fn launch(
            on: &dyn Launcher,
            (width, geometry): (Width, Geometry),
            adding: Adding,
            args: Args<L, R, C>,
        ) -> Result {
            match (adding, width) {
                (Adding::OnTensorCores, Width::Pair) => {
                    on.launch(product_fp8_pair::<L, R, C, OnTensorCores>::default(), geometry, args)
                }
                (Adding::OnTensorCores, Width::Middle) => {
                    on.launch(product_fp8::<L, R, C, OnTensorCores>::default(), geometry, args)
                }
                (Adding::OnTensorCores, Width::Small) => {
                    on.launch(product_fp8_small::<L, R, C, OnTensorCores>::default(), geometry, args)
                }
                (Adding::Promoted, Width::Pair) => {
                    on.launch(product_fp8_pair::<L, R, C, Promoted>::default(), geometry, args)
                }
                (Adding::Promoted, Width::Middle) => {
                    on.launch(product_fp8::<L, R, C, Promoted>::default(), geometry, args)
                }
                (Adding::Promoted, Width::Small) => {
                    on.launch(product_fp8_small::<L, R, C, Promoted>::default(), geometry, args)
                }
                (Adding::Scaled { a, b }, _) => L::launch_scaled(on, geometry, (a, b), args),
            }
        }
    }

    /// A type whose products with another may have scales of blocks.
    pub trait Scales<R: Eight, C: OfC>: Eight {
        /// Launches the product with the scales of A and of B.
        ///
        /// # Errors
        /// Those of a launch; [`Failed::Unsuitable`] if products of these types have no scales.
        #[doc(hidden)]
        fn launch_scaled(_: &dyn Launcher, _: Geometry, _: TwoScales, _: Args<Self, R, C>) -> Result {
            Err(Failed::Unsuitable("fp8 products have scales of blocks if A and B are both of e4m3".into()))
        }
    }

    impl<C: OfC> Scales<F8E5M2, C> for F8E4M3 {}
    impl<C: OfC> Scales<F8E4M3, C> for F8E5M2 {}

    impl<C: OfC> Scales<F8E4M3, C> for F8E4M3
    where
        product_fp8_scaled<C>: Kernel<Args = ScaledArgs<C>>,
    {
        fn launch_scaled(
            on: &dyn Launcher,
            geometry: Geometry,
            scales: TwoScales,
            args: Args<Self, Self, C>,
        ) -> Result {
            let ((a, b, c, of_a, of_b, of_c, shape, boxes), (for_a, for_b)) = (args, scales);
            let args = (a, b, c, of_a, of_b, of_c, shape, boxes, for_a, for_b);
            on.launch(product_fp8_scaled::<C>::default(), geometry, args)
        }
    }

    /// Why a device cannot run these products.
    pub fn refuses(ask: &Ask) -> Option<String> {
        mapped_host::refuses("fp8", ask, Pair::<Promoted>::SIZING.shared)
    }

    impl<L: Scalar, R: Scalar, C: Scalar> Lengths for Product<L, R, C> {
        /// The matrices carry their own sizes, so `n` is not used.
        fn check(&self, _: u32) -> Result {
            let Self { a, b, c, .. } = self;
            a.check("A", 1, 0)?;
            b.check("B", 1, 0)?;
            c.check("C", 1, 0)?;
            fits(a, b, c)?;
            let (m, n, k) = (c.rows, c.columns, a.columns);
            if a.transposed || !b.transposed {
                let why = "fp8 products take A by rows and B by columns, so that both are K-major: the tensor \
                           cores read fp8 in no other way. Store the transpose of A, or of B, and pass its \
                           transposed view";
                return Err(Failed::Unsuitable(why.into()));
            }
            let is_read = m > 0 && n > 0 && k > 0 && self.alpha != 0.0;
            let suits =
                |of: Global<u8>, stride: u32| (of.as_ptr() as usize).is_multiple_of(16) && stride.is_multiple_of(16);
            for (what, data, stride) in [("A", a.data.cast(), a.stride), ("B", b.data.cast(), b.stride)] {
                if is_read && !suits(data, stride) {
                    let why = format!(
                        "{what} begins at {:#x} with {stride} elements from one run of k to the next; for fp8 both \
                         are multiples of 16, as TMA demands. Store each run of {k} elements in {} places",
                        data.as_ptr() as usize,
                        k.next_multiple_of(16)
                    );
                    return Err(Failed::Unsuitable(why));
                }
            }
            let Adding::Scaled { a: of_a, b: of_b } = self.adding else { return Ok(()) };
            let (steps, blocks) = (k.div_ceil(DEPTH), n.div_ceil(COLUMNS_SCALED));
            for (what, rows, scales) in [("A", m, of_a), ("B", blocks, of_b)] {
                if u64::from(scales.len()) != u64::from(rows) * u64::from(steps) {
                    let len = scales.len();
                    return Err(Failed::Unsuitable(format!("{len} scales for {rows} x {steps} blocks of {what}")));
                }
            }
            Ok(())
        }
    }

    /// The kernel that takes the least time. The one with scales has pairs alone.
    fn choose(shape: &Shape, sms: u32, adding: Adding, strides: [u32; 2]) -> (Width, Sizing) {
        let (steps, astride) = (shape.k.div_ceil(DEPTH), strides.into_iter().any(mapped_host::is_astride));
        let scaled = matches!(adding, Adding::Scaled { .. });
        let suits = |(width, ..): &&(Width, Sizing, f64)| !scaled || *width == Width::Pair;
        let time = |(_, sizing, cost): &(Width, Sizing, f64)| sizing.tiling.time(shape, sms, steps, (*cost, astride));
        let all = KINDS.iter().filter(suits);
        let &(width, sizing, _) = all.min_by(|x, y| time(x).total_cmp(&time(y))).expect("there are kernels");
        (width, sizing)
    }

    /// The product, ready to be run again and again.
    ///
    /// # Errors
    /// [`Failed::Unsuitable`] if the device is not one for it; [`Failed::Machine`] if there is no memory.
    pub fn sequence<L: Times<R, C>, R: Eight, C: OfC>(on: &dyn Launcher) -> Result<Sequence<Product<L, R, C>>> {
        if let Some(why) = refuses(&Ask::of::<L>(on, 0)) {
            return Err(Failed::Unsuitable(why));
        }
        crate::ladder::sequence(on, 0, move |on: &dyn Launcher| {
            // A row of zeros: an operand of a product that has none, of which all other rows are outside.
            let zeros = on.zeros::<u8>(16)?;
            Ok(Box::new(move |on, product: Product<L, R, C>| {
                let Product { a, b, c, alpha, beta, adding } = product;
                if c.rows == 0 || c.columns == 0 {
                    return Ok(());
                }
                let (k, alpha) = crate::host::depth(a.columns, alpha, beta);
                let none = zeros.view();
                let (of_a, of_b) = ((a.data, [a.rows, k], a.stride), (b.data, [b.columns, k], b.stride));
                let (of_a, of_b, adding) = match k {
                    0 => ((none.cast(), [1, 16], 16), (none.cast(), [1, 16], 16), Adding::Promoted),
                    _ => (of_a, of_b, adding),
                };
                let steps = |of: &Matrix<C>| Steps { row: of.stride, column: 1, batch: 0 };
                let nowhere = Steps { row: 0, column: 0, batch: 0 };
                let (m, n, k) = (c.rows, c.columns, k.max(1));
                let shape = Shape { m, n, k, batch: 1, a: nowhere, b: nowhere, c: steps(&c), alpha, beta };
                let sms = on.device().multiprocessors;
                let (width, Sizing { tiling, shared, box_rows: [rows_a, rows_b, rows_c] }) =
                    choose(&shape, sms, adding, [of_a.2, of_b.2]);
                let refused = || Failed::Unsuitable("TMA does not take matrices of these sizes".into());
                let map_a = Described::of(of_a.0, of_a.1, of_a.2, rows_a).ok_or_else(refused)?;
                let map_b = Described::of(of_b.0, of_b.1, of_b.2, rows_b).ok_or_else(refused)?;
                let map_c = if beta == 0.0 { Described::of(c.data, [m, n], c.stride, rows_c) } else { None };
                let boxes = map_c.is_some().into();
                let map_c = map_c.map_or(Ok(TensorMap::none()), |of| on.tensor_map(&of).map(TensorMap::new))?;
                let maps = (TensorMap::new(on.tensor_map(&map_a)?), TensorMap::new(on.tensor_map(&map_b)?));
                let args = (maps.0, maps.1, map_c, of_a.0, of_b.0, c.data, shape, boxes);
                let blocks = tiling.running(&shape, sms) * tiling.blocks;
                let geometry = Geometry::linear(blocks, BLOCK).shared(shared).overlapping();
                L::launch(on, (width, geometry), adding, args)
            }))
        })
    }
}
