//! The sum of all elements in one launch, twice on the same memory.

use super::answer::{BLOCK, add_up};
use rungs_exercises::*;

/// The exercise.
pub const EXERCISE: Exercise = Exercise {
    name: "21_single_launch",
    sizes: &[1, 6, 31, BLOCK, 33, 100, 3 * BLOCK, 9 * BLOCK],
    run,
    gates: &[
        Gate { what: "launches", n: 4 * BLOCK, counter: |s| launches(s).map(|l| l / 2.0), bound: Bound::AtMost(1.2) },
        Gate {
            what: "atomic operations on global memory, per block",
            n: 4 * BLOCK,
            counter: |statistics| global_atomics(statistics).map(|lanes| lanes / 8.0),
            bound: Bound::AtMost(1.2),
        },
    ],
};

fn run(on: &Run) -> Result {
    let (numbers, blocks) = (on.numbers(on.n), on.n.div_ceil(BLOCK));
    let input = on.input("input", &numbers);
    let (values, ticket) = (on.scratch("values", blocks), on.in_place("ticket", &[0u32]));
    let outputs = ["output of the first launch", "output of the second launch"].map(|name| on.output(name, 1));
    for output in &outputs {
        let args = (input.view(), output.view(), values.view(), ticket.view());
        on.launch(add_up, Geometry::linear(blocks, BLOCK), args)?;
    }
    for output in &outputs {
        on.expect(output, [numbers.iter().sum::<u32>()]);
    }
    on.expect(&ticket, [0]);
    Ok(())
}
