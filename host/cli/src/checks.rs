//! Checks of rungs on the simulator, as reports show them: what `rungs check` and `--check` share.

use rungs::error::{Error, Result};
use serde::Serialize;
use simt::Dim3;
use simt::sim::{self, Check, LaunchError, Space};
use std::fmt;

/// What a check found.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Checked {
    /// Schedules that were run.
    pub schedules: u32,
    /// Launches, over all schedules.
    pub launches: u64,
    /// Accesses to memory by threads and copies.
    pub accesses: u64,
    /// Accesses that were too many to remember, so that later ones are not judged against them.
    pub not_judged: u64,
    /// What is wrong with the kernels.
    pub findings: Vec<Finding>,
    /// The first run that ended with an error or a wrong result, if no finding says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<Failure>,
    /// The extent of the check or the number of mistakes, in words.
    #[serde(skip)]
    head: String,
}

/// One thing that is wrong with a kernel.
#[derive(Clone, Debug, Serialize)]
pub struct Finding {
    /// What, in a word: `shared-race`.
    pub kind: &'static str,
    /// What that means, in one line.
    pub meaning: &'static str,
    /// The kernel.
    pub kernel: &'static str,
    /// The memory that it is about, where it is about memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<Memory>,
    /// The earlier access, where there are two.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first: Option<Side>,
    /// The access, or the thread, that showed it.
    pub second: Side,
    /// What would have been right.
    pub advice: String,
    /// How often it was seen in one run.
    pub count: u64,
    /// The way to see it again.
    #[serde(flatten)]
    pub again: Again,
    #[serde(skip)]
    text: String,
}

/// A word of memory.
#[derive(Clone, Debug, Serialize)]
pub struct Memory {
    /// `global` or `shared`.
    pub space: &'static str,
    /// The kernel's parameter that views it, counted from 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parameter: Option<usize>,
    /// The array in shared memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub array: Option<&'static str>,
    /// The element of that array.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub index: Option<u32>,
    /// Bytes from the beginning of the view or of shared memory; an address where the view is not known.
    pub offset: u64,
    /// Bytes that were accessed.
    pub bytes: u32,
    /// The same in words.
    pub text: String,
}

/// One of the accesses of a finding.
#[derive(Clone, Debug, Serialize)]
pub struct Side {
    /// What was done.
    pub what: String,
    /// Where, unless the host did it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub site: Option<Site>,
    /// The block in its grid.
    pub block: [u32; 3],
    /// The thread in its block.
    pub thread: [u32; 3],
    /// The thread's warp in its block.
    pub warp: u32,
    /// The bits that were read or written, in hexadecimal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
}

/// A place in a source file.
#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Site {
    pub file: String,
    pub line: u32,
    pub column: u32,
}

/// A run that ended with an error or a wrong result.
#[derive(Clone, Debug, Serialize)]
pub struct Failure {
    /// The error.
    pub error: String,
    /// The way to see it again.
    #[serde(flatten)]
    pub again: Again,
}

/// The way to see something again.
#[derive(Clone, Debug, Serialize)]
pub struct Again {
    /// The first schedule that showed it.
    pub schedule: u64,
    /// How many of the schedule's choices are enough.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub choices: Option<u32>,
    /// That schedule in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shortest: Option<String>,
    /// The command that shows it again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
}

impl Checked {
    /// Findings and failures.
    pub fn mistakes(&self) -> usize {
        self.findings.len() + usize::from(self.failure.is_some())
    }

    /// Whether nothing was found.
    pub fn is_clean(&self) -> bool {
        self.mistakes() == 0
    }

    /// All of it as text: one line, and a paragraph for each mistake.
    pub fn text(&self) -> String {
        let mut text = format!("{}\n", self.head);
        for finding in &self.findings {
            text += &format!("\n{}{}\n", finding.text, finding.again.text());
        }
        if let Some(Failure { error, again }) = &self.failure {
            text += &format!("\n{error} (under schedule {}){}\n", again.schedule, again.text());
        }
        text
    }
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, site, block, thread, .. } = self;
        write!(f, "block {}, thread {} {what}", Dim3(*block), Dim3(*thread))?;
        site.as_ref().map_or(Ok(()), |Site { file, line, column }| write!(f, " at {file}:{line}:{column}"))
    }
}

