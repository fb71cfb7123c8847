//! What the host launches: what `all-runs` does, and beyond its sizes what `sample` does, with these tiles, this move
//! and these buckets.

use super::*;
use crate::r2_multi_way::launches::{ByOrder, MergeKernels, Own, SMALL_TILE, TileArgs};
use crate::r3_all_runs::launches::{AllKernels, MOST};
use crate::r4_sample::launches::{BucketsArgs, FEW, LargeArgs, Move, SampleKernels, most_slots, sequence_moved_by};
use crate::r4_sample::{MOST_BUCKETS, WARP_ROWS};
use rungs_common::ladder::sort::*;
use rungs_common::order::{Greater, Less, LowHalfDown};
use rungs_radix::digits::LAST_EPOCH;
use std::marker::PhantomData;

/// The rung.
pub static RUNG: Entry<Sort> = rung!(
    "mod.rs",
    [merge_stable_small_tile, merge_stable_middle_tile, merge_stable_scatter, merge_stable_buckets, merge_stable_large,]
)
.with_tiles(&[SMALL_TILE])
.run_by(Sort::both(&StableSort).by_low_half(ByLowHalf { launches: sequence::<Own<u32, LowHalfDown>>, stable: true }));

/// The kernels of a stable sort by one order.
#[allow(missing_docs, reason = "each is the kernel of that name")]
pub trait StableKernels: SampleKernels {
    type StableSmallTile: Kernel<Args = TileArgs<Self::Key, Self::Order>> + Default;
    type StableMiddleTile: Kernel<Args = TileArgs<Self::Key, Self::Order>> + Default;
    type StableBuckets: Kernel<Args = BucketsArgs<Self::Key, Self::Order>> + Default;
    type StableLarge: Kernel<Args = LargeArgs<Self::Key, Self::Order>> + Default;
}

macro_rules! own {
    ($($K:ty, $C:ty;)*) => {$(
        impl StableKernels for Own<$K, $C> {
            type StableSmallTile = merge_stable_small_tile<$K, $C>;
            type StableMiddleTile = merge_stable_middle_tile<$K, $C>;
            type StableBuckets = merge_stable_buckets<$K, $C>;
            type StableLarge = merge_stable_large<$K, $C>;
        }
    )*};
}
own! { u32, Less; u64, Less; u32, Greater; u32, LowHalfDown; }

/// The kernels of `S`, with stable tiles and buckets.
struct Stable<S>(PhantomData<S>);

impl<S: StableKernels> MergeKernels for Stable<S> {
    type Key = S::Key;
    type Order = S::Order;
    // Not launched: so few keys are one merge, and more are distributed.
    type Tile = S::Tile;
    type SmallTile = S::StableSmallTile;
    type Split4 = S::Split4;
    type Split8 = S::Split8;
    type Merge4 = S::Merge4;
    type Merge8 = S::Merge8;
    type SmallMerge = S::SmallMerge;
}

impl<S: StableKernels> AllKernels for Stable<S> {
    type MiddleTile = S::StableMiddleTile;
    type Few = S::Few;
    type Many = S::Many;
}

impl<S: StableKernels> SampleKernels for Stable<S> {
    type Splitters = S::Splitters;
    type Count = S::Count;
    type Buckets = S::StableBuckets;
    type Large = S::StableLarge;
}

const _: () = assert!(FEW <= MOST);

struct StableSort;

impl<W: Width> Sorts<W> for StableSort
where
    Own<W, Less>: StableKernels<Key = W, Order = Less>,
{
    fn launches(&self, on: &dyn Launcher, n: u32, _: &Options) -> Result<Launches<Keys<W>>> {
        let mut sort = sequence::<Own<W, Less>>(on, n)?;
        Ok(unsigned(move |on, keys| sort(on, (keys, Less))))
    }
}

/// The launches that sort `n` keys by an order and leave equivalent keys in their order.
///
/// # Errors
/// [`Failed::Machine`] if there is no memory.
pub fn sequence<S: StableKernels>(on: &dyn Launcher, n: u32) -> Result<Launches<ByOrder<S>>> {
    sequence_from::<S>(on, n, 1)
}

/// The same, if the first move on fresh memory has a given epoch, from 1 to [`LAST_EPOCH`].
///
/// # Errors
/// As for [`sequence`].
pub fn sequence_from<S: StableKernels>(on: &dyn Launcher, n: u32, mut epoch: u32) -> Result<Launches<ByOrder<S>>> {
    let states = on.zeros(most_slots(n) * MOST_BUCKETS)?;
    sequence_moved_by::<Stable<S>>(on, n, WARP_ROWS, move |on, the: Move<S::Key>| {
        if epoch > LAST_EPOCH {
            on.clear(states.view())?;
            epoch = 1;
        }
        epoch += 1;
        scatter(on, the, states.view(), epoch - 1)
    })
}

/// Launches the move of keys of any size, as words.
fn scatter<K: Scalar>(on: &dyn Launcher, the: Move<K>, states: Global<u64>, epoch: u32) -> Result {
    fn of<W: Scalar, K: Scalar>(on: &dyn Launcher, the: Move<K>, states: Global<u64>, epoch: u32) -> Result
    where
        merge_stable_scatter<W>: Kernel<Args = ScatterArgs<W>>,
    {
        let Move { tiles, from, to, starts, bits, modes, ids, next_starts, large, .. } = the;
        let args = (from.cast(), to.cast(), starts, bits, modes, ids, next_starts, large, states, epoch);
        on.launch(merge_stable_scatter::<W>::default(), tiles.shared(stable_scatter_shared::<W>()), args)
    }
    match size_of::<K>() {
        1 => of::<u8, K>(on, the, states, epoch),
        2 => of::<u16, K>(on, the, states, epoch),
        4 => of::<u32, K>(on, the, states, epoch),
        _ => of::<u64, K>(on, the, states, epoch),
    }
}

/// The arguments of [`merge_stable_scatter`].
#[rustfmt::skip]
type ScatterArgs<W> = (
    Global<W>, Global<W>, Global<u32>, u32, Global<u32>, Global<u32>, Global<u32>, Global<u32>, Global<u64>, u32,
);
