//! The driver's calls that cust 0.3.2 lacks or reports badly.
//!
//! Some are newer than cust, some have options that cust does not pass on. cust has the others (copies, launches,
//! waiting), but these calls report the faults of kernels, and cust reads their result as an enum of CUDA 11.4's codes;
//! here the result is a number, so that a newer code is neither lost nor undefined behaviour.
//!
//! A context must be current on the calling thread, except for [`init`], [`device_attribute`] and [`Current::enter`].

use crate::Status;
use std::ffi::{CStr, c_char, c_void};
use std::mem::offset_of;
use std::ptr;

/// A stream's handle, `CUstream`; null is the legacy default stream.
pub type Stream = *mut c_void;

/// A context's handle, `CUcontext`.
pub type Context = *mut c_void;

/// A kernel's handle, `CUfunction`, valid for as long as its module is loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct Function(*mut c_void);

// SAFETY: a handle is a name to the driver, and the driver's functions may be called from any thread.
unsafe impl Send for Function {}
// SAFETY: as above; the handle itself is never written through.
unsafe impl Sync for Function {}

impl Function {
    /// A function from the driver's handle, which cust's `Function::to_raw` gives.
    ///
    /// # Safety
    /// `raw` is a `CUfunction` whose module stays loaded for as long as the result is used.
    pub const unsafe fn from_raw(raw: *mut c_void) -> Self {
        Self(raw)
    }
}

/// One launch: `CUlaunchConfig` with the two attributes that this project uses.
#[derive(Clone, Copy, Debug)]
pub struct Launch {
    /// Blocks in x, y and z.
    pub grid: [u32; 3],
    /// Threads per block in x, y and z.
    pub block: [u32; 3],
    /// Dynamic shared memory per block, in bytes.
    pub shared_bytes: u32,
    /// The stream that it is enqueued on.
    pub stream: Stream,
    /// Programmatic dependent launch: the kernel may start before its predecessor on the stream has ended, and waits
    /// for the predecessor's memory at `griddepcontrol.wait`. Compute capability 9.0 and up, CUDA 11.8 and up.
    pub dependent: bool,
    /// Cooperative launch: all blocks run at the same time, or the launch is refused. CUDA 11.8 and up.
    pub together: bool,
}

/// `CUlaunchAttribute`: a name and 64 bytes whose meaning depends on it.
#[derive(Clone, Copy)]
#[repr(C, align(8))]
struct Attribute {
    id: u32,
    padding: u32,
    value: [u32; 16],
}

impl Attribute {
    const COOPERATIVE: u32 = 2;
    const PROGRAMMATIC_STREAM_SERIALIZATION: u32 = 6;

    /// The attribute, set: its value begins with a 1, and the rest is zero.
    fn set(id: u32) -> Self {
        let mut value = [0; 16];
        value[0] = 1;
        Self { id, padding: 0, value }
    }
}

/// `CUlaunchConfig`.
#[repr(C)]
struct Config {
    grid: [u32; 3],
    block: [u32; 3],
    shared_bytes: u32,
    stream: Stream,
    attributes: *mut Attribute,
    attribute_count: u32,
}

// As a C compiler lays them out from CUDA 13.0's cuda.h.
const _: () = assert!(size_of::<Attribute>() == 72 && offset_of!(Attribute, value) == 8);
const _: () = assert!(size_of::<Config>() == 56 && offset_of!(Config, stream) == 32);
const _: () = assert!(offset_of!(Config, attributes) == 40 && offset_of!(Config, attribute_count) == 48);

/// `CUfunction_attribute`, as far as they are asked for here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
#[allow(missing_docs, reason = "the names are the driver's")]
pub enum FunctionAttribute {
    MaxThreads = 0,
    StaticShared = 1,
    LocalBytes = 3,
    Registers = 4,
    PtxVersion = 5,
    BinaryVersion = 6,
}

/// And the one that can be set.
const FUNCTION_MAX_DYNAMIC_SHARED: i32 = 8;

