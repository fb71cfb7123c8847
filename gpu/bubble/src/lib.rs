//! # Bubble sort
//!
//! Odd-even transposition, the bubble sort of parallel machines: compare the pairs (0,1) (2,3) …, then the pairs (1,2)
//! (3,4) …, and so on. After n such phases, n keys are in order. All pairs of a phase are compared at the same time.
#![no_std]
#![cfg_attr(target_os = "cuda", feature(asm_experimental_arch))]
#![cfg_attr(all(target_os = "cuda", not(feature = "rust-cuda")), feature(abi_ptx))]

#[cfg(not(target_os = "cuda"))]
extern crate std;

pub mod r1_one_block;
pub mod r2_shared_block;
pub mod r3_warp_registers;
pub mod r4_ring;

pub use rungs_common::keys::Key;
pub(crate) use rungs_common::keys::{key_or_last, set_if_inside};

#[cfg(not(target_os = "cuda"))]
pub use host::LADDER;

#[cfg(not(target_os = "cuda"))]
mod host {
    use super::*;
    use rungs_common::ladder::sort::*;

    /// The ladder, from the textbook up.
    pub static LADDER: Ladder<Sort> = Ladder {
        family: "bubble",
        about: "odd-even transposition, the bubble sort that many threads can do",
        rungs: &[
            &r1_one_block::launches::RUNG,
            &r2_shared_block::launches::RUNG,
            &r3_warp_registers::launches::RUNG,
            &r4_ring::launches::RUNG,
        ],
        default: &r3_warp_registers::launches::RUNG,
    };
}
