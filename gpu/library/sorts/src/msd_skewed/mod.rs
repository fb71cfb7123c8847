//! # Radix sort from the most significant digit, split oversized buckets
//!
//! **Idea.** A bucket that is too large for a block is work for many blocks. It becomes a *segment*, which is split by
//! its next bits as the whole input was. Children that are still too large become segments of the next level. Small
//! neighbours become one *group*, which one block sorts. Once the keys of a segment agree in all but their last 16
//! bits, a counting sort (the *tally*) finishes them: count how often each value occurs, then write each value as often
//! as it occurs. Buckets in which few counters get most of the keys, so that their atomics would wait for each other,
//! become groups as well.
//!
//! Three lists in memory hold the segments to split, the segments to tally, and the groups. Any block may append to
//! them. A launch for skewed keys has as many blocks as are resident at once, and they take items one by one, by a
//! ticket. Work that builds on the work of other blocks is divided into phases: a block that finds no ticket left waits
//! until all items of the phase are done. A level of the split has three phases. Tile by tile, count the digits of each
//! segment; turn the counts of each segment into starts, and its children into segments and groups; tile by tile, move
//! the keys. The tally has three phases for a segment of 65,536 keys or more. Chunk by chunk, count into counters that
//! lie in the array that does not hold the keys; turn counts into starts; chunk by chunk, write. A smaller segment is
//! one item of the first phase. The number of levels depends on the keys alone, and the host launches the same kernels
//! for all of them.
//!
//! In the course's `msd-buckets` one block sorts an oversized bucket while the other SMs are idle. Here two launches
//! (the starts and the bucket sort) put such buckets on the lists, and three more work on them. For uniform keys these
//! three find their lists empty. Above 2²⁸ keys, where buckets of uniform keys do not fit a block any more, blocks of
//! twice the size sort them: so 2³⁰ keys need no third pass over memory.
//!
//! **Bottleneck.** For uniform keys that of `msd-buckets`. By ncu on an H200, for keys that are the AND of three random
//! words, nothing is saturated in the tally (shared memory 63 %, memory 42 %) nor in the groups (shared memory 50 %),
//! whose warps mostly wait at barriers. At 2²⁴ keys the groups take longer than both partitions together.
//!
//! **Cost.** Three more launches, or one more if no bucket can be too large; without skewed keys they find nothing to
//! do. A level reads the keys of its segments twice and writes them once; the tally reads them once and writes them
//! once.
//!
//! **Threads.** Bucket sort: 384 per block, or 768, with 12 keys each. Split: 512, which have a tile of 64 bytes of
//! keys each. Tally: 1024, one block per SM. Groups: 384 with 12 keys each.
//!
//! **Limits.** Up to [`MAX_KEYS`](crate::buckets::MAX_KEYS) keys of 32 or 64 bits, of any content. Views start on
//! multiples of 16 bytes; multiples of 128 are faster. A block waits at the end of a phase, but only for items that
//! running blocks have taken, never for a block that has yet to start. A block of the tally has 160 KiB of shared
//! memory, or 96 where the device gives no more; it then tallies 15 bits.
//!
//! **Source.** As for `msd-buckets`: E. Stehle and H.-A. Jacobsen, "A memory bandwidth-efficient hybrid radix sort on
//! GPUs" (2017), which splits large buckets level by level and merges small neighbours.
//!
//! | launch | file | what it does |
//! | --- | --- | --- |
//! | 1, 3, 4 | `../buckets/` | counts the top bits; partitions the keys |
//! | 2, 5 | `uniform.rs` | starts and bucket sort, which put oversized and skewed buckets on the lists |
//! | 6 | `split.rs`, `segment.rs` | splits segments by their next bits, level by level |
//! | 7 | `tally.rs`, `tally_count.rs`, `tally_write.rs` | counting-sorts segments in which few bits differ |
//! | 8 | `groups.rs` | sorts groups |
//!
//! `launches.rs` has the launches and the memory that they need, `lists.rs` the lists, `leftover.rs` their items, and
//! `phases.rs` how blocks share the items of a phase.

mod groups;
#[cfg(not(target_os = "cuda"))]
pub mod launches;
mod leftover;
mod lists;
mod phases;
mod segment;
mod split;
mod tally;
mod tally_count;
mod tally_write;
mod uniform;

#[cfg(not(target_os = "cuda"))]
pub use super::msd::{BUCKET_SORT_STATIC, bucket_sort_shared};
pub use groups::*;
pub(crate) use leftover::Window;
pub use leftover::{Arrays, Limits, Numbers};
pub(crate) use lists::Lists;
pub(crate) use phases::each_item;
pub use split::*;
pub use tally::*;
pub use uniform::*;
