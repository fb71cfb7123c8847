//! The work of a thread of `look-ahead` on its part of a tile: consecutive packs of 16 bytes.

use super::VECTORS;
use rungs_common::operator::Operator;
use simt::{Scalar, Shared};

/// The sum of `count` packs from `first` on, at most [`VECTORS`].
#[inline(always)]
pub(super) fn sum_of_packs<T: Scalar, O: Operator<T>>(elements: Shared<T>, first: u32, count: u32) -> T {
    let mut sum = O::IDENTITY;
    simt::unroll::<VECTORS>(|v| {
        if (v as u32) < count {
            let pack = elements.get_pack(first + v as u32);
            let p = pack.as_ref();
            // Elements of 4 bytes in two pairs, so that fewer additions wait for each other.
            let pairs = if p.len() == 4 {
                O::combine(O::combine(p[0], p[1]), O::combine(p[2], p[3]))
            } else {
                O::combine(p[0], p[1])
            };
            sum = O::combine(sum, pairs);
        }
    });
    sum
}

/// Scans `count` packs from `first` on, at most [`VECTORS`]; `sum` is the sum before them.
#[inline(always)]
pub(super) fn scan_packs<T: Scalar, O: Operator<T>, const EXCLUSIVE: bool>(
    elements: Shared<T>,
    first: u32,
    count: u32,
    mut sum: T,
) {
    // All are read before any is written: the compiler would not move a load before a store.
    let mut packs = [T::Pack::default(); VECTORS];
    simt::unroll::<VECTORS>(|v| {
        if (v as u32) < count {
            packs[v] = elements.get_pack(first + v as u32);
        }
    });
    simt::unroll::<VECTORS>(|v| {
        if (v as u32) < count {
            let p = packs[v].as_mut();
            // First inside the pack, then with the sum before it: only one addition per pack waits for the pack before.
            simt::unroll::<3>(|i| {
                if i + 1 < p.len() {
                    p[i + 1] = O::combine(p[i], p[i + 1]);
                }
            });
            let before = sum;
            sum = O::combine(before, p[p.len() - 1]);
            simt::unroll::<4>(|i| {
                // From the last to the first, so that in the exclusive case each still finds its predecessor unchanged.
                let i = 3 - i;
                if i < p.len() {
                    p[i] = match (EXCLUSIVE, i) {
                        (true, 0) => before,
                        (true, _) => O::combine(before, p[i - 1]),
                        (false, _) => O::combine(before, p[i]),
                    };
                }
            });
            elements.set_pack(first + v as u32, packs[v]);
        }
    });
}
