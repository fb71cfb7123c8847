//! Running a rung: verified first, then timed.

use crate::algorithms::{Family, Prepared, Problem, RateUnit, Rung, Size};
use crate::data::Dtype;
use crate::engine::Engine;
use crate::error::{Error, Result};
use serde::Serialize;

/// Timed runs on a GPU; the median counts.
const GPU_RUNS: usize = 5;

/// One row of a report.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// The family.
    pub family: &'static str,
    /// The rung.
    pub rung: &'static str,
    /// `cuda` or `simulator`.
    pub device: &'static str,
    /// Elements; for a matrix product the columns of C.
    pub n: u64,
    /// Rows of C.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub m: Option<u64>,
    /// Columns of A.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub k: Option<u64>,
    /// The element type.
    pub dtype: Dtype,
    /// The type of the values that keys have with them, where they have any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub values: Option<Dtype>,
    /// Whether the whole output equals the oracle.
    pub verified: bool,
    /// Why the rung was not run, where it was not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skipped: Option<String>,
    /// What was wrong, where it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Milliseconds of one run: on a GPU the median between two events, on the simulator by the host's clock.
    pub time_ms: Option<f64>,
    /// Work by time.
    pub rate: Option<f64>,
    /// What the rate counts.
    pub rate_unit: RateUnit,
}

/// Runs a rung on a problem and reports it. A wrong result is a row that says so, not an error.
///
/// # Errors
/// Whatever keeps the rung from running.
pub fn measure(
    engine: &Engine,
    family: &'static Family,
    rung: &'static Rung,
    problem: &dyn Problem,
    dtype: Dtype,
) -> Result<Row> {
    measure_and_keep(engine, family, rung, problem, dtype).map(|(row, _)| row)
}

/// [`measure`], and the problem on the engine with the output of the last run in it.
pub fn measure_and_keep<'p>(
    engine: &Engine,
    family: &'static Family,
    rung: &'static Rung,
    problem: &'p dyn Problem,
    dtype: Dtype,
) -> Result<(Row, Option<Box<dyn Prepared + 'p>>)> {
    let mut row = Row::new(engine, family, rung, problem, dtype);
    let mut prepared = problem.prepare(engine, rung)?;
    let first = timed(engine, &mut *prepared)?;
    match prepared.verify() {
        Ok(()) => row.verified = true,
        Err(e @ Error::Mismatch { .. }) => {
            row.error = Some(e.to_string());
            return Ok((row, Some(prepared)));
        }
        Err(e) => return Err(e),
    }
    // On a GPU the first run loads the kernels; on the simulator one run is as good as the next.
    let ms = if engine.is_simulator() {
        first
    } else {
        let mut times = (0..GPU_RUNS).map(|_| timed(engine, &mut *prepared)).collect::<Result<Vec<_>>>()?;
        median(&mut times)
    };
    row.time_ms = Some(ms);
    row.rate = Some(problem.work().rate(ms));
    Ok((row, Some(prepared)))
}

/// One run on fresh input: milliseconds.
pub fn timed(engine: &Engine, prepared: &mut dyn Prepared) -> Result<f64> {
    prepared.restore()?;
    engine.synchronize()?;
    engine.time(|| prepared.run()).map(|((), ms)| ms)
}

/// The middle value; of an even number of them the mean of the two in the middle. NaN for none.
pub fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    match values.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => values[n / 2],
        n => (values[n / 2 - 1] + values[n / 2]) / 2.0,
    }
}

impl Row {
    /// A row before the run.
    pub fn new(
        engine: &Engine,
        family: &'static Family,
        rung: &'static Rung,
        problem: &dyn Problem,
        dtype: Dtype,
    ) -> Self {
        let (m, k) = match problem.size() {
            Size::Elements(_) => (None, None),
            Size::Product { m, k, .. } => (Some(m), Some(k)),
        };
        Self {
            family: family.name,
            rung: rung.name,
            device: engine.info().kind,
            n: problem.size().n(),
            m,
            k,
            dtype,
            values: problem.values(),
            verified: false,
            skipped: None,
            error: None,
            time_ms: None,
            rate: None,
            rate_unit: problem.work().unit,
        }
    }
}
