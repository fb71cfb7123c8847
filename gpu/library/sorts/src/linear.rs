//! A linear map from keys to buckets: each has an equal part of the span of the keys, which a sample shows.
//!
//! Keys that fill all words have the whole span, and their top bits are the bucket. Numbers up to a million or
//! timestamps fill a small part of it; their top bits are the same, or nearly.

use crate::msd::{Buckets, Key};
use crate::steps::uniform;
use simt::Global;
use simt::math::mul_hi;

/// The margin at either end is the width of the sample shifted right by this. The keys of a sample of 2048 are so far
/// apart that two sets of uniform keys in ten million have a key beyond.
const MARGIN: u32 = 7;

/// What rounding adds to a scale is less than this part of it.
const ROUNDING: f32 = 1e-6;

/// Words of a map in memory.
pub const LINEAR_WORDS: u32 = 3;

/// The map of the 32 top bits of keys: k goes to bucket (k - least) · scale / 2³².
#[derive(Clone, Copy)]
pub struct Linear {
    /// The first key of the span.
    pub least: u32,
    /// The last key of the span, less the first.
    pub width: u32,
    /// What a distance from the first key is multiplied by. A multiple of the number of buckets of a digit that is cut
    /// off: the digit before it has a scale of its own.
    pub scale: u32,
}

impl Linear {
    /// The map of all words to `1 << bits` buckets, by the top bits.
    #[simt::device]
    pub const fn whole(bits: u32) -> Self {
        Self { least: 0, width: u32::MAX, scale: 1 << bits }
    }

    /// The map to `buckets` buckets, from whose numbers `cut` bits may be cut off, of keys of which a sample is between
    /// `least` and `greatest`.
    #[simt::device]
    pub fn of_sample((least, greatest): (u32, u32), buckets: u32, cut: u32) -> Self {
        let margin = ((greatest - least) >> MARGIN) + 1;
        let least = least.saturating_sub(margin);
        let width = greatest.saturating_add(margin) - least;
        // The greatest key is in the last bucket, or before.
        let scale = (buckets as f32 * (65_536.0 * 65_536.0 * (1.0 - ROUNDING)) / width as f32) as u32;
        Self { least, width, scale: scale >> cut << cut }
    }

    /// The map without the last `cut` bits of a bucket's number.
    #[simt::device]
    pub fn without(self, cut: u32) -> Self {
        Self { scale: self.scale >> cut, ..self }
    }

    /// Writes the map.
    #[simt::device]
    pub fn write(self, words: Global<u32>) {
        words.set(0, self.least);
        words.set(1, self.width);
        words.set(2, self.scale);
    }

    /// The map that another launch has written. Whole warps call it: what is the same for all keys takes no register
    /// per thread.
    #[simt::device]
    #[track_caller]
    pub fn read(words: Global<u32>) -> Self {
        let [least, width, scale] = [words.get(0), words.get(1), words.get(2)];
        Self { least: uniform(least), width: uniform(width), scale: uniform(scale) }
    }
}

/// A key outside the span goes to the first or the last bucket: so the map is monotone, whatever the keys.
impl<W: Key> Buckets<W> for Linear {
    #[simt::device]
    fn bucket(self, key: W) -> u32 {
        mul_hi(key.top().saturating_sub(self.least).min(self.width), self.scale)
    }

    #[simt::device]
    fn hidden(self) -> Self {
        Self { least: simt::opaque(self.least), ..self }
    }
}
