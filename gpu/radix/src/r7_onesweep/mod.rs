//! # Radix sort, one pass over memory per digit
//!
//! **Idea.** A block that has counted its digits publishes the counts and asks the blocks before it for theirs
//! (decoupled look-back): it adds up their counts, going back until it meets a block that already knows the sum of
//! all before. So it can place its keys at once, and the keys are read and written once per digit. Where each digit
//! starts in the whole input does not depend on the order of the keys: all digits are counted in one read at the
//! beginning.
//!
//! **Changed from the rung before.** `lsd-ballot` reads the keys twice per pass and launches three kernels; here a pass
//! reads them once and is one launch. Lanes with the same digit are matched by an atomic `or` in shared memory, which
//! takes less of the multiprocessor than eight ballots as long as digits differ. On equal digits atomics wait for each
//! other: a warp whose first row has few different digits takes one vote per row for the most frequent of them and
//! atomics for the others, or ballots alone if there are several such digits, or one vote for all rows if there is a
//! single digit.
//!
//! **Bottleneck.** Ranking the keys inside a block, which has to keep their order: by ncu on an H200, 2²⁸ keys, a pass
//! has shared memory at 73 % of its peak and memory at 32 (with values 70 and 48), the histogram has shared memory at
//! 98. Keys without values do not need the order kept; the next rung uses that.
//!
//! **Cost.** 4 bytes per key to count, then 8 bytes per key and digit: 36 bytes for keys of 32 bits, in 6 launches.
//!
//! **Threads.** 512 per block, with a tile of 64 bytes of keys per thread. Each warp has a piece of the tile in a row
//! and reads it as rows of 32. Threads 0 to 255 look back, each for one digit.
//!
//! **Limits.** Any n; sorts keys of 32 and 64 bits, and keys with a value of 32 bits each, and is stable. Keys begin
//! on a multiple of 16 bytes.
//!
//! **Source.** A. Adinets and D. Merrill, "Onesweep" (2022), and D. Merrill and M. Garland, "Single-pass parallel
//! prefix scan with decoupled look-back" (2016).

mod histogram;
#[cfg(not(target_os = "cuda"))]
pub mod launches;
mod pass;

pub use super::digits::{BITS, DIGITS, HISTOGRAM_THREADS, LAST_EPOCH, histogram_blocks, passes};
pub use histogram::*;
pub use pass::*;
use simt::Global;

/// Whether keys have values.
pub trait Payload: 'static {
    /// Whether they have.
    const VALUES: bool;
}

/// Keys alone.
pub struct KeysOnly;
/// A 32-bit value with each key.
pub struct Pairs;

impl Payload for KeysOnly {
    const VALUES: bool = false;
}
impl Payload for Pairs {
    const VALUES: bool = true;
}

/// The digit of a pass.
#[simt::argument]
#[derive(Clone, Copy)]
pub struct Digit {
    /// Its first bit.
    pub shift: u32,
    /// The order (see [`rungs_common::keys`]) that keys are mapped from as they come in.
    pub encode: u32,
    /// The order that they are mapped to as they go out.
    pub decode: u32,
    /// A number from 1 to [`LAST_EPOCH`] that `states` has not seen.
    pub epoch: u32,
}

/// The arguments of a pass.
pub type PassArgs<W> = (Global<W>, Global<W>, Global<u32>, Global<u32>, Digit, Global<u32>, Global<u32>, Global<u64>);