/// `CUstreamCaptureStatus`.
const CAPTURE_NONE: u32 = 0;
const CAPTURE_ACTIVE: u32 = 1;

/// `CUtensorMapInterleave`, `CUtensorMapSwizzle`, `CUtensorMapL2promotion` and `CUtensorMapFloatOOBfill`.
const INTERLEAVE_NONE: u32 = 0;
const SWIZZLE_NONE: u32 = 0;
const SWIZZLE_128_BYTES: u32 = 3;
const PROMOTION_256_BYTES: u32 = 3;
const OUTSIDE_ZERO: u32 = 0;

/// `CUtensorMap`.
#[repr(C, align(64))]
struct Aligned([u64; 16]);

/// `CUjit_option`.
const JIT_ERROR_LOG_BUFFER: i32 = 5;
const JIT_ERROR_LOG_BUFFER_BYTES: i32 = 6;

unsafe extern "C" {
    fn cuCtxEnablePeerAccess(peer: Context, flags: u32) -> u32;
    fn cuCtxGetCurrent(context: *mut Context) -> u32;
    fn cuCtxSetCurrent(context: Context) -> u32;
    fn cuInit(flags: u32) -> u32;
    fn cuDeviceCanAccessPeer(can: *mut i32, device: i32, peer: i32) -> u32;
    fn cuDeviceGetAttribute(value: *mut i32, attribute: i32, device: i32) -> u32;
    fn cuFuncGetAttribute(value: *mut i32, attribute: i32, function: Function) -> u32;
    fn cuFuncSetAttribute(function: Function, attribute: i32, value: i32) -> u32;
    fn cuLaunchKernel(
        function: Function,
        grid_x: u32,
        grid_y: u32,
        grid_z: u32,
        block_x: u32,
        block_y: u32,
        block_z: u32,
        shared_bytes: u32,
        stream: Stream,
        parameters: *mut *mut c_void,
        extra: *mut *mut c_void,
    ) -> u32;
    fn cuLaunchKernelEx(
        config: *const Config,
        function: Function,
        parameters: *mut *mut c_void,
        extra: *mut *mut c_void,
    ) -> u32;
    fn cuMemAllocHost_v2(address: *mut *mut c_void, bytes: usize) -> u32;
    fn cuMemFreeHost(address: *mut c_void) -> u32;
    fn cuMemcpyDtoDAsync_v2(to: u64, from: u64, bytes: usize, stream: Stream) -> u32;
    fn cuMemcpyDtoHAsync_v2(to: *mut c_void, from: u64, bytes: usize, stream: Stream) -> u32;
    fn cuMemcpyHtoDAsync_v2(to: u64, from: *const c_void, bytes: usize, stream: Stream) -> u32;
    fn cuMemcpyPeerAsync(to: u64, of: Context, from: u64, peer: Context, bytes: usize, stream: Stream) -> u32;
    fn cuMemsetD8Async(to: u64, byte: u8, bytes: usize, stream: Stream) -> u32;
    fn cuModuleLoadDataEx(
        module: *mut *mut c_void,
        image: *const c_char,
        option_count: u32,
        options: *mut i32,
        values: *mut *mut c_void,
    ) -> u32;
    fn cuModuleUnload(module: *mut c_void) -> u32;
    fn cuOccupancyMaxActiveBlocksPerMultiprocessor(
        blocks: *mut i32,
        function: Function,
        threads: i32,
        shared_bytes: usize,
    ) -> u32;
    fn cuStreamIsCapturing(stream: Stream, status: *mut u32) -> u32;
    fn cuStreamQuery(stream: Stream) -> u32;
    fn cuStreamSynchronize(stream: Stream) -> u32;
    fn cuTensorMapEncodeTiled(
        map: *mut Aligned,
        element: u32,
        rank: u32,
        address: *mut c_void,
        extents: *const u64,
        strides: *const u64,
        box_extents: *const u32,
        steps: *const u32,
        interleave: u32,
        swizzle: u32,
        promotion: u32,
        outside: u32,
    ) -> u32;
}

