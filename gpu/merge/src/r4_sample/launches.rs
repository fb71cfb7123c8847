//! The launches and their memory.

use super::*;
use crate::r3_all_runs::launches as all_runs;
use crate::tile_shared;
use rungs_common::ladder::sort::*;
use std::vec::Vec;

/// The rung.
pub static RUNG: Entry<Sort> = rung!(
    "mod.rs",
    [merge_sample_splitters, merge_sample_count, merge_sample_starts, merge_sample_scatter, merge_sample_buckets,]
)
.with_tiles(&[TILE as u64])
.run_by(Sort::both(&Words { scratch: scratch::<u32>, sort }, &Words { scratch: scratch::<u64>, sort: sort_wide }));

/// The arguments of [`merge_sample_splitters`].
#[rustfmt::skip]
type SplittersArgs<K> = (
    Global<K>, Global<u32>, Global<u8>, u32, u32, u32, Global<K>, Global<K>, Global<u8>, Global<u32>, Global<u32>,
);
/// Those of [`merge_sample_count`].
#[rustfmt::skip]
type CountArgs<K> = (
    Global<K>, Global<u32>, u32, Global<K>, Global<K>, Global<u8>, Global<u32>, Global<u32>, Global<u32>,
);
/// Those of [`merge_sample_scatter`].
type ScatterArgs<K> = (Global<K>, Global<K>, Global<u32>, u32, Global<u32>, Global<u32>, Global<u32>);

/// The scratch memory of a sort: few keys are sorted by the rung before.
pub enum Memory<W> {
    /// Of few keys.
    Few(all_runs::Memory<W>),
    /// Of more.
    Many(Box<Many<W>>),
}

/// The scratch memory to sort `n` keys.
///
/// # Errors
/// [`Failed::Machine`] if there is no memory.
pub fn scratch<W: Width>(on: &dyn Launcher, n: u32, options: &Options) -> Result<Memory<W>> {
    Ok(match n <= FEW {
        true => Memory::Few(all_runs::scratch(on, n, options)?),
        false => Memory::Many(Box::new(Many::new(on, n)?)),
    })
}

/// Sorts keys of 32 bits in place.
///
/// # Errors
/// Those of a launch.
pub fn sort(on: &dyn Launcher, keys: Global<u32>, memory: &mut Memory<u32>) -> Result {
    match memory {
        Memory::Few(memory) => all_runs::sort(on, keys, memory),
        Memory::Many(memory) => sort_many(on, keys, memory),
    }
}

/// Sorts keys of 64 bits in place.
///
/// # Errors
/// Those of a launch.
pub fn sort_wide(on: &dyn Launcher, keys: Global<u64>, memory: &mut Memory<u64>) -> Result {
    match memory {
        Memory::Few(memory) => all_runs::sort(on, keys, memory),
        Memory::Many(memory) => sort_many(on, keys, memory),
    }
}

/// Splits the keys in rounds, and sorts the buckets.
fn sort_many<W: Width>(on: &dyn Launcher, keys: Global<W>, memory: &Many<W>) -> Result
where
    merge_sample_splitters<W>: Kernel<Args = SplittersArgs<W>>,
    merge_sample_count<W>: Kernel<Args = CountArgs<W>>,
    merge_sample_scatter<W>: Kernel<Args = ScatterArgs<W>>,
    merge_sample_buckets<W>: Kernel<Args = (Global<W>, Global<u32>, Global<u8>)>,
{
    let (mut buckets, mut from, mut to) = (1, keys, memory.other.view());
    for (round, &bits) in memory.rounds.iter().enumerate() {
        split(on, memory, round, [buckets, bits], from, to)?;
        (from, to, buckets) = (to, from, buckets << bits);
    }
    let last = memory.rounds.len() % 2;
    let (starts, finals) = (memory.starts[last].view(), memory.finals[last].view());
    let geometry = Geometry::linear(buckets, BLOCK).shared(buckets_shared::<W>()).overlapping();
    on.launch(merge_sample_buckets::<W>::default(), geometry, (from, starts, finals))
}

