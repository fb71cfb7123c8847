//! The launches of one sort, and its scratch memory in addition to the keys.

pub use super::lists::{CONTROL_WORDS, list_words};
use super::*;
use crate::buckets::launches::{self as buckets, Memory, TILE, launch};
use crate::buckets::{
    HISTOGRAM_THREADS, MAX_KEYS, STARTS_THREADS, partition_tile, radix_msd_skewed_histogram,
    radix_msd_skewed_histogram_bytes, radix_msd_skewed_partition, radix_msd_skewed_partition_wide, starts_blocks,
};
use crate::msd::{
    BUCKET_MEAN, BUCKET_SORT_STATIC, Key, LARGE_MEAN, Mapped, Plain, bucket_max, bucket_sort_shared,
    bucket_sort_threads, takes_large,
};
use rungs_common::ladder::sort::{Keys, Width};
use rungs_common::ladder::{self, *};

/// The row of the ladder.
pub static RUNG: Entry<ladder::sort::Sort> = rung!(
    "mod.rs",
    [
        radix_msd_skewed_histogram,
        radix_msd_skewed_histogram_bytes,
        radix_msd_skewed_starts,
        radix_msd_skewed_partition,
        radix_msd_skewed_partition_wide,
        radix_msd_skewed_bucket_sort,
        radix_msd_skewed_bucket_sort_large,
        radix_msd_skewed_split,
        radix_msd_skewed_tally,
        radix_msd_skewed_groups,
    ]
)
.with_capacity(MAX_KEYS as u64)
.with_tiles(&[TILE])
.run_by(ladder::sort::Sort::both(
    &Functions { scratch: scratch::<u32>, run: sort },
    &Functions { scratch: scratch::<u64>, run: sort },
));

/// What is launched, and its scratch memory in addition to the keys. Two sorts at once need two.
pub struct Scratched<W> {
    plan: Plan,
    /// Its histogram is zero before and after a sort.
    workspace: Scratch<u32>,
    pub(crate) keys: Scratch<W>,
}

/// The scratch memory to sort `n` keys.
///
/// # Errors
/// [`Failed::Machine`] if there is no memory.
pub fn scratch<W: Width + Sort>(on: &dyn Launcher, n: u32, _: &Options) -> Result<Scratched<W>> {
    let plan = Plan::new::<W>(n, on.device().shared_per_block);
    Ok(Scratched { plan, workspace: on.zeros(plan.words())?, keys: on.scratch(n)? })
}

/// Sorts keys in place.
///
/// # Errors
/// Those of a launch; [`Failed::Unsuitable`] for keys that do not begin on a multiple of 16 bytes.
pub fn sort<W: Width + Sort>(
    on: &dyn Launcher,
    Keys { keys, order }: Keys<W>,
    Scratched { plan, workspace, keys: scratch }: &mut Scratched<W>,
) -> Result {
    expect_aligned("keys", keys)?;
    let memory = Memory { input: keys, output: keys, scratch: scratch.view(), workspace: workspace.view() };
    W::sort_skewed(on, plan, order, memory)
}

const _: () = assert!(CONTROL_WORDS <= HISTOGRAM_THREADS, "the histogram zeroes a word per thread");

/// What is to be launched for `n` keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// What `msd-buckets` launches.
    pub buckets: buckets::Plan,
    /// Whether the bucket sort uses large blocks.
    pub large: bool,
    /// What can be tallied, and how keys are split until then.
    pub limits: Limits,
    /// Words of the lists, which lie behind the arrays of `msd-buckets` in the workspace.
    pub list_words: u32,
}

impl Plan {
    /// For `n` keys of type `W` on a device with this number of bytes of shared memory per block.
    pub const fn new<W: Key>(n: u32, max_shared: u32) -> Self {
        let fits = BUCKET_SORT_STATIC + bucket_sort_shared::<W>(true) <= max_shared;
        let most = if fits { LARGE_MEAN } else { BUCKET_MEAN };
        let buckets = buckets::Plan::with_buckets_of::<W>(most, n, max_shared);
        Self::by_way_of::<W>(buckets, fits && takes_large(n as u64, buckets.top_bits()), max_shared)
    }

    /// By way of these buckets, which large blocks sort or others.
    pub const fn by_way_of<W: Key>(buckets: buckets::Plan, large: bool, max_shared: u32) -> Self {
        let top_bits = buckets.top_bits();
        let limits = Limits::new(32 * W::HALVES, top_bits, tally_bits(max_shared));
        let list_words = list_words::<W>(buckets.n, buckets.buckets(), top_bits, limits);
        Self { buckets, large, limits, list_words }
    }

    /// Words of the workspace, which are zero before the first sort.
    pub const fn words(&self) -> u32 {
        self.buckets.layout().words + self.list_words
    }
}

/// Sorts keys of one word type.
pub trait Sort: buckets::Sort {
    /// Sorts `plan.buckets.n` keys. `order`: see [`rungs_common::keys`].
    ///
    /// # Errors
    /// Whatever a launch fails with.
    fn sort_skewed(on: &dyn Launcher, plan: &Plan, order: u32, memory: Memory<Self>) -> Result;

    /// Launches 5 to 8: sorts the buckets whose `starts` were made with these `numbers`, one for each word of the
    /// `histogram`.
    ///
    /// # Errors
    /// Whatever a launch fails with.
    #[rustfmt::skip]
    fn finish(
        on: &dyn Launcher, arrays: Arrays<Self>, starts: Global<u32>, histogram: Global<u32>, lists: Global<u32>,
        numbers: Numbers,
    ) -> Result;

