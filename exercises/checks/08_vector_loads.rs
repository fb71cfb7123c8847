//! The sum of one block's input, read 16 bytes at a time.

use super::answer::{BLOCK, add_up};
use rungs_exercises::*;

/// Elements of the run that is counted.
const N: u32 = 16 * BLOCK;

/// The exercise.
pub const EXERCISE: Exercise = Exercise {
    name: "08_vector_loads",
    sizes: &[0, 1, 2, 3, 4, 31, 33, 100, 4 * BLOCK - 1, 4 * BLOCK, 4 * BLOCK + 1, 12 * BLOCK],
    run,
    gates: &[
        Gate {
            what: "requests of warps to read global memory, per 128 elements",
            n: N,
            counter: |statistics| {
                let requests = statistics.sum(|i| i == Instruction::GlobalLoad).requests;
                (requests > 0).then(|| requests as f64 / f64::from(N / 128))
            },
            bound: Bound::AtMost(1.3),
        },
        Gate {
            what: "bytes used of each sector of 32 bytes",
            n: N,
            counter: |statistics| bytes_per_sector(statistics, |i| i == Instruction::GlobalLoad),
            bound: Bound::AtLeast(25.0),
        },
    ],
};

fn run(on: &Run) -> Result {
    let numbers = on.numbers(on.n);
    let (values, sums) = (on.input("values", &numbers), on.output("sums", BLOCK));
    on.launch(add_up, Geometry::linear(1, BLOCK), (values.view(), sums.view()))?;
    on.expect_sum(&sums, numbers.iter().sum());
    Ok(())
}
