//! The bucket of a block: what the bucket sorts of the rungs begin with.

use super::{Key, Mapping, Outcome, SORT_THREADS, clear_counters, in_block_most, sort_in_block};
use simt::{Global, grid, thread};

/// Threads per block that sorts a bucket: a large one sorts buckets of twice as many keys.
pub const fn bucket_sort_threads(large: bool) -> u32 {
    if large { 2 * SORT_THREADS } else { SORT_THREADS }
}

/// Blocks per SM that the compiler makes room for; keys of 64 bits take twice the shared memory.
pub const fn bucket_sort_blocks<W: Key>(large: bool) -> u32 {
    match (large, W::HALVES) {
        (false, 1) => 5,
        (false, _) => 3,
        (true, halves) => 2 / halves,
    }
}

/// Sorts bucket b, keys `starts[b]` to `starts[b + 1]` of `input`, into the same place of `output`, by all threads of
/// block b, and zeroes `histogram[b]`. `SAME`: the keys share the top bits, `top_bits` of them.
///
/// Returns where the bucket starts and ends, and what became of it: a bucket that is too large is untouched.
#[inline(always)]
#[track_caller]
#[rustfmt::skip]
pub fn sort_bucket<W: Key, M: Mapping, const SAME: bool, const THREADS: u32>(
    input: Global<W>, output: Global<W>, order: u32, starts: Global<u32>, top_bits: u32, histogram: Global<u32>,
) -> (u32, u32, Outcome) {
    grid::let_next_start();
    clear_counters(THREADS);
    grid::wait_for_previous(); // keys and starts
    if thread::thread_idx_x() == 0 {
        histogram.set(thread::block_idx_x(), 0);
    }
    sort_cleared::<W, M, SAME, THREADS>(input, output, order, starts, top_bits)
}

/// [`sort_bucket`] once the keys are there and the counters are cleared.
#[inline(always)]
#[track_caller]
#[rustfmt::skip]
pub fn sort_cleared<W: Key, M: Mapping, const SAME: bool, const THREADS: u32>(
    input: Global<W>, output: Global<W>, order: u32, starts: Global<u32>, top_bits: u32,
) -> (u32, u32, Outcome) {
    let b = thread::block_idx_x();
    let (start, end) = (starts.get(b), starts.get(b + 1));
    if start == end {
        return (start, end, Outcome::Sorted);
    }
    if end - start > in_block_most(THREADS) {
        return (start, end, Outcome::Untouched);
    }
    (start, end, sort_in_block::<W, M, SAME, THREADS>(input, output, order, start, end, top_bits))
}
