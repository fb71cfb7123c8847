//! Columns that are merged by the minimum of their heads.

use super::answer::{COLUMNS, merge};
use rungs_exercises::*;

/// The exercise.
pub const EXERCISE: Exercise = Exercise {
    name: "35_columns_atomic_min",
    sizes: &[0, 1, 6, 31, 33, COLUMNS - 1, COLUMNS, COLUMNS + 1, 100],
    run,
    gates: &[Gate {
        what: "barriers per key",
        n: 2 * COLUMNS,
        counter: |statistics| barriers_per_block(statistics).map(|barriers| barriers / f64::from(2 * COLUMNS)),
        bound: Bound::AtMost(3.5),
    }],
};

fn run(on: &Run) -> Result {
    let mut numbers = on.numbers(on.n);
    match on.seed % 3 {
        // Each number several times.
        1 => numbers.iter_mut().for_each(|number| *number %= 7),
        // The largest number there is, twice.
        2 => numbers.iter_mut().take(2).for_each(|number| *number = u32::MAX),
        _ => {}
    }
    let columns = COLUMNS as usize;
    for c in 0..columns.min(numbers.len()) {
        let mut column: Vec<u32> = numbers.iter().skip(c).step_by(columns).copied().collect();
        column.sort_unstable();
        numbers.iter_mut().skip(c).step_by(columns).zip(column).for_each(|(number, sorted)| *number = sorted);
    }
    let (input, output) = (on.input("columns", &numbers), on.output("output", on.n));
    on.launch(merge, Geometry::linear(1, COLUMNS), (input.view(), output.view()))?;
    numbers.sort_unstable();
    on.expect(&output, numbers);
    Ok(())
}
