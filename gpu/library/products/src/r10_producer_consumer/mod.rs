//! # Matrix product, warps that copy and warps that multiply
//!
//! **Idea.** One thread of a block does nothing but have parts of A and B copied to a ring of eight stages in shared
//! memory; eight warps do nothing but multiply what is there. They tell each other by barriers that count bytes and
//! warps. Blocks stay for the whole product, so that the copies for the next tile of C go on while this one is written.
//! Where tiles are too few for that, the blocks of a cluster have one tile together, and each multiplies a part of k.
//! If halves of tiles fill the multiprocessors better, a cluster has one of these, and four warps take every other
//! stage.
//!
//! **Changed from the rung before.** The loop over k has neither copies nor a barrier of the block. The multiplying
//! threads take the registers that the copying ones do not need, and have 8 × 16 elements each: six loads of 16 bytes
//! for 128 multiply-adds. Tiles that are too few for all blocks, the last or all, are divided along k (stream-K).
//!
//! **Bottleneck.** The issue of multiply-adds: those whose three operands come from the register file anew take longer
//! than a cycle. More than this needs the tensor cores. At m = n = k = 1024, halves of tiles keep the unit for
//! multiply-adds busy for 64 % of 51 µs; by whole tiles it is 50 % of 65 µs (ncu, H200).
//!
//! **Cost.** 2·m·n·k operations, with m and n rounded up to tiles and k to DEPTH. Copies of 4·k·(m·⌈n/COLUMNS⌉ +
//! n·⌈m/ROWS⌉) bytes to shared memory, and of one stage more per block. Before that, copies in global memory of
//! operands that are not taken as they are; scratch memory as large as both. One barrier per block; one launch, one
//! more if an operand is copied, and one more if blocks add to C. In a cluster two barriers of it and one of the
//! multiplying warps more; a block writes 4·ROWS·COLUMNS bytes of sums to shared memory, and reads as many, from all.
//! Halves of tiles have ROWS/2 rows, and two stages more per block, each of two thirds of the bytes.
//!
//! **Threads.** 384: eight warps multiply, with tiles of 64 × 64 in a tile of 256 × 128. Of four more warps one thread
//! copies; there are four because registers move between groups of four warps. A lane has four times four columns, 16
//! apart, and twice four rows, 32 apart; its places in the warp make each load one of eight or of four packs.
//!
//! **Limits.** Any m, n, k and strides, factors, transposed operands; batches one after the other. Compute capability
//! 9.0 alone: later ones lack the instruction that moves registers. The copy engine takes boxes of operands in which
//! the elements of one k are neighbours: of A if it is transposed, of B if it is not. Address and distance of their
//! rows are multiples of 16 bytes. The others are copied to tiles in which the elements of one k are side by side.
//! Either way a stage is two copies: with one of 512 bytes for each row of B instead, nine for a stage, the copying
//! thread is too slow (43.7 TFLOP/s instead of 52.7 at m = n = k = 4096, H200). The blocks of a cluster are added up in
//! the order of their rank, so that the same product has the same bits. Where blocks add to an element of C (stream-K),
//! they do so in any order: with beta other than 0, or with more than two blocks, sums of floats that round can differ
//! from run to run. Which of the ways it is depends on the sides and on the multiprocessors.
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
/// Elements along k of a stage.
pub const DEPTH: u32 = 16;
/// Stages of the ring.
const STAGES: u32 = 8;
/// Warps that multiply.
const WARPS: u32 = 8;
/// Threads that multiply.
const MULTIPLIERS: u32 = WARPS * 32;
/// Threads per block: a group of four warps copies.
pub const BLOCK: u32 = MULTIPLIERS + 128;
/// Registers of a thread that copies, and of one that multiplies. Together they have what the block begins with.
const FEW: u32 = 40;
const MANY: u32 = 232;
/// Bytes of dynamic shared memory: the ring.
pub const SHARED_BYTES: u32 = STAGES * ring::STAGE * 4;

/// C = alpha·A·B + beta·C for one product of the batch. Operands that `work` has boxes of have a map, and `a` or `b` is
/// the operand itself; the others are copies in tiles. C of the tiles from `work.shared` on has been multiplied by beta
/// already.
#[kernel(sm_90a, max_threads = BLOCK, min_blocks = 1)]
pub fn product_producer_consumer(
    map_a: TensorMap<f32>,
    map_b: TensorMap<f32>,
    a: Global<f32>,
    b: Global<f32>,
    c: Global<f32>,
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
            // For A and B. C is written after some of them have come, so after the launch before, too.
            grid::wait_for_previous();
            Producer::<1>::run(Source::new(map_a, a, work.boxes_a), Source::new(map_b, b, work.boxes_b), units);
        }
    } else {
        warpgroup::claim_registers::<MANY>();
        let (_, _, c) = shape.matrices(product, a, b, c);
        multiply::run(c, units);
    }
}

/// The same by clusters: one for each tile of C, whose blocks multiply parts of k. C is as it was.
#[kernel(
    sm_90a,
    max_threads = BLOCK,
    min_blocks = 1,
    cluster = <P as Parts>::BLOCKS,
    instances(
        product_producer_consumer_by_2: <By<2>>,
        product_producer_consumer_by_3: <By<3>>,
        product_producer_consumer_by_4: <By<4>>,
        product_producer_consumer_by_8: <By<8>>,
        product_producer_consumer_half_by_2: <By<2, 4>>,
        product_producer_consumer_half_by_3: <By<3, 6>>,
        product_producer_consumer_half_by_4: <By<4, 8>>,
    )
)]
pub fn product_producer_consumer_by<P: Parts>(
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

/// What all threads do first; so many warps multiply a stage.
#[inline(always)]
fn begin(warps: u32) {
    if thread::thread_idx_x() == 0 {
        ring::init_barriers(warps);
    }
    thread::sync_threads(); // the barriers exist before any thread uses them
    grid::let_next_start(); // it waits where it needs what this launch writes
}

#[cfg(not(target_os = "cuda"))]
pub mod launches;
