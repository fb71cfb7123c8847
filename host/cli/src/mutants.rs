//! Which synchronisations of a rung a check, or its result, would miss: each is left out or weakened in turn.

use rungs::error::{Error, Result};
use serde::Serialize;
use simt::sim::mutant::{Mutant, mutants, mutated};
use simt::sim::{self, Check, LaunchError};
use std::sync::Mutex;
use std::time::{Duration, Instant};
use std::{iter, thread};

/// A change, and what showed it.
#[derive(Clone, Debug, Serialize)]
pub struct Tried {
    /// The source file.
    pub file: String,
    /// The line there.
    pub line: u32,
    /// The column there.
    pub column: u32,
    /// What was changed, in words.
    pub change: String,
    /// What showed it.
    pub shown: Shown,
}

/// What shows a change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Shown {
    /// The check, by findings of these kinds under the first schedule with any.
    ByCheck(Vec<&'static str>),
    /// The result alone, which was wrong.
    ByResult,
    /// Nothing.
    Not,
}

/// How long a schedule of a changed kernel may take, if one of the unchanged kernel takes `usual`. A change can make a
/// kernel repeat its work without end: one that counts again after an overflow does so if it reads its counters too
/// early.
fn patience(usual: Duration) -> Duration {
    20 * usual + Duration::from_secs(2)
}

/// Tries each change of the kernels that the work launches, under one of the check's schedules after the other until
/// the check finds something. A thread for each core takes one change after the other; `begin` gives it work of its
/// own.
///
/// # Errors
/// If the work fails unchanged, or its kernels are not clean.
pub fn try_all<W: FnMut() -> Result<()>>(options: Check, begin: impl Fn() -> Result<W> + Sync) -> Result<Vec<Tried>> {
    let mut work = begin()?;
    let begun = Instant::now();
    let (checked, all) = mutants(|| sim::check(options, &mut work));
    let allowed = patience(begun.elapsed() / options.schedules.max(1));
    checked.results.into_iter().collect::<Result<Vec<()>>>()?;
    if !checked.report.is_clean() {
        return Err(Error::Found { count: checked.report.findings.len() });
    }
    // Nearly all changes show under the first schedule: the others would only add kinds.
    let shown = |mutant, work: &mut W| {
        let mut shown = Shown::Not;
        for i in 0..options.schedules.max(1) {
            let one = Check { seed: options.seed.wrapping_add(i.into()), schedules: 1, ..options };
            let checked = mutated(mutant, || sim::within(allowed, || sim::check(one, &mut *work)));
            let sim::Checked { results, report } = checked;
            if !report.is_clean() {
                return Shown::ByCheck(report.kinds().into_iter().map(|kind| kind.name()).collect());
            }
            if results.iter().any(|result| matches!(result, Err(Error::Launch(LaunchError::OutOfTime { .. })))) {
                return Shown::ByCheck(vec!["out-of-time"]);
            }
            if results.iter().any(Result::is_err) {
                shown = Shown::ByResult;
            }
        }
        shown
    };
    let tried = |mutant: Mutant, work: &mut W| {
        let (Mutant { file, line, column, change }, shown) = (mutant, shown(mutant, work));
        Tried { file: file.replace('\\', "/"), line, column, change: change.to_string(), shown }
    };
    // Threads of our own: one of rayon's takes on other work while it waits, and a thread has one change at a time.
    let left = Mutex::new(all.into_iter().enumerate());
    let take = || left.lock().expect("an iterator does not panic").next();
    let of_thread = || {
        let mut work = begin()?;
        Ok(iter::from_fn(take).map(|(i, mutant)| (i, tried(mutant, &mut work))).collect())
    };
    let mut all = thread::scope(|scope| {
        let threads: Vec<_> = (0..sim::cores()).map(|_| scope.spawn(of_thread)).collect();
        threads.into_iter().map(|one| one.join().expect("a change does not panic")).collect::<Result<Vec<Vec<_>>>>()
    })?
    .concat();
    all.sort_by_key(|(i, _)| *i);
    Ok(all.into_iter().map(|(_, tried)| tried).collect())
}

impl Tried {
    /// Place, change, and what showed it.
    pub fn cells(&self) -> [String; 3] {
        let shown = match &self.shown {
            Shown::ByCheck(kinds) => kinds.join(", "),
            Shown::ByResult => "wrong result".into(),
            Shown::Not => "nothing".into(),
        };
        [format!("{}:{}:{}", self.file, self.line, self.column), self.change.clone(), shown]
    }
}

/// How many changes were found, and by what, in words.
pub fn summary(all: &[Tried]) -> String {
    let count = |shown: fn(&Shown) -> bool| all.iter().filter(|tried| shown(&tried.shown)).count();
    let (check, result) = (count(|s| matches!(s, Shown::ByCheck(_))), count(|s| *s == Shown::ByResult));
    let rest = all.len() - check - result;
    format!("{} changes: {check} found by the check, {result} by a wrong result alone, {rest} by nothing", all.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithms::{Size, Workload, family};
    use crate::measure::run_once;
    use rungs::engine::Engine;

    /// The changes of a rung with `n` elements.
    fn of(name: &str, rung: &str, n: u64, schedules: u32) -> Vec<Tried> {
        let family = family(name).unwrap();
        let rung = family.rung(rung).unwrap();
        let begin = || {
            let problem = family.make(Workload {
                size: Size::Elements(n),
                dtype: family.usual_dtype(rung),
                distribution: family.input,
                seed: 1,
                input: None,
                parameters: family.usual(rung),
            })?;
            let engine = Engine::simulator();
            Ok(move || problem.prepare(&engine, rung).and_then(|mut prepared| run_once(&mut *prepared)))
        };
        try_all(Check { schedules, ..Check::default() }, begin).unwrap()
    }

    /// No barrier, scope or fence of these rungs is missing without a finding.
    #[test]
    fn every_change_of_these_rungs_is_found() {
        for (family, rung, n, changes) in [
            ("reduce", "unrolled-warp", 5000, 3),
            ("reduce", "single-launch", 5000, 1),
            ("scan", "blelloch", 1000, 3),
            ("scan", "look-back", 60_001, 9),
        ] {
            let all = of(family, rung, n, 8);
            assert!(all.len() >= changes, "{family} {rung}: {all:?}");
            let missed: Vec<_> = all.iter().filter(|tried| !matches!(tried.shown, Shown::ByCheck(_))).collect();
            assert!(missed.is_empty(), "{family} {rung}: {missed:?}");
            assert!(summary(&all).ends_with("0 by a wrong result alone, 0 by nothing"), "{}", summary(&all));
        }
    }

    /// Without a barrier the histogram finds too few keys in its counters, and counts again without end.
    #[test]
    fn a_change_that_never_ends_is_found() {
        let all = of("radix", "msd-buckets", 1000, 1);
        let of_histogram = all.iter().filter(|tried| tried.file.ends_with("r8_msd_buckets/histogram.rs"));
        let barriers: Vec<_> = of_histogram.filter(|t| t.change == "without the barrier of the block").collect();
        assert!(barriers.len() >= 2 && barriers.iter().all(|t| matches!(t.shown, Shown::ByCheck(_))), "{all:?}");
    }

    /// The barrier before the clock is read changes no result, and nothing is accused.
    #[test]
    fn a_change_without_effect_is_not_found() {
        let all = of("cubes", "one-block", 5000, 2);
        assert!(all.iter().any(|tried| tried.shown == Shown::Not), "{all:?}");
    }
}
