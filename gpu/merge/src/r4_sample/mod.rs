//! # Sample sort, distribute keys by splitters into buckets that fit a block
//!
//! **Idea.** A sorted sample of the keys gives *splitters*, which divide the keys into buckets of about the same size.
//! A key finds its bucket by a binary search of the splitters in shared memory, and is moved there. The search takes
//! one comparison per halving, as a merge does, but a fifth of a merge's time, because all threads search the same few
//! splitters. After two such rounds a bucket has about 4096 keys, and a block sorts it in shared memory.
//!
//! **Changed from the rung before.** `all-runs` merges at most 128 runs. For more keys the passes of `multi-way` move
//! all keys once for every two or three halvings. Here two moves replace all passes over global memory. If neighbouring
//! splitters are equal, the keys that equal them get their own bucket, which needs no sort. Up to 2²⁰ keys the launches
//! are those of `all-runs`, which are fewer.
//!
//! **Bottleneck.** The sort of the buckets, which merges runs of 17 and more keys in shared memory. Threads with more
//! keys search less, but spill registers. On an H200, 256 threads with 31 keys each sort 2²⁸ keys in 6.67 ms instead of
//! 6.77, but by an order that needs more registers in 8.56 ms instead of 7.31. With buckets of 1024 keys on average, by
//! 128 threads with 17 keys each, 2²⁴ keys take 514 µs instead of 472.
//!
//! **Cost.** Nine launches: twice a sample, the count, the starts and the move, then the buckets. Beyond 2²⁸ keys there
//! are four rounds and seventeen launches. A round reads every key twice and writes it once, and a byte per key, its
//! bucket, is written and read.
//!
//! **Threads.** Sample and buckets: 512 per block, 15 and 17 keys each (64-bit: 15). Count and move: 512 per block, 16
//! keys each.
//!
//! **Limits.** Any n. Memory for the keys again, and a byte and a quarter per key. If a bucket does not fit a block
//! although its splitters differ, its block sorts it in rounds. That is rare, and slow.
//!
//! **Source.** W. D. Frazer and A. C. McKellar, "Samplesort: a sampling approach to minimal storage tree sorting"
//! (1970); on GPUs: N. Leischner, V. Osipov, P. Sanders, "GPU sample sort" (2010). The buckets of equivalent keys: P.
//! Sanders and S. Winkel, "Super scalar sample sort" (2004).
//!
//! | launch | file | what it does |
//! | --- | --- | --- |
//! | 1, 5 | `splitters.rs` | sorts a sample of each bucket that is to be split, and takes splitters from it |
//! | 2, 6 | `count.rs` | finds the bucket of each key, and counts |
//! | 3, 7 | `scatter.rs` | where the buckets start |
//! | 4, 8 | `scatter.rs` | moves the keys there |
//! | 9 | `buckets.rs` | sorts each bucket |
//!
//! `tiles.rs` has the tile of a block in launches 2 and 4, `launches.rs` the launches and their memory.

mod buckets;
mod count;
#[cfg(not(target_os = "cuda"))]
pub mod launches;
mod scatter;
mod splitters;
mod tiles;

pub use buckets::*;
pub use count::*;
pub use scatter::*;
pub use splitters::*;
pub use tiles::{BLOCK, ITEMS, MOST_BUCKETS, TILE};

/// Bytes per thread of spilled registers that the resident blocks of the count, of the move and of the buckets' sort
/// may cost.
pub const MAX_SPILLS: u32 = 40;
/// What is done with a bucket: nothing, because it is small or final.
pub const COPY: u32 = 0;
/// It is split.
pub const SPLIT: u32 = 1;
/// It is split, and some splitters are equal.
pub const SPLIT_TWINS: u32 = 2;
