//! # Radix sort from the most significant digit, into buckets that fit a block
//!
//! **Idea.** Keys without payload need no stable sort: two equal keys cannot be told apart. So the keys are split by
//! their top bits first, in one or two passes over memory, until each bucket fits a block's shared memory, and a
//! bucket is sorted there. A key's place among its like comes from an atomic addition in shared memory that returns
//! the count before it, in whatever order the threads come. What skewed input leaves over is split again by its next
//! bits; and once its keys agree in all but their last 16 bits they are not moved any more, but counted, and written anew
//! as often as they came.
//!
//! **Changed from the rung before.** `onesweep` works upwards from the last digit, in four passes, each keeping the order
//! of the one before, so its ranks have to follow the order of the lanes. Here one atomic a key gives the rank, 28 bytes
//! a key are moved instead of 36, and no block waits for another: it reserves room in a bucket by one global atomic.
//!
//! **Bottleneck.** By ncu on an H200, 2²⁸ uniform keys: the histogram is bound by memory (80 % of its peak); in the
//! partitions nothing is saturated (shared memory 66 and 78 %, memory 58 %), in the bucket sort shared memory is (90 %).
//! For keys that are the AND of three random words nothing is saturated in the tally (shared memory 63 %, memory 42 %) nor
//! in the groups (shared memory 50 %), whose warps mostly wait at barriers; at 2²⁴ keys the groups take longer than both
//! partitions together.
//!
//! **Cost.** Eight launches: a read of all keys; their starts; two partitions that read and write them (one up to 9 top
//! bits); a sort of each bucket that does so too; and three that find nothing to do unless the input is skewed (one where
//! no bucket can be too large). Comparisons only between the 12 keys of a thread and its neighbours', and where a group
//! is merged.
//!
//! **Threads.** Histogram: 1024 a block, 16 keys each in flight. Partition and split: 512 threads of 64 bytes of keys, from
//! 2²⁷ keys on 1024 in the first partition. Bucket sort and groups: 384 threads of 12 keys, in the bucket sort one block a
//! bucket. Tally: 1024, one block a multiprocessor. Split, tally and groups take as many blocks as the device holds,
//! which take what there is.
//!
//! **Limits.** Up to [`MAX_KEYS`], any input, keys of 32 and 64 bits. Views start on multiples of 16 bytes; multiples
//! of 128 are faster. A block of the tally has 160 KiB of shared memory, or 96 where the device gives no more; beyond
//! 2²⁷ keys one of the histogram has 132.
//!
//! **Source.** Composed of known ideas: E. Stehle and H.-A. Jacobsen, "A memory bandwidth-efficient hybrid radix sort
//! on GPUs" (2017) for most significant digits first; A. Adinets and D. Merrill, "Onesweep" (2022) for what is
//! changed.
//!
//! | launch | file | what it does |
//! | --- | --- | --- |
//! | 1 | `histogram.rs`, `halves.rs` (also 7) | how many keys each bucket will have |
//! | 2 | `starts.rs` | where each bucket starts; tiles of the second partition; buckets too large for a block |
//! | 3, 4 | `partition.rs`, `tile.rs`, `tables.rs` (also 6) | the keys to their buckets, by the upper and the lower half of the top bits |
//! | 5 | `bucket_sort.rs`, `in_block.rs`, `runs.rs` (also 8) | each bucket in order |
//! | 6 | `split.rs`, `segment.rs`, `phases.rs` (also 7) | too large buckets split again, level by level |
//! | 7 | `tally.rs`, `tally_count.rs`, `tally_write.rs` | too large parts of which few bits are left, counted and written anew |
//! | 8 | `groups.rs` | what is left of splitting, and crowded buckets, in order |
//!
//! `plan.rs` has the sequence of the launches and the memory that they need, `leftover.rs` and `lists.rs` what the later
//! ones are told.

