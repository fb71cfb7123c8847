//! # Histogram, one shared table per warp
//!
//! **Idea.** Each warp counts in a table of its own; the block adds its tables and then adds the sums to the counts.
//!
//! **Changed from the rung before.** Warps no longer wait for each other's additions to the same word.
//!
//! **Bottleneck.** The lanes of one warp still share a table: lanes whose counters are in the same bank are served in
//! sequence, in about three turns for random keys. Also, each lane loads one key at a time. The next rung gives each
//! bank its own table and loads 16 bytes at once.
//!
//! **Cost.** n shared atomics, at most blocks × bins global atomics; one read of each key; 2 barriers per block; one
//! launch, and the clearing of the counts before it.
//!
//! **Threads.** Neighbouring threads read neighbouring keys and step by the number of threads of the grid; in the last
//! phase a thread adds the bins t, t + 256, … of all tables.
//!
//! **Limits.** Any n, up to 4096 bins; larger keys are not counted. Above 1536 bins eight tables do not fit in 48 KiB,
//! and warps share as many tables as fit.
//!
//! **Source.** Moscow Aviation Institute, "Parallel data processing", lab 3 (2020). Changed: a table per warp, any n
//! and number of bins, and bytes as keys.

use super::{Key, MAX_BINS, blocks_for, strided};
use simt::atomic::{Order, Scope};
use simt::warp::WARP;
use simt::{Global, Shared, kernel, thread};

/// Threads per block.
pub const BLOCK: u32 = 256;

/// Blocks that keep an SM of 2048 threads full.
const BLOCKS_PER_SM: u32 = 2048 / BLOCK;

/// Fewest keys per block that make its tables worth clearing and adding up.
const KEYS_PER_BLOCK: u32 = 4096;

/// Words for all tables of a block: the shared memory that every device gives a block.
const TABLE_WORDS: u32 = (48 << 10) / 4;

const _: () = assert!(MAX_BINS <= TABLE_WORDS, "at least one table fits");

/// Tables per block: one per warp, or as many as fit.
pub const fn tables(bins: u32) -> u32 {
    match TABLE_WORDS.checked_div(bins) {
        Some(fit) if fit < BLOCK / WARP => fit,
        _ => BLOCK / WARP,
    }
}

/// Bytes of shared memory for the given number of bins.
pub const fn shared_bytes(bins: u32) -> u32 {
    4 * bins * tables(bins)
}

/// Blocks for `n` keys on a device with the given number of SMs; none for no keys.
pub const fn grid(n: u32, sms: u32) -> u32 {
    blocks_for(n, KEYS_PER_BLOCK, sms * BLOCKS_PER_SM)
}

/// Adds the number of keys in each bin to `counts`, one counter per bin, which the host has cleared.
#[kernel(
    max_threads = BLOCK,
    instances(histogram_warp_tables_u8: <u8>, histogram_warp_tables_u32: <u32>)
)]
pub fn histogram_warp_tables<K: Key>(keys: Global<K>, counts: Global<u32>) {
    let (t, bins) = (thread::thread_idx_x(), counts.len());
    let tables = tables(bins);
    let all = Shared::<u32>::dynamic(0, bins * tables);
    let mine = all.slice(t / WARP % tables * bins, bins);
    strided(t, bins * tables, BLOCK, |word| all.set(word, 0));
    thread::sync_threads(); // all tables are zero before any thread adds to one
    strided(thread::index_1d(), keys.len(), thread::grid_threads_1d(), |i| {
        let bin = keys.get(i).bin();
        if bin < bins {
            // Atomic: two lanes of the warp may have the same key, and warps may share a table.
            mine.fetch_add(bin, 1, Order::Relaxed, Scope::Block);
        }
    });
    thread::sync_threads(); // all keys are in the tables before they are added up
    strided(t, bins, BLOCK, |bin| {
        let mut count = 0;
        strided(bin, bins * tables, bins, |word| count += all.get(word));
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
    pub static RUNG: Entry<&dyn Histogram> = rung!("r3_warp_tables.rs", [histogram_warp_tables]).run_by(&WarpTables);

    struct WarpTables;

    impl<K: Key> Serves<Keys<K>> for WarpTables
    where
        histogram_warp_tables<K>: Kernel<Args = (Global<K>, Global<u32>)>,
    {
        type Memory = ();

        fn scratch(&self, _: &dyn Launcher, _: u32) -> Result {
            Ok(())
        }

        fn run(on: &dyn Launcher, Keys { keys, counts }: Keys<K>, (): &mut ()) -> Result {
            on.clear(counts)?;
            let blocks = grid(keys.len(), on.device().multiprocessors);
            let geometry = Geometry::linear(blocks, BLOCK).shared(shared_bytes(counts.len()));
            on.launch(histogram_warp_tables::<K>::default(), geometry, (keys, counts))
        }
    }
}
