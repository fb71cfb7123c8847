//! Arithmetic that has one instruction on the GPU and must not be left to contraction or to code that computes the
//! same.

use crate::Backend;
use crate::machine::Machine;
use crate::{bf16, f16};

/// `a * b + c`, rounded once. Written out because the compiler never contracts a product and a sum by itself.
#[inline(always)]
pub fn fma(a: f32, b: f32, c: f32) -> f32 {
    Backend::fma_f32(a, b, c)
}

/// [`fma`] in double precision.
#[inline(always)]
pub fn fma_f64(a: f64, b: f64, c: f64) -> f64 {
    Backend::fma_f64(a, b, c)
}

/// The nearest [`bf16`], of two the one with an even last bit (compute capability 8.0).
#[inline(always)]
pub fn to_bf16(x: f32) -> bf16 {
    bf16::from_bits(Backend::round_bf16(x))
}

/// The bits of [`to_bf16`] of two numbers, the first in the low half, as two neighbours are in memory: one instruction
/// instead of three.
#[inline(always)]
pub fn to_bf16_pair(first: f32, second: f32) -> u32 {
    Backend::round_bf16_pair(first, second)
}

/// The nearest [`f16`](struct@f16), of two the one with an even last bit; infinite from 65520 on.
#[inline(always)]
pub fn to_f16(x: f32) -> f16 {
    f16::from_bits(Backend::round_f16(x))
}

/// The same number as an `f32`: a [`bf16`] is its upper half.
#[inline(always)]
pub fn from_bf16(x: bf16) -> f32 {
    f32::from_bits((x.to_bits() as u32) << 16)
}

/// The same number as an `f32`.
#[inline(always)]
pub fn from_f16(x: f16) -> f32 {
    Backend::widen_f16(x.to_bits())
}

/// The upper 32 bits of a 64-bit product.
#[inline(always)]
pub fn mul_hi(a: u32, b: u32) -> u32 {
    Backend::mul_hi(a, b)
}

/// The smaller of two: NaN if either is NaN, and -0 is less than +0 (IEEE 754-2019 `minimum`).
#[inline(always)]
pub fn minimum(a: f32, b: f32) -> f32 {
    Backend::minimum_f32(a, b)
}

/// The larger of two: NaN if either is NaN, and -0 is less than +0 (IEEE 754-2019 `maximum`).
#[inline(always)]
pub fn maximum(a: f32, b: f32) -> f32 {
    Backend::maximum_f32(a, b)
}

/// [`minimum`] in double precision, for which there is no instruction.
#[inline(always)]
pub fn minimum_f64(a: f64, b: f64) -> f64 {
    if a.is_nan() || b.is_nan() {
        f64::NAN
    } else if a < b || a == b && a.is_sign_negative() {
        a
    } else {
        b
    }
}

/// [`maximum`] in double precision, for which there is no instruction.
#[inline(always)]
pub fn maximum_f64(a: f64, b: f64) -> f64 {
    if a.is_nan() || b.is_nan() {
        f64::NAN
    } else if a > b || a == b && a.is_sign_positive() {
        a
    } else {
        b
    }
}
