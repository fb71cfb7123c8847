//! Squares of any number of elements.

use super::answer::{BLOCK, grid, squares};
use rungs_exercises::*;

/// The exercise.
pub const EXERCISE: Exercise = Exercise {
    name: "03_blocks",
    sizes: &[0, 1, 6, 31, 33, 100, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK],
    run,
    gates: &[],
};

fn run(on: &Run) -> Result {
    let numbers = on.numbers(on.n);
    let (input, output) = (on.input("input", &numbers), on.output("output", on.n));
    on.launch(squares, Geometry::linear(grid(on.n), BLOCK), (input.view(), output.view()))?;
    on.expect(&output, numbers.iter().map(|x| x * x));
    Ok(())
}
