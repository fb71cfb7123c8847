//! Doubles up to a block of elements, in place.

use super::answer::{BLOCK, double};
use rungs_exercises::*;

/// The exercise.
pub const EXERCISE: Exercise =
    Exercise { name: "02_guard", sizes: &[0, 1, 6, 31, 33, 100, BLOCK - 1, BLOCK], run, gates: &[] };

fn run(on: &Run) -> Result {
    let numbers = on.numbers(on.n);
    let data = on.in_place("data", &numbers);
    on.launch(double, Geometry::linear(1, BLOCK), (data.view(),))?;
    on.expect(&data, numbers.iter().map(|x| 2 * x));
    Ok(())
}
