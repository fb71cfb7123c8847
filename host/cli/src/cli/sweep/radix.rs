//! S4's experiment: four ways to merge sorted columns, over the number of columns, next to the library's sort.

use super::history::{RADIX, RADIX_COLUMNS, RADIX_KEYS, RADIX_STD, RADIX_STD_H200};
use super::{counts, json, list, time};
use crate::algorithms::{Family, Parameters, Size, Workload, family};
use crate::cli::Common;
use crate::data::{Data, Distribution, Size as Count};
use crate::report::{self, Format, Grid};
use clap::{Arg, ArgMatches, Command, value_parser};
use rungs::engine::Engine;
use rungs::error::{Error, Result};
use rungs_oracles::{baseline, inputs};
use serde::Serialize;

/// Keys on the simulator.
const SIMULATOR_KEYS: u64 = 1024;

pub(super) fn command() -> Command {
    Command::new("radix").about("Sort in columns and merge in four ways, over the number of columns").args([
        counts("columns", "LIST", "Numbers of columns, powers of two from 8 to 1024 [default: S4's 8 to 128]"),
        Arg::new("n")
            .long("n")
            .value_name("N")
            .help("Number of distinct keys [default: S4's 4096; 1024 on the simulator]")
            .value_parser(value_parser!(Count)),
    ])
}

/// A method at one number of columns; times in seconds, as S4 prints them.
#[derive(Serialize)]
struct Cell {
    method: &'static str,
    rung: Option<&'static str>,
    columns: u64,
    n: u64,
    seconds: f64,
    /// S4's figure of 4096 keys.
    source_seconds: Option<f64>,
    /// S4's own code on an H200.
    source_h200_seconds: Option<f64>,
}

#[derive(Serialize)]
struct Cells {
    results: Vec<Cell>,
}

pub(super) fn run(matches: &ArgMatches, common: &Common) -> Result<()> {
    let family = family("radix").ok_or_else(|| Error::Usage("there is no family 'radix'".into()))?;
    let engine = common.engine()?;
    let defaults: Vec<u64> = RADIX_COLUMNS.iter().map(|&c| c.into()).collect();
    let columns = list(matches, "columns", &defaults);
    let otherwise = if engine.is_simulator() { SIMULATOR_KEYS } else { RADIX_KEYS };
    let n = matches.get_one::<Count>("n").map_or(otherwise, |n| n.0);
    let keys = inputs::distinct(n, common.seed)?;
    let mut results = vec![];
    let mut progress = common.progress(columns.len());
    for &columns in &columns {
        let at = RADIX_COLUMNS.iter().position(|&c| u64::from(c) == columns);
        progress.step(format!("{columns} columns"));
        let ms = baseline::timed("sort_unstable", &keys, baseline::std_sort)?;
        results.push(Cell {
            method: "CPU",
            rung: None,
            columns,
            n,
            seconds: ms / 1e3,
            source_seconds: at.map(|at| RADIX_STD[at]),
            source_h200_seconds: at.map(|_| RADIX_STD_H200),
        });
        for row in RADIX {
            results.push(Cell {
                method: row.name,
                rung: Some(row.rung),
                columns,
                n,
                seconds: merge(&engine, family, row.rung, &keys, columns)? / 1e3,
                source_seconds: at.map(|at| row.seconds[at]),
                source_h200_seconds: at.and_then(|at| row.h200[at]),
            });
        }
    }
    drop(progress);
    match common.format {
        Format::Json => json(&engine, common, "radix", Cells { results }),
        Format::Csv => csv(&results),
        Format::Text => text(&engine, &columns, n, &results),
    }
}

/// Milliseconds of one method. The keys are loaded again for it.
fn merge(engine: &Engine, family: &Family, rung: &str, keys: &[u32], columns: u64) -> Result<f64> {
    let columns = u32::try_from(columns).map_err(|_| Error::Usage(format!("{columns} columns are too many")))?;
    let problem = family.make(Workload {
        size: Size::Elements(keys.len() as u64),
        dtype: crate::data::Dtype::U32,
        distribution: Distribution::Uniform,
        seed: 0,
        input: Some(vec![Data::from(keys.to_vec())]),
        parameters: Parameters { columns: Some(columns), ..Parameters::default() },
    })?;
    time(engine, family.rung(rung)?, &*problem)
}

fn csv(results: &[Cell]) -> Result<()> {
    let names = ["method", "rung", "columns", "n", "seconds", "source_seconds", "source_h200_seconds"];
    let mut grid = Grid::new(&names, &[]);
    let number = |v: Option<f64>| v.map_or(String::new(), |v| v.to_string());
    for r in results {
        let rung = r.rung.unwrap_or("").to_string();
        let (columns, n, ours) = (r.columns.to_string(), r.n.to_string(), r.seconds.to_string());
        let (then, h200) = (number(r.source_seconds), number(r.source_h200_seconds));
        grid.row([r.method.to_string(), rung, columns, n, ours, then, h200]);
    }
    grid.print_csv()
}

/// S4's table: a line for each method, a column for each number of columns, the figures of each source below ours.
fn text(engine: &Engine, columns: &[u64], n: u64, results: &[Cell]) -> Result<()> {
    let names: Vec<String> = columns.iter().map(u64::to_string).collect();
    let head: Vec<&str> = ["seconds, by columns", "from"].into_iter().chain(names.iter().map(String::as_str)).collect();
    let right: Vec<usize> = (2..head.len()).collect();
    let mut grid = Grid::new(&head, &right);
    let methods = std::iter::once("CPU").chain(RADIX.iter().map(|r| r.name));
    for method in methods {
        let cells: Vec<_> = results.iter().filter(|c| c.method == method).collect();
        let mut line = |from: &str, value: &dyn Fn(&Cell) -> Option<f64>| {
            let values = cells.iter().map(|c| value(c).map_or("-".into(), |s| format!("{s:.6}")));
            grid.row([method.to_string(), from.to_string()].into_iter().chain(values));
        };
        line(&format!("rungs, {}", engine.info().name), &|c| Some(c.seconds));
        line("S4, 4096 keys", &|c| c.source_seconds);
        line("S4 on an H200", &|c| c.source_h200_seconds);
    }
    report::print(&format!("{n} distinct keys, reloaded for every method\n{}\n", grid.text()))
}
