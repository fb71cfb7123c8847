//! The largest element and its index, behind a lock.

use super::answer::{BLOCK, largest};
use rungs_exercises::*;

/// The exercise.
pub const EXERCISE: Exercise =
    Exercise { name: "42_lock", sizes: &[1, 6, 31, BLOCK, 33, 100, 3 * BLOCK, 9 * BLOCK], run, gates: &[] };

fn run(on: &Run) -> Result {
    let numbers = on.numbers(on.n);
    let input = on.input("input", &numbers);
    let (record, lock) = (on.in_place("record", &[0, u32::MAX]), on.in_place("lock", &[0u32]));
    let args = (input.view(), record.view(), lock.view());
    on.launch(largest, Geometry::linear(on.n.div_ceil(BLOCK), BLOCK), args)?;
    let (index, most) = (0..).zip(&numbers).max_by_key(|&(_, number)| number).expect("there is an element");
    on.expect(&record, [*most, index]);
    on.expect(&lock, [0]);
    Ok(())
}
