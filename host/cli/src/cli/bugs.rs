//! `rungs bugs`: the gallery of bugs, with what the simulator's checker says of each; and their run on a device.

use super::Common;
use crate::checks;
use crate::data::Place;
use crate::report::{self, Format, Grid};
use crate::trace;
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use rungs::engine::{DeviceChoice, Engine};
use rungs::error::{Error, Result};
use rungs_gallery::{Case, Topic, Trial, Verdict, all, named};
use serde::Serialize;
use simt::sim::Check;
use std::ffi::OsString;
use std::path::PathBuf;

pub(super) fn command() -> Command {
    let names = || Arg::new("name").value_name("NAME");
    Command::new("bugs")
        .about("A gallery of bugs: small kernels, each with one planted bug and a clean twin")
        .after_help("Without a subcommand: all bugs, by topic.")
        .subcommand(
            Command::new("show").about("The bug, what it does, the kernel, the checker's findings, the fix").args([
                names().required(true),
                schedules(),
                Arg::new("html")
                    .long("html")
                    .value_name("FILE")
                    .help("Also write an HTML page that plays a run with the bug")
                    .value_parser(value_parser!(OsString)),
            ]),
        )
        .subcommand(
            Command::new("check")
                .about("What the checker finds in both versions of each bug")
                .args([names().num_args(0..).help("Which bugs [default: all]"), schedules()]),
        )
        .subcommand(
            Command::new("run")
                .about("Run both versions on a device and compare the output; some bugs hang a GPU for ever")
                .args([
                    names().num_args(0..).help("Which bugs [default: all]"),
                    Arg::new("version")
                        .long("version")
                        .value_name("VERSION")
                        .help("planted, fixed or both")
                        .default_value("both")
                        .value_parser(["planted", "fixed", "both"]),
                    Arg::new("ptx")
                        .long("ptx")
                        .value_name("FILE")
                        .help("The gallery's kernels, for a GPU: cargo xtask build-ptx --manifest-path gallery")
                        .value_parser(value_parser!(PathBuf)),
                    Arg::new("except")
                        .long("except")
                        .value_name("NAME")
                        .help("Bugs to leave out")
                        .value_delimiter(',')
                        .action(ArgAction::Append),
                ]),
        )
}

fn schedules() -> Arg {
    Arg::new("schedules")
        .long("schedules")
        .value_name("K")
        .help("How many schedules")
        .default_value("32")
        .value_parser(value_parser!(u32).range(1..))
}

pub(super) fn run(matches: &ArgMatches, common: &Common) -> Result<()> {
    match matches.subcommand() {
        Some(("show", arguments)) => show(arguments, common),
        Some(("check", arguments)) => check(arguments, common),
        Some(("run", arguments)) => on_device(arguments, common),
        _ => list(common),
    }
}

/// A bug, for lists.
#[derive(Serialize)]
struct Row {
    topic: &'static str,
    name: &'static str,
    bug: &'static str,
    found_as: Vec<String>,
}

#[derive(Serialize)]
struct List {
    schema: u32,
    bugs: Vec<Row>,
}

/// All bugs, in the order of their topics.
fn rows() -> Vec<Row> {
    let row = |(topic, case): (&'static Topic, &'static Case)| Row {
        topic: topic.name,
        name: case.name,
        bug: case.bug,
        found_as: vec![format!("{:?}", case.finds[0])],
    };
    all().map(row).collect()
}

fn list(common: &Common) -> Result<()> {
    let bugs = rows();
    if common.format == Format::Json {
        return report::json(&List { schema: report::SCHEMA, bugs });
    }
    if common.format == Format::Csv {
        let mut grid = Grid::new(&["topic", "name", "found_as", "bug"], &[]);
        for row in &bugs {
            grid.row([row.topic, row.name, &row.found_as.join(", "), row.bug]);
        }
        return grid.print_csv();
    }
    table(&bugs).print()
}

/// The bugs below the names of their topics. A terminal of 80 columns has room for three columns of text.
fn table(bugs: &[Row]) -> Grid {
    let mut grid = Grid::new(&["bug", "found as", "what is wrong"], &[]).wrap_last();
    for topic in bugs.chunk_by(|a, b| a.topic == b.topic) {
        grid.row([&topic[0].topic.replace('_', " "), "", ""]);
        for row in topic {
            grid.row([format!("  {}", row.name), row.found_as.join(", "), row.bug.into()]);
        }
    }
    grid
}

