//! One GPU: its memory, its kernels and one stream of work for it.
//!
//! With the feature `cust`, devices, modules, memory, and the streams and contexts that are made here, are cust's, and
//! without it those of [`cuda_driver::objects`]; events, copies and launches go through [`cuda_driver`] always, which
//! says why. Nothing here calls the driver before [`cuda_driver::load`] has found it, so a program with this code also
//! builds and starts on a machine without a GPU, where it returns an error.
//!
//! The context is the device's primary one, which the CUDA runtime API uses too: a library on top of that (cuBLAS, or
//! your own compiled by nvcc) can be handed addresses from [`Cuda::alloc`] and the stream. Or context and stream are
//! the caller's, see [`Cuda::adopt`]. A call makes the context current on its thread and leaves the thread with the
//! context that it had; only [`Cuda::open`] leaves the primary one, for libraries that take addresses and the stream.

#[path = "cuda_error.rs"]
mod error;
#[path = "cuda_exports.rs"]
mod exports;
#[path = "cuda_host_memory.rs"]
mod host_memory;
#[path = "cuda_kernels.rs"]
mod kernels;
#[path = "launches.rs"]
mod launches;
#[cfg(feature = "cust")]
#[path = "cuda_cust.rs"]
mod objects;
#[path = "cuda_properties.rs"]
mod properties;

pub use error::CudaError;
pub use exports::{Exporter, Mapped, Name, Retired};
pub use host_memory::PageLocked;
pub(super) use kernels::Declared;
pub use kernels::KernelAttributes;
pub(super) use properties::initialise;
pub use properties::{Properties, devices, reaches};

pub use cuda_driver::Status;
#[cfg(not(feature = "cust"))]
use cuda_driver::objects;
use cuda_driver::{Current, Event};
use exports::Exports;
use kernels::Loaded;
use objects::{Device, Module, OwnStream, Primary};
use rungs_ptx::ptx::Apart;
use simt::tensor_map::{Described, Words};
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::ffi::{CString, c_void};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

type Result<T> = std::result::Result<T, CudaError>;

/// The address of an allocation of no bytes: aligned like any other, and never accessed.
const NOWHERE: u64 = 256;

/// The priority of streams that go before others: the highest that there is on any GPU so far.
const FIRST: i32 = -5;

/// A stream of one GPU, with the GPU's memory and kernels behind it. May be used from any thread.
pub struct Cuda {
    stream: Strand,
    unconfirmed: Mutex<Unconfirmed>,
    // After the stream, because fields are dropped in order and the context ends with the last handle.
    gpu: Arc<Gpu>,
    /// While the value is dropped.
    current: Option<Current>,
}

/// A stream.
enum Strand {
    /// Made here, and destroyed when dropped.
    Own(OwnStream),
    /// The caller's.
    Callers(Handle),
}

/// A context or a stream of the caller's, who keeps it.
#[derive(Clone, Copy)]
struct Handle(*mut c_void);

// SAFETY: a handle is a name to the driver, and the driver's functions may be called from any thread.
unsafe impl Send for Handle {}
// SAFETY: as above; the handle itself is never written through.
unsafe impl Sync for Handle {}

/// The kernels launched since the stream was last known to have no fault.
#[derive(Clone, Copy, Default)]
struct Unconfirmed {
    launches: u64,
    last: Option<&'static str>,
}

/// The state that all streams of a GPU share. Fields are dropped in order: events and modules while the context is
/// current and lives, then the context, then what makes the thread's former context current again.
struct Gpu {
    arch: String,
    properties: Properties,
    kernels: Mutex<HashMap<&'static str, Loaded>>,
    /// The declarations of the kernels in all modules.
    declared: Mutex<Declared>,
    /// Start and length in bytes of everything that is allocated.
    allocations: Mutex<BTreeMap<u64, usize>>,
    /// What of it other processes may have mapped, and whether any may.
    exports: Mutex<Exports>,
    is_exporting: AtomicBool,
    /// Events that no mark uses at present.
    events: Mutex<Vec<Event>>,
    /// The tensor maps that were used last, the latest first.
    maps: Mutex<VecDeque<(Described, Words)>>,
    /// The PTX that the GPU was opened with.
    apart: Apart,
    /// The modules of its kernels that have been used, one each; none is taken out again.
    own: Mutex<HashMap<String, Box<Module>>>,
    /// Modules that were added; none is taken out again.
    // Boxed, because functions borrow from modules whose place must not change when another is added.
    #[allow(clippy::vec_box)]
    more: Mutex<Vec<Box<Module>>>,
    context: Handle,
    /// The hold on the context, unless it is the caller's.
    _held: Option<Primary>,
    /// While the value is dropped.
    current: Option<Current>,
}

