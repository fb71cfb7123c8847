//! Threads that wait in a loop for another thread's write.
//!
//! On a GPU the other thread runs meanwhile. Here one thread of a block runs at a time, so a thread that spins has to
//! be distinguished from one that works. An atomic load, a failed `try_wait` and `nanosleep` show that a thread may be
//! waiting, and let the others run. Other accesses are not examined as long as the block makes progress. When a round
//! takes long ([`watchdog`]), the simulator examines the words that the running thread accesses: new words are work;
//! [`STALE`] accesses in a row to known words with known values are a spin, and the others run. A window of accesses to
//! known words with new values is work, or a spin that counts its polls: the others run once, and the thread continues.
//! The result of a kernel does not depend on that time, unless it counts its polls or races.
//!
//! A spin that no thread can end is found in the same way. A block in which every thread spins or waits is idle; when
//! it has been idle for [`SILENT`] rounds, the accesses of all threads are examined, and the turns in rounds that find
//! nothing new add up. The launch is given up when that sum is large in every block that runs, without one having
//! worked in between ([`Quiet`]). So a wait that ends by a clock, or after a number of polls, has to end within
//! seconds.
//!
//! Three kinds of loops are not found: loops that access no memory; endless loops each round of which passes a barrier
//! or a warp operation, or changes memory; and loops over more words than [`MEMORY`].

use super::map::Map;
use super::observe::Space;
use super::waits::Waits;
use super::watchdog;
use std::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::SeqCst};
use std::sync::{Mutex, PoisonError};

/// Accesses of a thread that are examined in a row, unless they are a spin.
const WINDOW: u32 = 256;

/// Accesses in a row to known words with known values that count as a spin.
const STALE: u32 = 16;

/// Accesses between two windows if accesses are examined because of an observer, not of the watchdog.
const OBSERVED: u32 = 1 << 14;

/// Rounds back to which a thread's accesses belong to the loop in which it spins. It has a turn in each; a loop may
/// look at one word per turn.
const LOOP: u32 = 64;

/// Words remembered per block.
const MEMORY: usize = 1 << 18;

/// Idle rounds after which every access is examined.
const SILENT: u32 = 1 << 10;

/// Fewest idle rounds before a launch is given up.
const ROUNDS: u32 = 1 << 12;

/// Turns of spinning threads that find nothing new before a launch is given up; they take seconds.
const GIVE_UP: u64 = 1 << 20;

/// A word that a thread of the block has accessed.
type Word = (usize, Space, u64);

/// What it was at the last access.
#[derive(Clone, Copy)]
struct Seen {
    value: u64,
    bytes: u32,
    /// The round of that access.
    round: u32,
}

/// The record of the accesses of a block.
#[derive(Default)]
pub(super) struct Watch {
    /// Whether this launch has an observer: then every access is examined.
    observed: bool,
    /// Accesses before the next window begins, and accesses left in the window.
    before: Cell<u32>,
    window: Cell<u32>,
    /// Whether the turns of all threads begin with a window.
    all: Cell<bool>,
    /// Rounds left in which turns begin so because a thread was found spinning: others may spin too.
    caught: Cell<u32>,
    /// Whether none of these conditions holds and no thread is suspected: the case that has to be fast.
    calm: Cell<bool>,
    /// Threads that were found spinning.
    suspects: Vec<Cell<bool>>,
    /// Accesses of each thread since the last that found something new.
    stale: Vec<Cell<u32>>,
    /// Whether the window has found a new word.
    new_word: Cell<bool>,
    words: RefCell<Map<Word, Seen>>,
    /// The number of the round, which may wrap around.
    number: Cell<u32>,
    /// Whether an access of this round found a new word, or a new value in a known one; or a thread moved on.
    news: Cell<bool>,
}

impl Watch {
    pub(super) fn new(threads: usize, observed: bool) -> Self {
        let (suspects, stale) = (vec![Cell::new(false); threads], vec![Cell::new(0); threads]);
        Self { observed, suspects, stale, ..Self::default() }
    }

    /// Forgets the block before.
    pub(super) fn reset(&mut self) {
        self.all.set(false);
        self.caught.set(0);
        self.calm.set(true);
        self.look(false);
        self.suspects.iter().for_each(|s| s.set(false));
        self.stale.iter().for_each(|n| n.set(0));
        self.words.get_mut().clear();
        self.news.take();
    }

    /// A round begins.
    #[inline(always)]
    pub(super) fn round(&self) {
        watchdog::round();
        self.number.set(self.number.get().wrapping_add(1));
        self.caught.set(self.caught.get().saturating_sub(1));
        let suspected = || self.suspects.iter().any(Cell::get);
        self.calm.set(!self.all.get() && self.caught.get() == 0 && (self.calm.get() || !suspected()));
    }

