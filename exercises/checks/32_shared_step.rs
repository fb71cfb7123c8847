//! Tiles sorted by a network in shared memory.

use super::answer::{BLOCK, TILE, sort_tiles};
use rungs_exercises::*;

/// The exercise.
pub const EXERCISE: Exercise = Exercise {
    name: "32_shared_step",
    sizes: &[0, 1, 2, 3, 6, 31, 33, 100, BLOCK + 1, TILE - 1, TILE, TILE + 1, 3 * TILE],
    run,
    gates: &[
        // Stages of 1 to 7 steps, and one barrier before them.
        Gate { what: "barriers per block", n: 2 * TILE, counter: barriers_per_block, bound: Bound::AtMost(33.0) },
        Gate {
            what: "reads of a key from global memory, per key",
            n: 2 * TILE,
            counter: |statistics| {
                let reads = statistics.sum(|i| i == Instruction::GlobalLoad).lanes;
                (reads > 0).then(|| reads as f64 / f64::from(2 * TILE))
            },
            bound: Bound::AtMost(1.2),
        },
    ],
};

fn run(on: &Run) -> Result {
    let mut numbers = on.numbers(on.n);
    let keys = on.in_place("keys", &numbers);
    on.launch(sort_tiles, Geometry::linear(on.n.div_ceil(TILE), BLOCK), (keys.view(),))?;
    numbers.chunks_mut(TILE as usize).for_each(<[u32]>::sort_unstable);
    on.expect(&keys, numbers);
    Ok(())
}
