//! One block: its threads as coroutines, their barriers, its shared memory.

use super::async_copy::Copies;
use super::error::{Fault, LaunchError};
use super::mbarrier::Barriers;
use super::observe::{self, Event, Space};
use super::overflow;
use super::spin::{Idle, Quiet, Watch};
use super::warp::Warp;
use super::watchdog;
use super::{BLOCK, limits};
use crate::Dim3;
use corosensei::stack::{DefaultStack, Stack};
use corosensei::trap::CoroutineTrapHandler;
use corosensei::{Coroutine, CoroutineResult, Yielder};
use std::any::Any;
use std::cell::{Cell, RefCell, UnsafeCell};
use std::panic::{AssertUnwindSafe, Location, catch_unwind};
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Indices or extents along x, y, z.
pub(super) type Vector = [u32; 3];

/// Named barriers of a block; number 0 is `sync_threads`.
const BARRIERS: usize = 16;

/// Bytes of stack per thread. Kernels need a few hundred; pages that are not touched cost nothing.
pub(super) const STACK: usize = 128 << 10;

/// Bytes below a stack that are certainly not accessible: the smallest page.
const GUARD: usize = 4 << 10;

/// The byte that fills shared memory when a block begins, unlike any data of a kernel.
const POISON: u128 = u128::from_ne_bytes([0xCD; 16]);

/// The state of a thread.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Ready,
    Spinning,
    AtBarrier(u8),
    InWarp,
    Ended,
}

/// A barrier that some threads have reached.
#[derive(Clone, Copy, Default)]
struct Barrier {
    arrived: u32,
    votes: u32,
    /// Votes of the last completed round, which the released threads read.
    result: u32,
    /// The place where the first thread of this round waits.
    location: Option<&'static Location<'static>>,
}

/// The place of a panic, recorded by the hook while the stack still exists.
struct Panic {
    location: String,
    message: String,
}

/// The state shared with the blocks that run at the same time.
pub(super) struct Others<'a> {
    /// Whether there are no such blocks, because one thread of the host runs all blocks.
    pub(super) none: bool,
    pub(super) quiet: &'a Quiet,
    /// Whether one has failed, so that the launch is over.
    pub(super) cancelled: &'a AtomicBool,
}

/// A block while it runs. Everything is interior-mutable: the block's threads all hold it, one at a time.
pub(super) struct Block {
    pub(super) block_idx: Vector,
    pub(super) block_dim: Vector,
    pub(super) grid_dim: Vector,
    pub(super) dynamic_bytes: u32,
    current: Cell<usize>,
    indices: Vec<Vector>,
    states: Vec<Cell<State>>,
    locations: Vec<Cell<Option<&'static Location<'static>>>>,
    yielders: Vec<Cell<*const Yielder<(), ()>>>,
    warps: Vec<Warp>,
    barriers: [Cell<Barrier>; BARRIERS],
    pub(super) mbarriers: Barriers,
    pub(super) copies: Copies,
    watch: Watch,
    /// Static arrays, by key, with the address that each was given.
    arrays: RefCell<Vec<(usize, u32)>>,
    shared_bytes: Cell<u32>,
    arena: UnsafeCell<Vec<u128>>,
    panic: RefCell<Option<Panic>>,
    /// The means to make each thread return, and whether the running thread was made to because its stack overflowed.
    exits: Vec<Cell<Option<CoroutineTrapHandler<()>>>>,
    overflown: Cell<bool>,
    stack_limits: Vec<Cell<usize>>,
}

impl Block {
    /// A block of this shape, to be used for one block of the grid after the other.
    pub(super) fn new(grid_dim: Vector, block_dim: Vector, dynamic_bytes: u32) -> Self {
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
            current: Cell::new(0),
            indices,
            states: vec![Cell::new(State::Ready); threads],
            locations: vec![Cell::new(None); threads],
            yielders: vec![Cell::new(std::ptr::null()); threads],
            warps: (0..threads.div_ceil(32)).map(|_| Warp::default()).collect(),
            barriers: Default::default(),
            mbarriers: Barriers::default(),
            copies: Copies::new(threads),
            watch: Watch::new(threads, observe::active()),
            arrays: RefCell::default(),
            shared_bytes: Cell::new(dynamic_bytes.next_multiple_of(16)),
            arena: UnsafeCell::new(vec![POISON; limits::MAX_SHARED as usize / 16 + 1]),
            panic: RefCell::default(),
            exits: vec![Cell::new(None); threads],
            overflown: Cell::new(false),
            stack_limits: vec![Cell::new(0); threads],
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
        assert!(
            end <= self.shared_bytes.get() as u64,
            "shared address {address} is outside of the block's {} bytes",
            self.shared_bytes.get()
        );
        // SAFETY: the arena has MAX_SHARED bytes, and shared_bytes never exceeds that.
        unsafe { (*self.arena.get()).as_mut_ptr().cast::<u8>().add(address as usize) }
    }

