//! # Keys of any type as unsigned words
//!
//! Sorting kernels compare unsigned words. Signed integers and floats are mapped to them and back by functions that
//! keep the order; floats get the IEEE total order: -NaN < -∞ < … < -0.0 < +0.0 < … < +∞ < +NaN. A rung can apply the
//! map where it loads and stores a key; for those that do not, the kernels of [`crate::encode`] map an array in place.

use core::ops::BitXor;
use simt::{Global, Scalar};

/// A value of the parameter `order` of kernels that map keys: the word is an unsigned integer.
pub const UNSIGNED: u32 = 0;
/// The word is a signed integer: the map flips the sign bit.
pub const SIGNED: u32 = 1;
/// The word is a float: the map flips all bits of a negative one, the sign bit of others.
pub const FLOAT: u32 = 2;
/// Added to one of the others: the largest key comes first. Equal keys of a stable sort keep their order.
pub const DESCENDING: u32 = 4;

/// A word that carries a key.
pub trait Word: Scalar {
    /// The key's bits as a word whose unsigned order is the key's.
    fn encode(self, order: u32) -> Self;
    /// The inverse of [`Word::encode`].
    fn decode(self, order: u32) -> Self;
}

/// What an order does to the bits of a key. It is the same for all keys of a launch, so a kernel computes it once.
struct Flips<W> {
    /// The bits that are flipped in every key.
    every: W,
    /// The bits that are flipped besides in a negative key.
    negative: W,
    /// The bits of a mapped key that are flipped to give back the key's sign bit: all, or none where the order is
    /// descending.
    sign: W,
}

trait Orders: Sized {
    fn flips(order: u32) -> Flips<Self>;
}

macro_rules! words {
    ($($t:ty, $signed:ty);*) => {$(
        impl Orders for $t {
            #[simt::device]
            fn flips(order: u32) -> Flips<Self> {
                const SIGN: $t = 1 << (<$t>::BITS - 1);
                let (kind, ascending) = (order & !DESCENDING, order & DESCENDING == 0);
                let sign = if kind == UNSIGNED { 0 } else { SIGN };
                Flips {
                    every: if ascending { sign } else { !sign },
                    negative: if kind == FLOAT { !SIGN } else { 0 },
                    sign: if ascending { <$t>::MAX } else { 0 },
                }
            }
        }

        impl Word for $t {
            #[simt::device]
            fn encode(self, order: u32) -> Self {
                let Flips { every, negative, .. } = <$t>::flips(order);
                // The arithmetic shift gives all ones for a negative key, zeros for others.
                self ^ (self as $signed >> (<$t>::BITS - 1)) as $t & negative ^ every
            }

            #[simt::device]
            fn decode(self, order: u32) -> Self {
                let Flips { every, negative, sign } = <$t>::flips(order);
                self ^ ((self ^ sign) as $signed >> (<$t>::BITS - 1)) as $t & negative ^ every
            }
        }
    )*};
}
words!(u32, i32; u64, i64);

/// The keys of sorts that compare: unsigned words. The host maps other types to them and keeps their order.
pub trait Key: Scalar + Ord + BitXor<Output = Self> {
    /// The largest key. A place without a key counts as holding it: no key moves behind it, and real keys of that value
    /// are equal to it.
    const LAST: Self;
    /// The smallest key.
    const FIRST: Self;
}

impl Key for u32 {
    const LAST: Self = u32::MAX;
    const FIRST: Self = 0;
}

impl Key for u64 {
    const LAST: Self = u64::MAX;
    const FIRST: Self = 0;
}

/// Key `i`, or the largest key if there is no key `i`.
#[simt::device]
pub fn key_or_last<T: Key>(keys: Global<T>, i: u32) -> T {
    if i < keys.len() { keys.get(i) } else { T::LAST }
}

/// Writes key `i` if there is a key `i`.
#[simt::device]
pub fn set_if_inside<T: Key>(keys: Global<T>, i: u32, key: T) {
    if i < keys.len() {
        keys.set(i, key);
    }
}
