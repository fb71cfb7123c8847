//! Page-locked memory of the host.

use super::{Cuda, Gpu, Result, enter};
use std::sync::Arc;

/// Bytes of the host that the GPU copies from and to by itself, without the driver's staging; freed when dropped.
pub struct PageLocked {
    address: *mut u8,
    bytes: usize,
    gpu: Arc<Gpu>,
}

// SAFETY: the value owns its memory, and the driver frees it on any thread.
unsafe impl Send for PageLocked {}
// SAFETY: a shared value gives shared access to the bytes alone.
unsafe impl Sync for PageLocked {}

impl PageLocked {
    /// The bytes' address, which is a multiple of 256 and not null.
    pub fn as_ptr(&self) -> *mut u8 {
        self.address
    }

    /// How many bytes there are.
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Cuda {
    /// Allocates `bytes` bytes of page-locked memory, all zero. The system takes long to lock pages: keep the memory.
    ///
    /// # Errors
    /// [`CudaError::Driver`](super::CudaError::Driver) if the host has less memory that can be locked, or
    /// [`CudaError::Fault`](super::CudaError::Fault) from a kernel before.
    pub fn lock_pages(&self, bytes: usize) -> Result<PageLocked> {
        let _current = self.enter()?;
        // The driver has no allocation of no bytes.
        let address = cuda_driver::allocate_host(bytes.max(1));
        let address = address.map_err(|status| self.error(status, || format!("locking {bytes} bytes of the host")))?;
        // SAFETY: the driver has just given the bytes.
        unsafe { address.write_bytes(0, bytes) };
        Ok(PageLocked { address, bytes, gpu: Arc::clone(&self.gpu) })
    }
}

impl Drop for PageLocked {
    fn drop(&mut self) {
        let _current = enter(self.gpu.context);
        // SAFETY: the address is the driver's, and this is the one owner. A failure cannot be reported here.
        let _ = unsafe { cuda_driver::free_host(self.address) };
    }
}
