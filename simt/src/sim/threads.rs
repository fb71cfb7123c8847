//! The threads of a block, as coroutines: who runs, and in what state each is.

use super::stack::{STACK, Stack};
use corosensei::stack::Stack as _;
use corosensei::trap::CoroutineTrapHandler;
use corosensei::{Coroutine, CoroutineResult, Yielder};
use std::cell::Cell;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, Location, catch_unwind};

/// Indices or extents along x, y, z.
pub(super) type Vector = [u32; 3];

/// A thread that runs, or waits.
pub(super) type Thread = Coroutine<(), (), (), Stack>;

/// Bytes below a stack that are certainly not accessible: the smallest page.
#[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "the signal handler of Linux asks"))]
const GUARD: usize = 4 << 10;

/// The state of a thread.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    Ready,
    Spinning,
    AtBarrier(u8),
    AtCluster,
    InWarp,
    ForRegisters,
    Ended,
    /// Never goes on: `Threads::stopped` says why.
    Stopped,
}

/// The threads of a block. Everything is interior-mutable: the threads all hold it, one at a time.
pub(super) struct Threads {
    current: Cell<usize>,
    indices: Vec<Vector>,
    states: Vec<Cell<State>>,
    /// The place where each waits, or waited last.
    locations: Vec<Cell<Option<&'static Location<'static>>>>,
    /// The barrier in shared memory, and the parity, that each has waited for last.
    awaits: Vec<Cell<Option<(u32, u32)>>>,
    yielders: Vec<Cell<*const Yielder<(), ()>>>,
    /// The means to make each thread return, and whether the running thread was made to because its stack overflowed.
    exits: Vec<Cell<Option<CoroutineTrapHandler<()>>>>,
    overflown: Cell<bool>,
    stack_limits: Vec<Cell<usize>>,
    /// Why the running thread may not go on.
    stopped: Cell<&'static str>,
    /// Whether the running thread spun before its turn.
    spins: Cell<bool>,
}

impl Threads {
    pub(super) fn new([x, y, z]: Vector) -> Self {
        let threads = (x * y * z) as usize;
        Self {
            current: Cell::new(0),
            indices: (0..threads as u32).map(|t| [t % x, t / x % y, t / (x * y)]).collect(),
            states: vec![Cell::new(State::Ready); threads],
            locations: vec![Cell::new(None); threads],
            awaits: vec![Cell::new(None); threads],
            yielders: vec![Cell::new(std::ptr::null()); threads],
            exits: vec![Cell::new(None); threads],
            overflown: Cell::new(false),
            stack_limits: vec![Cell::new(0); threads],
            stopped: Cell::new(""),
            spins: Cell::new(false),
        }
    }

    /// Forgets the block before.
    pub(super) fn reset(&self) {
        self.release_all();
        self.awaits.iter().for_each(|a| a.set(None));
    }

    pub(super) fn len(&self) -> usize {
        self.states.len()
    }

    /// The number of the running thread.
    #[inline(always)]
    pub(super) fn current(&self) -> usize {
        self.current.get()
    }

    #[inline(always)]
    pub(super) fn index(&self, thread: usize) -> Vector {
        self.indices[thread]
    }

    #[inline(always)]
    pub(super) fn state(&self, thread: usize) -> State {
        self.states[thread].get()
    }

    /// The first thread in such a state.
    pub(super) fn first(&self, is: impl Fn(State) -> bool) -> Option<usize> {
        self.states.iter().position(|state| is(state.get()))
    }

    /// The threads that have not ended.
    pub(super) fn live(&self) -> usize {
        self.states.iter().filter(|state| state.get() != State::Ended).count()
    }

    /// The place where a thread waits, or waited last.
    pub(super) fn location(&self, thread: usize) -> Option<&'static Location<'static>> {
        self.locations[thread].get()
    }

    /// The phase that a thread waits for which spins.
    pub(super) fn awaits(&self, thread: usize) -> Option<(u32, u32)> {
        self.awaits[thread].get()
    }

    /// Whether the running thread spun before its turn.
    #[inline(always)]
    pub(super) fn spins(&self) -> bool {
        self.spins.get()
    }

