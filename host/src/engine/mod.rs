//! Where kernels run: a GPU through CUDA, or the simulator. One handle for both.
//!
//! An algorithm asks the [`Engine`] for memory and launches; it does not know which machine it is on. Launches are
//! typed: the compiler checks the number and the types of a kernel's arguments on both.

mod buffer;
pub mod cuda;
pub(crate) mod on_stream;
mod pinned;

pub use buffer::{AnyBuffer, Buffer};
pub use pinned::{Pending, PinnedVec};
pub use simt::Geometry;

use crate::error::{Error, Result};
use cuda::Cuda;
use simt::launcher::{Call, Device, Launcher, With};
use simt::sim::Check;
use simt::{Kernel, Scalar};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::ffi::c_void;
use std::fmt;
use std::num::NonZero;
use std::rc::Rc;
use std::str::FromStr;
use std::time::{Duration, Instant};

/// The PTX that this program was built with, by architecture.
pub mod ptx {
    include!(concat!(env!("OUT_DIR"), "/ptx.rs"));
}

/// The architecture of PTX, and its compiler.
pub fn named_ptx((arch, text): &(&str, &str)) -> String {
    format!("{arch} by {}", rungs_ptx::ptx::compiler(text).unwrap_or("an unnamed compiler"))
}

/// The most SMs that a simulator has: more than any GPU, and so few that numbers of blocks and threads have 32 bits.
pub const MOST_SMS: u32 = 4096;

/// Which machine to use, as given by `--device`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DeviceChoice {
    /// The first GPU if there is a driver and PTX for it, otherwise the simulator.
    #[default]
    Auto,
    /// The GPU with this number, or an error.
    Cuda(u32),
    /// The simulator, with as many SMs as the host has cores.
    Simulator,
    /// The simulator, told that it has this number of SMs, at most [`MOST_SMS`]: what it counts is the same on every
    /// host.
    SimulatorOf(NonZero<u32>),
}

impl FromStr for DeviceChoice {
    type Err = String;

    fn from_str(s: &str) -> std::result::Result<Self, String> {
        match s.split_once(':') {
            None if s == "auto" => Ok(Self::Auto),
            None if s == "sim" => Ok(Self::Simulator),
            None if s == "cuda" => Ok(Self::Cuda(0)),
            Some(("cuda", n)) => {
                n.parse().map(Self::Cuda).map_err(|_| format!("'{n}' is not the number of a GPU; the first is 0"))
            }
            Some(("sim", n)) => {
                let number = n.parse().ok().filter(|sms: &NonZero<u32>| sms.get() <= MOST_SMS);
                let why = || format!("'{n}' is not a number of SMs from 1 to {MOST_SMS}; an H200 has 132");
                number.map(Self::SimulatorOf).ok_or_else(why)
            }
            _ => Err("a device is auto, cuda, cuda:N, sim or sim:N".into()),
        }
    }
}

