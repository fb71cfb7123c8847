//! S0's experiment: odd-even transposition on the device and on one core, and S0's model of their ratio.

use super::history::{BUBBLE, BUBBLE_R1, BubbleRow};
use super::{counts, json, list, number, problem, time};
use crate::algorithms::{Family, Parameters, Rung, family};
use crate::cli::Common;
use crate::data::{Distribution, Size as Count};
use crate::report::{self, Format, Grid};
use clap::{Arg, ArgMatches, Command, value_parser};
use rungs::engine::Engine;
use rungs::error::{Error, Result};
use rungs_kernels::bubble::r2_shared_block::{self as shared_block, BLOCK, BLOCK_KEYS};
use rungs_oracles::baseline;
use serde::Serialize;

/// The rung with S0's algorithm.
const RUNG: &str = "shared-block";

/// Sizes of S0's table, and sizes for which the simulator takes seconds.
const SIZES: &[u64] = &[131_072, 262_144, 524_288];
const SIMULATOR_SIZES: &[u64] = &[1024, 2048, 4096];

pub(super) fn command() -> Command {
    Command::new("bubble").about("Sort the sizes of S0's table on the device and on one core of the host").args([
        Arg::new("rung").long("rung").value_name("RUNG").help("Which rung [default: shared-block, the source's]"),
        counts("sizes", "LIST", "Numbers of keys [default: S0's; smaller ones on the simulator]"),
        Arg::new("host-limit")
            .long("host-limit")
            .value_name("N")
            .help("Leave the host out of sizes beyond this; it takes minutes for millions of keys")
            .value_parser(value_parser!(Count)),
    ])
}

/// One size.
#[derive(Serialize)]
struct Line {
    n: u64,
    rung: &'static str,
    gpu: String,
    gpu_ms: f64,
    host_ms: Option<f64>,
    ratio: Option<f64>,
}

/// S0's figures for one size.
#[derive(Serialize)]
struct Then {
    n: u64,
    gpu: &'static str,
    cpu: &'static str,
    gpu_ms: f64,
    host_ms: Option<f64>,
    ratio: Option<f64>,
}

#[derive(Serialize)]
struct Lines {
    results: Vec<Line>,
    history: Vec<Then>,
}

pub(super) fn run(matches: &ArgMatches, common: &Common) -> Result<()> {
    let family = bubble()?;
    let rung = family.rung(matches.get_one::<String>("rung").map_or(RUNG, |name| name))?;
    let engine = common.engine()?;
    let sizes = list(matches, "sizes", if engine.is_simulator() { SIMULATOR_SIZES } else { SIZES });
    let limit = matches.get_one::<Count>("host-limit").map_or(u64::MAX, |n| n.0);
    let mut results = vec![];
    let mut progress = common.progress(sizes.len());
    for n in sizes {
        progress.step(format!("{n} keys"));
        let gpu_ms = time(&engine, rung, &*problem(family, n, common.seed, Parameters::default())?)?;
        let host_ms = if n <= limit { Some(host(n, common.seed)?) } else { None };
        let (gpu, ratio) = (engine.info().name.clone(), host_ms.map(|host| host / gpu_ms));
        results.push(Line { n, rung: rung.name, gpu, gpu_ms, host_ms, ratio });
    }
    drop(progress);
    let then = |r: &BubbleRow| {
        let BubbleRow { gpu, cpu, n, gpu_ms, host_ms } = *r;
        Then { n, gpu, cpu, gpu_ms, host_ms, ratio: r.ratio() }
    };
    let history: Vec<_> = BUBBLE.iter().map(then).collect();
    if common.format == Format::Json {
        return json(&engine, common, "bubble", Lines { results, history });
    }
    let csv = ["source", "gpu", "cpu", "n", "gpu_ms", "host_ms", "ratio"];
    let text = ["", "GPU", "CPU", "NUM", "GPU ms", "host ms", "ratio"];
    let mut grid = Grid::new(if common.format == Format::Csv { &csv } else { &text }, &[3, 4, 5, 6]);
    let ours = |r: &Line| (r.n, "rungs", r.gpu.clone(), "this host", r.gpu_ms, r.host_ms, r.ratio);
    let theirs = |r: &Then| (r.n, "S0", r.gpu.to_string(), r.cpu, r.gpu_ms, r.host_ms, r.ratio);
    let mut rows: Vec<_> = history.iter().map(theirs).chain(results.iter().map(ours)).collect();
    // By size, ours below theirs.
    rows.sort_by_key(|row| row.0);
    for (n, source, gpu, cpu, gpu_ms, host_ms, ratio) in rows {
        let number = |value, decimals| number(value, decimals);
        let (gpu_ms, host_ms) = (number(Some(gpu_ms), 3), number(host_ms, 1));
        grid.row([source.to_string(), gpu, cpu.to_string(), n.to_string(), gpu_ms, host_ms, number(ratio, 1)]);
    }
    if common.format == Format::Csv { grid.print_csv() } else { grid.print() }
}

