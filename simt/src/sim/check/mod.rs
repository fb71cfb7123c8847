//! Checks of kernels, while the simulator runs them: races, memory that nobody wrote, barriers and warp operations used
//! wrongly, copies that nobody waited for.
//!
//! Races are judged by meaning, not by what a schedule happened to do. Two accesses to a word, one of them a write, are
//! in order only if something orders them: a barrier of the block, [`sync_warp`](crate::warp::sync_warp) for the lanes
//! of its mask, a release and an acquire whose scopes reach each other, a barrier in shared memory, the end of a launch
//! (clock.rs). So a race is found although this run gave the right result. Whether a thread comes to an access can
//! depend on the schedule, though, and so can the result of atomic operations: that is why a check runs several
//! schedules, some of them hostile (schedule.rs).
//!
//! What lies outside of the model is not modelled ([`NOT_MODELLED`]), and never called right.

mod clock;
mod finding;
mod groups;
mod missing;
mod run;
mod schedule;
mod session;
mod shadow;
mod sites;
mod state;
mod sync;

pub use finding::{Element, Finding, Kind, Memory, Side, Site};

pub(super) use run::launch;
pub(super) use session::{Session, Touch, Use};
pub(super) use shadow::Map;
pub(super) use state::BlockState;
pub(super) use sync::{Half, Moved};

use super::plural;
use crate::{Global, Scalar};
use std::cell::Cell;
use std::fmt;

/// What no check says anything about, in words, for the reports.
pub const NOT_MODELLED: &str = "what the compiler makes of accesses, warps in lockstep, how a GPU rounds sums of \
                                floats, caches, and the time that anything takes";

/// What to check, and how often.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Check {
    /// The seed of the first schedule; the others follow it.
    pub seed: u64,
    /// Schedules to run. The first eight from seed 0 on are one of each kind, the plain one first.
    pub schedules: u32,
    /// Whether two threads may write the same value to a word without an order between them.
    pub allow_same_value: bool,
    /// Choices in which a schedule may differ from the plain one. [`shortest`] lowers it.
    pub choices: u32,
}

impl Default for Check {
    fn default() -> Self {
        Self { seed: 0, schedules: 8, allow_same_value: false, choices: u32::MAX }
    }
}

/// What a check found.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// One per mistake and pair of source lines, causes first and then in the order of their discovery.
    pub findings: Vec<Finding>,
    /// Schedules that were run.
    pub schedules: u32,
    /// Launches, and accesses to memory, over all schedules.
    pub launches: u64,
    /// Accesses to memory by threads and copies.
    pub accesses: u64,
    /// Accesses that were not remembered, so that later ones to their words are not judged against them: a check takes
    /// less than 4 GiB of memory.
    pub not_judged: u64,
}

impl Report {
    /// Whether nothing was found.
    pub fn is_clean(&self) -> bool {
        self.findings.is_empty()
    }

    /// The kinds of the findings, each once.
    pub fn kinds(&self) -> Vec<Kind> {
        let mut kinds: Vec<Kind> = self.findings.iter().map(|f| f.kind).collect();
        kinds.sort();
        kinds.dedup();
        kinds
    }

    /// The extent of the check, if there are no `mistakes`, or else their number; and what was not judged.
    pub fn summary(&self, mistakes: usize) -> String {
        let counted = |n: u64, one: &str| format!("{n} {}", plural(n, one));
        let (launches, accesses) = (counted(self.launches, "launch"), counted(self.accesses, "access"));
        let first = match mistakes {
            0 => format!("nothing found under {}, {launches}, {accesses}", counted(self.schedules.into(), "schedule")),
            n => counted(n as u64, "finding"),
        };
        match self.not_judged {
            0 => first,
            1 => format!("{first}\n  1 access was too many to remember; later ones are not judged against it"),
            n => format!("{first}\n  {n} accesses were too many to remember; later ones are not judged against them"),
        }
    }