mod bucket_sort;
mod groups;
mod halves;
mod histogram;
mod in_block;
#[cfg(not(target_os = "cuda"))]
pub mod launches;
mod leftover;
mod lists;
mod partition;
mod phases;
#[cfg(not(target_os = "cuda"))]
mod plan;
mod runs;
mod segment;
mod split;
mod starts;
mod tables;
mod tally;
mod tally_count;
mod tally_write;
mod tile;

pub use bucket_sort::*;
pub use groups::*;
pub use histogram::*;
pub use leftover::*;
pub use lists::*;
pub use partition::*;
#[cfg(not(target_os = "cuda"))]
pub use plan::*;
pub use split::*;
pub use starts::*;
pub use tally::*;

use super::steps::{Digits, warp_scan};
use crate::keys::Word;
use simt::Shared;

/// Keys of a sort, at most: numbers of keys, rounded up to whole tiles, are words of 32 bits.
pub const MAX_KEYS: u32 = u32::MAX - 0xffff;

/// Slots of the bucket sort: 384 threads of 12 keys.
pub const SLOTS: u32 = 384 * 12;

/// Keys that a bucket may have: it is read from a multiple of 128 bytes on, which can cost up to 31 slots.
pub const BUCKET_MAX: u32 = SLOTS - 31;

/// Keys that a bucket of uniform input has on average, at most: 7.5 standard deviations below [`BUCKET_MAX`].
pub const BUCKET_MEAN: u32 = 4096;

/// Top bits that buckets are told apart by, at least and at most. At most: so many u16 counters fit a block.
pub const MIN_TOP_BITS: u32 = 8;
/// See [`MIN_TOP_BITS`].
pub const MAX_TOP_BITS: u32 = 16;

/// Top bits up to which one partition does it all.
pub const ONE_PASS_BITS: u32 = 9;

/// Top bits for `n` keys: the fewest that leave [`BUCKET_MEAN`] keys a bucket.
pub const fn top_bits(n: u32) -> u32 {
    let mut bits = MIN_TOP_BITS;
    while bits < MAX_TOP_BITS && n as u64 > (BUCKET_MEAN as u64) << bits {
        bits += 1;
    }
    bits
}

/// How the top bits are divided between the first and the second partition.
pub const fn split_bits(top_bits: u32) -> (u32, u32) {
    let first = if top_bits <= ONE_PASS_BITS { top_bits } else { top_bits.div_ceil(2) };
    (first, top_bits - first)
}

/// A word that this rung sorts.
pub trait Key: Digits {
    /// Halves of 32 bits.
    const HALVES: u32;
    /// Its 32 most significant bits, which hold the digits of the first partitions.
    fn top(self) -> u32;
    /// The word, with zeros above.
    fn bits(self) -> u64;
    /// The inverse of [`Key::bits`].
    fn from_bits(bits: u64) -> Self;
    /// The 32 bits after the first `shift`.
    fn after(self, shift: u32) -> u32;
    /// The `bits` bits from bit `shift` on, wherever they lie.
    fn digit_at(self, shift: u32, bits: u32) -> u32;
    /// Copies slots `at` and the next to elements `to` and the next, in one access. `at` is even.
    fn get_two<const N: usize>(slots: Shared<Self>, at: u32, keys: &mut [Self; N], to: usize);
    /// The other way.
    fn set_two<const N: usize>(slots: Shared<Self>, at: u32, keys: &[Self; N], from: usize);
    /// Four slots in as few accesses as their size allows. `at` is a multiple of 4.
    fn get_four<const N: usize>(slots: Shared<Self>, at: u32, keys: &mut [Self; N], to: usize);
    /// The other way.
    fn set_four<const N: usize>(slots: Shared<Self>, at: u32, keys: &[Self; N], from: usize);
}

impl Key for u32 {
    const HALVES: u32 = 1;

    #[inline(always)]
    fn bits(self) -> u64 {
        self as u64
    }

    #[inline(always)]
    fn from_bits(bits: u64) -> Self {
        bits as Self
    }

    #[inline(always)]
    fn after(self, shift: u32) -> u32 {
        self << shift
    }

