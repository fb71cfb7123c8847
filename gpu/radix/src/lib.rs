//! # Radix sort
//!
//! Sorting by digits instead of comparisons. The first rungs sort columns inside one block, bit by bit, and merge them
//! in four ways; the merge is the expensive part, because it puts out one key at a time. From `lsd-blocks` on many
//! blocks work on one input: digit by digit from the last one (`lsd-blocks`, `lsd-ballot`, `onesweep`), then from the
//! first (`msd-buckets`).
#![no_std]
#![cfg_attr(target_os = "cuda", feature(asm_experimental_arch))]
#![cfg_attr(all(target_os = "cuda", not(feature = "rust-cuda")), feature(abi_ptx))]

#[cfg(not(target_os = "cuda"))]
extern crate std;

pub mod columns;
pub mod r1_columns_one_thread;
pub mod r2_columns_atomic_min;
pub mod r3_columns_tree;
pub mod r4_columns_groups;
pub mod r5_lsd_blocks;
pub mod r6_lsd_ballot;
pub mod r7_onesweep;
pub mod r8_msd_buckets;
pub mod ranks;
pub mod steps;

#[cfg(not(target_os = "cuda"))]
pub use host::LADDER;

#[cfg(not(target_os = "cuda"))]
mod host {
    use super::*;
    use rungs_common::ladder::sort::*;

    /// The ladder, from the textbook up.
    pub static LADDER: Ladder<Sort> = Ladder {
        family: "radix",
        about: "sort by digits",
        rungs: &[
            &r1_columns_one_thread::launches::RUNG,
            &r2_columns_atomic_min::launches::RUNG,
            &r3_columns_tree::launches::RUNG,
            &r4_columns_groups::launches::RUNG,
            &r5_lsd_blocks::launches::RUNG,
            &r6_lsd_ballot::launches::RUNG,
            &r7_onesweep::launches::RUNG,
            &r8_msd_buckets::launches::RUNG,
        ],
        default: &r8_msd_buckets::launches::RUNG,
    };
}
