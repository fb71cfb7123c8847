//! `rungs check`: the simulator's checks of a family's kernels, under several schedules.

use super::Common;
use crate::algorithms::{Family, Parameters, Rung, Size, Workload};
use crate::counters::{self, Kernel};
use crate::data::{Distribution, Dtype, Size as Count};
use crate::error::{Error, Result};
use crate::measure::attempt;
use crate::report;
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use simt::sim::{self, Check, Report};
use std::time::Duration;

/// Elements that a check takes by default, at most: enough for several blocks of every rung, and for seconds.
const ELEMENTS: u64 = 5000;

/// The side of a matrix, likewise.
const SIDE: u64 = 70;

pub(super) fn command() -> Command {
    Command::new("check")
        .about("Check a family's kernels on the simulator: races, barriers, memory, under hostile schedules")
        .args([
            Arg::new("family").value_name("FAMILY").required(true).help("The family, or all"),
            Arg::new("rung").long("rung").value_name("RUNG").help("One rung [default: every rung]"),
            Arg::new("n")
                .long("n")
                .value_name("N")
                .help("How many elements, or the side of a matrix [default: 5000 or 70]")
                .value_parser(value_parser!(Count)),
            Arg::new("dtype").long("dtype").value_name("TYPE").help("Element type").value_parser(value_parser!(Dtype)),
            Arg::new("keys")
                .long("keys")
                .value_name("DISTRIBUTION")
                .help("Distribution of drawn elements")
                .value_parser(value_parser!(Distribution)),
            Arg::new("schedules")
                .long("schedules")
                .value_name("K")
                .help("How many schedules; the first eight are one of each kind")
                .default_value("8")
                .value_parser(value_parser!(u32).range(1..)),
            Arg::new("schedule")
                .long("schedule")
                .value_name("S")
                .help("The first schedule, as findings name it")
                .default_value("0")
                .value_parser(value_parser!(u64)),
            Arg::new("stats")
                .long("stats")
                .help("Also what a GPU would do, line by line: sectors, bank conflicts, barriers")
                .action(ArgAction::SetTrue),
        ])
}

/// What was found in one rung.
struct Checked {
    family: &'static Family,
    rung: &'static Rung,
    size: Size,
    dtype: Dtype,
    report: Report,
    /// The errors of the runs, each once.
    errors: Vec<String>,
    /// The reason why it was not run, if it was not.
    skipped: Option<String>,
    /// What the kernels do, line by line, if that is asked for.
    kernels: Vec<Kernel>,
}

pub(super) fn run(matches: &ArgMatches, common: &Common) -> Result<()> {
    common.on_simulator("check")?;
    let name = matches.get_one::<String>("family").map_or("", String::as_str);
    let families: Vec<&'static Family> = match name {
        "all" => crate::algorithms::FAMILIES.iter().collect(),
        name => vec![super::family_named(name)?],
    };
    let mut all = vec![];
    for family in families {
        let rungs = match matches.get_one::<String>("rung") {
            Some(name) => vec![family.rung(name)?],
            None => family.rungs.to_vec(),
        };
        let mut progress = common.progress(rungs.len());
        for rung in rungs {
            progress.step(format!("{} {}", family.name, rung.name));
            all.push(check(family, rung, matches, common)?);
        }
    }
    for checked in &all {
        print(checked)?;
    }
    let findings: usize = all.iter().map(|c| c.report.findings.len() + c.errors.len()).sum();
    match findings {
        0 => Ok(()),
        count => Err(Error::Found { count }),
    }
}

fn check(family: &'static Family, rung: &'static Rung, matches: &ArgMatches, common: &Common) -> Result<Checked> {
    let n = matches.get_one::<Count>("n").map(|n| n.0);
    let size = match family.sizes.simulator {
        Size::Product { .. } => {
            let side = n.unwrap_or(SIDE);
            // Sides that differ show which is taken for which.
            Size::Product { m: side, n: side + u64::from(n.is_none()), k: side + 2 * u64::from(n.is_none()) }
        }
        Size::Elements(_) => {
            let n = n.unwrap_or(ELEMENTS);
            Size::Elements(rung.capacity.map_or(n, |c| n.min(c)))
        }
    };
    let dtype = matches.get_one::<Dtype>("dtype").copied().unwrap_or(family.dtypes[0]);
    family.check_dtype(dtype)?;
    let problem = family.make(Workload {
        size,
        dtype,
        distribution: matches.get_one("keys").cloned().unwrap_or(family.input),
        seed: common.seed,
        input: None,
        parameters: Parameters::default(),
    })?;
    let options = Check {
        seed: matches.get_one("schedule").copied().unwrap_or(0),
        schedules: matches.get_one("schedules").copied().unwrap_or(1),
        ..Check::default()
    };
    let checked = sim::check(options, || attempt(&common.simulator(), family, rung, &*problem, dtype, Duration::MAX));
    let mut errors: Vec<String> = vec![];
    let skipped = checked.results.iter().find_map(|row| row.skipped.clone());
    for (row, schedule) in checked.results.into_iter().zip(options.seed..) {
        // What ended a kernel is a finding already.
        let ended = checked.report.findings.iter().any(|f| row.error.as_ref().is_some_and(|e| e.contains(f.kernel)));
        if let Some(error) = row.error.filter(|_| !ended) {
            errors.push(format!("{error} (under schedule {schedule})"));
        }
    }
    errors.truncate(1);
    // Of a run without the checks, whose schedules take more turns.
    let kernels = match matches.get_flag("stats") && skipped.is_none() && errors.is_empty() {
        true => counters::kernels(&counters::count(&common.simulator(), &*problem, rung)?),
        false => vec![],
    };
    Ok(Checked { family, rung, size, dtype, report: checked.report, errors, skipped, kernels })
}

fn print(checked: &Checked) -> Result<()> {
    let Checked { family, rung, size, dtype, report: found, errors, skipped, kernels } = checked;
    let size = match size {
        Size::Elements(n) => report::count(*n),
        Size::Product { m, n, k } => format!("{m}x{k}x{n}"),
    };
    let mut text = format!("{} {}, {size} {dtype}: ", family.name, rung.name);
    if let Some(why) = skipped {
        text += &format!("skipped, {why}\n");
        return crate::report::print(&text);
    }
    let count = found.findings.len() + errors.len();
    text += &match count {
        0 => format!(
            "nothing found under {} schedules, {} launches, {} accesses\n",
            found.schedules, found.launches, found.accesses
        ),
        1 => "1 finding\n".into(),
        n => format!("{n} findings\n"),
    };
    if found.not_judged > 0 {
        text += &format!(
            "  {} accesses were too many to remember; later ones are not judged against them\n",
            found.not_judged
        );
    }
    for finding in found.findings.iter().map(|f| f.to_string()).chain(errors.iter().cloned()) {
        text += &format!("\n{finding}\n");
    }
    for kernel in kernels {
        text += &format!("\n{}", counters::kernel_text(kernel));
    }
    if count > 0 || !kernels.is_empty() {
        text += "\n";
    }
    crate::report::print(&text)
}
