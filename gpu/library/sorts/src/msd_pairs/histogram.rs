//! Launch 1: counts the keys of each bucket, unless a sample of them is skewed.

use super::go_by_digits;
use crate::learned::Map;
use crate::msd::{
    Buckets, COUNT_STATIC, COUNT_THREADS, Mapped, Mapping, Plain, SAMPLE_STATIC, TopBits, clear_sample, count_buckets,
    count_sample, static_shared, take_sample,
};
use simt::{Global, kernel, thread};

/// Threads per block.
pub const HISTOGRAM_THREADS: u32 = COUNT_THREADS;

/// From this number of keys of the sample with one counter on, a bucket is too large for a block. A counter of uniform
/// keys has one; one sample in 10¹⁰ has a counter that reaches this number.
pub const SKEWED: u32 = 16;

/// Bytes of static shared memory.
pub const HISTOGRAM_STATIC: u32 = static_shared(COUNT_STATIC + SAMPLE_STATIC);

/// Adds the number of keys with each value of the top bits to `histogram`, which was zero. If a sample of the keys has
/// too many of one bucket, the pairs of this `sort` go by digits, and nothing is counted.
#[kernel(max_threads = HISTOGRAM_THREADS, min_blocks = 1, instances(
    radix_msd_pairs_histogram: <Plain>,
    radix_msd_pairs_histogram_mapped: <Mapped>,
))]
#[rustfmt::skip]
pub fn radix_msd_pairs_histogram<M: Mapping>(
    keys: Global<u32>, order: u32, top_bits: u32, histogram: Global<u32>, control: Global<u32>, sort: u32,
) {
    clear_sample();
    count_buckets::<u32, M, _>(keys, order, top_bits, histogram, control.slice(0, 0), || {
        let skewed = is_skewed::<M>(keys, order, TopBits::new(top_bits), SKEWED);
        // All blocks take the same sample, so one speaks for all.
        if skewed && thread::index_1d() == 0 {
            go_by_digits(control, sort);
        }
        (!skewed).then(|| TopBits::new(top_bits))
    });
}

/// The same with the buckets of a `map`. `skewed`: from how many keys of the sample on a bucket has too many.
#[kernel(max_threads = HISTOGRAM_THREADS, min_blocks = 1)]
#[rustfmt::skip]
pub fn radix_msd_pairs_histogram_learned(
    keys: Global<u32>, order: u32, bits: u32, skewed: u32, map: Global<u32>, histogram: Global<u32>,
    control: Global<u32>, sort: u32,
) {
    clear_sample();
    count_buckets::<u32, Mapped, _>(keys, order, bits, histogram, control.slice(0, 0), || {
        let map = Map::read(map, bits).staged(2 << bits, HISTOGRAM_THREADS);
        thread::sync_threads(); // the table is there before the first look-up
        let skewed = is_skewed::<Mapped>(keys, order, map, skewed);
        if skewed && thread::index_1d() == 0 {
            go_by_digits(control, sort);
        }
        (!skewed).then_some(map)
    });
}

/// Whether a sample of the keys has `many` of one bucket.
#[simt::device]
#[track_caller]
fn is_skewed<M: Mapping>(keys: Global<u32>, order: u32, buckets: impl Buckets<u32>, many: u32) -> bool {
    let mut skewed = false;
    let sample = take_sample::<u32, M>(keys, order);
    count_sample(sample, |key| buckets.bucket(key), |before| skewed |= before >= many - 1);
    thread::sync_threads_or(skewed)
}
