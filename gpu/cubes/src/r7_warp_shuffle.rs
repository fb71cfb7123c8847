//! # Sum of cubes, added by shuffles
//!
//! **Idea.** The lanes of a warp pass their sums to each other by shuffles: after five steps lane 0 has the sum of the
//! warp. Each warp of a block stores its sum in shared memory, and the first warp adds these sums in the same way.
//!
//! **Changed from the rung before.** One barrier instead of one per step, and 256 bytes of shared memory instead of 8
//! per thread.
//!
//! **Bottleneck.** The host still copies and adds one number per block. In the next rung it only copies the result.
//!
//! **Cost.** 4 bytes, two multiplications and an addition per value; 8 bytes per block; at most 10 shuffles of 8 bytes
//! per thread; 1 barrier per block; one launch.
//!
//! **Threads.** As in `many-blocks`. The last warp of a block may have fewer lanes.
//!
//! **Limits.** Any n, any grid and block of fewer than 2³² threads in all.
//!
//! **Source.** The blog series "CUDA编程" (CUDA programming), part 6, "进一步并行" (further parallelism), undated, which ends
//! with the announcement of `block-sum`. This step is our own.

use super::{Start, sum_every};
use simt::warp::{self, FULL, WARP};
use simt::{Global, kernel, shared, thread};

/// Threads per block by default.
pub const THREADS: u32 = 256;

/// Blocks per SM by default: as many as it holds of 256 threads.
pub const BLOCKS_PER_SM: u32 = 8;

// A sum for each warp of the largest block.
shared!(WARP_SUMS: [u64; WARP]);

/// Sums that the kernel writes: one per block.
pub const fn sums(blocks: u32) -> u32 {
    blocks
}

/// Writes to `sums` the sum of cubes of each block's share of `values`, and when each began and ended to `times`.
#[kernel]
pub fn cubes_warp_shuffle(values: Global<u32>, sums: Global<u64>, times: Global<u64>) {
    let start = Start::now();
    let sum = block_sum(sum_every(values, thread::index_1d(), thread::grid_threads_1d()));
    if thread::thread_idx_x() == 0 {
        sums.set(thread::block_idx_x(), sum);
    }
    start.record(times);
}

/// The sum over the block, in its first thread. Contains a barrier: all threads call it, once.
#[simt::device]
pub(super) fn block_sum(part: u64) -> u64 {
    let (t, lane, warp_sums) = (thread::thread_idx_x(), warp::lane_id(), WARP_SUMS::view());
    let threads = thread::block_dim_x();
    let sum = warp_sum(part, (threads - (t - lane)).min(WARP));
    if lane == 0 {
        warp_sums.set(t / WARP, sum);
    }
    thread::sync_threads(); // every warp's sum is there before the first warp reads them
    if t >= WARP {
        return sum;
    }
    let warps = threads.div_ceil(WARP);
    warp_sum(if lane < warps { warp_sums.get(lane) } else { 0 }, threads.min(WARP))
}

/// The sum over a warp of `lanes` lanes, in lane 0.
#[simt::device]
fn warp_sum(mut sum: u64, lanes: u32) -> u64 {
    // The lanes that exist: a shuffle must not wait for any other.
    let mask = FULL >> (WARP - lanes);
    let mut distance = WARP / 2;
    while distance > 0 {
        let above = warp::shuffle_down(mask, sum, distance);
        if warp::lane_id() + distance < lanes {
            sum = sum.wrapping_add(above);
        }
        distance /= 2;
    }
    sum
}

#[cfg(not(target_os = "cuda"))]
pub mod launches {
    //! What the host launches: the kernel, once.

    use super::*;
    use rungs_common::ladder::cubes::*;

    /// The rung.
    pub static RUNG: Entry<Cubes> = rung!("r7_warp_shuffle.rs", [cubes_warp_shuffle]).run_by(&WarpShuffle);

    struct WarpShuffle;

    impl AddsCubes for WarpShuffle {
        fn plan(&self, options: &Options, device: Device) -> Plan {
            let (blocks, threads) = grid(options, device, BLOCKS_PER_SM, THREADS);
            Plan { blocks, threads, shared_bytes: 0, sums: sums(blocks) }
        }

        fn launch(&self, on: &dyn Launcher, plan: Plan, Values { values, sums, times }: Values) -> Result {
            let geometry = Geometry::linear(plan.blocks, plan.threads);
            on.launch(cubes_warp_shuffle, geometry, (values, sums, times))
        }
    }
}
