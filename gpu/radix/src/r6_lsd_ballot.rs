//! # Radix sort from the least significant digit, eight bits per pass ranked by ballots
//!
//! **Idea.** A *ballot* collects one bit from each lane of a warp. By eight ballots, one per bit, a warp finds the
//! lanes that hold the same digit. The rank of a key among those with its digit is the number of such lanes below its
//! own, plus the count of the digit in the warp's earlier rows. Threads need no counters, so a digit can have 256
//! values, which halves the number of passes.
//!
//! **Changed from the rung before.** Eight bits per pass in place of four: 4 passes in place of 8. A tile is first put
//! in order in shared memory, so that the keys of one digit are written as a run of neighbouring words.
//!
//! **Bottleneck.** A pass reads the keys twice, once only to count them, because the places of a block's keys depend on
//! the counts of all blocks. And one block scans all counts, which takes more than half of the time at 2²⁶ keys (ncu,
//! H200). In the scatter, latency is the limit: 25 % of the warps that fit are resident, no unit is above 33 %. In the
//! next rung a block reads the counts of the blocks before it.
//!
//! **Cost.** Besides the counts, a pass moves 12 bytes per key of 4 bytes; 4 passes, 12 launches, twice as many for
//! keys of 8 bytes. 9 ballots per row of 32 keys and pass, one of them for the end of the input. Barriers per block: 2
//! to count, 4 to scatter; 2 per 8192 counts in the scan.
//!
//! **Threads.** A block of 256 has a tile of 4096 keys. Each warp has 512 keys in a row and reads them as 16 rows of
//! 32, one key per lane: the order of rows and lanes is the order of the keys.
//!
//! **Limits.** Any n; keys of 32 and 64 bits, without values.
//!
//! **Source.** D. Merrill and A. Grimshaw, "High performance and scalable radix sorting" (2011). Changed: the ranking
//! of S. Ashkiani, A. Davidson, U. Meyer and J. D. Owens, "GPU multisplit" (2016), by warps.

use super::{Digits, SCAN_THREADS, block_scan, lanes_below, match_digit, scan_in_one_block};
use simt::atomic::{Order::Relaxed, Scope};
use simt::{Global, Shared, kernel, shared, thread, unroll, warp};

/// Bits of a digit.
pub const BITS: u32 = 8;

/// Values of a digit, and threads per block: each thread handles one value.
pub const DIGITS: u32 = 1 << BITS;

/// Threads per block.
pub const BLOCK: u32 = DIGITS;

const WARPS: u32 = BLOCK / warp::WARP;

/// Keys per thread, rows per warp.
const ITEMS: u32 = 16;

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

/// Bytes of dynamic shared memory of the third launch: the sorted tile.
pub const fn shared_bytes(key_bytes: u32) -> u32 {
    TILE * key_bytes
}

shared!(TOTALS: [u32; DIGITS]);
shared!(COUNTERS: [u32; WARPS * DIGITS]);
shared!(OFFSETS: [u32; DIGITS]);
shared!(SUMS: [u32; WARPS]);

/// First launch of a pass: counts each block's digits at bit `shift` into `counts`.
#[kernel(max_threads = BLOCK, instances(radix_lsd_ballot_count: <u32>, radix_lsd_ballot_count_u64: <u64>))]
pub fn radix_lsd_ballot_count<W: Digits>(keys: Global<W>, counts: Global<u32>, shift: u32) {
    let (t, b) = (thread::thread_idx_x(), thread::block_idx_x());
    TOTALS::view().set(t, 0);
    thread::sync_threads(); // the counters are zero before the first key is counted
    unroll::<{ ITEMS as usize }>(|i| {
        let at = b * TILE + i as u32 * BLOCK + t;
        if at < keys.len() {
            TOTALS::view().fetch_add(keys.get(at).digit(shift, BITS), 1, Relaxed, Scope::Block);
        }
    });
    thread::sync_threads(); // every key is counted before the counts are read
    counts.set(t * thread::grid_dim_x() + b, TOTALS::view().get(t));
}

/// Second launch, of one block of [`SCAN_THREADS`]: each count becomes the number of keys that come before those
/// counted.
#[kernel(max_threads = SCAN_THREADS)]
pub fn radix_lsd_ballot_scan(counts: Global<u32>) {
    scan_in_one_block(counts);
}

