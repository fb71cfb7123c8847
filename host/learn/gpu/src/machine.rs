//! An engine as the machine of an exercise.

use rungs::engine::cuda::CudaError;
use rungs::engine::{DeviceChoice, Engine};
use rungs::{Error, Result};
use rungs_exercises::{Failure, Machine};
use simt::Geometry;
use simt::launcher::{self, Call, Device, Failed, Launcher, Memory};
use simt::sim::LaunchError;
use simt::tensor_map::{Described, Words};
use std::ops::Range;

/// An engine that has the answers' kernels.
pub struct OnEngine(Engine);

impl OnEngine {
    /// Opens a machine, with the answers' kernels alone if it is a GPU.
    ///
    /// # Errors
    /// [`Error::NoDevice`] if there is no such GPU, or no PTX for it; [`Error::Cuda`] if the driver refuses the PTX.
    pub fn open(device: DeviceChoice) -> Result<Self> {
        let DeviceChoice::Cuda(ordinal) = device else { return Engine::open(device).map(Self) };
        if crate::PTX.is_empty() {
            return Err(Error::NoDevice(format!("there is no PTX of the answer: {}", crate::PTX_MISSING)));
        }
        Engine::of_kernels(ordinal, crate::PTX).map(Self)
    }

    /// The machine's name.
    pub fn name(&self) -> &str {
        &self.0.info().name
    }
}

impl Launcher for OnEngine {
    fn device(&self) -> Device {
        self.0.device()
    }

    fn enqueue(&self, call: &dyn Call, geometry: Geometry) -> launcher::Result {
        // An engine's error is a text; this one has to be told from others.
        if let Some(cuda) = self.0.as_cuda()
            && let Err(error @ CudaError::NoKernel { .. }) = cuda.kernel_attributes(call.name())
        {
            return Err(Failed::Machine(error.into()));
        }
        self.0.enqueue(call, geometry)
    }

    fn allocate(&self, bytes: usize) -> launcher::Result<Box<dyn Memory>> {
        self.0.allocate(bytes)
    }

    unsafe fn clear_bytes(&self, address: *mut u8, bytes: usize) -> launcher::Result {
        // SAFETY: as the caller says.
        unsafe { self.0.clear_bytes(address, bytes) }
    }

    fn tensor_map(&self, of: &Described) -> launcher::Result<Words> {
        self.0.tensor_map(of)
    }
}

impl Machine for OnEngine {
    fn memory(&self, bytes: &[u8], _: Range<usize>) -> launcher::Result<Box<dyn Memory>> {
        Ok(Box::new(self.0.upload(bytes)?))
    }

    unsafe fn read(&self, from: *const u8, to: &mut [u8]) -> launcher::Result {
        // SAFETY: as the caller says.
        Ok(unsafe { self.0.read_at(from, to) }?)
    }

    fn failure(&self, failed: &Failed) -> Failure {
        let Failed::Machine(error) = failed else { return Failure::Refused };
        if let Some(CudaError::NoKernel { .. }) = error.downcast_ref() {
            return Failure::Lacking;
        }
        // After a fault, every call fails in the same way.
        let has_faulted =
            self.0.as_cuda().is_some_and(|cuda| matches!(cuda.synchronize(), Err(CudaError::Fault { .. })));
        let is_fault = matches!(error.downcast_ref(), Some(Error::Launch(LaunchError::Fault(_))));
        if has_faulted || is_fault { Failure::Fault } else { Failure::Refused }
    }
}
