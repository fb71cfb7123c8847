//! # Sum of cubes, one thread
//!
//! **Idea.** The loop that you would write for the host: one thread reads one value after another and adds its cube.
//!
//! **Changed from the rung before.** First rung.
//!
//! **Bottleneck.** Latency: one thread has a few loads in flight at a time and waits hundreds of cycles for each. The
//! rest of the device does nothing. The next rung gives the values to many threads.
//!
//! **Cost.** 4 bytes, two multiplications and an addition per value, all in sequence; no barrier; one launch.
//!
//! **Threads.** One block of one thread. The host reads one sum.
//!
//! **Limits.** Any n.
//!
//! **Source.** The blog series "CUDA编程" (CUDA programming), part 6, "进一步并行" (further parallelism), undated. It begins
//! with many threads; this rung is our own. Changed: sums of 64 bits.

use super::{Start, sum_every};
use simt::{Global, kernel};

/// Threads of the block.
pub const THREADS: u32 = 1;

/// Sums that the kernel writes.
pub const fn sums() -> u32 {
    1
}

/// Writes to `sums` the sum of cubes of `values`, and when the block began and ended to `times`.
#[kernel(max_threads = THREADS)]
pub fn cubes_one_thread(values: Global<u32>, sums: Global<u64>, times: Global<u64>) {
    let start = Start::now();
    sums.set(0, sum_every(values, 0, 1));
    start.record(times);
}

#[cfg(not(target_os = "cuda"))]
pub mod launches {
    //! What the host launches: the kernel, once.

    use super::*;
    use rungs_common::ladder::cubes::*;

    /// The rung.
    pub static RUNG: Entry<Cubes> = rung!("r1_one_thread.rs", [cubes_one_thread]).run_by(&OneThread);

    struct OneThread;

    impl AddsCubes for OneThread {
        fn plan(&self, _: &Options, _: Device) -> Plan {
            Plan { blocks: 1, threads: THREADS, shared_bytes: 0, sums: sums() }
        }

        fn launch(&self, on: &dyn Launcher, plan: Plan, Values { values, sums, times }: Values) -> Result {
            let geometry = Geometry::linear(plan.blocks, plan.threads);
            on.launch(cubes_one_thread, geometry, (values, sums, times))
        }
    }
}
