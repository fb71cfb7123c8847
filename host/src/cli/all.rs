//! `rungs all`: every rung on real input, verified.

use super::Common;
use crate::algorithms::{FAMILIES, Family, Parameters, Problem, Rung, Size, Workload};
use crate::data::Size as Count;
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::measure::{Row, measure};
use crate::report;
use clap::{Arg, ArgMatches, Command, value_parser};
use std::io::IsTerminal;

pub(super) fn command() -> Command {
    Command::new("all").about("Run every rung on real input, verified, and print one table").arg(
        Arg::new("n")
            .long("n")
            .value_name("N")
            .help("Elements, or the side of a matrix, instead of each family's default; a rung with a smaller capacity takes that")
            .value_parser(value_parser!(Count)),
    )
}

pub(super) fn run(matches: &ArgMatches, common: &Common) -> Result<()> {
    let engine = common.engine()?;
    let n = matches.get_one::<Count>("n").map(|n| n.0);
    let progress = std::io::stderr().is_terminal();
    let mut rows = vec![];
    for family in FAMILIES.iter() {
        // Neighbouring rungs of the same size share the input and, above all, the oracle.
        let mut shared: Option<(Size, Box<dyn Problem>)> = None;
        for rung in family.rungs.iter().copied() {
            if progress {
                common.note(&format!("{} {}", family.name, rung.name));
            }
            let size = size(family, rung, &engine, n);
            let problem = match &mut shared {
                Some((same, problem)) if *same == size => problem,
                other => &mut other.insert((size, problem(family, size, common.seed)?)).1,
            };
            rows.push(row(&engine, family, rung, &**problem)?);
        }
    }
    report::runs(common.format, engine.info(), common.seed, &rows)?;
    verdict(&rows)
}

/// The size for a rung: what was asked for, or the family's default, but no more than the rung takes.
fn size(family: &Family, rung: &Rung, engine: &Engine, n: Option<u64>) -> Size {
    match (n, family.default_size(engine, rung)) {
        (Some(n), Size::Product { .. }) => Size::Product { m: n, n, k: n },
        (Some(n), Size::Elements(_)) => Size::Elements(rung.capacity.map_or(n, |c| n.min(c))),
        (None, size) => size,
    }
}

fn problem(family: &Family, size: Size, seed: u64) -> Result<Box<dyn Problem>> {
    let (dtype, distribution) = (family.dtypes[0], family.input);
    family.make(Workload { size, dtype, distribution, seed, input: None, parameters: Parameters::default() })
}

fn row(engine: &Engine, family: &'static Family, rung: &'static Rung, problem: &dyn Problem) -> Result<Row> {
    measure(engine, family, rung, problem, family.dtypes[0])
}

/// An error if any row is wrong.
pub(super) fn verdict(rows: &[Row]) -> Result<()> {
    match rows.iter().filter(|r| !r.verified && r.skipped.is_none()).count() {
        0 => Ok(()),
        wrong => Err(Error::Wrong { wrong, of: rows.len() }),
    }
}