/// A point in a stream's work, for [`Cuda::elapsed_ms`].
pub struct Mark {
    /// Always there until the mark is dropped.
    event: Option<Event>,
    gpu: Arc<Gpu>,
}

impl Cuda {
    /// Opens the device with this number, the first being 0, with the PTX that [`choose`] picks from `ptx`, pairs of an
    /// architecture (`sm_80`) and the PTX for it. The driver compiles each kernel when it is first used.
    ///
    /// # Errors
    /// [`CudaError::NoDriver`] without a driver, [`CudaError::NoDevice`] without this device, [`CudaError::NoPtx`] if
    /// no PTX runs on it; [`CudaError::Driver`] if another call of the driver fails.
    pub fn open(ordinal: u32, ptx: &[(&str, &str)]) -> Result<Self> {
        let count = initialise()?;
        if ordinal >= count {
            return Err(CudaError::NoDevice { ordinal, count });
        }
        let device = properties::device(ordinal)?;
        let properties = Properties::read(device)?;
        let chosen = suited(ptx, &properties)?;
        let told = |what: &str, status| CudaError::driver(format!("{what} on device {ordinal}"), status);
        let context = Primary::retain(device).map_err(|status| told("making a context", status))?;
        // And it stays so on this thread, for libraries that are handed addresses and the stream.
        context.set_current().map_err(|status| told("making the context current", status))?;
        let gpu = Gpu::with(properties, chosen, Handle(context.handle()), Some(context))?;
        let stream = OwnStream::new(0).map_err(|status| told("making a stream", status))?;
        Ok(Self::on(Strand::Own(stream), gpu))
    }

    /// The GPU of a context of the caller's, and a stream of that context, which may be the default one, null; `ptx` as
    /// for [`Cuda::open`]. Neither context nor stream is destroyed here.
    ///
    /// # Errors
    /// As for [`Cuda::open`]; [`CudaError::Driver`] also for a null context.
    ///
    /// # Safety
    /// `context` is a `CUcontext` and `stream` a `CUstream` of it, or null. Both live until this value, all its
    /// [second streams](Cuda::second_stream) and all their marks have been dropped.
    pub unsafe fn adopt(context: *mut c_void, stream: *mut c_void, ptx: &[(&str, &str)]) -> Result<Self> {
        initialise()?;
        if context.is_null() {
            return Err(CudaError::driver("adopting a context", Status::INVALID_CONTEXT));
        }
        let context = Handle(context);
        let _current = enter(context)?;
        let device = Device::current().map_err(|status| CudaError::driver("adopting a context", status))?;
        let properties = Properties::read(device)?;
        let chosen = suited(ptx, &properties)?;
        let gpu = Gpu::with(properties, chosen, context, None)?;
        Ok(Self::on(Strand::Callers(Handle(stream)), gpu))
    }

    /// The same GPU, with a stream of the caller's.
    ///
    /// # Safety
    /// `stream` is a `CUstream` of the GPU's context, or null, and lives until the result and all its marks have been
    /// dropped.
    pub(super) unsafe fn on_stream(&self, stream: *mut c_void) -> Self {
        Self::on(Strand::Callers(Handle(stream)), Arc::clone(&self.gpu))
    }

    fn on(stream: Strand, gpu: Arc<Gpu>) -> Self {
        Self { stream, unconfirmed: Mutex::default(), gpu, current: None }
    }

