//! What the host launches: the tiles, then the passes.

use super::*;
use crate::by_order::host::{Buffers, passes_of};
use crate::by_order::passes::{Pass, tile_keys};
use crate::by_order::tile::tile_shared;
use rungs_common::ladder::*;
use rungs_common::order::Order;
use simt::Argument;
use std::vec::Vec;

/// The arguments of a kernel that sorts tiles: input, output, state, order.
pub type TileArgs<K, C> = (Global<K>, Global<K>, Global<u32>, C);
/// Those of one that finds splits: input, keys per run, parts per group, keys per part, splits, order.
pub type SplitArgs<K, C> = (Global<K>, u32, u32, u32, Global<u32>, C);
/// Those of one that merges: input, output, keys per run, parts per group, splits, state, number of the pass, order.
pub type MergeArgs<K, C> = (Global<K>, Global<K>, u32, u32, Global<u32>, Global<u32>, u32, C);

/// The kernels of a merge sort by one order.
#[allow(missing_docs, reason = "each is the kernel of that name")]
pub trait MergeKernels: 'static {
    type Key: Scalar;
    type Order: Order<Self::Key> + Argument;
    type Tile: Kernel<Args = TileArgs<Self::Key, Self::Order>> + Default;
    type SmallTile: Kernel<Args = TileArgs<Self::Key, Self::Order>> + Default;
    type Split4: Kernel<Args = SplitArgs<Self::Key, Self::Order>> + Default;
    type Split8: Kernel<Args = SplitArgs<Self::Key, Self::Order>> + Default;
    type Merge4: Kernel<Args = MergeArgs<Self::Key, Self::Order>> + Default;
    type Merge8: Kernel<Args = MergeArgs<Self::Key, Self::Order>> + Default;
    type SmallMerge: Kernel<Args = MergeArgs<Self::Key, Self::Order>> + Default;
}

/// What is sorted by the order of `S`: the keys, and the order.
pub type ByOrder<S> = (Global<<S as MergeKernels>::Key>, <S as MergeKernels>::Order);

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
        let tile = if small { SMALL_BLOCK * small_keys::<K>() } else { BLOCK * keys::<K>() };
        let levels = n.div_ceil(tile).next_power_of_two().ilog2();
        let most = if small || size_of::<K>() == 8 { 2 } else { 3 };
        let count = levels.div_ceil(most);
        // As equal as possible; a pass has at least four ways, of which some may be empty.
        let of_pass = |pass: u32| (levels * (pass + 1) / count - levels * pass / count).max(2);
        let levels: Vec<u32> = (0..count).rev().map(of_pass).collect();
        let part = |ways| match small {
            true => tile_keys(ways, SMALL_BLOCK, small_merge_keys::<K>()),
            false => tile_keys(ways, BLOCK, keys::<K>()),
        };
        Self { small, tile, passes: passes_of(n, tile, &levels, part), fused: n <= FUSED }
    }
}

/// The launches that sort `n` keys by an order.
///
/// # Errors
/// [`Failed::Machine`] if there is no memory.
pub fn sequence<S: MergeKernels>(on: &dyn Launcher, n: u32) -> Result<Launches<ByOrder<S>>> {
    let plan = Plan::new::<S::Key>(n);
    let words = if plan.fused { 0 } else { plan.passes.iter().map(|p| p.blocks * p.ways).max().unwrap_or(0) };
    let splits = on.scratch::<u32>(words)?;
    let buffers = Buffers::<S::Key>::new(on, n, !S::Order::TOTAL)?;
    Ok(Box::new(move |on, (keys, order)| {
        let tiles = |on: &dyn Launcher, from, to, state| {
            let args = (from, to, state, order);
            let geometry = |threads| {
                let shared = tile_shared::<S::Key>(threads, plan.tile);
                Geometry::linear(n.div_ceil(plan.tile), threads).shared(shared).overlapping()
            };
            match plan.small {
                true => on.launch(S::SmallTile::default(), geometry(SMALL_BLOCK), args),
                false => on.launch(S::Tile::default(), geometry(BLOCK), args),
            }
        };
        let merge = |on: &dyn Launcher, number, pass: &Pass, from, to, state| {
            let &Pass { run, ways, tiles, blocks } = pass;
            let splits = splits.view().slice(0, if plan.fused { 0 } else { blocks * ways });
            if !plan.fused {
                let part = tile_keys(ways, BLOCK, super::keys::<S::Key>());
                let args = (from, run, tiles, part, splits, order);
                let geometry = Geometry::linear(blocks.div_ceil(SPLIT_BLOCK / simt::warp::WARP), SPLIT_BLOCK);
                match ways {
                    4 => on.launch(S::Split4::default(), geometry.overlapping(), args)?,
                    _ => on.launch(S::Split8::default(), geometry.overlapping(), args)?,
                }
            }
            let args = (from, to, run, tiles, splits, state, number, order);
            let geometry = |threads, keys: u32| {
                let shared = tile_shared::<S::Key>(threads, threads * keys);
                Geometry::linear(blocks, threads).shared(shared).overlapping()
            };
            let (small, large) = (small_merge_keys::<S::Key>(), super::keys::<S::Key>());
            match (plan.small, ways) {
                (true, _) => on.launch(S::SmallMerge::default(), geometry(SMALL_BLOCK, small), args),
                (false, 4) => on.launch(S::Merge4::default(), geometry(BLOCK, large), args),
                (false, _) => on.launch(S::Merge8::default(), geometry(BLOCK, large), args),
            }
        };
        buffers.sort(on, keys, &plan.passes, tiles, merge)
    }))
}
