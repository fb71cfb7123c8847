//! Sums of cubes by a grid of fixed size.

use super::answer::{BLOCK, GRID, cubes};
use rungs_exercises::*;

const THREADS: u32 = GRID * BLOCK;

/// The exercise.
pub const EXERCISE: Exercise = Exercise {
    name: "04_many_blocks",
    sizes: &[0, 1, 6, 31, 33, 100, BLOCK + 1, THREADS - 1, THREADS, THREADS + 1, 3 * THREADS + 7],
    run,
    gates: &[
        Gate {
            what: "reads of a value, per value",
            n: 4 * THREADS,
            counter: |statistics| {
                let reads = statistics.sum(|i| i == Instruction::GlobalLoad).lanes;
                (reads > 0).then(|| reads as f64 / f64::from(4 * THREADS))
            },
            bound: Bound::AtMost(1.2),
        },
        Gate {
            what: "bytes used of each sector of 32 bytes",
            n: 4 * THREADS,
            counter: |statistics| bytes_per_sector(statistics, |i| i == Instruction::GlobalLoad),
            bound: Bound::AtLeast(25.0),
        },
    ],
};

fn run(on: &Run) -> Result {
    let numbers = on.numbers(on.n);
    let (values, sums) = (on.input("values", &numbers), on.output("sums", THREADS));
    on.launch(cubes, Geometry::linear(GRID, BLOCK), (values.view(), sums.view()))?;
    let cube = |x: &u32| x.wrapping_mul(*x).wrapping_mul(*x);
    let sum = |t: u32| numbers.iter().skip(t as usize).step_by(THREADS as usize).map(cube).fold(0, u32::wrapping_add);
    on.expect(&sums, (0..THREADS).map(sum));
    Ok(())
}