    #[inline(always)]
    fn digit_at(self, shift: u32, bits: u32) -> u32 {
        self >> shift & ((1 << bits) - 1)
    }

    #[inline(always)]
    fn top(self) -> u32 {
        self
    }

    #[inline(always)]
    fn get_two<const N: usize>(slots: Shared<Self>, at: u32, keys: &mut [Self; N], to: usize) {
        let two = slots.cast::<u64>().get(at / 2);
        (keys[to], keys[to + 1]) = (two as u32, (two >> 32) as u32);
    }

    #[inline(always)]
    fn set_two<const N: usize>(slots: Shared<Self>, at: u32, keys: &[Self; N], from: usize) {
        slots.cast::<u64>().set(at / 2, keys[from] as u64 | (keys[from + 1] as u64) << 32);
    }

    #[inline(always)]
    fn get_four<const N: usize>(slots: Shared<Self>, at: u32, keys: &mut [Self; N], to: usize) {
        [keys[to], keys[to + 1], keys[to + 2], keys[to + 3]] = slots.get_pack(at / 4);
    }

    #[inline(always)]
    fn set_four<const N: usize>(slots: Shared<Self>, at: u32, keys: &[Self; N], from: usize) {
        slots.set_pack(at / 4, [keys[from], keys[from + 1], keys[from + 2], keys[from + 3]]);
    }
}

impl Key for u64 {
    const HALVES: u32 = 2;

    #[inline(always)]
    fn bits(self) -> u64 {
        self
    }

    #[inline(always)]
    fn from_bits(bits: u64) -> Self {
        bits
    }

    #[inline(always)]
    fn after(self, shift: u32) -> u32 {
        ((self << shift) >> 32) as u32
    }

    #[inline(always)]
    fn digit_at(self, shift: u32, bits: u32) -> u32 {
        (self >> shift) as u32 & ((1 << bits) - 1)
    }

    #[inline(always)]
    fn top(self) -> u32 {
        (self >> 32) as u32
    }

    #[inline(always)]
    fn get_two<const N: usize>(slots: Shared<Self>, at: u32, keys: &mut [Self; N], to: usize) {
        [keys[to], keys[to + 1]] = slots.get_pack(at / 2);
    }

    #[inline(always)]
    fn set_two<const N: usize>(slots: Shared<Self>, at: u32, keys: &[Self; N], from: usize) {
        slots.set_pack(at / 2, [keys[from], keys[from + 1]]);
    }

    #[inline(always)]
    fn get_four<const N: usize>(slots: Shared<Self>, at: u32, keys: &mut [Self; N], to: usize) {
        Self::get_two(slots, at, keys, to);
        Self::get_two(slots, at + 2, keys, to + 2);
    }

    #[inline(always)]
    fn set_four<const N: usize>(slots: Shared<Self>, at: u32, keys: &[Self; N], from: usize) {
        Self::set_two(slots, at, keys, from);
        Self::set_two(slots, at + 2, keys, from + 2);
    }
}

/// How keys are read first and written last: as they are, or mapped to unsigned words and back.
pub trait Mapping: 'static {
    /// The key as a word whose unsigned order is the key's.
    fn encode<W: Word>(key: W, order: u32) -> W;
    /// The inverse.
    fn decode<W: Word>(word: W, order: u32) -> W;
}

/// Keys are unsigned words already; nothing is done to them.
pub struct Plain;

/// Keys are of the type that `order` names, see [`crate::keys`].
pub struct Mapped;

impl Mapping for Plain {
    #[inline(always)]
    fn encode<W: Word>(key: W, _: u32) -> W {
        key
    }

    #[inline(always)]
    fn decode<W: Word>(word: W, _: u32) -> W {
        word
    }
}

impl Mapping for Mapped {
    #[inline(always)]
    fn encode<W: Word>(key: W, order: u32) -> W {
        key.encode(order)
    }

    #[inline(always)]
    fn decode<W: Word>(word: W, order: u32) -> W {
        word.decode(order)
    }
}
