//! The launches of `msd-skewed` one by one, for a sort over several devices.
//!
//! Each device counts its keys by their top bits, 10 to 17, and partitions them by the first 8 or 9 of those. Then runs
//! of top buckets change places, so that a device has the pieces of its buckets that all devices had. From there on a
//! run of top buckets is a sort of its own: its pieces are partitioned by the rest of the top bits, wherever they lie,
//! and the buckets are sorted.

use super::buckets::launches::{self as buckets, PartitionArgs};
use super::buckets::{
    HISTOGRAM_STATIC, PARTITION_THREADS, STARTS_THREADS, histogram_shared, partition_shared, partition_tile,
    radix_msd_skewed_partition, radix_pieces_starts, starts_blocks,
};
/// Where the cursor of a top bucket lies among those of the first partition.
pub use super::msd::spread as cursor;
use super::msd::{
    BUCKET_SORT_STATIC, Key, LARGE_MEAN, Plain, WIDE, bucket_max, bucket_sort_shared, counts_in_bytes, takes_large,
    top_bits,
};
use super::msd_skewed::launches::{self as skewed, CONTROL_WORDS, StartsArgs, list_words};
use super::msd_skewed::{Arrays, Limits, Numbers, radix_msd_skewed_starts, tally_bits};
use rungs_common::keys;
use rungs_common::ladder::{Device, Geometry, Global, Kernel, Launcher, Result};

/// Fewest bits of each partition: the buckets at the borders of devices have a small part of the keys.
const LEAST: [u32; 2] = [8, 2];

/// How many bits buckets are told apart by, and which blocks sort them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bits {
    first: u32,
    second: u32,
    large: bool,
}

impl Bits {
    /// For `n` keys on all devices together: bits that leave a block's share of keys in a bucket, while they last.
    pub const fn of(n: u64) -> Self {
        let (top, least) = (top_bits(n, LARGE_MEAN), LEAST[0] + LEAST[1]);
        let top = if top < least { least } else { top };
        let first = if counts_in_bytes(top) { top.div_ceil(2) } else { LEAST[0] };
        Self::by(first, top - first, takes_large(n, top))
    }

    /// By these numbers of bits in the two partitions; `large`: large blocks sort the buckets.
    pub const fn by(first: u32, second: u32, large: bool) -> Self {
        Self { first, second, large }
    }

    /// The top bits.
    pub const fn top(self) -> u32 {
        self.first + self.second
    }

    /// Buckets by the bits of the first partition.
    pub const fn top_buckets(self) -> u32 {
        1 << self.first
    }

    /// Buckets in a top bucket.
    pub const fn low(self) -> u32 {
        1 << self.second
    }

    /// Buckets.
    pub const fn buckets(self) -> u32 {
        1 << self.top()
    }

    /// Words of the cursors of the first partition.
    pub const fn cursors(self) -> u32 {
        cursor(self.top_buckets() - 1) + 1
    }

    /// Whether a block of the device has the shared memory for the counters, and for the keys of a bucket.
    pub const fn suit<W: Key>(self, device: &Device) -> bool {
        let counters = HISTOGRAM_STATIC + histogram_shared(self.top());
        let keys = BUCKET_SORT_STATIC + bucket_sort_shared::<W>(self.large);
        counters <= device.shared_per_block && keys <= device.shared_per_block
    }
}

/// The first tile of a top bucket that begins at `start`, among those of its piece; of the bucket behind the last one:
/// the number of tiles.
pub const fn first_tile<W: Key>(top_bucket: u32, start: u32) -> u32 {
    start / partition_tile::<W>(false) + top_bucket
}

/// What a run of top buckets needs.
#[derive(Clone, Copy)]
pub struct Run {
    /// Places of the output view: the keys, and those before them that make the view begin at a multiple of 128 bytes.
    pub n: u32,
    /// The first top bucket, and that behind the last.
    pub top_buckets: (u32, u32),
    /// The order of the keys, see [`rungs_common::keys`].
    pub order: u32,
    /// What buckets are told apart by.
    pub bits: Bits,
}

