//! `rungs ladder FAMILY`: all rungs on the same input, each next to the one before.

use super::family::{extra_argument, parameters};
use super::{Common, all, check_argument, family_named};
use crate::algorithms::{FAMILIES, Family, Parameters, Problem, Rung, Size, Workload};
use crate::counters::{self, Statistics, Totals};
use crate::data::{Distribution, Dtype, MatrixSize};
use crate::measure::{Row, attempt};
use crate::report::{self, Format, Grid};
use clap::{Arg, ArgMatches, Command, value_parser};
use rungs::engine::{DeviceInfo, Engine};
use rungs::error::{Error, Result};
use serde::Serialize;
use std::time::Duration;

/// Each CUDA core does one fused multiply-add of floats per clock: two operations.
const FLOPS_A_CORE: f64 = 2.0;

pub(super) fn command() -> Command {
    let ladder = Command::new("ladder")
        .about("Run all rungs of a family on the same input, in teaching order, in one table")
        .subcommand_required(true)
        .subcommand_value_name("FAMILY")
        .subcommand_help_heading("Families")
        .arg(check_argument());
    FAMILIES.iter().fold(ladder, |ladder, family| ladder.subcommand(of_family(family)))
}

fn of_family(family: &'static Family) -> Command {
    let command = Command::new(family.name).about(format!("All rungs: {}", family.about)).args([
        Arg::new("n")
            .long("n")
            .value_name("N")
            .help(
                "Elements, or sides of a matrix product as N or MxNxK; rungs with a smaller capacity are listed and \
                 not run [default: a size that every rung takes]",
            )
            .value_parser(value_parser!(MatrixSize)),
        Arg::new("dtype").long("dtype").value_name("TYPE").help("Element type").value_parser(value_parser!(Dtype)),
        super::family::keys_argument(),
        all::limit_argument(),
    ]);
    family.extras.iter().fold(command, |command, extra| command.arg(extra_argument(*extra)))
}

/// One rung of the table.
#[derive(Serialize)]
struct Step {
    #[serde(flatten)]
    row: Row,
    /// The share of the device's limit: of its memory's bandwidth, or of its cores' operations.
    #[serde(skip_serializing_if = "Option::is_none")]
    limit: Option<Limit>,
    /// Speed relative to the last rung before it that ran.
    #[serde(skip_serializing_if = "Option::is_none")]
    speedup: Option<f64>,
    /// On the simulator, whose times say nothing about a GPU: what a GPU would do.
    #[serde(skip_serializing_if = "Option::is_none")]
    counters: Option<Counted>,
}

/// What the launches of a rung do.
#[derive(Serialize)]
struct Counted {
    launches: usize,
    #[serde(flatten)]
    totals: Totals,
}

/// The share of a theoretical limit of the device.
#[derive(Serialize, Clone, Copy)]
struct Limit {
    /// From 0 to 1.
    share: f64,
    /// `bandwidth` or `FLOP/s`.
    of: &'static str,
}

#[derive(Serialize)]
struct Ladder<'a> {
    schema: u32,
    device: &'a DeviceInfo,
    seed: u64,
    family: &'static str,
    distribution: String,
    results: &'a [Step],
}

pub(super) fn run(matches: &ArgMatches, common: &Common) -> Result<()> {
    let Some((name, matches)) = matches.subcommand() else {
        return Err(Error::Usage("no family was given; rungs ladder --help lists them".into()));
    };
    let family = family_named(name)?;
    let dtype = matches.get_one("dtype").copied().unwrap_or(family.dtypes[0]);
    family.check_dtype(dtype)?;
    let engine = common.engine()?;
    let distribution = matches.get_one("keys").copied().unwrap_or(family.input);
    let parameters = parameters(family.extras, matches);
    let size = size(family, matches.get_one("n").copied(), dtype, &parameters, &engine)?;
    let workload = Workload { size, dtype, distribution, seed: common.seed, input: None, parameters };
    let problem = family.make(workload)?;
    let mut progress = common.progress(family.rungs.len());
    let steps = climb(&engine, family, &*problem, dtype, &parameters, all::limit(matches), |rung| progress.step(rung));
    drop(progress);
    print(common, &engine, family, distribution, &steps)?;
    let rows: Vec<Row> = steps.into_iter().map(|step| step.row).collect();
    all::verdict(&rows)
}

