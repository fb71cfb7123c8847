//! `rungs fidelity`: the simulator's counters beside those of NVIDIA's profiler.

use super::Common;
use crate::data::Place;
use crate::error::{Error, Result};
use crate::fidelity::{self, Comparison, Quantity};
use crate::report::{self, Format, Grid};
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
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
                .help("Also write the profiler's report to a file")
                .value_parser(value_parser!(OsString))
                .conflicts_with("from"),
            Arg::new("launches")
                .long("launches")
                .help("Only run each rung once: what the profiler is started on")
                .action(ArgAction::SetTrue)
                .hide(true),
        ])
}

#[derive(Serialize)]
struct Report<'a> {
    schema: u32,
    seed: u64,
    results: &'a [Comparison],
}

pub(super) fn run(matches: &ArgMatches, common: &Common) -> Result<()> {
    let names: Vec<String> = matches.get_many::<String>("family").into_iter().flatten().cloned().collect();
    let cases = fidelity::cases(fidelity::families(&names)?.into_iter());
    if matches.get_flag("launches") {
        let engine = common.engine()?;
        return cases.into_iter().try_for_each(|case| fidelity::run(&engine, case, common.seed));
    }
    let text = match matches.get_one::<OsString>("from") {
        Some(path) => std::fs::read_to_string(path).map_err(|e| Error::reading(path.to_string_lossy(), &e))?,
        None => profile(matches, &names, common)?,
    };
    let mut progress = common.progress(cases.len());
    let tell = |case: &fidelity::Case| progress.step(format!("{} {}", case.family.name, case.rung.name));
    let comparisons = fidelity::compare(&cases, &fidelity::parse(&text)?, common.seed, tell)?;
    drop(progress);
    print(&comparisons, common)
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
    if let Some(path) = matches.get_one::<OsString>("save") {
        report::write_text(&Place::from(path.as_os_str()), &text)?;
    }
    if !output.status.success() {
        let errors = format!("{text}\n{}", String::from_utf8_lossy(&output.stderr));
        let lines: Vec<&str> = errors.lines().filter(|l| l.contains("==ERROR==") || l.starts_with("rungs:")).collect();
        return Err(Error::NoDevice(format!("the profiler failed ({}): {}", output.status, lines.join(" "))));
    }
    Ok(text)
}

fn print(comparisons: &[Comparison], common: &Common) -> Result<()> {
    if common.format == Format::Json {
        return report::json(&Report { schema: report::SCHEMA, seed: common.seed, results: comparisons });
    }
    let mut grid =
        Grid::new(&["family", "rung", "n", "launches", "quantity", "simulator", "ncu", "ratio"], &[2, 3, 5, 6, 7]);
    for c in comparisons {
        for &(quantity, ours, theirs) in &c.quantities {
            let ratio = if ours == theirs { "=".into() } else { format!("{:.4}", ours as f64 / theirs as f64) };
            let name = format!("{quantity:?}");
            grid.row([
                c.family.to_string(),
                c.rung.to_string(),
                c.n.to_string(),
                c.launches.to_string(),
                name,
                ours.to_string(),
                theirs.to_string(),
                ratio,
            ]);
        }
    }
    let _ = Quantity::ALL;
    if common.format == Format::Csv { grid.print_csv() } else { grid.print() }
}
