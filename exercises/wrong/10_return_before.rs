//! Threads without an element return before the barrier.
//!
//! **Finding.** missed-barrier

use simt::{Global, kernel, shared, thread};

/// Threads per block.
pub const BLOCK: u32 = 64;

shared!(TILE: [u32; BLOCK]);

/// Writes the difference of each element of `input` from the one before it in its block.
#[kernel]
pub fn differences(input: Global<u32>, output: Global<u32>) {
    let (i, t, tile) = (thread::index_1d(), thread::thread_idx_x(), TILE::view());
    let inside = i < input.len();
    if !inside {
        return;
    }
    if inside {
        tile.set(t, input.get(i));
    }
    thread::sync_threads(); // every element is stored before a neighbour reads it
    if inside {
        let before = if t > 0 { tile.get(t - 1) } else { 0 };
        output.set(i, tile.get(t).wrapping_sub(before));
    }
}
