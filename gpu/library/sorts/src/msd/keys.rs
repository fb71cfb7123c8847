//! Words that are sorted from the most significant digit, and how keys of other types become such words.

use crate::steps::Digits;
use rungs_common::keys::{DESCENDING, FLOAT, Word};
use simt::{Scalar, Shared, unroll, warp};

/// A word that is sorted.
pub trait Key: Digits {
    /// Halves of 32 bits per word.
    const HALVES: u32;
    /// Its 32 most significant bits, which hold the digits of the first partitions.
    fn top(self) -> u32;
    /// The word, with zeros above.
    fn bits(self) -> u64;
    /// The inverse of [`Key::bits`].
    fn from_bits(bits: u64) -> Self;
    /// How far the word is above `least`, shifted left by `shift`, fewer than 32 or 64: the top 32 bits.
    fn above(self, least: Self, shift: u32) -> u32;
    /// How far two floats, of which these are the words, are apart.
    fn apart(self, other: Self, order: u32) -> f32;
    /// The sum, modulo 2³² or 2⁶⁴.
    fn plus(self, other: Self) -> Self;
    /// The least of the words of a warp, in all lanes.
    fn least_of_warp(self) -> Self;
    /// The `bits` bits from bit `shift` on; they may lie across the halves.
    fn digit_at(self, shift: u32, bits: u32) -> u32;
    /// Copies slots `at` and `at + 1` to elements `to` and `to + 1` in one access. `at` is even.
    fn get_two<const N: usize>(slots: Shared<Self>, at: u32, keys: &mut [Self; N], to: usize);
    /// Copies elements `from` and `from + 1` to slots `at` and `at + 1` in one access. `at` is even.
    fn set_two<const N: usize>(slots: Shared<Self>, at: u32, keys: &[Self; N], from: usize);
    /// Copies four slots in as few accesses as their size allows. `at` is a multiple of 4.
    fn get_four<const N: usize>(slots: Shared<Self>, at: u32, keys: &mut [Self; N], to: usize);
    /// The inverse of [`Key::get_four`].
    fn set_four<const N: usize>(slots: Shared<Self>, at: u32, keys: &[Self; N], from: usize);
}

impl Key for u32 {
    const HALVES: u32 = 1;

    #[simt::device]
    fn bits(self) -> u64 {
        self as u64
    }

    #[simt::device]
    fn from_bits(bits: u64) -> Self {
        bits as Self
    }

    #[simt::device]
    fn above(self, least: Self, shift: u32) -> u32 {
        self.wrapping_sub(least) << shift
    }

    #[simt::device]
    fn apart(self, other: Self, order: u32) -> f32 {
        (f32::from_bits(self.decode(order)) - f32::from_bits(other.decode(order))).abs()
    }

    #[simt::device]
    fn plus(self, other: Self) -> Self {
        self.wrapping_add(other)
    }

    #[simt::device]
    #[track_caller]
    fn least_of_warp(self) -> Self {
        warp::reduce_min(warp::FULL, self)
    }

    #[simt::device]
    fn digit_at(self, shift: u32, bits: u32) -> u32 {
        self >> shift & ((1 << bits) - 1)
    }

    #[simt::device]
    fn top(self) -> u32 {
        self
    }

    #[simt::device]
    fn get_two<const N: usize>(slots: Shared<Self>, at: u32, keys: &mut [Self; N], to: usize) {
        let two = slots.cast::<u64>().get(at / 2);
        (keys[to], keys[to + 1]) = (two as u32, (two >> 32) as u32);
    }

    #[simt::device]
    fn set_two<const N: usize>(slots: Shared<Self>, at: u32, keys: &[Self; N], from: usize) {
        slots.cast::<u64>().set(at / 2, keys[from] as u64 | (keys[from + 1] as u64) << 32);
    }

    #[simt::device]
    fn get_four<const N: usize>(slots: Shared<Self>, at: u32, keys: &mut [Self; N], to: usize) {
        [keys[to], keys[to + 1], keys[to + 2], keys[to + 3]] = slots.get_pack(at / 4);
    }