/// What a report says about the machine.
#[derive(Clone, Debug, serde::Serialize)]
pub struct DeviceInfo {
    /// `cuda` or `simulator`.
    pub kind: &'static str,
    /// The GPU's name, or the simulator's.
    pub name: String,
    /// `9.0` for a GPU.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compute_capability: Option<String>,
    /// SMs of a GPU, cores that the simulator uses.
    pub multiprocessors: u32,
    /// Bytes of shared memory that a block can have.
    #[serde(skip)]
    pub shared_per_block: u32,
    /// The newest CUDA version that the driver serves.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub driver: Option<String>,
    /// The architecture of the PTX that the GPU runs, and its compiler: `sm_90 by rustc 1.95.0`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ptx: Option<String>,
    /// Why the simulator was taken although nobody asked for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// The refusal of checks on a GPU.
pub const NO_CHECKS: &str =
    "a GPU does not show what its threads do to each other's memory: --check requires --device sim";

/// A machine that runs kernels; a handle that is cheap to clone.
#[derive(Clone)]
pub struct Engine(Rc<Inner>);

struct Inner {
    backend: Backend,
    info: DeviceInfo,
    check: Option<Check>,
    /// Of all streams of the machine.
    log: Rc<Log>,
    /// The number of the stream, from 1 on.
    stream: u32,
    /// Bytes of all buffers that live.
    held: Cell<u64>,
    /// The buffers that live: bytes by address.
    live: RefCell<BTreeMap<u64, u64>>,
    /// On the simulator: the kernels that a GPU would know, once any were added.
    declared: RefCell<Option<cuda::Declared>>,
}

/// What is noted of a machine.
struct Log {
    /// Nothing unless somebody records.
    activities: RefCell<Option<Vec<Activity>>>,
    /// Streams that were made so far.
    streams: Cell<u32>,
}

enum Backend {
    Cuda(Cuda),
    Simulator(simt::sim::Options),
}

/// A point in the engine's time, see [`Engine::mark`].
pub enum Mark {
    /// An event on the GPU's stream.
    Event(cuda::Mark),
    /// The host's clock, for the simulator, which has finished whatever was asked of it.
    Instant(Instant),
}

/// A point in the engine's time and in the host's, see [`Engine::origin`].
pub struct Origin {
    mark: Mark,
    host: Mark,
    /// The same by the host's clock.
    pub at: Instant,
    /// How far the two may be apart, in milliseconds.
    pub within_ms: f64,
}

/// One launch, copy or exchange, as [`Engine::record`] notes it.
pub struct Activity {
    /// What was done.
    pub what: What,
    /// The number of the stream that did it: 1, or more for [second streams](Engine::second_stream). None for what the
    /// host did.
    pub stream: Option<u32>,
    start: Mark,
    end: Mark,
}

/// What an [`Activity`] did.
#[derive(Clone, Debug)]
pub enum What {
    /// A kernel.
    Launch {
        /// Its name.
        kernel: &'static str,
        /// Its shape.
        geometry: Geometry,
        /// Address and bytes of each view among its arguments, in order.
        views: Vec<(u64, u64)>,
    },
    /// A copy, with the direction as profilers write it (`HtoD`, `DtoH`, `DtoD`), or `memset`.
    Copy {
        /// The direction.
        direction: &'static str,
        /// How much.
        bytes: usize,
    },
    /// An exchange with other ranks of a group, or a part of one.
    Exchange {
        /// On a stream `PtoP`, a copy from another device, or `NCCL`; on the host `all-gather` or `exchange`, a whole
        /// call with its waits.
        name: &'static str,
        /// The rank that the bytes come from, if they come from one.
        peer: Option<usize>,
        /// Bytes for other ranks; 0 for a copy, which is the activity of the rank that receives.
        sent: usize,
        /// Bytes from other ranks.
        received: usize,
    },
}

impl fmt::Debug for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Engine({})", self.0.info.name)
    }
}

impl Engine {
    /// Opens a machine.
    ///
    /// # Errors
    /// [`Error::NoDevice`] if a GPU was asked for and cannot be used. `Auto` falls back to the simulator where there
    /// is no driver or no GPU, and says so in [`DeviceInfo::note`]; what goes wrong with a GPU that is there is an
    /// error for it too.
    pub fn open(choice: DeviceChoice) -> Result<Self> {
        match choice {
            DeviceChoice::Simulator => Ok(Self::simulator()),
            DeviceChoice::SimulatorOf(multiprocessors) => Ok(Self::simulator_with(multiprocessors.get())),
            DeviceChoice::Cuda(ordinal) => Self::cuda(ordinal),
            DeviceChoice::Auto => match Self::cuda(0) {
                Err(Error::NoDevice(why)) => Ok(Self::simulator_because(Some(why))),
                other => other,
            },
        }
    }

    /// The simulator on all cores.
    pub fn simulator() -> Self {
        Self::simulator_because(None)
    }

    /// The simulator, told that it has this number of SMs, or the nearest from 1 to [`MOST_SMS`]: sequences launch as
    /// they would on a GPU that does. One block runs after the other, so that each run is the same.
    pub fn simulator_with(multiprocessors: u32) -> Self {
        let multiprocessors = multiprocessors.clamp(1, MOST_SMS);
        Self::new(
            Backend::Simulator(simt::sim::Options { workers: 1 }),
            DeviceInfo { multiprocessors, ..Self::simulated(None) },
        )
    }

