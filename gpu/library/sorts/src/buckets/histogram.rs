//! Launch 1: counts the keys of each bucket.

use crate::msd::{
    BYTES_SHARED, BYTES_STATIC, COUNT_STATIC, COUNT_THREADS, Key, Mapped, Mapping, Plain, TopBits, count_buckets,
    count_in_bytes, counts_in_bytes, static_shared,
};
use simt::{Global, kernel};

/// Threads per block.
pub const HISTOGRAM_THREADS: u32 = COUNT_THREADS;

/// Bytes of static shared memory.
pub const HISTOGRAM_STATIC: u32 = static_shared(if BYTES_STATIC > COUNT_STATIC { BYTES_STATIC } else { COUNT_STATIC });

/// Bytes of dynamic shared memory: one counter per bucket.
pub const fn histogram_shared(top_bits: u32) -> u32 {
    if counts_in_bytes(top_bits) { BYTES_SHARED } else { 2 << top_bits }
}

/// Blocks: one per SM, since each block has counters to add up, and at least 8192 keys per block.
pub const fn histogram_blocks(n: u32, multiprocessors: u32) -> u32 {
    let enough = n.div_ceil(8192);
    if enough < multiprocessors { enough } else { multiprocessors }
}

/// Adds the number of keys with each value of the top bits to `histogram`, which was zero. `zeroed`: as many words as a
/// block has threads, or fewer, that are set to zero for later launches.
#[kernel(max_threads = HISTOGRAM_THREADS, min_blocks = 1, instances(
    radix_msd_skewed_histogram: <u32, Plain>,
    radix_msd_skewed_histogram_mapped: <u32, Mapped>,
    radix_msd_skewed_histogram_u64: <u64, Plain>,
    radix_msd_skewed_histogram_u64_mapped: <u64, Mapped>,
))]
#[rustfmt::skip]
pub fn radix_msd_skewed_histogram<W: Key, M: Mapping>(
    keys: Global<W>, order: u32, top_bits: u32, histogram: Global<u32>, zeroed: Global<u32>,
) {
    count_buckets::<W, M, _>(keys, order, top_bits, histogram, zeroed, || Some(TopBits::new(top_bits)));
}

/// [`radix_msd_skewed_histogram`] of [`BYTES_TOP_BITS`](crate::msd::BYTES_TOP_BITS).
#[kernel(max_threads = HISTOGRAM_THREADS, min_blocks = 1, instances(
    radix_msd_skewed_histogram_bytes: <u32, Plain>,
    radix_msd_skewed_histogram_bytes_mapped: <u32, Mapped>,
    radix_msd_skewed_histogram_bytes_u64: <u64, Plain>,
    radix_msd_skewed_histogram_bytes_u64_mapped: <u64, Mapped>,
))]
#[rustfmt::skip]
pub fn radix_msd_skewed_histogram_bytes<W: Key, M: Mapping>(
    keys: Global<W>, order: u32, histogram: Global<u32>, zeroed: Global<u32>,
) {
    count_in_bytes::<W, M>(keys, order, histogram, zeroed);
}
