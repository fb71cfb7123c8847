//! Tiles through a ring of two slots, which copies fill while threads use the other slot.

use super::answer::{TILE, reverse_tiles};
use rungs_exercises::*;

/// The exercise. Its sizes are numbers of tiles.
pub const EXERCISE: Exercise = Exercise {
    name: "27_ring",
    sizes: &[0, 1, 2, 3, 4, 5, 9, 13],
    run,
    gates: &[
        Gate {
            what: "barriers of the block, per tile",
            n: 20,
            counter: |statistics| barriers_per_block(statistics).map(|barriers| barriers * f64::from(BLOCKS) / 20.0),
            bound: Bound::AtMost(1.3),
        },
        Gate {
            what: "reads of global memory by threads or the copy engine, in bytes per element",
            n: 20,
            counter: |statistics| {
                let bytes = statistics.sum(|i| matches!(i, Instruction::GlobalLoad | Instruction::BulkLoad)).bytes;
                (bytes > 0).then(|| bytes as f64 / f64::from(20 * TILE))
            },
            bound: Bound::AtMost(4.5),
        },
    ],
};

/// Blocks of the grid.
const BLOCKS: u32 = 2;

fn run(on: &Run) -> Result {
    let mut numbers = on.numbers(on.n * TILE);
    let (input, output) = (on.input("input", &numbers), on.output("output", on.n * TILE));
    on.launch(reverse_tiles, Geometry::linear(BLOCKS, TILE), (input.view(), output.view()))?;
    numbers.chunks_mut(TILE as usize).for_each(<[u32]>::reverse);
    on.expect(&output, numbers);
    Ok(())
}
