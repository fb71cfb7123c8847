//! # Matrix product, TMA and warpgroup MMA with one operand in registers, for TF32
//!
//! **Idea.** For TF32, `wgmma` reads only K-major tiles from shared memory, but its first operand may be in registers.
//! So the threads load the operand that is not K-major from its boxes in shared memory, and the tensor cores read the
//! other. If A and B are row-major this is the transposed product, Cᵀ = Bᵀ·Aᵀ, in which A is K-major. While the
//! products of sixteen k are made, a thread loads its elements for the next sixteen. The order of an operand's rows is
//! free, so a fragment's rows are chosen such that a lane's two elements are neighbours: one load without bank
//! conflicts.
//!
//! **Bottleneck.** The tensor cores, and for large matrices the power limit: by ncu on an H200 they are busy 79 % of
//! the time at 2048³, 91 % at 4096³ and 94 % at 8192³.
//!
//! **Cost.** 2·m·n·k operations, with m, n and k rounded up to tiles. Copies of 4·k·(m·⌈n/COLUMNS⌉ + n·⌈m/ROWS⌉) bytes
//! to shared memory, and of C from there. One barrier per block, and two of two warps for each box of C; one launch.
//!
//! **Threads.** 384 per block, as in `packed`. Tiles of C have 128 columns and 256 rows, or 128 or 64; the other way
//! round if both operands are transposed.
//!
//! **Limits.** Elements of `f32`. Those in registers are rounded to TF32; those in shared memory are truncated to TF32
//! by the hardware. A and B whose addresses and row strides are multiples of 16 bytes, k > 0, and not a transposed A
//! with a B that is not (neither is K-major then); any other product is made by `packed`. C that is not such a matrix,
//! with beta other than 0, or from two transposed operands, is written by the threads. The products of a batch follow
//! each other. Compute capability 9.0 only.
//!
//! **Source.** NVIDIA, "Parallel Thread Execution ISA", chapters on `wgmma` and tensor copies. The order of rows is
//! our own.

use super::Shape;
use super::group::BLOCK;
use super::group::held::Held;
use super::group::mapped::Products;
use simt::tensor_map::TensorMap;
use simt::warpgroup::{KMajor, MnMajor};
use simt::{Global, kernel};

/// Rows of a tile of C, which are columns of the product turned around.
pub const ROWS: u32 = Wide::<MnMajor>::COLUMNS;
/// Columns of a tile of C.
pub const COLUMNS: u32 = super::group::ROWS;

type Wide<A> = Held<A, 128, 4>;
type Middle<A> = Held<A, 64, 6>;
type Narrow<A> = Held<A, 32, 8>;

/// C = alpha·A·B + beta·C for one product, turned so that B is K-major. `map_c` is used if `boxes`. The views of A
/// and B say what their maps are of.
#[kernel(
    sm_90a,
    max_threads = BLOCK,
    min_blocks = 1,
    instances(
        product_tensor_registers_across: <Wide<MnMajor>>,
        product_tensor_registers_along: <Wide<KMajor>>,
        product_tensor_registers_middle_across: <Middle<MnMajor>>,
        product_tensor_registers_middle_along: <Middle<KMajor>>,
        product_tensor_registers_narrow_across: <Narrow<MnMajor>>,
        product_tensor_registers_narrow_along: <Narrow<KMajor>>,
    )
)]
pub fn product_tensor_registers<P: Products<f32>>(
    map_a: TensorMap<f32>,
    map_b: TensorMap<f32>,
    map_c: TensorMap<f32>,
    _a: Global<f32>,
    _b: Global<f32>,
    c: Global<f32>,
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

    /// The rung.
    pub static RUNG: Entry<Matmul> = rung!("tensor_registers.rs", [product_tensor_registers])
        .refusing(|ask| mapped_host::refuses("tensor-registers", ask, Wide::<MnMajor>::SHARED_BYTES))
        .run_by(&Registers);

    struct Registers;

    fn way<P: Products<f32>>() -> Option<Way<f32>>
    where
        product_tensor_registers<P>: Kernel<Args = Args<f32>>,
    {
        Some(Way::of::<P>(|on, geometry, args| on.launch(product_tensor_registers::<P>::default(), geometry, args)))
    }

    /// The kernels with tiles of one width, for A that is K-major and for A that is not.
    fn width<K: Products<f32>, M: Products<f32>>(cost: f64) -> Width<f32>
    where
        product_tensor_registers<K>: Kernel<Args = Args<f32>>,
        product_tensor_registers<M>: Kernel<Args = Args<f32>>,
    {
        Width { ways: [[None, way::<K>()], [None, way::<M>()]], cost }
    }

    /// Cᵀ = Bᵀ·Aᵀ if A is K-major; else C = A·B, for which B has to be.
    fn turn(product: Product) -> Product {
        let Product { a, b, c, batch, .. } = product;
        if a.transposed {
            return product;
        }
        let turned = |of: Matrix| Matrix { rows: of.columns, columns: of.rows, transposed: !of.transposed, ..of };
        let batch = Batch { a: batch.b, b: batch.a, ..batch };
        Product { a: turned(b), b: turned(a), c: turned(c), batch, ..product }
    }

    impl Multiplies for Registers {
        fn precision(&self) -> Precision {
            Precision::CutTf32
        }

        fn launches(&self, on: &dyn Launcher, sizes: Sizes) -> Result<Launches<Product>> {
            let widths = vec![
                width::<Wide<KMajor>, Wide<MnMajor>>(1.0),
                width::<Middle<KMajor>, Middle<MnMajor>>(1.02),
                width::<Narrow<KMajor>, Narrow<MnMajor>>(1.25),
            ];
            let otherwise = |on: &dyn Launcher, sizes| MultipliesOf::<f32>::launches_of(&TensorGroup, on, sizes);
            let kernels = Kernels { widths, turn, by_columns: true };
            mapped_host::launches(on, sizes, kernels, otherwise)
        }
    }
}
