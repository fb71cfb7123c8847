//! # Sum of cubes, each block adds up its own
//!
//! **Idea.** The threads of a block put their sums into shared memory, and the first thread adds them.
//!
//! **Changed from the rung before.** The host gets one sum a block, not one a thread.
//!
//! **Bottleneck.** While one thread adds, the others of its block wait: as many dependent additions as the block has
//! threads. The next rung adds in pairs, all threads at once.
//!
//! **Cost.** 4 bytes and two multiplications a value, 8 bytes a block; threads - 1 additions in a row; two barriers.
//!
//! **Threads.** As in `many-blocks`; 8 bytes of shared memory a thread.
//!
//! **Limits.** Any n, any grid and block of fewer than 2³² threads in all.
//!
//! **Source.** "CUDA编程(六) 进一步并行", which announces this step; with 64-bit sums.

use super::{Start, sum_every};
use simt::{Global, Shared, kernel, thread};

/// Threads of a block if nothing else is asked for.
pub const THREADS: u32 = 256;

/// Blocks a multiprocessor if nothing else is asked for: as many as it holds of 256 threads.
pub const BLOCKS_PER_MULTIPROCESSOR: u32 = 8;

/// Sums that the kernel writes: one a block.
pub const fn sums(blocks: u32) -> u32 {
    blocks
}

/// Bytes of dynamic shared memory: a sum for each thread.
pub const fn shared_bytes(threads: u32) -> u32 {
    threads * size_of::<u64>() as u32
}

/// Writes to `sums` the sum of cubes of each block's share of `values`, and when each began and ended to `times`.
#[kernel]
pub fn cubes_block_sum(values: Global<u32>, sums: Global<u64>, times: Global<u64>) {
    let start = Start::now();
    let t = thread::thread_idx_x();
    let parts = Shared::<u64>::dynamic(0, thread::block_dim_x());
    parts.set(t, sum_every(values, thread::index_1d(), thread::grid_threads_1d()));
    thread::sync_threads(); // all parts are written before the first thread adds them
    if t == 0 {
        sums.set(thread::block_idx_x(), add_up(parts));
    }
    thread::sync_threads(); // keeps the end of the block behind the addition, for the clock
    start.record(times);
}

/// The sum of `parts`, one after the other.
#[inline(always)]
fn add_up(parts: Shared<u64>) -> u64 {
    let (mut sum, mut i) = (0u64, 0);
    while i < parts.len() {
        sum = sum.wrapping_add(parts.get(i));
        i += 1;
    }
    sum
}

#[cfg(not(target_os = "cuda"))]
pub mod launches {
    //! What the host launches: the kernel, once.

    use super::*;
    use crate::ladder::cubes::*;

    /// The rung.
    pub static RUNG: Entry<Cubes> = rung!("r5_block_sum.rs", [cubes_block_sum]).run_by(&BlockSum);

    struct BlockSum;

    impl AddsCubes for BlockSum {
        fn plan(&self, options: &Options, device: Device) -> Plan {
            let (blocks, threads) = grid(options, device, BLOCKS_PER_MULTIPROCESSOR, THREADS);
            Plan { blocks, threads, shared_bytes: shared_bytes(threads), sums: sums(blocks) }
        }

        fn launch(&self, on: &dyn Launcher, plan: Plan, Values { values, sums, times }: Values) -> Result {
            let geometry = Geometry::linear(plan.blocks, plan.threads).shared(plan.shared_bytes);
            on.launch(cubes_block_sum, geometry, (values, sums, times))
        }
    }
}
