//! # 36 · A digit, and nothing out of order
//!
//! A radix sort puts the keys in order of one digit after another, the last digit first. Each pass has to be stable:
//! keys with the same digit keep their order, or the work of the earlier passes is lost.
//!
//! A pass has three launches. `count` counts the digits of each tile. `sum_up` turns the counts into `starts`: for
//! digit d of tile k, the number of keys that come before, which are all keys with a smaller digit, and those with the
//! same digit in earlier tiles; the number is at `d * tiles + k`. Both are there. Write the third, `scatter`: each key
//! goes to its start, plus its rank, the number of keys of its tile that have the same digit and come before it.
//!
//! A tile is a warp here, and `warp::match_any(FULL, x)` gives each lane a mask of the lanes that have the same x. All
//! lanes make the call; one without a key has a digit that no key has. Which bits of the mask belong to lanes
//! before the own one?
//!
//! **Rung.** gpu/radix/src/r6_lsd_ballot.rs

use simt::launcher::{Launcher, Result};
use simt::warp::{self, FULL};
use simt::{Geometry, Global, kernel, thread};

/// Keys of a tile, and threads per block: one warp.
pub const TILE: u32 = 32;

/// Values of a digit, the key's last two bits.
pub const DIGITS: u32 = 4;

/// The digit of the lane's key, number i; `DIGITS` for a lane without a key.
#[simt::device]
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
    //[
    //| // Write this part.
    let same = warp::match_any(FULL, digit);
    let rank = (same & ((1 << warp::lane_id()) - 1)).count_ones();
    if i < input.len() {
        output.set(starts.get(digit * tiles + tile) + rank, input.get(i));
    }
    //]
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

//? Which lanes before this one have the same digit? What says so without shared memory?
//? All lanes match their digits: bit k of a lane's mask says that lane k has the same one. The rank is the number of
//?   bits below the own lane. Lanes without a key make the call too, and write nothing.
//? `let same = warp::match_any(FULL, digit);`, `let rank = (same & ((1 << warp::lane_id()) - 1)).count_ones();`,
//?   `if i < input.len() { output.set(starts.get(digit * tiles + tile) + rank, input.get(i)); }`.
