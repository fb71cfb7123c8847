//! Asynchronous copies of a thread as PTX. No warp does them together, so `asm!` is right; all of them clobber memory.

use super::assembly::asm;

/// # Safety
/// `to` is the address of `BYTES` bytes (4, 8 or 16) of the block's shared memory, `from` is valid for reads of the
/// first `there` of them; both are aligned to `BYTES`.
#[inline(always)]
pub(crate) unsafe fn copy<const BYTES: u32>(to: u32, from: *const u8, there: u32) {
    // SAFETY: the caller's promise is the instruction's condition. What is copied by 16 bytes bypasses the first-level
    // cache, because it is used from shared memory.
    unsafe {
        if BYTES == 16 {
            asm!(
                "cp.async.cg.shared.global [{0}], [{1}], 16, {2};",
                in(reg32) to, in(reg64) from, in(reg32) there, options(nostack)
            )
        } else {
            asm!(
                "cp.async.ca.shared.global [{0}], [{1}], {bytes}, {2};",
                in(reg32) to, in(reg64) from, in(reg32) there, bytes = const BYTES, options(nostack)
            )
        }
    }
}

#[inline(always)]
pub(crate) fn commit() {
    // SAFETY: closes a group, which may be empty.
    unsafe { asm!("cp.async.commit_group;", options(nostack)) }
}

#[inline(always)]
pub(crate) fn wait<const N: u32>() {
    // SAFETY: waiting has no conditions.
    unsafe { asm!("cp.async.wait_group {n};", n = const N, options(nostack)) }
}
