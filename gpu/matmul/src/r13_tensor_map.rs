//! # Matrix product, TMA feeds warpgroup MMA
//!
//! **Idea.** TMA, the *tensor memory accelerator*, copies a box of a matrix to shared memory by one instruction of one
//! thread, and swizzles it for `wgmma`. A *tensor map*, made by the host, tells it where the matrix is and how large.
//! So one thread, the producer, keeps a ring of four stages filled; two warpgroups, the consumers, multiply. Each stage
//! has two mbarriers: `full` counts the bytes that TMA has copied, `empty` the warps that have multiplied them.
//!
//! **Changed from the rung before.** In `tensor-group` all threads copy and meet at a barrier per step. Here the roles
//! and the persistent grid of `producer-consumer` return. No thread computes the address of an element, and the
//! producer already loads for the next tile of C while the consumers round and store this one. TMA also stores C,
//! in boxes that each warp writes to shared memory by itself.
//!
//! **Bottleneck.** The tensor cores and, for large matrices, power: the clock drops under load. If rows of B do not
//! begin on lines of L2 (128 bytes), it is L2, which delivers each tile of B to each block. The next rung halves that.
//!
//! **Cost.** 2·m·n·k operations, with m, n and k rounded up to tiles. Copies of 2·k·(m·⌈n/COLUMNS⌉ + n·⌈m/ROWS⌉) bytes
//! to shared memory, and of C from there. One barrier per block; one launch.
//!
//! **Threads.** 384 per block, one block per SM. Two warpgroups have 64 rows each of a tile of 128 × 256. In the third
//! only one thread works; it is a whole warpgroup because `setmaxnreg` applies to warpgroups.
//!
//! **Limits.** Any m, n and k. TMA takes rows whose first addresses are multiples of 16 bytes: n and k that are
//! multiples of 8. It takes no empty matrix. `tensor-group` computes all other products. Compute capability 9.0 only.
//!
//! **Source.** NVIDIA, "Parallel Thread Execution ISA", chapters on `wgmma`, `mbarrier` and tensor copies; P. Shah,
//! "Outperforming cuBLAS on H100: a worklog" (2024). Our own prototype in CUDA C++.

use super::tensor::{store_tile, tile_in_groups};
use simt::mbarrier::{self, Mbarrier};
use simt::tensor_map::TensorMap;
use simt::warp::{self, FULL};
use simt::warpgroup::{self, KMajor, MnMajor, ROW, Sums, Tile};
use simt::{Global, bf16, bulk, kernel, shared, thread, unroll};

/// Rows of a tile of C.
pub const ROWS: u32 = 128;
/// Columns of a tile of C.
pub const COLUMNS: u32 = 256;
/// Columns of the tile of A, rows of the tile of B: 128 bytes of `bf16`.
pub const DEPTH: u32 = Tile::<bf16>::DEPTH;
/// Stages of the ring.
const STAGES: u32 = 4;
/// Bytes of a stage.
const STAGE_BYTES: u32 = (ROWS + COLUMNS) * ROW;
/// Rows of C that a warpgroup has.
const GROUP_ROWS: u32 = 64;
/// Threads that multiply, and threads per block: one warpgroup more.
const CONSUMERS: u32 = ROWS / GROUP_ROWS * 128;
const BLOCK: u32 = CONSUMERS + 128;
/// Registers per thread of the two roles. All threads begin with 168, the most that an SM has for 384 threads.
const PRODUCER_REGISTERS: u32 = 40;
const CONSUMER_REGISTERS: u32 = 232;

const _: () = assert!(PRODUCER_REGISTERS * 128 + CONSUMER_REGISTERS * CONSUMERS <= 168 * BLOCK);

shared!(
    /// Per stage: TMA has copied the tiles.
    IS_FULL: [u64; STAGES]
);
shared!(
    /// Per stage: all consumer warps have multiplied the tiles.
    IS_EMPTY: [u64; STAGES]
);

