//! The launches up to the last partition, and their scratch memory in addition to the keys.

use super::*;
use crate::msd::{
    BUCKET_MEAN, BUCKET_SORT_STATIC, MIN_TOP_BITS, WIDE, bucket_sort_shared, counts_in_bytes, spread, top_bits,
};
use rungs_common::keys;
use rungs_common::ladder::*;

/// Keys of 32 bits per tile.
pub const TILE: u64 = partition_tile::<u32>(false) as u64;

/// Most top bits for one partition.
const ONE_PASS_BITS: u32 = 9;

/// The least shared memory per block of the devices that the kernels are compiled for (8.6, 8.9 and 12.x have it): all
/// but the largest histograms fit.
const LEAST_SHARED: u32 = 99 << 10;
const _: () = assert!(partition_shared(true) <= LEAST_SHARED);
const _: () = assert!(BUCKET_SORT_STATIC + bucket_sort_shared::<u64>(false) <= LEAST_SHARED);
const _: () = assert!(HISTOGRAM_STATIC + histogram_shared(MIN_TOP_BITS) <= LEAST_SHARED);

/// What is to be launched for `n` keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Keys.
    pub n: u32,
    /// Bits of the first partition.
    pub first_bits: u32,
    /// Bits of the second partition; 0 if there is none.
    pub second_bits: u32,
    /// Whether the first partition uses wide blocks.
    pub wide: bool,
    /// Keys per tile of the second partition.
    pub tile: u32,
}

/// Where in the workspace each array lies: first word and number of words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Keys per bucket. Zero before and after a sort.
    pub histogram: (u32, u32),
    /// Where each bucket starts, and the end.
    pub starts: (u32, u32),
    /// Cursors of the second partition.
    pub second: (u32, u32),
    /// Cursors of the first partition.
    pub first: (u32, u32),
    /// Tiles of the second partition.
    pub tiles: (u32, u32),
    /// Words in all.
    pub words: u32,
}

impl Plan {
    /// For `n` keys of type `W` on a device with `max_shared` bytes of shared memory per block.
    pub const fn new<W: Key>(n: u32, max_shared: u32) -> Self {
        Self::with_buckets_of::<W>(BUCKET_MEAN, n, max_shared)
    }

    /// The same, but 17 top bits only where there would be more than `most` keys per bucket on average.
    pub const fn with_buckets_of<W: Key>(most: u32, n: u32, max_shared: u32) -> Self {
        let mut top = top_bits(n as u64, most);
        while top > MIN_TOP_BITS && HISTOGRAM_STATIC + histogram_shared(top) > max_shared {
            top -= 1;
        }
        let first_bits = if top <= ONE_PASS_BITS { top } else { top.div_ceil(2) };
        Self {
            n,
            first_bits,
            second_bits: top - first_bits,
            wide: n >= WIDE && first_bits >= 8,
            tile: partition_tile::<W>(false),
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
            histogram: place(if buckets > 1 << 16 { buckets } else { 1 << 16 }, &mut words),
            starts: place(buckets + 1, &mut words),
            second: place(buckets, &mut words),
            first: place(if self.second_bits == 0 { buckets } else { spread(1 << self.first_bits) }, &mut words),
            tiles: place(4 * self.tile_slots(), &mut words),
            words,
        }
    }
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

impl<W> Memory<W> {
    /// An array of the workspace.
    pub fn part(&self, (start, words): (u32, u32)) -> Global<u32> {
        self.workspace.slice(start, words)
    }
}

/// Launches the instance `P` of a kernel for keys that are unsigned words, or `M` for others.
pub(crate) fn launch<P, M>(on: &dyn Launcher, order: u32, geometry: Geometry, args: P::Args) -> Result
where
    P: Kernel + Default,
    M: Kernel<Args = P::Args> + Default,
{
    let geometry = geometry.overlapping();
    if order == keys::UNSIGNED {
        on.launch(P::default(), geometry, args)
    } else {
        on.launch(M::default(), geometry, args)
    }
}

/// Moves keys of one word type to their buckets.
pub trait Sort: Key {
    /// Launch 1, for the given number of top bits. `zeroed`: see [`radix_msd_skewed_histogram`].
    ///
    /// # Errors
    /// Whatever the launch fails with.
    #[rustfmt::skip]
    fn count(
        on: &dyn Launcher, keys: Global<Self>, order: u32, top_bits: u32, histogram: Global<u32>, zeroed: Global<u32>,
    ) -> Result;

