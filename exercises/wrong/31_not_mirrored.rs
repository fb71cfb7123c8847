//! The first step of a stage compares keys that are a distance apart, and not mirror images.
//!
//! **Finding.** different

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
    let partner = i + distance;
    if partner < keys.len() {
        let (a, b) = (keys.get(i), keys.get(partner));
        if a > b {
            keys.set(i, b);
            keys.set(partner, a);
        }
    }
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
