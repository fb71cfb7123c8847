//! What the host launches, and the memory that it needs.

use super::*;
use crate::by_order::all_runs::launches::{AllKernels, sequence as merge_sequence};
use crate::by_order::multi_way::launches::ByOrder;
use rungs_common::ladder::*;
use std::vec::Vec;

/// The arguments of [`splitters`].
#[rustfmt::skip]
pub type SplittersArgs<K, C> = (
    Global<K>, Global<u32>, Global<u8>, u32, u32, u32, Global<K>, Global<K>, Global<u8>, Global<u32>, Global<u32>, C,
);
/// Those of [`count`].
#[rustfmt::skip]
pub type CountArgs<K, C> = (
    Global<K>, Global<u32>, u32, u32, Global<K>, Global<K>, Global<u8>, Global<u32>, Global<u32>, Global<u32>, C,
);
/// Those of [`buckets`].
pub type BucketsArgs<K, C> = (Global<K>, Global<u32>, Global<u8>, Global<u32>, C);
/// Those of [`sort_large`].
pub type LargeArgs<K, C> = (Global<K>, Global<K>, Global<u32>, C);

/// The kernels of a sample sort by one order, with those of the merge sort for few keys.
#[allow(missing_docs, reason = "each is the kernel of that name")]
pub trait SampleKernels: AllKernels {
    type Splitters: Kernel<Args = SplittersArgs<Self::Key, Self::Order>> + Default;
    type Count: Kernel<Args = CountArgs<Self::Key, Self::Order>> + Default;
    type Buckets: Kernel<Args = BucketsArgs<Self::Key, Self::Order>> + Default;
    type Large: Kernel<Args = LargeArgs<Self::Key, Self::Order>> + Default;
}

/// Up to so many keys one merge of all runs sorts them.
pub const FEW: u32 = 1 << 20;

/// Keys of a bucket on average, at most.
const BUCKET: u32 = 1 << 12;

/// Most buckets of two rounds, as a logarithm; more take four rounds, so that the keys end where they began.
const TWO_ROUNDS: u32 = 16;

/// Samples per bucket, unless that is more than a block sorts.
const SAMPLES: u32 = 60;

/// The logarithms of the buckets of each round for `n` keys.
pub fn rounds(n: u32) -> Vec<u32> {
    let bits = n.div_ceil(BUCKET).next_power_of_two().ilog2();
    let rounds = if bits <= TWO_ROUNDS { 2 } else { 4 };
    (0..rounds).map(|round| (bits * (round + 1)).div_ceil(rounds) - (bits * round).div_ceil(rounds)).collect()
}

/// The memory of a sample sort.
struct Memory<K> {
    other: Scratch<K>,
    tree: Scratch<K>,
    sorted: Scratch<K>,
    twins: Scratch<u8>,
    modes: Scratch<u32>,
    counts: Scratch<u32>,
    ids: Scratch<u32>,
    /// Of two rounds in turn.
    starts: [Scratch<u32>; 2],
    finals: [Scratch<u8>; 2],
    cursors: Scratch<u32>,
    large: Scratch<u32>,
}

impl<K: Scalar> Memory<K> {
    fn new(on: &dyn Launcher, n: u32, rounds: &[u32]) -> Result<Self> {
        let buckets = 1 << rounds.iter().sum::<u32>();
        // Those that are split in the last round.
        let parents = buckets >> rounds[rounds.len() - 1];
        let nodes = parents * MOST_BUCKETS;
        let starts = || on.scratch(buckets + 1);
        let finals = || on.scratch(buckets);
        Ok(Self {
            other: on.scratch(n)?,
            tree: on.scratch(nodes)?,
            sorted: on.scratch(nodes)?,
            twins: on.scratch(nodes)?,
            modes: on.scratch(parents)?,
            counts: on.scratch(buckets)?,
            ids: on.scratch(id_words(slots(n, parents)))?,
            starts: [starts()?, starts()?],
            finals: [finals()?, finals()?],
            cursors: on.scratch(buckets)?,
            large: on.scratch(LIST + 2 * buckets)?,
        })
    }
}

/// Tiles that the buckets of a round may have: one more than all keys have for each bucket.
const fn slots(n: u32, buckets: u32) -> u32 {
    if buckets == 1 { n.div_ceil(TILE) } else { n / TILE + buckets }
}

/// Tiles of any round for `n` keys; none if there are no rounds.
pub fn most_slots(n: u32) -> u32 {
    if n <= FEW {
        return 0;
    }
    let rounds = rounds(n);
    slots(n, 1 << rounds[..rounds.len() - 1].iter().sum::<u32>())
}

/// The launches that sort `n` keys by an order.
///
/// # Errors
/// [`Failed::Machine`] if there is no memory.
pub fn sequence<S: SampleKernels>(on: &dyn Launcher, n: u32) -> Result<Launches<ByOrder<S>>> {
    sequence_moved_by::<S>(on, n, BLOCK_ROWS, scatter)
}

