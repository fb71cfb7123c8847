//! The launches of one sort, and their memory in addition to the keys.

use super::*;
use rungs_common::ladder::sort::{Sort, Words};
use rungs_common::ladder::*;

/// The rung.
pub static RUNG: Entry<Sort> = rung!(
    "mod.rs",
    [
        radix_msd_buckets_histogram,
        radix_msd_buckets_starts,
        radix_msd_buckets_partition,
        radix_msd_buckets_partition_wide,
        radix_msd_buckets_bucket_sort,
    ]
)
.with_capacity(MAX_KEYS as u64)
.with_tiles(&[TILE])
.run_by(Sort::narrow(&Words { scratch, sort }));

/// Keys per tile.
const TILE: u64 = partition_tile(PARTITION_THREADS) as u64;

/// The scratch memory of one sort after the other. Two sorts at once need two.
pub struct Memory {
    plan: Plan,
    /// Keys per bucket: zero before and after a sort.
    histogram: Scratch<u32>,
    /// As many words as keys.
    keys: Scratch<u32>,
    starts: Scratch<u32>,
    /// Four words for each tile of the second partition, empty ones included.
    tiles: Scratch<u32>,
    /// The cursors of the first and of the second partition.
    first: Scratch<u32>,
    second: Scratch<u32>,
}

/// The scratch memory to sort `n` keys.
///
/// # Errors
/// [`Failed::Machine`] if there is no memory.
pub fn scratch(on: &dyn Launcher, n: u32, _: &Options) -> Result<Memory> {
    let plan = Plan::new(n, on.device().shared_per_block);
    let (buckets, top_buckets) = (1 << (plan.first_bits + plan.second_bits), 1 << plan.first_bits);
    let tiles = if plan.second_bits == 0 { 0 } else { n / partition_tile(PARTITION_THREADS) + top_buckets };
    Ok(Memory {
        plan,
        histogram: on.zeros(buckets)?,
        keys: on.scratch(n)?,
        starts: on.scratch(buckets + 1)?,
        tiles: on.scratch(4 * tiles)?,
        first: on.scratch(spread(top_buckets))?,
        second: on.scratch(buckets)?,
    })
}

/// Sorts `keys` in place.
///
/// # Errors
/// Those of a launch; [`Failed::Unsuitable`] for keys that do not begin on a multiple of 16 bytes.
pub fn sort(on: &dyn Launcher, keys: Global<u32>, memory: &mut Memory) -> Result {
    let (n, Plan { first_bits, second_bits, wide }) = (keys.len(), memory.plan);
    expect_aligned("keys", keys)?;
    if n == 0 {
        return Ok(());
    }
    let (scratch, top_bits) = (memory.keys.view(), first_bits + second_bits);
    let (histogram, starts, tiles) = (memory.histogram.view(), memory.starts.view(), memory.tiles.view());
    let (first, second) = (memory.first.view(), memory.second.view());

    let geometry = Geometry::linear(histogram_blocks(n, on.device().multiprocessors), HISTOGRAM_THREADS);
    let geometry = geometry.shared(histogram_shared(top_bits)).overlapping();
    on.launch(radix_msd_buckets_histogram, geometry, (keys, top_bits, histogram))?;

    let geometry = Geometry::linear(starts_blocks(first_bits, second_bits), STARTS_THREADS).overlapping();
    let args = (histogram, n, first_bits, second_bits, starts, second, first, tiles);
    on.launch(radix_msd_buckets_starts, geometry, args)?;

    let threads = if wide { PARTITION_THREADS_WIDE } else { PARTITION_THREADS };
    let geometry = Geometry::linear(n.div_ceil(partition_tile(threads)), threads);
    let geometry = geometry.shared(4 * partition_tile(threads)).overlapping();
    let digit = Digit { shift: u32::BITS - first_bits, bits: first_bits };
    let args = (keys, scratch, digit, first, tiles.slice(0, 0));
    if wide {
        on.launch(radix_msd_buckets_partition_wide, geometry, args)?;
    } else {
        on.launch(radix_msd_buckets_partition, geometry, args)?;
    }
    if second_bits != 0 {
        let geometry = Geometry::linear(tiles.len() / 4, PARTITION_THREADS);
        let geometry = geometry.shared(4 * partition_tile(PARTITION_THREADS)).overlapping();
        let digit = Digit { shift: u32::BITS - top_bits, bits: second_bits };
        on.launch(radix_msd_buckets_partition, geometry, (scratch, keys, digit, second, tiles))?;
    }

    let geometry = Geometry::linear(1 << top_bits, BUCKET_SORT_THREADS).shared(BUCKET_SORT_SHARED).overlapping();
    let in_keys = (second_bits != 0) as u32;
    on.launch(radix_msd_buckets_bucket_sort, geometry, (scratch, keys, in_keys, starts, top_bits, histogram))
}

/// Most keys of a sort: numbers of keys, rounded up to whole tiles, are words of 32 bits.
pub const MAX_KEYS: u32 = u32::MAX - 0xffff;

/// Most keys that a bucket of uniform input has on average, while top bits last: 7.5 standard deviations below what a
/// block takes.
const BUCKET_MEAN: u32 = 4096;

/// Fewest and most top bits.
const MIN_TOP_BITS: u32 = 8;
const MAX_TOP_BITS: u32 = 16;

/// Most top bits for one partition.
const ONE_PASS_BITS: u32 = 9;

/// From this many keys on the first partition is wide.
const WIDE: u32 = 1 << 27;

/// Bytes of dynamic shared memory of the histogram: a counter of 16 bits per bucket.
pub const fn histogram_shared(top_bits: u32) -> u32 {
    2 << top_bits
}

/// Blocks of the histogram: one per SM, since each block has counters to add up, and at least 8192 keys per block.
const fn histogram_blocks(n: u32, multiprocessors: u32) -> u32 {
    let enough = n.div_ceil(8192);
    if enough < multiprocessors { enough } else { multiprocessors }
}

/// Blocks of the second launch: one for each value of the first partition's bits; one in all if that is the only
/// partition.
const fn starts_blocks(first_bits: u32, second_bits: u32) -> u32 {
    if second_bits == 0 { 1 } else { 1 << first_bits }
}

/// How keys are split.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Bits of the first partition.
    pub first_bits: u32,
    /// Bits of the second partition; 0 if there is none.
    pub second_bits: u32,
    /// Whether the first partition uses wide blocks.
    pub wide: bool,
}

impl Plan {
    /// For `n` keys on a device with this many bytes of shared memory per block.
    pub const fn new(n: u32, max_shared: u32) -> Self {
        let mut top = MIN_TOP_BITS;
        while top < MAX_TOP_BITS && n > BUCKET_MEAN << top {
            top += 1;
        }
        // The histogram has some static shared memory, too.
        while top > MIN_TOP_BITS && histogram_shared(top) + 128 > max_shared {
            top -= 1;
        }
        let first_bits = if top <= ONE_PASS_BITS { top } else { top.div_ceil(2) };
        Self { first_bits, second_bits: top - first_bits, wide: n >= WIDE && first_bits >= 8 }
    }
}
