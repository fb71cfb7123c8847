//! One block: its threads as coroutines, their barriers, its shared memory.

use super::async_copy::Copies;
use super::check::{self, BlockState, Kind, Session, Site};
use super::cluster::Cluster;
use super::error::{Fault, LaunchError};
use super::limit::Limit;
use super::mbarrier::Barriers;
use super::observe::{self, Event, Space};
use super::overflow;
use super::registers::Registers;
use super::spin::{Idle, Quiet, Watch};
use super::stack::{STACK, Stack};
use super::stats::{Collector, Instruction, What};
use super::waits::{self, Awaited, Wait, Waits};
use super::warp::Warp;
use super::watchdog;
use super::{BLOCK, limits};
use crate::{Dim3, live};
use corosensei::stack::Stack as _;
use corosensei::trap::CoroutineTrapHandler;
use corosensei::{Coroutine, CoroutineResult, Yielder};
use std::any::Any;
use std::cell::{Cell, RefCell, UnsafeCell};
use std::ops::Range;
use std::panic::{AssertUnwindSafe, Location, catch_unwind};
use std::rc::Rc;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Indices or extents along x, y, z.
pub(super) type Vector = [u32; 3];

/// Named barriers of a block; number 0 is `sync_threads`.
const BARRIERS: usize = 16;

/// Bytes below a stack that are certainly not accessible: the smallest page.
#[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "the signal handler of Linux asks"))]
const GUARD: usize = 4 << 10;

/// The byte that fills shared memory when a block begins, unlike any data of a kernel.
const POISON: u128 = u128::from_ne_bytes([0xCD; 16]);

/// The state of a thread.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Ready,
    Spinning,
    AtBarrier(u8),
    AtCluster,
    InWarp,
    ForRegisters,
    Ended,
    /// Never goes on: `Block::stopped` says why.
    Stopped,
}

/// A barrier that some threads have reached.
#[derive(Clone, Copy, Default)]
struct Barrier {
    arrived: u32,
    votes: u32,
    /// Votes of the last completed round, which the released threads read.
    result: u32,
    /// Threads that this round waits for.
    expected: Option<u32>,
    /// The place where the first thread of this round waits.
    location: Option<&'static Location<'static>>,
}

/// The place of a panic, recorded by the hook while the stack still exists.
struct Panic {
    site: Option<Site>,
    message: String,
}

/// What a thread that stops the launch says.
pub(super) enum Stopped {
    /// Its number and the reason.
    Thread(usize, Kind, String),
    /// Who waits for what, as no thread of any block can go on; and whether blocks have not begun.
    Waits(Waits, bool),
}

/// A round of a block under a check.
pub(super) struct Round {
    /// Threads that have not ended.
    pub(super) live: usize,
    /// Whether a thread did anything but spin.
    pub(super) worked: bool,
    /// Threads that did nothing but spin, and whether one of them read something new.
    pub(super) spun: u32,
    pub(super) news: bool,
}

/// The state shared with the blocks that run at the same time.
pub(super) struct Others<'a> {
    /// Whether there are no such blocks, because one thread of the host runs all blocks.
    pub(super) none: bool,
    pub(super) quiet: &'a Quiet,
    /// Whether one has failed, so that the launch is over.
    pub(super) cancelled: &'a AtomicBool,
    /// Whether blocks have not begun.
    pub(super) waiting: &'a (dyn Fn() -> bool + Sync),
    /// When the launch has to end.
    pub(super) limit: Option<Limit>,
}

/// A block while it runs. Everything is interior-mutable: the block's threads all hold it, one at a time.
pub(super) struct Block {
    pub(super) block_idx: Vector,
    pub(super) block_dim: Vector,
    pub(super) grid_dim: Vector,
    pub(super) dynamic_bytes: u32,
    /// Address and bytes of each view among the launch's parameters.
    pub(super) views: Vec<(u64, u64)>,
    current: Cell<usize>,
    indices: Vec<Vector>,
    states: Vec<Cell<State>>,
    locations: Vec<Cell<Option<&'static Location<'static>>>>,
    yielders: Vec<Cell<*const Yielder<(), ()>>>,
    warps: Vec<Warp>,
    barriers: [Cell<Barrier>; BARRIERS],
    pub(super) mbarriers: Barriers,
    registers: Registers,
    pub(super) copies: Copies,
    pub(super) watch: Watch,
    /// What the threads do, where that is counted.
    stats: Option<Collector>,
    /// Static arrays, by key, with the address that each was given.
    arrays: RefCell<Vec<(usize, u32)>>,
    shared_bytes: Cell<u32>,
    arena: UnsafeCell<Vec<u128>>,
    panic: RefCell<Option<Panic>>,
    /// The means to make each thread return, and whether the running thread was made to because its stack overflowed.
    exits: Vec<Cell<Option<CoroutineTrapHandler<()>>>>,
    overflown: Cell<bool>,
    stack_limits: Vec<Cell<usize>>,
    /// The kind of the mistake that the next panic is about.
    kind: Cell<Kind>,
    /// Why the running thread may not go on.
    stopped: Cell<&'static str>,
    /// The barrier in shared memory, and the parity, that each thread has waited for last.
    awaits: Vec<Cell<Option<(u32, u32)>>>,
    /// The cluster that the block is part of, and its number there.
    cluster: RefCell<Option<Rc<Cluster>>>,
    rank: Cell<u32>,
    /// Under a check: whether the running thread spun before its turn.
    spins: Cell<bool>,
    /// The block's part of a running check; null where there is none.
    checked: Cell<*mut BlockState>,
}

