//! Plans, `rungs::plan`: algorithms on a stream and in memory of the caller's, on every engine.
//!
//! | trial | what it runs |
//! | --- | --- |
//! | `sizes` | every plan at sizes around warps, blocks and tiles |
//! | `many-runs` | a plan a hundred times, all plans on one scratch memory, which nobody clears |
//! | `two-streams` | two plans at once, each on its own stream; on the simulator two threads |
//! | `refusals` | memory that is too small, misplaced or used twice, which no run may touch |
//! | `adopted` | a context, a stream and memory that cust made; a GPU alone |
//! | `captured` | every plan in a graph, launched three times on fresh input, or once if it is large; a GPU alone |
//!
//! Outputs and scratch memory are poisoned first, and every array lies between guards. All bytes are compared with what
//! the host computes from the input. Where there is no GPU, the GPU's trials are reported as ignored.

#[path = "plans/all_keys.rs"]
mod all_keys;
#[path = "plans/jobs.rs"]
mod jobs;

use cust::context::{CurrentContext, legacy};
use cust::memory::DeviceBuffer;
use cust::stream::{Stream, StreamFlags};
use cust::sys;
use jobs::{Job, POISON, jobs};
use libtest_mimic::{Arguments, Failed, Trial};
use rungs::engine::{Buffer, DeviceChoice, Engine};
use rungs::plan::{Histogram, Plan, SCRATCH_ALIGN, SORT_ALIGN, Sort, TopK};
use rungs_kernels::histogram::MAX_BINS;
use std::ffi::c_void;
use std::fmt::{self, Display, Formatter};
use std::ptr;

/// Around warps and blocks, and primes.
const SIZES: [usize; 9] = [0, 1, 2, 31, 32, 33, 257, 997, 10_007];

/// Tiles of the rungs that plans use: of the scan, of its 8-byte elements, of the simulator's sort, of a GPU's sorts,
/// of merges and histograms.
const TILES: [usize; 6] = [5632, 2816, 8192, 6144, 12_288, 2048];

/// Sizes for a GPU; from the last one on pairs go by buckets there.
const LARGE: [usize; 3] = [100_003, 1 << 20, (1 << 22) + 1];

fn main() {
    let arguments = Arguments::from_args();
    let missing = Engine::open(DeviceChoice::Cuda(0)).err();
    if let Some(why) = &missing {
        eprintln!("tests on a GPU are ignored: {why}");
    }
    type Test = (&'static str, usize, fn(DeviceChoice, Share) -> Result<(), Failed>);
    let both: [Test; 4] = [
        ("sizes", SHARES, sizes),
        ("many-runs", SHARES, many_runs),
        ("two-streams", 1, two_streams),
        ("refusals", 1, refusals),
    ];
    let gpu: [Test; 2] = [("adopted", 1, adopted), ("captured", SHARES, captured)];
    let on = |name: &str, choice| {
        let all = both.iter().chain(if choice == DeviceChoice::Simulator { &[][..] } else { &gpu });
        let shares = all.flat_map(|&(test, of, run)| (0..of).map(move |number| (test, Share { number, of }, run)));
        let trial = |(test, share, run): (_, Share, fn(_, _) -> _)| {
            Trial::test(format!("{name}::{test}{share}"), move || run(choice, share))
        };
        shares.map(trial).collect::<Vec<_>>()
    };
    let mut trials = on("simulator", DeviceChoice::Simulator);
    let on_gpu = on("gpu", DeviceChoice::Cuda(0)).into_iter();
    trials.extend(on_gpu.map(|trial| trial.with_ignored_flag(missing.is_some())));
    libtest_mimic::run(&arguments, trials).exit();
}

/// The number of trials that share the jobs of a long test and run at once. Oracles take most of its time on the
/// simulator, and compiling kernels on a GPU.
const SHARES: usize = 8;

/// Every `of`-th job, from `number` on.
#[derive(Clone, Copy)]
struct Share {
    number: usize,
    of: usize,
}

impl Share {
    fn jobs(self, engine: &Engine, n: usize) -> Result<Vec<Job>, Failed> {
        jobs(engine, n, [self.number, self.of])
    }
}

impl Display for Share {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        if self.of > 1 { write!(f, "-{}-of-{}", self.number + 1, self.of) } else { Ok(()) }
    }
}

