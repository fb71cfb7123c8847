//! Static shared memory as rust-cuda has it: a static in the address space `shared`.
//!
//! The published `cuda_std` wraps that in `shared_array!`, which the pinned revision no longer has; both have the
//! attribute `address_space`, so only this file uses it. `global_asm!`, as in the PTX backend, is not possible here:
//! libnvvm silently drops module-level assembly.

use crate::nvidia::assembly::asm;
use core::mem::MaybeUninit;

/// Bytes of a static shared array, aligned for 16-byte access.
#[repr(C, align(16))]
pub struct SharedArray<const BYTES: usize>(MaybeUninit<[u8; BYTES]>);

impl<const BYTES: usize> SharedArray<BYTES> {
    /// Its content is unspecified when a block begins.
    pub const UNSPECIFIED: Self = Self(MaybeUninit::uninit());
}

/// The address within the block's shared memory of what `p` points at.
///
/// The cast is needed: the pointer to a static gets to `asm!` in the address space `shared`, unconverted. A pointer of
/// another type is made generic first, which `cvta.to.shared` expects.
#[inline(always)]
pub fn shared_address<T>(p: *const T) -> u32 {
    let p = p.cast::<u8>();
    let address: u32;
    // SAFETY: converts an address.
    unsafe {
        asm!(
            "{{",
            ".reg .u64 shared;",
            "cvta.to.shared.u64 shared, {1};",
            "cvt.u32.u64 {0}, shared;",
            "}}",
            out(reg32) address, in(reg64) p, options(pure, nomem, nostack)
        );
    }
    address
}

/// The address of the launch's dynamic shared memory.
///
/// cuda_std's `dynamic_shared_mem` declares it as one `u128`. ptxas then reserves 16 bytes for it at the start of the
/// block's shared memory, and the static arrays behind them lie inside what the kernel takes for dynamic memory. An
/// array without a size lies behind all static ones.
#[inline(always)]
pub fn dynamic_shared_address() -> u32 {
    #[cfg(target_os = "cuda")]
    unsafe extern "C" {
        #[nvvm_internal::addrspace(3)]
        #[allow(improper_ctypes)]
        static RUNGS_DYNAMIC_SHARED: core::cell::UnsafeCell<[u128; 0]>;
    }
    #[cfg(target_os = "cuda")]
    return shared_address(&raw const RUNGS_DYNAMIC_SHARED);
    #[cfg(not(target_os = "cuda"))]
    crate::nvidia::assembly::trap()
}

/// The item that [`shared!`](crate::shared) declares next to the type: none.
#[doc(hidden)]
#[macro_export]
macro_rules! shared_declaration {
    ($name:ident: [$t:ty; $n:expr]) => {};
}

/// The address of the array.
#[doc(hidden)]
#[macro_export]
macro_rules! shared_array_address {
    ($name:ident: [$t:ty; $n:expr]) => {{
        #[$crate::expansion::address_space(shared)]
        static mut ARRAY: $crate::expansion::SharedArray<{ ($n) as usize * size_of::<$t>() }> =
            $crate::expansion::SharedArray::UNSPECIFIED;
        $crate::expansion::shared_address(&raw const ARRAY)
    }};
}
