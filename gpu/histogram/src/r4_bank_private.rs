//! # Histogram, one shared table per bank
//!
//! **Idea.** Shared memory has 32 banks, each of which serves one lane at a time. There are 32 copies of the table,
//! interleaved so that counter (bin, copy) is word `32 * bin + copy`: copy c is in bank c. Lane c of every warp adds to
//! copy c, so no two lanes of a warp want the same bank, whatever the keys are.
//!
//! **Changed from the rung before.** Each lane has a copy of its own, so no lanes of a warp conflict, for random and
//! for equal keys alike. Each thread has four loads of 16 bytes in flight. The counts need no clearing: blocks add to
//! totals that are zero between launches, and the last block to finish moves the totals to the counts. The next launch
//! begins while this one ends (programmatic dependent launch). A block gets at least half as many bytes of keys as its
//! table has; with fewer, most of the time would be spent on clearing tables and adding up copies.
//!
//! **Bottleneck.** For bytes, the rate of shared atomics; for words, memory bandwidth. For 2²⁸ bytes on an H200, ncu
//! shows memory at 84 % of its peak, shared memory and issue slots at 64 %.
//!
//! **Cost.** n shared atomics; at most blocks × bins global atomics, one more per block, and one per bin in the last
//! block; one read of each key, 16 bytes at a time; 4 barriers per block; one launch.
//!
//! **Threads.** A warp loads 2 KiB at once, neighbouring lanes neighbouring 16 bytes; blocks take these units in turn.
//! Four threads add up the copies of a bin.
//!
//! **Limits.** Any n, any alignment of the first key, up to 4096 bins; larger keys are not counted. Tables take at most
//! 64 KiB, so above 512 bins there are fewer than 32 copies. Then lanes whose numbers are equal modulo the number of
//! copies share a copy.
//!
//! **Source.** V. Podlozhnyuk, "Histogram calculation in CUDA" (2007), where each thread has counters of its own.
//! Changed: a table per bank instead, and one launch.

use super::{Key, MAX_BINS};
use rungs_common::aligned::Aligned;
use simt::atomic::{Order, Scope};
use simt::warp::{FULL, WARP, lane_id, shuffle_xor};
use simt::{Global, Shared, grid, kernel, thread, unroll};

/// Threads per block.
pub const BLOCK: u32 = 1024;

/// Blocks that an SM holds at once: 2048 threads, and two tables.
const BLOCKS_PER_SM: u32 = 2;

/// Loads of 16 bytes that a thread has in flight.
const LOADS: usize = 4;

/// Packs that a warp loads at once.
const UNIT: u32 = LOADS as u32 * WARP;

/// Words for all copies of the table.
const TABLE_WORDS: u32 = (64 << 10) / 4;

/// Threads that add up the copies of one bin.
const HELPERS: u32 = 4;

const _: () = assert!(TABLE_WORDS / MAX_BINS >= HELPERS, "each helper has a copy, and a table is whole packs");

/// Rows of the table: as many as bins; for bytes always 256, which spares each key a comparison.
const fn rows<K: Key>(bins: u32) -> u32 {
    if size_of::<K>() == 1 { 1 << 8 } else { bins }
}

/// log₂ of the copies of a table of `rows` rows: one per bank, or as many as fit.
const fn copies_log2(rows: u32) -> u32 {
    match TABLE_WORDS.checked_div(rows) {
        Some(fit) if fit < WARP => fit.ilog2(),
        _ => WARP.ilog2(),
    }
}

/// Bytes of shared memory for the given number of bins.
pub const fn shared_bytes<K: Key>(bins: u32) -> u32 {
    (4 * rows::<K>(bins)) << copies_log2(rows::<K>(bins))
}