impl Block {
    /// A block of this shape, to be used for one block of the grid after the other: with so much dynamic shared memory,
    /// of a kernel that is compiled for so many threads.
    pub(super) fn new(
        [grid_dim, block_dim]: [Vector; 2],
        (dynamic_bytes, max_threads): (u32, u32),
        views: &[(u64, u64)],
        counted: bool,
    ) -> Self {
        install_hook();
        overflow::install();
        let [x, y, z] = block_dim;
        let threads = (x * y * z) as usize;
        let indices = (0..threads as u32).map(|t| [t % x, t / x % y, t / (x * y)]).collect();
        Self {
            block_idx: [0; 3],
            block_dim,
            grid_dim,
            dynamic_bytes,
            views: views.to_vec(),
            current: Cell::new(0),
            indices,
            states: vec![Cell::new(State::Ready); threads],
            locations: vec![Cell::new(None); threads],
            yielders: vec![Cell::new(std::ptr::null()); threads],
            warps: (0..threads.div_ceil(32)).map(|_| Warp::default()).collect(),
            barriers: Default::default(),
            mbarriers: Barriers::default(),
            registers: Registers::new(threads, max_threads),
            copies: Copies::new(threads),
            watch: Watch::new(threads, observe::active() || counted || check::active().is_some()),
            stats: counted.then(|| Collector::new(threads)),
            arrays: RefCell::default(),
            shared_bytes: Cell::new(dynamic_bytes.next_multiple_of(16)),
            arena: UnsafeCell::new(vec![POISON; limits::MAX_SHARED as usize / 16 + 1]),
            panic: RefCell::default(),
            exits: vec![Cell::new(None); threads],
            overflown: Cell::new(false),
            stack_limits: vec![Cell::new(0); threads],
            kind: Cell::new(Kind::Fault),
            stopped: Cell::new(""),
            awaits: vec![Cell::new(None); threads],
            cluster: RefCell::default(),
            rank: Cell::new(0),
            spins: Cell::new(false),
            checked: Cell::new(std::ptr::null_mut()),
        }
    }

    /// Threads of the block.
    pub(super) fn threads(&self) -> u32 {
        self.states.len() as u32
    }

    /// The number of the running thread in its block.
    #[inline(always)]
    pub(super) fn current(&self) -> usize {
        self.current.get()
    }

    /// The running thread's index.
    #[inline(always)]
    pub(super) fn thread_idx(&self) -> Vector {
        self.indices[self.current.get()]
    }

    /// The warp of a thread.
    pub(super) fn warp(&self, thread: usize) -> &Warp {
        &self.warps[thread / 32]
    }

    /// A pointer to `bytes` bytes of shared memory; ends the kernel where they are not all inside.
    #[inline(always)]
    #[track_caller]
    pub(super) fn shared(&self, address: u32, bytes: u32) -> *mut u8 {
        let end = address as u64 + bytes as u64;
        if end > self.shared_bytes.get() as u64 {
            self.mistake(Kind::OutOfBounds);
            panic!("shared address {address} is outside of the block's {} bytes", self.shared_bytes.get());
        }
        // SAFETY: the arena has MAX_SHARED bytes, and shared_bytes never exceeds that.
        unsafe { (*self.arena.get()).as_mut_ptr().cast::<u8>().add(address as usize) }
    }

    /// The address of a static array, assigned at the first request of a thread.
    #[track_caller]
    pub(super) fn static_shared(&self, name: &'static &'static str, element: u32, len: u32) -> u32 {
        // The blocks of a cluster have the same arrays in the same places, whichever asks for one first.
        match &*self.cluster.borrow() {
            Some(cluster) => {
                let addresses = cluster.blocks().map(|block| block.place_shared(name, element, len));
                addresses.last().expect("a cluster has blocks")
            }
            None => self.place_shared(name, element, len),
        }
    }

    #[track_caller]
    fn place_shared(&self, name: &'static &'static str, element: u32, len: u32) -> u32 {
        let (mut arrays, key, bytes) = (self.arrays.borrow_mut(), std::ptr::from_ref(name) as usize, element * len);
        if let Some((_, address)) = arrays.iter().find(|(k, _)| *k == key) {
            return *address;
        }
        let (address, end) = (self.shared_bytes.get(), self.shared_bytes.get() + bytes.next_multiple_of(16));
        let fixed = end - self.dynamic_bytes.next_multiple_of(16);
        assert!(
            fixed <= limits::MAX_STATIC_SHARED,
            "the kernel declares {fixed} bytes of static shared memory; a block has at most {}",
            limits::MAX_STATIC_SHARED
        );
        assert!(
            end <= limits::MAX_SHARED,
            "the block needs {end} bytes of shared memory, static and dynamic; it has at most {}",
            limits::MAX_SHARED
        );
        self.shared_bytes.set(end);
        arrays.push((key, address));
        if let Some((_, state)) = self.checks() {
            state.array(name, address, element, len);
        }
        address
    }

