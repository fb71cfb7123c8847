//! A launch under a check: a few blocks at a time on one thread of the host, in the order of a schedule.

use super::super::block::Block;
use super::super::cluster::Cluster;
use super::super::error::LaunchError;
use super::super::launch::refuse_freed;
use super::super::limit;
use super::super::limits::MAX_SHARED;
use super::super::memory::NO_FLOAT_ORDER;
use super::super::observe;
use super::super::stack::{STACK, Stack, give_stacks_back, take_stacks};
use super::super::stats::Count;
use super::super::waits::{self, Waits};
use super::super::watchdog::Leash;
use super::finding::{Finding, Kind, Side};
use super::session::Session;
use super::state::{BlockState, Launch};
use super::sync::Engines;
use super::{SESSION, active};
use crate::launcher::Call;
use crate::{Dim3, Geometry};
use corosensei::Coroutine;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

/// Blocks that run at the same time as long as they make progress.
const RESIDENT: usize = 4;

/// Threads that an SM holds, and blocks.
const THREADS: u64 = 2048;
const BLOCKS: u64 = 32;

/// Rounds in which no thread works, per running block, before another block begins beside them.
const PATIENCE: u64 = 64;

/// Turns of spinning threads, without a value that is new to one of them, after which a spin counts as endless: so
/// many, and so many for each thread that may spin. A schedule may hold back the thread that the others wait for.
const ENDLESS: u64 = 1 << 17;
const ENDLESS_PER_THREAD: u64 = 1 << 10;

/// A value in a place of its own, to which threads of a block have pointers. A `Box` would claim the place for itself
/// whenever it is moved.
struct Kept<T>(NonNull<T>);

impl<T> Kept<T> {
    fn new(value: T) -> Self {
        Self(NonNull::from(Box::leak(Box::new(value))))
    }
}

impl<T> Deref for Kept<T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: made by `new`, and freed by `drop` alone.
        unsafe { self.0.as_ref() }
    }
}

impl<T> DerefMut for Kept<T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as above. No thread of a block runs meanwhile: those are resumed through a shared reference.
        unsafe { self.0.as_mut() }
    }
}

impl<T> Drop for Kept<T> {
    fn drop(&mut self) {
        // SAFETY: `new` took it out of a box; the threads that knew of it have ended.
        drop(unsafe { Box::from_raw(self.0.as_ptr()) });
    }
}

/// Blocks that a cluster or a single block has used, with room for their threads, for the next.
type Spare = Vec<(Kept<Block>, Kept<BlockState>, Vec<Stack>)>;

/// A block that runs.
struct Slot {
    /// The number of its cluster; its own in a launch without clusters.
    cluster: u64,
    // Before the block, whose threads they are.
    threads: Vec<Coroutine<(), (), (), Stack>>,
    block: Kept<Block>,
    state: Kept<BlockState>,
    round: u64,
    order: Vec<u32>,
}