fn case_named(name: &str) -> Result<(&'static Topic, &'static Case)> {
    named(name).ok_or_else(|| {
        let names: Vec<_> = all().map(|(_, case)| case.name).collect();
        Error::unknown("bug", name, &names)
    })
}

/// The cases that the command line names, or all.
fn cases(matches: &ArgMatches) -> Result<Vec<(&'static Topic, &'static Case)>> {
    match matches.get_many::<String>("name") {
        Some(names) => names.map(|name| case_named(name)).collect(),
        None => Ok(all().collect()),
    }
}

fn schedules_of(matches: &ArgMatches) -> u32 {
    matches.get_one("schedules").copied().unwrap_or(1)
}

/// A bug, for JSON.
#[derive(Serialize)]
struct Shown {
    schema: u32,
    name: &'static str,
    topic: &'static str,
    file: &'static str,
    bug: &'static str,
    effect: &'static str,
    fix: &'static str,
    kernels: Vec<&'static str>,
    launches: &'static str,
    without_checks: String,
    findings: String,
    clean_twin: String,
}

fn show(matches: &ArgMatches, common: &Common) -> Result<()> {
    common.on_simulator("bugs show")?;
    let (topic, case) = case_named(matches.get_one::<String>("name").map_or("", String::as_str))?;
    let schedules = schedules_of(matches);
    if let Some(place) = matches.get_one::<OsString>("html").map(|name| Place::from(name.as_os_str())) {
        report::write_text(&place, &page(case, schedules)?)?;
        if place == Place::Standard {
            return super::refuse_unused(matches, &["format"], "the page goes to standard output, and nothing else");
        }
    }
    let shown = Shown {
        schema: report::SCHEMA,
        name: case.name,
        topic: topic.name,
        file: topic.file,
        bug: case.bug,
        effect: case.effect,
        fix: case.fix,
        kernels: topic.kernels(case),
        launches: topic.launches(case),
        without_checks: outcome(case, &rungs_gallery::Simulated::default(), false),
        findings: case.check(false, schedules).text(),
        clean_twin: case.check(true, schedules).text(),
    };
    match common.format {
        Format::Json => return report::json(&shown),
        Format::Csv => {
            let columns = ["name", "topic", "file", "bug", "effect", "fix", "kernels", "launches", "without_checks"];
            let mut grid = Grid::new(&[&columns[..], &["findings", "clean_twin"]].concat(), &[]);
            let (kernels, launches) = (shown.kernels.join("\n"), dedented(shown.launches));
            let words = [shown.name, shown.topic, shown.file, shown.bug, shown.effect, shown.fix, &kernels, &launches];
            grid.row(words.into_iter().chain([&*shown.without_checks, &shown.findings, &shown.clean_twin]));
            return grid.print_csv();
        }
        Format::Text => {}
    }
    let indented = |text: &str| text.lines().map(|line| format!("    {line}\n")).collect::<String>();
    let (name, file, bug, effect, fix) = (shown.name, shown.file, shown.bug, shown.effect, shown.fix);
    let mut page = format!("{name}\n\nBug: {bug}\nOn a GPU: {effect}\nFix: {fix}\n\n{file}\n\n");
    shown.kernels.iter().for_each(|text| page += &format!("{}\n", indented(text)));
    page += &format!("Launched by\n\n{}\n", indented(&dedented(shown.launches)));
    page += &format!("Without checks the simulator says: {}\n", shown.without_checks);
    page += &format!("Its checker finds, under {schedules} schedules:\n\n{}\n", indented(&shown.findings));
    page += &format!("In the clean twin (V::FIXED): {}\n", shown.clean_twin);
    report::print(&page)
}

/// The page that plays a run with the bug.
fn page(case: &Case, schedules: u32) -> Result<String> {
    let on = rungs_gallery::Simulated::default();
    let run = || (case.run)(&Trial::new(&on, false)).map(drop).map_err(Error::from);
    let options = Check { schedules, ..Check::default() };
    let checked = checks::check(options, run, None)?;
    trace::run_page(("bug", case.name), options, &checked.findings, run)
}

