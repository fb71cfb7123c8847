//! Parts of vectors.
//!
//! A slice is a vector of its own in another one's memory: whatever a [`DeviceVec`] does, a slice of it does.
//!
//! ```
//! use rungs::Operation;
//! use rungs::engine::Engine;
//! use rungs::vec::DeviceVec;
//!
//! # fn main() -> rungs::Result<()> {
//! let engine = Engine::simulator();
//! let mut keys = DeviceVec::from_slice(&engine, &[5u32, 9, 1, 8, 2, 7])?;
//! assert_eq!(keys.slice(1..4).reduce(Operation::Sum)?, 18);
//! keys.slice_mut(3..).sort()?;
//! assert_eq!(keys.to_vec()?, [5, 9, 1, 2, 7, 8]);
//!
//! // The upper half goes along with the lower one.
//! let (mut low, mut high) = keys.split_at_mut(3);
//! low.sort_with(&mut high)?;
//! assert_eq!(keys.to_vec()?, [1, 5, 9, 8, 2, 7]);
//! # Ok(())
//! # }
//! ```
//!
//! The borrow checker treats slices as it does those of a `Vec`: any number of [`Slice`]s, or one [`SliceMut`], or
//! disjoint ones. A slice shares the ownership of the memory, so none outlives it.
//!
//! **Cost.** A slice costs nothing. A sort in place needs keys that begin on a multiple of 16 bytes; those of a slice
//! that does not are copied, sorted and copied back, which adds two passes over the memory.

use super::DeviceVec;
use simt::Scalar;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Bound, Deref, DerefMut, RangeBounds};

/// A part of a vector, see [the module](self).
pub struct Slice<'v, T> {
    part: DeviceVec<T>,
    of: PhantomData<&'v DeviceVec<T>>,
}

/// A part of a vector that may be changed, see [the module](self).
pub struct SliceMut<'v, T> {
    part: DeviceVec<T>,
    of: PhantomData<&'v mut DeviceVec<T>>,
}

impl<T: Scalar> DeviceVec<T> {
    /// The elements at these places.
    ///
    /// # Panics
    /// If the range begins after its end or ends after the vector's, as a slice of the host's does.
    pub fn slice(&self, places: impl RangeBounds<usize>) -> Slice<'_, T> {
        Slice { part: self.part(places), of: PhantomData }
    }

    /// The elements at these places, to be changed.
    ///
    /// # Panics
    /// As for [`DeviceVec::slice`].
    pub fn slice_mut(&mut self, places: impl RangeBounds<usize>) -> SliceMut<'_, T> {
        SliceMut { part: self.part(places), of: PhantomData }
    }

    /// The first `middle` elements, and the others.
    ///
    /// # Panics
    /// If there are fewer than `middle`.
    pub fn split_at(&self, middle: usize) -> (Slice<'_, T>, Slice<'_, T>) {
        (self.slice(..middle), self.slice(middle..))
    }

    /// The first `middle` elements, and the others, to be changed.
    ///
    /// # Panics
    /// If there are fewer than `middle`.
    pub fn split_at_mut(&mut self, middle: usize) -> (SliceMut<'_, T>, SliceMut<'_, T>) {
        let (low, high) = (self.part(..middle), self.part(middle..));
        (SliceMut { part: low, of: PhantomData }, SliceMut { part: high, of: PhantomData })
    }

    fn part(&self, places: impl RangeBounds<usize>) -> Self {
        let behind = |place: usize| match place.checked_add(1) {
            Some(next) => next,
            None => panic!("places behind {place} of a vector of {} elements", self.len),
        };
        let first = match places.start_bound() {
            Bound::Included(&first) => first,
            Bound::Excluded(&before) => behind(before),
            Bound::Unbounded => 0,
        };
        let end = match places.end_bound() {
            Bound::Included(&last) => behind(last),
            Bound::Excluded(&end) => end,
            Bound::Unbounded => self.len,
        };
        assert!(first <= end && end <= self.len, "places {first}..{end} of a vector of {} elements", self.len);
        let (engine, buffer) = (self.engine.clone(), self.buffer.clone());
        Self { engine, buffer, start: self.start + first, len: end - first }
    }
}

impl<T> Deref for Slice<'_, T> {
    type Target = DeviceVec<T>;

    fn deref(&self) -> &DeviceVec<T> {
        &self.part
    }
}

impl<T> Deref for SliceMut<'_, T> {
    type Target = DeviceVec<T>;

    fn deref(&self) -> &DeviceVec<T> {
        &self.part
    }
}

impl<T> DerefMut for SliceMut<'_, T> {
    fn deref_mut(&mut self) -> &mut DeviceVec<T> {
        &mut self.part
    }
}

impl<T> fmt::Debug for Slice<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.part.fmt(f)
    }
}

impl<T> fmt::Debug for SliceMut<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.part.fmt(f)
    }
}
