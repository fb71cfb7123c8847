//! What the host launches: what `all_runs` does, and beyond its sizes what `sample` does, with stable tiles, this move,
//! and buckets that are sorted stably.

use super::*;
use crate::by_order::all_runs::launches::{AllKernels, MOST};
use crate::by_order::multi_way::launches::{ByOrder, MergeKernels, TileArgs};
use crate::by_order::multi_way::{SMALL_BLOCK, small_keys};
use crate::by_order::sample::launches::{
    BucketsArgs, FEW, LargeArgs, Move, SampleKernels, most_slots, sequence_moved_by,
};
use crate::by_order::sample::{MOST_BUCKETS, WARP_ROWS};
use crate::by_order::{merge_by_less, merge_by_less_u64, merge_by_low_half};
use crate::digits::LAST_EPOCH;
use rungs_common::ladder::sort::*;
use rungs_common::order::{Less, LowHalfDown};
use std::marker::PhantomData;

/// Keys of a small tile.
const SMALL_TILE: u64 = (SMALL_BLOCK * small_keys::<u32>()) as u64;

/// The row of the ladder.
pub static RUNG: Entry<Sort> =
    Rung { kernels: KERNELS, ..rung!("mod.rs", [merge_stable_scatter]) }.with_tiles(&[SMALL_TILE]).run_by(Sort {
        low_half: Some(&Functions {
            scratch: |on, n, _| sequence::<merge_by_low_half::Kernels>(on, n),
            run: |on, Keys { keys, .. }, sort| sort(on, (keys, LowHalfDown)),
        }),
        ..Sort::both(
            &Words {
                scratch: |on, n, _| sequence::<merge_by_less::Kernels>(on, n),
                sort: |on, keys, sort| sort(on, (keys, Less)),
            },
            &Words {
                scratch: |on, n, _| sequence::<merge_by_less_u64::Kernels>(on, n),
                sort: |on, keys, sort| sort(on, (keys, Less)),
            },
        )
    });

/// The names of the kernels, by function: the move, and the instances of each of the others.
const KERNELS: &[&[&str]] =
    &[<merge_stable_scatter as Instances>::NAMES, &instances(0), &instances(1), &instances(2), &instances(3)];

/// The instances of a kernel that only this sort launches.
const fn instances(kernel: usize) -> [&'static str; 3] {
    let (less, wide) = (merge_by_less::Kernels::STABLE_NAMES, merge_by_less_u64::Kernels::STABLE_NAMES);
    [less[kernel][0], wide[kernel][0], merge_by_low_half::Kernels::STABLE_NAMES[kernel][0]]
}

/// The kernels of a stable sort by one order.
#[allow(missing_docs, reason = "each is the kernel of that name")]
pub trait StableKernels: SampleKernels {
    type StableSmallTile: Kernel<Args = TileArgs<Self::Key, Self::Order>> + Default;
    type StableMiddleTile: Kernel<Args = TileArgs<Self::Key, Self::Order>> + Default;
    type StableBuckets: Kernel<Args = BucketsArgs<Self::Key, Self::Order>> + Default;
    type StableLarge: Kernel<Args = LargeArgs<Self::Key, Self::Order>> + Default;
}

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
