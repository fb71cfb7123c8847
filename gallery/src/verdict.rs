//! What the simulator's instruments say of a case.

use crate::case::{Case, Kind};
use crate::machine::Trial;
use crate::simulated::Simulated;
use simt::sim::stats::{Counts, statistics};
use simt::sim::{Check, Finding, check};
use std::string::{String, ToString};
use std::vec::Vec;
use std::{format, vec};

/// What a check of one version said.
#[derive(Clone, Debug, Default)]
pub struct Verdict {
    /// What names the bug, each once.
    pub kinds: Vec<Kind>,
    /// The checker's findings.
    pub findings: Vec<Finding>,
    /// The errors of launches that ended early, each once.
    pub errors: Vec<String>,
    /// The first wrong element of each kind of wrong output.
    pub wrong: Vec<String>,
    /// The statistics next to the clean twin's, where they name the bug.
    pub counts: Vec<String>,
}

impl Verdict {
    /// Whether nothing was found.
    pub fn is_clean(&self) -> bool {
        self.kinds.is_empty() && self.errors.is_empty() && self.wrong.is_empty()
    }

    /// Whether the case's bug was found, and nothing that the case does not name.
    pub fn names(&self, case: &Case) -> bool {
        self.kinds.contains(&case.finds[0]) && self.kinds.iter().all(|kind| case.finds.contains(kind))
    }
}

impl Case {
    /// Checks one version on the simulator under this many schedules, and compares its output and its statistics.
    pub fn check(&self, fixed: bool, schedules: u32) -> Verdict {
        let on = Simulated::default();
        let mut verdict = Verdict::default();
        for seed in 0..schedules.into() {
            let one = Check { seed, schedules: 1, ..Check::default() };
            let checked = check(one, || (self.run)(&Trial::new(&on, fixed)));
            for finding in checked.report.findings {
                if !verdict.findings.iter().any(|known| known.is_same(&finding)) {
                    verdict.findings.push(finding);
                }
            }
            for result in checked.results {
                let (list, what) = match result {
                    Ok(ended) => (&mut verdict.wrong, ended.difference()),
                    Err(error) => (&mut verdict.errors, Some(error.to_string())),
                };
                list.extend(what.filter(|what| !list.contains(what)));
            }
            // A wait for ever is long, and other schedules would show the same again.
            let hangs = matches!(self.finds[0], Kind::Deadlock | Kind::EndlessSpin);
            if hangs && verdict.findings.iter().any(|finding| finding.kind.hangs()) {
                break;
            }
        }
        for finding in &verdict.findings {
            let kind = Kind::ALL.into_iter().find(|kind| format!("{kind:?}") == format!("{:?}", finding.kind));
            verdict.kinds.extend(kind.filter(|kind| !verdict.kinds.contains(kind)));
        }
        if verdict.kinds.is_empty() && !verdict.wrong.is_empty() {
            verdict.kinds.push(Kind::WrongResult);
        }
        if !fixed && verdict.is_clean() {
            verdict.compare(self.counts(false), self.counts(true));
        }
        verdict
    }

    /// The counts of all launches of a version, in one run.
    fn counts(&self, fixed: bool) -> (Counts, Counts) {
        let on = Simulated::default();
        let (_, all) = statistics(|| (self.run)(&Trial::new(&on, fixed)));
        (all.sum(|of| of.is_global()), all.sum(|of| of.is_shared()))
    }
}

impl Verdict {
    fn compare(&mut self, (global, shared): (Counts, Counts), (twin_global, twin_shared): (Counts, Counts)) {
        // A fifth is more than what two versions of one kernel differ by that do the same.
        let more = |a: u64, b: u64| 5 * a > 6 * b;
        if more(global.sectors, twin_global.sectors) {
            self.kinds.push(Kind::MoreSectors);
            self.counts.push(format!("{} sectors of global memory; its twin {}", global.sectors, twin_global.sectors));
        }
        if more(shared.wavefronts, twin_shared.wavefronts) {
            self.kinds.push(Kind::MoreWavefronts);
            let (own, twin) = (shared.wavefronts, twin_shared.wavefronts);
            self.counts.push(format!("{own} wavefronts of shared memory; its twin {twin}"));
        }
    }

    /// All of it, as lines of text.
    pub fn text(&self) -> String {
        let mut lines: Vec<String> = vec![];
        lines.extend(self.findings.iter().map(ToString::to_string));
        if self.findings.is_empty() {
            lines.extend(self.errors.iter().cloned());
            lines.extend(self.wrong.iter().map(|what| format!("wrong result under some schedule: {what}")));
        }
        lines.extend(self.counts.iter().map(|what| format!("right, and slow: {what}")));
        if lines.is_empty() {
            lines.push("nothing".into());
        }
        lines.join("\n")
    }
}
