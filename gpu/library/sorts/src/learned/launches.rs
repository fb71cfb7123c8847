//! What the host launches, and the memory that it needs in addition to the keys.

use super::*;
use crate::buckets::launches::{self as buckets, Memory as Arrays, TILE, launch};
use crate::buckets::{
    HISTOGRAM_STATIC, HISTOGRAM_THREADS, MAX_KEYS, PARTITION_THREADS, STARTS_THREADS, histogram_blocks,
    partition_threads, partition_tile, starts_blocks,
};
use crate::either::ONE_BLOCK;
use crate::either::one_block::one_block;
use crate::either::radix_either_one_block;
use crate::msd::{Key, MIN_TOP_BITS, Mapped, Plain, WIDE};
use crate::msd_skewed::launches::{self as msd_skewed, CONTROL_WORDS, StartsArgs, list_words};
use crate::msd_skewed::{Arrays as Two, Limits, Numbers, radix_msd_skewed_starts, tally_bits};
use rungs_common::ladder::sort::{Keys, Width};
use rungs_common::ladder::{self, *};
use simt::Global;

/// The row of the ladder. It launches the starts of `msd-skewed` too, and what that does with oversized buckets.
pub static RUNG: Entry<ladder::sort::Sort> = rung!(
    "mod.rs",
    [
        radix_learned_map,
        radix_learned_histogram,
        radix_learned_partition,
        radix_learned_partition_wide,
        radix_learned_bucket_sort,
    ]
)
.with_capacity(MAX_KEYS as u64)
.with_tiles(&[ONE_BLOCK as u64, TILE])
.run_by(ladder::sort::Sort::both(
    &Functions { scratch: scratch::<u32>, run: sort },
    &Functions { scratch: scratch::<u64>, run: sort },
));

/// Most bits of a digit: the tiles note them in a byte each.
const DIGIT_BITS: u32 = 8;

/// Most keys a bucket on average: buckets that are 1.3 times as large fit a block.
const MOST_MEAN: u32 = 4700;

/// Up to this number of keys what is left of oversized buckets is split until no bit is left, which saves a launch;
/// more keys are tallied.
const SPLIT_MOST: u32 = 1 << 25;

/// What is to be launched for `n` keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The digits of the buckets' numbers.
    pub buckets: buckets::Plan,
    /// How oversized buckets are split.
    pub limits: Limits,
    list_words: u32,
}

impl Plan {
    /// For `n` keys of type `W` on a device with this number of bytes of shared memory per block; none if buckets would
    /// be too large.
    pub fn new<W: Key>(n: u32, max_shared: u32) -> Option<Self> {
        let fits = |bits: u32| HISTOGRAM_STATIC + learned_histogram_shared(bits) <= max_shared;
        let enough = |bits: &u32| n <= (ABOUT >> (NUMBER_BITS - bits)) * MOST_MEAN;
        let bits = (MIN_TOP_BITS..=NUMBER_BITS).take_while(|&bits| fits(bits)).find(enough)?;
        Some(Self::with_bits::<W>(n, bits, max_shared))
    }

    /// For `n` keys, at least a pack, and `1 << bits` buckets, 8 bits or more.
    pub fn with_bits<W: Key>(n: u32, bits: u32, max_shared: u32) -> Self {
        let first_bits = if bits <= DIGIT_BITS { bits } else { bits.div_ceil(2) };
        let second_bits = bits - first_bits;
        let (wide, tile) = (n >= WIDE && first_bits == DIGIT_BITS, partition_tile::<W>(false));
        let buckets = buckets::Plan { n, first_bits, second_bits, wide, tile };
        let limits = Limits::new(32 * W::HALVES, 0, if n <= SPLIT_MOST { 0 } else { tally_bits(max_shared) });
        Self { buckets, limits, list_words: list_words::<W>(n, 1 << bits, 0, limits) }
    }
}

/// The scratch memory of a sort.
pub enum Memory<W> {
    /// The keys fit a block.
    OneBlock,
    /// Keys go by the map.
    Learned(Sorter<W>),
    /// Too many keys for the map.
    Skewed(msd_skewed::Scratched<W>),
}

/// The scratch memory to sort `n` keys.
///
/// # Errors
/// [`Failed::Machine`] if there is no memory.
pub fn scratch<W: Width + Sort>(on: &dyn Launcher, n: u32, options: &Options) -> Result<Memory<W>> {
    if n <= ONE_BLOCK {
        return Ok(Memory::OneBlock);
    }
    Ok(match Plan::new::<W>(n, on.device().shared_per_block) {
        Some(plan) => Memory::Learned(Sorter::new(on, plan)?),
        None => Memory::Skewed(msd_skewed::scratch(on, n, options)?),
    })
}

