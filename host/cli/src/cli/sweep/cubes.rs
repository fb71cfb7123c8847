//! S1's experiments: the best number of threads and blocks, and the time of a kernel by several clocks.

use super::history::{CUBES, CUBES_H200, CUBES_HZ, CUBES_VALUES};
use super::{GPU_RUNS, counts, json, list, number, problem, time};
use crate::algorithms::cubes::Summer;
use crate::algorithms::{Family, Parameters, Rung, family};
use crate::cli::Common;
use crate::data::{Distribution, Place, Size as Count};
use crate::measure::median;
use crate::report::{self, Format, Grid};
use clap::{Arg, ArgMatches, Command, value_parser};
use rungs::engine::{Engine, What};
use rungs::error::{Error, Result};
use rungs::verify::compare;
use rungs_oracles::sums;
use serde::Serialize;
use std::ffi::OsString;

/// The rung of the sweep: S1's grid of blocks.
const RUNG: &str = "many-blocks";

/// Default numbers of threads and blocks, on a GPU and on the simulator.
const THREADS: &[u64] = &[32, 64, 128, 256, 512, 1024];
const BLOCKS: &[u64] = &[1, 4, 16, 32, 64, 128, 256, 512, 1024, 2048];
const SIMULATOR_THREADS: &[u64] = &[32, 128, 512];
const SIMULATOR_BLOCKS: &[u64] = &[1, 2, 4, 8];

/// Values on the simulator; on a GPU they are S1's 2²⁰ in the sweep.
const SIMULATOR_VALUES: u64 = 1 << 16;

pub(super) fn command() -> Command {
    Command::new("cubes").about("Find the best number of threads and blocks for the sum of cubes").args([
        Arg::new("rung").long("rung").value_name("RUNG").help("Which rung [default: many-blocks, the source's]"),
        counts("threads", "LIST", "Threads per block [default: 32 to 1024; 32, 128 and 512 on the simulator]"),
        counts("blocks", "LIST", "Blocks of the grid [default: 1 to 2048; to 8 on the simulator]"),
        Arg::new("n")
            .long("n")
            .value_name("N")
            .help("How many values [default: S1's 2^20; 2^16 on the simulator]")
            .value_parser(value_parser!(Count)),
        Arg::new("plot")
            .long("plot")
            .value_name("FILE")
            .help("Also draw the table as a heat map, an SVG file")
            .value_parser(value_parser!(OsString)),
    ])
}

#[derive(Serialize)]
struct Cell {
    threads: u64,
    blocks: u64,
    time_ms: f64,
    gigabytes_per_second: f64,
    best: bool,
}

#[derive(Serialize)]
struct Cells {
    rung: &'static str,
    n: u64,
    results: Vec<Cell>,
}

pub(super) fn run(matches: &ArgMatches, common: &Common) -> Result<()> {
    let family = family("cubes").ok_or_else(|| Error::Usage("there is no family 'cubes'".into()))?;
    let rung = family.rung(matches.get_one::<String>("rung").map_or(RUNG, |name| name))?;
    let engine = common.engine()?;
    let simulator = engine.is_simulator();
    let threads = list(matches, "threads", if simulator { SIMULATOR_THREADS } else { THREADS });
    let blocks = list(matches, "blocks", if simulator { SIMULATOR_BLOCKS } else { BLOCKS });
    let n = matches.get_one::<Count>("n").map_or(if simulator { SIMULATOR_VALUES } else { CUBES_VALUES }, |n| n.0);
    let small = |what: &str, value: u64| {
        let most = if what == "threads" { 1024 } else { i32::MAX as u64 };
        u32::try_from(value)
            .ok()
            .filter(|v| (1..=most).contains(&u64::from(*v)))
            .ok_or_else(|| Error::Usage(format!("{value} {what}: it takes 1 to {most}")))
    };
    let mut times = vec![];
    let mut progress = common.progress(blocks.len() * threads.len());
    for &b in &blocks {
        let mut row = vec![];
        for &t in &threads {
            progress.step(format!("{b} blocks of {t} threads"));
            let parameters = Parameters {
                threads: Some(small("threads", t)?),
                blocks: Some(small("blocks", b)?),
                ..Parameters::default()
            };
            row.push(time(&engine, rung, &*problem(family, n, common.seed, parameters)?)?);
        }
        times.push(row);
    }
    drop(progress);
    let places = (0..blocks.len()).flat_map(|b| (0..threads.len()).map(move |t| (b, t)));
    let best = places.min_by(|&(b, t), &(c, u)| times[b][t].total_cmp(&times[c][u])).unwrap_or((0, 0));
    if let Some(file) = matches.get_one::<OsString>("plot") {
        let title = format!("cubes {}, {} values, {}", rung.name, report::count(n), engine.info().name);
        let svg = super::heat::map(&title, ("blocks", &blocks), ("threads per block", &threads), &times, best);
        report::write_text(&Place::from(file.as_os_str()), &svg)?;
    }
    let cell = |b: usize, t: usize| Cell {
        threads: threads[t],
        blocks: blocks[b],
        time_ms: times[b][t],
        gigabytes_per_second: n as f64 * 4.0 / times[b][t] * 1e-6,
        best: (b, t) == best,
    };
    let cells: Vec<Cell> =
        (0..blocks.len()).flat_map(|b| (0..threads.len()).map(move |t| (b, t))).map(|(b, t)| cell(b, t)).collect();
    match common.format {
        Format::Json => json(&engine, common, "cubes", Cells { rung: rung.name, n, results: cells }),
        Format::Csv => {
            let mut grid =
                Grid::new(&["rung", "n", "blocks", "threads", "time_ms", "gigabytes_per_second", "best"], &[]);
            for c in cells {
                let (ms, rate) = (c.time_ms.to_string(), c.gigabytes_per_second.to_string());
                let shape = [n.to_string(), c.blocks.to_string(), c.threads.to_string()];
                grid.row([rung.name.to_string()].into_iter().chain(shape).chain([ms, rate, c.best.to_string()]));
            }
            grid.print_csv()
        }
        Format::Text => table(&engine, rung, n, (&blocks, &threads), &times, best),
    }
}

