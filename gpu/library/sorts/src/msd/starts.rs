//! Turns the histogram of the top bits into the starts of buckets.

use super::Key;
use rungs_common::operator::{Sum, warp_scan_inclusive};
use simt::{Global, shared, thread, warp};

/// Threads per block, and most buckets per block.
pub const STARTS_THREADS: u32 = 512;

const WARPS: u32 = STARTS_THREADS / warp::WARP;

shared!(OWN: [u32; WARPS]);
shared!(BELOW: [u32; WARPS]);

/// Where the cursor of top bucket `d` lies: eight per 128-byte line, so that the atomics of all blocks on a few hundred
/// cursors are spread over many lines of the L2 cache.
#[simt::device]
pub const fn spread(d: u32) -> u32 {
    (d >> 3) * 32 + (d & 7)
}

/// Turns the histogram, once it is complete, into starts, cursors and tiles, see
/// [`radix_pieces_starts`](crate::buckets::radix_pieces_starts). Calls `see` with the start and
/// the number of keys of the bucket of each thread; all lanes of a warp call it together.
#[simt::device]
#[track_caller]
#[allow(clippy::too_many_arguments)]
#[rustfmt::skip]
pub fn start_buckets<W: Key>(
    histogram: Global<u32>, n: u32, [first_bits, second_bits]: [u32; 2], starts: Global<u32>,
    [first, second]: [Global<u32>; 2], tiles: Global<u32>, tile: u32, see: impl FnOnce(u32, u32),
) {
    let (t, q) = (thread::thread_idx_x(), thread::block_idx_x());
    let (lane, w) = (warp::lane_id(), t / warp::WARP);
    let two = second_bits != 0;
    let buckets = if two { 1 << second_bits } else { 1 << first_bits };
    let mine = q * buckets;
    let count = if t < buckets { histogram.get(mine + t) } else { 0 };
    let below = warp::reduce_add(warp::FULL, sum_below(histogram, mine));
    let inclusive = warp_scan_inclusive::<Sum, u32>(count);
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
    see(start, count);
    let last = q == thread::grid_dim_x() - 1;
    if t == 0 && last {
        starts.set(mine + buckets, n);
    }
    if two {
        if t == 0 {
            first.set(spread(q), low);
        }
        let (slot, end) = (low / tile + q, if last { n } else { high } / tile + q + 1);
        let origin = low & !(W::PACK - 1);
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
#[simt::device]
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
