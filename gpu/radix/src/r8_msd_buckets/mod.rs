//! # Radix sort from the most significant digit, split into buckets that fit a block
//!
//! **Idea.** Keys without values need no stable sort: equal keys cannot be told apart. So the keys are split by their
//! top bits first, in one or two passes over memory, into buckets that fit the shared memory of a block. Then one block
//! sorts each bucket there. The rank of a key among the keys of its bucket is the value that an atomic addition in
//! shared memory returns, in whatever order the threads arrive.
//!
//! **Changed from the rung before.** `onesweep` starts at the last digit and keeps the order of the previous pass in
//! each of four passes, so its ranks follow the order of the lanes. Here one atomic per key gives the rank, 28 bytes
//! are moved per key instead of 36, and no block waits for another: a block reserves room in a bucket by one global
//! atomic.
//!
//! **Bottleneck.** By ncu on an H200, 2²⁸ uniform keys: memory bounds the histogram (80 % of its peak), shared memory
//! the bucket sort (90 %), and nothing is saturated in the partitions (shared memory 66 and 78 %, memory 58 %). With
//! skewed keys it is the largest bucket, on which one block works when the others have finished. The library's
//! `msd-skewed` splits it.
//!
//! **Cost.** Five launches: a read of all keys, the starts, two partitions that read and write them (one up to 9 top
//! bits), and a sort of each bucket that does so too. A key is compared only with the 11 others of its thread and with
//! those of the neighbouring threads.
//!
//! **Threads.** Histogram: 1024 per block, 16 keys each in flight. Partition: 512 threads with 64 bytes of keys each,
//! from 2²⁷ keys on 1024 threads in the first partition. Bucket sort: one block of 384 threads with 12 keys each per
//! bucket.
//!
//! **Limits.** Up to 2³² - 2¹⁶ keys of 32 bits, of any content, without values. Other keys are mapped to unsigned words
//! before the sort, and back after it. If a bucket is too large for a block, or too many of its keys agree in their
//! next 13 bits, one block sorts it by LSD in global memory, which is right but slow. There are at most 16 top bits, so
//! beyond 2²⁸ keys all buckets are too large. Views start on multiples of 16 bytes; multiples of 128 are faster. If a
//! block has less than 129 KiB of shared memory, there are fewer top bits.
//!
//! **Source.** Composed of known ideas: most significant digits first, from E. Stehle and H.-A. Jacobsen, "A memory
//! bandwidth-efficient hybrid radix sort on GPUs" (2017). The rest changes A. Adinets and D. Merrill, "Onesweep"
//! (2022).
//!
//! | launch | file | what it does |
//! | --- | --- | --- |
//! | 1 | `histogram.rs` | counts the keys of each bucket, in 16-bit counters |
//! | 2 | `histogram.rs` | finds where each bucket starts, and the tiles of the second partition |
//! | 3, 4 | `partition.rs` | moves the keys to their buckets, by the upper and the lower half of the top bits |
//! | 5 | `bucket_sort.rs` | sorts each bucket |
//!
//! `launches.rs` has the launches and the memory that they need.

mod bucket_sort;
mod histogram;
#[cfg(not(target_os = "cuda"))]
pub mod launches;
mod partition;

use crate::{DIGITS, Digits, block_scan, by_digits_shared, each_pack, merge_seam, sort_12, sort_by_digits, strided};
pub use bucket_sort::*;
pub use histogram::*;
pub use partition::*;
use simt::atomic::{Order::Relaxed, Scope};
use simt::{Global, Shared, grid, kernel, math::mul_hi, opaque, shared, thread, unroll, warp};
