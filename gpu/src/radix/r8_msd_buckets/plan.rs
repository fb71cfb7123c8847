//! The launches of one sort, and the memory that they need beside the keys.

use super::*;
use crate::keys;
use crate::ladder::{Geometry, Launcher, Result};
use simt::Global;

/// From so many keys on the first partition is wide.
const WIDE: u32 = 1 << 27;

/// What is to be launched for `n` keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Keys.
    pub n: u32,
    /// Bits of the first partition.
    pub first_bits: u32,
    /// Bits of the second partition; 0 if there is none.
    pub second_bits: u32,
    /// Whether the first partition uses blocks of 1024.
    pub wide: bool,
    /// Blocks of the histogram.
    pub histogram_blocks: u32,
    /// Keys of 16 bytes.
    pub pack: u32,
    /// Keys of a tile of the second partition.
    pub tile: u32,
    /// Bits of a key.
    pub key_bits: u32,
    /// What can be tallied, and how keys are split until then.
    pub limits: Limits,
    /// Blocks of the kernels for skewed input.
    pub split_blocks: u32,
    /// See `split_blocks`.
    pub tally_blocks: u32,
    /// See `split_blocks`.
    pub groups_blocks: u32,
}

/// Where in the workspace each array lies: first word and number of words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Keys a bucket. Zero before and after a sort.
    pub histogram: (u32, u32),
    /// Where each bucket starts, and the end.
    pub starts: (u32, u32),
    /// Cursors of the second partition.
    pub second: (u32, u32),
    /// Cursors of the first partition.
    pub first: (u32, u32),
    /// Tiles of the second partition.
    pub tiles: (u32, u32),
    /// What is left over for skewed input, see [`Lists`].
    pub lists: (u32, u32),
    /// Words in all.
    pub words: u32,
}

impl Layout {
    /// Words at the beginning that the host zeroes once, when it makes the workspace: the histogram. All else is written
    /// before it is read. A workspace serves one sort after the other; two sorts at once need two.
    pub const fn zeroed(&self) -> u32 {
        self.starts.0
    }
}

impl Plan {
    /// For `n` keys of type `W` on a device with so many multiprocessors and bytes of shared memory a block.
    pub const fn new<W: Key>(n: u32, multiprocessors: u32, max_shared: u32) -> Self {
        let top = top_bits(n);
        let (first_bits, second_bits) = split_bits(top);
        Self {
            n,
            first_bits,
            second_bits,
            wide: n >= WIDE && first_bits == 8,
            histogram_blocks: histogram_blocks(n, multiprocessors),
            pack: W::PACK,
            tile: partition_tile::<W>(false),
            key_bits: 32 * W::HALVES,
            limits: Limits::new(32 * W::HALVES, top, tally_bits(max_shared)),
            split_blocks: split_blocks(n, partition_tile::<W>(false), multiprocessors),
            tally_blocks: tally_blocks(n, multiprocessors),
            groups_blocks: groups_blocks(n, multiprocessors),
        }
    }

    /// Top bits that buckets are told apart by.
    pub const fn top_bits(&self) -> u32 {
        self.first_bits + self.second_bits
    }

    /// Buckets.
    pub const fn buckets(&self) -> u32 {
        1 << self.top_bits()
    }

    /// Tiles of the second partition, empty ones included.
    pub const fn tile_slots(&self) -> u32 {
        if self.second_bits == 0 { 0 } else { self.n / self.tile + (1 << self.first_bits) }
    }

    /// Where the arrays of the workspace lie, each on a multiple of 128 bytes.
    pub const fn layout(&self) -> Layout {
        const fn place(words: u32, end: &mut u32) -> (u32, u32) {
            let start = *end;
            *end = (start + words).next_multiple_of(32);
            (start, words)
        }
        let (buckets, mut words) = (self.buckets(), 0);
        Layout {
            histogram: place(1 << MAX_TOP_BITS, &mut words),
            starts: place(buckets + 1, &mut words),
            second: place(buckets, &mut words),
            first: place(if self.second_bits == 0 { buckets } else { spread(1 << self.first_bits) }, &mut words),
            tiles: place(4 * self.tile_slots(), &mut words),
            lists: place(list_words(self.n, buckets, self.key_bits, self.top_bits(), self.limits), &mut words),
            words,
        }
    }
}

/// Sorts keys of one word type.
pub trait Sort: Key {
    /// Sorts `plan.n` keys. `order`: see [`crate::keys`].
    ///
    /// # Errors
    /// Whatever a launch fails with.
    fn sort(launcher: &dyn Launcher, plan: &Plan, order: u32, memory: Memory<Self>) -> Result;
}

/// The memory of one sort.
#[derive(Clone, Copy)]
pub struct Memory<W> {
    /// The keys; they are only read here.
    pub input: Global<W>,
    /// Where they go, sorted. It may be the same memory: nothing is written to it before all of `input` was read.
    pub output: Global<W>,
    /// As many words of any content, overwritten.
    pub scratch: Global<W>,
    /// See [`Layout`].
    pub workspace: Global<u32>,
}

