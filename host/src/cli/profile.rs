//! `rungs profile`: each copy and launch of a rung, and their totals.

use super::{Common, family_named};
use crate::algorithms::{Parameters, Size, Workload};
use crate::data::Size as Count;
use crate::engine::DeviceInfo;
use crate::error::{Error, Result};
use crate::measure::run_once;
use crate::profile::{Entry, Profile, Total, profile};
use crate::report::{self, Format, Grid};
use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgMatches, Command, value_parser};
use serde::Serialize;

pub(super) fn command() -> Command {
    Command::new("profile").about("Show each copy and launch of a rung, and their totals").args([
        Arg::new("family").value_name("FAMILY").help("Which family").required(true),
        Arg::new("rung").long("rung").value_name("RUNG").help("Which rung [default: the last that takes the input]"),
        Arg::new("n")
            .long("n")
            .value_name("N")
            .help("How many elements, or the side of the matrices [default: the family's]")
            .value_parser(value_parser!(Count)),
        Arg::new("view")
            .long("view")
            .value_name("VIEW")
            .help("What to print; CSV has one table and needs summary or trace [default: both, trace for CSV]")
            .value_parser(PossibleValuesParser::new(["summary", "trace", "both"])),
        super::check_argument(),
    ])
}

#[derive(Serialize)]
struct Report<'a> {
    schema: u32,
    device: &'a DeviceInfo,
    seed: u64,
    family: &'static str,
    rung: &'static str,
    n: u64,
    #[serde(flatten)]
    profile: &'a Profile,
}

pub(super) fn run(matches: &ArgMatches, common: &Common) -> Result<()> {
    let family = family_named(matches.get_one::<String>("family").map_or("", |name| name))?;
    let named = matches.get_one::<String>("rung").map(|name| family.rung(name)).transpose()?;
    let view = matches.get_one::<String>("view").map(String::as_str);
    if common.format == Format::Csv && view == Some("both") {
        return Err(Error::Usage("CSV has one table: --view summary or --view trace".into()));
    }
    let engine = common.engine()?;
    let asked = matches.get_one::<Count>("n").map(|n| match family.sizes.simulator {
        Size::Product { .. } => Size::Product { m: n.0, n: n.0, k: n.0 },
        Size::Elements(_) => Size::Elements(n.0),
    });
    let rung = named.unwrap_or_else(|| {
        let size = asked.unwrap_or(Size::Elements(0));
        family.choose(size, family.dtypes[0], &Parameters::default(), engine.device())
    });
    let size = asked.unwrap_or_else(|| family.default_size(&engine, rung));
    let problem = family.make(Workload {
        size,
        dtype: family.usual_dtype(rung),
        distribution: family.input,
        seed: common.seed,
        input: None,
        parameters: family.usual(rung),
    })?;
    common.vet(|| problem.prepare(&engine, rung).and_then(|mut prepared| run_once(&mut *prepared)))?;
    if !engine.is_simulator() {
        // One run beforehand: the first launch of a kernel loads it, and loading is not part of the kernel's cost.
        let mut prepared = problem.prepare(&engine, rung)?;
        prepared.restore()?;
        prepared.run()?;
        engine.synchronize()?;
    }
    // From the input on the host to the output on the host.
    let ((), profile) = profile(&engine, || {
        let mut prepared = problem.prepare(&engine, rung)?;
        prepared.restore()?;
        prepared.run()?;
        prepared.verify()
    })?;
    let (schema, device, seed) = (report::SCHEMA, engine.info(), common.seed);
    let (family, rung, n) = (family.name, rung.name, size.n());
    match (common.format, view.unwrap_or("both")) {
        (Format::Json, _) => report::json(&Report { schema, device, seed, family, rung, n, profile: &profile }),
        (Format::Csv, "summary") => summary(&profile.summary, true).print_csv(),
        (Format::Csv, _) => trace(&profile.trace, true).print_csv(),
        (Format::Text, view) => {
            let mut text = format!("{family} {rung}, n = {n}, on {}\n", device.name);
            if view != "trace" {
                text += &format!("\nsummary\n{}\n", summary(&profile.summary, false).text());
            }
            if view != "summary" {
                text += &format!("\ntrace\n{}\n", trace(&profile.trace, false).text());
            }
            report::print(&text)
        }
    }
}

/// A number for CSV, or for the text report.
fn ms(value: f64, plain: bool) -> String {
    if plain { format!("{value:.6}") } else { report::time(value) }
}

fn summary(totals: &[Total], plain: bool) -> Grid {
    let columns = ["time%", "time", "calls", "avg", "min", "max", "name"];
    let csv = ["time_percent", "time_ms", "calls", "avg_ms", "min_ms", "max_ms", "name"];
    let mut grid = Grid::new(if plain { &csv } else { &columns }, &[0, 1, 2, 3, 4, 5]);
    for total in totals {
        grid.row([
            format!("{:.2}", total.percent),
            ms(total.time_ms, plain),
            total.calls.to_string(),
            ms(total.average_ms, plain),
            ms(total.min_ms, plain),
            ms(total.max_ms, plain),
            total.name.clone(),
        ]);
    }
    grid
}

fn trace(entries: &[Entry], plain: bool) -> Grid {
    let columns = [
        "start",
        "duration",
        "grid",
        "block",
        "regs",
        "static smem",
        "dyn smem",
        "size",
        "throughput",
        "device",
        "context",
        "stream",
        "name",
    ];
    let csv = [
        "start_ms",
        "duration_ms",
        "grid",
        "block",
        "registers",
        "static_shared_bytes",
        "dynamic_shared_bytes",
        "size_bytes",
        "throughput_gbs",
        "device",
        "context",
        "stream",
        "name",
    ];
    let mut grid = Grid::new(if plain { &csv } else { &columns }, &[0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 11]);
    let none = || "-".to_string();
    let dims = |d: [u32; 3]| {
        if plain { format!("{} {} {}", d[0], d[1], d[2]) } else { format!("({} {} {})", d[0], d[1], d[2]) }
    };
    let bytes = |b: u64| if plain { b.to_string() } else { size(b) };
    for e in entries {
        grid.row([
            ms(e.start_ms, plain),
            ms(e.duration_ms, plain),
            e.grid.map_or_else(none, dims),
            e.block.map_or_else(none, dims),
            e.registers.map_or_else(none, |r| r.to_string()),
            e.static_shared.map_or_else(none, |b| bytes(b.into())),
            e.dynamic_shared.map_or_else(none, |b| bytes(b.into())),
            e.size.map_or_else(none, |b| bytes(b as u64)),
            e.throughput_gbs.map_or_else(none, |t| if plain { format!("{t:.6}") } else { format!("{t:.3} GB/s") }),
            e.device.clone(),
            e.context.map_or_else(none, |c| c.to_string()),
            e.stream.map_or_else(none, |s| s.to_string()),
            e.name.clone(),
        ]);
    }
    grid
}

/// A number of bytes, with a suitable unit.
fn size(bytes: u64) -> String {
    match bytes {
        b if b >= 10 << 20 => format!("{:.1} MiB", b as f64 / (1 << 20) as f64),
        b if b >= 10 << 10 => format!("{:.1} KiB", b as f64 / 1024.0),
        b => format!("{b} B"),
    }
}