/// Lines behind the first without the indentation that all of them have.
fn dedented(text: &str) -> String {
    let depth = |line: &str| line.len() - line.trim_start().len();
    let common = text.lines().skip(1).filter(|line| !line.trim().is_empty()).map(depth).min().unwrap_or(0);
    let lines = text.lines().enumerate().map(|(i, line)| if i == 0 { line } else { line.get(common..).unwrap_or("") });
    lines.collect::<Vec<_>>().join("\n")
}

/// What a run on a machine comes to, in words.
fn outcome(case: &Case, on: &dyn rungs_gallery::Machine, fixed: bool) -> String {
    match (case.run)(&Trial::new(on, fixed)) {
        Ok(ended) => ended.difference().map_or("the right output".into(), |what| format!("a wrong output: {what}")),
        Err(error) => format!("an error: {error}"),
    }
}

/// What the checker says of a bug and of its clean twin.
#[derive(Serialize)]
struct Judged {
    bug: &'static str,
    expected: String,
    found: Vec<String>,
    clean_twin: Vec<String>,
    /// `found`, `missed`, `misnamed` or `false alarm`.
    verdict: &'static str,
}

#[derive(Serialize)]
struct Judgement {
    schema: u32,
    results: Vec<Judged>,
}

fn check(matches: &ArgMatches, common: &Common) -> Result<()> {
    common.on_simulator("bugs check")?;
    let cases = cases(matches)?;
    let mut progress = common.progress(cases.len());
    let mut results = vec![];
    for (_, case) in cases {
        progress.step(case.name);
        let (planted, fixed) = (case.check(false, schedules_of(matches)), case.check(true, schedules_of(matches)));
        let kinds = |verdict: &Verdict| verdict.kinds.iter().map(|kind| format!("{kind:?}")).collect();
        let verdict = match (planted.names(case), planted.is_clean(), fixed.is_clean()) {
            (true, _, true) => "found",
            (_, _, false) => "false alarm",
            (_, true, _) => "missed",
            _ => "misnamed",
        };
        let (expected, found, clean_twin) = (format!("{:?}", case.finds[0]), kinds(&planted), kinds(&fixed));
        results.push(Judged { bug: case.name, expected, found, clean_twin, verdict });
    }
    drop(progress);
    let wrong = results.iter().filter(|judged| judged.verdict != "found").count();
    let kinds = |kinds: &[String]| if kinds.is_empty() { "nothing".into() } else { kinds.join(" ") };
    let mut grid = Grid::new(&["bug", "expected", "found", "clean_twin", "verdict"], &[]);
    for Judged { bug, expected, found, clean_twin, verdict } in &results {
        grid.row([bug, &**expected, &kinds(found), &kinds(clean_twin), verdict]);
    }
    match common.format {
        Format::Json => report::json(&Judgement { schema: report::SCHEMA, results })?,
        Format::Csv => grid.print_csv()?,
        Format::Text => grid.print()?,
    }
    if wrong > 0 { Err(Error::Found { count: wrong }) } else { Ok(()) }
}

/// The device, with the kernels of a PTX file alone if there is one.
///
/// # Errors
/// [`Error::Usage`] if the file is for a GPU and the device is none; as for [`Common::engine`], and if the file cannot
/// be read.
pub(super) fn engine_with(ptx: Option<&PathBuf>, common: &Common) -> Result<Engine> {
    match ptx {
        Some(path) => {
            let ordinal = match common.device {
                DeviceChoice::Cuda(ordinal) => ordinal,
                DeviceChoice::Auto => 0,
                _ => return Err(Error::Usage("--ptx has kernels for a GPU: --device cuda".into())),
            };
            let text = std::fs::read_to_string(path).map_err(|e| Error::reading(path.display(), &e))?;
            let arch = rungs_ptx::ptx::target(&text)
                .ok_or_else(|| Error::Usage(format!("{} is no PTX: it has no .target", path.display())))?;
            // These kernels alone: those of the rungs are many, and a driver compiles all that an engine has.
            Engine::of_kernels(ordinal, &[(arch, &text)])
        }
        None => common.engine(),
    }
}