impl Again {
    fn text(&self) -> String {
        let line =
            |name: &str, what: &Option<String>| what.as_ref().map_or(String::new(), |w| format!("\n  {name}{w}"));
        line("fails under ", &self.shortest) + &line("again: ", &self.command)
    }
}

/// Checks the kernels that `work` launches. What is found is shown under the shortest schedule that still fails;
/// `command` is the call of the program that runs that schedule.
///
/// # Errors
/// What `work` says of a call that is unusable, or of memory or time that does not suffice, unless something was found.
pub fn check(
    options: Check,
    mut work: impl FnMut() -> Result<()>,
    command: Option<&dyn Fn(Check) -> String>,
) -> Result<Checked> {
    let sim::Checked { results, report } = sim::check(options, &mut work);
    let (mut failed, mut cut_short) = (None, None);
    for (result, seed) in results.into_iter().zip(options.seed..) {
        match result {
            Ok(()) => {}
            Err(error) if is_no_mistake(&error) => {
                cut_short.get_or_insert(error);
            }
            // What ended a kernel is a finding already.
            Err(Error::Launch(LaunchError::Fault(_))) => {}
            Err(error) => {
                failed.get_or_insert((error.to_string(), seed));
            }
        }
    }
    // What was found before time or memory ran out is found all the same.
    if let Some(error) = cut_short.take_if(|_| report.findings.is_empty() && failed.is_none()) {
        return Err(error);
    }
    let mut again = |seed, fails: &dyn Fn(&Result<()>, &sim::Report) -> bool| {
        let shortest = sim::shortest(Check { seed, ..options }, &mut work, fails);
        Again {
            schedule: seed,
            choices: shortest.as_ref().map(|shortest| shortest.check.choices),
            shortest: shortest.as_ref().map(ToString::to_string),
            command: shortest.zip(command).map(|(shortest, command)| command(shortest.check)),
        }
    };
    let shown = |finding: &sim::Finding| {
        let is_there = |_: &Result<()>, report: &sim::Report| report.findings.iter().any(|f| f.is_same(finding));
        Finding {
            kind: finding.kind.name(),
            meaning: finding.kind.meaning(),
            kernel: finding.kernel,
            memory: finding.memory.as_ref().map(memory),
            first: finding.first.as_ref().map(side),
            second: side(&finding.second),
            advice: finding.advice.clone(),
            count: finding.count,
            again: again(finding.seed, &is_there),
            text: finding.to_string(),
        }
    };
    let findings: Vec<Finding> = report.findings.iter().map(shown).collect();
    let failure = failed.map(|(error, seed)| {
        let wrong = |result: &Result<()>, _: &sim::Report| result.as_ref().is_err_and(|error| !is_no_mistake(error));
        Failure { error, again: again(seed, &wrong) }
    });
    let mut head = report.summary(findings.len() + usize::from(failure.is_some()));
    if let Some(error) = cut_short {
        head += &format!("\n  not all schedules ran to their end: {error}");
    }
    let sim::Report { schedules, launches, accesses, not_judged, .. } = report;
    Ok(Checked { schedules, launches, accesses, not_judged, findings, failure, head })
}

/// Whether an error says nothing of the kernels.
fn is_no_mistake(error: &Error) -> bool {
    matches!(error, Error::Usage(_) | Error::OutOfMemory { .. } | Error::Launch(LaunchError::OutOfTime { .. }))
}

fn memory(memory: &sim::Memory) -> Memory {
    let sim::Memory { space, parameter, element, offset, bytes } = *memory;
    Memory {
        space: match space {
            Space::Global => "global",
            Space::Shared => "shared",
        },
        parameter,
        array: element.map(|element| element.array),
        index: element.map(|element| element.index),
        offset,
        bytes,
        text: memory.to_string(),
    }
}

