//! What is checked, and the report of a check.

use super::super::finding::{Finding, Kind};
use super::super::words::plural;
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
    /// Choices in which a schedule may differ from the plain one. [`shortest`](super::super::shortest) lowers it.
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
    pub(in crate::sim) fn add(&mut self, other: Report) {
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
