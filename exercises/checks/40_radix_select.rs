//! The k-th largest key, found digit by digit.

use super::answer::{BITS, BLOCK, DIGITS, nth};
use rungs_exercises::*;

/// The exercise.
pub const EXERCISE: Exercise =
    Exercise { name: "40_radix_select", sizes: &[1, 2, 31, 33, BLOCK - 1, BLOCK, BLOCK + 1, 200], run, gates: &[] };

fn run(on: &Run) -> Result {
    let mut random = on.random();
    // All bits; or few distinct keys, which agree in many digits.
    let mask = [u32::MAX, 0x0330][(random() % 2) as usize] & ((1 << (BITS * DIGITS)) - 1);
    let words: Vec<u32> = (0..on.n).map(|_| random() as u32 & mask).collect();
    let k = 1 + (random() % u64::from(on.n)) as u32;
    on.say(format!("n = {}, k = {k}", on.n));
    let (keys, output) = (on.input("keys", &words), on.output("output", 1));
    on.launch(nth, Geometry::linear(1, BLOCK), (keys.view(), output.view(), k))?;
    let mut sorted = words;
    sorted.sort_unstable_by(|a, b| b.cmp(a));
    on.expect(&output, [sorted[k as usize - 1]]);
    Ok(())
}
