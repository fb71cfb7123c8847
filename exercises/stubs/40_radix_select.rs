//! # 40 · A digit of the threshold
//!
//! The k-th largest of n keys, without sorting them. Its digits are found in sequence from the top. A digit
//! here has 4 bits, so it has 16 values, and a key of 16 bits has 4 digits.
//!
//! `known` has the digits that are found, and zeros below. The block counts how often each value of the next digit
//! occurs, among the keys that agree with all known digits. Then it adds up the counts from the largest value down. As
//! soon as the sum reaches `rank`, the digit is found: the key that is searched for has it. Of the keys with that digit
//! it is not the `rank`-th largest any more, because those with a larger digit are above it.
//!
//! Counting needs an atomic, because keys of several threads have the same digit; the scope is the block. All counters
//! are zero before the first key is counted, and all keys are counted before a thread reads a counter.
//!
//! **Rung.** gpu/top_k/src/r1_radix_select.rs

use simt::atomic::{Order::Relaxed, Scope};
use simt::{Global, kernel, shared, thread};

/// Threads of the only block.
pub const BLOCK: u32 = 64;

/// Bits of a digit, and its values.
pub const BITS: u32 = 4;
pub const BINS: u32 = 1 << BITS;

/// Digits of a key.
pub const DIGITS: u32 = 4;

shared!(COUNTS: [u32; BINS]);
shared!(FOUND: [u32; 2]);

/// Writes the `k`-th largest key to `output`; `k` is 1 to the number of keys, which have 16 bits.
#[kernel]
pub fn nth(keys: Global<u32>, output: Global<u32>, k: u32) {
    let (t, counts, found) = (thread::thread_idx_x(), COUNTS::view(), FOUND::view());
    let (mut known, mut rank) = (0, k);
    for number in 0..DIGITS {
        let shift = (DIGITS - 1 - number) * BITS;
        if t < BINS {
            counts.set(t, 0);
        }
        thread::sync_threads(); // all counters are zero before the first key is counted
        let mut i = t;
        while i < keys.len() {
            let key = keys.get(i);
            // Write this part: count the digit of a key that agrees with the known digits.
            i += BLOCK;
        }
        thread::sync_threads(); // all keys are counted before the counts are read
        if t == 0 {
            // Write this part: the digit to `found[0]`, and the rank among the keys that have it to `found[1]`.
        }
        // The digit is there before all read it, and the counts are read before they are cleared.
        thread::sync_threads();
        (known, rank) = (known | found.get(0) << shift, found.get(1));
    }
    if t == 0 {
        output.set(0, known);
    }
}
