//! Running sums of up to a block of elements.

use super::answer::{BLOCK, scan};
use rungs_exercises::*;

/// The exercise.
pub const EXERCISE: Exercise = Exercise {
    name: "22_hillis_steele",
    sizes: &[0, 1, 6, 31, 33, 100, BLOCK - 1, BLOCK],
    run,
    gates: &[Gate { what: "barriers per block", n: BLOCK, counter: barriers_per_block, bound: Bound::AtMost(16.0) }],
};

fn run(on: &Run) -> Result {
    let numbers = on.numbers(on.n);
    let (input, output) = (on.input("input", &numbers), on.output("output", on.n));
    on.launch(scan, Geometry::linear(1, BLOCK), (input.view(), output.view()))?;
    let running = numbers.iter().scan(0, |sum, x| {
        *sum += x;
        Some(*sum)
    });
    on.expect(&output, running);
    Ok(())
}