/// Bytes between two guards.
struct Guarded {
    buffer: Buffer<u8>,
    bytes: usize,
}

impl Guarded {
    fn new(engine: &Engine, bytes: usize) -> Result<Self, Failed> {
        let guarded = Self { buffer: engine.alloc(bytes + 2 * SCRATCH_ALIGN)?, bytes };
        guarded.buffer.fill(POISON)?;
        engine.synchronize()?; // runs are on other streams than the engine's
        Ok(guarded)
    }

    fn address(&self) -> *mut u8 {
        self.buffer.as_ptr().wrapping_add(SCRATCH_ALIGN)
    }

    fn write(&self, bytes: &[u8]) -> Result<(), Failed> {
        assert_eq!(bytes.len(), self.bytes, "a job's arrays have one size");
        self.buffer.write_at(SCRATCH_ALIGN, bytes)?;
        Ok(self.buffer.engine().synchronize()?)
    }

    /// The bytes, if the guards are as they were.
    fn read(&self) -> Result<Vec<u8>, Failed> {
        let all = self.buffer.download()?;
        let (before, rest) = all.split_at(SCRATCH_ALIGN);
        let (bytes, behind) = rest.split_at(self.bytes);
        if before.iter().chain(behind).any(|&byte| byte != POISON) {
            return Err("something was written outside of the array".into());
        }
        Ok(bytes.to_vec())
    }
}

/// A job with memory on an engine and a stream.
struct Place<'a> {
    job: &'a Job,
    arrays: Vec<Guarded>,
    wanted: Vec<Vec<u8>>,
}

impl<'a> Place<'a> {
    fn new(engine: &Engine, job: &'a Job) -> Result<Self, Failed> {
        let bytes = (job.arrays)(0).into_iter().map(|array| array.before.len());
        let arrays = bytes.map(|bytes| Guarded::new(engine, bytes)).collect::<Result<_, _>>()?;
        Ok(Self { job, arrays, wanted: vec![] })
    }

    /// Fresh input, and poison in the outputs.
    fn fill(&mut self, seed: u64) -> Result<(), Failed> {
        self.wanted.clear();
        for (array, place) in (self.job.arrays)(seed).into_iter().zip(&self.arrays) {
            place.write(&array.before)?;
            self.wanted.push(array.after);
        }
        Ok(())
    }

    fn run(&self, stream: *mut c_void, scratch: &Guarded) -> Result<(), Failed> {
        let addresses: Vec<_> = self.arrays.iter().map(Guarded::address).collect();
        let ran = (self.job.run)(stream, &addresses, scratch.address(), scratch.bytes);
        ran.map_err(|e| format!("{}: {e}", self.job.what).into())
    }

    /// Compares everything with what it should be.
    fn check(&self) -> Result<(), Failed> {
        for (number, (place, wanted)) in self.arrays.iter().zip(&self.wanted).enumerate() {
            let what = &self.job.what;
            let got = place.read().map_err(|e| format!("{what}, array {number}: {}", e.message().unwrap_or("")))?;
            // Whole arrays first: byte by byte takes long in a build that is not optimised.
            if got != *wanted {
                let at = (0..got.len()).find(|&at| got[at] != wanted[at]).expect("they have the same length");
                return Err(format!("{what}, array {number}: byte {at} is {}, not {}", got[at], wanted[at]).into());
            }
        }
        Ok(())
    }
}

/// A stream of your own on a GPU; none on the simulator.
struct Lane(Option<Stream>);

impl Lane {
    fn new(engine: &Engine) -> Result<Self, Failed> {
        let stream = || Stream::new(StreamFlags::DEFAULT, None).map_err(|e| format!("making a stream: {e}"));
        Ok(Self(if engine.is_simulator() { None } else { Some(stream()?) }))
    }

    fn handle(&self) -> *mut c_void {
        self.0.as_ref().map_or(ptr::null_mut(), |stream| stream.as_inner().cast())
    }

    fn wait(&self) -> Result<(), Failed> {
        Ok(self.0.as_ref().map_or(Ok(()), Stream::synchronize).map_err(|e| format!("waiting for a stream: {e}"))?)
    }
}

