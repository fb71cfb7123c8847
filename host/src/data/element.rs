//! The types of keys, for generic code.

use super::{Data, Dtype};
use half::{bf16, f16};

/// A type of keys. Implemented for the nine types of [`Dtype`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no type of keys",
    note = "keys are of type u8, u32, i32, f32, u64, i64, f64, f16 or bf16"
)]
pub trait Element: bytemuck::Pod + Send + Sync + std::fmt::Debug + PartialOrd {
    /// The type's name as data.
    const DTYPE: Dtype;
    /// The unsigned type of the same size.
    type Word: bytemuck::Pod + Ord + Send + Sync + std::fmt::Debug;

    /// The word that sorts among unsigned words as the key does among keys; [`from_word`](Self::from_word) is its
    /// inverse, on every bit pattern.
    ///
    /// Floats are in IEEE 754's total order: -NaN < -∞ < … < -0.0 < +0.0 < … < +∞ < +NaN.
    fn to_word(self) -> Self::Word;
    /// The key of a word.
    fn from_word(word: Self::Word) -> Self;

    /// The data of these keys.
    fn wrap(keys: Vec<Self>) -> Data;
    /// The keys of this data.
    ///
    /// # Errors
    /// The data itself if it is of another type.
    fn unwrap(data: Data) -> Result<Vec<Self>, Data>;

    /// The key as text, with the sign of a NaN.
    fn show(self) -> String;

    /// The value at `position` of the type's range, stretched over all `u64`, rising with it. Integers: the whole
    /// range. Floats: [-1, 1) in equal steps of 2⁻²³ (`f32`), 2⁻⁵² (`f64`), 2⁻¹¹ (`f16`) or 2⁻⁸ (`bf16`).
    fn at(position: u64) -> Self;
    /// The value whose bits are the low bits of `pattern`.
    fn from_pattern(pattern: u64) -> Self;
    /// A small whole number: 0 to 2²⁴ in the types that hold it, and negative ones where there is a sign. `u8` takes
    /// the low bits, `f16` and `bf16` are the nearest finite number.
    fn from_whole(whole: i32) -> Self;
    /// Floats: the nearest finite number to `x`; integers: the value at position (x + 8) / 16 of the range, or at the
    /// nearer end of it.
    fn from_spread(x: f64) -> Self;
    /// The values at which sorts go wrong first.
    const CORNERS: &'static [Self];
    /// Whether there are negative values.
    const SIGNED: bool;
}

macro_rules! elements {
    (@@ $from:ident,) => { Self::at((($from + 8.0) * (1_u64 << 60) as f64) as u64) };
    (@@ $from:ident, $x:ident => $from_spread:expr) => {{ let $x = $from; $from_spread }};
    (@ $T:ident, $from:ident,) => { $from as $T };
    (@ $T:ident, $from:ident, $whole:ident => $from_whole:expr) => {{ let $whole = $from; $from_whole }};
    ($($T:ident, $Word:ident, $variant:ident, signed $signed:literal,
       to_word |$key:ident| $to:expr, from_word |$word:ident| $from:expr,
       at |$position:ident| $at:expr, $(from_spread |$x:ident| $from_spread:expr,)?
       $(from_whole |$whole:ident| $from_whole:expr,)?
       from_pattern |$pattern:ident| $from_pattern:expr, show |$shown:ident| $show:expr,
       corners [$($corner:expr),*];)*) => {$(
        impl Element for $T {
            const DTYPE: Dtype = Dtype::$variant;
            type Word = $Word;
            #[inline]
            fn to_word(self) -> $Word { let $key = self; $to }
            #[inline]
            fn from_word($word: $Word) -> Self { $from }
            fn wrap(keys: Vec<Self>) -> Data { Data::$variant(keys) }
            fn unwrap(data: Data) -> Result<Vec<Self>, Data> {
                match data {
                    Data::$variant(keys) => Ok(keys),
                    other => Err(other),
                }
            }
            fn show(self) -> String { let $shown = self; $show }
            #[inline]
            fn at($position: u64) -> Self { $at }
            #[inline]
            fn from_pattern($pattern: u64) -> Self { $from_pattern }
            #[inline]
            fn from_whole(whole: i32) -> Self { elements!(@ $T, whole, $($whole => $from_whole)?) }
            #[inline]
            fn from_spread(x: f64) -> Self { elements!(@@ x, $($x => $from_spread)?) }
            const CORNERS: &'static [Self] = &[$($corner),*];
            const SIGNED: bool = $signed;
        }
    )*};
}

const TOP16: u16 = 1 << 15;
const TOP32: u32 = 1 << 31;
const TOP64: u64 = 1 << 63;

