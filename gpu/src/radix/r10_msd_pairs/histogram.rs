//! Launch 1: counts the keys of each bucket, unless a sample of them is skewed.

use super::go_by_digits;
use crate::radix::msd::{COUNT_STATIC, COUNT_THREADS, Key, Mapped, Mapping, Plain, count_top_bits, static_shared};
use simt::atomic::{Order::Relaxed, Scope};
use simt::math::mul_hi;
use simt::{Global, kernel, shared, thread, unroll};

/// Threads per block.
pub const HISTOGRAM_THREADS: u32 = COUNT_THREADS;

/// Keys of the sample per thread.
const SAMPLES: usize = 2;

/// Counters of the sample, as many as keys: buckets share them.
const BINS: u32 = COUNT_THREADS * SAMPLES as u32;

/// So many keys of the sample with one counter are too many for a bucket that fits a block. Of uniform keys a counter
/// has one; one sample in 10¹⁰ has a counter of so many.
const SKEWED: u32 = 16;

shared!(SAMPLE: [u32; BINS]);

/// Bytes of static shared memory.
pub const HISTOGRAM_STATIC: u32 = static_shared(COUNT_STATIC + 4 * BINS);

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
    unroll::<SAMPLES>(|j| SAMPLE::view().set(j as u32 * HISTOGRAM_THREADS + thread::thread_idx_x(), 0));
    count_top_bits::<u32, M>(keys, order, top_bits, histogram, control.slice(0, 0), || {
        let skewed = is_skewed::<M>(keys, order, top_bits);
        // All blocks take the same sample, so one speaks for all.
        if skewed && thread::index_1d() == 0 {
            go_by_digits(control, sort);
        }
        !skewed
    });
}

/// Whether a sample of the keys has many of one bucket.
#[inline(always)]
#[track_caller]
fn is_skewed<M: Mapping>(keys: Global<u32>, order: u32, top_bits: u32) -> bool {
    thread::sync_threads(); // the counters are zero before the first key is counted
    let mut sample = [0; SAMPLES];
    unroll::<SAMPLES>(|j| {
        // Multiples of the golden ratio: they lie all over the input, and meet no period of it.
        let part = (j as u32 * HISTOGRAM_THREADS + thread::thread_idx_x()).wrapping_mul(0x9e37_79b1);
        sample[j] = keys.get(mul_hi(part, keys.len()));
    });
    let mut skewed = false;
    unroll::<SAMPLES>(|j| {
        let bucket = M::encode(sample[j], order).top() >> (32 - top_bits);
        let bin = bucket.wrapping_mul(0x9e37_79b1) >> (32 - BINS.ilog2());
        skewed |= SAMPLE::view().fetch_add(bin, 1, Relaxed, Scope::Block) >= SKEWED - 1;
    });
    thread::sync_threads_or(skewed)
}
