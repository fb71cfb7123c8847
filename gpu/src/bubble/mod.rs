//! # Bubble sort
//!
//! Odd-even transposition, the bubble sort of parallel machines: compare the pairs (0,1) (2,3) …, then the pairs (1,2)
//! (3,4) …, and so on; n such phases sort n keys. All pairs of a phase are compared at the same time.

pub mod r1_one_block;
pub mod r2_shared_block;
pub mod r3_warp_registers;

use simt::{Global, Scalar};

/// What these kernels sort: unsigned words. The host maps other types to them, keeping their order.
pub trait Key: Scalar + Ord {
    /// The largest key. A place without a key counts as holding it: nothing moves behind it, and being equal to real
    /// keys of that value it cannot be told from them.
    const LAST: Self;
}

impl Key for u32 {
    const LAST: Self = u32::MAX;
}

impl Key for u64 {
    const LAST: Self = u64::MAX;
}

/// Key `i`, or the largest key where there is none.
#[inline(always)]
pub(crate) fn key_or_last<T: Key>(keys: Global<T>, i: u32) -> T {
    if i < keys.len() { keys.get(i) } else { T::LAST }
}

/// Writes key `i` if there is such a place.
#[inline(always)]
pub(crate) fn set_if_inside<T: Key>(keys: Global<T>, i: u32, key: T) {
    if i < keys.len() {
        keys.set(i, key);
    }
}
