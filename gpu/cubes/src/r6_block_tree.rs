//! # Sum of cubes, a tree in each block
//!
//! **Idea.** The sums of a block's threads are in shared memory. Each step adds the second half of them to the first
//! half, until one sum is left.
//!
//! **Changed from the rung before.** ⌈log₂ threads⌉ steps instead of one addition per thread in sequence.
//!
//! **Bottleneck.** Each step has a barrier and three accesses to shared memory, and in the last steps few threads have
//! work. The next rung adds within a warp, without memory.
//!
//! **Cost.** 4 bytes, two multiplications and an addition per value; 8 bytes per block; ⌈log₂ threads⌉ + 1 barriers per
//! block; one launch.
//!
//! **Threads.** As in `many-blocks`; 8 bytes of shared memory per thread. Active threads are neighbours and use
//! neighbouring words, so whole warps become idle and there are no bank conflicts.
//!
//! **Limits.** Any n, any grid and block of fewer than 2³² threads in all; the number of threads per block need not be
//! a power of two.
//!
//! **Source.** The blog series "CUDA编程" (CUDA programming), part 6, "进一步并行" (further parallelism), undated, which ends
//! with the announcement of `block-sum`. This step is our own.

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
pub fn cubes_block_tree(values: Global<u32>, sums: Global<u64>, times: Global<u64>) {
    let start = Start::now();
    let t = thread::thread_idx_x();
    let parts = Shared::<u64>::dynamic(0, thread::block_dim_x());
    parts.set(t, sum_every(values, thread::index_1d(), thread::grid_threads_1d()));
    thread::sync_threads(); // all parts are written before other threads add them
    let mut left = parts.len();
    while left > 1 {
        let half = left.div_ceil(2);
        add_second_half(parts, t, half, left);
        thread::sync_threads(); // the first half is complete before it is halved
        left = half;
    }
    if t == 0 {
        sums.set(thread::block_idx_x(), parts.get(0));
    }
    start.record(times);
}

/// Adds part `half` + t to part t. With an odd number of parts the one in the middle has no partner.
#[simt::device]
fn add_second_half(parts: Shared<u64>, t: u32, half: u32, left: u32) {
    if t + half < left {
        parts.set(t, parts.get(t).wrapping_add(parts.get(t + half)));
    }
}

#[cfg(not(target_os = "cuda"))]
pub mod launches {
    //! What the host launches: the kernel, once.

    use super::*;
    use rungs_common::ladder::cubes::*;

    /// The rung.
    pub static RUNG: Entry<Cubes> = rung!("r6_block_tree.rs", [cubes_block_tree]).run_by(&BlockTree);

    struct BlockTree;

    impl AddsCubes for BlockTree {
        fn plan(&self, options: &Options, device: Device) -> Plan {
            let (blocks, threads) = grid(options, device, BLOCKS_PER_SM, THREADS);
            Plan { blocks, threads, shared_bytes: shared_bytes(threads), sums: sums(blocks) }
        }

        fn launch(&self, on: &dyn Launcher, plan: Plan, Values { values, sums, times }: Values) -> Result {
            let geometry = Geometry::linear(plan.blocks, plan.threads).shared(plan.shared_bytes);
            on.launch(cubes_block_tree, geometry, (values, sums, times))
        }
    }
}
