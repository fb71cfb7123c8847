//! Launches: from a rung's call to the driver's, or to the simulator.

use super::kernels::Loaded;
use super::{Cuda, CudaError, Properties, Result, Unconfirmed, lock};
use crate::engine::{Backend, Engine, Geometry, What, buffer};
use crate::error::{self, Error};
use cuda_driver::Launch;
use simt::launcher::{self, Call, Device, Launcher, Memory};
use simt::sim::LaunchError;
use simt::tensor_map::{Described, Words};
use std::ffi::c_void;

impl Launcher for Engine {
    fn device(&self) -> Device {
        Engine::device(self)
    }

    fn enqueue(&self, call: &dyn Call, geometry: Geometry) -> launcher::Result {
        if geometry.is_empty() {
            return Ok(());
        }
        let (kernel, mut parameters) = (call.name(), call.parameters());
        self.check_views(kernel, parameters.views())?;
        let start = self.recorded()?;
        match &self.0.backend {
            Backend::Cuda(cuda) => {
                // SAFETY: the parameters are those of the kernel, by its type, and views are of live buffers.
                unsafe { cuda.launch(kernel, &geometry, &mut parameters.pointers()) }.map_err(Error::from)?;
            }
            Backend::Simulator(options) => simt::sim::enqueue(call, geometry, *options).map_err(Error::from)?,
        }
        let views = || parameters.views().to_vec();
        Ok(self.note(start, || What::Launch { kernel, geometry, views: views() })?)
    }

    fn allocate(&self, bytes: usize) -> launcher::Result<Box<dyn Memory>> {
        Ok(Box::new(self.alloc::<u8>(bytes)?))
    }

    unsafe fn clear_bytes(&self, address: *mut u8, bytes: usize) -> launcher::Result {
        self.check_views("clear", &[(address as u64, bytes as u64)])?;
        // SAFETY: as the caller says, and the check above.
        Ok(unsafe { buffer::fill(self, address, 0, bytes) }?)
    }

    fn tensor_map(&self, of: &Described) -> launcher::Result<Words> {
        match &self.0.backend {
            Backend::Cuda(cuda) => cuda.tensor_map(of).map_err(|error| Error::from(error).into()),
            Backend::Simulator(_) => Ok(of.simulated()),
        }
    }
}

impl Engine {
    /// Refuses views that are not of a buffer of this engine: a view is copied freely and may outlive its buffer.
    fn check_views(&self, kernel: &'static str, views: &[(u64, u64)]) -> error::Result<()> {
        let live = self.0.live.borrow();
        for (i, &(address, bytes)) in views.iter().enumerate().filter(|(_, (_, bytes))| *bytes > 0) {
            let inside = |(start, len): (&u64, &u64)| bytes <= *len && address - start <= len - bytes;
            if !live.range(..=address).next_back().is_some_and(inside) {
                let why = format!(
                    "view number {} is not of memory that this engine holds now; its vector or buffer was dropped \
                     before the launch, or is another engine's",
                    i + 1
                );
                return Err(LaunchError::Refused { kernel, why }.into());
            }
        }
        Ok(())
    }
}

impl Cuda {
    /// Enqueues a kernel. Where the geometry says `overlapping` and the kernel's PTX has the instruction that waits for
    /// the grid before (`griddepcontrol.wait`, in PTX for compute capability 9.0 and up), it may start before its
    /// predecessor on the stream has ended. A device of that capability is not enough: a kernel from PTX for an older
    /// one would not wait, and could read data that is not yet written.
    ///
    /// `parameters` are the addresses of the values of the kernel's parameters, in order; the values are copied
    /// before this returns.
    ///
    /// # Errors
    /// [`CudaError::NoKernel`] if the PTX has no such kernel; [`CudaError::Ptx`] if the driver's compiler refuses it;
    /// [`CudaError::Refused`] if the geometry exceeds a limit of the device, before the driver is called; otherwise
    /// [`CudaError::Driver`], or [`CudaError::Fault`] from a kernel before.
    ///
    /// # Safety
    /// There is an address of a value of the right type for each of the kernel's parameters. The memory that the kernel
    /// reads and writes is valid for that, and stays allocated until the kernel has ended.
    pub unsafe fn launch(
        &self,
        kernel: &'static str,
        geometry: &Geometry,
        parameters: &mut [*mut c_void],
    ) -> Result<()> {
        let _current = self.enter()?;
        let loaded = self.ready(kernel, geometry)?;
        let launch = Launch {
            grid: geometry.grid,
            block: geometry.block,
            shared_bytes: geometry.shared_bytes,
            stream: self.stream_handle(),
            dependent: may_start_early(&loaded, geometry),
            together: geometry.together,
        };
        // SAFETY: the function's module lives as long as self; parameters and memory are as the caller says.
        let launched = unsafe { cuda_driver::launch(loaded.function, &launch, parameters) };
        launched.map_err(|status| self.error(status, || format!("launching {kernel}")))?;
        let mut unconfirmed = lock(&self.unconfirmed);
        *unconfirmed = Unconfirmed { launches: unconfirmed.launches + 1, last: Some(kernel) };
        Ok(())
    }