/// Initialises the driver; further calls do nothing. `cust::init` is the same call, and loses the codes of a driver
/// that cannot start (802 to 804: a service that is not running, a library of another version than the kernel's
/// module).
///
/// # Errors
/// The driver's status; [`Status::NO_DEVICE`] if it has no device.
pub fn init() -> Result<(), Status> {
    // SAFETY: 0 is the only flag there is.
    Status::check(unsafe { cuInit(0) })
}

/// A context that is current on this thread until the value is dropped; then the one before is again.
pub struct Current {
    /// The context to set again; none if it was the same.
    before: Option<Context>,
}

// SAFETY: a handle is a name to the driver. On another thread the value leaves that thread with this one's context,
// which is an order of calls that any program may make.
unsafe impl Send for Current {}
// SAFETY: as above; nothing is done through a shared reference.
unsafe impl Sync for Current {}

impl Current {
    /// Makes a context this thread's.
    ///
    /// # Errors
    /// The driver's status.
    ///
    /// # Safety
    /// `context` is a context that has not been destroyed.
    pub unsafe fn enter(context: Context) -> Result<Self, Status> {
        let mut before = ptr::null_mut();
        // SAFETY: the call writes one handle.
        Status::check(unsafe { cuCtxGetCurrent(&mut before) })?;
        if before == context {
            return Ok(Self { before: None });
        }
        // SAFETY: the context is one, the caller says.
        Status::check(unsafe { cuCtxSetCurrent(context) })?;
        Ok(Self { before: Some(before) })
    }
}

impl Drop for Current {
    fn drop(&mut self) {
        if let Some(before) = self.before {
            // SAFETY: the handle came from the driver, which refuses one that has been destroyed since. Nothing can be
            // done about that here.
            let _ = unsafe { cuCtxSetCurrent(before) };
        }
    }
}

/// A device's attribute by the driver's number for it (`CUdevice_attribute`).
///
/// # Errors
/// The driver's status, in particular for a number that it does not know.
pub fn device_attribute(device: i32, attribute: i32) -> Result<i32, Status> {
    let mut value = 0;
    // SAFETY: the call writes one i32; it refuses a device or an attribute that it does not know.
    Status::check(unsafe { cuDeviceGetAttribute(&mut value, attribute, device) })?;
    Ok(value)
}

/// Whether a device can reach the memory of another one without the host.
///
/// # Errors
/// The driver's status, in particular for a device that it does not know.
pub fn can_access_peer(device: i32, peer: i32) -> Result<bool, Status> {
    let mut can = 0;
    // SAFETY: the call writes one number; it refuses a device that it does not know.
    Status::check(unsafe { cuDeviceCanAccessPeer(&mut can, device, peer) })?;
    Ok(can != 0)
}

/// Lets the current context reach the memory of another device's; a second call does nothing.
///
/// # Errors
/// The driver's status, in particular where the devices have no way to each other.
///
/// # Safety
/// `peer` is a context that has not been destroyed.
pub unsafe fn let_access_peer(peer: Context) -> Result<(), Status> {
    // SAFETY: the context is as the caller says; 0 is the only flag there is.
    match Status::check(unsafe { cuCtxEnablePeerAccess(peer, 0) }) {
        Err(Status::PEER_ACCESS_ALREADY_ENABLED) => Ok(()),
        other => other,
    }
}

/// Lets launches of `function` ask for up to `bytes` of dynamic shared memory; without this the limit is 48 KiB, static
/// shared memory included.
///
/// # Errors
/// The driver's status, in particular for more than the device allows.
///
/// # Safety
/// `function`'s module is loaded.
pub unsafe fn set_max_dynamic_shared(function: Function, bytes: u32) -> Result<(), Status> {
    let bytes = i32::try_from(bytes).map_err(|_| Status::INVALID_VALUE)?;
    // SAFETY: the handle is valid, the caller says.
    Status::check(unsafe { cuFuncSetAttribute(function, FUNCTION_MAX_DYNAMIC_SHARED, bytes) })
}

