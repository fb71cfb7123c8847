//! Keys of any type: their types and order, and how they are made.
//!
//! | part | contents |
//! | --- | --- |
//! | [`Dtype`], [`Data`], [`Element`] | the nine types, a vector of any of them, and a trait for generic code |
//! | [`sorted`], [`stable_sorted`], [`Words`] | the order of keys, and keys as the unsigned words that sort so |
//! | [`Distribution`] | input from a seed, the same on every machine |
//! | [`Size`], [`MatrixSize`] | sizes as people write them |

mod element;
mod generate;
mod memory;
mod order;
mod size;

pub use element::Element;
pub use generate::Distribution;
pub use half::{bf16, f16};
pub use memory::{Room, available as memory_available, check as memory_check};
pub use order::{Words, sorted, stable_sorted};
pub use size::{MatrixSize, Size};

use crate::{Error, Result};
use serde::{Deserialize, Serialize};
use std::{fmt, str::FromStr};

#[cfg(target_endian = "big")]
compile_error!("files are read and written as little-endian memory: this host's byte order is the other one");

/// The type of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Dtype {
    /// Bytes.
    U8,
    /// Unsigned, 32 bits.
    U32,
    /// Signed, 32 bits.
    I32,
    /// Binary floating point, 32 bits.
    F32,
    /// Unsigned, 64 bits.
    U64,
    /// Signed, 64 bits.
    I64,
    /// Binary floating point, 64 bits.
    F64,
    /// Binary floating point, 16 bits, 11 of them significant.
    F16,
    /// The upper half of an [`F32`](Self::F32).
    Bf16,
}

/// Runs `$body` with the type `$T` that a [`Dtype`](crate::data::Dtype) stands for: `for_dtype!(dtype, T => f::<T>())`.
#[doc(hidden)]
#[macro_export]
macro_rules! for_dtype {
    ($dtype:expr, $T:ident => $body:expr) => {
        match $dtype {
            $crate::data::Dtype::U8 => {
                type $T = u8;
                $body
            }
            $crate::data::Dtype::U32 => {
                type $T = u32;
                $body
            }
            $crate::data::Dtype::I32 => {
                type $T = i32;
                $body
            }
            $crate::data::Dtype::F32 => {
                type $T = f32;
                $body
            }
            $crate::data::Dtype::U64 => {
                type $T = u64;
                $body
            }
            $crate::data::Dtype::I64 => {
                type $T = i64;
                $body
            }
            $crate::data::Dtype::F64 => {
                type $T = f64;
                $body
            }
            $crate::data::Dtype::F16 => {
                type $T = $crate::data::f16;
                $body
            }
            $crate::data::Dtype::Bf16 => {
                type $T = $crate::data::bf16;
                $body
            }
        }
    };
}
pub use for_dtype;

/// Runs `$body` with the vector inside a [`Data`], by value or by reference as `$data` is:
/// `for_data!(&data, v => v.len())`.
#[doc(hidden)]
#[macro_export]
macro_rules! for_data {
    ($data:expr, $keys:ident => $body:expr) => {
        match $data {
            $crate::data::Data::U8($keys) => $body,
            $crate::data::Data::U32($keys) => $body,
            $crate::data::Data::I32($keys) => $body,
            $crate::data::Data::F32($keys) => $body,
            $crate::data::Data::U64($keys) => $body,
            $crate::data::Data::I64($keys) => $body,
            $crate::data::Data::F64($keys) => $body,
            $crate::data::Data::F16($keys) => $body,
            $crate::data::Data::Bf16($keys) => $body,
        }
    };
}
pub use for_data;

impl Dtype {
    /// All types, in the order in which messages name them.
    pub const ALL: [Self; 9] =
        [Self::U8, Self::U32, Self::I32, Self::F32, Self::U64, Self::I64, Self::F64, Self::F16, Self::Bf16];

    /// The name in the program and in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::U8 => "u8",
            Self::U32 => "u32",
            Self::I32 => "i32",
            Self::F32 => "f32",
            Self::U64 => "u64",
            Self::I64 => "i64",
            Self::F64 => "f64",
            Self::F16 => "f16",
            Self::Bf16 => "bf16",
        }
    }

    /// Bytes of one key.
    pub const fn size(self) -> usize {
        match self {
            Self::U8 => 1,
            Self::F16 | Self::Bf16 => 2,
            Self::U32 | Self::I32 | Self::F32 => 4,
            Self::U64 | Self::I64 | Self::F64 => 8,
        }
    }

    /// Whether this is a floating-point type.
    pub const fn is_float(self) -> bool {
        matches!(self, Self::F32 | Self::F64 | Self::F16 | Self::Bf16)
    }
}

impl fmt::Display for Dtype {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Dtype {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        let known = Self::ALL.map(Self::name);
        let at = known.iter().position(|known| *known == name);
        at.map(|i| Self::ALL[i]).ok_or_else(|| Error::unknown("type", name, &known))
    }
}

