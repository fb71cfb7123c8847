//! Measuring rungs, and libraries next to them.
//!
//! A *case* is a family, a size, a type, a distribution and all parameters that decide what is computed. Its
//! *contestants* are the rungs and peers that compute it. For each case:
//!
//! 1. The input is made on the host and uploaded once. Every contestant runs on it and its whole output is checked:
//!    wrong contestants are not timed. Large sorts and scans are checked on the device, see [`rungs_kernels::verify`].
//! 2. Some rounds are not timed. Then come rounds in which every contestant runs, each round beginning with another
//!    contestant, so that changes over time (clocks, temperature) affect all alike. A measurement has two parts, both
//!    on fresh input that is copied before the clock starts:
//!    - *one call* on an idle device: event, launches, event. The gaps between launches, which the host causes, count
//!      as they do for a caller.
//!    - *back to back*: several calls in a row between two events, enqueued while the device waits, so that gaps do not
//!      count. Together they take about a third of a millisecond, and are 16 at most; each call of a sort has a buffer
//!      of its own.
//! 3. Rounds end after at least 15, when every median is stable ([`Times::stable`]) or the case's time is up.
//! 4. Every output is checked once more.
//!
//! The caches are in the same state for all contestants: sorts find their input as a copy has left it; the others read
//! a shared buffer, which the contestant before has read too.

pub mod machine;
pub mod peers;
pub(crate) mod stats;

pub use bench_report::{Kind, Ratio, Report, Row, SCHEMA, Times};

use crate::algorithms::{Family, Parameters, Prepared, Problem, Rung, Size, Work, Workload, matmul};
use crate::data::{Distribution, Dtype, MatrixSize};
use bench_report::rounded;
use machine::Waiter;
use peers::{Peer, Peers, Relation, parameter_text};
use rungs::engine::Engine;
use rungs::error::{Error, Result};
use std::time::{Duration, Instant};

/// Fewest and most rounds on a GPU, and on the simulator, whose times mean little.
const GPU_ROUNDS: (usize, usize) = (15, 200);
const SIMULATOR_ROUNDS: (usize, usize) = (3, 3);

/// Untimed rounds.
const WARM_UP: usize = 2;

/// Target duration of calls back to back, and the most calls.
const BACK_TO_BACK_MS: f64 = 0.3;
const MOST_CALLS: usize = 16;

/// The longest time that the device waits for the host.
const LONGEST_WAIT: Duration = Duration::from_millis(20);

/// The cases to measure, and the method.
pub struct Options {
    /// The families; the other options apply to every family.
    pub families: Vec<&'static Family>,
    /// Elements, or sides of matrices; if empty, the rungs' own sizes.
    pub sizes: Vec<MatrixSize>,
    /// Element types; if empty, each family's first.
    pub dtypes: Vec<Dtype>,
    /// Distributions; if empty, each family's own.
    pub keys: Vec<Distribution>,
    /// Rungs, as `rung` or `family/rung`; if empty, all.
    pub rungs: Vec<String>,
    /// The library of peers.
    pub peers: Option<Peers>,
    /// Names of peers, `reference`, `twins` or `sources`; if empty, all.
    pub peer_names: Vec<String>,
    /// Further parameters of the computation, for the families that use them.
    pub parameters: Parameters,
    /// The exact number of rounds, if it is fixed.
    pub rounds: Option<usize>,
    /// Time limit for the rounds of one case beyond the fewest.
    pub budget: Duration,
    /// Whether calls are measured back to back too.
    pub back_to_back: bool,
    /// The seed of all input.
    pub seed: u64,
    /// The call, for the report.
    pub command: String,
}

