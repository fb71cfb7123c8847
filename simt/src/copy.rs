//! Copies of single elements from global to shared memory that pass through no register (`cp.async`, compute capability
//! 8.0): a thread starts many, and waits for all of them once.
//!
//! The simulator copies at once.

use crate::machine::Machine;
use crate::{Backend, Global, Scalar, Shared};

/// Starts to copy element `i` of `from` to element `slot` of `to`, which no thread uses until [`wait`] and a barrier.
#[inline(always)]
#[track_caller]
pub fn element<T: Scalar>(to: Shared<T>, slot: u32, from: Global<T>, i: u32) {
    // SAFETY: `at` checked both indices; the views' makers promised the memory.
    unsafe { Backend::copy_element(to.at(slot), from.at(i)) }
}

/// Waits for the copies that the thread has started. Other threads see what they brought after a barrier.
#[inline(always)]
pub fn wait() {
    Backend::wait_for_copies()
}
