//! Launches 2 and 5: the starts and the bucket sort of `msd-buckets`, but buckets that do not fit go on the lists.

use super::leftover::{IN_OUTPUT, IN_SCRATCH, Leftover, Numbers};
use super::lists::Lists;
use crate::buckets::partition_tile;
use crate::msd::{
    BUCKET_MAX, Key, Mapped, Mapping, Outcome, Plain, SORT_THREADS, STARTS_THREADS, bucket_sort_blocks,
    bucket_sort_threads, clear_counters, ends, in_block_most, sort_cleared, start_buckets,
};
use simt::{Global, grid, kernel, thread, warp};

/// Threads per large block.
const LARGE_THREADS: u32 = bucket_sort_threads(true);

/// [`radix_pieces_starts`](crate::buckets::radix_pieces_starts), which also appends the buckets
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
    grid::let_next_start();
    grid::wait_for_previous(); // the histogram is complete
    start_and_list::<W>(histogram, n, starts, [first, second], tiles, lists, numbers);
}

/// The work of a block of [`radix_msd_skewed_starts`], once the histogram is complete.
#[simt::device]
#[track_caller]
#[rustfmt::skip]
pub(in crate) fn start_and_list<W: Key>(
    histogram: Global<u32>, n: u32, starts: Global<u32>, cursors: [Global<u32>; 2], tiles: Global<u32>,
    lists: Global<u32>, numbers: Numbers,
) {
    let Numbers { first_bits, second_bits, bucket_max, limits, .. } = numbers;
    let (bits, tile) = ([first_bits, second_bits], partition_tile::<W>(false));
    start_buckets::<W>(histogram, n, bits, starts, cursors, tiles, tile, |start, count| {
        if warp::any(warp::FULL, count > bucket_max) {
            let left = numbers.left::<W>();
            let leftover = Leftover { start, end: start + count, left, array: numbers.array() };
            let lists = Lists::new(lists, n, limits);
            lists.push_large(0, count > bucket_max, leftover, tile, W::PACK);
        }
    });
}

/// Sorts bucket b, keys `starts[b]` to `starts[b + 1]` of `input`, into the same place of `output`, and zeroes
/// `histogram[b]` for the next sort. Block b does bucket b. Buckets that are too large are left alone, and
/// skewed ones go on the `lists`.
#[kernel(max_threads = SORT_THREADS, min_blocks = bucket_sort_blocks::<W>(false), instances(
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
    bucket_sort::<W, M, SORT_THREADS>(input, output, starts, histogram, lists, numbers);
}

/// [`radix_msd_skewed_bucket_sort`] in large blocks.
#[kernel(max_threads = LARGE_THREADS, min_blocks = bucket_sort_blocks::<W>(true), instances(
    radix_msd_skewed_bucket_sort_large: <u32, Plain>,
    radix_msd_skewed_bucket_sort_large_mapped: <u32, Mapped>,
    radix_msd_skewed_bucket_sort_large_u64: <u64, Plain>,
    radix_msd_skewed_bucket_sort_large_u64_mapped: <u64, Mapped>,
))]
#[rustfmt::skip]
pub fn radix_msd_skewed_bucket_sort_large<W: Key, M: Mapping>(
    input: Global<W>, output: Global<W>, starts: Global<u32>, histogram: Global<u32>, lists: Global<u32>,
    numbers: Numbers,
) {
    bucket_sort::<W, M, LARGE_THREADS>(input, output, starts, histogram, lists, numbers);
}

#[simt::device]
#[track_caller]
#[rustfmt::skip]
fn bucket_sort<W: Key, M: Mapping, const THREADS: u32>(
    input: Global<W>, output: Global<W>, starts: Global<u32>, histogram: Global<u32>, lists: Global<u32>,
    numbers: Numbers,
) {
    grid::let_next_start();
    clear_counters(THREADS);
    grid::wait_for_previous(); // keys and starts
    if thread::thread_idx_x() == 0 {
        histogram.set(thread::block_idx_x(), 0);
    }
    let bucket = ends(starts, thread::block_idx_x());
    sort_or_list::<W, M, THREADS>(input, output, bucket, lists, numbers);
}

/// Sorts a bucket, as [`radix_msd_skewed_bucket_sort`] does, once the keys are there and the counters are cleared.
#[simt::device]
#[track_caller]
pub(crate) fn sort_or_list<W: Key, M: Mapping, const THREADS: u32>(
    input: Global<W>,
    output: Global<W>,
    [start, end]: [u32; 2],
    lists: Global<u32>,
    numbers: Numbers,
) {
    let outcome = sort_cleared::<W, M, true, THREADS>(input, output, numbers.order, [start, end], numbers.common_bits);
    if outcome == Outcome::Sorted || end - start > in_block_most(THREADS) {
        return; // what is too large is on the lists
    }
    let lists = Lists::new(lists, output.len(), numbers.limits);
    let array = if outcome == Outcome::Untouched { numbers.array() } else { IN_OUTPUT };
    // A group is what a block of the usual size sorts.
    if THREADS > SORT_THREADS && end - start > BUCKET_MAX {
        if thread::thread_idx_x() < warp::WARP {
            let leftover = Leftover { start, end, left: numbers.left::<W>(), array };
            lists.push_large(0, thread::thread_idx_x() == 0, leftover, partition_tile::<W>(false), W::PACK);
        }
    } else if thread::thread_idx_x() == 0 {
        lists.push_group(start, end - start, array);
    }
}

impl Numbers {
    /// The array that the partitions leave the keys in.
    #[simt::device]
    pub fn array(self) -> u32 {
        if self.second_bits != 0 { IN_OUTPUT } else { IN_SCRATCH }
    }

    /// Whether large blocks sort the buckets.
    #[cfg(not(target_os = "cuda"))]
    pub fn takes_large(self) -> bool {
        self.bucket_max > BUCKET_MAX
    }

    /// Bits below those that the keys of a bucket share: they may differ in all of them.
    #[simt::device]
    fn left<W: Key>(self) -> u32 {
        32 * W::HALVES - self.common_bits
    }
}
