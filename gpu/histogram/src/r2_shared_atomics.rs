//! # Histogram, one shared table per block
//!
//! **Idea.** Each block counts its keys in a table of its own in shared memory and adds the table to the counts at the
//! end.
//!
//! **Changed from the rung before.** The atomic addition of each key is in the SM's own memory, where only the threads
//! of the block add; L2 gets at most one addition per block and bin.
//!
//! **Bottleneck.** The warps of the block share one table: if keys repeat, all warps add to the same few words. The
//! next rung gives each warp a table.
//!
//! **Cost.** n shared atomics, at most blocks × bins global atomics; one read of each key; 2 barriers per block; one
//! launch, and the clearing of the counts before it.
//!
//! **Threads.** Neighbouring threads read neighbouring keys and step by the number of threads of the grid; in the first
//! and last phase a thread has the bins t, t + 256, ….
//!
//! **Limits.** Any n, up to 4096 bins; larger keys are not counted.
//!
//! **Source.** Moscow Aviation Institute, "Parallel data processing", lab 3 (2020), its histogram in shared memory.
//! Changed: any n and number of bins, and bytes as keys.

use super::{Key, MAX_BINS, blocks_for, strided};
use simt::atomic::{Order, Scope};
use simt::{Global, Shared, kernel, thread};

/// Threads per block.
pub const BLOCK: u32 = 256;

/// Blocks that keep an SM of 2048 threads full.
const BLOCKS_PER_SM: u32 = 2048 / BLOCK;

/// Fewest keys per block that make its table worth the additions at the end.
const KEYS_PER_BLOCK: u32 = 4096;

// Shared memory: the block's table, one word per bin; dynamic, because the number of bins is known at the launch.
const _: () = assert!(4 * MAX_BINS <= 48 << 10, "a table fits in what every device gives a block");

/// Bytes of shared memory for the given number of bins.
pub const fn shared_bytes(bins: u32) -> u32 {
    4 * bins
}

/// Blocks for `n` keys on a device with the given number of SMs; none for no keys.
pub const fn grid(n: u32, sms: u32) -> u32 {
    blocks_for(n, KEYS_PER_BLOCK, sms * BLOCKS_PER_SM)
}

/// Adds the number of keys in each bin to `counts`, one counter per bin, which the host has cleared.
#[kernel(
    max_threads = BLOCK,
    instances(histogram_shared_atomics_u8: <u8>, histogram_shared_atomics_u32: <u32>)
)]
pub fn histogram_shared_atomics<K: Key>(keys: Global<K>, counts: Global<u32>) {
    let (t, bins) = (thread::thread_idx_x(), counts.len());
    let table = Shared::<u32>::dynamic(0, bins);
    strided(t, bins, BLOCK, |bin| table.set(bin, 0));
    thread::sync_threads(); // the whole table is zero before any thread adds to it
    strided(thread::index_1d(), keys.len(), thread::grid_threads_1d(), |i| {
        let bin = keys.get(i).bin();
        if bin < bins {
            // Atomic: any thread of the block may be adding to the same word.
            table.fetch_add(bin, 1, Order::Relaxed, Scope::Block);
        }
    });
    thread::sync_threads(); // all keys are in the table before it is added to the counts
    strided(t, bins, BLOCK, |bin| {
        let count = table.get(bin);
        if count != 0 {
            // Atomic: every block adds to the same counts.
            counts.fetch_add(bin, count, Order::Relaxed, Scope::Device);
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
        rung!("r2_shared_atomics.rs", [histogram_shared_atomics]).run_by(&SharedAtomics);

    struct SharedAtomics;

    impl<K: Key> Serves<Keys<K>> for SharedAtomics
    where
        histogram_shared_atomics<K>: Kernel<Args = (Global<K>, Global<u32>)>,
    {
        type Memory = ();

        fn scratch(&self, _: &dyn Launcher, _: u32) -> Result {
            Ok(())
        }

        fn run(on: &dyn Launcher, Keys { keys, counts }: Keys<K>, (): &mut ()) -> Result {
            on.clear(counts)?;
            let blocks = grid(keys.len(), on.device().multiprocessors);
            let geometry = Geometry::linear(blocks, BLOCK).shared(shared_bytes(counts.len()));
            on.launch(histogram_shared_atomics::<K>::default(), geometry, (keys, counts))
        }
    }
}
