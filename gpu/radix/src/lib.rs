//! # Radix sort
//!
//! Sorting by digits instead of comparisons. The first rungs sort columns inside one block, bit by bit, and merge them
//! in four ways; the merge is the expensive part, because it outputs one key at a time. From `lsd-blocks` on many
//! blocks sort together: by digits from the last one on (`lsd-blocks`, `lsd-ballot`, `onesweep`), then by the first
//! digits (`msd-buckets`).
#![no_std]
#![cfg_attr(target_os = "cuda", feature(asm_experimental_arch))]
#![cfg_attr(all(target_os = "cuda", not(feature = "rust-cuda")), feature(abi_ptx))]

#[cfg(not(target_os = "cuda"))]
extern crate std;

pub mod columns;
pub mod r1_columns_one_thread;
pub mod r2_columns_atomic_min;
pub mod r3_columns_tree;
pub mod r4_columns_groups;
pub mod r5_lsd_blocks;
pub mod r6_lsd_ballot;
pub mod r7_onesweep;
pub mod r8_msd_buckets;

pub use rungs_common::keys::UNSIGNED;
use rungs_common::keys::Word;
use rungs_common::operator::{Sum, warp_scan_inclusive};
use simt::atomic::{Order::Relaxed, Scope};
use simt::{Global, Shared, shared, thread, unroll, warp};

/// A key as radix sort sees it: an unsigned word made of digits.
pub trait Digits: Word + Ord {
    /// The largest word.
    const LARGEST: Self;
    /// The `bits` bits from bit `shift` on.
    fn digit(self, shift: u32, bits: u32) -> u32;
}

impl Digits for u32 {
    const LARGEST: Self = u32::MAX;

    #[simt::device]
    fn digit(self, shift: u32, bits: u32) -> u32 {
        self >> shift & ((1 << bits) - 1)
    }
}

impl Digits for u64 {
    const LARGEST: Self = u64::MAX;

    #[simt::device]
    fn digit(self, shift: u32, bits: u32) -> u32 {
        // No digit lies across the halves. The branch is the same for all keys, and 32-bit shifts are cheaper.
        let half = if shift < 32 { self as u32 } else { (self >> 32) as u32 };
        half >> (shift % 32) & ((1 << bits) - 1)
    }
}

/// The sum of `value` over the lanes up to the caller's.
#[simt::device]
#[track_caller]
pub fn warp_scan(value: u32) -> u32 {
    warp_scan_inclusive::<Sum, u32>(value)
}

/// Threads of the block that scans a long array.
pub const SCAN_THREADS: u32 = 1024;

/// 16-byte loads per thread and round.
const SCAN_PACKS: u32 = 2;

/// Counts per round.
const SCAN_ROUND: u32 = SCAN_THREADS * SCAN_PACKS * 4;

shared!(SUMS: [u32; warp::WARP]);

