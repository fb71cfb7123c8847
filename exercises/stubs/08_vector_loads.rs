//! # 8 · Four elements in one read
//!
//! A thread can read 16 bytes at once: `values.get_pack(i)` is an array of the four elements 4·i to 4·i + 3. A warp
//! then moves four times as much with one request, and more of its reads are in flight at once.
//!
//! A pack has to begin on a multiple of 16 bytes, and it has to be whole: of n elements, n / 4 packs are. Up to three
//! elements remain at the end and are read one by one.
//!
//! The threads of the block share the input in any way, and each writes its sum. Read with packs.
//!
//! **Rung.** gpu/reduce/src/r6_vector_loads.rs

use simt::{Global, kernel, thread};

/// Threads of the block.
pub const BLOCK: u32 = 64;

/// Writes to `sums`, for each thread, the sum of its share of `values`.
#[kernel]
pub fn add_up(values: Global<u32>, sums: Global<u32>) {
    let t = thread::thread_idx_x();
    let mut sum = 0;
    let mut i = t;
    while i < values.len() {
        sum += values.get(i);
        i += BLOCK;
    }
    sums.set(t, sum);
}
