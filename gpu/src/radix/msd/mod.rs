//! Device functions that the rungs share which sort from the most significant digit.
//!
//! | file | what it does |
//! | --- | --- |
//! | `keys.rs` | the words that are sorted |
//! | `count.rs`, `halves.rs` | counts the values of the top bits, in 16-bit counters |
//! | `starts.rs` | turns the counts into the starts of buckets |
//! | `tile.rs`, `tables.rs` | moves the keys of a tile to their buckets |
//! | `in_block.rs`, `runs.rs` | sorts keys in the shared memory of one block |

mod count;
mod halves;
mod in_block;
mod keys;
mod runs;
mod starts;
mod tables;
mod tile;

pub use count::*;
pub use halves::*;
pub use in_block::*;
pub use keys::*;
pub use runs::*;
pub use starts::*;
pub use tables::*;
pub use tile::*;

/// Slots of a block that sorts: 384 threads with 12 keys each.
pub const SLOTS: u32 = SORT_THREADS * ITEMS;

/// Keys that fit a block: the block reads from a multiple of 128 bytes on, which can take up to 31 slots.
pub const BUCKET_MAX: u32 = SLOTS - 31;

/// Bytes of static shared memory of a kernel whose arrays have `bytes` bytes: dynamic shared memory begins on the next
/// multiple of 128.
pub const fn static_shared(bytes: u32) -> u32 {
    bytes.next_multiple_of(128)
}
