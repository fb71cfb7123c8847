//! Keys of many windows, sorted by launches whose windows are shifted in turn.

use super::answer::{WINDOW, launches};
use rungs_exercises::*;

/// The exercise.
pub const EXERCISE: Exercise = Exercise {
    name: "12_shared_block",
    sizes: &[0, 1, 2, 15, WINDOW / 2, 17, 31, 33, 3 * WINDOW / 2, 100, 4 * WINDOW],
    run,
    gates: &[Gate {
        what: "launches per half window",
        n: 8 * WINDOW,
        counter: |statistics| rungs_exercises::launches(statistics).map(|launches| launches / 16.0),
        bound: Bound::AtMost(1.2),
    }],
};

fn run(on: &Run) -> Result {
    let mut numbers = on.numbers(on.n);
    // The input that takes the most launches: every key has to go from one end to the other.
    if on.seed == 0 {
        numbers.sort_unstable_by(|a, b| b.cmp(a));
    }
    let keys = on.in_place("keys", &numbers);
    launches(on.gpu(), keys.view())?;
    numbers.sort_unstable();
    on.expect(&keys, numbers);
    Ok(())
}
