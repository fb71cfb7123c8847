//! The simulator as the cases' machine.

use crate::machine::Machine;
use simt::launcher::{Call, Device, Launcher, Memory, Result};
use simt::{Geometry, Global};
use std::boxed::Box;
use std::vec;

/// The simulator.
#[derive(Clone, Copy, Debug, Default)]
pub struct Simulated(pub simt::sim::Gpu);

impl Launcher for Simulated {
    fn device(&self) -> Device {
        self.0.device()
    }

    fn enqueue(&self, call: &dyn Call, geometry: Geometry) -> Result {
        self.0.enqueue(call, geometry)
    }

    fn allocate(&self, bytes: usize) -> Result<Box<dyn Memory>> {
        self.0.allocate(bytes)
    }

    unsafe fn clear_bytes(&self, address: *mut u8, bytes: usize) -> Result {
        // SAFETY: passed on.
        unsafe { self.0.clear_bytes(address, bytes) }
    }
}

/// Words of the host, which a simulated kernel reads and writes.
struct HostWords(Box<[std::cell::Cell<Piece>]>);

/// The unit of memory, aligned as a GPU's driver aligns what it allocates, so that as many sectors are counted.
#[derive(Clone, Copy)]
#[repr(C, align(256))]
struct Piece([u32; PIECE]);

/// Words of a piece.
const PIECE: usize = 64;

// SAFETY: the words are this value's own, and aligned to 256.
unsafe impl Memory for HostWords {
    fn address(&self) -> *mut u8 {
        self.0.as_ptr() as *mut u8
    }
}

// SAFETY: as many words as are uploaded are allocated.
unsafe impl Machine for Simulated {
    fn expect_written(&self, words: Global<u32>) {
        simt::sim::expect_written(words);
    }

    fn upload(&self, words: &[u32]) -> Result<Box<dyn Memory>> {
        let pieces = vec![std::cell::Cell::new(Piece([0; PIECE])); words.len().div_ceil(PIECE)];
        let memory = HostWords(pieces.into());
        let to = memory.address().cast::<u32>();
        // SAFETY: there is room for the words, and nobody else knows of them yet.
        unsafe { std::ptr::copy_nonoverlapping(words.as_ptr(), to, words.len()) };
        Ok(Box::new(memory))
    }

    unsafe fn download(&self, address: *const u8, words: &mut [u32]) -> Result {
        // SAFETY: the caller promises the words; launches have ended when they return.
        unsafe { std::ptr::copy_nonoverlapping(address.cast(), words.as_mut_ptr(), words.len()) };
        Ok(())
    }
}
