//! # Sum of cubes, added by shuffles
//!
//! **Idea.** The lanes of a warp hand their sums to each other directly: after five steps lane 0 has the warp's sum.
//! The warps of a block leave theirs in shared memory, and the first warp adds them in the same way.
//!
//! **Changed from the rung before.** One barrier instead of one a step, and 32 words of shared memory instead of one a
//! thread.
//!
//! **Bottleneck.** The host still copies one number a block and adds. The next rung needs no host.
//!
//! **Cost.** 4 bytes and two multiplications a value, 8 bytes a block; at most 10 shuffles of 8 bytes a thread, one
//! barrier.
//!
//! **Threads.** As in `many-blocks`. The last warp of a block may have fewer lanes.
//!
//! **Limits.** Any n, any grid and block of fewer than 2³² threads in all.
//!
//! **Source.** "CUDA编程(六) 进一步并行", two steps further.

use super::{Start, sum_every};
use simt::warp::{self, FULL, WARP};
use simt::{Global, kernel, shared, thread};

/// Threads of a block if nothing else is asked for.
pub const THREADS: u32 = 256;

/// Blocks a multiprocessor if nothing else is asked for: as many as it holds of 256 threads.
pub const BLOCKS_PER_MULTIPROCESSOR: u32 = 8;

// A sum for each warp of the largest block.
shared!(WARP_SUMS: [u64; WARP]);

/// Sums that the kernel writes: one a block.
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

/// The sum over the block in its first thread. All threads call it once; it has a barrier.
#[inline(always)]
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

/// The sum over the warp in lane 0, where the warp has so many `lanes`.
#[inline(always)]
fn warp_sum(mut sum: u64, lanes: u32) -> u64 {
    // The lanes that exist: a shuffle must not wait for others.
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
    use crate::ladder::cubes::*;

    /// The rung.
    pub static RUNG: Entry<Cubes> = rung!("r7_warp_shuffle.rs", [cubes_warp_shuffle]).run_by(&WarpShuffle);

    struct WarpShuffle;

    impl AddsCubes for WarpShuffle {
        fn plan(&self, options: &Options, device: Device) -> Plan {
            let (blocks, threads) = grid(options, device, BLOCKS_PER_MULTIPROCESSOR, THREADS);
            Plan { blocks, threads, shared_bytes: 0, sums: sums(blocks) }
        }

        fn launch(&self, on: &dyn Launcher, plan: Plan, Values { values, sums, times }: Values) -> Result {
            let geometry = Geometry::linear(plan.blocks, plan.threads);
            on.launch(cubes_warp_shuffle, geometry, (values, sums, times))
        }
    }
}