/// Progress of [`run`].
pub enum Told<'a> {
    /// A case begins: its number, the number of cases, its name.
    Case(usize, usize, &'a str),
    /// A note on a request that is not measured.
    Note(&'a str),
}

/// One case.
struct Case {
    family: &'static Family,
    size: Size,
    dtype: Dtype,
    keys: Distribution,
    parameters: Parameters,
    rungs: Vec<&'static Rung>,
}

/// Measures all cases and reports progress to `tell`. If an error ends the measurement, it is returned together with
/// the report of the cases before.
///
/// # Errors
/// [`Error::Usage`] if no rung takes the options; [`Error::OutOfMemory`] or [`Error::Cuda`] if the bandwidth of the
/// device cannot be measured.
pub fn run(engine: &Engine, options: &Options, mut tell: impl FnMut(Told)) -> Result<(Report, Option<Error>)> {
    let cases = cases(engine, options, &mut tell)?;
    let mut report = Report {
        schema: SCHEMA,
        device: bench_report::Device::default(),
        limits: machine::limits(engine)?,
        method: method(options),
        notes: vec![],
        seed: options.seed,
        date: machine::now(),
        commit: machine::commit(),
        version: env!("CARGO_PKG_VERSION").into(),
        command: options.command.clone(),
        peers: options.peers.as_ref().map(Peers::description),
        results: vec![],
    };
    if engine.is_simulator() {
        report.notes.push("the times are the simulator's, by the host's clock: they say nothing about a GPU".into());
    }
    let (mut clocks, mut failed) = (vec![], None);
    for (i, case) in cases.iter().enumerate() {
        tell(Told::Case(i + 1, cases.len(), &case.name()));
        let mut rows = vec![];
        let outcome = measure_case(engine, case, options, &mut rows, &mut clocks);
        report.results.append(&mut rows);
        // After a device error no further case is measured.
        if let Err(error) = outcome {
            failed = Some(error);
            break;
        }
    }
    report.device = machine::device(engine);
    set_limits(engine, &mut report, &clocks);
    Ok((report, failed))
}

/// The method of measurement, in words.
fn method(options: &Options) -> Vec<String> {
    let rounds = match options.rounds {
        Some(rounds) => format!("{rounds} rounds"),
        None => {
            let (least, most) = GPU_ROUNDS;
            format!("at least {least} rounds on a GPU, until every median is known to 0.5 %, {most} at most")
        }
    };
    vec![
        format!("all contestants of a case run once a round, in turns, on fresh input; {rounds}"),
        "call: one call on an idle device between two events, launch gaps included".into(),
        "back to back: calls in a row between two events, enqueued while the device waits".into(),
        "scratch: bytes of device memory that a call needs besides its input and its output; ours sort in place".into(),
        "the whole output of every contestant is checked before and after the rounds".into(),
    ]
}

/// All cases that the options ask for.
fn cases(engine: &Engine, options: &Options, tell: &mut impl FnMut(Told)) -> Result<Vec<Case>> {
    check_names(options)?;
    let (mut cases, mut refused) = (vec![], None);
    for &family in &options.families {
        let named = |rung: &&&'static Rung| {
            let full = format!("{}/{}", family.name, rung.name);
            options.rungs.is_empty() || options.rungs.iter().any(|name| name == rung.name || *name == full)
        };
        let rungs: Vec<&'static Rung> = family.rungs.iter().copied().filter(|rung| named(&rung)).collect();
        let dtypes = if options.dtypes.is_empty() { &family.dtypes[..1] } else { &options.dtypes };
        let keys = if options.keys.is_empty() { std::slice::from_ref(&family.input) } else { &options.keys };
        let (before, parameters) = (cases.len(), family.own(&options.parameters));
        for &dtype in dtypes.iter().filter(|dtype| family.dtypes.contains(dtype)) {
            for (size, rungs) in sizes(engine, family, &rungs, &options.sizes)? {
                for &keys in keys {
                    let refusal = |rung: &Rung| family.refusal(rung, size, dtype, &parameters, engine.device());
                    let takers: Vec<_> = rungs.iter().copied().filter(|rung| refusal(rung).is_none()).collect();
                    if takers.is_empty() {
                        refused = rungs.last().and_then(|rung| refusal(rung));
                    } else {
                        cases.push(Case { family, size, dtype, keys, parameters, rungs: takers });
                    }
                }
            }
        }
        if cases.len() == before && !rungs.is_empty() {
            tell(Told::Note(&format!("no rung of {} takes these options", family.name)));
        }
    }
    if cases.is_empty() {
        let why = refused.unwrap_or("see rungs list and the limits there".into());
        return Err(Error::Usage(format!("no rung takes these options; {why}")));
    }
    Ok(cases)
}