/// Blocks for `n` keys and `bins` bins on a device with the given number of SMs. At least one: it sets the counts even
/// if there are no keys.
pub const fn blocks<K: Key>(n: u32, bins: u32, sms: u32) -> u32 {
    let bytes = n as u64 * size_of::<K>() as u64;
    let table = shared_bytes::<K>(bins) as u64; // none without bins
    let worth = bytes.div_ceil(if table == 0 { 1 } else { table / 2 });
    let most = sms * BLOCKS_PER_SM;
    if worth == 0 {
        1
    } else if worth < most as u64 {
        worth as u32
    } else {
        most
    }
}

/// Sets `counts`, one counter per bin, to the number of keys in each bin.
///
/// `totals` (as many words as `counts`) and `ticket` (one word) are zero when the launch begins, and again when it
/// ends.
#[kernel(
    max_threads = BLOCK, min_blocks = BLOCKS_PER_SM,
    instances(histogram_bank_private_u8: <u8>, histogram_bank_private_u32: <u32>)
)]
pub fn histogram_bank_private<K: Key>(keys: Global<K>, counts: Global<u32>, totals: Global<u32>, ticket: Global<u32>) {
    let rows = rows::<K>(counts.len());
    let table = Shared::<u32>::dynamic(0, rows << copies_log2(rows));
    grid::let_next_start();
    clear(table);
    grid::wait_for_previous(); // keys; and the launch before may still use the totals and the ticket
    thread::sync_threads(); // the whole table is zero before any thread adds to it
    count(keys, table, rows);
    thread::sync_threads(); // all keys are in the table before its copies are added up
    add_copies(table, rows, totals);
    thread::sync_threads(); // the block's additions are done before it takes its ticket
    // The `or` gives thread 0's answer to all threads; the barrier lets all of them see what thread 0 acquired.
    if thread::sync_threads_or(thread::thread_idx_x() == 0 && is_last(ticket)) {
        publish(totals, counts, ticket);
    }
}

/// Makes the block's table zero.
#[simt::device]
fn clear(table: Shared<u32>) {
    let mut pack = thread::thread_idx_x();
    while pack < table.len() / 4 {
        table.set_pack(pack, [0; 4]);
        pack += BLOCK;
    }
}

/// Counts the thread's keys in the lane's copy of the table.
#[simt::device]
fn count<K: Key>(keys: Global<K>, table: Shared<u32>, rows: u32) {
    let log2 = copies_log2(rows);
    let copy = lane_id() & ((1 << log2) - 1);
    let mine = table.slice(copy, table.len() - copy);
    let add = |bin: u32| {
        if bin < rows {
            // Atomic: the same lane of every warp of the block adds to this copy.
            mine.fetch_add(bin << log2, 1, Order::Relaxed, Scope::Block);
        }
    };

    // The keys before the first multiple of 16 bytes and after the last belong to the first block, one per thread.
    let keys = Aligned::new(keys);
    if thread::block_idx_x() == 0
        && let Some(key) = keys.edge(thread::thread_idx_x())
    {
        add(key.bin());
    }

    let packs = keys.packs();
    if packs == 0 {
        return;
    }
    let words = keys.body().cast::<u32>();
    // Units go to the blocks in turn, so that few keys are spread over all of them.
    let (blocks, warps) = (thread::grid_dim_x(), BLOCK / WARP);
    let mut unit = thread::thread_idx_x() / WARP * blocks + thread::block_idx_x();
    while unit * UNIT < packs {
        let first = (unit * UNIT + lane_id()).min(packs);
        let (mine, left) = (words.slice(4 * first, 4 * (packs - first)), packs - first);
        let mut loaded = [[0; 4]; LOADS];
        unroll::<LOADS>(|l| {
            let at = l as u32 * WARP;
            loaded[l] = mine.get_pack_read_only_or(at, at < left, [0; 4]);
        });
        unroll::<LOADS>(|l| {
            if l as u32 * WARP < left {
                unroll::<4>(|w| unroll_keys::<K>(loaded[l][w], add));
            }
        });
        unit += blocks * warps;
    }
}

