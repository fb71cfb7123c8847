//! Launches 1 and 2: count the keys of each bucket, and find where each bucket starts.

use super::*;

/// Threads per block of the histogram.
pub const HISTOGRAM_THREADS: u32 = 1024;

/// 16-byte loads in flight per thread.
const IN_FLIGHT: usize = 4;

/// Loads per thread after which no counter can have overflowed.
const FEW: u32 = 12;
const _: () = assert!(FEW * 4 * HISTOGRAM_THREADS < 1 << 16);

shared!(SUMS: [u32; HISTOGRAM_THREADS / warp::WARP]);

/// Adds the number of keys with each value of the top bits to `histogram`, which was zero. Dynamic shared memory: a
/// counter of 16 bits per bucket.
///
/// Two counters share a word. Counters of 16 bits can overflow, so the block compares their sum with the number of keys
/// that it counted: a carry out of the low counter turns 65,536 keys into one, a carry out of the high counter into
/// none. After an overflow the block counts again, and from there on adds up its counters every few keys.
#[kernel(max_threads = HISTOGRAM_THREADS, min_blocks = 1)]
pub fn radix_msd_buckets_histogram(keys: Global<u32>, top_bits: u32, histogram: Global<u32>) {
    let (t, index, stride) = (thread::thread_idx_x(), thread::index_1d(), thread::grid_threads_1d());
    let bucket = |key: u32| key >> (u32::BITS - top_bits);
    // All blocks add to the same histogram.
    let add = |bucket: u32, count: u32| {
        if count != 0 {
            histogram.fetch_add(bucket, count, Relaxed, Scope::Device);
        }
    };
    let counters = Shared::<u32>::dynamic(0, 1 << (top_bits - 1));
    grid::let_next_start();
    strided(t, counters.len(), HISTOGRAM_THREADS, |word| counters.set(word, 0));
    grid::wait_for_previous(); // `histogram` was zeroed, and `keys` may have been written, by grids before
    let packs = keys.len() / 4;
    if index < keys.len() - packs * 4 {
        add(bucket(keys.get(packs * 4 + index)), 1); // the last keys, fewer than a pack
    }
    let (mut first, mut round) = (0, u32::MAX);
    while first < packs && index - t < packs - first {
        thread::sync_threads(); // every counter is zero before the first key is counted
        let end = packs.min(first.saturating_add(round));
        each_pack::<IN_FLIGHT, u32>(keys, first + index, end, |pack| {
            unroll::<4>(|j| {
                let bucket = bucket(pack[j]);
                counters.fetch_add(bucket / 2, if bucket & 1 == 0 { 1 } else { 1 << 16 }, Relaxed, Scope::Block);
            });
        });
        thread::sync_threads(); // every key is counted before counters are read
        let counted = end.saturating_sub(first + index).div_ceil(stride) * 4;
        let mut found = 0;
        strided(t, counters.len(), HISTOGRAM_THREADS, |word| {
            found += (counters.get(word) & 0xffff) + (counters.get(word) >> 16);
        });
        let (_, lost) = block_scan::<{ HISTOGRAM_THREADS / warp::WARP }>(counted.wrapping_sub(found), SUMS::view());
        if lost != 0 {
            round = FEW * stride;
        } else {
            strided(t, counters.len(), HISTOGRAM_THREADS, |word| {
                add(2 * word, counters.get(word) & 0xffff);
                add(2 * word + 1, counters.get(word) >> 16);
            });
            first = end;
        }
        if first < packs {
            thread::sync_threads(); // all have read the counters before they are cleared
            strided(t, counters.len(), HISTOGRAM_THREADS, |word| counters.set(word, 0));
        }
    }
}

/// Threads per block of the second launch, and most buckets per block.
pub const STARTS_THREADS: u32 = 512;

/// Where the cursor of top bucket `d` lies: eight per 128-byte line, so that the atomics of all blocks on a few hundred
/// cursors are spread over many lines of the L2 cache.
#[simt::device]
pub const fn spread(d: u32) -> u32 {
    (d >> 3) * 32 + (d & 7)
}

shared!(OWN: [u32; STARTS_THREADS / warp::WARP]);
shared!(BELOW: [u32; STARTS_THREADS / warp::WARP]);

/// Turns the histogram of `1 << (first_bits + second_bits)` buckets of `n` keys into starts.
///
/// `starts`: one word per bucket, and the end. `second`, `first`: one cursor per bucket and per top bucket (placed by
/// [`spread`]), set to its start; with one partition only `first`. `tiles`: four words per tile:
/// begin, end, first bucket, and the multiple of a pack that the tile starts on. The tiles of top bucket q stand from
/// ⌊start of q / keys per tile⌋ + q on, which takes no scan over the numbers of tiles; descriptors without a tile are
/// empty.
#[kernel(max_threads = STARTS_THREADS)]
#[rustfmt::skip]
pub fn radix_msd_buckets_starts(
    histogram: Global<u32>, n: u32, first_bits: u32, second_bits: u32, starts: Global<u32>, second: Global<u32>,
    first: Global<u32>, tiles: Global<u32>,
) {
    let (t, q, tile) = (thread::thread_idx_x(), thread::block_idx_x(), partition_tile(PARTITION_THREADS));
    let two = second_bits != 0;
    let buckets = if two { 1 << second_bits } else { 1 << first_bits };
    let mine = q * buckets;
    grid::let_next_start();
    grid::wait_for_previous(); // the histogram is complete
    let count = if t < buckets { histogram.get(mine + t) } else { 0 };
    let mut below = 0;
    strided(t, mine / 4, STARTS_THREADS, |i| below += histogram.get_pack(i).into_iter().sum::<u32>());
    let (before, own) = block_scan::<{ STARTS_THREADS / warp::WARP }>(count, OWN::view());
    let (_, low) = block_scan::<{ STARTS_THREADS / warp::WARP }>(below, BELOW::view());
    let (start, high) = (low + before, low + own);
    if t < buckets {
        starts.set(mine + t, start);
        if two { second.set(mine + t, start) } else { first.set(spread(t), start) }
    }
    let last = q == thread::grid_dim_x() - 1;
    if t == 0 && last {
        starts.set(mine + buckets, n);
    }
    if two {
        if t == 0 {
            first.set(spread(q), low);
        }
        let (slot, end) = (low / tile + q, if last { n } else { high } / tile + q + 1);
        let origin = low & !3;
        let used = if high > low { (high - origin).div_ceil(tile) } else { 0 };
        strided(t, end - slot, STARTS_THREADS, |j| {
            let at = origin + j * tile;
            let words = if j < used { [low.max(at), high.min(at.saturating_add(tile)), mine, at] } else { [0; 4] };
            tiles.set_pack(slot + j, words);
        });
    }
}
