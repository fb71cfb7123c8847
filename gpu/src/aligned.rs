//! Where the 16-byte accesses of a view begin and end.

use simt::{Global, Scalar};

/// A view in three parts: elements before the first multiple of 16 bytes, whole packs, and the rest.
#[derive(Clone, Copy)]
pub struct Aligned<T: Scalar> {
    view: Global<T>,
    head: u32,
    packs: u32,
}

impl<T: Scalar> Aligned<T> {
    /// Cuts the view. Head and rest are shorter than a pack.
    #[inline(always)]
    pub fn new(view: Global<T>) -> Self {
        let past = view.as_ptr() as usize as u32 % 16 / size_of::<T>() as u32;
        let head = ((T::PACK - past) % T::PACK).min(view.len());
        Self { view, head, packs: (view.len() - head) / T::PACK }
    }

    /// How many packs there are.
    #[inline(always)]
    pub fn packs(self) -> u32 {
        self.packs
    }

    /// The packs, as elements. A view without packs has no aligned address to begin at: ask [`Aligned::packs`] first.
    #[inline(always)]
    pub fn body(self) -> Global<T> {
        self.view.slice(self.head, self.packs * T::PACK)
    }

    /// Element `i` of those outside of the packs, head first; none from `2 * PACK - 2` on at the latest.
    #[inline(always)]
    pub fn edge(self, i: u32) -> Option<T> {
        let at = if i < self.head { i } else { i + self.packs * T::PACK };
        if i < self.view.len() - self.packs * T::PACK { Some(self.view.get(at)) } else { None }
    }
}
