//! Only half of the block waits.
//!
//! **Finding.** missed-barrier

use simt::{Global, kernel, shared, thread};

/// Threads per block.
pub const BLOCK: u32 = 64;

shared!(TILE: [u32; BLOCK]);

/// Reverses each block of `input`, the length of which is a multiple of `BLOCK`.
#[kernel]
pub fn reverse(input: Global<u32>, output: Global<u32>) {
    let (i, t, tile) = (thread::index_1d(), thread::thread_idx_x(), TILE::view());
    tile.set(t, input.get(i));
    if t < BLOCK / 2 {
        thread::sync_threads();
    }
    output.set(i, tile.get(BLOCK - 1 - t));
}
