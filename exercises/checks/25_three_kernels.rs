//! Running sums of many tiles.

use super::answer::{TILE, launches};
use rungs_exercises::*;

/// The exercise.
pub const EXERCISE: Exercise = Exercise {
    name: "25_three_kernels",
    sizes: &[1, 6, 31, 33, 100, TILE - 1, TILE, TILE + 1, 3 * TILE, 4 * TILE + 1],
    run,
    gates: &[Gate {
        what: "launches",
        n: 4 * TILE,
        counter: |statistics| rungs_exercises::launches(statistics),
        bound: Bound::AtMost(3.5),
    }],
};

fn run(on: &Run) -> Result {
    let numbers = on.numbers(on.n);
    let (input, output) = (on.input("input", &numbers), on.output("output", on.n));
    launches(on.gpu(), input.view(), output.view())?;
    let running = numbers.iter().scan(0, |sum, x| {
        *sum += x;
        Some(*sum)
    });
    on.expect(&output, running);
    Ok(())
}
