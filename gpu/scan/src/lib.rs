//! # Scan
//!
//! Element i of the result combines the elements up to i: with element i itself (inclusive) or without it (exclusive;
//! then the first result is the operator's identity).
//!
//! Every kernel has a parameter `exclusive`, 1 or 0. Input and output may be the same view. Where a head speaks of
//! additions, the operator may also be a minimum or a maximum; a word is an element of 4 bytes.
#![no_std]
#![cfg_attr(target_os = "cuda", feature(asm_experimental_arch))]
#![cfg_attr(all(target_os = "cuda", not(feature = "rust-cuda")), feature(abi_ptx))]

#[cfg(not(target_os = "cuda"))]
extern crate std;

pub mod r1_hillis_steele;
pub mod r2_blelloch;
pub mod r3_blelloch_padded;
pub mod r4_three_kernels;
pub mod r5_look_back;
#[cfg(any(sm_90, not(target_os = "cuda")))]
pub mod r6_look_ahead;

use rungs_common::operator::Operator;
use simt::{Global, Scalar, Shared};

/// Element `i` of `data`; past the end the operator's identity, which changes no result.
#[simt::device]
pub(crate) fn get_or_identity<T: Scalar, O: Operator<T>>(data: Global<T>, i: u32) -> T {
    if i < data.len() { data.get(i) } else { O::IDENTITY }
}

/// Writes element `i` of `data`; does nothing past the end.
#[simt::device]
pub(crate) fn set_within<T: Scalar>(data: Global<T>, i: u32, value: T) {
    if i < data.len() {
        data.set(i, value);
    }
}

/// The sum of the warps before warp `w`, and the sum of all `WARPS` warps, each of which has stored its own.
#[simt::device]
pub(crate) fn add_warps<T: Scalar, O: Operator<T>, const WARPS: usize>(warp_sums: Shared<T>, w: u32) -> (T, T) {
    let (mut before, mut total) = (O::IDENTITY, O::IDENTITY);
    simt::unroll::<WARPS>(|i| {
        if i as u32 == w {
            before = total;
        }
        total = O::combine(total, warp_sums.get(i as u32));
    });
    (before, total)
}

#[cfg(not(target_os = "cuda"))]
pub use host::LADDER;

#[cfg(not(target_os = "cuda"))]
mod host {
    use super::*;
    use rungs_common::ladder::scan::*;

    /// The ladder, from the textbook up.
    pub static LADDER: Ladder<&dyn Scan> = Ladder {
        family: "scan",
        about: "running sums, minima and maxima",
        rungs: &[
            &r1_hillis_steele::launches::RUNG,
            &r2_blelloch::launches::RUNG,
            &r3_blelloch_padded::launches::RUNG,
            &r4_three_kernels::launches::RUNG,
            &r5_look_back::launches::RUNG,
            &r6_look_ahead::launches::RUNG,
        ],
        default: &r6_look_ahead::launches::RUNG,
    };
}
