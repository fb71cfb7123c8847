//! # Sum of cubes, one launch
//!
//! **Idea.** The first thread of each block adds the block's sum to one word of global memory by an atomic.
//!
//! **Changed from the rung before.** One number comes back, and it is the answer.
//!
//! **Bottleneck.** Memory: each value is read once and nothing else takes time at large n. What is left to gain, wider
//! loads and more of them on their way, is the subject of the family `reduce`.
//!
//! **Cost.** 4 bytes and two multiplications a value, one atomic and one barrier a block.
//!
//! **Threads.** As in `many-blocks`.
//!
//! **Limits.** Any n, any grid and block of fewer than 2³² threads in all. The host clears the word before. The order
//! in which blocks add differs from run to run; for integers the sum does not.
//!
//! **Source.** "CUDA编程(六) 进一步并行", three steps further.

use super::r7_warp_shuffle::block_sum;
use super::{Start, sum_every};
use simt::atomic::{Order::Relaxed, Scope};
use simt::{Global, kernel, thread};

/// Threads of a block if nothing else is asked for.
pub const THREADS: u32 = 256;

/// Blocks a multiprocessor if nothing else is asked for: as many as it holds of 256 threads.
pub const BLOCKS_PER_MULTIPROCESSOR: u32 = 8;

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
        // Relaxed: nobody reads the word before the kernel's end, which orders everything.
        sums.fetch_add(0, sum, Relaxed, Scope::Device);
    }
    start.record(times);
}

#[cfg(not(target_os = "cuda"))]
pub mod launches {
    //! What the host launches: the kernel, once.

    use super::*;
    use crate::ladder::cubes::*;

    /// The rung.
    pub static RUNG: Entry<Cubes> = rung!("r8_grid_atomic.rs", [cubes_grid_atomic]).run_by(&GridAtomic);

    struct GridAtomic;

    impl AddsCubes for GridAtomic {
        fn plan(&self, options: &Options, device: Device) -> Plan {
            let (blocks, threads) = grid(options, device, BLOCKS_PER_MULTIPROCESSOR, THREADS);
            Plan { blocks, threads, shared_bytes: 0, sums: sums() }
        }

        fn launch(&self, on: &dyn Launcher, plan: Plan, Values { values, sums, times }: Values) -> Result {
            on.clear(sums)?; // the blocks add to it
            let geometry = Geometry::linear(plan.blocks, plan.threads);
            on.launch(cubes_grid_atomic, geometry, (values, sums, times))
        }
    }
}
