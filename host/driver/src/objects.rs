//! Devices, contexts, streams, modules and memory: what cust is asked for where the package `rungs` is built with it.
//!
//! Where a function does not say otherwise, a context must be current on the calling thread.

use crate::{Context, Function, Status, Stream};
use std::ffi::{CStr, CString, c_char, c_void};
use std::ptr;

unsafe extern "C" {
    fn cuCtxGetDevice(device: *mut i32) -> u32;
    fn cuCtxSetCurrent(context: Context) -> u32;
    fn cuDeviceGet(device: *mut i32, ordinal: i32) -> u32;
    fn cuDeviceGetCount(count: *mut i32) -> u32;
    fn cuDeviceGetName(name: *mut c_char, bytes: i32, device: i32) -> u32;
    fn cuDevicePrimaryCtxRelease_v2(device: i32) -> u32;
    fn cuDevicePrimaryCtxRetain(context: *mut Context, device: i32) -> u32;
    fn cuDeviceTotalMem_v2(bytes: *mut usize, device: i32) -> u32;
    fn cuDriverGetVersion(version: *mut i32) -> u32;
    fn cuMemAlloc_v2(address: *mut u64, bytes: usize) -> u32;
    fn cuMemFree_v2(address: u64) -> u32;
    fn cuMemGetInfo_v2(free: *mut usize, all: *mut usize) -> u32;
    fn cuModuleGetFunction(function: *mut *mut c_void, module: *mut c_void, name: *const c_char) -> u32;
    fn cuModuleLoadData(module: *mut *mut c_void, image: *const c_void) -> u32;
    fn cuModuleUnload(module: *mut c_void) -> u32;
    fn cuStreamCreateWithPriority(stream: *mut Stream, flags: u32, priority: i32) -> u32;
    fn cuStreamDestroy_v2(stream: Stream) -> u32;
}

/// The newest CUDA that the driver supports: major and minor number. Needs no context.
///
/// # Errors
/// The driver's status.
pub fn version() -> Result<(i32, i32), Status> {
    let mut version = 0;
    // SAFETY: the call writes one number.
    Status::check(unsafe { cuDriverGetVersion(&mut version) })?;
    Ok((version / 1000, version % 1000 / 10))
}

/// A device, by the driver's number for it. Needs no context.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Device(i32);

impl Device {
    /// How many there are.
    ///
    /// # Errors
    /// The driver's status; [`Status::NO_DEVICE`] for none.
    pub fn count() -> Result<u32, Status> {
        let mut count = 0;
        // SAFETY: the call writes one number.
        Status::check(unsafe { cuDeviceGetCount(&mut count) })?;
        Ok(count.unsigned_abs())
    }

    /// The device of this place in the driver's order, from 0 on.
    ///
    /// # Errors
    /// The driver's status, in particular for one that is not there.
    pub fn get(ordinal: u32) -> Result<Self, Status> {
        let (mut device, ordinal) = (0, i32::try_from(ordinal).map_err(|_| Status::INVALID_VALUE)?);
        // SAFETY: the call writes one number.
        Status::check(unsafe { cuDeviceGet(&mut device, ordinal) })?;
        Ok(Self(device))
    }

    /// That of the current context.
    ///
    /// # Errors
    /// The driver's status.
    pub fn current() -> Result<Self, Status> {
        let mut device = 0;
        // SAFETY: the call writes one number.
        Status::check(unsafe { cuCtxGetDevice(&mut device) })?;
        Ok(Self(device))
    }

    /// The driver's number, `CUdevice`.
    pub const fn as_raw(self) -> i32 {
        self.0
    }

    /// Its name.
    ///
    /// # Errors
    /// The driver's status.
    pub fn name(self) -> Result<String, Status> {
        let mut name = [0_u8; 256];
        // SAFETY: the call writes no more bytes than it is told that there are; the last stays 0.
        Status::check(unsafe { cuDeviceGetName(name.as_mut_ptr().cast(), name.len() as i32 - 1, self.0) })?;
        Ok(CStr::from_bytes_until_nul(&name).map(CStr::to_string_lossy).unwrap_or_default().into_owned())
    }

    /// Bytes of its memory.
    ///
    /// # Errors
    /// The driver's status.
    pub fn total_memory(self) -> Result<u64, Status> {
        let mut bytes = 0;
        // SAFETY: the call writes one number.
        Status::check(unsafe { cuDeviceTotalMem_v2(&mut bytes, self.0) })?;
        Ok(bytes as u64)
    }
}

/// A hold on a device's primary context, given back when dropped. Needs no context.
pub struct Primary {
    context: Context,
    device: Device,
}

// SAFETY: a handle is a name to the driver, and the driver's functions may be called from any thread.
unsafe impl Send for Primary {}
// SAFETY: as above; the handle itself is never written through.
unsafe impl Sync for Primary {}

impl Primary {
    /// Takes hold of it; the driver makes it if nobody else has.
    ///
    /// # Errors
    /// The driver's status.
    pub fn retain(device: Device) -> Result<Self, Status> {
        let mut context = ptr::null_mut();
        // SAFETY: the call writes one handle.
        Status::check(unsafe { cuDevicePrimaryCtxRetain(&mut context, device.0) })?;
        Ok(Self { context, device })
    }

