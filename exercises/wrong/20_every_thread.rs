//! Every thread adds its own element to the total, where one addition per block is enough.
//!
//! **Finding.** atomic additions to global memory, per block

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
    {
        total.fetch_add(0, x, Relaxed, Scope::Device);
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
