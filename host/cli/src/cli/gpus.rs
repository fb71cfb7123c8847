//! `--gpus`: a problem on several devices, in one process or as one of several that a launcher has started.

use super::bench::{PEERS_NEED_CUDA, write_report};
use super::{Common, family};
use crate::algorithms::{FAMILIES, Family, RateUnit, Size};
use crate::bench::peers::{Peers, parameter_text};
use crate::bench::{self, Options, machine};
use crate::data::{Distribution, Dtype, KeyFile, MatrixSize, Output, Place as Name, Size as Count};
use crate::job::{CUB, Job, KINDS, Outcome, bare_exchange};
use crate::job_files::{Column, Files};
use crate::report::{self, Format, Grid};
use bench_report::{Limits, rounded};
use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, value_parser};
use rungs::engine::{DeviceChoice, Engine, cuda};
use rungs::error::{Error, Result};
use rungs_group::launcher::Place;
use rungs_group::sort::SortRung;
use rungs_group::{Group, Settings, Transport};
use serde::Serialize;
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Bytes that each GPU sends in the bare exchange, and each simulator.
const BARE_BYTES: (usize, usize) = (4 << 30, 1 << 20);

/// Timed runs unless the call says how many: on GPUs, and on simulators.
pub(super) const RUNS: (usize, usize) = (5, 1);

/// Whether groups solve the problems of a family.
pub(super) fn suits(family: &Family) -> bool {
    KINDS.iter().any(|(_, name)| *name == family.name)
}

/// `--gpus` and its options.
pub(super) fn arguments() -> [Arg; 3] {
    [
        Arg::new("gpus")
            .long("gpus")
            .value_name("N")
            .help(
                "On this number of GPUs together, or simulators with --device sim; under torchrun, mpirun or srun on \
                 those of all processes",
            )
            .value_parser(value_parser!(u16).range(1..)),
        Arg::new("transport")
            .long("transport")
            .value_name("TRANSPORT")
            .help(
                "How data moves between the GPUs of one host: copies (their copy engines), kernel (loads from the \
                 memory of all others) or nccl [default: kernel from three GPUs on, and copies for two]",
            )
            .value_parser(["copies", "kernel", "nccl"])
            .requires("gpus"),
        Arg::new("patience")
            .long("patience")
            .value_name("SECONDS")
            .help("How long a GPU's part of the program waits for the others")
            .value_parser(value_parser!(f64))
            .default_value("120")
            .requires("gpus"),
    ]
}

/// The numbers of GPUs that the call names; none if it is not about several.
pub(super) fn asked(matches: &ArgMatches) -> Option<Vec<usize>> {
    let given = matches.try_get_many::<u16>("gpus").ok().flatten()?;
    Some(given.map(|&gpus| gpus.into()).collect())
}

/// What does not go with `--gpus`.
pub(super) fn refuse(matches: &ArgMatches, options: &[&str]) -> Result<()> {
    let given = |name: &&&str| {
        matches.ids().any(|id| id == **name) && matches.value_source(name) == Some(ValueSource::CommandLine)
    };
    match options.iter().find(given) {
        Some(option) => Err(Error::Usage(format!("--{option} does not go with --gpus: leave out one of them"))),
        None => Ok(()),
    }
}

/// The most seconds of patience: a day.
const LONGEST: f64 = 86_400.0;

pub(super) fn settings(matches: &ArgMatches) -> Result<Settings> {
    let seconds = matches.get_one::<f64>("patience").copied().unwrap_or(120.0);
    if !(seconds > 0.0 && seconds <= LONGEST) {
        return Err(Error::Usage(format!("--patience is more than 0 and at most {LONGEST} seconds, not {seconds}")));
    }
    let timeout = Duration::from_secs_f64(seconds);
    let transport = match matches.get_one::<String>("transport").map(String::as_str) {
        Some("copies") => Transport::Copies,
        Some("kernel") => Transport::Kernel,
        Some("nccl") => Transport::Nccl,
        _ => Transport::Suited,
    };
    Ok(Settings { timeout, transport })
}

