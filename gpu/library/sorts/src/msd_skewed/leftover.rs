//! What skewed keys leave over: where it lies, and how it is split.

use crate::msd::{BUCKET_MAX, Digit, Key, MAX_BITS};
use simt::Global;

/// Keys lie in the scratch.
pub const IN_SCRATCH: u32 = 0;
/// Keys lie in the output.
pub const IN_OUTPUT: u32 = 1;

/// The two arrays that keys lie in.
#[derive(Clone, Copy)]
pub struct Arrays<W> {
    /// As long as the output, of any content at first.
    pub scratch: Global<W>,
    /// Where the keys go.
    pub output: Global<W>,
}

impl<W: Key> Arrays<W> {
    /// `IN_SCRATCH` or `IN_OUTPUT`.
    #[simt::device]
    pub fn of(self, array: u32) -> Global<W> {
        if array == IN_SCRATCH { self.scratch } else { self.output }
    }
}

/// One block tallies a segment of fewer keys: no 16-bit counter can overflow.
pub const LARGE: u32 = 1 << 16;

/// Keys per chunk of a large segment.
pub const CHUNK: u32 = 1 << 14;

/// The numbers of a sort that the kernels share.
#[simt::argument]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Numbers {
    /// How keys are ordered, see [`rungs_common::keys`].
    pub order: u32,
    /// Bits of the first partition.
    pub first_bits: u32,
    /// Bits of the second partition; 0 if there is none.
    pub second_bits: u32,
    /// Top bits that all keys of a bucket share.
    pub common_bits: u32,
    /// Most keys of a bucket that the bucket sort takes.
    pub bucket_max: u32,
    /// What can be tallied, and how keys are split until then.
    pub limits: Limits,
}

/// What depends on device and keys.
#[simt::argument]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Last bits of a key that can be tallied.
    pub tally_bits: u32,
    /// Fewest bits of a segment's digit: 4, or one more than leave what can be tallied, if 9 can do that.
    pub least_bits: u32,
}

impl Limits {
    /// For keys of `key_bits` bits, of which a bucket shares the `top_bits`.
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
    /// The next bits of `count` keys whose lowest `left` bits may differ: as many as leave 1024 to 2048 keys per child,
    /// within the limits.
    #[simt::device]
    pub fn next(left: u32, count: u32, limits: Limits) -> Self {
        let bits = (21 - count.leading_zeros().min(21)).clamp(limits.least_bits, MAX_BITS).min(left);
        Self { shift: left - bits, bits }
    }

    /// How many values the bits have.
    #[simt::device]
    pub fn values(self) -> u32 {
        1 << self.bits
    }
}
// The counters of a level: no segment has more of them than its share of the keys.
const _: () = assert!(1024 << 4 > BUCKET_MAX);

impl<W: Key> Digit<W> for Window {
    #[simt::device]
    fn bits(self) -> u32 {
        self.bits
    }

    #[simt::device]
    fn scaled(self, key: W, log2: u32) -> u32 {
        key.digit_at(self.shift, self.bits) << log2
    }
}

/// Keys `start` to `end` of an array, whose lowest `left` bits may differ.
#[derive(Clone, Copy)]
pub struct Leftover {
    pub start: u32,
    pub end: u32,
    pub left: u32,
    /// `IN_SCRATCH` or `IN_OUTPUT`.
    pub array: u32,
}

impl Leftover {
    /// Where the keys of a large segment are counted: in the array that they are not in, at their place, and behind the
    /// starts if the segment [has room](Self::has_room).
    #[simt::device]
    pub fn counts<W: Key>(self, arrays: Arrays<W>) -> Global<u32> {
        let other = if self.array == IN_SCRATCH { arrays.output } else { arrays.scratch };
        let (all, values) = (other.slice(self.start, self.end - self.start).cast::<u32>(), 1 << self.left);
        all.slice(if self.has_room::<W>() { values } else { 0 }, values)
    }

    /// Whether starts, in the scratch, and counts have places of their own even if both lie in the same array: then
    /// several blocks can turn counts into starts.
    #[simt::device]
    pub fn has_room<W: Key>(self) -> bool {
        (self.end - self.start) / (2 / W::HALVES) >= 1 << self.left
    }
}
