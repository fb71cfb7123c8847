//! `rungs explain FAMILY [--rung R]`: prints the heads of the rungs' source files, and what the simulator counts of
//! their kernels.

use super::{Common, family_named};
use crate::algorithms::{Family, Rung, Size, Workload};
use crate::counters::{self, Kernel};
use crate::data::{Place, Size as Count};
use crate::report::{self, Format, Grid};
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use rungs::engine::Engine;
use rungs::error::{Error, Result};
use serde::Serialize;
use std::ffi::OsString;
use std::path::Path;

/// Columns of the text, for a page that is easy to read.
const WIDTH: usize = 96;

pub(super) fn command() -> Command {
    Command::new("explain").about("Print the head of a rung's source: idea, bottleneck, cost, threads, limits").args([
        Arg::new("family").value_name("FAMILY").required(true),
        Arg::new("rung").long("rung").value_name("RUNG").help("Only this rung [default: all, in teaching order]"),
        Arg::new("stats")
            .long("stats")
            .help("What a GPU would do, line by line, counted on the simulator: sectors, bank conflicts, barriers")
            .action(ArgAction::SetTrue),
        Arg::new("n")
            .long("n")
            .value_name("N")
            .help("Elements, or the side of the matrices, of the run that is counted [default: the family's]")
            .value_parser(value_parser!(Count))
            .requires("stats"),
        Arg::new("svg")
            .long("svg")
            .value_name("FOLDER")
            .help("Also draw, for each kernel, what its lines cost, and for each line its costliest request")
            .value_parser(value_parser!(OsString))
            .requires("stats"),
        super::no_check_argument(),
    ])
}

/// A rung's head, for JSON.
#[derive(Serialize)]
struct Explained {
    rung: &'static str,
    file: String,
    title: String,
    parts: Vec<Part>,
    #[serde(skip_serializing_if = "Option::is_none")]
    counters: Option<Counted>,
}

/// What was counted of a rung's kernels.
#[derive(Serialize)]
struct Counted {
    n: u64,
    kernels: Vec<Kernel>,
}

#[derive(Serialize)]
struct Part {
    name: String,
    text: String,
}

#[derive(Serialize)]
struct Report {
    schema: u32,
    family: &'static str,
    about: &'static str,
    rungs: Vec<Explained>,
}

impl From<&'static Rung> for Explained {
    fn from(rung: &'static Rung) -> Self {
        let head = rung.head();
        let parts = head.parts.into_iter().map(|(name, text)| Part { name, text }).collect();
        Self { rung: rung.name, file: rung.path(), title: head.title, parts, counters: None }
    }
}

pub(super) fn run(matches: &ArgMatches, common: &Common) -> Result<()> {
    common.without_check("explain counts, and judges nothing: rungs check FAMILY --stats does both")?;
    let family = family_named(matches.get_one::<String>("family").map_or("", String::as_str))?;
    let rungs: Vec<&'static Rung> = match matches.get_one::<String>("rung") {
        Some(name) => vec![family.rung(name)?],
        None => family.rungs.clone(),
    };
    if !matches.get_flag("stats") {
        super::refuse_unused(matches, &["seed"], "only --stats draws input")?;
    }
    let rungs = if matches.get_flag("stats") {
        let n = matches.get_one::<Count>("n").map(|n| n.0);
        rungs
            .into_iter()
            .map(|rung| count(&common.simulator(), family, rung, n, common.seed))
            .collect::<Result<Vec<_>>>()?
    } else {
        rungs.into_iter().map(Explained::from).collect()
    };
    if let Some(folder) = matches.get_one::<OsString>("svg") {
        rungs.iter().try_for_each(|rung| draw(Path::new(folder), family, rung))?;
    }
    match common.format {
        Format::Json => {
            report::json(&Report { schema: report::SCHEMA, family: family.name, about: family.about, rungs })
        }
        Format::Csv if matches.get_flag("stats") => csv(family, &rungs),
        Format::Csv => {
            let mut grid = Grid::new(&["family", "rung", "part", "text"], &[]);
            for rung in &rungs {
                rung.parts.iter().for_each(|part| grid.row([family.name, rung.rung, &part.name, &part.text]));
            }
            grid.print_csv()
        }
        Format::Text => {
            let texts: Vec<String> = rungs.iter().map(|rung| text(family.name, rung)).collect();
            report::print(&texts.join("\n\n"))
        }
    }
}

/// A rung's head as a page.
fn text(family: &str, rung: &Explained) -> String {
    let mut page = format!("{family} {} · {}\n{}\n", rung.rung, rung.title, rung.file);
    for part in &rung.parts {
        page += &format!("\n{}\n", part.name);
        for paragraph in part.text.lines() {
            page += &wrapped(paragraph);
        }
    }
    if let Some(counted) = &rung.counters {
        page += &format!("\nCounted on the simulator, n = {}\n", report::count(counted.n));
        for kernel in &counted.kernels {
            page += &format!("\n{}", counters::kernel_text(kernel));
        }
    }
    page
}

