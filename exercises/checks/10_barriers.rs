//! Differences from the element before, within blocks.

use super::answer::{BLOCK, differences};
use rungs_exercises::*;

/// The exercise.
pub const EXERCISE: Exercise = Exercise {
    name: "10_barriers",
    sizes: &[0, 1, 6, 31, 33, 100, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK],
    run,
    gates: &[Gate { what: "barriers per block", n: 3 * BLOCK, counter: barriers_per_block, bound: Bound::AtMost(2.5) }],
};

fn run(on: &Run) -> Result {
    let numbers = on.numbers(on.n);
    let (input, output) = (on.input("input", &numbers), on.output("output", on.n));
    on.launch(differences, Geometry::linear(on.n.div_ceil(BLOCK), BLOCK), (input.view(), output.view()))?;
    let of_block = |block: &[u32]| {
        let before = [0].into_iter().chain(block.iter().copied());
        block.iter().zip(before).map(|(x, before)| x.wrapping_sub(before)).collect::<Vec<_>>()
    };
    on.expect(&output, numbers.chunks(BLOCK as usize).flat_map(of_block));
    Ok(())
}
