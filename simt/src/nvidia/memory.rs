//! Loads and stores that need an instruction of their own.
//!
//! A load is `readonly` and `pure`: LLVM may share or drop it between two stores or barriers (which clobber memory),
//! but not move it across them.

use super::assembly::asm;
use crate::machine::Cache;
use crate::scalar::{Scalar, from_bits, to_bits};

macro_rules! load_pack {
    ($instruction:literal, $class:ident, $p:expr, $($option:ident),*) => {{
        let (a, b, c, d): (u32, u32, u32, u32);
        asm!(
            concat!($instruction, " {{{0}, {1}, {2}, {3}}}, [{4}];"),
            out(reg32) a, out(reg32) b, out(reg32) c, out(reg32) d, in($class) $p,
            options($($option),*, nostack)
        );
        [a, b, c, d]
    }};
}

macro_rules! store_pack {
    ($instruction:literal, $class:ident, $p:expr, $v:expr) => {
        asm!(
            concat!($instruction, " [{0}], {{{1}, {2}, {3}, {4}}};"),
            in($class) $p, in(reg32) $v[0], in(reg32) $v[1], in(reg32) $v[2], in(reg32) $v[3],
            options(nostack)
        )
    };
}

/// # Safety
/// `p` is valid for reads of a `T` and aligned for it.
#[inline(always)]
pub(crate) unsafe fn load_global_streaming<T: Scalar>(p: *const T) -> T {
    // SAFETY: the caller's promise is the instruction's condition.
    unsafe {
        match size_of::<T>() {
            4 => {
                let v: u32;
                asm!("ld.global.cs.b32 {0}, [{1}];", out(reg32) v, in(reg64) p, options(pure, readonly, nostack));
                from_bits(v as u64)
            }
            8 => {
                let v: u64;
                asm!("ld.global.cs.b64 {0}, [{1}];", out(reg64) v, in(reg64) p, options(pure, readonly, nostack));
                from_bits(v)
            }
            _ => *p,
        }
    }
}

/// # Safety
/// `p` is valid for reads of 16 bytes and aligned to 16; for `Cache::ReadOnly` they are not written during the kernel.
#[inline(always)]
pub(crate) unsafe fn load_global_pack(p: *const u8, cache: Cache) -> [u32; 4] {
    // SAFETY: the caller's promise is the instruction's condition.
    unsafe {
        match cache {
            Cache::Default => load_pack!("ld.global.v4.b32", reg64, p, pure, readonly),
            Cache::Streaming => load_pack!("ld.global.cs.v4.b32", reg64, p, pure, readonly),
            Cache::ReadOnly => load_pack!("ld.global.nc.L1::no_allocate.v4.b32", reg64, p, pure, readonly),
        }
    }
}

/// A load under a predicate, which neither LLVM nor ptxas turns into a branch.
///
/// # Safety
/// `p` is valid for reads of 16 bytes and aligned to 16 if `there`; those bytes are not written during the kernel.
#[inline(always)]
pub(crate) unsafe fn load_global_pack_or(p: *const u8, there: bool, otherwise: [u32; 4]) -> [u32; 4] {
    let [mut a, mut b, mut c, mut d] = otherwise;
    // SAFETY: the caller's promise is the instruction's condition; without the predicate nothing is loaded.
    unsafe {
        asm!(
            "{{",
            ".reg .pred there;",
            "setp.ne.b32 there, {there}, 0;",
            "@there ld.global.nc.L1::no_allocate.v4.b32 {{{a}, {b}, {c}, {d}}}, [{p}];",
            "}}",
            a = inout(reg32) a, b = inout(reg32) b, c = inout(reg32) c, d = inout(reg32) d,
            p = in(reg64) p, there = in(reg32) there as u32,
            options(pure, readonly, nostack)
        );
    }
    [a, b, c, d]
}

/// # Safety
/// `p` is valid for writes of 16 bytes and aligned to 16.
#[inline(always)]
pub(crate) unsafe fn store_global_pack(p: *mut u8, value: [u32; 4], cache: Cache) {
    // SAFETY: the caller's promise is the instruction's condition.
    unsafe {
        match cache {
            Cache::Streaming => store_pack!("st.global.cs.v4.b32", reg64, p, value),
            _ => store_pack!("st.global.v4.b32", reg64, p, value),
        }
    }
}

