//! Work under a check: once per schedule, and of each launch a few blocks at a time on one thread of the host, in the
//! order of the schedule.

use super::block::{Block, in_kernel};
use super::check::{self, BlockState, Check, Checked, Report, Session};
use super::cluster;
use super::cores::cores;
use super::error::LaunchError;
use super::limit;
use super::limits::MAX_SHARED;
use super::observe;
use super::stack::{STACK, Stack, give_stacks_back, take_stacks};
use super::stats::Count;
use super::threads::Thread;
use super::waits::{self, Waits};
use super::watchdog::Leash;
use crate::launcher::Call;
use crate::{Dim3, Geometry};
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

/// Runs `work` once per schedule and checks the kernels that it launches from this thread. They run on this thread, a
/// few blocks at a time.
///
/// Memory that `work` allocates ([`HostMemory`](super::HostMemory)) counts as unwritten until a kernel, or the host by
/// [`host_wrote`](super::host_wrote), has written it; other memory counts as written.
///
/// # Panics
/// If this thread makes a check already, or runs a kernel.
pub fn check<R>(options: Check, mut work: impl FnMut() -> R) -> Checked<R> {
    let mut outcome = Checked { results: Vec::new(), report: Report::default() };
    for seed in (0..u64::from(options.schedules.max(1))).map(|i| options.seed.wrapping_add(i)) {
        let (result, report, _) = once(Check { seed, ..options }, &mut work);
        outcome.results.push(result);
        outcome.report.add(report);
    }
    outcome
}

/// A schedule that fails, with as few choices as were found to be enough.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shortest {
    /// What shows the failure again.
    pub check: Check,
    words: String,
}

impl fmt::Display for Shortest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Check { seed, choices, .. }, words) = (self.check, &self.words);
        match choices {
            0 => write!(f, "any schedule, the plain one too"),
            1 => write!(f, "the first choice of schedule {seed}: {words}"),
            n => write!(f, "the first {n} choices of schedule {seed}: {words}"),
        }
    }
}

/// The shortest form of a schedule that fails: with how few choices of the schedule of seed `options.seed`, the plain
/// order behind them, `fails` is still true of `work`'s result and the report. None if the whole does not fail.
pub fn shortest<R>(
    options: Check,
    mut work: impl FnMut() -> R,
    mut fails: impl FnMut(&R, &Report) -> bool,
) -> Option<Shortest> {
    // The choices that were made, and the schedule in words, if that fails.
    let mut attempt = |choices| {
        let (result, report, session) = once(Check { choices, ..options }, &mut work);
        fails(&result, &report).then(|| (session.schedule.choices, session.schedule.describe()))
    };
    // The plain order first: it is what most failures show under.
    let found = attempt(0).or_else(|| {
        let mut shortest = attempt(options.choices)?;
        // The number of choices is halved as long as the failure stays: failures are not monotone in it, but each step
        // has been seen to fail.
        let mut passes = 0;
        while shortest.0 > passes + 1 {
            let middle = passes + (shortest.0 - passes) / 2;
            match attempt(middle) {
                Some(shorter) => shortest = shorter,
                None => passes = middle,
            }
        }
        Some(shortest)
    });
    found.map(|(choices, words)| Shortest { check: Check { choices, schedules: 1, ..options }, words })
}

/// Runs `work` under one schedule.
fn once<R>(options: Check, work: &mut impl FnMut() -> R) -> (R, Report, Box<Session>) {
    assert!(!in_kernel(), "a check is of launches, and a kernel launches none");
    let (result, mut session) = check::within(options, work);
    let report = session.take_report();
    (result, report, session)
}

/// Blocks that run at the same time as long as they make progress.
const RESIDENT: usize = 4;

/// Threads that an SM holds, and blocks.
const THREADS: u64 = 2048;
const BLOCKS: u64 = 32;

/// Rounds in which no thread works, per running block, before another block begins too.
const PATIENCE: u64 = 64;