fn sizes(choice: DeviceChoice, share: Share) -> Result<(), Failed> {
    let engine = Engine::open(choice)?;
    let lane = Lane::new(&engine)?;
    let around = TILES.iter().flat_map(|&tile| [tile - 1, tile, tile + 1]);
    let large = LARGE.into_iter().take(if engine.is_simulator() { 0 } else { LARGE.len() });
    for n in SIZES.into_iter().chain(around).chain(large) {
        for (seed, job) in share.jobs(&engine, n)?.iter().enumerate() {
            let (mut place, scratch) = (Place::new(&engine, job)?, Guarded::new(&engine, job.scratch_bytes)?);
            place.fill(seed as u64)?;
            place.run(lane.handle(), &scratch)?;
            lane.wait()?;
            place.check()?;
            scratch.read()?;
        }
    }
    Ok(())
}

/// The scratch memory is what the run before left, of this plan or of another.
fn many_runs(choice: DeviceChoice, share: Share) -> Result<(), Failed> {
    const RUNS: u64 = 100;
    let engine = Engine::open(choice)?;
    let lane = Lane::new(&engine)?;
    let jobs = share.jobs(&engine, if engine.is_simulator() { 331 } else { 300_007 })?;
    let most = jobs.iter().map(|job| job.scratch_bytes).max().unwrap_or(0);
    let scratch = Guarded::new(&engine, most)?;
    let mut places = jobs.iter().map(|job| Place::new(&engine, job)).collect::<Result<Vec<_>, _>>()?;
    for seed in 0..RUNS {
        for place in &mut places {
            place.fill(seed)?;
            place.run(lane.handle(), &scratch)?;
        }
        lane.wait()?;
        places.iter().try_for_each(Place::check)?;
    }
    scratch.read()?;
    Ok(())
}

fn two_streams(choice: DeviceChoice, share: Share) -> Result<(), Failed> {
    if choice != DeviceChoice::Simulator {
        let engine = Engine::open(choice)?;
        return at_once(&engine, &[Lane::new(&engine)?, Lane::new(&engine)?], 200_003, share);
    }
    // A launch on the simulator has ended when it returns, so runs at once need a thread each.
    std::thread::scope(|scope| {
        let run = || {
            let engine = Engine::simulator();
            at_once(&engine, &[Lane::new(&engine)?], 1009, share)
        };
        let threads = [scope.spawn(run), scope.spawn(run)];
        threads.into_iter().try_for_each(|thread| thread.join().unwrap_or_else(|_| Err("a thread panicked".into())))
    })
}

/// The lanes take turns, each with its own arrays and scratch memory; nothing waits between the runs.
fn at_once(engine: &Engine, lanes: &[Lane], n: usize, share: Share) -> Result<(), Failed> {
    for job in share.jobs(engine, n)? {
        let mut places = vec![];
        for lane in 0..lanes.len() {
            let mut place = Place::new(engine, &job)?;
            place.fill(lane as u64)?;
            places.push((place, Guarded::new(engine, job.scratch_bytes)?));
        }
        for (lane, (place, scratch)) in lanes.iter().zip(&places) {
            place.run(lane.handle(), scratch)?;
        }
        for (lane, (place, scratch)) in lanes.iter().zip(&places) {
            lane.wait()?;
            place.check()?;
            scratch.read()?;
        }
    }
    Ok(())
}

