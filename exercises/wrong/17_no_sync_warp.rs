//! The lanes are taken to be in step.
//!
//! **Finding.** shared-race

use simt::warp::{self, FULL};
use simt::{Global, kernel, shared, thread};

/// Threads per block.
pub const BLOCK: u32 = 128;

shared!(PARTS: [u32; BLOCK]);

/// Writes the sum of each block's elements of `input` to `sums`. The length of `input` is a multiple of `BLOCK`.
#[kernel]
pub fn add_up(input: Global<u32>, sums: Global<u32>) {
    let (t, parts) = (thread::thread_idx_x(), PARTS::view());
    parts.set(t, input.get(thread::index_1d()));
    thread::sync_threads(); // all parts are there before other threads add them
    if t < 64 {
        parts.set(t, parts.get(t) + parts.get(t + 64));
    }
    thread::sync_threads(); // 64 sums are left, and complete
    if t < 32 {
        let mut distance = 32;
        while distance > 0 {
            let sum = parts.get(t) + parts.get(t + distance);
            parts.set(t, sum);
            distance /= 2;
        }
    }
    if t == 0 {
        sums.set(thread::block_idx_x(), parts.get(0));
    }
}
