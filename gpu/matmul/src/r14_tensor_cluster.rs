//! # Matrix product, pairs of SMs share B by TMA multicast
//!
//! **Idea.** A *cluster* is a group of blocks on neighbouring SMs that can access each other's shared memory. The two
//! blocks of our clusters compute tiles of C that lie one above the other, so both need the same tiles of B. Each block
//! loads one half of every tile of B and *multicasts* it to both. L2 delivers B once per pair, not once per block.
//!
//! **Changed from the rung before.** In `tensor-map` a stage belonged to one block. Now two producers fill it, so it is
//! empty only when the consumers of both blocks have multiplied: each consumer warp arrives at the `empty` mbarrier of
//! both. Two cluster-wide barriers replace the block's one: at the beginning, because the peer's arrivals and copies
//! may come at once, and at the end, because they may still come to a block that has finished.
//!
//! **Bottleneck.** The tensor cores and, for large matrices, power: the clock drops under load. Copies of fewer bytes
//! need less of it. The library also has narrower tiles, for matrices whose tiles of 128 × 256 leave SMs without work.
//!
//! **Cost.** 2·m·n·k operations, with m, n and k rounded up to tiles of a pair. Copies of 2·k·(m·⌈n/COLUMNS⌉ +
//! n·⌈m/PAIR_ROWS⌉) bytes to shared memory, of which those of B arrive twice, and of C from there. Two barriers of the
//! cluster; one launch.
//!
//! **Threads.** As in `tensor-map`, with two blocks per cluster: a pair computes 256 × 256 elements of C. If C has an
//! odd number of rows of tiles, one block of each last pair multiplies zeros, and copies its half of B for the other
//! block.
//!
//! **Limits.** Those of `tensor-map`.
//!
//! **Source.** NVIDIA, "Parallel Thread Execution ISA", chapters on clusters and on multicast copies; P. Shah,
//! "Outperforming cuBLAS on H100: a worklog" (2024).

use super::tensor::{store_tile, tile_in_groups};
use simt::mbarrier::{self, Mbarrier};
use simt::tensor_map::TensorMap;
use simt::warp::{self, FULL};
use simt::warpgroup::{self, KMajor, MnMajor, ROW, Sums, Tile};
use simt::{Global, bf16, bulk, cluster, kernel, shared, thread, unroll};

/// Rows of a tile of C.
pub const ROWS: u32 = 128;
/// Blocks of a cluster.
const PAIR: u32 = 2;
/// Rows of the tiles of C of a pair of blocks.
pub const PAIR_ROWS: u32 = PAIR * ROWS;
/// Columns of a tile of C.
pub const COLUMNS: u32 = 256;
/// Columns of the tile of A, rows of the tile of B: 128 bytes of `bf16`.
pub const DEPTH: u32 = Tile::<bf16>::DEPTH;
/// Stages of the ring.
const STAGES: u32 = 4;
/// Columns of B that a block loads, for both.
const SHARE: u32 = COLUMNS / PAIR;
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
    /// Per stage: TMA has copied the tiles, for both producers.
    IS_FULL: [u64; STAGES]
);
shared!(
    /// Per stage: all consumer warps of both blocks have multiplied the tiles.
    IS_EMPTY: [u64; STAGES]
);