    #[simt::device]
    fn set_four<const N: usize>(slots: Shared<Self>, at: u32, keys: &[Self; N], from: usize) {
        slots.set_pack(at / 4, [keys[from], keys[from + 1], keys[from + 2], keys[from + 3]]);
    }
}

impl Key for u64 {
    const HALVES: u32 = 2;

    #[simt::device]
    fn bits(self) -> u64 {
        self
    }

    #[simt::device]
    fn from_bits(bits: u64) -> Self {
        bits
    }

    #[simt::device]
    fn above(self, least: Self, shift: u32) -> u32 {
        ((self.wrapping_sub(least) << shift) >> 32) as u32
    }

    #[simt::device]
    fn apart(self, other: Self, order: u32) -> f32 {
        (f64::from_bits(self.decode(order)) - f64::from_bits(other.decode(order))).abs() as f32
    }

    #[simt::device]
    fn plus(self, other: Self) -> Self {
        self.wrapping_add(other)
    }

    #[simt::device]
    #[track_caller]
    fn least_of_warp(self) -> Self {
        let high = warp::reduce_min(warp::FULL, self.top());
        let low = warp::reduce_min(warp::FULL, if self.top() == high { self as u32 } else { u32::MAX });
        (high as u64) << 32 | low as u64
    }

    #[simt::device]
    fn digit_at(self, shift: u32, bits: u32) -> u32 {
        (self >> shift) as u32 & ((1 << bits) - 1)
    }

    #[simt::device]
    fn top(self) -> u32 {
        (self >> 32) as u32
    }

    #[simt::device]
    fn get_two<const N: usize>(slots: Shared<Self>, at: u32, keys: &mut [Self; N], to: usize) {
        [keys[to], keys[to + 1]] = slots.get_pack(at / 2);
    }

    #[simt::device]
    fn set_two<const N: usize>(slots: Shared<Self>, at: u32, keys: &[Self; N], from: usize) {
        slots.set_pack(at / 2, [keys[from], keys[from + 1]]);
    }

    #[simt::device]
    fn get_four<const N: usize>(slots: Shared<Self>, at: u32, keys: &mut [Self; N], to: usize) {
        Self::get_two(slots, at, keys, to);
        Self::get_two(slots, at + 2, keys, to + 2);
    }

    #[simt::device]
    fn set_four<const N: usize>(slots: Shared<Self>, at: u32, keys: &[Self; N], from: usize) {
        Self::set_two(slots, at, keys, from);
        Self::set_two(slots, at + 2, keys, from + 2);
    }
}

/// Whether the keys of an order are floats: their top bits do not spread them.
pub const fn is_float(order: u32) -> bool {
    order & !DESCENDING == FLOAT
}

/// What happens to keys when they are first read and last written: nothing, or a map to unsigned words and back.
pub trait Mapping: 'static {
    /// Whether keys are mapped.
    const MAPS: bool;
    /// The key as a word whose unsigned order is the key's.
    fn encode<W: Word>(key: W, order: u32) -> W;
    /// The inverse.
    fn decode<W: Word>(word: W, order: u32) -> W;
}

/// Keys are unsigned words already.
pub struct Plain;

/// Keys are of the type that `order` names, see [`rungs_common::keys`].
pub struct Mapped;

impl Mapping for Plain {
    const MAPS: bool = false;

    #[simt::device]
    fn encode<W: Word>(key: W, _: u32) -> W {
        key
    }

    #[simt::device]
    fn decode<W: Word>(word: W, _: u32) -> W {
        word
    }
}

impl Mapping for Mapped {
    const MAPS: bool = true;

    #[simt::device]
    fn encode<W: Word>(key: W, order: u32) -> W {
        key.encode(order)
    }

    #[simt::device]
    fn decode<W: Word>(word: W, order: u32) -> W {
        word.decode(order)
    }
}

/// Calls `f` with the index of each key in a 16-byte pack.
#[simt::device]
pub fn each_in_pack<W: Scalar>(mut f: impl FnMut(usize)) {
    unroll::<4>(|j| {
        if j < W::PACK as usize {
            f(j)
        }
    });
}
