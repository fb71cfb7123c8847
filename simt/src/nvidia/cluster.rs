//! Clusters of blocks as PTX.
//!
//! None of these is done by a warp together, so `asm!` is right; what is no register clobbers memory.

use super::assembly::asm;

#[inline(always)]
pub(crate) fn rank() -> u32 {
    let rank: u32;
    // SAFETY: reads a register that does not change.
    unsafe { asm!("mov.u32 {0}, %cluster_ctarank;", out(reg32) rank, options(pure, nomem, nostack)) }
    rank
}

#[inline(always)]
pub(crate) fn blocks() -> u32 {
    let blocks: u32;
    // SAFETY: as for `rank`.
    unsafe { asm!("mov.u32 {0}, %cluster_nctarank;", out(reg32) blocks, options(pure, nomem, nostack)) }
    blocks
}

#[inline(always)]
pub(crate) fn address(address: u32, rank: u32) -> u32 {
    let there: u32;
    // SAFETY: converts an address; that of a rank beyond the cluster is of no use, and nothing is accessed.
    unsafe {
        asm!(
            "mapa.shared::cluster.u32 {0}, {1}, {2};",
            out(reg32) there, in(reg32) address, in(reg32) rank, options(pure, nomem, nostack)
        )
    }
    there
}

/// # Safety
/// As [`crate::machine::Machine::mbarrier_arrive_at`].
#[inline(always)]
pub(crate) unsafe fn arrive_at(address: u32, rank: u32) {
    // SAFETY: the caller's promise is the instructions' condition.
    unsafe {
        asm!(
            "{{",
            ".reg .b32 there;",
            "mapa.shared::cluster.u32 there, {0}, {1};",
            "mbarrier.arrive.shared::cluster.b64 _, [there];",
            "}}",
            in(reg32) address, in(reg32) rank, options(nostack)
        )
    }
}

/// # Safety
/// As [`crate::machine::Machine::mbarrier_try_wait_cluster`].
#[inline(always)]
pub(crate) unsafe fn try_wait(address: u32, parity: u32) -> bool {
    let ended: u32;
    // SAFETY: the caller's promise is the instruction's condition.
    unsafe {
        asm!(
            "{{",
            ".reg .pred ended;",
            "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 ended, [{1}], {2};",
            "selp.u32 {0}, 1, 0, ended;",
            "}}",
            out(reg32) ended, in(reg32) address, in(reg32) parity, options(nostack)
        );
    }
    ended != 0
}

/// # Safety
/// As [`crate::machine::Machine::box_load_multicast`].
#[inline(always)]
pub(crate) unsafe fn load_box(to: u32, map: *const u64, [x, y]: [u32; 2], barrier: u32, ranks: u16) {
    // SAFETY: the caller's promise is the instruction's condition.
    unsafe {
        asm!(
            concat!(
                "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes",
                ".multicast::cluster [{0}], [{1}, {{{2}, {3}}}], [{4}], {5};"
            ),
            in(reg32) to, in(reg64) map, in(reg32) x, in(reg32) y, in(reg32) barrier, in(reg16) ranks,
            options(nostack)
        )
    }
}
