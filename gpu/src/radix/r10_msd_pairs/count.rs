//! Launch 3, or the first one where the host chose the digits: how often each digit has each value.

use super::{TICKETS, by_buckets};
use crate::radix::r7_onesweep::{DIGITS, count_digits, passes};
use simt::{Global, kernel, thread, warp};

pub use crate::radix::r7_onesweep::HISTOGRAM_THREADS as COUNT_THREADS;

/// Passes over keys of 32 bits.
pub const PASSES: u32 = passes(4);

/// Bytes of dynamic shared memory: a copy of each counter per lane, in a bank of its own.
pub const COUNT_SHARED: u32 = warp::WARP * PASSES * DIGITS * 4;

/// Adds how often digit p of the keys has value d to `counts[p · 256 + d]`, which was zero, and zeroes the tickets of
/// the passes. By buckets it leaves.
#[kernel(max_threads = COUNT_THREADS, min_blocks = 1)]
#[rustfmt::skip]
pub fn radix_msd_pairs_count(
    keys: Global<u32>, order: u32, counts: Global<u32>, control: Global<u32>, buckets: Global<u32>, sort: u32,
) {
    count_digits::<u32, COUNT_SHARED>(keys, order, counts, || {
        if thread::index_1d() < PASSES {
            control.set(TICKETS + thread::index_1d(), 0);
        }
        !by_buckets(control, buckets, sort)
    });
}
