//! # Merge sort, merge all runs at once
//!
//! **Idea.** One pass merges all runs, whatever their number. Merged samples of all runs show roughly where the parts
//! of the result begin. Each block merges the samples for itself, takes two of them as its bounds, and finds by binary
//! search where its part begins and ends in each run. So neighbouring blocks find the same places. Parts differ in
//! length, because samples are not exact, and a block has room for a longer part than usual. Equal keys are divided by
//! count, so any number of them is fine.
//!
//! **Changed from the rung before.** `multi-way` merges only four or eight runs per pass, because it finds parts of
//! exact length, which takes longer for more runs. Here parts have no exact length, and 2²⁰ keys take one pass instead
//! of three.
//!
//! **Bottleneck.** The levels of merging in shared memory, which are as many as in the rung before, and in addition
//! those of the samples. On an H200 2²⁰ keys take 65.2 µs with 32 samples per run, 68.7 µs with 64, and 67.2 µs with
//! the plan's number. With 16 they take 75.6 µs, because then parts do not fit.
//!
//! **Cost.** Two launches for 4353 (64-bit: 3841) to 2²⁰ keys; each reads and writes every key once. The
//! second has ⌈log₂ r⌉ levels of merging for r runs, twice: of samples, and of keys; and a level has two barriers.
//!
//! **Threads.** Tiles: 256 per block with 17 keys each (64-bit: 15), beyond 557,056 keys (64-bit: 491,520) 512 with 17.
//! Merge: 256 per block with 7 keys each, beyond 2¹⁷ keys 512 with 7, beyond 2¹⁸ 1024 with 11. There is at most one
//! block per SM, or more if the parts would not fit.
//!
//! **Limits.** Up to 2²⁰ keys; as much memory again as the keys have. If a part does not fit its block, the block cuts
//! it and merges in rounds, which takes longer. This happens with runs that have many similar keys between two samples.
//!
//! **Source.** H. Shi and J. Schaeffer, "Parallel sorting by regular sampling" (1992); equal keys divided by count
//! and the rounds are our own.
//!
//! | file | what it does |
//! | --- | --- |
//! | `tiles.rs` | sorts each tile |
//! | `merges.rs`, `levels.rs` | merges all runs |
//! | `splits.rs` | finds where a part begins in each run |
//! | `launches.rs` | the launches and the memory that they need |

#[cfg(not(target_os = "cuda"))]
pub mod launches;
mod levels;
mod merges;
mod splits;
mod tiles;

pub use merges::*;
pub use tiles::*;

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
/// Bytes per thread of spilled registers there, by PTX for `sm_80`: this many threads have 64 registers each, and no
/// more.
pub const MANY_MAX_SPILLS: u32 = 48;
/// Their keys per thread.
pub const MANY_KEYS: u32 = 11;

// Where each run begins in the tile, and the end of the last.
shared!(PLACES: [u32; MOST_RUNS + 1]);
// The first thread of each pair of runs, in each level.
shared!(DEALT: [u32; MOST_RUNS]);
// For both ends of the part, in each run: how many keys are before the splitter, and how many with the equal ones.
shared!(BOUNDS: [u32; 4 * MOST_RUNS]);
// The part in each run: its first key and the one behind its last; the one behind those that are merged now.
shared!(FIRSTS: [u32; MOST_RUNS]);
shared!(ENDS: [u32; MOST_RUNS]);
shared!(CUTS: [u32; MOST_RUNS]);
