//! The barriers of a block: `sync_threads`, and those with a number of their own.

use super::threads::{State, Threads};
use std::cell::Cell;
use std::panic::Location;

/// Barriers of a block; number 0 is `sync_threads`.
const BARRIERS: usize = 16;

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

/// The barriers of a block.
#[derive(Default)]
pub(super) struct Barriers([Cell<Barrier>; BARRIERS]);

impl Barriers {
    /// Forgets the block before.
    pub(super) fn reset(&self) {
        self.0.iter().for_each(|barrier| barrier.set(Barrier::default()));
    }

    /// The votes of the last completed round.
    #[inline(always)]
    pub(super) fn result(&self, id: usize) -> u32 {
        self.0[id].get().result
    }

    /// Counts the running thread if it is neither the first nor the last at the barrier of the block, where that is all
    /// that is to be done.
    #[inline(always)]
    pub(super) fn arrives_quickly(&self, threads: &Threads, vote: bool, location: &'static Location<'static>) -> bool {
        // SAFETY: the cell is this thread's of the host, and no other reference to its content is made meanwhile. (A
        // copy out and in again would take as long as the switch.)
        let barrier = unsafe { &mut *self.0[0].as_ptr() };
        let quick = barrier.arrived + 1 < threads.len() as u32
            && barrier.location.is_some_and(|first| std::ptr::eq(first, location));
        if quick {
            barrier.arrived += 1;
            barrier.votes += vote as u32;
            threads.wait_at(location);
        }
        quick
    }

    /// Counts the running thread at a barrier; says whether that makes it complete.
    ///
    /// # Errors
    /// What is wrong if others wait elsewhere, or for other numbers of threads.
    #[inline(always)]
    pub(super) fn arrive(
        &self,
        threads: &Threads,
        (id, expected, vote): (usize, Option<u32>, bool),
        location: &'static Location<'static>,
    ) -> Result<bool, String> {
        if id == 0 && self.arrives_quickly(threads, vote, location) {
            return Ok(false);
        }
        let mut barrier = self.0[id].get();
        let first = *barrier.location.get_or_insert(location);
        let at = |place: &Location| format!("{}:{}", place.file(), place.line());
        // Roles of a block reach a named barrier from where they are; the barrier of the whole block is one place.
        if id == 0 && first != location {
            return Err(format!("threads of one block wait at different barriers: others at {}", at(first)));
        }
        let expected = expected.unwrap_or(threads.len() as u32);
        let wanted = *barrier.expected.get_or_insert(expected);
        if wanted != expected {
            return Err(format!("threads wait at barrier {id} for different numbers of threads: others for {wanted}"));
        }
        // The instruction is one of a whole warp: its lanes come to one place, whatever other warps do.
        let (thread, waiting) = (threads.current(), State::AtBarrier(id as u8));
        let elsewhere = |t| threads.location(t).filter(|&place| threads.state(t) == waiting && place != location);
        if id > 0
            && let Some(place) = threads.warp_of(thread).find_map(elsewhere)
        {
            let place = at(place);
            return Err(format!("lanes of one warp wait at barrier {id} in different places: others at {place}"));
        }
        // A named barrier counts warps: one whose lanes do not all come is never counted.
        barrier.arrived += match id {
            0 => 1,
            _ if whole_warp(threads, thread, waiting) => crate::machine::WARP,
            _ => 0,
        };
        barrier.votes += vote as u32;
        let complete = barrier.arrived == wanted;
        if complete {
            barrier = Barrier { result: barrier.votes, ..Barrier::default() };
        } else {
            threads.wait_at(location);
        }
        self.0[id].set(barrier);
        Ok(complete)
    }
}

/// The threads that wait at a complete named barrier, the running one with them; and those of them that it has counted.
pub(super) fn at_named(threads: &Threads, id: usize) -> [Vec<usize>; 2] {
    let waiting = State::AtBarrier(id as u8);
    let here = |t: &usize| *t == threads.current() || threads.state(*t) == waiting;
    let all: Vec<usize> = (0..threads.len()).filter(here).collect();
    let counted = all.iter().copied().filter(|&t| whole_warp(threads, t, waiting)).collect();
    [all, counted]
}

/// Whether all threads of the warp of `thread` wait so, or are the running one.
fn whole_warp(threads: &Threads, thread: usize, waiting: State) -> bool {
    threads.warp_of(thread).all(|t| t == threads.current() || threads.state(t) == waiting)
}
