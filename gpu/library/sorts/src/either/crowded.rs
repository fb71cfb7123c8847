//! Sorts the keys of one block where many are alike: stable passes from the last digit, in shared memory.
//!
//! Atomics on equal digits would wait for each other, so the rows of a warp are ranked by votes. A pass takes eight
//! bits, and there is none for bits in which no two keys differ. In between the keys are in registers.

use super::THREADS;
use crate::digits::{BITS, DIGITS};
use crate::msd::{ITEMS, Key, differing_bits};
use crate::steps::{block_scan, uniform};
use rungs_radix::r7_onesweep::ranks::rank_row_by_ballots;
use simt::{Global, Shared, shared, thread, unroll, warp};

const WARPS: u32 = THREADS / warp::WARP;

/// Words of counters: one for each warp and digit.
const COUNTERS: u32 = WARPS * DIGITS;

/// Bytes of dynamic shared memory: the counters, and a slot for each key of a thread.
#[cfg(not(target_os = "cuda"))]
pub const fn crowded_shared<W>() -> u32 {
    COUNTERS * 4 + THREADS * ITEMS * size_of::<W>() as u32
}

shared!(CROWDED_SUMS: [u32; WARPS]);

/// Sorts all `keys`, at most [`ITEMS`] per thread, in place, and maps them back from words. All threads of the block
/// call it, once they are done with the shared memory.
#[inline(always)]
#[track_caller]
pub fn sort_crowded<W: Key>(keys: Global<W>, order: u32) {
    let (t, lane) = (thread::thread_idx_x(), warp::lane_id());
    let (w, n) = (t / warp::WARP, keys.len());
    let counters = Shared::<u32>::dynamic(0, COUNTERS);
    let own = counters.slice(w * DIGITS, DIGITS);
    let slots = Shared::<W>::dynamic(COUNTERS * 4, THREADS * ITEMS);
    // Each warp has as many rows of keys, one after the other.
    let rows = n.div_ceil(THREADS);
    let first = w * rows * warp::WARP + lane;
    let place = |i: usize| first + i as u32 * warp::WARP;

    // A key past the end counts as the largest: it stays behind all others, and is not stored.
    let mut mine = [W::LARGEST; ITEMS as usize];
    let (one, mut differ) = (keys.get(0).bits(), 0);
    each(rows, |i| {
        if place(i) < n {
            mine[i] = keys.get(place(i));
            differ |= mine[i].bits() ^ one;
        }
    });
    // In all threads the same.
    let differ = differing_bits::<W>(differ);
    let mut left = uniform(differ as u32) as u64 | (uniform((differ >> 32) as u32) as u64) << 32;

    while left != 0 {
        let shift = left.trailing_zeros();
        left &= !(u64::from(DIGITS - 1) << shift);
        let digit = |key: W| key.digit_at(shift, BITS);
        unroll::<{ (DIGITS / warp::WARP) as usize }>(|d| own.set(d as u32 * warp::WARP + lane, 0));
        warp::sync_warp(warp::FULL); // the warp's counters are zero before the first row is ranked
        let mut ranks = [0; ITEMS as usize];
        each(rows, |i| (ranks[i], _) = rank_row_by_ballots(digit(mine[i]), own));
        thread::sync_threads(); // every warp has counted its keys before the counts are added up
        start_digits(counters);
        thread::sync_threads(); // every warp knows where its keys of each digit go
        each(rows, |i| slots.set(own.get(digit(mine[i])) + ranks[i], mine[i]));
        thread::sync_threads(); // every slot is filled before the keys are read back
        each(rows, |i| mine[i] = slots.get(place(i)));
    }
    each(rows, |i| {
        if place(i) < n {
            keys.set(place(i), mine[i].decode(order));
        }
    });
}

/// Calls `f` with the index of each row.
#[inline(always)]
#[track_caller]
fn each(rows: u32, mut f: impl FnMut(usize)) {
    unroll::<{ ITEMS as usize }>(|i| {
        if (i as u32) < rows {
            f(i);
        }
    });
}

/// Turns the counts of all warps into places, digit by digit and within a digit warp by warp: thread t has digit t.
#[inline(always)]
#[track_caller]
fn start_digits(counters: Shared<u32>) {
    let t = thread::thread_idx_x();
    let mut counts = [0; WARPS as usize];
    let mut total = 0;
    if t < DIGITS {
        unroll::<{ WARPS as usize }>(|v| {
            counts[v] = counters.get(v as u32 * DIGITS + t);
            total += counts[v];
        });
    }
    let (mut next, _) = block_scan::<WARPS>(total, CROWDED_SUMS::view());
    if t < DIGITS {
        unroll::<{ WARPS as usize }>(|v| {
            counters.set(v as u32 * DIGITS + t, next);
            next += counts[v];
        });
    }
}
