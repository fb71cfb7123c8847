//! Two functors over pairs, four pairs per thread.

use super::answer::{BLOCK, ITEMS, Larger, Saxpy, larger, saxpy};
use rungs_exercises::*;

/// Pairs of a block.
const TILE: u32 = ITEMS * BLOCK;

/// The exercise.
pub const EXERCISE: Exercise = Exercise {
    name: "05_transform",
    sizes: &[0, 1, 6, 31, 33, 100, BLOCK - 1, BLOCK, BLOCK + 1, TILE - 1, TILE, TILE + 1, 3 * TILE],
    run,
    gates: &[Gate {
        what: "bytes used of each sector of 32 bytes",
        n: 2 * TILE,
        counter: |statistics| bytes_per_sector(statistics, Instruction::is_global),
        bound: Bound::AtLeast(25.0),
    }],
};

fn run(on: &Run) -> Result {
    let mut of_x = on.numbers(2 * on.n);
    let of_y = of_x.split_off(on.n as usize);
    let geometry = Geometry::linear(on.n.div_ceil(TILE), BLOCK);
    let (x, y) = (on.input("x", &of_x), on.in_place("y of saxpy", &of_y));
    on.launch(saxpy, geometry, (x.view(), y.view(), Saxpy { a: 3 }))?;
    on.expect(&y, of_x.iter().zip(&of_y).map(|(x, y)| 3 * x + y));
    let y = on.in_place("y of larger", &of_y);
    on.launch(larger, geometry, (x.view(), y.view(), Larger { plus: 5 }))?;
    on.expect(&y, of_x.iter().zip(&of_y).map(|(x, y)| x.max(y) + 5));
    Ok(())
}
