//! The last run is searched as if it were whole.
//!
//! **Finding.** out-of-bounds

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
        let other = if is_lower { run + 1 } else { run - 1 } * RUN;
        let len = RUN;
        // The first key of the other run that does not belong before this one lies from `low` to `high`.
        let (mut low, mut high) = (0, len);
        while low < high {
            let middle = (low + high) / 2;
            let theirs = from.get(other + middle);
            if theirs < key || theirs == key && !is_lower {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        place = run.min(other / RUN) * RUN + i % RUN + low;
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
        on.launch(round, geometry, (keys, spare, 0))?;
        on.launch(round, geometry, (spare, keys, 1))?;
    }
    Ok(())
}