/// The devices of a group in this process.
fn devices(common: &Common, size: usize) -> Result<Vec<DeviceChoice>> {
    let first = match common.device {
        DeviceChoice::Simulator | DeviceChoice::SimulatorOf(_) => return Ok(vec![common.device; size]),
        DeviceChoice::Cuda(first) => first,
        DeviceChoice::Auto => match cuda::devices() {
            Ok(gpus) if !gpus.is_empty() => 0,
            Err(error) if !matches!(Error::from(error.clone()), Error::NoDevice(_)) => return Err(error.into()),
            none => {
                let why = none.err().map_or("the driver knows of no GPU".into(), |error| error.to_string());
                common.note(&format!("using simulators: {why}"));
                return Ok(vec![DeviceChoice::Simulator; size]);
            }
        },
    };
    let beyond = || Error::Usage(format!("there are no {size} GPUs from number {first} on"));
    let end = u32::try_from(size).ok().and_then(|size| first.checked_add(size)).ok_or_else(beyond)?;
    Ok((first..end).map(DeviceChoice::Cuda).collect())
}

/// Runs `work` on a group of this size. Gives the result of this process's first rank, and whether that is rank 0,
/// which reports.
pub(super) fn on_group<R: Send>(
    common: &Common,
    size: usize,
    settings: Settings,
    work: impl Fn(&dyn Group, &Engine) -> Result<R> + Sync,
) -> Result<(R, bool)> {
    if let Some(place) = Place::of_process()?.filter(|place| place.size > 1) {
        if place.size != size {
            return Err(Error::Usage(format!("{}, and --gpus asks for {size}", place.said())));
        }
        let noted = |group: &dyn Group, engine: &Engine| {
            if let Some(why) = group.note().filter(|_| group.rank() == 0) {
                common.note(why);
            }
            work(group, engine)
        };
        return place.run(common.device, settings, noted).map(|result| (result, place.rank == 0));
    }
    // A group has at least one rank.
    let mut results = rungs_group::run_with(&devices(common, size)?, settings, work)?;
    Ok((results.swap_remove(0), true))
}

/// A number by the kind of device that the group has.
pub(super) fn by_kind<T>(engine: &Engine, (gpu, simulator): (T, T)) -> T {
    if engine.is_simulator() { simulator } else { gpu }
}

/// The size for a group: what was asked for, or for each device as much as the program gives one.
pub(super) fn size_of(family: &Family, n: Option<u64>, gpus: usize, engine: &Engine) -> Size {
    match (n, family.sizes.on(engine)) {
        (Some(n), Size::Product { .. }) => Size::Product { m: n, n, k: n },
        (Some(n), Size::Elements(_)) => Size::Elements(n),
        (None, Size::Elements(n)) => Size::Elements(n * gpus as u64),
        (None, product) => product,
    }
}

/// `rungs FAMILY --gpus N`.
pub(super) fn run_family(family: &'static Family, gpus: usize, matches: &ArgMatches, common: &Common) -> Result<()> {
    refuse(matches, &["check", "columns", "alpha", "beta", "transpose", "precision", "batch", "m", "k"])?;
    let number = |name: &str| matches.try_get_one::<Count>(name).ok().flatten().map(|count| count.0);
    let name = matches.get_one::<String>("rung");
    let rung = named_rung(family, name)?;
    if family::given_values(matches) && name.is_some() && rung != SortRung::Whole {
        return Err(no_values(rung));
    }
    let dtype = matches.get_one::<Dtype>("dtype").copied().unwrap_or(family.dtypes[0]);
    family.check_dtype(dtype)?;
    let named = |name: &str| matches.try_get_many::<OsString>(name).ok().flatten().and_then(|mut names| names.next());
    if let Some(input) = named("input") {
        super::refuse_unused(matches, &["keys", "seed"], "the elements come from a file")?;
        let types = matches.get_one::<Dtype>("dtype").map_or_else(|| family.dtypes.to_vec(), |dtype| vec![*dtype]);
        if family.name != KINDS[0].1 {
            return Err(Error::Usage(format!(
                "several devices take a file for {} alone: leave out --input",
                KINDS[0].1
            )));
        }
        return sort_file(family, gpus, (input, &types), rung, matches, common);
    }
    if named("output").or_else(|| named("output-values")).is_some() {
        return Err(Error::Usage("several devices write a file of the keys of a file: name it with --input".into()));
    }
    if named("values").is_some() {
        return Err(Error::Usage(
            "several devices take values of a file for keys of a file: name it with --input".into(),
        ));
    }
    let (seed, parameters) = (common.seed, family::parameters(family.extras, matches));
    let (n, distribution) = (number("n"), matches.get_one::<Distribution>("keys").copied());
    let (outcome, is_first) = on_group(common, gpus, settings(matches)?, |group, engine| {
        let (size, runs) = (size_of(family, n, gpus, engine), by_kind(engine, RUNS));
        Job { family, size, dtype, distribution, seed, parameters, rung, runs, profiled: false, cub: None, files: None }
            .run(group, engine)
    })?;
    report(common, is_first, &[Line::of(outcome)])
}