fn table(
    engine: &Engine,
    rung: &Rung,
    n: u64,
    axes: (&[u64], &[u64]),
    times: &[Vec<f64>],
    best: (usize, usize),
) -> Result<()> {
    let (blocks, threads) = axes;
    let names: Vec<String> = threads.iter().map(u64::to_string).collect();
    let head: Vec<&str> = std::iter::once("blocks \\ threads").chain(names.iter().map(String::as_str)).collect();
    let mut grid = Grid::new(&head, &(0..head.len()).collect::<Vec<_>>());
    for (b, row) in times.iter().enumerate() {
        let mark = |t: usize| if (b, t) == best { "*" } else { "" };
        let cells = row.iter().enumerate().map(|(t, &ms)| format!("{}{}", mark(t), report::time(ms)));
        grid.row(std::iter::once(blocks[b].to_string()).chain(cells));
    }
    report::print(&format!(
        "cubes {}, {} values, on {}; * the best: {} blocks of {} threads\n{}\n",
        rung.name,
        report::count(n),
        engine.info().name,
        blocks[best.0],
        threads[best.1],
        grid.text()
    ))
}

/// The time of one rung by each clock.
#[derive(Serialize)]
struct Clocks {
    rung: &'static str,
    n: u64,
    blocks: usize,
    verified: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    /// As S1 takes them: the latest end minus the earliest start, whatever SM they were read on.
    clocks: u64,
    /// The longest that one block took on its own SM's clock.
    longest_block_clocks: u64,
    /// Latest end minus earliest start on the device's global timer.
    timer_ms: f64,
    /// Between events around the launch.
    event_ms: f64,
    /// GB/s by each; by the clocks with the device's peak clock rate.
    clock_gbs: Option<f64>,
    timer_gbs: f64,
    event_gbs: f64,
    /// The event's rate in percent of what the memory could move.
    bandwidth_percent: Option<f64>,
}

#[derive(Serialize)]
struct AllClocks {
    results: Vec<Clocks>,
    why: &'static str,
}

/// The explanation why S1's figure is not a time.
const WHY: &str = "\
Each SM has a clock counter of its own. The difference of two readings is a time only if both were taken\n\
on the same SM: 'latest end - earliest start' over blocks of several SMs mixes unrelated\n\
counters. 'longest block' avoids that, but leaves out that blocks run in sequence. The device's timer is\n\
common to all SMs (it may tick in steps of a microsecond); the events are before and after the launch.";

/// The explanation for the simulator, where the figure is a time.
const WHY_SIMULATOR: &str = "\
The simulator has one clock, the host's, in nanoseconds. On a GPU each SM has a clock counter of its own,\n\
and 'latest end - earliest start' over blocks of several SMs is not a time.";

/// Runs the rungs and prints their times by each clock.
pub(super) fn report(
    family: &'static Family,
    rung: Option<&'static Rung>,
    n: Option<u64>,
    parameters: Parameters,
    common: &Common,
) -> Result<()> {
    let engine = common.engine()?;
    let n = match n {
        Some(n) => n,
        None if engine.is_simulator() => SIMULATOR_VALUES,
        None => family.sizes.gpu.elements()?,
    };
    let values = Distribution::Small.keys::<u32>(n, common.seed)?;
    let rungs = family.rungs.iter().copied().filter(|r| rung.is_none_or(|only| only.name == r.name));
    let results = rungs.map(|rung| clocks(&engine, rung, &values, &parameters)).collect::<Result<Vec<_>>>()?;
    let why = if engine.is_simulator() { WHY_SIMULATOR } else { WHY };
    let verdict = Error::wrong(results.iter().filter_map(|r| r.error.as_deref()), results.len());
    match common.format {
        Format::Json => json(&engine, common, "cubes report", AllClocks { results, why })?,
        Format::Csv => columns(&results, true).print_csv()?,
        Format::Text => {
            let then: String = CUBES
                .iter()
                .map(|row| {
                    let ms = row.clocks as f64 / CUBES_HZ * 1e3;
                    let shape = format!("{} x {}", row.blocks, row.threads);
                    format!(
                        "  GT 640, {shape:10}  {:>10} clocks = {ms:.3} ms at {:.0} MHz\n",
                        row.clocks,
                        CUBES_HZ / 1e6
                    )
                })
                .collect();
            let (clocks, ms) = CUBES_H200;
            report::print(&format!(
                "{} values, on {}\n{}\n\n{why}\n\nS1, {} values:\n{then}  H200, its own program: {clocks} clocks, for \
                 a kernel of {ms} ms by events\n",
                report::count(n),
                engine.info().name,
                columns(&results, false).text(),
                report::count(CUBES_VALUES),
            ))?;
        }
    }
    verdict
}

