//! # Top k
//!
//! The k largest of n keys, in any order. Keys are words of 32 bits: unsigned and signed integers and floats, mapped to
//! unsigned words by [`rungs_common::keys`], so NaN and -0.0 have their places in the IEEE total order.
//!
//! You could sort all keys and take k of them. But a sort moves every key several times, and most keys are not needed.
//! All rungs here look for the *threshold* instead, the k-th largest key. The result is the keys above it, and copies
//! of the threshold to make k. The rungs find it by *radix select*, one digit of 8 bits after another, from the top:
//! they add up the counts of the digit's values, from the largest down, until the sum reaches the rank.
#![no_std]
#![cfg_attr(target_os = "cuda", feature(asm_experimental_arch))]
#![cfg_attr(all(target_os = "cuda", not(feature = "rust-cuda")), feature(abi_ptx))]

#[cfg(not(target_os = "cuda"))]
extern crate std;

pub mod r1_radix_select;
pub mod r2_filter;
pub mod r3_one_read;

use rungs_common::block::block_scan_exclusive;
use simt::atomic::{Order::Relaxed, Scope::Device};
use simt::warp::{self, FULL, WARP};
use simt::{Global, Shared, shared, thread};

/// Bits of a digit.
pub const BITS: u32 = 8;

/// Digits of a key.
pub const DIGITS: u32 = 32 / BITS;

/// Values of a digit.
pub const BINS: u32 = 1 << BITS;

shared!(
    /// The sums of the warps that have the counts of a digit.
    SUMS: [u32; BINS / WARP]
);

/// What is known of the threshold.
#[derive(Clone, Copy)]
pub(crate) struct Known {
    /// Its upper digits; the others are zero.
    pub word: u32,
    /// Its rank among the keys with these digits: 1 is the largest.
    pub rank: u32,
}

impl Known {
    /// Whether a word has the same digits above digit `number`.
    #[simt::device]
    pub fn agrees(self, word: u32, number: u32) -> bool {
        // In two steps: a shift by 32 bits would be none.
        (word ^ self.word) >> 1 >> (31 - number * BITS) == 0
    }

    /// What is known with digit `number` besides, for the thread to whose digit the rank belongs. Thread t < 256 has
    /// the count of digit 255 - t; all threads of the block make the call.
    #[simt::device]
    #[track_caller]
    pub fn narrow(self, number: u32, count: u32) -> Option<Self> {
        let above = block_scan_exclusive(count, SUMS::view());
        if above < self.rank && self.rank <= above + count {
            let digit = BINS - 1 - thread::thread_idx_x();
            return Some(Self { word: self.word | digit << shift(number), rank: self.rank - above });
        }
        None
    }
}

/// Where digit `number` begins; 0 is the top digit.
const fn shift(number: u32) -> u32 {
    32 - (number + 1) * BITS
}

/// Digit `number` of a word.
#[simt::device]
pub(crate) fn digit(word: u32, number: u32) -> u32 {
    word >> shift(number) & (BINS - 1)
}

/// Calls `f` with the places from 0 to `len` that are this thread's: neighbouring threads have neighbouring ones, in
/// steps of the grid. All lanes of a warp make as many calls; past the end there is no place.
#[simt::device]
pub(crate) fn each(len: u32, mut f: impl FnMut(Option<u32>)) {
    let (t, mut first) = (thread::thread_idx_x(), thread::block_idx_x() * thread::block_dim_x());
    while first < len {
        f(if t < len - first { Some(first + t) } else { None });
        first = first.saturating_add(thread::grid_threads_1d());
    }
}

/// Writes the values of the lanes that have one to the next places of `list`, whose number is in `used`: one atomic for
/// the warp, all of whose lanes make the call. Values for which there is no room are only counted.
#[simt::device]
#[track_caller]
pub(crate) fn append(used: Global<u32>, list: Global<u32>, value: Option<u32>) {
    let (lane, lanes) = (warp::lane_id(), warp::ballot(FULL, value.is_some()));
    if lanes == 0 {
        return;
    }
    let mut place = 0;
    if lane == 0 {
        // Atomic: every warp of the grid takes places.
        place = used.fetch_add(0, lanes.count_ones(), Relaxed, Device);
    }
    let place = warp::shuffle(FULL, place, 0) + (lanes & ((1 << lane) - 1)).count_ones();
    if let Some(value) = value
        && place < list.len()
    {
        list.set(place, value);
    }
}

/// Adds the counts of a block, a thread's each, to those of the grid.
#[simt::device]
#[track_caller]
pub(crate) fn add_counts(block: Shared<u32>, grid: Global<u32>) {
    let t = thread::thread_idx_x();
    if t < BINS && block.get(t) > 0 {
        grid.fetch_add(t, block.get(t), Relaxed, Device);
    }
}

#[cfg(not(target_os = "cuda"))]
pub use host::LADDER;

#[cfg(not(target_os = "cuda"))]
mod host {
    use super::*;
    use rungs_common::ladder::top_k::*;

    /// The ladder, from the textbook up.
    pub static LADDER: Ladder<&dyn TopK> = Ladder {
        family: "top-k",
        about: "the k largest keys",
        rungs: &[&r1_radix_select::launches::RUNG, &r2_filter::launches::RUNG, &r3_one_read::launches::RUNG],
        default: &r3_one_read::launches::RUNG,
    };
}
