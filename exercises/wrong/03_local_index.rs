//! The index counts within the block alone.
//!
//! **Finding.** same-value-write

use simt::{Global, kernel, thread};

/// Threads per block.
pub const BLOCK: u32 = 128;

/// Blocks for n elements.
pub const fn grid(n: u32) -> u32 {
    n.div_ceil(BLOCK)
}

/// Writes the square of each element of `input` to `output`.
#[kernel]
pub fn squares(input: Global<u32>, output: Global<u32>) {
    let i = thread::thread_idx_x();
    if i < input.len() {
        let x = input.get(i);
        output.set(i, x * x);
    }
}
