//! A stable pass of a radix sort over one digit, in one launch.

use super::answer::{DIGITS, TILE, pass};
use rungs_exercises::*;

/// The exercise.
pub const EXERCISE: Exercise = Exercise {
    name: "37_onesweep",
    sizes: &[1, 6, 31, TILE, 33, 100, 3 * TILE, 9 * TILE - 1],
    run,
    gates: &[Gate {
        // In the plain schedule a block begins when the one before it has published its prefixes.
        what: "looks at a state, per tile and digit",
        n: 16 * TILE,
        counter: |statistics| {
            let looks = statistics.sum(|i| i == Instruction::GlobalAtomicLoad).lanes;
            (looks > 0).then(|| looks as f64 / f64::from(16 * DIGITS))
        },
        bound: Bound::AtMost(1.5),
    }],
};

fn run(on: &Run) -> Result {
    let (mut numbers, tiles) = (on.numbers(on.n), on.n.div_ceil(TILE));
    // Every other time, few digits with many keys each.
    if on.seed % 2 == 1 {
        numbers.iter_mut().for_each(|number| *number -= *number % 32 / 3);
    }
    let starts = (0..DIGITS).map(|d| numbers.iter().filter(|&number| number % DIGITS < d).count() as u32);
    let starts = on.input("starts", &starts.collect::<Vec<_>>());
    let (input, output) = (on.input("input", &numbers), on.output("output", on.n));
    let states = on.in_place("states", &vec![0u64; (tiles * DIGITS) as usize]);
    let ticket = on.in_place("ticket", &[0u32]);
    let args = (input.view(), output.view(), starts.view(), states.view(), ticket.view());
    on.launch(pass, Geometry::linear(tiles, TILE), args)?;
    numbers.sort_by_key(|number| number % DIGITS);
    on.expect(&output, numbers);
    Ok(())
}