    /// Adds kernels, for all streams of the GPU: the PTX that [`choose`] picks from `ptx`. If one kernel has the name
    /// of a kernel that exists, none is added.
    ///
    /// # Errors
    /// [`CudaError::NoPtx`] if no PTX runs on the device; [`CudaError::Doubled`] if a name exists already;
    /// [`CudaError::Ptx`] if the driver's compiler refuses the PTX; otherwise [`CudaError::Driver`], or
    /// [`CudaError::Fault`] from a kernel before.
    pub fn add_kernels(&self, ptx: &[(&str, &str)]) -> Result<()> {
        let _current = self.enter()?;
        let (arch, text) = suited(ptx, &self.gpu.properties)?;
        // Held until the module is there, so that of two threads that add one name the second is refused.
        let mut declared = lock(&self.gpu.declared);
        let both = declared.with(Declared::of(text))?;
        lock(&self.gpu.more).push(Box::new(load(arch, text)?));
        *declared = both;
        Ok(())
    }

    /// Another stream of the same GPU: it shares memory and kernels with this stream, and the work of the two is not
    /// ordered. Where both have blocks to start, this new one goes first: a short kernel that others wait for, such as
    /// one that fetches from other GPUs, does not wait for all blocks of a long one.
    ///
    /// # Errors
    /// [`CudaError::Driver`] if the driver refuses a stream.
    pub fn second_stream(&self) -> Result<Self> {
        let _current = self.enter()?;
        let stream = self.told(OwnStream::new(FIRST), || "making a stream")?;
        Ok(Self::on(Strand::Own(stream), Arc::clone(&self.gpu)))
    }

    /// The device as its driver describes it; the free memory is that at the time of opening.
    pub fn properties(&self) -> &Properties {
        &self.gpu.properties
    }

    /// The compute capability whose kernels are there: that of the PTX, which may be older than the device.
    pub fn features(&self) -> (u32, u32) {
        // `choose` has read the same text.
        version(&self.gpu.arch).map_or(self.gpu.properties.compute_capability, |(version, _)| version)
    }

    /// The architecture of the PTX that is loaded, for example `sm_90`.
    pub fn arch(&self) -> &str {
        &self.gpu.arch
    }

    /// The stream as the driver and the runtime API know it (`CUstream`, `cudaStream_t`); valid while this lives.
    pub fn stream_handle(&self) -> *mut c_void {
        match &self.stream {
            Strand::Own(stream) => stream.handle(),
            Strand::Callers(stream) => stream.0,
        }
    }
}

/// Memory. Addresses are the device's; each range has to be inside one live allocation of this GPU, which is checked.
impl Cuda {
    /// Bytes of the GPU's memory that are free now.
    ///
    /// # Errors
    /// [`CudaError::Driver`] or [`CudaError::Fault`].
    pub fn free_memory(&self) -> Result<u64> {
        let _current = self.enter()?;
        let (free, _) = self.told(objects::memory_info(), || "asking for the free memory")?;
        Ok(free)
    }

    /// Allocates `bytes` bytes, aligned to 256, with unspecified content; returns their address. An allocation of no
    /// bytes has an address too, which only these functions accept.
    ///
    /// # Errors
    /// [`CudaError::OutOfMemory`] if the device has less free memory; otherwise [`CudaError::Driver`], or
    /// [`CudaError::Fault`] from a kernel before.
    pub fn alloc(&self, bytes: usize) -> Result<u64> {
        if bytes == 0 {
            return Ok(NOWHERE);
        }
        // The driver calls a size that no device has an invalid value.
        if bytes as u64 > self.gpu.properties.global_memory {
            return Err(CudaError::OutOfMemory { asked: bytes as u64, free: self.free_memory()? });
        }
        let _current = self.enter()?;
        match objects::allocate(bytes) {
            Ok(address) => {
                lock(&self.gpu.allocations).insert(address, bytes);
                Ok(address)
            }
            Err(Status::OUT_OF_MEMORY) => {
                Err(CudaError::OutOfMemory { asked: bytes as u64, free: self.free_memory()? })
            }
            Err(status) => Err(self.error(status, || format!("allocating {bytes} bytes"))),
        }
    }

