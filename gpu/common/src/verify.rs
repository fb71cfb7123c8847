//! # Verification on the device
//!
//! A host needs seconds to sort 2²⁸ keys, or to compute as many running sums. In one pass over memory neighbours can be
//! compared instead, without computing the result a second time:
//!
//! - keys are sorted if no key is less than the one before it. They are the input's keys if both have the same
//!   checksum: the sum, modulo 2⁶⁴, of a mixed word for each key, which does not depend on the order;
//! - keys whose values are their places in the input are sorted, and stably, if each key is the one at the place that
//!   its value names, and each pair is greater than the pair before it: then no two pairs are equal, and every place is
//!   named once;
//! - a scan is right, by induction, if each result is the one before it combined with one more input.
//!
//! Keys that were chosen with the checksum in mind can deceive it. Keys that a faulty sort loses, doubles or changes
//! pass with a probability near 2⁻⁶⁴.

use crate::keys::Word;
use crate::operator::{Max, Min, Operator, Sum};
use simt::atomic::{Order, Scope};
use simt::{Global, Scalar, kernel, thread};

/// Threads per block; memory is the limit of all kernels here.
pub const BLOCK: u32 = 256;

/// Blocks per SM: as many as it holds of 256 threads.
const BLOCKS_PER_MULTIPROCESSOR: u32 = 8;

/// Words that the kernels write: the number of wrong places, and the checksum (of keys).
pub const FOUND: u32 = 2;

/// Blocks for `n` elements; each thread checks many.
pub const fn grid(n: u32, multiprocessors: u32) -> u32 {
    let (all, most) = (n.div_ceil(BLOCK), multiprocessors * BLOCKS_PER_MULTIPROCESSOR);
    if all < most { all } else { most }
}

/// A word whose every bit depends on every bit of the key: the steps of splitmix64.
pub const fn mixed(key: u64) -> u64 {
    let key = (key ^ (key >> 30)).wrapping_add(0x9E37_79B9_7F4A_7C15).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let key = (key ^ (key >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    key ^ (key >> 31)
}

/// Calls `look` with each of the thread's indices below `n`.
#[simt::device]
fn every(n: u32, mut look: impl FnMut(u32)) {
    let (mut i, step) = (thread::index_1d(), thread::grid_threads_1d());
    // The steps are counted first, because `i` may pass 2³² after the last index.
    let mut left = n.saturating_sub(i).div_ceil(step);
    while left > 0 {
        look(i);
        i = i.wrapping_add(step);
        left -= 1;
    }
}

/// Adds a thread's part to a word that the host cleared.
#[simt::device]
fn add(found: Global<u64>, word: u32, part: u64) {
    if part > 0 {
        // Atomic, because all threads add; relaxed, because the end of the kernel orders everything.
        found.fetch_add(word, part, Order::Relaxed, Scope::Device);
    }
}

/// Adds to `found` the number of keys that are less than the key before them in the order `order` (see
/// [`crate::keys`]), and the checksum. `zeros_equal`: -0 and +0 may be in any order, as in other libraries.
#[kernel(max_threads = BLOCK, instances(verify_keys: <u32>, verify_keys_u64: <u64>))]
pub fn verify_keys<T: Word>(keys: Global<T>, order: u32, zeros_equal: u32, found: Global<u64>) {
    let zero = T::default().encode(order);
    let (mut wrong, mut sum) = (0u64, 0u64);
    every(keys.len(), |i| {
        let key = keys.get(i);
        sum = sum.wrapping_add(mixed(key.to_bits_64()));
        if i > 0 {
            let (word, before) = (key.encode(order), keys.get(i - 1).encode(order));
            // The word of -0 is the one right below that of +0.
            let zeros = zeros_equal != 0 && before == zero && word.to_bits_64().wrapping_add(1) == before.to_bits_64();
            wrong += (word < before && !zeros) as u64;
        }
    });
    add(found, 0, wrong);
    add(found, 1, sum);
}

/// Adds to `found` the number of wrong places of `keys` and `values`. Each value is the place of its key in `input`;
/// all three have the same length.
#[kernel(max_threads = BLOCK)]
pub fn verify_pairs(input: Global<u32>, keys: Global<u32>, values: Global<u32>, order: u32, found: Global<u64>) {
    let mut wrong = 0u64;
    every(keys.len(), |i| {
        let (key, place) = (keys.get(i), values.get(i));
        let mut right = place < input.len() && input.get(place) == key;
        if i > 0 {
            let (word, before) = (key.encode(order), keys.get(i - 1).encode(order));
            right &= before < word || before == word && values.get(i - 1) < place;
        }
        wrong += !right as u64;
    });
    add(found, 0, wrong);
}

/// Adds to `found` the number of results of a scan that are not the result before them combined with one more input.
#[kernel(
    max_threads = BLOCK,
    instances([u32, i32, u64, i64] * [Sum, Min, Max])
)]
pub fn verify_scan<T: Scalar, O: Operator<T>>(input: Global<T>, output: Global<T>, exclusive: u32, found: Global<u64>) {
    let mut wrong = 0u64;
    every(output.len(), |i| {
        let first = O::IDENTITY;
        let right = if i == 0 {
            if exclusive != 0 { first } else { O::combine(first, input.get(0)) }
        } else {
            let next = if exclusive != 0 { input.get(i - 1) } else { input.get(i) };
            O::combine(output.get(i - 1), next)
        };
        wrong += (output.get(i) != right) as u64;
    });
    add(found, 0, wrong);
}

/// The kernels here, for the list of kernels that belong to no rung.
#[cfg(not(target_os = "cuda"))]
pub const KERNELS: &[&[&str]] = &[
    <verify_keys as simt::Instances>::NAMES,
    <verify_pairs as simt::Instances>::NAMES,
    <verify_scan as simt::Instances>::NAMES,
];
