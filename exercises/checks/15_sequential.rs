//! Sums of blocks, with few busy warps and no bank conflicts.

use super::answer::{BLOCK, add_up};
use rungs_exercises::*;

/// Blocks of the runs that are counted.
const BLOCKS: u32 = 3;

/// The exercise.
pub const EXERCISE: Exercise = Exercise {
    name: "15_sequential",
    sizes: &[0, BLOCK, BLOCKS * BLOCK],
    run,
    gates: &[
        Gate {
            what: "requests of warps to read shared memory, per block",
            n: BLOCKS * BLOCK,
            counter: |statistics| {
                let requests = statistics.sum(|i| i == Instruction::SharedLoad).requests;
                (requests > 0).then(|| requests as f64 / f64::from(BLOCKS))
            },
            bound: Bound::AtMost(32.0),
        },
        Gate {
            what: "bank conflicts per request of shared memory",
            n: BLOCKS * BLOCK,
            counter: wavefront_excess,
            bound: Bound::AtMost(0.1),
        },
    ],
};

fn run(on: &Run) -> Result {
    let numbers = on.numbers(on.n);
    let (input, sums) = (on.input("input", &numbers), on.output("sums", on.n / BLOCK));
    on.launch(add_up, Geometry::linear(on.n / BLOCK, BLOCK), (input.view(), sums.view()))?;
    on.expect(&sums, numbers.chunks(BLOCK as usize).map(|block| block.iter().sum()));
    Ok(())
}
