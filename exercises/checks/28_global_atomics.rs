//! A histogram with a few bins, of keys some of which have none.

use super::answer::{BLOCK, GRID, histogram};
use rungs_exercises::*;

/// Counters; keys are below one more.
const BINS: u32 = 7;

/// Keys of the run that is counted.
const N: u32 = 5 * BLOCK;

/// The exercise.
pub const EXERCISE: Exercise = Exercise {
    name: "28_global_atomics",
    sizes: &[0, 1, 6, 31, 33, 100, BLOCK * GRID - 1, BLOCK * GRID, BLOCK * GRID + 1, 3 * BLOCK * GRID],
    run,
    gates: &[Gate {
        what: "atomic operations on global memory, per key",
        n: N,
        counter: |statistics| global_atomics(statistics).map(|lanes| lanes / f64::from(N)),
        bound: Bound::AtMost(1.2),
    }],
};

fn run(on: &Run) -> Result {
    let mut random = on.random();
    let numbers: Vec<u32> = (0..on.n).map(|_| random() as u32 % (BINS + 1)).collect();
    let (keys, counts) = (on.input("keys", &numbers), on.in_place("counts", &[0u32; BINS as usize]));
    on.launch(histogram, Geometry::linear(GRID, BLOCK), (keys.view(), counts.view()))?;
    on.expect(&counts, (0..BINS).map(|bin| numbers.iter().filter(|key| **key == bin).count() as u32));
    Ok(())
}