/// C = A·B: A is m × k, B is k × n, C is m × n. The views keep the memory that the maps describe.
#[kernel(sm_90a, max_threads = BLOCK, min_blocks = 1, cluster = PAIR)]
pub fn matmul_tensor_cluster(
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
    // C as a grid of tiles: a pair of blocks computes two tiles, which lie one above the other, at a time.
    let (tile_rows, tile_columns) = (m.div_ceil(PAIR_ROWS), n.div_ceil(COLUMNS));
    let thread = thread::thread_idx_x();
    if thread == 0 {
        let mut stage = 0;
        while stage < STAGES {
            full(stage).init(1); // this block's producer, once it has announced the bytes of both producers
            empty(stage).init(PAIR * CONSUMERS / 32); // each consumer warp of both blocks
            stage += 1;
        }
        mbarrier::fence_init(); // after `cluster::sync` the peer sees the mbarriers initialised
        bulk::fence(); // TMA sees them, too
    }
    // The mbarriers of both blocks are initialised before any thread uses them and before the peer arrives there.
    cluster::sync();
    if thread >= CONSUMERS {
        warpgroup::release_registers::<PRODUCER_REGISTERS>();
        if thread == CONSUMERS {
            produce(map_a, map_b, tile_rows, tile_columns, k.div_ceil(DEPTH));
        }
    } else {
        warpgroup::claim_registers::<CONSUMER_REGISTERS>();
        consume(map_c, tile_rows, tile_columns, k.div_ceil(DEPTH));
    }
    // No block exits before its peer has finished: the peer's last arrivals and copies still write to its shared
    // memory, although nobody waits for them any more.
    cluster::sync();
}

/// The mbarrier that says that the stage of step `step` is full.
#[simt::device]
fn full(step: u32) -> Mbarrier {
    Mbarrier::at(IS_FULL::view(), step % STAGES)
}

/// The mbarrier that says that the stage of step `step` is empty.
#[simt::device]
fn empty(step: u32) -> Mbarrier {
    Mbarrier::at(IS_EMPTY::view(), step % STAGES)
}

/// An mbarrier counts in phases: a phase ends when all arrivals and bytes that it expects have come. A thread waits for
/// the end of a phase by its parity, 0 for the first phase, 1 for the second, and so on. Both mbarriers of a stage end
/// one phase per round through the ring, and this is the parity of the round of step `step`.
#[simt::device]
fn parity(step: u32) -> u32 {
    step / STAGES % 2
}

/// The tiles of A and B in the stage of step `step`. A has 128 rows, K-major: a row is 64 consecutive k. B has four
/// boxes of 64 columns, one behind the other, as B lies in memory: each row of a box is one k.
#[simt::device]
fn tiles(step: u32) -> (Tile<bf16>, Tile<bf16>) {
    let first = step % STAGES * STAGE_BYTES;
    (Tile::dynamic(first, ROWS), Tile::dynamic(first + ROWS * ROW, COLUMNS))
}

/// Fills the ring, one K step at a time, for tile after tile of the pair.
#[simt::device]
fn produce(map_a: TensorMap<bf16>, map_b: TensorMap<bf16>, tile_rows: u32, tile_columns: u32, steps: u32) {
    let rank = cluster::rank();
    // Steps of all tiles so far. The number may wrap: only its remainders by powers of two are used.
    let mut step = 0u32;
    let mut tile = thread::block_idx_x() / PAIR;
    while tile < tile_rows * tile_columns {
        let (row, column) = tile_in_groups(tile, tile_rows, tile_columns);
        let (row, column) = (row * PAIR_ROWS + rank * ROWS, column * COLUMNS);
        let mut t = 0;
        while t < steps {
            // This producer writes to the stage of both blocks, so the consumers of both must have multiplied what it
            // held in the round before: `^ 1` is that round's parity. The first round has none before it, and a phase
            // before an mbarrier's first counts as ended. The wait has the scope of the cluster, because the peer's
            // consumers arrive too.
            empty(step).wait_cluster(parity(step) ^ 1);
            let ((to_a, to_b), full) = (tiles(step), full(step));
            // The phase ends when all bytes have arrived, also the peer's half of B; these may arrive before they are
            // announced here. What is outside the matrices arrives as zeros, so the number of bytes is always the same.
            full.arrive_expecting(STAGE_BYTES);
            map_a.load(to_a, row, t * DEPTH, full);
            unroll::<2>(|i| {
                let first = rank * SHARE + i as u32 * 64;
                // The mask 0b11 has a bit for each block that gets the box, at the same place, and whose `full` counts
                // it.
                map_b.load_multicast(to_b.rows(first, DEPTH), t * DEPTH, column + first, full, 0b11);
            });
            step = step.wrapping_add(1);
            t += 1;
        }
        tile += thread::grid_dim_x() / PAIR;
    }
}