// Signed integers: the sign bit turned over. Floats: a positive one gets its sign bit set, a negative one is turned
// over whole, because among negative floats the larger pattern is the smaller number.
elements! {
    u8, u8, U8, signed false, to_word |key| key, from_word |word| word,
        at |position| (position >> 56) as u8, from_pattern |pattern| pattern as u8, show |key| key.to_string(),
        corners [0, 1, 127, 128, 254, 255];
    u32, u32, U32, signed false, to_word |key| key, from_word |word| word,
        at |position| (position >> 32) as u32, from_pattern |pattern| pattern as u32, show |key| key.to_string(),
        corners [0, 1, TOP32 - 1, TOP32, u32::MAX - 1, u32::MAX];
    i32, u32, I32, signed true, to_word |key| key as u32 ^ TOP32, from_word |word| (word ^ TOP32) as i32,
        at |position| ((position ^ TOP64) >> 32) as i32, from_pattern |pattern| pattern as i32,
        show |key| key.to_string(),
        corners [i32::MIN, i32::MIN + 1, -1, 0, 1, i32::MAX - 1, i32::MAX];
    f32, u32, F32, signed true,
        to_word |key| { let bits = key.to_bits(); bits ^ (((bits as i32 >> 31) as u32) | TOP32) },
        from_word |word| f32::from_bits(word ^ ((((!word) as i32 >> 31) as u32) | TOP32)),
        at |position| ((position ^ TOP64) as i64 >> 40) as f32 * (1.0 / (1_u32 << 23) as f32),
        from_spread |x| (x as f32).clamp(f32::MIN, f32::MAX),
        from_pattern |pattern| f32::from_bits(pattern as u32),
        show |key| if key.is_nan() && key.is_sign_negative() { "-NaN".into() } else { format!("{key:?}") },
        corners [f32::from_bits(0xFFC0_0000), f32::NEG_INFINITY, f32::MIN, -1.0, -f32::MIN_POSITIVE, -1e-45, -0.0,
            0.0, 1e-45, f32::MIN_POSITIVE, 1.0, f32::MAX, f32::INFINITY, f32::from_bits(0x7FC0_0000),
            f32::from_bits(u32::MAX), f32::from_bits(u32::MAX >> 1)];
    u64, u64, U64, signed false, to_word |key| key, from_word |word| word,
        at |position| position, from_pattern |pattern| pattern, show |key| key.to_string(),
        corners [0, 1, u32::MAX as u64, 1 << 32, TOP64 - 1, TOP64, u64::MAX - 1, u64::MAX];
    i64, u64, I64, signed true, to_word |key| key as u64 ^ TOP64, from_word |word| (word ^ TOP64) as i64,
        at |position| (position ^ TOP64) as i64, from_pattern |pattern| pattern as i64, show |key| key.to_string(),
        corners [i64::MIN, i64::MIN + 1, -(1 << 32), -1, 0, 1, 1 << 32, i64::MAX - 1, i64::MAX];
    f64, u64, F64, signed true,
        to_word |key| { let bits = key.to_bits(); bits ^ (((bits as i64 >> 63) as u64) | TOP64) },
        from_word |word| f64::from_bits(word ^ ((((!word) as i64 >> 63) as u64) | TOP64)),
        at |position| ((position ^ TOP64) as i64 >> 11) as f64 * (1.0 / (1_u64 << 52) as f64),
        from_spread |x| x,
        from_pattern |pattern| f64::from_bits(pattern),
        show |key| if key.is_nan() && key.is_sign_negative() { "-NaN".into() } else { format!("{key:?}") },
        corners [f64::from_bits(0xFFF8 << 48), f64::NEG_INFINITY, f64::MIN, -1.0, -f64::MIN_POSITIVE, -5e-324, -0.0,
            0.0, 5e-324, f64::MIN_POSITIVE, 1.0, f64::MAX, f64::INFINITY, f64::from_bits(0x7FF8 << 48),
            f64::from_bits(u64::MAX), f64::from_bits(u64::MAX >> 1)];
    f16, u16, F16, signed true,
        to_word |key| { let bits = key.to_bits(); bits ^ (((bits as i16 >> 15) as u16) | TOP16) },
        from_word |word| f16::from_bits(word ^ ((((!word) as i16 >> 15) as u16) | TOP16)),
        at |position| f16::from_f32(((position ^ TOP64) as i64 >> 52) as f32 * (1.0 / 2048.0)),
        from_spread |x| f16::from_f32(x as f32).clamp(f16::MIN, f16::MAX),
        from_whole |whole| f16::from_f32(whole as f32).clamp(f16::MIN, f16::MAX),
        from_pattern |pattern| f16::from_bits(pattern as u16),
        show |key| if key.is_nan() && key.is_sign_negative() { "-NaN".into() } else { format!("{key:?}") },
        corners [f16::from_bits(0xFE00), f16::NEG_INFINITY, f16::MIN, f16::NEG_ONE, f16::from_bits(0x8400),
            f16::from_bits(TOP16 + 1), f16::NEG_ZERO, f16::ZERO, f16::from_bits(1), f16::MIN_POSITIVE, f16::ONE,
            f16::MAX, f16::INFINITY, f16::from_bits(0x7E00), f16::from_bits(u16::MAX), f16::from_bits(u16::MAX >> 1)];
    bf16, u16, Bf16, signed true,
        to_word |key| { let bits = key.to_bits(); bits ^ (((bits as i16 >> 15) as u16) | TOP16) },
        from_word |word| bf16::from_bits(word ^ ((((!word) as i16 >> 15) as u16) | TOP16)),
        at |position| bf16::from_f32(((position ^ TOP64) as i64 >> 55) as f32 * (1.0 / 256.0)),
        from_spread |x| bf16::from_f32(x as f32).clamp(bf16::MIN, bf16::MAX),
        from_whole |whole| bf16::from_f32(whole as f32).clamp(bf16::MIN, bf16::MAX),
        from_pattern |pattern| bf16::from_bits(pattern as u16),
        show |key| if key.is_nan() && key.is_sign_negative() { "-NaN".into() } else { format!("{key:?}") },
        corners [bf16::from_bits(0xFFC0), bf16::NEG_INFINITY, bf16::MIN, bf16::NEG_ONE, bf16::from_bits(0x8080),
            bf16::from_bits(TOP16 + 1), bf16::NEG_ZERO, bf16::ZERO, bf16::from_bits(1), bf16::MIN_POSITIVE, bf16::ONE,
            bf16::MAX, bf16::INFINITY, bf16::from_bits(0x7FC0), bf16::from_bits(u16::MAX),
            bf16::from_bits(u16::MAX >> 1)];
}
