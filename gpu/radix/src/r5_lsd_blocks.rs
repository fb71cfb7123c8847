//! # Radix sort from the least significant digit, four bits per pass on many blocks
//!
//! **Idea.** Sort by the last digit, then by the digit before it, and so on. Each pass is *stable*: among equal digits
//! it keeps the order of the previous passes, so after the pass by the first digit all keys are sorted. A pass over
//! many blocks takes three launches. In the first, each block counts its digits. In the second, a scan of all counts,
//! digit by digit and block by block, gives the place where each block's keys of each digit begin. In the third, each
//! block moves its keys there (a *scatter*).
//!
//! **Changed from the rung before.** The columns of `columns-*` must fit into the shared memory of one block, which
//! limits n, and merging them outputs one key at a time. Here nothing is merged, and any number of blocks runs at once.
//!
//! **Bottleneck.** A pass by four bits reads the keys twice and writes them once, and neighbouring threads write to 16
//! places far apart. By ncu on an H200, 2²⁶ keys, the scatter has the path from the L1 cache and shared memory at 98 %
//! of its peak. The next rung takes eight bits per pass and puts a block's keys in order before it writes them.
//!
//! **Cost.** Besides the counts, a pass moves 12 bytes per key of 4 bytes; 8 passes, 24 launches, twice as many for
//! keys of 8 bytes. Barriers per block: 2 to count, 3 to scatter; 2 per 8192 counts in the scan.
//!
//! **Threads.** A block of 256 has a tile of 2048 keys. Thread t has the 8 keys from key 8·t on, so the order of the
//! threads is the order of the keys. Each thread counts its digits in its own column of shared memory, without atomics.
//!
//! **Limits.** Any n; keys of 32 and 64 bits, without values.
//!
//! **Source.** N. Satish, M. Harris and M. Garland, "Designing efficient sorting algorithms for manycore GPUs" (2009).
//! Changed: a counter per thread and digit in place of their one-bit splits.

use super::{Digits, SCAN_THREADS, block_scan, scan_in_one_block};
use simt::atomic::{Order::Relaxed, Scope};
use simt::{Global, kernel, shared, thread, unroll, warp};

/// Bits of a digit.
pub const BITS: u32 = 4;

/// Values of a digit.
pub const DIGITS: u32 = 1 << BITS;

/// Threads per block.
pub const BLOCK: u32 = 256;

/// Keys per thread.
const ITEMS: u32 = 8;

/// Keys per block.
pub const TILE: u32 = BLOCK * ITEMS;

/// Blocks for `n` keys.
pub const fn grid(n: u32) -> u32 {
    n.div_ceil(TILE)
}

/// Words of the table of counts: block b's count of digit d is at d · grid + b.
pub const fn counts(n: u32) -> u32 {
    DIGITS * grid(n)
}

shared!(TOTALS: [u32; DIGITS]);
shared!(COUNTERS: [u32; DIGITS * BLOCK]);
shared!(SUMS: [u32; BLOCK / warp::WARP]);

/// First launch of a pass: counts each block's digits at bit `shift` into `counts`.
#[kernel(max_threads = BLOCK, instances(radix_lsd_blocks_count: <u32>, radix_lsd_blocks_count_u64: <u64>))]
pub fn radix_lsd_blocks_count<W: Digits>(keys: Global<W>, counts: Global<u32>, shift: u32) {
    let (t, b) = (thread::thread_idx_x(), thread::block_idx_x());
    if t < DIGITS {
        TOTALS::view().set(t, 0);
    }
    thread::sync_threads(); // the counters are zero before the first key is counted
    unroll::<{ ITEMS as usize }>(|i| {
        // The order does not matter here, so neighbouring threads read neighbouring keys.
        let at = b * TILE + i as u32 * BLOCK + t;
        if at < keys.len() {
            TOTALS::view().fetch_add(keys.get(at).digit(shift, BITS), 1, Relaxed, Scope::Block);
        }
    });
    thread::sync_threads(); // every key is counted before the counts are read
    if t < DIGITS {
        counts.set(t * thread::grid_dim_x() + b, TOTALS::view().get(t));
    }
}

/// Second launch, of one block of [`SCAN_THREADS`]: each count becomes the number of keys that come before those
/// counted.
#[kernel(max_threads = SCAN_THREADS)]
pub fn radix_lsd_blocks_scan(counts: Global<u32>) {
    scan_in_one_block(counts);
}

