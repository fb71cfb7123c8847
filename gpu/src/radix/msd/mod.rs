//! Device functions that the rungs share which sort from the most significant digit.
//!
//! | file | what it does |
//! | --- | --- |
//! | `keys.rs` | the words that are sorted |
//! | `count.rs`, `halves.rs` | counts the values of the top bits, in 16-bit counters |
//! | `tile.rs`, `tables.rs` | moves the keys of a tile to their buckets |
//! | `in_block.rs`, `runs.rs` | sorts keys in the shared memory of one block |

mod count;
mod halves;
mod in_block;
mod keys;
mod runs;
mod tables;
mod tile;

pub(super) use count::*;
pub(super) use halves::*;
pub(super) use in_block::*;
pub use keys::*;
pub(super) use tables::*;
pub(super) use tile::*;

/// Slots of a block that sorts: 384 threads with 12 keys each.
pub const SLOTS: u32 = SORT_THREADS * runs::ITEMS;

/// Keys that fit a block: the block reads from a multiple of 128 bytes on, which can take up to 31 slots.
pub const BUCKET_MAX: u32 = SLOTS - 31;
