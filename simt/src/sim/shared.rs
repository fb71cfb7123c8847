//! The shared memory of a block. Static arrays have their names as keys, and each block gives a key a place.

use super::limits::{MAX_SHARED, MAX_STATIC_SHARED};
use std::cell::{Cell, RefCell, UnsafeCell};

/// The byte that fills shared memory when a block begins, unlike any data of a kernel.
const POISON: u128 = u128::from_ne_bytes([0xCD; 16]);

/// The shared memory of one block after the other.
pub(super) struct SharedMemory {
    /// Bytes of dynamic shared memory, which come first.
    pub(super) dynamic_bytes: u32,
    /// Static arrays, by key, with the address that each was given. They keep these from block to block.
    arrays: RefCell<Vec<(usize, u32)>>,
    bytes: Cell<u32>,
    /// As many as are used, with room for the most there can be: they never move.
    words: UnsafeCell<Vec<u128>>,
}

impl SharedMemory {
    pub(super) fn new(dynamic_bytes: u32) -> Self {
        let mut words = Vec::with_capacity(MAX_SHARED as usize / 16 + 1);
        words.resize(dynamic_bytes.div_ceil(16) as usize, POISON);
        Self {
            dynamic_bytes,
            arrays: RefCell::default(),
            bytes: Cell::new(dynamic_bytes.next_multiple_of(16)),
            words: UnsafeCell::new(words),
        }
    }

    /// As the next block finds it.
    pub(super) fn reset(&mut self) {
        self.words.get_mut().fill(POISON);
    }

    /// The bytes of dynamic memory and the arrays that have an address.
    pub(super) fn bytes(&self) -> u32 {
        self.bytes.get()
    }

    /// Whether `bytes` bytes from an address on are all inside.
    #[inline(always)]
    pub(super) fn holds(&self, address: u32, bytes: u32) -> bool {
        address as u64 + bytes as u64 <= self.bytes.get() as u64
    }

    /// A pointer to an address that is inside.
    #[inline(always)]
    pub(super) fn pointer(&self, address: u32) -> *mut u8 {
        // SAFETY: `reset` has the vector to itself, and `array` holds no reference to it behind its end; this one ends
        // here.
        unsafe { (*self.words.get()).as_mut_ptr().cast::<u8>().wrapping_add(address as usize) }
    }

    /// The address of a static array, and whether it is assigned by this call: the first for the array.
    #[track_caller]
    pub(super) fn array(&self, name: &'static &'static str, bytes: u32) -> (u32, bool) {
        let (mut arrays, key) = (self.arrays.borrow_mut(), std::ptr::from_ref(name) as usize);
        if let Some((_, address)) = arrays.iter().find(|(k, _)| *k == key) {
            return (*address, false);
        }
        let (address, end) = (self.bytes.get(), self.bytes.get() + bytes.next_multiple_of(16));
        let fixed = end - self.dynamic_bytes.next_multiple_of(16);
        assert!(
            fixed <= MAX_STATIC_SHARED,
            "the kernel declares {fixed} bytes of static shared memory; a block has at most {MAX_STATIC_SHARED}"
        );
        assert!(
            end <= MAX_SHARED,
            "the block needs {end} bytes of shared memory, static and dynamic; it has at most {MAX_SHARED}"
        );
        self.bytes.set(end);
        // SAFETY: one thread of the block runs at a time, and no reference to the vector lives outside of this type's
        // functions, which do not call each other while they hold one.
        unsafe { (*self.words.get()).resize(end as usize / 16, POISON) };
        arrays.push((key, address));
        (address, true)
    }
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
        static ARRAY: &str = stringify!($name);
        $crate::expansion::static_shared(&ARRAY, size_of::<$t>() as u32, ($n) as u32)
    }};
}