/// Calls `add` with the bin of each key in a word.
#[simt::device]
fn unroll_keys<K: Key>(word: u32, add: impl Fn(u32)) {
    unroll::<4>(|k| {
        if k < K::IN_WORD {
            add(K::bin_in_word(word, k));
        }
    });
}

/// Adds up the copies of each bin, and adds the sums to the totals of the grid.
#[simt::device]
fn add_copies(table: Shared<u32>, rows: u32, totals: Global<u32>) {
    let log2 = copies_log2(rows);
    let each = (1 << log2) / HELPERS;
    let mut i = thread::thread_idx_x();
    // All lanes of a warp stay in the loop together, for the shuffles; a bin past the last has nothing to add.
    while i - lane_id() < rows * HELPERS {
        let (bin, helper) = (i / HELPERS, i % HELPERS);
        // Bins that share a bank begin at different copies.
        let turn = bin >> (WARP.ilog2() - log2);
        let (mut sum, mut k) = (0, 0);
        while bin < rows && k < each {
            sum += table.get((bin << log2) + helper * each + ((turn + k) & (each - 1)));
            k += 1;
        }
        sum += shuffle_xor(FULL, sum, 1);
        sum += shuffle_xor(FULL, sum, 2);
        if helper == 0 && sum != 0 {
            // Atomic: every block adds to the same totals. A byte above the last bin has no total.
            if bin < totals.len() {
                totals.fetch_add(bin, sum, Order::Relaxed, Scope::Device);
            }
        }
        i += BLOCK;
    }
}

/// Takes a ticket; returns whether all other blocks of the grid have taken theirs.
#[simt::device]
fn is_last(ticket: Global<u32>) -> bool {
    // Release: a block that sees this ticket taken also sees the block's additions, which the barrier put before it.
    // Acquire: the last block sees the additions of all blocks.
    ticket.fetch_add(0, 1, Order::AcqRel, Scope::Device) == thread::grid_dim_x() - 1
}

/// Moves the totals to the counts and leaves zeros for the next launch.
#[simt::device]
fn publish(totals: Global<u32>, counts: Global<u32>, ticket: Global<u32>) {
    let mut bin = thread::thread_idx_x();
    while bin < counts.len() {
        // Atomic, because atomics added up the totals, which live in L2.
        counts.set(bin, totals.exchange(bin, 0, Order::Relaxed, Scope::Device));
        bin += BLOCK;
    }
    if thread::thread_idx_x() == 0 {
        ticket.set(0, 0);
    }
}

#[cfg(not(target_os = "cuda"))]
pub mod launches {
    //! What the host launches: the kernel, once.

    use super::*;
    use rungs_common::ladder::histogram::*;

    /// The rung.
    pub static RUNG: Entry<&dyn Histogram> = rung!("r4_bank_private.rs", [histogram_bank_private]).run_by(&BankPrivate);

    struct BankPrivate;

    impl<K: Key> Serves<Keys<K>> for BankPrivate
    where
        histogram_bank_private<K>: Kernel<Args = (Global<K>, Global<u32>, Global<u32>, Global<u32>)>,
    {
        /// The sums of the blocks' tables, and the ticket.
        type Memory = [Scratch<u32>; 2];

        fn scratch(&self, on: &dyn Launcher, bins: u32) -> Result<Self::Memory> {
            // Cleared once: every launch leaves both zero.
            Ok([on.zeros(bins)?, on.zeros(1)?])
        }

        fn run(on: &dyn Launcher, keys: Keys<K>, [totals, ticket]: &mut Self::Memory) -> Result {
            let Keys { keys, counts } = keys;
            let blocks = blocks::<K>(keys.len(), counts.len(), on.device().multiprocessors);
            let geometry = Geometry::linear(blocks, BLOCK).shared(shared_bytes::<K>(counts.len())).overlapping();
            let args = (keys, counts, totals.view(), ticket.view());
            on.launch(histogram_bank_private::<K>::default(), geometry, args)
        }
    }
}
