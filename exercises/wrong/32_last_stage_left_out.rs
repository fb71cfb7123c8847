//! The last stage is left out.
//!
//! **Finding.** different

use simt::{Global, Shared, kernel, shared, thread};

/// Threads per block: one for each pair.
pub const BLOCK: u32 = 64;

/// Keys of a block.
pub const TILE: u32 = 2 * BLOCK;

shared!(KEYS: [u32; TILE]);

/// Sorts each tile of `keys`.
#[kernel]
pub fn sort_tiles(keys: Global<u32>) {
    let (t, tile) = (thread::thread_idx_x(), KEYS::view());
    let begin = thread::block_idx_x() * TILE;
    for i in [t, t + BLOCK] {
        tile.set(i, if begin + i < keys.len() { keys.get(begin + i) } else { u32::MAX });
    }
    // The tile is whole before a thread compares keys that others loaded.
    thread::sync_threads();

    let mut run = 2;
    while run < TILE {
        let mut distance = run / 2;
        while distance > 0 {
            compare(tile, t, distance, distance == run / 2);
            thread::sync_threads(); // the next step compares keys that other threads have placed
            distance /= 2;
        }
        run *= 2;
    }
    for i in [t, t + BLOCK] {
        if begin + i < keys.len() {
            keys.set(begin + i, tile.get(i));
        }
    }
}

/// Thread t's pair of one step: leaves the smaller key in front.
#[inline(always)]
fn compare(tile: Shared<u32>, t: u32, distance: u32, mirrored: bool) {
    let (run, within) = (t / distance, t % distance);
    let i = run * 2 * distance + within;
    let partner = if mirrored { run * 2 * distance + 2 * distance - 1 - within } else { i + distance };
    let (a, b) = (tile.get(i), tile.get(partner));
    if a > b {
        tile.set(i, b);
        tile.set(partner, a);
    }
}