/// `rungs radix --gpus N --input FILE`, and `rungs sort FILE --gpus N`: each device reads its share, of the keys and of
/// the values that go with them, and rank 0 writes the whole.
pub(super) fn sort_file(
    family: &'static Family,
    gpus: usize,
    (input, types): (&OsStr, &[Dtype]),
    rung: SortRung,
    matches: &ArgMatches,
    common: &Common,
) -> Result<()> {
    let input = KeyFile::open(&input.into(), types)?;
    let (dtype, format, count) = (input.dtype, input.format, input.count);
    let size = Size::Elements(count);
    let writes = Place::of_process()?.is_none_or(|place| place.rank == 0);
    let output = |option: &str, dtype: Dtype| match matches.get_one::<OsString>(option).filter(|_| writes) {
        Some(name) if name == "-" => {
            Err(Error::Usage(format!("several devices write to a file: name one with --{option}")))
        }
        Some(name) => {
            let output = Output::open(&name.as_os_str().into(), format)?;
            output.check(dtype).map(|()| Some(output))
        }
        None => Ok(None),
    };
    let keys = Column { input: Some(input), dtype, count, output: Mutex::new(output("output", dtype)?) };
    let values = if family::given_values(matches) {
        let name = matches.get_one::<OsString>("values").map(|name| Name::from(name.as_os_str()));
        let input = name.map(|name| KeyFile::of_values(&name, count)).transpose()?;
        let dtype = input.as_ref().map_or(Column::places(count), |input| input.dtype);
        let output = output("output-values", dtype)?;
        if let (Some(keys), Some(values)) = (&*lock(&keys.output), &output) {
            keys.refuse_same(values)?;
        }
        Some(Column { input, dtype, count, output: Mutex::new(output) })
    } else {
        None
    };
    let files = &Files { keys, values };
    let (outcome, is_first) = on_group(common, gpus, settings(matches)?, |group, engine| {
        let parameters = crate::algorithms::Parameters::default();
        let (distribution, seed, files) = (None, common.seed, Some(files));
        Job { family, size, dtype, distribution, seed, parameters, rung, runs: 1, profiled: false, cub: None, files }
            .run(group, engine)
    })?;
    report(common, is_first, &[Line::of(outcome)])
}

fn no_values(rung: SortRung) -> Error {
    Error::Usage(format!("{rung} does not move values: leave out --rung"))
}

/// The rung of a group's sort, which alone has several.
pub(super) fn named_rung(family: &Family, name: Option<&String>) -> Result<SortRung> {
    match name {
        None => Ok(SortRung::default()),
        Some(name) if family.name == KINDS[0].1 => name.parse(),
        Some(_) => Err(Error::Usage(format!("{} has one rung for several devices: leave out --rung", family.name))),
    }
}

