//! # 9 · Shared memory, and the barrier
//!
//! The threads of a block share a small, fast memory: `TILE` below is an array in it, one for each block.
//! One thread writes an element and another thread reads it.
//!
//! But threads do not run in step: the reader may be ahead of the writer. `thread::sync_threads()` is a barrier. A
//! thread that reaches it waits until all threads of its block have arrived, and after it every thread sees what the
//! others wrote before it. All threads of the block have to reach it.
//!
//! The kernel stores each element of a block in shared memory and writes the block out in reverse. Sometimes it does.
//! Add what is missing.
//!
//! **Rung.** gpu/cubes/src/r5_block_sum.rs

use simt::{Global, kernel, shared, thread};

/// Threads per block.
pub const BLOCK: u32 = 64;

shared!(TILE: [u32; BLOCK]);

/// Reverses each block of `input`, the length of which is a multiple of `BLOCK`.
#[kernel]
pub fn reverse(input: Global<u32>, output: Global<u32>) {
    let (i, t, tile) = (thread::index_1d(), thread::thread_idx_x(), TILE::view());
    tile.set(t, input.get(i));
    // Something is missing here.
    output.set(i, tile.get(BLOCK - 1 - t));
}