    /// Does all of a launch that is done once for a kernel and that a stream that is captured may not do: the kernel is
    /// loaded and gets its shared memory.
    ///
    /// # Errors
    /// As for [`Cuda::launch`].
    pub fn prepare(&self, kernel: &'static str, geometry: &Geometry) -> Result<()> {
        let _current = self.enter()?;
        self.ready(kernel, geometry).map(drop)
    }

    /// The kernel, loaded and allowed to be launched so.
    pub(super) fn ready(&self, kernel: &'static str, geometry: &Geometry) -> Result<Loaded> {
        let loaded = self.loaded(kernel)?;
        check(&self.gpu.properties, &loaded, geometry).map_err(|why| CudaError::Refused { kernel, why })?;
        self.allow_shared(kernel, loaded, geometry.shared_bytes)?;
        Ok(loaded)
    }

    /// Lets the kernel have this much dynamic shared memory, unless it may already.
    fn allow_shared(&self, kernel: &'static str, loaded: Loaded, shared_bytes: u32) -> Result<()> {
        if shared_bytes <= loaded.dynamic_limit {
            return Ok(());
        }
        let mut kernels = lock(&self.gpu.kernels);
        // Another thread may have raised it further in between; it must not be lowered.
        let dynamic_limit = kernels.get(kernel).map_or(0, |now| now.dynamic_limit).max(shared_bytes);
        // SAFETY: the function's module lives as long as self.
        let set = unsafe { cuda_driver::set_max_dynamic_shared(loaded.function, dynamic_limit) };
        set.map_err(|status| self.error(status, || format!("giving {kernel} {shared_bytes} bytes of shared memory")))?;
        kernels.insert(kernel, Loaded { dynamic_limit, ..loaded });
        Ok(())
    }
}

/// Whether a launch may start before its predecessor has ended: if it asks to, and if the kernel's code waits. Without
/// the launch's attribute the waiting instruction does nothing; without the instruction the kernel does not wait.
pub(super) fn may_start_early(kernel: &Loaded, geometry: &Geometry) -> bool {
    geometry.overlapping && kernel.waits_for_previous
}

/// Refuses a launch that exceeds a limit of the device, and names the limit.
pub(super) fn check(device: &Properties, kernel: &Loaded, geometry: &Geometry) -> std::result::Result<(), String> {
    let Geometry { grid, block, shared_bytes, .. } = *geometry;
    for (what, asked, limits) in [("grid", grid, device.max_grid), ("block", block, device.max_block)] {
        for ((axis, asked), limit) in ["x", "y", "z"].into_iter().zip(asked).zip(limits) {
            if asked == 0 || asked > limit {
                return Err(format!("a {what} of {asked} in {axis} cannot be launched; the limit is 1 to {limit}"));
            }
        }
    }
    let threads: u64 = block.into_iter().map(u64::from).product();
    for (limit, whose) in [(device.max_threads_per_block, "device's"), (kernel.max_threads, "kernel's own")] {
        if threads > u64::from(limit) {
            return Err(format!("a block of {threads} threads cannot be launched; the {whose} limit is {limit}"));
        }
    }
    let (fixed, limit) = (kernel.static_shared, device.shared_per_block_optin);
    let shared = u64::from(fixed) + u64::from(shared_bytes);
    if shared > u64::from(limit) {
        return Err(format!(
            "{shared} bytes of shared memory per block ({fixed} static, {shared_bytes} dynamic) are too many; \
             the device's limit is {limit}"
        ));
    }
    Ok(())
}
