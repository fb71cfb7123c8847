//! `rungs check`: the simulator's checks of a family's kernels, under several schedules.

use super::Common;
use crate::algorithms::{Family, Problem, Rung, Size, Workload};
use crate::checks::{self, Again, Checked, Failure};
use crate::counters::{self, Kernel};
use crate::data::{Distribution, Dtype, Place, Size as Count};
use crate::measure::{Row, run_once};
use crate::mutants::{self, Tried};
use crate::report::{self, Format, Grid};
use crate::trace;
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use rungs::engine::{DeviceInfo, Engine};
use rungs::error::{Error, Result};
use serde::Serialize;
use simt::sim::{Check, NOT_MODELLED};
use std::ffi::OsString;

/// Elements that a check takes by default, at most: enough for several blocks of every rung, and for seconds.
const ELEMENTS: u64 = 5000;

/// The option that accepts what [`simt::sim::Kind::SameValueWrite`] names.
const ALLOW_SAME_VALUE: &str = "allow-same-value";

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
            Arg::new("choices")
                .long("choices")
                .value_name("CHOICES")
                .help("How many choices of each schedule may differ from the plain one [default: all]")
                .value_parser(value_parser!(u32)),
            Arg::new(ALLOW_SAME_VALUE)
                .long(ALLOW_SAME_VALUE)
                .help("Accept two threads that write the same value to one word, with nothing that orders them")
                .action(ArgAction::SetTrue),
            Arg::new("mutants")
                .long("mutants")
                .help("Leave out or weaken each synchronisation in turn: what does the check find?")
                .action(ArgAction::SetTrue)
                .conflicts_with_all(["stats", "choices"]),
            Arg::new("html")
                .long("html")
                .value_name("FILE")
                .help("Also write an HTML page that plays a run, under the schedule of a finding if there is one")
                .value_parser(value_parser!(OsString))
                .requires("rung")
                .conflicts_with("mutants"),
            Arg::new("stats")
                .long("stats")
                .help("Also what a GPU would do, line by line: sectors, bank conflicts, barriers")
                .action(ArgAction::SetTrue),
        ])
}

/// What was found in one rung.
#[derive(Serialize)]
struct Outcome {
    #[serde(flatten)]
    row: Row,
    /// What the kernels do, line by line, if that is asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    kernels: Vec<Kernel>,
    /// The page that plays a run, if that is asked for.
    #[serde(skip)]
    page: Option<String>,
}

#[derive(Serialize)]
struct Page<'a> {
    schema: u32,
    device: &'a DeviceInfo,
    seed: u64,
    results: &'a [Outcome],
    not_modelled: String,
}

pub(super) fn run(matches: &ArgMatches, common: &Common) -> Result<()> {
    common.on_simulator("check")?;
    let page = matches.get_one::<OsString>("html").map(|name| Place::from(name.as_os_str()));
    if let Some(place) = &page {
        report::writable(place)?;
        if *place == Place::Standard {
            super::refuse_unused(matches, &["format", "stats"], "the page goes to standard output, and nothing else")?;
        }
    }
    let name = matches.get_one::<String>("family").map_or("", String::as_str);
    let families: Vec<&'static Family> = match name {
        "all" => crate::algorithms::FAMILIES.iter().collect(),
        name => vec![super::family_named(name)?],
    };
    let engine = common.simulator();
    if matches.get_flag("mutants") {
        return try_mutants(&engine, &families, matches, common);
    }
    let mut all = vec![];
    for family in families {
        let rungs = rungs(family, matches)?;
        let mut progress = common.progress(rungs.len());
        for rung in rungs {
            progress.step(format!("{} {}", family.name, rung.name));
            all.push(check(&engine, family, rung, matches, common)?);
        }
    }
    if let Some((place, html)) = page.as_ref().zip(all.last().and_then(|outcome| outcome.page.as_ref())) {
        report::write_text(place, html)?;
    }
    match common.format {
        _ if page == Some(Place::Standard) => {}
        Format::Json => {
            let (device, results) = (engine.info(), &all[..]);
            let (schema, seed, not_modelled) = (report::SCHEMA, common.seed, not_modelled());
            report::json(&Page { schema, device, seed, results, not_modelled })?;
        }
        Format::Csv => csv(&all)?,
        Format::Text => {
            all.iter().try_for_each(|outcome| report::print(&text(outcome)))?;
            report::print(&format!("\nnot modelled: {}\n", not_modelled()))?;
        }
    }
    match all.iter().filter_map(|outcome| outcome.row.checked.as_ref()).map(Checked::mistakes).sum() {
        0 => Ok(()),
        count => Err(Error::Found { count }),
    }
}

