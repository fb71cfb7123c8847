//! Keys without a counter are counted behind the last one.
//!
//! **Finding.** out-of-bounds

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
        {
            counts.fetch_add(key, 1, Relaxed, Scope::Device);
        }
        i += thread::grid_threads_1d();
    }
}
