//! `rungs all`: every rung on real input, verified.

use super::{Common, gpus};
use crate::algorithms::{FAMILIES, Family, Parameters, Problem, Rung, Size, Workload};
use crate::data::{Dtype, Size as Count};
use crate::measure::{Row, attempt};
use crate::report;
use clap::{Arg, ArgMatches, Command, value_parser};
use rungs::engine::Engine;
use rungs::error::{Error, Result};
use std::time::Duration;

pub(super) fn command() -> Command {
    Command::new("all")
        .about("Run every rung on real input, verified, and print one table")
        .args([
            Arg::new("n")
                .long("n")
                .value_name("N")
                .help(
                    "Elements, or the side of a matrix, instead of each family's default; for a rung with a smaller \
                 capacity, its capacity",
                )
                .value_parser(value_parser!(Count)),
            limit_argument(),
            super::check_argument(),
        ])
        .args(gpus::arguments())
}

/// `--limit`, for commands that run many rungs, of which some may be far too slow for the simulator.
pub(super) fn limit_argument() -> Arg {
    Arg::new("limit")
        .long("limit")
        .value_name("SECONDS")
        .help("Skip a rung that takes longer on the simulator")
        .default_value("60")
        .value_parser(super::seconds)
}

/// The time of [`limit_argument`].
pub(super) fn limit(matches: &ArgMatches) -> Duration {
    matches.get_one("limit").copied().unwrap_or(Duration::MAX)
}

/// A problem that rungs share, and what it was made for.
type Shared = ((Size, Dtype, Parameters), Result<Box<dyn Problem>>);

pub(super) fn run(matches: &ArgMatches, common: &Common) -> Result<()> {
    if let Some(gpus) = gpus::asked(matches) {
        return gpus::run_all(gpus[0], matches, common);
    }
    let engine = common.engine()?;
    let n = matches.get_one::<Count>("n").map(|n| n.0);
    let mut progress = common.progress(FAMILIES.iter().map(|family| family.rungs.len()).sum());
    let rows = rows(&engine, FAMILIES.iter(), n, common.seed, limit(matches), |what| progress.step(what));
    drop(progress);
    report::runs(common.format, engine.info(), common.seed, &rows)?;
    verdict(&rows)
}

/// A row for every rung of these families.
fn rows(
    engine: &Engine,
    families: impl Iterator<Item = &'static Family>,
    n: Option<u64>,
    seed: u64,
    allowed: Duration,
    mut tell: impl FnMut(String),
) -> Vec<Row> {
    let mut rows = vec![];
    for family in families {
        // Neighbouring rungs of the same size share the input and, what saves more time, the oracle.
        let mut shared: Option<Shared> = None;
        for rung in family.rungs.iter().copied() {
            tell(format!("{} {}", family.name, rung.name));
            let (size, dtype) = (size(family, rung, engine, n), family.usual_dtype(rung));
            let parameters = family.usual(rung);
            let problem = match &mut shared {
                Some((same, problem)) if *same == (size, dtype, parameters) => problem,
                other => {
                    let problem = problem(family, size, dtype, seed, parameters);
                    &mut other.insert(((size, dtype, parameters), problem)).1
                }
            };
            rows.push(match problem {
                Ok(problem) => attempt(engine, family, rung, &**problem, dtype, allowed),
                // A size that is too large for one family does not end the table: the other families still run.
                Err(why) => Row { skipped: Some(why.to_string()), ..Row::without(engine, family, rung, size, dtype) },
            });
        }
    }
    rows
}

/// The size for a rung: from the command line, or the family's default, but no more than the rung takes.
fn size(family: &Family, rung: &Rung, engine: &Engine, n: Option<u64>) -> Size {
    match (n, family.default_size(engine, rung)) {
        (Some(n), Size::Product { .. }) => Size::Product { m: n, n, k: n },
        (Some(n), Size::Elements(_)) => Size::Elements(rung.capacity.map_or(n, |c| n.min(c))),
        (None, size) => size,
    }
}

fn problem(family: &Family, size: Size, dtype: Dtype, seed: u64, parameters: Parameters) -> Result<Box<dyn Problem>> {
    family.make(Workload { size, dtype, distribution: family.input, seed, input: None, parameters })
}

/// An error if any row is wrong.
pub(super) fn verdict(rows: &[Row]) -> Result<()> {
    Error::wrong(rows.iter().filter_map(|row| row.error.as_deref()), rows.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithms::family;
    use crate::measure::fake::Fails;

    #[test]
    fn what_a_size_is_too_large_for_is_skipped() {
        let families = ["matmul", "saxpy"].map(|name| family(name).unwrap());
        let rows = rows(&Engine::simulator(), families.into_iter(), Some(1_000_003), 1, Duration::MAX, |_| ());
        let rungs = families.iter().map(|family| family.rungs.len()).sum::<usize>();
        assert_eq!(rows.len(), rungs);
        for row in &rows {
            let why = row.skipped.as_deref().unwrap_or("");
            let bytes = match row.dtype {
                "f16" | "bf16" => "21.8 TiB",
                "f64" => "87.3 TiB",
                _ => "43.7 TiB",
            };
            assert_eq!(why.contains(&format!("would take {bytes}")), row.family == "matmul", "{row:?}");
            assert_eq!(row.verified, row.family == "saxpy", "{row:?}");
        }
        assert!(verdict(&rows).is_ok());
        let json = serde_json::to_value(&rows[0]).unwrap();
        assert!(json["rate_unit"].is_null() && json["n"] == 1_000_003 && json["m"] == 1_000_003, "{json}");
    }

    #[test]
    fn what_is_too_slow_is_skipped() {
        // 4e9 operations are too many, 2500 are not. A block that runs is not interrupted: where a core has only two,
        // the second has to begin late.
        let of = |name, allowed| {
            let families = [family(name).unwrap()].into_iter();
            rows(&Engine::simulator(), families, Some(1250), 1, Duration::from_millis(allowed), |_| ())
        };
        let rows = [of("matmul", 100), of("saxpy", 200)].concat();
        for row in &rows {
            let why = row.skipped.as_deref().unwrap_or("");
            let late = why.contains("not done on the simulator within 0.1 s") && why.contains("--limit");
            assert_eq!((late, row.verified), (row.family == "matmul", row.family == "saxpy"), "{row:?}");
            assert!(row.error.is_none() && row.time_ms.is_some() == row.verified, "{row:?}");
        }
        assert!(verdict(&rows).is_ok());
    }

    /// One row, as in `rungs FAMILY`: its error names rung, element, result and expected value.
    #[test]
    fn a_wrong_result_is_named() {
        let (engine, family) = (Engine::simulator(), family("matmul").unwrap());
        let problem = Fails { rung: "naive", how: || Fails::mismatch("matmul", "naive") };
        let row = |i: usize| attempt(&engine, family, family.rungs[i], &problem, family.dtypes[0], Duration::MAX);
        let [wrong, right] = [row(0), row(1)];
        let want = "matmul naive is wrong at n = 8: element 2: got 9, expected 7";
        assert_eq!(verdict(std::slice::from_ref(&wrong)).unwrap_err().to_string(), want);
        let both = verdict(&[right, wrong]).unwrap_err();
        assert_eq!((both.to_string(), both.exit_code()), (format!("1 of 2 results is wrong: {want}"), 1));
    }
}
