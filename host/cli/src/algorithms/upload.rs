//! Input that is uploaded once and shared, and copies of it for rungs and peers that change it.

use rungs::engine::{AnyBuffer, Buffer, Engine};
use rungs::error::Result;
use simt::Scalar;
use std::cell::RefCell;
use std::rc::{Rc, Weak};

/// A problem's input on an engine, for as long as a reference to it exists. Rungs and peers that only read the input
/// share it: it is uploaded once, and all find it in the same state of the caches.
pub struct Uploaded<T>(RefCell<Weak<Buffer<T>>>);

impl<T> Default for Uploaded<T> {
    fn default() -> Self {
        Self(RefCell::new(Weak::new()))
    }
}

impl<T: Scalar> Uploaded<T> {
    /// The parts, in sequence, on this engine. Every call passes the same parts.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](rungs::Error::OutOfMemory) if they do not fit on the engine;
    /// [`Error::Cuda`](rungs::Error::Cuda) if the upload fails.
    pub fn get(&self, engine: &Engine, parts: &[&[T]]) -> Result<Rc<Buffer<T>>> {
        if let Some(there) = self.0.borrow().upgrade().filter(|buffer| buffer.engine().is(engine)) {
            return Ok(there);
        }
        let buffer = engine.alloc(parts.iter().map(|part| part.len()).sum())?;
        parts.iter().try_fold(0, |start, part| buffer.write_at(start, part).map(|()| start + part.len()))?;
        let buffer = Rc::new(buffer);
        *self.0.borrow_mut() = Rc::downgrade(&buffer);
        Ok(buffer)
    }
}

/// Memory that a run changes: one buffer for each call that is made without another restore.
pub struct Changed<T> {
    buffers: Vec<Buffer<T>>,
    /// The buffer of the next call.
    next: usize,
}

impl<T: Scalar> Changed<T> {
    /// One buffer of `len` elements on an engine.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](rungs::Error::OutOfMemory) if it does not fit on the engine.
    pub fn new(engine: &Engine, len: usize) -> Result<Self> {
        Ok(Self { buffers: vec![engine.alloc(len)?], next: 0 })
    }

    /// Copies `input`, which has the size of one buffer, to `calls` buffers.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](rungs::Error::OutOfMemory) if this many buffers do not fit on the engine;
    /// [`Error::Cuda`](rungs::Error::Cuda) if a copy fails.
    pub fn restore_for(&mut self, calls: usize, input: &dyn AnyBuffer) -> Result<()> {
        while self.buffers.len() < calls {
            let (engine, len) = (self.buffers[0].engine(), self.buffers[0].len());
            self.buffers.push(engine.alloc(len)?);
        }
        self.next = 0;
        self.buffers[..calls].iter().try_for_each(|buffer| buffer.copy_bytes(input))
    }

    /// The buffer of the next call.
    pub fn for_next(&mut self) -> &Buffer<T> {
        self.next += 1;
        self.last()
    }

    /// The buffer of the last call.
    pub fn last(&self) -> &Buffer<T> {
        &self.buffers[self.next.saturating_sub(1) % self.buffers.len()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_upload_an_engine() {
        let (engine, other) = (Engine::simulator(), Engine::simulator());
        let uploaded = Uploaded::default();
        let first = uploaded.get(&engine, &[&[1u32, 2], &[], &[3]]).unwrap();
        assert_eq!(first.download().unwrap(), [1, 2, 3]);
        assert!(Rc::ptr_eq(&first, &uploaded.get(&engine, &[&[1, 2, 3]]).unwrap()));
        assert!(!Rc::ptr_eq(&first, &uploaded.get(&other, &[&[1, 2, 3]]).unwrap()));
    }
}
