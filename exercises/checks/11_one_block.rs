//! Up to a block's capacity of keys, sorted in phases.

use super::answer::{BLOCK, CAPACITY, bubble};
use rungs_exercises::*;

/// The exercise.
pub const EXERCISE: Exercise = Exercise {
    name: "11_one_block",
    sizes: &[0, 1, 2, 3, 6, 31, 33, BLOCK - 1, BLOCK + 1, CAPACITY],
    run,
    gates: &[Gate {
        what: "barriers per phase",
        n: CAPACITY,
        counter: |statistics| barriers_per_block(statistics).map(|barriers| barriers / f64::from(CAPACITY)),
        bound: Bound::AtMost(1.2),
    }],
};

fn run(on: &Run) -> Result {
    let mut numbers = on.numbers(on.n);
    // The input that takes the most phases: every key has to go from one end to the other.
    if on.seed == 0 {
        numbers.sort_unstable_by(|a, b| b.cmp(a));
    }
    let keys = on.in_place("keys", &numbers);
    on.launch(bubble, Geometry::linear(1, BLOCK), (keys.view(),))?;
    numbers.sort_unstable();
    on.expect(&keys, numbers);
    Ok(())
}
