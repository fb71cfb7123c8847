//! The types of elements that matrices may have.

use super::Output;
use core::ops::Neg;
use simt::math::{fma, fma_f64};
use simt::{Scalar, bf16, f16};

/// A type of elements. Products of elements are summed in a type that may be wider.
pub trait Element: Scalar {
    /// The type of sums and factors.
    type Sum: Real;

    /// Zero.
    const ZERO: Self;

    /// [`Output::set`].
    fn set(c: Output<Self>, row: u32, column: u32, sum: Self::Sum);
}

/// A type in which sums are computed.
pub trait Real: Element<Sum = Self> + Into<f64> + Neg<Output = Self> {
    /// One.
    const ONE: Self;

    /// `self`·`b` + `c`, rounded once.
    fn fma(self, b: Self, c: Self) -> Self;
}

macro_rules! elements {
    ($($t:ident: $sum:ident, $zero:expr;)*) => {$(
        impl Element for $t {
            type Sum = $sum;

            const ZERO: Self = $zero;

            #[simt::device]
            fn set(c: Output<Self>, row: u32, column: u32, sum: $sum) {
                c.set(row, column, sum);
            }
        }
    )*};
}
elements! {
    f32: f32, 0.0;
    f64: f64, 0.0;
    bf16: f32, bf16::ZERO;
    f16: f32, f16::ZERO;
}

macro_rules! reals {
    ($($t:ident: $fma:ident;)*) => {$(
        impl Real for $t {
            const ONE: Self = 1.0;

            #[simt::device]
            fn fma(self, b: Self, c: Self) -> Self {
                $fma(self, b, c)
            }
        }
    )*};
}
reals! {
    f32: fma;
    f64: fma_f64;
}
