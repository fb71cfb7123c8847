//! Another thread may add between the read and the write.
//!
//! **Finding.** global-race

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
            counts.set(key, counts.get(key) + 1);
        }
        i += thread::grid_threads_1d();
    }
}
