//! Context, stream and memory by the crate cudarc: scan, reduction, histogram and sort on them, checked by the host.
//! Then all four are captured into a graph, which is launched three times on fresh input.
//!
//!     cargo run --release -p rungs --example with_cudarc [N]
//!
//! N is 4 Mi. Needs a GPU; the exit code is 3 where there is none.

mod callers;

use callers::{BINS, Results, keys, told};
use cudarc::driver::sys::{CUgraphInstantiate_flags, CUstreamCaptureMode};
use cudarc::driver::{CudaContext, DevicePtrMut};
use rungs::Operation;
use rungs::engine::Engine;
use rungs::error::{Error, Result};
use rungs::plan::Plan;
use std::process::ExitCode;

fn main() -> ExitCode {
    callers::main(run)
}

fn run(n: usize) -> Result<()> {
    let context = told("starting cudarc", CudaContext::new(0))?;
    // SAFETY: one stream does all the work, so no stream has to wait for another. cudarc would have it wait for events
    // of before the capture, which is no part of a graph.
    unsafe { context.disable_event_tracking() };
    let stream = told("making a stream", context.new_stream())?;
    let handle = stream.cu_stream().cast();
    // SAFETY: context and stream are declared before the engine and the plans, so they are dropped after them.
    let engine = unsafe { Engine::adopt(context.cu_ctx().cast(), handle) }?;

    // Before the capture, because this loads the kernels.
    let scan = Plan::scan(&engine, n, Operation::Sum, false)?;
    let reduce = Plan::reduce(&engine, n, Operation::Sum)?;
    let histogram = Plan::histogram(&engine, n * size_of::<u32>(), BINS as u32)?;
    let sort = Plan::sort(&engine, n)?;

    // One scratch memory for all of them, since they run in sequence.
    let bytes = [scan.scratch_bytes(), reduce.scratch_bytes(), histogram.scratch_bytes(), sort.scratch_bytes()];
    let bytes = bytes.into_iter().fold(0, usize::max);
    // SAFETY: no run needs anything that is in its scratch memory.
    let mut scratch = told("allocating", unsafe { stream.alloc::<u8>(bytes) })?;
    let poison = Results::poison(n);
    let mut memory = told("allocating", stream.clone_htod(&poison.sorted))?;
    let mut sums = told("allocating", stream.clone_htod(&poison.sums))?;
    let mut total = told("allocating", stream.clone_htod(&poison.total))?;
    let mut counts = told("allocating", stream.clone_htod(&poison.counts))?;

    let input = memory.device_ptr_mut(&stream).0 as *mut u32;
    let to_sums = sums.device_ptr_mut(&stream).0 as *mut u32;
    let to_total = total.device_ptr_mut(&stream).0 as *mut u32;
    let to_counts = counts.device_ptr_mut(&stream).0 as *mut u32;
    let free = scratch.device_ptr_mut(&stream).0 as *mut u8;
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
        told("copying the keys", stream.memcpy_htod(&input, &mut memory))?;
        work()?;
        let got = Results {
            sorted: told("copying the sorted keys", stream.clone_dtoh(&memory))?,
            sums: told("copying the sums", stream.clone_dtoh(&sums))?,
            total: told("copying the total", stream.clone_dtoh(&total))?,
            counts: told("copying the counts", stream.clone_dtoh(&counts))?,
        };
        told("waiting for the stream", stream.synchronize())?;
        got.check(&input)
    };

    check(0, &enqueue)?;
    // The strictest mode: a call that could interfere is an error, whichever thread makes it.
    let mode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_GLOBAL;
    told("beginning a capture", stream.begin_capture(mode))?;
    let worked = enqueue();
    let graph = told("ending a capture", stream.end_capture(CUgraphInstantiate_flags(0)));
    worked?;
    let graph = graph?.ok_or_else(|| Error::Cuda("nothing was captured".into()))?;
    for round in 1..=3 {
        check(round, &|| told("launching a graph", graph.launch()))?;
    }
    let name = &engine.info().name;
    println!("{n} elements on {name}, {bytes} bytes of scratch memory: right, once and in 3 launches of a graph");
    Ok(())
}
