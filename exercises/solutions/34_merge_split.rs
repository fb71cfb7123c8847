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
        //[
        //| // Write this part.
        let other = if is_lower { run + 1 } else { run - 1 } * RUN;
        let len = (from.len() - other).min(RUN);
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
        //]
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
        //[
        //| // Write this part: two rounds, each by `on.launch(round, geometry, (from, to, parity))?;`.
        on.launch(round, geometry, (keys, spare, 0))?;
        on.launch(round, geometry, (spare, keys, 1))?;
        //]
    }
    Ok(())
}

//? A key's place in two merged runs follows from its place in its own run and one more number. Which? And who goes
//?   first if two keys are equal?
//? The number of keys of the other run that belong before it: the smaller ones, and the equal ones if the other run is
//?   the lower one. A binary search finds it: if the key in the middle belongs before this one, go on behind it, if
//?   not, in front of it. The first round reads `keys` and writes `spare`, the second one the other way round.
//? `let other = if is_lower { run + 1 } else { run - 1 } * RUN;`,
//?   `let (mut low, mut high) = (0, (from.len() - other).min(RUN));`, `while low < high`, with
//?   `theirs < key || theirs == key && !is_lower` for `low = middle + 1;`, else `high = middle;`. Then
//?   `place = run.min(other / RUN) * RUN + i % RUN + low;`. Rounds: `(keys, spare, 0)` and `(spare, keys, 1)`.
