//! Merge sort by any order, four or eight runs at a time.
//!
//! A pass merges four or eight runs. A block finds where its part of the result begins in each of them, loads that, and
//! merges it in shared memory, two runs at a time. One warp finds the splits of all runs together: each lane takes a
//! sample from a run, and the samples of all runs bound the place of each. Up to 2²¹ keys each block finds its own
//! splits. For more keys, a separate launch finds each split once. Equivalent keys may change their order in the tiles.
//!
//! **What bounds it.** Latency, by ncu on an H200. At 2¹⁶ keys the tiles take 13 µs and each pass 12 to 13 µs, in which
//! instructions are issued in 14 % of the cycles. At 2²⁰ keys each pass takes 18 µs (four ways, 45 % of the cycles)
//! or 27 µs (eight ways, 25 %). A search for splits is a chain of loads from global memory, a merge one of loads from
//! shared memory.
//!
//! **Memory.** As much again as the keys have, and a word per run and block.
//!
//! | file | what it does |
//! | --- | --- |
//! | `tiles.rs` | sorts each tile |
//! | `merges.rs` | finds splits, and merges |
//! | `launches.rs` | the launches and the memory that they need |

#[cfg(not(target_os = "cuda"))]
pub mod launches;
mod merges;
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
pub const fn keys<K>() -> u32 {
    if size_of::<K>() == 8 { 15 } else { 23 }
}

/// Keys per thread where small tiles are sorted.
pub const fn small_keys<K>() -> u32 {
    if size_of::<K>() == 8 { 15 } else { 17 }
}

/// Keys per thread where small tiles are merged.
pub const fn small_merge_keys<K>() -> u32 {
    if size_of::<K>() == 8 { 15 } else { 9 }
}

/// Fewest blocks per SM: tiles of all of them fit its shared memory.
pub const fn min_blocks<K>() -> u32 {
    if size_of::<K>() == 8 { 2 } else { 3 }
}

/// Bytes per thread that those blocks may cost in spilled registers: a handful of addresses, where one block less per
/// SM would leave a third of its threads out.
pub const MAX_SPILLS: u32 = 32;

/// The same as [`min_blocks`] for small tiles.
pub const SMALL_MIN_BLOCKS: u32 = 4;
