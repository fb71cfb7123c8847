//! The launches: the tiles, then the passes.

use super::*;
use crate::host::{passes_of, sort_by_passes};
use crate::part_keys;
use crate::runs::Pass;
use crate::tile_shared;
use rungs_common::ladder::sort::*;
use std::vec::Vec;

/// Keys of a small tile.
pub const SMALL_TILE: u64 = SMALL_BLOCK as u64 * SMALL_KEYS as u64;

/// The rung.
pub static RUNG: Entry<Sort> = rung!(
    "mod.rs",
    [
        merge_multi_way_tile,
        merge_multi_way_small_tile,
        merge_multi_way_split4,
        merge_multi_way_split8,
        merge_multi_way_merge4,
        merge_multi_way_merge8,
        merge_multi_way_small_merge,
    ]
)
.with_tiles(&[SMALL_TILE])
.run_by(Sort::both(&Words { scratch: scratch::<u32>, sort }, &Words { scratch: scratch::<u64>, sort }));

/// The arguments of a kernel that sorts tiles: input, output.
pub type TileArgs<K> = (Global<K>, Global<K>);
/// Those of one that finds splits: input, keys per run, parts per group, keys per part, splits.
type SplitArgs<K> = (Global<K>, u32, u32, u32, Global<u32>);
/// Those of one that merges: input, output, keys per run, parts per group, splits.
type MergeArgs<K> = (Global<K>, Global<K>, u32, u32, Global<u32>);

/// What is launched, and the memory that it needs in addition to the keys.
pub struct Memory<W> {
    plan: Plan,
    /// Where the parts of a pass begin, unless its blocks find that themselves.
    splits: Scratch<u32>,
    /// As many keys as there are.
    other: Scratch<W>,
}

/// The scratch memory to sort `n` keys.
///
/// # Errors
/// [`Failed::Machine`] if there is no memory.
pub fn scratch<W: Width>(on: &dyn Launcher, n: u32, _: &Options) -> Result<Memory<W>> {
    let plan = Plan::new::<W>(n);
    let words = if plan.fused { 0 } else { plan.passes.iter().map(|p| p.blocks * p.ways).max().unwrap_or(0) };
    Ok(Memory { plan, splits: on.scratch(words)?, other: on.scratch(n)? })
}

/// Sorts `keys` in place.
///
/// # Errors
/// Those of a launch.
pub fn sort<W: Width>(on: &dyn Launcher, keys: Global<W>, memory: &mut Memory<W>) -> Result
where
    merge_multi_way_tile<W>: Kernel<Args = TileArgs<W>>,
    merge_multi_way_small_tile<W>: Kernel<Args = TileArgs<W>>,
    merge_multi_way_split4<W>: Kernel<Args = SplitArgs<W>>,
    merge_multi_way_split8<W>: Kernel<Args = SplitArgs<W>>,
    merge_multi_way_merge4<W>: Kernel<Args = MergeArgs<W>>,
    merge_multi_way_merge8<W>: Kernel<Args = MergeArgs<W>>,
    merge_multi_way_small_merge<W>: Kernel<Args = MergeArgs<W>>,
{
    let (n, Memory { plan, splits, other }) = (keys.len(), memory);
    let tiles = |on: &dyn Launcher, from, to| {
        let shared = tile_shared::<W>(plan.tile);
        let geometry = |threads| Geometry::linear(n.div_ceil(plan.tile), threads).shared(shared).overlapping();
        match plan.small {
            true => on.launch(merge_multi_way_small_tile::<W>::default(), geometry(SMALL_BLOCK), (from, to)),
            false => on.launch(merge_multi_way_tile::<W>::default(), geometry(BLOCK), (from, to)),
        }
    };
    let merge = |on: &dyn Launcher, pass: &Pass, from, to| {
        let &Pass { run, ways, parts, blocks } = pass;
        let splits = splits.view().slice(0, if plan.fused { 0 } else { blocks * ways });
        if !plan.fused {
            let args = (from, run, parts, part_keys(ways, BLOCK, keys_of::<W>(KEYS)), splits);
            let geometry = Geometry::linear(blocks.div_ceil(SPLIT_BLOCK / simt::warp::WARP), SPLIT_BLOCK);
            match ways {
                4 => on.launch(merge_multi_way_split4::<W>::default(), geometry.overlapping(), args)?,
                _ => on.launch(merge_multi_way_split8::<W>::default(), geometry.overlapping(), args)?,
            }
        }
        let args = (from, to, run, parts, splits);
        let geometry = |threads, keys| {
            let shared = tile_shared::<W>(threads * keys_of::<W>(keys));
            Geometry::linear(blocks, threads).shared(shared).overlapping()
        };
        let small = geometry(SMALL_BLOCK, SMALL_MERGE_KEYS);
        match (plan.small, ways) {
            (true, _) => on.launch(merge_multi_way_small_merge::<W>::default(), small, args),
            (false, 4) => on.launch(merge_multi_way_merge4::<W>::default(), geometry(BLOCK, KEYS), args),
            (false, _) => on.launch(merge_multi_way_merge8::<W>::default(), geometry(BLOCK, KEYS), args),
        }
    };
    sort_by_passes(on, [keys, other.view()], &plan.passes, tiles, merge)
}

/// Keys of type `K` per thread, where a thread has this many of 32 bits.
pub const fn keys_of<K>(keys: usize) -> u32 {
    if size_of::<K>() == 8 { WIDE_KEYS as u32 } else { keys as u32 }
}

/// Most keys that are sorted in small tiles.
pub const SMALL: u32 = 1 << 18;
/// Most keys for which each block of a pass finds its own splits.
pub const FUSED: u32 = 1 << 21;

/// What is launched to sort a number of keys of type `K`.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Whether tiles are small.
    pub small: bool,
    /// Keys of a tile.
    pub tile: u32,
    /// The passes.
    pub passes: Vec<Pass>,
    /// Whether blocks find their own splits.
    pub fused: bool,
}

impl Plan {
    /// The plan for `n` keys.
    pub fn new<K>(n: u32) -> Self {
        let small = n <= SMALL;
        let tile = if small { SMALL_BLOCK * keys_of::<K>(SMALL_KEYS) } else { BLOCK * keys_of::<K>(KEYS) };
        let levels = n.div_ceil(tile).next_power_of_two().ilog2();
        let most = if small || size_of::<K>() == 8 { 2 } else { 3 };
        let count = levels.div_ceil(most);
        // As equal as possible; a pass has at least four ways, of which some may be empty.
        let of_pass = |pass: u32| (levels * (pass + 1) / count - levels * pass / count).max(2);
        let levels: Vec<u32> = (0..count).rev().map(of_pass).collect();
        let part = |ways| match small {
            true => part_keys(ways, SMALL_BLOCK, keys_of::<K>(SMALL_MERGE_KEYS)),
            false => part_keys(ways, BLOCK, keys_of::<K>(KEYS)),
        };
        Self { small, tile, passes: passes_of(n, tile, &levels, part), fused: n <= FUSED }
    }
}
