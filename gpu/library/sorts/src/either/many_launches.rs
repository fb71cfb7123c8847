//! What the host launches for many keys, and the memory that it needs beside the keys.

use super::choice::Choice;
use super::many::*;
use super::*;
use crate::buckets::launches::{self as buckets, Memory, launch};
use crate::buckets::{PARTITION_THREADS, histogram_blocks, histogram_shared, partition_tile, starts_blocks};
use crate::digits::LAST_EPOCH;
use crate::from_last::{PASSES, PASSES_WORDS, REST_BLOCKS};
use crate::msd::{BUCKET_MAX, COUNT_THREADS, SORT_THREADS, STARTS_THREADS, bucket_sort_shared};
use crate::msd_skewed::launches::{CONTROL_WORDS, list_words};
use crate::msd_skewed::{
    GROUPS_THREADS, Limits, Numbers, groups_blocks, groups_shared, radix_msd_skewed_bucket_sort,
    radix_msd_skewed_groups,
};
use rungs_common::keys::{self, UNSIGNED};
use rungs_common::ladder::sort::Keys;
use rungs_common::ladder::*;

const _: () = assert!(THREADS == PARTITION_THREADS && pass_tile::<u32>() == partition_tile::<u32>(false));

/// The sort of many keys.
pub struct Many {
    /// The buckets, in one or two partitions; 8 top bits at least.
    pub buckets: buckets::Plan,
    /// The limits of the choice.
    pub choice: Choice,
}

impl Many {
    /// For `n` keys, at most [`MANY`], on a device with so many bytes of shared memory per block.
    pub fn new(n: u32, max_shared: u32) -> Self {
        let buckets = buckets::Plan::new::<u32>(n, max_shared);
        Self { buckets, choice: Choice::new(n, buckets.second_bits != 0) }
    }

    /// What is left of a bucket is split until no bit is left: nothing is tallied.
    fn limits(&self) -> Limits {
        Limits::new(u32::BITS, self.buckets.top_bits(), 0)
    }
}

/// The scratch memory of one sort after the other. Two sorts at once need two.
pub struct Sorter {
    plan: buckets::Plan,
    choice: Choice,
    limits: Limits,
    /// As many words as keys.
    pub(super) keys: Scratch<u32>,
    /// The arrays of `msd-buckets`; the histogram is zero before and after a sort.
    workspace: Scratch<u32>,
    /// A word for each tile and value of a digit.
    states: Scratch<u64>,
    lists: Scratch<u32>,
    /// See [`CHOICE_WORDS`].
    choice_words: Scratch<u32>,
    /// See [`Passes`](crate::from_last::Passes); behind them counts of all digits, zero between sorts.
    passes: Scratch<u32>,
    /// The next number that the states have not seen.
    pub epoch: u32,
}

impl Sorter {
    /// The scratch memory of a sort.
    ///
    /// # Errors
    /// [`Failed::Machine`] if there is no memory.
    pub fn new(on: &dyn Launcher, many: &Many) -> Result<Self> {
        let (plan, limits) = (many.buckets, many.limits());
        Ok(Self {
            plan,
            choice: many.choice,
            limits,
            // All three are cleared by one fill.
            passes: on.zeros(PASSES_WORDS + PASSES * DIGITS)?,
            workspace: on.zeros(plan.layout().words)?,
            states: on.zeros(plan.n.div_ceil(pass_tile::<u32>()) * DIGITS)?,
            keys: on.scratch(plan.n)?,
            lists: on.scratch(list_words::<u32>(plan.n, plan.buckets(), plan.top_bits(), limits))?,
            choice_words: on.scratch(CHOICE_WORDS)?,
            epoch: 1,
        })
    }

