//! What the host launches for many keys, and the memory that it needs in addition to the keys.

use super::choice::{Choice, Worth};
use super::many::*;
use super::*;
use crate::buckets::launches::{self as buckets, Memory, launch};
use crate::buckets::{PARTITION_THREADS, histogram_blocks, partition_tile, starts_blocks};
use crate::digits::LAST_EPOCH;
use crate::from_last::{PASSES_WORDS, REST_BLOCKS};
use crate::learned::{COUNT_WORDS, MAP_WORDS, learn_parts};
use crate::msd::{BUCKET_MAX, COUNT_THREADS, SORT_THREADS, STARTS_THREADS, WIDE, bucket_sort_shared};
use crate::msd_skewed::launches::{self as msd_skewed, CONTROL_WORDS, list_words};
use crate::msd_skewed::{
    Arrays, GROUPS_THREADS, Limits, Numbers, groups_blocks, groups_shared, radix_msd_skewed_groups, tally_bits,
};
use crate::ways::PASSES;
use rungs_common::ladder::sort::{Keys, Width};
use rungs_common::ladder::*;

const _: () = assert!(THREADS == PARTITION_THREADS && pass_tile::<u32>() == partition_tile::<u32>(false));

/// Most keys that the launches of this file sort: the first partition of more is wide.
pub const MANY: u32 = WIDE - 1;

/// Most keys of 32 bits that go from the last digit if they do not spread. Of more, what is left of buckets is split
/// and tallied.
const FROM_LAST_MOST: u32 = 1 << 25;

/// Most keys a bucket by a map on average: a bucket that is 1.3 times as large fits a block.
const MAP_MEAN: u32 = BUCKET_MAX * 10 / 13;

/// Most bytes of static shared memory of the histogram.
const STATIC: u32 = 16 << 10;

/// The sort of many keys.
#[derive(Clone, Copy, Debug)]
pub struct Many {
    /// The buckets by the top bits, in one or two partitions; 8 top bits at least.
    pub buckets: buckets::Plan,
    /// The map.
    pub learning: Learning,
    /// The limits of the choice.
    pub choice: Choice,
    /// Last bits that are tallied: none where keys may go from the last digit.
    pub tally_bits: u32,
}

impl Many {
    /// For `n` keys of type `W`, at most [`MANY`], on a device with this number of bytes of shared memory per block.
    pub fn new<W: Key>(n: u32, max_shared: u32) -> Self {
        let buckets = buckets::Plan::new::<W>(n, max_shared);
        let two = buckets.second_bits != 0;
        let choice = Choice::new(n, two);
        let from_last = W::HALVES == 1 && n <= FROM_LAST_MOST;
        Self {
            buckets,
            learning: Learning::new::<W>(&buckets, from_last, max_shared),
            choice: Choice { least: if from_last { choice.least } else { u32::MAX }, ..choice },
            tally_bits: if from_last { 0 } else { tally_bits(max_shared) },
        }
    }
}

impl Learning {
    /// Beside these buckets by the top bits, for keys that may go `from_last`. With one partition there is no map: its
    /// digit would be too long.
    pub fn new<W: Key>(top: &buckets::Plan, from_last: bool, max_shared: u32) -> Self {
        let fits = |bits: u32| STATIC + many_histogram_shared(bits) <= max_shared;
        // One number in 16 is spare.
        let enough = |bits: u32| top.n <= ((1 << bits) / 16 * 15) * MAP_MEAN;
        let more_bits = u32::from(!enough(top.top_bits()));
        let there = top.second_bits != 0 && fits(top.top_bits() + more_bits);
        Self {
            more_bits: if there { more_bits } else { 0 },
            parts: if there { learn_parts(top.n) } else { 0 },
            worth: Worth::new::<W>(top.n, from_last),
        }
    }
}

/// What passes from the last digit take.
struct FromLast {
    /// See [`Passes`](crate::from_last::Passes); behind them counts of all digits, zero between sorts.
    passes: Scratch<u32>,
    /// A word for each tile and value of a digit.
    states: Scratch<u64>,
}

/// The scratch memory of one sort after the other. Two sorts at once need two.
pub struct Sorter<W> {
    many: Many,
    /// With the buckets by the map, if these are more.
    plan: buckets::Plan,
    limits: Limits,
    list_words: u32,
    /// As many words as keys.
    pub(super) keys: Scratch<W>,
    /// The arrays of `msd-buckets`, whose histogram is zero before and after a sort; behind them what a map is learned
    /// from, which is zero too, then the map, then the lists.
    workspace: Scratch<u32>,
    /// See [`CHOICE_WORDS`].
    choice_words: Scratch<u32>,
    from_last: Option<FromLast>,
    /// The next number that the states have not seen.
    pub epoch: u32,
}

