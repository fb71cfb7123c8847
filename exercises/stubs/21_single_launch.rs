//! # 21 · The last block finishes
//!
//! Blocks cannot wait for each other here: there may be more of them than run at the same time. But each block can find
//! out whether it is the last. It writes its sum to `values` and takes a ticket, `ticket.fetch_add(0, 1, …)`, which
//! gives the number of tickets taken before. The block that gets `blocks - 1` is the last, and adds up all values.
//!
//! The ticket orders nothing but itself unless it is asked to: another block may see the ticket taken and not yet see
//! the value. With the order `AcqRel`, what a block wrote before it takes its ticket (release) is seen by every block
//! that takes a later one (acquire).
//!
//! `ticket` is 0 when the kernel begins, and has to be 0 again when it ends: the check launches the kernel twice.
//!
//! **Rung.** gpu/reduce/src/r7_single_launch.rs

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
        // Write this part.
    }
}