/// C = A·B: A is m × k, B is k × n, C is m × n. The views keep the memory that the maps describe.
#[kernel(sm_90a, max_threads = BLOCK, min_blocks = 1)]
pub fn matmul_tensor_map(
    map_a: TensorMap<bf16>,
    map_b: TensorMap<bf16>,
    map_c: TensorMap<bf16>,
    _a: Global<bf16>,
    _b: Global<bf16>,
    _c: Global<bf16>,
    m: u32,
    n: u32,
    k: u32,
) {
    let (tile_rows, tile_columns) = (m.div_ceil(ROWS), n.div_ceil(COLUMNS));
    let thread = thread::thread_idx_x();
    if thread == 0 {
        let mut stage = 0;
        while stage < STAGES {
            full(stage).init(1); // the producer, once it has announced the bytes
            empty(stage).init(CONSUMERS / 32); // each consumer warp
            stage += 1;
        }
        mbarrier::fence_init();
        bulk::fence(); // TMA sees the mbarriers as they are now
    }
    thread::sync_threads(); // the mbarriers are initialised before any thread uses them
    if thread >= CONSUMERS {
        warpgroup::release_registers::<PRODUCER_REGISTERS>();
        if thread == CONSUMERS {
            produce(map_a, map_b, tile_rows, tile_columns, k.div_ceil(DEPTH));
        }
    } else {
        warpgroup::claim_registers::<CONSUMER_REGISTERS>();
        consume(map_c, tile_rows, tile_columns, k.div_ceil(DEPTH));
    }
}

/// The mbarriers of the stage that step `step` uses. The phase that ends when the stage is filled, or emptied, for the
/// n-th time has the parity of n, counted from 0: [`parity`].
#[simt::device]
fn full(step: u32) -> Mbarrier {
    Mbarrier::at(IS_FULL::view(), step % STAGES)
}

#[simt::device]
fn empty(step: u32) -> Mbarrier {
    Mbarrier::at(IS_EMPTY::view(), step % STAGES)
}

#[simt::device]
fn parity(step: u32) -> u32 {
    step / STAGES % 2
}

/// The tiles of the stage that step `step` uses: of A 128 rows; of B four boxes of 64 columns, in sequence,
/// each of 64 rows, one per k.
#[simt::device]
fn tiles(step: u32) -> (Tile<bf16>, Tile<bf16>) {
    let first = step % STAGES * STAGE_BYTES;
    (Tile::dynamic(first, ROWS), Tile::dynamic(first + ROWS * ROW, COLUMNS))
}

/// Fills the ring, one K step at a time, for tile after tile of the block.
#[simt::device]
fn produce(map_a: TensorMap<bf16>, map_b: TensorMap<bf16>, tile_rows: u32, tile_columns: u32, steps: u32) {
    // Steps of all tiles so far. They may exceed 32 bits: only their last bits count.
    let mut step = 0u32;
    let mut tile = thread::block_idx_x();
    while tile < tile_rows * tile_columns {
        let (row, column) = tile_in_groups(tile, tile_rows, tile_columns);
        let (row, column) = (row * ROWS, column * COLUMNS);
        let mut t = 0;
        while t < steps {
            // The consumers have multiplied what the stage held in the round before. In the first round they had
            // nothing to do: the phase before an mbarrier's first counts as ended.
            empty(step).wait(parity(step) ^ 1);
            let ((to_a, to_b), full) = (tiles(step), full(step));
            // The phase ends when all bytes have come; bytes outside the matrices come as zeros.
            full.arrive_expecting(STAGE_BYTES);
            map_a.load(to_a, row, t * DEPTH, full);
            unroll::<4>(|i| {
                let first = i as u32 * 64;
                map_b.load(to_b.rows(first, DEPTH), t * DEPTH, column + first, full);
            });
            step = step.wrapping_add(1);
            t += 1;
        }
        tile += thread::grid_dim_x();
    }
}

