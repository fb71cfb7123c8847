//! Launches 2 and 5: the starts and the bucket sort of `msd-buckets`, but buckets that do not fit go on the lists.

use super::leftover::{IN_OUTPUT, IN_SCRATCH, Leftover, Numbers};
use super::lists::Lists;
use crate::radix::msd::{
    BUCKET_MAX, Key, Mapped, Mapping, Outcome, Plain, SORT_THREADS, STARTS_THREADS, clear_counters, sort_in_block,
    start_buckets,
};
use crate::radix::r8_msd_buckets::{bucket_sort_blocks, partition_tile};
use simt::{Global, grid, kernel, thread, warp};

/// [`radix_msd_buckets_starts`](crate::radix::r8_msd_buckets::radix_msd_buckets_starts), which also appends the buckets
/// that are too large for the bucket sort to the `lists`.
#[kernel(max_threads = STARTS_THREADS, instances(
    radix_msd_skewed_starts: <u32>,
    radix_msd_skewed_starts_u64: <u64>,
))]
#[rustfmt::skip]
pub fn radix_msd_skewed_starts<W: Key>(
    histogram: Global<u32>, n: u32, starts: Global<u32>, second: Global<u32>, first: Global<u32>, tiles: Global<u32>,
    lists: Global<u32>, numbers: Numbers,
) {
    let Numbers { first_bits, second_bits, limits, .. } = numbers;
    let (bits, tile) = ([first_bits, second_bits], partition_tile::<W>(false));
    start_buckets::<W>(histogram, n, bits, starts, [first, second], tiles, tile, |start, count| {
        if warp::any(warp::FULL, count > BUCKET_MAX) {
            let lists = Lists::new(lists, n, limits);
            // The keys of a bucket may differ in all bits below the top ones.
            let left = 32 * W::HALVES - first_bits - second_bits;
            let leftover = Leftover { start, end: start + count, left, array: numbers.array() };
            lists.push_large(0, count > BUCKET_MAX, leftover, tile, W::PACK);
        }
    });
}

/// Sorts bucket b, keys `starts[b]` to `starts[b + 1]` of `input`, into the same place of `output`, and zeroes
/// `histogram[b]` for the next sort. Block b does bucket b. Buckets of more than [`BUCKET_MAX`] keys are left alone,
/// and crowded ones become groups on the `lists`.
#[kernel(max_threads = SORT_THREADS, min_blocks = bucket_sort_blocks::<W>(), instances(
    radix_msd_skewed_bucket_sort: <u32, Plain>,
    radix_msd_skewed_bucket_sort_mapped: <u32, Mapped>,
    radix_msd_skewed_bucket_sort_u64: <u64, Plain>,
    radix_msd_skewed_bucket_sort_u64_mapped: <u64, Mapped>,
))]
#[rustfmt::skip]
pub fn radix_msd_skewed_bucket_sort<W: Key, M: Mapping>(
    input: Global<W>, output: Global<W>, starts: Global<u32>, histogram: Global<u32>, lists: Global<u32>,
    numbers: Numbers,
) {
    let b = thread::block_idx_x();
    grid::let_next_start();
    clear_counters(SORT_THREADS);
    grid::wait_for_previous(); // keys and starts
    let (start, end) = (starts.get(b), starts.get(b + 1));
    if thread::thread_idx_x() == 0 {
        histogram.set(b, 0);
    }
    if start == end || end - start > BUCKET_MAX {
        return;
    }
    let outcome = sort_in_block::<W, M, true>(input, output, numbers.order, start, end, numbers.top_bits());
    if outcome != Outcome::Sorted && thread::thread_idx_x() == 0 {
        let lists = Lists::new(lists, output.len(), numbers.limits);
        lists.push_group(start, end - start, if outcome == Outcome::Untouched { numbers.array() } else { IN_OUTPUT });
    }
}

impl Numbers {
    /// The array that the partitions leave the keys in.
    #[inline(always)]
    fn array(self) -> u32 {
        if self.second_bits != 0 { IN_OUTPUT } else { IN_SCRATCH }
    }

    /// Top bits that buckets are told apart by.
    #[inline(always)]
    fn top_bits(self) -> u32 {
        self.first_bits + self.second_bits
    }
}
