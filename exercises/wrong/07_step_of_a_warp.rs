//! The step is a warp, so warps take each other's elements.
//!
//! **Finding.** different

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
        i += 32;
    }
    sums.set(t, sum);
}
