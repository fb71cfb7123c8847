//! Launch 5: sorts each bucket in the shared memory of one block, or, where that cannot be, in global memory.

use super::by_digits::{BY_DIGITS_SHARED, BY_DIGITS_STATIC, sort_by_digits};
use crate::msd::{
    IN_BLOCK_STATIC, Key, Mapped, Mapping, Outcome, Plain, SORT_THREADS, bucket_sort_blocks, in_block_shared,
    sort_bucket, static_shared,
};
use simt::{Global, kernel};

/// Threads per block.
pub const BUCKET_SORT_THREADS: u32 = SORT_THREADS;

/// Bytes of static shared memory.
pub const BUCKET_SORT_STATIC: u32 = static_shared(IN_BLOCK_STATIC + BY_DIGITS_STATIC);

/// Bytes of dynamic shared memory.
pub const fn bucket_sort_shared<W: Key>() -> u32 {
    const { assert!(in_block_shared::<u32>(SORT_THREADS) >= BY_DIGITS_SHARED) };
    in_block_shared::<W>(SORT_THREADS)
}

/// Sorts bucket b, keys `starts[b]` to `starts[b + 1]`, into the same place of `output`, and zeroes `histogram[b]` for
/// the next sort. Block b does bucket b.
///
/// `in_output`: whether the keys are in `output` or in `scratch`. `top_bits`: how many top bits the keys of a bucket
/// share.
#[kernel(max_threads = BUCKET_SORT_THREADS, min_blocks = bucket_sort_blocks::<W>(false), instances(
    radix_msd_buckets_bucket_sort: <u32, Plain>,
    radix_msd_buckets_bucket_sort_mapped: <u32, Mapped>,
    radix_msd_buckets_bucket_sort_u64: <u64, Plain>,
    radix_msd_buckets_bucket_sort_u64_mapped: <u64, Mapped>,
))]
#[rustfmt::skip]
pub fn radix_msd_buckets_bucket_sort<W: Key, M: Mapping>(
    scratch: Global<W>, output: Global<W>, in_output: u32, order: u32, starts: Global<u32>, top_bits: u32,
    histogram: Global<u32>,
) {
    let input = if in_output != 0 { output } else { scratch };
    let (start, end, outcome) = sort_bucket::<W, M, SORT_THREADS>(input, output, order, starts, top_bits, histogram);
    if outcome != Outcome::Sorted {
        let in_output = in_output != 0 || outcome == Outcome::InOutput;
        sort_by_digits::<W, M>(scratch, output, in_output, order, start, end, 32 * W::HALVES - top_bits);
    }
}