    /// Frees what [`Cuda::alloc`] returned, once all the GPU's work has ended; memory that other processes may have
    /// mapped, later (see [`Exporter`]).
    ///
    /// # Errors
    /// [`CudaError::Address`] if nothing is allocated there; otherwise [`CudaError::Driver`] or [`CudaError::Fault`].
    ///
    /// # Safety
    /// Nothing uses the memory after this: no kernel, no copy, and no vector or matrix that owns it. So safe code
    /// cannot call it:
    ///
    /// ```compile_fail,E0133
    /// fn frees(cuda: &rungs::engine::cuda::Cuda, address: u64) {
    ///     let _ = cuda.free(address);
    /// }
    /// ```
    pub unsafe fn free(&self, address: u64) -> Result<()> {
        if address == NOWHERE {
            return Ok(());
        }
        let _current = self.enter()?;
        if lock(&self.gpu.allocations).remove(&address).is_none() {
            return Err(CudaError::Address { address, bytes: 0 });
        }
        if lock(&self.gpu.exports).retire(address) {
            return Ok(());
        }
        // SAFETY: the address came from `allocate` and, being in the table until now, has not been freed. The driver
        // waits for work that may use it, and the caller promises that none comes later.
        let freed = unsafe { objects::free(address) };
        self.told(freed, || "freeing memory")
    }

    /// Copies `from` to the device, after the stream's work so far; returns when the copy has ended.
    ///
    /// # Errors
    /// [`CudaError::Address`] if the range is not inside an allocation; otherwise [`CudaError::Driver`], or
    /// [`CudaError::Fault`] from a kernel before it.
    pub fn copy_to_device(&self, to: u64, from: &[u8]) -> Result<()> {
        if from.is_empty() {
            return Ok(());
        }
        // SAFETY: this function keeps the slice borrowed until the copy has ended.
        unsafe { self.start_copy_to_device(to, from) }?;
        self.synchronize()
    }

    /// Enqueues a copy of `from` to the device. The host goes on meanwhile, if `from` is [`PageLocked`].
    ///
    /// # Errors
    /// As for [`Cuda::copy_to_device`].
    ///
    /// # Safety
    /// `from` is neither freed nor written until the stream has passed the copy.
    pub unsafe fn start_copy_to_device(&self, to: u64, from: &[u8]) -> Result<()> {
        if from.is_empty() {
            return Ok(());
        }
        self.inside(to, from.len())?;
        let _current = self.enter()?;
        // SAFETY: the range is inside an allocation; the slice is as the caller says.
        let copied = unsafe { cuda_driver::copy_to_device(to, from, self.stream_handle()) };
        copied.map_err(|status| self.error(status, || format!("copying {} bytes to the device", from.len())))
    }

    /// Copies from the device to all of `to`, after the stream's work so far; returns when the copy has ended.
    ///
    /// # Errors
    /// [`CudaError::Address`] if the range is not inside an allocation; otherwise [`CudaError::Driver`], or
    /// [`CudaError::Fault`] from a kernel before it.
    pub fn copy_to_host(&self, to: &mut [u8], from: u64) -> Result<()> {
        if to.is_empty() {
            return Ok(());
        }
        // SAFETY: this function keeps the slice borrowed until the copy has ended.
        unsafe { self.start_copy_to_host(to, from) }?;
        self.synchronize()
    }

    /// Enqueues a copy from the device to all of `to`. The host goes on meanwhile, if `to` is [`PageLocked`].
    ///
    /// # Errors
    /// As for [`Cuda::copy_to_host`].
    ///
    /// # Safety
    /// `to` is neither freed nor touched until the stream has passed the copy.
    pub unsafe fn start_copy_to_host(&self, to: &mut [u8], from: u64) -> Result<()> {
        if to.is_empty() {
            return Ok(());
        }
        self.inside(from, to.len())?;
        let _current = self.enter()?;
        // SAFETY: the range is inside an allocation; the slice is as the caller says.
        let copied = unsafe { cuda_driver::copy_to_host(to, from, self.stream_handle()) };
        copied.map_err(|status| self.error(status, || format!("copying {} bytes from the device", to.len())))
    }

    /// Enqueues a copy of `bytes` bytes within the device. A copy of a range to itself does nothing.
    ///
    /// # Errors
    /// [`CudaError::Address`] if a range is not inside an allocation; [`CudaError::Overlap`] if the ranges overlap;
    /// otherwise [`CudaError::Driver`], or [`CudaError::Fault`] from a kernel before it.
    pub fn copy_device(&self, to: u64, from: u64, bytes: usize) -> Result<()> {
        if bytes == 0 {
            return Ok(());
        }
        self.inside(to, bytes)?;
        self.inside(from, bytes)?;
        if to == from {
            return Ok(());
        }
        if to.abs_diff(from) < bytes as u64 {
            return Err(CudaError::Overlap { to, from, bytes: bytes as u64 });
        }
        let _current = self.enter()?;
        // SAFETY: both ranges are inside allocations, and they do not overlap.
        let copied = unsafe { cuda_driver::copy_on_device(to, from, bytes, self.stream_handle()) };
        copied.map_err(|status| self.error(status, || format!("copying {bytes} bytes on the device")))
    }

