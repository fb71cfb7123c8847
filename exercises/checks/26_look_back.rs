//! Running sums in one launch, by blocks that wait for each other.

use super::answer::{TILE, scan};
use rungs_exercises::*;

/// The exercise.
pub const EXERCISE: Exercise = Exercise {
    name: "26_look_back",
    sizes: &[1, 6, 31, TILE, 33, 100, 3 * TILE, MANY],
    run,
    gates: &[Gate {
        // In the plain schedule a block begins when the one before it has published its prefix.
        what: "looks at a state, per tile",
        n: 16 * TILE,
        counter: |statistics| {
            let looks = statistics.sum(|i| i == Instruction::GlobalAtomicLoad).lanes;
            (looks > 0).then(|| looks as f64 / 16.0)
        },
        bound: Bound::AtMost(1.5),
    }],
};

/// A size with more tiles than blocks that run at the same time, one for each SM: where there are more of
/// those, it is a larger one.
const MANY: u32 = 9 * TILE + 1;

/// Shared memory that leaves no room for a second block.
const WHOLE: u32 = 200 << 10;

fn run(on: &Run) -> Result {
    let n = if on.n == MANY { MANY.max((on.gpu().device().multiprocessors + 2) * TILE) } else { on.n };
    let (numbers, tiles) = (on.numbers(n), n.div_ceil(TILE));
    let (input, output) = (on.input("input", &numbers), on.output("output", n));
    let (states, ticket) = (on.in_place("states", &vec![0u64; tiles as usize]), on.in_place("ticket", &[0u32]));
    let args = (input.view(), output.view(), states.view(), ticket.view());
    on.launch(scan, Geometry::linear(tiles, TILE).shared(if on.n == MANY { WHOLE } else { 0 }), args)?;
    let running = numbers.iter().scan(0, |sum, x| {
        *sum += x;
        Some(*sum)
    });
    on.expect(&output, running);
    Ok(())
}
