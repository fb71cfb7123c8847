//! The rank is the order in which an atomic addition is done, which any schedule may change.
//!
//! **Finding.** different

use simt::atomic::{Order::Relaxed, Scope};
use simt::launcher::{Launcher, Result};
use simt::warp::{self, FULL};
use simt::{Geometry, Global, kernel, thread};

/// Keys of a tile, and threads per block: one warp.
pub const TILE: u32 = 32;

/// Values of a digit, the key's last two bits.
pub const DIGITS: u32 = 4;

simt::shared!(COUNTERS: [u32; DIGITS]);

/// The digit of the lane's key, number i; `DIGITS` for a lane without a key.
#[inline(always)]
fn digit(keys: Global<u32>, i: u32) -> u32 {
    if i < keys.len() { keys.get(i) % DIGITS } else { DIGITS }
}

/// Writes each tile's count of digit d to `counts`, at d · tiles + tile.
#[kernel]
pub fn count(keys: Global<u32>, counts: Global<u32>) {
    let digit = digit(keys, thread::index_1d());
    for d in 0..DIGITS {
        let lanes = warp::ballot(FULL, digit == d);
        if warp::lane_id() == d {
            counts.set(d * thread::grid_dim_x() + thread::block_idx_x(), lanes.count_ones());
        }
    }
}

/// Turns each count into the sum of those before it. One thread, for simplicity.
#[kernel]
pub fn sum_up(counts: Global<u32>, starts: Global<u32>) {
    let mut sum = 0;
    for i in 0..counts.len() {
        starts.set(i, sum);
        sum += counts.get(i);
    }
}

/// Copies each key of `input` to its place in `output`.
#[kernel]
pub fn scatter(input: Global<u32>, output: Global<u32>, starts: Global<u32>) {
    let (i, tile, tiles) = (thread::index_1d(), thread::block_idx_x(), thread::grid_dim_x());
    let digit = digit(input, i);
    let counters = COUNTERS::view();
    if warp::lane_id() < DIGITS {
        counters.set(warp::lane_id(), 0);
    }
    warp::sync_warp(FULL);
    if i < input.len() {
        output
            .set(starts.get(digit * tiles + tile) + counters.fetch_add(digit, 1, Relaxed, Scope::Block), input.get(i));
    }
}

/// Puts the keys of `input` in order of their digits, into `output`.
///
/// # Errors
/// Those of the launches.
pub fn launches(on: &dyn Launcher, input: Global<u32>, output: Global<u32>) -> Result {
    let tiles = input.len().div_ceil(TILE);
    let each = Geometry::linear(tiles, TILE);
    let (counts, starts) = (on.scratch::<u32>(DIGITS * tiles)?, on.scratch::<u32>(DIGITS * tiles)?);
    on.launch(count, each, (input, counts.view()))?;
    on.launch(sum_up, Geometry::linear(1, 1), (counts.view(), starts.view()))?;
    on.launch(scatter, each, (input, output, starts.view()))
}
