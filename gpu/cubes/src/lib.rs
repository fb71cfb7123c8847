//! # Sum of cubes
//!
//! The sum of v³ over many values. There is little arithmetic and one read per value, and then each thread has a part
//! of the result. The ladder shows how to use many threads and how to combine their parts.
//!
//! Values are `u32`, sums are `u64` modulo 2⁶⁴. Each kernel also writes when each of its blocks began and ended, on two
//! clocks, see [`Start`]. The heads do not count these 32 bytes per block.
#![no_std]
#![cfg_attr(target_os = "cuda", feature(asm_experimental_arch))]
#![cfg_attr(all(target_os = "cuda", not(feature = "rust-cuda")), feature(abi_ptx))]

#[cfg(not(target_os = "cuda"))]
extern crate std;

pub mod r1_one_thread;
pub mod r2_one_block_strided;
pub mod r3_one_block;
pub mod r4_many_blocks;
pub mod r5_block_sum;
pub mod r6_block_tree;
pub mod r7_warp_shuffle;
pub mod r8_grid_atomic;

pub use rungs_common::clocks::{self, Start, TIMES};
use simt::Global;

/// v³ modulo 2⁶⁴.
#[simt::device]
pub fn cube(v: u32) -> u64 {
    let v = v as u64;
    (v * v).wrapping_mul(v)
}

/// The sum of the cubes of the values `first`, `first` + `step`, … .
#[simt::device]
pub fn sum_every(values: Global<u32>, first: u32, step: u32) -> u64 {
    // The steps are counted first, because `i` may pass 2³² after the last value.
    let mut left = values.len().saturating_sub(first).div_ceil(step.max(1));
    let (mut i, mut sum) = (first, 0u64);
    while left > 0 {
        sum = sum.wrapping_add(cube(values.get(i)));
        i = i.wrapping_add(step);
        left -= 1;
    }
    sum
}

#[cfg(not(target_os = "cuda"))]
pub use host::LADDER;

#[cfg(not(target_os = "cuda"))]
mod host {
    use super::*;
    use rungs_common::ladder::cubes::*;

    /// The ladder, from the textbook up.
    pub static LADDER: Ladder<Cubes> = Ladder {
        family: "cubes",
        about: "sum of the cubes of many values",
        rungs: &[
            &r1_one_thread::launches::RUNG,
            &r2_one_block_strided::launches::RUNG,
            &r3_one_block::launches::RUNG,
            &r4_many_blocks::launches::RUNG,
            &r5_block_sum::launches::RUNG,
            &r6_block_tree::launches::RUNG,
            &r7_warp_shuffle::launches::RUNG,
            &r8_grid_atomic::launches::RUNG,
        ],
        default: &r8_grid_atomic::launches::RUNG,
    };
}