/// Makes each element the sum of those before it, in one block of [`SCAN_THREADS`].
#[simt::device]
pub fn scan_in_one_block(counts: Global<u32>) {
    let (t, lane) = (thread::thread_idx_x(), warp::lane_id());
    let (w, packs) = (t / warp::WARP, counts.len() / 4);
    let mut carry = 0;
    let mut first = 0;
    while first < counts.len() {
        let mut mine = [[0u32; 4]; SCAN_PACKS as usize];
        let at = |p: usize| first / 4 + t * SCAN_PACKS + p as u32;
        unroll::<{ SCAN_PACKS as usize }>(|p| {
            if at(p) < packs {
                mine[p] = counts.get_pack(at(p));
            } else {
                // The last elements, fewer than 4, one by one.
                unroll::<4>(|j| {
                    if at(p) * 4 + (j as u32) < counts.len() {
                        mine[p][j] = counts.get(at(p) * 4 + j as u32);
                    }
                });
            }
        });
        let mut sum = 0;
        unroll::<{ SCAN_PACKS as usize }>(|p| unroll::<4>(|j| sum += mine[p][j]));
        let inclusive = warp_scan(sum);
        if lane == warp::WARP - 1 {
            SUMS::view().set(w, inclusive);
        }
        thread::sync_threads(); // every warp's sum is there before they are added up
        let sums = SUMS::view().get(lane);
        let mut next = carry + warp::reduce_add(warp::FULL, if lane < w { sums } else { 0 }) + inclusive - sum;
        carry += warp::reduce_add(warp::FULL, sums);
        unroll::<{ SCAN_PACKS as usize }>(|p| {
            unroll::<4>(|j| (mine[p][j], next) = (next, next + mine[p][j]));
            if at(p) < packs {
                counts.set_pack(at(p), mine[p]);
            } else {
                unroll::<4>(|j| {
                    if at(p) * 4 + (j as u32) < counts.len() {
                        counts.set(at(p) * 4 + j as u32, mine[p][j]);
                    }
                });
            }
        });
        thread::sync_threads(); // all have read the sums before the next round writes them
        first += SCAN_ROUND;
    }
}

/// The sum of `value` over the threads before the caller and the sum over all, modulo 2³², in a block of `WARPS` warps,
/// at most 32. `sums` has one element per warp; it takes a barrier before it can be used again.
#[simt::device]
#[track_caller]
pub fn block_scan<const WARPS: u32>(value: u32, sums: Shared<u32>) -> (u32, u32) {
    let (w, lane) = (thread::thread_idx_x() / warp::WARP, warp::lane_id());
    let inclusive = warp_scan(value);
    if lane == warp::WARP - 1 {
        sums.set(w, inclusive);
    }
    thread::sync_threads(); // every warp's sum is there before they are added up
    let sum = if lane < WARPS { sums.get(lane) } else { 0 };
    let below = warp::reduce_add(warp::FULL, if lane < w { sum } else { 0 });
    (below.wrapping_add(inclusive).wrapping_sub(value), warp::reduce_add(warp::FULL, sum))
}

/// Bits of a digit, for rungs with long digits.
pub const BITS: u32 = 8;

/// Values of a digit.
pub const DIGITS: u32 = 1 << BITS;

/// The lanes of the warp whose `digit` of `bits` bits is the caller's: one ballot per bit.
#[simt::device]
pub fn match_digit(digit: u32, bits: u32) -> u32 {
    let mut same = warp::FULL;
    unroll::<8>(|b| {
        if (b as u32) < bits {
            let set = digit >> b & 1 != 0;
            let yes = warp::ballot(warp::FULL, set);
            same &= if set { yes } else { !yes };
        }
    });
    same
}

/// The lanes below the caller's, one bit each.
#[simt::device]
pub fn lanes_below() -> u32 {
    (1 << warp::lane_id()) - 1
}

/// The rank of the digit (of 8 bits) of each lane among equal ones: their number in earlier rows of the warp plus that
/// in the lanes below. `counters` has one word per digit with the number in earlier rows. `lanes` has one word per
/// digit, zero before and after: lanes with the same digit are matched by an atomic `or` in it. Both belong to this
/// warp.
#[simt::device]
#[track_caller]
pub fn rank_row(digit: u32, counters: Shared<u32>, lanes: Shared<u32>) -> u32 {
    let lane = warp::lane_id();
    lanes.fetch_or(digit, 1 << lane, Relaxed, Scope::Block);
    warp::sync_warp(warp::FULL); // every lane's bit is set before the sets are read
    let same = lanes.get(digit);
    let rank = counters.get(digit) + (same & lanes_below()).count_ones();
    warp::sync_warp(warp::FULL); // all lanes have read before the last of each digit writes
    if same & !lanes_below() == 1 << lane {
        counters.set(digit, rank + 1);
        lanes.set(digit, 0);
    }
    warp::sync_warp(warp::FULL); // counts and sets are up to date before the next row
    rank
}

