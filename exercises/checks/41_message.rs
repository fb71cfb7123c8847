//! Messages between blocks.

use super::answer::{WORDS, pass};
use rungs_exercises::*;

/// The exercise.
pub const EXERCISE: Exercise =
    Exercise { name: "41_message", sizes: &[1, 6, 31, WORDS, 33, 100, 3 * WORDS, 9 * WORDS], run, gates: &[] };

fn run(on: &Run) -> Result {
    let (numbers, pairs) = (on.numbers(on.n), on.n.div_ceil(WORDS));
    let (input, output) = (on.input("input", &numbers), on.output("output", on.n));
    let messages = on.scratch("messages", pairs * WORDS);
    let flags = on.in_place("flags", &vec![0u32; pairs as usize]);
    let args = (input.view(), output.view(), messages.view(), flags.view());
    on.launch(pass, Geometry::linear(2 * pairs, WORDS), args)?;
    on.expect(&output, numbers.iter().map(|number| number + 1));
    Ok(())
}