/// `rungs all --gpus N`.
pub(super) fn run_all(gpus: usize, matches: &ArgMatches, common: &Common) -> Result<()> {
    refuse(matches, &["check", "limit"])?;
    let n = matches.get_one::<Count>("n").map(|n| n.0);
    let families = || FAMILIES.iter().filter(|family| suits(family));
    let (outcomes, is_first) = on_group(common, gpus, settings(matches)?, |group, engine| {
        let jobs = families().flat_map(|family| {
            let rungs = if family.name == KINDS[0].1 { &SortRung::ALL[..] } else { &SortRung::ALL[..1] };
            rungs.iter().map(move |&rung| (family, rung))
        });
        let outcomes = jobs.map(|(family, rung)| {
            let (size, dtype) = (size_of(family, n, gpus, engine), family.dtypes[0]);
            let (distribution, parameters) = (None, crate::algorithms::Parameters::default());
            let (seed, runs) = (common.seed, by_kind(engine, RUNS));
            Job {
                family,
                size,
                dtype,
                distribution,
                seed,
                parameters,
                rung,
                runs,
                profiled: false,
                cub: None,
                files: None,
            }
            .run(group, engine)
        });
        outcomes.collect::<Result<Vec<_>>>()
    })?;
    report(common, is_first, &outcomes.into_iter().map(Line::of).collect::<Vec<_>>())
}

