//! # Scan
//!
//! Element i of the result is what the operator makes of all elements up to i: with it (inclusive) or without it
//! (exclusive; the first is then the operator's identity).
//!
//! Every kernel has a parameter `exclusive`, 1 or 0. Input and output may be the same view.

pub mod r1_hillis_steele;
pub mod r2_blelloch;
pub mod r3_blelloch_padded;
pub mod r4_three_kernels;
pub mod r5_look_back;
#[cfg(any(sm_90, not(target_os = "cuda")))]
pub mod r6_look_ahead;
pub mod state;

use crate::operator::Operator;
use simt::{Global, Scalar};

/// Element `i` of `data`, or the operator's identity past the end: what is combined there changes nothing.
#[inline(always)]
pub(crate) fn get_or_identity<T: Scalar, O: Operator<T>>(data: Global<T>, i: u32) -> T {
    if i < data.len() { data.get(i) } else { O::IDENTITY }
}

/// Writes element `i` of `data`; past the end it does nothing.
#[inline(always)]
pub(crate) fn set_within<T: Scalar>(data: Global<T>, i: u32, value: T) {
    if i < data.len() {
        data.set(i, value);
    }
}

#[cfg(not(target_os = "cuda"))]
pub use host::LADDER;

#[cfg(not(target_os = "cuda"))]
mod host {
    use super::*;
    use crate::ladder::scan::*;

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
