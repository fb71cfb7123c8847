//! Other blocks add to the same counters.
//!
//! **Finding.** scope-too-small

use simt::atomic::{Order::Relaxed, Scope};
use simt::{Global, kernel, thread};

/// Threads per block.
pub const BLOCK: u32 = 64;

/// Blocks of the grid, for any number of keys.
pub const GRID: u32 = 3;

/// Adds the number of each key in `keys` to its counter in `counts`.
#[kernel]
pub fn histogram(keys: Global<u32>, counts: Global<u32>) {
    let mut i = thread::index_1d();
    while i < keys.len() {
        let key = keys.get(i);
        if key < counts.len() {
            counts.fetch_add(key, 1, Relaxed, Scope::Block);
        }
        i += thread::grid_threads_1d();
    }
}
