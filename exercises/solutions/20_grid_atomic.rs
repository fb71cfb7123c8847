//! # 20 · One word for the whole grid
//!
//! Blocks share neither shared memory nor a barrier, only global memory. `sum.set(0, sum.get(0) + x)` fails when many
//! blocks run it at the same time: two read the same old value, and one addition is lost. An atomic addition,
//! `sum.fetch_add(0, x, Relaxed, Scope::Device)`, reads, adds and writes as one indivisible step.
//!
//! Atomic additions to one word are done one at a time. So each block first adds up its own elements, which
//! `block_sum` does, and then one thread of the block adds that sum.
//!
//! `total` is 0 before the launch. Let it be the sum of all elements afterwards, with one atomic addition per block.
//!
//! **Rung.** gpu/cubes/src/r8_grid_atomic.rs

use simt::atomic::{Order::Relaxed, Scope};
use simt::warp::{self, FULL, WARP};
use simt::{Global, kernel, shared, thread};

/// Threads per block.
pub const BLOCK: u32 = 128;

shared!(WARP_SUMS: [u32; BLOCK / WARP]);

/// Adds the sum of `input` to `total`.
#[kernel]
pub fn add_up(input: Global<u32>, total: Global<u32>) {
    let (i, t) = (thread::index_1d(), thread::thread_idx_x());
    let x = if i < input.len() { input.get(i) } else { 0 };
    //[
    let sum = block_sum(x);
    if t == 0 {
        total.fetch_add(0, sum, Relaxed, Scope::Device);
    }
    //| if i < input.len() {
    //|     total.set(0, total.get(0) + x);
    //| }
    //]
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

//? What adds to the word `total` at the same time: lanes, warps, blocks? How many additions does each block need?
//? Each block first adds up its own elements, by all of its threads, since `block_sum` has a barrier. One thread then
//?   adds the block's sum atomically, in a scope that has all blocks in it.
//? `let sum = block_sum(x);` outside of any `if`, then
//?   `if t == 0 { total.fetch_add(0, sum, Relaxed, Scope::Device); }`.