    /// Waits at barrier `id` for `expected` threads (all of the block where None). Returns the number of threads with a
    /// true `vote`.
    ///
    /// Inlined into the kernel, so that no function lies between the switch of stacks and the kernel: a processor
    /// predicts where a function returns by the calls that it has seen, which are another thread's after a switch. One
    /// function more costs two wrong predictions per barrier, which is three times the switch itself.
    #[inline(always)]
    #[track_caller]
    pub(super) fn sync(&self, id: usize, expected: Option<u32>, vote: bool) -> u32 {
        let quick = id == 0 && self.stats.is_none() && self.arrives_quickly(vote, Location::caller());
        let state = if quick { State::AtBarrier(0) } else { self.arrive(id, expected, vote) };
        self.suspend(self.current.get(), state);
        self.barriers[id].get().result
    }

    /// Counts a thread that is neither the first nor the last at the barrier of the block, where that is all that is to
    /// be done.
    #[inline(always)]
    fn arrives_quickly(&self, vote: bool, location: &'static Location<'static>) -> bool {
        // SAFETY: the cell is this thread's of the host, and no other reference to its content is made meanwhile. (A
        // copy out and in again would take as long as the switch.)
        let barrier = unsafe { &mut *self.barriers[0].as_ptr() };
        let quick =
            barrier.arrived + 1 < self.threads() && barrier.location.is_some_and(|first| std::ptr::eq(first, location));
        if quick {
            barrier.arrived += 1;
            barrier.votes += vote as u32;
            self.locations[self.current.get()].set(Some(location));
        }
        quick
    }

    /// Counts a thread at a barrier, and lets the others go on if it is the last. Returns the state in which it waits.
    #[inline(never)]
    #[track_caller]
    fn arrive(&self, id: usize, expected: Option<u32>, vote: bool) -> State {
        let location = Location::caller();
        let thread = self.current.get();
        // Others may run meanwhile and arrive.
        self.count(Instruction::Barrier, 0, 0);
        if id == 0 && self.arrives_quickly(vote, location) {
            return State::AtBarrier(0);
        }
        let mut barrier = self.barriers[id].get();
        let first = *barrier.location.get_or_insert(location);
        // Roles of a block reach a named barrier from where they are; the barrier of the whole block is one place.
        if id == 0 && first != location {
            self.mistake(Kind::DivergentBarrier);
            panic!("threads of one block wait at different barriers: others at {}:{}", first.file(), first.line());
        }
        let wanted = *barrier.expected.get_or_insert(expected.unwrap_or(self.threads()));
        if wanted != expected.unwrap_or(self.threads()) {
            self.mistake(Kind::DivergentBarrier);
            panic!("threads wait at barrier {id} for different numbers of threads: others for {wanted}");
        }
        // The instruction is one of a whole warp: its lanes come to one place, whatever other warps do.
        let elsewhere = |t: &usize| {
            self.states[*t].get() == State::AtBarrier(id as u8)
                && self.locations[*t].get().is_some_and(|place| place != location)
        };
        if id > 0
            && let Some(place) = self.warp_of(thread).find(elsewhere).and_then(|t| self.locations[t].get())
        {
            self.mistake(Kind::DivergentBarrier);
            let (file, line) = (place.file(), place.line());
            panic!("lanes of one warp wait at barrier {id} in different places: others at {file}:{line}");
        }
        // A named barrier counts warps: one whose lanes do not all come is never counted.
        barrier.arrived += match id {
            0 => 1,
            _ if self.whole_warp(thread, id as u8) => crate::machine::WARP,
            _ => 0,
        };
        barrier.votes += vote as u32;
        if barrier.arrived == wanted {
            self.barriers[id].set(Barrier { result: barrier.votes, ..Barrier::default() });
            observe::tell(|| Event::Barrier { block: observe::number(self), id: id as u32 });
            self.count_barrier(id as u8, location);
            let waiting = State::AtBarrier(id as u8);
            if id == 0 {
                // Nobody is missing.
                self.states.iter().for_each(|s| s.set(State::Ready));
                if let Some((session, state)) = self.checks() {
                    session.barrier_of_block(state);
                }
            } else {
                let here = |t: &usize| *t == thread || self.states[*t].get() == waiting;
                let counted = |t: &usize| here(t) && self.whole_warp(*t, id as u8);
                let arrived: Vec<usize> = (0..self.states.len()).filter(counted).collect();
                match self.checks() {
                    Some((session, state)) if arrived.len() == self.states.len() => session.barrier_of_block(state),
                    Some((session, state)) => session.barrier_of_some(state, &arrived),
                    None => {}
                }
                arrived.iter().for_each(|&t| self.states[t].set(State::Ready));
            }
            // The last one waits for its turn like the others, so that all start the next phase in order.
            State::Ready
        } else {
            self.barriers[id].set(barrier);
            self.locations[thread].set(Some(location));
            State::AtBarrier(id as u8)
        }
    }

