//! # 34 · Runs that change halves with their neighbours
//!
//! Comparing neighbouring keys in phases sorts them (exercise 11). The same works for sorted runs of keys: in each
//! round a run is merged with a neighbour, in even rounds 0 with 1, 2 with 3 …, in odd rounds 1 with 2, 3 with 4
//! …; the lower one of the two keeps the smaller half, the upper one the larger. With as many rounds as runs,
//! everything is sorted.
//!
//! To merge two runs, no thread has to walk through both. Each key can compute its own place: its index in its own run,
//! plus the number of keys of the other run that belong before it. The other run is sorted, so a binary search counts
//! them. If two keys are equal, the one of the lower run comes first; if both had the same place, one would be lost.
//!
//! One thread has one key. A run without a neighbour is copied. The last run may be short.
//!
//! **Rung.** gpu/odd_even/src/r2_merge_split.rs

use simt::launcher::{Launcher, Result};
use simt::{Geometry, Global, kernel, thread};

/// Keys of a run.
pub const RUN: u32 = 32;

/// Threads per block.
pub const BLOCK: u32 = 64;

/// One round, from `from` to `to`. `parity`: 0 in even rounds, 1 in odd ones.
#[kernel]
pub fn round(from: Global<u32>, to: Global<u32>, parity: u32) {
    let i = thread::index_1d();
    if i >= from.len() {
        return;
    }
    let (key, run) = (from.get(i), i / RUN);
    // Number 0 of the first pair begins at run 0 or 1.
    let is_lower = run % 2 == parity;
    let runs = from.len().div_ceil(RUN);
    let is_alone = if is_lower { run + 1 == runs } else { run == 0 };
    let mut place = i;
    if !is_alone {
        // Write this part.
    }
    to.set(place, key);
}

/// Sorts `keys`, which consist of sorted runs. `spare` has room for as many keys.
///
/// # Errors
/// Those of the launches.
pub fn launches(on: &dyn Launcher, keys: Global<u32>, spare: Global<u32>) -> Result {
    // Rounds in pairs, so that the last one writes to `keys`.
    let pairs = keys.len().div_ceil(RUN).div_ceil(2);
    let geometry = Geometry::linear(keys.len().div_ceil(BLOCK), BLOCK);
    for _ in 0..pairs {
        // Write this part: two rounds, each by `on.launch(round, geometry, (from, to, parity))?;`.
    }
    Ok(())
}
