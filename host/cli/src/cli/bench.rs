//! `rungs bench`: rungs measured, next to libraries where there are any.

use super::progress::Progress;
use super::{Common, family, gpus};
use crate::algorithms::{Extra, FAMILIES, Family};
use crate::bench::{self, Options, Report, Row, Told, peers};
use crate::data::{Distribution, Dtype, MatrixSize, Place, Size};
use crate::report::{self, Format, Grid};
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use rungs::error::{Error, Result};
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The refusal of peers on the simulator.
pub(super) const PEERS_NEED_CUDA: &str =
    "peers need a GPU: they are CUDA libraries; leave --peers out to measure the simulator";

/// Every option that some family has.
fn extras() -> Vec<Extra> {
    let mut extras: Vec<Extra> = vec![];
    for extra in FAMILIES.iter().flat_map(|family| family.extras) {
        if !extras.contains(extra) {
            extras.push(*extra);
        }
    }
    extras
}

pub(super) fn command() -> Command {
    let list = |name: &'static str, value: &'static str, help: &'static str| {
        Arg::new(name).long(name).value_name(value).help(help).value_delimiter(',').action(ArgAction::Append)
    };
    let path = |name: &'static str, value: &'static str, help: &'static str| {
        Arg::new(name).long(name).value_name(value).help(help).value_parser(value_parser!(PathBuf))
    };
    Command::new("bench")
        .about(
            "Measure verified rungs, and on a GPU with the library of peers compare them with CUB, Thrust and cuBLAS",
        )
        .arg(Arg::new("family").value_name("FAMILY").num_args(0..).help("Which families [default: all]"))
        .args([
            list(
                "n",
                "N",
                "Elements, or sides of matrices: 1000, 2^20, every power of two in 2^12..2^28, or three sides as MxNxK",
            ),
            list("dtype", "TYPE", "Element types [default: each family's first]").value_parser(value_parser!(Dtype)),
            list("keys", "DISTRIBUTION", "Distributions of drawn elements [default: each family's own]")
                .value_parser(value_parser!(Distribution)),
            list("rung", "RUNG", "Which rungs, as RUNG or FAMILY/RUNG [default: all]"),
            list(
                "peer",
                "PEER",
                "Which peers: names, 'reference' (the bases of the ratios), 'twins' (the same rungs in CUDA C++), \
                 'sources' (the sources' algorithms) [default: all]",
            )
            .requires("peers"),
            Arg::new("peers")
                .long("peers")
                .value_name("PATH")
                .help("Measure peers too; their library is at PATH, $RUNGS_PEERS or next to the program")
                .num_args(0..=1)
                .require_equals(true)
                // An empty path stands for none; the parser of PathBuf would refuse it.
                .default_missing_value("")
                .value_parser(value_parser!(OsString)),
            Arg::new("runs")
                .long("runs")
                .value_name("RUNS")
                .help("Timed rounds of each case [default: 15 and more, until the medians are stable]")
                .value_parser(value_parser!(u32).range(1..)),
            Arg::new("budget")
                .long("budget")
                .value_name("SECONDS")
                .help("How long rounds of a case may go on beyond 15 [default: 2]")
                .value_parser(super::seconds)
                .conflicts_with("runs"),
            path("plot", "DIR", "Write plots there as SVG"),
            path("save", "FILE", "Write the report there as JSON, whatever --format is"),
            Arg::new("peers-on-host").long("peers-on-host").hide(true).action(ArgAction::SetTrue),
        ])
        .args(gpus::arguments())
        .mut_arg("gpus", |gpus| {
            let help =
                "On this number of GPUs together, or on several numbers in sequence; also times the bare exchange";
            gpus.help(help).value_delimiter(',').action(ArgAction::Append)
        })
        .args(extras().into_iter().map(family::extra_argument))
        .arg(super::no_check_argument())
}

/// The library of peers, if the call asks for one.
fn opened(matches: &ArgMatches) -> Result<Option<peers::Peers>> {
    let Some(path) = matches.get_one::<OsString>("peers") else { return Ok(None) };
    let given = Some(Path::new(path)).filter(|_| !path.is_empty());
    peers::Peers::open(&peers::find(given)?).map(Some)
}

