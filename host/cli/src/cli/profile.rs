//! `rungs profile`: each copy and launch of a rung, and their totals; of several devices their exchanges too.

use super::gpus::{self, by_kind, named_rung, on_group, size_of};
use super::{Common, family_named};
use crate::algorithms::{Family, Parameters, Size, Workload};
use crate::data::{Distribution, Dtype, Place, Size as Count};
use crate::job::{Job, KINDS};
use crate::measure::run_once;
use crate::report::{self, Format, Grid};
use crate::timeline::timeline;
use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgMatches, Command, value_parser};
use rungs::engine::DeviceInfo;
use rungs::error::{Error, Result};
use rungs::profile::{Entry, Profile, Track, profile};
use rungs_group::profile::GroupProfile;
use serde::Serialize;
use std::ffi::OsString;

pub(super) fn command() -> Command {
    let own = [
        Arg::new("family").value_name("FAMILY").help("Which family").required(true),
        Arg::new("rung").long("rung").value_name("RUNG").help("Which rung [default: the last that takes the input]"),
        Arg::new("n")
            .long("n")
            .value_name("N")
            .help("How many elements, or the side of the matrices [default: the family's]")
            .value_parser(value_parser!(Count)),
        Arg::new("dtype").long("dtype").value_name("TYPE").help("Element type").value_parser(value_parser!(Dtype)),
        super::family::keys_argument(),
        Arg::new("view")
            .long("view")
            .value_name("VIEW")
            .help("What to print; CSV has one table and needs summary or trace [default: both, trace for CSV]")
            .value_parser(PossibleValuesParser::new(["summary", "trace", "both"])),
        Arg::new("timeline")
            .long("timeline")
            .value_name("FILE")
            .help("Write a timeline too, in the Trace Event Format: open it with Perfetto or Chrome's about:tracing")
            .value_parser(value_parser!(OsString)),
        super::check_argument(),
    ];
    let about = "Show each copy and launch of a rung, and their totals; with --gpus the exchanges too";
    Command::new("profile").about(about).args(own).args(gpus::arguments())
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

#[derive(Serialize)]
struct GroupReport<'a> {
    schema: u32,
    seed: u64,
    family: &'static str,
    rung: &'static str,
    n: u64,
    gpus: usize,
    transport: &'a str,
    /// The median of runs that were not profiled.
    time_ms: Option<f64>,
    #[serde(flatten)]
    profile: &'a GroupProfile,
}

