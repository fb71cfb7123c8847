//! Busy threads stand ever further apart, so that all warps stay busy.
//!
//! **Finding.** requests of warps to read shared memory, per block

use simt::{Global, kernel, shared, thread};

/// Threads per block, a power of two.
pub const BLOCK: u32 = 256;

shared!(PARTS: [u32; BLOCK]);

/// Writes the sum of each block's elements of `input` to `sums`. The length of `input` is a multiple of `BLOCK`.
#[kernel]
pub fn add_up(input: Global<u32>, sums: Global<u32>) {
    let (t, parts) = (thread::thread_idx_x(), PARTS::view());
    parts.set(t, input.get(thread::index_1d()));
    // All parts are there before other threads add them.
    thread::sync_threads();

    let mut distance = 1;
    while distance < BLOCK {
        if t % (2 * distance) == 0 {
            parts.set(t, parts.get(t) + parts.get(t + distance));
        }
        // The step is complete before the next one reads it.
        thread::sync_threads();
        distance *= 2;
    }
    if t == 0 {
        sums.set(thread::block_idx_x(), parts.get(0));
    }
}
