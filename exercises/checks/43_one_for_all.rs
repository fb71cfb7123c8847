//! Sums of columns in one launch: one thread takes the ticket of its block.

use super::answer::{BLOCK, columns};
use rungs_exercises::*;

/// The exercise.
pub const EXERCISE: Exercise = Exercise {
    name: "43_one_for_all",
    sizes: &[1, 31, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK, 5 * BLOCK + 7],
    run,
    gates: &[
        Gate {
            what: "atomic operations on global memory, per block",
            n: 4 * BLOCK,
            counter: |statistics| global_atomics(statistics).map(|lanes| lanes / 4.0),
            bound: Bound::AtMost(1.2),
        },
        Gate { what: "barriers per block", n: 4 * BLOCK, counter: barriers_per_block, bound: Bound::AtMost(2.3) },
    ],
};

fn run(on: &Run) -> Result {
    let (numbers, rows) = (on.numbers(on.n), on.n.div_ceil(BLOCK));
    let (input, output) = (on.input("input", &numbers), on.output("output", BLOCK));
    let (values, ticket) = (on.scratch("values", rows * BLOCK), on.in_place("ticket", &[0u32]));
    let args = (input.view(), output.view(), values.view(), ticket.view());
    on.launch(columns, Geometry::linear(rows, BLOCK), args)?;
    let sum = |column| {
        let elements = numbers.iter().skip(column).step_by(BLOCK as usize);
        elements.fold(0u32, |sum, number| sum.wrapping_add(number.wrapping_mul(*number)))
    };
    on.expect(&output, (0..BLOCK as usize).map(sum));
    Ok(())
}
