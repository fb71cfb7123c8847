//! Step 2: where each bucket starts, and which tiles the second partition has.

use super::{BUCKET_MAX, IN_OUTPUT, IN_SCRATCH, Leftover, Limits, Lists, warp_scan};
use simt::{Global, grid, kernel, shared, thread, warp};

/// Threads a block, and buckets that one block looks after, at most.
pub const STARTS_THREADS: u32 = 512;

const WARPS: u32 = STARTS_THREADS / warp::WARP;

shared!(OWN: [u32; WARPS]);
shared!(BELOW: [u32; WARPS]);

/// Blocks: one for each value of the first partition's bits; one in all if that is the only partition.
pub const fn starts_blocks(first_bits: u32, second_bits: u32) -> u32 {
    if second_bits == 0 { 1 } else { 1 << first_bits }
}

/// Where the cursor of top bucket `d` lies: eight to a 128-byte line, so that the atomics of all blocks on a few
/// hundred cursors meet in many lines of the second-level cache.
#[inline(always)]
pub const fn spread(d: u32) -> u32 {
    (d >> 3) * 32 + (d & 7)
}

/// Turns the histogram of `1 << (first_bits + second_bits)` buckets into starts.
///
/// `starts`: one more than buckets. `second`, `first`: a cursor for each bucket and each top bucket ([`spread`]), set
/// to its start; with one partition only `first`, dense, one a bucket. `tiles`: four words a tile: begin, end, first
/// bucket, and the multiple of a pack that the tile counts from. The tiles of top bucket q stand from
/// ⌊start_q / tile⌋ + q on, which needs no scan over the numbers of tiles; descriptors that no tile needs are empty.
/// `tile`: keys of a tile, `pack`: keys of 16 bytes. Buckets that are too large for the bucket sort are put on the
/// `lists`; `key_bits`: bits of a key, `tally_bits`, `least_bits`: see [`Limits`].
#[kernel(max_threads = STARTS_THREADS)]
#[rustfmt::skip]
pub fn radix_msd_buckets_starts(
    histogram: Global<u32>, n: u32, first_bits: u32, second_bits: u32, starts: Global<u32>, second: Global<u32>,
    first: Global<u32>, tiles: Global<u32>, tile: u32, pack: u32, key_bits: u32, lists: Global<u32>, tally_bits: u32, least_bits: u32,
) {
    let (t, q) = (thread::thread_idx_x(), thread::block_idx_x());
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
    if warp::any(warp::FULL, count > BUCKET_MAX) {
        let lists = Lists::new(lists, n, Limits { tally_bits, least_bits });
        let array = if two { IN_OUTPUT } else { IN_SCRATCH };
        // Its keys may differ in all bits below the top ones.
        let leftover = Leftover { start, end: start + count, left: key_bits - first_bits - second_bits, array };
        lists.push_large(0, count > BUCKET_MAX, leftover, tile, pack);
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
        let origin = low & !(pack - 1);
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

/// This thread's share of the keys in the buckets before `end`.
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
