//! # Odd-even sort over sorted blocks
//!
//! The bubble sort of whole blocks. Each block is sorted by itself. Then each block is merged with a neighbour, in turn
//! the one above and the one below, until every key has had time to reach its place.
#![no_std]
#![cfg_attr(target_os = "cuda", feature(asm_experimental_arch))]
#![cfg_attr(all(target_os = "cuda", not(feature = "rust-cuda")), feature(abi_ptx))]

#[cfg(not(target_os = "cuda"))]
extern crate std;

pub mod r1_bitonic_blocks;
pub mod r2_merge_split;
pub mod r3_persistent;
pub mod r4_levels;
pub mod runs;
pub mod split;

#[cfg(not(target_os = "cuda"))]
pub use host::LADDER;

#[cfg(not(target_os = "cuda"))]
mod host {
    use super::*;
    use rungs_common::ladder::sort::*;

    /// The ladder, from the textbook up.
    pub static LADDER: Ladder<Sort> = Ladder {
        family: "odd-even",
        about: "bubble sort of blocks: sorted by a bitonic network, then merged with their neighbours",
        rungs: &[
            &r1_bitonic_blocks::launches::RUNG,
            &r2_merge_split::launches::RUNG,
            &r3_persistent::launches::RUNG,
            &r4_levels::launches::RUNG,
        ],
        default: &r4_levels::launches::RUNG,
    };
}
