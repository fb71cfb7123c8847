//! The sum of all elements in one word.

use super::answer::{BLOCK, add_up};
use rungs_exercises::*;

/// Blocks of the run that is counted.
const BLOCKS: u32 = 5;

/// The exercise.
pub const EXERCISE: Exercise = Exercise {
    name: "20_grid_atomic",
    sizes: &[0, 1, 6, 31, 33, 100, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK],
    run,
    gates: &[Gate {
        what: "atomic additions to global memory, per block",
        n: BLOCKS * BLOCK,
        counter: |statistics| global_atomics(statistics).map(|lanes| lanes / f64::from(BLOCKS)),
        bound: Bound::AtMost(1.2),
    }],
};

fn run(on: &Run) -> Result {
    let numbers = on.numbers(on.n);
    let (input, total) = (on.input("input", &numbers), on.in_place("total", &[0u32]));
    on.launch(add_up, Geometry::linear(on.n.div_ceil(BLOCK), BLOCK), (input.view(), total.view()))?;
    on.expect(&total, [numbers.iter().sum::<u32>()]);
    Ok(())
}
