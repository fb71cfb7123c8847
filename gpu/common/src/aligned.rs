//! The part of a view that can be read in aligned packs of 16 bytes.

use simt::{Global, Scalar};

/// A view in three parts: the head, which ends at the first multiple of 16 bytes, whole packs, and the rest.
#[derive(Clone, Copy)]
pub struct Aligned<T: Scalar> {
    view: Global<T>,
    head: u32,
    packs: u32,
}

impl<T: Scalar> Aligned<T> {
    /// Cuts the view. The head and the rest are shorter than a pack.
    #[simt::device]
    pub fn new(view: Global<T>) -> Self {
        let past = view.as_ptr() as usize as u32 % 16 / size_of::<T>() as u32;
        let head = ((T::PACK - past) % T::PACK).min(view.len());
        Self { view, head, packs: (view.len() - head) / T::PACK }
    }

    /// How many elements come before the packs.
    #[simt::device]
    pub fn head(self) -> u32 {
        self.head
    }

    /// The number of packs.
    #[simt::device]
    pub fn packs(self) -> u32 {
        self.packs
    }

    /// The elements of the packs. Without packs their first address may not be aligned: ask [`Aligned::packs`] first.
    #[simt::device]
    pub fn body(self) -> Global<T> {
        self.view.slice(self.head, self.packs * T::PACK)
    }

    /// Element `i` of those outside the packs, head first; `None` from `2 * PACK - 2` on at the latest.
    #[simt::device]
    pub fn edge(self, i: u32) -> Option<T> {
        let at = if i < self.head { i } else { i + self.packs * T::PACK };
        if i < self.view.len() - self.packs * T::PACK { Some(self.view.get(at)) } else { None }
    }
}
