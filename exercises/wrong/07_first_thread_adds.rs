//! One thread adds up everything: a request then moves one sector, for one element.
//!
//! **Finding.** bytes used of each sector of 32 bytes

use simt::{Global, kernel, thread};

/// Threads of the block.
pub const BLOCK: u32 = 64;

/// Writes to `sums`, for each thread, the sum of its share of `values`.
#[kernel]
pub fn add_up(values: Global<u32>, sums: Global<u32>) {
    let t = thread::thread_idx_x();
    let mut sum = 0;
    let mut i = if t == 0 { 0 } else { values.len() };
    while i < values.len() {
        sum += values.get(i);
        i += 1;
    }
    sums.set(t, sum);
}
