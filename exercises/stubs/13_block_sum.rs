//! # 13 · One sum for the block
//!
//! Each thread of a block has a number, and you want their sum, once per block. The simplest method: all threads
//! store their numbers in shared memory, and the first thread adds them up. Then every thread needs the result: here
//! each divides its own number by it, in thousandths.
//!
//! The result goes through shared memory too: `TOTAL` is one word that thread 0 writes and all read. Two places need
//! a barrier. Remember that all threads of the block have to reach a barrier: it cannot stand in the `if`.
//!
//! **Rung.** gpu/cubes/src/r5_block_sum.rs

use simt::{Global, kernel, shared, thread};

/// Threads per block.
pub const BLOCK: u32 = 96;

shared!(PARTS: [u32; BLOCK]);
shared!(TOTAL: [u32; 1]);

/// Writes what part of its block's sum each element of `input` is, in thousandths. The length of `input` is a
/// multiple of `BLOCK`.
#[kernel]
pub fn shares(input: Global<u32>, output: Global<u32>) {
    let (i, t) = (thread::index_1d(), thread::thread_idx_x());
    let (parts, total) = (PARTS::view(), TOTAL::view());
    let x = input.get(i);
    parts.set(t, x);
    if t == 0 {
        // Write this part, and what has to stand around it.
    }
    output.set(i, 1000 * x / total.get(0));
}