    /// The address of a static array, assigned at the first request of a thread.
    #[track_caller]
    pub(super) fn static_shared(&self, key: usize, bytes: u32) -> u32 {
        let mut arrays = self.arrays.borrow_mut();
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
        address
    }

    /// Waits at barrier `id` for `expected` threads (all of the block where None). Returns the number of threads with a
    /// true `vote`.
    #[track_caller]
    pub(super) fn sync(&self, id: usize, expected: Option<u32>, vote: bool) -> u32 {
        let location = Location::caller();
        let thread = self.current.get();
        let mut barrier = self.barriers[id].get();
        let first = *barrier.location.get_or_insert(location);
        assert!(
            first == location,
            "threads of one block wait at different barriers: others at {}:{}",
            first.file(),
            first.line()
        );
        barrier.arrived += 1;
        barrier.votes += vote as u32;
        if barrier.arrived == expected.unwrap_or(self.threads()) {
            self.barriers[id].set(Barrier { result: barrier.votes, ..Barrier::default() });
            observe::tell(|| Event::Barrier { block: observe::number(self), id: id as u32 });
            let waiting = State::AtBarrier(id as u8);
            self.states.iter().filter(|s| s.get() == waiting).for_each(|s| s.set(State::Ready));
            // The last one waits for its turn like the others, so that all start the next phase in order.
            self.suspend(thread, State::Ready);
        } else {
            self.barriers[id].set(barrier);
            self.locations[thread].set(Some(location));
            self.suspend(thread, State::AtBarrier(id as u8));
        }
        self.barriers[id].get().result
    }

    /// Lets the other threads run once.
    #[track_caller]
    pub(super) fn spin(&self) {
        let thread = self.current.get();
        self.locations[thread].set(Some(Location::caller()));
        self.suspend(thread, State::Spinning);
    }

    /// Called before an access that is examined: a thread that spins, or may spin, lets the others run.
    #[track_caller]
    pub(super) fn before_access(&self) {
        let thread = self.current.get();
        if self.watch.spins(thread) {
            self.spin();
        } else if self.watch.goes_in_circles() {
            self.suspend(thread, State::Ready);
        }
    }

    /// Called after such an access.
    pub(super) fn after_access(&self, space: Space, address: u64, value: u64) {
        self.watch.note(self.current.get(), space, address, value);
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

    #[inline(always)]
    fn suspend(&self, thread: usize, state: State) {
        self.states[thread].set(state);
        // SAFETY: set when the thread's coroutine began; it is this coroutine that runs.
        unsafe { (*self.yielders[thread].get()).suspend(()) }
    }

    /// If the access at `address` that the system refused, with that stack pointer, is an overflow of the running
    /// thread's stack, returns the means to end the thread. A signal handler calls this.
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
        stacks: &mut Vec<DefaultStack>,
        others: &Others,
    ) -> Result<(), LaunchError> {
        self.begin(index);
        let this: &Self = self;
        let block: *const Block = this;
        // SAFETY: only the lifetime changes; the body outlives the coroutines for the reason given below.
        let body: &'static (dyn Fn() + Sync) = unsafe { std::mem::transmute(body) };
        let mut threads: Vec<_> = (0..self.states.len())
            .map(|thread| {
                let stack = stacks.pop().expect("the launch took a stack for every thread");
                this.stack_limits[thread].set(stack.limit().get());
                let coroutine = Coroutine::<(), (), (), _>::with_stack(stack, move |yielder, ()| {
                    // SAFETY: the block outlives its coroutines, which are finished before this function returns.
                    let yielders = unsafe { &(&*block).yielders };
                    yielders[thread].set(yielder);
                    body();
                });
                this.exits[thread].set(Some(coroutine.trap_handler()));
                coroutine
            })
            .collect();
        BLOCK.set(block);
        let outcome = catch_unwind(AssertUnwindSafe(|| this.schedule(&mut threads, others)));
        watchdog::look(true);
        let result = match outcome {
            Ok(Ok(())) => Ok(()),
            Ok(Err((thread, what))) => Err(this.fault(kernel, thread, None, what)),
            Err(payload) => {
                let panic = this.panic.borrow_mut().take();
                let (location, message) = panic.map_or((None, text(&*payload)), |p| (Some(p.location), p.message));
                Err(this.fault(kernel, this.current.get(), location, message))
            }
        };
        for mut thread in threads {
            if !thread.done() {
                // A kernel owns nothing that would have to be dropped: it is `no_std` code over views and numbers.
                // SAFETY: so the abandoned frames leak nothing and are not used again.
                unsafe { thread.force_reset() };
            }
            stacks.push(thread.into_stack());
        }
        BLOCK.set(std::ptr::null());
        result
    }