/// Refuses names of rungs that do not exist.
fn check_names(options: &Options) -> Result<()> {
    let names: Vec<String> = (options.families.iter())
        .flat_map(|family| {
            family.rungs.iter().flat_map(|r| [r.name.to_string(), format!("{}/{}", family.name, r.name)])
        })
        .collect();
    let known: Vec<&str> = names.iter().map(String::as_str).collect();
    match options.rungs.iter().find(|name| !known.contains(&name.as_str())) {
        Some(name) => Err(Error::unknown("rung", name, &known)),
        None => Ok(()),
    }
}

/// The sizes of a family's cases with the rungs of each: the sizes from the options, or each rung's own.
fn sizes(
    engine: &Engine,
    family: &'static Family,
    rungs: &[&'static Rung],
    asked: &[MatrixSize],
) -> Result<Vec<(Size, Vec<&'static Rung>)>> {
    if !asked.is_empty() {
        return asked.iter().map(|&size| Ok((family.size(size)?, rungs.to_vec()))).collect();
    }
    let mut sizes: Vec<(Size, Vec<&'static Rung>)> = vec![];
    for &rung in rungs {
        let own = family.default_size(engine, rung);
        match sizes.iter_mut().find(|(size, _)| *size == own) {
            Some((_, rungs)) => rungs.push(rung),
            None => sizes.push((own, vec![rung])),
        }
    }
    Ok(sizes)
}

impl Case {
    fn name(&self) -> String {
        let row = self.row("", Kind::Rung, crate::algorithms::RateUnit::Keys.name());
        let words = [self.family.name, &row.size(), self.dtype.name(), &row.keys, &row.parameters];
        words.iter().filter(|word| !word.is_empty()).copied().collect::<Vec<_>>().join(" ")
    }

    /// A row before the run.
    fn row(&self, name: &str, kind: Kind, rate_unit: &str) -> Row {
        let (m, k) = match self.size {
            Size::Elements(_) => (None, None),
            Size::Product { m, k, .. } => (Some(m), Some(k)),
        };
        Row {
            family: self.family.name.into(),
            name: name.into(),
            kind,
            n: self.size.n(),
            m,
            k,
            dtype: self.dtype.name().into(),
            keys: self.keys.to_string(),
            parameters: parameter_text(self.family, &self.parameters),
            verified: false,
            skipped: None,
            error: None,
            call: None,
            back_to_back: None,
            rate: None,
            rate_unit: rate_unit.into(),
            gbs: None,
            of_copy: None,
            gflops: None,
            of_fp32: None,
            flops_per_byte: None,
            over_peer: None,
            over_tuned: None,
            over_twin: None,
            over_source: None,
            scratch_bytes: None,
            group: None,
        }
    }
}

/// A rung or a peer in a case.
struct Contestant<'p> {
    row: Row,
    relation: Option<Relation>,
    /// `None` if its output was wrong, or if it cannot run here.
    prepared: Option<Box<dyn Prepared + 'p>>,
    /// Milliseconds of one call, and of a call back to back.
    call: Vec<f64>,
    back_to_back: Vec<f64>,
    /// Calls in a row.
    calls: usize,
    /// The time that the host takes to enqueue a call.
    enqueuing: Duration,
}

/// Runs one case and appends its rows to `rows`, those before an error too.
fn measure_case(
    engine: &Engine,
    case: &Case,
    options: &Options,
    rows: &mut Vec<Row>,
    clocks: &mut Vec<f64>,
) -> Result<()> {
    let problem = case.family.make(Workload {
        size: case.size,
        dtype: case.dtype,
        distribution: case.keys,
        seed: options.seed,
        input: None,
        parameters: case.parameters,
    })?;
    let mut contestants = vec![];
    let outcome = contest(engine, case, options, &*problem, &mut contestants, clocks);
    let work = problem.work();
    contestants.iter_mut().for_each(|contestant| contestant.conclude(&work));
    let done: Vec<_> = contestants.into_iter().map(|c| (c.row, c.relation)).collect();
    rows.extend(with_ratios(done));
    outcome
}

/// The contest of a case.
fn contest<'p>(
    engine: &Engine,
    case: &'p Case,
    options: &'p Options,
    problem: &'p dyn Problem,
    contestants: &mut Vec<Contestant<'p>>,
    clocks: &mut Vec<f64>,
) -> Result<()> {
    let unit = problem.work().unit.name();
    let mut enter = |name: &str, kind, relation, prepared: Result<Box<dyn Prepared + 'p>>| {
        let mut contestant = Contestant {
            row: case.row(name, kind, unit),
            relation,
            prepared: None,
            call: vec![],
            back_to_back: vec![],
            calls: 1,
            enqueuing: Duration::ZERO,
        };
        let outcome = contestant.enter(engine, prepared);
        contestants.push(contestant);
        outcome
    };
    for rung in &case.rungs {
        enter(rung.name, Kind::Rung, None, problem.prepare(engine, rung))?;
    }
    if let (Some(peers), Some(open)) = (&options.peers, problem.open()) {
        let chosen = |(peer, relation): &(&Peer, Relation)| {
            let names = &options.peer_names;
            let is = |name: &String| match (name.as_str(), relation) {
                ("reference", Relation::Reference | Relation::Tuned)
                | ("twins", Relation::Twin(_))
                | ("sources", Relation::Source(_)) => true,
                (name, _) => name == peer.name,
            };
            names.is_empty() || names.iter().any(is)
        };
        let list: Vec<_> = peers.of(case.family, &case.rungs, case.dtype, &case.parameters).filter(chosen).collect();
        for (peer, relation) in list {
            let kind = match relation {
                Relation::Twin(_) => Kind::Twin,
                Relation::Source(_) => Kind::Source,
                Relation::Reference | Relation::Tuned | Relation::Other => Kind::Peer,
            };
            let prepared = peers.prepare(peer, engine, case.family, open, case.size, &case.parameters);
            enter(&peer.name, kind, Some(relation), prepared)?;
        }
    }
    let waiter = Waiter::new(engine)?;
    rounds(engine, contestants, options, &waiter)?;
    clocks.extend(waiter.clock_mhz()?);
    contestants.iter_mut().try_for_each(|contestant| contestant.verify(engine))
}

