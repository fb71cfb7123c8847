//! Each thread reads a chunk of its own, so the lanes of a warp never read neighbours.
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
    let chunk = values.len().div_ceil(BLOCK);
    let mut i = t * chunk;
    while i < values.len() && i < (t + 1) * chunk {
        sum += values.get(i);
        i += 1;
    }
    sums.set(t, sum);
}