pub(super) fn run(matches: &ArgMatches, common: &Common) -> Result<()> {
    common.without_check(
        "bench measures times, which a check would not leave as they are: rungs ladder FAMILY --check",
    )?;
    let mut options = options(matches, common)?;
    if let Some(gpus) = gpus::asked(matches) {
        options.peers = opened(matches)?;
        let save = matches.get_one::<PathBuf>("save").map(PathBuf::as_path);
        make_folders([save.and_then(Path::parent)])?;
        save.map_or(Ok(()), writable)?;
        return gpus::run_bench(&options, &gpus, save, matches, common);
    }
    let engine = common.engine()?;
    let on_host = matches.get_flag("peers-on-host");
    options.back_to_back = !engine.is_simulator() || on_host;
    if matches.get_one::<OsString>("peers").is_some() && engine.is_simulator() && !on_host {
        return Err(Error::Usage(PEERS_NEED_CUDA.into()));
    }
    if let Some(library) = opened(matches)? {
        let known: Vec<&str> =
            library.list.iter().map(|p| p.name.as_str()).chain(["reference", "twins", "sources"]).collect();
        if let Some(name) = options.peer_names.iter().find(|name| !known.contains(&name.as_str())) {
            return Err(Error::unknown("peer", name, &known));
        }
        options.peers = Some(library);
    }
    // Before the work, so that a report that cannot be written is refused at once.
    let (save, plots) = (matches.get_one::<PathBuf>("save"), matches.get_one::<PathBuf>("plot"));
    make_folders([plots.map(PathBuf::as_path), save.and_then(|file| file.parent())])?;
    save.map_or(Ok(()), |file| writable(file))?;
    let mut progress: Option<Progress> = None;
    let (report, failed) = bench::run(&engine, &options, |told| match told {
        Told::Note(text) => common.note(text),
        Told::Case(which, of, name) => {
            let progress = progress.get_or_insert_with(|| common.progress(of));
            // Without a progress bar, the log still shows how far a run came.
            if progress.is_hidden() {
                common.note(&format!("{which} of {of}: {name}"));
            }
            progress.step(name);
        }
    })?;
    drop(progress);
    if let Some(file) = save {
        write_report(file, &report)?;
    }
    if let Some(folder) = plots {
        for (name, svg) in bench_report::plot::all(&report) {
            write(&folder.join(name), &svg)?;
        }
    }
    match common.format {
        Format::Json => report::print(&json(&report)?)?,
        Format::Text => report::print(&text(&report))?,
        Format::Csv => csv(&report)?,
    }
    if let Some(error) = failed {
        return Err(error);
    }
    Error::wrong(report.results.iter().filter_map(|row| row.error.as_deref()), report.results.len())
}

fn options(matches: &ArgMatches, common: &Common) -> Result<Options> {
    let many = |name: &str| matches.get_many::<String>(name).into_iter().flatten().cloned().collect::<Vec<_>>();
    let families: Vec<&'static Family> = match &many("family")[..] {
        [] => FAMILIES.iter().collect(),
        names => names.iter().map(|name| super::family_named(name)).collect::<Result<_>>()?,
    };
    let sizes = many("n").iter().map(|text| sizes(text)).collect::<Result<Vec<_>>>()?.concat();
    for extra in extras() {
        let argument = family::extra_argument(extra);
        let name = argument.get_id().as_str();
        if super::given(matches, name) && !families.iter().any(|family| family.extras.contains(&extra)) {
            let names: Vec<_> = families.iter().map(|family| family.name).collect();
            return Err(Error::Usage(format!("--{name} does nothing here: {} has no use for it", names.join(", "))));
        }
    }
    Ok(Options {
        families,
        sizes,
        dtypes: matches.get_many::<Dtype>("dtype").into_iter().flatten().copied().collect(),
        keys: matches.get_many::<Distribution>("keys").into_iter().flatten().copied().collect(),
        rungs: many("rung"),
        peers: None,
        peer_names: many("peer"),
        parameters: family::parameters(&extras(), matches),
        rounds: matches.get_one::<u32>("runs").map(|runs| *runs as usize),
        budget: matches.get_one("budget").copied().unwrap_or(Duration::from_secs(2)),
        back_to_back: true,
        seed: common.seed,
        // The name of a file may be any bytes.
        command: command_line(std::env::args_os().map(|argument| argument.to_string_lossy().into_owned())),
    })
}

/// One size, or every power of two from one to the other.
fn sizes(text: &str) -> Result<Vec<MatrixSize>> {
    let Some((from, to)) = text.split_once("..") else { return Ok(vec![text.parse()?]) };
    let (from, to) = (from.parse::<Size>()?.0, to.trim_start_matches('=').parse::<Size>()?.0);
    let powers = (0..64).map(|i| 1u64 << i).filter(|n| (from..=to).contains(n));
    let powers: Vec<_> = powers.map(MatrixSize::cube).collect();
    if powers.is_empty() { Err(Error::Usage(format!("there is no power of two in {text}"))) } else { Ok(powers) }
}

