//! The slow way for a bucket of any size and any content: by digits from the last, by one block, in global memory.
//!
//! Each warp has a share of the bucket, and a counter for each digit. The counts of all warps become the places where
//! the next key of a digit from a warp goes, digit by digit and within a digit warp by warp, so that a pass keeps the
//! order of the one before.

use super::BUCKET_SORT_THREADS;
use crate::{BITS, DIGITS, Digits, block_scan, rank_row};
use simt::atomic::{Order::Relaxed, Scope};
use simt::{Global, Shared, shared, thread, warp};

const _: () = assert!(DIGITS <= BUCKET_SORT_THREADS, "one thread per digit adds up the counts");

const WARPS: u32 = BUCKET_SORT_THREADS / warp::WARP;

/// Bytes of dynamic shared memory: a counter and a set of lanes for each warp and digit.
pub const BY_DIGITS_SHARED: u32 = 2 * WARPS * DIGITS * 4;

shared!(SUMS: [u32; WARPS]);

/// Sorts keys `start` to `end`, whose lowest `left` bits may differ, into the same place of `output`, by all threads of
/// the block. The keys are in `output` or in `scratch`; what lies at this place of the other array is overwritten.
#[inline(always)]
#[track_caller]
#[rustfmt::skip]
pub fn sort_by_digits(
    scratch: Global<u32>, output: Global<u32>, in_output: bool, start: u32, end: u32, left: u32,
) {
    let (t, lane) = (thread::thread_idx_x(), warp::lane_id());
    let w = t / warp::WARP;
    let counters = Shared::<u32>::dynamic(0, WARPS * DIGITS);
    let own = counters.slice(w * DIGITS, DIGITS);
    let lanes = Shared::<u32>::dynamic((WARPS + w) * DIGITS * 4, DIGITS);
    let count = end - start;
    let share = count.div_ceil(WARPS);
    let (begin, behind) = (start + (w * share).min(count), start + ((w + 1) * share).min(count));
    // As many passes as end in the output. One more than there are digits is a copy: keys share the top bits.
    let passes = left.div_ceil(BITS);
    let passes = passes + (passes + !in_output as u32) % 2;
    let mut pass = 0;
    while pass < passes {
        let (from, to) = if in_output == (pass % 2 == 0) { (output, scratch) } else { (scratch, output) };
        let digit = |key: u32| key.digit(pass * BITS, BITS);
        thread::sync_threads(); // all keys have been moved, and shared memory is in use no more, before it is cleared
        let mut d = lane;
        while d < DIGITS {
            own.set(d, 0);
            lanes.set(d, 0);
            d += warp::WARP;
        }
        warp::sync_warp(warp::FULL); // the counters of the warp are zero before the first key is counted
        let mut i = begin + lane;
        while i < behind {
            own.fetch_add(digit(from.get(i)), 1, Relaxed, Scope::Block);
            i += warp::WARP;
        }
        thread::sync_threads(); // every warp has counted its keys before the counts are added up
        // Thread t is digit t.
        let (mut total, mut v) = (0, t);
        while v < WARPS * DIGITS && t < DIGITS {
            total += counters.get(v);
            v += DIGITS;
        }
        let (before, _) = block_scan::<WARPS>(total, SUMS::view());
        let (mut next, mut v) = (start + before, t);
        while v < WARPS * DIGITS && t < DIGITS {
            let found = counters.get(v);
            counters.set(v, next);
            next += found;
            v += DIGITS;
        }
        thread::sync_threads(); // every warp knows where its keys of each digit go
        let mut row = begin;
        while row < behind {
            // A key behind the end counts as the largest: it is the last of its digit, and is not stored.
            let i = row + lane;
            let key = if i < behind { from.get(i) } else { u32::LARGEST };
            let place = rank_row(digit(key), own, lanes);
            if i < behind {
                to.set(place, key);
            }
            row += warp::WARP;
        }
        pass += 1;
    }
}