    /// Adds the findings of another run; one that is known already is told as the run shows it that tells most.
    fn add(&mut self, other: Report) {
        for finding in other.findings {
            match self.findings.iter_mut().find(|known| known.is_same(&finding)) {
                Some(known) => {
                    let more = if known.seed == finding.seed { finding.count } else { 0 };
                    if known.weight() < finding.weight() {
                        let more = if more == 0 { 0 } else { known.count };
                        *known = Finding { count: finding.count + more, ..finding };
                    } else {
                        known.count += more;
                    }
                }
                None => self.findings.push(finding),
            }
        }
        self.findings.sort_by_key(|finding| finding.kind.follows());
        self.schedules += other.schedules;
        self.launches += other.launches;
        self.accesses += other.accesses;
        self.not_judged += other.not_judged;
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.summary(self.findings.len()))?;
        self.findings.iter().try_for_each(|finding| write!(f, "\n\n{finding}"))
    }
}

/// The outcome of a check.
#[derive(Clone, Debug)]
pub struct Checked<R> {
    /// What the work returned under each schedule. Where the results differ and should not, the kernel depends on the
    /// order of its threads.
    pub results: Vec<R>,
    /// What was found.
    pub report: Report,
}

thread_local! {
    /// The check that this thread of the host makes; null where it makes none.
    static SESSION: Cell<*mut Session> = const { Cell::new(std::ptr::null_mut()) };
}

/// Runs `work` once per schedule and checks the kernels that it launches from this thread. They run on this thread, a
/// few blocks at a time.
///
/// Memory that `work` allocates ([`HostMemory`](super::HostMemory)) counts as unwritten until a kernel, or the host by
/// [`host_wrote`], has written it; other memory counts as written.
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
    /// Ends the check also when `work` panics.
    struct Guard;
    impl Drop for Guard {
        fn drop(&mut self) {
            SESSION.set(std::ptr::null_mut());
        }
    }
    assert!(SESSION.get().is_null(), "this thread makes a check already");
    assert!(!super::in_kernel(), "a check is of launches, and a kernel launches none");
    let session = Box::into_raw(Box::new(Session::new(options)));
    SESSION.set(session);
    let guard = Guard;
    let result = work();
    drop(guard);
    // SAFETY: made above; nobody else knows the pointer any more.
    let mut session = unsafe { Box::from_raw(session) };
    let report = session.take_report();
    (result, report, session)
}

/// The running check of this thread.
#[inline]
pub(super) fn active() -> Option<&'static mut Session> {
    // SAFETY: the session lives while the pointer is set. All of this runs on one thread, and no function that is given
    // the reference suspends a thread of a block or calls the user's code while it holds it.
    unsafe { SESSION.get().as_mut() }
}

/// Tells the check, if there is one, that the host has written the bytes of a view.
pub fn host_wrote(address: *const u8, bytes: usize) {
    if let Some(session) = active() {
        session.overwritten(address as u64, bytes as u64, shadow::HOST);
    }
}

/// Tells the check, if there is one, that bytes were set between launches, which counts as what launches do
/// ([`expect_written`]).
pub fn host_cleared(address: *const u8, bytes: usize) {
    if let Some(session) = active() {
        session.overwritten(address as u64, bytes as u64, session::LAUNCHER);
    }
}

/// Memory begins to exist.
pub(super) fn allocated(address: *const u8, bytes: usize) {
    if let Some(session) = active() {
        session.allocated(address as u64, bytes as u64);
    }
}

/// Memory ceases to exist.
pub(super) fn freed(address: *const u8) {
    if let Some(session) = active() {
        session.freed(address as u64);
    }
}

/// Tells the check, if there is one, that the launches so far should have written all elements of a view: each element
/// that they did not write is a finding ([`Kind::Unwritten`]). What the host wrote before does not count; what the
/// launcher cleared does.
pub fn expect_written<T: Scalar>(view: Global<T>) {
    if let Some(session) = active() {
        session.expect_written(view.as_ptr() as u64, view.len(), size_of::<T>() as u32);
    }
}