/// A rung with what the simulator counts in one run.
fn count(
    engine: &Engine,
    family: &'static Family,
    rung: &'static Rung,
    n: Option<u64>,
    seed: u64,
) -> Result<Explained> {
    let size = match (n, family.default_size(engine, rung)) {
        (Some(n), Size::Product { .. }) => Size::Product { m: n, n, k: n },
        (Some(n), Size::Elements(_)) => Size::Elements(n),
        (None, size) => size,
    };
    let (dtype, distribution, parameters) = (family.usual_dtype(rung), family.input, family.usual(rung));
    let problem = family.make(Workload { size, dtype, distribution, seed, input: None, parameters })?;
    let kernels = counters::kernels(&counters::count(engine, &*problem, rung)?);
    Ok(Explained { counters: Some(Counted { n: size.n(), kernels }), ..Explained::from(rung) })
}

/// Writes the pictures of a rung's kernels.
fn draw(folder: &Path, family: &Family, rung: &Explained) -> Result<()> {
    let name = folder.to_string_lossy();
    std::fs::create_dir_all(folder).map_err(|e| Error::writing(&name, &e))?;
    for kernel in rung.counters.iter().flat_map(|counted| &counted.kernels) {
        let stem = format!("{}-{}-{}", family.name, rung.rung, kernel.name);
        let place = |file: String| Place::from(folder.join(file).as_os_str());
        report::write_text(&place(format!("{stem}-lines.svg")), &counters::heat(kernel))?;
        for line in &kernel.lines {
            let what = line.instruction.replace(' ', "-");
            let file = format!("{stem}-{}-{}-{what}.svg", line.line, line.column);
            if let Some(picture) = counters::access(line) {
                report::write_text(&place(file), &picture)?;
            }
        }
    }
    Ok(())
}

/// One row per line of the source.
fn csv(family: &Family, rungs: &[Explained]) -> Result<()> {
    let columns = ["family", "rung", "n", "kernel", "launches", "file", "line", "column", "does", "bytes_per_lane"];
    let counts =
        ["requests", "lanes", "bytes", "sectors", "wavefronts", "bank_conflicts", "turns", "barriers", "source"];
    let mut grid = Grid::new(&[&columns[..], &counts].concat(), &[]);
    for rung in rungs {
        let Some(counted) = &rung.counters else { continue };
        for (kernel, line) in counted.kernels.iter().flat_map(|k| k.lines.iter().map(move |line| (k, line))) {
            let c = line.counts;
            let place = [family.name.into(), rung.rung.into(), counted.n.to_string(), kernel.name.into()];
            let what = [line.instruction.to_string(), line.bytes_per_lane.to_string()];
            let numbers =
                [c.requests, c.lanes, c.bytes, c.sectors, c.wavefronts, c.bank_conflicts, c.turns, c.barriers];
            let at = [kernel.launches.to_string(), line.file.clone(), line.line.to_string(), line.column.to_string()];
            let numbers = numbers.map(|n| n.to_string());
            grid.row(place.into_iter().chain(at).chain(what).chain(numbers).chain([line.source.clone()]));
        }
    }
    grid.print_csv()
}

/// A paragraph in indented lines of at most [`WIDTH`] columns, but for words that are longer by themselves.
fn wrapped(paragraph: &str) -> String {
    let (mut lines, mut line) = (String::new(), String::new());
    for word in paragraph.split_whitespace() {
        if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > WIDTH - 2 {
            lines += &format!("  {line}\n");
            line.clear();
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line += word;
    }
    lines + &format!("  {line}\n").replace("  \n", "\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithms::FAMILIES;

    #[test]
    fn pages_hold_every_word_of_the_head() {
        for family in FAMILIES.iter() {
            for rung in family.rungs.iter().copied() {
                let page = text(family.name, &rung.into());
                let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
                let head = rung.head();
                let parts = head.parts.iter().flat_map(|(name, text)| words(name).into_iter().chain(words(text)));
                let want: Vec<String> =
                    words(&format!("{} {} · {} {}", family.name, rung.name, head.title, rung.path()))
                        .into_iter()
                        .chain(parts)
                        .collect();
                assert_eq!(words(&page), want, "{}", rung.path());
                // Rows of the library have no rung before.
                let is_library = rung.path().starts_with("gpu/library/");
                assert!(head.parts.len() == 7 || is_library && head.parts.len() >= 6, "{}", rung.path());
            }
        }
    }

    #[test]
    fn lines_are_no_wider_than_a_page() {
        let text = wrapped(&"word and ".repeat(60));
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH && line.starts_with("  ")));
        assert_eq!(text.split_whitespace().count(), 120);
        assert_eq!(wrapped("·".repeat(200).as_str()).lines().count(), 1);
    }
}
