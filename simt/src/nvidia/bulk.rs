//! Barriers in shared memory and bulk copies as PTX.
//!
//! None of these is done by a warp together, so `asm!` is right; all of them clobber memory.

use super::assembly::asm;

/// # Safety
/// `address` is that of 8 bytes of the block's shared memory, aligned to 8.
#[inline(always)]
pub(crate) unsafe fn init(address: u32, arrivals: u32) {
    // SAFETY: the caller's promise is the instruction's condition.
    unsafe {
        asm!("mbarrier.init.shared::cta.b64 [{0}], {1};", in(reg32) address, in(reg32) arrivals, options(nostack))
    }
}

/// # Safety
/// `address` is that of a barrier of the block.
#[inline(always)]
pub(crate) unsafe fn arrive(address: u32) {
    // SAFETY: the caller's promise is the instruction's condition.
    unsafe { asm!("mbarrier.arrive.shared::cta.b64 _, [{0}];", in(reg32) address, options(nostack)) }
}

/// # Safety
/// `address` is that of a barrier of the block.
#[inline(always)]
pub(crate) unsafe fn arrive_expecting(address: u32, bytes: u32) {
    // SAFETY: the caller's promise is the instruction's condition.
    unsafe {
        asm!(
            "mbarrier.arrive.expect_tx.shared::cta.b64 _, [{0}], {1};",
            in(reg32) address, in(reg32) bytes, options(nostack))
    }
}

/// # Safety
/// `address` is that of a barrier of the block.
#[inline(always)]
pub(crate) unsafe fn try_wait(address: u32, parity: u32) -> bool {
    let ended: u32;
    // SAFETY: the caller's promise is the instruction's condition.
    unsafe {
        asm!(
            "{{",
            ".reg .pred ended;",
            "mbarrier.try_wait.parity.shared::cta.b64 ended, [{1}], {2};",
            "selp.u32 {0}, 1, 0, ended;",
            "}}",
            out(reg32) ended, in(reg32) address, in(reg32) parity, options(nostack)
        );
    }
    ended != 0
}

/// # Safety
/// `from` is valid for reads of `bytes` bytes, `to` lies in the block's shared memory with room for them; both and
/// `bytes` are multiples of 16; `barrier` is the address of a barrier of the block.
#[inline(always)]
pub(crate) unsafe fn load(to: u32, from: *const u8, bytes: u32, barrier: u32) {
    // SAFETY: the caller's promise is the instruction's condition.
    unsafe {
        asm!(
            "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [{0}], [{1}], {2}, [{3}];",
            in(reg32) to, in(reg64) from, in(reg32) bytes, in(reg32) barrier, options(nostack)
        )
    }
}

/// # Safety
/// `to` is valid for writes of `bytes` bytes, which lie at `from` in the block's shared memory; all are multiples of
/// 16.
#[inline(always)]
pub(crate) unsafe fn store(to: *mut u8, from: u32, bytes: u32) {
    // SAFETY: the caller's promise is the instruction's condition.
    unsafe {
        asm!(
            "cp.async.bulk.global.shared::cta.bulk_group [{0}], [{1}], {2};",
            in(reg64) to, in(reg32) from, in(reg32) bytes, options(nostack)
        )
    }
}

/// # Safety
/// As [`crate::machine::Machine::box_load`].
#[inline(always)]
pub(crate) unsafe fn load_box(to: u32, map: *const u64, [x, y]: [u32; 2], barrier: u32) {
    // SAFETY: the caller's promise is the instruction's condition.
    unsafe {
        asm!(
            concat!(
                "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes ",
                "[{0}], [{1}, {{{2}, {3}}}], [{4}];"
            ),
            in(reg32) to, in(reg64) map, in(reg32) x, in(reg32) y, in(reg32) barrier, options(nostack)
        )
    }
}

/// # Safety
/// As [`crate::machine::Machine::box_store`].
#[inline(always)]
pub(crate) unsafe fn store_box(map: *const u64, [x, y]: [u32; 2], from: u32) {
    // SAFETY: the caller's promise is the instruction's condition.
    unsafe {
        asm!(
            "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [{0}, {{{1}, {2}}}], [{3}];",
            in(reg64) map, in(reg32) x, in(reg32) y, in(reg32) from, options(nostack)
        )
    }
}

/// # Safety
/// `map` is the address of a map among the kernel's parameters.
#[inline(always)]
pub(crate) unsafe fn prefetch_map(map: *const u64) {
    // SAFETY: the caller's promise is the instruction's condition.
    unsafe { asm!("prefetch.tensormap [{0}];", in(reg64) map, options(nostack)) }
}

#[inline(always)]
pub(crate) fn commit() {
    // SAFETY: closes a group, which may be empty.
    unsafe { asm!("cp.async.bulk.commit_group;", options(nostack)) }
}

#[inline(always)]
pub(crate) fn wait_read<const N: u32>() {
    // SAFETY: waiting has no conditions.
    unsafe { asm!("cp.async.bulk.wait_group.read {n};", n = const N, options(nostack)) }
}

#[inline(always)]
pub(crate) fn fence_init() {
    // SAFETY: a fence has no conditions.
    unsafe { asm!("fence.mbarrier_init.release.cluster;", options(nostack)) }
}

#[inline(always)]
pub(crate) fn fence_async_shared() {
    // SAFETY: a fence has no conditions.
    unsafe { asm!("fence.proxy.async.shared::cta;", options(nostack)) }
}
