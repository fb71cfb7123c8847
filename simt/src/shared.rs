//! Views of a block's shared memory, and its declaration.

use crate::Backend;
use crate::global::{atomic_methods, checked};
use crate::machine::{Machine, Register};
use crate::machine::{Operation, Order, Scope};
use crate::scalar::{AtomicScalar, Scalar};
use core::marker::PhantomData;

/// A view of `len` elements of the block's shared memory: an address and a length, copied freely.
///
/// Declared with [`shared!`](crate::shared) (static) or [`Shared::dynamic`]. Bounds are checked as for
/// [`crate::Global`]. The content is unspecified when a block begins.
///
/// A racing read returns some value that the word held, on the GPU too. But between two barriers, fences, stores or
/// atomic accesses the compiler may merge plain loads, so a thread that polls in a loop must call [`Shared::load`].
pub struct Shared<T> {
    address: u32,
    len: u32,
    element: PhantomData<T>,
}

impl<T> Clone for Shared<T> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for Shared<T> {}

impl<T: Scalar> Shared<T> {
    /// A view at a byte address of shared memory; what [`shared!`](crate::shared) expands to.
    ///
    /// # Safety
    /// `address` is that of `len` elements of the block's shared memory, and aligned for them.
    #[doc(hidden)]
    #[inline(always)]
    pub const unsafe fn at_address(address: u32, len: u32) -> Self {
        Self { address, len, element: PhantomData }
    }

    /// `len` elements of the launch's dynamic shared memory, `offset` bytes from its start: a multiple of the alignment
    /// of `T`.
    #[inline(always)]
    #[track_caller]
    pub fn dynamic(offset: u32, len: u32) -> Self {
        if checked() {
            let (end, have) = (offset as u64 + len as u64 * size_of::<T>() as u64, Self::dynamic_bytes() as u64);
            if end > have {
                Backend::out_of_bounds("dynamic shared bytes", end, have);
            }
        }
        let address = Backend::dynamic_shared_address() + offset;
        if checked() && !address.is_multiple_of(align_of::<T>() as u32) {
            Backend::misaligned("dynamic shared view", address as u64, align_of::<T>() as u32);
        }
        // SAFETY: the launch has this many bytes, and the address is a multiple of the alignment, by the checks above.
        unsafe { Self::at_address(address, len) }
    }

    /// Bytes of dynamic shared memory that the launch asked for.
    #[inline(always)]
    pub fn dynamic_bytes() -> u32 {
        Backend::register(Register::DynamicSharedBytes)
    }

    /// Elements in view.
    #[inline(always)]
    pub const fn len(self) -> u32 {
        self.len
    }

    /// Whether the view is empty.
    #[inline(always)]
    pub const fn is_empty(self) -> bool {
        self.len == 0
    }

    /// The byte address of the first element in the block's shared memory.
    #[inline(always)]
    pub const fn address(self) -> u32 {
        self.address
    }

    /// Element `i`.
    #[inline(always)]
    #[track_caller]
    pub fn get(self, i: u32) -> T {
        // SAFETY: `at` checked the index; the view was made within the block's shared memory.
        unsafe { Backend::load_shared(self.at(i)) }
    }

    /// Writes `value` to element `i`.
    #[inline(always)]
    #[track_caller]
    pub fn set(self, i: u32, value: T) {
        // SAFETY: as for `get`.
        unsafe { Backend::store_shared(self.at(i), value) }
    }

    /// The `len` elements from `start` on, as a view of their own.
    #[inline(always)]
    #[track_caller]
    pub fn slice(self, start: u32, len: u32) -> Self {
        if checked() && (start > self.len || len > self.len - start) {
            Backend::out_of_bounds("shared slice", start as u64 + len as u64, self.len as u64);
        }
        // SAFETY: a part of this view, by the check above.
        unsafe { Self::at_address(self.address + start * size_of::<T>() as u32, len) }
    }

