//! The launches by which keys get to their buckets: the count of the top bits, and one or two partitions.
//!
//! They are those of `msd-buckets`, for keys of 32 and 64 bits, with a count in bytes for 17 top bits and with tiles
//! that may lie anywhere. `msd-skewed`, `either` and the sort over several devices launch them.

mod histogram;
#[cfg(not(target_os = "cuda"))]
pub mod launches;
mod partition;
mod starts;

pub use super::msd::{BYTES_TOP_BITS, Buckets, Key, Mapped, Mapping, Plain};
pub use histogram::*;
pub use partition::*;
pub use starts::*;

/// Most keys of a sort: numbers of keys, rounded up to whole tiles, are words of 32 bits.
pub const MAX_KEYS: u32 = u32::MAX - 0xffff;
