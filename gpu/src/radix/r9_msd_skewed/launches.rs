//! The launches of one sort, and the memory that they need beside the keys.

use super::leftover::{Limits, Numbers};
use super::lists::{CONTROL_WORDS, list_words};
use super::*;
use crate::keys;
use crate::ladder::sort::{Keys, Sorts, Width};
use crate::ladder::{self, *};
use crate::radix::msd::{Key, Mapped, Plain};
use crate::radix::r8_msd_buckets::launches::{self as buckets, BUCKET_MEAN, Memory, TILE, launch};
use crate::radix::r8_msd_buckets::{HISTOGRAM_THREADS, MAX_KEYS, STARTS_THREADS, starts_blocks};

/// The rung. It launches the histogram and the partition of `msd-buckets` too.
pub static RUNG: Entry<ladder::sort::Sort> = rung!(
    "mod.rs",
    [
        radix_msd_skewed_starts,
        radix_msd_skewed_bucket_sort,
        radix_msd_skewed_bucket_sort_large,
        radix_msd_skewed_split,
        radix_msd_skewed_tally,
        radix_msd_skewed_groups,
    ]
)
.with_capacity(MAX_KEYS as u64)
.with_tiles(&[TILE])
.run_by(ladder::sort::Sort::both(&MsdSkewed));

struct MsdSkewed;

impl<W: Width + Sort> Sorts<W> for MsdSkewed {
    fn launches(&self, on: &dyn Launcher, n: u32, _: &Options) -> Result<Launches<Keys<W>>> {
        let Device { multiprocessors, shared_per_block, .. } = on.device();
        let plan = Plan::new::<W>(n, multiprocessors, shared_per_block);
        // Zero once: every sort leaves the histogram so.
        let (workspace, scratch) = (on.zeros(plan.words())?, on.scratch(n)?);
        Ok(Box::new(move |on, Keys { keys, order }| {
            expect_aligned("keys", keys)?;
            let memory = Memory { input: keys, output: keys, scratch: scratch.view(), workspace: workspace.view() };
            W::sort_skewed(on, &plan, order, memory)
        }))
    }
}

const _: () = assert!(CONTROL_WORDS <= HISTOGRAM_THREADS, "the histogram zeroes a word per thread");

/// Words at the beginning of the lists that are zero at the start of a sort.
pub const LIST_HEAD: u32 = CONTROL_WORDS;

/// Words of the lists for a sort of `n` keys by way of so many buckets.
pub const fn words_of_lists<W: Key>(n: u32, buckets: u32, top_bits: u32, limits: Limits) -> u32 {
    list_words(n, buckets, 32 * W::HALVES, top_bits, limits)
}

/// Most keys that a bucket of uniform input has on average for the large bucket sort: 8 standard deviations below what
/// fits a block.
pub const LARGE_MEAN: u32 = 8448;

/// Whether buckets of `n` keys are too large for the usual blocks of the bucket sort, and not for the large ones.
pub const fn takes_large(n: u64, top_bits: u32) -> bool {
    n > (BUCKET_MEAN as u64) << top_bits && n <= (LARGE_MEAN as u64) << top_bits
}

/// What is to be launched for `n` keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// What `msd-buckets` launches.
    pub buckets: buckets::Plan,
    /// Whether the bucket sort uses large blocks.
    pub large: bool,
    /// What can be tallied, and how keys are split until then.
    pub limits: Limits,
    /// Blocks of the launches for skewed keys.
    pub split_blocks: u32,
    /// See `split_blocks`.
    pub tally_blocks: u32,
    /// See `split_blocks`.
    pub groups_blocks: u32,
    /// Words of the lists, which lie behind the arrays of `msd-buckets` in the workspace.
    pub list_words: u32,
}

impl Plan {
    /// For `n` keys of type `W` on a device with this many multiprocessors and bytes of shared memory per block.
    pub const fn new<W: Key>(n: u32, multiprocessors: u32, max_shared: u32) -> Self {
        let fits = BUCKET_SORT_STATIC + bucket_sort_shared::<W>(true) <= max_shared;
        let most = if fits { LARGE_MEAN } else { BUCKET_MEAN };
        let buckets = buckets::Plan::with_buckets_of::<W>(most, n, multiprocessors, max_shared);
        let large = fits && takes_large(n as u64, buckets.top_bits());
        Self::by_way_of::<W>(buckets, large, multiprocessors, max_shared)
    }

