//! Runs of 12 keys, one per thread, sorted in registers and merged.

use super::Key;
use rungs_radix::{merge_6_6, sort_12};
use simt::{Shared, thread, unroll};

/// Keys per thread. 16-byte accesses to runs of 12 words have no bank conflicts.
pub const ITEMS: u32 = 12;

/// Sorts the run of this thread.
#[simt::device]
#[track_caller]
pub fn sort_own<W: Key>(slots: Shared<W>, keys: &mut [W; ITEMS as usize]) {
    unroll::<3>(|q| W::get_four(slots, 4 * q as u32, keys, 4 * q));
    sort_12(keys);
    unroll::<3>(|q| W::set_four(slots, 4 * q as u32, keys, 4 * q));
}

/// Merges the sorted runs of all `threads` of a block: two neighbouring runs, then two merged ones, and so on. Pairs
/// that are in order already, as most are, are left alone.
#[simt::device]
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
#[simt::device]
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