/// Sorts keys in place.
///
/// # Errors
/// Those of a launch; [`Failed::Unsuitable`] for keys that do not begin on a multiple of 16 bytes.
pub fn sort<W: Width + Sort>(on: &dyn Launcher, keys: Keys<W>, memory: &mut Memory<W>) -> Result {
    match memory {
        Memory::OneBlock => W::sort_one(on, keys),
        Memory::Learned(sorter) => sorter.sort(on, keys),
        Memory::Skewed(memory) => msd_skewed::sort(on, keys, memory),
    }
}

/// The plan of a sort, and the memory that it needs in addition to the keys and as much again. Two sorts at once need
/// two.
pub struct Workspace {
    plan: Plan,
    /// The arrays of the buckets, whose histogram is zero before and after a sort; behind them the counts of the
    /// sample, which are zero too, then the map, then the lists.
    words: Scratch<u32>,
}

impl Workspace {
    /// The memory of a sort.
    ///
    /// # Errors
    /// [`Failed::Machine`] if there is no memory.
    pub fn new(on: &dyn Launcher, plan: Plan) -> Result<Self> {
        let words = plan.buckets.layout().words + COUNT_WORDS + MAP_WORDS + plan.list_words;
        Ok(Self { plan, words: on.zeros(words)? })
    }

    /// Sorts in place by way of `scratch`, as many words.
    ///
    /// # Errors
    /// Those of a launch; [`Failed::Unsuitable`] for keys that do not begin on a multiple of 16 bytes.
    #[rustfmt::skip]
    pub fn sort<W: Width + Sort>(
        &self, on: &dyn Launcher, Keys { keys, order }: Keys<W>, scratch: Global<W>,
    ) -> Result {
        expect_aligned("keys", keys)?;
        let workspace = self.words.view();
        W::sort_learned(on, &self.plan, order, Arrays { input: keys, output: keys, scratch, workspace })
    }
}

/// A [`Workspace`] and the scratch memory for it.
pub struct Sorter<W> {
    workspace: Workspace,
    keys: Scratch<W>,
}

impl<W: Width + Sort> Sorter<W> {
    /// The scratch memory of a sort.
    ///
    /// # Errors
    /// [`Failed::Machine`] if there is no memory.
    pub fn new(on: &dyn Launcher, plan: Plan) -> Result<Self> {
        Ok(Self { keys: on.scratch(plan.buckets.n)?, workspace: Workspace::new(on, plan)? })
    }

    /// Sorts in place by way of the scratch memory.
    ///
    /// # Errors
    /// As for [`Workspace::sort`].
    pub fn sort(&mut self, on: &dyn Launcher, keys: Keys<W>) -> Result {
        self.workspace.sort(on, keys, self.keys.view())
    }
}

/// Sorts keys of one word type.
pub trait Sort: msd_skewed::Sort {
    /// Sorts keys that fit a block.
    ///
    /// # Errors
    /// Whatever the launch fails with.
    fn sort_one(on: &dyn Launcher, keys: Keys<Self>) -> Result;

    /// Sorts `plan.buckets.n` keys. `order`: see [`rungs_common::keys`].
    ///
    /// # Errors
    /// Whatever a launch fails with.
    fn sort_learned(on: &dyn Launcher, plan: &Plan, order: u32, memory: Arrays<Self>) -> Result;
}

/// What a partition takes.
type PartitionArgs<W> = (Global<W>, Global<W>, u32, Global<u32>, Part, Global<u32>, Global<u32>);