    /// The context's handle, for other GPUs of the process; valid while this lives.
    pub fn context_handle(&self) -> *mut c_void {
        self.gpu.context.0
    }

    /// Lets this GPU reach the memory of another one, without the host; false if there is no way.
    ///
    /// # Errors
    /// [`CudaError::Driver`] for any other reason.
    ///
    /// # Safety
    /// `peer` is the context of another GPU of this process, and lives.
    pub unsafe fn let_access_peer(&self, peer: *mut c_void) -> Result<bool> {
        let _current = self.enter()?;
        // SAFETY: as the caller says.
        match unsafe { cuda_driver::let_access_peer(peer) } {
            Ok(()) => Ok(true),
            Err(Status::PEER_ACCESS_UNSUPPORTED) => Ok(false),
            Err(status) => Err(self.error(status, || "asking for access to a peer's memory")),
        }
    }

    /// Enqueues a copy of `bytes` bytes from another GPU's memory.
    ///
    /// # Errors
    /// [`CudaError::Address`] if the range at `to` is not inside an allocation; otherwise [`CudaError::Driver`], or
    /// [`CudaError::Fault`] from a kernel before it.
    ///
    /// # Safety
    /// The bytes at `from` are memory of `peer`, the context of a GPU of this process, and both live and are not
    /// written until the copy has ended.
    pub unsafe fn copy_from_peer(&self, to: u64, (from, peer): (u64, *mut c_void), bytes: usize) -> Result<()> {
        if bytes == 0 {
            return Ok(());
        }
        self.inside(to, bytes)?;
        let _current = self.enter()?;
        let to = (to, self.gpu.context.0);
        // SAFETY: the range at `to` is inside an allocation, the rest is as the caller says.
        let copied = unsafe { cuda_driver::copy_from_peer(to, (from, peer), bytes, self.stream_handle()) };
        copied.map_err(|status| self.error(status, || format!("copying {bytes} bytes from another GPU")))
    }

    /// Enqueues setting `bytes` bytes to `byte`.
    ///
    /// # Errors
    /// [`CudaError::Address`] if the range is not inside an allocation; otherwise [`CudaError::Driver`], or
    /// [`CudaError::Fault`] from a kernel before it.
    pub fn fill(&self, to: u64, byte: u8, bytes: usize) -> Result<()> {
        if bytes == 0 {
            return Ok(());
        }
        self.inside(to, bytes)?;
        // SAFETY: the range is inside an allocation.
        unsafe { self.fill_callers(to, byte, bytes) }
    }

    /// Enqueues setting `bytes` bytes, at least one, to `byte`, in memory of the caller's.
    ///
    /// # Errors
    /// As for [`Cuda::fill`], which is told of addresses that are not the device's.
    ///
    /// # Safety
    /// The bytes are memory of the GPU's context.
    pub(super) unsafe fn fill_callers(&self, to: u64, byte: u8, bytes: usize) -> Result<()> {
        let _current = self.enter()?;
        // SAFETY: as the caller says.
        let filled = unsafe { cuda_driver::fill(to, byte, bytes, self.stream_handle()) };
        filled.map_err(|status| self.error(status, || format!("filling {bytes} bytes")))
    }

    /// Refuses a range that is not inside one allocation.
    fn inside(&self, address: u64, bytes: usize) -> Result<()> {
        if within(&lock(&self.gpu.allocations), address, bytes) {
            Ok(())
        } else {
            Err(CudaError::Address { address, bytes: bytes as u64 })
        }
    }
}

