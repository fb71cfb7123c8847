//! # Radix sort from the most significant digit, of skewed keys too
//!
//! **Idea.** A bucket that is too large for a block is work for many blocks: it becomes a segment, which is split by
//! its next bits as the whole input was. Children that are still too large become segments of the next level, small
//! neighbours become one group, which one block sorts. Once the keys of a segment agree in all but their last 16 bits,
//! they are not moved any more but counted: keys without values are known by how often each value comes, and are
//! written anew that often. Buckets that are crowded, whose atomics would wait for each other, become groups as well.
//!
//! Three lists in memory say what there is to do, and any block may append to them: segments to split, segments to
//! tally, groups. A launch for skewed keys has as many blocks as the device holds, and they take items one by one, by a
//! ticket. Work that builds on other blocks' work is divided into phases: a block that finds no ticket left waits until
//! all items of the phase are done. A level of the split has three phases: count the digits of each segment, tile by
//! tile; turn the counts of each segment into starts and its children into segments and groups; move the keys, tile by
//! tile. The tally has three phases for a segment of 65,536 keys and more: count, chunk by chunk, into counters that
//! lie in the array that does not hold the keys; turn counts into starts; write, chunk by chunk. A smaller segment is
//! one item of the first phase. How many levels there are depends on the keys alone, and the host launches the same for
//! all.
//!
//! **Changed from the rung before.** `msd-buckets` has one block sort a bucket that is too large or crowded, while the
//! other blocks are done. Here the starts and the bucket sort put such buckets on the lists, and three launches work on
//! them. For uniform keys the three find their lists empty. Above 2²⁸ keys, where buckets of uniform keys do not fit a
//! block any more, blocks of twice the size sort them: so 2³⁰ keys need no third pass over memory.
//!
//! **Bottleneck.** For uniform keys that of `msd-buckets`. By ncu on an H200, for keys that are the AND of three random
//! words, nothing is saturated in the tally (shared memory 63 %, memory 42 %) nor in the groups (shared memory 50 %),
//! whose warps mostly wait at barriers; at 2²⁴ keys the groups take longer than both partitions together.
//!
//! **Cost.** Three launches more, which find nothing to do unless the keys are skewed; where no bucket can be too
//! large, one. A level reads the keys of its segments twice and writes them once; the tally reads them once and writes
//! them once.
//!
//! **Threads.** Bucket sort: 384 per block, or 768, with 12 keys each. Split: 512, which have a tile of 64 bytes of
//! keys each. Tally: 1024, one block per multiprocessor. Groups: 384 with 12 keys each.
//!
//! **Limits.** Those of `msd-buckets`, without its slow buckets. A block waits at the end of a phase, but only for
//! items that running blocks have taken, never for a block that has yet to start. A block of the tally has 160 KiB of
//! shared memory, or 96 where the device gives no more; it then tallies 15 bits.
//!
//! **Source.** As for `msd-buckets`: E. Stehle and H.-A. Jacobsen, "A memory bandwidth-efficient hybrid radix sort on
//! GPUs" (2017), which splits large buckets level by level and merges small neighbours.
//!
//! | launch | file | what it does |
//! | --- | --- | --- |
//! | 1, 3, 4 | those of `msd-buckets` | histogram, partitions |
//! | 2, 5 | `uniform.rs` | starts and bucket sort, which put on the lists what they leave over |
//! | 6 | `split.rs`, `segment.rs` | segments split by their next bits, level by level |
//! | 7 | `tally.rs`, `tally_count.rs`, `tally_write.rs` | segments of few bits, counted and written anew |
//! | 8 | `groups.rs` | groups sorted |
//!
//! `launches.rs` has the launches and the memory that they need, `lists.rs` the lists, `leftover.rs` what is on them,
//! and `phases.rs` how blocks share the items of a phase.

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
pub use split::*;
pub use tally::*;
pub use uniform::*;
