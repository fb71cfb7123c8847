//! Access to simulated memory.
//!
//! Blocks run on several threads of the host and a kernel may race, so plain accesses are relaxed atomics here: on
//! today's processors they cost the same, and a race gives an unspecified value instead of undefined behaviour.

use crate::machine::Operation;
use crate::scalar::{AtomicScalar, Kind, Scalar, from_bits, to_bits};
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::atomic::{AtomicI32, AtomicI64, AtomicU8, AtomicU16, AtomicU32, AtomicU64};

/// # Safety
/// `p` is valid for reads of a `T` and aligned for it.
#[inline(always)]
pub(super) unsafe fn load<T: Scalar>(p: *const T) -> T {
    // SAFETY: the caller's promise, for an atomic of T's size.
    unsafe {
        from_bits(match size_of::<T>() {
            1 => AtomicU8::from_ptr(p as *mut u8).load(Relaxed) as u64,
            2 => AtomicU16::from_ptr(p as *mut u16).load(Relaxed) as u64,
            4 => AtomicU32::from_ptr(p as *mut u32).load(Relaxed) as u64,
            _ => AtomicU64::from_ptr(p as *mut u64).load(Relaxed),
        })
    }
}

/// # Safety
/// `p` is valid for writes of a `T` and aligned for it.
#[inline(always)]
pub(super) unsafe fn store<T: Scalar>(p: *mut T, value: T) {
    let bits = to_bits(value);
    // SAFETY: the caller's promise, for an atomic of T's size.
    unsafe {
        match size_of::<T>() {
            1 => AtomicU8::from_ptr(p.cast()).store(bits as u8, Relaxed),
            2 => AtomicU16::from_ptr(p.cast()).store(bits as u16, Relaxed),
            4 => AtomicU32::from_ptr(p.cast()).store(bits as u32, Relaxed),
            _ => AtomicU64::from_ptr(p.cast()).store(bits, Relaxed),
        }
    }
}

/// # Safety
/// `p` is valid for reads of 16 bytes and aligned to 16.
#[inline(always)]
pub(super) unsafe fn load_pack(p: *const u8) -> [u32; 4] {
    // SAFETY: the caller's promise covers the four words.
    std::array::from_fn(|i| unsafe { load(p.cast::<u32>().add(i)) })
}

/// # Safety
/// `p` is valid for writes of 16 bytes and aligned to 16.
#[inline(always)]
pub(super) unsafe fn store_pack(p: *mut u8, value: [u32; 4]) {
    for (i, word) in value.into_iter().enumerate() {
        // SAFETY: the caller's promise covers the four words.
        unsafe { store(p.cast::<u32>().add(i), word) }
    }
}

/// Copies `bytes` bytes, pack by pack.
///
/// # Safety
/// `to` is valid for writes and `from` for reads of `bytes` bytes; all three are multiples of 16.
pub(super) unsafe fn copy(to: *mut u8, from: *const u8, bytes: u32) {
    for at in (0..bytes as usize).step_by(16) {
        // SAFETY: within the ranges that the caller promises.
        unsafe { store_pack(to.add(at), load_pack(from.add(at))) }
    }
}

/// Any operation, sequentially consistent: the simulator does not model weaker orders.
///
/// # Safety
/// `p` is valid for reads and writes of a `T` and aligned for it.
#[track_caller]
pub(super) unsafe fn atomic<T: AtomicScalar>(op: Operation<T>, p: *mut T) -> T {
    /// One match for each width: `$a` unsigned, `$s` signed.
    macro_rules! integer {
        ($unsigned:ty, $signed:ty, $u:ty, $i:ty, $signed_kind:pat, $float:ty, $float_kind:pat) => {{
            // SAFETY: the caller's promise, for atomics of T's size.
            let (a, s) = unsafe { (<$unsigned>::from_ptr(p.cast()), <$signed>::from_ptr(p.cast())) };
            let bits = |v: T| to_bits(v) as $u;
            let before = match op {
                Operation::Load => a.load(SeqCst),
                Operation::Store(v) => {
                    a.store(bits(v), SeqCst);
                    0
                }
                Operation::Add(v) if matches!(T::KIND, $float_kind) => {
                    let sum = |old: $u| Some((<$float>::from_bits(old) + <$float>::from_bits(bits(v))).to_bits());
                    a.fetch_update(SeqCst, SeqCst, sum).unwrap_or_else(|old| old)
                }
                Operation::Min(_) | Operation::Max(_) if matches!(T::KIND, $float_kind) => {
                    panic!("the hardware has no atomic minimum or maximum of floats")
                }
                Operation::Add(v) => a.fetch_add(bits(v), SeqCst),
                Operation::Min(v) if matches!(T::KIND, $signed_kind) => s.fetch_min(bits(v) as $i, SeqCst) as $u,
                Operation::Max(v) if matches!(T::KIND, $signed_kind) => s.fetch_max(bits(v) as $i, SeqCst) as $u,
                Operation::Min(v) => a.fetch_min(bits(v), SeqCst),
                Operation::Max(v) => a.fetch_max(bits(v), SeqCst),
                Operation::And(v) => a.fetch_and(bits(v), SeqCst),
                Operation::Or(v) => a.fetch_or(bits(v), SeqCst),
                Operation::Xor(v) => a.fetch_xor(bits(v), SeqCst),
                Operation::Exchange(v) => a.swap(bits(v), SeqCst),
                Operation::CompareExchange { current, new } => {
                    a.compare_exchange(bits(current), bits(new), SeqCst, SeqCst).unwrap_or_else(|old| old)
                }
            };
            from_bits(before as u64)
        }};
    }
    if size_of::<T>() == 4 {
        integer!(AtomicU32, AtomicI32, u32, i32, Kind::I32, f32, Kind::F32)
    } else {
        integer!(AtomicU64, AtomicI64, u64, i64, Kind::I64, f64, Kind::F64)
    }
}
