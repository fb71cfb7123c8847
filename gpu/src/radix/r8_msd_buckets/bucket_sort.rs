//! Step 5: each bucket in order, in one block's shared memory.

use super::in_block::{Outcome, clear_counters, in_block_shared, sort_in_block};
use super::runs::ITEMS;
use super::{BUCKET_MAX, IN_OUTPUT, Key, Limits, Lists, Mapped, Mapping, Plain, SLOTS};
use simt::{Global, grid, kernel, thread};

/// Threads a block.
pub const BUCKET_SORT_THREADS: u32 = SLOTS / ITEMS;

/// Bytes of dynamic shared memory.
pub const fn bucket_sort_shared(key_bytes: u32) -> u32 {
    in_block_shared(BUCKET_SORT_THREADS, key_bytes)
}

/// Sorts bucket b, `starts[b]` to `starts[b + 1]` of `input`, into the same place of `output`, and zeroes
/// `histogram[b]` for the next call. Block b does bucket b.
///
/// `top_bits`: how many top bits the keys of a bucket have in common. Buckets of more than [`BUCKET_MAX`] keys are left
/// alone, and crowded ones are put on the `lists`; `array`: where `input` is, `tally_bits`, `least_bits`: see [`Limits`].
#[kernel(max_threads = BUCKET_SORT_THREADS, min_blocks = 5, instances(
    radix_msd_buckets_bucket_sort: <u32, Plain>,
    radix_msd_buckets_bucket_sort_mapped: <u32, Mapped>,
))]
#[rustfmt::skip]
pub fn radix_msd_buckets_bucket_sort<W: Key, M: Mapping>(
    input: Global<W>, output: Global<W>, order: u32, starts: Global<u32>, top_bits: u32, histogram: Global<u32>,
    lists: Global<u32>, tally_bits: u32, least_bits: u32, array: u32,
) {
    bucket_sort::<W, M>(input, output, order, starts, top_bits, histogram, lists, tally_bits, least_bits, array);
}

/// [`radix_msd_buckets_bucket_sort`] for wide keys, which take twice the room.
#[kernel(max_threads = BUCKET_SORT_THREADS, min_blocks = 3, instances(
    radix_msd_buckets_bucket_sort_u64: <u64, Plain>,
    radix_msd_buckets_bucket_sort_u64_mapped: <u64, Mapped>,
))]
#[rustfmt::skip]
pub fn radix_msd_buckets_bucket_sort_wide<W: Key, M: Mapping>(
    input: Global<W>, output: Global<W>, order: u32, starts: Global<u32>, top_bits: u32, histogram: Global<u32>,
    lists: Global<u32>, tally_bits: u32, least_bits: u32, array: u32,
) {
    bucket_sort::<W, M>(input, output, order, starts, top_bits, histogram, lists, tally_bits, least_bits, array);
}

#[inline(always)]
#[allow(clippy::too_many_arguments)]
#[rustfmt::skip]
fn bucket_sort<W: Key, M: Mapping>(
    input: Global<W>, output: Global<W>, order: u32, starts: Global<u32>, top_bits: u32, histogram: Global<u32>,
    lists: Global<u32>, tally_bits: u32, least_bits: u32, array: u32,
) {
    let b = thread::block_idx_x();
    grid::let_next_start();
    clear_counters::<BUCKET_SORT_THREADS>();
    grid::wait_for_previous(); // keys and starts
    let (start, end) = (starts.get(b), starts.get(b + 1));
    if thread::thread_idx_x() == 0 {
        histogram.set(b, 0);
    }
    if start == end || end - start > BUCKET_MAX {
        return;
    }
    let outcome = sort_in_block::<W, M, BUCKET_SORT_THREADS, true>(input, output, order, start, end, top_bits);
    if outcome != Outcome::Sorted && thread::thread_idx_x() == 0 {
        let lists = Lists::new(lists, output.len(), Limits { tally_bits, least_bits });
        lists.push_group(start, end - start, if outcome == Outcome::Untouched { array } else { IN_OUTPUT });
    }
}
