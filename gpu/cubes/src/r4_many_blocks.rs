//! # Sum of cubes, many blocks
//!
//! **Idea.** The threads of all blocks read side by side: thread t of the grid takes the values t, t + (threads of the
//! grid), … .
//!
//! **Changed from the rung before.** A grid instead of one block: all SMs load at the same time.
//!
//! **Bottleneck.** The host copies and adds one sum per thread. The next rung gives it one sum per block.
//!
//! **Cost.** 4 bytes, two multiplications and an addition per value; 8 bytes per thread; 1 barrier per block, for the
//! clock; one launch.
//!
//! **Threads.** By default blocks of 256 threads, enough to fill the device. The lanes of a warp read neighbouring
//! words.
//!
//! **Limits.** Any n, any grid and block of fewer than 2³² threads in all.
//!
//! **Source.** The blog series "CUDA编程" (CUDA programming), part 6, "进一步并行" (further parallelism), undated. Changed:
//! sums of 64 bits.

use super::{Start, sum_every};
use simt::{Global, kernel, thread};

/// Threads per block by default.
pub const THREADS: u32 = 256;

/// Blocks per SM by default: as many as it holds of 256 threads.
pub const BLOCKS_PER_SM: u32 = 8;

/// Sums that the kernel writes: one per thread.
pub const fn sums(blocks: u32, threads: u32) -> u32 {
    blocks.saturating_mul(threads)
}

/// Writes to `sums` the sum of cubes of each thread's share of `values`, and when each block began and ended to
/// `times`.
#[kernel]
pub fn cubes_many_blocks(values: Global<u32>, sums: Global<u64>, times: Global<u64>) {
    let start = Start::now();
    let t = thread::index_1d();
    sums.set(t, sum_every(values, t, thread::grid_threads_1d()));
    thread::sync_threads(); // all threads are done when the first one reads the clock
    start.record(times);
}

#[cfg(not(target_os = "cuda"))]
pub mod launches {
    //! What the host launches: the kernel, once.

    use super::*;
    use rungs_common::ladder::cubes::*;

    /// The rung.
    pub static RUNG: Entry<Cubes> = rung!("r4_many_blocks.rs", [cubes_many_blocks]).run_by(&ManyBlocks);

    struct ManyBlocks;

    impl AddsCubes for ManyBlocks {
        fn plan(&self, options: &Options, device: Device) -> Plan {
            let (blocks, threads) = grid(options, device, BLOCKS_PER_SM, THREADS);
            Plan { blocks, threads, shared_bytes: 0, sums: sums(blocks, threads) }
        }

        fn launch(&self, on: &dyn Launcher, plan: Plan, Values { values, sums, times }: Values) -> Result {
            let geometry = Geometry::linear(plan.blocks, plan.threads);
            on.launch(cubes_many_blocks, geometry, (values, sums, times))
        }
    }
}
