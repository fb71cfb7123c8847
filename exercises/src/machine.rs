//! The machine that a run is on: the simulator, or a GPU that is compared with it.

use simt::launcher::{Failed, Launcher, Memory, Result};
use simt::sim::{Gpu, HostMemory, LaunchError, host_wrote};
use std::ops::Range;

/// A machine that answers run on.
pub trait Machine: Launcher {
    /// Memory that holds these bytes; those in `unwritten` are there to be recognised, and nobody has written them.
    ///
    /// # Errors
    /// [`Failed::Machine`] if the machine has less memory left, or a kernel that was launched before failed.
    fn memory(&self, bytes: &[u8], unwritten: Range<usize>) -> Result<Box<dyn Memory>>;

    /// Copies bytes of the machine's memory, as many as `to` has, once all launches so far have ended.
    ///
    /// # Errors
    /// [`Failed::Machine`] if one of those launches failed.
    ///
    /// # Safety
    /// The bytes at `from` are memory of this machine, which lives.
    unsafe fn read(&self, from: *const u8, to: &mut [u8]) -> Result;

    /// What an error of this machine means for an answer.
    fn failure(&self, failed: &Failed) -> Failure;
}

/// What an error means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The launch was refused.
    Refused,
    /// A kernel was ended.
    Fault,
    /// The machine does not have what the kernel needs: it says nothing about the answer.
    Lacking,
}

impl Machine for Gpu {
    fn memory(&self, bytes: &[u8], unwritten: Range<usize>) -> Result<Box<dyn Memory>> {
        let memory = HostMemory::new(bytes.len());
        let address = memory.address();
        // SAFETY: the memory has as many bytes, and the source is other memory.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), address, bytes.len()) };
        host_wrote(address, unwritten.start);
        // SAFETY: the range lies in the memory.
        host_wrote(unsafe { address.add(unwritten.end) }, bytes.len() - unwritten.end);
        Ok(Box::new(memory))
    }

    unsafe fn read(&self, from: *const u8, to: &mut [u8]) -> Result {
        // SAFETY: as the caller says; launches have ended when they return.
        unsafe { std::ptr::copy_nonoverlapping(from, to.as_mut_ptr(), to.len()) };
        Ok(())
    }

    fn failure(&self, failed: &Failed) -> Failure {
        match failed {
            Failed::Machine(error) if matches!(error.downcast_ref(), Some(LaunchError::Fault(_))) => Failure::Fault,
            _ => Failure::Refused,
        }
    }
}