impl<W: Width + Sort> Sorter<W> {
    /// The scratch memory of a sort.
    ///
    /// # Errors
    /// [`Failed::Machine`] if there is no memory.
    pub fn new(on: &dyn Launcher, many: &Many) -> Result<Self> {
        let plan = buckets::Plan { second_bits: many.buckets.second_bits + many.learning.more_bits, ..many.buckets };
        let limits = Limits::new(32 * W::HALVES, many.buckets.top_bits(), many.tally_bits);
        let list_words = list_words::<W>(plan.n, plan.buckets(), 0, limits);
        let states = || on.zeros(plan.n.div_ceil(pass_tile::<u32>()) * DIGITS);
        let passes = || on.zeros(PASSES_WORDS + PASSES * DIGITS);
        // All that is cleared is cleared by one fill.
        let from_last = many.tally_bits == 0;
        Ok(Self {
            many: *many,
            plan,
            limits,
            list_words,
            from_last: from_last.then(|| Ok(FromLast { passes: passes()?, states: states()? })).transpose()?,
            workspace: on.zeros(plan.layout().words + COUNT_WORDS + MAP_WORDS + list_words)?,
            keys: on.scratch(plan.n)?,
            choice_words: on.scratch(CHOICE_WORDS)?,
            epoch: 1,
        })
    }

    /// Sorts in place by way of the scratch memory.
    ///
    /// # Errors
    /// Those of a launch; [`Failed::Unsuitable`] for keys that do not begin on a multiple of 16 bytes.
    pub fn sort(&mut self, on: &dyn Launcher, keys: Keys<W>) -> Result {
        expect_aligned("keys", keys.keys)?;
        if self.plan.n == 0 {
            return Ok(());
        }
        if let Some(FromLast { states, .. }) = &self.from_last
            && self.epoch > LAST_EPOCH + 1 - PASSES
        {
            on.clear(states.view())?;
            self.epoch = 1;
        }
        W::sort_many(on, self, keys)?;
        self.epoch += PASSES;
        Ok(())
    }
}

/// Sorts keys of one word type.
pub trait Sort: msd_skewed::Sort {
    /// All launches of a sort.
    ///
    /// # Errors
    /// Whatever a launch fails with.
    fn sort_many(on: &dyn Launcher, sorter: &Sorter<Self>, keys: Keys<Self>) -> Result
    where
        Self: Width;
}

/// What the histogram takes.
type HistogramArgs<W> = (Global<W>, Numbers, Global<u32>, Global<u32>, Global<u32>, Choice, Learning, Global<u32>);

/// What the starts take.
#[rustfmt::skip]
type StartsArgs = (
    Global<u32>, u32, Global<u32>, Global<u32>, Global<u32>, Global<u32>, Global<u32>, Numbers, Global<u32>, Choice,
    Learning, Global<u32>,
);

/// What the first partition takes.
#[rustfmt::skip]
type FirstArgs<W> = (
    Global<W>, Global<W>, Numbers, Global<u32>, Global<u32>, Global<u32>, Global<u32>, Global<u32>, u32,
);

/// What the second partition takes.
#[rustfmt::skip]
type SecondArgs<W> = (
    Global<W>, Global<W>, Numbers, Learning, Global<u32>, Global<u32>, Global<u32>, Global<u32>, Global<u32>,
);

/// What the bucket sort takes.
type BucketArgs<W> = (Global<W>, Global<W>, Global<u32>, Global<u32>, Global<u32>, Numbers, Global<u32>);

