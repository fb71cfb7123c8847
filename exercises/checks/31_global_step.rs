//! A sorting network, step by step. It sorts every input if it sorts those of zeros and ones (Knuth, The Art of
//! Computer Programming, volume 3, 5.3.4): all of them, for small n.

use super::answer::{BLOCK, launches};
use rungs_exercises::*;

/// Up to this number of keys, all inputs of zeros and ones are tried.
const ALL: u32 = 6;

/// The exercise.
pub const EXERCISE: Exercise = Exercise {
    name: "31_global_step",
    sizes: &[0, 1, 2, 3, 4, 5, ALL, 31, 33, 100, 2 * BLOCK, 2 * BLOCK + 1],
    run,
    gates: &[
        Gate {
            what: "launches",
            n: 64,
            counter: |statistics| rungs_exercises::launches(statistics),
            bound: Bound::AtMost(24.0),
        },
        Gate {
            what: "reads of a key, per key and launch",
            n: 64,
            counter: |statistics| {
                let reads = statistics.sum(|i| i == Instruction::GlobalLoad).lanes;
                (reads > 0).then(|| reads as f64 / (64 * statistics.launches.len()) as f64)
            },
            bound: Bound::AtMost(1.2),
        },
    ],
};

fn run(on: &Run) -> Result {
    sorts(on, on.numbers(on.n))?;
    // The plain schedule is enough: no two threads of a step have a key in common.
    if on.n <= ALL && on.seed == 0 {
        for bits in 0..1u32 << on.n {
            sorts(on, (0..on.n).map(|i| bits >> i & 1).collect())?;
        }
    }
    Ok(())
}

fn sorts(on: &Run, mut numbers: Vec<u32>) -> Result {
    let keys = on.in_place("keys", &numbers);
    launches(on.gpu(), keys.view())?;
    numbers.sort_unstable();
    on.expect(&keys, numbers);
    Ok(())
}
