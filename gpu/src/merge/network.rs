//! A thread sorts its own keys in registers: a fixed sequence of exchanges, so every index is a constant.

use crate::order::Order;
use simt::unroll;

/// Puts keys `i` and `j` in order; equivalent keys stay where they are.
#[inline(always)]
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

/// Sorts by Batcher's odd-even merge network, whose exchanges are fewest; equivalent keys may change their order.
#[inline(always)]
pub(crate) fn sort<K: Copy, C: Order<K>, const N: usize>(keys: &mut [K; N], order: C) {
    const { assert!(N <= 32) };
    unroll::<5>(|log2_run| {
        unroll::<5>(|halvings| {
            if 1 << log2_run < N && halvings <= log2_run {
                let distance = 1 << log2_run >> halvings;
                unroll::<N>(|i| {
                    if i + distance < N && compares(i, distance, 1 << log2_run) {
                        exchange(keys, i, i + distance, order);
                    }
                });
            }
        });
    });
}

/// Sorts the first `count` keys by exchanges of neighbours, after which equivalent keys have the order that they had
/// before.
#[inline(always)]
pub(crate) fn sort_stable<K: Copy, C: Order<K>, const N: usize>(keys: &mut [K; N], count: u32, order: C) {
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
