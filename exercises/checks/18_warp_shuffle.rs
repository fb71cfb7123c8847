//! Sums of warps, the last of which may have lanes without an element.

use super::answer::add_up;
use rungs_exercises::*;

/// Threads per block: two warps.
const BLOCK: u32 = 64;

/// The exercise.
pub const EXERCISE: Exercise = Exercise {
    name: "18_warp_shuffle",
    sizes: &[0, 1, 6, 31, 33, 100, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK],
    run,
    gates: &[Gate {
        what: "warp operations per warp",
        n: 3 * BLOCK,
        counter: |statistics| {
            let operations = statistics.sum(|i| i == Instruction::Warp).requests;
            (operations > 0).then(|| operations as f64 / f64::from(3 * BLOCK / 32))
        },
        bound: Bound::AtMost(6.0),
    }],
};

fn run(on: &Run) -> Result {
    let (numbers, blocks) = (on.numbers(on.n), on.n.div_ceil(BLOCK));
    let (input, sums) = (on.input("input", &numbers), on.output("sums", blocks * BLOCK / 32));
    on.launch(add_up, Geometry::linear(blocks, BLOCK), (input.view(), sums.view()))?;
    let sum = |warp: u32| numbers.iter().skip(32 * warp as usize).take(32).sum();
    on.expect(&sums, (0..sums.len()).map(sum));
    Ok(())
}
