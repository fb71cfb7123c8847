//! # Matrix product, tensor cores in TF32 by warp MMA
//!
//! **Idea.** A warp multiplies 16 × 8 by 8 × 8 matrices with one `mma.sync`, 1024 multiply-adds, on the tensor cores.
//! They take TF32: `f32` rounded to 10 mantissa bits. This is the product in TF32 before Hopper.
//!
//! **Bottleneck.** The instructions next to the MMAs: each warp loads every element that it needs, and rounds it by
//! four instructions.
//!
//! **Cost.** 2·m·n·k operations; 4·k·(m·⌈n/COLUMNS⌉ + n·⌈m/ROWS⌉) bytes of global loads; ⌈k/DEPTH⌉ barriers per block;
//! one launch.
//!
//! **Threads.** 128 threads have a tile of 128 × 128, their four warps 2 × 2 tiles of 64 × 64: 4 × 8 MMAs for each
//! eight k. Packs in shared memory are permuted by bits of their row, so that no load has bank conflicts. Three pairs
//! of tiles are in shared memory.
//!
//! **Limits.** Any m, n, k and strides; rows that are not aligned to 16 bytes are copied element by element; factors
//! and batches. The error is that of rounded operands, up to 2⁻¹⁰ of each product, so this product must be asked for
//! by its precision. Compute capability 8.0, with 96 KiB of shared memory per block.
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

    #[simt::device]
    fn operand(x: f32) -> Tf32 {
        Tf32::nearest(x)
    }

    #[simt::device]
    fn add(_: usize, a: [Tf32; 4], b: [Tf32; 2], sums: FragmentC) -> FragmentC {
        mma::multiply_add(a, b, sums)
    }
}

/// C = alpha·A·B + beta·C: `a` is m × k, `b` is k × n, `c` is m × n.
#[kernel(max_threads = Tiles::BLOCK, min_blocks = 2)]
pub fn product_tf32(a: Global<f32>, b: Global<f32>, c: Global<f32>, shape: Shape) {
    Tiles::product::<Rounded>(a, b, c, shape);
}

#[cfg(not(target_os = "cuda"))]
pub mod launches {
    //! What the host launches: the kernel, once.

    use super::{Tiles, product_tf32};
    use crate::ladder::*;

    /// The rung.
    pub static RUNG: Entry<Matmul> = rung!("tf32.rs", [product_tf32]).refusing(Tiles::refuses).run_by(&TensorMma);

    struct TensorMma;

    impl Multiplies for TensorMma {
        fn precision(&self) -> Precision {
            Precision::Tf32
        }

        fn launches(&self, _: &dyn Launcher, _: Sizes) -> Result<Launches<Product>> {
            Tiles::launches(product_tf32)
        }
    }
}
