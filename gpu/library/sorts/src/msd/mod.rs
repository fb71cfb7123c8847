//! Device functions that the rungs share which sort from the most significant digit.
//!
//! | file | what it does |
//! | --- | --- |
//! | `keys.rs` | the words that are sorted |
//! | `count.rs`, `halves.rs` | counts the values of up to 16 top bits, in 16-bit counters |
//! | `count_bytes.rs` | counts those of 17 top bits, in counters of eight bits |
//! | `sample.rs` | tells from a sample of the keys whether they are skewed |
//! | `starts.rs` | turns the counts into the starts of buckets |
//! | `tile.rs`, `tables.rs` | moves the keys of a tile to their buckets |
//! | `in_block.rs`, `runs.rs`, `bucket.rs` | sorts keys, or a bucket, in the shared memory of one block |
//! | `sizes.rs` | how many top bits there are, and which blocks sort the buckets |

mod bucket;
mod count;
mod count_bytes;
mod halves;
mod in_block;
mod keys;
mod runs;
mod sample;
#[cfg(not(target_os = "cuda"))]
mod sizes;
mod starts;
mod tables;
mod tile;

pub use bucket::*;
pub use count::*;
pub use count_bytes::*;
pub use halves::*;
pub use in_block::*;
pub use keys::*;
pub use runs::*;
pub use sample::*;
#[cfg(not(target_os = "cuda"))]
pub use sizes::*;
pub use starts::*;
pub use tables::*;
pub use tile::*;

/// Keys that fit a block of [`SORT_THREADS`].
pub const BUCKET_MAX: u32 = in_block_most(SORT_THREADS);

/// Bytes of static shared memory of a kernel whose arrays have `bytes` bytes: dynamic shared memory begins on the next
/// multiple of 128.
pub const fn static_shared(bytes: u32) -> u32 {
    bytes.next_multiple_of(128)
}
