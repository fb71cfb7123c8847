//! Element types of views, their atomic operations, and those that groups of warps multiply.

use float8::{F8E4M3, F8E5M2};
use half::{bf16, f16};

mod sealed {
    pub trait Sealed {}
}

/// A type whose values a view can hold: integers and floats of 1 to 8 bytes, among them [`bf16`],
/// [`f16`](struct@f16), [`F8E4M3`] and [`F8E5M2`], and a [`Pair`] of numbers of 4 bytes.
///
/// Every bit pattern is a value, so a view can be read as another element type ([`crate::Global::cast`]).
pub trait Scalar: Copy + PartialEq + PartialOrd + Default + Send + Sync + sealed::Sealed + 'static {
    /// 16 bytes of this type, the size of one vector access.
    type Pack: Copy + Default + AsRef<[Self]> + AsMut<[Self]>;
    /// Elements in a [`Scalar::Pack`].
    const PACK: u32 = (16 / size_of::<Self>()) as u32;

    /// The value's bits, zero-extended to 64.
    #[inline(always)]
    fn to_bits_64(self) -> u64 {
        to_bits(self)
    }

    /// The value whose bits are the low ones of `word`.
    #[inline(always)]
    fn from_bits_64(word: u64) -> Self {
        from_bits(word)
    }
}

macro_rules! scalars {
    ($($t:ty: $n:literal),*) => {$(
        impl sealed::Sealed for $t {}
        impl Scalar for $t {
            type Pack = [$t; $n];
        }
    )*};
}
scalars!(u8: 16, i8: 16, F8E4M3: 16, F8E5M2: 16, u16: 8, i16: 8, bf16: 8, f16: 8);
scalars!(u32: 4, i32: 4, f32: 4, u64: 2, i64: 2, f64: 2);

/// Two elements of 4 bytes that a view holds as one of 8: a value and its weight, say, or the factor and the summand of
/// an affine map. Pairs are compared by the first, then the second.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
#[repr(C, align(8))]
pub struct Pair<A, B>(pub A, pub B);

macro_rules! pairs {
    ($($a:ty: $($b:ty)*;)*) => {$($(
        impl sealed::Sealed for Pair<$a, $b> {}
        impl Scalar for Pair<$a, $b> {
            type Pack = [Self; 2];
        }
    )*)*};
}
pairs!(u32: u32 i32 f32; i32: u32 i32 f32; f32: u32 i32 f32;);

/// The kinds of operands of atomics, in PTX and in the simulator.
#[doc(hidden)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    U32,
    I32,
    F32,
    U64,
    I64,
    F64,
}

/// A type with atomic operations: the 32- and 64-bit integers, and floats (addition and exchange only).
pub trait AtomicScalar: Scalar {
    /// The machine's operand kind of this type.
    #[doc(hidden)]
    const KIND: Kind;
}

macro_rules! atomic_scalars {
    ($($t:ty: $k:ident),*) => {$(
        impl AtomicScalar for $t {
            const KIND: Kind = Kind::$k;
        }
    )*};
}
atomic_scalars!(u32: U32, i32: I32, f32: F32, u64: U64, i64: I64, f64: F64);

/// What the tensor cores see of an operand of a product by four warps.
#[doc(hidden)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Seen {
    Tf32,
    Bf16,
    F16,
    E4m3,
    E5m2,
}

/// A type of elements that four warps multiply together, see [`crate::warpgroup`]: `f32`, of which the tensor cores see
/// a [`Tf32`](crate::mma::Tf32), [`bf16`], [`f16`](struct@f16), [`F8E4M3`] and [`F8E5M2`].
pub trait Operand: Scalar {
    /// What the tensor cores see of it.
    #[doc(hidden)]
    const SEEN: Seen;
}

macro_rules! operands {
    ($($t:ty: $seen:ident),*) => {$(
        impl Operand for $t {
            const SEEN: Seen = Seen::$seen;
        }
    )*};
}
operands!(f32: Tf32, bf16: Bf16, f16: F16, F8E4M3: E4m3, F8E5M2: E5m2);

/// An [`Operand`] of 8 bits: [`F8E4M3`] or [`F8E5M2`]. The two may be factors of one product.
pub trait Eight: Operand {}

impl Eight for F8E4M3 {}
impl Eight for F8E5M2 {}

/// How a tile in shared memory holds an operand of a product by four warps: A, or B whose rows are columns of the
/// product.
pub trait Lies {
    /// Whether a row of the tile is one k of the operand.
    const ACROSS: bool;
}

/// K-major: a row of the tile is a row of the operand, of [`Tile::DEPTH`](crate::warpgroup::Tile::DEPTH) elements.
#[derive(Clone, Copy, Debug)]
pub struct KMajor;

/// MN-major: a row of the tile is one k of 64 rows of the operand, of 16 bits per element: 64 rows of the tile are 64 k
/// of the operand's first 64 rows, the next 64 the same k of its next.
#[derive(Clone, Copy, Debug)]
pub struct MnMajor;

impl Lies for KMajor {
    const ACROSS: bool = false;
}

impl Lies for MnMajor {
    const ACROSS: bool = true;
}

/// Reinterprets the low bytes of a 64-bit word as a `T`.
#[inline(always)]
pub(crate) fn from_bits<T: Scalar>(bits: u64) -> T {
    // SAFETY: T is a scalar of at most 8 bytes for which every bit pattern is valid; both supported targets are
    // little-endian, so its bytes are the low ones.
    unsafe { core::mem::transmute_copy(&bits) }
}

/// The bits of a `T`, zero-extended to 64.
#[inline(always)]
pub(crate) fn to_bits<T: Scalar>(value: T) -> u64 {
    // SAFETY: each arm copies exactly size_of::<T>() bytes out of `value`.
    unsafe {
        match size_of::<T>() {
            1 => core::mem::transmute_copy::<T, u8>(&value) as u64,
            2 => core::mem::transmute_copy::<T, u16>(&value) as u64,
            4 => core::mem::transmute_copy::<T, u32>(&value) as u64,
            _ => core::mem::transmute_copy::<T, u64>(&value),
        }
    }
}
