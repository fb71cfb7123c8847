//! Exclusive running sums without bank conflicts.

use super::answer::{BLOCK, CAPACITY, scan};
use rungs_exercises::*;

/// The exercise.
pub const EXERCISE: Exercise = Exercise {
    name: "24_blelloch_padded",
    sizes: &[1, 33, BLOCK + 1, CAPACITY],
    run,
    gates: &[
        Gate {
            what: "bank conflicts per request of shared memory",
            n: CAPACITY,
            counter: wavefront_excess,
            bound: Bound::AtMost(0.02),
        },
        // An answer that does less cannot have conflicts either.
        Gate {
            what: "accesses to shared memory, per element",
            n: CAPACITY,
            counter: |statistics| {
                let lanes = statistics.sum(Instruction::is_shared).lanes;
                (lanes > 0).then(|| lanes as f64 / f64::from(CAPACITY))
            },
            bound: Bound::AtLeast(7.0),
        },
    ],
};

fn run(on: &Run) -> Result {
    let numbers = on.numbers(on.n);
    let (input, output) = (on.input("input", &numbers), on.output("output", on.n));
    on.launch(scan, Geometry::linear(1, BLOCK), (input.view(), output.view()))?;
    let before = numbers.iter().scan(0, |sum: &mut u32, x| {
        let before = *sum;
        *sum = sum.wrapping_add(*x);
        Some(before)
    });
    on.expect(&output, before);
    Ok(())
}
