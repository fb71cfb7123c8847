//! The scheduler: resumes the threads of a block, round by round, and tells what it means if none can go on.

use super::block::Block;
use super::error::{Fault, LaunchError};
use super::finding::{Kind, Memory, Site};
use super::limit::Limit;
use super::observe::{self, Space};
use super::spin::{Idle, Quiet};
use super::stack::Stack;
use super::threads::{State, Thread, Threads, Vector};
use super::waits::{self, Awaited, Wait, Waits};
use super::watchdog;
use crate::Dim3;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Turns of a warp in a round, if lanes can go on: each ends at the warp's next operation. The stacks of a warp fit
/// the processor's first cache, those of a block do not. More would let a warp that polls keep others waiting.
const TURNS: u32 = 32;

/// What a thread that stops the launch says.
enum Stopped {
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

impl Block {
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
    ) -> Vec<Thread> {
        self.begin(index);
        // SAFETY: passed on.
        unsafe { self.threads.start(body, stacks) }
    }

    /// Ends the threads that [`Block::start`] made, wherever they are, and gives their stacks back.
    pub(super) fn end(&mut self, threads: Vec<Thread>) -> Vec<Stack> {
        self.watchers.end();
        Threads::end(threads)
    }

    /// Runs threads of the block by `work`, and makes a fault of what goes wrong.
    fn guarded<R>(
        &self,
        kernel: &'static str,
        work: impl FnOnce(&Self) -> Result<R, Stopped>,
    ) -> Result<R, LaunchError> {
        let outcome = self.running(work);
        watchdog::look(true);
        match outcome {
            Ok(Ok(result)) => Ok(result),
            Ok(Err(Stopped::Thread(thread, kind, what))) => Err(self.fault(kernel, thread, None, kind, what)),
            Ok(Err(Stopped::Waits(waits, waiting))) => Err(waits::error(kernel, waits, waiting)),
            Err((kind, site, what)) => Err(self.fault(kernel, self.current(), site, kind, what)),
        }
    }

    fn fault(&self, kernel: &'static str, thread: usize, site: Option<Site>, kind: Kind, what: String) -> LaunchError {
        let site = site.or_else(|| self.threads.location(thread).map(Site::from));
        let (thread, warp) = (Dim3(self.threads.index(thread)), thread as u32 / 32);
        let (block, waits) = (Dim3(self.shape.index), vec![]);
        LaunchError::Fault(Box::new(Fault { kernel, block, thread, warp, site, kind, what, waits }))
    }

