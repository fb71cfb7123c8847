//! # 31 · A network that sorts
//!
//! A *compare-exchange* compares two keys and swaps them if the first is larger. In a sorting network the pairs do not
//! depend on the keys, so all pairs of a step can be done at the same time, one by each thread.
//!
//! Stage by stage, sorted runs become sorted runs of twice the length: 1, 2, 4, 8 … The first step of a stage
//! (`mirrored`) compares each key of a run's first half with its mirror image in the second half: the first with the
//! last, the second with the last but one. The other steps compare keys that are `distance` apart. `launches` has the
//! steps in order; one launch does one step.
//!
//! Thread t has the pair whose front key is `i`. Write the index of its partner, and the compare-exchange. n
//! is any number: a partner past the last key counts as larger than all keys, so there is nothing to do.
//!
//! **Rung.** gpu/bitonic/src/r1_global_step.rs

use simt::launcher::{Launcher, Result};
use simt::{Geometry, Global, kernel, thread};

/// Threads per block.
pub const BLOCK: u32 = 32;

/// One step. `distance` is a power of two; a run has `2 * distance` keys.
#[kernel]
pub fn step(keys: Global<u32>, distance: u32, mirrored: u32) {
    let t = thread::index_1d();
    let (run, within) = (t / distance, t % distance);
    let i = run * 2 * distance + within;
    //[
    //| // Write this part.
    let partner = if mirrored != 0 { run * 2 * distance + 2 * distance - 1 - within } else { i + distance };
    if partner < keys.len() {
        let (a, b) = (keys.get(i), keys.get(partner));
        if a > b {
            keys.set(i, b);
            keys.set(partner, a);
        }
    }
    //]
}

/// Sorts the keys.
///
/// # Errors
/// Those of the launches.
pub fn launches(on: &dyn Launcher, keys: Global<u32>) -> Result {
    let pairs = keys.len().next_power_of_two() / 2;
    let mut run = 2;
    while run < 2 * keys.len() {
        let mut distance = run / 2;
        while distance > 0 {
            let mirrored = (distance == run / 2) as u32;
            on.launch(step, Geometry::linear(pairs.div_ceil(BLOCK), BLOCK), (keys, distance, mirrored))?;
            distance /= 2;
        }
        run *= 2;
    }
    Ok(())
}

//? In a run of 8 keys, which key does key 1 meet in a mirrored step, and which in another step with distance 4?
//? Mirrored, the key `within` places from the run's beginning meets the one `within` places before its end. Otherwise
//?   the partner is `distance` further. A run begins at `run * 2 * distance`; behind the last key there is no partner.
//? `let partner = if mirrored != 0 { run * 2 * distance + 2 * distance - 1 - within } else { i + distance };`, then
//?   `if partner < keys.len()`, read both keys, and if the one in front is larger, write them the other way round.