fn clocks(engine: &Engine, rung: &'static Rung, values: &[u32], parameters: &Parameters) -> Result<Clocks> {
    let mut summer = Summer::new(rung, engine, parameters)?;
    let input = engine.upload(values)?;
    let runs = if engine.is_simulator() { 1 } else { 1 + GPU_RUNS };
    let mut events = vec![];
    for _ in 0..runs {
        summer.poison()?;
        let origin = engine.origin()?;
        let ((), activities) = engine.record(|| summer.run(&input))?;
        let launches = activities.iter().filter(|a| matches!(a.what, What::Launch { .. }));
        let times = launches.map(|a| engine.times(&origin, a).map(|(_, ms)| ms)).collect::<Result<Vec<_>>>()?;
        events.push(times.iter().sum::<f64>());
    }
    if runs > 1 {
        // The first run loads the kernel.
        events.remove(0);
    }
    let right = sums::of_cubes(values);
    let error = match compare("cubes", rung.name, &vec![summer.sum()?].into(), &vec![right].into()) {
        Err(wrong @ Error::Mismatch { .. }) => Some(wrong.to_string()),
        other => other.map(|()| None)?,
    };
    // The blocks' readings are those of the last run.
    let times = summer.times()?;
    let span = |start: usize, end: usize| {
        let (first, last) = (times.iter().map(|t| t[start]).min(), times.iter().map(|t| t[end]).max());
        last.unwrap_or(0).saturating_sub(first.unwrap_or(0))
    };
    let (clocks, timer_ms, event_ms) = (span(0, 1), span(2, 3) as f64 * 1e-6, median(&mut events));
    let bytes = values.len() as f64 * 4.0;
    let rate = |ms: f64| if ms > 0.0 { bytes / ms * 1e-6 } else { 0.0 };
    let properties = engine.as_cuda().map(|cuda| cuda.properties());
    // The simulator's clock counts nanoseconds: kHz of 1 GHz.
    let khz = properties.map_or(1e6, |p| f64::from(p.clock_khz));
    let bandwidth = properties.map(|p| p.memory_bandwidth_gbs).filter(|b| *b > 0.0);
    Ok(Clocks {
        rung: rung.name,
        n: values.len() as u64,
        blocks: times.len(),
        verified: error.is_none(),
        error,
        clocks,
        longest_block_clocks: times.iter().map(|t| t[1].saturating_sub(t[0])).max().unwrap_or(0),
        timer_ms,
        event_ms,
        clock_gbs: (khz > 0.0).then(|| rate(clocks as f64 / khz)),
        timer_gbs: rate(timer_ms),
        event_gbs: rate(event_ms),
        bandwidth_percent: bandwidth.map(|b| rate(event_ms) / b * 100.0),
    })
}

fn columns(results: &[Clocks], plain: bool) -> Grid {
    let csv = [
        "rung",
        "n",
        "blocks",
        "clocks",
        "longest_block_clocks",
        "timer_ms",
        "event_ms",
        "clock_gbs",
        "timer_gbs",
        "event_gbs",
        "bandwidth_percent",
        "verified",
    ];
    let text = [
        "rung",
        "n",
        "blocks",
        "clocks (S1)",
        "longest block",
        "timer",
        "events",
        "GB/s clocks",
        "GB/s timer",
        "GB/s events",
        "% of memory",
        "verified",
    ];
    let mut grid = Grid::new(if plain { &csv } else { &text }, &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    for r in results {
        let ms = |v: f64| if plain { v.to_string() } else { report::time(v) };
        let rate = |v: Option<f64>| if plain { v.map_or(String::new(), |v| v.to_string()) } else { number(v, 2) };
        grid.row([
            r.rung.to_string(),
            r.n.to_string(),
            r.blocks.to_string(),
            r.clocks.to_string(),
            r.longest_block_clocks.to_string(),
            ms(r.timer_ms),
            ms(r.event_ms),
            rate(r.clock_gbs),
            rate(Some(r.timer_gbs)),
            rate(Some(r.event_gbs)),
            rate(r.bandwidth_percent),
            if plain { r.verified.to_string() } else { if r.verified { "yes" } else { "NO" }.to_string() },
        ]);
    }
    grid
}