fn bubble() -> Result<&'static Family> {
    family("bubble").ok_or_else(|| Error::Usage("there is no family 'bubble'".into()))
}

/// Milliseconds of the host's odd-even transposition on one core.
fn host(n: u64, seed: u64) -> Result<f64> {
    baseline::timed("odd-even", &Distribution::Uniform.keys::<u32>(n, seed)?, baseline::odd_even)
}

/// The figures of S0's report of a run, and those of its model.
#[derive(Serialize)]
struct Figures {
    rung: &'static str,
    num: u64,
    /// Blocks of pass a.
    grid: u32,
    /// Threads per block.
    block: u32,
    gpu_pass: bool,
    host_pass: bool,
    gpu_ms: f64,
    host_ms: f64,
    ratio: f64,
    /// The time of a compare-exchange on the host divided by that of a block on the device, measured here.
    r1: f64,
    /// The model's 2 · ratio / R1.
    blocks_at_a_time: f64,
    /// Blocks of this shape per SM.
    blocks_per_multiprocessor: u32,
    /// `blocks_at_a_time` divided by `blocks_per_multiprocessor`.
    multiprocessors_by_model: f64,
    /// The number of SMs by the driver.
    multiprocessors: u32,
}

/// Runs one rung and prints S0's report.
pub(super) fn report(
    family: &'static Family,
    rung: Option<&'static Rung>,
    n: Option<u64>,
    common: &Common,
) -> Result<()> {
    let source = family.rung(RUNG)?;
    if let Some(other) = rung.filter(|r| r.name != RUNG) {
        return Err(Error::Usage(format!("the model of S0 is about {RUNG}, not {}", other.name)));
    }
    let engine = common.engine()?;
    let n = n.unwrap_or(if engine.is_simulator() { SIMULATOR_SIZES[2] } else { SIZES[0] });
    let keys =
        u32::try_from(n).map_err(|_| Error::Usage(format!("{n} keys cannot be sorted; the limit is {}", u32::MAX)))?;
    let time = |n| time(&engine, source, &*problem(family, n, common.seed, Parameters::default())?);
    let (gpu_ms, gpu_wrong) = passed(time(n))?;
    let (host_ms, host_wrong) = passed(host(n, common.seed))?;
    // One block alone: T1 = αB²/2. The host: TH = βN²/2.
    let (block_ms, _) = passed(time(BLOCK_KEYS.into()))?;
    let squared = |x: f64| x * x;
    let (alpha, beta) = (2.0 * block_ms / squared(BLOCK_KEYS.into()), 2.0 * host_ms / squared(n as f64));
    let (ratio, r1) = (host_ms / gpu_ms, beta / alpha);
    let blocks_per_multiprocessor = occupancy(&engine)?;
    let blocks_at_a_time = 2.0 * ratio / r1;
    let figures = Figures {
        rung: RUNG,
        num: n,
        grid: shared_block::grid(keys, BLOCK_KEYS, 0),
        block: BLOCK,
        gpu_pass: gpu_wrong.is_none(),
        host_pass: host_wrong.is_none(),
        gpu_ms,
        host_ms,
        ratio,
        r1,
        blocks_at_a_time,
        blocks_per_multiprocessor,
        multiprocessors_by_model: blocks_at_a_time / f64::from(blocks_per_multiprocessor),
        multiprocessors: engine.multiprocessors(),
    };
    print(&engine, common, &figures)?;
    let results = [gpu_wrong, host_wrong];
    Error::wrong(results.iter().filter_map(Option::as_deref), results.len())
}

