//! A launch: its limits, and its blocks over the host's cores.

use super::block::{Block, in_kernel};
use super::check;
use super::checked;
use super::cluster;
use super::cores::cores;
use super::error::LaunchError;
use super::limit;
use super::limits::*;
use super::observe::{self, Event};
use super::schedule::Others;
use super::spin::Quiet;
use super::stack::{give_stacks_back, take_stacks};
use super::stats::Count;
use super::watchdog::Leash;
use crate::launcher::{Call, With};
use crate::{Dim3, Geometry, Kernel};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

/// A launch of fewer threads runs on the calling thread: starting others would take longer.
const SMALL: u64 = 2048;

/// Options of the simulation.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// Threads of the host to use; 0 means as many as it has cores. With 1 the order of the blocks is fixed as well.
    pub workers: usize,
}

/// Runs a kernel to its end: `grid` × `block` threads with `shared_bytes` of dynamic shared memory.
///
/// # Errors
/// [`LaunchError::Refused`] if a GPU would refuse the launch or a view is of memory that is gone,
/// [`LaunchError::Fault`] if a thread did something that a
/// GPU leaves undefined, [`LaunchError::OutOfTime`] by [`within`](super::within). Writes of other blocks before that
/// remain.
pub fn launch<K: Kernel>(
    kernel: K,
    grid: [u32; 3],
    block: [u32; 3],
    shared_bytes: u32,
    args: K::Args,
    options: Options,
) -> Result<(), LaunchError> {
    let geometry = Geometry { grid, block, ..Geometry::linear(0, 0).shared(shared_bytes) };
    enqueue(&With::<K>::new(kernel, args), geometry, options)
}

/// [`launch`] for a kernel of any type: compiled once, not once per kernel.
///
/// # Errors
/// As for [`launch`].
pub fn enqueue(call: &dyn Call, geometry: Geometry, options: Options) -> Result<(), LaunchError> {
    let Geometry { grid, block, shared_bytes, .. } = geometry;
    refuse_impossible(call, grid, block, shared_bytes)?;
    if in_kernel() {
        let why = "a kernel launches no other: a launch is the host's, behind the one before".into();
        return Err(LaunchError::Refused { kernel: call.name(), why });
    }
    observe::tell(|| Event::Launch { kernel: call.name(), grid: Dim3(grid), block: Dim3(block) });
    LaunchError::refuse_freed(call)?;
    if check::active().is_some() {
        checked::launch(call, geometry)?;
    } else {
        run(call, geometry, options)?;
    }
    observe::tell(|| Event::LaunchEnd);
    Ok(())
}