/// Turns of spinning threads, without a value that is new to one of them, after which a spin counts as endless: so
/// many, and this many for each thread that may spin. A schedule may hold back the thread that the others wait for.
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
    threads: Vec<Thread>,
    block: Kept<Block>,
    state: Kept<BlockState>,
    round: u64,
    order: Vec<u32>,
}

/// Runs a kernel's blocks under the session's schedule.
///
/// # Errors
/// [`LaunchError::Fault`] if a thread did something that ends the kernel; it is a finding too.
pub(super) fn launch(call: &dyn Call, geometry: Geometry) -> Result<(), LaunchError> {
    // Asked for again at each use: the threads that run in between ask for it too.
    let session = || check::active().expect("a check does not end during a launch");
    let Geometry { grid, block, shared_bytes, overlapping, together, .. } = geometry;
    let blocks: u64 = grid.iter().map(|&d| u64::from(d)).product();
    let threads: u32 = block.iter().product();
    let kernel = call.name();
    let refuse = |why: String| LaunchError::Refused { kernel, why };
    let (parameters, stride) = (call.parameters(), threads.next_multiple_of(32));
    let views = parameters.own_views();
    session().begin_launch(kernel, [grid, block], views, overlapping).map_err(refuse)?;

    // As many as the device that sequences see by default could hold.
    let shared = u64::from(MAX_SHARED) / u64::from(shared_bytes + 1024);
    let cluster = u64::from(call.cluster().max(1));
    let capacity = (u64::from(cores()) * (THREADS / u64::from(stride)).min(BLOCKS).min(shared)).max(cluster) as usize;

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
                        let limits = (shared_bytes, call.max_threads());
                        let block = Block::new([grid, block], limits, views, count.is_some());
                        Ok((Kept::new(block), Kept::new(state), stack(threads as usize)?))
                    };
                    (0..cluster).map(|_| new()).collect::<Result<Spare, LaunchError>>()?
                }
            };
            let first = running.len();
            for ((mut next, mut state, mut stacks), rank) in members.into_iter().zip(0..) {
                let number = begins * cluster + rank;
                session().begin_block(&mut state, number as u32);
                let [x, y, _] = grid.map(u64::from);
                let index = [(number % x) as u32, (number / x % y) as u32, (number / (x * y)) as u32];
                next.watchers.check(state.0.as_ptr());
                // SAFETY: `end` takes the threads back before this function returns, and `body` lives until then.
                let threads = unsafe { next.start(index, &body, &mut stacks) };
                running.push(Slot { cluster: begins, threads, block: next, state, round: 0, order: Vec::new() });
            }
            if cluster > 1 {
                let members: Vec<&Block> = running[first..].iter().map(|slot| &*slot.block).collect();
                // SAFETY: each block stays in its place.
                unsafe { cluster::join(&members) };
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
                    session().fault(fault);
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
                        block.watchers.tell_end();
                        used.push((block, state, stacks));
                    }
                    spare.push(used);
                    if observe::active()
                        && let Err(freed) = LaunchError::refuse_freed(call)
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
                    running.iter().for_each(|slot| slot.block.watch.suspect());
                    let spinning = running.len() as u64 * u64::from(threads);
                    if spun_turns > ENDLESS.max(ENDLESS_PER_THREAD * spinning) {
                        let mut waits = Waits::default();
                        running.iter().for_each(|slot| waits.extend(slot.block.waits()));
                        if waits.is_empty() {
                            continue; // the wait has ended in this very round
                        }
                        let error = waits::error(kernel, waits, begun < blocks);
                        if let LaunchError::Fault(fault) = &error {
                            session().fault(fault);
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
        if let (Some(count), Some(collector)) = (&count, block.watchers.take_stats()) {
            count.add(collector);
        }
    }
    give_stacks_back(stacks);
    if let Some(count) = count {
        count.end(kernel, Dim3(grid), Dim3(geometry.block));
    }
    result
}

const _: () = assert!(STACK >= 64 << 10, "a check reports on the stack of a kernel's thread");