/// An attribute of a kernel as the driver has compiled it.
///
/// # Errors
/// The driver's status: of this call, or of a kernel that failed before it.
///
/// # Safety
/// `function`'s module is loaded.
pub unsafe fn function_attribute(function: Function, attribute: FunctionAttribute) -> Result<i32, Status> {
    let mut value = 0;
    // SAFETY: the call writes one number; the handle is valid, the caller says.
    Status::check(unsafe { cuFuncGetAttribute(&mut value, attribute as i32, function) })?;
    Ok(value)
}

/// Blocks of this many threads, and so much dynamic shared memory, that fit on an SM at a time.
///
/// # Errors
/// The driver's status: of this call, or of a kernel that failed before it.
///
/// # Safety
/// `function`'s module is loaded.
pub unsafe fn occupancy(function: Function, threads: u32, shared_bytes: u32) -> Result<u32, Status> {
    let (mut blocks, threads) = (0, i32::try_from(threads).map_err(|_| Status::INVALID_VALUE)?);
    let shared = shared_bytes as usize;
    // SAFETY: the call writes one number; the handle is valid, the caller says.
    let code = unsafe { cuOccupancyMaxActiveBlocksPerMultiprocessor(&mut blocks, function, threads, shared) };
    Status::check(code)?;
    Ok(blocks.unsigned_abs())
}

/// Enqueues a kernel. It uses `cuLaunchKernelEx` only where an attribute asks for it, so that drivers older than
/// CUDA 11.8 run everything else.
///
/// # Errors
/// The driver's status: of this launch, or of a kernel that failed before it.
///
/// # Safety
/// `function`'s module is loaded; `parameters` holds the address of a value of the right type for each of the kernel's
/// parameters, in their order (the driver copies the values before this returns); what the kernel then does with
/// them is as sound as the kernel is, and the memory that it touches outlives it.
pub unsafe fn launch(function: Function, launch: &Launch, parameters: &mut [*mut c_void]) -> Result<(), Status> {
    let Launch { grid, block, shared_bytes, stream, dependent, together } = *launch;
    let parameters = parameters.as_mut_ptr();
    let mut attributes = Vec::new();
    if dependent {
        attributes.push(Attribute::set(Attribute::PROGRAMMATIC_STREAM_SERIALIZATION));
    }
    if together {
        attributes.push(Attribute::set(Attribute::COOPERATIVE));
    }
    if attributes.is_empty() {
        let ([gx, gy, gz], [bx, by, bz], extra) = (grid, block, ptr::null_mut());
        // SAFETY: function and parameters are as the caller says; geometry and stream are checked by the driver.
        let code = unsafe { cuLaunchKernel(function, gx, gy, gz, bx, by, bz, shared_bytes, stream, parameters, extra) };
        return Status::check(code);
    }
    // At most two attributes were pushed.
    let attribute_count = attributes.len() as u32;
    let config = Config { grid, block, shared_bytes, stream, attributes: attributes.as_mut_ptr(), attribute_count };
    // SAFETY: as above; the configuration and the attributes that it points to live until the call has returned.
    Status::check(unsafe { cuLaunchKernelEx(&config, function, parameters, ptr::null_mut()) })
}

/// Allocates `bytes` bytes, at least one, of page-locked host memory; returns their address.
///
/// # Errors
/// The driver's status: of this call, or of a kernel that failed before it.
pub fn allocate_host(bytes: usize) -> Result<*mut u8, Status> {
    let mut address = ptr::null_mut();
    // SAFETY: the call writes one address.
    Status::check(unsafe { cuMemAllocHost_v2(&mut address, bytes) })?;
    Ok(address.cast())
}

/// Frees what [`allocate_host`] returned.
///
/// # Errors
/// The driver's status: of this call, or of a kernel that failed before it.
///
/// # Safety
/// `address` came from [`allocate_host`] in the current context and has not been freed, and no copy uses the memory.
pub unsafe fn free_host(address: *mut u8) -> Result<(), Status> {
    // SAFETY: as the caller says.
    Status::check(unsafe { cuMemFreeHost(address.cast()) })
}

