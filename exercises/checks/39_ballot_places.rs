//! A select by one warp, whose lanes find their places by votes.

use super::answer::{BLOCK, select};
use rungs_exercises::*;

/// The exercise.
pub const EXERCISE: Exercise =
    Exercise { name: "39_ballot_places", sizes: &[0, 1, 2, 31, 32, 33, 64, 100, 257], run, gates: &[] };

fn run(on: &Run) -> Result {
    let mut random = on.random();
    let pivot = [500, 1000, 0][(random() % 3) as usize];
    let items: Vec<u32> = (0..on.n).map(|_| (random() % 1000) as u32).collect();
    // Behind the items that are kept nothing changes.
    let before: Vec<u32> = (0..on.n).map(|i| 5000 + i).collect();
    let (input, output) = (on.input("input", &items), on.in_place("output", &before));
    let count = on.output("count", 1);
    on.say(format!("n = {}, pivot = {pivot}", on.n));
    on.launch(select, Geometry::linear(1, BLOCK), (input.view(), output.view(), count.view(), pivot))?;
    let kept: Vec<u32> = items.into_iter().filter(|item| *item < pivot).collect();
    on.expect(&count, [kept.len() as u32]);
    on.expect(&output, kept.iter().copied().chain(before[kept.len()..].iter().copied()).collect::<Vec<_>>());
    Ok(())
}
