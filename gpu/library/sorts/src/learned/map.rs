//! The map from keys to buckets: a table over equal ranges of the keys, and how a kernel looks a bucket up.

use crate::msd::{Buckets, Key};
use crate::steps::{leading_zeros, uniform};
use simt::math::mul_hi;
use simt::{Global, Shared, opaque, thread};

/// Binary logarithm of the slices.
pub const SLICE_BITS: u32 = 12;
/// Slices: equal ranges of keys, each with a word of the table.
pub const SLICES: u32 = 1 << SLICE_BITS;

/// Bits of the number that the map gives a key. A bucket is told by the top ones: so slices need not end where buckets
/// do, which would make few buckets uneven.
pub const NUMBER_BITS: u32 = 16;

/// Words behind the table: the ends of both spans, two words each, and the shift.
const ENDS: u32 = 0;
const SHIFT: u32 = 8;
/// Words of a map in memory.
pub const MAP_WORDS: u32 = SLICES + 12;

/// Bytes of shared memory of a table.
pub const TABLE_SHARED: u32 = 4 * SLICES;

/// Keys from one to another.
#[derive(Clone, Copy)]
pub struct Span<W> {
    pub first: W,
    pub last: W,
}

impl<W: Key> Span<W> {
    /// The nearest key of the span.
    #[simt::device]
    fn nearest(self, key: W) -> W {
        key.max(self.first).min(self.last)
    }
}

/// The keys that are divided into slices: one span below the middle of all words, and one above. Between them is zero,
/// if keys are floats or signed: floats near zero have very many exponents, and few keys do. A key outside of the spans
/// counts as the nearest one inside.
#[derive(Clone, Copy)]
pub struct Range<W> {
    pub low: Span<W>,
    pub high: Span<W>,
    /// What places count from.
    from: W,
    /// Shifts the width of both spans to the top.
    shift: u32,
}

impl<W: Key> Range<W> {
    /// Of these spans, or a little more: slices begin at multiples of their width. A power of two is one of them, so no
    /// slice has floats of two exponents, which are twice as dense on one side as on the other.
    #[simt::device]
    pub fn new(low: Span<W>, high: Span<W>) -> Self {
        let [low, high] = [low, high].map(|Span { first, last }| [first.bits(), last.bits()]);
        let width = (low[1] - low[0]) + (high[1] - high[0]);
        // What rounding may add is less than that part of it.
        let most = width.saturating_add(width >> 8).min(W::LARGEST.bits());
        let shift = leading_zeros(most | 1) - (64 - 32 * W::HALVES);
        let within = (1 << (32 * W::HALVES - SLICE_BITS).saturating_sub(shift)) - 1;
        let (low, high) = ([low[0] & !within, (low[1] + within) & !within], [high[0] & !within, high[1]]);
        let [low, high] =
            [low, high].map(|[first, last]| Span { first: W::from_bits(first), last: W::from_bits(last) });
        Self { low, high, from: low.first.plus(high.first), shift }
    }

    /// The place of a key in the range, of 32 bits: the top [`SLICE_BITS`] are the slice.
    #[simt::device]
    pub fn place(self, key: W) -> u32 {
        self.low.nearest(key).plus(self.high.nearest(key)).above(self.from, self.shift)
    }

    /// The slice of a key.
    #[simt::device]
    pub fn slice(self, key: W) -> u32 {
        self.place(key) >> (32 - SLICE_BITS)
    }
}

/// Words that kernels look up, wherever they lie.
pub trait Table: Copy {
    /// Word `i`.
    fn word(self, i: u32) -> u32;
}

impl Table for Global<u32> {
    #[simt::device]
    fn word(self, i: u32) -> u32 {
        self.get(i)
    }
}

impl Table for Shared<u32> {
    #[simt::device]
    fn word(self, i: u32) -> u32 {
        self.get(i)
    }
}

/// The map. Word i of its table is the first number of slice i, in the upper half, and how many the slice has for
/// itself: the place in the slice says which of them a key gets. A slice without shares its number with neighbours. So
/// the map is monotone, and linear inside a slice.
#[derive(Clone, Copy)]
pub struct Map<W, T> {
    range: Range<W>,
    table: T,
    /// Takes a number to its bucket.
    shift: u32,
}

impl<W: Key, T: Table> Map<W, T> {
    /// The map of a range by a table, to `1 << bits` buckets.
    #[simt::device]
    pub fn new(range: Range<W>, table: T, bits: u32) -> Self {
        Self { range, table, shift: NUMBER_BITS - bits }
    }
}

impl<W: Key> Map<W, Global<u32>> {
    /// The map in memory to `1 << bits` buckets, whose table is read through the L1 cache. Whole warps call
    /// it: what is the same for all keys takes no register per thread.
    #[simt::device]
    #[track_caller]
    pub fn read(map: Global<u32>, bits: u32) -> Self {
        let words = map.slice(SLICES, MAP_WORDS - SLICES);
        let key = |i: u32| {
            let at = ENDS + 2 * i;
            let high = if W::HALVES == 2 { uniform(words.get(at + 1)) } else { 0 };
            W::from_bits(uniform(words.get(at)) as u64 | (high as u64) << 32)
        };
        let low = Span { first: key(0), last: key(1) };
        let high = Span { first: key(2), last: key(3) };
        let range = Range { low, high, from: low.first.plus(high.first), shift: uniform(words.get(SHIFT)) };
        Self::new(range, map.slice(0, SLICES), bits)
    }

    /// The same with its table in dynamic shared memory from byte `offset` on, copied by all `threads` of the block. A
    /// barrier has to come before the first look-up.
    #[simt::device]
    pub fn staged(self, offset: u32, threads: u32) -> Map<W, Shared<u32>> {
        let table = Shared::dynamic(offset, SLICES);
        let mut i = thread::thread_idx_x();
        while i < SLICES / 4 {
            table.set_pack(i, self.table.get_pack(i));
            i += threads;
        }
        Map { range: self.range, table, shift: self.shift }
    }
}

/// Writes what a map needs in addition to its table.
#[simt::device]
pub fn write_range<W: Key>(range: Range<W>, map: Global<u32>) {
    let words = map.slice(SLICES, MAP_WORDS - SLICES);
    let set = |i: u32, key: W| {
        words.set(ENDS + 2 * i, key.bits() as u32);
        words.set(ENDS + 2 * i + 1, (key.bits() >> 32) as u32);
    };
    set(0, range.low.first);
    set(1, range.low.last);
    set(2, range.high.first);
    set(3, range.high.last);
    words.set(SHIFT, range.shift);
}

impl<W: Key, T: Table> Map<W, T> {
    /// The number of a key.
    #[simt::device]
    fn number(self, key: W) -> u32 {
        let place = self.range.place(key);
        let word = self.table.word(place >> (32 - SLICE_BITS));
        mul_hi(place << SLICE_BITS, word & 0xffff) + (word >> 16)
    }
}

impl<W: Key, T: Table> Buckets<W> for Map<W, T> {
    #[simt::device]
    fn bucket(self, key: W) -> u32 {
        self.number(key) >> self.shift
    }

    #[simt::device]
    fn takes_long(self) -> bool {
        true
    }

    #[simt::device]
    fn hidden(self) -> Self {
        Self { range: Range { shift: opaque(self.range.shift), ..self.range }, ..self }
    }
}
