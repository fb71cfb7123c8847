//! Copies into vectors that exist, and out of them; with page-locked memory while the host goes on.

use super::DeviceVec;
use crate::engine::{Pending, PinnedVec};
use crate::error::{Error, Result};
use simt::Scalar;

impl<T: Scalar> DeviceVec<T> {
    /// Copies `data` to the vector, after everything asked of the engine before; returns when `data` has been read.
    ///
    /// # Errors
    /// [`Error::Usage`] if there are not as many elements; [`Error::Cuda`] if the copy, or a kernel launched before it,
    /// fails.
    pub fn copy_from_slice(&mut self, data: &[T]) -> Result<()> {
        self.expect_as_many(data.len())?;
        self.buffer.write_at(self.start, data)
    }

    /// Copies the vector to `data`, once everything asked of the engine before is done.
    ///
    /// # Errors
    /// As for [`DeviceVec::copy_from_slice`].
    pub fn copy_to_slice(&self, data: &mut [T]) -> Result<()> {
        self.expect_as_many(data.len())?;
        self.buffer.read_from(self.start, data)
    }

    /// Copies the elements of `other`, a vector or slice of the same engine, without waiting.
    ///
    /// # Errors
    /// As for [`DeviceVec::copy_from_slice`]; [`Error::Usage`] also if `other` is of another engine.
    pub fn copy_from(&mut self, other: &Self) -> Result<()> {
        self.expect_as_many(other.len)?;
        self.buffer.copy_part(self.start, &other.buffer, other.start..other.start + other.len)
    }

    /// Enqueues a copy of `data` to the vector and returns at once; what is asked of the engine next comes after the
    /// copy. [`Pending::wait`] gives `data` back.
    ///
    /// ```
    /// use rungs::Operation;
    /// use rungs::engine::{Engine, PinnedVec};
    /// use rungs::vec::DeviceVec;
    ///
    /// # fn main() -> rungs::Result<()> {
    /// let engine = Engine::simulator();
    /// let mut next = PinnedVec::<u32>::zeros(&engine, 1000)?;
    /// let (mut keys, mut sums) = (DeviceVec::uninit(&engine, 1000)?, vec![]);
    /// for step in 0..3 {
    ///     next.fill(step);
    ///     let copy = keys.start_copy_from(next)?;
    ///     // Here the host is free to prepare more; the sum waits for the copy on the GPU.
    ///     sums.push(keys.reduce(Operation::Sum)?);
    ///     next = copy.wait()?;
    /// }
    /// assert_eq!(sums, [0, 1000, 2000]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As for [`DeviceVec::copy_from_slice`].
    pub fn start_copy_from(&mut self, data: PinnedVec<T>) -> Result<Pending<T>> {
        self.expect_as_many(data.len())?;
        self.buffer.start_write(self.start, data)
    }

    /// Enqueues a copy of the vector to `data` and returns at once; [`Pending::wait`] gives `data` back.
    ///
    /// # Errors
    /// As for [`DeviceVec::copy_from_slice`].
    pub fn start_copy_to(&self, data: PinnedVec<T>) -> Result<Pending<T>> {
        self.expect_as_many(data.len())?;
        self.buffer.start_read(self.start, data)
    }

    /// Refuses a copy of another number of elements.
    fn expect_as_many(&self, other: usize) -> Result<()> {
        if other == self.len {
            return Ok(());
        }
        let len = self.len;
        Err(Error::Usage(format!(
            "a vector of {len} elements is not copied from or to {other}; there must be as many: copy a slice"
        )))
    }
}
