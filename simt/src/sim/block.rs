//! One block: its threads, their barriers, its shared memory; and what the running thread asks of it.

use super::async_copy::Copies;
use super::barrier::{self, Barriers};
use super::check::{BlockState, Session};
use super::finding::{Kind, Site};
use super::mbarrier;
use super::observe::Space;
use super::overflow;
use super::registers::Registers;
use super::shared::SharedMemory;
use super::spin::Watch;
use super::stats::{Instruction, What};
use super::threads::{State, Threads, Vector};
use super::warp::Warp;
use super::watchers::Watchers;
use crate::live;
use std::any::Any;
use std::cell::{Cell, RefCell};
use std::panic::Location;
use std::rc::Rc;
use std::sync::Once;

thread_local! {
    /// The block that this thread of the host is running; null outside of kernels.
    static BLOCK: Cell<*const Block> = const { Cell::new(std::ptr::null()) };
}

/// The refusal of a call on the host.
const OUTSIDE: &str = "this was called outside of a kernel: a view's memory is the device's, and simt's functions are \
    for kernels; launch a kernel, or copy the buffer to the host and read the copy";

/// The block that the calling thread belongs to.
#[inline(always)]
#[track_caller]
pub(super) fn here() -> &'static Block {
    let block = BLOCK.get();
    assert!(!block.is_null(), "{OUTSIDE}");
    // SAFETY: non-null only while `Block::running` runs on this thread, which owns the block; the reference does not
    // outlive the call that asked for it.
    unsafe { &*block }
}

/// The same, outside of a kernel none.
fn running() -> Option<&'static Block> {
    // SAFETY: as in `here`.
    unsafe { BLOCK.get().as_ref() }
}

/// Whether the calling code is a kernel's.
pub(super) fn in_kernel() -> bool {
    running().is_some()
}

/// The panic that follows is about a mistake of that kind; outside of a kernel it is about none.
pub(super) fn mistake(kind: Kind) {
    if let Some(block) = running() {
        block.mistake(kind);
    }
}

/// Address and bytes of each view among the parameters of the running launch.
pub(super) fn views() -> &'static [(u64, u64)] {
    running().map_or(&[], |block| &block.views)
}

/// A panic, recorded by the hook while the stack still exists.
struct Panic {
    site: Option<Site>,
    message: String,
}

/// Why a block's thread panics.
struct Failure {
    panic: RefCell<Option<Panic>>,
    /// The kind of the mistake that the next panic is about.
    kind: Cell<Kind>,
}

/// Extents of the grid and of its blocks, and the index of the block.
#[derive(Clone, Copy)]
pub(super) struct Shape {
    pub(super) grid: Vector,
    pub(super) block: Vector,
    pub(super) index: Vector,
}

/// The blocks of a running cluster, in the order of their rank.
pub(super) struct Cluster {
    pub(super) blocks: Vec<*const Block>,
    /// Threads that wait at the barrier.
    pub(super) arrived: Cell<u32>,
}

impl Cluster {
    pub(super) fn blocks(&self) -> impl Iterator<Item = &Block> {
        // SAFETY: as the caller of `cluster::join` promises; this is called by a thread of one of the blocks.
        self.blocks.iter().map(|&block| unsafe { &*block })
    }

    /// The threads of all blocks.
    pub(super) fn threads(&self) -> u32 {
        self.blocks().map(Block::threads).sum()
    }
}

/// A block while it runs. Everything is interior-mutable: the block's threads all hold it, one at a time.
pub(super) struct Block {
    pub(super) shape: Shape,
    /// Address and bytes of each view among the launch's parameters.
    pub(super) views: Vec<(u64, u64)>,
    pub(super) threads: Threads,
    warps: Vec<Warp>,
    barriers: Barriers,
    pub(super) mbarriers: mbarrier::Barriers,
    pub(super) registers: Registers,
    pub(super) copies: Copies,
    pub(super) memory: SharedMemory,
    pub(super) watch: Watch,
    pub(super) watchers: Watchers,
    failure: Failure,
    /// The block's number in its cluster, and that.
    cluster: RefCell<Option<(u32, Rc<Cluster>)>>,
}

