//! The states of tiles, which blocks exchange inside a launch: a tag and a value, written so that no block sees one
//! without the other.
//!
//! A 64-bit word holds the tag and 32 bits of the value, and is written and read as one. A value of 64 bits takes two
//! such words; it is complete when both have the same tag. So no fence is needed: no other data has to be seen together
//! with the word, and every access can be relaxed.

use simt::atomic::{Order::Relaxed, Scope::Device};
use simt::{Global, Scalar};

/// The tag of a word that has not been written.
pub const NOTHING: u32 = 0;

/// Words of a state with a value of type `T`.
pub const fn words<T>() -> u32 {
    size_of::<T>().div_ceil(4) as u32
}

/// Writes the state of `tile`.
#[simt::device]
#[track_caller]
pub fn publish<T: Scalar>(states: Global<u64>, tile: u32, tag: u32, value: T) {
    let (tag, bits) = ((tag as u64) << 32, value.to_bits_64());
    states.store(tile * words::<T>(), tag | bits & u32::MAX as u64, Relaxed, Device);
    if words::<T>() == 2 {
        states.store(tile * words::<T>() + 1, tag | bits >> 32, Relaxed, Device);
    }
}

/// Reads the state of `tile`; the tag is [`NOTHING`] while the state is missing or only half written.
#[simt::device]
#[track_caller]
pub fn look<T: Scalar>(states: Global<u64>, tile: u32) -> (u32, T) {
    let low = states.load(tile * words::<T>(), Relaxed, Device);
    let high = if words::<T>() == 2 { states.load(tile * words::<T>() + 1, Relaxed, Device) } else { low };
    let tag = if low >> 32 == high >> 32 { (low >> 32) as u32 } else { NOTHING };
    (tag, T::from_bits_64(high << 32 | low & u32::MAX as u64))
}
