//! `rungs fidelity`: the simulator's counters next to those of NVIDIA's profiler.

use super::Common;
use crate::data::Place;
use crate::fidelity::{self, Comparison, MEASURES};
use crate::report::{self, Format, Grid};
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use rungs::error::{Error, Result};
use serde::Serialize;
use std::ffi::OsString;

pub(super) fn command() -> Command {
    Command::new("fidelity")
        .about("Compare what the simulator counts with what ncu counts on a GPU, for every rung at three sizes")
        .args([
            Arg::new("family").value_name("FAMILY").help("Only these families").num_args(0..),
            Arg::new("ncu")
                .long("ncu")
                .value_name("PROGRAM")
                .help("NVIDIA's profiler, Nsight Compute [default: ncu]")
                .value_parser(value_parser!(OsString)),
            Arg::new("from")
                .long("from")
                .value_name("FILE")
                .help("Compare with this report of the profiler, and do not start it")
                .value_parser(value_parser!(OsString))
                .conflicts_with("ncu"),
            Arg::new("save")
                .long("save")
                .value_name("FILE")
                .help("Also write what is compared of the profiler's report to a file")
                .value_parser(value_parser!(OsString)),
            Arg::new("page")
                .long("page")
                .value_name("FILE")
                .help("Write the table into this page, between the lines that say so")
                .value_parser(value_parser!(OsString)),
            Arg::new("launches")
                .long("launches")
                .help("Only run each rung once: what the profiler is started on")
                .action(ArgAction::SetTrue)
                .hide(true),
            super::no_check_argument(),
        ])
}

#[derive(Serialize)]
struct Report<'a> {
    schema: u32,
    seed: u64,
    results: &'a [Comparison],
}

pub(super) fn run(matches: &ArgMatches, common: &Common) -> Result<()> {
    common.without_check("fidelity compares counts of launches that nothing examines: rungs check all")?;
    let names: Vec<String> = matches.get_many::<String>("family").into_iter().flatten().cloned().collect();
    let cases = fidelity::cases(fidelity::families(&names)?.into_iter());
    if matches.get_flag("launches") {
        let engine = common.engine()?;
        return cases.into_iter().try_for_each(|case| fidelity::run(&engine, case, common.seed));
    }
    for name in ["save", "page"] {
        let place = matches.get_one::<OsString>(name).map(|name| Place::from(name.as_os_str()));
        place.as_ref().map_or(Ok(()), report::writable)?;
    }
    let text = match matches.get_one::<OsString>("from") {
        Some(path) => std::fs::read_to_string(path).map_err(|e| Error::reading(path.to_string_lossy(), &e))?,
        None => profile(matches, &names, common)?,
    };
    let mut progress = common.progress(cases.len());
    let tell = |case: &fidelity::Case| progress.step(format!("{} {}", case.family.name, case.rung.name));
    let compared = fidelity::compare(&cases, &fidelity::parse(&text)?, common.seed, tell);
    drop(progress);
    if let Some(path) = matches.get_one::<OsString>("save") {
        // What could not be compared is not lost either: counting took the longest.
        let known = compared.as_ref().map_or(&[][..], |(comparisons, _)| comparisons);
        report::write_text(&Place::from(path.as_os_str()), &fidelity::shortened(&text, known)?)?;
    }
    let (comparisons, missing) = compared?;
    if let Some(page) = matches.get_one::<OsString>("page") {
        let text = std::fs::read_to_string(page).map_err(|e| Error::reading(page.to_string_lossy(), &e))?;
        report::write_text(&Place::from(page.as_os_str()), &fidelity::page(&text, &comparisons, &missing)?)?;
    }
    if !missing.is_empty() {
        common.note(&fidelity::not_measured(&missing));
    }
    print(&comparisons, common)?;
    let unknown = comparisons.iter().filter(|c| !c.reasons().1.is_empty()).count();
    if unknown > 0 { Err(Error::Found { count: unknown }) } else { Ok(()) }
}

/// Starts the profiler on this program; returns its report.
fn profile(matches: &ArgMatches, names: &[String], common: &Common) -> Result<String> {
    let ncu = matches.get_one::<OsString>("ncu").cloned().unwrap_or_else(|| "ncu".into());
    let program = std::env::current_exe().map_err(|e| Error::Usage(format!("this program has no path: {e}")))?;
    let seed = common.seed.to_string();
    let mut arguments = vec!["fidelity", "--launches", "--device", "cuda", "--seed", &seed];
    arguments.extend(names.iter().map(String::as_str));
    let output = fidelity::command(&ncu, program.as_os_str(), &arguments).output().map_err(|e| {
        let ncu = ncu.to_string_lossy();
        Error::NoDevice(format!("{ncu} does not start ({e}); it is part of the CUDA toolkit: --ncu names another"))
    })?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    if !output.status.success() {
        let errors = format!("{text}\n{}", String::from_utf8_lossy(&output.stderr));
        let lines: Vec<&str> = errors.lines().filter(|l| l.contains("==ERROR==") || l.starts_with("rungs:")).collect();
        return Err(Error::NoDevice(format!("the profiler failed ({}): {}", output.status, lines.join(" "))));
    }
    Ok(text)
}

fn print(comparisons: &[Comparison], common: &Common) -> Result<()> {
    match common.format {
        Format::Json => report::json(&Report { schema: report::SCHEMA, seed: common.seed, results: comparisons }),
        Format::Csv => {
            let mut grid =
                Grid::new(&["family", "rung", "n", "launches", "quantity", "simulator", "profiler", "equal"], &[]);
            for c in comparisons {
                for &(quantity, ours, theirs) in &c.quantities {
                    let name = format!("{quantity:?}");
                    let numbers = [c.n.to_string(), c.launches.to_string()];
                    let what = [c.family.to_string(), c.rung.to_string()];
                    let values = [ours.to_string(), theirs.to_string(), (ours == theirs).to_string()];
                    grid.row(what.into_iter().chain(numbers).chain([name]).chain(values));
                }
            }
            grid.print_csv()
        }
        Format::Text => {
            let names = MEASURES.map(|measure| measure.name);
            let mut grid = Grid::new(&[&["family", "rung", "n"], &names[..], &["verdict"]].concat(), &[2, 3, 4, 5, 6]);
            for c in comparisons {
                let place = [c.family.to_string(), c.rung.to_string(), report::count(c.n)];
                let cells = MEASURES.map(|measure| fidelity::cell(c, measure));
                grid.row(place.into_iter().chain(cells).chain([fidelity::verdict(c)]));
            }
            report::print(&format!(
                "one number: equal on both; else the simulator's and the GPU's\n\n{}\n",
                grid.text()
            ))
        }
    }
}