/// The launches of a round, which splits each of the `buckets` of `from` by `bits` bits, and moves the keys to `to`.
fn split<W: Width>(
    on: &dyn Launcher,
    memory: &Many<W>,
    round: usize,
    [buckets, bits]: [u32; 2],
    from: Global<W>,
    to: Global<W>,
) -> Result
where
    merge_sample_splitters<W>: Kernel<Args = SplittersArgs<W>>,
    merge_sample_count<W>: Kernel<Args = CountArgs<W>>,
    merge_sample_scatter<W>: Kernel<Args = ScatterArgs<W>>,
{
    let n = from.len();
    // The first round has no buckets before it.
    let known = if round == 0 { 0 } else { buckets };
    let starts = memory.starts[round % 2].view().slice(0, if known == 0 { 0 } else { known + 1 });
    let finals = memory.finals[round % 2].view().slice(0, known);
    let [tree, sorted] = [&memory.tree, &memory.sorted].map(Scratch::view);
    let (twins, ids) = (memory.twins.view(), memory.ids.view());
    let [modes, counts, cursors] = [&memory.modes, &memory.counts, &memory.cursors].map(Scratch::view);
    let (next_starts, next_finals) = (memory.starts[1 - round % 2].view(), memory.finals[1 - round % 2].view());

    let samples = (SAMPLES << bits).min(MOST_SAMPLES);
    let geometry = Geometry::linear(buckets, BLOCK).shared(splitters_shared::<W>()).overlapping();
    let small = bucket_keys::<W>() / 2;
    let args = (from, starts, finals, small, bits, samples, tree, sorted, twins, modes, counts);
    on.launch(merge_sample_splitters::<W>::default(), geometry, args)?;

    let tiles = Geometry::linear(slots(n, buckets), BLOCK).overlapping();
    let args = (from, starts, bits, tree, sorted, twins, modes, counts, ids);
    on.launch(merge_sample_count::<W>::default(), tiles, args)?;

    let geometry = Geometry::linear(buckets, MOST_BUCKETS).overlapping();
    let args = (n, starts, finals, bits, counts, twins, modes, next_starts, cursors, next_finals);
    on.launch(merge_sample_starts, geometry, args)?;

    let args = (from, to, starts, bits, modes, ids, cursors);
    on.launch(merge_sample_scatter::<W>::default(), tiles.shared(scatter_shared::<W>()), args)
}

/// Up to this many keys the rung before sorts them.
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

/// The rounds of a sample sort, and its memory.
pub struct Many<K> {
    /// The logarithms of the buckets of each.
    rounds: Vec<u32>,
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
}

impl<K: Scalar> Many<K> {
    fn new(on: &dyn Launcher, n: u32) -> Result<Self> {
        let rounds = rounds(n);
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
            rounds,
        })
    }
}

/// Tiles that the buckets of a round may have: one more than all keys have for each bucket.
const fn slots(n: u32, buckets: u32) -> u32 {
    if buckets == 1 { n.div_ceil(TILE) } else { n / TILE + buckets }
}

/// Bytes of dynamic shared memory for splitters.
pub const fn splitters_shared<K>() -> u32 {
    tile_shared::<K>(MOST_SAMPLES)
}

/// Bytes of dynamic shared memory of the move.
pub const fn scatter_shared<K>() -> u32 {
    TILE * (size_of::<K>() as u32 + 1)
}

/// Bytes of dynamic shared memory of the buckets' sort.
pub const fn buckets_shared<K>() -> u32 {
    tile_shared::<K>(bucket_keys::<K>())
}

/// Words of the ids of `tiles` tiles.
pub const fn id_words(tiles: u32) -> u32 {
    // Not `tiles * TILE / 4`: of 2³² - 1 keys the tiles have more than 2³² places.
    tiles * (TILE / 4)
}