    /// Forgets the block before.
    fn begin(&mut self, index: Vector) {
        self.block_idx = index;
        self.states.iter().for_each(|s| s.set(State::Ready));
        self.barriers.iter().for_each(|b| b.set(Barrier::default()));
        self.mbarriers.reset();
        self.copies.reset();
        self.watch.reset();
        self.warps.iter().for_each(Warp::reset);
        let bytes = self.shared_bytes.get() as usize;
        // Arrays keep their addresses from block to block; what no array has been given yet is still poisoned.
        self.arena.get_mut()[..bytes.div_ceil(16)].fill(POISON);
    }

    /// Resumes threads, round by round, until all have ended.
    fn schedule(&self, threads: &mut [Coroutine<(), (), ()>], others: &Others) -> Result<(), (usize, String)> {
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
                self.current.set(i);
                self.states[i].set(State::Ready);
                self.watch.turn(i);
                if let CoroutineResult::Return(()) = thread.resume(()) {
                    if self.overflown.get() {
                        self.locations[i].set(None);
                        let size = STACK >> 10;
                        return Err((i, format!("overflows its stack: arrays and calls take more than {size} KiB")));
                    }
                    self.states[i].set(State::Ended);
                    live -= 1;
                }
            }
            if worked {
                idle.worked(&self.watch, others.quiet);
            } else if live > 0 && spun == 0 {
                return Err(self.deadlock());
            } else if live > 0 {
                if idle.spun(spun, &self.watch, others.quiet) {
                    let spinning = self.states.iter().position(|s| s.get() == State::Spinning).unwrap_or(0);
                    return Err((spinning, "spins for ever: what it waits for does not come".into()));
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
    fn deadlock(&self) -> (usize, String) {
        let waiting = self.states.iter().position(|s| s.get() != State::Ended).unwrap_or(0);
        let absent = |mut others: Box<dyn Iterator<Item = usize> + '_>| match others.next() {
            Some(t) if self.states[t].get() == State::Ended => {
                format!("thread {} has ended", Dim3(self.indices[t]))
            }
            Some(t) => {
                let place = self.locations[t].get().map_or(String::new(), |l| format!(" at {}:{}", l.file(), l.line()));
                format!("thread {} waits{place}", Dim3(self.indices[t]))
            }
            None => "no other thread is left".into(),
        };
        let what = match self.states[waiting].get() {
            State::InWarp => {
                let missing = self.warp(waiting).missing(waiting as u32 % 32);
                let first = waiting / 32 * 32;
                let others = (0..32).filter(move |l| missing >> l & 1 == 1).map(move |l| first + l);
                let others = others.filter(|&t| t < self.states.len());
                format!(
                    "waits in a warp operation for the lanes {missing:#010x}, which never come: {}",
                    absent(Box::new(others))
                )
            }
            state => {
                let others = (0..self.states.len()).filter(move |&t| self.states[t].get() != state);
                format!("waits at a barrier that not all threads reach: {}", absent(Box::new(others)))
            }
        };
        (waiting, what)
    }

    fn fault(&self, kernel: &'static str, thread: usize, location: Option<String>, what: String) -> LaunchError {
        let waiting = || self.locations[thread].get().map(|l| format!("{}:{}", l.file(), l.line()));
        let location = location.or_else(waiting).unwrap_or_else(|| "an unknown line".into());
        let thread = Dim3(self.indices[thread]);
        LaunchError::Fault(Box::new(Fault { kernel, block: Dim3(self.block_idx), thread, location, what }))
    }
}

/// The message of a panic.
fn text(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().map(|s| s.to_string());
    text.or_else(|| payload.downcast_ref::<String>().cloned()).unwrap_or_else(|| "the kernel panicked".into())
}

/// Makes panics inside kernels silent: they are noted, with their place, and reported as the launch's error.
fn install_hook() {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            let block = BLOCK.get();
            if block.is_null() {
                return before(info);
            }
            let location = info.location().map_or("an unknown line".into(), |l| format!("{}:{}", l.file(), l.line()));
            let message = text(info.payload());
            // SAFETY: non-null only while this thread runs the block.
            unsafe { *(*block).panic.borrow_mut() = Some(Panic { location, message }) };
        }));
    });
}
