//! The seam between a running block and those who watch it: an observer, the statistics, a check.
//!
//! The scheduler, the barriers and the memory tell here what the threads of a block do. Each watcher keeps a state of
//! its own, and knows neither the block nor the scheduler.

use super::check::{self, BlockState, Session};
use super::mutant;
use super::observe::{self, AccessKind, Event, Space};
use super::stats::{Collector, Instruction, What};
use crate::scalar::Scalar;
use std::cell::Cell;
use std::panic::Location;

/// A place in a kernel's source.
type Place = &'static Location<'static>;

/// Those who watch one block after the other.
pub(super) struct Watchers {
    threads: usize,
    /// The number of the block in its grid.
    number: Cell<u32>,
    /// Whether arrivals at barriers are counted, or a mutant may be without the barrier.
    arrivals: bool,
    /// What the threads do, where that is counted.
    stats: Option<Collector>,
    /// The block's part of a running check; null where there is none.
    checked: Cell<*mut BlockState>,
}

impl Watchers {
    pub(super) fn new(threads: usize, counted: bool) -> Self {
        let stats = counted.then(|| Collector::new(threads));
        let arrivals = counted || mutant::active();
        Self { threads, number: Cell::new(0), arrivals, stats, checked: Cell::new(std::ptr::null_mut()) }
    }

    /// Whether there may be any: then all accesses are examined.
    pub(super) fn any(&self) -> bool {
        observe::active() || self.stats.is_some() || check::active().is_some()
    }

    /// The block of that number begins.
    pub(super) fn begin(&self, number: u32) {
        self.number.set(number);
        if let Some(stats) = &self.stats {
            stats.begin(number);
        }
    }

    /// The number of the block in its grid.
    pub(super) fn number(&self) -> u32 {
        self.number.get()
    }

    /// Makes `state` the block's part of the running check.
    pub(super) fn check(&self, state: *mut BlockState) {
        self.checked.set(state);
    }

    /// The running check, and the block's part of it.
    #[inline]
    pub(super) fn checks(&self) -> Option<(&'static mut Session, &'static mut BlockState)> {
        let state = self.checked()?;
        Some((check::active()?, state))
    }