/// A wrong result is reported with the others; any other error ends the report.
fn passed(outcome: Result<f64>) -> Result<(f64, Option<String>)> {
    match outcome {
        Ok(ms) => Ok((ms, None)),
        Err(wrong @ Error::Mismatch { .. }) => Ok((f64::NAN, Some(wrong.to_string()))),
        Err(other) => Err(other),
    }
}

/// Blocks of the rung per SM; a core of the simulator runs one.
fn occupancy(engine: &Engine) -> Result<u32> {
    let kernel = rungs_kernels::bubble::r2_shared_block::launches::RUNG.rung.kernel_names().next();
    match (engine.as_cuda(), kernel) {
        (Some(cuda), Some(kernel)) => Ok(cuda.occupancy(kernel, [BLOCK, 1, 1], 0)?.max(1)),
        _ => Ok(1),
    }
}

fn print(engine: &Engine, common: &Common, f: &Figures) -> Result<()> {
    if common.format == Format::Json {
        return json(engine, common, "bubble report", f);
    }
    let pass = |p: bool| if p { "pass" } else { "FAIL" }.to_string();
    let machine = if engine.is_simulator() { "cores of the simulator" } else { "SMs, by the driver" };
    let lines = [
        ("num", "NUM", f.num.to_string()),
        ("grid", "GRID", f.grid.to_string()),
        ("block", "BLOCK", f.block.to_string()),
        ("gpu_pass", "GPU", pass(f.gpu_pass)),
        ("host_pass", "host", pass(f.host_pass)),
        ("gpu_ms", "GPU time", format!("{:.4} ms", f.gpu_ms)),
        ("host_ms", "host time, one core", format!("{:.1} ms", f.host_ms)),
        ("ratio", "ratio host / GPU", format!("{:.2}", f.ratio)),
        ("r1", "R1 of this machine", format!("{:.3} ({BUBBLE_R1} in S0)", f.r1)),
        ("blocks_at_a_time", "2 ratio / R1: blocks at work", format!("{:.1}", f.blocks_at_a_time)),
        ("blocks_per_multiprocessor", "blocks that one SM holds", f.blocks_per_multiprocessor.to_string()),
        ("multiprocessors_by_model", "SMs, by the model", format!("{:.1}", f.multiprocessors_by_model)),
        ("multiprocessors", machine, f.multiprocessors.to_string()),
    ];
    if common.format == Format::Csv {
        let mut grid = Grid::new(&["property", "value"], &[]);
        let value = serde_json::to_value(f).unwrap_or_default();
        lines.iter().for_each(|(key, ..)| grid.row([key.to_string(), value[key].to_string()]));
        return grid.print_csv();
    }
    let width = lines.iter().map(|(_, name, _)| name.len()).max().unwrap_or(0);
    let text: String = lines.iter().map(|(_, name, value)| format!("{name:width$}  {value}\n")).collect();
    report::print(&format!(
        "{text}\nThe model: a block costs αB²/2, the grid αN² divided by the blocks that work at a time, the host \
         βN²/2, so with\nR1 = β/α the ratio is R1/2 times those blocks. On S0's GPUs an SM held one block \
         of this size; if it\nholds several, they share it, and the model counts less than one for each.\n"
    ))
}
