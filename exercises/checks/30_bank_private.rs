//! A histogram without bank conflicts, whatever the keys are.

use super::answer::{BINS, GRID, histogram};
use rungs_exercises::*;

/// Keys of the run that is counted.
const N: u32 = 10 * 32 * GRID;

/// The exercise.
pub const EXERCISE: Exercise = Exercise {
    name: "30_bank_private",
    sizes: &[0, 1, 6, 31, 33, 100, 32 * GRID, 32 * GRID + 1, 200],
    run,
    gates: &[
        Gate {
            what: "bank conflicts per request of shared memory",
            n: N,
            counter: wavefront_excess,
            bound: Bound::AtMost(0.02),
        },
        Gate {
            what: "atomic operations on global memory, per key",
            n: N,
            counter: |statistics| global_atomics(statistics).map(|lanes| lanes / f64::from(N)),
            bound: Bound::AtMost(0.2),
        },
    ],
};

fn run(on: &Run) -> Result {
    let mut random = on.random();
    // All keys the same, few different ones, or many.
    let different = [1, 3, BINS][(on.seed % 3) as usize];
    let numbers: Vec<u32> = (0..on.n).map(|i| if i < N / 2 { random() as u32 % different } else { i % BINS }).collect();
    let (keys, counts) = (on.input("keys", &numbers), on.in_place("counts", &[0u32; BINS as usize]));
    on.launch(histogram, Geometry::linear(GRID, 32), (keys.view(), counts.view()))?;
    on.expect(&counts, (0..BINS).map(|bin| numbers.iter().filter(|key| **key == bin).count() as u32));
    Ok(())
}