    /// Launch 3: moves the keys to their buckets by the first digit, by `wide` blocks or by small ones.
    ///
    /// # Errors
    /// Whatever the launch fails with.
    fn first_partition(on: &dyn Launcher, wide: bool, args: PartitionArgs<Self>) -> Result;

    /// Launches 3 and 4.
    ///
    /// # Errors
    /// Whatever a launch fails with.
    fn partition(on: &dyn Launcher, plan: &Plan, order: u32, memory: Memory<Self>) -> Result;
}

/// What a histogram of the top bits takes.
type HistogramArgs<W> = (Global<W>, u32, u32, Global<u32>, Global<u32>);

/// What a partition takes.
pub(crate) type PartitionArgs<W> = (Global<W>, Global<W>, u32, u32, u32, Global<u32>, u32, Global<u32>);

impl<W: Key> Sort for W
where
    radix_msd_skewed_histogram<W, Plain>: Kernel<Args = HistogramArgs<W>>,
    radix_msd_skewed_histogram<W, Mapped>: Kernel<Args = HistogramArgs<W>>,
    radix_msd_skewed_histogram_bytes<W, Plain>: Kernel<Args = (Global<W>, u32, Global<u32>, Global<u32>)>,
    radix_msd_skewed_histogram_bytes<W, Mapped>: Kernel<Args = (Global<W>, u32, Global<u32>, Global<u32>)>,
    radix_msd_skewed_partition<W, Plain>: Kernel<Args = PartitionArgs<W>>,
    radix_msd_skewed_partition<W, Mapped>: Kernel<Args = PartitionArgs<W>>,
    radix_msd_skewed_partition_wide<W, Plain>: Kernel<Args = PartitionArgs<W>>,
    radix_msd_skewed_partition_wide<W, Mapped>: Kernel<Args = PartitionArgs<W>>,
{
    #[rustfmt::skip]
    fn count(
        on: &dyn Launcher, keys: Global<Self>, order: u32, top_bits: u32, histogram: Global<u32>, zeroed: Global<u32>,
    ) -> Result {
        let blocks = histogram_blocks(keys.len(), on.device().multiprocessors);
        let geometry = Geometry::linear(blocks, HISTOGRAM_THREADS).shared(histogram_shared(top_bits));
        if counts_in_bytes(top_bits) {
            let args = (keys, order, histogram, zeroed);
            launch::<radix_msd_skewed_histogram_bytes<W, Plain>, radix_msd_skewed_histogram_bytes<W, Mapped>>(
                on, order, geometry, args,
            )?;
        } else {
            let args = (keys, order, top_bits, histogram, zeroed);
            launch::<radix_msd_skewed_histogram<W, Plain>, radix_msd_skewed_histogram<W, Mapped>>(
                on, order, geometry, args,
            )?;
        }
        Ok(())
    }

    fn first_partition(on: &dyn Launcher, wide: bool, args: PartitionArgs<Self>) -> Result {
        let (n, order) = (args.0.len(), args.2);
        let geometry = Geometry::linear(n.div_ceil(partition_tile::<W>(wide)), partition_threads(wide));
        let geometry = geometry.shared(partition_shared(wide));
        if wide {
            launch::<radix_msd_skewed_partition_wide<W, Plain>, radix_msd_skewed_partition_wide<W, Mapped>>(
                on, order, geometry, args,
            )
        } else {
            launch::<radix_msd_skewed_partition<W, Plain>, radix_msd_skewed_partition<W, Mapped>>(
                on, order, geometry, args,
            )
        }
    }

    fn partition(on: &dyn Launcher, plan: &Plan, order: u32, memory: Memory<Self>) -> Result {
        let (layout, (first_bits, second_bits)) = (plan.layout(), (plan.first_bits, plan.second_bits));
        let (cursors, tiles) = (memory.part(layout.first), memory.part(layout.tiles));
        let (spread_out, all) = ((second_bits != 0) as u32, tiles.slice(0, 0));
        let Memory { input, output, scratch, .. } = memory;
        let args = (input, scratch, order, 32 - first_bits, first_bits, cursors, spread_out, all);
        Self::first_partition(on, plan.wide, args)?;
        if second_bits != 0 {
            let geometry = Geometry::linear(plan.tile_slots(), PARTITION_THREADS);
            let geometry = geometry.shared(partition_shared(false));
            let cursors = memory.part(layout.second);
            let args = (scratch, output, order, 32 - plan.top_bits(), second_bits, cursors, 0, tiles);
            on.launch(radix_msd_skewed_partition::<W, Plain>::default(), geometry.overlapping(), args)?;
        }
        Ok(())
    }
}