    fn simulator_because(note: Option<String>) -> Self {
        Self::new(Backend::Simulator(simt::sim::Options::default()), Self::simulated(note))
    }

    fn simulated(note: Option<String>) -> DeviceInfo {
        DeviceInfo {
            kind: "simulator",
            name: "simulator".into(),
            compute_capability: None,
            multiprocessors: simt::sim::cores(),
            shared_per_block: simt::sim::MAX_SHARED,
            driver: None,
            ptx: None,
            note,
        }
    }

    /// The same simulator, on which the rungs that `rungs-cli` runs are checked too.
    ///
    /// # Errors
    /// [`Error::Usage`] on a GPU.
    pub fn checked(&self, check: Check) -> Result<Self> {
        match &self.0.backend {
            Backend::Cuda(_) => Err(Error::Usage(NO_CHECKS.into())),
            Backend::Simulator(options) => {
                Ok(Self::with_check(Backend::Simulator(*options), self.info().clone(), Some(check)))
            }
        }
    }

    /// The checks that [`Engine::checked`] asked for.
    pub fn check(&self) -> Option<Check> {
        self.0.check
    }

    fn new(backend: Backend, info: DeviceInfo) -> Self {
        Self::with_check(backend, info, None)
    }

    fn with_check(backend: Backend, info: DeviceInfo, check: Option<Check>) -> Self {
        let log = Log { activities: RefCell::default(), streams: Cell::new(1) };
        Self::with_log(backend, info, check, (Rc::new(log), 1))
    }

    /// `log` and `stream`: where is noted what is done, and as what stream's.
    fn with_log(backend: Backend, info: DeviceInfo, check: Option<Check>, (log, stream): (Rc<Log>, u32)) -> Self {
        let (held, live, declared) = Default::default();
        Self(Rc::new(Inner { backend, info, check, log, stream, held, live, declared }))
    }

    fn cuda(ordinal: u32) -> Result<Self> {
        // The first use of the kernels unpacks them, which takes a quarter of a second: in vain without a driver.
        cuda::initialise()?;
        Self::of_kernels(ordinal, &ptx::PTX)
    }

    /// The GPU with this number, with kernels of another crate alone: `ptx` as for [`Engine::add_kernels`]. They may
    /// have the names of this project's kernels, and algorithms of this project cannot run on the engine.
    ///
    /// # Errors
    /// [`Error::NoDevice`] without a driver or this GPU, or if no PTX runs on it; [`Error::Cuda`] if the driver refuses
    /// the PTX.
    pub fn of_kernels(ordinal: u32, ptx: &[(&str, &str)]) -> Result<Self> {
        Ok(Self::with_cuda(Cuda::open(ordinal, ptx)?, ptx))
    }

    /// The GPU of a context of the caller's, as other crates make one, with a stream of that context for the engine's
    /// work; null is the context's default stream. [`crate::plan`] shows how crates give these handles, and how
    /// algorithms run on memory of the caller's. The kernels are loaded into the context, which takes a moment, so one
    /// engine per context is enough. The engine destroys neither context nor stream.
    ///
    /// # Errors
    /// [`Error::NoDevice`] without a driver, or if no kernels are there for the GPU; [`Error::Cuda`] if the driver
    /// refuses the context or the kernels.
    ///
    /// # Safety
    /// `context` is a `CUcontext`, `stream` a `CUstream` of it or null. Both live until the engine has been dropped,
    /// with all its clones, and whatever was made with it: buffers, vectors, marks, plans, second streams.
    pub unsafe fn adopt(context: *mut c_void, stream: *mut c_void) -> Result<Self> {
        // SAFETY: as the caller says.
        let cuda = unsafe { Cuda::adopt(context, stream, &ptx::PTX) }?;
        Ok(Self::with_cuda(cuda, &ptx::PTX))
    }

    /// `ptx`: what the kernels were chosen from.
    fn with_cuda(cuda: Cuda, ptx: &[(&str, &str)]) -> Self {
        let p = cuda.properties();
        let info = DeviceInfo {
            kind: "cuda",
            name: p.name.clone(),
            compute_capability: Some(format!("{}.{}", p.compute_capability.0, p.compute_capability.1)),
            multiprocessors: p.multiprocessors,
            shared_per_block: p.shared_per_block_optin,
            driver: Some(p.driver_version.clone()),
            ptx: ptx.iter().find(|(arch, _)| *arch == cuda.arch()).map(named_ptx),
            note: None,
        };
        Self::new(Backend::Cuda(cuda), info)
    }