/// Rounds of all contestants, until the medians are stable.
fn rounds(engine: &Engine, contestants: &mut [Contestant], options: &Options, waiter: &Waiter) -> Result<()> {
    let (least, most) = match options.rounds {
        Some(rounds) => (rounds, rounds),
        None if engine.is_simulator() => SIMULATOR_ROUNDS,
        None => GPU_ROUNDS,
    };
    let warm_up = if engine.is_simulator() { 0 } else { WARM_UP };
    let (mut round, mut started) = (0, Instant::now());
    let enough = |round: usize, started: Instant, contestants: &[Contestant]| {
        let round = round.saturating_sub(warm_up);
        // The test for stable medians takes time too.
        let look = round >= least && (round - least).is_multiple_of(5);
        round >= most || look && (started.elapsed() > options.budget || contestants.iter().all(Contestant::is_stable))
    };
    while !enough(round, started, contestants) {
        if round == warm_up {
            contestants.iter_mut().for_each(|contestant| contestant.begin(options));
            started = Instant::now();
        }
        for i in 0..contestants.len() {
            let turn = (i + round) % contestants.len();
            contestants[turn].measure(engine, waiter, options.back_to_back)?;
        }
        round += 1;
    }
    Ok(())
}

impl<'p> Contestant<'p> {
    /// The first run, and the verdict on it.
    fn enter(&mut self, engine: &Engine, prepared: Result<Box<dyn Prepared + 'p>>) -> Result<()> {
        self.prepared = match prepared {
            Ok(prepared) => {
                self.row.scratch_bytes = Some(prepared.scratch_bytes());
                Some(prepared)
            }
            Err(e @ (Error::Usage(_) | Error::OutOfMemory { .. })) => {
                self.row.skipped = Some(e.to_string());
                return Ok(());
            }
            Err(e) => return self.broken(engine, e),
        };
        let first = self.one_call(engine).and_then(|ms| {
            // The first round on the simulator is planned by this time; on a GPU the warm-up measures again.
            self.call.push(ms);
            self.verify(engine)
        });
        first.or_else(|e| self.broken(engine, e))
    }