/// Waiting, and times.
impl Cuda {
    /// Waits until all of the stream's work has ended.
    ///
    /// # Errors
    /// [`CudaError::Fault`] if a kernel failed; otherwise [`CudaError::Driver`].
    pub fn synchronize(&self) -> Result<()> {
        let _current = self.enter()?;
        // SAFETY: the stream is alive: this value's own, or the caller's, who keeps it.
        let ended = unsafe { cuda_driver::synchronize(self.stream_handle()) };
        ended.map_err(|status| self.error(status, || "waiting for the GPU"))?;
        *lock(&self.unconfirmed) = Unconfirmed::default();
        Ok(())
    }

    /// A point between the stream's work so far and what is enqueued next.
    ///
    /// # Errors
    /// [`CudaError::Driver`] or [`CudaError::Fault`].
    pub fn mark(&self) -> Result<Mark> {
        let _current = self.enter()?;
        let pooled = lock(&self.gpu.events).pop();
        let event = match pooled {
            Some(event) => event,
            None => Event::new().map_err(|status| self.error(status, || "making an event"))?,
        };
        // SAFETY: the stream is alive: this value's own, or the caller's, who keeps it.
        let recorded = unsafe { event.record(self.stream_handle()) };
        recorded.map_err(|status| self.error(status, || "recording an event"))?;
        Ok(Mark { event: Some(event), gpu: Arc::clone(&self.gpu) })
    }

    /// Has what is enqueued on the stream from now on wait until the GPU has passed the mark, which may be one of
    /// another stream.
    ///
    /// # Errors
    /// [`CudaError::Driver`] or [`CudaError::Fault`].
    pub fn wait_for(&self, mark: &Mark) -> Result<()> {
        let _current = self.enter()?;
        let Some(event) = &mark.event else { return Ok(()) };
        // SAFETY: the stream is alive: this value's own, or the caller's, who keeps it.
        unsafe { event.hold(self.stream_handle()) }.map_err(|status| self.error(status, || "waiting for an event"))
    }

    /// Waits until the GPU has passed the mark.
    ///
    /// # Errors
    /// As for [`Cuda::synchronize`].
    pub fn finish(&self, mark: &Mark) -> Result<()> {
        let _current = self.enter()?;
        let passed = mark.event.as_ref().map_or(Ok(()), Event::synchronize);
        passed.map_err(|status| self.error(status, || "waiting for a mark"))
    }

    /// Whether all of the stream's work has ended.
    ///
    /// # Errors
    /// As for [`Cuda::synchronize`].
    pub fn has_ended(&self) -> Result<bool> {
        let _current = self.enter()?;
        // SAFETY: the stream is alive: this value's own, or the caller's, who keeps it.
        unsafe { cuda_driver::has_ended(self.stream_handle()) }
            .map_err(|status| self.error(status, || "asking the GPU"))
    }

    /// Milliseconds from one mark to the other, to about half a microsecond; waits until the GPU has passed both. The
    /// marks may be of two streams of the GPU.
    ///
    /// # Errors
    /// [`CudaError::Fault`] if a kernel before a mark failed; otherwise [`CudaError::Driver`], in particular for marks
    /// of another GPU.
    pub fn elapsed_ms(&self, from: &Mark, to: &Mark) -> Result<f64> {
        let _current = self.enter()?;
        let (Some(start), Some(end)) = (&from.event, &to.event) else {
            return Err(CudaError::driver("comparing two marks", Status::INVALID_VALUE));
        };
        for mark in [start, end] {
            mark.synchronize().map_err(|status| self.error(status, || "waiting for a mark"))?;
        }
        let ms = start.elapsed_ms(end).map_err(|status| self.error(status, || "comparing two marks"))?;
        Ok(f64::from(ms))
    }
}

impl Drop for Mark {
    fn drop(&mut self) {
        // An event that is recorded again loses its former meaning, so it can be reused even while it is pending.
        lock(&self.gpu.events).extend(self.event.take());
    }
}

impl Cuda {
    /// Makes the context this thread's until the result is dropped; the driver's functions act on the thread's context.
    pub(super) fn enter(&self) -> Result<Current> {
        enter(self.gpu.context)
    }

    /// Whether what is enqueued on the stream is captured into a graph.
    ///
    /// # Errors
    /// [`CudaError::Driver`], in particular for a capture that has become invalid.
    pub fn is_capturing(&self) -> Result<bool> {
        let _current = self.enter()?;
        // SAFETY: the stream is alive: this value's own, or the caller's, who keeps it.
        let capturing = unsafe { cuda_driver::is_capturing(self.stream_handle()) };
        capturing.map_err(|status| self.error(status, || "asking whether the stream is captured"))
    }

