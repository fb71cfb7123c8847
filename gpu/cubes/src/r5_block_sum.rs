//! # Sum of cubes, one sum per block
//!
//! **Idea.** The threads of a block store their sums in shared memory, and the first thread adds them.
//!
//! **Changed from the rung before.** The host gets one sum per block instead of one per thread.
//!
//! **Bottleneck.** One thread adds all sums of its block, and each addition depends on the one before. The other
//! threads of the block wait. The next rung adds with many threads at once.
//!
//! **Cost.** 4 bytes, two multiplications and an addition per value; 8 bytes per block; one addition per thread of the
//! block, in sequence; 2 barriers per block, the second for the clock; one launch.
//!
//! **Threads.** As in `many-blocks`; 8 bytes of shared memory per thread.
//!
//! **Limits.** Any n, any grid and block of fewer than 2³² threads in all.
//!
//! **Source.** The blog series "CUDA编程" (CUDA programming), part 6, "进一步并行" (further parallelism), undated, which
//! announces this step. Changed: sums of 64 bits.

use super::{Start, sum_every};
use simt::{Global, Shared, kernel, thread};

/// Threads per block by default.
pub const THREADS: u32 = 256;

/// Blocks per SM by default: as many as it holds of 256 threads.
pub const BLOCKS_PER_SM: u32 = 8;

/// Sums that the kernel writes: one per block.
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
    thread::sync_threads(); // the addition is done before the clock is read
    start.record(times);
}

/// The sum of `parts`, in sequence.
#[simt::device]
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
    use rungs_common::ladder::cubes::*;

    /// The rung.
    pub static RUNG: Entry<Cubes> = rung!("r5_block_sum.rs", [cubes_block_sum]).run_by(&BlockSum);

    struct BlockSum;

    impl AddsCubes for BlockSum {
        fn plan(&self, options: &Options, device: Device) -> Plan {
            let (blocks, threads) = grid(options, device, BLOCKS_PER_SM, THREADS);
            Plan { blocks, threads, shared_bytes: shared_bytes(threads), sums: sums(blocks) }
        }

        fn launch(&self, on: &dyn Launcher, plan: Plan, Values { values, sums, times }: Values) -> Result {
            let geometry = Geometry::linear(plan.blocks, plan.threads).shared(plan.shared_bytes);
            on.launch(cubes_block_sum, geometry, (values, sums, times))
        }
    }
}
