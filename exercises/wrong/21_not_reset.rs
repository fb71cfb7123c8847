//! The second launch finds the tickets of the first one.
//!
//! **Finding.** unwritten

use simt::atomic::{Order::AcqRel, Scope};
use simt::{Global, kernel, thread, warp};

/// Threads per block: one warp.
pub const BLOCK: u32 = 32;

/// Writes the sum of `input` to the first word of `output`. `values` has a word for each block.
#[kernel]
pub fn add_up(input: Global<u32>, output: Global<u32>, values: Global<u32>, ticket: Global<u32>) {
    let (i, t) = (thread::index_1d(), thread::thread_idx_x());
    let (block, blocks) = (thread::block_idx_x(), thread::grid_dim_x());
    // All lanes get the sum over the warp.
    let sum = warp::reduce_add(warp::FULL, if i < input.len() { input.get(i) } else { 0 });
    if t == 0 {
        values.set(block, sum);
        if ticket.fetch_add(0, 1, AcqRel, Scope::Device) == blocks - 1 {
            let mut all = 0;
            for k in 0..blocks {
                all += values.get(k);
            }
            output.set(0, all);
        }
    }
}
