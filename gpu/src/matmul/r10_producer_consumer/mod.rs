//! # Matrix product, warps that copy and warps that multiply
//!
//! **Idea.** One thread of a block does nothing but have tiles copied to a ring of eight stages in shared memory; eight
//! warps do nothing but multiply what is there. They tell each other by barriers that count bytes and warps. Blocks
//! stay for the whole product, so that the copies for the next tile of C go on while this one is written.
//!
//! **Changed from the rung before.** The loop over k has neither copies nor a barrier of the block. The multiplying
//! threads take the registers that the copying ones do not need, and have 8 × 16 elements each: six loads of 16 bytes
//! for 128 multiply-adds. The last tiles, too few for all blocks, are divided along k (stream-K).
//!
//! **Bottleneck.** The issue of multiply-adds: those whose three operands come from the register file anew take longer
//! than a cycle. More than this needs the tensor cores.
//!
//! **Cost.** 2·m·n·k operations, with m and n rounded up to tiles and k to DEPTH. Copies of A and B in global memory,
//! in as much scratch memory; from there, copies of 4·k·(m·⌈n/COLUMNS⌉ + n·⌈m/ROWS⌉) bytes to shared memory, and of one
//! stage more per block. One barrier per block; two launches, one more if tiles are divided along k.
//!
//! **Threads.** 384: eight warps multiply, with tiles of 64 × 64 in a tile of 256 × 128. Of four more warps one thread
//! copies; there are four because registers move between groups of four warps. A lane has four times four columns, 16
//! apart, and twice four rows, 32 apart; its places in the warp are such that each load of the warp is of eight or four
//! packs.
//!
//! **Limits.** Any m, n, k and strides, factors, transposed operands; batches one after the other. Compute capability
//! 9.0 alone: later ones lack the instruction that moves registers. A is copied to tiles of 256 rows, B to tiles of 128
//! columns, in which those of one k are side by side: a stage is then two copies. With a copy of 512 bytes for each row
//! of B instead, nine for a stage, the copying thread is too slow (43.7 TFLOP/s instead of 52.7 at m = n = k = 4096,
//! H200). Where blocks add to an element of C, they do so in any order. With beta other than 0, or with fewer tiles
//! than blocks (then more than two blocks may add to one), sums of floats that round can therefore differ from run to
//! run.
//!
//! **Source.** Our own prototype in CUDA C++; A. Kerr et al., "CUTLASS" (2017), for the shapes of tiles; M. Osama et
//! al., "Stream-K: work-centric parallel decomposition for dense matrix-matrix multiplication on the GPU" (2023).

mod multiply;
mod pack;
mod ring;
mod work;

use super::Shape;
use simt::{Global, grid, kernel, thread, warpgroup};
use work::Work;

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

/// C = alpha·A·B + beta·C for one product of the batch. `a` and `b` are copies in tiles. C of the tiles from
/// `work.shared` on has been multiplied by beta already.
#[kernel(sm_90a, max_threads = BLOCK, min_blocks = 1)]
pub fn matmul_producer_consumer(
    a: Global<f32>,
    b: Global<f32>,
    c: Global<f32>,
    shape: Shape,
    product: u32,
    work: Work,
) {
    let thread = thread::thread_idx_x();
    if thread == 0 {
        ring::init_barriers();
    }
    thread::sync_threads(); // the barriers exist before any thread uses them
    if thread >= MULTIPLIERS {
        warpgroup::release_registers::<FEW>();
        if thread == MULTIPLIERS {
            grid::wait_for_previous(); // for the copies in tiles; C is as it was before them
            ring::Producer::run(a, b, work);
        }
    } else {
        warpgroup::claim_registers::<MANY>();
        let (_, _, c) = shape.matrices(product, a, b, c);
        multiply::run(c, work);
    }
}

#[cfg(not(target_os = "cuda"))]
pub mod launches {
    //! What the host launches: A is copied, and B if it must be; then the product.

    use super::pack::{PACK, Panel};
    use super::*;
    use crate::ladder::matmul::*;
    use crate::matmul::host::{Room, refuses_but_hopper};

    /// The rung.
    pub static RUNG: Entry<Matmul> =
        rung!("mod.rs", [matmul_producer_consumer, matmul_producer_consumer_pack, matmul_producer_consumer_scale])
            .refusing(refuses)
            .run_by(&ProducerConsumer);

    struct ProducerConsumer;

    fn refuses(ask: &Ask) -> Option<String> {
        refuses_but_hopper("producer-consumer", ask, SHARED_BYTES + ring::BARRIER_BYTES)
    }

    impl Multiplies for ProducerConsumer {
        fn launches(&self, on: &dyn Launcher, sizes: Sizes) -> Result<Launches<Product>> {
            let (mut room_a, mut room_b) = (Room::default(), Room::default());
            let Sizes { m, n, k } = sizes;
            room_a.view(on, panel_of(ROWS, m, k, 0, 0).elements())?;
            room_b.view(on, panel_of(COLUMNS, n, k, 0, 0).elements())?;
            Ok(Box::new(move |on, product| {
                let shape = Shape::of(&product);
                (0..shape.batch).try_for_each(|number| one(on, &product, shape, number, &mut room_a, &mut room_b))
            }))
        }
    }

    /// An operand of `along` rows of A, or columns of B, as tiles of so many.
    fn panel_of(width: u32, along: u32, deep: u32, step: u32, step_deep: u32) -> Panel {
        Panel { along, deep, step, step_deep, width, depth: deep.next_multiple_of(DEPTH) }
    }

    impl Panel {
        /// Elements of the copy.
        fn elements(&self) -> u64 {
            u64::from(self.along.div_ceil(self.width)) * u64::from(self.width) * u64::from(self.depth)
        }
    }

    /// The launches for one product of a batch.
    fn one(on: &dyn Launcher, product: &Product, shape: Shape, number: u32, a: &mut Room, b: &mut Room) -> Result {
        let Shape { m, n, k, .. } = shape;
        if m == 0 || n == 0 {
            return Ok(());
        }
        let (c, work) = (product.c.data, Work::of(&shape, on.device().multiprocessors));
        if work.shared < work.tiles() {
            let geometry = Geometry::linear(work.tiles() - work.shared, PACK);
            on.launch(matmul_producer_consumer_scale, geometry, (c, shape, number, work))?;
        }
        if k == 0 {
            return Ok(()); // all of C has been multiplied by beta
        }
        let of_batch = |matrix: &Matrix, apart: u32| {
            let start = (number * apart).min(matrix.data.len());
            matrix.data.slice(start, matrix.data.len() - start)
        };
        let (from_a, from_b) = (of_batch(&product.a, product.batch.a), of_batch(&product.b, product.batch.b));
        let panel_a = panel_of(ROWS, m, k, shape.a.row, shape.a.column);
        let panel_b = panel_of(COLUMNS, n, k, shape.b.column, shape.b.row);
        let (a, b) = (a.view(on, panel_a.elements())?, b.view(on, panel_b.elements())?);
        let geometry = Geometry::linear(panel_a.blocks() + panel_b.blocks(), PACK);
        on.launch(matmul_producer_consumer_pack, geometry, (from_a, a, panel_a, from_b, b, panel_b))?;
        // It begins while the copies end; the thread that needs them waits.
        let geometry = Geometry::linear(work.blocks, BLOCK).shared(SHARED_BYTES).overlapping();
        on.launch(matmul_producer_consumer, geometry, (a, b, c, shape, number, work))
    }
}