/// The rungs of a family that are asked for.
fn rungs(family: &'static Family, matches: &ArgMatches) -> Result<Vec<&'static Rung>> {
    match matches.get_one::<String>("rung") {
        Some(name) => Ok(vec![family.rung(name)?]),
        None => Ok(family.rungs.to_vec()),
    }
}

/// A rung's changes.
#[derive(Serialize)]
struct Mutants {
    family: &'static str,
    rung: &'static str,
    mutants: Vec<Tried>,
}

#[derive(Serialize)]
struct MutantsPage<'a> {
    schema: u32,
    seed: u64,
    results: &'a [Mutants],
}

/// `--mutants`: each rung with each of its changes.
fn try_mutants(engine: &Engine, families: &[&'static Family], matches: &ArgMatches, common: &Common) -> Result<()> {
    let mut all = vec![];
    let multiprocessors = engine.multiprocessors();
    for &family in families {
        let rungs = rungs(family, matches)?;
        let mut progress = common.progress(rungs.len());
        for rung in rungs {
            progress.step(format!("{} {}", family.name, rung.name));
            let made = || problem(family, rung, matches, common);
            // A wrong option ends the command; a rung that refuses the input is skipped.
            made()?;
            // Problems and engines stay on their threads.
            let begin = || {
                let ((problem, _), engine) = (made()?, Engine::simulator_with(multiprocessors));
                Ok(move || problem.prepare(&engine, rung).and_then(|mut prepared| run_once(&mut *prepared)))
            };
            match mutants::try_all(options(matches), begin) {
                Ok(mutants) => all.push(Mutants { family: family.name, rung: rung.name, mutants }),
                Err(Error::Usage(why)) => common.note(&format!("{} {} is skipped: {why}", family.name, rung.name)),
                Err(why) => return Err(why),
            }
        }
    }
    let mut grid = Grid::new(&["family", "rung", "place", "changed", "found_by"], &[]);
    for Mutants { family, rung, mutants } in &all {
        for tried in mutants {
            grid.row([family.to_string(), rung.to_string()].into_iter().chain(tried.cells()));
        }
    }
    match common.format {
        Format::Json => report::json(&MutantsPage { schema: report::SCHEMA, seed: common.seed, results: &all }),
        Format::Csv => grid.print_csv(),
        Format::Text => {
            grid.print()?;
            let tried: Vec<_> = all.into_iter().flat_map(|rung| rung.mutants).collect();
            report::print(&format!("\n{}\n", mutants::summary(&tried)))
        }
    }
}

/// What no check says anything about, and where that is told at length.
fn not_modelled() -> String {
    format!("{NOT_MODELLED} (docs/fidelity.md)")
}

fn check(
    engine: &Engine,
    family: &'static Family,
    rung: &'static Rung,
    matches: &ArgMatches,
    common: &Common,
) -> Result<Outcome> {
    let (problem, dtype) = problem(family, rung, matches, common)?;
    let options = options(matches);
    let row = Row::new(engine, family, rung, &*problem, dtype);
    let run = || problem.prepare(engine, rung).and_then(|mut prepared| run_once(&mut *prepared));
    let row = match checks::check(options, run, Some(&|again| call(&row, matches, again))) {
        Ok(checked) => Row { verified: checked.is_clean(), ..row.judged(Some(checked)) },
        Err(why) => Row { skipped: Some(why.to_string()), ..row },
    };
    let page = match &row.checked {
        Some(checked) if matches.contains_id("html") => {
            Some(trace::run_page((family.name, rung.name), options, &checked.findings, run)?)
        }
        _ => None,
    };
    // Of a run without the checks, whose schedules take more turns.
    let kernels =
        match (matches.get_flag("stats") && row.skipped.is_none()).then(|| counters::count(engine, &*problem, rung)) {
            Some(Ok(statistics)) => counters::kernels(&statistics),
            // What ends the kernels is a finding already.
            Some(Err(why)) if row.verified => return Err(why),
            _ => vec![],
        };
    Ok(Outcome { row, kernels, page })
}

/// What the rung is given, and the type of its elements.
fn problem(
    family: &'static Family,
    rung: &'static Rung,
    matches: &ArgMatches,
    common: &Common,
) -> Result<(Box<dyn Problem>, Dtype)> {
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
    let dtype = matches.get_one::<Dtype>("dtype").copied().unwrap_or_else(|| family.usual_dtype(rung));
    family.check_dtype(dtype)?;
    let workload = Workload {
        size,
        dtype,
        distribution: matches.get_one("keys").cloned().unwrap_or(family.input),
        seed: common.seed,
        input: None,
        parameters: family.usual(rung),
    };
    Ok((family.make(workload)?, dtype))
}

/// What to check, and how often.
fn options(matches: &ArgMatches) -> Check {
    Check {
        seed: matches.get_one("schedule").copied().unwrap_or(0),
        schedules: matches.get_one("schedules").copied().unwrap_or(1),
        choices: matches.get_one("choices").copied().unwrap_or(u32::MAX),
        allow_same_value: matches.get_flag(ALLOW_SAME_VALUE),
    }
}

/// The call that checks a rung as `matches` say, under other schedules.
fn call(row: &Row, matches: &ArgMatches, again: Check) -> String {
    let mut words = vec!["rungs check".into(), row.family.into(), format!("--rung {}", row.rung)];
    let mut given = |name: &str| {
        let values = matches.try_get_raw(name).ok().flatten().into_iter().flatten();
        words.extend(values.map(|value| format!("--{name} {}", value.to_string_lossy())));
    };
    ["n", "dtype", "keys", "seed"].into_iter().for_each(&mut given);
    let Check { seed, choices, allow_same_value, .. } = again;
    words.extend(allow_same_value.then(|| format!("--{ALLOW_SAME_VALUE}")));
    words.push(format!("--schedules 1 --schedule {seed} --choices {choices}"));
    words.join(" ")
}

fn text(outcome: &Outcome) -> String {
    let Outcome { row, kernels, .. } = outcome;
    let mut text = format!("{} {}, {} {}: ", row.family, row.rung, report::size(row), report::dtype(row));
    match (&row.checked, &row.skipped) {
        (Some(checked), _) => text += &checked.text(),
        (None, why) => text += &format!("skipped, {}\n", why.as_deref().unwrap_or_default()),
    }
    for kernel in kernels {
        text += &format!("\n{}", counters::kernel_text(kernel));
    }
    if row.error.is_some() || !kernels.is_empty() {
        text += "\n";
    }
    text
}

/// A line for each finding, and one for each rung without any.
fn csv(outcomes: &[Outcome]) -> Result<()> {
    let own = ["verified", "skipped", "schedules", "mistake", "kernel", "memory", "first", "second", "advice", "count"];
    let mut grid = Grid::new(&[&report::CSV_COLUMNS[..], &own, &["schedule", "shortest", "command"]].concat(), &[]);
    for Outcome { row, .. } in outcomes {
        let schedules = row.checked.as_ref().map_or(String::new(), |checked| checked.schedules.to_string());
        let head = [row.verified.to_string(), row.skipped.clone().unwrap_or_default(), schedules];
        let mut line = |mistake: [String; 7], again: Option<&Again>| {
            let again = again.map_or_else(Default::default, |again| {
                let text = |text: &Option<String>| text.clone().unwrap_or_default();
                [again.schedule.to_string(), text(&again.shortest), text(&again.command)]
            });
            grid.row(report::csv_cells(row).into_iter().chain(head.clone()).chain(mistake).chain(again));
        };
        let mistakes = row.checked.as_ref().filter(|checked| !checked.is_clean());
        let Some(Checked { findings, failure, .. }) = mistakes else {
            line(Default::default(), None);
            continue;
        };
        for found in findings {
            let memory = found.memory.as_ref().map_or(String::new(), |memory| memory.text.clone());
            let first = found.first.as_ref().map_or(String::new(), ToString::to_string);
            let (kind, kernel, second) = (found.kind.into(), found.kernel.into(), found.second.to_string());
            let mistake = [kind, kernel, memory, first, second, found.advice.clone(), found.count.to_string()];
            line(mistake, Some(&found.again));
        }
        if let Some(Failure { error, again }) = failure {
            let mut mistake: [String; 7] = Default::default();
            mistake[0].clone_from(error);
            line(mistake, Some(again));
        }
    }
    grid.print_csv()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_options_reach_the_check_and_the_call_that_repeats_it() {
        let of = |arguments: &[&str]| {
            let matches = command().try_get_matches_from([&["check", "scan"], arguments].concat()).unwrap();
            options(&matches)
        };
        assert_eq!(of(&[]), Check::default());
        let asked = of(&["--schedules", "3", "--schedule", "5", "--choices", "7", "--allow-same-value"]);
        assert_eq!(asked, Check { seed: 5, schedules: 3, allow_same_value: true, choices: 7 });

        let family = super::super::family_named("scan").unwrap();
        let (engine, rung) = (Engine::simulator(), family.rungs[0]);
        let problem = family
            .make(Workload {
                size: Size::Elements(9),
                dtype: family.dtypes[0],
                distribution: family.input,
                seed: 1,
                input: None,
                parameters: family.usual(rung),
            })
            .unwrap();
        let row = Row::new(&engine, family, rung, &*problem, family.dtypes[0]);
        let matches = super::super::command().try_get_matches_from(["rungs", "check", "scan", "--n", "9"]).unwrap();
        let matches = matches.subcommand_matches("check").unwrap();
        let again = call(&row, matches, Check { schedules: 1, ..asked });
        let want = format!(
            "rungs check scan --rung {} --n 9 --allow-same-value --schedules 1 --schedule 5 --choices 7",
            rung.name
        );
        assert_eq!(again, want);
    }
}