    /// The result of a call that may be cust's, with an error that names the call.
    fn told<T, S: Into<String>>(&self, result: std::result::Result<T, Status>, what: impl FnOnce() -> S) -> Result<T> {
        result.map_err(|status| match status {
            // To cust, any code is unknown that is newer than cust. If a kernel caused it, waiting for the stream
            // returns it too.
            Status::UNKNOWN => {
                // SAFETY: the stream is alive: this value's own, or the caller's, who keeps it.
                let fault = unsafe { cuda_driver::synchronize(self.stream_handle()) }.err();
                fault.map_or_else(|| CudaError::driver(what(), status), |fault| self.error(fault, || "waiting"))
            }
            _ => self.error(status, what),
        })
    }

    /// The error of a failed call: the fault of a kernel before it, or the call's own.
    fn error<S: Into<String>>(&self, status: Status, what: impl FnOnce() -> S) -> CudaError {
        let Unconfirmed { launches, last } = *lock(&self.unconfirmed);
        match last {
            Some(kernel) if status.is_fault() => CudaError::Fault { kernel, launches, status },
            _ => CudaError::driver(what(), status),
        }
    }
}

impl Gpu {
    /// With the PTX for an architecture, and a context, which is current.
    fn with(
        mut properties: Properties,
        (arch, text): (&str, &str),
        context: Handle,
        held: Option<Primary>,
    ) -> Result<Arc<Self>> {
        properties.free_memory = objects::memory_info().ok().map(|(free, _)| free);
        Ok(Arc::new(Self {
            arch: arch.to_owned(),
            properties,
            kernels: Mutex::default(),
            declared: Mutex::new(Declared::of(text)),
            allocations: Mutex::default(),
            exports: Mutex::default(),
            is_exporting: AtomicBool::new(false),
            events: Mutex::default(),
            maps: Mutex::default(),
            apart: Apart::of(text),
            own: Mutex::default(),
            more: Mutex::default(),
            context,
            _held: held,
            current: None,
        }))
    }
}

impl Gpu {
    /// The module of a kernel of the PTX that the GPU was opened with, compiled now if it was not used before; nothing
    /// if the PTX has no such kernel. The context is current.
    fn module_of(&self, kernel: &str) -> Result<Option<&Module>> {
        // Held until the module is there, so that of two threads that ask for a kernel one has it compiled; other
        // kernels wait for that, too.
        let mut own = lock(&self.own);
        if !own.contains_key(kernel) {
            let Some(text) = self.apart.alone(kernel) else { return Ok(None) };
            own.insert(kernel.to_owned(), Box::new(load(&self.arch, &text)?));
        }
        // SAFETY: the box is neither dropped nor replaced as long as self lives.
        Ok(own.get(kernel).map(|module| unsafe { &*std::ptr::from_ref(&**module) }))
    }
}

impl Drop for Cuda {
    fn drop(&mut self) {
        // A stream is destroyed in the thread's context. A failure cannot be reported here.
        if let Strand::Own(_) = self.stream {
            self.current = enter(self.gpu.context).ok();
        }
    }
}

impl Drop for Gpu {
    fn drop(&mut self) {
        // Modules are unloaded from the thread's context. A failure cannot be reported here.
        self.current = enter(self.context).ok();
    }
}

/// Makes a context this thread's until the result is dropped.
fn enter(context: Handle) -> Result<Current> {
    // SAFETY: the context lives: it is held here, or by the caller.
    let entered = unsafe { Current::enter(context.0) };
    entered.map_err(|status| CudaError::driver("making the context current", status))
}

/// The PTX that [`choose`] picks for a device.
fn suited<'a>(ptx: &[(&'a str, &'a str)], properties: &Properties) -> Result<(&'a str, &'a str)> {
    let compute_capability = properties.compute_capability;
    taken(ptx, properties).ok_or_else(|| {
        let suits = |pair: &&(&str, &str)| choose(&[**pair], compute_capability).is_some();
        let least = |(arch, text): &(&str, &str)| Some((least_driver(text)?, String::from(*arch)));
        match ptx.iter().filter(suits).filter_map(least).min() {
            Some((least, arch)) => CudaError::OldDriver { driver: properties.driver_version.clone(), arch, least },
            None => {
                CudaError::NoPtx { compute_capability, have: ptx.iter().map(|(arch, _)| (*arch).to_owned()).collect() }
            }
        }
    })
}

