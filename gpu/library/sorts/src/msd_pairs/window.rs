//! The slots of a block that sorts a bucket.

use crate::msd::ITEMS;
use core::marker::PhantomData;
use simt::{opaque, thread, unroll};

/// Threads of a block; each has `ITEMS` slots.
pub trait Block: Copy + 'static {
    /// Threads, at most 512: numbers of slots are words of 13 bits.
    const THREADS: u32;
    /// Blocks per SM that the compiler makes room for.
    const BLOCKS: u32;
    /// Rows of slots that are full in nearly all buckets of as many pairs as the block is for.
    const FULL_ROWS: u32;
    /// Bytes per thread of spilled registers that are accepted: more without the registers that Hopper has for values
    /// that are the same in a warp, such as the least key of the bucket.
    const SPILLS: u32 = if cfg!(sm_90) { 8 } else { 16 };
    /// Whether keys of a bucket may differ in any bit, since it is one of a learned map.
    const MAPPED: bool = false;

    /// Slots.
    const SLOTS: u32 = Self::THREADS * ITEMS;
    /// Pairs that fit: the block reads from a multiple of 128 bytes on, which can take up to 31 slots.
    const MOST: u32 = Self::SLOTS - 31;
}

/// For buckets of up to 4577 pairs.
#[derive(Clone, Copy)]
pub struct LargeBuckets;

impl Block for LargeBuckets {
    const THREADS: u32 = 384;
    const BLOCKS: u32 = 4;
    const FULL_ROWS: u32 = 10;
}

/// For buckets of up to 2657 pairs.
#[derive(Clone, Copy)]
pub struct SmallBuckets;

impl Block for SmallBuckets {
    const THREADS: u32 = 224;
    const BLOCKS: u32 = 6;
    const FULL_ROWS: u32 = 8;
}

/// For buckets by a map of up to 6113 pairs: such buckets are less even.
#[derive(Clone, Copy)]
pub struct LearnedBuckets;

impl Block for LearnedBuckets {
    const THREADS: u32 = 512;
    const BLOCKS: u32 = 3;
    const FULL_ROWS: u32 = 7;
    /// All in the two rounds of sparse buckets.
    const SPILLS: u32 = 72;
    const MAPPED: bool = true;
}

/// Fewest top bits: a word has room for a slot in their place.
pub const LEAST_TOP_BITS: u32 = 13;
const _: () = assert!(LargeBuckets::SLOTS <= 1 << LEAST_TOP_BITS && SmallBuckets::SLOTS <= 1 << LEAST_TOP_BITS);
const _: () = assert!(LearnedBuckets::SLOTS <= 1 << LEAST_TOP_BITS);

/// The slots `skip` to `filled` of the block, which have the pairs of the bucket; slot 0 stands for a pair whose number
/// is a multiple of 32.
pub struct Window<B> {
    /// Slots before the first pair.
    pub skip: u32,
    /// Slots up to the end of the last pair.
    pub filled: u32,
    /// The number of the pair of slot 0.
    pub first: u32,
    /// Bits of a slot, at the end of a word.
    pub top_bits: u32,
    /// What a word has less than its key: at most the least one.
    pub least: u32,
    /// Bits of the difference that the word does not keep, at its end: not zero in buckets of sparse keys alone.
    pub dropped: u32,
    /// Bits of all words that are zero in front.
    pub zeros: u32,
    block: PhantomData<B>,
}

impl<B: Block> Window<B> {
    /// The slots of the pairs from `start` up to `end`.
    #[simt::device]
    pub fn new(start: u32, end: u32) -> Self {
        let skip = start % 32;
        Self {
            skip,
            filled: skip + end - start,
            first: start - skip,
            top_bits: LEAST_TOP_BITS,
            least: 0,
            dropped: 0,
            zeros: 0,
            block: PhantomData,
        }
    }

    /// The same slots, with words that keep the differences from the least key, which have this number of `top_bits`
    /// that are zero. A difference is next to its slot: where equal keys abound, words are told apart by both.
    #[simt::device]
    pub fn from_least(&self, least: u32, top_bits: u32) -> Self {
        Self { least, top_bits: LEAST_TOP_BITS, zeros: top_bits - LEAST_TOP_BITS, ..*self }
    }

    /// The same slots, with words that keep other bits.
    #[simt::device]
    pub fn keeping(&self, least: u32, dropped: u32, top_bits: u32) -> Self {
        Self { least, dropped, top_bits, ..*self }
    }

    /// What a word keeps of a key, above the slot.
    #[simt::device]
    pub fn kept(&self, key: u32) -> u32 {
        let above = key.wrapping_sub(self.least);
        (if B::MAPPED { above >> self.dropped } else { above }) << self.top_bits
    }

    /// Calls `f` with the index of each pair that this thread has.
    #[simt::device]
    pub fn each<const FULL: bool>(&self, f: impl FnMut(usize)) {
        self.each_of::<FULL, { ITEMS as usize }>(0, f);
    }

    /// The same for the `N` pairs from `first` on.
    #[simt::device]
    pub fn each_of<const FULL: bool, const N: usize>(&self, first: usize, mut f: impl FnMut(usize)) {
        // Tests made again each time take no registers in between.
        let t = opaque(thread::thread_idx_x());
        // The same for all threads, so that it takes no register per thread.
        let behind = |i: usize| self.filled as i32 - (i as u32 * B::THREADS) as i32;
        let sure = |i: usize| FULL && i > 0 && (i as u32) < B::FULL_ROWS;
        unroll::<N>(|j| {
            let i = first + j;
            if sure(i) || (t as i32) < behind(i) && (i > 0 || t >= self.skip) {
                f(i);
            }
        });
    }
}
