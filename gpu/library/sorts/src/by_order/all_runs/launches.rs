//! What the host launches: the tiles, then one merge.

use super::*;
use crate::by_order::host::Buffers;
use crate::by_order::multi_way::{
    self as multi_way,
    launches::{ByOrder, MergeKernels, TileArgs},
};
use crate::by_order::passes::Pass;
use crate::by_order::tile::tile_shared;
use rungs_common::ladder::*;
use rungs_common::order::Order;

/// The arguments of a merge: input, output, keys per run, samples per run, state, order.
pub type AllArgs<K, C> = (Global<K>, Global<K>, u32, u32, Global<u32>, C);

/// The kernels of a merge of all runs by one order.
#[allow(missing_docs, reason = "each is the kernel of that name")]
pub trait AllKernels: MergeKernels {
    type MiddleTile: Kernel<Args = TileArgs<Self::Key, Self::Order>> + Default;
    type Few: Kernel<Args = AllArgs<Self::Key, Self::Order>> + Default;
    type Many: Kernel<Args = AllArgs<Self::Key, Self::Order>> + Default;
}

/// Most keys that are merged by small blocks of half their threads.
pub const FEWEST: u32 = 1 << 17;
/// Most keys that are merged by small blocks.
pub const FEW: u32 = 1 << 18;
/// Most keys of a merge of all runs: those of more would have more parts than an H200 has SMs, and take
/// half as long again.
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
        let small_tile = multi_way::SMALL_BLOCK * multi_way::small_keys::<K>();
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
        let most = most_keys(runs.next_power_of_two(), threads, items);
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

/// The launches that sort `n` keys by an order.
///
/// # Errors
/// [`Failed::Machine`] if there is no memory.
pub fn sequence<S: AllKernels>(on: &dyn Launcher, n: u32) -> Result<Launches<ByOrder<S>>> {
    if n > MOST {
        return multi_way::launches::sequence::<S>(on, n);
    }
    let plan = Plan::new::<S::Key>(n, on.device().multiprocessors);
    let buffers = Buffers::<S::Key>::new(on, n, !S::Order::TOTAL)?;
    let passes: &[Pass] =
        if plan.parts == 0 { &[] } else { &[Pass { run: plan.tile, ways: 0, tiles: 0, blocks: plan.parts }] };
    let passes = passes.to_vec();
    Ok(Box::new(move |on, (keys, order)| {
        let tiles = |on: &dyn Launcher, from, to, state| {
            let args = (from, to, state, order);
            let geometry = |threads| {
                let shared = tile_shared::<S::Key>(threads, plan.tile);
                Geometry::linear(n.div_ceil(plan.tile), threads).shared(shared).overlapping()
            };
            match plan.small {
                true => on.launch(S::SmallTile::default(), geometry(multi_way::SMALL_BLOCK), args),
                false => on.launch(S::MiddleTile::default(), geometry(TILE_BLOCK), args),
            }
        };
        let merge = |on: &dyn Launcher, _, pass: &Pass, from, to, state| {
            let args = (from, to, pass.run, plan.samples, state, order);
            let geometry = |keys: u32| {
                let shared = tile_shared::<S::Key>(plan.threads, plan.threads * keys);
                Geometry::linear(plan.parts, plan.threads).shared(shared).overlapping()
            };
            match plan.threads <= FEW_BLOCK {
                true => on.launch(S::Few::default(), geometry(FEW_KEYS), args),
                false => on.launch(S::Many::default(), geometry(MANY_KEYS), args),
            }
        };
        buffers.sort(on, keys, &passes, tiles, merge)
    }))
}
