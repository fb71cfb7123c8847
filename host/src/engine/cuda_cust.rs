//! Devices, contexts, streams, modules and memory by cust, as [`cuda_driver::objects`] has them without it.

use cuda_driver::{Context as Handle, Function, Status, Stream as StreamHandle};
use cust::CudaApiVersion;
use cust::context::{Context, ContextHandle, CurrentContext};
use cust::device::Device as CustDevice;
use cust::error::CudaResult;
use cust::memory::{DevicePointer, cuda_free, cuda_malloc, mem_get_info};
use cust::stream::{Stream, StreamFlags};
use std::ffi::CStr;

/// The driver's code behind cust's error; 999, unknown, for codes later than CUDA 11.4's.
fn told<T>(result: CudaResult<T>) -> Result<T, Status> {
    result.map_err(|error| Status::from_code(error as u32))
}

/// As [`cuda_driver::objects::version`].
pub fn version() -> Result<(i32, i32), Status> {
    told(CudaApiVersion::get()).map(|version| (version.major(), version.minor()))
}

/// As [`cuda_driver::objects::Device`].
#[derive(Clone, Copy)]
pub struct Device(CustDevice);

impl Device {
    pub fn count() -> Result<u32, Status> {
        told(CustDevice::num_devices())
    }

    pub fn get(ordinal: u32) -> Result<Self, Status> {
        told(CustDevice::get_device(ordinal)).map(Self)
    }

    pub fn current() -> Result<Self, Status> {
        told(CurrentContext::get_device()).map(Self)
    }

    pub fn as_raw(self) -> i32 {
        self.0.as_raw()
    }

    pub fn name(self) -> Result<String, Status> {
        told(self.0.name())
    }

    pub fn total_memory(self) -> Result<u64, Status> {
        told(self.0.total_memory()).map(|bytes| bytes as u64)
    }
}

/// As [`cuda_driver::objects::Primary`], but that cust makes the context the thread's at once.
pub struct Primary(Context);

impl Primary {
    pub fn retain(device: Device) -> Result<Self, Status> {
        told(Context::new(device.0)).map(Self)
    }

    pub fn handle(&self) -> Handle {
        self.0.get_inner().cast()
    }

    pub fn set_current(&self) -> Result<(), Status> {
        told(CurrentContext::set_current(&self.0))
    }
}

/// As [`cuda_driver::objects::OwnStream`].
pub struct OwnStream(Stream);

impl OwnStream {
    pub fn new(priority: i32) -> Result<Self, Status> {
        told(Stream::new(StreamFlags::DEFAULT, Some(priority))).map(Self)
    }

    pub fn handle(&self) -> StreamHandle {
        self.0.as_inner().cast()
    }
}

/// As [`cuda_driver::objects::Module`].
pub struct Module(cust::module::Module);

impl Module {
    /// # Safety
    /// As for [`cuda_driver::objects::Module::load`].
    pub unsafe fn load(ptx: &CStr) -> Result<Self, Status> {
        told(cust::module::Module::from_ptx_cstr(ptx, &[])).map(Self)
    }

    pub fn function(&self, name: &str) -> Result<Function, Status> {
        let function = told(self.0.get_function(name))?;
        // SAFETY: the driver has just given it; it is valid while this lives.
        Ok(unsafe { Function::from_raw(function.to_raw().cast()) })
    }
}

/// As [`cuda_driver::objects::memory_info`].
pub fn memory_info() -> Result<(u64, u64), Status> {
    told(mem_get_info()).map(|(free, all)| (free as u64, all as u64))
}

/// As [`cuda_driver::objects::allocate`].
pub fn allocate(bytes: usize) -> Result<u64, Status> {
    // SAFETY: a byte of device memory has no invariants, and the pointer is only ever used as an address.
    told(unsafe { cuda_malloc::<u8>(bytes) }).map(|pointer| pointer.as_raw())
}

/// As [`cuda_driver::objects::free`].
///
/// # Safety
/// As there.
pub unsafe fn free(address: u64) -> Result<(), Status> {
    // SAFETY: as the caller says.
    told(unsafe { cuda_free(DevicePointer::<u8>::from_raw(address)) })
}
