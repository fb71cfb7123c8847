//! Launch 1: counts the keys of each bucket.

use super::bucket;
use simt::atomic::{Order::Relaxed, Scope};
use simt::{Global, Shared, grid, kernel, shared, thread, unroll, warp};

/// Threads per block.
pub const HISTOGRAM_THREADS: u32 = 1024;

/// 16-byte loads in flight per thread.
const IN_FLIGHT: u32 = 4;

/// Loads per thread after which no counter can have overflowed.
const FEW: u32 = 3 * IN_FLIGHT;
const _: () = assert!(FEW * 4 * HISTOGRAM_THREADS < 1 << 16);

/// Bytes of dynamic shared memory: a counter of 16 bits per bucket.
pub const fn histogram_shared(top_bits: u32) -> u32 {
    2 << top_bits
}

/// Blocks: one per SM, since each block has counters to add up, and at least 8192 keys per block.
pub const fn histogram_blocks(n: u32, multiprocessors: u32) -> u32 {
    let enough = n.div_ceil(8192);
    if enough < multiprocessors { enough } else { multiprocessors }
}

shared!(LOST: [u32; 1]);

/// Adds the number of keys with each value of the top bits to `histogram`, which was zero.
///
/// Two counters share a word. Counters of 16 bits can overflow, so the block compares their sum with the number of keys
/// that it counted: a carry out of the low counter turns 65,536 keys into one, a carry out of the high counter into
/// none. After an overflow the block counts again, and from there on adds up its counters every few keys.
#[kernel(max_threads = HISTOGRAM_THREADS, min_blocks = 1)]
pub fn radix_msd_buckets_histogram(keys: Global<u32>, top_bits: u32, histogram: Global<u32>) {
    let (t, index, stride) = (thread::thread_idx_x(), thread::index_1d(), thread::grid_threads_1d());
    let counters = Shared::<u32>::dynamic(0, 1 << (top_bits - 1));
    grid::let_next_start();
    clear(counters);
    grid::wait_for_previous(); // `histogram` was zeroed, and `keys` may have been written, by grids before
    let packs = keys.len() / 4;
    if index < keys.len() - packs * 4 {
        let bucket = bucket(keys.get(packs * 4 + index), top_bits);
        histogram.fetch_add(bucket, 1, Relaxed, Scope::Device); // the last keys, fewer than a pack
    }
    let (mut first, mut round) = (0, u32::MAX);
    while first < packs && index - t < packs - first {
        if t == 0 {
            LOST::view().set(0, 0);
        }
        thread::sync_threads(); // every counter is zero before the first key is counted
        let end = packs.min(first.saturating_add(round));
        let counted = count(keys, top_bits, counters, first + index, end);
        thread::sync_threads(); // every key is counted before counters are read
        let mut found = 0;
        each_word(counters, |_, [low, high]| found += low + high);
        let lost = warp::reduce_add(warp::FULL, counted.wrapping_sub(found));
        if lost != 0 && warp::lane_id() == 0 {
            LOST::view().fetch_add(0, lost, Relaxed, Scope::Block);
        }
        thread::sync_threads(); // all differences are added before the sum is read
        if LOST::view().get(0) != 0 {
            round = FEW * stride;
        } else {
            each_word(counters, |i, [low, high]| {
                // All blocks add to the same histogram.
                if low != 0 {
                    histogram.fetch_add(2 * i, low, Relaxed, Scope::Device);
                }
                if high != 0 {
                    histogram.fetch_add(2 * i + 1, high, Relaxed, Scope::Device);
                }
            });
            first = end;
        }
        if first < packs {
            thread::sync_threads(); // all have read the counters, and the sum, before they are cleared
            clear(counters);
        }
    }
}

/// Counts pack `first` and, up to `end`, those that follow it by whole widths of the grid. Returns the number of keys
/// in them.
#[inline(always)]
fn count(keys: Global<u32>, top_bits: u32, counters: Shared<u32>, first: u32, end: u32) -> u32 {
    let stride = thread::grid_threads_1d();
    let count_pack = |pack: [u32; 4]| {
        unroll::<4>(|j| {
            let bucket = bucket(pack[j], top_bits);
            counters.fetch_add(bucket / 2, if bucket & 1 == 0 { 1 } else { 1 << 16 }, Relaxed, Scope::Block);
        });
    };
    let mut i = first;
    while i + (IN_FLIGHT - 1) * stride < end {
        let mut packs = [[0; 4]; IN_FLIGHT as usize];
        // Not by the read-only cache: the grid before may still have been writing when this one started.
        unroll::<{ IN_FLIGHT as usize }>(|p| packs[p] = keys.get_pack_streaming(i + p as u32 * stride));
        unroll::<{ IN_FLIGHT as usize }>(|p| count_pack(packs[p]));
        i += IN_FLIGHT * stride;
    }
    while i < end {
        count_pack(keys.get_pack_streaming(i));
        i += stride;
    }
    end.saturating_sub(first).div_ceil(stride) * 4
}

/// Zeroes the counters of this thread.
#[inline(always)]
fn clear(counters: Shared<u32>) {
    let mut i = thread::thread_idx_x();
    while i < counters.len() {
        counters.set(i, 0);
        i += HISTOGRAM_THREADS;
    }
}

/// Calls `f` with index and both counters of each word of this thread.
#[inline(always)]
fn each_word(counters: Shared<u32>, mut f: impl FnMut(u32, [u32; 2])) {
    let mut i = thread::thread_idx_x();
    while i < counters.len() {
        let word = counters.get(i);
        f(i, [word & 0xffff, word >> 16]);
        i += HISTOGRAM_THREADS;
    }
}
