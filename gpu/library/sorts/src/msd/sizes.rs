//! How many top bits a sort tells buckets apart by, and which blocks sort the buckets.

use super::{
    IN_BLOCK_STATIC, Key, bucket_sort_threads, counts_in_bytes, in_block_most, in_block_shared, static_shared,
};

/// Most keys that a bucket of uniform input has on average, while top bits last: 7.5 standard deviations below what a
/// usual block takes.
pub const BUCKET_MEAN: u32 = 4096;

/// The same for large blocks: 8 standard deviations below what one takes.
pub const LARGE_MEAN: u32 = 8448;

/// Fewest top bits.
pub const MIN_TOP_BITS: u32 = 8;

/// From this many keys on the first partition is wide.
pub const WIDE: u32 = 1 << 27;

/// Top bits for `n` keys: as many as leave [`BUCKET_MEAN`] per bucket on average, and are not too many for 16-bit
/// counters. One more, which makes the first partition's digit longer, where only with it there are at most `most` keys
/// per bucket.
pub const fn top_bits(n: u64, most: u32) -> u32 {
    let mut top = MIN_TOP_BITS;
    while !counts_in_bytes(top + 1) && n > (BUCKET_MEAN as u64) << top {
        top += 1;
    }
    if n > (most as u64) << top && n <= (most as u64) << (top + 1) { top + 1 } else { top }
}

/// Whether buckets of `n` keys are too large for usual blocks, and not for large ones.
pub const fn takes_large(n: u64, top_bits: u32) -> bool {
    n > (BUCKET_MEAN as u64) << top_bits && n <= (LARGE_MEAN as u64) << top_bits
}

/// Most keys of a bucket that a usual or a large block sorts.
pub const fn bucket_max(large: bool) -> u32 {
    in_block_most(bucket_sort_threads(large))
}

/// Bytes of static shared memory, where the kernel has no arrays of its own.
pub const BUCKET_SORT_STATIC: u32 = static_shared(IN_BLOCK_STATIC);

/// Bytes of dynamic shared memory.
pub const fn bucket_sort_shared<W: Key>(large: bool) -> u32 {
    in_block_shared::<W>(bucket_sort_threads(large))
}
