//! Launches on a stream and in memory that are the caller's.

use super::cuda::Cuda;
use super::{Backend, Engine, buffer};
use crate::error::{Error, Result};
use cuda_driver::Current;
use simt::launcher::{self, Call, Device, Failed, Launcher, Memory};
use simt::tensor_map::{Described, Words};
use simt::{Geometry, sim};
use std::ffi::c_void;

/// An engine's machine, which enqueues launches and fills on one stream and does nothing else: it allocates nothing,
/// waits for nothing and reads nothing back. So all that goes through it can be captured into a graph.
pub(crate) struct OnStream {
    device: Device,
    to: To,
}

enum To {
    /// The GPU, with the stream.
    Gpu {
        cuda: Cuda,
        /// Whether the stream is captured.
        captured: bool,
        /// The context stays current from one launch to the next.
        _current: Current,
    },
    /// It has no streams: a launch has ended when it returns.
    Simulator(sim::Options),
}

impl OnStream {
    /// The engine's machine with a stream.
    ///
    /// # Errors
    /// [`Error::Cuda`] if the stream's capture has become invalid.
    ///
    /// # Safety
    /// On a GPU, `stream` is a stream of the engine's context, or null, and lives as long as the result.
    pub(crate) unsafe fn new(engine: &Engine, stream: *mut c_void) -> Result<Self> {
        let to = match &engine.0.backend {
            Backend::Cuda(cuda) => {
                // SAFETY: as the caller says.
                let cuda = unsafe { cuda.on_stream(stream) };
                let _current = cuda.enter()?;
                To::Gpu { captured: cuda.is_capturing()?, cuda, _current }
            }
            Backend::Simulator(options) => To::Simulator(*options),
        };
        Ok(Self { device: engine.device(), to })
    }
}

impl Launcher for OnStream {
    fn device(&self) -> Device {
        self.device
    }

    fn enqueue(&self, call: &dyn Call, geometry: Geometry) -> launcher::Result {
        match &self.to {
            _ if geometry.is_empty() => Ok(()),
            To::Gpu { cuda, captured, .. } => {
                // What a driver makes of dependent launches in a graph depends on its version; without them a launch
                // waits for the one before in full, which is always right.
                let geometry = Geometry { overlapping: geometry.overlapping && !captured, ..geometry };
                let mut parameters = call.parameters();
                // SAFETY: the parameters are those of the kernel, by its type; the views are of memory that the caller
                // of `Plan::run` keeps.
                let launched = unsafe { cuda.launch(call.name(), &geometry, &mut parameters.pointers()) };
                launched.map_err(|error| Error::from(error).into())
            }
            To::Simulator(options) => sim::enqueue(call, geometry, *options).map_err(|error| Error::from(error).into()),
        }
    }

    fn allocate(&self, _: usize) -> launcher::Result<Box<dyn Memory>> {
        Err(allocates())
    }

    unsafe fn clear_bytes(&self, address: *mut u8, bytes: usize) -> launcher::Result {
        match &self.to {
            To::Gpu { cuda, .. } => {
                // SAFETY: as the caller says.
                unsafe { cuda.fill_callers(address as u64, 0, bytes) }.map_err(|error| Error::from(error).into())
            }
            To::Simulator(_) => {
                // SAFETY: as the caller says.
                unsafe { buffer::fill_simulated(address, 0, bytes) };
                Ok(())
            }
        }
    }

    fn tensor_map(&self, of: &Described) -> launcher::Result<Words> {
        match &self.to {
            To::Gpu { cuda, .. } => cuda.tensor_map(of).map_err(|error| Error::from(error).into()),
            To::Simulator(_) => Ok(of.simulated()),
        }
    }
}

/// An engine's machine as far as it gets ready for launches, and does not run them.
pub(crate) struct Rehearsal<'a>(pub(crate) &'a Engine);

impl Launcher for Rehearsal<'_> {
    fn device(&self) -> Device {
        self.0.device()
    }

    fn enqueue(&self, call: &dyn Call, geometry: Geometry) -> launcher::Result {
        match self.0.as_cuda() {
            Some(cuda) if !geometry.is_empty() => {
                cuda.prepare(call.name(), &geometry).map_err(|error| Error::from(error).into())
            }
            _ => Ok(()),
        }
    }

    fn allocate(&self, _: usize) -> launcher::Result<Box<dyn Memory>> {
        Err(allocates())
    }

    unsafe fn clear_bytes(&self, _: *mut u8, _: usize) -> launcher::Result {
        Ok(())
    }

    fn tensor_map(&self, of: &Described) -> launcher::Result<Words> {
        self.0.tensor_map(of)
    }
}

/// The refusal of an allocation, which no stream could enqueue.
fn allocates() -> Failed {
    Failed::Machine("memory cannot be allocated on a stream of the caller's".into())
}