    /// Notes an error. The case goes on unless the device has failed.
    fn broken(&mut self, engine: &Engine, error: Error) -> Result<()> {
        (self.row.verified, self.prepared) = (false, None);
        self.row.error = Some(error.to_string());
        if engine.synchronize().is_ok() { Ok(()) } else { Err(error) }
    }

    /// Checks the output of the last run.
    fn verify(&mut self, engine: &Engine) -> Result<()> {
        let Some(prepared) = &mut self.prepared else { return Ok(()) };
        match prepared.verify() {
            Ok(()) => self.row.verified = true,
            Err(e) => return self.broken(engine, e),
        }
        Ok(())
    }

    /// Forgets the warm-up, after planning by it.
    fn begin(&mut self, options: &Options) {
        if let Some(call) = stats::times(&self.call, 1).filter(|_| options.back_to_back) {
            self.calls = (BACK_TO_BACK_MS / call.median_ms).ceil().clamp(1.0, MOST_CALLS as f64) as usize;
        }
        self.call.clear();
        self.back_to_back.clear();
    }

    /// One measurement of each kind.
    fn measure(&mut self, engine: &Engine, waiter: &Waiter, back_to_back: bool) -> Result<()> {
        if self.prepared.is_none() {
            return Ok(());
        }
        let ms = self.one_call(engine).or_else(|e| self.broken(engine, e).map(|()| f64::NAN))?;
        self.call.push(ms);
        if back_to_back {
            let ms = self.many_calls(engine, waiter).or_else(|e| self.broken(engine, e).map(|()| f64::NAN))?;
            self.back_to_back.push(ms);
        }
        Ok(())
    }

    /// Milliseconds of one call on an idle device.
    fn one_call(&mut self, engine: &Engine) -> Result<f64> {
        let Some(prepared) = &mut self.prepared else { return Ok(f64::NAN) };
        prepared.restore()?;
        engine.synchronize()?;
        let start = engine.mark()?;
        let enqueued = Instant::now();
        prepared.run()?;
        self.enqueuing = enqueued.elapsed();
        let end = engine.mark()?;
        engine.elapsed_ms(&start, &end)
    }

    /// Milliseconds per call of several calls that follow each other without a gap.
    fn many_calls(&mut self, engine: &Engine, waiter: &Waiter) -> Result<f64> {
        let Some(prepared) = &mut self.prepared else { return Ok(f64::NAN) };
        prepared.restore_for(self.calls)?;
        // Twice as long as the host took for one call at a time, and the time for the events.
        let wait = (self.enqueuing * 2 * self.calls as u32 + Duration::from_micros(30)).min(LONGEST_WAIT);
        waiter.wait(wait.as_nanos() as u64)?;
        let start = engine.mark()?;
        (0..self.calls).try_for_each(|_| prepared.run())?;
        let end = engine.mark()?;
        Ok(engine.elapsed_ms(&start, &end)? / self.calls as f64)
    }

