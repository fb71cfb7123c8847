//! A product by way of tiles in shared memory, several elements for each thread.

use super::answer::{BLOCK, SIDE, multiply};
use rungs_exercises::*;

/// The side of the matrices that the gates count.
const COUNTED: u32 = 2 * SIDE;

/// Multiplications of that product.
fn products() -> f64 {
    f64::from(COUNTED * (COUNTED + SIDE) * (COUNTED + 2 * SIDE))
}

/// The exercise.
pub const EXERCISE: Exercise = Exercise {
    name: "38_thread_column",
    sizes: &[1, 7, SIDE - 1, SIDE, SIDE + 1],
    run,
    gates: &[
        Gate {
            what: "reads of global memory, per multiplication",
            n: COUNTED,
            counter: |statistics| {
                let reads = statistics.sum(|i| i == Instruction::GlobalLoad).lanes;
                (reads > 0).then(|| reads as f64 / products())
            },
            // Two elements for SIDE multiplications.
            bound: Bound::AtMost(0.15),
        },
        Gate {
            what: "reads of shared memory, per multiplication",
            n: COUNTED,
            counter: |statistics| {
                let reads = statistics.sum(|i| i == Instruction::SharedLoad).lanes;
                (reads > 0).then(|| reads as f64 / products())
            },
            // One element of B and four of A for four multiplications; two for each without the registers.
            bound: Bound::AtMost(1.5),
        },
    ],
};

fn run(on: &Run) -> Result {
    let (m, n, inner) = (on.n, on.n + SIDE, on.n + 2 * SIDE);
    on.say(format!("m = {m}, n = {n}, inner = {inner}: A has {m} × {inner} elements, B {inner} × {n}, C {m} × {n}"));
    let mut random = on.random();
    let numbers: Vec<u32> = (0..(m + n) * inner).map(|_| (random() % 1000) as u32).collect();
    let (of_a, of_b) = numbers.split_at((m * inner) as usize);
    let (a, b, c) = (on.input("a", of_a), on.input("b", of_b), on.output("c", m * n).in_rows_of(n));
    let geometry = Geometry::plane((n.div_ceil(SIDE), m.div_ceil(SIDE)), (BLOCK, 1));
    on.launch(multiply, geometry, (a.view(), b.view(), c.view(), m, n, inner))?;
    let product = |row: u32, column: u32| {
        (0..inner).map(|k| of_a[(row * inner + k) as usize] * of_b[(k * n + column) as usize]).sum::<u32>()
    };
    on.expect(&c, (0..m).flat_map(|row| (0..n).map(move |column| product(row, column))).collect::<Vec<_>>());
    Ok(())
}
