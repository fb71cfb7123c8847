//! Conversions for the tensor cores as PTX.

use super::assembly::asm;

#[inline(always)]
pub(crate) fn round_tf32(value: f32) -> u32 {
    let rounded: u32;
    // SAFETY: arithmetic on registers.
    unsafe { asm!("cvt.rna.tf32.f32 {0}, {1};", out(reg32) rounded, in(reg32) value, options(pure, nomem, nostack)) }
    rounded
}
