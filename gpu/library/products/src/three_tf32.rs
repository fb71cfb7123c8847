//! # Matrix product, fp32 precision by three TF32 products
//!
//! **Idea.** Each element is split into two TF32 numbers, a large part and a residual of at most 2⁻¹¹ of it. Then a·b
//! is large·large + large·residual + residual·large; residual·residual is below the precision of `f32`. Three products
//! on the tensor cores are still faster than one on the CUDA cores. The tensor cores truncate sums, so they sum the
//! products of sixteen k only, and the SM adds these partial sums with rounding.
//!
//! **Bottleneck.** On an H200 the tensor cores accept such an MMA every 6 cycles (4 with operands from shared memory)
//! and get one every 9 or 10: each warp loads every element that it needs, and splits it by three instructions.
//!
//! **Cost.** 6·m·n·k operations, three times those of one product; 4·k·(m·⌈n/COLUMNS⌉ + n·⌈m/ROWS⌉) bytes of global
//! loads; ⌈k/DEPTH⌉ barriers per block; one launch.
//!
//! **Threads.** 128 threads have a tile of 128 × 64, their four warps 2 × 2 tiles of 64 × 32. Where such tiles do not
//! fill the SMs, tiles of 64 × 64 and 32 × 32 take their place.
//!
//! **Limits.** As `tf32`, but for the precision, and with 72 KiB of shared memory. The error is no larger than that of
//! sums in `f32`. Elements of 2¹²⁸ - 2¹¹⁶ and more in magnitude, and infinite ones, make NaN; a residual below 2⁻¹²⁶
//! may be lost.
//!
//! **Source.** NVIDIA, CUTLASS, example 27, "3xTF32 GEMM" (2021); H. Ootomo, R. Yokota, "Recovering single precision
//! accuracy from tensor cores while surpassing the FP32 theoretical peak performance" (2022), for sums outside of the
//! tensor cores. Our own prototype in CUDA C++.

use super::Shape;
use super::tensor::{Method, Tiling};
use simt::mma::{self, FragmentC, Tf32};
use simt::{Global, four, kernel};

pub use super::tensor::DEPTH;

/// Rows of a tile of C.
pub const ROWS: u32 = 128;
/// Columns of a tile of C.
pub const COLUMNS: u32 = 64;
/// Side of a small tile.
pub const SMALL: u32 = 64;
/// Blocks on an SM, with tiles and with small ones.
const BLOCKS: u32 = 2;
const BLOCKS_SMALL: u32 = 3;

type Tiles = Tiling<ROWS, COLUMNS, 4, 1>;
type SmallTiles = Tiling<SMALL, SMALL, 2, 1>;

/// Each element as two.
struct Split;

impl Method for Split {
    /// The large part, and the rest.
    type Operand = (Tf32, Tf32);
    const PASSES: usize = 3;
    const PARTS: bool = true;

    #[simt::device]
    fn operand(x: f32) -> (Tf32, Tf32) {
        Tf32::split(x)
    }

    #[simt::device]
    fn add(pass: usize, a: [(Tf32, Tf32); 4], b: [(Tf32, Tf32); 2], sums: FragmentC) -> FragmentC {
        match pass {
            0 => mma::multiply_add(four(|i| a[i].1), [b[0].0, b[1].0], sums),
            1 => mma::multiply_add(four(|i| a[i].0), [b[0].1, b[1].1], sums),
            _ => mma::multiply_add(four(|i| a[i].0), [b[0].0, b[1].0], sums),
        }
    }
}

/// C = alpha·A·B + beta·C: `a` is m × k, `b` is k × n, `c` is m × n.
#[kernel(max_threads = Tiles::BLOCK, min_blocks = BLOCKS)]
pub fn product_three_tf32(a: Global<f32>, b: Global<f32>, c: Global<f32>, shape: Shape) {
    Tiles::product::<Split>(a, b, c, shape);
}

/// The product with small tiles.
#[kernel(max_threads = SmallTiles::BLOCK, min_blocks = BLOCKS_SMALL)]
pub fn product_three_tf32_small(a: Global<f32>, b: Global<f32>, c: Global<f32>, shape: Shape) {
    SmallTiles::product::<Split>(a, b, c, shape);
}

#[cfg(not(target_os = "cuda"))]
pub mod launches {
    //! What the host launches: the kernel whose tiles suit the product, once.

    use super::*;
    use crate::ladder::*;

    /// The rung.
    pub static RUNG: Entry<Matmul> = rung!("three_tf32.rs", [product_three_tf32, product_three_tf32_small])
        .refusing(Tiles::refuses)
        .run_by(&ThreeTf32);

    struct ThreeTf32;

    impl Multiplies for ThreeTf32 {
        fn precision(&self) -> Precision {
            Precision::ThreeTf32
        }

        fn launches(&self, on: &dyn Launcher, _: Sizes) -> Result<Launches<Product>> {
            let (mut wide, mut small) =
                (Tiles::launches(product_three_tf32)?, SmallTiles::launches(product_three_tf32_small)?);
            let sms = on.device().multiprocessors;
            Ok(Box::new(move |on, product| {
                let multiply = if prefers_small(&product, sms) { &mut small } else { &mut wide };
                multiply(on, product)
            }))
        }
    }

    /// Whether small tiles are likely to be faster: they fill the SMs more evenly. As measured on an H200,
    /// an SM takes 2 × 2 units of time for two tiles, and 3 × 1.15 for three small ones.
    fn prefers_small(product: &Product, sms: u32) -> bool {
        let shape = Shape::of(product);
        let rounds = |tiles: u32, blocks: u32| f64::from(tiles.div_ceil(blocks * sms));
        rounds(shape.tiles(SMALL, SMALL), BLOCKS_SMALL) * 3.45 < rounds(shape.tiles(ROWS, COLUMNS), BLOCKS) * 4.0
    }
}
