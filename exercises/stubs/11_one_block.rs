//! # 11 · Phases
//!
//! Bubble sort looks at one pair after another. But the pairs 0-1, 2-3, 4-5 … have no element in common, so all of
//! them can be compared at the same time, each by one thread. In the next phase come the pairs 1-2, 3-4, 5-6 …, then
//! the first ones again. After n phases, n keys are sorted (Habermann 1972).
//!
//! Thread t has the pair that begins at 2·t in an even phase, and at 2·t + 1 in an odd one. Other threads wrote its
//! keys in the previous phase. Not every thread has a pair in every phase, but all have to reach the barriers.
//!
//! **Rung.** gpu/bubble/src/r1_one_block.rs

use simt::{Global, kernel, shared, thread};

/// Threads of the block.
pub const BLOCK: u32 = 64;

/// Most keys.
pub const CAPACITY: u32 = 2 * BLOCK;

shared!(KEYS: [u32; CAPACITY]);

/// Sorts up to `CAPACITY` keys. There is one block.
#[kernel]
pub fn bubble(keys: Global<u32>) {
    let (n, t, sorted) = (keys.len(), thread::thread_idx_x(), KEYS::view());
    for i in [t, t + BLOCK] {
        if i < n {
            sorted.set(i, keys.get(i));
        }
    }
    // All keys are there before a thread compares those that others loaded.
    thread::sync_threads();
    // Write this part.
    for i in [t, t + BLOCK] {
        if i < n {
            keys.set(i, sorted.get(i));
        }
    }
}
