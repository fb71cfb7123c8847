//! Launches 2, 4, 5 and 6: those of `msd-skewed`, but a key's bucket is looked up in the map.

use super::map::{Map, TABLE_SHARED};
use crate::buckets::{
    HISTOGRAM_THREADS, PARTITION_THREADS, PARTITION_THREADS_WIDE, blocks_wide, partition_blocks, partition_cleared,
    partition_shared,
};
use crate::msd::{
    Key, LastBits, Mapped, Mapping, Plain, Tables, clear_counters, count_buckets, ends, in_block_most, in_block_shared,
    sort_cleared,
};
use simt::{Global, grid, kernel, thread};

/// Counts the keys of each of `1 << bits` buckets of the `map`, as
/// [`radix_msd_skewed_histogram`](crate::buckets::radix_msd_skewed_histogram).
#[kernel(max_threads = HISTOGRAM_THREADS, min_blocks = 1, instances(
    radix_learned_histogram: <u32, Plain>,
    radix_learned_histogram_mapped: <u32, Mapped>,
    radix_learned_histogram_u64: <u64, Plain>,
    radix_learned_histogram_u64_mapped: <u64, Mapped>,
))]
#[rustfmt::skip]
pub fn radix_learned_histogram<W: Key, M: Mapping>(
    keys: Global<W>, order: u32, bits: u32, map: Global<u32>, histogram: Global<u32>, zeroed: Global<u32>,
) {
    count_buckets::<W, M, _>(keys, order, bits, histogram, zeroed, || {
        let map = Map::read(map, bits).staged(2 << bits, HISTOGRAM_THREADS);
        thread::sync_threads(); // the table is there before the first look-up
        Some(map)
    });
}

/// Bytes of dynamic shared memory: a counter of 16 bits per bucket, and the table.
pub const fn learned_histogram_shared(bits: u32) -> u32 {
    (2 << bits) + TABLE_SHARED
}

/// Bytes per thread of spilled registers that are accepted: with more registers fewer blocks run at once.
const SPILLS: u32 = 32;

/// What a partition sorts by: a digit of the numbers of buckets.
#[simt::argument]
#[derive(Clone, Copy, Debug)]
pub struct Part {
    /// How many bits a bucket's number has, down to the last one of the digit.
    pub until: u32,
    /// How many bits the digit has.
    pub bits: u32,
    /// Whether the cursors are placed by [`spread`](crate::msd::spread).
    pub spread_out: u32,
}

/// Moves the keys of `input` to `output`, each to where the cursor of its bucket points, as
/// [`radix_msd_skewed_partition`](crate::buckets::radix_msd_skewed_partition). The table is read through the
/// L1 cache.
#[kernel(max_threads = PARTITION_THREADS, min_blocks = partition_blocks::<W, M>(), max_spills = SPILLS, instances(
    radix_learned_partition: <u32, Plain>,
    radix_learned_partition_mapped: <u32, Mapped>,
    radix_learned_partition_u64: <u64, Plain>,
    radix_learned_partition_u64_mapped: <u64, Mapped>,
))]
#[rustfmt::skip]
pub fn radix_learned_partition<W: Key, M: Mapping>(
    input: Global<W>, output: Global<W>, order: u32, map: Global<u32>, part: Part, cursors: Global<u32>,
    tiles: Global<u32>,
) {
    grid::let_next_start();
    Tables::new(PARTITION_THREADS, part.bits).clear();
    grid::wait_for_previous(); // map, cursors, tiles, and in the second partition the keys
    let digit = LastBits { buckets: Map::read(map, part.until), bits: part.bits };
    partition_cleared::<W, M, PARTITION_THREADS>(input, output, order, digit, cursors, part.spread_out, tiles);
}

/// [`radix_learned_partition`] in wide blocks, with the table in shared memory.
#[kernel(max_threads = PARTITION_THREADS_WIDE, min_blocks = blocks_wide::<W, M>(), max_spills = SPILLS, instances(
    radix_learned_partition_wide: <u32, Plain>,
    radix_learned_partition_wide_mapped: <u32, Mapped>,
    radix_learned_partition_wide_u64: <u64, Plain>,
    radix_learned_partition_wide_u64_mapped: <u64, Mapped>,
))]
#[rustfmt::skip]
pub fn radix_learned_partition_wide<W: Key, M: Mapping>(
    input: Global<W>, output: Global<W>, order: u32, map: Global<u32>, part: Part, cursors: Global<u32>,
    tiles: Global<u32>,
) {
    grid::let_next_start();
    Tables::new(PARTITION_THREADS_WIDE, part.bits).clear();
    grid::wait_for_previous(); // map and cursors
    // The partition has a barrier before it looks up the first key.
    let buckets = Map::read(map, part.until).staged(partition_shared(true), PARTITION_THREADS_WIDE);
    let digit = LastBits { buckets, bits: part.bits };
    partition_cleared::<W, M, PARTITION_THREADS_WIDE>(input, output, order, digit, cursors, part.spread_out, tiles);
}

/// Bytes of dynamic shared memory of a partition.
pub const fn learned_partition_shared(wide: bool) -> u32 {
    partition_shared(wide) + if wide { TABLE_SHARED } else { 0 }
}

/// Threads per block that sorts a bucket: more than with equal buckets, since these are less even.
pub const BUCKET_THREADS: u32 = 512;

/// Most keys of a bucket.
pub const LEARNED_MAX: u32 = in_block_most(BUCKET_THREADS);

/// Blocks per SM that the compiler makes room for; keys of 64 bits take twice the shared memory.
const fn blocks<W: Key>() -> u32 {
    4 / W::HALVES
}

/// Bytes of dynamic shared memory of the bucket sort.
pub const fn learned_bucket_shared<W: Key>() -> u32 {
    in_block_shared::<W>(BUCKET_THREADS)
}

/// Sorts bucket b, keys `starts[b]` to `starts[b + 1]` of `input`, into the same place of `output`, and zeroes
/// `histogram[b]` for the next sort. Block b does bucket b, but leaves one of more than [`LEARNED_MAX`] keys alone.
#[kernel(max_threads = BUCKET_THREADS, min_blocks = blocks::<W>(), max_spills = SPILLS, instances(
    radix_learned_bucket_sort: <u32, Plain>,
    radix_learned_bucket_sort_mapped: <u32, Mapped>,
    radix_learned_bucket_sort_u64: <u64, Plain>,
    radix_learned_bucket_sort_u64_mapped: <u64, Mapped>,
))]
#[rustfmt::skip]
pub fn radix_learned_bucket_sort<W: Key, M: Mapping>(
    input: Global<W>, output: Global<W>, order: u32, starts: Global<u32>, histogram: Global<u32>,
) {
    let b = thread::block_idx_x();
    grid::let_next_start();
    clear_counters(BUCKET_THREADS);
    grid::wait_for_previous(); // keys and starts
    if thread::thread_idx_x() == 0 {
        histogram.set(b, 0);
    }
    sort_cleared::<W, M, false, BUCKET_THREADS>(input, output, order, ends(starts, b), 0);
}