/// Runs all rungs, each on the same problem.
fn climb(
    engine: &Engine,
    family: &'static Family,
    problem: &dyn Problem,
    dtype: Dtype,
    parameters: &Parameters,
    allowed: Duration,
    mut tell: impl FnMut(&'static str),
) -> Vec<Step> {
    let (size, device, mut steps) = (problem.size(), engine.device(), Vec::<Step>::new());
    for rung in family.rungs.iter().copied() {
        tell(rung.name);
        let row = match family.refusal(rung, size, dtype, parameters, device) {
            Some(why) => Row { skipped: Some(why), ..Row::new(engine, family, rung, problem, dtype) },
            None => attempt(engine, family, rung, problem, dtype, allowed),
        };
        let (row, counters) = match engine.is_simulator() && row.verified {
            true => counted(row, counters::count(engine, problem, rung)),
            false => (row, None),
        };
        let before = steps.iter().rev().find_map(|step| step.row.time_ms);
        let speedup = before.zip(row.time_ms).map(|(before, now)| before / now);
        let limit = row.time_ms.and_then(|ms| limit(engine, problem, ms));
        steps.push(Step { row, limit, speedup, counters });
    }
    steps
}

/// What a rung does, or the row with the reason why that is not known.
fn counted(row: Row, statistics: Result<Statistics>) -> (Row, Option<Counted>) {
    match statistics {
        Ok(all) => (row, Some(Counted { launches: all.launches.len(), totals: Totals::of(&all) })),
        Err(why) => {
            let error = format!("{} {} was right, and could not be counted: {why}", row.family, row.rung);
            (Row { error: Some(error), ..row }, None)
        }
    }
}

/// The size from the command line, or the family's size for the device, lowered to the smallest capacity of the rungs
/// that take this type.
fn size(
    family: &Family,
    asked: Option<MatrixSize>,
    dtype: Dtype,
    parameters: &Parameters,
    engine: &Engine,
) -> Result<Size> {
    let default = family.sizes.on(engine);
    match (asked, default) {
        (Some(size), _) => family.size(size),
        (None, Size::Elements(n)) => {
            let (none, device) = (Size::Elements(0), engine.device());
            let takes = |rung: &&&Rung| family.refusal(rung, none, dtype, parameters, device).is_none();
            Ok(Size::Elements(family.rungs.iter().filter(takes).filter_map(|rung| rung.capacity).fold(n, u64::min)))
        }
        (None, product) => Ok(product),
    }
}

/// The share of the device's limit that a run of `ms` milliseconds reached: of the floating-point peak or of the
/// memory's bandwidth, whichever bounds the run. The simulator has no such limit.
fn limit(engine: &Engine, problem: &dyn Problem, ms: f64) -> Option<Limit> {
    let properties = engine.as_cuda()?.properties();
    let (work, seconds) = (problem.work(), ms * 1e-3);
    let cores = cores_of_multiprocessor(properties.compute_capability)? * properties.multiprocessors;
    let flops = FLOPS_A_CORE * f64::from(cores) * f64::from(properties.clock_khz) * 1e3;
    let bandwidth = properties.memory_bandwidth_gbs * 1e9;
    // The limit is the one that would take longer at full speed.
    match (work.flops / flops, work.bytes / bandwidth) {
        (by_flops, by_bytes) if by_flops > by_bytes => Some(Limit { share: by_flops / seconds, of: "FLOP/s" }),
        (_, by_bytes) if by_bytes.is_finite() => Some(Limit { share: by_bytes / seconds, of: "bandwidth" }),
        _ => None,
    }
}

/// Single-precision cores per SM by compute capability, as the CUDA programming guide's table has them;
/// `None` for capabilities that the table lacks.
fn cores_of_multiprocessor(compute_capability: (u32, u32)) -> Option<u32> {
    match compute_capability {
        (8, 0) => Some(64),
        (8, _) | (9, _) | (10, _) | (12, _) => Some(128),
        _ => None,
    }
}

fn print(common: &Common, engine: &Engine, family: &Family, distribution: Distribution, steps: &[Step]) -> Result<()> {
    let distribution = distribution.to_string();
    match common.format {
        Format::Json => report::json(&Ladder {
            schema: report::SCHEMA,
            device: engine.info(),
            seed: common.seed,
            family: family.name,
            distribution,
            results: steps,
        }),
        Format::Csv => {
            let own = ["limit_share", "limit", "speedup", "verified", "skipped", "error"];
            let counted = ["launches", "global_requests", "global_sectors", "shared_wavefronts", "bank_conflicts"];
            let more = ["atomic_turns", "barriers"];
            let mut grid = Grid::new(&[&report::CSV_COLUMNS[..], &own, &counted, &more].concat(), &[]);
            for Step { row, limit, speedup, counters } in steps {
                let float = |v: Option<f64>| v.map_or(String::new(), |v| v.to_string());
                let numbers: [String; 7] = counters.as_ref().map_or_else(Default::default, |c| {
                    let t = &c.totals;
                    let (moved, waits) = (t.global_sectors, t.barriers);
                    let (requests, wavefronts) = (t.global_requests, t.shared_wavefronts);
                    [c.launches as u64, requests, moved, wavefronts, t.bank_conflicts, t.atomic_turns, waits]
                        .map(|n| n.to_string())
                });
                grid.row(
                    report::csv_cells(row)
                        .into_iter()
                        .chain([
                            float(limit.map(|l| l.share)),
                            limit.map_or("", |l| l.of).to_string(),
                            float(*speedup),
                            row.verified.to_string(),
                            row.skipped.clone().unwrap_or_default(),
                            row.error.clone().unwrap_or_default(),
                        ])
                        .chain(numbers),
                );
            }
            grid.print_csv()
        }
        Format::Text if engine.is_simulator() => {
            let size = steps.first().map_or(String::new(), |step| report::size(&step.row));
            let dtype = steps.first().map_or(String::new(), |step| report::dtype(&step.row));
            let title = format!("{}, n = {size}, {dtype}, {distribution}, on the simulator", family.name);
            let columns = [&["rung", "launches"][..], &counters::totals_columns(), &["verified"]].concat();
            let mut grid = Grid::new(&columns, &[1, 2, 3, 4, 5, 6, 7, 8, 9]);
            for Step { row, counters, .. } in steps {
                let counted = counters.as_ref().map(|c| (c.launches.to_string(), counters::totals_row(&c.totals)));
                let (launches, totals) = counted.unwrap_or_else(|| ("-".into(), std::array::from_fn(|_| "-".into())));
                let rung = row.rung.to_string();
                grid.row([rung, launches].into_iter().chain(totals).chain([report::verdict(row)]));
            }
            let mistakes = report::mistakes(steps.iter().map(|step| &step.row));
            report::print(&format!("{title}\n\n{}\n\n{}\n{mistakes}", grid.text(), counters::LEGEND))
        }
        Format::Text => {
            let info = engine.info();
            let size = steps.first().map_or(String::new(), |step| report::size(&step.row));
            let dtype = steps.first().map_or(String::new(), |step| report::dtype(&step.row));
            let title = format!("{}, n = {size}, {dtype}, {distribution}, on {}", family.name, info.name);
            let mut grid = Grid::new(&["rung", "time", "rate", "of the limit", "× before", "verified"], &[1, 2, 3, 4]);
            for Step { row, limit, speedup, .. } in steps {
                grid.row([
                    row.rung.to_string(),
                    row.time_ms.map_or("-".into(), report::time),
                    report::rate_of(row).unwrap_or("-".into()),
                    limit.map_or("-".into(), |l| format!("{:.1} % {}", 100.0 * l.share, l.of)),
                    speedup.map_or("-".into(), |s| format!("{s:.2}")),
                    report::verdict(row),
                ]);
            }
            report::print(&format!("{title}\n\n{}\n", grid.text()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithms::family;
    use crate::measure::fake::Fails;

    /// The rungs above one that fails are run, each next to the last one that ran; the call fails in the end.
    #[test]
    fn a_ladder_goes_on_after_a_rung_that_fails() {
        let (engine, family) = (Engine::simulator(), family("bitonic").unwrap());
        let (second, parameters) = (family.rungs[1].name, Parameters::default());
        for (how, words) in [
            ((|| Error::Cuda("the launch failed".into())) as fn() -> Error, "failed: the launch failed"),
            (|| Fails::mismatch("bitonic", family_rung()), "element 2: got 9, expected 7"),
        ] {
            let problem = Fails { rung: second, how };
            let mut told = vec![];
            let steps =
                climb(&engine, family, &problem, Dtype::U32, &parameters, Duration::MAX, |rung| told.push(rung));
            assert!(told.iter().eq(family.rungs.iter().map(|rung| &rung.name)), "{told:?}");
            for (step, rung) in steps.iter().zip(&family.rungs) {
                let error = step.row.error.as_deref().unwrap_or("");
                let failed = rung.name == second;
                assert_eq!((step.row.verified, step.row.time_ms.is_some()), (!failed, !failed), "{:?}", step.row);
                assert_eq!(error.contains(words) && error.contains(second), failed, "{error}");
            }
            assert!(steps[2].speedup.is_some(), "over the first, because the second has no time");
            let rows: Vec<Row> = steps.into_iter().map(|step| step.row).collect();
            let error = all::verdict(&rows).unwrap_err();
            assert!(error.exit_code() == 1 && error.to_string().contains(words), "{error}");
        }
    }

    fn family_rung() -> &'static str {
        family("bitonic").unwrap().rungs[1].name
    }
}
