//! Launch 3, or the first one where the host chose the digits: how often each digit has each value.

use super::{TICKETS, by_buckets};
use crate::radix::digits::{DIGITS, count_digits, passes};
use simt::{Global, kernel, thread};

pub use crate::radix::digits::HISTOGRAM_THREADS as COUNT_THREADS;

/// Passes over keys of 32 bits.
pub const PASSES: u32 = passes(4);

/// How many copies of each counter a block has; lanes take turns in them.
pub trait Copies: 'static {
    /// Blocks per multiprocessor.
    const BLOCKS: u32;
    /// Bytes of dynamic shared memory.
    const SHARED: u32;
}

/// A copy for two lanes each: there is less to clear, which counts where pairs are few.
pub struct PerTwoLanes;
/// A copy for each lane, in a bank of its own.
pub struct PerLane;

impl Copies for PerTwoLanes {
    const BLOCKS: u32 = 2;
    const SHARED: u32 = 16 * PASSES * DIGITS * 4;
}
impl Copies for PerLane {
    const BLOCKS: u32 = 1;
    const SHARED: u32 = 32 * PASSES * DIGITS * 4;
}

/// Adds how often digit p of the keys has value d to `counts[p · 256 + d]`, which was zero, and zeroes the tickets of
/// the passes. By buckets it leaves.
#[kernel(max_threads = COUNT_THREADS, min_blocks = C::BLOCKS, instances(
    radix_msd_pairs_count: <PerLane>,
    radix_msd_pairs_count_few: <PerTwoLanes>,
))]
#[rustfmt::skip]
pub fn radix_msd_pairs_count<C: Copies>(
    keys: Global<u32>, order: u32, counts: Global<u32>, control: Global<u32>, buckets: Global<u32>, sort: u32,
) {
    count_digits::<u32>(keys, order, counts, C::SHARED, || {
        if thread::index_1d() < PASSES {
            control.set(TICKETS + thread::index_1d(), 0);
        }
        !by_buckets(control, buckets, sort)
    });
}
