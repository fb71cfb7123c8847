//! Input that is uploaded once and read by many.

use crate::engine::{Buffer, Engine};
use crate::error::Result;
use simt::Scalar;
use std::cell::RefCell;
use std::rc::{Rc, Weak};

/// A problem's input on an engine, for as long as somebody holds it. Rungs and peers that only read it share it: it is
/// uploaded once, and each finds it in the caches as the others do.
pub struct Uploaded<T>(RefCell<Weak<Buffer<T>>>);

impl<T> Default for Uploaded<T> {
    fn default() -> Self {
        Self(RefCell::new(Weak::new()))
    }
}

impl<T: Scalar> Uploaded<T> {
    /// The parts, one after the other, on this engine. They are the same in every call.
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
