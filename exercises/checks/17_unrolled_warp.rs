//! Sums of blocks whose last steps are done by one warp.

use super::answer::{BLOCK, add_up};
use rungs_exercises::*;

/// The exercise.
pub const EXERCISE: Exercise = Exercise {
    name: "17_unrolled_warp",
    sizes: &[0, BLOCK, 3 * BLOCK],
    run,
    gates: &[Gate { what: "barriers per block", n: 3 * BLOCK, counter: barriers_per_block, bound: Bound::AtMost(2.5) }],
};

fn run(on: &Run) -> Result {
    let numbers = on.numbers(on.n);
    let (input, sums) = (on.input("input", &numbers), on.output("sums", on.n / BLOCK));
    on.launch(add_up, Geometry::linear(on.n / BLOCK, BLOCK), (input.view(), sums.view()))?;
    on.expect(&sums, numbers.chunks(BLOCK as usize).map(|block| block.iter().sum()));
    Ok(())
}
