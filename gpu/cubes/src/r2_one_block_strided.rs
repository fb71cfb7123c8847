//! # Sum of cubes, one chunk per thread
//!
//! **Idea.** Cut the values into as many chunks as there are threads; each thread walks through its own chunk.
//!
//! **Changed from the rung before.** All threads of a block work, not only one, so there are many loads in flight.
//!
//! **Bottleneck.** The lanes of a warp read words that are a chunk apart, so a request takes 32 sectors of 32 bytes for
//! 32 words. The cache must keep each sector until the thread reads its other words. The next rung reads the same words
//! in another order.
//!
//! **Cost.** 4 bytes, two multiplications and an addition per value; 8 bytes per thread; 1 barrier, for the clock; one
//! launch.
//!
//! **Threads.** One block, by default of 256 threads; thread t has the values t·chunk to (t + 1)·chunk - 1. Each thread
//! writes its sum, and the host adds the sums.
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

/// Writes to `sums` the sum of cubes of each thread's share of `values`, and when the block began and ended to `times`.
#[kernel]
pub fn cubes_one_block_strided(values: Global<u32>, sums: Global<u64>, times: Global<u64>) {
    let start = Start::now();
    let t = thread::thread_idx_x();
    sums.set(t, sum_every(chunk(values, t, thread::block_dim_x()), 0, 1));
    thread::sync_threads(); // all threads are done when the first one reads the clock
    start.record(times);
}

/// Chunk `t` of `chunks` equal ones; the last ones may be shorter or empty.
#[simt::device]
fn chunk(values: Global<u32>, t: u32, chunks: u32) -> Global<u32> {
    let n = values.len();
    let size = n.div_ceil(chunks.max(1));
    let start = size.saturating_mul(t).min(n);
    values.slice(start, size.min(n - start))
}

#[cfg(not(target_os = "cuda"))]
pub mod launches {
    //! What the host launches: the kernel, once.

    use super::*;
    use rungs_common::ladder::cubes::*;

    /// The rung.
    pub static RUNG: Entry<Cubes> =
        rung!("r2_one_block_strided.rs", [cubes_one_block_strided]).run_by(&OneBlockStrided);

    struct OneBlockStrided;

    impl AddsCubes for OneBlockStrided {
        fn plan(&self, options: &Options, _: Device) -> Plan {
            let threads = options.threads.unwrap_or(THREADS);
            Plan { blocks: 1, threads, shared_bytes: 0, sums: sums(threads) }
        }

        fn launch(&self, on: &dyn Launcher, plan: Plan, Values { values, sums, times }: Values) -> Result {
            let geometry = Geometry::linear(plan.blocks, plan.threads);
            on.launch(cubes_one_block_strided, geometry, (values, sums, times))
        }
    }
}
