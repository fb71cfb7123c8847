//! # Histogram, one global atomic per key
//!
//! **Idea.** A thread reads a key and adds one to its counter with an atomic addition, because other threads may add to
//! the same counter at the same time.
//!
//! **Changed from the rung before.** First rung.
//!
//! **Bottleneck.** L2 performs all additions, and those to one counter in sequence: the fewer different keys there are,
//! the slower it gets. The next rung counts in the shared memory of each block first.
//!
//! **Cost.** n global atomics; one read of each key; no barrier; one launch, and the clearing of the counts before it.
//!
//! **Threads.** Neighbouring threads read neighbouring keys and step by the number of threads of the grid.
//!
//! **Limits.** Any n, up to 4096 bins; larger keys are not counted.
//!
//! **Source.** Moscow Aviation Institute, "Parallel data processing", lab 3 (2020), its histogram. Changed: any n and
//! number of bins, and bytes as keys.

use super::{Key, blocks_for, strided};
use simt::atomic::{Order, Scope};
use simt::{Global, kernel, thread};

/// Threads per block.
pub const BLOCK: u32 = 256;

/// Blocks that keep an SM of 2048 threads full.
const BLOCKS_PER_SM: u32 = 2048 / BLOCK;

/// Blocks for `n` keys on a device with the given number of SMs; none for no keys.
pub const fn grid(n: u32, sms: u32) -> u32 {
    blocks_for(n, BLOCK, sms * BLOCKS_PER_SM)
}

/// Adds the number of keys in each bin to `counts`, one counter per bin, which the host has cleared.
#[kernel(
    max_threads = BLOCK,
    instances(histogram_global_atomics_u8: <u8>, histogram_global_atomics_u32: <u32>)
)]
pub fn histogram_global_atomics<K: Key>(keys: Global<K>, counts: Global<u32>) {
    strided(thread::index_1d(), keys.len(), thread::grid_threads_1d(), |i| {
        let bin = keys.get(i).bin();
        if bin < counts.len() {
            // Atomic: any thread of the grid may be adding to the same counter.
            counts.fetch_add(bin, 1, Order::Relaxed, Scope::Device);
        }
    });
}

#[cfg(not(target_os = "cuda"))]
pub mod launches {
    //! What the host launches: the counts cleared, then the kernel.

    use super::*;
    use rungs_common::ladder::histogram::*;

    /// The rung.
    pub static RUNG: Entry<&dyn Histogram> =
        rung!("r1_global_atomics.rs", [histogram_global_atomics]).run_by(&GlobalAtomics);

    struct GlobalAtomics;

    impl<K: Key> Serves<Keys<K>> for GlobalAtomics
    where
        histogram_global_atomics<K>: Kernel<Args = (Global<K>, Global<u32>)>,
    {
        type Memory = ();

        fn scratch(&self, _: &dyn Launcher, _: u32) -> Result {
            Ok(())
        }

        fn run(on: &dyn Launcher, Keys { keys, counts }: Keys<K>, (): &mut ()) -> Result {
            on.clear(counts)?;
            let blocks = grid(keys.len(), on.device().multiprocessors);
            let geometry = Geometry::linear(blocks, BLOCK);
            on.launch(histogram_global_atomics::<K>::default(), geometry, (keys, counts))
        }
    }
}
