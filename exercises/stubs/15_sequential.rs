//! # 15 · Which threads have the work
//!
//! An instruction is issued for a whole warp: it costs the same whether one of its 32 threads has work or all of
//! them. Shared memory has 32 banks, one word wide: word w lies in bank w % 32. Threads of a warp that use different
//! words of one bank at the same time are served one at a time.
//!
//! The kernel below adds up a block in a tree. In its first step every second thread is active, then every fourth, so
//! all warps stay busy to the end. The result is right, but it costs too much. Let the active threads be neighbours,
//! and let them use neighbouring words.
//!
//! **Rung.** gpu/reduce/src/r2_sequential.rs

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
        thread::sync_threads(); // the step is complete before the next one reads it
        distance *= 2;
    }
    if t == 0 {
        sums.set(thread::block_idx_x(), parts.get(0));
    }
}
