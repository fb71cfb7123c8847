//! # Segmented sort, each segment by its length
//!
//! **Idea.** How a segment is sorted best depends on how long it is, so the first launch looks at all offsets, sorts
//! short segments at once, and lists the others by class. Up to 8 keys are sorted by one thread, up to 128 by a warp,
//! all in registers by bitonic networks. Longer segments are for 1, 2, 4 or 8 warps of a block, 8, 16 or 32 keys (half
//! as many of 8 bytes) to a lane; warps exchange keys through shared memory. What is longer still is cut into buckets,
//! which are then sorted like segments.
//!
//! **Cuts.** A block sorts a sample of a long segment, 64 keys for each bucket, and takes splitters from it. Of keys
//! that are equal to a splitter a share goes before it, as large as the share of equal samples: thus many equal keys
//! spread over several buckets. A bucket has a room of twice its expected size, so nothing needs to be counted before
//! keys are moved. Segments of more than 128 buckets are cut into even ranges, if the sample says that keys are
//! uniform.
//!
//! **Any keys.** A segment with a bucket that has no room, and one that is too long for its sample, is sorted digit by
//! digit by all blocks together. So the result is right whatever the sample.
//!
//! **Values.** Keys of 4 bytes may have values of 4 bytes. A word of 8 bytes, the key and below it the key's place, is
//! sorted, so equal keys keep their order; values are loaded by place when keys are stored.
//!
//! **Bottleneck.** The networks: a segment of 1000 keys takes 55 comparisons for each key. For short segments,
//! shuffles. On an H100, times CUB's segmented sort of 2²⁰ and of 2²⁴ keys: segments of 1 to 64 keys 1.3 and 1.8, 0 to
//! 3 keys 2.0 and 3.3, 257 keys 7.3 and 20, about 1000 keys 2.4 and 6.1, about 100,000 keys 3.9 and 1.9, of lengths by
//! a power law 3.6 and 14.
//!
//! **Cost.** One launch up to 128 keys in all, two up to 8192 (4096 words of 8 bytes), five for more. A key is read and
//! written once, in a long segment twice.
//!
//! **Threads.** 256 per block; 512 where long segments are cut and sorted by digits.
//!
//! **Limits.** Up to [`MAX_KEYS`] keys in all, of which the segments are parts. With more than 8192 keys (4096 words of
//! 8 bytes) the rooms take up to 2.9 times the memory of the words. Offsets are as [`crate`] says.
//!
//! **Source.** K. E. Batcher, "Sorting networks and their applications" (1968); W. D. Frazer and A. C. McKellar,
//! "Samplesort: a sampling approach to minimal storage tree sorting" (1970). Our own: classes, ties and rooms.

pub mod digits;
pub mod group;
pub mod items;
mod network;
pub mod short;
pub mod sort;
pub mod split;
pub mod work;

#[cfg(not(target_os = "cuda"))]
pub mod launches;

use simt::warp::WARP;

/// Threads per block that sort in registers.
pub const BLOCK: u32 = 256;

/// Threads per block that cut long segments or sort them by digits.
pub const SPLIT_BLOCK: u32 = 512;

/// Blocks per SM that sort what is listed.
pub const SORT_BLOCKS: u32 = 2;

/// Bytes that ptxas may keep in local memory for want of registers: what jobs have in common, while keys are sorted.
const MAX_SPILLS: u32 = 64;

/// Most keys of a segment that one thread sorts.
pub const IN_LANE: u32 = 8;

/// Most keys of a segment that the warp which finds it sorts.
pub const SHORT: u32 = 128;

/// Most buckets that splitters cut a segment into.
pub const MOST_SPLIT: u32 = 128;

/// Most buckets of even ranges.
pub const MOST_EVEN: u32 = 1024;

/// Most keys.
pub const MAX_KEYS: u32 = 1_500_000_000;

/// Most words that a lane holds.
pub const fn in_lane_most<W>() -> usize {
    128 / size_of::<W>()
}

/// Most words that a warp sorts by itself.
pub const fn in_warp<W>() -> u32 {
    WARP * in_lane_most::<W>() as u32
}

/// Most words that a block sorts; longer segments are long ones.
pub const fn in_block<W>() -> u32 {
    BLOCK * in_lane_most::<W>() as u32
}

/// Words of a bucket, as expected: nearly all buckets fit half a block.
pub const fn mean<W>() -> u32 {
    in_block::<W>() / 32 * 13
}

/// Words that a bucket has room for.
pub const fn room<W>() -> u32 {
    2 * mean::<W>()
}

/// Words of a tile of a long segment.
pub const fn tile<W>() -> u32 {
    SPLIT_BLOCK * 64 / size_of::<W>() as u32
}
