//! # Merge sort, all runs at once

mod merge;
#[cfg(not(target_os = "cuda"))]
pub mod launches;
mod splits;

pub use merge::*;

use crate::merge::passes::tile_keys;

/// Most runs.
pub const MOST_RUNS: u32 = 128;
/// Threads per block of a merge of few keys, at most.
pub const FEW_BLOCK: u32 = 512;
/// Keys per thread of a merge of few keys.
pub const FEW_KEYS: u32 = 7;
/// Threads per block of a merge of many keys.
pub const MANY_BLOCK: u32 = 1024;
/// Keys per thread of a merge of many keys.
pub const MANY_KEYS: u32 = 11;
/// Threads per block of tiles of many keys.
pub const TILE_BLOCK: u32 = 512;
/// Keys per thread of tiles of many keys.
pub const TILE_KEYS: u32 = 17;

/// Fewest blocks per multiprocessor for tiles of many keys.
pub const TILE_MIN_BLOCKS: u32 = 2;

/// Most keys that a block merges from `ways` runs, a power of two.
pub const fn most_keys(ways: u32, threads: u32, items: u32) -> u32 {
    tile_keys(ways, threads, items)
}