impl Block {
    /// A block of this shape, to be used for one block of the grid after the other: with so much dynamic shared memory,
    /// of a kernel that is compiled for this many threads.
    pub(super) fn new(
        [grid, block]: [Vector; 2],
        (dynamic_bytes, max_threads): (u32, u32),
        views: &[(u64, u64)],
        counted: bool,
    ) -> Self {
        install_hook();
        overflow::install(|address, stack_pointer| running()?.threads.overflow(address, stack_pointer));
        let threads = Threads::new(block);
        let (n, watchers) = (threads.len(), Watchers::new(threads.len(), counted));
        Self {
            shape: Shape { grid, block, index: [0; 3] },
            views: views.to_vec(),
            threads,
            warps: (0..n.div_ceil(32)).map(|_| Warp::default()).collect(),
            barriers: Barriers::default(),
            mbarriers: mbarrier::Barriers::default(),
            registers: Registers::new(n, max_threads),
            copies: Copies::new(n),
            memory: SharedMemory::new(dynamic_bytes),
            watch: Watch::new(n, watchers.any()),
            watchers,
            failure: Failure { panic: RefCell::default(), kind: Cell::new(Kind::Fault) },
            cluster: RefCell::default(),
        }
    }

    /// Becomes the block of that index: forgets the block before.
    pub(super) fn begin(&mut self, index: Vector) {
        self.shape.index = index;
        let ([x, y, z], [dx, dy, _]) = (index, self.shape.grid);
        self.watchers.begin(x.wrapping_add(dx.wrapping_mul(y.wrapping_add(dy.wrapping_mul(z)))));
        self.threads.reset();
        self.warps.iter().for_each(Warp::reset);
        self.barriers.reset();
        self.mbarriers.reset();
        self.registers.reset();
        self.copies.reset();
        self.memory.reset();
        self.watch.reset();
        self.failure.kind.set(Kind::Fault);
        self.cluster.replace(None);
    }

