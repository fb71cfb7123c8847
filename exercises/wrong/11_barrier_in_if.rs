//! Threads without a pair do not come to the barrier.
//!
//! **Finding.** missed-barrier

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
    for phase in 0..n {
        let i = 2 * t + phase % 2;
        if i + 1 < n {
            let (a, b) = (sorted.get(i), sorted.get(i + 1));
            if a > b {
                sorted.set(i, b);
                sorted.set(i + 1, a);
            }
            thread::sync_threads();
        }
    }
    for i in [t, t + BLOCK] {
        if i < n {
            keys.set(i, sorted.get(i));
        }
    }
}
