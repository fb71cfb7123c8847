//! Launches 9 and 10: the buckets of `sample`, sorted so that equivalent keys keep their order.

use crate::r4_sample::{BLOCK, LARGE_MAX_SPILLS, MAX_SPILLS, buckets, buckets_min_blocks, sort_large};
use rungs_common::order::{Greater, Less, LowHalfDown, Order};
use simt::{Global, Scalar, kernel};

/// [`merge_sample_buckets`](crate::r4_sample::merge_sample_buckets), stable.
#[kernel(max_threads = BLOCK, min_blocks = buckets_min_blocks::<K>(), max_spills = MAX_SPILLS, instances(
    merge_stable_buckets: <u32, Less>, merge_stable_buckets_u64: <u64, Less>,
    merge_stable_buckets_greater: <u32, Greater>, merge_stable_buckets_low: <u32, LowHalfDown>,
))]
#[rustfmt::skip]
pub fn merge_stable_buckets<K: Scalar, C: Order<K>>(
    keys: Global<K>, starts: Global<u32>, finals: Global<u8>, large: Global<u32>, order: C,
) {
    buckets::<K, C, true>(keys, starts, finals, large, order);
}

/// [`merge_sample_large`](crate::r4_sample::merge_sample_large), stable.
#[kernel(max_threads = BLOCK, max_spills = LARGE_MAX_SPILLS, instances(
    merge_stable_large: <u32, Less>, merge_stable_large_u64: <u64, Less>,
    merge_stable_large_greater: <u32, Greater>, merge_stable_large_low: <u32, LowHalfDown>,
))]
pub fn merge_stable_large<K: Scalar, C: Order<K>>(keys: Global<K>, other: Global<K>, large: Global<u32>, order: C) {
    sort_large::<K, C, true>(keys, other, large, order);
}