    /// The machine, for reports.
    pub fn info(&self) -> &DeviceInfo {
        &self.0.info
    }

    /// The GPU, where the engine is one.
    pub fn as_cuda(&self) -> Option<&Cuda> {
        match &self.0.backend {
            Backend::Cuda(cuda) => Some(cuda),
            Backend::Simulator(_) => None,
        }
    }

    /// Whether this is the simulator.
    pub fn is_simulator(&self) -> bool {
        self.as_cuda().is_none()
    }

    /// Whether the other handle is of the same machine and the same stream of it.
    pub fn is(&self, other: &Self) -> bool {
        Rc::ptr_eq(&self.0, &other.0)
    }

    /// What geometry can depend on.
    pub fn device(&self) -> Device {
        let DeviceInfo { multiprocessors, shared_per_block, .. } = self.0.info;
        // Of the PTX, not of the device: newer kernels are in newer PTX alone. The simulator holds to the limits of
        // 9.0.
        let compute_capability = self.as_cuda().map_or((9, 0), Cuda::features);
        Device { multiprocessors, shared_per_block, compute_capability }
    }

    /// Blocks that run at the same time if an SM holds one: what persistent kernels size their grid by.
    pub fn multiprocessors(&self) -> u32 {
        self.0.info.multiprocessors
    }

    /// The same machine with another stream, so that two sequences of launches can overlap. The simulator has one. On a
    /// GPU the new stream's blocks start before those of this one that wait to start.
    ///
    /// # Errors
    /// [`Error::Cuda`] if the driver refuses a stream.
    pub fn second_stream(&self) -> Result<Self> {
        let (backend, info) = match &self.0.backend {
            Backend::Cuda(cuda) => (Backend::Cuda(cuda.second_stream()?), self.info().clone()),
            Backend::Simulator(_) => (Backend::Simulator(simt::sim::Options::default()), Self::simulated(None)),
        };
        let log = &self.0.log;
        log.streams.update(|streams| streams + 1);
        Ok(Self::with_log(backend, info, None, (Rc::clone(log), log.streams.get())))
    }

    /// Memory for `len` elements. What is in it is unspecified; on the simulator it is filled with a pattern that no
    /// kernel can take for its data.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] if the memory does not fit; [`Error::Cuda`] if a kernel launched before failed.
    pub fn alloc<T: Scalar>(&self, len: usize) -> Result<Buffer<T>> {
        Buffer::new(self, len)
    }

    /// Memory holding a copy of `data`.
    ///
    /// # Errors
    /// As for [`Engine::alloc`] and [`Buffer::write`].
    pub fn upload<T: Scalar>(&self, data: &[T]) -> Result<Buffer<T>> {
        let buffer = self.alloc(data.len())?;
        buffer.write(data)?;
        Ok(buffer)
    }

    /// Runs `work` and tells how many bytes of memory it allocated here that it did not free.
    ///
    /// # Errors
    /// The error of `work`.
    pub fn held_after<R>(&self, work: impl FnOnce() -> Result<R>) -> Result<(R, u64)> {
        let before = self.0.held.get();
        let result = work()?;
        Ok((result, self.0.held.get().saturating_sub(before)))
    }

    /// Adds the kernels of another crate: pairs of an architecture (`sm_80`) and the PTX for it, of which the engine
    /// takes the one that suits it best. The simulator runs kernels as they are and needs no PTX; if there is any, it
    /// looks at the names of the kernels, so that a name that a GPU would refuse is found without a GPU.
    ///
    /// # Errors
    /// [`Error::NoDevice`] if there is none for the device; [`Error::Cuda`] if a kernel has the name of one that exists
    /// already, or if the driver refuses the PTX.
    pub fn add_kernels(&self, ptx: &[(&str, &str)]) -> Result<()> {
        match &self.0.backend {
            Backend::Cuda(cuda) => Ok(cuda.add_kernels(ptx)?),
            Backend::Simulator(_) => {
                // The PTX for the newest architecture comes last, and has all kernels.
                let Some((_, text)) = ptx.last() else { return Ok(()) };
                let mut declared = self.0.declared.borrow_mut();
                let ours = || cuda::Declared::of(self::ptx::PTX.last().map_or("", |(_, text)| text));
                let known = declared.get_or_insert_with(ours);
                *known = known.with(cuda::Declared::of(text))?;
                Ok(())
            }
        }
    }

