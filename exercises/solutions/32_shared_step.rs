//! # 32 · The network in one launch
//!
//! The previous exercise launched each step separately, and each step read all keys from global memory. Keys of one
//! block can stay in shared memory from the first step to the last: one launch, with a barrier between two steps
//! instead of a launch.
//!
//! The block loads its tile; past the end of the keys it stores the largest key. Write the steps: stages with runs of
//! 2, 4, 8 … `TILE` keys; in each, a mirrored step, then steps with half the distance each. `compare` does thread t's
//! pair of one step. The last steps of a stage stay within a warp. They need the barrier too: lanes of a warp do not
//! run in lockstep.
//!
//! **Rung.** gpu/bitonic/src/r2_shared_step.rs

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

    //[
    //| // Write this part.
    let mut run = 2;
    while run <= TILE {
        let mut distance = run / 2;
        while distance > 0 {
            compare(tile, t, distance, distance == run / 2);
            thread::sync_threads(); // the next step compares keys that other threads have placed
            distance /= 2;
        }
        run *= 2;
    }
    //]
    for i in [t, t + BLOCK] {
        if begin + i < keys.len() {
            keys.set(begin + i, tile.get(i));
        }
    }
}

/// Thread t's pair of one step: leaves the smaller key in front.
#[simt::device]
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

//? Which runs are merged in the first stage, and which in the last? Which distances has a stage whose runs have 8 keys?
//? Two loops, one in the other: the length of the runs doubles from 2 to `TILE`; in each stage the distance begins with
//?   half of it and is halved down to 1. The first step of each stage is mirrored. The next step compares keys that
//?   other threads have placed.
//? `let mut run = 2;`, `while run <= TILE`, in it `let mut distance = run / 2;`, `while distance > 0`:
//?   `compare(tile, t, distance, distance == run / 2);`, `thread::sync_threads();`, `distance /= 2;`. Then `run *= 2;`.