fn on_device(matches: &ArgMatches, common: &Common) -> Result<()> {
    super::refuse_unused(matches, &["format"], "bugs run prints a line at a time, because the next bug may hang")?;
    let engine = engine_with(matches.get_one("ptx"), common)?;
    let except: Vec<&String> = matches.get_many("except").into_iter().flatten().collect();
    let version = matches.get_one::<String>("version").map_or("both", String::as_str);
    for (_, case) in cases(matches)?.into_iter().filter(|(_, case)| !except.iter().any(|name| *name == case.name)) {
        for (name, fixed) in [("planted", false), ("fixed", true)] {
            if version == "both" || version == name {
                // One line at a time: the next bug may hang.
                report::print(&format!("{} {name}: {}\n", case.name, outcome(case, &OnEngine(&engine), fixed)))?;
            }
        }
    }
    Ok(())
}

/// An engine as the cases' machine.
pub(super) struct OnEngine<'a>(pub(super) &'a Engine);

mod machine {
    //! The gallery's machine on an engine.

    use super::OnEngine;
    use rungs_gallery::Machine;
    use simt::Geometry;
    use simt::launcher::{Call, Device, Launcher, Memory, Result};
    use simt::tensor_map::{Described, Words};

    impl Launcher for OnEngine<'_> {
        fn device(&self) -> Device {
            self.0.device()
        }

        fn enqueue(&self, call: &dyn Call, geometry: Geometry) -> Result {
            Launcher::enqueue(self.0, call, geometry)
        }

        fn allocate(&self, bytes: usize) -> Result<Box<dyn Memory>> {
            Launcher::allocate(self.0, bytes)
        }

        unsafe fn clear_bytes(&self, address: *mut u8, bytes: usize) -> Result {
            // SAFETY: passed on.
            unsafe { Launcher::clear_bytes(self.0, address, bytes) }
        }

        fn tensor_map(&self, of: &Described) -> Result<Words> {
            Launcher::tensor_map(self.0, of)
        }
    }

    // SAFETY: the buffer that is uploaded has the words' bytes.
    unsafe impl Machine for OnEngine<'_> {
        fn upload(&self, words: &[u32]) -> Result<Box<dyn Memory>> {
            Ok(Box::new(self.0.upload::<u8>(bytemuck::cast_slice(words))?))
        }

        unsafe fn download(&self, address: *const u8, words: &mut [u32]) -> Result {
            // SAFETY: the caller promises the words.
            Ok(unsafe { self.0.read_at(address, bytemuck::cast_slice_mut(words)) }?)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indentation_that_all_lines_have_is_removed() {
        assert_eq!(
            dedented("|on| {\n        let x = 1;\n            x\n    }"),
            "|on| {\n    let x = 1;\n        x\n}"
        );
    }

    #[test]
    fn the_table_of_bugs_fits_a_terminal_of_80_columns() {
        let (bugs, topics) = (rows(), rungs_gallery::TOPICS.len());
        let unwrapped = table(&bugs).text_in(Some(u16::MAX));
        assert_eq!(unwrapped.lines().count(), 1 + topics + bugs.len());
        let text = table(&bugs).text_in(Some(80));
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines.iter().all(|line| line.chars().count() <= 80), "{text}");
        // Where the third column begins.
        let at = lines[0].find("what is wrong").unwrap();
        for row in &bugs {
            let begins = |line: &&str| line.split_whitespace().take(2).eq([row.name, &row.found_as[0]]);
            let first = lines.iter().position(begins).expect(row.name);
            let more = lines[first + 1..].iter().take_while(|line| line.starts_with(&" ".repeat(at))).count();
            let words = lines[first..=first + more].iter().flat_map(|line| line[at..].split_whitespace());
            assert!(words.eq(row.bug.split_whitespace()), "{}: {text}", row.name);
        }
    }

    #[test]
    fn an_engine_runs_the_cases() {
        let engine = Engine::simulator();
        for name in ["plain-sum", "counter-not-cleared", "tail-of-four", "s4-sentinel"] {
            let (_, case) = case_named(name).unwrap();
            assert_eq!(outcome(case, &OnEngine(&engine), true), "the right output", "{name}");
        }
        let (_, case) = case_named("y-not-added").unwrap();
        assert!(outcome(case, &OnEngine(&engine), false).starts_with("a wrong output: element 0"));
    }
}
