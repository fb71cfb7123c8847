//! The linear map with a last bucket for keys outside the span, which no key inside has: then pairs go by digits.

use crate::linear::Linear;
use crate::msd::Buckets;
use crate::steps::{leading_zeros, uniform};
use simt::Global;
use simt::math::mul_hi;

/// Where a map lies in the controls.
pub const LINEAR: u32 = 16;
/// Words of a map: the least key, the scale, the width of a bucket, and in how many top bits no two keys of a bucket
/// differ once the least that it may have is taken off them.
pub const LINEAR_WORDS: u32 = 4;

/// How many of the `bits` of a bucket's number are the digit of the second partition.
#[simt::device]
pub const fn second_bits(bits: u32) -> u32 {
    bits / 2
}

/// The map of keys inside the span, and where others go.
#[derive(Clone, Copy)]
pub struct LinearOrLast {
    inside: Linear,
    /// The number of the last bucket.
    last: u32,
}

impl LinearOrLast {
    /// The map of all words to `1 << bits` buckets, by the top bits.
    #[simt::device]
    pub fn whole(bits: u32) -> Self {
        Self { inside: Linear::whole(bits), last: (1 << bits) - 1 }
    }

    /// The map to `1 << bits` buckets of keys of which a sample is between `least` and `greatest`.
    #[simt::device]
    pub fn of_sample((least, greatest): (u32, u32), bits: u32) -> Self {
        let (all, last) = (Self::whole(bits), (1 << bits) - 1);
        let inside = Linear::of_sample((least, greatest), last, second_bits(bits));
        if inside.scale <= all.inside.scale { all } else { Self { inside, last } }
    }

    /// The bucket of a key, the last one if it is outside the span.
    #[simt::device]
    pub fn bucket_of(self, key: u32) -> u32 {
        let Linear { least, width, scale } = self.inside;
        let above = key.wrapping_sub(least);
        if above <= width { mul_hi(above, scale) } else { self.last }
    }

    /// Writes what other launches need.
    #[simt::device]
    pub fn write(self, bits: u32, control: Global<u32>) {
        let scale = u64::from(self.inside.scale);
        let in_bucket = (1 << 32) / scale;
        // Times `1 << (bits - 1)`. Rounding down puts the start of a bucket at most three keys too early.
        let width = (1 << (31 + bits)) / scale;
        let differ = if scale.is_power_of_two() { in_bucket - 1 } else { in_bucket + 3 };
        let top_bits = leading_zeros(differ) - 32;
        control.set_pack(LINEAR / LINEAR_WORDS, [self.inside.least, self.inside.scale, width as u32, top_bits]);
    }
}

impl Buckets<u32> for LinearOrLast {
    #[simt::device]
    fn bucket(self, key: u32) -> u32 {
        self.bucket_of(key)
    }

    #[simt::device]
    fn hidden(self) -> Self {
        Self { inside: <Linear as Buckets<u32>>::hidden(self.inside), ..self }
    }
}

/// The map that another launch has written. Whole warps call these functions: what is the same for all keys takes no
/// register per thread.
#[derive(Clone, Copy)]
pub struct Written([u32; LINEAR_WORDS as usize]);

impl Written {
    /// The map in the controls.
    #[simt::device]
    pub fn read(control: Global<u32>) -> Self {
        Self(control.get_pack(LINEAR / LINEAR_WORDS))
    }

    /// The first key of the span.
    #[simt::device]
    #[track_caller]
    pub fn least(self) -> u32 {
        uniform(self.0[0])
    }

    /// What the distance of a key from the first one is multiplied by: the upper half of the product is the bucket.
    #[simt::device]
    #[track_caller]
    pub fn scale(self) -> u32 {
        uniform(self.0[1])
    }

    /// The least key that bucket `b` may have, modulo 2³²: it may be beyond all keys.
    #[simt::device]
    #[track_caller]
    pub fn first_of(self, b: u32) -> u32 {
        let above = (u64::from(b) << 32).div_ceil(u64::from(self.scale()));
        self.least().wrapping_add(above as u32)
    }

    /// A key that is at most that, of `1 << bits` buckets, in fewer instructions.
    #[simt::device]
    #[track_caller]
    pub fn least_of(self, b: u32, bits: u32) -> u32 {
        let above = (u64::from(b) * u64::from(uniform(self.0[2]))) >> (bits - 1);
        self.least().wrapping_add(above as u32)
    }

    /// In how many top bits no two keys of a bucket differ once [`Written::least_of`] it is taken off them.
    #[simt::device]
    #[track_caller]
    pub fn top_bits(self) -> u32 {
        uniform(self.0[3])
    }

    /// Whether keys outside the span have the last bucket, of `1 << bits`, for themselves.
    #[simt::device]
    pub fn leaves_last(self, bits: u32) -> bool {
        self.0[1] != 1 << bits
    }
}