/// The memory of a run.
#[derive(Clone, Copy)]
pub struct RunMemory<W> {
    /// Where the keys go; as long as [`Run::n`].
    pub output: Global<W>,
    /// As many words of any content.
    pub scratch: Global<W>,
    /// Keys of each of all [buckets](Bits::buckets) in the run. A bucket before the first has the places before the
    /// keys.
    pub histogram: Global<u32>,
    /// A word for each bucket, and one.
    pub starts: Global<u32>,
    /// A word for each bucket.
    pub cursors: Global<u32>,
    /// As many as [`Pieces::list_words`] says.
    pub lists: Global<u32>,
}

/// Memory for what a launch writes besides.
#[derive(Clone, Copy)]
pub struct Besides {
    /// A word for each bucket, and one.
    pub starts: Global<u32>,
    /// A word for each bucket.
    pub second: Global<u32>,
    /// As many as [`Bits::cursors`] says.
    pub first: Global<u32>,
    /// Four for each tile.
    pub tiles: Global<u32>,
}

/// The launches for keys of one word type.
pub trait Pieces: Key {
    /// Words of the tiles of a piece, or run, of `n` keys.
    fn tile_words(n: u32, bits: Bits) -> u32 {
        4 * first_tile::<Self>(bits.top_buckets(), n)
    }

    /// Words of the lists of a run.
    fn list_words(n: u32, bits: Bits, device: &Device) -> u32 {
        list_words::<Self>(n, bits.buckets(), bits.top(), limits::<Self>(device, bits))
    }

    /// Adds the keys of each bucket to `histogram`, which is zero.
    ///
    /// # Errors
    /// Those of a launch.
    fn count(on: &dyn Launcher, keys: Global<Self>, order: u32, bits: Bits, histogram: Global<u32>) -> Result;

    /// Maps the keys to unsigned words, and moves them to where the cursors of their top buckets point.
    ///
    /// # Errors
    /// Those of a launch.
    #[rustfmt::skip]
    fn split(
        on: &dyn Launcher, keys: Global<Self>, order: u32, bits: Bits, cursors: Global<u32>, output: Global<Self>,
    ) -> Result;

    /// Writes the tiles of a piece of `n` places, whose buckets lie in sequence.
    ///
    /// # Errors
    /// Those of a launch.
    #[rustfmt::skip]
    fn tiles(
        on: &dyn Launcher, histogram: Global<u32>, n: u32, bits: Bits, besides: Besides, tiles: Global<u32>,
    ) -> Result;

    /// Gets a run ready: starts, cursors, and the lists of what is too large for a block.
    ///
    /// # Errors
    /// Those of a launch.
    fn prepare(on: &dyn Launcher, run: Run, memory: RunMemory<Self>, besides: Besides) -> Result;

    /// Moves the keys of some tiles of a piece to their buckets. `after_copy`: whether what came before on the stream
    /// is not a launch.
    ///
    /// # Errors
    /// Those of a launch.
    #[rustfmt::skip]
    fn partition(
        on: &dyn Launcher, piece: Global<Self>, tiles: Global<u32>, after_copy: bool, bits: Bits,
        memory: RunMemory<Self>,
    ) -> Result;

    /// Sorts the buckets of a run, all of whose pieces have been partitioned.
    ///
    /// # Errors
    /// Those of a launch.
    fn finish(on: &dyn Launcher, run: Run, memory: RunMemory<Self>) -> Result;
}

fn limits<W: Key>(device: &Device, bits: Bits) -> Limits {
    Limits::new(32 * W::HALVES, bits.top(), tally_bits(device.shared_per_block))
}

fn numbers<W: Key>(device: &Device, order: u32, bits: Bits) -> Numbers {
    let (bucket_max, limits) = (bucket_max(bits.large), limits::<W>(device, bits));
    let (first_bits, second_bits) = (bits.first, bits.second);
    Numbers { order, first_bits, second_bits, common_bits: bits.top(), bucket_max, limits }
}