    /// Sorts in place by way of the scratch memory.
    ///
    /// # Errors
    /// Those of a launch; [`Failed::Unsuitable`] for keys that do not begin on a multiple of 16 bytes.
    pub fn sort(&mut self, on: &dyn Launcher, Keys { keys, order }: Keys<u32>) -> Result {
        expect_aligned("keys", keys)?;
        let buckets::Plan { n, first_bits, second_bits, .. } = self.plan;
        if n == 0 {
            return Ok(());
        }
        if self.epoch > LAST_EPOCH + 1 - PASSES {
            on.clear(self.states.view())?;
            self.epoch = 1;
        }
        let (layout, multiprocessors) = (self.plan.layout(), on.device().multiprocessors);
        let (scratch, lists) = (self.keys.view(), self.lists.view());
        let (choice, passes) = (self.choice_words.view(), self.passes.view().slice(0, PASSES_WORDS));
        let counts = self.passes.view().slice(PASSES_WORDS, PASSES * DIGITS);
        let memory = Memory { input: keys, output: keys, scratch, workspace: self.workspace.view() };
        let histogram = memory.part(layout.histogram).slice(0, self.plan.buckets());
        let (starts, tiles) = (memory.part(layout.starts), memory.part(layout.tiles));
        let (first, second) = (memory.part(layout.first), memory.part(layout.second));
        let (common_bits, limits) = (self.plan.top_bits(), self.limits);
        let numbers = Numbers { order, first_bits, second_bits, common_bits, bucket_max: BUCKET_MAX, limits };

        let top_bits = self.plan.top_bits();
        let geometry = Geometry::linear(histogram_blocks(n, multiprocessors), COUNT_THREADS);
        let geometry = geometry.shared(histogram_shared(top_bits)).overlapping();
        let args = (keys, order, top_bits, histogram, lists.slice(0, CONTROL_WORDS), choice, self.choice.of_sample(n));
        if order == UNSIGNED {
            on.launch(radix_either_many_histogram::<Plain>::default(), geometry, args)?;
        } else {
            on.launch(radix_either_many_histogram::<Mapped>::default(), geometry, args)?;
        }

        let geometry = Geometry::linear(starts_blocks(first_bits, second_bits), STARTS_THREADS).overlapping();
        let args = (histogram, n, starts, second, first, tiles, lists, numbers, choice, self.choice);
        on.launch(radix_either_many_starts, geometry, args)?;

        let (blocks, counting) = (n.div_ceil(pass_tile::<u32>()), count_blocks(multiprocessors));
        let geometry = Geometry::linear(blocks, THREADS).shared(FIRST_SHARED).overlapping();
        let args = (keys, scratch, numbers, first, choice, counts, passes, blocks.min(counting));
        if order == UNSIGNED {
            on.launch(radix_either_many_first::<Plain>::default(), geometry, args)?;
        } else {
            on.launch(radix_either_many_first::<Mapped>::default(), geometry, args)?;
        }

        if second_bits != 0 {
            let geometry = Geometry::linear(self.plan.tile_slots(), PARTITION_THREADS);
            let geometry = geometry.shared(FIRST_SHARED).overlapping();
            let args = (keys, scratch, numbers, second, tiles, choice, passes);
            if order == UNSIGNED {
                on.launch(radix_either_many_second::<Plain>::default(), geometry, args)?;
            } else {
                on.launch(radix_either_many_second::<Mapped>::default(), geometry, args)?;
            }
        }

        let geometry = Geometry::linear(self.plan.buckets(), SORT_THREADS).shared(bucket_sort_shared::<u32>(false));
        let input = if second_bits != 0 { keys } else { scratch };
        let args = (input, keys, starts, histogram, lists, numbers);
        launch!(on, radix_msd_skewed_bucket_sort<u32>, order, geometry, args);

        let geometry = Geometry::linear(blocks.min(REST_BLOCKS * multiprocessors), THREADS).shared(REST_SHARED);
        let args = (keys, scratch, lists, numbers, choice, passes, self.states.view(), self.epoch);
        on.launch(radix_either_rest, geometry.overlapping(), args)?;

        let geometry = Geometry::linear(groups_blocks(n, multiprocessors), GROUPS_THREADS);
        let geometry = geometry.shared(groups_shared::<u32>()).overlapping();
        on.launch(radix_msd_skewed_groups::<u32>::default(), geometry, (scratch, keys, lists, numbers))?;
        self.epoch += PASSES;
        Ok(())
    }
}