impl<W: msd_skewed::Sort> Sort for W
where
    radix_either_many_histogram<W, Plain>: Kernel<Args = HistogramArgs<W>>,
    radix_either_many_histogram<W, Mapped>: Kernel<Args = HistogramArgs<W>>,
    radix_either_many_starts<W>: Kernel<Args = StartsArgs>,
    radix_either_many_first<W, Plain>: Kernel<Args = FirstArgs<W>>,
    radix_either_many_first<W, Mapped>: Kernel<Args = FirstArgs<W>>,
    radix_either_many_second<W, Plain>: Kernel<Args = SecondArgs<W>>,
    radix_either_many_second<W, Mapped>: Kernel<Args = SecondArgs<W>>,
    radix_either_many_bucket_sort<W, Plain>: Kernel<Args = BucketArgs<W>>,
    radix_either_many_bucket_sort<W, Mapped>: Kernel<Args = BucketArgs<W>>,
{
    fn sort_many(on: &dyn Launcher, sorter: &Sorter<Self>, Keys { keys, order }: Keys<Self>) -> Result {
        let &Sorter { many: Many { buckets: top, learning, choice: limits, .. }, plan, .. } = sorter;
        let buckets::Plan { n, first_bits, second_bits, .. } = top;
        let (layout, multiprocessors) = (plan.layout(), on.device().multiprocessors);
        let (scratch, choice) = (sorter.keys.view(), sorter.choice_words.view());
        let memory = Memory { input: keys, output: keys, scratch, workspace: sorter.workspace.view() };
        let histogram = memory.part(layout.histogram).slice(0, plan.buckets());
        let (starts, tiles) = (memory.part(layout.starts), memory.part(layout.tiles));
        let (first, second) = (memory.part(layout.first), memory.part(layout.second));
        let learn = memory.part((layout.words, COUNT_WORDS + MAP_WORDS));
        let (slices, map) = (learn.slice(0, COUNT_WORDS), learn.slice(COUNT_WORDS, MAP_WORDS));
        let lists = memory.part((layout.words + COUNT_WORDS + MAP_WORDS, sorter.list_words));
        let none = learn.slice(0, 0);
        let (passes, counts) = sorter.from_last.as_ref().map_or((none, none), |from_last| {
            let words = from_last.passes.view();
            (words.slice(0, PASSES_WORDS), words.slice(PASSES_WORDS, PASSES * DIGITS))
        });
        let (common_bits, bucket_max) = (top.top_bits(), BUCKET_MAX);
        let numbers = Numbers { order, first_bits, second_bits, common_bits, bucket_max, limits: sorter.limits };

        let geometry = Geometry::linear(histogram_blocks(n, multiprocessors), COUNT_THREADS);
        let geometry = geometry.shared(many_histogram_shared(plan.top_bits()));
        let zeroed = lists.slice(0, CONTROL_WORDS);
        let args = (keys, numbers, histogram, zeroed, choice, limits.of_sample(n), learning, learn);
        launch::<radix_either_many_histogram<W, Plain>, radix_either_many_histogram<W, Mapped>>(
            on, order, geometry, args,
        )?;

        let geometry = Geometry::linear(starts_blocks(first_bits, second_bits), STARTS_THREADS).overlapping();
        let args = (histogram, n, starts, second, first, tiles, lists, numbers, choice, limits, learning, slices);
        on.launch(radix_either_many_starts::<W>::default(), geometry, args)?;

        let (blocks, counting) = (n.div_ceil(partition_tile::<W>(false)), count_blocks(multiprocessors));
        let geometry = Geometry::linear(blocks, THREADS).shared(FIRST_SHARED);
        let args = (keys, scratch, numbers, first, choice, map, counts, passes, blocks.min(counting));
        launch::<radix_either_many_first<W, Plain>, radix_either_many_first<W, Mapped>>(on, order, geometry, args)?;

        if second_bits != 0 {
            let geometry = Geometry::linear(top.tile_slots(), PARTITION_THREADS).shared(FIRST_SHARED);
            let args = (keys, scratch, numbers, learning, second, tiles, choice, map, passes);
            launch::<radix_either_many_second<W, Plain>, radix_either_many_second<W, Mapped>>(
                on, order, geometry, args,
            )?;
        }

        let geometry = Geometry::linear(top.buckets(), SORT_THREADS);
        let geometry = geometry.shared(bucket_sort_shared::<W>(false));
        let arrays = Arrays { scratch, output: keys };
        let args = (arrays.of(numbers.array()), keys, starts, histogram, lists, numbers, choice);
        launch::<radix_either_many_bucket_sort<W, Plain>, radix_either_many_bucket_sort<W, Mapped>>(
            on, order, geometry, args,
        )?;

        let Some(FromLast { states, .. }) = &sorter.from_last else {
            return Self::sort_lists(on, arrays, lists, numbers);
        };
        // Keys of 32 bits, then.
        let (narrow, other) = (keys.cast::<u32>(), scratch.cast::<u32>());
        let geometry = Geometry::linear(blocks.min(REST_BLOCKS * multiprocessors), THREADS).shared(REST_SHARED);
        let args = (narrow, other, lists, numbers, choice, passes, states.view(), sorter.epoch);
        on.launch(radix_either_rest, geometry.overlapping(), args)?;

        let geometry = Geometry::linear(groups_blocks(n, multiprocessors), GROUPS_THREADS);
        let geometry = geometry.shared(groups_shared::<u32>()).overlapping();
        on.launch(radix_msd_skewed_groups::<u32>::default(), geometry, (other, narrow, lists, numbers))
    }
}
