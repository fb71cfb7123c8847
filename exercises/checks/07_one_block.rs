//! The sum of one block's input, shared by its threads in any way.

use super::answer::{BLOCK, add_up};
use rungs_exercises::*;

/// The exercise.
pub const EXERCISE: Exercise = Exercise {
    name: "07_one_block",
    sizes: &[0, 1, 6, 31, 33, 100, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK, 1000],
    run,
    gates: &[Gate {
        what: "bytes used of each sector of 32 bytes",
        n: 32 * BLOCK,
        counter: |statistics| bytes_per_sector(statistics, |i| i == Instruction::GlobalLoad),
        bound: Bound::AtLeast(25.0),
    }],
};

fn run(on: &Run) -> Result {
    let numbers = on.numbers(on.n);
    let (values, sums) = (on.input("values", &numbers), on.output("sums", BLOCK));
    on.launch(add_up, Geometry::linear(1, BLOCK), (values.view(), sums.view()))?;
    on.expect_sum(&sums, numbers.iter().sum());
    Ok(())
}