/// Runs a kernel's blocks under the session's schedule.
///
/// # Errors
/// [`LaunchError::Fault`] if a thread did something that ends the kernel; it is a finding too.
pub(in super::super) fn launch(call: &dyn Call, geometry: Geometry) -> Result<(), LaunchError> {
    // Asked for anew at each use: the threads that run in between ask for it too.
    let session = || active().expect("a check does not end during a launch");
    let Geometry { grid, block, shared_bytes, overlapping, together, .. } = geometry;
    let blocks: u64 = grid.iter().map(|&d| u64::from(d)).product();
    let threads: u32 = block.iter().product();
    let stride = threads.next_multiple_of(32);
    let engines = blocks * u64::from(stride);
    let refuse = |why: String| LaunchError::Refused { kernel: call.name(), why };
    if engines + blocks * u64::from(Engines::per_block(stride)) >= u64::from(u32::MAX - 8) {
        return Err(refuse(format!("{blocks} blocks are more than a check can count")));
    }
    let views = call.parameters().own_views().to_vec();
    let (kernel, engines) = (call.name(), engines as u32);
    session().begin_launch(Launch { kernel, grid, block, views, stride, engines, overlapping, ..Launch::default() });
    let (floor, base) = (session().launch.floor, session().launch.base);

    // As many as the device that sequences see by default could hold.
    let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get() as u64);
    let shared = u64::from(MAX_SHARED) / u64::from(shared_bytes + 1024);
    let cluster = u64::from(call.cluster().max(1));
    let capacity = (cores * (THREADS / u64::from(stride)).min(BLOCKS).min(shared)).max(cluster) as usize;

    let stack = |n| take_stacks(n).map_err(|e| refuse(format!("the host has no room for {n} simulated threads: {e}")));
    let _leash = Leash::new().map_err(|e| refuse(format!("the host has no room for a thread: {e}")))?;
    let (count, limit) = (Count::begin(), limit::of_this_thread());
    let body = || call.thread();
    let mut running: Vec<Slot> = Vec::new();
    // Blocks that have ended, of clusters of which others run: those may still reach their shared memory.
    let mut ended: Vec<Slot> = Vec::new();
    let mut spare: Vec<Spare> = Vec::new();
    let (mut begun, mut turn, mut quiet, mut resident) = (0u64, 0u64, 0u64, RESIDENT.min(capacity));
    if together {
        resident = blocks as usize;
    }
    let mut spun_turns = 0u64;
    let result = 'launch: loop {
        while begun < blocks && running.len() < resident {
            let begins = session().schedule.begins(begun / cluster, blocks / cluster);
            begun += cluster;
            let members = match spare.pop() {
                Some(spare) => spare,
                None => {
                    let new = || {
                        let state = BlockState::new(0, threads as usize);
                        let (limits, views) = ((shared_bytes, call.max_threads()), &session().launch.views);
                        let block = Block::new([grid, block], limits, views, count.is_some());
                        Ok((Kept::new(block), Kept::new(state), stack(threads as usize)?))
                    };
                    (0..cluster).map(|_| new()).collect::<Result<Spare, LaunchError>>()?
                }
            };
            let first = running.len();
            for ((mut next, mut state, mut stacks), rank) in members.into_iter().zip(0..) {
                let number = begins * cluster + rank;
                state.begin(number as u32, base, floor);
                session().top = session().top.max(base + 1);
                let [x, y, _] = grid.map(u64::from);
                let index = [(number % x) as u32, (number / x % y) as u32, (number / (x * y)) as u32];
                next.check(state.0.as_ptr());
                // SAFETY: `end` takes the threads back before this function returns, and `body` lives until then.
                let threads = unsafe { next.start(index, &body, &mut stacks) };
                running.push(Slot { cluster: begins, threads, block: next, state, round: 0, order: Vec::new() });
            }
            if cluster > 1 {
                let members: Vec<&Block> = running[first..].iter().map(|slot| &*slot.block).collect();
                // SAFETY: each block stays in its place.
                unsafe { Cluster::join(&members) };
            }
        }
        if running.is_empty() {
            break Ok(());
        }
        if let Some(late) = limit.and_then(|limit| limit.check(kernel).err()) {
            break Err(late);
        }
        let which = session().schedule.block(running.len() as u32, turn, quiet > 0) as usize;
        turn += 1;
        let slot = &mut running[which];
        let schedule = &mut session().schedule;
        schedule.order(&mut slot.order, threads, slot.round);
        let starved = schedule.starves().then(|| schedule.starved(threads, slot.round)).flatten();
        slot.round += 1;
        let round = slot.block.checked_round(kernel, &mut slot.threads, &slot.order, starved);
        match round {
            Err(error) => {
                if let LaunchError::Fault(fault) = &error {
                    fault_found(session(), fault);
                }
                break 'launch Err(error);
            }
            Ok(round) if round.live == 0 => {
                (quiet, spun_turns) = (0, 0);
                let of = running[which].cluster;
                ended.push(running.remove(which));
                if running.iter().all(|slot| slot.cluster != of) {
                    let mut used = Spare::new();
                    for Slot { threads, mut block, mut state, .. } in ended.extract_if(.., |slot| slot.cluster == of) {
                        let stacks = block.end(threads);
                        session().end_block(&mut state);
                        block.tell_end();
                        used.push((block, state, stacks));
                    }
                    spare.push(used);
                    if observe::active()
                        && let Err(freed) = refuse_freed(call)
                    {
                        break 'launch Err(freed);
                    }
                }
            }
            Ok(round) if round.worked || round.news => (quiet, spun_turns) = (0, 0),
            Ok(round) => {
                quiet += 1;
                spun_turns += u64::from(round.spun);
                let patient = quiet < PATIENCE * running.len() as u64;
                if !patient && begun < blocks && running.len() < capacity {
                    // What they wait for may be the work of a block that has not begun.
                    resident = running.len() + 1;
                    quiet = 0;
                } else if !patient {
                    running.iter().for_each(|slot| slot.block.suspect());
                    let spinning = running.len() as u64 * u64::from(threads);
                    if spun_turns > ENDLESS.max(ENDLESS_PER_THREAD * spinning) {
                        let mut waits = Waits::default();
                        for Slot { block, state, .. } in &running {
                            waits.extend(block.waits(Some(state)));
                        }
                        if waits.is_empty() {
                            continue; // the wait has ended in this very round
                        }
                        let error = waits::error(kernel, waits, begun < blocks);
                        if let LaunchError::Fault(fault) = &error {
                            fault_found(session(), fault);
                        }
                        break 'launch Err(error);
                    }
                }
            }
        }
    };
    let mut stacks: Vec<Stack> = Vec::new();
    let stopped = running.into_iter().chain(ended).map(|Slot { threads, mut block, state, .. }| {
        let stacks = block.end(threads);
        (block, state, stacks)
    });
    for (mut block, _, of_block) in stopped.chain(spare.into_iter().flatten()) {
        stacks.extend(of_block);
        if let (Some(count), Some(collector)) = (&count, block.take_stats()) {
            count.add(collector);
        }
    }
    give_stacks_back(stacks);
    if let Some(count) = count {
        count.end(kernel, Dim3(grid), Dim3(geometry.block));
    }
    debug_assert!(!SESSION.get().is_null(), "a check does not end during a launch");
    result
}