    /// The context; valid while this lives.
    pub const fn handle(&self) -> Context {
        self.context
    }

    /// Makes it the calling thread's context, and leaves it so.
    ///
    /// # Errors
    /// The driver's status.
    pub fn set_current(&self) -> Result<(), Status> {
        // SAFETY: the context is held.
        Status::check(unsafe { cuCtxSetCurrent(self.context) })
    }
}

impl Drop for Primary {
    fn drop(&mut self) {
        // SAFETY: this hold was taken once. A failure cannot be reported here.
        let _ = unsafe { cuDevicePrimaryCtxRelease_v2(self.device.0) };
    }
}

/// A stream of the context that was current when it was made, destroyed when dropped.
pub struct OwnStream(Stream);

// SAFETY: a handle is a name to the driver, and the driver's functions may be called from any thread.
unsafe impl Send for OwnStream {}
// SAFETY: as above; the handle itself is never written through.
unsafe impl Sync for OwnStream {}

impl OwnStream {
    /// A stream that waits for the legacy default stream, and that stream for it. Where kernels of several streams have
    /// blocks to start, those of the stream with the lowest priority number go first; 0 is the default, and the driver
    /// takes the nearest number that the GPU has.
    ///
    /// # Errors
    /// The driver's status: of this call, or of a kernel that failed before it.
    pub fn new(priority: i32) -> Result<Self, Status> {
        let mut stream = ptr::null_mut();
        // SAFETY: the call writes one handle; 0 is the default flag.
        Status::check(unsafe { cuStreamCreateWithPriority(&mut stream, 0, priority) })?;
        Ok(Self(stream))
    }

    /// The driver's handle; valid while this lives.
    pub const fn handle(&self) -> Stream {
        self.0
    }
}

impl Drop for OwnStream {
    fn drop(&mut self) {
        // SAFETY: the stream is alive, and nothing uses it afterwards. A failure cannot be reported here.
        let _ = unsafe { cuStreamDestroy_v2(self.0) };
    }
}

/// Compiled kernels, unloaded when dropped.
pub struct Module(*mut c_void);

// SAFETY: a handle is a name to the driver, and the driver's functions may be called from any thread.
unsafe impl Send for Module {}
// SAFETY: as above; the handle itself is never written through.
unsafe impl Sync for Module {}

impl Module {
    /// Compiles PTX and loads it into the current context.
    ///
    /// # Errors
    /// The driver's status: of the compiler, which [`jit_error`](crate::jit_error) has more of, or of a kernel that
    /// failed before.
    ///
    /// # Safety
    /// `ptx` is text. The driver would take bytes that begin like a compiled image for one, and trust its sizes.
    pub unsafe fn load(ptx: &CStr) -> Result<Self, Status> {
        let mut module = ptr::null_mut();
        // SAFETY: the call writes one handle; the image is text, the caller says, and ends with a zero byte.
        Status::check(unsafe { cuModuleLoadData(&mut module, ptx.as_ptr().cast()) })?;
        Ok(Self(module))
    }

    /// The kernel with this name; valid while this lives.
    ///
    /// # Errors
    /// The driver's status; [`Status::NOT_FOUND`] if there is none.
    pub fn function(&self, name: &str) -> Result<Function, Status> {
        let name = CString::new(name).map_err(|_| Status::NOT_FOUND)?;
        let mut function = ptr::null_mut();
        // SAFETY: the module is loaded; the call reads a C string and writes one handle.
        Status::check(unsafe { cuModuleGetFunction(&mut function, self.0, name.as_ptr()) })?;
        // SAFETY: the driver has just given it.
        Ok(unsafe { Function::from_raw(function) })
    }
}

impl Drop for Module {
    fn drop(&mut self) {
        // SAFETY: the module is loaded, and nothing uses its functions afterwards. A failure cannot be reported here.
        let _ = unsafe { cuModuleUnload(self.0) };
    }
}

/// Bytes of the device's memory that are free, and all bytes.
///
/// # Errors
/// The driver's status: of this call, or of a kernel that failed before it.
pub fn memory_info() -> Result<(u64, u64), Status> {
    let (mut free, mut all) = (0, 0);
    // SAFETY: the call writes two numbers.
    Status::check(unsafe { cuMemGetInfo_v2(&mut free, &mut all) })?;
    Ok((free as u64, all as u64))
}

/// Allocates `bytes` bytes, at least one, of the device's memory; returns their address.
///
/// # Errors
/// The driver's status: of this call, or of a kernel that failed before it.
pub fn allocate(bytes: usize) -> Result<u64, Status> {
    let mut address = 0;
    // SAFETY: the call writes one address.
    Status::check(unsafe { cuMemAlloc_v2(&mut address, bytes) })?;
    Ok(address)
}

/// Frees what [`allocate`] returned, once the work that may use it has ended.
///
/// # Errors
/// The driver's status: of this call, or of a kernel that failed before it.
///
/// # Safety
/// `address` came from [`allocate`] in the current context, and has not been freed.
pub unsafe fn free(address: u64) -> Result<(), Status> {
    // SAFETY: as the caller says.
    Status::check(unsafe { cuMemFree_v2(address) })
}
