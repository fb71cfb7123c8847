//! The bucket of a block: what the bucket sorts of the rungs begin with.

use super::{Key, Mapping, Outcome, SORT_THREADS, in_block_most, sort_in_block};
use simt::Global;

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

/// Where bucket b starts and ends.
#[simt::device]
pub fn ends(starts: Global<u32>, b: u32) -> [u32; 2] {
    [starts.get(b), starts.get(b + 1)]
}

/// Sorts a bucket, keys `start` to `end` of `input`, into the same place of `output`, by all threads of a block that
/// has cleared the counters. `SAME`: the keys share the top bits, `top_bits` of them. A bucket that is too large is
/// untouched.
#[simt::device]
#[track_caller]
pub fn sort_cleared<W: Key, M: Mapping, const SAME: bool, const THREADS: u32>(
    input: Global<W>,
    output: Global<W>,
    order: u32,
    [start, end]: [u32; 2],
    top_bits: u32,
) -> Outcome {
    if start == end {
        return Outcome::Sorted;
    }
    if end - start > in_block_most(THREADS) {
        return Outcome::Untouched;
    }
    sort_in_block::<W, M, SAME, THREADS>(input, output, order, start, end, top_bits)
}