/// `rungs bench --gpus 1,2,4`.
pub(super) fn run_bench(
    bench: &Options,
    gpus: &[usize],
    save: Option<&Path>,
    matches: &ArgMatches,
    common: &Common,
) -> Result<()> {
    refuse(matches, &["peer", "plot", "budget", "columns", "alpha", "beta", "transpose", "precision", "batch"])?;
    let families: Vec<_> = bench.families.iter().copied().filter(|family| suits(family)).collect();
    let (settings, seed) = (settings(matches)?, common.seed);
    let on_host = matches.get_flag("peers-on-host");
    if bench.peers.is_some() && families.iter().all(|family| family.name != KINDS[0].1) {
        return Err(Error::Usage(format!("several devices have a peer for {} alone: leave out --peers", KINDS[0].1)));
    }
    let sizes: Vec<Option<u64>> = match &bench.sizes[..] {
        [] => vec![None],
        sizes => {
            let one = |size: &MatrixSize| {
                let refused = || format!("what several devices share is a number of elements, not {size}");
                size.one().map(Some).ok_or_else(|| Error::Usage(refused()))
            };
            sizes.iter().map(one).collect::<Result<_>>()?
        }
    };
    let mut lines: Vec<Line> = vec![];
    // What rank 0 says, if it is of this process: the machine, and what came of the jobs that were done.
    let (machine, mut failed) = (Mutex::new(None), None);
    // What all ranks know: the errors of wrong results, one or none for each job.
    let mut judged: Vec<Option<String>> = vec![];
    for (i, &gpus) in gpus.iter().enumerate() {
        let done = Mutex::new((None, vec![]));
        let measured = on_group(common, gpus, settings, |group, engine| {
            if bench.peers.is_some() && engine.is_simulator() && !on_host {
                return Err(Error::Usage(PEERS_NEED_CUDA.into()));
            }
            // All ranks take the same steps, so that none waits for a measurement of another.
            let told = if save.is_some() && i == 0 { Some(machine::limits(engine)?) } else { None };
            if let Some(limits) = told.filter(|_| group.rank() == 0) {
                *lock(&machine) = Some((machine::device(engine), limits));
            }
            let runs = bench.rounds.unwrap_or(by_kind(engine, RUNS));
            let bare =
                if gpus == 1 { None } else { Some(bare_exchange(group, engine, by_kind(engine, BARE_BYTES), runs)?) };
            if group.rank() == 0 {
                lock(&done).0 = bare;
            }
            let mut errors = vec![];
            for &family in &families {
                let dtypes = if bench.dtypes.is_empty() { &family.dtypes[..1] } else { &bench.dtypes };
                let keys: Vec<_> =
                    if bench.keys.is_empty() { vec![None] } else { bench.keys.iter().copied().map(Some).collect() };
                let parameters = family.own(&bench.parameters);
                let rungs: Vec<SortRung> = match (family.name == KINDS[0].1, &bench.rungs[..]) {
                    (true, []) if parameters.values => vec![SortRung::Whole],
                    (true, []) => SortRung::ALL.to_vec(),
                    (true, names) => names.iter().map(|name| name.parse()).collect::<Result<_>>()?,
                    (false, _) => vec![SortRung::default()],
                };
                if let Some(rung) = rungs.iter().find(|&&rung| parameters.values && rung != SortRung::Whole) {
                    return Err(no_values(*rung));
                }
                // CUB sorts keys, without values, as the rung does whose shares it sorts.
                let cub = bench.peers.as_ref().filter(|_| family.name == KINDS[0].1 && !parameters.values);
                let by_cub = cub.map(|peers| (SortRung::Whole, Some(peers)));
                let all: Vec<_> = rungs.iter().map(|&rung| (rung, None)).chain(by_cub).collect();
                for (n, &dtype, &distribution, &(rung, cub)) in every(&sizes, dtypes, &keys, &all) {
                    // One device exchanges nothing: its rungs are one.
                    if gpus == 1 && cub.is_none() && rung != rungs[0] {
                        continue;
                    }
                    let size = size_of(family, n, gpus, engine);
                    // More than a share has: fewer devices cannot, more can.
                    if let Size::Elements(n) = size
                        && n.div_ceil(gpus as u64) > u64::from(u32::MAX)
                    {
                        if group.rank() == 0 {
                            common.note(&format!("{n} elements are too many for {gpus} GPUs and are left out there"));
                        }
                        continue;
                    }
                    if let Some(why) = cub.and_then(|peers| cub_cannot(peers, dtype, size, gpus)) {
                        if group.rank() == 0 {
                            common.note(&format!("{CUB} is left out: {why}"));
                        }
                        continue;
                    }
                    let profiled = false;
                    let job = Job {
                        family,
                        size,
                        dtype,
                        distribution,
                        seed,
                        parameters,
                        rung,
                        runs,
                        profiled,
                        cub,
                        files: None,
                    };
                    let outcome = job.run(group, engine)?;
                    errors.push(outcome.error.clone());
                    if group.rank() == 0 {
                        lock(&done).1.push((outcome, parameter_text(family, &parameters)));
                    }
                }
            }
            if let Some((device, _)) = lock(&machine).as_mut().filter(|_| group.rank() == 0) {
                *device = machine::device(engine);
            }
            Ok(errors)
        });
        let (bare, outcomes) = done.into_inner().unwrap_or_else(PoisonError::into_inner);
        for (outcome, parameters) in outcomes {
            let is_same = |line: &&Line| {
                let own = &line.outcome;
                let what = |of: &Outcome| (of.family, of.n, of.dtype, of.keys.clone());
                // On one device the rungs of a group are one, but CUB is another.
                let is_one = own.gpus == 1 && (own.rung == CUB) == (outcome.rung == CUB);
                what(own) == what(&outcome) && (is_one || own.rung == outcome.rung)
            };
            let base = lines.iter().find(is_same).map(|line| &line.outcome);
            let over = |base: &Outcome| Some((outcome.rate? / base.rate?, base.gpus));
            let speedup = base.and_then(over);
            let efficiency = speedup.map(|(times, base)| times * base as f64 / gpus as f64);
            let (speedup, exchange_gbs) = (speedup.map(|(times, _)| times), bare);
            lines.push(Line { speedup, efficiency, exchange_gbs, parameters, ..Line::of(outcome) });
        }
        // As on one device, what was measured before an error is reported.
        match measured {
            Ok((errors, _)) => judged.extend(errors),
            Err(error) => {
                failed = Some(error);
                break;
            }
        }
    }
    if !lines.is_empty() {
        let machine = machine.into_inner().unwrap_or_else(PoisonError::into_inner);
        if let (Some(file), Some((device, limits))) = (save, machine) {
            write_report(file, &saved(bench, device, limits, &lines))?;
        }
        print(common, &lines)?;
    }
    failed.map_or(Ok(()), Err)?;
    Error::wrong(judged.iter().flatten().map(String::as_str), judged.len())
}

