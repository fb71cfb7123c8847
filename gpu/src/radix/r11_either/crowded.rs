//! Sorts the keys of one block where many are alike: by merging, which takes the same time however keys are
//! distributed.
//!
//! Atomics on few counters would wait for each other. Here each thread sorts a run of keys in registers, and runs are
//! merged until all keys are one.

use super::THREADS;
use crate::radix::msd::{ITEMS, Key, merge_runs, sort_own};
use simt::{Global, Shared, thread, unroll};

/// Sorts all `keys`, at most [`ITEMS`] per thread, in place, and maps them back from words. All threads of the block
/// call it, once they are done with the shared memory, of which it takes a slot for each key of a thread.
#[inline(always)]
#[track_caller]
pub fn sort_crowded<W: Key>(keys: Global<W>, order: u32) {
    let (t, n) = (thread::thread_idx_x(), keys.len());
    let slots = Shared::<W>::dynamic(0, THREADS * ITEMS);
    // A slot without a key counts as the largest: it stays behind all others, and is not stored.
    unroll::<{ ITEMS as usize }>(|i| {
        let at = i as u32 * THREADS + t;
        slots.set(at, if at < n { keys.get(at) } else { W::LARGEST });
    });
    thread::sync_threads(); // every slot is filled before runs of slots are read
    let mut run = [W::LARGEST; ITEMS as usize];
    sort_own::<W>(slots.slice(t * ITEMS, ITEMS), &mut run);
    thread::sync_threads(); // all runs are sorted before they are merged
    merge_runs::<W>(slots, THREADS);
    unroll::<{ ITEMS as usize }>(|i| {
        let at = i as u32 * THREADS + t;
        if at < n {
            keys.set(at, slots.get(at).decode(order));
        }
    });
}