    /// A thread's turn begins.
    #[inline(always)]
    pub(super) fn turn(&self, thread: usize) {
        if self.calm.get() {
            // The window that another thread has left serves as well.
            watchdog::look(self.observed);
        } else {
            self.look(self.all.get() || self.caught.get() > 0 || self.suspects[thread].get());
        }
    }

    /// Begins a window now, or leaves that to the watchdog or to the count of an observed block's accesses.
    #[inline(always)]
    fn look(&self, now: bool) {
        self.window.set(WINDOW);
        self.new_word.set(false);
        self.before.set(if self.observed && !now { OBSERVED } else { 0 });
        watchdog::look(self.observed || now);
    }

    /// The turns of all threads begin with a window from now on.
    pub(super) fn suspect(&self) {
        self.all.set(true);
    }

    /// Whether the turns of all threads begin with a window.
    pub(super) fn is_suspicious(&self) -> bool {
        self.all.get()
    }

    /// A thread has done what others may wait for, and no access shows: it has arrived at a barrier in shared memory,
    /// or had bytes counted there.
    pub(super) fn moved_on(&self) {
        self.news.set(true);
    }

    /// Whether a spinning thread has found something new since the last call, or moved on.
    pub(super) fn news(&self) -> bool {
        self.news.take()
    }

    /// A thread has worked: suspicion ends.
    pub(super) fn worked(&self) {
        self.all.set(false);
        self.news.take();
    }

    /// Before an examined access: whether one of the next two may say so.
    #[inline(always)]
    pub(super) fn ends_window(&self) -> bool {
        self.before.get() == 0
    }

    /// Before an examined access: whether the thread spins, so that the others have to run first.
    pub(super) fn spins(&self, thread: usize) -> bool {
        if self.before.get() > 0 {
            return false;
        }
        if self.stale[thread].get() >= STALE {
            self.stale[thread].set(0);
            self.suspects[thread].set(true);
            self.caught.set(2);
            self.calm.set(false);
            return true;
        }
        false
    }

    /// Before an examined access: whether a window ends that found no new word. Begins the next.
    pub(super) fn goes_in_circles(&self) -> bool {
        let ends = self.before.get() == 0 && self.window.get() == 0;
        let circles = ends && !self.new_word.get();
        if ends {
            self.look(false);
        }
        circles
    }

    /// After an examined access.
    #[inline(always)]
    pub(super) fn note(&self, thread: usize, space: Space, address: u64, bytes: u32, value: u64) {
        match self.before.get().checked_sub(1) {
            Some(before) => self.before.set(before),
            None => self.note_in_window(thread, space, address, bytes, value),
        }
    }

    #[inline(never)]
    fn note_in_window(&self, thread: usize, space: Space, address: u64, bytes: u32, value: u64) {
        let mut words = self.words.borrow_mut();
        if words.len() >= MEMORY {
            words.clear();
        }
        let seen = Seen { value, bytes, round: self.number.get() };
        let before = words.insert((thread, space, address), seen).map(|seen| seen.value);
        let stale = &self.stale[thread];
        if before == Some(value) {
            stale.set(stale.get() + 1);
        } else {
            stale.set(0);
            self.suspects[thread].set(false);
            self.news.set(true);
        }
        self.new_word.set(self.new_word.get() || before.is_none());
        self.window.set(self.window.get().saturating_sub(1));
    }
}

impl Watch {
    /// The words that each spinning thread looks at in its loop, in the order of their addresses: space, address, bytes
    /// and value.
    pub(super) fn looked_at(&self) -> Map<usize, Vec<(Space, u64, u32, u64)>> {
        let mut all: Map<usize, Vec<_>> = Map::default();
        for (&(thread, space, address), seen) in &*self.words.borrow() {
            if self.number.get().wrapping_sub(seen.round) < LOOP {
                all.entry(thread).or_default().push((space, address, seen.bytes, seen.value));
            }
        }
        all.values_mut().for_each(|words| words.sort_by_key(|&(space, address, ..)| (space == Space::Shared, address)));
        all
    }
}

/// The idle time of a block.
#[derive(Default)]
pub(super) struct Idle {
    rounds: u32,
    sum: u64,
    /// The time, in [`Quiet`]'s count, in which `sum` was added up, and whether it has been reported.
    epoch: u32,
    reported: bool,
}

impl Idle {
    /// A round in which a thread worked.
    #[inline(always)]
    pub(super) fn worked(&mut self, watch: &Watch, quiet: &Quiet) {
        if self.rounds > 0 {
            *self = Self::default();
            watch.all.set(false);
            watch.news.take();
            quiet.disturb();
        }
    }

