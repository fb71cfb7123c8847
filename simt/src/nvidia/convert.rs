//! Conversions between floats of 16 and of 32 bits.

use super::assembly::asm;

/// The bits of the nearest bf16.
#[inline(always)]
pub(crate) fn round_bf16(value: f32) -> u16 {
    let bits: u16;
    // SAFETY: the instruction has no conditions.
    unsafe {
        asm!("cvt.rn.bf16.f32 {0}, {1};", out(reg16) bits, in(reg32) value, options(pure, nomem, nostack));
    }
    bits
}

/// The bits of the nearest bf16 of each, `low`'s in the low half.
#[inline(always)]
pub(crate) fn round_bf16_pair(low: f32, high: f32) -> u32 {
    let bits: u32;
    // SAFETY: as above.
    unsafe {
        asm!(
            "cvt.rn.bf16x2.f32 {0}, {1}, {2};",
            out(reg32) bits, in(reg32) high, in(reg32) low, options(pure, nomem, nostack)
        );
    }
    bits
}

/// The bits of the nearest f16.
#[inline(always)]
pub(crate) fn round_f16(value: f32) -> u16 {
    let bits: u16;
    // SAFETY: as above.
    unsafe {
        asm!("cvt.rn.f16.f32 {0}, {1};", out(reg16) bits, in(reg32) value, options(pure, nomem, nostack));
    }
    bits
}

/// The f16 of these bits.
#[inline(always)]
pub(crate) fn widen_f16(bits: u16) -> f32 {
    let value: f32;
    // SAFETY: as above.
    unsafe {
        asm!("cvt.f32.f16 {0}, {1};", out(reg32) value, in(reg16) bits, options(pure, nomem, nostack));
    }
    value
}
