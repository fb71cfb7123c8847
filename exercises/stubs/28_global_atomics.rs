//! # 28 · Counting
//!
//! A histogram counts how often each key occurs. Each thread reads a key and adds 1 to that key's counter. Two
//! threads, in one block or in two, may have the same key at the same time, so the addition has to be atomic:
//! `counts.fetch_add(key, 1, Relaxed, Scope::Device)`. `Relaxed` is enough, because nothing but the counter itself
//! matters; the scope is the device, because any thread of the grid may add.
//!
//! The grid is fixed, and n is any number. Keys that have no counter, `key >= counts.len()`, are not counted.
//!
//! **Rung.** gpu/histogram/src/r1_global_atomics.rs

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
        counts.set(key, counts.get(key) + 1);
        i += thread::grid_threads_1d();
    }
}
