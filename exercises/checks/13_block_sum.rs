//! Each element's share of its block's sum.

use super::answer::{BLOCK, shares};
use rungs_exercises::*;

/// The exercise.
pub const EXERCISE: Exercise = Exercise {
    name: "13_block_sum",
    sizes: &[0, BLOCK, 3 * BLOCK],
    run,
    gates: &[Gate { what: "barriers per block", n: 3 * BLOCK, counter: barriers_per_block, bound: Bound::AtMost(2.5) }],
};

fn run(on: &Run) -> Result {
    let numbers = on.numbers(on.n);
    let (input, output) = (on.input("input", &numbers), on.output("output", on.n));
    on.launch(shares, Geometry::linear(on.n / BLOCK, BLOCK), (input.view(), output.view()))?;
    let of_block = |block: &[u32]| {
        let sum: u32 = block.iter().sum();
        block.iter().map(move |x| 1000 * x / sum).collect::<Vec<_>>()
    };
    on.expect(&output, numbers.chunks(BLOCK as usize).flat_map(of_block));
    Ok(())
}
