//! Exclusive running sums of up to a block's capacity of elements.

use super::answer::{BLOCK, CAPACITY, scan};
use rungs_exercises::*;

/// The exercise.
pub const EXERCISE: Exercise = Exercise {
    name: "23_blelloch",
    sizes: &[0, 1, 6, 31, 33, 100, BLOCK - 1, BLOCK, BLOCK + 1, CAPACITY],
    run,
    gates: &[Gate {
        what: "reads of shared memory, per element",
        n: CAPACITY,
        counter: |statistics| {
            let reads = statistics.sum(|i| i == Instruction::SharedLoad).lanes;
            (reads > 0).then(|| reads as f64 / f64::from(CAPACITY))
        },
        bound: Bound::AtMost(5.6),
    }],
};

fn run(on: &Run) -> Result {
    let numbers = on.numbers(on.n);
    let (input, output) = (on.input("input", &numbers), on.output("output", on.n));
    on.launch(scan, Geometry::linear(1, BLOCK), (input.view(), output.view()))?;
    let before = numbers.iter().scan(0, |sum, x| {
        let before = *sum;
        *sum += x;
        Some(before)
    });
    on.expect(&output, before);
    Ok(())
}