    /// Starts a kernel. An empty grid is no work and not an error.
    ///
    /// # Errors
    /// [`Error::Launch`] for a view that is not of live memory of this engine; [`Error::Launch`] or [`Error::Cuda`] if
    /// the launch is refused or, on the simulator, the kernel failed.
    pub fn launch<K: Kernel>(&self, kernel: K, geometry: Geometry, args: K::Args) -> Result<()> {
        Ok(self.enqueue(&With::new(kernel, args), geometry)?)
    }

    /// Starts a kernel on memory that others may hold: other GPUs of the process, or other streams of this machine. An
    /// empty grid is no work and not an error. Nothing is noted; [`Engine::logged`] does that.
    ///
    /// # Errors
    /// As for [`Engine::launch`], which also looks whether the engine itself holds the memory of all views.
    ///
    /// # Safety
    /// Each view among the arguments is of memory that kernels of this machine reach. Until the kernel has ended it
    /// lives, nobody writes what the kernel accesses, and nobody else accesses what the kernel writes.
    pub unsafe fn launch_on_others<K: Kernel>(&self, kernel: K, geometry: Geometry, args: K::Args) -> Result<()> {
        if geometry.is_empty() {
            return Ok(());
        }
        let call = With::new(kernel, args);
        let mut parameters = call.parameters();
        match &self.0.backend {
            // SAFETY: the parameters are those of the kernel, by its type; the views are as the caller says.
            Backend::Cuda(cuda) => unsafe { Ok(cuda.launch(call.name(), &geometry, &mut parameters.pointers())?) },
            Backend::Simulator(options) => Ok(simt::sim::enqueue(&call, geometry, *options)?),
        }
    }

    /// Waits until everything asked for is done.
    ///
    /// # Errors
    /// [`Error::Cuda`] if a kernel failed.
    pub fn synchronize(&self) -> Result<()> {
        if let Backend::Cuda(cuda) = &self.0.backend {
            cuda.synchronize()?;
        }
        Ok(())
    }

    /// A point in time between what was asked before and what is asked after.
    ///
    /// # Errors
    /// [`Error::Cuda`] if the driver refuses an event, or a kernel launched before failed.
    pub fn mark(&self) -> Result<Mark> {
        match &self.0.backend {
            Backend::Cuda(cuda) => Ok(Mark::Event(cuda.mark()?)),
            Backend::Simulator(_) => Ok(Mark::Instant(Instant::now())),
        }
    }

    /// Has what is asked of this handle from now on wait until the machine has passed a mark, which may be one of its
    /// [second stream](Engine::second_stream).
    ///
    /// # Errors
    /// [`Error::Cuda`] if the driver refuses it, or a kernel launched before failed.
    pub fn wait_for(&self, mark: &Mark) -> Result<()> {
        if let (Backend::Cuda(cuda), Mark::Event(event)) = (&self.0.backend, mark) {
            cuda.wait_for(event)?;
        }
        Ok(())
    }

    /// Milliseconds between two marks; waits for the second.
    ///
    /// # Errors
    /// [`Error::Cuda`] if a kernel before the second mark failed; [`Error::Usage`] for marks of different machines.
    pub fn elapsed_ms(&self, from: &Mark, to: &Mark) -> Result<f64> {
        match (from, to, &self.0.backend) {
            (Mark::Event(a), Mark::Event(b), Backend::Cuda(cuda)) => Ok(cuda.elapsed_ms(a, b)?),
            (Mark::Instant(a), Mark::Instant(b), _) => Ok(b.duration_since(*a).as_secs_f64() * 1e3),
            _ => Err(Error::Usage("two marks of different machines cannot be compared".into())),
        }
    }