    /// The block's part of the running check.
    #[inline]
    pub(super) fn checked(&self) -> Option<&'static mut BlockState> {
        // SAFETY: checked.rs owns the state for longer than the block runs; everything happens on one thread of the
        // host, and no function that is given the reference suspends a thread of a block while it holds it.
        unsafe { self.checked.get().as_mut() }
    }

    /// A thread has accessed memory, and left `value` there.
    #[inline(always)]
    #[track_caller]
    pub(super) fn access<T: Scalar>(&self, thread: usize, space: Space, kind: AccessKind, address: u64, value: T) {
        observe::access((self.number.get(), thread as u32), space, kind, address, value, Location::caller());
    }

    /// A thread has accessed 16 bytes.
    #[inline(always)]
    #[track_caller]
    pub(super) fn pack(&self, thread: usize, space: Space, kind: AccessKind, address: u64, words: [u32; 4]) {
        for (i, word) in words.into_iter().enumerate() {
            self.access(thread, space, kind, address + 4 * i as u64, word);
        }
    }

    /// A thread has started a copy: a read and a write of each 16 bytes, `pack(offset)`.
    #[inline(always)]
    #[track_caller]
    pub(super) fn copy(
        &self,
        thread: usize,
        from: (Space, u64),
        to: (Space, u64),
        bytes: u32,
        pack: impl Fn(u32) -> [u32; 4],
    ) {
        if !observe::watched() {
            return;
        }
        for at in (0..bytes).step_by(16) {
            let words = pack(at);
            self.pack(thread, from.0, AccessKind::Read, from.1 + u64::from(at), words);
            self.pack(thread, to.0, AccessKind::Write, to.1 + u64::from(at), words);
        }
    }

    /// Whether each arrival at a barrier is looked at.
    #[inline(always)]
    pub(super) fn looks_at_arrivals(&self) -> bool {
        self.arrivals
    }

    /// Whether accesses are counted.
    #[inline(always)]
    pub(super) fn counts(&self) -> bool {
        self.stats.is_some()
    }

    /// Counts an access of a thread, or an arrival. False if there is no room before the thread's warp catches up.
    #[inline(always)]
    pub(super) fn count(&self, thread: usize, what: What, address: u64, place: Place) -> bool {
        self.stats.as_ref().is_none_or(|stats| stats.note(thread, what, address, place))
    }

    /// Groups what the lanes of the thread's warp have done, to make room: the lanes of `cut` are on their way to a
    /// place where they meet the others.
    pub(super) fn catch_up(&self, thread: usize, cut: u32) {
        if let Some(stats) = &self.stats {
            stats.catch_up(thread, cut);
        }
    }

    /// Whether there is no room to count an access of a thread.
    pub(super) fn is_full(&self, thread: usize) -> bool {
        self.stats.as_ref().is_some_and(|stats| stats.is_full(thread))
    }

    /// Counts a bulk copy: of this many bytes from each address of global memory on.
    pub(super) fn count_copies(
        &self,
        instruction: Instruction,
        parts: impl IntoIterator<Item = (u64, u32)>,
        place: Place,
    ) {
        if let Some(stats) = &self.stats {
            stats.copy(instruction, parts, place);
        }
    }

    /// The lanes of a warp have met.
    pub(super) fn meeting(&self, warp: usize) {
        if let Some(stats) = &self.stats {
            stats.meet(warp);
        }
    }

    /// A barrier is complete that threads of these warps wait at.
    fn barrier(&self, id: u32, place: Place, warps: impl Iterator<Item = usize>) {
        observe::tell(|| Event::Barrier { block: self.number.get(), id, site: place });
        if let Some(stats) = &self.stats {
            stats.barrier(place);
            warps.for_each(|warp| stats.meet(warp));
        }
    }

    fn warps(&self) -> std::ops::Range<usize> {
        0..self.threads.div_ceil(32)
    }

    /// All threads have arrived at the barrier of the block.
    pub(super) fn barrier_of_block(&self, place: Place) {
        self.barrier(0, place, self.warps());
        if let Some((session, state)) = self.checks() {
            session.barrier_of_block(state);
        }
    }

    /// All threads that a named barrier waits for have arrived; others may wait there too.
    pub(super) fn named_barrier(&self, id: u32, place: Place, waiting: &[usize], arrived: &[usize]) {
        let mut warps: Vec<usize> = waiting.iter().map(|thread| thread / 32).collect();
        warps.dedup();
        self.barrier(id, place, warps.into_iter());
        match self.checks() {
            Some((session, state)) if arrived.len() == self.threads => session.barrier_of_block(state),
            Some((session, state)) => session.barrier_of_some(state, arrived),
            None => {}
        }
    }

    /// All threads of the blocks that these watch have arrived at the barrier of their cluster.
    pub(super) fn barrier_of_cluster<'a>(all: impl Iterator<Item = &'a Self>, place: Place) {
        let mut states = Vec::new();
        for watchers in all {
            watchers.barrier(0, place, watchers.warps());
            states.extend(watchers.checked());
        }
        if let Some(session) = check::active() {
            session.barrier_of_cluster(&mut states);
        }
    }

    /// The threads of the block are done, wherever they are.
    pub(super) fn end(&self) {
        self.warps().for_each(|warp| self.meeting(warp));
    }

    /// Tells an observer that the block has ended.
    pub(super) fn tell_end(&self) {
        observe::tell(|| Event::BlockEnd { block: self.number.get() });
    }

    /// What was counted, after the last block.
    pub(super) fn take_stats(&mut self) -> Option<Collector> {
        self.stats.take()
    }
}