    /// By way of these buckets, which large blocks sort or others.
    #[rustfmt::skip]
    pub const fn by_way_of<W: Key>(
        buckets: buckets::Plan, large: bool, multiprocessors: u32, max_shared: u32,
    ) -> Self {
        let (n, key_bits, top_bits) = (buckets.n, 32 * W::HALVES, buckets.top_bits());
        let limits = Limits::new(key_bits, top_bits, tally_bits(max_shared));
        Self {
            buckets,
            large,
            limits,
            split_blocks: split_blocks(n, buckets.tile, multiprocessors),
            tally_blocks: tally_blocks(n, multiprocessors),
            groups_blocks: groups_blocks(n, multiprocessors),
            list_words: list_words(n, buckets.buckets(), key_bits, top_bits, limits),
        }
    }

    /// Words of the workspace, which are zero before the first sort.
    pub const fn words(&self) -> u32 {
        self.buckets.layout().words + self.list_words
    }
}

/// Sorts keys of one word type.
pub trait Sort: buckets::Sort {
    /// Sorts `plan.buckets.n` keys. `order`: see [`crate::keys`].
    ///
    /// # Errors
    /// Whatever a launch fails with.
    fn sort_skewed(on: &dyn Launcher, plan: &Plan, order: u32, memory: Memory<Self>) -> Result;
}

macro_rules! sorts {
    ($($word:ty),*) => {$(
        impl Sort for $word {
            #[rustfmt::skip]
            fn sort_skewed(
                on: &dyn Launcher, plan: &Plan, order: u32, memory: Memory<Self>,
            ) -> Result {
                let buckets::Plan { n, first_bits, second_bits, .. } = plan.buckets;
                if n == 0 {
                    return Ok(());
                }
                let (layout, bucket_max) = (plan.buckets.layout(), bucket_max(plan.large));
                let numbers = Numbers { order, first_bits, second_bits, bucket_max, limits: plan.limits };
                let lists = memory.part((layout.words, plan.list_words));
                let (histogram, starts) = (memory.part(layout.histogram), memory.part(layout.starts));
                let (first, second, tiles) =
                    (memory.part(layout.first), memory.part(layout.second), memory.part(layout.tiles));

                <Self as buckets::Sort>::count(on, &plan.buckets, order, memory, lists.slice(0, CONTROL_WORDS))?;

                let geometry = Geometry::linear(starts_blocks(first_bits, second_bits), STARTS_THREADS).overlapping();
                let args = (histogram, n, starts, second, first, tiles, lists, numbers);
                on.launch(radix_msd_skewed_starts::<$word>::default(), geometry, args)?;

                <Self as buckets::Sort>::partition(on, &plan.buckets, order, memory)?;

                let Memory { output, scratch, .. } = memory;
                let source = if second_bits == 0 { scratch } else { output };
                let geometry = Geometry::linear(plan.buckets.buckets(), bucket_sort_threads(plan.large));
                let geometry = geometry.shared(bucket_sort_shared::<$word>(plan.large));
                let args = (source, output, starts, histogram, lists, numbers);
                if plan.large {
                    launch!(on, radix_msd_skewed_bucket_sort_large<$word>, order, geometry, args);
                } else {
                    launch!(on, radix_msd_skewed_bucket_sort<$word>, order, geometry, args);
                }

                let args = (scratch, output, lists, numbers);
                let geometry = Geometry::linear(plan.split_blocks, SPLIT_THREADS).shared(SPLIT_SHARED).overlapping();
                on.launch(radix_msd_skewed_split::<$word>::default(), geometry, args)?;
                let geometry = Geometry::linear(plan.tally_blocks, TALLY_THREADS);
                let geometry = geometry.shared(tally_shared(plan.limits.tally_bits)).overlapping();
                on.launch(radix_msd_skewed_tally::<$word>::default(), geometry, args)?;
                let geometry = Geometry::linear(plan.groups_blocks, GROUPS_THREADS).shared(groups_shared::<$word>());
                on.launch(radix_msd_skewed_groups::<$word>::default(), geometry.overlapping(), args)
            }
        }
    )*};
}
sorts!(u32, u64);