/// What a move gets: the keys of `from` to their buckets in `to`.
#[allow(missing_docs, reason = "they are the arguments of the kernels, under those names")]
pub struct Move<K> {
    pub tiles: Geometry,
    pub from: Global<K>,
    pub to: Global<K>,
    pub starts: Global<u32>,
    pub bits: u32,
    pub modes: Global<u32>,
    pub ids: Global<u32>,
    pub cursors: Global<u32>,
    pub next_starts: Global<u32>,
    pub large: Global<u32>,
}

/// The launches of [`sequence`], with another move, which takes the keys of a tile in columns of such `rows`.
///
/// # Errors
/// As for [`sequence`].
pub fn sequence_moved_by<S: SampleKernels>(
    on: &dyn Launcher,
    n: u32,
    rows: u32,
    mut move_keys: impl FnMut(&dyn Launcher, Move<S::Key>) -> Result + 'static,
) -> Result<Launches<ByOrder<S>>> {
    if n <= FEW {
        return merge_sequence::<S>(on, n);
    }
    let rounds = rounds(n);
    let memory = Memory::<S::Key>::new(on, n, &rounds)?;
    Ok(Box::new(move |on, (keys, order)| {
        let large = memory.large.view();
        let (mut buckets, mut from, mut to) = (1, keys, memory.other.view());
        for (round, &bits) in rounds.iter().enumerate() {
            // The first round has no buckets before it.
            let known = if round == 0 { 0 } else { buckets };
            let starts = memory.starts[round % 2].view().slice(0, if known == 0 { 0 } else { known + 1 });
            let finals = memory.finals[round % 2].view().slice(0, known);
            let [tree, sorted] = [&memory.tree, &memory.sorted].map(Scratch::view);
            let (twins, ids) = (memory.twins.view(), memory.ids.view());
            let [modes, counts, cursors] = [&memory.modes, &memory.counts, &memory.cursors].map(Scratch::view);
            let (next_starts, next_finals) = (memory.starts[1 - round % 2].view(), memory.finals[1 - round % 2].view());

            let samples = (SAMPLES << bits).min(MOST_SAMPLES);
            let geometry = Geometry::linear(buckets, BLOCK).shared(splitters_shared::<S::Key>()).overlapping();
            let small = bucket_keys::<S::Key>() / 2;
            let args = (from, starts, finals, small, bits, samples, tree, sorted, twins, modes, counts, order);
            on.launch(S::Splitters::default(), geometry, args)?;

            let tiles = Geometry::linear(slots(n, buckets), BLOCK).overlapping();
            let args = (from, starts, bits, rows, tree, sorted, twins, modes, counts, ids, order);
            on.launch(S::Count::default(), tiles, args)?;

            let geometry = Geometry::linear(buckets, MOST_BUCKETS).overlapping();
            let args = (n, starts, finals, bits, counts, twins, modes, next_starts, cursors, next_finals, large);
            on.launch(merge_by_order_starts, geometry, args)?;

            move_keys(on, Move { tiles, from, to, starts, bits, modes, ids, cursors, next_starts, large })?;
            (from, to, buckets) = (to, from, buckets << bits);
        }
        let last = rounds.len() % 2;
        let (starts, finals) = (memory.starts[last].view(), memory.finals[last].view());
        let shared = buckets_shared::<S::Key>();
        let geometry = Geometry::linear(buckets, BLOCK).shared(shared).overlapping();
        on.launch(S::Buckets::default(), geometry, (from, starts, finals, large, order))?;
        let geometry = Geometry::linear(on.device().multiprocessors, BLOCK).shared(shared).overlapping();
        on.launch(S::Large::default(), geometry, (from, to, large, order))
    }))
}

/// Launches the move of keys of any size, as words.
fn scatter<K: Scalar>(on: &dyn Launcher, the: Move<K>) -> Result {
    fn of<W: Scalar, K: Scalar>(on: &dyn Launcher, the: Move<K>) -> Result
    where
        merge_by_order_scatter<W>:
            Kernel<Args = (Global<W>, Global<W>, Global<u32>, u32, Global<u32>, Global<u32>, Global<u32>)>,
    {
        let Move { tiles, from, to, starts, bits, modes, ids, cursors, .. } = the;
        let args = (from.cast(), to.cast(), starts, bits, modes, ids, cursors);
        on.launch(merge_by_order_scatter::<W>::default(), tiles.shared(scatter_shared::<W>()), args)
    }
    match size_of::<K>() {
        1 => of::<u8, K>(on, the),
        2 => of::<u16, K>(on, the),
        4 => of::<u32, K>(on, the),
        _ => of::<u64, K>(on, the),
    }
}
