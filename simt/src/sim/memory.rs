//! Access to simulated memory.
//!
//! Blocks run on several threads of the host and a kernel may race, so plain accesses are relaxed atomics here: on
//! today's processors they cost the same, and a race gives an unspecified value instead of undefined behaviour.

use super::observe::Space;
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

/// Why an operation on floats is refused.
pub(super) const NO_FLOAT_ORDER: &str = "the hardware has no atomic minimum or maximum of floats";

/// A float as an addition in `space` takes and leaves it: `atom.add.f32` flushes subnormals to zero in global memory,
/// and keeps them in shared memory (PTX ISA, atom).
fn flushed(value: f32, space: Space) -> f32 {
    if space == Space::Global && value.is_subnormal() { 0.0f32.copysign(value) } else { value }
}

/// Any operation, sequentially consistent: the simulator does not model weaker orders.
///
/// # Safety
/// `p` is valid for reads and writes of a `T` and aligned for it.
#[track_caller]
pub(super) unsafe fn atomic<T: AtomicScalar>(op: Operation<T>, p: *mut T, space: Space) -> T {
    /// One match for each width: `$a` unsigned, `$s` signed; `$flushed` is what an addition makes of a float.
    macro_rules! integer {
        ($unsigned:ty, $signed:ty, $u:ty, $i:ty, $signed_kind:pat, $float:ty, $float_kind:pat, $flushed:expr) => {{
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
                    let float = |bits: $u| $flushed(<$float>::from_bits(bits));
                    let sum = |old: $u| Some($flushed(float(old) + float(bits(v))).to_bits());
                    a.fetch_update(SeqCst, SeqCst, sum).unwrap_or_else(|old| old)
                }
                Operation::Min(_) | Operation::Max(_) if matches!(T::KIND, $float_kind) => {
                    panic!("{NO_FLOAT_ORDER}")
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
        integer!(AtomicU32, AtomicI32, u32, i32, Kind::I32, f32, Kind::F32, |value| flushed(value, space))
    } else {
        integer!(AtomicU64, AtomicI64, u64, i64, Kind::I64, f64, Kind::F64, |value| value)
    }
}

// Kernels under test reach all of this too, but not under Miri, which cannot switch stacks.
#[cfg(test)]
mod tests {
    use super::*;

    /// Sixteen bytes, where a pack may be.
    #[repr(align(16))]
    struct Pack([u8; 32]);

    #[test]
    fn words_of_every_size_and_packs() {
        let mut bytes = Pack(std::array::from_fn(|i| i as u8));
        let p = bytes.0.as_mut_ptr();
        // SAFETY: all accesses lie in the 32 bytes, at multiples of their sizes.
        unsafe {
            assert_eq!(load(p.add(3)), 3u8);
            assert_eq!(load(p.add(2).cast::<u16>()), 0x0302);
            assert_eq!(load_pack(p)[1], 0x0706_0504);
            store(p.add(8).cast(), -1.0f64);
            assert_eq!(load(p.add(12).cast::<f32>()), f32::from_bits(0xbff0_0000));
            store_pack(p, [1, 2, 3, 4]);
            copy(p.add(16), p, 16);
            assert_eq!(load_pack(p.add(16)), [1, 2, 3, 4]);
        }
    }

    #[test]
    fn atomics_return_what_was_there() {
        fn all<T: AtomicScalar + std::fmt::Debug>(start: T, operations: &[(Operation<T>, T)]) {
            let mut word = start;
            for &(op, after) in operations {
                // SAFETY: the word is valid and aligned.
                let before = unsafe { atomic(op, &raw mut word, Space::Shared) };
                assert!(matches!(op, Operation::Store(_)) || before == start, "{op:?}: {before:?}");
                assert_eq!(word, after, "{op:?}");
                word = start;
            }
        }
        use Operation::*;
        let exchange = |current, new| CompareExchange { current, new };
        all(6u32, &[(Load, 6), (Store(9), 9), (Add(u32::MAX), 5), (Min(3), 3), (Max(3), 6), (And(3), 2), (Or(3), 7)]);
        all(6u32, &[(Xor(3), 5), (Exchange(3), 3), (exchange(6, 1), 1), (exchange(5, 1), 6)]);
        all(-6i32, &[(Min(3), -6), (Max(3), 3), (Add(7), 1)]);
        all(6u64, &[(Add(u64::MAX), 5), (Max(1 << 40), 1 << 40)]);
        all(-6i64, &[(Min(3), -6), (Max(3), 3)]);
        all(1.5f32, &[(Add(0.25), 1.75), (Exchange(0.0), 0.0)]);
        all(1.5f64, &[(Add(0.25), 1.75)]);
    }
}