/// Why CUB is not measured in a case: the library of peers counts keys by 31 bits, and see [`Peers::key_sort`].
fn cub_cannot(peers: &Peers, dtype: Dtype, size: Size, gpus: usize) -> Option<String> {
    match (peers.key_sort(dtype), size) {
        (Err(error), _) => Some(error.to_string()),
        (Ok(_), Size::Elements(n)) if n.div_ceil(gpus as u64) > i32::MAX as u64 => {
            Some(format!("{n} elements are too many for its call on {gpus} GPUs"))
        }
        _ => None,
    }
}

/// Locks what no panic leaves half changed.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The lines as a report of `rungs bench`.
fn saved(bench: &Options, device: bench_report::Device, limits: Limits, lines: &[Line]) -> bench::Report {
    let mut notes = vec!["the device and the limits are those of the first GPU; all work on a problem together".into()];
    if device.kind == "simulator" {
        notes.push("the times are the simulator's, by the host's clock: they say nothing about a GPU".into());
    }
    bench::Report {
        schema: bench::SCHEMA,
        device,
        limits,
        method: vec![
            "call: one run of all devices, which begin together, up to the end of the last one, by the host's clock"
                .into(),
            "the whole output is checked before the timed runs".into(),
            "exchange: bytes out of each device, all at once, when they do nothing else".into(),
        ],
        notes,
        seed: bench.seed,
        date: machine::now(),
        commit: machine::commit(),
        version: env!("CARGO_PKG_VERSION").into(),
        command: bench.command.clone(),
        peers: bench.peers.as_ref().map(Peers::description),
        results: lines.iter().map(Line::row).collect(),
    }
}

/// Every combination.
fn every<'a, D, K, R>(
    sizes: &'a [Option<u64>],
    dtypes: &'a [D],
    keys: &'a [K],
    rungs: &'a [R],
) -> impl Iterator<Item = (Option<u64>, &'a D, &'a K, &'a R)> {
    let of_rung = move |n, dtype, key| rungs.iter().map(move |rung| (n, dtype, key, rung));
    let of_key = move |n, dtype| keys.iter().flat_map(move |key| of_rung(n, dtype, key));
    sizes.iter().flat_map(move |&n| dtypes.iter().flat_map(move |dtype| of_key(n, dtype)))
}

/// A line of the report.
#[derive(Serialize)]
struct Line {
    #[serde(flatten)]
    outcome: Outcome,
    /// Further parameters of the computation, for the saved report.
    #[serde(skip)]
    parameters: String,
    /// The rate over that of the fewest GPUs before.
    #[serde(skip_serializing_if = "Option::is_none")]
    speedup: Option<f64>,
    /// The speed-up over the number of times as many GPUs.
    #[serde(skip_serializing_if = "Option::is_none")]
    efficiency: Option<f64>,
    /// 10⁹ bytes per second out of a GPU in the bare exchange.
    #[serde(skip_serializing_if = "Option::is_none")]
    exchange_gbs: Option<f64>,
}

impl Line {
    fn of(outcome: Outcome) -> Self {
        let parameters = String::new();
        Self { outcome, parameters, speedup: None, efficiency: None, exchange_gbs: None }
    }

    /// The line as a row of the saved report.
    fn row(&self) -> bench::Row {
        let Outcome { family, rung, gpus, transport, dtype, keys, rate, rate_unit, size, times, .. } = &self.outcome;
        let (m, k) = match *size {
            Size::Elements(_) => (None, None),
            Size::Product { m, k, .. } => (Some(m), Some(k)),
        };
        let rate = rate.map(rounded);
        let of_unit = |unit: RateUnit| rate.filter(|_| *rate_unit == unit);
        bench::Row {
            family: (*family).into(),
            name: (*rung).into(),
            kind: if *rung == CUB { bench::Kind::Peer } else { bench::Kind::Rung },
            n: size.n(),
            m,
            k,
            dtype: dtype.name().into(),
            keys: keys.clone(),
            parameters: self.parameters.clone(),
            verified: self.outcome.verified,
            skipped: None,
            error: self.outcome.error.clone(),
            call: *times,
            back_to_back: None,
            rate,
            rate_unit: rate_unit.name().into(),
            gbs: of_unit(RateUnit::Gigabytes),
            // The limits are those of one device.
            of_copy: None,
            gflops: of_unit(RateUnit::Gigaflops),
            of_fp32: None,
            flops_per_byte: None,
            over_peer: None,
            over_tuned: None,
            over_twin: None,
            over_source: None,
            scratch_bytes: None,
            group: Some(bench_report::Group {
                gpus: *gpus,
                transport: transport.clone(),
                speedup: self.speedup.map(rounded),
                efficiency: self.efficiency.map(rounded),
                exchange_gbs: self.exchange_gbs.map(rounded),
            }),
        }
    }