/// A load of a `T` from shared memory: the block's own, or that of the cluster.
macro_rules! load_from {
    ($space:literal, $t:ty, $address:expr) => {{
        let address: u32 = $address;
        let bits: u64 = match size_of::<$t>() {
            1 => {
                let v: u16;
                asm!(
                    concat!("ld.", $space, ".u8 {0}, [{1}];"),
                    out(reg16) v, in(reg32) address, options(pure, readonly, nostack)
                );
                v as u64
            }
            2 => {
                let v: u16;
                asm!(
                    concat!("ld.", $space, ".b16 {0}, [{1}];"),
                    out(reg16) v, in(reg32) address, options(pure, readonly, nostack)
                );
                v as u64
            }
            4 => {
                let v: u32;
                asm!(
                    concat!("ld.", $space, ".b32 {0}, [{1}];"),
                    out(reg32) v, in(reg32) address, options(pure, readonly, nostack)
                );
                v as u64
            }
            _ => {
                let v: u64;
                asm!(
                    concat!("ld.", $space, ".b64 {0}, [{1}];"),
                    out(reg64) v, in(reg32) address, options(pure, readonly, nostack)
                );
                v
            }
        };
        from_bits(bits)
    }};
}

/// # Safety
/// `address` lies in the block's shared memory, with room for a `T`, and is aligned for it.
#[inline(always)]
pub(crate) unsafe fn load_shared<T: Scalar>(address: u32) -> T {
    // SAFETY: the caller's promise is the instruction's condition.
    unsafe { load_from!("shared", T, address) }
}

/// # Safety
/// As [`crate::machine::Machine::load_cluster`].
#[inline(always)]
pub(crate) unsafe fn load_cluster<T: Scalar>(address: u32) -> T {
    // SAFETY: the caller's promise is the instruction's condition.
    unsafe { load_from!("shared::cluster", T, address) }
}

/// # Safety
/// As [`crate::machine::Machine::load_cluster_pack`].
#[inline(always)]
pub(crate) unsafe fn load_cluster_pack(address: u32) -> [u32; 4] {
    // SAFETY: the caller's promise is the instruction's condition.
    unsafe { load_pack!("ld.shared::cluster.v4.b32", reg32, address, pure, readonly) }
}

/// # Safety
/// As [`load_shared`].
#[inline(always)]
pub(crate) unsafe fn store_shared<T: Scalar>(address: u32, value: T) {
    let bits = to_bits(value);
    // SAFETY: the caller's promise is the instruction's condition.
    unsafe {
        match size_of::<T>() {
            1 => asm!("st.shared.u8 [{0}], {1};", in(reg32) address, in(reg16) bits as u16, options(nostack)),
            2 => asm!("st.shared.b16 [{0}], {1};", in(reg32) address, in(reg16) bits as u16, options(nostack)),
            4 => asm!("st.shared.b32 [{0}], {1};", in(reg32) address, in(reg32) bits as u32, options(nostack)),
            _ => asm!("st.shared.b64 [{0}], {1};", in(reg32) address, in(reg64) bits, options(nostack)),
        }
    }
}

/// # Safety
/// `address` lies in the block's shared memory, with room for 16 bytes, and is aligned to 16.
#[inline(always)]
pub(crate) unsafe fn load_shared_pack(address: u32) -> [u32; 4] {
    // SAFETY: the caller's promise is the instruction's condition.
    unsafe { load_pack!("ld.shared.v4.b32", reg32, address, pure, readonly) }
}

/// [`load_shared_pack`] to registers of 64 bits. Made of four of 32 bits, ptxas moves each of them again before a
/// product on the tensor cores takes it.
///
/// # Safety
/// As [`load_shared_pack`].
#[inline(always)]
pub(crate) unsafe fn load_shared_pair(address: u32) -> [u64; 2] {
    let (a, b): (u64, u64);
    // SAFETY: the caller's promise is the instruction's condition.
    unsafe {
        asm!(
            "ld.shared.v2.b64 {{{0}, {1}}}, [{2}];",
            out(reg64) a, out(reg64) b, in(reg32) address, options(pure, readonly, nostack)
        );
    }
    [a, b]
}

/// # Safety
/// As [`load_shared_pack`].
#[inline(always)]
pub(crate) unsafe fn store_shared_pack(address: u32, value: [u32; 4]) {
    // SAFETY: the caller's promise is the instruction's condition.
    unsafe { store_pack!("st.shared.v4.b32", reg32, address, value) }
}