    /// Whether all threads of the warp of `thread` wait at barrier `id`, or are the running one.
    fn whole_warp(&self, thread: usize, id: u8) -> bool {
        let here = |t: usize| t == self.current.get() || self.states[t].get() == State::AtBarrier(id);
        self.warp_of(thread).all(here)
    }

    /// The threads of the warp of `thread`.
    fn warp_of(&self, thread: usize) -> Range<usize> {
        let first = thread / 32 * 32;
        first..self.states.len().min(first + 32)
    }

    /// The running thread keeps so many registers, and gives the others back to the block.
    pub(super) fn release_registers(&self, keeps: u32) {
        if self.registers.release(self.current.get(), keeps) {
            let waiting = self.states.iter().filter(|state| state.get() == State::ForRegisters);
            waiting.for_each(|state| state.set(State::Ready));
        }
    }

    /// The running thread waits until the block has so many registers for it.
    #[track_caller]
    pub(super) fn claim_registers(&self, wants: u32) {
        let (thread, location) = (self.current.get(), Location::caller());
        while !self.registers.claim(thread, wants) {
            self.locations[thread].set(Some(location));
            self.suspend(thread, State::ForRegisters);
        }
    }

    /// The next panic is about a mistake of that kind.
    #[cold]
    pub(super) fn mistake(&self, kind: Kind) {
        self.kind.set(kind);
    }

    /// The running thread arrives at a barrier in shared memory, and announces bytes. Returns whether that ended the
    /// phase.
    #[track_caller]
    pub(super) fn arrive_in_phase(&self, address: u32, bytes: u32) -> bool {
        let ends = self.mbarriers.arrive(address, bytes);
        self.watch.moved_on();
        ends
    }

    /// The running thread has done what threads of another block may wait for.
    pub(super) fn moved_on(&self) {
        self.watch.moved_on();
    }

    /// Bytes have been copied that a barrier in shared memory counts. Returns whether that ended the phase.
    #[track_caller]
    pub(super) fn copied_in_phase(&self, address: u32, bytes: u32) -> bool {
        let ends = self.mbarriers.copied(address, bytes);
        self.watch.moved_on();
        ends
    }

    /// Lets the other threads run once, as [`Block::spin`], while the running thread waits at a barrier in shared
    /// memory for the end of the phase of that parity.
    #[track_caller]
    pub(super) fn wait_for_phase(&self, address: u32, parity: u32) {
        self.wait_in_loop(Some((address, parity)));
    }

    /// The running thread waits at the barrier of the cluster, until [`Block::passes_cluster`]; the last of its threads
    /// only for its turn.
    pub(super) fn wait_for_cluster(&self, location: &'static Location<'static>, last: bool) {
        let thread = self.current.get();
        self.locations[thread].set(Some(location));
        self.suspend(thread, if last { State::Ready } else { State::AtCluster });
    }

    /// Becomes a block of a cluster.
    pub(super) fn enter(&self, rank: u32, cluster: Rc<Cluster>) {
        self.rank.set(rank);
        self.cluster.replace(Some(cluster));
    }

    /// The cluster that the block is part of.
    #[track_caller]
    pub(super) fn cluster(&self) -> Rc<Cluster> {
        let cluster = self.cluster.borrow().clone();
        cluster.expect("the kernel has no clusters: declare it with #[kernel(sm_90, cluster = 2)]")
    }

    /// The block's number in its cluster, and the blocks there.
    pub(super) fn place_in_cluster(&self) -> (u32, u32) {
        (self.rank.get(), self.cluster.borrow().as_ref().map_or(1, |cluster| cluster.len()))
    }

    /// Whether all threads of the block have ended.
    pub(super) fn has_ended(&self) -> bool {
        self.states.iter().all(|state| state.get() == State::Ended)
    }

    /// All threads of the block pass the barrier of the cluster.
    pub(super) fn passes_cluster(&self, location: &'static Location<'static>) {
        self.states.iter().for_each(|state| state.set(State::Ready));
        observe::tell(|| Event::Barrier { block: observe::number(self), id: 0 });
        if let Some(stats) = &self.stats {
            stats.barrier(location);
            (0..self.warps.len()).for_each(|warp| stats.meet(warp));
        }
    }

    /// Makes `state` the block's part of the running check.
    pub(super) fn check(&mut self, state: *mut BlockState) {
        self.checked.set(state);
    }

    /// The running check, and the block's part of it.
    #[inline]
    pub(super) fn checks(&self) -> Option<(&'static mut Session, &'static mut BlockState)> {
        // SAFETY: check/run.rs owns the state for longer than the block runs; everything happens on one thread of the
        // host, and no function that is given the reference suspends a thread of a block while it holds it.
        let state = unsafe { self.checked.get().as_mut() }?;
        Some((check::active()?, state))
    }

