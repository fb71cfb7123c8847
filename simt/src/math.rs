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