    /// Under a check, or in a cluster: resumes the threads of the block once each, in that order. Those of the starved
    /// warp run only if no other works.
    pub(super) fn checked_round(
        &self,
        kernel: &'static str,
        threads: &mut [Thread],
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
                match block.threads.state(i as usize) {
                    State::Ready => worked = true,
                    State::Spinning => spun += 1,
                    State::AtCluster => {
                        // Another block may end the wait.
                        spun += 1;
                        continue;
                    }
                    _ => continue,
                }
                block.resume(i as usize, &mut threads[i as usize])?;
            }
            let live = block.threads.live();
            if worked {
                block.watch.worked();
            } else if live > 0 && spun == 0 {
                return Err(block.deadlock());
            }
            Ok(Round { live, worked, spun, news: block.watch.news() })
        })
    }

    /// Resumes threads, round by round, until all have ended.
    fn schedule(&self, threads: &mut [Thread], others: &Others) -> Result<(), Stopped> {
        let (mut live, mut idle) = (threads.len(), Idle::default());
        let turns = if observe::active() { 1 } else { TURNS };
        while live > 0 {
            let (mut worked, mut spun) = (false, 0);
            self.watch.round();
            for (warp, lanes) in threads.chunks_mut(32).enumerate() {
                for turn in 0..turns {
                    let mut ready = false;
                    for (lane, thread) in lanes.iter_mut().enumerate() {
                        let i = warp * 32 + lane;
                        match self.threads.state(i) {
                            State::Ready => ready = true,
                            State::Spinning if turn == 0 => spun += 1,
                            _ => continue,
                        }
                        live -= self.resume(i, thread)? as usize;
                    }
                    worked |= ready;
                    if !ready {
                        break;
                    }
                }
            }
            if worked {
                idle.worked(&self.watch, others.quiet);
            } else if live > 0 && spun == 0 {
                return Err(self.deadlock());
            } else if live > 0 {
                if let Some(waits) = idle.spun(spun, &self.watch, others.quiet, || self.waits()) {
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

    /// Resumes a thread until it waits, or ends.
    #[inline(always)]
    fn resume(&self, i: usize, thread: &mut Thread) -> Result<bool, Stopped> {
        self.watch.turn(i);
        self.threads.resume(i, thread).map_err(|what| Stopped::Thread(i, Kind::Fault, what))
    }

    /// Who waits for what in this block. Words are named by the launch's views, and under a check by the block's
    /// arrays.
    pub(super) fn waits(&self) -> Waits {
        let (looked_at, checked) = (self.watch.looked_at(), self.watchers.checked());
        let place = |space, offset, bytes| match (space, &checked) {
            (Space::Global, _) => Memory::in_views(&self.views, offset, bytes),
            (Space::Shared, Some(state)) => state.place(offset, bytes),
            (Space::Shared, None) => Memory { space, parameter: None, element: None, offset, bytes },
        };
        let mut waits = Waits::default();
        for thread in 0..self.threads.len() {
            let (awaited, what) = match self.threads.state(thread) {
                State::Ready | State::Ended | State::Stopped => continue,
                State::AtBarrier(0) => (Awaited::Barrier(0), "waits at the barrier of its block".into()),
                State::AtBarrier(id) => (Awaited::Barrier(id), format!("waits at the named barrier {id}")),
                State::AtCluster => {
                    let cluster = self.cluster();
                    let (all, lacks) = (cluster.threads(), cluster.threads() - cluster.arrived.get());
                    (Awaited::Cluster, format!("waits at the barrier of its cluster for {lacks} of {all} threads"))
                }
                State::ForRegisters => (Awaited::Registers, self.registers.lacks()),
                State::InWarp => {
                    let missing = self.warp(thread).missing(thread as u32 % 32);
                    (Awaited::Warp, format!("waits in a warp operation for the lanes {missing:#010x}"))
                }
                State::Spinning => match self.threads.awaits(thread) {
                    Some((address, parity)) => {
                        (Awaited::Phase { address, parity }, self.mbarriers.lacks(address, parity))
                    }
                    None => waits::looks(looked_at.get(&thread).map_or(&[], Vec::as_slice), place),
                },
            };
            let (site, first) = (self.threads.location(thread), (self.watchers.number().into(), thread));
            let (block, index) = (Dim3(self.shape.index), Dim3(self.threads.index(thread)));
            waits.add(Wait { awaited, what, site, first, block, thread: index, threads: 1 });
        }
        waits
    }

    /// No thread can continue: reports which threads wait for which.
    fn deadlock(&self) -> Stopped {
        let threads = &self.threads;
        let waits_for_registers = threads.first(|s| s == State::ForRegisters);
        let waiting = waits_for_registers.or_else(|| threads.first(|s| s != State::Ended)).unwrap_or(0);
        // The first of the others, and whether it has ended.
        let absent = |other: Option<usize>| match other {
            Some(t) if threads.state(t) == State::Ended => {
                (State::Ended, format!("thread {} has ended", Dim3(threads.index(t))))
            }
            Some(t) => {
                let place = threads.location(t).map_or(String::new(), |l| format!(" at {}:{}", l.file(), l.line()));
                (threads.state(t), format!("thread {} waits{place}", Dim3(threads.index(t))))
            }
            None => (State::Ended, "no other thread is left".into()),
        };
        match threads.state(waiting) {
            State::InWarp => {
                let missing = self.warp(waiting).missing(waiting as u32 % 32);
                let warp = threads.warp_of(waiting);
                let (_, who) = absent(warp.clone().find(|t| missing >> (t - warp.start) & 1 == 1));
                let what = format!("waits in a warp operation for the lanes {missing:#010x}, which never come: {who}");
                Stopped::Thread(waiting, Kind::WarpMask, what)
            }
            State::ForRegisters => Stopped::Thread(waiting, Kind::Deadlock, self.registers.lacks()),
            state => {
                let (other, who) = absent(threads.first(|other| other != state));
                let kind = match other {
                    State::Ended => Kind::MissedBarrier,
                    State::AtBarrier(_) => Kind::DivergentBarrier,
                    _ => Kind::WarpMask,
                };
                Stopped::Thread(waiting, kind, format!("waits at a barrier that not all threads reach: {who}"))
            }
        }
    }
}