impl<W: Width + msd_skewed::Sort> Sort for W
where
    radix_either_one_block<W>: Kernel<Args = (Global<W>, u32)>,
    radix_learned_map<W, Plain>: Kernel<Args = (Global<W>, u32, Global<u32>, Global<u32>)>,
    radix_learned_map<W, Mapped>: Kernel<Args = (Global<W>, u32, Global<u32>, Global<u32>)>,
    radix_learned_histogram<W, Plain>: Kernel<Args = (Global<W>, u32, u32, Global<u32>, Global<u32>, Global<u32>)>,
    radix_learned_histogram<W, Mapped>: Kernel<Args = (Global<W>, u32, u32, Global<u32>, Global<u32>, Global<u32>)>,
    radix_msd_skewed_starts<W>: Kernel<Args = StartsArgs>,
    radix_learned_partition<W, Plain>: Kernel<Args = PartitionArgs<W>>,
    radix_learned_partition<W, Mapped>: Kernel<Args = PartitionArgs<W>>,
    radix_learned_partition_wide<W, Plain>: Kernel<Args = PartitionArgs<W>>,
    radix_learned_partition_wide<W, Mapped>: Kernel<Args = PartitionArgs<W>>,
    radix_learned_bucket_sort<W, Plain>: Kernel<Args = (Global<W>, Global<W>, u32, Global<u32>, Global<u32>)>,
    radix_learned_bucket_sort<W, Mapped>: Kernel<Args = (Global<W>, Global<W>, u32, Global<u32>, Global<u32>)>,
{
    fn sort_one(on: &dyn Launcher, keys: Keys<Self>) -> Result {
        one_block(on, keys)
    }

    fn sort_learned(on: &dyn Launcher, plan: &Plan, order: u32, memory: Arrays<Self>) -> Result {
        let buckets::Plan { n, first_bits, second_bits, wide, .. } = plan.buckets;
        let (layout, bits) = (plan.buckets.layout(), plan.buckets.top_bits());
        let counts = memory.part((layout.words, COUNT_WORDS));
        let map = memory.part((layout.words + COUNT_WORDS, MAP_WORDS));
        let lists = memory.part((layout.words + COUNT_WORDS + MAP_WORDS, plan.list_words));
        let (histogram, starts) = (memory.part(layout.histogram), memory.part(layout.starts));
        let (first, second) = (memory.part(layout.first), memory.part(layout.second));
        let tiles = memory.part(layout.tiles);
        let Arrays { input, output, scratch, .. } = memory;
        // The keys of a bucket may differ in any bit.
        let (common_bits, bucket_max, limits) = (0, LEARNED_MAX, plan.limits);
        let numbers = Numbers { order, first_bits, second_bits, common_bits, bucket_max, limits };

        let geometry = Geometry::linear(learn_blocks(n), LEARN_THREADS);
        let args = (input, order, counts, map);
        launch::<radix_learned_map<W, Plain>, radix_learned_map<W, Mapped>>(on, order, geometry, args)?;

        let blocks = histogram_blocks(n, on.device().multiprocessors);
        let geometry = Geometry::linear(blocks, HISTOGRAM_THREADS).shared(learned_histogram_shared(bits));
        let args = (input, order, bits, map, histogram, lists.slice(0, CONTROL_WORDS));
        launch::<radix_learned_histogram<W, Plain>, radix_learned_histogram<W, Mapped>>(on, order, geometry, args)?;

        let geometry = Geometry::linear(starts_blocks(first_bits, second_bits), STARTS_THREADS).overlapping();
        let args = (histogram, n, starts, second, first, tiles, lists, numbers);
        on.launch(radix_msd_skewed_starts::<W>::default(), geometry, args)?;

        let geometry = Geometry::linear(n.div_ceil(partition_tile::<W>(wide)), partition_threads(wide));
        let geometry = geometry.shared(learned_partition_shared(wide));
        let part = Part { until: first_bits, bits: first_bits, spread_out: (second_bits != 0) as u32 };
        let args = (input, scratch, order, map, part, first, tiles.slice(0, 0));
        if wide {
            launch::<radix_learned_partition_wide<W, Plain>, radix_learned_partition_wide<W, Mapped>>(
                on, order, geometry, args,
            )?;
        } else {
            launch::<radix_learned_partition<W, Plain>, radix_learned_partition<W, Mapped>>(on, order, geometry, args)?;
        }
        if second_bits != 0 {
            let geometry = Geometry::linear(plan.buckets.tile_slots(), PARTITION_THREADS);
            let geometry = geometry.shared(learned_partition_shared(false)).overlapping();
            let part = Part { until: bits, bits: second_bits, spread_out: 0 };
            let args = (scratch, output, order, map, part, second, tiles);
            on.launch(radix_learned_partition::<W, Plain>::default(), geometry, args)?;
        }

        let arrays = Two { scratch, output };
        let geometry = Geometry::linear(plan.buckets.buckets(), BUCKET_THREADS);
        let geometry = geometry.shared(learned_bucket_shared::<W>());
        let args = (arrays.of(numbers.array()), output, order, starts, histogram);
        launch::<radix_learned_bucket_sort<W, Plain>, radix_learned_bucket_sort<W, Mapped>>(on, order, geometry, args)?;
        Self::sort_lists(on, arrays, lists, numbers)
    }
}
