//! # Sum of cubes, one atomic per block
//!
//! **Idea.** The first thread of each block adds the block's sum to one word of global memory by an atomic.
//!
//! **Changed from the rung before.** The host copies one number, which is the result.
//!
//! **Bottleneck.** Memory: each value is read once, and at large n nothing else takes time. The family `reduce` shows
//! what remains to be gained, by wider loads and more of them in flight.
//!
//! **Cost.** 4 bytes, two multiplications and an addition per value; one atomic and 1 barrier per block; one launch,
//! and the clearing of a word before it.
//!
//! **Threads.** As in `many-blocks`.
//!
//! **Limits.** Any n, any grid and block of fewer than 2³² threads in all. The host clears the word before the launch.
//! The order in which blocks add differs from run to run, which does not change a sum of integers.
//!
//! **Source.** The blog series "CUDA编程" (CUDA programming), part 6, "进一步并行" (further parallelism), undated, which ends
//! with the announcement of `block-sum`. This step is our own.

use super::r7_warp_shuffle::block_sum;
use super::{Start, sum_every};
use simt::atomic::{Order::Relaxed, Scope};
use simt::{Global, kernel, thread};

/// Threads per block by default.
pub const THREADS: u32 = 256;

/// Blocks per SM by default: as many as it holds of 256 threads.
pub const BLOCKS_PER_SM: u32 = 8;

/// Sums that the kernel adds to.
pub const fn sums() -> u32 {
    1
}

/// Adds the sum of cubes of `values` to the first word of `sums`; writes when each block began and ended to `times`.
#[kernel]
pub fn cubes_grid_atomic(values: Global<u32>, sums: Global<u64>, times: Global<u64>) {
    let start = Start::now();
    let sum = block_sum(sum_every(values, thread::index_1d(), thread::grid_threads_1d()));
    if thread::thread_idx_x() == 0 {
        // Relaxed: the word is read after the end of the kernel, which orders everything.
        sums.fetch_add(0, sum, Relaxed, Scope::Device);
    }
    start.record(times);
}

#[cfg(not(target_os = "cuda"))]
pub mod launches {
    //! What the host launches: the kernel, once.

    use super::*;
    use rungs_common::ladder::cubes::*;

    /// The rung.
    pub static RUNG: Entry<Cubes> = rung!("r8_grid_atomic.rs", [cubes_grid_atomic]).run_by(&GridAtomic);

    struct GridAtomic;

    impl AddsCubes for GridAtomic {
        fn plan(&self, options: &Options, device: Device) -> Plan {
            let (blocks, threads) = grid(options, device, BLOCKS_PER_SM, THREADS);
            Plan { blocks, threads, shared_bytes: 0, sums: sums() }
        }

        fn launch(&self, on: &dyn Launcher, plan: Plan, Values { values, sums, times }: Values) -> Result {
            on.clear(sums)?; // the blocks add to it
            let geometry = Geometry::linear(plan.blocks, plan.threads);
            on.launch(cubes_grid_atomic, geometry, (values, sums, times))
        }
    }
}
