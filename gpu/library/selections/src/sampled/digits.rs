//! The key of a given rank, digit by digit from the top: count the digits of the keys that agree with what is known,
//! find the digit in which the rank lies, and go on with the next.

use super::BLOCK;
use rungs_common::block::block_scan_exclusive;
use rungs_common::keys::Word;
use simt::atomic::{Order::Relaxed, Scope};
use simt::warp::{self, FULL, WARP};
use simt::{Shared, shared, thread};

/// Bits of a digit; the last digit has what is left.
const BITS: u32 = 11;

/// Values of a digit: two for each thread of a block.
pub const BINS: u32 = 1 << BITS;
const _: () = assert!(BINS == 2 * BLOCK);

shared!(
    /// How often each value of the digit occurs.
    COUNTS: [u32; BINS]
);
shared!(
    /// The sums of the warps in a scan of the counts.
    SUMS: [u32; BLOCK / WARP]
);
shared!(
    /// The digit in which the rank lies, and the rank in that digit.
    FOUND: [u32; 2]
);

/// A word that is searched by digits.
pub trait Digits: Word + Ord {
    /// The number of digits.
    const DIGITS: u32;

    /// Digit `number`, counted from the top.
    fn digit(self, number: u32) -> u32;
    /// Whether all digits above digit `number` are those of `other`.
    fn agrees(self, other: Self, number: u32) -> bool;
    /// The word with digit `number`, which is zero, set.
    fn with_digit(self, number: u32, digit: u32) -> Self;
}

macro_rules! words {
    ($($W:ty),*) => {$(
        impl Digits for $W {
            const DIGITS: u32 = <$W>::BITS.div_ceil(BITS);

            #[simt::device]
            fn digit(self, number: u32) -> u32 {
                const LAST: u32 = <$W>::BITS - (<$W as Digits>::DIGITS - 1) * BITS;
                let bits = if number + 1 < Self::DIGITS { BITS } else { LAST };
                (self >> <$W>::BITS.saturating_sub((number + 1) * BITS)) as u32 & ((1 << bits) - 1)
            }

            #[simt::device]
            fn agrees(self, other: Self, number: u32) -> bool {
                // In two steps: a shift by all bits is none.
                (self ^ other) >> 1 >> (<$W>::BITS - 1 - number * BITS) == 0
            }

            #[simt::device]
            fn with_digit(self, number: u32, digit: u32) -> Self {
                self | (digit as $W) << <$W>::BITS.saturating_sub((number + 1) * BITS)
            }
        }
    )*};
}
words!(u32, u64);

/// What is known of the key that is searched for.
#[derive(Clone, Copy)]
pub struct Search<W> {
    /// Its upper digits; the others are zero.
    pub word: W,
    /// Its rank among the keys with these digits: 1 is the largest.
    pub rank: u32,
}

/// The counts of the block, all zero once all threads have called it.
#[simt::device]
#[track_caller]
pub fn cleared_counts() -> Shared<u32> {
    let (t, counts) = (thread::thread_idx_x(), COUNTS::view());
    counts.set(t, 0);
    counts.set(t + BLOCK, 0);
    thread::sync_threads(); // all counts are zero before the first key is counted
    counts
}

/// Counts the digit of each lane that `counts` there. All lanes of the warp call it.
#[simt::device]
#[track_caller]
pub fn count(counts: Shared<u32>, digit: u32, is_counted: bool) {
    let lanes = warp::ballot(FULL, is_counted);
    if lanes == 0 {
        return;
    }
    // Keys that are alike would meet in one counter; where the warp has a single digit, one lane adds for all.
    let first = lanes.trailing_zeros();
    let of_first = warp::shuffle(FULL, digit, first);
    if warp::all(FULL, !is_counted || digit == of_first) {
        if warp::lane_id() == first {
            counts.fetch_add(digit, lanes.count_ones(), Relaxed, Scope::Block);
        }
    } else if is_counted {
        counts.fetch_add(digit, 1, Relaxed, Scope::Block);
    }
}

impl<W: Digits> Search<W> {
    /// The search, with one more digit known. `counts` are complete and visible to the whole block, which calls it.
    #[simt::device]
    #[track_caller]
    pub fn narrow(self, counts: Shared<u32>, number: u32) -> Self {
        // From the largest digit on: thread 0 has the last two.
        let top = BINS - 1 - 2 * thread::thread_idx_x();
        let (upper, lower) = (counts.get(top), counts.get(top - 1));
        let above = block_scan_exclusive(upper + lower, SUMS::view());
        if above < self.rank && self.rank <= above + upper + lower {
            let in_upper = self.rank <= above + upper;
            FOUND::view().set(0, if in_upper { top } else { top - 1 });
            FOUND::view().set(1, self.rank - above - if in_upper { 0 } else { upper });
        }
        // The digit is written before all read it, and all have read the counts before they are cleared.
        thread::sync_threads();
        Self { word: self.word.with_digit(number, FOUND::view().get(0)), rank: FOUND::view().get(1) }
    }
}
