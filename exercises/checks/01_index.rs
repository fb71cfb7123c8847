//! y = a·x + y in one block of n threads.

use super::answer::saxpy;
use rungs_exercises::*;

/// The exercise.
pub const EXERCISE: Exercise = Exercise { name: "01_index", sizes: &[1, 6, 31, 33, 100, 1024], run, gates: &[] };

fn run(on: &Run) -> Result {
    let (a, mut x) = (3, on.numbers(2 * on.n));
    let y = x.split_off(on.n as usize);
    let (of_x, of_y) = (on.input("x", &x), on.in_place("y", &y));
    on.launch(saxpy, Geometry::linear(1, on.n), (a, of_x.view(), of_y.view()))?;
    on.expect(&of_y, x.iter().zip(&y).map(|(x, y)| a * x + y));
    Ok(())
}
