//! Merge sort by any order, all runs at once, for up to 2²⁰ keys.
//!
//! A sample of each run, merged, tells roughly where parts of the result begin: each block merges the samples for
//! itself, takes two of them, and finds by binary search where its part lies in each run. So neighbouring blocks find
//! the same places. Parts differ in length, since samples are not exact, and a block has room for a longer one than
//! usual. Equivalent keys are divided by count, so any number of them does no harm. If a part does not fit its block,
//! the block cuts it and merges in rounds.
//!
//! **What bounds it.** The levels of merging in shared memory, of the samples and of the keys. On an H200 2²⁰ keys take
//! 65.2 µs with 32 samples per run, 67.2 µs with as many as the plan takes, 68.7 µs with 64. With 16 they take 75.6 µs,
//! since then parts do not fit.
//!
//! **Memory.** As much again as the keys have.
//!
//! | file | what it does |
//! | --- | --- |
//! | `tiles.rs` | sorts each tile |
//! | `merges.rs` | merges all runs |
//! | `splits.rs` | finds where a part begins in each run |
//! | `launches.rs` | the launches and the memory that they need |

#[cfg(not(target_os = "cuda"))]
pub mod launches;
mod merges;
mod splits;
mod tiles;

pub use merges::*;
pub use tiles::*;

use crate::by_order::passes::tile_keys;
use simt::shared;

/// Most runs.
pub const MOST_RUNS: u32 = 128;
/// Threads per block of tiles, beyond the small ones of `multi-way`.
pub const TILE_BLOCK: u32 = 512;
/// Their keys per thread.
pub const TILE_KEYS: u32 = 17;
/// Fewest blocks of them per SM.
pub const TILE_MIN_BLOCKS: u32 = 2;
/// Threads per block of merges of few keys, at most.
pub const FEW_BLOCK: u32 = 512;
/// Their keys per thread.
pub const FEW_KEYS: u32 = 7;
/// Fewest blocks of them per SM, few enough to leave a thread all the registers it needs.
pub const FEW_MIN_BLOCKS: u32 = 2;
/// Threads per block of merges of many keys.
pub const MANY_BLOCK: u32 = 1024;
/// Bytes per thread of spilled registers there, by PTX for `sm_80`: so many threads have 64 registers each, and no
/// more.
pub const MANY_MAX_SPILLS: u32 = 48;
/// Their keys per thread.
pub const MANY_KEYS: u32 = 11;

/// Most keys that a block merges at once from `ways` runs, a power of two.
pub const fn most_keys(ways: u32, threads: u32, items: u32) -> u32 {
    tile_keys(ways, threads, items)
}

// Where each run begins in the tile, and the end of the last.
shared!(PLACES: [u32; MOST_RUNS + 1]);
// The first thread of each pair of runs, in each level.
shared!(DEALT: [u32; MOST_RUNS]);
// For both ends of the part, in each run: how many keys are before the splitter, and how many with the equivalent ones.
shared!(BOUNDS: [u32; 4 * MOST_RUNS]);
// The part in each run: its first key and the one behind its last; the one behind those that are merged now.
shared!(FIRSTS: [u32; MOST_RUNS]);
shared!(ENDS: [u32; MOST_RUNS]);
shared!(CUTS: [u32; MOST_RUNS]);
