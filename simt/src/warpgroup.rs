//! What four warps do together, whose first has a number that is a multiple of 4 (compute capability 9.0 alone, PTX for
//! `sm_90a`).
//!
//! A kernel is compiled for as many registers per thread as fit all threads of its blocks. Where some warps need few,
//! they give theirs back, and others take more. The kernel is declared with `max_threads` and `min_blocks`, or ptxas
//! ignores the calls.

use crate::Backend;
use crate::machine::Machine;

/// Keeps `N` registers per thread, a multiple of 8 from 24 to 240, and gives the others back to the block. All threads
/// of the four warps make the call, before they do anything that needs many.
#[inline(always)]
pub fn release_registers<const N: u32>() {
    const { assert!(N >= 24 && N <= 240 && N.is_multiple_of(8), "24 to 240 registers, a multiple of 8") };
    Backend::release_registers::<N>()
}

/// Takes registers until there are `N` per thread, a multiple of 8 from 24 to 240; waits until the block's other warps
/// have given back enough. All threads of the four warps make the call.
#[inline(always)]
pub fn claim_registers<const N: u32>() {
    const { assert!(N >= 24 && N <= 240 && N.is_multiple_of(8), "24 to 240 registers, a multiple of 8") };
    Backend::claim_registers::<N>()
}
