//! Conversions for the tensor cores, and stores of what they computed, as PTX.

use super::assembly::asm;

#[inline(always)]
pub(crate) fn round_tf32(value: f32) -> u32 {
    let rounded: u32;
    // SAFETY: arithmetic on registers.
    unsafe { asm!("cvt.rna.tf32.f32 {0}, {1};", out(reg32) rounded, in(reg32) value, options(pure, nomem, nostack)) }
    rounded
}

/// # Safety
/// `row` is the address of 16 bytes of the block's shared memory, a multiple of 16. All lanes call together.
#[inline(always)]
pub(crate) unsafe fn store_fragments(row: u32, [a, b, c, d]: [u32; 4]) {
    // SAFETY: the caller's promise is the instruction's condition.
    unsafe {
        asm!(
            "stmatrix.sync.aligned.m8n8.x4.shared.b16 [{0}], {{{1}, {2}, {3}, {4}}};",
            in(reg32) row, in(reg32) a, in(reg32) b, in(reg32) c, in(reg32) d, options(nostack)
        )
    }
}