/// How many keys of `WARPS` warps have a digit. `counters` has a row per warp, with a counter per digit.
#[simt::device]
pub fn count_of_digit<const WARPS: usize>(counters: Shared<u32>, digit: u32) -> u32 {
    let mut total = 0;
    unroll::<WARPS>(|w| total += counters.get(w as u32 * DIGITS + digit));
    total
}

/// Turns the counters of a digit into places, from `start` on, warp by warp.
#[simt::device]
pub fn place_digit<const WARPS: usize>(counters: Shared<u32>, digit: u32, start: u32) {
    let mut next = start;
    unroll::<WARPS>(|w| {
        let count = counters.get(w as u32 * DIGITS + digit);
        counters.set(w as u32 * DIGITS + digit, next);
        next += count;
    });
}

/// Calls `f` with `from`, `from` + `step` and so on below `end`.
#[simt::device]
#[track_caller]
pub fn strided(from: u32, end: u32, step: u32, mut f: impl FnMut(u32)) {
    let mut i = from;
    while i < end {
        f(i);
        i += step;
    }
}

/// Calls `f` with packs `first`, `first` + s, `first` + 2 s and so on of `keys` below `end`, where s is the number of
/// threads of the grid. Each thread has `IN_FLIGHT` loads in flight.
#[simt::device]
pub fn each_pack<const IN_FLIGHT: usize, W: Digits>(keys: Global<W>, first: u32, end: u32, f: impl Fn(W::Pack)) {
    let (mut i, stride) = (first, thread::grid_threads_1d());
    while i + (IN_FLIGHT as u32 - 1) * stride < end {
        let mut packs = [W::Pack::default(); IN_FLIGHT];
        // Not by the read-only cache: the grid before may still have been writing when this one started.
        unroll::<IN_FLIGHT>(|p| packs[p] = keys.get_pack_streaming(i + p as u32 * stride));
        unroll::<IN_FLIGHT>(|p| f(packs[p]));
        i += IN_FLIGHT as u32 * stride;
    }
    while i < end {
        f(keys.get_pack_streaming(i));
        i += stride;
    }
}

/// Bytes of dynamic shared memory of [`sort_by_digits`]: a counter and a set of lanes for each warp and digit.
pub const fn by_digits_shared(warps: u32) -> u32 {
    2 * warps * DIGITS * 4
}

/// Sorts keys `start` to `end`, whose lowest `left` bits may differ, into the same place of `output`, by the `WARPS`
/// warps of a block, at least one thread per digit. The keys are in `output` or in `scratch`; this place of the other
/// array is overwritten. `sums` has one element per warp.
///
/// An LSD radix sort in global memory. Each warp has a share of the keys, and a counter for each digit. The counts of
/// all warps become the places where the next key of a digit from a warp goes, digit by digit and within a digit warp
/// by warp, so that a pass keeps the order of the one before.
#[simt::device]
#[track_caller]
#[rustfmt::skip]
pub fn sort_by_digits<const WARPS: u32>(
    scratch: Global<u32>, output: Global<u32>, in_output: bool, start: u32, end: u32, left: u32, sums: Shared<u32>,
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
        strided(lane, DIGITS, warp::WARP, |d| {
            own.set(d, 0);
            lanes.set(d, 0);
        });
        warp::sync_warp(warp::FULL); // the counters of the warp are zero before the first key is counted
        strided(begin + lane, behind, warp::WARP, |i| {
            own.fetch_add(digit(from.get(i)), 1, Relaxed, Scope::Block);
        });
        thread::sync_threads(); // every warp has counted its keys before the counts are added up
        // Thread t is digit t, whose counters are a column.
        let (mut total, mut next) = (0, start);
        let column = if t < DIGITS { WARPS * DIGITS } else { 0 };
        strided(t, column, DIGITS, |v| total += counters.get(v));
        next += block_scan::<WARPS>(total, sums).0;
        strided(t, column, DIGITS, |v| {
            let found = counters.get(v);
            counters.set(v, next);
            next += found;
        });
        thread::sync_threads(); // every warp knows where its keys of each digit go
        strided(begin, behind, warp::WARP, |row| {
            // A key behind the end counts as the largest: it is the last of its digit, and is not stored.
            let i = row + lane;
            let key = if i < behind { from.get(i) } else { u32::LARGEST };
            let place = rank_row(digit(key), own, lanes);
            if i < behind {
                to.set(place, key);
            }
        });
        pass += 1;
    }
}

