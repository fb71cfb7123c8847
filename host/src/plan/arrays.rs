//! The caller's arrays: where they can be.

use crate::error::{Error, Result};

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
