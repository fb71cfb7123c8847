//! Copies of whole ranges between global and shared memory, by TMA while the threads continue (compute capability 9.0).
//!
//! Both sides start at multiples of 16 bytes, and so does the length. TMA accesses memory through the async
//! proxy: call [`fence`] between the threads' accesses to shared memory and a copy that follows.

use crate::global::checked;
use crate::machine::Machine;
use crate::mbarrier::Mbarrier;
use crate::{Backend, Global, Scalar, Shared};

/// Starts to copy all of `from` to `to`, of the same length. On completion `barrier` counts its bytes, which
/// [`Mbarrier::arrive_expecting`] has announced there.
#[inline(always)]
#[track_caller]
pub fn load<T: Scalar>(to: Shared<T>, from: Global<T>, barrier: Mbarrier) {
    let bytes = check(from, to);
    // SAFETY: the views' makers promised the memory; `check` checked lengths and alignment.
    unsafe { Backend::bulk_load(to.address(), from.as_ptr().cast(), bytes, barrier.address()) }
}

/// Starts to copy all of `from` to `to`, of the same length, as part of the thread's current group ([`commit`]).
#[inline(always)]
#[track_caller]
pub fn store<T: Scalar>(to: Global<T>, from: Shared<T>) {
    let bytes = check(to, from);
    // SAFETY: as for `load`.
    unsafe { Backend::bulk_store(to.as_ptr().cast(), from.address(), bytes) }
}

/// Closes the group of the stores that the thread has started.
#[inline(always)]
pub fn commit() {
    Backend::bulk_commit()
}

/// Waits until all but the thread's last `N` groups have read their source, which may then be written again.
#[inline(always)]
#[track_caller]
pub fn wait_read<const N: u32>() {
    Backend::bulk_wait_read::<N>()
}

/// Orders what the thread did to shared memory before the copies that follow. Each thread that wrote, or that read what
/// a copy overwrites, calls it, and only then tells the thread that starts the copy.
#[inline(always)]
#[track_caller]
pub fn fence() {
    Backend::fence_async_shared()
}

/// The bytes to copy.
#[inline(always)]
#[track_caller]
fn check<T: Scalar>(global: Global<T>, shared: Shared<T>) -> u32 {
    let bytes = shared.len().wrapping_mul(size_of::<T>() as u32);
    if checked() {
        if global.len() != shared.len() {
            Backend::out_of_bounds("bulk copy", shared.len() as u64, global.len() as u64);
        }
        for (space, address) in [
            ("global side of a bulk copy", global.as_ptr() as u64),
            ("shared side of a bulk copy", shared.address() as u64),
            ("length of a bulk copy", bytes as u64),
        ] {
            if !address.is_multiple_of(16) {
                Backend::misaligned(space, address, 16);
            }
        }
    }
    bytes
}
