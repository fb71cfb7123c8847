//! A product of matrices whose three sides differ.

use super::answer::{SIDE, multiply};
use rungs_exercises::*;

/// The exercise.
pub const EXERCISE: Exercise = Exercise {
    name: "06_naive",
    sizes: &[1, 7, SIDE - 1, SIDE, SIDE + 1],
    run,
    gates: &[Gate {
        what: "bytes used of each sector of 32 bytes that is written",
        n: 2 * SIDE,
        counter: |statistics| bytes_per_sector(statistics, |i| i == Instruction::GlobalStore),
        bound: Bound::AtLeast(25.0),
    }],
};

fn run(on: &Run) -> Result {
    let (m, n, inner) = (on.n, on.n + 8, on.n + 3);
    on.say(format!("m = {m}, n = {n}, inner = {inner}: A has {m} × {inner} elements, B {inner} × {n}, C {m} × {n}"));
    let mut random = on.random();
    let numbers: Vec<u32> = (0..(m + n) * inner).map(|_| (random() % 1000) as u32).collect();
    let (of_a, of_b) = numbers.split_at((m * inner) as usize);
    let (a, b, c) = (on.input("a", of_a), on.input("b", of_b), on.output("c", m * n).in_rows_of(n));
    let geometry = Geometry::plane((n.div_ceil(SIDE), m.div_ceil(SIDE)), (SIDE, SIDE));
    on.launch(multiply, geometry, (a.view(), b.view(), c.view(), m, n, inner))?;
    let product = |row: u32, column: u32| {
        (0..inner).map(|k| of_a[(row * inner + k) as usize] * of_b[(k * n + column) as usize]).sum::<u32>()
    };
    on.expect(&c, (0..m).flat_map(|row| (0..n).map(move |column| product(row, column))).collect::<Vec<_>>());
    Ok(())
}