    /// Runs `work` and tells how many milliseconds it took on the machine, by events where that is a GPU.
    ///
    /// # Errors
    /// The error of `work`; otherwise as for [`Engine::mark`] and [`Engine::elapsed_ms`].
    pub fn time<R>(&self, work: impl FnOnce() -> Result<R>) -> Result<(R, f64)> {
        let start = self.mark()?;
        let result = work()?;
        let end = self.mark()?;
        Ok((result, self.elapsed_ms(&start, &end)?))
    }

    /// A point in time at which the engine has nothing to do, by its own clock and by the host's.
    ///
    /// # Errors
    /// [`Error::Cuda`] if the driver refuses an event, or a kernel launched before failed.
    pub fn origin(&self) -> Result<Origin> {
        // Trials, of which the one counts that says most.
        const TRIALS: usize = 8;
        self.synchronize()?;
        let trial = || -> Result<Origin> {
            let before = Instant::now();
            let mark = self.mark()?;
            self.synchronize()?;
            // The event was recorded between the two readings of the host's clock.
            let (at, within) = match mark {
                Mark::Instant(at) => (at, Duration::ZERO),
                Mark::Event(_) => {
                    let half = before.elapsed() / 2;
                    (before + half, half)
                }
            };
            Ok(Origin { mark, host: Mark::Instant(at), at, within_ms: within.as_secs_f64() * 1e3 })
        };
        (1..TRIALS).try_fold(trial()?, |best, _| {
            let next = trial()?;
            Ok(if next.within_ms < best.within_ms { next } else { best })
        })
    }

    /// Notes every launch, copy and exchange that `work` makes, with its times: those of this handle, and of all
    /// [second streams](Engine::second_stream) of the same machine.
    ///
    /// # Errors
    /// The error of `work`.
    pub fn record<R>(&self, work: impl FnOnce() -> Result<R>) -> Result<(R, Vec<Activity>)> {
        *self.0.log.activities.borrow_mut() = Some(vec![]);
        let result = work();
        let log = self.0.log.activities.borrow_mut().take().unwrap_or_default();
        Ok((result?, log))
    }

    /// Start and duration of a recorded activity in milliseconds, the start counted from `origin`.
    ///
    /// # Errors
    /// As for [`Engine::elapsed_ms`].
    pub fn times(&self, origin: &Origin, activity: &Activity) -> Result<(f64, f64)> {
        // What the host did has the host's times, also where the machine has others.
        let from = if matches!(activity.start, Mark::Instant(_)) { &origin.host } else { &origin.mark };
        Ok((self.elapsed_ms(from, &activity.start)?, self.elapsed_ms(&activity.start, &activity.end)?))
    }

    /// Does `work` on this stream, and notes it if somebody records.
    ///
    /// # Errors
    /// The error of `work`; otherwise as for [`Engine::mark`].
    pub fn logged<R>(&self, what: What, work: impl FnOnce() -> Result<R>) -> Result<R> {
        let start = self.recorded()?;
        let result = work()?;
        self.note(start, || what)?;
        Ok(result)
    }

    /// A mark before some work on this stream, if somebody records.
    fn recorded(&self) -> Result<Option<Mark>> {
        if self.0.log.activities.borrow().is_none() {
            return Ok(None);
        }
        self.mark().map(Some)
    }

    /// Notes the work on this stream since `start`, if that was [`recorded`](Engine::recorded).
    fn note(&self, start: Option<Mark>, what: impl FnOnce() -> What) -> Result<()> {
        if let Some(start) = start {
            let end = self.mark()?;
            self.push(Activity { what: what(), stream: Some(self.0.stream), start, end });
        }
        Ok(())
    }

    /// Notes what the host has done from `start` until now, if somebody records.
    pub fn note_host(&self, start: Instant, what: impl FnOnce() -> What) {
        if self.0.log.activities.borrow().is_some() {
            let (start, end) = (Mark::Instant(start), Mark::Instant(Instant::now()));
            self.push(Activity { what: what(), stream: None, start, end });
        }
    }

    fn push(&self, activity: Activity) {
        if let Some(activities) = &mut *self.0.log.activities.borrow_mut() {
            activities.push(activity);
        }
    }
}