/// What ended a kernel, as a finding.
fn fault_found(session: &mut Session, fault: &super::super::error::Fault) {
    let advice = match fault.kind {
        Kind::DivergentBarrier => "let all threads of the block reach one call; or use named barriers for roles",
        Kind::MissedBarrier => "every thread of the block has to reach the barrier, also those with nothing left to do",
        Kind::WarpMask => "the mask names exactly the lanes that make the call, the caller among them",
        Kind::OutOfBounds => "compare the index with the view's length before the access",
        Kind::Misaligned => {
            "a vector access, and a view of wider elements, begin at a multiple of their bytes: slice such a view at a \
             multiple of as many elements, or access the elements one by one up to there"
        }
        Kind::Fault if fault.what.contains(NO_FLOAT_ORDER) => {
            "map the numbers to integers of the same order (of a negative one flip all bits, of another the sign), or \
             try compare_exchange until it succeeds"
        }
        Kind::Deadlock => "let one of them do what another waits for before it waits itself",
        Kind::EndlessSpin => "let a thread write what is waited for, on every path and before it ends",
        _ => "",
    };
    // Two sides are shown; further ones are told behind the advice.
    let mut waits = fault.waits.iter();
    let first = waits.next().cloned();
    let also = |side: &Side| format!("\n  also: {}", side.to_string().replace("\n      at", " at"));
    let finding = Finding {
        kind: fault.kind,
        kernel: fault.kernel,
        memory: None,
        first,
        second: Side {
            what: match fault.kind.hangs() {
                true => fault.what.clone(),
                false => format!("stops: {}", fault.what),
            },
            site: fault.site.clone(),
            block: fault.block,
            thread: fault.thread,
            warp: fault.warp,
            value: None,
        },
        advice: waits.fold(advice.into(), |advice, side| advice + &also(side)),
        count: 1,
        seed: session.schedule.seed(),
    };
    session.push(finding);
}

const _: () = assert!(STACK >= 64 << 10, "a check reports on the stack of a kernel's thread");