    /// The cells of the table.
    fn cells(&self) -> [String; 13] {
        let Outcome { family, rung, gpus, transport, n, dtype, values, keys, .. } = &self.outcome;
        let Outcome { time_ms, rate, rate_unit, error, .. } = &self.outcome;
        let or_dash = |text: Option<String>| text.unwrap_or("-".into());
        [
            family.to_string(),
            rung.to_string(),
            gpus.to_string(),
            transport.clone(),
            report::count(*n),
            values.map_or(dtype.to_string(), |values| format!("{dtype}, {values}")),
            keys.clone(),
            or_dash(time_ms.map(report::time)),
            or_dash(rate.map(|rate| report::rate(rate, rate_unit.name()))),
            or_dash(self.speedup.map(|speedup| format!("{speedup:.2}"))),
            or_dash(self.efficiency.map(|efficiency| format!("{efficiency:.2}"))),
            or_dash(self.exchange_gbs.map(|gbs| format!("{gbs:.1}"))),
            error.as_ref().map_or("yes".into(), |error| format!("WRONG: {error}")),
        ]
    }

    /// The cells of [`CSV_COLUMNS`].
    fn csv_cells(&self) -> [String; CSV_COLUMNS.len()] {
        let Outcome { family, rung, gpus, transport, n, dtype, keys, .. } = &self.outcome;
        let Outcome { time_ms, best_ms, rate, rate_unit, verified, error, .. } = &self.outcome;
        let number = |value: &Option<f64>| value.map_or(String::new(), |value| value.to_string());
        [
            family.to_string(),
            rung.to_string(),
            gpus.to_string(),
            transport.clone(),
            n.to_string(),
            dtype.to_string(),
            keys.clone(),
            number(time_ms),
            number(best_ms),
            number(rate),
            rate_unit.name().to_string(),
            number(&self.speedup),
            number(&self.efficiency),
            number(&self.exchange_gbs),
            verified.to_string(),
            error.clone().unwrap_or_default(),
        ]
    }
}

/// The columns of the CSV report, with the names of the JSON report.
const CSV_COLUMNS: [&str; 16] = [
    "family",
    "rung",
    "gpus",
    "transport",
    "n",
    "dtype",
    "keys",
    "time_ms",
    "best_ms",
    "rate",
    "rate_unit",
    "speedup",
    "efficiency",
    "exchange_gbs",
    "verified",
    "error",
];

/// The JSON report.
#[derive(Serialize)]
struct Report<'a> {
    schema: u32,
    seed: u64,
    results: &'a [Line],
}

/// Prints the lines, if this is the process to do so. On all of them a wrong result is an error.
fn report(common: &Common, prints: bool, lines: &[Line]) -> Result<()> {
    if prints {
        print(common, lines)?;
    }
    Error::wrong(lines.iter().filter_map(|line| line.outcome.error.as_deref()), lines.len())
}

