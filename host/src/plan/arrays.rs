//! The caller's arrays: where they can be.

use crate::error::{Error, Result};
use simt::{Global, Scalar};

/// `n` elements at an address, as kernels get them: as elements, or as words of their size. And where they are.
///
/// # Safety
/// They are there, if they are where they can be: [`Array::check`] comes before any launch.
pub(super) unsafe fn given<T, W: Scalar>(what: &'static str, address: *const T, n: u32) -> (Global<W>, Array) {
    // SAFETY: as the caller says.
    (unsafe { Global::from_raw(address.cast_mut().cast(), n) }, Array::of(what, address, n))
}

/// Memory of the caller's.
pub(super) struct Array {
    pub(super) what: &'static str,
    pub(super) address: usize,
    pub(super) bytes: usize,
    pub(super) align: usize,
    /// Whether another array that is shared may be in the same place.
    pub(super) shared: bool,
}

impl Array {
    /// `n` elements at an address, aligned as their type.
    pub(super) fn of<T>(what: &'static str, address: *const T, n: u32) -> Self {
        let (bytes, align) = ((n as usize).saturating_mul(size_of::<T>()), align_of::<T>());
        Self { what, address: address as usize, bytes, align, shared: false }
    }

    pub(super) fn aligned(self, align: usize) -> Self {
        Self { align, ..self }
    }

    pub(super) fn shared(self) -> Self {
        Self { shared: true, ..self }
    }

    pub(super) fn check(&self) -> Result<()> {
        let Self { what, address, bytes, align, .. } = *self;
        if address == 0 || address.checked_add(bytes).is_none() {
            return Err(Error::Usage(format!("there are no {bytes} bytes at {address:#x}, where {what} should be")));
        }
        if !address.is_multiple_of(align) {
            return Err(Error::Usage(format!("{what} at {address:#x} must begin on a multiple of {align} bytes")));
        }
        Ok(())
    }

    /// Whether an array that begins no earlier has bytes of this one and must not.
    pub(super) fn overlaps(&self, next: &Self) -> bool {
        let same = self.address == next.address && self.shared && next.shared;
        next.address - self.address < self.bytes && !same
    }
}