/// Third launch: copies each key of `input` to its place in `output`; `starts` is the result of the second launch.
#[kernel(max_threads = BLOCK, instances(radix_lsd_ballot_scatter: <u32>, radix_lsd_ballot_scatter_u64: <u64>))]
pub fn radix_lsd_ballot_scatter<W: Digits>(input: Global<W>, output: Global<W>, starts: Global<u32>, shift: u32) {
    let (t, b, lane) = (thread::thread_idx_x(), thread::block_idx_x(), warp::lane_id());
    let w = t / warp::WARP;
    let counters = COUNTERS::view().slice(w * DIGITS, DIGITS);
    unroll::<{ (DIGITS / warp::WARP) as usize }>(|i| counters.set(i as u32 * warp::WARP + lane, 0));
    warp::sync_warp(warp::FULL); // the warp's counters are zero before its first row is counted

    let first = b * TILE + w * (ITEMS * warp::WARP) + lane;
    let (mut keys, mut ranks) = ([W::default(); ITEMS as usize], [0; ITEMS as usize]);
    unroll::<{ ITEMS as usize }>(|i| {
        let at = first + i as u32 * warp::WARP;
        let is_key = at < input.len();
        if is_key {
            keys[i] = input.get(at);
        }
        let digit = keys[i].digit(shift, BITS);
        // Lanes past the end have no key: they vote like the others but are not counted.
        let same = match_digit(digit, BITS) & warp::ballot(warp::FULL, is_key);
        let before = counters.get(digit);
        ranks[i] = before + (same & lanes_below()).count_ones();
        warp::sync_warp(warp::FULL); // all lanes have read the counters before one of each digit changes them
        if is_key && same & lanes_below() == 0 {
            counters.set(digit, before + same.count_ones());
        }
        warp::sync_warp(warp::FULL); // the counters are up to date before the next row reads them
    });
    thread::sync_threads(); // every warp has counted its keys before the counts are added up

    // Thread t is digit t from here to the barrier.
    let counters = COUNTERS::view();
    let mut total = 0;
    unroll::<{ WARPS as usize }>(|v| total += counters.get(v as u32 * DIGITS + t));
    let (start, _) = block_scan::<WARPS>(total, SUMS::view());
    let mut next = start;
    unroll::<{ WARPS as usize }>(|v| {
        let count = counters.get(v as u32 * DIGITS + t);
        counters.set(v as u32 * DIGITS + t, next);
        next += count;
    });
    // The place in the output minus the place in the tile; it may be below zero, and wraps.
    OFFSETS::view().set(t, starts.get(t * thread::grid_dim_x() + b).wrapping_sub(start));
    thread::sync_threads(); // the place of every warp and digit in the tile is known

    let sorted = Shared::<W>::dynamic(0, TILE);
    unroll::<{ ITEMS as usize }>(|i| {
        if first + i as u32 * warp::WARP < input.len() {
            sorted.set(counters.get(w * DIGITS + keys[i].digit(shift, BITS)) + ranks[i], keys[i]);
        }
    });
    thread::sync_threads(); // the tile is in order before it is written out
    unroll::<{ ITEMS as usize }>(|i| {
        let place = i as u32 * BLOCK + t;
        if b * TILE + place < input.len() {
            let key = sorted.get(place);
            output.set(OFFSETS::view().get(key.digit(shift, BITS)).wrapping_add(place), key);
        }
    });
}

#[cfg(not(target_os = "cuda"))]
pub mod launches {
    //! What the host launches: three kernels per digit, back and forth between the keys and the scratch memory.

    use super::*;
    use rungs_common::ladder::sort::*;

    /// The rung.
    pub static RUNG: Entry<Sort> =
        rung!("r6_lsd_ballot.rs", [radix_lsd_ballot_count, radix_lsd_ballot_scan, radix_lsd_ballot_scatter])
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
        radix_lsd_ballot_count<W>: Kernel<Args = (Global<W>, Global<u32>, u32)>,
        radix_lsd_ballot_scatter<W>: Kernel<Args = (Global<W>, Global<W>, Global<u32>, u32)>,
    {
        let (tiles, one) = (Geometry::linear(grid(keys.len()), BLOCK), Geometry::linear(1, SCAN_THREADS));
        let scatter = tiles.shared(shared_bytes(size_of::<W>() as u32));
        let (counts, mut from, mut to) = (memory.counts.view(), keys, memory.other.view());
        for shift in (0..8 * size_of::<W>() as u32).step_by(BITS as usize) {
            on.launch(radix_lsd_ballot_count::<W>::default(), tiles, (from, counts, shift))?;
            on.launch(radix_lsd_ballot_scan, one, (counts,))?;
            on.launch(radix_lsd_ballot_scatter::<W>::default(), scatter, (from, to, counts, shift))?;
            (from, to) = (to, from);
        }
        Ok(()) // an even number of passes ends where it began
    }
}
