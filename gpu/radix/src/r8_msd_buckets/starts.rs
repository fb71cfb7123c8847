//! Launch 2: where each bucket starts, and which tiles the second partition has.

use super::{PARTITION_THREADS, partition_tile};
use crate::warp_scan;
use simt::{Global, grid, kernel, shared, thread, warp};

/// Threads per block, and most buckets per block.
pub const STARTS_THREADS: u32 = 512;

const WARPS: u32 = STARTS_THREADS / warp::WARP;

/// Blocks: one for each value of the first partition's bits; one in all if that is the only partition.
pub const fn starts_blocks(first_bits: u32, second_bits: u32) -> u32 {
    if second_bits == 0 { 1 } else { 1 << first_bits }
}

/// Where the cursor of top bucket `d` lies: eight per 128-byte line, so that the atomics of all blocks on a few hundred
/// cursors are spread over many lines of the L2 cache.
#[inline(always)]
pub const fn spread(d: u32) -> u32 {
    (d >> 3) * 32 + (d & 7)
}

shared!(OWN: [u32; WARPS]);
shared!(BELOW: [u32; WARPS]);

/// Turns the histogram of `1 << (first_bits + second_bits)` buckets of `n` keys into starts.
///
/// `starts`: one word per bucket, and the end. `second`, `first`: one cursor per bucket and per top bucket (placed by
/// [`spread`]), set to its start; with one partition only `first`, one word per bucket. `tiles`: four words per tile:
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
    let (lane, w) = (warp::lane_id(), t / warp::WARP);
    let two = second_bits != 0;
    let buckets = if two { 1 << second_bits } else { 1 << first_bits };
    let mine = q * buckets;
    grid::let_next_start();
    grid::wait_for_previous(); // the histogram is complete
    let count = if t < buckets { histogram.get(mine + t) } else { 0 };
    let below = warp::reduce_add(warp::FULL, sum_below(histogram, mine));
    let inclusive = warp_scan(count);
    if lane == warp::WARP - 1 {
        OWN::view().set(w, inclusive);
    }
    if lane == 0 {
        BELOW::view().set(w, below);
    }
    thread::sync_threads(); // every warp's sums are there before they are added up
    let (own, below) = if lane < WARPS { (OWN::view().get(lane), BELOW::view().get(lane)) } else { (0, 0) };
    let low = warp::reduce_add(warp::FULL, below);
    let high = low + warp::reduce_add(warp::FULL, own);
    let start = low + warp::reduce_add(warp::FULL, if lane < w { own } else { 0 }) + inclusive - count;
    if t < buckets {
        starts.set(mine + t, start);
        if two { second.set(mine + t, start) } else { first.set(t, start) }
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
        let mut j = t;
        while slot + j < end {
            let at = origin + j * tile;
            let words = if j < used { [low.max(at), high.min(at.saturating_add(tile)), mine, at] } else { [0; 4] };
            tiles.set_pack(slot + j, words);
            j += STARTS_THREADS;
        }
    }
}

/// The number of keys in the buckets before `end` that this thread adds up.
#[inline(always)]
fn sum_below(histogram: Global<u32>, end: u32) -> u32 {
    let mut sum = 0;
    let mut i = thread::thread_idx_x();
    while i < end / 4 {
        let [a, b, c, d] = histogram.get_pack(i);
        sum += a + b + c + d;
        i += STARTS_THREADS;
    }
    sum
}
