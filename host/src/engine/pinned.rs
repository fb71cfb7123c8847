//! Host memory for copies that the host does not wait for.

use super::buffer::{bytes_of, bytes_of_mut};
use super::cuda::PageLocked;
use super::{Backend, Buffer, Engine, Mark, What};
use crate::data::memory_check;
use crate::error::Result;
use simt::Scalar;
use std::fmt;
use std::ops::{Deref, DerefMut};

/// Elements in page-locked memory of the host, which a GPU reads and writes by itself; used like a slice. A copy from
/// other memory passes through a buffer of the driver's and keeps the host waiting. Locking pages takes long, so one
/// allocates a few of these and uses them again. For the simulator this is ordinary memory.
pub struct PinnedVec<T>(Memory<T>);

enum Memory<T> {
    Ordinary(Vec<T>),
    /// Bytes of the elements, and nothing else.
    Locked(PageLocked),
}

impl<T: Scalar> PinnedVec<T> {
    /// `len` elements, all zero.
    ///
    /// # Errors
    /// [`Error::Cuda`](crate::Error::Cuda) if the host has less memory that can be locked, or if a kernel launched
    /// before failed; [`Error::OutOfMemory`](crate::Error::OutOfMemory) on the simulator.
    pub fn zeros(engine: &Engine, len: usize) -> Result<Self> {
        Ok(Self(match &engine.0.backend {
            Backend::Cuda(cuda) => Memory::Locked(cuda.lock_pages(len.saturating_mul(size_of::<T>()))?),
            Backend::Simulator(_) => {
                memory_check(&format!("elements of {} bytes", size_of::<T>()), len as u64, size_of::<T>())?;
                Memory::Ordinary(vec![T::default(); len])
            }
        }))
    }

    /// A copy of `data`.
    ///
    /// # Errors
    /// As for [`PinnedVec::zeros`].
    pub fn from_slice(engine: &Engine, data: &[T]) -> Result<Self> {
        let mut vec = Self::zeros(engine, data.len())?;
        vec.copy_from_slice(data);
        Ok(vec)
    }
}

impl<T: Scalar> Deref for PinnedVec<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        match &self.0 {
            Memory::Ordinary(vec) => vec,
            Memory::Locked(memory) => {
                let len = memory.bytes() / size_of::<T>();
                // SAFETY: the bytes are initialised, aligned for any scalar, and borrowed as `self` is; every byte
                // pattern is a scalar.
                unsafe { std::slice::from_raw_parts(memory.as_ptr().cast(), len) }
            }
        }
    }
}

impl<T: Scalar> DerefMut for PinnedVec<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        match &mut self.0 {
            Memory::Ordinary(vec) => vec,
            Memory::Locked(memory) => {
                let len = memory.bytes() / size_of::<T>();
                // SAFETY: as above, and `self` is borrowed alone.
                unsafe { std::slice::from_raw_parts_mut(memory.as_ptr().cast(), len) }
            }
        }
    }
}

impl<T: Scalar + fmt::Debug> fmt::Debug for PinnedVec<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

/// A copy from or to host memory that was enqueued, with the memory: nobody can touch it before the copy has ended.
/// Dropping the value waits too.
#[must_use = "dropped at once, it waits for the copy at once; `wait` returns the memory"]
pub struct Pending<T: Scalar> {
    /// There until the value is waited for.
    data: Option<PinnedVec<T>>,
    engine: Engine,
    /// The end of the copy; none while it is being enqueued.
    end: Option<Mark>,
}

impl<T: Scalar> Pending<T> {
    /// Waits for the copy, and returns the memory.
    ///
    /// # Errors
    /// [`Error::Cuda`](crate::Error::Cuda) if the copy, or a kernel launched before it, failed.
    pub fn wait(mut self) -> Result<PinnedVec<T>> {
        self.finish()?;
        Ok(self.data.take().expect("the memory is there until now"))
    }

    fn finish(&self) -> Result<()> {
        match (&self.engine.0.backend, &self.end) {
            (Backend::Cuda(cuda), Some(Mark::Event(end))) => Ok(cuda.finish(end)?),
            _ => self.engine.synchronize(),
        }
    }
}

impl<T: Scalar> Drop for Pending<T> {
    fn drop(&mut self) {
        if self.data.is_some() {
            // If it fails, the GPU's context is lost, and nothing is copied any more.
            let _ = self.finish();
        }
    }
}

impl<T: Scalar> Buffer<T> {
    /// Enqueues a copy of `data` to the elements from `start` on.
    ///
    /// # Errors
    /// [`Error::Cuda`](crate::Error::Cuda) if the driver refuses it, or a kernel launched before failed.
    pub fn start_write(&self, start: usize, data: PinnedVec<T>) -> Result<Pending<T>> {
        let to = self.slice(start, data.len()).as_ptr() as u64;
        self.start(data, |data| match &self.engine().0.backend {
            Backend::Simulator(_) => self.write_at(start, data),
            Backend::Cuda(cuda) => {
                let what = What::Copy { direction: "HtoD", bytes: size_of_val(data) };
                // SAFETY: the memory stays with the pending copy, which lends it to nobody before its end.
                self.engine().logged(what, || Ok(unsafe { cuda.start_copy_to_device(to, bytes_of(data)) }?))
            }
        })
    }

    /// Enqueues a copy of the elements from `start` on, as many as in `data`, to it.
    ///
    /// # Errors
    /// As for [`Buffer::start_write`].
    pub fn start_read(&self, start: usize, data: PinnedVec<T>) -> Result<Pending<T>> {
        let from = self.slice(start, data.len()).as_ptr() as u64;
        self.start(data, |data| match &self.engine().0.backend {
            Backend::Simulator(_) => self.read_from(start, data),
            Backend::Cuda(cuda) => {
                let what = What::Copy { direction: "DtoH", bytes: size_of_val(data) };
                // SAFETY: as for a write.
                self.engine().logged(what, || Ok(unsafe { cuda.start_copy_to_host(bytes_of_mut(data), from) }?))
            }
        })
    }

    /// Starts a copy. If that fails, what was enqueued of it ends before the memory is freed.
    fn start(&self, data: PinnedVec<T>, copy: impl FnOnce(&mut [T]) -> Result<()>) -> Result<Pending<T>> {
        let mut pending = Pending { data: Some(data), engine: self.engine().clone(), end: None };
        pending.data.as_deref_mut().map_or(Ok(()), copy)?;
        pending.end = Some(self.engine().mark()?);
        Ok(pending)
    }
}
