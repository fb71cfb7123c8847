//! `rungs sweep`: the experiments of the sources, over their whole range, next to the sources' own figures. Also the
//! sources' reports of single runs, `rungs bubble --report` and `rungs cubes --report`.

mod bubble;
mod cubes;
mod heat;
mod history;
mod radix;

use super::Common;
use crate::algorithms::{Family, Parameters, Problem, Rung, Size, Workload};
use crate::data::Size as Count;
use crate::measure::GPU_RUNS;
use crate::report;
use clap::{Arg, ArgMatches, Command, value_parser};
use rungs::engine::{DeviceInfo, Engine};
use rungs::error::Result;
use serde::Serialize;

pub(super) fn command() -> Command {
    Command::new("sweep")
        .about("Run an experiment of the sources over its whole range")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(bubble::command())
        .subcommand(cubes::command())
        .subcommand(radix::command())
        .arg(super::no_check_argument())
}

pub(super) fn run(matches: &ArgMatches, _: &Common) -> Result<()> {
    let refused = "sweep measures times, which a check would not leave as they are: rungs check FAMILY";
    matches.subcommand().map_or(Ok(()), |(_, arguments)| Common::from(arguments).without_check(refused))?;
    match matches.subcommand() {
        Some(("bubble", arguments)) => bubble::run(arguments, &Common::from(arguments)),
        Some(("cubes", arguments)) => cubes::run(arguments, &Common::from(arguments)),
        Some((_, arguments)) => radix::run(arguments, &Common::from(arguments)),
        None => Ok(()),
    }
}

/// Whether the source of a family has a report.
pub(super) fn has_report(family: &Family) -> bool {
    matches!(family.name, "bubble" | "cubes")
}

/// The report of a family's source: of one rung, or of the rungs that correspond to the source.
pub(super) fn report(
    family: &'static Family,
    rung: Option<&'static Rung>,
    n: Option<u64>,
    parameters: Parameters,
    common: &Common,
) -> Result<()> {
    match family.name {
        "bubble" => bubble::report(family, rung, n, common),
        _ => cubes::report(family, rung, n, parameters, common),
    }
}

/// An option with a list of counts.
fn counts(name: &'static str, value: &'static str, help: &'static str) -> Arg {
    let arg = Arg::new(name).long(name).value_name(value).help(help);
    arg.value_delimiter(',').value_parser(value_parser!(Count))
}

/// The value of such an option, or its default.
fn list(matches: &ArgMatches, name: &str, otherwise: &[u64]) -> Vec<u64> {
    matches.get_many::<Count>(name).map_or_else(|| otherwise.to_vec(), |counts| counts.map(|c| c.0).collect())
}

/// Milliseconds of a rung on fresh input each time, verified once.
fn time(engine: &Engine, rung: &Rung, problem: &dyn Problem) -> Result<f64> {
    crate::measure::time(engine, &mut *problem.prepare(engine, rung)?, GPU_RUNS)
}

/// A problem of `n` elements of the family's first type.
fn problem(family: &Family, n: u64, seed: u64, parameters: Parameters) -> Result<Box<dyn Problem>> {
    family.make(Workload {
        size: Size::Elements(n),
        dtype: family.dtypes[0],
        distribution: family.input,
        seed,
        input: None,
        parameters,
    })
}

/// The fields that every JSON report of this file begins with.
#[derive(Serialize)]
struct Report<'a, T: Serialize> {
    schema: u32,
    device: &'a DeviceInfo,
    seed: u64,
    experiment: &'static str,
    #[serde(flatten)]
    body: T,
}

fn json<T: Serialize>(engine: &Engine, common: &Common, experiment: &'static str, body: T) -> Result<()> {
    report::json(&Report { schema: report::SCHEMA, device: engine.info(), seed: common.seed, experiment, body })
}

/// A number with `decimals` decimals, or a dash.
fn number(value: Option<f64>, decimals: usize) -> String {
    value.map_or("-".into(), |v| format!("{v:.decimals$}"))
}