/// The call as it could be typed again; the paths of the program and of files are cut down to their names.
fn command_line(mut args: impl Iterator<Item = String>) -> String {
    let program = args.next().unwrap_or_default();
    let file_name = |path: &str| Path::new(path).file_name().map(|name| name.to_string_lossy().into_owned());
    let name = file_name(&program).unwrap_or_else(|| "rungs".into());
    let without_folder = |text: String| {
        let (option, value) = text.split_once('=').filter(|_| text.starts_with("--")).unwrap_or(("", &text));
        match file_name(value).filter(|_| Path::new(value).is_absolute()) {
            Some(name) if option.is_empty() => name,
            Some(name) => format!("{option}={name}"),
            None => text,
        }
    };
    let plain = |c: char| c.is_alphanumeric() || "-_=./,:^+@%".contains(c);
    let quoted = args
        .map(without_folder)
        .map(|a| if !a.is_empty() && a.chars().all(plain) { a } else { format!("'{}'", a.replace('\'', r"'\''")) });
    std::iter::once(name).chain(quoted).collect::<Vec<_>>().join(" ")
}

fn json(report: &Report) -> Result<String> {
    let text = serde_json::to_string_pretty(report);
    text.map(|text| text + "\n").map_err(|e| Error::Usage(format!("the report cannot be written as JSON: {e}")))
}

/// Writes a report, so that it can be read again.
pub(super) fn write_report(file: &Path, report: &Report) -> Result<()> {
    write(file, &json(report)?)
}

/// Refuses a file that cannot be written.
fn writable(file: &Path) -> Result<()> {
    if file == "-" {
        return Err(Error::Usage("--save names a file; the same on standard output: --format json".into()));
    }
    report::writable(&Place::File(file.into()))
}

fn make_folders<'a>(folders: impl IntoIterator<Item = Option<&'a Path>>) -> Result<()> {
    let mut folders = folders.into_iter().flatten();
    folders.try_for_each(|folder| fs::create_dir_all(folder).map_err(|e| Error::writing(folder.display(), &e)))
}

fn write(file: &Path, text: &str) -> Result<()> {
    report::write_text(&Place::File(file.into()), text)
}

/// The report as text: the machine, and a table.
fn text(report: &Report) -> String {
    let (device, limits) = (&report.device, &report.limits);
    let mut head = format!("{}: a copy moves {:.0} GB/s", device.name, limits.copy_gbs);
    if let (Some(clock), Some(gflops)) = (limits.clock_mhz, limits.fp32_gflops) {
        head += &format!(", {clock:.0} MHz give {:.1} TFLOP/s in fp32", gflops * 1e-3);
    }
    head += &format!("; seed {}, {}, commit {}\n", report.seed, report.date, report.commit);
    report.notes.iter().for_each(|note| head += &format!("{note}\n"));
    let columns = [
        "family",
        "n",
        "type",
        "keys",
        "with",
        "who",
        "call",
        "p10..p90",
        "back to back",
        "rate",
        "of copy",
        "of fp32",
        "over peer",
        "back to back",
        "over tuned",
        "over twin",
        "over source",
        "scratch",
    ];
    let mut grid = Grid::new(&columns, &[1, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17]);
    report.results.iter().for_each(|row| grid.row(cells(row)));
    format!("{head}\n{}\n", grid.text())
}

fn cells(row: &Row) -> Vec<String> {
    let dash = || "-".to_string();
    let ratio = |ratio: Option<f64>| ratio.map_or_else(dash, |ratio| format!("{ratio:.2}"));
    let share = |share: Option<f64>| share.map_or_else(dash, |share| format!("{:.0} %", share * 100.0));
    let verdict = match (&row.error, &row.skipped, &row.call) {
        (Some(error), _, _) if Error::is_mismatch(error) => format!("WRONG: {error}"),
        (Some(error), _, _) => format!("FAILED: {error}"),
        (_, Some(why), _) => format!("skipped: {why}"),
        (_, _, Some(call)) => format!("{}{}", report::time(call.median_ms), if call.stable { "" } else { " ~" }),
        _ => dash(),
    };
    vec![
        row.family.clone(),
        row.size(),
        row.dtype.clone(),
        row.keys.clone(),
        row.parameters.clone(),
        row.name.clone(),
        verdict,
        row.call.map_or_else(dash, |t| format!("{}..{}", report::time(t.p10_ms), report::time(t.p90_ms))),
        row.back_to_back.map_or_else(dash, |t| report::time(t.median_ms)),
        row.rate.map_or_else(dash, |rate| bench_report::rate(rate, &row.rate_unit)),
        share(row.of_copy),
        share(row.of_fp32),
        ratio(row.over_peer.as_ref().map(|r| r.call)),
        ratio(row.over_peer.as_ref().and_then(|r| r.back_to_back)),
        ratio(row.over_tuned.as_ref().map(|r| r.call)),
        ratio(row.over_twin.as_ref().map(|r| r.call)),
        ratio(row.over_source.as_ref().map(|r| r.call)),
        row.scratch_bytes.map_or_else(dash, bench_report::bytes),
    ]
}

