//! What is sorted: keys, or keys with values.

use rungs_common::keys::{Key, Word};
use simt::{Global, Scalar};

/// What a kernel gets of the caller.
#[derive(Clone, Copy)]
pub struct Views<P: Items> {
    /// The keys, which are sorted where they are.
    pub keys: Global<P::Key>,
    /// The meaning of their bits, see [`rungs_common::keys`].
    pub order: u32,
    /// The values of the keys. If there are none, each key's value is its place.
    pub values: Global<u32>,
    /// Where the values go: another view, of as many elements as there are keys.
    pub moved: Global<u32>,
    /// The place of the first key in view.
    pub start: u32,
}

impl<P: Items> Views<P> {
    /// All keys, and their values if they have any.
    #[simt::device]
    pub fn new(keys: Global<P::Key>, order: u32, values: Global<u32>, moved: Global<u32>) -> Self {
        Self { keys, order, values, moved, start: 0 }
    }

    /// The `len` keys from key `start` on. Of these, offsets that are constants need no register for an address.
    #[simt::device]
    #[track_caller]
    pub fn part(self, start: u32, len: u32) -> Self {
        let moved = if self.moved.is_empty() { self.moved } else { self.moved.slice(start, len) };
        Self { keys: self.keys.slice(start, len), moved, start: self.start + start, ..self }
    }
}

/// A kind of items, and the word as which one is sorted.
pub trait Items: Copy + 'static {
    /// The word of a key in memory.
    type Key: Scalar;
    /// The word that is sorted: no two items that must keep their order have the same.
    type Word: Key + Word;
    /// Bits of the word, from the top, that say how keys that come in order are sorted.
    const KEY_BITS: u32;
    /// Length from which on there is something to do for a segment.
    const LEAST: u32;

    /// The word of item `at`.
    fn load(views: Views<Self>, at: u32) -> Self::Word;
    /// Puts an item to place `at`. The keys and values there have been loaded before.
    fn store(views: Views<Self>, at: u32, word: Self::Word);
}

/// Keys of 32 bits.
#[derive(Clone, Copy)]
pub struct Keys32;

/// Keys of 64 bits.
#[derive(Clone, Copy)]
pub struct Keys64;

/// Keys of 32 bits, each with a value of 32 bits. Equal keys keep their order: a word has the key's place below the
/// key.
#[derive(Clone, Copy)]
pub struct Pairs32;

macro_rules! keys {
    ($($Keys:ty: $W:ty),*) => {$(
        impl Items for $Keys {
            type Key = $W;
            type Word = $W;
            const KEY_BITS: u32 = <$W>::BITS;
            const LEAST: u32 = 2;

            #[simt::device]
            #[track_caller]
            fn load(views: Views<Self>, at: u32) -> $W {
                views.keys.get(at).encode(views.order)
            }

            #[simt::device]
            #[track_caller]
            fn store(views: Views<Self>, at: u32, word: $W) {
                views.keys.set(at, word.decode(views.order));
            }
        }
    )*};
}
keys!(Keys32: u32, Keys64: u64);

impl Items for Pairs32 {
    type Key = u32;
    type Word = u64;
    const KEY_BITS: u32 = 32;
    const LEAST: u32 = 1;

    #[simt::device]
    #[track_caller]
    fn load(views: Views<Self>, at: u32) -> u64 {
        (views.keys.get(at).encode(views.order) as u64) << 32 | (views.start + at) as u64
    }

    #[simt::device]
    #[track_caller]
    fn store(views: Views<Self>, at: u32, word: u64) {
        let place = word as u32;
        views.keys.set(at, ((word >> 32) as u32).decode(views.order));
        views.moved.set(at, if views.values.is_empty() { place } else { views.values.get(place) });
    }
}
