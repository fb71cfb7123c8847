//! The launches: the tiles, then one merge.

use super::*;
use crate::host::sort_by_passes;
use crate::part_keys;
use crate::r2_multi_way::launches::{TileArgs, keys_of};
use crate::r2_multi_way::{SMALL_BLOCK, SMALL_KEYS, merge_multi_way_small_tile};
use crate::runs::Pass;
use crate::tile_shared;
use rungs_common::ladder::sort::*;

/// The rung.
pub static RUNG: Entry<Sort> = rung!("mod.rs", [merge_all_runs_tile, merge_all_runs_few, merge_all_runs_many])
    .with_capacity(MOST as u64)
    .run_by(Sort::both(&Words { scratch: scratch::<u32>, sort }, &Words { scratch: scratch::<u64>, sort }));

/// The arguments of a merge: input, output, keys per run, samples per run.
type MergeArgs<K> = (Global<K>, Global<K>, u32, u32);

/// What is launched, and the memory that it needs in addition to the keys.
pub struct Memory<W> {
    plan: Plan,
    /// As many keys as there are.
    other: Scratch<W>,
}

/// The scratch memory to sort `n` keys.
///
/// # Errors
/// [`Failed::Machine`] if there is no memory.
pub fn scratch<W: Width>(on: &dyn Launcher, n: u32, _: &Options) -> Result<Memory<W>> {
    Ok(Memory { plan: Plan::new::<W>(n, on.device().multiprocessors), other: on.scratch(n)? })
}

/// Sorts `keys` in place.
///
/// # Errors
/// Those of a launch.
pub fn sort<W: Width>(on: &dyn Launcher, keys: Global<W>, memory: &mut Memory<W>) -> Result
where
    merge_multi_way_small_tile<W>: Kernel<Args = TileArgs<W>>,
    merge_all_runs_tile<W>: Kernel<Args = TileArgs<W>>,
    merge_all_runs_few<W>: Kernel<Args = MergeArgs<W>>,
    merge_all_runs_many<W>: Kernel<Args = MergeArgs<W>>,
{
    let (n, Memory { plan, other }) = (keys.len(), memory);
    let tiles = |on: &dyn Launcher, from, to| {
        let shared = tile_shared::<W>(plan.tile);
        let geometry = |threads| Geometry::linear(n.div_ceil(plan.tile), threads).shared(shared).overlapping();
        match plan.small {
            true => on.launch(merge_multi_way_small_tile::<W>::default(), geometry(SMALL_BLOCK), (from, to)),
            false => on.launch(merge_all_runs_tile::<W>::default(), geometry(TILE_BLOCK), (from, to)),
        }
    };
    let merge = |on: &dyn Launcher, pass: &Pass, from, to| {
        let args = (from, to, pass.run, plan.samples);
        let geometry = |keys: u32| {
            let shared = tile_shared::<W>(plan.threads * keys);
            Geometry::linear(plan.parts, plan.threads).shared(shared).overlapping()
        };
        match plan.threads <= FEW_BLOCK {
            true => on.launch(merge_all_runs_few::<W>::default(), geometry(FEW_KEYS), args),
            false => on.launch(merge_all_runs_many::<W>::default(), geometry(MANY_KEYS), args),
        }
    };
    let pass = Pass { run: plan.tile, ways: 0, parts: 0, blocks: plan.parts };
    let passes = if plan.parts == 0 { &[][..] } else { &[pass] };
    sort_by_passes(on, [keys, other.view()], passes, tiles, merge)
}

/// Most keys that are merged by small blocks of half their threads.
pub const FEWEST: u32 = 1 << 17;
/// Most keys that are merged by small blocks.
pub const FEW: u32 = 1 << 18;
/// Most keys: those of more would have more parts than an H200 has SMs, and take half as long again.
pub const MOST: u32 = 1 << 20;
const _: () = assert!(MOST <= MOST_RUNS * TILE_BLOCK * TILE_KEYS);

/// What is launched.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Whether tiles are small.
    pub small: bool,
    /// Keys of a tile.
    pub tile: u32,
    /// Threads per block of the merge.
    pub threads: u32,
    /// Blocks of the merge; 0 if there is one tile.
    pub parts: u32,
    /// Samples per run.
    pub samples: u32,
}

impl Plan {
    /// The plan for `n` keys.
    pub fn new<K>(n: u32, multiprocessors: u32) -> Self {
        let small_tile = SMALL_BLOCK * keys_of::<K>(SMALL_KEYS);
        let small = n <= MOST_RUNS * small_tile;
        let tile = if small { small_tile } else { TILE_BLOCK * TILE_KEYS };
        let runs = n.div_ceil(tile);
        if runs <= 1 {
            return Self { small, tile, threads: 0, parts: 0, samples: 0 };
        }
        let (threads, items) = if n <= FEWEST {
            (FEW_BLOCK / 2, FEW_KEYS)
        } else if n <= FEW {
            (FEW_BLOCK, FEW_KEYS)
        } else {
            (MANY_BLOCK, MANY_KEYS)
        };
        let most = part_keys(runs.next_power_of_two(), threads, items);
        let least = n.div_ceil(most / 4 * 3);
        let wanted = if threads < FEW_BLOCK { n.div_ceil(1024) } else { multiprocessors };
        let parts = wanted.min(multiprocessors).max(least);
        // Where an end falls between two samples of a run is by chance, so it is off by distance · √(runs / 12) keys,
        // and a part by √2 times that. Three and a half times that fit, and 3.5² is about 12. Fewer samples take less
        // time, and parts that do not fit take much more.
        let mean = n.div_ceil(parts);
        let spare = u64::from(most - mean);
        let distance = (spare * spare * 6 / (u64::from(runs) * 12)).isqrt() as u32;
        // Two samples at least, and no more in all than a block merges.
        let samples = tile.div_ceil(distance.max(1)).clamp(2, most / runs);
        Self { small, tile, threads, parts, samples }
    }
}
