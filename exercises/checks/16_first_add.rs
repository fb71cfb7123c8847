//! Sums of blocks with two elements per thread.

use super::answer::{BLOCK, add_up, grid};
use rungs_exercises::*;

/// Elements of a block.
const TILE: u32 = 2 * BLOCK;

/// The exercise.
pub const EXERCISE: Exercise = Exercise {
    name: "16_first_add",
    sizes: &[0, 1, 6, 31, 33, 100, BLOCK - 1, BLOCK, BLOCK + 1, TILE - 1, TILE, TILE + 1, 3 * TILE],
    run,
    gates: &[
        Gate {
            what: "barriers per 128 elements",
            n: 4 * TILE,
            counter: |statistics| {
                let barriers = statistics.sum(|i| i == Instruction::Barrier).barriers;
                (barriers > 0).then(|| barriers as f64 / 4.0)
            },
            bound: Bound::AtMost(1.2),
        },
        Gate {
            what: "bytes used of each sector of 32 bytes",
            n: 4 * TILE,
            counter: |statistics| bytes_per_sector(statistics, |i| i == Instruction::GlobalLoad),
            bound: Bound::AtLeast(25.0),
        },
    ],
};

fn run(on: &Run) -> Result {
    let (numbers, blocks) = (on.numbers(on.n), grid(on.n));
    let (input, sums) = (on.input("input", &numbers), on.output("sums", blocks));
    on.launch(add_up, Geometry::linear(blocks, BLOCK), (input.view(), sums.view()))?;
    on.expect_sum(&sums, numbers.iter().sum());
    Ok(())
}