    /// The threads of the warp of `thread`.
    pub(super) fn warp_of(&self, thread: usize) -> Range<usize> {
        let first = thread / 32 * 32;
        first..self.len().min(first + 32)
    }

    /// Lets a thread go on that waits.
    pub(super) fn release(&self, thread: usize) {
        self.states[thread].set(State::Ready);
    }

    pub(super) fn release_all(&self) {
        self.states.iter().for_each(|state| state.set(State::Ready));
    }

    /// Notes the place where the running thread is going to wait.
    #[inline(always)]
    pub(super) fn wait_at(&self, location: &'static Location<'static>) {
        self.locations[self.current.get()].set(Some(location));
    }

    /// Lets the others run until the running thread is resumed: from there on, if it is ready.
    #[inline(always)]
    pub(super) fn suspend(&self, state: State) {
        let thread = self.current.get();
        self.states[thread].set(state);
        // SAFETY: set when the thread's coroutine began; it is this coroutine that runs.
        unsafe { (*self.yielders[thread].get()).suspend(()) }
    }

    /// Lets the others run once, while the running thread waits in a loop: for a phase of a barrier in shared memory,
    /// if that is known.
    pub(super) fn spin(&self, phase: Option<(u32, u32)>, location: &'static Location<'static>) {
        self.awaits[self.current.get()].set(phase);
        self.wait_at(location);
        self.suspend(State::Spinning);
    }

    /// Ends the launch with an error of the running thread, which never goes on: what it owns is dropped when no thread
    /// of the block runs any more.
    #[cold]
    pub(super) fn stop(&self, why: &'static str) {
        self.stopped.set(why);
        self.suspend(State::Stopped);
    }

    /// Makes the coroutines, each with a stack of `stacks`.
    ///
    /// # Safety
    /// [`Threads::end`] is given the coroutines before `body` or these threads cease to live or to stay in their place.
    pub(super) unsafe fn start(&self, body: &(dyn Fn() + Sync), stacks: &mut Vec<Stack>) -> Vec<Thread> {
        let this: *const Self = self;
        // SAFETY: only the lifetime changes; the body outlives the coroutines, as the caller promises.
        let body: &'static (dyn Fn() + Sync) = unsafe { std::mem::transmute(body) };
        let start = |thread: usize| {
            let stack = stacks.pop().expect("the launch took a stack for every thread");
            self.stack_limits[thread].set(stack.limit().get());
            let coroutine = Coroutine::with_stack(stack, move |yielder, ()| {
                // SAFETY: the threads outlive their coroutines, as the caller promises.
                let yielders = unsafe { &(&*this).yielders };
                yielders[thread].set(yielder);
                body();
            });
            self.exits[thread].set(Some(coroutine.trap_handler()));
            coroutine
        };
        (0..self.len()).map(start).collect()
    }

    /// Resumes a thread until it waits, or ends; says whether it has ended.
    ///
    /// # Errors
    /// What ends the launch, if it can never go on.
    #[inline(always)]
    pub(super) fn resume(&self, i: usize, thread: &mut Thread) -> Result<bool, String> {
        self.current.set(i);
        self.spins.set(self.states[i].replace(State::Ready) == State::Spinning);
        if let CoroutineResult::Return(()) = thread.resume(()) {
            if self.overflown.get() {
                self.locations[i].set(None);
                let size = STACK >> 10;
                return Err(format!("overflows its stack: arrays and calls take more than {size} KiB"));
            }
            self.states[i].set(State::Ended);
            return Ok(true);
        }
        if self.states[i].get() == State::Stopped {
            self.locations[i].set(None);
            return Err(self.stopped.get().into());
        }
        Ok(false)
    }

    /// Ends the coroutines that [`Threads::start`] made, wherever they are, and gives their stacks back.
    pub(super) fn end(threads: Vec<Thread>) -> Vec<Stack> {
        let stack = |mut thread: Thread| {
            // A kernel for a GPU owns nothing that would have to be dropped. But any code of the host can stand in one,
            // a scope with threads say, which uses the stack until it is unwound. What panics then is over as well.
            let _ = catch_unwind(AssertUnwindSafe(|| thread.force_unwind()));
            thread.into_stack()
        };
        threads.into_iter().map(stack).collect()
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
}
