//! Threads without a partner add too, and read behind the parts of the block.
//!
//! **Finding.** out-of-bounds

use simt::{Global, kernel, shared, thread};

/// Threads per block: no power of two.
pub const BLOCK: u32 = 96;

shared!(PARTS: [u32; BLOCK]);

/// Writes the sum of each block's elements of `input` to `sums`. The length of `input` is a multiple of `BLOCK`.
#[kernel]
pub fn add_up(input: Global<u32>, sums: Global<u32>) {
    let (t, parts) = (thread::thread_idx_x(), PARTS::view());
    parts.set(t, input.get(thread::index_1d()));
    thread::sync_threads(); // all parts are there before other threads add them
    let mut left = BLOCK;
    while left > 1 {
        let half = left.div_ceil(2);
        if t < BLOCK {
            parts.set(t, parts.get(t) + parts.get(t + half));
        }
        thread::sync_threads(); // the step is complete before the next one reads it
        left = half;
    }
    if t == 0 {
        sums.set(thread::block_idx_x(), parts.get(0));
    }
}