    /// Calls `work` as the block that this thread of the host runs.
    ///
    /// # Errors
    /// The thread that panics, with the kind of its mistake, the place, and the message.
    pub(super) fn running<R>(&self, work: impl FnOnce(&Self) -> R) -> Result<R, (Kind, Option<Site>, String)> {
        BLOCK.set(self);
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| work(self)));
        BLOCK.set(std::ptr::null()); // before a payload is dropped, which is the user's code
        outcome.map_err(|payload| {
            let panic = self.failure.panic.borrow_mut().take();
            let (site, message) = panic.map_or((None, text(&*payload)), |p| (p.site, p.message));
            (self.failure.kind.get(), site, message)
        })
    }

    /// Threads of the block.
    pub(super) fn threads(&self) -> u32 {
        self.threads.len() as u32
    }

    /// The number of the running thread in its block.
    #[inline(always)]
    pub(super) fn current(&self) -> usize {
        self.threads.current()
    }

    /// The running thread's index.
    #[inline(always)]
    pub(super) fn thread_idx(&self) -> Vector {
        self.threads.index(self.current())
    }

    /// The warp of a thread.
    pub(super) fn warp(&self, thread: usize) -> &Warp {
        &self.warps[thread / 32]
    }

    /// The next panic is about a mistake of that kind.
    #[cold]
    pub(super) fn mistake(&self, kind: Kind) {
        self.failure.kind.set(kind);
    }

    /// A pointer to `bytes` bytes of shared memory; ends the kernel where they are not all inside.
    #[inline(always)]
    #[track_caller]
    pub(super) fn shared(&self, address: u32, bytes: u32) -> *mut u8 {
        if !self.memory.holds(address, bytes) {
            self.mistake(Kind::OutOfBounds);
            panic!("shared address {address} is outside of the block's {} bytes", self.memory.bytes());
        }
        self.memory.pointer(address)
    }

    /// The address of a static array, assigned at the first request of a thread.
    #[track_caller]
    pub(super) fn static_shared(&self, name: &'static &'static str, element: u32, len: u32) -> u32 {
        // The blocks of a cluster have the same arrays in the same places, whichever asks for one first.
        match &*self.cluster.borrow() {
            Some((_, cluster)) => {
                let addresses = cluster.blocks().map(|block| block.place_shared(name, element, len));
                addresses.last().expect("a cluster has blocks")
            }
            None => self.place_shared(name, element, len),
        }
    }

    #[track_caller]
    fn place_shared(&self, name: &'static &'static str, element: u32, len: u32) -> u32 {
        let (address, assigned) = self.memory.array(name, element * len);
        if assigned && let Some((_, state)) = self.watchers.checks() {
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
        let (quick, place) = (id == 0 && !self.watchers.looks_at_arrivals(), Location::caller());
        let state = if quick && self.barriers.arrives_quickly(&self.threads, vote, place) {
            State::AtBarrier(0)
        } else {
            self.arrive(id, expected, vote)
        };
        self.threads.suspend(state);
        self.barriers.result(id)
    }

    /// Counts a thread at a barrier, and lets the others go on if it is the last. Returns the state in which it waits.
    #[inline(never)]
    #[track_caller]
    fn arrive(&self, id: usize, expected: Option<u32>, vote: bool) -> State {
        let place = Location::caller();
        // Others may run meanwhile and arrive.
        self.count(Instruction::Barrier, 0, 0);
        let complete = match self.barriers.arrive(&self.threads, (id, expected, vote), place) {
            Ok(complete) => complete,
            Err(what) => {
                self.mistake(Kind::DivergentBarrier);
                panic!("{what}");
            }
        };
        match (complete, id) {
            (false, _) => return State::AtBarrier(id as u8),
            (true, 0) => {
                self.watchers.barrier_of_block(place);
                self.threads.release_all();
            }
            (true, _) => {
                let [waiting, arrived] = barrier::at_named(&self.threads, id);
                self.watchers.named_barrier(id as u32, place, &waiting, &arrived);
                arrived.into_iter().for_each(|t| self.threads.release(t));
            }
        }
        // The last one waits for its turn like the others, so that all start the next phase in order.
        State::Ready
    }

    /// The running thread keeps this many registers, and gives the others back to the block.
    pub(super) fn release_registers(&self, keeps: u32) {
        if self.registers.release(self.current(), keeps) {
            let waits = |t: &usize| self.threads.state(*t) == State::ForRegisters;
            (0..self.threads.len()).filter(waits).for_each(|t| self.threads.release(t));
        }
    }

    /// The running thread waits until the block has this many registers for it.
    #[track_caller]
    pub(super) fn claim_registers(&self, wants: u32) {
        let place = Location::caller();
        while !self.registers.claim(self.current(), wants) {
            self.threads.wait_at(place);
            self.threads.suspend(State::ForRegisters);
        }
    }

    /// The running thread arrives at a barrier in shared memory, and announces bytes. Returns whether that ended the
    /// phase.
    #[track_caller]
    pub(super) fn arrive_in_phase(&self, address: u32, bytes: u32) -> bool {
        let ends = self.mbarriers.arrive(address, bytes);
        self.watch.moved_on();
        ends
    }

    /// Bytes have been copied that a barrier in shared memory counts. Returns whether that ended the phase.
    #[track_caller]
    pub(super) fn copied_in_phase(&self, address: u32, bytes: u32) -> bool {
        let ends = self.mbarriers.copied(address, bytes);
        self.watch.moved_on();
        ends
    }

    /// Becomes a block of a cluster.
    pub(super) fn enter(&self, rank: u32, cluster: Rc<Cluster>) {
        self.cluster.replace(Some((rank, cluster)));
    }

    /// The cluster that the block is part of.
    #[track_caller]
    pub(super) fn cluster(&self) -> Rc<Cluster> {
        let cluster = self.cluster.borrow().as_ref().map(|(_, cluster)| cluster.clone());
        cluster.expect("the kernel has no clusters: declare it with #[kernel(sm_90, cluster = 2)]")
    }

    /// The block's number in its cluster, and the blocks there.
    pub(super) fn place_in_cluster(&self) -> (u32, u32) {
        self.cluster.borrow().as_ref().map_or((0, 1), |(rank, cluster)| (*rank, cluster.blocks.len() as u32))
    }

    /// Whether all threads of the block have ended.
    pub(super) fn has_ended(&self) -> bool {
        self.threads.live() == 0
    }

    /// Lets the running check judge what the running thread does, if there is one.
    #[inline]
    pub(super) fn judge<R>(&self, judge: impl FnOnce(&mut Session, &mut BlockState, usize) -> R) -> Option<R> {
        let (session, state) = self.watchers.checks()?;
        Some(judge(session, state, self.current()))
    }

    /// Under a check, lets others run before an access of the running thread where the schedule says so.
    #[inline(always)]
    pub(super) fn interrupt(&self) {
        // Not a thread that spins: it would seem to work.
        if !self.threads.spins() && self.judge(|session, _, _| session.interrupts()) == Some(true) {
            self.threads.suspend(State::Ready);
        }
    }

    /// Counts an access of the running thread, or an arrival, if that is asked for.
    #[inline(always)]
    #[track_caller]
    pub(super) fn count(&self, instruction: Instruction, bytes: u8, address: u64) {
        let (thread, what, place) = (self.current(), What { instruction, bytes }, Location::caller());
        if !self.watchers.count(thread, what, address, place) {
            self.let_warp_catch_up();
            let noted = self.watchers.count(thread, what, address, place);
            debug_assert!(noted, "a lane has room when its warp has caught up");
        }
    }

    /// Lets the other lanes of the warp do as much as the running thread has done, and then groups what all have done.
    #[cold]
    fn let_warp_catch_up(&self) {
        let thread = self.current();
        self.threads.suspend(State::Ready);
        if !self.watchers.is_full(thread) {
            // Another lane has grouped the accesses.
            return;
        }
        let warp = self.threads.warp_of(thread);
        let first = warp.start;
        let goes_on = |t: &usize| matches!(self.threads.state(*t), State::Ready | State::Spinning);
        let on_its_way = warp.filter(|t| *t == thread || goes_on(t));
        self.watchers.catch_up(thread, on_its_way.fold(0, |mask, t| mask | 1 << (t - first)));
    }

    /// Counts a bulk copy, if that is asked for: of this many bytes from each address of global memory on.
    #[track_caller]
    pub(super) fn count_copies(&self, instruction: Instruction, parts: impl IntoIterator<Item = (u64, u32)>) {
        self.watchers.count_copies(instruction, parts, Location::caller());
    }

    /// Groups what the lanes of the running thread's warp did before an operation of the lanes of `mask`, if no other
    /// lanes are on their way.
    pub(super) fn count_meeting(&self, mask: u32) {
        let warp = self.threads.warp_of(self.current());
        let first = warp.start;
        let mut others = warp.filter(|t| mask >> (t - first) & 1 == 0);
        if self.watchers.counts() && others.all(|t| self.threads.state(t) == State::Ended) {
            self.watchers.meeting(first / 32);
        }
    }

    /// Lets the other threads run once.
    #[track_caller]
    pub(super) fn spin(&self) {
        self.threads.spin(None, Location::caller());
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
        if self.watch.spins(self.current()) {
            self.spin();
        } else if self.watch.goes_in_circles() {
            self.threads.suspend(State::Ready);
        }
    }

    /// Called after such an access.
    #[inline(always)]
    pub(super) fn after_access(&self, space: Space, address: u64, bytes: u32, value: u64) {
        self.watch.note(self.current(), space, address, bytes, value);
    }

    /// What the running thread got at its warp's last meeting.
    pub(super) fn result(&self) -> u32 {
        let thread = self.current();
        self.warp(thread).results[thread % 32].get()
    }

    /// Lets the lanes of `mask` in the running thread's warp go on.
    pub(super) fn release_warp(&self, mask: u32) {
        let (thread, first) = (self.current(), self.threads.warp_of(self.current()).start);
        for lane in (0..32).filter(|lane| mask >> lane & 1 == 1 && first + lane != thread) {
            self.threads.release(first + lane);
        }
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
            if let Some(block) = running() {
                block.threads.stop(FREES);
            }
        });
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            let Some(block) = running() else { return before(info) };
            let site = info.location().map(Site::from);
            *block.failure.panic.borrow_mut() = Some(Panic { site, message: text(info.payload()) });
        }));
    });
}
