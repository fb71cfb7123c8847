//! A gallery of bugs: small kernels, each with one planted bug and a clean twin.
//!
//! Each kernel is written once, generic over its [`Version`]: the versions differ only where it says `if V::FIXED`. A
//! [`Case`] describes the bug, its effect on a GPU, the finding of the simulator's checker that names it, and the fix.
//! It launches either version on any machine and compares the output with the expected one.
#![no_std]
#![cfg_attr(target_os = "cuda", feature(asm_experimental_arch, abi_ptx))]

#[cfg(not(target_os = "cuda"))]
extern crate std;

#[cfg(not(target_os = "cuda"))]
mod case;
#[cfg(not(target_os = "cuda"))]
mod machine;
#[cfg(not(target_os = "cuda"))]
mod simulated;
#[cfg(not(target_os = "cuda"))]
mod verdict;
mod version;

mod barriers;
mod bounds;
mod copies;
mod dependent;
mod global_races;
mod orders;
mod outputs;
mod own_copies;
mod shared_races;
mod source_s4;
mod spins;
mod uninitialised;
mod warps;

#[cfg(not(target_os = "cuda"))]
pub use case::{Case, Ended, Kind, TOPICS, Topic, all, named};
#[cfg(not(target_os = "cuda"))]
pub use machine::{Machine, Trial, Words};
#[cfg(not(target_os = "cuda"))]
pub use simulated::Simulated;
#[cfg(not(target_os = "cuda"))]
pub use verdict::Verdict;
pub use version::{Fixed, Planted, Version};

/// What every file of cases uses.
mod prelude {
    #[cfg(not(target_os = "cuda"))]
    pub(crate) use crate::case::{Case, Kind::*};
    #[cfg(not(target_os = "cuda"))]
    pub(crate) use crate::machine::launch;
    pub(crate) use crate::version::{Fixed, Planted, Version};
    #[cfg(not(target_os = "cuda"))]
    pub(crate) use simt::Geometry;
    pub(crate) use simt::atomic::{Order::*, Scope, fence};
    pub(crate) use simt::thread::{block_dim_x, block_idx_x, index_1d, sync_threads, thread_idx_x};
    pub(crate) use simt::warp::{FULL, lane_id, sync_warp};
    pub(crate) use simt::{Global, Shared, kernel, shared, thread, warp};
    #[cfg(not(target_os = "cuda"))]
    pub(crate) use std::vec::Vec;

    /// Threads per block in most cases: two warps.
    pub(crate) const BLOCK: u32 = 64;

    /// `n` numbers below 1024 that follow no pattern of the kernels.
    #[cfg(not(target_os = "cuda"))]
    pub(crate) fn numbers(n: u32) -> Vec<u32> {
        (0..n).map(|i| (i + 1).wrapping_mul(0x9E37_79B9) >> 22).collect()
    }
}
