//! Asynchronous copies from global to shared memory, `cp.async` (compute capability 8.0).
//!
//! A thread closes groups of its copies with [`commit`], and waits for groups, oldest first, with [`wait`]. That
//! thread can then read the copied data; other threads can read it after a block barrier.

use crate::global::checked;
use crate::machine::Machine;
use crate::{Backend, Global, Scalar, Shared};

/// Starts to copy element `j` of `from` to element `i` of `to`, or to make that zero if the element is not `inside`.
/// `j` has to be in view only if it is. The instruction does not support elements of less than 4 bytes; they
/// are loaded and stored.
#[inline(always)]
#[track_caller]
pub fn element<T: Scalar>(to: Shared<T>, i: u32, from: Global<T>, j: u32, inside: bool) {
    if size_of::<T>() < 4 {
        return to.set(i, if inside { from.get(j) } else { T::default() });
    }
    if checked() {
        // The same refusals as an access by the thread itself.
        if inside && j >= from.len() {
            Backend::out_of_bounds("global", j as u64, from.len() as u64);
        }
        if i >= to.len() {
            Backend::out_of_bounds("shared", i as u64, to.len() as u64);
        }
    }
    let bytes = size_of::<T>() as u32;
    let (to, from) = (to.address().wrapping_add(i.wrapping_mul(bytes)), from.as_ptr().wrapping_add(j as usize));
    let there = if inside { bytes } else { 0 };
    // SAFETY: what is read and what is written is in view, by the checks above; views are aligned for their elements.
    unsafe {
        if size_of::<T>() == 4 {
            Backend::copy_async::<4>(to, from.cast(), there);
        } else {
            Backend::copy_async::<8>(to, from.cast(), there);
        }
    }
}

/// Starts to copy the first `inside` elements of pack `j` of `from` to pack `i` of `to`, and makes the others zero.
/// Only those `inside` have to be in view. Both views start on a multiple of 16 bytes.
#[inline(always)]
#[track_caller]
pub fn pack<T: Scalar>(to: Shared<T>, i: u32, from: Global<T>, j: u32, inside: u32) {
    if checked() {
        let end = j as u64 * T::PACK as u64 + inside as u64;
        if inside > T::PACK || inside > 0 && end > from.len() as u64 {
            Backend::out_of_bounds("global", end, from.len() as u64);
        }
        if i >= to.len() / T::PACK {
            Backend::out_of_bounds("shared pack", i as u64, (to.len() / T::PACK) as u64);
        }
        for (space, address) in [("global pack", from.as_ptr() as u64), ("shared pack", to.address() as u64)] {
            if !address.is_multiple_of(16) {
                Backend::misaligned(space, address, 16);
            }
        }
    }
    let to = to.address().wrapping_add(i.wrapping_mul(16));
    let from = from.as_ptr().cast::<u8>().wrapping_add(j as usize * 16);
    // SAFETY: as for `element`, for packs.
    unsafe { Backend::copy_async::<16>(to, from, inside * size_of::<T>() as u32) }
}

/// Closes the group of the copies that the thread has started since the last; it may be empty.
#[inline(always)]
#[track_caller]
pub fn commit() {
    Backend::copy_async_commit()
}

/// Waits until all but the thread's last `N` groups have been copied.
#[inline(always)]
#[track_caller]
pub fn wait<const N: u32>() {
    Backend::copy_async_wait::<N>()
}
