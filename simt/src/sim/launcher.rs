//! The simulator as a machine that sequences of launches run on.

use super::check;
use super::cores::cores;
use super::launch::{Options, enqueue};
use super::limits::MAX_SHARED;
use crate::Geometry;
use crate::launcher::{Call, Device, Failed, Launcher, Memory, Result};
use std::cell::Cell;

/// The byte that fills fresh memory, unlike any data of a kernel.
pub const POISON: u8 = 0xA5;

/// The compute capability whose limits the simulator holds to.
const COMPUTE_CAPABILITY: (u32, u32) = (9, 0);

/// A simulated GPU, as a [`Launcher`].
#[derive(Clone, Copy, Debug)]
pub struct Gpu {
    /// Options of the simulation.
    pub options: Options,
    /// The device that sequences see. With fewer SMs or less shared memory than here, they run as on another device.
    pub device: Device,
}

impl Default for Gpu {
    fn default() -> Self {
        let device =
            Device { multiprocessors: cores(), shared_per_block: MAX_SHARED, compute_capability: COMPUTE_CAPABILITY };
        Self { options: Options::default(), device }
    }
}

impl Launcher for Gpu {
    fn device(&self) -> Device {
        self.device
    }

    fn enqueue(&self, call: &dyn Call, geometry: Geometry) -> Result {
        if geometry.is_empty() {
            return Ok(());
        }
        if geometry.shared_bytes > self.device.shared_per_block {
            let (asked, limit) = (geometry.shared_bytes, self.device.shared_per_block);
            let kernel = call.name();
            let why = format!("{kernel}: {asked} bytes of shared memory per block; the device's limit is {limit}");
            return Err(Failed::Machine(why.into()));
        }
        enqueue(call, geometry, self.options).map_err(|error| Failed::Machine(error.into()))
    }

    fn allocate(&self, bytes: usize) -> Result<Box<dyn Memory>> {
        Ok(Box::new(HostMemory::new(bytes)))
    }

    unsafe fn clear_bytes(&self, address: *mut u8, bytes: usize) -> Result {
        // SAFETY: the bytes are there, as the caller says, and launches have ended when they return.
        unsafe { address.write_bytes(0, bytes) };
        check::host_cleared(address, bytes);
        Ok(())
    }
}

/// Memory of the simulator: cells, because kernels write to them through shared views.
pub struct HostMemory(Box<[Cell<Piece>]>);

/// The unit of memory, aligned as a GPU's driver aligns what it allocates, so that as many sectors are counted.
#[derive(Clone, Copy)]
#[repr(C, align(256))]
struct Piece([u8; 256]);

impl HostMemory {
    /// Room for `bytes` bytes, each [`POISON`].
    pub fn new(bytes: usize) -> Self {
        let pieces = vec![Cell::new(Piece([POISON; 256])); bytes.div_ceil(size_of::<Piece>())];
        let memory = Self(pieces.into());
        check::allocated(memory.address(), bytes);
        memory
    }
}

impl Drop for HostMemory {
    fn drop(&mut self) {
        check::freed(self.address());
    }
}

// SAFETY: the pieces are this value's own, and aligned to 256.
unsafe impl Memory for HostMemory {
    fn address(&self) -> *mut u8 {
        self.0.as_ptr() as *mut u8
    }
}
