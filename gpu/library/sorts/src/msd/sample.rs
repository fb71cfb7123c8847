//! A sample of the keys, by which a launch can tell that keys are skewed before it counts them.

use super::{COUNT_THREADS, Key, Mapping};
use simt::atomic::{Order::Relaxed, Scope};
use simt::math::mul_hi;
use simt::{Global, Shared, shared, thread, unroll};

/// Keys of the sample per thread.
const EACH: usize = 2;

/// Keys of the sample, and counters: buckets share them.
pub const SAMPLE: u32 = COUNT_THREADS * EACH as u32;

shared!(BINS: [u32; SAMPLE]);

/// Bytes of static shared memory.
pub const SAMPLE_STATIC: u32 = 4 * SAMPLE;

/// Zeroes the counters, in a block of [`COUNT_THREADS`].
#[inline(always)]
#[track_caller]
pub fn clear_sample() {
    unroll::<EACH>(|j| BINS::view().set(j as u32 * COUNT_THREADS + thread::thread_idx_x(), 0));
}

/// Counts a sample of the keys by their buckets, in a block of [`COUNT_THREADS`] that has cleared the counters. Every
/// block takes the same sample. `see` gets what the counter of each of the thread's keys was before. Returns the
/// counters: a barrier has to come before they are read.
#[inline(always)]
#[track_caller]
pub fn take_sample<M: Mapping>(keys: Global<u32>, order: u32, top_bits: u32, mut see: impl FnMut(u32)) -> Shared<u32> {
    thread::sync_threads(); // the counters are zero before the first key is counted
    let mut sample = [0; EACH];
    unroll::<EACH>(|j| {
        // Multiples of the golden ratio: they lie all over the input, and meet no period of it.
        let part = (j as u32 * COUNT_THREADS + thread::thread_idx_x()).wrapping_mul(0x9e37_79b1);
        sample[j] = keys.get(mul_hi(part, keys.len()));
    });
    unroll::<EACH>(|j| {
        let bucket = M::encode(sample[j], order).top() >> (32 - top_bits);
        let bin = bucket.wrapping_mul(0x9e37_79b1) >> (32 - SAMPLE.ilog2());
        see(BINS::view().fetch_add(bin, 1, Relaxed, Scope::Block));
    });
    BINS::view()
}
