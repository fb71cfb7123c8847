//! Views of global memory.

use crate::Backend;
use crate::machine::{Cache, Machine};
use crate::machine::{Operation, Order, Scope};
use crate::scalar::{AtomicScalar, Scalar};

/// A view of `len` elements of global memory: a pointer and a length, copied freely.
///
/// An access out of bounds ends the kernel: always on the simulator, and on the GPU in PTX built with `--checked`.
/// Other PTX does not check the length.
///
/// Several threads may hold the same view. If one thread writes a word while another may read or write it, both must
/// use the atomic methods. [`Global::load`] with `Order::Relaxed` is enough if only the word itself matters, for
/// example in a loop that polls it. To the compiler for the GPU, [`Global::get`] and [`Global::set`] are ordinary
/// accesses: between two barriers, fences or atomic accesses it may merge them, move them or hoist them out of a loop,
/// and the value of a racing read is undefined. The simulator returns some value that the word held. Atomic loads are
/// no replacement for all plain ones: they become `ld.relaxed.sys`, which bypasses L1.
///
/// Only kernels access memory through a view. On the host every access panics, because the address is the device's.
pub struct Global<T> {
    ptr: *mut T,
    len: u32,
    /// The number of the memory's mark.
    #[cfg(not(target_os = "cuda"))]
    live: u64,
}

impl<T> Clone for Global<T> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for Global<T> {}

// SAFETY: a view is an address; accesses through it are subject to the rules of the device's memory, and every access
// of the simulator is atomic (see sim/memory.rs).
unsafe impl<T> Send for Global<T> {}
// SAFETY: as above.
unsafe impl<T> Sync for Global<T> {}

impl<T: Scalar> Global<T> {
    /// A view of `len` elements at `ptr`.
    ///
    /// # Safety
    /// - `ptr` is aligned for `T`, and `len` elements at it are valid for reads and writes on the machine that the
    ///   kernel runs on, for as long as the view is used.
    #[inline(always)]
    pub const unsafe fn from_raw(ptr: *mut T, len: u32) -> Self {
        Self {
            ptr,
            len,
            #[cfg(not(target_os = "cuda"))]
            live: crate::live::UNMARKED,
        }
    }

    /// A view of `len` elements at `ptr`, in memory that lives as long as the mark: launches on the simulator refuse
    /// the view afterwards.
    ///
    /// # Safety
    /// As for [`Global::from_raw`], as long as `mark` is not dropped.
    #[cfg(not(target_os = "cuda"))]
    pub unsafe fn of_live(mark: &crate::live::Live, ptr: *mut T, len: u32) -> Self {
        Self { ptr, len, live: mark.number() }
    }