/// A vector of keys of one of the types. Equality is of bits: NaN equals itself, and -0.0 is not 0.0.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "each variant is the vector of the type it is named after")]
pub enum Data {
    U8(Vec<u8>),
    U32(Vec<u32>),
    I32(Vec<i32>),
    F32(Vec<f32>),
    U64(Vec<u64>),
    I64(Vec<i64>),
    F64(Vec<f64>),
    F16(Vec<f16>),
    Bf16(Vec<bf16>),
}

impl Data {
    /// The number of keys.
    pub fn len(&self) -> usize {
        for_data!(self, keys => keys.len())
    }

    /// Whether there are no keys.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The type of the keys.
    pub fn dtype(&self) -> Dtype {
        match self {
            Self::U8(_) => Dtype::U8,
            Self::U32(_) => Dtype::U32,
            Self::I32(_) => Dtype::I32,
            Self::F32(_) => Dtype::F32,
            Self::U64(_) => Dtype::U64,
            Self::I64(_) => Dtype::I64,
            Self::F64(_) => Dtype::F64,
            Self::F16(_) => Dtype::F16,
            Self::Bf16(_) => Dtype::Bf16,
        }
    }

    /// The keys as bytes, little-endian.
    pub fn as_bytes(&self) -> &[u8] {
        for_data!(self, keys => bytemuck::cast_slice(keys))
    }

    /// The keys, if they are of type `T`.
    pub fn as_slice<T: Element>(&self) -> Option<&[T]> {
        // One of the nine types is T: bytemuck's cast between equal types cannot fail, and it is never made otherwise.
        (self.dtype() == T::DTYPE).then(|| bytemuck::cast_slice(self.as_bytes()))
    }

    /// The keys themselves, if they are of type `T`.
    ///
    /// # Errors
    /// The data itself if it is of another type.
    pub fn into_vec<T: Element>(self) -> std::result::Result<Vec<T>, Self> {
        T::unwrap(self)
    }

    /// Where the bits first differ, or one ends: the index and both values as text.
    ///
    /// # Panics
    /// If the types differ.
    pub fn first_difference(&self, other: &Self) -> Option<Difference> {
        assert_eq!(self.dtype(), other.dtype(), "only data of one type can be compared");
        let width = self.dtype().size();
        let (ours, theirs) = (self.as_bytes(), other.as_bytes());
        if ours == theirs {
            return None;
        }
        let byte = ours.iter().zip(theirs).position(|(a, b)| a != b).unwrap_or(ours.len().min(theirs.len()));
        let index = byte / width;
        Some(Difference { index, left: self.show(index), right: other.show(index) })
    }

    /// The key at `index` as text: NaN with its sign, zero with its sign, "nothing" past the end.
    pub fn show(&self, index: usize) -> String {
        for_data!(self, keys => keys.get(index).map_or("nothing".into(), |key| key.show()))
    }
}

impl PartialEq for Data {
    fn eq(&self, other: &Self) -> bool {
        self.dtype() == other.dtype() && self.as_bytes() == other.as_bytes()
    }
}

impl Eq for Data {}

impl<T: Element> From<Vec<T>> for Data {
    fn from(keys: Vec<T>) -> Self {
        T::wrap(keys)
    }
}

/// Where two [`Data`] first differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The first index whose keys differ.
    pub index: usize,
    /// The key of the first there.
    pub left: String,
    /// The key of the second there.
    pub right: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        for dtype in Dtype::ALL {
            assert_eq!(dtype.to_string().parse::<Dtype>().unwrap(), dtype);
            assert_eq!(for_dtype!(dtype, T => (T::DTYPE, size_of::<T>())), (dtype, dtype.size()));
        }
        assert_eq!("u23".parse::<Dtype>().unwrap_err().to_string(), "there is no type called 'u23'; did you mean u32?");
    }

    #[test]
    fn equality_is_of_bits() {
        let data = |keys: [f32; 3]| Data::from(keys.to_vec());
        assert_eq!(data([f32::NAN, 0.0, 1.0]), data([f32::NAN, 0.0, 1.0]));
        let left = data([f32::NAN, 0.0, 1.0]);
        assert_ne!(left, data([f32::NAN, -0.0, 1.0]));
        assert_eq!(
            left.first_difference(&data([f32::NAN, -0.0, 1.0])),
            Some(Difference { index: 1, left: "0.0".into(), right: "-0.0".into() })
        );
        assert_eq!(data([1.0, 2.0, 3.0]).first_difference(&Data::from(vec![1.0_f32])).unwrap().right, "nothing");
        assert_eq!(data([1.0, 2.0, -f32::NAN]).show(2), "-NaN");
    }

    #[test]
    fn views() {
        let data = Data::from(vec![1_u32, 0x0203_0405]);
        assert_eq!(data.as_bytes(), [1, 0, 0, 0, 5, 4, 3, 2]);
        assert_eq!(data.as_slice::<u32>(), Some(&[1, 0x0203_0405][..]));
        assert_eq!(data.as_slice::<i32>(), None);
        assert_eq!(data.into_vec::<u32>().unwrap(), [1, 0x0203_0405]);
    }
}
