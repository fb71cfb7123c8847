//! Sorted runs that are merged with their neighbours, round by round.

use super::answer::{RUN, launches};
use rungs_exercises::*;

/// The exercise.
pub const EXERCISE: Exercise = Exercise {
    name: "34_merge_split",
    sizes: &[0, 1, 2, 6, 31, RUN, 33, 63, 100, 4 * RUN, 5 * RUN + 1],
    run,
    gates: &[
        Gate {
            what: "launches per run",
            n: 8 * RUN,
            counter: |statistics| rungs_exercises::launches(statistics).map(|launches| launches / 8.0),
            bound: Bound::AtMost(1.2),
        },
        Gate {
            // The key itself, and at most 6 of the other run.
            what: "reads of a key, per key and launch",
            n: 8 * RUN,
            counter: |statistics| {
                let reads = statistics.sum(|i| i == Instruction::GlobalLoad).lanes;
                (reads > 0).then(|| reads as f64 / f64::from(8 * RUN) / statistics.launches.len() as f64)
            },
            bound: Bound::AtMost(8.0),
        },
    ],
};

fn run(on: &Run) -> Result {
    let mut numbers = on.numbers(on.n);
    match on.seed % 3 {
        // The input that takes the most rounds.
        0 => numbers.sort_unstable_by(|a, b| b.cmp(a)),
        // Many equal keys.
        1 => numbers.iter_mut().for_each(|number| *number %= 5),
        _ => {}
    }
    numbers.chunks_mut(RUN as usize).for_each(<[u32]>::sort_unstable);
    let (keys, spare) = (on.in_place("keys", &numbers), on.scratch("spare", on.n));
    launches(on.gpu(), keys.view(), spare.view())?;
    numbers.sort_unstable();
    on.expect(&keys, numbers);
    Ok(())
}