    /// The number of the memory's mark.
    #[cfg(not(target_os = "cuda"))]
    pub(crate) const fn live(self) -> u64 {
        self.live
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

    /// The address of the first element, for your own kernels and libraries.
    #[inline(always)]
    pub const fn as_ptr(self) -> *mut T {
        self.ptr
    }

    /// Reads element `i`, which no other thread may write at the same time.
    #[inline(always)]
    #[track_caller]
    pub fn get(self, i: u32) -> T {
        // SAFETY: `at` checked the index; the view's maker promised the memory.
        unsafe { Backend::load_global(self.at(i)) }
    }

    /// Reads element `i` as data that is used once: the caches evict it first.
    #[inline(always)]
    #[track_caller]
    pub fn get_streaming(self, i: u32) -> T {
        // SAFETY: as for `get`.
        unsafe { Backend::load_global_streaming(self.at(i)) }
    }

    /// Writes `value` to element `i`, which no other thread may read or write at the same time.
    #[inline(always)]
    #[track_caller]
    pub fn set(self, i: u32, value: T) {
        // SAFETY: as for `get`.
        unsafe { Backend::store_global(self.at(i), value) }
    }

    /// The `len` elements from `start` on, as a view of their own.
    #[inline(always)]
    #[track_caller]
    pub fn slice(self, start: u32, len: u32) -> Self {
        if checked() && (start > self.len || len > self.len - start) {
            Backend::out_of_bounds("global slice", start as u64 + len as u64, self.len as u64);
        }
        Self { ptr: self.ptr.wrapping_add(start as usize), len, ..self }
    }

    /// The same bytes as elements of another type; an incomplete last element is dropped.
    ///
    /// More elements than a `u32` can count are refused in builds that refuse indices out of bounds.
    #[inline(always)]
    #[track_caller]
    pub fn cast<U: Scalar>(self) -> Global<U> {
        if checked() && !(self.ptr as usize).is_multiple_of(align_of::<U>()) {
            Backend::misaligned("global view", self.ptr as u64, align_of::<U>() as u32);
        }
        let len = self.len as u64 * size_of::<T>() as u64 / size_of::<U>() as u64;
        if checked() && len > u32::MAX as u64 {
            Backend::out_of_bounds("global cast", len, u32::MAX as u64);
        }
        Global {
            ptr: self.ptr as *mut U,
            len: len as u32,
            #[cfg(not(target_os = "cuda"))]
            live: self.live,
        }
    }

    /// Pack `i`: the 16 bytes of elements `i * PACK` and following, in one access. The view starts on a multiple of
    /// 16 bytes.
    #[inline(always)]
    #[track_caller]
    pub fn get_pack(self, i: u32) -> T::Pack {
        self.load_pack(i, Cache::Default)
    }

    /// [`Global::get_pack`] of data that is used once: the caches evict it first.
    #[inline(always)]
    #[track_caller]
    pub fn get_pack_streaming(self, i: u32) -> T::Pack {
        self.load_pack(i, Cache::Streaming)
    }

    /// [`Global::get_pack`] of data that is not written during the kernel; bypasses L1.
    #[inline(always)]
    #[track_caller]
    pub fn get_pack_read_only(self, i: u32) -> T::Pack {
        self.load_pack(i, Cache::ReadOnly)
    }

    /// [`Global::get_pack_read_only`] if `there`, else `otherwise`: the tail of a loop without a branch, so that all
    /// its loads are issued together. `i` has to be in view only if `there`.
    #[inline(always)]
    #[track_caller]
    pub fn get_pack_read_only_or(self, i: u32, there: bool, otherwise: T::Pack) -> T::Pack {
        let p = if checked() { if there { self.pack_at(i) } else { core::ptr::null_mut() } } else { self.pack_at(i) };
        // SAFETY: where it is loaded, `pack_at` checked the index and the alignment; T::Pack is 16 bytes of scalars.
        unsafe {
            let otherwise = core::mem::transmute_copy(&otherwise);
            core::mem::transmute_copy(&Backend::load_global_pack_or(p, there, otherwise))
        }
    }

    /// Writes pack `i`, see [`Global::get_pack`].
    #[inline(always)]
    #[track_caller]
    pub fn set_pack(self, i: u32, value: T::Pack) {
        // SAFETY: `pack_at` checked the index and the alignment; T::Pack is 16 bytes.
        unsafe { Backend::store_global_pack(self.pack_at(i), core::mem::transmute_copy(&value), Cache::Default) }
    }

    /// [`Global::set_pack`] of data that is not read again soon.
    #[inline(always)]
    #[track_caller]
    pub fn set_pack_streaming(self, i: u32, value: T::Pack) {
        // SAFETY: as for `set_pack`.
        unsafe { Backend::store_global_pack(self.pack_at(i), core::mem::transmute_copy(&value), Cache::Streaming) }
    }

    #[inline(always)]
    #[track_caller]
    fn load_pack(self, i: u32, cache: Cache) -> T::Pack {
        // SAFETY: `pack_at` checked the index and the alignment; T::Pack is 16 bytes of scalars.
        unsafe { core::mem::transmute_copy(&Backend::load_global_pack(self.pack_at(i), cache)) }
    }

    #[inline(always)]
    #[track_caller]
    fn at(self, i: u32) -> *mut T {
        if checked() && i >= self.len {
            Backend::out_of_bounds("global", i as u64, self.len as u64);
        }
        self.ptr.wrapping_add(i as usize)
    }

    #[inline(always)]
    #[track_caller]
    fn pack_at(self, i: u32) -> *mut u8 {
        if checked() && i >= self.len / T::PACK {
            Backend::out_of_bounds("global pack", i as u64, (self.len / T::PACK) as u64);
        }
        let p = self.ptr.cast::<u8>().wrapping_add(i as usize * 16);
        if checked() && !(p as usize).is_multiple_of(16) {
            Backend::misaligned("global pack", p as u64, 16);
        }
        p
    }
}

/// Whether views check their bounds: always on the simulator, on the GPU in a build with `--checked`.
#[inline(always)]
pub(crate) const fn checked() -> bool {
    cfg!(any(feature = "checked", not(target_os = "cuda")))
}

/// Gives a view its atomic methods, on top of its own `atomic(operation, i, order, scope)`.
macro_rules! atomic_methods {
    () => {
        atomic_methods! {
            /// Adds `value` to element `i`, integers modulo their size; returns the former value.
            fetch_add = Add;
            /// Makes element `i` the smaller of itself and `value` (integers); returns the former value.
            fetch_min = Min;
            /// Makes element `i` the larger of itself and `value` (integers); returns the former value.
            fetch_max = Max;
            /// Clears the bits of element `i` that are clear in `value` (integers); returns the former value.
            fetch_and = And;
            /// Sets the bits of `value` in element `i` (integers); returns the former value.
            fetch_or = Or;
            /// Flips the bits of `value` in element `i` (integers); returns the former value.
            fetch_xor = Xor;
            /// Makes element `i` equal to `value`; returns the former value.
            exchange = Exchange;
        }
    };
    ($($(#[$doc:meta])* $name:ident = $operation:ident;)*) => {
        $(
            $(#[$doc])*
            #[inline(always)]
            #[track_caller]
            pub fn $name(self, i: u32, value: T, order: Order, scope: Scope) -> T {
                self.atomic(Operation::$operation(value), i, order, scope)
            }
        )*

        /// Reads element `i` atomically (`Relaxed` or `Acquire`). A thread that waits for another calls it; in the
        /// simulator it lets the others run.
        #[inline(always)]
        #[track_caller]
        pub fn load(self, i: u32, order: Order, scope: Scope) -> T {
            self.atomic(Operation::Load, i, order, scope)
        }

        /// Writes element `i` atomically (`Relaxed` or `Release`).
        #[inline(always)]
        #[track_caller]
        pub fn store(self, i: u32, value: T, order: Order, scope: Scope) {
            self.atomic(Operation::Store(value), i, order, scope);
        }

        /// Writes `new` to element `i` if it has the bits of `current`; returns the former value.
        #[inline(always)]
        #[track_caller]
        pub fn compare_exchange(self, i: u32, current: T, new: T, order: Order, scope: Scope) -> T {
            self.atomic(Operation::CompareExchange { current, new }, i, order, scope)
        }
    };
}
pub(crate) use atomic_methods;

impl<T: AtomicScalar> Global<T> {
    atomic_methods!();

    #[inline(always)]
    #[track_caller]
    fn atomic(self, operation: Operation<T>, i: u32, order: Order, scope: Scope) -> T {
        // SAFETY: `at` checked the index; the view's maker promised the memory.
        unsafe { Backend::atomic_global(operation, self.at(i), order, scope) }
    }
}
