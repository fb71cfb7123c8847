//! Launch 1: counts the keys of each bucket, unless a sample of them is skewed.

use super::go_by_digits;
use super::linear::LinearOrLast;
use crate::learned::Map;
use crate::msd::{
    Buckets, COUNT_STATIC, COUNT_THREADS, EACH, Mapped, Mapping, Plain, SAMPLE_STATIC, clear_sample, count_buckets,
    count_sample, extremes, static_shared, take_sample,
};
use simt::{Global, kernel, shared, thread, warp};

pub use crate::msd::SAMPLE;

/// Threads per block.
pub const HISTOGRAM_THREADS: u32 = COUNT_THREADS;

/// From this number of keys of the sample with one counter on, a bucket is too large for a block. A counter of uniform
/// keys has one; one sample in 10¹⁰ has a counter that reaches this number.
pub const SKEWED: u32 = 16;

shared!(ENDS: [u32; 2 * warp::WARP]);

/// Bytes of static shared memory.
pub const HISTOGRAM_STATIC: u32 = static_shared(COUNT_STATIC + SAMPLE_STATIC + 8 * warp::WARP);

/// Adds the number of keys of each of `1 << bits` buckets to `histogram`, which was zero, and leaves the linear map of
/// the buckets in `control`. If a sample of the keys has too many of one bucket, the pairs of this `sort` go by digits,
/// and nothing is counted.
#[kernel(max_threads = HISTOGRAM_THREADS, min_blocks = 1, instances(
    radix_msd_pairs_histogram: <Plain>,
    radix_msd_pairs_histogram_mapped: <Mapped>,
))]
#[rustfmt::skip]
pub fn radix_msd_pairs_histogram<M: Mapping>(
    keys: Global<u32>, order: u32, bits: u32, histogram: Global<u32>, control: Global<u32>, sort: u32,
) {
    clear_sample();
    count_buckets::<u32, M, _>(keys, order, bits, histogram, control.slice(0, 0), || {
        let sample = take_sample::<u32, M>(keys, order);
        let (least, greatest) = (sample[0].min(sample[1]), sample[0].max(sample[1]));
        let ends = extremes(least, greatest, ENDS::view(), COUNT_THREADS / warp::WARP);
        let map = LinearOrLast::of_sample(ends, bits);
        let skewed = is_skewed(sample, map, SKEWED);
        // All blocks take the same sample, so one speaks for all.
        if thread::index_1d() == 0 {
            map.write(bits, control);
            if skewed {
                go_by_digits(control, sort);
            }
        }
        (!skewed).then_some(map)
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
        let skewed = is_skewed(take_sample::<u32, Mapped>(keys, order), map, skewed);
        if thread::index_1d() == 0 {
            LinearOrLast::whole(bits).write(bits, control); // no bucket is for keys outside
            if skewed {
                go_by_digits(control, sort);
            }
        }
        (!skewed).then_some(map)
    });
}

/// Whether a sample of the keys has `many` of one bucket.
#[simt::device]
#[track_caller]
fn is_skewed(sample: [u32; EACH], buckets: impl Buckets<u32>, many: u32) -> bool {
    let mut skewed = false;
    count_sample(sample, |key| buckets.bucket(key), |before| skewed |= before >= many - 1);
    thread::sync_threads_or(skewed)
}