fn print(common: &Common, lines: &[Line]) -> Result<()> {
    let columns = [
        "family",
        "rung",
        "gpus",
        "by",
        "n",
        "type",
        "keys",
        "time",
        "rate",
        "speed-up",
        "efficiency",
        "exchange GB/s",
        "verified",
    ];
    match common.format {
        Format::Json => report::json(&Report { schema: report::SCHEMA, seed: common.seed, results: lines }),
        Format::Text => {
            let mut grid = Grid::new(&columns, &[2, 4, 7, 8, 9, 10, 11]);
            lines.iter().for_each(|line| grid.row(line.cells()));
            grid.print()
        }
        Format::Csv => {
            let mut grid = Grid::new(&CSV_COLUMNS, &[]);
            lines.iter().for_each(|line| grid.row(line.csv_cells()));
            grid.print_csv()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rungs_group::Exchange;
    use std::cell::Cell;
    use std::sync::Arc;

    /// Spoils what one rank is told: in its gather of this number, or the last word of each round of its exchanges.
    /// (The first key of a round may be one that the rank cuts off, because it is another rank's.)
    struct Spoiled<'a> {
        group: &'a dyn Group,
        gather: Option<u32>,
        gathers: Cell<u32>,
    }

    impl Group for Spoiled<'_> {
        fn rank(&self) -> usize {
            self.group.rank()
        }

        fn size(&self) -> usize {
            self.group.size()
        }

        fn transport(&self) -> &str {
            self.group.transport()
        }

        fn all_gather_bytes(&self, mine: Vec<u8>) -> Result<Arc<[Vec<u8>]>> {
            let mut all = self.group.all_gather_bytes(mine)?.to_vec();
            if self.gather == Some(self.gathers.replace(self.gathers.get() + 1)) && self.rank() == 1 {
                all[0][3] ^= 0x40;
            }
            Ok(all.into())
        }

        fn exchange(&self, exchange: &Exchange<'_>, after: &mut dyn FnMut(usize) -> Result<()>) -> Result<()> {
            let is_spoiled = self.gather.is_none() && self.rank() == 1;
            self.group.exchange(exchange, &mut |round| {
                let received = &exchange.rounds[round].receives[0];
                if is_spoiled && !received.is_empty() {
                    exchange.stream.synchronize()?;
                    // SAFETY: the byte is inside the memory of the simulator, and nothing else runs in it.
                    unsafe { *exchange.to.address().add(received.end - 2) ^= 0x40 };
                }
                after(round)
            })
        }

        fn abort(&self, why: &str) {
            self.group.abort(why);
        }
    }

    /// One spoiled bit on one rank makes each problem's result wrong on all ranks, in every report, and by the exit
    /// code.
    #[test]
    fn a_spoiled_run_is_wrong() {
        let family = |name| FAMILIES.iter().find(|family| family.name == name).unwrap();
        let common =
            Common { device: DeviceChoice::Simulator, seed: 1, format: Format::Text, quiet: true, check: None };
        for (name, rung, gather, values) in [
            ("radix", SortRung::Whole, None, false),
            ("radix", SortRung::Whole, None, true),
            ("radix", SortRung::Ranges, None, false),
            ("reduce", SortRung::default(), Some(1), false),
            ("scan", SortRung::default(), Some(0), false),
            ("histogram", SortRung::default(), Some(1), false),
            ("matmul", SortRung::default(), None, false),
        ] {
            let run = |spoils: bool| {
                rungs_group::run(&[DeviceChoice::Simulator; 2], |group, engine| {
                    // Enough keys for a sort to exchange ranges.
                    let (family, n) = (family(name), if name == "radix" { 9001 } else { 70 });
                    let job = Job {
                        family,
                        size: size_of(family, Some(n), 2, engine),
                        dtype: family.dtypes[0],
                        distribution: None,
                        seed: 1,
                        parameters: crate::algorithms::Parameters { values, ..Default::default() },
                        rung,
                        runs: 1,
                        profiled: false,
                        cub: None,
                        files: None,
                    };
                    let spoiled = Spoiled { group, gather, gathers: Cell::new(0) };
                    job.run(if spoils { &spoiled } else { group }, engine).map(Line::of)
                })
                .unwrap()
            };
            for line in run(false) {
                assert!(report(&common, false, &[line]).is_ok(), "{name} {rung} is right");
            }
            for line in run(true) {
                let Outcome { error, verified, time_ms, .. } = &line.outcome;
                assert!(error.as_ref().is_some_and(|error| Error::is_mismatch(error)), "{name} {rung}: {error:?}");
                assert!(!verified && time_ms.is_none());
                assert!(line.cells()[12].starts_with("WRONG: "));
                assert_eq!(line.csv_cells()[14], "false");
                assert!(!line.row().verified && line.row().error.is_some());
                assert_eq!(report(&common, false, &[line]).unwrap_err().exit_code(), 1);
            }
        }
    }
}