impl<W: skewed::Sort> Pieces for W
where
    radix_msd_skewed_partition<W, Plain>: Kernel<Args = PartitionArgs<W>>,
    radix_pieces_starts<W>:
        Kernel<Args = (Global<u32>, u32, u32, u32, Global<u32>, Global<u32>, Global<u32>, Global<u32>)>,
    radix_msd_skewed_starts<W>: Kernel<Args = StartsArgs>,
{
    fn count(on: &dyn Launcher, keys: Global<Self>, order: u32, bits: Bits, histogram: Global<u32>) -> Result {
        <W as buckets::Sort>::count(on, keys, order, bits.top(), histogram, histogram.slice(0, 0))
    }

    #[rustfmt::skip]
    fn split(
        on: &dyn Launcher, keys: Global<Self>, order: u32, bits: Bits, cursors: Global<u32>, output: Global<Self>,
    ) -> Result {
        let args = (keys, output, order, 32 - bits.first, bits.first, cursors, 1, cursors.slice(0, 0));
        <W as buckets::Sort>::first_partition(on, keys.len() >= WIDE, args)
    }

    #[rustfmt::skip]
    fn tiles(
        on: &dyn Launcher, histogram: Global<u32>, n: u32, bits: Bits, besides: Besides, tiles: Global<u32>,
    ) -> Result {
        let geometry = Geometry::linear(starts_blocks(bits.first, bits.second), STARTS_THREADS).overlapping();
        let Besides { starts, second, first, .. } = besides;
        let args = (histogram, n, bits.first, bits.second, starts, second, first, tiles);
        on.launch(radix_pieces_starts::<W>::default(), geometry, args)
    }

    fn prepare(on: &dyn Launcher, run: Run, memory: RunMemory<Self>, besides: Besides) -> Result {
        on.clear(memory.lists.slice(0, CONTROL_WORDS))?;
        let geometry = Geometry::linear(starts_blocks(run.bits.first, run.bits.second), STARTS_THREADS);
        let RunMemory { histogram, starts, cursors, lists, .. } = memory;
        let numbers = numbers::<W>(&on.device(), run.order, run.bits);
        let args = (histogram, run.n, starts, cursors, besides.first, besides.tiles, lists, numbers);
        on.launch(radix_msd_skewed_starts::<W>::default(), geometry, args)
    }

    #[rustfmt::skip]
    fn partition(
        on: &dyn Launcher, piece: Global<Self>, tiles: Global<u32>, after_copy: bool, bits: Bits,
        memory: RunMemory<Self>,
    ) -> Result {
        let geometry = Geometry::linear(tiles.len() / 4, PARTITION_THREADS).shared(partition_shared(false));
        let geometry = if after_copy { geometry } else { geometry.overlapping() };
        let shift = 32 - bits.top();
        let args = (piece, memory.output, keys::UNSIGNED, shift, bits.second, memory.cursors, 0, tiles);
        on.launch(radix_msd_skewed_partition::<W, Plain>::default(), geometry, args)
    }

    fn finish(on: &dyn Launcher, run: Run, memory: RunMemory<Self>) -> Result {
        let numbers = numbers::<W>(&on.device(), run.order, run.bits);
        let RunMemory { output, scratch, histogram, starts, lists, .. } = memory;
        let (first, end) = run.top_buckets;
        let (first, buckets) = (first << run.bits.second, (end - first) << run.bits.second);
        let (starts, histogram) = (starts.slice(first, buckets + 1), histogram.slice(first, buckets));
        <W as skewed::Sort>::finish(on, Arrays { scratch, output }, starts, histogram, lists, numbers)
    }
}

/// The kernel that only pieces need, for the list of kernels that belong to no rung.
pub const KERNELS: &[&[&str]] = &[<radix_pieces_starts as simt::Instances>::NAMES];
