//! # 16 · Add on the way in
//!
//! In the first step of a tree, half of the threads do nothing: they have only stored their part. Let each
//! thread read two elements and store their sum. The grid has half as many blocks then, and each block begins with
//! work for all of its threads.
//!
//! A block has `2 * BLOCK` elements in a row. So that neighbours read neighbours, a thread's two elements are `BLOCK`
//! apart. n is any number: the first element may exist and the second not.
//!
//! **Rung.** gpu/reduce/src/r3_first_add.rs

use simt::warp::{self, FULL, WARP};
use simt::{Global, kernel, shared, thread};

/// Threads per block.
pub const BLOCK: u32 = 64;

shared!(WARP_SUMS: [u32; BLOCK / WARP]);

/// Blocks for n elements.
pub const fn grid(n: u32) -> u32 {
    n.div_ceil(BLOCK)
}

/// Writes the sum of each block's elements of `input` to `sums`.
#[kernel]
pub fn add_up(input: Global<u32>, sums: Global<u32>) {
    let (t, block) = (thread::thread_idx_x(), thread::block_idx_x());
    let i = block * BLOCK + t;
    let x = if i < input.len() { input.get(i) } else { 0 };
    let sum = block_sum(x);
    if t == 0 {
        sums.set(block, sum);
    }
}

/// The sum of `x` over the block, in its first thread. Contains a barrier: all threads of the block call it.
fn block_sum(x: u32) -> u32 {
    let (t, sums) = (thread::thread_idx_x(), WARP_SUMS::view());
    let sum = warp::reduce_add(FULL, x);
    if warp::lane_id() == 0 {
        sums.set(t / WARP, sum);
    }
    thread::sync_threads(); // every warp's sum is there before the first warp reads them
    if t < WARP { warp::reduce_add(FULL, if t < BLOCK / WARP { sums.get(t) } else { 0 }) } else { sum }
}
