//! # Sum of cubes, one block, contiguous access
//!
//! **Idea.** The threads of one block read side by side: thread t takes the values t, t + threads, … . The 32 lanes of
//! a warp read 32 neighbouring words, which are four sectors of memory in one request.
//!
//! **Changed from the rung before.** In `one-block-strided` each thread has a chunk of its own, and the lanes of a warp
//! read 32 words that are far apart.
//!
//! **Bottleneck.** One SM cannot have enough loads in flight to keep memory busy. The next rung uses all SMs.
//!
//! **Cost.** 4 bytes, two multiplications and an addition per value; 8 bytes per thread; 1 barrier, for the clock; one
//! launch.
//!
//! **Threads.** One block, by default of 256 threads. Each thread writes its sum, and the host adds the sums.
//!
//! **Limits.** Any n and any block.
//!
//! **Source.** The blog series "CUDA编程" (CUDA programming), part 6, "进一步并行" (further parallelism), undated. Changed:
//! sums of 64 bits.

use super::{Start, sum_every};
use simt::{Global, kernel, thread};

/// Threads of the block by default.
pub const THREADS: u32 = 256;

/// Sums that the kernel writes: one per thread.
pub const fn sums(threads: u32) -> u32 {
    threads
}

/// Writes to `sums` the sum of cubes of each thread's share of `values`, and when each block began and ended to
/// `times`.
#[kernel]
pub fn cubes_one_block(values: Global<u32>, sums: Global<u64>, times: Global<u64>) {
    let start = Start::now();
    let t = thread::thread_idx_x();
    sums.set(t, sum_every(values, t, thread::block_dim_x()));
    thread::sync_threads(); // all threads are done when the first one reads the clock
    start.record(times);
}

#[cfg(not(target_os = "cuda"))]
pub mod launches {
    //! What the host launches: the kernel, once.

    use super::*;
    use rungs_common::ladder::cubes::*;

    /// The rung.
    pub static RUNG: Entry<Cubes> = rung!("r3_one_block.rs", [cubes_one_block]).run_by(&OneBlock);

    struct OneBlock;

    impl AddsCubes for OneBlock {
        fn plan(&self, options: &Options, _: Device) -> Plan {
            let threads = options.threads.unwrap_or(THREADS);
            Plan { blocks: 1, threads, shared_bytes: 0, sums: sums(threads) }
        }

        fn launch(&self, on: &dyn Launcher, plan: Plan, Values { values, sums, times }: Values) -> Result {
            let geometry = Geometry::linear(plan.blocks, plan.threads);
            on.launch(cubes_one_block, geometry, (values, sums, times))
        }
    }
}