/// A refused run changes nothing.
fn refusals(choice: DeviceChoice, share: Share) -> Result<(), Failed> {
    let engine = Engine::open(choice)?;
    let lane = Lane::new(&engine)?;
    for job in share.jobs(&engine, 1000)? {
        let (mut place, scratch) = (Place::new(&engine, &job)?, Guarded::new(&engine, job.scratch_bytes)?);
        place.fill(1)?;
        let addresses: Vec<_> = place.arrays.iter().map(Guarded::address).collect();
        let refused = |arrays: &[*mut u8], scratch: *mut u8, bytes, words: &str| {
            let result = (job.run)(lane.handle(), arrays, scratch, bytes);
            match result {
                Err(rungs::Error::Usage(why)) if why.contains(words) => Ok(()),
                other => Err(Failed::from(format!("{}: '{words}' is not in {other:?}", job.what))),
            }
        };
        let with = |number, other| {
            let mut moved = addresses.clone();
            moved[number] = other;
            moved
        };
        let (start, bytes) = (scratch.address(), scratch.bytes);
        if bytes > 0 {
            refused(&addresses, start, bytes - 1, "bytes of scratch memory")?;
            refused(&addresses, start, 0, "bytes of scratch memory")?;
            refused(&addresses, start.wrapping_add(SCRATCH_ALIGN / 2), bytes, "must begin on a multiple of")?;
            refused(&addresses, ptr::null_mut(), bytes, "where the scratch memory should be")?;
            if bytes >= SCRATCH_ALIGN {
                // The memory would go on behind the last address.
                let last = ptr::without_provenance_mut(usize::MAX - SCRATCH_ALIGN + 1);
                refused(&addresses, last, bytes, "where the scratch memory should be")?;
            }
            for number in 0..addresses.len() {
                refused(&with(number, start), start, bytes, "overlap")?;
            }
        }
        for (number, (address, array)) in addresses.iter().zip((job.arrays)(1)).enumerate() {
            if array.is_needed {
                refused(&with(number, ptr::null_mut()), start, bytes, "should be")?;
            }
            let align = if job.what.starts_with("sort") { SORT_ALIGN } else { array.align };
            if align > 1 {
                let aside = address.wrapping_add(align / 2);
                refused(&with(number, aside), start, bytes, "must begin on a multiple of")?;
            }
        }
        if let [first, _] = addresses[..] {
            // In one place they are only allowed to be where they are the same elements, those of a scan.
            let shifted = first.wrapping_add(SORT_ALIGN);
            refused(&[first, shifted], start, bytes, "overlap")?;
            if !job.what.starts_with("scan") {
                refused(&[first, first], start, bytes, "overlap")?;
            }
        }
        lane.wait()?;
        for (array, place) in (job.arrays)(1).iter().zip(&place.arrays) {
            if place.read()? != array.before {
                return Err(format!("{}: a refused run changed an array", job.what).into());
            }
        }
        if scratch.read()?.iter().any(|&byte| byte != POISON) {
            return Err(format!("{}: a refused run changed the scratch memory", job.what).into());
        }
    }
    let too_many = Plan::<Sort<u32>>::sort(&engine, 1 << 32).map(|plan| plan.len());
    assert!(matches!(too_many, Err(rungs::Error::Usage(_))), "{too_many:?}");
    let none = Plan::<TopK<u8>>::nth_element(&engine, 5, 5).map(|plan| plan.len());
    assert!(matches!(none, Err(rungs::Error::Usage(_))), "{none:?}");
    for bins in [0, MAX_BINS + 1] {
        let plan = Plan::<Histogram<u8>>::histogram(&engine, 5, bins).map(|plan| plan.len());
        assert!(matches!(plan, Err(rungs::Error::Usage(_))), "{plan:?}");
    }
    Ok(())
}

/// cust's result.
fn told<T>(what: &str, result: cust::error::CudaResult<T>) -> Result<T, Failed> {
    result.map_err(|e| format!("{what}: {e}").into())
}

