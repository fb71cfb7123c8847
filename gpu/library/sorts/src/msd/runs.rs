//! Runs of 12 keys, one per thread, sorted in registers and merged.

use super::Key;
use simt::{Shared, thread, unroll};

/// Keys per thread. 16-byte accesses to runs of 12 words have no bank conflicts.
pub const ITEMS: u32 = 12;

/// Sorts the run of this thread.
#[inline(always)]
#[track_caller]
pub fn sort_own<W: Key>(slots: Shared<W>, keys: &mut [W; ITEMS as usize]) {
    unroll::<3>(|q| W::get_four(slots, 4 * q as u32, keys, 4 * q));
    sort_12(keys);
    unroll::<3>(|q| W::set_four(slots, 4 * q as u32, keys, 4 * q));
}

/// Merges the sorted runs of all `threads` of a block: two neighbouring runs, then two merged ones, and so on. Pairs
/// that are in order already, as most are, are left alone.
#[inline(always)]
#[track_caller]
pub fn merge_runs<W: Key>(slots: Shared<W>, threads: u32) {
    let t = thread::thread_idx_x();
    let mut keys = [W::LARGEST; ITEMS as usize];
    let mut width = 1;
    // The vote comes after all runs of the width before are merged; it goes on while the seam between two threads is
    // not in order.
    while thread::sync_threads_or(t + 1 < threads && slots.get((t + 1) * ITEMS - 1) > slots.get((t + 1) * ITEMS)) {
        // The pair of runs that this thread belongs to.
        let first = t & !(2 * width - 1);
        let (middle, end) = ((first + width).min(threads) * ITEMS, (first + 2 * width).min(threads) * ITEMS);
        let apart = middle < end && slots.get(middle - 1) > slots.get(middle);
        if apart {
            let left = slots.slice(first * ITEMS, middle - first * ITEMS);
            let right = slots.slice(middle, end - middle);
            // How many of the keys before this thread's places come from the left run?
            let before = (t - first) * ITEMS;
            let (mut low, mut high) = (before.saturating_sub(right.len()), before.min(left.len()));
            while low < high {
                let half = (low + high) / 2;
                if left.get(half) <= right.get(before - 1 - half) {
                    low = half + 1;
                } else {
                    high = half;
                }
            }
            // Behind the end of a run are largest keys.
            let key = |run: Shared<W>, i: u32| if i < run.len() { run.get(i) } else { W::LARGEST };
            let (mut i, mut j) = (low, before - low);
            let (mut x, mut y) = (key(left, i), key(right, j));
            unroll::<{ ITEMS as usize }>(|k| {
                keys[k] = x.min(y);
                if x <= y {
                    i += 1;
                    x = key(left, i);
                } else {
                    j += 1;
                    y = key(right, j);
                }
            });
        }
        thread::sync_threads(); // all runs have been read before merged ones overwrite them
        if apart {
            unroll::<3>(|q| W::set_four(slots.slice(t * ITEMS, ITEMS), 4 * q as u32, &keys, 4 * q));
        }
        thread::sync_threads(); // all runs of this width are merged before the next round reads them
        width *= 2;
    }
}

/// Merges the upper half of a run with the lower half of the next one. `two`: both runs. `keys`: the upper half; then
/// the merged keys.
#[inline(always)]
#[track_caller]
pub fn merge_seam<W: Key>(two: Shared<W>, keys: &mut [W; ITEMS as usize]) {
    W::get_four(two, 12, keys, 6);
    W::get_two(two, 16, keys, 10);
    merge_6_6(keys);
    W::set_two(two, 6, keys, 0);
    W::set_four(two, 8, keys, 2);
    W::set_four(two, 12, keys, 6);
    W::set_two(two, 16, keys, 10);
}

macro_rules! compare_exchange {
    ($keys:ident: $($a:literal $b:literal),*) => {$(
        let (x, y) = ($keys[$a], $keys[$b]);
        $keys[$a] = x.min(y);
        $keys[$b] = x.max(y);
    )*};
}

/// A sorting network for 12 keys with 41 comparators.
#[inline(always)]
#[rustfmt::skip]
fn sort_12<W: Key>(keys: &mut [W; ITEMS as usize]) {
    compare_exchange!(keys:
        0 8, 1 9, 2 10, 3 11, 0 4, 1 5, 2 6, 3 7, 4 8, 5 9, 6 10, 7 11, 0 2, 1 3, 4 6, 5 7, 8 10, 9 11, 2 8, 3 9, 2 4,
        3 5, 6 8, 7 9, 0 1, 2 3, 4 5, 6 7, 8 9, 10 11, 1 8, 3 10, 1 4, 3 6, 5 8, 7 10, 1 2, 3 4, 5 6, 7 8, 9 10);
}

/// Merges two sorted runs of 6 with 19 comparators.
#[inline(always)]
#[rustfmt::skip]
fn merge_6_6<W: Key>(keys: &mut [W; ITEMS as usize]) {
    compare_exchange!(keys:
        2 10, 2 6, 0 8, 4 8, 0 2, 4 6, 8 10, 3 11, 3 7, 1 9, 5 9, 1 3, 5 7, 9 11, 1 2, 3 4, 5 6, 7 8, 9 10);
}
