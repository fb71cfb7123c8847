//! A histogram by way of a table for each block.

use super::answer::{BINS, BLOCK, GRID, histogram};
use rungs_exercises::*;

/// Keys of the run that is counted.
const N: u32 = 30 * BLOCK * GRID;

/// The exercise.
pub const EXERCISE: Exercise = Exercise {
    name: "29_shared_atomics",
    sizes: &[0, 1, 6, 31, 33, 100, BLOCK * GRID - 1, BLOCK * GRID, BLOCK * GRID + 1, 3 * BLOCK * GRID],
    run,
    gates: &[Gate {
        what: "atomic operations on global memory, per key",
        n: N,
        counter: |statistics| global_atomics(statistics).map(|lanes| lanes / f64::from(N)),
        bound: Bound::AtMost(0.1),
    }],
};

fn run(on: &Run) -> Result {
    let mut random = on.random();
    // Every second key is one of three, as in real data.
    let mut key = |i: u32| random() as u32 % if i.is_multiple_of(2) { 3 } else { BINS };
    let numbers: Vec<u32> = (0..on.n).map(&mut key).collect();
    let (keys, counts) = (on.input("keys", &numbers), on.in_place("counts", &[0u32; BINS as usize]));
    on.launch(histogram, Geometry::linear(GRID, BLOCK), (keys.view(), counts.view()))?;
    on.expect(&counts, (0..BINS).map(|bin| numbers.iter().filter(|key| **key == bin).count() as u32));
    Ok(())
}
