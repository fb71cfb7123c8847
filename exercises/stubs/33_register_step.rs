//! # 33 · Two steps in one pass
//!
//! Each launch of exercise 31 reads and writes all keys for one step. Four keys are enough for two steps: those with
//! `distance`, and those with half of it. A thread loads the four keys whose places the two steps connect, does both
//! steps in registers, and stores them. That is half the launches.
//!
//! A run has 2·distance keys, and `half` is distance / 2. The thread is number `w` of its run, with w below `half`.
//! Without a mirror, the first step compares keys that are `distance` apart. So the four places, counted from the
//! beginning of the run, are w, w + half, w + distance, w + distance + half. In a mirrored step the partner of place p
//! is 2·distance - 1 - p; the second step then compares keys that are `half` apart, as always. Find four places that
//! both steps connect.
//!
//! `launches` does all steps one by one, which is right but takes too many launches. Write `two_steps`, and use it in
//! `launches` wherever a stage has two steps left.
//!
//! **Rung.** gpu/bitonic/src/r3_register_step.rs

use simt::launcher::{Launcher, Result};
use simt::{Geometry, Global, kernel, thread};

/// Threads per block.
pub const BLOCK: u32 = 32;

/// One step, as in exercise 31: `distance` is a power of two; a run has `2 * distance` keys.
#[kernel]
pub fn step(keys: Global<u32>, distance: u32, mirrored: u32) {
    let t = thread::index_1d();
    let (run, w) = (t / distance * 2 * distance, t % distance);
    let partner = if mirrored != 0 { run + 2 * distance - 1 - w } else { run + w + distance };
    let mut pair = [load(keys, run + w), load(keys, partner)];
    compare(&mut pair, 0, 1);
    store(keys, run + w, pair[0]);
    store(keys, partner, pair[1]);
}

/// The step of `distance`, and then that of half the distance.
#[kernel]
pub fn two_steps(keys: Global<u32>, distance: u32, mirrored: u32) {
    let (t, half) = (thread::index_1d(), distance / 2);
    let (run, w) = (t / half * 2 * distance, t % half);
    // Write this part.
}

/// Leaves the smaller of keys i and j in front.
#[simt::device]
fn compare(keys: &mut [u32], i: usize, j: usize) {
    if keys[i] > keys[j] {
        keys.swap(i, j);
    }
}

/// The key at a place; the largest there is behind the last key.
#[simt::device]
fn load(keys: Global<u32>, place: u32) -> u32 {
    if place < keys.len() { keys.get(place) } else { u32::MAX }
}

/// Stores a key, unless its place is behind the last one.
#[simt::device]
fn store(keys: Global<u32>, place: u32, key: u32) {
    if place < keys.len() {
        keys.set(place, key);
    }
}

/// Sorts the keys.
///
/// # Errors
/// Those of the launches.
pub fn launches(on: &dyn Launcher, keys: Global<u32>) -> Result {
    let all = keys.len().next_power_of_two();
    let threads = |each: u32| Geometry::linear((all / each).div_ceil(BLOCK), BLOCK);
    let mut run = 2;
    while run < 2 * keys.len() {
        let mut distance = run / 2;
        while distance > 0 {
            let mirrored = (distance == run / 2) as u32;
            // Change this part.
            on.launch(step, threads(2), (keys, distance, mirrored))?;
            distance /= 2;
        }
        run *= 2;
    }
    Ok(())
}
