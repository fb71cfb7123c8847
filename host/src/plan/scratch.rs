//! The caller's scratch memory, from which a sequence of launches takes what it would allocate.

use simt::Geometry;
use simt::launcher::{Call, Device, Failed, Launcher, Memory, Result};
use simt::tensor_map::{Described, Words};
use std::cell::Cell;
use std::ptr;

/// What scratch memory is aligned to, as what a driver allocates is; arrays in it are, too.
pub const ALIGN: usize = 256;

/// A machine whose memory is one piece of the caller's: allocations are taken from it in sequence. What the
/// sequence clears is cleared by as few fills as possible, right before the launch that needs it.
pub(super) struct Carved<'a> {
    on: &'a dyn Launcher,
    base: *mut u8,
    bytes: usize,
    /// Bytes taken so far.
    used: Cell<usize>,
    /// The bytes between the last two allocations, which belong to neither: where they begin and end.
    gap: Cell<(usize, usize)>,
    /// What is to be cleared before the next launch: first byte and number.
    unclear: Cell<(*mut u8, usize)>,
}

impl<'a> Carved<'a> {
    /// `bytes` bytes at `base`.
    pub(super) fn new(on: &'a dyn Launcher, base: *mut u8, bytes: usize) -> Self {
        let (used, gap, unclear) = (Cell::new(0), Cell::default(), Cell::new((ptr::null_mut(), 0)));
        Self { on, base, bytes, used, gap, unclear }
    }

    /// Memory that is not there, to find out how much a sequence takes from it.
    pub(super) fn endless(on: &'a dyn Launcher) -> Self {
        Self::new(on, ptr::without_provenance_mut(ALIGN), usize::MAX)
    }

    /// Bytes taken so far.
    pub(super) fn used(&self) -> usize {
        self.used.get()
    }

    /// Clears what is still to be cleared.
    pub(super) fn flush(&self) -> Result {
        match self.unclear.replace((ptr::null_mut(), 0)) {
            (_, 0) => Ok(()),
            // SAFETY: the bytes are those of calls of `clear_bytes` and of gaps in the scratch memory, which the caller
            // gave to this sequence.
            (address, bytes) => unsafe { self.on.clear_bytes(address, bytes) },
        }
    }
}

impl Launcher for Carved<'_> {
    fn device(&self) -> Device {
        self.on.device()
    }

    fn enqueue(&self, call: &dyn Call, geometry: Geometry) -> Result {
        self.flush()?;
        self.on.enqueue(call, geometry)
    }

    fn allocate(&self, bytes: usize) -> Result<Box<dyn Memory>> {
        let used = self.used.get();
        let start = used.next_multiple_of(ALIGN);
        if bytes > 0 {
            let Some(end) = start.checked_add(bytes).filter(|&end| end <= self.bytes) else {
                let have = self.bytes;
                return Err(Failed::Unsuitable(format!("{have} bytes of scratch memory are too few for this run")));
            };
            self.gap.set((used, start));
            self.used.set(end);
        }
        Ok(Box::new(Piece(self.base.wrapping_add(start))))
    }

    unsafe fn clear_bytes(&self, address: *mut u8, bytes: usize) -> Result {
        if bytes == 0 {
            return Ok(());
        }
        let (first, length) = self.unclear.get();
        let (start, end) = self.gap.get();
        let follows =
            first.wrapping_add(length) == self.base.wrapping_add(start) && address == self.base.wrapping_add(end);
        if length > 0 && follows {
            self.unclear.set((first, length + (end - start) + bytes));
            return Ok(());
        }
        self.flush()?;
        self.unclear.set((address, bytes));
        Ok(())
    }

    fn tensor_map(&self, of: &Described) -> Result<Words> {
        self.on.tensor_map(of)
    }
}

/// A part of the scratch memory.
struct Piece(*mut u8);

// SAFETY: the bytes are in memory that the caller gave to the sequence, at a multiple of ALIGN, and no other part has
// them. The caller keeps the memory until what was enqueued has ended, when the sequence itself is long gone.
unsafe impl Memory for Piece {
    fn address(&self) -> *mut u8 {
        self.0
    }
}
