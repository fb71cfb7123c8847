//! Sorts the buckets that do not fit a block.
//!
//! The ends of the range of a learned map are found from few keys, so the first bucket and the last one are larger than
//! others, and a sample misses some clusters. A block sorts such a bucket in pieces that fit, and merges them: a pair
//! knows its place in its own piece, and finds it in each other one by a binary search.

use super::window::{Block, LearnedBuckets, Window};
use super::{Buckets, by_buckets};
use crate::msd::{clear_counters, extremes};
use rungs_common::keys::{UNSIGNED, Word};
use simt::atomic::{Order::Relaxed, Scope};
use simt::{Global, Shared, grid, kernel, shared, thread, warp};

/// Threads per block.
pub const OVERSIZED_THREADS: u32 = LearnedBuckets::THREADS;

/// Blocks per SM.
pub const OVERSIZED_BLOCKS: u32 = 2;

/// Pairs of a piece, a multiple of 32.
pub const PIECE: u32 = LearnedBuckets::MOST / 32 * 32;

// How many buckets this block has found, and which.
shared!(FOUND: [u32; 1]);
shared!(OVERSIZED: [u32; OVERSIZED_THREADS]);

/// Sorts in place each of `1 << bits` buckets that [`radix_msd_pairs_bucket_sort`](super::radix_msd_pairs_bucket_sort)
/// has left alone, since they have more than `most` pairs, by way of `other`, memory for as many pairs. Thread t of
/// block b looks at bucket t · blocks + b, so that neighbours, which are alike, have different blocks.
#[kernel(max_threads = OVERSIZED_THREADS, min_blocks = OVERSIZED_BLOCKS, max_spills = 16)]
#[rustfmt::skip]
pub fn radix_msd_pairs_oversized(
    keys: Global<u32>, values: Global<u32>, other: Global<u64>, order: u32, bits: u32, most: u32,
    control: Global<u32>, buckets: Global<u32>, sort: u32,
) {
    let t = thread::thread_idx_x();
    let (found, list) = (FOUND::view(), OVERSIZED::view());
    grid::let_next_start();
    if t == 0 {
        found.set(0, 0);
    }
    grid::wait_for_previous(); // pairs, starts and the choice of path
    if !by_buckets(control, buckets, sort) {
        return;
    }
    thread::sync_threads(); // none is found before the first is
    let starts = Buckets::new(buckets).starts;
    let b = t * thread::grid_dim_x() + thread::block_idx_x();
    if b < 1 << bits && starts.get(b + 1) - starts.get(b) > most {
        list.set(found.fetch_add(0, 1, Relaxed, Scope::Block), b);
    }
    thread::sync_threads(); // all are found before the first is sorted
    let mut i = 0;
    while i < found.get(0) {
        let (start, end) = (starts.get(list.get(i)), starts.get(list.get(i) + 1));
        let [keys, values] = [keys, values].map(|all| all.slice(0, end));
        sort_oversized(keys, values, other, order, start);
        thread::sync_threads(); // all are done with the shared memory before the next bucket uses it
        i += 1;
    }
}

/// Sorts the pairs from `start` on.
#[simt::device]
#[track_caller]
fn sort_oversized(keys: Global<u32>, values: Global<u32>, other: Global<u64>, order: u32, start: u32) {
    let (first, end) = (start + thread::thread_idx_x(), keys.len());
    if are_equal(keys, first) {
        let mut i = first;
        while i < end {
            keys.set(i, keys.get(i).decode(order));
            i += OVERSIZED_THREADS;
        }
    } else {
        let mut piece = start;
        while piece < end {
            clear_counters(OVERSIZED_THREADS);
            let window = Window::<LearnedBuckets>::new(piece, end.min(piece + PIECE));
            window.sort_any(false, keys, values, UNSIGNED);
            thread::sync_threads(); // the piece is in order, and the shared memory is free
            piece += PIECE;
        }
        let mut i = first;
        while i < end {
            let key = keys.get(i);
            other.set(place(keys, start, i, key), key as u64 | (values.get(i) as u64) << 32);
            i += OVERSIZED_THREADS;
        }
        thread::sync_threads(); // all pairs are read, and are in order, before the first is overwritten
        let mut i = first;
        while i < end {
            let pair = other.get(i);
            keys.set(i, (pair as u32).decode(order));
            values.set(i, (pair >> 32) as u32);
            i += OVERSIZED_THREADS;
        }
    }
}

/// Whether all keys are equal, of which this thread has number `first`, and every [`OVERSIZED_THREADS`]th behind it.
#[simt::device]
#[track_caller]
fn are_equal(keys: Global<u32>, first: u32) -> bool {
    let (mut i, mut ends) = (first, [u32::MAX, 0]);
    while i < keys.len() {
        let key = keys.get(i);
        ends = [ends[0].min(key), ends[1].max(key)];
        i += OVERSIZED_THREADS;
    }
    let slots = Shared::dynamic(0, 2 * warp::WARP);
    let (least, greatest) = extremes::<u32>(ends[0], ends[1], slots, OVERSIZED_THREADS / warp::WARP);
    thread::sync_threads(); // all have read the extremes before their memory is used again
    least == greatest
}

/// Where pair `i`, which has the `key`, belongs in a bucket from `start` on whose pieces are sorted.
#[simt::device]
fn place(keys: Global<u32>, start: u32, i: u32, key: u32) -> u32 {
    let (mut place, mut piece) = (start, start);
    while piece < keys.len() {
        let end = keys.len().min(piece + PIECE);
        place += if i >= end {
            // Equal keys of earlier pieces come before this one,
            before(keys, piece, end, |other| other <= key)
        } else if i >= piece {
            i - piece
        } else {
            // and those of later pieces behind it.
            before(keys, piece, end, |other| other < key)
        };
        piece += PIECE;
    }
    place
}

/// How many keys of a sorted piece `come_first`.
#[simt::device]
fn before(keys: Global<u32>, piece: u32, mut end: u32, come_first: impl Fn(u32) -> bool) -> u32 {
    let mut begin = piece;
    while begin < end {
        let middle = begin + (end - begin) / 2;
        if come_first(keys.get(middle)) {
            begin = middle + 1;
        } else {
            end = middle;
        }
    }
    begin - piece
}