    fn is_stable(&self) -> bool {
        let stable = |measured: &[f64]| measured.is_empty() || stats::times(measured, 1).is_some_and(|t| t.stable);
        self.prepared.is_none() || stable(&self.call) && stable(&self.back_to_back)
    }

    /// The row from the measurements; without times if the contestant is wrong.
    fn conclude(&mut self, work: &Work) {
        if !self.row.verified || self.prepared.is_none() {
            return;
        }
        let row = &mut self.row;
        row.call = stats::times(&self.call, 1);
        row.back_to_back = stats::times(&self.back_to_back, self.calls);
        let Some(call) = row.call else { return };
        let giga = |amount: f64| Some(rounded(amount / (call.median_ms * 1e6))).filter(|_| amount > 0.0);
        row.rate = Some(rounded(work.rate(call.median_ms)));
        row.gbs = giga(work.bytes);
        row.gflops = giga(work.flops);
        row.flops_per_byte = Some(rounded(work.flops / work.bytes)).filter(|_| work.flops > 0.0);
    }
}

/// The rows of a case, rungs with their speed over the reference's, over that of the library's fastest algorithm, over
/// their twins' and over their sources'.
fn with_ratios(rows: Vec<(Row, Option<Relation>)>) -> Vec<Row> {
    let related = |wanted: Relation| Some(&rows.iter().find(|(_, relation)| *relation == Some(wanted))?.0);
    let ratio = |row: &Row, other: Option<&Row>| {
        let other = other?;
        let over = |ours: Option<Times>, theirs: Option<Times>| Some(rounded(theirs?.median_ms / ours?.median_ms));
        Some(Ratio {
            of: other.name.clone(),
            call: over(row.call, other.call)?,
            back_to_back: over(row.back_to_back, other.back_to_back),
        })
    };
    let ratios: Vec<_> = rows
        .iter()
        .map(|(row, relation)| {
            let family = crate::algorithms::family(&row.family);
            let rung = family.and_then(|f| Some((f, f.rungs.iter().find(|r| r.name == row.name)?)));
            match (relation, rung) {
                (None, Some((family, rung))) => {
                    // A rung that is less precise is compared with a function that is so too.
                    let named = |name: &str| rows.iter().map(|(row, _)| row).find(|row| row.name == name);
                    let own = matmul::peer_of_its_precision(rung, &row.dtype).map(String::from);
                    let [reference, tuned] = match own.or_else(|| peers::stable_peer(family, rung, row)) {
                        Some(name) => [named(&name), named(&peers::tuned(&name))],
                        None => [Relation::Reference, Relation::Tuned].map(related),
                    };
                    let [twin, source] = [Relation::Twin(rung.name), Relation::Source(rung.name)].map(related);
                    [reference, tuned, twin, source].map(|other| ratio(row, other))
                }
                _ => [const { None }; 4],
            }
        })
        .collect();
    let rows = rows.iter().map(|(row, _)| row.clone()).zip(ratios);
    rows.map(|(row, [over_peer, over_tuned, over_twin, over_source])| Row {
        over_peer,
        over_tuned,
        over_twin,
        over_source,
        ..row
    })
    .collect()
}

/// Computes the rows' shares of the limits of the device.
fn set_limits(engine: &Engine, report: &mut Report, clocks: &[f64]) {
    let clock = stats::times(clocks, 1).map(|times| times.median_ms);
    report.limits.clock_mhz = clock;
    report.limits.fp32_gflops = clock.and_then(|clock| machine::fp32_gflops(engine, clock));
    report.limits.tf32_gflops = clock.and_then(|clock| machine::tf32_gflops(engine, clock));
    report.limits.bf16_gflops = report.limits.tf32_gflops.map(|gflops| rounded(2.0 * gflops));
    let limits = &report.limits;
    for row in &mut report.results {
        row.of_copy = row.gbs.map(|gbs| rounded(gbs / limits.copy_gbs));
        row.of_fp32 = row.gflops.zip(limits.fp32_gflops).map(|(gflops, most)| rounded(gflops / most));
    }
}
