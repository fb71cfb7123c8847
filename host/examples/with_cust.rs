//! Context, stream and memory by the crate cust: scan, reduction, histogram and sort on them, checked by the host. Then
//! all four are captured into a graph, which is launched three times on fresh input.
//!
//!     cargo run --release -p rungs --features cust --example with_cust [N]
//!
//! N is 4 Mi. Needs a GPU; the exit code is 3 where there is none.

mod callers;

use callers::{BINS, Results, keys, told};
use cust::context::ContextHandle;
use cust::memory::{CopyDestination, DeviceBuffer};
use cust::stream::{Stream, StreamFlags};
use cust::sys;
use rungs::Operation;
use rungs::engine::Engine;
use rungs::error::{Error, Result};
use rungs::plan::Plan;
use std::process::ExitCode;
use std::ptr;

fn main() -> ExitCode {
    callers::main(run)
}

fn run(n: usize) -> Result<()> {
    let context = told("starting cust", cust::quick_init())?;
    let stream = told("making a stream", Stream::new(StreamFlags::DEFAULT, None))?;
    let handle = stream.as_inner().cast();
    // SAFETY: context and stream are declared before the engine and the plans, so they are dropped after them.
    let engine = unsafe { Engine::adopt(context.get_inner().cast(), handle) }?;

    // Before the capture, because this loads the kernels.
    let scan = Plan::scan(&engine, n, Operation::Sum, false)?;
    let reduce = Plan::reduce(&engine, n, Operation::Sum)?;
    let histogram = Plan::histogram(&engine, n * size_of::<u32>(), BINS as u32)?;
    let sort = Plan::sort(&engine, n)?;

    // One scratch memory for all of them, since they run in sequence.
    let bytes = [scan.scratch_bytes(), reduce.scratch_bytes(), histogram.scratch_bytes(), sort.scratch_bytes()];
    let bytes = bytes.into_iter().fold(0, usize::max);
    // SAFETY: no run needs anything that is in its scratch memory.
    let scratch = told("allocating", unsafe { DeviceBuffer::<u8>::uninitialized(bytes) })?;
    let poison = Results::poison(n);
    let mut memory = told("allocating", DeviceBuffer::from_slice(&poison.sorted))?;
    let sums = told("allocating", DeviceBuffer::from_slice(&poison.sums))?;
    let total = told("allocating", DeviceBuffer::from_slice(&poison.total))?;
    let counts = told("allocating", DeviceBuffer::from_slice(&poison.counts))?;

    let input = memory.as_device_ptr().as_raw() as *mut u32;
    let (to_sums, to_total) = (sums.as_device_ptr().as_raw() as *mut u32, total.as_device_ptr().as_raw() as *mut u32);
    let to_counts = counts.as_device_ptr().as_raw() as *mut u32;
    let free = scratch.as_device_ptr().as_raw() as *mut u8;
    let enqueue = || {
        // SAFETY: each array has as many elements as its plan is for, as has the scratch memory, and all of them live
        // until the stream has come past the last launch of the graph.
        unsafe {
            scan.run(handle, input, to_sums, free, bytes)?;
            reduce.run(handle, input, to_total, free, bytes)?;
            histogram.run(handle, input.cast::<u8>(), to_counts, free, bytes)?;
            sort.run(handle, input, free, bytes)
        }
    };
    let mut check = |round, work: &dyn Fn() -> Result<()>| {
        let input = keys(n, round)?;
        told("copying the keys", memory.copy_from(&input))?;
        work()?;
        told("waiting for the stream", stream.synchronize())?;
        let mut got = Results::poison(n);
        told("copying the sorted keys", memory.copy_to(&mut got.sorted))?;
        told("copying the sums", sums.copy_to(&mut got.sums))?;
        told("copying the total", total.copy_to(&mut got.total))?;
        told("copying the counts", counts.copy_to(&mut got.counts))?;
        got.check(&input)
    };

    check(0, &enqueue)?;
    let graph = Graph::capture(&stream, enqueue)?;
    for round in 1..=3 {
        check(round, &|| graph.launch(&stream))?;
    }
    let name = &engine.info().name;
    println!("{n} elements on {name}, {bytes} bytes of scratch memory: right, once and in 3 launches of a graph");
    Ok(())
}

/// A graph, by the driver's calls, which cust only declares.
struct Graph(sys::CUgraphExec);

impl Graph {
    /// What `work` enqueues on the stream.
    fn capture(stream: &Stream, work: impl FnOnce() -> Result<()>) -> Result<Self> {
        // The strictest mode: a call that could interfere is an error, whichever thread makes it.
        let mode = sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_GLOBAL;
        let (mut graph, mut ready) = (ptr::null_mut(), ptr::null_mut());
        // SAFETY: the stream lives, and each call writes the handle that the next one takes.
        unsafe {
            done("beginning a capture", sys::cuStreamBeginCapture_v2(stream.as_inner(), mode))?;
            let worked = work();
            let ended = done("ending a capture", sys::cuStreamEndCapture(stream.as_inner(), &mut graph));
            worked?;
            ended?;
            done("making a graph ready", sys::cuGraphInstantiateWithFlags(&mut ready, graph, 0))?;
            done("destroying what it was made from", sys::cuGraphDestroy(graph))?;
        }
        Ok(Self(ready))
    }

    fn launch(&self, stream: &Stream) -> Result<()> {
        // SAFETY: graph and stream live.
        done("launching a graph", unsafe { sys::cuGraphLaunch(self.0, stream.as_inner()) })
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        // SAFETY: the graph lives, and nothing uses it afterwards.
        unsafe { sys::cuGraphExecDestroy(self.0) };
    }
}

fn done(what: &str, result: sys::CUresult) -> Result<()> {
    match result {
        sys::CUresult::CUDA_SUCCESS => Ok(()),
        other => Err(Error::Cuda(format!("{what}: {other:?}").into())),
    }
}
