//! The host's part that all rungs share: the ladder, and the passes of a merge sort.

use super::runs::Pass;
use super::*;
use rungs_common::ladder::sort::*;
use std::vec::Vec;

/// The ladder, from the textbook up.
pub static LADDER: Ladder<Sort> = Ladder {
    family: "merge",
    about: "merge sort and sample sort: comparisons alone",
    rungs: &[
        &r1_merge_path::launches::RUNG,
        &r2_multi_way::launches::RUNG,
        &r3_all_runs::launches::RUNG,
        &r4_sample::launches::RUNG,
    ],
    default: &r4_sample::launches::RUNG,
};

/// The passes over `n` keys after tiles of `tile` keys are sorted. `levels`: for each pass the logarithm of its ways.
/// `part` gives the keys of a block for a number of ways.
pub fn passes_of(n: u32, tile: u32, levels: &[u32], part: impl Fn(u32) -> u32) -> Vec<Pass> {
    let mut run = u64::from(tile);
    let pass = |&level: &u32| {
        let ways = 1 << level;
        let pass = Pass::new(n, run, ways, part(ways));
        run *= u64::from(ways);
        pass
    };
    levels.iter().map(pass).collect()
}

/// Launches all passes, so that the last one writes to the first of the two arrays, where the keys are. `tiles`
/// launches the sort of the tiles from one array to another, which may be the same; `merge` launches one pass.
///
/// # Errors
/// Those of a launch.
pub fn sort_by_passes<K: Key>(
    on: &dyn Launcher,
    arrays: [Global<K>; 2],
    passes: &[Pass],
    tiles: impl Fn(&dyn Launcher, Global<K>, Global<K>) -> Result,
    merge: impl Fn(&dyn Launcher, &Pass, Global<K>, Global<K>) -> Result,
) -> Result {
    if arrays[0].is_empty() {
        return Ok(());
    }
    let odd = passes.len() % 2;
    tiles(on, arrays[0], arrays[odd])?;
    for (number, pass) in passes.iter().enumerate() {
        let from = (odd + number) % 2;
        merge(on, pass, arrays[from], arrays[1 - from])?;
    }
    Ok(())
}
