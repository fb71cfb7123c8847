//! The tile is the index of the block, which may wait for one that has not started.
//!
//! **Finding.** deadlock

use simt::atomic::{Order::Relaxed, Scope};
use simt::warp::{self, FULL};
use simt::{Global, kernel};

/// Elements of a tile, and threads per block: one warp.
pub const TILE: u32 = 32;

/// The tag of a state that holds the sum of its tile alone.
pub const SUM: u64 = 1 << 32;

/// The tag of a state that holds the sum of everything up to the end of its tile.
pub const PREFIX: u64 = 2 << 32;

/// Writes the running sums of `input` to `output`. `states` has a word for each tile, and `ticket` one; all are 0.
#[kernel]
pub fn scan(input: Global<u32>, output: Global<u32>, states: Global<u64>, ticket: Global<u32>) {
    let lane = warp::lane_id();
    let tile = simt::thread::block_idx_x();
    let i = tile * TILE + lane;
    // The running sums of the tile; the last lane has the sum of all of it.
    let mut running = if i < input.len() { input.get(i) } else { 0 };
    for step in 0..5 {
        let below = warp::shuffle_up(FULL, running, 1 << step);
        running += if lane >= 1 << step { below } else { 0 };
    }
    let sum = warp::shuffle(FULL, running, TILE - 1);
    let mut before = 0;
    if lane == 0 {
        states.store(tile, SUM | u64::from(sum), Relaxed, Scope::Device);
        let mut k = tile;
        while k > 0 {
            let state = states.load(k - 1, Relaxed, Scope::Device);
            if state != 0 {
                before += state as u32;
                k = if state < PREFIX { k - 1 } else { 0 };
            }
        }
        states.store(tile, PREFIX | u64::from(before + sum), Relaxed, Scope::Device);
    }
    let before = warp::shuffle(FULL, before, 0);
    if i < output.len() {
        output.set(i, before + running);
    }
}