fn side(side: &sim::Side) -> Side {
    let site = |site: &sim::Site| Site { file: site.file.replace('\\', "/"), line: site.line, column: site.column };
    Side {
        what: side.what.clone(),
        site: side.site.as_ref().map(site),
        block: side.block.0,
        thread: side.thread.0,
        warp: side.warp,
        value: side.value.map(|value| format!("{value:#x}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rungs_gallery::{Simulated, Trial, named};
    use std::time::Duration;

    /// The check of a bug of the gallery.
    fn of(name: &str, schedules: u32) -> Checked {
        let (_, case) = named(name).unwrap();
        let work = || (case.run)(&Trial::new(&Simulated::default(), false)).map(drop).map_err(Error::from);
        let command = |check: Check| format!("again {} {}", check.seed, check.choices);
        check(Check { schedules, ..Check::default() }, work, Some(&command)).unwrap()
    }

    #[test]
    fn a_finding_is_shown_with_all_that_it_has() {
        let checked = of("left-neighbour", 1);
        let text = checked.text();
        assert!(checked.mistakes() == 1 && text.starts_with("1 finding\n"), "{text}");
        assert!(text.contains("\n  fails under any schedule, the plain one too\n  again: again 0 0\n"), "{text}");
        let json = serde_json::to_value(&checked).unwrap();
        let findings = json["findings"].as_array().unwrap();
        let race = findings.iter().find(|finding| finding["kind"] == "shared-race").unwrap();
        assert_eq!((&race["memory"]["space"], &race["memory"]["array"]), (&"shared".into(), &"TILE".into()));
        assert!(
            race["memory"]["index"].is_u64() && race["meaning"].is_string() && race["advice"].is_string(),
            "{race}"
        );
        for side in [&race["first"], &race["second"]] {
            assert!(side["site"]["file"].as_str().unwrap().ends_with("shared_races.rs"), "{side}");
            assert!(side["site"]["line"].is_u64() && side["thread"].is_array() && side["what"].is_string(), "{side}");
        }
        assert!(race["count"].as_u64() > Some(0));
        assert_eq!(
            (&race["schedule"], &race["choices"], &race["command"]),
            (&0.into(), &0.into(), &"again 0 0".into())
        );
    }

    /// A wait that hostile schedules alone bring about: as many choices as are needed, and not the plain schedule.
    #[test]
    fn the_shortest_schedule_is_named() {
        let checked = of("two-locks", 8);
        let Again { schedule, choices, shortest, command } = &checked.findings[0].again;
        let choices = choices.unwrap();
        assert!(*schedule > 0 && choices > 0, "{checked:?}");
        assert!(shortest.as_ref().unwrap().contains(&format!("schedule {schedule}: ")), "{shortest:?}");
        assert_eq!(command.as_deref(), Some(&*format!("again {schedule} {choices}")));
    }

    #[test]
    fn what_says_nothing_of_kernels_is_an_error() {
        let refused = check(Check::default(), || Err(Error::Usage("too many".into())), None);
        assert_eq!(refused.unwrap_err().to_string(), "too many");
        let wrong = || {
            Err(Error::Mismatch {
                family: "f".into(),
                rung: "r".into(),
                n: 8,
                index: 2,
                want: "7".into(),
                got: "9".into(),
            })
        };
        let late = || Err(Error::Launch(LaunchError::OutOfTime { kernel: "k", allowed: Duration::ZERO }));
        let mut runs = 0;
        let first_wrong_then_late = || {
            runs += 1;
            if runs == 1 { wrong() } else { late() }
        };
        let cut_short = check(Check { schedules: 3, ..Check::default() }, first_wrong_then_late, None).unwrap();
        assert_eq!(cut_short.mistakes(), 1, "the time that runs out later does not hide it");
        assert!(cut_short.text().contains("\n  not all schedules ran to their end: k"), "{}", cut_short.text());
        let failed = check(Check::default(), wrong, None).unwrap();
        assert_eq!((failed.mistakes(), failed.is_clean()), (1, false));
        assert!(failed.text().contains("element 2: got 9, expected 7 (under schedule 0)"), "{}", failed.text());
    }
}
