//! Only the lanes of a warp wait for each other.
//!
//! **Finding.** shared-race

use simt::{Global, kernel, shared, thread, warp};

/// Threads per block.
pub const BLOCK: u32 = 64;

shared!(TILE: [u32; BLOCK]);

/// Reverses each block of `input`, the length of which is a multiple of `BLOCK`.
#[kernel]
pub fn reverse(input: Global<u32>, output: Global<u32>) {
    let (i, t, tile) = (thread::index_1d(), thread::thread_idx_x(), TILE::view());
    tile.set(t, input.get(i));
    warp::sync_warp(warp::FULL);
    output.set(i, tile.get(BLOCK - 1 - t));
}
