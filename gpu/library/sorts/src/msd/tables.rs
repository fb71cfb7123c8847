//! Shared memory of a tile: its counters, and everything but its keys.

use super::{Buckets, Key};
use simt::{Shared, thread, warp};

/// 16-byte loads per thread and tile.
pub const PACKS: u32 = 4;

/// Most bits of a digit.
pub const MAX_BITS: u32 = 9;
/// Most buckets of a tile.
pub const MAX_BUCKETS: u32 = 1 << MAX_BITS;

/// Counters per tile.
const COUNTERS: u32 = 2048;

/// Binary logarithm of the counters per bucket. Lanes take turns in them, so that at most four lanes of a warp (eight
/// with [`MAX_BITS`]) meet in a counter or its bank, whatever the keys: equal keys take no longer than uniform ones,
/// of which about three meet in a bank anyway.
#[simt::device]
const fn copies_log2(bits: u32) -> u32 {
    let room = COUNTERS.ilog2() - bits;
    if room < 3 { room } else { 3 }
}
const _: () = assert!(copies_log2(MAX_BITS) >= 2, "the four counters of a thread belong to one bucket");

/// How the bucket of a key is found.
pub trait Digit<W>: Copy {
    /// Bits of a bucket's number.
    fn bits(self) -> u32;
    /// The number of the key's bucket times `1 << log2`.
    fn scaled(self, key: W, log2: u32) -> u32;

    /// Whether a tile notes the buckets of its keys rather than find them twice while the keys are in registers. They
    /// then have at most eight bits.
    #[simt::device]
    fn is_noted(self) -> bool {
        false
    }
}

/// Bytes of dynamic shared memory per tile: its keys, the counters, one offset per bucket, one sum per warp.
pub const fn tile_shared(threads: u32) -> u32 {
    PACKS * 16 * threads + 4 * (COUNTERS + MAX_BUCKETS + warp::WARP)
}

/// The shared memory of a tile without its keys.
#[derive(Clone, Copy)]
pub struct Tables {
    pub counters: Shared<u32>,
    pub offsets: Shared<u32>,
    pub sums: Shared<u32>,
    bits: u32,
}

impl Tables {
    /// For blocks of `threads` threads and digits of `bits` bits.
    #[simt::device]
    pub fn new(threads: u32, bits: u32) -> Self {
        let at = PACKS * 16 * threads;
        Self {
            counters: Shared::dynamic(at, COUNTERS),
            offsets: Shared::dynamic(at + 4 * COUNTERS, MAX_BUCKETS),
            sums: Shared::dynamic(at + 4 * (COUNTERS + MAX_BUCKETS), warp::WARP),
            bits,
        }
    }

    /// How many threads look after four counters each.
    #[simt::device]
    pub fn threads(self) -> u32 {
        1 << (self.bits + copies_log2(self.bits) - 2)
    }

    /// Zeroes this thread's counters.
    #[simt::device]
    pub fn clear(self) {
        if thread::thread_idx_x() < self.threads() {
            self.counters.set_pack(thread::thread_idx_x(), [0; 4]);
        }
    }

    /// The counter for a key of this lane.
    #[simt::device]
    pub fn counter<W: Key>(self, key: W, digit: impl Digit<W>) -> Shared<u32> {
        let log2 = copies_log2(self.bits);
        let copy = (warp::lane_id() & ((1 << log2) - 1)) * 4;
        self.counters.cast::<u8>().slice(digit.scaled(key, log2 + 2) | copy, 4).cast()
    }

    /// The counter for a key of this lane in a bucket.
    #[simt::device]
    pub fn counter_of(self, bucket: u32) -> Shared<u32> {
        let log2 = copies_log2(self.bits);
        self.counters.slice((bucket << log2) | (warp::lane_id() & ((1 << log2) - 1)), 1)
    }

    /// The difference between the places of a key in the output and in the tile.
    #[simt::device]
    pub fn offset<W: Key>(self, key: W, digit: impl Digit<W>) -> u32 {
        self.offsets.cast::<u8>().slice(digit.scaled(key, 2), 4).cast().get(0)
    }

    /// Whether this thread's warp has counters.
    #[simt::device]
    pub fn in_use(self) -> bool {
        thread::thread_idx_x() & !(warp::WARP - 1) < self.threads()
    }

    /// This thread's counters, in a warp that has some.
    #[simt::device]
    pub fn four(self) -> [u32; 4] {
        let t = thread::thread_idx_x();
        if t < self.threads() { self.counters.get_pack(t) } else { [0; 4] }
    }

    /// The bucket whose first counters this thread has.
    #[simt::device]
    pub fn bucket(self) -> Option<u32> {
        let (t, two) = (thread::thread_idx_x(), self.two());
        (t < self.threads() && t & two == 0).then_some(t >> two)
    }

    /// 1 if two neighbouring threads share a bucket, 0 if one thread has all of its counters.
    #[simt::device]
    fn two(self) -> u32 {
        copies_log2(self.bits) - 2
    }

    /// The counts of this thread and of its whole bucket. Called by warps that have counters.
    #[simt::device]
    #[track_caller]
    pub fn found(self) -> (u32, u32) {
        let [a, b, c, d] = self.four();
        let mine = a + b + c + d;
        let other = warp::shuffle_xor(warp::FULL, mine, self.two());
        (mine, if self.two() == 0 { mine } else { mine + other })
    }

    /// Calls `f` with each bucket that has keys, and their number, in the first thread of the bucket.
    #[simt::device]
    #[track_caller]
    pub fn each_bucket(self, f: impl FnOnce(u32, u32)) {
        if self.in_use() {
            let (_, found) = self.found();
            if let Some(bucket) = self.bucket()
                && found != 0
            {
                f(bucket, found);
            }
        }
    }
}

/// A digit of the 32 top bits, in the upper half of them.
#[derive(Clone, Copy)]
pub struct TopDigit {
    /// Its lowest bit.
    pub shift: u32,
    /// How many bits it has.
    pub bits: u32,
}

impl<W: Key> Digit<W> for TopDigit {
    #[simt::device]
    fn bits(self) -> u32 {
        self.bits
    }

    /// Taken out in place: one shift and one mask, which are the same for all keys.
    #[simt::device]
    fn scaled(self, key: W, log2: u32) -> u32 {
        key.top() >> (self.shift - log2) & (((1 << self.bits) - 1) << log2)
    }
}

/// The last bits of the number of a key's bucket. Where buckets are noted, at most eight.
#[derive(Clone, Copy)]
pub struct LastBits<B> {
    /// How buckets are found.
    pub buckets: B,
    /// How many bits.
    pub bits: u32,
}

impl<W: Key, B: Buckets<W>> Digit<W> for LastBits<B> {
    #[simt::device]
    fn bits(self) -> u32 {
        self.bits
    }

    #[simt::device]
    fn scaled(self, key: W, log2: u32) -> u32 {
        (self.buckets.bucket(key) & ((1 << self.bits) - 1)) << log2
    }

    #[simt::device]
    fn is_noted(self) -> bool {
        self.buckets.takes_long()
    }
}
