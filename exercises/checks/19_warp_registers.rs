//! The keys of each warp, sorted without memory.

use super::answer::sort_warps;
use rungs_exercises::*;

/// Threads per block: two warps.
const BLOCK: u32 = 64;

/// The exercise.
pub const EXERCISE: Exercise = Exercise {
    name: "19_warp_registers",
    sizes: &[0, 1, 2, 6, 31, 32, 33, 100, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK],
    run,
    gates: &[
        Gate {
            what: "warp operations per warp and key",
            n: 3 * BLOCK,
            counter: |statistics| {
                let operations = statistics.sum(|i| i == Instruction::Warp).requests;
                (operations > 0).then(|| operations as f64 / f64::from(3 * BLOCK))
            },
            bound: Bound::AtMost(1.2),
        },
        Gate {
            what: "accesses to global memory, per key",
            n: 3 * BLOCK,
            counter: |statistics| {
                let lanes = statistics.sum(Instruction::is_global).lanes;
                (lanes > 0).then(|| lanes as f64 / f64::from(3 * BLOCK))
            },
            bound: Bound::AtMost(2.3),
        },
    ],
};

fn run(on: &Run) -> Result {
    let mut numbers = on.numbers(on.n);
    // The input that takes the most phases.
    if on.seed == 0 {
        numbers.sort_unstable_by(|a, b| b.cmp(a));
    }
    let keys = on.in_place("keys", &numbers);
    on.launch(sort_warps, Geometry::linear(on.n.div_ceil(BLOCK), BLOCK), (keys.view(),))?;
    numbers.chunks_mut(32).for_each(<[u32]>::sort_unstable);
    on.expect(&keys, numbers);
    Ok(())
}