/// Multiplies what is in the ring, for tile after tile of the block. There is at least one K step.
#[simt::device]
fn consume(map_c: TensorMap<bf16>, tile_rows: u32, tile_columns: u32, steps: u32) {
    let group_row = thread::thread_idx_x() / 128 * GROUP_ROWS;
    let mut step = 0u32;
    let mut tile = thread::block_idx_x();
    while tile < tile_rows * tile_columns {
        let (row, column) = tile_in_groups(tile, tile_rows, tile_columns);
        let mut sums = Sums::<{ COLUMNS as usize / 2 }>::ZERO;
        let mut t = 0;
        loop {
            full(step).wait(parity(step)); // the bytes of the stage have come
            warp::sync_warp(FULL); // lanes may leave the wait one by one; `wgmma` needs them together
            let (of_a, of_b) = tiles(step);
            // Returns when the products of the step before are made; those of this step go on.
            sums = sums.add::<bf16, KMajor, MnMajor>(of_a.rows(group_row, GROUP_ROWS), of_b);
            if t > 0 {
                free(step.wrapping_sub(1));
            }
            step = step.wrapping_add(1);
            t += 1;
            if t == steps {
                break;
            }
        }
        let sums = sums.finish();
        free(step.wrapping_sub(1)); // before C is stored: the producer goes on to the next tile meanwhile
        store_tile(map_c, row * ROWS + group_row, column * COLUMNS, &sums, STAGES * STAGE_BYTES);
        tile += thread::grid_dim_x();
    }
    if warp::lane_id() == 0 {
        bulk::wait_read::<0>(); // TMA has read the boxes of C before the block's shared memory is given to another
    }
}

/// Tells the producer that the warp's products of a step are made, so that the stage may be filled again. The lanes
/// have waited for the products together, so one of them speaks for all.
#[simt::device]
fn free(step: u32) {
    if warp::lane_id() == 0 {
        empty(step).arrive();
    }
}

#[cfg(not(target_os = "cuda"))]
pub mod launches {
    //! What the host launches: the kernel, once.

    use super::*;
    use crate::ladder::*;
    use crate::r12_tensor_group;
    use crate::tensor::{BOX_BYTES, BOX_ROWS, refuses_but_hopper};
    use simt::tensor_map::Described;
    use simt::warpgroup::MORE;

    /// Bytes of dynamic shared memory: the ring, and boxes of C for each consumer warp.
    const SHARED_BYTES: u32 = STAGES * STAGE_BYTES + CONSUMERS / 32 * BOX_BYTES + MORE;
    /// Bytes of dynamic shared memory: [`SHARED_BYTES`] and the mbarriers.
    const ALL_SHARED_BYTES: u32 = SHARED_BYTES + 2 * STAGES * 8;

    /// The rung.
    pub static RUNG: Entry<Multiply> = rung!("r13_tensor_map.rs", [matmul_tensor_map])
        .refusing(|ask| refuses_but_hopper("tensor-map", ask, ALL_SHARED_BYTES))
        .run_by(Multiply::Bf16(multiply));

    /// C = A·B.
    ///
    /// # Errors
    /// Fails if a launch fails or a tensor map cannot be made.
    pub fn multiply(on: &dyn Launcher, product: Product<bf16>) -> Result {
        let Product { a, b, c, m, n, k } = product;
        let maps = (
            Described::of(a, [m, k], k, ROWS),
            Described::of(b, [k, n], n, DEPTH),
            Described::of(c, [m, n], n, BOX_ROWS),
        );
        let (Some(of_a), Some(of_b), Some(of_c)) = maps else {
            return r12_tensor_group::launches::multiply(on, product);
        };
        let map = |of| on.tensor_map(&of).map(TensorMap::new);
        let blocks = (m.div_ceil(ROWS) * n.div_ceil(COLUMNS)).min(on.device().multiprocessors);
        let geometry = Geometry::linear(blocks, BLOCK).shared(SHARED_BYTES);
        on.launch(matmul_tensor_map, geometry, (map(of_a)?, map(of_b)?, map(of_c)?, a, b, c, m, n, k))
    }
}
