//! Sample sort by any order: splitters, two distributions, buckets that fit a block.
//!
//! A sorted sample of the keys gives splitters, which cut the keys into buckets of about the same size. A key finds its
//! bucket by a binary search of the splitters in shared memory, and is moved there. Two such rounds leave buckets of
//! about 4096 keys, which a block sorts in shared memory. Keys that are equivalent to two splitters get a bucket of
//! their own, which is final. Beyond 2²⁸ keys there are four rounds. Up to 2²⁰ keys the launches are those of
//! [`super::all_runs`]. Equivalent keys may change their order.
//!
//! **What bounds it.** The sort of the buckets, which merges runs from 17 keys up in shared memory. Tried: threads with
//! more keys search less, but their registers spill. On an H200, 256 threads with 31 keys each sort 2²⁸ keys by `<` in
//! 6.67 ms in place of 6.77, and by their low halves in 8.56 ms in place of 7.31. With buckets of 1024 keys on average,
//! by 128 threads with 17 keys each, 2²⁴ keys take 514 µs in place of 472.
//!
//! **Limits.** Any n. Memory for the keys again, and a byte and a quarter per key. If a bucket does not fit a block
//! although its splitters differ, one block sorts it, through global memory. With a proper order that is rare, and slow
//! where it happens. If the function is no order, it may be all keys.
//!
//! | launch | file | what it does |
//! | --- | --- | --- |
//! | 1, 5 | `splitters.rs` | sorts a sample of each bucket that is to be split, and takes splitters from it |
//! | 2, 6 | `count.rs` | finds the bucket of each key, and counts |
//! | 3, 7 | `scatter.rs` | where the buckets start |
//! | 4, 8 | `scatter.rs` | moves the keys there |
//! | 9, 10 | `buckets.rs` | sorts each bucket; then those that do not fit a block |
//!
//! `launches.rs` has the launches and the memory that they need.

mod buckets;
mod count;
#[cfg(not(target_os = "cuda"))]
pub mod launches;
mod scatter;
mod splitters;

pub use super::distribute::{BLOCK, BLOCK_ROWS, ITEMS, MOST_BUCKETS, TILE, WARP_ROWS};
pub use buckets::*;
pub use count::*;
pub use scatter::*;
pub use splitters::*;

/// Bytes per thread of spilled registers that the resident blocks of the count, of the move and of the buckets' sort
/// may cost.
pub const MAX_SPILLS: u32 = 40;
/// The same for buckets that a block sorts in rounds. Such buckets are rare.
pub const LARGE_MAX_SPILLS: u32 = 96;
/// What is done with a bucket: nothing, because it is small or final.
pub const COPY: u32 = 0;
/// It is split.
pub const SPLIT: u32 = 1;
/// It is split, and there are splitters that are equivalent.
pub const SPLIT_TWINS: u32 = 2;
