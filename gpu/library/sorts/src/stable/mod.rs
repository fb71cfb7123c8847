//! # Merge sort and sample sort, keep the order of equivalent keys
//!
//! **Idea.** A distribution is stable if each key is placed behind all keys of its bucket that came before it: a block
//! ranks the keys of its tile bucket by bucket, and learns from the tiles beside it how many keys of each bucket they
//! have (decoupled look-back). Merging is stable if a tie is won by the run that came first. That holds for the merges
//! of `all_runs` and for those in a bucket: splits count equivalent keys of earlier runs first, and a thread takes
//! from the second run only what is before the key of the first. What remains is the sort of a thread's own keys.
//! Exchanges of neighbours alone, odd and even places in turn, never carry a key past an equivalent one.
//!
//! The course's `sample` distributes keys by atomics, in the order in which threads come. Here the move is the one of
//! `onesweep`, with the bucket of a key for its digit, from the last tile to the first. The sort in registers takes
//! more exchanges: 144 for 17 keys, where Batcher's network has 85.
//!
//! **Bottleneck.** By ncu on an H100, 2²⁸ keys by their low halves: in the move shared memory is at 75 % of its peak
//! and memory at 54; in the sort of the buckets, which takes a third longer than both moves, at 41 and 16.
//!
//! **Cost.** That of `all_runs` up to 2²⁰ keys, beyond them that of `sample`.
//!
//! **Threads.** As there. Move: 512 per block, 16 keys each; each warp has a piece of the tile in a row.
//!
//! **Limits.** Any n. Memory for the keys again, a byte and a quarter per key, and a quarter of a byte for what tiles
//! publish. Where equivalent keys have the same bits, the order kept cannot be seen, and `sample` is faster. As there,
//! one block sorts a bucket that does not fit.
//!
//! **Source.** The move: A. Adinets and D. Merrill, "Onesweep" (2022). Odd-even transposition: N. Habermann, "Parallel
//! neighbor-sort" (1972).
//!
//! | launch | file | what it does |
//! | --- | --- | --- |
//! | 1, 5 | `splitters.rs` of [`sample`](crate::by_order::sample) | sorts a sample of each bucket that is to be split |
//! | 2, 6 | `count.rs` of `sample` | finds the bucket of each key, and counts |
//! | 3, 7 | `scatter.rs` of `sample` | where the buckets start |
//! | 4, 8 | `scatter.rs` | moves the keys there, in their order |
//! | 9, 10 | `buckets.rs` of `sample` | sorts each bucket; then those that do not fit a block |

#[cfg(not(target_os = "cuda"))]
pub mod launches;
mod scatter;

pub use scatter::*;