/// The PTX that [`choose`] picks for a device from what its driver is new enough for.
pub fn taken<'a>(ptx: &[(&'a str, &'a str)], properties: &Properties) -> Option<(&'a str, &'a str)> {
    let driver = pair_of(&properties.driver_version);
    let is_old = |text| matches!((least_driver(text), driver), (Some(least), Some(driver)) if driver < least);
    let loadable: Vec<_> = ptx.iter().copied().filter(|(_, text)| !is_old(text)).collect();
    choose(&loadable, properties.compute_capability)
}

/// The CUDA version of the oldest driver that loads PTX, by the version of the language that the text names. None if it
/// names none, or one that every driver of CUDA 11 knows.
pub fn least_driver(text: &str) -> Option<(u32, u32)> {
    match pair_of(text.lines().find_map(|line| line.strip_prefix(".version "))?)? {
        (..7, _) => None,
        (7, minor) => Some((11, minor)),
        // CUDA 12.6 has the language of 12.5.
        (8, minor) => Some((12, if minor > 5 { minor + 1 } else { minor })),
        (major, minor) => Some((major + 4, minor)),
    }
}

/// A version as `12.4`.
fn pair_of(version: &str) -> Option<(u32, u32)> {
    let (major, minor) = version.trim().split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// The PTX to run on a device: of those that it can run, the one for the latest architecture.
///
/// `ptx` holds pairs of architecture and PTX. PTX for `sm_NM` runs on compute capability N.M and all later ones, for
/// `sm_NMa` on N.M alone, for `sm_NMf` on N.M and later ones of the same N. If two are of the same
/// version, the one with a suffix is taken.
pub fn choose<'a>(ptx: &[(&'a str, &'a str)], compute_capability: (u32, u32)) -> Option<(&'a str, &'a str)> {
    let rank = |arch: &str| -> Option<((u32, u32), bool)> {
        let (version, suffix) = version(arch)?;
        let runs = match suffix {
            "" => version <= compute_capability,
            "a" => version == compute_capability,
            "f" => version.0 == compute_capability.0 && version <= compute_capability,
            _ => false,
        };
        runs.then_some((version, !suffix.is_empty()))
    };
    let ranked = ptx.iter().filter_map(|pair| Some((rank(pair.0)?, *pair)));
    ranked.max_by_key(|(rank, _)| *rank).map(|(_, pair)| pair)
}

/// Compute capability and suffix of an architecture: `((9, 0), "a")` of `sm_90a`.
pub(super) fn version(arch: &str) -> Option<((u32, u32), &str)> {
    let number = arch.strip_prefix("sm_")?;
    let digits = number.trim_end_matches(['a', 'f']);
    let version = digits.parse::<u32>().map(|n| (n / 10, n % 10)).ok()?;
    Some((version, &number[digits.len()..]))
}

/// Loads PTX into the current context; the error keeps the log of the driver's compiler.
fn load(arch: &str, text: &str) -> Result<Module> {
    let refused = |status, log| CudaError::Ptx { arch: arch.to_owned(), status, log };
    let text = CString::new(text)
        .map_err(|e| refused(Status::INVALID_VALUE, format!("there is a zero byte at {}", e.nul_position())))?;
    // SAFETY: the program's PTX is text.
    unsafe { Module::load(&text) }.map_err(|status| {
        // SAFETY: as above.
        match unsafe { cuda_driver::jit_error(&text) } {
            Some((status, log)) => refused(status, log),
            None => refused(status, String::new()),
        }
    })
}

/// Whether `bytes` bytes at `address` are inside one of the `allocations`.
fn within(allocations: &BTreeMap<u64, usize>, address: u64, bytes: usize) -> bool {
    let below = allocations.range(..=address).next_back();
    below.is_some_and(|(start, len)| address - start <= *len as u64 && bytes as u64 <= *len as u64 - (address - start))
}

/// Locks. Data from a thread that panicked is still consistent, since no change here panics half way.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
#[path = "cuda_tests.rs"]
mod tests;