/// Third launch: copies each key of `input` to its place in `output`; `starts` is the result of the second launch.
#[kernel(max_threads = BLOCK, instances(radix_lsd_blocks_scatter: <u32>, radix_lsd_blocks_scatter_u64: <u64>))]
pub fn radix_lsd_blocks_scatter<W: Digits>(input: Global<W>, output: Global<W>, starts: Global<u32>, shift: u32) {
    let (t, b) = (thread::thread_idx_x(), thread::block_idx_x());
    let (counters, first) = (COUNTERS::view(), b * TILE + t * ITEMS);
    unroll::<{ DIGITS as usize }>(|d| counters.set(d as u32 * BLOCK + t, 0));
    let (mut keys, mut ranks) = ([W::default(); ITEMS as usize], [0; ITEMS as usize]);
    unroll::<{ ITEMS as usize }>(|i| {
        if first + (i as u32) < input.len() {
            keys[i] = input.get(first + i as u32);
            // No other thread uses this thread's column.
            let counter = keys[i].digit(shift, BITS) * BLOCK + t;
            ranks[i] = counters.get(counter);
            counters.set(counter, ranks[i] + 1);
        }
    });
    thread::sync_threads(); // all columns are complete before rows are added up
    scan_counters();
    thread::sync_threads(); // every counter is the number of keys of the tile that come before
    unroll::<{ ITEMS as usize }>(|i| {
        if first + (i as u32) < input.len() {
            let digit = keys[i].digit(shift, BITS);
            let in_digit = counters.get(digit * BLOCK + t) - counters.get(digit * BLOCK) + ranks[i];
            output.set(starts.get(digit * thread::grid_dim_x() + b) + in_digit, keys[i]);
        }
    });
}

/// Makes each counter the sum of those before it: thread t takes the 16 counters from 16·t on, which lie in one digit's
/// row.
#[simt::device]
fn scan_counters() {
    let mine = COUNTERS::view().slice(thread::thread_idx_x() * DIGITS, DIGITS);
    let mut values = [0; DIGITS as usize];
    unroll::<{ DIGITS as usize }>(|i| values[i] = mine.get(i as u32));
    let mut sum = 0;
    unroll::<{ DIGITS as usize }>(|i| sum += values[i]);
    let (mut before, _) = block_scan::<{ BLOCK / warp::WARP }>(sum, SUMS::view());
    unroll::<{ DIGITS as usize }>(|i| {
        mine.set(i as u32, before);
        before += values[i];
    });
}

#[cfg(not(target_os = "cuda"))]
pub mod launches {
    //! What the host launches: three kernels per digit, back and forth between the keys and the scratch memory.

    use super::*;
    use rungs_common::ladder::sort::*;

    /// The rung.
    pub static RUNG: Entry<Sort> =
        rung!("r5_lsd_blocks.rs", [radix_lsd_blocks_count, radix_lsd_blocks_scan, radix_lsd_blocks_scatter])
            .with_tiles(&[TILE as u64])
            .run_by(Sort::both(&Words { scratch: scratch::<u32>, sort }, &Words { scratch: scratch::<u64>, sort }));

    /// The scratch memory.
    pub struct Memory<W> {
        /// The table of counts.
        counts: Scratch<u32>,
        /// As many keys as there are.
        other: Scratch<W>,
    }

    /// The scratch memory to sort `n` keys.
    ///
    /// # Errors
    /// [`Failed::Machine`] if there is no memory.
    pub fn scratch<W: Scalar>(on: &dyn Launcher, n: u32, _: &Options) -> Result<Memory<W>> {
        Ok(Memory { counts: on.scratch(counts(n))?, other: on.scratch(n)? })
    }

    /// Sorts `keys` in place.
    ///
    /// # Errors
    /// Those of a launch.
    pub fn sort<W: Width>(on: &dyn Launcher, keys: Global<W>, memory: &mut Memory<W>) -> Result
    where
        radix_lsd_blocks_count<W>: Kernel<Args = (Global<W>, Global<u32>, u32)>,
        radix_lsd_blocks_scatter<W>: Kernel<Args = (Global<W>, Global<W>, Global<u32>, u32)>,
    {
        let (tiles, one) = (Geometry::linear(grid(keys.len()), BLOCK), Geometry::linear(1, SCAN_THREADS));
        let (counts, mut from, mut to) = (memory.counts.view(), keys, memory.other.view());
        for shift in (0..8 * size_of::<W>() as u32).step_by(BITS as usize) {
            on.launch(radix_lsd_blocks_count::<W>::default(), tiles, (from, counts, shift))?;
            on.launch(radix_lsd_blocks_scan, one, (counts,))?;
            on.launch(radix_lsd_blocks_scatter::<W>::default(), tiles, (from, to, counts, shift))?;
            (from, to) = (to, from);
        }
        Ok(()) // an even number of passes ends where it began
    }
}
