//! Blocks overwrite each other's counts.
//!
//! **Finding.** global-race

use simt::atomic::{Order::Relaxed, Scope};
use simt::{Global, kernel, shared, thread};

/// Threads per block.
pub const BLOCK: u32 = 64;

/// Blocks of the grid, for any number of keys.
pub const GRID: u32 = 3;

/// Counters. All keys are smaller.
pub const BINS: u32 = 40;

shared!(TABLE: [u32; BINS]);

/// Adds the number of each key in `keys` to its counter in `counts`.
#[kernel]
pub fn histogram(keys: Global<u32>, counts: Global<u32>) {
    let (t, table) = (thread::thread_idx_x(), TABLE::view());
    if t < BINS {
        table.set(t, 0);
    }
    // The whole table is clear before a thread adds to it.
    thread::sync_threads();

    let mut i = thread::index_1d();
    while i < keys.len() {
        table.fetch_add(keys.get(i), 1, Relaxed, Scope::Block);
        i += thread::grid_threads_1d();
    }
    // All keys are in the table before it is added to the counts.
    thread::sync_threads();
    if t < BINS {
        counts.set(t, counts.get(t) + table.get(t));
    }
}
