//! # 3 · Many blocks
//!
//! A block has at most 1024 threads, so a long array takes many blocks: a grid. Each block numbers its threads from
//! 0 again. `thread::block_idx_x()` is the number of the block, and `thread::block_dim_x()` is how many threads
//! each block has.
//!
//! Write two things: the number of blocks that n elements take, and the index of a thread's element. The last block may
//! have more threads than remaining elements.
//!
//! **Rung.** gpu/saxpy/src/r1_kernel.rs

use simt::{Global, kernel, thread};

/// Threads per block.
pub const BLOCK: u32 = 128;

/// Blocks for n elements.
pub const fn grid(n: u32) -> u32 {
    // Write this part.
    (n > 0) as u32
}

/// Writes the square of each element of `input` to `output`.
#[kernel]
pub fn squares(input: Global<u32>, output: Global<u32>) {
    let i = thread::thread_idx_x(); // And this.
    if i < input.len() {
        let x = input.get(i);
        output.set(i, x * x);
    }
}
