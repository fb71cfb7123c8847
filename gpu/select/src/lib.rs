//! # Select
//!
//! Copies the items for which a predicate holds to the output, without gaps, and counts them. The predicate here is
//! "less than the pivot"; any other would do.
//!
//! Input and output are different views; the output has room for all items.
#![no_std]
#![cfg_attr(target_os = "cuda", feature(asm_experimental_arch))]
#![cfg_attr(all(target_os = "cuda", not(feature = "rust-cuda")), feature(abi_ptx))]

#[cfg(not(target_os = "cuda"))]
extern crate std;

pub mod r1_global_atomics;
pub mod r2_warp_aggregated;
pub mod r3_three_kernels;
pub mod r4_look_back;

use simt::warp::{self, WARP};
use simt::{Global, Scalar};

/// Item `i`, if it is there and less than the pivot.
#[simt::device]
pub(crate) fn below<T: Scalar>(input: Global<T>, i: u32, pivot: T) -> Option<T> {
    if i < input.len() { Some(input.get(i)).filter(|item| *item < pivot) } else { None }
}

/// The items of thread `t` of its block's tile, which has `full` items unless it is the last: one of each row of 32 of
/// its warp's piece. Past the end they are the pivot, which is not less than itself.
#[simt::device]
pub(crate) fn items<T: Scalar, const N: usize>(tile: Global<T>, t: u32, full: u32, pivot: T) -> [T; N] {
    let (first, mut items) = (t / WARP * WARP * N as u32 + warp::lane_id(), [pivot; N]);
    let at = |i: usize| first + i as u32 * WARP;
    if tile.len() == full {
        // No item is asked for, so all loads are in flight together.
        simt::unroll::<N>(|i| items[i] = tile.get(at(i)));
    } else {
        simt::unroll::<N>(|i| {
            if at(i) < tile.len() {
                items[i] = tile.get(at(i));
            }
        });
    }
    items
}

/// The lanes of `mask` below the calling lane: how many.
#[simt::device]
pub(crate) fn lanes_before(mask: u32, lane: u32) -> u32 {
    (mask & ((1 << lane) - 1)).count_ones()
}

#[cfg(not(target_os = "cuda"))]
pub use host::LADDER;

#[cfg(not(target_os = "cuda"))]
mod host {
    use super::*;
    use rungs_common::ladder::select::*;

    /// The ladder, from the textbook up.
    pub static LADDER: Ladder<&dyn Select> = Ladder {
        family: "select",
        about: "the items below a pivot",
        rungs: &[
            &r1_global_atomics::launches::RUNG,
            &r2_warp_aggregated::launches::RUNG,
            &r3_three_kernels::launches::RUNG,
            &r4_look_back::launches::RUNG,
        ],
        default: &r4_look_back::launches::RUNG,
    };
}
