//! A sample of the keys, by which a launch can tell that keys are skewed before it counts them.

use super::{COUNT_THREADS, Key, Mapping};
use simt::atomic::{Order::Relaxed, Scope};
use simt::math::mul_hi;
use simt::{Global, Shared, shared, thread, unroll};

/// Keys of the sample per thread.
pub const EACH: usize = 2;

/// Keys of the sample, and counters: buckets share them.
pub const SAMPLE: u32 = COUNT_THREADS * EACH as u32;

shared!(BINS: [u32; SAMPLE]);

/// Bytes of static shared memory.
pub const SAMPLE_STATIC: u32 = 4 * SAMPLE;

/// Zeroes the counters, in a block of [`COUNT_THREADS`].
#[simt::device]
#[track_caller]
pub fn clear_sample() {
    unroll::<EACH>(|j| BINS::view().set(j as u32 * COUNT_THREADS + thread::thread_idx_x(), 0));
}

/// The keys of this thread in the sample, as words, in a block of [`COUNT_THREADS`]. Every block takes the same sample.
#[simt::device]
pub fn take_sample<W: Key, M: Mapping>(keys: Global<W>, order: u32) -> [W; EACH] {
    let mut sample = [W::LARGEST; EACH];
    unroll::<EACH>(|j| {
        // Multiples of the golden ratio: they lie all over the input, and meet no period of it.
        let part = (j as u32 * COUNT_THREADS + thread::thread_idx_x()).wrapping_mul(0x9e37_79b1);
        sample[j] = M::encode(keys.get(mul_hi(part, keys.len())), order);
    });
    sample
}

/// The counter of a number.
#[simt::device]
fn bin(number: u32) -> u32 {
    number.wrapping_mul(0x9e37_79b1) >> (32 - SAMPLE.ilog2())
}

/// Counts a sample by the `number` of each key, in a block that has cleared the counters. `see` gets what the counter
/// of each of the thread's keys was before. Returns the counters: a barrier has to come before they are read.
#[simt::device]
#[track_caller]
pub fn count_sample<W: Key>(sample: [W; EACH], number: impl Fn(W) -> u32, mut see: impl FnMut(u32)) -> Shared<u32> {
    thread::sync_threads(); // the counters are zero before the first key is counted
    unroll::<EACH>(|j| see(BINS::view().fetch_add(bin(number(sample[j])), 1, Relaxed, Scope::Block)));
    BINS::view()
}

/// About how many keys of a sample repeat another, in a block that has cleared the counters; not more, and the same in
/// all threads. `slots`: memory for [`SAMPLE`] keys.
#[simt::device]
#[track_caller]
pub fn count_repeats<W: Key>(sample: [W; EACH], slots: Shared<W>) -> u32 {
    let folded = |key: W| bin((key.bits() ^ key.bits() >> 32) as u32);
    let mut is_first = [false; EACH];
    thread::sync_threads(); // the counters are zero before the first key is counted
    unroll::<EACH>(|j| {
        is_first[j] = BINS::view().fetch_add(folded(sample[j]), 1, Relaxed, Scope::Block) == 0;
        if is_first[j] {
            slots.set(folded(sample[j]), sample[j]);
        }
    });
    thread::sync_threads(); // the first key of each counter is there
    let mut repeats = 0;
    unroll::<EACH>(|j| {
        let repeats_first = !is_first[j] && slots.get(folded(sample[j])) == sample[j];
        repeats += thread::sync_threads_count(repeats_first);
    });
    repeats
}