    /// Launches 6 to 8: sorts what the bucket sort has put on the lists, without the tally where no bit can be tallied.
    ///
    /// # Errors
    /// Whatever a launch fails with.
    fn sort_lists(on: &dyn Launcher, arrays: Arrays<Self>, lists: Global<u32>, numbers: Numbers) -> Result;
}

/// What the starts take.
#[rustfmt::skip]
pub(crate) type StartsArgs = (
    Global<u32>, u32, Global<u32>, Global<u32>, Global<u32>, Global<u32>, Global<u32>, Numbers,
);

/// What the bucket sorts take.
type BucketArgs<W> = (Global<W>, Global<W>, Global<u32>, Global<u32>, Global<u32>, Numbers);

/// What the kernels behind the bucket sort take.
type ListArgs<W> = (Global<W>, Global<W>, Global<u32>, Numbers);

impl<W: buckets::Sort> Sort for W
where
    radix_msd_skewed_starts<W>: Kernel<Args = StartsArgs>,
    radix_msd_skewed_bucket_sort<W, Plain>: Kernel<Args = BucketArgs<W>>,
    radix_msd_skewed_bucket_sort<W, Mapped>: Kernel<Args = BucketArgs<W>>,
    radix_msd_skewed_bucket_sort_large<W, Plain>: Kernel<Args = BucketArgs<W>>,
    radix_msd_skewed_bucket_sort_large<W, Mapped>: Kernel<Args = BucketArgs<W>>,
    radix_msd_skewed_split<W>: Kernel<Args = ListArgs<W>>,
    radix_msd_skewed_tally<W>: Kernel<Args = ListArgs<W>>,
    radix_msd_skewed_groups<W>: Kernel<Args = ListArgs<W>>,
{
    fn sort_skewed(on: &dyn Launcher, plan: &Plan, order: u32, memory: Memory<Self>) -> Result {
        let buckets::Plan { n, first_bits, second_bits, .. } = plan.buckets;
        if n == 0 {
            return Ok(());
        }
        let (layout, bucket_max) = (plan.buckets.layout(), bucket_max(plan.large));
        let common_bits = first_bits + second_bits;
        let limits = plan.limits;
        let numbers = Numbers { order, first_bits, second_bits, common_bits, bucket_max, limits };
        let lists = memory.part((layout.words, plan.list_words));
        let (histogram, starts) = (memory.part(layout.histogram), memory.part(layout.starts));
        let (first, second, tiles) = (memory.part(layout.first), memory.part(layout.second), memory.part(layout.tiles));
        let Memory { input, output, scratch, .. } = memory;

        let zeroed = lists.slice(0, CONTROL_WORDS);
        <W as buckets::Sort>::count(on, input, order, plan.buckets.top_bits(), histogram, zeroed)?;

        let geometry = Geometry::linear(starts_blocks(first_bits, second_bits), STARTS_THREADS).overlapping();
        let args = (histogram, n, starts, second, first, tiles, lists, numbers);
        on.launch(radix_msd_skewed_starts::<W>::default(), geometry, args)?;

        <W as buckets::Sort>::partition(on, &plan.buckets, order, memory)?;

        let histogram = histogram.slice(0, plan.buckets.buckets());
        Self::finish(on, Arrays { scratch, output }, starts, histogram, lists, numbers)
    }

    #[rustfmt::skip]
    fn finish(
        on: &dyn Launcher, arrays: Arrays<Self>, starts: Global<u32>, histogram: Global<u32>, lists: Global<u32>,
        numbers: Numbers,
    ) -> Result {
        let output = arrays.output;
        let large = numbers.takes_large();
        let geometry = Geometry::linear(histogram.len(), bucket_sort_threads(large));
        let geometry = geometry.shared(bucket_sort_shared::<W>(large));
        let args = (arrays.of(numbers.array()), output, starts, histogram, lists, numbers);
        if large {
            launch::<radix_msd_skewed_bucket_sort_large<W, Plain>, radix_msd_skewed_bucket_sort_large<W, Mapped>>(
                on, numbers.order, geometry, args,
            )?;
        } else {
            launch::<radix_msd_skewed_bucket_sort<W, Plain>, radix_msd_skewed_bucket_sort<W, Mapped>>(
                on, numbers.order, geometry, args,
            )?;
        }
        Self::sort_lists(on, arrays, lists, numbers)
    }

    fn sort_lists(on: &dyn Launcher, arrays: Arrays<Self>, lists: Global<u32>, numbers: Numbers) -> Result {
        let Arrays { scratch, output } = arrays;
        let (n, multiprocessors) = (output.len(), on.device().multiprocessors);
        let args = (scratch, output, lists, numbers);
        let blocks = split_blocks(n, partition_tile::<W>(false), multiprocessors);
        let geometry = Geometry::linear(blocks, SPLIT_THREADS).shared(SPLIT_SHARED).overlapping();
        on.launch(radix_msd_skewed_split::<W>::default(), geometry, args)?;
        if numbers.limits.tally_bits != 0 {
            let geometry = Geometry::linear(tally_blocks(n, multiprocessors), TALLY_THREADS);
            let geometry = geometry.shared(tally_shared(numbers.limits.tally_bits)).overlapping();
            on.launch(radix_msd_skewed_tally::<W>::default(), geometry, args)?;
        }
        let geometry = Geometry::linear(groups_blocks(n, multiprocessors), GROUPS_THREADS);
        let geometry = geometry.shared(groups_shared::<W>()).overlapping();
        on.launch(radix_msd_skewed_groups::<W>::default(), geometry, args)
    }
}
