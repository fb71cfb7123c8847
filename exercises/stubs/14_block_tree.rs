//! # 14 · A tree of sums
//!
//! One thread that adds 96 numbers makes the other 95 wait. In a tree, half of the threads each add one number to
//! another, then half of those, and so on: 96 numbers become 48, 24, 12, 6, 3, 2 and 1, in seven steps instead of 95.
//!
//! In each step the numbers that are `left` become `half` of them: number `half + t` is added to number t. When
//! `left` is odd, as 3 is, the middle number has no partner and stays. A step reads what the step before wrote,
//! so put a barrier between two steps, outside of any `if`.
//!
//! **Rung.** gpu/cubes/src/r6_block_tree.rs

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
        // Write this part.
        left = 1;
    }
    if t == 0 {
        sums.set(thread::block_idx_x(), parts.get(0));
    }
}