    /// The same bytes as elements of another type; an incomplete last element is dropped.
    #[inline(always)]
    #[track_caller]
    pub fn cast<U: Scalar>(self) -> Shared<U> {
        if checked() && !self.address.is_multiple_of(align_of::<U>() as u32) {
            Backend::misaligned("shared view", self.address as u64, align_of::<U>() as u32);
        }
        let len = self.len * size_of::<T>() as u32 / size_of::<U>() as u32;
        // SAFETY: the bytes are this view's, and aligned by the check above.
        unsafe { Shared::at_address(self.address, len) }
    }

    /// Pack `i`: the 16 bytes of elements `i * PACK` and following, in one access. The view starts on a multiple of
    /// 16 bytes.
    #[inline(always)]
    #[track_caller]
    pub fn get_pack(self, i: u32) -> T::Pack {
        // SAFETY: `pack_at` checked the index and the alignment; T::Pack is 16 bytes of scalars.
        unsafe {
            match size_of::<T>() {
                8 => core::mem::transmute_copy(&Backend::load_shared_pair(self.pack_at(i))),
                _ => core::mem::transmute_copy(&Backend::load_shared_pack(self.pack_at(i))),
            }
        }
    }

    /// Writes pack `i`, see [`Shared::get_pack`].
    #[inline(always)]
    #[track_caller]
    pub fn set_pack(self, i: u32, value: T::Pack) {
        // SAFETY: as for `get_pack`.
        unsafe { Backend::store_shared_pack(self.pack_at(i), core::mem::transmute_copy(&value)) }
    }

    #[inline(always)]
    #[track_caller]
    fn at(self, i: u32) -> u32 {
        if checked() && i >= self.len {
            Backend::out_of_bounds("shared", i as u64, self.len as u64);
        }
        self.address.wrapping_add(i.wrapping_mul(size_of::<T>() as u32))
    }

    #[inline(always)]
    #[track_caller]
    fn pack_at(self, i: u32) -> u32 {
        if checked() && i >= self.len / T::PACK {
            Backend::out_of_bounds("shared pack", i as u64, (self.len / T::PACK) as u64);
        }
        let address = self.address.wrapping_add(i.wrapping_mul(16));
        if checked() && !address.is_multiple_of(16) {
            Backend::misaligned("shared pack", address as u64, 16);
        }
        address
    }
}

impl<T: AtomicScalar> Shared<T> {
    atomic_methods!();

    /// Only the block's threads see shared memory, so every scope means the block.
    #[inline(always)]
    #[track_caller]
    fn atomic(self, operation: Operation<T>, i: u32, order: Order, _scope: Scope) -> T {
        // SAFETY: `at` checked the index; the view was made within the block's shared memory.
        unsafe { Backend::atomic_shared(operation, self.at(i), order) }
    }
}

/// A number for a module, so that two files may give their shared arrays the same name: the FNV-1a hash of its path.
#[doc(hidden)]
pub const fn shared_symbol(module: &str) -> u32 {
    let (bytes, mut hash, mut i) = (module.as_bytes(), 0x811c_9dc5u32, 0);
    while i < bytes.len() {
        hash = (hash ^ bytes[i] as u32).wrapping_mul(0x0100_0193);
        i += 1;
    }
    hash
}

/// Declares a static array in shared memory: `shared!(TILE: [f32; 256]);`, then `TILE::view()` is a
/// [`Shared<f32>`](crate::Shared) of 256 elements, the same for all threads of a block.
///
/// On the GPU it becomes `.shared .align 16 .b8 TILE_<module>[1024];`. ptxas charges a kernel only for the arrays
/// that it uses.
#[macro_export]
macro_rules! shared {
    ($(#[$doc:meta])* $name:ident: [$t:ty; $n:expr]) => {
        $crate::shared_declaration!($name: [$t; $n]);

        $(#[$doc])*
        #[allow(non_camel_case_types, clippy::upper_case_acronyms)]
        struct $name;

        impl $name {
            #[inline(always)]
            fn view() -> $crate::Shared<$t> {
                const LEN: u32 = ($n) as u32;
                let address = $crate::shared_array_address!($name: [$t; LEN]);
                // SAFETY: that of an array of the given number of elements, on a multiple of 16 bytes.
                unsafe { $crate::Shared::at_address(address, LEN) }
            }
        }
    };
}
