//! Sorts keys in the shared memory of one block however crowded they are: from the last digit on, ranked by votes.

use super::in_block::{differing_bits, slots};
use super::runs::ITEMS;
use super::{Key, Mapping};
use crate::radix::digits::{BITS, DIGITS};
use crate::radix::steps::{block_scan_of, rank_row_by_votes};
use simt::{Global, Shared, thread, unroll, warp};

/// Bytes of dynamic shared memory in which places are counted: a counter per warp and digit, and a sum per warp. The
/// keys lie there too, once all places are known.
const fn counters_bytes(threads: u32) -> u32 {
    4 * (threads / warp::WARP * DIGITS + warp::WARP)
}

/// Sorts keys `start` to `end` of `input`, at most [`in_block_most`](super::in_block_most), into the same place of
/// `output`. All `THREADS` threads of the block call it.
///
/// A pass takes eight bits, from the lowest in which keys differ to the highest. Votes rank the keys of a warp, which
/// takes the same time however many digits are equal.
#[inline(always)]
#[track_caller]
pub fn sort_by_votes<W: Key, M: Mapping, const THREADS: u32>(
    input: Global<W>,
    output: Global<W>,
    order: u32,
    start: u32,
    end: u32,
) {
    const { assert!(counters_bytes(THREADS) <= super::in_block_shared::<W>(THREADS)) };
    let (t, lane) = (thread::thread_idx_x(), warp::lane_id());
    let (w, warps) = (t / warp::WARP, const { THREADS / warp::WARP });
    let counters = Shared::<u32>::dynamic(0, warps * DIGITS);
    let sums = Shared::<u32>::dynamic(4 * warps * DIGITS, warp::WARP);
    let own = counters.slice(w * DIGITS, DIGITS);
    let sorted = Shared::<W>::dynamic(0, const { slots(THREADS) });
    // Rows of 32 keys that each warp has, one after the other. What is behind the keys counts as the largest digit: it
    // is the last of all, and stays there.
    let count = end - start;
    let rows = count.div_ceil(THREADS);
    let at = |i: usize| (w * rows + i as u32) * warp::WARP + lane;
    let (from, to) = (input.slice(start, count), output.slice(start, count));
    let mut keys = [W::LARGEST; ITEMS as usize];
    let (some, mut differ) = (from.get(0), 0);
    unroll::<{ ITEMS as usize }>(|i| {
        if (i as u32) < rows && at(i) < count {
            keys[i] = from.get_streaming(at(i));
            differ |= keys[i].bits() ^ some.bits();
        }
    });
    let differ = differing_bits::<W>(differ);
    let (mut shift, behind) = (differ.trailing_zeros(), u64::BITS - differ.leading_zeros());
    while shift < behind {
        unroll::<{ (DIGITS / warp::WARP) as usize }>(|i| own.set(i as u32 * warp::WARP + lane, 0));
        warp::sync_warp(warp::FULL); // the counters of the warp are zero before the first key is counted
        let digit = |i: usize, key: W| if at(i) < count { key.digit_at(shift, BITS) } else { DIGITS - 1 };
        // Two ranks per word, because registers are few.
        let mut places = [0u32; ITEMS as usize / 2];
        unroll::<{ ITEMS as usize }>(|i| {
            if (i as u32) < rows {
                let (rank, _) = rank_row_by_votes(digit(i, keys[i]), own);
                places[i / 2] |= rank << (i % 2 * 16);
            }
        });
        thread::sync_threads(); // every warp has counted its keys before the counts are added up
        // Thread t is digit t.
        let (mut total, mut v) = (0, t);
        while v < warps * DIGITS && t < DIGITS {
            total += counters.get(v);
            v += DIGITS;
        }
        let (before, _) = block_scan_of(warps, total, sums);
        let (mut next, mut v) = (before, t);
        while v < warps * DIGITS && t < DIGITS {
            let found = counters.get(v);
            counters.set(v, next);
            next += found;
            v += DIGITS;
        }
        thread::sync_threads(); // every warp knows where its keys of each digit go
        unroll::<{ ITEMS as usize }>(|i| {
            if (i as u32) < rows {
                // Fewer than 2¹⁶ keys: the sum stays within its half.
                places[i / 2] += own.get(digit(i, keys[i])) << (i % 2 * 16);
            }
        });
        thread::sync_threads(); // all counters have been read before keys overwrite them
        unroll::<{ ITEMS as usize }>(|i| {
            if (i as u32) < rows {
                sorted.set(places[i / 2] >> (i % 2 * 16) & 0xffff, keys[i]);
            }
        });
        thread::sync_threads(); // all keys are in their places before they are read
        unroll::<{ ITEMS as usize }>(|i| {
            if (i as u32) < rows {
                keys[i] = sorted.get(at(i));
            }
        });
        thread::sync_threads(); // all keys have been read before counters overwrite them
        shift += BITS;
    }
    unroll::<{ ITEMS as usize }>(|i| {
        if (i as u32) < rows && at(i) < count {
            to.set(at(i), M::decode(keys[i], order));
        }
    });
}
