//! A thread sorts its own keys in registers: a fixed sequence of exchanges, so every index is a constant.

use rungs_common::order::Order;
use simt::unroll;

/// Puts keys `i` and `j` in order; equivalent keys stay where they are.
#[simt::device]
fn exchange<K: Copy, C: Order<K>, const N: usize>(keys: &mut [K; N], i: usize, j: usize, order: C) {
    let (a, b) = (keys[i], keys[j]);
    let swap = order.before(b, a);
    (keys[i], keys[j]) = (if swap { b } else { a }, if swap { a } else { b });
}

/// Whether Batcher's network compares places `i` and `i + distance` in the step of that distance, where runs of `run`
/// keys are merged.
const fn compares(i: usize, distance: usize, run: usize) -> bool {
    let first = distance % run;
    i >= first && ((i - first) / distance).is_multiple_of(2) && i / (2 * run) == (i + distance) / (2 * run)
}

/// The step of Batcher's network that exchanges keys `DISTANCE` apart, where runs of `RUN` keys are merged.
#[simt::device]
fn step<const RUN: usize, const DISTANCE: usize, K: Copy, C: Order<K>, const N: usize>(keys: &mut [K; N], order: C) {
    if RUN < N {
        unroll::<N>(|i| {
            if i + DISTANCE < N && compares(i, DISTANCE, RUN) {
                exchange(keys, i, i + DISTANCE, order);
            }
        });
    }
}

/// Sorts by Batcher's odd-even merge network, whose exchanges are fewest; equivalent keys may change their order.
#[simt::device]
pub fn sort<K: Copy, C: Order<K>, const N: usize>(keys: &mut [K; N], order: C) {
    const { assert!(N <= 32) };
    // Each step is a call that must be inlined. As closures in closures LLVM left them calls for an order with a long
    // `before`, and the keys went to memory.
    macro_rules! steps {
        ($($run:literal: $($distance:literal)*;)*) => {$($(
            step::<$run, $distance, K, C, N>(keys, order);
        )*)*};
    }
    steps! { 1: 1; 2: 2 1; 4: 4 2 1; 8: 8 4 2 1; 16: 16 8 4 2 1; }
}

/// Sorts the first `count` keys by exchanges of neighbours, after which equivalent keys have the order that they had
/// before.
#[simt::device]
pub fn sort_stable<K: Copy, C: Order<K>, const N: usize>(keys: &mut [K; N], count: u32, order: C) {
    // Not unrolled as a whole: the code would not fit the instruction cache.
    let mut round = 0;
    while round < N as u32 {
        unroll::<2>(|odd| {
            unroll::<N>(|i| {
                if i % 2 == odd && i + 1 < N {
                    let (a, b) = (keys[i], keys[i + 1]);
                    let swap = order.before(b, a) && i as u32 + 1 < count;
                    (keys[i], keys[i + 1]) = (if swap { b } else { a }, if swap { a } else { b });
                }
            });
        });
        round += 2;
    }
}
