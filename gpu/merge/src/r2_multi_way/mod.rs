//! # Merge sort, merge four or eight runs at a time
//!
//! **Idea.** A pass merges four or eight runs instead of two. A block finds its *splits*, the places where its part of
//! the result begins in each run. It loads that part and merges it in shared memory, two runs at a time. One warp finds
//! the splits of all runs together: each lane takes a sample from a run, and the samples of all runs bound each split.
//!
//! **Changed from the rung before.** Up to 2²¹ keys there is one launch per pass: each block finds its own splits. For
//! more keys, a separate launch finds each split once. `cp.async` copies keys from global to shared memory without
//! registers. Batcher's network sorts the keys of a thread, with fewer exchanges than in the rung before. Up to 2¹⁸
//! keys the tiles are small, so that all SMs have some.
//!
//! **Bottleneck.** Latency, by ncu on an H200. At 2¹⁶ keys the tiles take 13 µs and each pass 12 to 13 µs, and the SMs
//! issue instructions in 14 % of the cycles. At 2²⁰ keys they take 23 µs and 18 µs (four ways) or 27 µs (eight), with
//! 45 and 25 % of the cycles. A search for splits is a chain of loads from global memory, and a merge is one of loads
//! from shared memory. A distribution by splitters takes less time for each halving: see `sample`.
//!
//! **Cost.** After the tiles, ⌈l/3⌉ passes, where l = ⌈log₂⌈n/11776⌉⌉ (64-bit keys: l = ⌈log₂⌈n/7680⌉⌉ in ⌈l/2⌉
//! passes); up to 2¹⁸ keys ⌈l/2⌉ passes with l = ⌈log₂⌈n/4352⌉⌉ (64-bit: 3840). Each pass is one launch, or two beyond
//! 2²¹ keys, and reads and writes every key once. A level of merging has two barriers.
//!
//! **Threads.** 512 per block with 23 keys each (64-bit: 15); for small tiles 256 with 17 and, in merges, 9 (64-bit:
//! 15). The numbers of keys are odd, so that the threads of a warp, each at its own keys, use different banks.
//!
//! **Limits.** Any n; as much memory again as the keys have, and a word per run and block.
//!
//! **Source.** Our own, on merge path (see the rung before); the network: K. E. Batcher (1968).
//!
//! | file | what it does |
//! | --- | --- |
//! | `tiles.rs` | sorts each tile |
//! | `split.rs` | finds where a part begins in each run |
//! | `merges.rs` | finds the splits of a pass, and merges |
//! | `launches.rs` | the launches and the memory that they need |

#[cfg(not(target_os = "cuda"))]
pub mod launches;
mod merges;
mod split;
mod tiles;

pub use merges::*;
pub use tiles::*;

/// Threads per block.
pub const BLOCK: u32 = 512;
/// Threads per block with small tiles.
pub const SMALL_BLOCK: u32 = 256;
/// Threads per block of a launch that finds splits, a warp for each.
pub const SPLIT_BLOCK: u32 = 128;

/// Keys per thread.
const KEYS: usize = 23;
/// Keys per thread where small tiles are sorted.
pub const SMALL_KEYS: usize = 17;
/// Keys per thread where small tiles are merged.
const SMALL_MERGE_KEYS: usize = 9;
/// Keys of 64 bits per thread.
const WIDE_KEYS: usize = 15;

/// Fewest blocks per SM: tiles of all of them fit its shared memory.
pub const fn min_blocks<K>() -> u32 {
    if size_of::<K>() == 8 { 2 } else { 3 }
}

/// Bytes per thread that those blocks may cost in spilled registers: a handful of addresses, where one block less per
/// SM would leave a third of its threads out.
pub const MAX_SPILLS: u32 = 32;

/// The same as [`min_blocks`] for small tiles.
pub const SMALL_MIN_BLOCKS: u32 = 4;
