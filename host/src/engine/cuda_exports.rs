//! Memory of a GPU that other processes of the host map, and theirs that is mapped here.

use super::objects;
use super::{Cuda, CudaError, Gpu, Result, enter, lock, within};
use cuda_driver::{Status, ipc};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// The name of an allocation to other processes of the host: bytes that mean something to the driver alone.
pub type Name = [u8; 64];

/// What others may have mapped.
#[derive(Default)]
pub(super) struct Exports {
    /// Names of allocations that live.
    names: BTreeMap<u64, Name>,
    /// Allocations that their owner has freed. Their memory is freed later, because others may still have it mapped.
    retired: Vec<Retired>,
}

impl Exports {
    /// Keeps the memory of an allocation that is freed, if it has been exported.
    pub(super) fn retire(&mut self, address: u64) -> bool {
        let name = self.names.remove(&address);
        self.retired.extend(name.map(|name| Retired { address, name }));
        name.is_some()
    }
}

/// Memory that its owner has freed, and that is still there.
pub struct Retired {
    address: u64,
    /// Its name to others.
    pub name: Name,
}

/// Shares a GPU's memory with other processes. A GPU has one at a time.
///
/// The driver demands that memory is unmapped everywhere before it is freed. So from the first export of an allocation
/// on, [`Cuda::free`] only takes note, and [`Exporter::free`] is called once nobody has it mapped.
pub struct Exporter {
    gpu: Arc<Gpu>,
    /// Whether nobody has anything mapped any more.
    finished: bool,
}

/// An allocation of another process that is mapped here.
pub struct Mapped(u64);

impl Mapped {
    /// Where it begins.
    pub fn address(&self) -> u64 {
        self.0
    }
}

impl Cuda {
    /// What shares this GPU's memory with other processes; nothing if there is one already.
    pub fn exporter(&self) -> Option<Exporter> {
        let was = self.gpu.is_exporting.swap(true, Ordering::AcqRel);
        (!was).then(|| Exporter { gpu: Arc::clone(&self.gpu), finished: false })
    }

    /// Enqueues a copy of `bytes` bytes of memory that is [mapped](Exporter::map) from another process.
    ///
    /// # Errors
    /// [`CudaError::Address`] if the range at `to` is not inside an allocation; otherwise [`CudaError::Driver`], or
    /// [`CudaError::Fault`] from a kernel before it.
    ///
    /// # Safety
    /// The bytes at `from` are inside one mapped allocation, which stays mapped and is not written until the copy has
    /// ended.
    pub unsafe fn copy_from_mapped(&self, to: u64, from: u64, bytes: usize) -> Result<()> {
        if bytes == 0 {
            return Ok(());
        }
        self.inside(to, bytes)?;
        let _current = self.enter()?;
        // SAFETY: the range at `to` is inside an allocation of this process, the rest is as the caller says.
        let copied = unsafe { cuda_driver::copy_on_device(to, from, bytes, self.stream_handle()) };
        copied.map_err(|status| self.error(status, || format!("copying {bytes} bytes from another process")))
    }
}

impl Exporter {
    /// The name of the allocation that these bytes are in, and where they begin in it.
    ///
    /// # Errors
    /// [`CudaError::Address`] if they are not inside one; [`CudaError::Driver`] if the driver cannot share it.
    pub fn export(&self, address: u64, bytes: usize) -> Result<(Name, u64)> {
        let allocations = lock(&self.gpu.allocations);
        let inside = within(&allocations, address, bytes);
        let start = allocations.range(..=address).next_back().map(|(&start, _)| start).filter(|_| inside);
        let start = start.ok_or(CudaError::Address { address, bytes: bytes as u64 })?;
        let mut exports = lock(&self.gpu.exports);
        let name = match exports.names.get(&start) {
            Some(&name) => name,
            None => {
                let _current = enter(self.gpu.context)?;
                let handle =
                    ipc::export(start).map_err(|status| told("sharing memory with other processes", status))?;
                exports.names.insert(start, handle.0);
                handle.0
            }
        };
        Ok((name, address - start))
    }

    /// What has been retired since the last call.
    pub fn retired(&self) -> Vec<Retired> {
        std::mem::take(&mut lock(&self.gpu.exports).retired)
    }

    /// Frees retired memory.
    ///
    /// # Errors
    /// [`CudaError::Driver`], or [`CudaError::Fault`] from a kernel before.
    ///
    /// # Safety
    /// No process has any of it mapped any more.
    pub unsafe fn free(&self, retired: Vec<Retired>) -> Result<()> {
        let _current = enter(self.gpu.context)?;
        retired.into_iter().try_for_each(|retired| {
            // SAFETY: the address came from `allocate`; its owner has given it up, and its entry here goes with this
            // call. Nobody else has it mapped, the caller says.
            unsafe { objects::free(retired.address) }.map_err(|status| told("freeing memory", status))
        })
    }

    /// Ends the sharing: what is retired is freed now, and what is freed later is so at once.
    ///
    /// # Errors
    /// As for [`Exporter::free`].
    ///
    /// # Safety
    /// No process has any memory of this GPU mapped any more.
    pub unsafe fn finish(mut self) -> Result<()> {
        lock(&self.gpu.exports).names.clear();
        self.finished = true;
        // SAFETY: as the caller says.
        unsafe { self.free(self.retired()) }
    }

    /// Maps an allocation of another process.
    ///
    /// # Errors
    /// [`CudaError::Driver`], in particular where the GPUs, or the processes, have no way to each other.
    pub fn map(&self, name: Name) -> Result<Mapped> {
        let _current = enter(self.gpu.context)?;
        let address = ipc::open(ipc::IpcHandle(name));
        address.map(Mapped).map_err(|status| told("mapping memory of another process", status))
    }

    /// Ends the mapping of an allocation.
    ///
    /// # Errors
    /// [`CudaError::Driver`], or [`CudaError::Fault`] from a kernel before.
    ///
    /// # Safety
    /// The mapping is one of this exporter's GPU, and no work uses it any more.
    pub unsafe fn unmap(&self, mapped: Mapped) -> Result<()> {
        let _current = enter(self.gpu.context)?;
        // SAFETY: as the caller says; a mapping is given away here, so it is ended once.
        unsafe { ipc::close(mapped.0) }.map_err(|status| told("unmapping memory of another process", status))
    }
}

impl Drop for Exporter {
    fn drop(&mut self) {
        // Unless all have told that they have nothing mapped, what was exported stays until the context goes.
        if self.finished {
            self.gpu.is_exporting.store(false, Ordering::Release);
        }
    }
}

fn told(what: &str, status: Status) -> CudaError {
    CudaError::driver(what, status)
}
