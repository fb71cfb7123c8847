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
pub(crate) fn sort<K: Copy, C: Order<K>, const N: usize>(keys: &mut [K; N], order: C) {
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

#[cfg(all(test, not(target_os = "cuda")))]
mod tests {
    use super::*;
    use std::cell::Cell;
    use std::vec::Vec;

    /// The smallest first; counts how often it was asked.
    #[derive(Clone, Copy)]
    struct Counting<'a>(&'a Cell<u32>);

    impl Order<u32> for Counting<'_> {
        fn before(&self, a: u32, b: u32) -> bool {
            self.0.set(self.0.get() + 1);
            a < b
        }
    }

    /// The exchanges of both sorts of `N` keys, which they sort.
    fn exchanges<const N: usize>() -> [u32; 2] {
        let keys: Vec<u32> = (0..N as u32).map(|i| i.wrapping_mul(2_654_435_761) % 97).collect();
        let keys: [u32; N] = keys.try_into().unwrap();
        let mut sorted = keys;
        sorted.sort_unstable();
        let [network, neighbours] = [Cell::new(0), Cell::new(0)];
        let (mut a, mut b) = (keys, keys);
        sort(&mut a, Counting(&network));
        sort_stable(&mut b, N as u32, Counting(&neighbours));
        assert_eq!((a, b), (sorted, sorted));
        [network.get(), neighbours.get()]
    }

    /// The numbers that the head of `stable` gives, and a known one.
    #[test]
    fn networks_have_so_many_exchanges() {
        assert_eq!(exchanges::<17>(), [85, 144]);
        assert_eq!(exchanges::<23>(), [127, 264]);
        assert_eq!(exchanges::<32>()[0], 191);
    }
}