/// Launches the instance of a kernel for keys that are unsigned words, or for others.
macro_rules! launch {
    ($launcher:ident, $kernel:ident <$word:ty>, $mapped:expr, $shape:expr, $args:expr) => {
        launch!($launcher, $kernel | $kernel <$word>, $mapped, $shape, $args)
    };
    ($launcher:ident, $kernel:ident | $for_mapped:ident <$word:ty>, $mapped:expr, $shape:expr, $args:expr) => {
        if $mapped {
            $launcher.launch($for_mapped::<$word, Mapped>::default(), $shape, $args)?;
        } else {
            $launcher.launch($kernel::<$word, Plain>::default(), $shape, $args)?;
        }
    };
}

macro_rules! sorts {
    ($word:ty, $bucket_sort:ident, $groups:ident, $narrow:ident, $wide:ident) => {
        impl Sort for $word {
            #[rustfmt::skip]
            fn sort(
                launcher: &dyn Launcher, plan: &Plan, order: u32, memory: Memory<Self>,
            ) -> Result {
                if plan.n == 0 {
                    return Ok(());
                }
                let Memory { input, output, scratch, workspace } = memory;
                let (layout, top_bits, mapped) = (plan.layout(), plan.top_bits(), order != keys::UNSIGNED);
                let key_bytes = size_of::<$word>() as u32;
                let part = |(start, words): (u32, u32)| workspace.slice(start, words);
                let (histogram, starts, lists) = (part(layout.histogram), part(layout.starts), part(layout.lists));
                let (first, second, tiles) = (part(layout.first), part(layout.second), part(layout.tiles));
                let (first_bits, second_bits) = (plan.first_bits, plan.second_bits);
                let Limits { tally_bits, least_bits } = plan.limits;

                let shape = Geometry::linear(plan.histogram_blocks, HISTOGRAM_THREADS).shared(histogram_shared(top_bits));
                let args = (input, order, top_bits, histogram, lists);
                launch!(launcher, radix_msd_buckets_histogram<$word>, mapped, shape.overlapping(), args);

                let shape = Geometry::linear(starts_blocks(first_bits, second_bits), STARTS_THREADS).overlapping();
                let args = (
                    histogram, plan.n, first_bits, second_bits, starts, second, first, tiles, plan.tile, plan.pack,
                    plan.key_bits, lists, tally_bits, least_bits,
                );
                launcher.launch(radix_msd_buckets_starts, shape, args)?;

                let threads = if plan.wide { PARTITION_THREADS_WIDE } else { PARTITION_THREADS };
                let shape = Geometry::linear(plan.n.div_ceil(partition_tile::<$word>(plan.wide)), threads);
                let shape = shape.shared(partition_shared(plan.wide)).overlapping();
                let (spread_out, all) = ((second_bits != 0) as u32, tiles.slice(0, 0));
                let args = (input, scratch, order, 32 - first_bits, first_bits, first, spread_out, all);
                if plan.wide {
                    launch!(launcher, radix_msd_buckets_partition_wide | $wide <$word>, mapped, shape, args);
                } else {
                    launch!(launcher, radix_msd_buckets_partition | $narrow <$word>, mapped, shape, args);
                }

                let (mut source, mut array) = (scratch, IN_SCRATCH);
                if second_bits != 0 {
                    let shape = Geometry::linear(plan.tile_slots(), PARTITION_THREADS).shared(partition_shared(false));
                    let args = (scratch, output, order, 32 - top_bits, second_bits, second, 0, tiles);
                    launcher.launch(radix_msd_buckets_partition::<$word, Plain>::default(), shape.overlapping(), args)?;
                    (source, array) = (output, IN_OUTPUT);
                }

                let shape = Geometry::linear(plan.buckets(), BUCKET_SORT_THREADS);
                let shape = shape.shared(bucket_sort_shared(key_bytes)).overlapping();
                let args = (source, output, order, starts, top_bits, histogram, lists, tally_bits, least_bits, array);
                launch!(launcher, $bucket_sort<$word>, mapped, shape, args);

                let args = (scratch, output, order, lists, tally_bits, least_bits);
                let shape = Geometry::linear(plan.split_blocks, SPLIT_THREADS).shared(SPLIT_SHARED).overlapping();
                launcher.launch(radix_msd_buckets_split::<$word>::default(), shape, args)?;
                let shape = Geometry::linear(plan.tally_blocks, TALLY_THREADS).shared(tally_shared(tally_bits)).overlapping();
                launcher.launch(radix_msd_buckets_tally::<$word>::default(), shape, args)?;
                let shape = Geometry::linear(plan.groups_blocks, GROUPS_THREADS);
                let shape = shape.shared(groups_shared(key_bytes)).overlapping();
                launcher.launch($groups::<$word>::default(), shape, args)
            }
        }
    };
}
sorts!(
    u32,
    radix_msd_buckets_bucket_sort,
    radix_msd_buckets_groups,
    radix_msd_buckets_partition,
    radix_msd_buckets_partition_wide
);
sorts!(
    u64,
    radix_msd_buckets_bucket_sort_wide,
    radix_msd_buckets_groups_wide,
    radix_msd_buckets_partition_mapped_wide_keys,
    radix_msd_buckets_partition_wide_mapped_wide_keys
);