/// Merges the upper half of a sorted run of 12 keys with the lower half of the next one. `two`: both runs. `keys`: the
/// upper half; then the merged keys.
#[simt::device]
#[track_caller]
pub fn merge_seam(two: Shared<u32>, keys: &mut [u32; 12]) {
    let pairs = two.cast::<u64>();
    [keys[6], keys[7], keys[8], keys[9]] = two.get_pack(3);
    (keys[10], keys[11]) = (pairs.get(8) as u32, (pairs.get(8) >> 32) as u32);
    merge_6_6(keys);
    pairs.set(3, keys[0] as u64 | (keys[1] as u64) << 32);
    two.set_pack(2, [keys[2], keys[3], keys[4], keys[5]]);
    two.set_pack(3, [keys[6], keys[7], keys[8], keys[9]]);
    pairs.set(8, keys[10] as u64 | (keys[11] as u64) << 32);
}

macro_rules! compare_exchange {
    ($keys:ident: $($a:literal $b:literal),*) => {$(
        let (x, y) = ($keys[$a], $keys[$b]);
        $keys[$a] = x.min(y);
        $keys[$b] = x.max(y);
    )*};
}

/// A sorting network for 12 keys with 41 comparators.
#[simt::device]
#[rustfmt::skip]
pub fn sort_12<W: Digits>(keys: &mut [W; 12]) {
    compare_exchange!(keys:
        0 8, 1 9, 2 10, 3 11, 0 4, 1 5, 2 6, 3 7, 4 8, 5 9, 6 10, 7 11, 0 2, 1 3, 4 6, 5 7, 8 10, 9 11, 2 8, 3 9, 2 4,
        3 5, 6 8, 7 9, 0 1, 2 3, 4 5, 6 7, 8 9, 10 11, 1 8, 3 10, 1 4, 3 6, 5 8, 7 10, 1 2, 3 4, 5 6, 7 8, 9 10);
}

/// Merges two sorted runs of 6 with 19 comparators.
#[simt::device]
#[rustfmt::skip]
pub fn merge_6_6<W: Digits>(keys: &mut [W; 12]) {
    compare_exchange!(keys:
        2 10, 2 6, 0 8, 4 8, 0 2, 4 6, 8 10, 3 11, 3 7, 1 9, 5 9, 1 3, 5 7, 9 11, 1 2, 3 4, 5 6, 7 8, 9 10);
}

#[cfg(not(target_os = "cuda"))]
pub use host::LADDER;

#[cfg(not(target_os = "cuda"))]
mod host {
    use super::*;
    use rungs_common::ladder::sort::*;

    /// The ladder, from the textbook up.
    pub static LADDER: Ladder<Sort> = Ladder {
        family: "radix",
        about: "sort by digits",
        rungs: &[
            &r1_columns_one_thread::launches::RUNG,
            &r2_columns_atomic_min::launches::RUNG,
            &r3_columns_tree::launches::RUNG,
            &r4_columns_groups::launches::RUNG,
            &r5_lsd_blocks::launches::RUNG,
            &r6_lsd_ballot::launches::RUNG,
            &r7_onesweep::launches::RUNG,
            &r8_msd_buckets::launches::RUNG,
        ],
        default: &r8_msd_buckets::launches::RUNG,
    };
}
