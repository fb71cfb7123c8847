//! What skewed input leaves over: where it lies, and how it is split.

use super::{BUCKET_MAX, Key};
use simt::Global;

/// In which array keys lie.
pub const IN_SCRATCH: u32 = 0;
/// See [`IN_SCRATCH`].
pub const IN_OUTPUT: u32 = 1;

/// Keys of a segment that is tallied by one block are fewer: no counter of 16 bits can overflow.
pub const LARGE: u32 = 1 << 16;

/// Keys of a chunk of larger ones.
pub const CHUNK: u32 = 1 << 14;

/// Bits of a segment's digit, at most.
const MAX_BITS: u32 = super::tables::MAX_BITS;

/// What depends on device and keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Last bits of a key that can be tallied.
    pub tally_bits: u32,
    /// Bits of a segment's digit, at least. 4, or one more than leave what can be tallied, if 9 can do that.
    pub least_bits: u32,
}

impl Limits {
    /// For keys of so many bits, of which the buckets have the `top_bits` in common.
    pub const fn new(key_bits: u32, top_bits: u32, tally_bits: u32) -> Self {
        let excess = (key_bits - top_bits).saturating_sub(tally_bits);
        // One bit less to tally halves the counters.
        Self { tally_bits, least_bits: if excess < 4 || excess >= MAX_BITS { 4 } else { excess + 1 } }
    }
}

/// Which bits a segment is split by: `bits` from `shift` on.
#[derive(Clone, Copy)]
pub struct Window {
    /// The lowest bit.
    pub shift: u32,
    /// How many, 1 to 9.
    pub bits: u32,
}

impl Window {
    /// The next bits of keys whose lowest `left` bits may differ: as many as leave 1024 keys each of `count`, or
    /// up to 2048, within the limits.
    #[inline(always)]
    pub fn next(left: u32, count: u32, limits: Limits) -> Self {
        let bits = (21 - count.leading_zeros().min(21)).clamp(limits.least_bits, MAX_BITS).min(left);
        Self { shift: left - bits, bits }
    }

    /// How many values they have.
    #[inline(always)]
    pub fn values(self) -> u32 {
        1 << self.bits
    }
}
// The counters of a level: no segment has more of them than its share of the keys.
const _: () = assert!(1024 << 4 > BUCKET_MAX);

/// Keys `start` to `end` of an array, whose lowest `left` bits may differ.
#[derive(Clone, Copy)]
pub struct Leftover {
    /// The first key.
    pub start: u32,
    /// Behind the last key.
    pub end: u32,
    /// Lowest bits that may differ.
    pub left: u32,
    /// Where the keys lie.
    pub array: u32,
}

impl Leftover {
    /// Where a large segment's keys are counted: in the array that they are not in, at their place, and behind the starts if
    /// it [has room](Self::has_room).
    #[inline(always)]
    pub fn counts<W: Key>(self, scratch: Global<W>, output: Global<W>) -> Global<u32> {
        let other = if self.array == IN_SCRATCH { output } else { scratch };
        let (all, values) = (other.slice(self.start, self.end - self.start).cast::<u32>(), 1 << self.left);
        all.slice(if self.has_room::<W>() { values } else { 0 }, values)
    }

    /// Whether a large segment's counts have a place of their own even if that of its starts, in the scratch, is the same
    /// array: then several blocks can turn the ones into the others.
    #[inline(always)]
    pub fn has_room<W: Key>(self) -> bool {
        (self.end - self.start) / (2 / W::HALVES) >= 1 << self.left
    }
}