pub(super) fn run(matches: &ArgMatches, common: &Common) -> Result<()> {
    let family = family_named(matches.get_one::<String>("family").map_or("", |name| name))?;
    let view = matches.get_one::<String>("view").map(String::as_str);
    if common.format == Format::Csv && view == Some("both") {
        return Err(Error::Usage("CSV has one table: --view summary or --view trace".into()));
    }
    if common.format == Format::Json {
        super::refuse_unused(matches, &["view"], "JSON has both views")?;
    }
    let view = view.unwrap_or("both");
    let timeline = matches.get_one::<OsString>("timeline").map(|name| Place::from(name.as_os_str()));
    timeline.as_ref().map_or(Ok(()), report::writable)?;
    if timeline == Some(Place::Standard) {
        let why = "the timeline goes to standard output, and nothing else";
        super::refuse_unused(matches, &["format", "view"], why)?;
    }
    let (dtype, distribution) = (matches.get_one::<Dtype>("dtype"), matches.get_one::<Distribution>("keys"));
    dtype.map_or(Ok(()), |&dtype| family.check_dtype(dtype))?;
    if let Some(&[gpus]) = gpus::asked(matches).as_deref() {
        return run_group((family, gpus), (view, timeline), matches, common);
    }
    let named = matches.get_one::<String>("rung").map(|name| family.rung(name)).transpose()?;
    let engine = common.engine()?;
    let asked = matches.get_one::<Count>("n").map(|n| match family.sizes.simulator {
        Size::Product { .. } => Size::Product { m: n.0, n: n.0, k: n.0 },
        Size::Elements(_) => Size::Elements(n.0),
    });
    let rung = named.unwrap_or_else(|| {
        let size = asked.unwrap_or(Size::Elements(0));
        family.choose(size, dtype.copied().unwrap_or(family.dtypes[0]), &Parameters::default(), engine.device())
    });
    let size = asked.unwrap_or_else(|| family.default_size(&engine, rung));
    let problem = family.make(Workload {
        size,
        dtype: dtype.copied().unwrap_or(family.usual_dtype(rung)),
        distribution: distribution.copied().unwrap_or(family.input),
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
    let tracks = [Track { rank: None, name: "stream 1".into(), profile }];
    if write_timeline(&tracks, timeline)? {
        return Ok(());
    }
    let profile = &tracks[0].profile;
    let (schema, device, seed) = (report::SCHEMA, engine.info(), common.seed);
    let (family, rung, n) = (family.name, rung.name, size.n());
    if common.format == Format::Json {
        return report::json(&Report { schema, device, seed, family, rung, n, profile });
    }
    let head = format!("{family} {rung}, n = {n}, on {}\n", device.name);
    print(&head, &tracks, view, common.format)
}

/// `rungs profile FAMILY --gpus N`.
fn run_group(
    (family, gpus): (&'static Family, usize),
    (view, timeline): (&str, Option<Place>),
    matches: &ArgMatches,
    common: &Common,
) -> Result<()> {
    gpus::refuse(matches, &["check"])?;
    if !gpus::suits(family) {
        let known: Vec<_> = KINDS.iter().map(|(_, family)| *family).collect();
        let why = format!("several devices do not solve {}; they do {}", family.name, known.join(", "));
        return Err(Error::Usage(why));
    }
    let rung = named_rung(family, matches.get_one::<String>("rung"))?;
    let n = matches.get_one::<Count>("n").map(|n| n.0);
    let (mut outcome, is_first) = on_group(common, gpus, gpus::settings(matches)?, |group, engine| {
        let job = Job {
            family,
            size: size_of(family, n, gpus, engine),
            dtype: matches.get_one("dtype").copied().unwrap_or(family.dtypes[0]),
            distribution: matches.get_one("keys").copied(),
            seed: common.seed,
            parameters: Parameters::default(),
            rung,
            runs: by_kind(engine, gpus::RUNS),
            profiled: true,
            cub: None,
            files: None,
        };
        job.run(group, engine)
    })?;
    Error::wrong(outcome.error.as_deref(), 1)?;
    // Other processes than that of rank 0 print nothing.
    let Some(profile) = outcome.profile.take().filter(|_| is_first) else { return Ok(()) };
    if write_timeline(&profile.tracks, timeline)? {
        return Ok(());
    }
    let (rung, n, transport, time_ms) = (outcome.rung, outcome.n, &*outcome.transport, outcome.time_ms);
    if common.format == Format::Json {
        let (schema, seed, family) = (report::SCHEMA, common.seed, family.name);
        let profile = &profile;
        return report::json(&GroupReport { schema, seed, family, rung, n, gpus, transport, time_ms, profile });
    }
    let mut ranks = Grid::new(&["rank", "device", "begin", "end", "clock within"], &[0, 2, 3, 4]);
    for member in &profile.ranks {
        let times = [member.begin_ms, member.end_ms, member.within_ms].map(report::time);
        ranks.row([member.rank.to_string(), member.device.clone()].into_iter().chain(times));
    }
    let (name, time) = (family.name, time_ms.map_or("-".into(), report::time));
    let head = format!(
        "{name} {rung}, n = {n}, on {gpus} devices by {transport}; a run that is not profiled takes {time}\n\n{}\n",
        ranks.text()
    );
    print(&head, &profile.tracks, view, common.format)
}

/// Writes the timeline, if one is asked for. True if it took the standard output, where nothing else can go then.
fn write_timeline(tracks: &[Track], to: Option<Place>) -> Result<bool> {
    let Some(place) = to else { return Ok(false) };
    report::write_text(&place, &timeline(tracks)?)?;
    Ok(place == Place::Standard)
}

/// Prints the tables: both below a head, or one as CSV.
fn print(head: &str, tracks: &[Track], view: &str, format: Format) -> Result<()> {
    match (format, view) {
        (Format::Csv, "summary") => summary(tracks, true).print_csv(),
        (Format::Csv, _) => trace(tracks, true).print_csv(),
        _ => {
            let mut text = head.to_string();
            if view != "trace" {
                text += &format!("\nsummary\n{}\n", summary(tracks, false).text());
            }
            if view != "summary" {
                text += &format!("\ntrace\n{}\n", trace(tracks, false).text());
            }
            report::print(&text)
        }
    }
}

/// A number for CSV, or for the text report.
fn ms(value: f64, plain: bool) -> String {
    if plain { format!("{value:.6}") } else { report::time(value) }
}

fn summary(tracks: &[Track], plain: bool) -> Grid {
    let columns = ["track", "time%", "time", "calls", "avg", "min", "max", "name"];
    let csv = ["track", "time_percent", "time_ms", "calls", "avg_ms", "min_ms", "max_ms", "name"];
    let columns = &(if plain { csv } else { columns })[unnamed(tracks)..];
    let mut grid = Grid::new(columns, &right(columns, &["track", "name"]));
    for track in tracks {
        for total in &track.profile.summary {
            let cells = [
                track.to_string(),
                format!("{:.2}", total.percent),
                ms(total.time_ms, plain),
                total.calls.to_string(),
                ms(total.average_ms, plain),
                ms(total.min_ms, plain),
                ms(total.max_ms, plain),
                total.name.clone(),
            ];
            grid.row(cells.into_iter().skip(unnamed(tracks)));
        }
    }
    grid
}

/// How many columns in front are left out: that of the track's name, of one device, which has one track.
fn unnamed(tracks: &[Track]) -> usize {
    tracks.iter().all(|track| track.rank.is_none()).into()
}

/// The columns that are aligned to the right.
fn right(columns: &[&str], left: &[&str]) -> Vec<usize> {
    (0..columns.len()).filter(|&i| !left.contains(&columns[i])).collect()
}

/// What all tracks did, by the time of its start.
fn trace(tracks: &[Track], plain: bool) -> Grid {
    // With what is shown of a group alone, and what is shown of one device alone, for a group's tracks name it.
    let of_group = unnamed(tracks) == 0;
    let shown = |column: &str| match column {
        "track" | "sent" | "sent_bytes" | "from rank" | "from_rank" => of_group,
        "device" | "context" | "stream" => plain || !of_group,
        _ => true,
    };
    let columns = [
        "track",
        "start",
        "duration",
        "grid",
        "block",
        "regs",
        "static smem",
        "dyn smem",
        "size",
        "sent",
        "from rank",
        "throughput",
        "device",
        "context",
        "stream",
        "name",
    ];
    let csv = [
        "track",
        "start_ms",
        "duration_ms",
        "grid",
        "block",
        "registers",
        "static_shared_bytes",
        "dynamic_shared_bytes",
        "size_bytes",
        "sent_bytes",
        "from_rank",
        "throughput_gbs",
        "device",
        "context",
        "stream",
        "name",
    ];
    let all = if plain { csv } else { columns };
    let columns: Vec<&str> = all.into_iter().filter(|column| shown(column)).collect();
    let mut grid = Grid::new(&columns, &right(&columns, &["track", "device", "name"]));
    let none = || "-".to_string();
    let dims = |d: [u32; 3]| {
        if plain { format!("{} {} {}", d[0], d[1], d[2]) } else { format!("({} {} {})", d[0], d[1], d[2]) }
    };
    let bytes = |b: u64| if plain { b.to_string() } else { size(b) };
    let mut entries: Vec<(&Track, &Entry)> =
        tracks.iter().flat_map(|track| track.profile.trace.iter().map(move |entry| (track, entry))).collect();
    entries.sort_by(|(_, a), (_, b)| a.start_ms.total_cmp(&b.start_ms));
    for (track, e) in entries {
        let cells = [
            track.to_string(),
            ms(e.start_ms, plain),
            ms(e.duration_ms, plain),
            e.grid.map_or_else(none, dims),
            e.block.map_or_else(none, dims),
            e.registers.map_or_else(none, |r| r.to_string()),
            e.static_shared.map_or_else(none, |b| bytes(b.into())),
            e.dynamic_shared.map_or_else(none, |b| bytes(b.into())),
            e.size.map_or_else(none, |b| bytes(b as u64)),
            e.sent.map_or_else(none, |b| bytes(b as u64)),
            e.peer.map_or_else(none, |rank| rank.to_string()),
            e.throughput_gbs.map_or_else(none, |t| if plain { format!("{t:.6}") } else { format!("{t:.3} GB/s") }),
            e.device.clone(),
            e.context.map_or_else(none, |c| c.to_string()),
            e.stream.map_or_else(none, |s| s.to_string()),
            e.name.clone(),
        ];
        grid.row(cells.into_iter().zip(all).filter(|(_, column)| shown(column)).map(|(cell, _)| cell));
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
