//! Blocks in reverse, by way of shared memory.

use super::answer::{BLOCK, reverse};
use rungs_exercises::*;

/// The exercise.
pub const EXERCISE: Exercise = Exercise {
    name: "09_reverse",
    sizes: &[0, BLOCK, 3 * BLOCK],
    run,
    gates: &[Gate { what: "barriers per block", n: 3 * BLOCK, counter: barriers_per_block, bound: Bound::AtMost(1.5) }],
};

fn run(on: &Run) -> Result {
    let numbers = on.numbers(on.n);
    let (input, output) = (on.input("input", &numbers), on.output("output", on.n));
    on.launch(reverse, Geometry::linear(on.n / BLOCK, BLOCK), (input.view(), output.view()))?;
    on.expect(&output, numbers.chunks(BLOCK as usize).flat_map(|block| block.iter().rev().copied()));
    Ok(())
}
