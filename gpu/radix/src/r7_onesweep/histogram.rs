//! The first two launches: how often each digit has each value, and where that value starts.

use crate::digits::{DIGITS, HISTOGRAM_THREADS, count_digits};
use crate::steps::{Digits, block_scan};
use simt::{Global, grid, kernel, shared, thread, warp};

/// Bytes of dynamic shared memory of the histogram, for keys of any width.
pub const HISTOGRAM_SHARED: u32 = 32 << 10;

/// Adds how often digit p of the keys has value d to `histogram[p · 256 + d]`, which was zero.
#[kernel(max_threads = HISTOGRAM_THREADS, min_blocks = 2, instances(
    radix_onesweep_histogram: <u32>,
    radix_onesweep_histogram_u64: <u64>,
))]
pub fn radix_onesweep_histogram<W: Digits>(keys: Global<W>, order: u32, histogram: Global<u32>) {
    count_digits::<W>(keys, order, histogram, HISTOGRAM_SHARED, || true);
}

shared!(SUMS: [u32; DIGITS / warp::WARP]);

/// Turns each digit's counts into starts, one block of 256 a digit, and makes everything ready for the passes: zeroes
/// `histogram` for the next sort and each pass's ticket.
#[kernel(max_threads = DIGITS)]
pub fn radix_onesweep_starts(histogram: Global<u32>, starts: Global<u32>, tickets: Global<u32>) {
    grid::let_next_start();
    grid::wait_for_previous(); // the histogram is complete
    start_digit(histogram, starts, tickets);
}

/// The work of a block of [`radix_onesweep_starts`], once the histogram is complete. Returns how many keys have the
/// thread's value of the block's digit, and where they start.
#[inline(always)]
#[track_caller]
pub(crate) fn start_digit(histogram: Global<u32>, starts: Global<u32>, tickets: Global<u32>) -> (u32, u32) {
    let (t, digit) = (thread::thread_idx_x(), thread::block_idx_x());
    let count = histogram.get(digit * DIGITS + t);
    let (start, _) = block_scan::<{ DIGITS / warp::WARP }>(count, SUMS::view());
    starts.set(digit * DIGITS + t, start);
    histogram.set(digit * DIGITS + t, 0);
    if t == 0 {
        tickets.set(digit, 0);
    }
    (count, start)
}
