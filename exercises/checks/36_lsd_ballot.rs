//! A stable pass of a radix sort over one digit.

use super::answer::{DIGITS, TILE, launches};
use rungs_exercises::*;

/// The exercise.
pub const EXERCISE: Exercise = Exercise {
    name: "36_lsd_ballot",
    sizes: &[1, 2, 6, 31, TILE, 33, 100, 3 * TILE, 5 * TILE - 1],
    run,
    gates: &[
        Gate {
            what: "launches",
            n: 4 * TILE,
            counter: |statistics| rungs_exercises::launches(statistics),
            bound: Bound::AtMost(3.5),
        },
        Gate {
            what: "warp operations per tile",
            n: 4 * TILE,
            counter: |statistics| {
                let operations = statistics.sum(|i| i == Instruction::Warp).requests;
                (operations > 0).then(|| operations as f64 / 4.0)
            },
            // A ballot for each digit to count, and one match or ballots for two bits to rank.
            bound: Bound::AtMost(9.0),
        },
    ],
};

fn run(on: &Run) -> Result {
    // Distinct keys, so keys of one digit that change places are seen.
    let mut numbers = on.numbers(on.n);
    let (input, output) = (on.input("input", &numbers), on.output("output", on.n));
    launches(on.gpu(), input.view(), output.view())?;
    numbers.sort_by_key(|number| number % DIGITS);
    on.expect(&output, numbers);
    Ok(())
}