    /// A round in which `turns` threads did nothing but spin and the others waited. If no thread can end that, returns
    /// who waits for what in all blocks that run; `waits` says so of this one.
    pub(super) fn spun(
        &mut self,
        turns: u64,
        watch: &Watch,
        quiet: &Quiet,
        waits: impl FnOnce() -> Waits,
    ) -> Option<Waits> {
        let (news, watched) = (watch.news.take(), watch.all.get());
        if self.rounds == 0 || news {
            // Other blocks may not have read this block's writes yet.
            *self = Self::default();
            quiet.disturb();
        }
        self.rounds = self.rounds.saturating_add(1);
        watch.all.set(self.rounds >= SILENT);
        let epoch = quiet.epoch();
        if self.epoch != epoch {
            *self = Self { rounds: self.rounds, epoch, ..Self::default() };
        }
        if watched {
            self.sum += turns;
        }
        if !self.reported && self.rounds >= ROUNDS && self.sum >= GIVE_UP {
            self.reported = quiet.report(epoch, waits());
        }
        let waits = (self.reported && quiet.complete(epoch)).then(|| quiet.waits(epoch));
        // Nobody waits any more if the wait has ended in this very round.
        waits.filter(|waits| !waits.is_empty())
    }
}

/// The state shared by the blocks that run at the same time: whether all of them spin.
pub(super) struct Quiet {
    /// In the upper half the number of times that a block began or ceased to be idle, the epoch; in the lower half the
    /// blocks that have spun for long in this one. A block that reports has read, since the epoch began, all that
    /// others wrote before.
    word: AtomicU64,
    /// Threads of the host that still run blocks.
    workers: AtomicU32,
    /// Who waits for what in the blocks that have spun for long, by the epoch.
    waits: Mutex<(u32, Waits)>,
}

impl Quiet {
    pub(super) fn new(workers: u32) -> Self {
        Self { word: AtomicU64::new(1 << 32), workers: workers.into(), waits: Mutex::default() }
    }

    /// Begins a new epoch.
    fn disturb(&self) {
        let _ = self.word.fetch_update(SeqCst, SeqCst, |word| Some(((word >> 32) + 1) << 32));
    }

    fn epoch(&self) -> u32 {
        (self.word.load(SeqCst) >> 32) as u32
    }

    /// Counts a block that has spun for long, if the epoch has not changed meanwhile. What its threads wait for is
    /// noted before.
    fn report(&self, epoch: u32, of_block: Waits) -> bool {
        let mut waits = self.waits.lock().unwrap_or_else(PoisonError::into_inner);
        if self.epoch() != epoch {
            return false;
        }
        if waits.0 != epoch {
            *waits = (epoch, Waits::default());
        }
        waits.1.extend(of_block);
        drop(waits);
        let count = |word| ((word >> 32) as u32 == epoch).then_some(word + 1);
        self.word.fetch_update(SeqCst, SeqCst, count).is_ok()
    }

    /// Whether all have reported in this epoch.
    fn complete(&self, epoch: u32) -> bool {
        // Their number first: if one has left before this load, the word is of the epoch that it began by leaving.
        let workers = self.workers.load(SeqCst);
        self.word.load(SeqCst) == (epoch as u64) << 32 | workers as u64
    }

    /// Who waits for what in the blocks that reported in this epoch.
    fn waits(&self, epoch: u32) -> Waits {
        let waits = self.waits.lock().unwrap_or_else(PoisonError::into_inner);
        if waits.0 == epoch { waits.1.clone() } else { Waits::default() }
    }

    /// One worker has run its last block.
    pub(super) fn leave(&self) {
        // Before the number falls: a report from before the last block's writes must not count against the lower one.
        self.disturb();
        self.workers.fetch_sub(1, SeqCst);
        // And behind it: those that are left report again, all against the same number.
        self.disturb();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicBool;

    /// One worker has looked in vain, and reports; the other does what the first looks for, and leaves. That is no end
    /// of the first one's wait.
    #[test]
    fn a_worker_that_leaves_is_not_overlooked() {
        const TIMES: usize = if cfg!(miri) { 20 } else { 100_000 };
        let rounds: Vec<_> = (0..TIMES).map(|_| (Quiet::new(2), AtomicBool::new(false))).collect();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for (quiet, reported) in &rounds {
                    while !reported.load(SeqCst) {
                        std::hint::spin_loop();
                    }
                    quiet.leave();
                }
            });
            let mut overlooked = 0;
            for (quiet, reported) in &rounds {
                let epoch = quiet.epoch();
                assert!(quiet.report(epoch, Waits::default()));
                reported.store(true, SeqCst);
                while quiet.epoch() == epoch {
                    overlooked += u32::from(quiet.complete(epoch));
                }
            }
            assert_eq!(overlooked, 0, "what was reported is older than what the other did");
        });
    }
}
