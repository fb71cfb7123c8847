//! # Radix sort
//!
//! Sorting by digits instead of comparisons. The first rungs sort columns inside one block, bit by bit, and merge them
//! in four ways; the merge is the expensive part, because it puts out one key at a time. From `lsd-blocks` on many
//! blocks work on one input: digit by digit from the last one (`lsd-blocks`, `lsd-ballot`, `onesweep`), then from the
//! first (`msd-buckets`).
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

    #[inline(always)]
    fn digit(self, shift: u32, bits: u32) -> u32 {
        self >> shift & ((1 << bits) - 1)
    }
}

impl Digits for u64 {
    const LARGEST: Self = u64::MAX;

    #[inline(always)]
    fn digit(self, shift: u32, bits: u32) -> u32 {
        // No digit lies across the halves. The branch is the same for all keys, and 32-bit shifts are cheaper.
        let half = if shift < 32 { self as u32 } else { (self >> 32) as u32 };
        half >> (shift % 32) & ((1 << bits) - 1)
    }
}

/// The sum of `value` over the lanes up to the caller's.
#[inline(always)]
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
#[inline(always)]
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

/// The sum of `value` over the threads before the caller and the sum over all, in a block of `WARPS` warps, at most
/// 32. `sums` has one element per warp; it takes a barrier before it can be used again.
#[inline(always)]
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
    (below + inclusive - value, warp::reduce_add(warp::FULL, sum))
}

/// Bits of a digit, for rungs with long digits.
pub const BITS: u32 = 8;

/// Values of a digit.
pub const DIGITS: u32 = 1 << BITS;

/// The lanes of the warp whose `digit` of `bits` bits is the caller's: one ballot per bit.
#[inline(always)]
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
#[inline(always)]
pub fn lanes_below() -> u32 {
    (1 << warp::lane_id()) - 1
}

/// The rank of the digit (of 8 bits) of each lane among equal ones: their number in earlier rows of the warp plus that
/// in the lanes below. `counters` has one word per digit with the number in earlier rows. `lanes` has one word per
/// digit, zero before and after: lanes with the same digit are matched by an atomic `or` in it. Both belong to this
/// warp.
#[inline(always)]
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
#[inline(always)]
pub fn count_of_digit<const WARPS: usize>(counters: Shared<u32>, digit: u32) -> u32 {
    let mut total = 0;
    unroll::<WARPS>(|w| total += counters.get(w as u32 * DIGITS + digit));
    total
}

/// Turns the counters of a digit into places, from `start` on, warp by warp.
#[inline(always)]
pub fn place_digit<const WARPS: usize>(counters: Shared<u32>, digit: u32, start: u32) {
    let mut next = start;
    unroll::<WARPS>(|w| {
        let count = counters.get(w as u32 * DIGITS + digit);
        counters.set(w as u32 * DIGITS + digit, next);
        next += count;
    });
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
