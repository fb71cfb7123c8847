//! # Matrix product, on the tensor cores in TF32
//!
//! **Idea.** A warp multiplies matrices of 16 × 8 and 8 × 8 with one instruction, 1024 multiply-adds, on units that do
//! nothing else. They take TF32: `f32` whose fractions are rounded to 10 bits.
//!
//! **Changed from the rung before.** The products are made by the tensor cores, and they are less precise. The
//! structure is that of `async-copy` again: all threads copy and multiply, and no operand is copied beforehand. A group
//! of eight rows of tiles is walked through column by column, as in `producer-consumer`.
//!
//! **Bottleneck.** The instructions beside the products: each warp loads every element that it needs, and rounds it by
//! four.
//!
//! **Cost.** 2·m·n·k operations; 4·k·(m·⌈n/COLUMNS⌉ + n·⌈m/ROWS⌉) bytes of global loads; ⌈k/DEPTH⌉ barriers per block;
//! one launch.
//!
//! **Threads.** 128 threads have a tile of 128 × 128, their four warps 2 × 2 tiles of 64 × 64: for each eight k 4 × 8
//! products of small matrices. Packs in shared memory are permuted by bits of their row, so that no load has bank
//! conflicts. Three pairs of tiles are in shared memory.
//!
//! **Limits.** Any m, n, k and strides; what has no packs is copied element by element; factors and batches. The error
//! is that of rounded operands, up to 2⁻¹⁰ of each product: nobody gets this rung who does not name it. Compute
//! capability 8.0, with 96 KiB of shared memory per block.
//!
//! **Source.** NVIDIA, "Parallel thread execution ISA", `mma.sync` for TF32; A. Kerr et al., "CUTLASS: fast linear
//! algebra in CUDA C++" (2017), for the order of packs in shared memory.

use super::Shape;
use super::tensor::{Method, Tiling};
use simt::mma::{self, FragmentC, Tf32};
use simt::{Global, kernel};

pub use super::tensor::DEPTH;

/// Rows of a tile of C.
pub const ROWS: u32 = 128;
/// Columns of a tile of C.
pub const COLUMNS: u32 = 128;

type Tiles = Tiling<ROWS, COLUMNS, 4, 2>;

/// Each element once, rounded.
struct Rounded;

impl Method for Rounded {
    type Operand = Tf32;
    const PASSES: usize = 1;
    const PARTS: bool = false;

    #[inline(always)]
    fn operand(x: f32) -> Tf32 {
        Tf32::nearest(x)
    }

    #[inline(always)]
    fn add(_: usize, a: [Tf32; 4], b: [Tf32; 2], sums: FragmentC) -> FragmentC {
        mma::multiply_add(a, b, sums)
    }
}

/// C = alpha·A·B + beta·C: `a` is m × k, `b` is k × n, `c` is m × n.
#[kernel(max_threads = Tiles::BLOCK, min_blocks = 2)]
pub fn product_tensor_mma(a: Global<f32>, b: Global<f32>, c: Global<f32>, shape: Shape) {
    Tiles::product::<Rounded>(a, b, c, shape);
}

#[cfg(not(target_os = "cuda"))]
pub mod launches {
    //! What the host launches: the kernel, once.

    use super::{Tiles, product_tensor_mma};
    use crate::ladder::*;

    /// The rung.
    pub static RUNG: Entry<Matmul> =
        rung!("r11_tensor_mma.rs", [product_tensor_mma]).refusing(Tiles::refuses).run_by(&TensorMma);

    struct TensorMma;

    impl Multiplies for TensorMma {
        fn precision(&self) -> Precision {
            Precision::Tf32
        }

        fn launches(&self, _: &dyn Launcher, _: Sizes) -> Result<Launches<Product>> {
            Tiles::launches(product_tensor_mma)
        }
    }
}
