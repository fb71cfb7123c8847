//! Running a rung: verified first, then timed.

use crate::algorithms::{Family, Prepared, Problem, RateUnit, Rung, Size};
use crate::checks::{self, Checked};
use crate::data::Dtype;
use rungs::engine::Engine;
use rungs::error::{Error, Result};
use serde::{Serialize, Serializer};
use simt::sim::LaunchError;
use std::time::Duration;

/// Timed runs on a GPU; the median counts.
pub const GPU_RUNS: usize = 5;

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
    /// The name of the element type.
    pub dtype: &'static str,
    /// The type of the keys' values, if they have values.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub values: Option<Dtype>,
    /// Whether the whole output equals the oracle.
    pub verified: bool,
    /// The reason why the rung was not run, if it was not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skipped: Option<String>,
    /// The error, if there was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// What the check found, if there was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checked: Option<Checked>,
    /// Elements of the input that have no part in the result: keys that are in no bin of a histogram.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left_out: Option<u64>,
    /// The result, if it is a single value and the command reports it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<Number>,
    /// Milliseconds of one run: on a GPU the median between two events, on the simulator by the host's clock.
    pub time_ms: Option<f64>,
    /// Work divided by time.
    pub rate: Option<f64>,
    /// The unit of the rate; `None` if there was no problem to run.
    pub rate_unit: Option<RateUnit>,
}

/// A number as text, written to JSON as a number if possible: NaN and the infinities are strings there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Number(pub String);

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        match serde_json::from_str::<serde_json::Number>(&self.0) {
            Ok(number) => number.serialize(serializer),
            Err(_) => serializer.serialize_str(&self.0),
        }
    }
}

/// Checks, verifies and times a rung for a table of several rungs, which goes on after a rung that fails: a refusal
/// becomes a skipped row, an error a row with that error. A rung that takes longer on the simulator than `allowed` is
/// skipped too. After a device error no further rung runs.
pub fn attempt(
    engine: &Engine,
    family: &'static Family,
    rung: &'static Rung,
    problem: &dyn Problem,
    dtype: Dtype,
    allowed: Duration,
) -> Row {
    let row = || Row::new(engine, family, rung, problem, dtype);
    if let Err(error) = engine.synchronize() {
        return Row { skipped: Some(format!("the device no longer answers: {error}")), ..row() };
    }
    let run = || {
        let row = row().judged(checked(engine, problem, rung)?);
        if row.error.is_some() {
            return Ok(row);
        }
        row.timed(problem, time(engine, &mut *problem.prepare(engine, rung)?, GPU_RUNS))
    };
    match simt::sim::within(allowed, run) {
        Ok(row) => row,
        Err(Error::Launch(late @ LaunchError::OutOfTime { .. })) => {
            Row { skipped: Some(format!("{late}; ask for fewer elements, or for more time by --limit")), ..row() }
        }
        Err(why @ (Error::Usage(_) | Error::OutOfMemory { .. })) => Row { skipped: Some(why.to_string()), ..row() },
        Err(error) => Row { error: Some(format!("{} {} failed: {error}", family.name, rung.name)), ..row() },
    }
}

/// The check of a rung that the engine asks for ([`Engine::checked`]), if it does.
///
/// # Errors
/// What ends a run without being a mistake of the kernels.
pub fn checked(engine: &Engine, problem: &dyn Problem, rung: &'static Rung) -> Result<Option<Checked>> {
    let run = || problem.prepare(engine, rung).and_then(|mut prepared| run_once(&mut *prepared));
    engine.check().map(|options| checks::check(options, run, None)).transpose()
}

/// Runs a prepared problem and compares the output.
///
/// # Errors
/// As for [`Prepared::restore`], [`Prepared::run`] and [`Prepared::verify`].
pub fn run_once(prepared: &mut dyn Prepared) -> Result<()> {
    prepared.restore()?;
    prepared.run()?;
    prepared.verify()
}