fn run(call: &dyn Call, geometry: Geometry, options: Options) -> Result<(), LaunchError> {
    let Geometry { grid, block, shared_bytes, together, .. } = geometry;
    let (kernel, cluster, parameters) = (call.name(), call.cluster().max(1), call.parameters());
    let (views, thread) = (parameters.own_views(), || call.thread());
    let blocks: u64 = grid.iter().map(|&d| d as u64).product();
    let threads: u64 = block.iter().map(|&d| d as u64).product();
    // A cluster runs on one thread of the host.
    let clusters = blocks / u64::from(cluster);
    let workers = if options.workers > 0 { options.workers } else { cores() as usize };
    // An observer belongs to this thread.
    let alone = observe::active() || blocks.saturating_mul(threads) <= SMALL;
    let workers = match (together, alone) {
        // A thread of the host for each block: the host lets all of them go on.
        (true, _) if !observe::active() => clusters,
        (_, true) => 1,
        _ => (workers as u64).min(clusters),
    };

    let count = Count::begin();
    let limit = limit::of_this_thread();
    let (next, failed) = (AtomicU64::new(0), AtomicBool::new(false));
    let first_error = Mutex::new(None::<(u64, LaunchError)>);
    let quiet = Quiet::new(workers as u32);
    let waiting = || next.load(Relaxed) < clusters;
    let others = Others { none: workers == 1, quiet: &quiet, cancelled: &failed, waiting: &waiting, limit };
    let refuse = |why: String| {
        failed.store(true, Relaxed);
        first_error.lock().unwrap().get_or_insert((0, LaunchError::Refused { kernel, why }));
    };
    let run_blocks = || {
        let needed = threads as usize * cluster as usize;
        let taken = take_stacks(needed).and_then(|stacks| Ok((stacks, Leash::new()?)));
        let (mut stacks, _leash) = match taken {
            Ok(taken) => taken,
            Err(e) => return refuse(format!("the host has no room for {needed} simulated threads: {e}")),
        };
        let new = |_| Block::new([grid, block], (shared_bytes, call.max_threads()), views, count.is_some());
        let mut states: Vec<Block> = (0..cluster).map(new).collect();
        loop {
            // Blocks start in the order of their index: a block that waits for an earlier one waits for one that has
            // started.
            let i = next.fetch_add(1, Relaxed);
            if i >= clusters || failed.load(Relaxed) {
                break;
            }
            let [x, y, _] = grid.map(u64::from);
            let index = |i: u64| [(i % x) as u32, (i / x % y) as u32, (i / (x * y)) as u32];
            let of_cluster = i * u64::from(cluster)..(i + 1) * u64::from(cluster);
            let result = limit.map_or(Ok(()), |limit| limit.check(kernel));
            let result = result.and_then(|()| match &mut states[..] {
                [state] => state.run(kernel, index(i), &thread, &mut stacks, &others),
                states => cluster::run(kernel, states, of_cluster.clone().map(index), &thread, &mut stacks, &others),
            });
            let result = result.and_then(|()| {
                of_cluster.for_each(|i| observe::tell(|| Event::BlockEnd { block: i as u32 }));
                if observe::active() { LaunchError::refuse_freed(call) } else { Ok(()) }
            });
            if let Err(e) = result {
                failed.store(true, Relaxed);
                let mut first = first_error.lock().unwrap();
                // Several blocks may fail at once: the one with the lowest index is reported.
                if first.as_ref().is_none_or(|(at, _)| i < *at) {
                    *first = Some((i, e));
                }
            }
        }
        give_stacks_back(stacks);
        for collector in states.iter_mut().filter_map(|state| state.watchers.take_stats()) {
            if let Some(count) = &count {
                count.add(collector);
            }
        }
    };
    let work = || {
        run_blocks();
        quiet.leave();
    };
    if workers == 1 {
        work();
    } else {
        std::thread::scope(|scope| {
            for _ in 0..workers {
                if let Err(e) = std::thread::Builder::new().spawn_scoped(scope, work) {
                    refuse(format!("the host has no room for a thread: {e}"));
                    quiet.leave();
                }
            }
        });
    }
    if let Some(count) = count {
        count.end(kernel, Dim3(grid), Dim3(block));
    }
    if let Some((_, error)) = first_error.into_inner().unwrap() {
        return Err(error);
    }
    Ok(())
}

/// Refuses a launch that a GPU refuses, and names the limit.
fn refuse_impossible(call: &dyn Call, grid: [u32; 3], block: [u32; 3], shared_bytes: u32) -> Result<(), LaunchError> {
    let (kernel, max_threads, cluster) = (call.name(), call.max_threads(), call.cluster());
    let refuse = |why| Err(LaunchError::Refused { kernel, why });
    for axis in 0..3 {
        let name = ["x", "y", "z"][axis];
        for (what, extents, limits) in [("grid", grid, MAX_GRID_DIM), ("block", block, MAX_BLOCK_DIM)] {
            let (extent, limit) = (extents[axis], limits[axis]);
            if extent == 0 || extent > limit {
                return refuse(format!(
                    "a {what} of {extent} along {name} cannot be launched; the limit is 1 to {limit}"
                ));
            }
        }
    }
    let threads: u32 = block.iter().product();
    if threads > MAX_THREADS_PER_BLOCK {
        return refuse(format!(
            "a block of {threads} threads cannot be launched; the limit is {MAX_THREADS_PER_BLOCK}"
        ));
    }
    if max_threads > 0 && threads > max_threads {
        return refuse(format!(
            "a block of {threads} threads cannot be launched; the kernel is compiled for at most {max_threads}"
        ));
    }
    if cluster > MAX_CLUSTER {
        return refuse(format!("a cluster of {cluster} blocks cannot be launched; the limit is {MAX_CLUSTER}"));
    }
    if cluster > 0 && !grid[0].is_multiple_of(cluster) {
        return refuse(format!("a grid of {} blocks along x does not divide into clusters of {cluster}", grid[0]));
    }
    if shared_bytes > MAX_SHARED {
        return refuse(format!(
            "{shared_bytes} bytes of shared memory per block are too many; the limit is {MAX_SHARED}"
        ));
    }
    Ok(())
}