    /// The block's part of the running check, for a thread of another block of its cluster.
    pub(super) fn checked(&self) -> Option<&'static mut BlockState> {
        // SAFETY: as for `checks`; the caller has no other reference to it.
        unsafe { self.checked.get().as_mut() }
    }

    /// Under a check, lets others run before an access of the running thread where the schedule says so.
    #[inline(always)]
    pub(super) fn interrupt(&self) {
        // Not a thread that spins: it would seem to work.
        if !self.spins.get() && self.checks().is_some_and(|(session, _)| session.interrupts()) {
            self.suspend(self.current.get(), State::Ready);
        }
    }

    /// Counts an access of the running thread, or an arrival, if that is asked for.
    #[inline(always)]
    #[track_caller]
    pub(super) fn count(&self, instruction: Instruction, bytes: u8, address: u64) {
        let Some(stats) = &self.stats else { return };
        let (thread, what, location) = (self.current.get(), What { instruction, bytes }, Location::caller());
        if !stats.note(thread, what, address, location) {
            self.let_warp_catch_up(stats, thread);
            let noted = stats.note(thread, what, address, location);
            debug_assert!(noted, "a lane has room when its warp has caught up");
        }
    }

    /// Lets the other lanes of the warp do as much as `thread` has done, and then groups what all have done.
    #[cold]
    fn let_warp_catch_up(&self, stats: &Collector, thread: usize) {
        self.suspend(thread, State::Ready);
        if !stats.is_full(thread) {
            // Another lane has grouped the accesses.
            return;
        }
        let first = thread / 32 * 32;
        let on_its_way = |t: &usize| *t == thread || matches!(self.states[*t].get(), State::Ready | State::Spinning);
        let warp = first..self.states.len().min(first + 32);
        stats.catch_up(thread, warp.filter(on_its_way).fold(0, |mask, t| mask | 1 << (t - first)));
    }

    /// Counts a bulk copy, if that is asked for: of so many bytes from each address of global memory on.
    #[track_caller]
    pub(super) fn count_copies(&self, instruction: Instruction, parts: impl IntoIterator<Item = (u64, u32)>) {
        if let Some(stats) = &self.stats {
            stats.copy(instruction, parts, Location::caller());
        }
    }

    /// Counts a barrier that is complete, and groups what the lanes did before it.
    fn count_barrier(&self, id: u8, location: &'static Location<'static>) {
        let Some(stats) = &self.stats else { return };
        stats.barrier(location);
        let here = |t: &usize| *t == self.current.get() || self.states[*t].get() == State::AtBarrier(id);
        let warps = (0..self.states.len()).step_by(32);
        warps
            .filter(|&first| (first..self.states.len().min(first + 32)).any(|t| here(&t)))
            .for_each(|t| stats.meet(t / 32));
    }

    /// Groups what the lanes of the running thread's warp did before an operation of the lanes of `mask`, if no other
    /// lanes are on their way.
    pub(super) fn count_meeting(&self, mask: u32) {
        let Some(stats) = &self.stats else { return };
        let first = self.current.get() / 32 * 32;
        let others = (first..self.states.len().min(first + 32)).filter(|t| mask >> (t - first) & 1 == 0);
        if others.into_iter().all(|t| self.states[t].get() == State::Ended) {
            stats.meet(first / 32);
        }
    }

    /// What was counted, after the last block.
    pub(super) fn take_stats(&mut self) -> Option<Collector> {
        self.stats.take()
    }

    /// Lets the other threads run once.
    #[track_caller]
    pub(super) fn spin(&self) {
        self.wait_in_loop(None);
    }

    #[track_caller]
    fn wait_in_loop(&self, phase: Option<(u32, u32)>) {
        let thread = self.current.get();
        self.awaits[thread].set(phase);
        self.locations[thread].set(Some(Location::caller()));
        self.suspend(thread, State::Spinning);
    }

    /// Called before an access that is examined: a thread that spins, or may spin, lets the others run.
    #[inline(always)]
    #[track_caller]
    pub(super) fn before_access(&self) {
        if self.watch.ends_window() {
            self.end_window();
        }
    }

    #[cold]
    #[track_caller]
    fn end_window(&self) {
        let thread = self.current.get();
        if self.watch.spins(thread) {
            self.spin();
        } else if self.watch.goes_in_circles() {
            self.suspend(thread, State::Ready);
        }
    }

    /// Called after such an access.
    #[inline(always)]
    pub(super) fn after_access(&self, space: Space, address: u64, bytes: u32, value: u64) {
        self.watch.note(self.current.get(), space, address, bytes, value);
    }

    /// Waits until [`Block::release_warp`] names the caller's lane.
    pub(super) fn wait_for_warp(&self, location: &'static Location<'static>) {
        let thread = self.current.get();
        self.locations[thread].set(Some(location));
        self.suspend(thread, State::InWarp);
    }

    /// Lets the lanes of `mask` in the warp of `thread` go on.
    pub(super) fn release_warp(&self, thread: usize, mask: u32) {
        let first = thread / 32 * 32;
        for lane in (0..32).filter(|lane| mask >> lane & 1 == 1 && first + lane != thread) {
            self.states[first + lane].set(State::Ready);
        }
    }

    /// Ends the launch with an error of the running thread, which never goes on: what it owns is dropped when no thread
    /// of the block runs any more.
    #[cold]
    fn stop(&self, why: &'static str) {
        self.stopped.set(why);
        self.suspend(self.current.get(), State::Stopped);
    }

    #[inline(always)]
    fn suspend(&self, thread: usize, state: State) {
        self.states[thread].set(state);
        // SAFETY: set when the thread's coroutine began; it is this coroutine that runs.
        unsafe { (*self.yielders[thread].get()).suspend(()) }
    }

    /// If the access at `address` that the system refused, with that stack pointer, is an overflow of the running
    /// thread's stack, returns the means to end the thread. A signal handler calls this.
    #[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "the signal handler of Linux asks"))]
    pub(super) fn overflow(&self, address: usize, stack_pointer: usize) -> Option<CoroutineTrapHandler<()>> {
        let thread = self.current.get();
        let exit = self.exits[thread].get()?;
        let guard = self.stack_limits[thread].get()..self.stack_limits[thread].get() + GUARD;
        let overflow = guard.contains(&address) && exit.stack_ptr_in_bounds(stack_pointer);
        self.overflown.set(overflow);
        overflow.then_some(exit)
    }

    /// Runs the block `index` of the grid to its end. `stacks` are taken from and given back.
    pub(super) fn run(
        &mut self,
        kernel: &'static str,
        index: Vector,
        body: &(dyn Fn() + Sync),
        stacks: &mut Vec<Stack>,
        others: &Others,
    ) -> Result<(), LaunchError> {
        // SAFETY: `end` takes the threads back below.
        let mut threads = unsafe { self.start(index, body, stacks) };
        let result = self.guarded(kernel, |block| block.schedule(&mut threads, others));
        stacks.extend(self.end(threads));
        result
    }

    /// Makes the threads of the block `index` of the grid. Stacks are taken from `stacks`.
    ///
    /// # Safety
    /// [`Block::end`] is given the threads before `body` or the block ceases to live or to stay in its place.
    pub(super) unsafe fn start(
        &mut self,
        index: Vector,
        body: &(dyn Fn() + Sync),
        stacks: &mut Vec<Stack>,
    ) -> Vec<Coroutine<(), (), (), Stack>> {
        self.begin(index);
        if let Some(stats) = &self.stats {
            stats.begin(observe::number(self));
        }
        let this: &Self = self;
        let block: *const Block = this;
        // SAFETY: only the lifetime changes; the body outlives the coroutines, as the caller promises.
        let body: &'static (dyn Fn() + Sync) = unsafe { std::mem::transmute(body) };
        (0..self.states.len())
            .map(|thread| {
                let stack = stacks.pop().expect("the launch took a stack for every thread");
                this.stack_limits[thread].set(stack.limit().get());
                let coroutine = Coroutine::<(), (), (), _>::with_stack(stack, move |yielder, ()| {
                    // SAFETY: the block outlives its coroutines, as the caller promises.
                    let yielders = unsafe { &(&*block).yielders };
                    yielders[thread].set(yielder);
                    body();
                });
                this.exits[thread].set(Some(coroutine.trap_handler()));
                coroutine
            })
            .collect()
    }

    /// Ends the threads that [`Block::start`] made, wherever they are, and gives their stacks back.
    pub(super) fn end(&mut self, threads: Vec<Coroutine<(), (), (), Stack>>) -> Vec<Stack> {
        if let Some(stats) = &self.stats {
            (0..self.warps.len()).for_each(|warp| stats.meet(warp));
        }
        let stack = |mut thread: Coroutine<(), (), (), Stack>| {
            // A kernel for a GPU owns nothing that would have to be dropped. But any code of the host can stand in one,
            // a scope with threads say, which uses the stack until it is unwound. What panics then is over as well.
            let _ = catch_unwind(AssertUnwindSafe(|| thread.force_unwind()));
            thread.into_stack()
        };
        threads.into_iter().map(stack).collect()
    }

    /// Runs threads of the block by `work`, and makes a fault of what goes wrong.
    fn guarded<R>(
        &self,
        kernel: &'static str,
        work: impl FnOnce(&Self) -> Result<R, Stopped>,
    ) -> Result<R, LaunchError> {
        BLOCK.set(self);
        let outcome = catch_unwind(AssertUnwindSafe(|| work(self)));
        BLOCK.set(std::ptr::null()); // before a payload is dropped, which is the user's code
        watchdog::look(true);
        match outcome {
            Ok(Ok(result)) => Ok(result),
            Ok(Err(Stopped::Thread(thread, kind, what))) => Err(self.fault(kernel, thread, None, kind, what)),
            Ok(Err(Stopped::Waits(waits, waiting))) => Err(waits::error(kernel, waits, waiting)),
            Err(payload) => {
                let panic = self.panic.borrow_mut().take();
                let (site, message) = panic.map_or((None, text(&*payload)), |p| (p.site, p.message));
                Err(self.fault(kernel, self.current.get(), site, self.kind.get(), message))
            }
        }
    }

    /// Under a check, or in a cluster: resumes the threads of the block once each, in that order. Those of the starved
    /// warp run only if no other works.
    pub(super) fn checked_round(
        &self,
        kernel: &'static str,
        threads: &mut [Coroutine<(), (), (), Stack>],
        order: &[u32],
        starved: Option<u32>,
    ) -> Result<Round, LaunchError> {
        self.guarded(kernel, |block| {
            let (mut worked, mut spun) = (false, 0);
            block.watch.round();
            for &i in order {
                if starved == Some(i / 32) && worked {
                    continue;
                }
                match block.states[i as usize].get() {
                    State::Ready => worked = true,
                    State::Spinning => spun += 1,
                    State::AtCluster => {
                        // Another block may end the wait.
                        spun += 1;
                        continue;
                    }
                    _ => continue,
                }
                block.spins.set(block.states[i as usize].get() == State::Spinning);
                block.resume(i as usize, &mut threads[i as usize])?;
            }
            let live = block.states.iter().filter(|s| s.get() != State::Ended).count();
            if worked {
                block.watch.worked();
            } else if live > 0 && spun == 0 {
                return Err(block.deadlock());
            }
            Ok(Round { live, worked, spun, news: block.watch.news() })
        })
    }

    /// From now on every access of a thread that spins is examined.
    pub(super) fn suspect(&self) {
        self.watch.suspect();
    }

    /// Who waits for what in this block. Words are named by the launch's views, and under a check by the block's
    /// arrays.
    pub(super) fn waits(&self, state: Option<&BlockState>) -> Waits {
        let looked_at = self.watch.looked_at();
        let mut waits = Waits::default();
        for thread in 0..self.states.len() {
            let (awaited, what) = match self.states[thread].get() {
                State::Ready | State::Ended | State::Stopped => continue,
                State::AtBarrier(0) => (Awaited::Barrier(0), "waits at the barrier of its block".into()),
                State::AtBarrier(id) => (Awaited::Barrier(id), format!("waits at the named barrier {id}")),
                State::AtCluster => (Awaited::Cluster, self.cluster().lacks()),
                State::ForRegisters => (Awaited::Registers, self.registers.lacks()),
                State::InWarp => {
                    let missing = self.warp(thread).missing(thread as u32 % 32);
                    (Awaited::Warp, format!("waits in a warp operation for the lanes {missing:#010x}"))
                }
                State::Spinning => match self.awaits[thread].get() {
                    Some((address, parity)) => {
                        (Awaited::Phase { address, parity }, self.mbarriers.lacks(address, parity))
                    }
                    None => waits::looks(looked_at.get(&thread).map_or(&[], Vec::as_slice), &self.views, state),
                },
            };
            let (site, first) = (self.locations[thread].get(), (observe::number(self).into(), thread));
            let (block, index) = (Dim3(self.block_idx), Dim3(self.indices[thread]));
            waits.add(Wait { awaited, what, site, first, block, thread: index, threads: 1 });
        }
        waits
    }

    /// Tells an observer that the block has ended.
    pub(super) fn tell_end(&self) {
        observe::tell(|| Event::BlockEnd { block: observe::number(self) });
    }

    /// Resumes a thread until it waits, or ends.
    #[inline(always)]
    fn resume(&self, i: usize, thread: &mut Coroutine<(), (), (), Stack>) -> Result<bool, Stopped> {
        self.current.set(i);
        self.states[i].set(State::Ready);
        self.watch.turn(i);
        if let CoroutineResult::Return(()) = thread.resume(()) {
            if self.overflown.get() {
                self.locations[i].set(None);
                let size = STACK >> 10;
                let what = format!("overflows its stack: arrays and calls take more than {size} KiB");
                return Err(Stopped::Thread(i, Kind::Fault, what));
            }
            self.states[i].set(State::Ended);
            return Ok(true);
        }
        if self.states[i].get() == State::Stopped {
            self.locations[i].set(None);
            return Err(Stopped::Thread(i, Kind::Fault, self.stopped.get().into()));
        }
        Ok(false)
    }

    /// Forgets the block before.
    fn begin(&mut self, index: Vector) {
        self.block_idx = index;
        self.states.iter().for_each(|s| s.set(State::Ready));
        self.barriers.iter().for_each(|b| b.set(Barrier::default()));
        self.mbarriers.reset();
        self.registers.reset();
        self.copies.reset();
        self.watch.reset();
        self.kind.set(Kind::Fault);
        self.awaits.iter().for_each(|a| a.set(None));
        self.cluster.replace(None);
        self.rank.set(0);
        self.warps.iter().for_each(Warp::reset);
        let bytes = self.shared_bytes.get() as usize;
        // Arrays keep their addresses from block to block; what no array has been given yet is still poisoned.
        self.arena.get_mut()[..bytes.div_ceil(16)].fill(POISON);
    }

    /// Resumes threads, round by round, until all have ended.
    fn schedule(&self, threads: &mut [Coroutine<(), (), (), Stack>], others: &Others) -> Result<(), Stopped> {
        let (mut live, mut idle) = (threads.len(), Idle::default());
        while live > 0 {
            let (mut worked, mut spun) = (false, 0);
            self.watch.round();
            for (i, thread) in threads.iter_mut().enumerate() {
                match self.states[i].get() {
                    State::Ready => worked = true,
                    State::Spinning => spun += 1,
                    _ => continue,
                }
                live -= self.resume(i, thread)? as usize;
            }
            if worked {
                idle.worked(&self.watch, others.quiet);
            } else if live > 0 && spun == 0 {
                return Err(self.deadlock());
            } else if live > 0 {
                if let Some(waits) = idle.spun(spun, &self.watch, others.quiet, || self.waits(None)) {
                    return Err(Stopped::Waits(waits, (others.waiting)()));
                }
                if others.cancelled.load(Relaxed) {
                    return Ok(());
                }
                if !others.none {
                    // All threads here wait, probably for a block on another core.
                    std::thread::yield_now();
                }
            }
        }
        Ok(())
    }

    /// No thread can continue: reports which threads wait for which.
    fn deadlock(&self) -> Stopped {
        let first = |is: fn(State) -> bool| self.states.iter().position(|s| is(s.get()));
        let waiting = first(|s| s == State::ForRegisters).or_else(|| first(|s| s != State::Ended)).unwrap_or(0);
        // The first of the others, and whether it has ended.
        let absent = |mut others: Box<dyn Iterator<Item = usize> + '_>| match others.next() {
            Some(t) if self.states[t].get() == State::Ended => {
                (State::Ended, format!("thread {} has ended", Dim3(self.indices[t])))
            }
            Some(t) => {
                let place = self.locations[t].get().map_or(String::new(), |l| format!(" at {}:{}", l.file(), l.line()));
                (self.states[t].get(), format!("thread {} waits{place}", Dim3(self.indices[t])))
            }
            None => (State::Ended, "no other thread is left".into()),
        };
        match self.states[waiting].get() {
            State::InWarp => {
                let missing = self.warp(waiting).missing(waiting as u32 % 32);
                let first = waiting / 32 * 32;
                let others = (0..32).filter(move |l| missing >> l & 1 == 1).map(move |l| first + l);
                let others = others.filter(|&t| t < self.states.len());
                let (_, who) = absent(Box::new(others));
                let what = format!("waits in a warp operation for the lanes {missing:#010x}, which never come: {who}");
                Stopped::Thread(waiting, Kind::WarpMask, what)
            }
            State::ForRegisters => Stopped::Thread(waiting, Kind::Deadlock, self.registers.lacks()),
            state => {
                let others = (0..self.states.len()).filter(move |&t| self.states[t].get() != state);
                let (other, who) = absent(Box::new(others));
                let kind = match other {
                    State::Ended => Kind::MissedBarrier,
                    State::AtBarrier(_) => Kind::DivergentBarrier,
                    _ => Kind::WarpMask,
                };
                Stopped::Thread(waiting, kind, format!("waits at a barrier that not all threads reach: {who}"))
            }
        }
    }

    fn fault(&self, kernel: &'static str, thread: usize, site: Option<Site>, kind: Kind, what: String) -> LaunchError {
        let site = site.or_else(|| self.locations[thread].get().map(Site::from));
        let (thread, warp) = (Dim3(self.indices[thread]), thread as u32 / 32);
        let (block, waits) = (Dim3(self.block_idx), vec![]);
        LaunchError::Fault(Box::new(Fault { kernel, block, thread, warp, site, kind, what, waits }))
    }
}

/// The reason to stop a thread that drops a [`Live`](crate::live::Live).
const FREES: &str = "frees memory of views under a running kernel: its owner is dropped by the host, behind the launch";

/// The message of a panic.
fn text(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().map(|s| s.to_string());
    text.or_else(|| payload.downcast_ref::<String>().cloned()).unwrap_or_else(|| "the kernel panicked".into())
}

/// Makes panics inside kernels silent: they are noted, with their place, and reported as the launch's error.
fn install_hook() {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        live::guard(|| {
            // SAFETY: as in `here`: non-null while this thread of the host runs a thread of the block.
            if let Some(block) = unsafe { BLOCK.get().as_ref() } {
                block.stop(FREES);
            }
        });
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            let block = BLOCK.get();
            if block.is_null() {
                return before(info);
            }
            let site = info.location().map(Site::from);
            let message = text(info.payload());
            // SAFETY: non-null only while this thread runs the block.
            unsafe { *(*block).panic.borrow_mut() = Some(Panic { site, message }) };
        }));
    });
}
