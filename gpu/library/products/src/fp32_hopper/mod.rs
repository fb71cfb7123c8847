//! # Matrix product, warp-specialized with stream-K, for f32 on Hopper
//!
//! **Idea.** One thread of a block fills a ring of eight stages by TMA; eight warps multiply. mbarriers that count
//! bytes and warps connect the two roles. The grid is persistent, so copies for the next tile of C proceed while this
//! one is written. Where there are too few tiles for all SMs, the blocks of a cluster split the k of one tile, or
//! tiles are divided along K among all blocks (stream-K). Where half tiles fill the SMs better, a cluster has one half
//! tile and two groups of warps take turns at the stages.
//!
//! **Bottleneck.** The issue rate of multiply-adds: one whose three operands all come from the register file takes
//! more than a cycle. At 1024³ half tiles keep the FMA pipe busy for 64 % of 51 µs, whole tiles 50 % of 65 µs (ncu,
//! H200).
//!
//! **Cost.** 2·m·n·k operations, with m and n rounded up to tiles and k to DEPTH. Copies of 4·k·(m·⌈n/COLUMNS⌉ +
//! n·⌈m/ROWS⌉) bytes to shared memory, and of one stage more per block. Before that, copies in global memory of
//! operands that are not taken as they are; scratch memory as large as both. One barrier per block; one launch, one
//! more if an operand is copied, and one more if blocks have parts of tiles: each writes 4·ROWS·COLUMNS bytes of sums
//! per part to scratch memory, and that launch reads them. In a cluster two cluster barriers and one more of the
//! multiplying warps; a block writes 4·ROWS·COLUMNS bytes of sums to shared memory, and reads as many, from all. Half
//! tiles have ROWS/2 rows, and two stages more per block, each of two thirds of the bytes.
//!
//! **Threads.** 384: eight warps multiply, with tiles of 64 × 64 in a tile of 256 × 128. One thread of the third
//! warpgroup copies; the group is whole because `setmaxnreg` moves registers between warpgroups. A lane has four times
//! four columns, 16 apart, and twice four rows, 32 apart, so that each load is one of eight or of four packs.
//!
//! **Limits.** Any m, n, k and strides, factors, transposed operands; the products of a batch follow each other.
//! Compute capability 9.0 only (`setmaxnreg`). TMA takes operands in which the elements of one k are neighbours: A if
//! it is transposed, B if it is not, with addresses and row strides that are multiples of 16 bytes. Others are first
//! copied to tiles. Either way a stage is two copies: with one copy per row of B, nine per stage, the copying thread
//! was too slow (43.7 instead of 52.7 TFLOP/s at 4096³, H200). Sums of several blocks are added in the order of k,
//! so the same product has the same bits on GPUs with the same number of SMs. That and its sides say which way it goes.
//!
//! **Source.** Our own prototype in CUDA C++; A. Kerr et al., "CUTLASS" (2017), for the shapes of tiles; M. Osama et
//! al., "Stream-K: work-centric parallel decomposition for dense matrix-matrix multiplication on the GPU" (2023).

mod multiply;
mod pack;
mod ring;
mod split;
mod work;

use super::Shape;
use super::operand::Source;
use ring::Producer;
use simt::tensor_map::TensorMap;
use simt::{Global, grid, kernel, thread, warpgroup};
use split::{By, Parts};
use work::{Units, Work};

pub use pack::*; // by a glob: an entry by rust-cuda has no name in Rust

/// Rows of a tile of C.
pub const ROWS: u32 = 256;
/// Columns of a tile of C.
pub const COLUMNS: u32 = 128;
/// Depth in K of a stage.
pub const DEPTH: u32 = 16;
/// Stages of the ring.
const STAGES: u32 = 8;
/// Warps that multiply.
const WARPS: u32 = 8;
/// Threads that multiply.
const MULTIPLIERS: u32 = WARPS * 32;
/// Threads per block: a warpgroup copies.
pub const BLOCK: u32 = MULTIPLIERS + 128;
/// Registers of a thread that copies, and of one that multiplies. Together they have what the block begins with.
const FEW: u32 = 40;
const MANY: u32 = 232;
/// Bytes of dynamic shared memory: the ring.
pub const SHARED_BYTES: u32 = STAGES * ring::STAGE * 4;

/// C = alpha·A·B + beta·C for one product of the batch. Operands that `work` has boxes of have a map, and `a` or `b` is
/// the operand itself; the others are copies in tiles. Sums for parts of tiles go
/// to `parts`.
#[kernel(sm_90a, max_threads = BLOCK, min_blocks = 1)]
pub fn product_fp32_hopper(
    map_a: TensorMap<f32>,
    map_b: TensorMap<f32>,
    a: Global<f32>,
    b: Global<f32>,
    c: Global<f32>,
    parts: Global<f32>,
    shape: Shape,
    product: u32,
    work: Work,
) {
    begin(WARPS);
    let units = Units::of_block(work, thread::block_idx_x());
    let thread = thread::thread_idx_x();
    if thread >= MULTIPLIERS {
        warpgroup::release_registers::<FEW>();
        if thread == MULTIPLIERS {
            // For A and B. C and `parts` are written after some of them have come, so after the launch before, too.
            grid::wait_for_previous();
            Producer::<1>::run(Source::new(map_a, a, work.boxes_a), Source::new(map_b, b, work.boxes_b), units);
        }
    } else {
        warpgroup::claim_registers::<MANY>();
        let (_, _, c) = shape.matrices(product, a, b, c);
        multiply::run(c, parts, units);
    }
}

/// The same by clusters: one for each tile of C, whose blocks multiply parts of k. C is as it was.
#[kernel(
    sm_90a,
    max_threads = BLOCK,
    min_blocks = 1,
    cluster = <P as Parts>::BLOCKS,
    instances(
        product_fp32_hopper_by_2: <By<2>>,
        product_fp32_hopper_by_3: <By<3>>,
        product_fp32_hopper_by_4: <By<4>>,
        product_fp32_hopper_by_8: <By<8>>,
        product_fp32_hopper_half_by_2: <By<2, 4>>,
        product_fp32_hopper_half_by_3: <By<3, 6>>,
        product_fp32_hopper_half_by_4: <By<4, 8>>,
    )
)]
pub fn product_fp32_hopper_by<P: Parts>(
    map_a: TensorMap<f32>,
    map_b: TensorMap<f32>,
    a: Global<f32>,
    b: Global<f32>,
    c: Global<f32>,
    shape: Shape,
    product: u32,
    work: Work,
) {
    begin(WARPS / P::GROUPS);
    if thread::thread_idx_x() >= MULTIPLIERS {
        warpgroup::release_registers::<FEW>();
        P::produce(Source::new(map_a, a, work.boxes_a), Source::new(map_b, b, work.boxes_b), work);
    } else {
        warpgroup::claim_registers::<MANY>();
        let (_, _, c) = shape.matrices(product, a, b, c);
        P::multiply(c, work);
    }
}

/// The setup that all threads share, for the given number of warps that multiply a stage.
#[simt::device]
fn begin(warps: u32) {
    if thread::thread_idx_x() == 0 {
        ring::init_barriers(warps);
    }
    thread::sync_threads(); // the barriers exist before any thread uses them
    grid::let_next_start(); // it waits where it needs what this launch writes
}

#[cfg(not(target_os = "cuda"))]
pub mod launches;
