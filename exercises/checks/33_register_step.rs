//! A sorting network that does two steps for each pass over the keys.

use super::answer::launches;
use rungs_exercises::*;

/// Up to this number of keys, all inputs of zeros and ones are tried (Knuth, The Art of Computer Programming, volume 3,
/// 5.3.4).
const ALL: u32 = 6;

/// The exercise.
pub const EXERCISE: Exercise = Exercise {
    name: "33_register_step",
    sizes: &[0, 1, 2, 3, 4, 5, ALL, 31, 33, 100, 128, 129],
    run,
    // Stages of 1 to 6 steps, in pairs: 1 + 1 + 2 + 2 + 3 + 3.
    gates: &[Gate {
        what: "launches",
        n: 64,
        counter: |statistics| rungs_exercises::launches(statistics),
        bound: Bound::AtMost(14.0),
    }],
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