/// Multiplies what is in the ring, for tile after tile of the pair. There is at least one K step.
#[simt::device]
fn consume(map_c: TensorMap<bf16>, tile_rows: u32, tile_columns: u32, steps: u32) {
    let (rank, group_row) = (cluster::rank(), thread::thread_idx_x() / 128 * GROUP_ROWS);
    let mut step = 0u32;
    let mut tile = thread::block_idx_x() / PAIR;
    while tile < tile_rows * tile_columns {
        let (row, column) = tile_in_groups(tile, tile_rows, tile_columns);
        let mut sums = Sums::<{ COLUMNS as usize / 2 }>::ZERO;
        let mut t = 0;
        loop {
            full(step).wait(parity(step)); // all bytes of the stage have arrived before `wgmma` reads them
            warp::sync_warp(FULL); // lanes may leave the wait one by one; `wgmma` needs them together
            let (of_a, of_b) = tiles(step);
            // `wgmma` is asynchronous: this starts the products of this step, and returns when those of the step before
            // are done. So it is the stage of the step before that is free now.
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
        free(step.wrapping_sub(1)); // before C is stored, so that the producer can load the next tile meanwhile
        let (row, column) = (row * PAIR_ROWS + rank * ROWS + group_row, column * COLUMNS);
        store_tile(map_c, row, column, &sums, STAGES * STAGE_BYTES);
        tile += thread::grid_dim_x() / PAIR;
    }
    if warp::lane_id() == 0 {
        bulk::wait_read::<0>(); // TMA has read the boxes of C before the block's shared memory is given to another
    }
}

/// Tells both producers that this warp has done the products of a step, so that the stage may be filled again. The
/// lanes have waited for the products together, so one arrival per warp is enough: lane 0 arrives at block 0, lane 1 at
/// block 1.
#[simt::device]
fn free(step: u32) {
    let lane = warp::lane_id();
    if lane < PAIR {
        empty(step).arrive_at(lane);
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

    /// Bytes of dynamic shared memory: the ring, boxes of C for each consumer warp, and room to align the tiles.
    const SHARED_BYTES: u32 = STAGES * STAGE_BYTES + CONSUMERS / 32 * BOX_BYTES + MORE;
    /// Bytes of dynamic shared memory: [`SHARED_BYTES`] and the mbarriers.
    const ALL_SHARED_BYTES: u32 = SHARED_BYTES + 2 * STAGES * 8;

    /// The rung's row in the ladder: the file with its head, its kernel, the devices that it needs, and the function
    /// below.
    pub static RUNG: Entry<Multiply> = rung!("r14_tensor_cluster.rs", [matmul_tensor_cluster])
        .refusing(|ask| refuses_but_hopper("tensor-cluster", ask, ALL_SHARED_BYTES))
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
            // TMA takes no such matrix: it is empty, or its address or rows are no multiple of 16 bytes.
            return r12_tensor_group::launches::multiply(on, product);
        };
        let map = |of| on.tensor_map(&of).map(TensorMap::new);
        // A persistent grid: one block per SM, in pairs, and each pair computes tile after tile.
        let pairs = (m.div_ceil(PAIR_ROWS) * n.div_ceil(COLUMNS)).min(on.device().multiprocessors / PAIR).max(1);
        let geometry = Geometry::linear(pairs * PAIR, BLOCK).shared(SHARED_BYTES);
        on.launch(matmul_tensor_cluster, geometry, (map(of_a)?, map(of_b)?, map(of_c)?, a, b, c, m, n, k))
    }
}
