//! Arithmetic that has one instruction on the GPU and must not be left to contraction.

use crate::Backend;
use crate::machine::Machine;

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