/// Enqueues a copy of `from` to device memory at `to`.
///
/// # Errors
/// The driver's status: of this copy, or of a kernel that failed before it.
///
/// # Safety
/// `from.len()` bytes at `to` are device memory of the current context, and `from` is neither freed nor written until
/// the stream has come past the copy.
pub unsafe fn copy_to_device(to: u64, from: &[u8], stream: Stream) -> Result<(), Status> {
    // SAFETY: the slice is readable for its length; the rest is as the caller says.
    Status::check(unsafe { cuMemcpyHtoDAsync_v2(to, from.as_ptr().cast(), from.len(), stream) })
}

/// Enqueues a copy of device memory at `from` to `to`.
///
/// # Errors
/// The driver's status: of this copy, or of a kernel that failed before it.
///
/// # Safety
/// `to.len()` bytes at `from` are device memory of the current context, and `to` is neither freed nor touched until the
/// stream has come past the copy.
pub unsafe fn copy_to_host(to: &mut [u8], from: u64, stream: Stream) -> Result<(), Status> {
    // SAFETY: the slice is writable for its length; the rest is as the caller says.
    Status::check(unsafe { cuMemcpyDtoHAsync_v2(to.as_mut_ptr().cast(), from, to.len(), stream) })
}

/// Enqueues a copy of `bytes` bytes within device memory.
///
/// # Errors
/// The driver's status: of this copy, or of a kernel that failed before it.
///
/// # Safety
/// `bytes` bytes at `to` and at `from` are device memory of the current context and do not overlap.
pub unsafe fn copy_on_device(to: u64, from: u64, bytes: usize, stream: Stream) -> Result<(), Status> {
    // SAFETY: as the caller says.
    Status::check(unsafe { cuMemcpyDtoDAsync_v2(to, from, bytes, stream) })
}

/// Enqueues a copy of `bytes` bytes from another device's memory; through the host where the devices have no way to
/// each other.
///
/// # Errors
/// The driver's status: of this copy, or of a kernel that failed before it.
///
/// # Safety
/// `bytes` bytes at `to` are device memory of `context`, and as many at `from` of `peer`; both contexts live, and the
/// memory is neither freed nor written until the stream, of the current context, has come past the copy.
pub unsafe fn copy_from_peer(
    (to, context): (u64, Context),
    (from, peer): (u64, Context),
    bytes: usize,
    stream: Stream,
) -> Result<(), Status> {
    // SAFETY: as the caller says.
    Status::check(unsafe { cuMemcpyPeerAsync(to, context, from, peer, bytes, stream) })
}

/// Enqueues setting `bytes` bytes of device memory at `to` to `byte`.
///
/// # Errors
/// The driver's status: of this call, or of a kernel that failed before it.
///
/// # Safety
/// `bytes` bytes at `to` are device memory of the current context.
pub unsafe fn fill(to: u64, byte: u8, bytes: usize, stream: Stream) -> Result<(), Status> {
    // SAFETY: as the caller says.
    Status::check(unsafe { cuMemsetD8Async(to, byte, bytes, stream) })
}

/// Whether what is enqueued on `stream` is captured into a graph and does not run.
///
/// # Errors
/// The driver's status, in particular for a capture that has become invalid.
///
/// # Safety
/// `stream` is a stream that has not been destroyed.
pub unsafe fn is_capturing(stream: Stream) -> Result<bool, Status> {
    let mut status = 0;
    // SAFETY: the call writes one number; the stream is as the caller says.
    Status::check(unsafe { cuStreamIsCapturing(stream, &mut status) })?;
    match status {
        CAPTURE_NONE => Ok(false),
        CAPTURE_ACTIVE => Ok(true),
        _ => Err(Status::STREAM_CAPTURE_INVALIDATED),
    }
}

/// Whether everything enqueued on `stream` has ended.
///
/// # Errors
/// The driver's status, usually of a kernel that failed.
///
/// # Safety
/// `stream` is a stream that has not been destroyed.
pub unsafe fn has_ended(stream: Stream) -> Result<bool, Status> {
    // SAFETY: as the caller says.
    match Status::check(unsafe { cuStreamQuery(stream) }) {
        Err(Status::NOT_READY) => Ok(false),
        other => other.map(|()| true),
    }
}