/// Runs on fresh input and verifies the output; returns milliseconds of a run. On a GPU, where the first run loads the
/// kernels, that is the median of `again` more runs, unless `again` is 0. On the simulator one run is as good as the
/// next.
///
/// # Errors
/// As for [`run_once`].
pub fn time(engine: &Engine, prepared: &mut dyn Prepared, again: usize) -> Result<f64> {
    let again = if engine.is_simulator() { 0 } else { again };
    let mut times = Vec::with_capacity(again + 1);
    for run in 0..=again {
        prepared.restore()?;
        engine.synchronize()?;
        let start = engine.mark()?;
        prepared.run()?;
        times.push(engine.elapsed_ms(&start, &engine.mark()?)?);
        if run == 0 {
            prepared.verify()?;
        }
    }
    Ok(median(&mut times[usize::from(again > 0)..]))
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
    /// The row with the outcome of a check, which is an error if something was found.
    pub fn judged(mut self, checked: Option<Checked>) -> Self {
        if let Some(count) = checked.as_ref().map(Checked::mistakes).filter(|&count| count > 0) {
            self.error = Some(format!("{} {}: {}", self.family, self.rung, Error::Found { count }));
        }
        self.checked = checked;
        self
    }

    /// The row with the outcome of [`time`]. A wrong result is a row that says so, not an error.
    ///
    /// # Errors
    /// Those of [`time`], except [`Error::Mismatch`].
    pub fn timed(self, problem: &dyn Problem, ms: Result<f64>) -> Result<Self> {
        match ms {
            Ok(ms) => Ok(Self { verified: true, time_ms: Some(ms), rate: Some(problem.work().rate(ms)), ..self }),
            Err(e @ Error::Mismatch { .. }) => Ok(Self { error: Some(e.to_string()), ..self }),
            Err(e) => Err(e),
        }
    }

    /// A row before the run.
    pub fn new(
        engine: &Engine,
        family: &'static Family,
        rung: &'static Rung,
        problem: &dyn Problem,
        dtype: Dtype,
    ) -> Self {
        let unit = Some(problem.work().unit);
        Self { values: problem.values(), rate_unit: unit, ..Self::without(engine, family, rung, problem.size(), dtype) }
    }

    /// A row for a problem that could not be made.
    pub fn without(engine: &Engine, family: &'static Family, rung: &'static Rung, size: Size, dtype: Dtype) -> Self {
        let (m, k) = match size {
            Size::Elements(_) => (None, None),
            Size::Product { m, k, .. } => (Some(m), Some(k)),
        };
        Self {
            family: family.name,
            rung: rung.name,
            device: engine.info().kind,
            n: size.n(),
            m,
            k,
            dtype: dtype.name(),
            values: None,
            verified: false,
            skipped: None,
            error: None,
            checked: None,
            left_out: None,
            value: None,
            time_ms: None,
            rate: None,
            rate_unit: None,
        }
    }
}

/// A problem on which one rung fails, and that all others solve at once.
#[cfg(test)]
pub(crate) mod fake {
    use super::*;
    use crate::algorithms::Work;
    use crate::data::Data;

    /// The rung that fails, and how.
    pub(crate) struct Fails {
        pub rung: &'static str,
        pub how: fn() -> Error,
    }

    impl Fails {
        pub(crate) fn mismatch(family: &str, rung: &str) -> Error {
            let (want, got) = ("7".into(), "9".into());
            Error::Mismatch { family: family.into(), rung: rung.into(), n: 8, index: 2, want, got }
        }
    }

    impl Problem for Fails {
        fn size(&self) -> Size {
            Size::Elements(8)
        }

        fn work(&self) -> Work {
            Work { amount: 8.0, unit: RateUnit::Keys, bytes: 64.0, flops: 0.0 }
        }

        fn prepare(&self, _: &Engine, rung: &Rung) -> Result<Box<dyn Prepared + '_>> {
            Ok(Box::new(Run((rung.name == self.rung).then_some(self.how))))
        }
    }

    struct Run(Option<fn() -> Error>);

    impl Prepared for Run {
        fn restore(&mut self) -> Result<()> {
            Ok(())
        }

        fn run(&mut self) -> Result<()> {
            self.0.map(|how| how()).filter(|error| !matches!(error, Error::Mismatch { .. })).map_or(Ok(()), Err)
        }

        fn scratch_bytes(&self) -> u64 {
            0
        }

        fn verify(&mut self) -> Result<()> {
            self.0.map_or(Ok(()), |how| Err(how()))
        }

        fn output(&mut self) -> Result<Data> {
            Ok(Data::from(vec![0_u32; 8]))
        }
    }
}