fn csv(report: &Report) -> Result<()> {
    let columns = [
        "family",
        "name",
        "kind",
        "m",
        "n",
        "k",
        "dtype",
        "keys",
        "parameters",
        "verified",
        "skipped",
        "error",
        "call_ms",
        "call_p10_ms",
        "call_p90_ms",
        "runs",
        "stable",
        "back_to_back_ms",
        "back_to_back_p10_ms",
        "back_to_back_p90_ms",
        "calls",
        "rate",
        "rate_unit",
        "gbs",
        "of_copy",
        "gflops",
        "of_fp32",
        "peer",
        "over_peer",
        "over_peer_back_to_back",
        "tuned",
        "over_tuned",
        "over_tuned_back_to_back",
        "twin",
        "over_twin",
        "over_twin_back_to_back",
        "source",
        "over_source",
        "over_source_back_to_back",
        "scratch_bytes",
    ];
    fn cell<T: ToString>(value: Option<T>) -> String {
        value.map_or(String::new(), |value| value.to_string())
    }
    let mut grid = Grid::new(&columns, &[]);
    for row in &report.results {
        let kind = format!("{:?}", row.kind).to_lowercase();
        let (call, back) = (row.call, row.back_to_back);
        let [peer, tuned, twin, source] =
            [&row.over_peer, &row.over_tuned, &row.over_twin, &row.over_source].map(Option::as_ref);
        grid.row([
            row.family.clone(),
            row.name.clone(),
            kind,
            cell(row.m),
            row.n.to_string(),
            cell(row.k),
            row.dtype.clone(),
            row.keys.clone(),
            row.parameters.clone(),
            row.verified.to_string(),
            cell(row.skipped.as_ref()),
            cell(row.error.as_ref()),
            cell(call.map(|t| t.median_ms)),
            cell(call.map(|t| t.p10_ms)),
            cell(call.map(|t| t.p90_ms)),
            cell(call.map(|t| t.runs)),
            cell(call.map(|t| t.stable)),
            cell(back.map(|t| t.median_ms)),
            cell(back.map(|t| t.p10_ms)),
            cell(back.map(|t| t.p90_ms)),
            cell(back.map(|t| t.calls)),
            cell(row.rate),
            row.rate_unit.clone(),
            cell(row.gbs),
            cell(row.of_copy),
            cell(row.gflops),
            cell(row.of_fp32),
            cell(peer.map(|r| &r.of)),
            cell(peer.map(|r| r.call)),
            cell(peer.and_then(|r| r.back_to_back)),
            cell(tuned.map(|r| &r.of)),
            cell(tuned.map(|r| r.call)),
            cell(tuned.and_then(|r| r.back_to_back)),
            cell(twin.map(|r| &r.of)),
            cell(twin.map(|r| r.call)),
            cell(twin.and_then(|r| r.back_to_back)),
            cell(source.map(|r| &r.of)),
            cell(source.map(|r| r.call)),
            cell(source.and_then(|r| r.back_to_back)),
            cell(row.scratch_bytes),
        ]);
    }
    grid.print_csv()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_of_sizes() {
        let cubes = |text: &str| sizes(text).unwrap().into_iter().map(|size| size.one().unwrap()).collect::<Vec<_>>();
        assert_eq!(cubes("1000"), [1000]);
        assert_eq!(cubes("2^3..2^5"), [8, 16, 32]);
        assert_eq!(cubes("5..33"), [8, 16, 32]);
        assert_eq!(sizes("40x50x60").unwrap(), [MatrixSize { m: 40, n: 50, k: 60 }]);
        assert!(sizes("9..15").is_err() && sizes("2^5..2^3").is_err() && sizes("..8").is_err());
    }

    #[test]
    fn a_call_can_be_typed_again() {
        let args = ["/opt/rungs", "bench", "radix", "--n", "2^20", "--plot", "a b", "--save=it's"];
        let line = command_line(args.iter().map(|a| a.to_string()));
        assert_eq!(line, r"rungs bench radix --n 2^20 --plot 'a b' '--save=it'\''s'");
    }

    #[test]
    fn a_call_in_a_report_names_no_folder_of_the_machine() {
        let args =
            ["/opt/rungs", "bench", "--peers=/opt/lib/libpeers.so", "--save", "/home/a b/new.json", "--plot", "x/y"];
        let line = command_line(args.iter().map(|a| a.to_string()));
        assert_eq!(line, "rungs bench --peers=libpeers.so --save new.json --plot x/y");
    }
}