/// Waits until everything enqueued on `stream` has ended.
///
/// # Errors
/// The driver's status, usually of a kernel that failed.
///
/// # Safety
/// `stream` is a stream that has not been destroyed.
pub unsafe fn synchronize(stream: Stream) -> Result<(), Status> {
    // SAFETY: as the caller says.
    Status::check(unsafe { cuStreamSynchronize(stream) })
}

/// Compiles `ptx` as loading it as a module would, and says why that fails: the status, and the compiler's own lines
/// (empty where it wrote none). `None` where it succeeds; nothing stays loaded.
///
/// For after a module could not be loaded: cust has no place for the compiler's log.
///
/// # Safety
/// `ptx` is text. The driver would take bytes that begin like a compiled image for one, and trust its sizes.
pub unsafe fn jit_error(ptx: &CStr) -> Option<(Status, String)> {
    let mut log = vec![0_u8; 16 << 10];
    let mut module = ptr::null_mut();
    let mut options = [JIT_ERROR_LOG_BUFFER, JIT_ERROR_LOG_BUFFER_BYTES];
    // A value that fits a pointer is passed in the pointer's place.
    let mut values = [log.as_mut_ptr().cast(), ptr::without_provenance_mut(log.len() - 1)];
    // SAFETY: options and values have two entries each, the log has the size that they say, the image is text and ends
    // with a zero byte.
    let code = unsafe { cuModuleLoadDataEx(&mut module, ptx.as_ptr(), 2, options.as_mut_ptr(), values.as_mut_ptr()) };
    match Status::check(code) {
        Ok(()) => {
            // SAFETY: the module has just been loaded, and no other code has its handle. The result of unloading does
            // not matter here.
            let _ = unsafe { cuModuleUnload(module) };
            None
        }
        Err(status) => {
            let text = CStr::from_bytes_until_nul(&log).map(CStr::to_string_lossy).unwrap_or_default();
            Some((status, text.trim().to_owned()))
        }
    }
}

/// A row-major matrix of a device's, as [`tensor_map`] takes it.
#[derive(Clone, Copy, Debug)]
pub struct Tensor {
    /// Its address, a multiple of 16.
    pub address: u64,
    /// The type of its elements, a `CUtensorMapDataType`.
    pub element: u32,
    /// Columns and rows.
    pub extents: [u64; 2],
    /// Bytes from one row to the next, a multiple of 16.
    pub stride: u64,
    /// Columns and rows of a box; its rows have a multiple of 16 bytes, and 128 if it is swizzled.
    pub box_extents: [u32; 2],
    /// Whether packs of 16 bytes are swizzled in rows of 128 bytes.
    pub swizzled: bool,
}

/// The map by which kernels have boxes of a matrix copied, with zeros outside of the matrix. It needs no context, and
/// the driver does not look at the memory. CUDA 12.0 and up.
///
/// # Errors
/// The driver's status, in particular for sizes that the copy engine cannot take.
pub fn tensor_map(of: &Tensor) -> Result<[u64; 16], Status> {
    let Tensor { address, element, extents, stride, box_extents, swizzled } = *of;
    let mut map = Aligned([0; 16]);
    // SAFETY: the call writes one map and reads two extents, one stride, two box extents and two steps; the address is
    // a number to it.
    let code = unsafe {
        cuTensorMapEncodeTiled(
            &mut map,
            element,
            2,
            ptr::without_provenance_mut(address as usize),
            extents.as_ptr(),
            &stride,
            box_extents.as_ptr(),
            [1, 1].as_ptr(),
            INTERLEAVE_NONE,
            if swizzled { SWIZZLE_128_BYTES } else { SWIZZLE_NONE },
            PROMOTION_256_BYTES,
            OUTSIDE_ZERO,
        )
    };
    Status::check(code).map(|()| map.0)
}