/// A context that is not the primary one. The thread has another one while the engine works, and both crates' objects
/// live on after the engine.
fn adopted(_: DeviceChoice, _: Share) -> Result<(), Failed> {
    use cust::context::ContextHandle;
    told("starting cust", cust::init(cust::CudaFlags::empty()))?;
    let device = told("opening device 0", cust::device::Device::get_device(0))?;
    let primary = told("the primary context", cust::context::Context::new(device))?;
    let flags = legacy::ContextFlags::SCHED_AUTO;
    let context = told("making a context", legacy::Context::create_and_push(flags, device))?;
    let stream = told("making a stream", Stream::new(StreamFlags::DEFAULT, None))?;
    let memory = told("allocating", DeviceBuffer::from_slice(&[7u32, 5, 9, 1]))?;
    told("leaving the context", CurrentContext::set_current(&primary))?;
    {
        // SAFETY: context and stream live longer than the engine, whose last clone is the plan's.
        let engine = unsafe { Engine::adopt(context.get_inner().cast(), stream.as_inner().cast()) }?;
        let plan = Plan::sort(&engine, 4)?;
        let scratch = Guarded::new(&engine, plan.scratch_bytes())?;
        let keys = memory.as_device_ptr().as_raw() as *mut u32;
        // SAFETY: the keys are cust's four, and the scratch memory is as large as the plan says.
        unsafe { plan.run(stream.as_inner().cast(), keys, scratch.address(), scratch.bytes) }?;
        // The engine itself works on that stream, too: the copy comes after the sort.
        let mut sorted = rungs::vec::DeviceVec::from_slice(&engine, &[3.5f32, -1.0])?;
        sorted.sort()?;
        assert_eq!(sorted.to_vec()?, [-1.0, 3.5]);
        scratch.read()?;
        let current = told("asking for the context", legacy::CurrentContext::get_current())?;
        assert_eq!(current.get_inner(), primary.get_inner(), "the thread has another context than before");
    }
    let current = told("asking for the context", legacy::CurrentContext::get_current())?;
    assert_eq!(current.get_inner(), primary.get_inner(), "the thread has another context than before");
    told("entering the context", CurrentContext::set_current(&context))?;
    told("the stream is gone", stream.synchronize())?;
    let mut got = [0; 4];
    use cust::memory::CopyDestination;
    told("the memory is gone", memory.copy_to(&mut got))?;
    assert_eq!(got, [1, 5, 7, 9]);
    drop((memory, stream));
    told("leaving the context", CurrentContext::set_current(&primary))
}

/// A graph of one stream's work.
struct Graph(sys::CUgraphExec);

impl Graph {
    /// What `work` enqueues on the stream, which runs none of it.
    fn capture(stream: &Stream, work: impl FnOnce() -> Result<(), Failed>) -> Result<Self, Failed> {
        let (stream, mode) = (stream.as_inner(), sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
        let (mut graph, mut ready) = (ptr::null_mut(), ptr::null_mut());
        let told = |what: &str, result: sys::CUresult| match result {
            sys::CUresult::CUDA_SUCCESS => Ok(()),
            other => Err(Failed::from(format!("{what}: {other:?}"))),
        };
        // SAFETY: the stream lives, and every call writes the handle that the next one takes. The graph is destroyed
        // once there is an executable one.
        unsafe {
            told("beginning a capture", sys::cuStreamBeginCapture_v2(stream, mode))?;
            let worked = work();
            let ended = told("ending a capture", sys::cuStreamEndCapture(stream, &mut graph));
            worked?;
            ended?;
            told("making a graph ready", sys::cuGraphInstantiateWithFlags(&mut ready, graph, 0))?;
            told("destroying a graph", sys::cuGraphDestroy(graph))?;
        }
        Ok(Self(ready))
    }

    fn launch(&self, stream: &Stream) -> Result<(), Failed> {
        // SAFETY: graph and stream live.
        match unsafe { sys::cuGraphLaunch(self.0, stream.as_inner()) } {
            sys::CUresult::CUDA_SUCCESS => Ok(()),
            other => Err(format!("launching a graph: {other:?}").into()),
        }
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        // SAFETY: the graph lives, and nothing uses it afterwards.
        unsafe { sys::cuGraphExecDestroy(self.0) };
    }
}

fn captured(choice: DeviceChoice, share: Share) -> Result<(), Failed> {
    let engine = Engine::open(choice)?;
    let lane = Lane::new(&engine)?;
    let stream = lane.0.as_ref().expect("a GPU has streams");
    for n in [0, 1, 33, 8193, 100_003, (1 << 20) + 7, (1 << 22) + 1] {
        for job in share.jobs(&engine, n)? {
            let (mut place, scratch) = (Place::new(&engine, &job)?, Guarded::new(&engine, job.scratch_bytes)?);
            place.fill(0)?;
            let captured = Graph::capture(stream, || place.run(lane.handle(), &scratch));
            let graph = captured.map_err(|e| format!("{}: {}", job.what, e.message().unwrap_or("")))?;
            let times = if n < 1 << 20 { 3 } else { 1 };
            for seed in 1..=times {
                place.fill(seed)?;
                graph.launch(stream)?;
                lane.wait()?;
                place.check()?;
            }
            scratch.read()?;
        }
    }
    Ok(())
}
