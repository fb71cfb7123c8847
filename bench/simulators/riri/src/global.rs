//! Views of global memory: a buffer of riri's, known by its number, and a place in it.

use crate::atomic::{Order, Scope};
use crate::scalar::Scalar;
use crate::{here, not_expressible};
use riri::GlobalBuf;
use std::marker::PhantomData;
use std::sync::Mutex;

static BUFFERS: Mutex<Vec<GlobalBuf<u32>>> = Mutex::new(Vec::new());

/// Words below a buffer's first address.
const SHIFT: u32 = 32;

/// A buffer with these words, or with so many that nobody wrote: its address.
pub fn new_buffer(words: Result<Vec<u32>, usize>) -> *mut u8 {
    let mut all = BUFFERS.lock().unwrap();
    let name = format!("buffer {}", all.len());
    all.push(match words {
        Ok(words) => GlobalBuf::new(&name, words),
        Err(len) => GlobalBuf::uninit(&name, len),
    });
    (all.len() << SHIFT) as *mut u8
}

/// The buffer at an address.
pub fn buffer(address: *const u8) -> GlobalBuf<u32> {
    BUFFERS.lock().unwrap()[(address as usize >> SHIFT) - 1].clone()
}

/// Makes the words of a buffer zero.
pub fn clear(address: *mut u8) {
    let mut all = BUFFERS.lock().unwrap();
    let place = &mut all[(address as usize >> SHIFT) - 1];
    *place = GlobalBuf::new("cleared", vec![0; place.len()]);
}

pub struct Global<T> {
    ptr: *mut T,
    len: u32,
    element: PhantomData<T>,
}

impl<T> Clone for Global<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for Global<T> {}
// SAFETY: an address that means nothing to the host.
unsafe impl<T> Send for Global<T> {}
// SAFETY: as above.
unsafe impl<T> Sync for Global<T> {}

impl<T: Scalar> Global<T> {
    /// # Safety
    /// None: the address is a number.
    pub const unsafe fn from_raw(ptr: *mut T, len: u32) -> Self {
        Self { ptr, len, element: PhantomData }
    }

    /// # Safety
    /// None: the address is a number.
    pub unsafe fn of_live(_: &crate::live::Live, ptr: *mut T, len: u32) -> Self {
        Self { ptr, len, element: PhantomData }
    }

    pub(crate) const fn live(self) -> u64 {
        crate::live::UNMARKED
    }

    pub const fn len(self) -> u32 {
        self.len
    }

    pub const fn is_empty(self) -> bool {
        self.len == 0
    }

    pub const fn as_ptr(self) -> *mut T {
        self.ptr
    }

    #[track_caller]
    pub fn slice(self, start: u32, len: u32) -> Self {
        assert!(start <= self.len && len <= self.len - start, "a slice beyond its view");
        Self { ptr: self.ptr.wrapping_add(start as usize), len, ..self }
    }

    pub fn cast<U: Scalar>(self) -> Global<U> {
        not_expressible("a view of other elements")
    }
}

impl Global<u32> {
    /// The buffer, and the index of element `i` in it.
    fn at(self, i: u32) -> (GlobalBuf<u32>, usize) {
        let first = (self.ptr as usize & u32::MAX as usize) / 4;
        // riri looks after the buffer's bounds; the view's are the buffer's, or a part of it.
        (buffer(self.ptr.cast()), first + i as usize)
    }

    #[track_caller]
    pub fn get(self, i: u32) -> u32 {
        let (buffer, i) = self.at(i);
        buffer.read(here(), i)
    }

    #[track_caller]
    pub fn set(self, i: u32, value: u32) {
        let (buffer, i) = self.at(i);
        buffer.write(here(), i, value);
    }

    #[track_caller]
    pub fn get_pack(self, i: u32) -> [u32; 4] {
        let at = 4 * i;
        [self.get(at), self.get(at + 1), self.get(at + 2), self.get(at + 3)]
    }

    #[track_caller]
    pub fn set_pack(self, i: u32, value: [u32; 4]) {
        let at = 4 * i;
        self.set(at, value[0]);
        self.set(at + 1, value[1]);
        self.set(at + 2, value[2]);
        self.set(at + 3, value[3]);
    }

    #[track_caller]
    pub fn load(self, i: u32, order: Order, _: Scope) -> u32 {
        let (buffer, i) = self.at(i);
        buffer.atomic_load(here(), i, order.into())
    }

    #[track_caller]
    pub fn store(self, i: u32, value: u32, order: Order, _: Scope) {
        let (buffer, i) = self.at(i);
        buffer.atomic_store(here(), i, value, order.into());
    }

    #[track_caller]
    pub fn fetch_add(self, i: u32, value: u32, order: Order, _: Scope) -> u32 {
        let (buffer, i) = self.at(i);
        buffer.atomic_add(here(), i, value, order.into())
    }

    #[track_caller]
    pub fn fetch_min(self, i: u32, value: u32, order: Order, _: Scope) -> u32 {
        let (buffer, i) = self.at(i);
        buffer.atomic_min(here(), i, value, order.into())
    }

    #[track_caller]
    pub fn fetch_max(self, i: u32, value: u32, order: Order, _: Scope) -> u32 {
        let (buffer, i) = self.at(i);
        buffer.atomic_max(here(), i, value, order.into())
    }

    #[track_caller]
    pub fn compare_exchange(self, i: u32, current: u32, new: u32, order: Order, _: Scope) -> u32 {
        let (buffer, i) = self.at(i);
        buffer.atomic_compare_exchange(here(), i, current, new, order.into()).unwrap_or_else(|now| now)
    }
}

impl Global<u64> {
    pub fn fetch_add(self, _: u32, _: u64, _: Order, _: Scope) -> u64 {
        not_expressible("words of 64 bits beside those of 32")
    }
}
