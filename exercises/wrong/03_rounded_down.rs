//! The grid is rounded down.
//!
//! **Finding.** unwritten

use simt::{Global, kernel, thread};

/// Threads per block.
pub const BLOCK: u32 = 128;

/// Blocks for n elements.
pub const fn grid(n: u32) -> u32 {
    n / BLOCK
}

/// Writes the square of each element of `input` to `output`.
#[kernel]
pub fn squares(input: Global<u32>, output: Global<u32>) {
    let i = thread::block_idx_x() * thread::block_dim_x() + thread::thread_idx_x();
    if i < input.len() {
        let x = input.get(i);
        output.set(i, x * x);
    }
}
