//! What stands in the place of a directive.

use super::directive::{Directive, UP};
use super::glossary::GLOSSARY;
use super::{cost, listing, picture};
use crate::{program, project, tables};
use anyhow::{Context, Result, bail, ensure};
use bench_report::table::{self, grid};
use bench_report::{Report, ladder};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where plots and reports are, from the root.
const RESULTS: &str = "bench/results";

/// Where drawings are.
const FIGURES: &str = "book/src/figures";

/// What the program said, by directive: the text that stands in its place, or the picture.
pub type Said = BTreeMap<Directive, String>;

/// The exercises, as a reader begins them.
const STUBS: &str = "exercises/stubs";

/// The simulated device: as large as the GPU that was measured, on every host.
const DEVICE: &str = "sim:132";

/// That of the pictures, where many blocks would have nothing to do and only take room.
const SMALL: &str = "sim:1";

/// Everything that fragments are made from.
pub struct Sources<'a> {
    root: &'a Path,
    rungs: Vec<ladder::Rung>,
    reports: Vec<(String, Report)>,
}

impl<'a> Sources<'a> {
    /// The rungs and reports of a repository.
    pub fn new(root: &'a Path) -> Result<Self> {
        Ok(Self { root, rungs: tables::rungs(root)?, reports: tables::reports_of_ladders(root)? })
    }

    fn text(&self, path: &str) -> Result<String> {
        tables::read(&self.root.join(path))?.with_context(|| format!("there is no {path}"))
    }

    fn rung(&self, name: &str) -> Result<&ladder::Rung> {
        let rung = self.rungs.iter().find(|rung| format!("{}/{}", rung.family, rung.name) == name);
        rung.with_context(|| format!("no rung is called {name}"))
    }

    /// Text for the place of a directive, with what the program said for it if it needs the program.
    pub fn shown(&self, directive: &Directive, said: &Said) -> Result<String> {
        match directive {
            Directive::Listing { path, items } => {
                let code = listing::listing(&self.text(path)?, items).with_context(|| path.clone())?;
                Ok(format!("{}\n\n```rust\n{code}```\n", small(&source(path))))
            }
            Directive::Head { rung, part } => {
                let file = &self.rung(rung)?.file;
                let text = listing::head_part(&self.text(file)?, part).with_context(|| file.clone())?;
                let lines: String = text.lines().map(|line| format!("> {line}\n")).collect();
                Ok(format!("{}\n\n{lines}", small(&format!("{part}, from the head of {}", source(file)))))
            }
            Directive::Measured { family, rungs } => self.measured(family, rungs.as_deref()),
            Directive::Plot { file, caption } | Directive::Figure { file, caption } => {
                let is_plot = matches!(directive, Directive::Plot { .. });
                let file = format!("{}/{file}", if is_plot { RESULTS } else { FIGURES });
                ensure!(self.root.join(&file).is_file(), "there is no {file}");
                Ok(format!("![{caption}]({UP}{file})\n\n{}\n", small(caption)))
            }
            Directive::Picture { caption, .. } | Directive::Request { caption, .. } => {
                let file = directive.picture().context("a picture has a file")?;
                Ok(format!("![{caption}]({file})\n\n{}\n", small(caption)))
            }
            Directive::Run { .. }
            | Directive::Counts { .. }
            | Directive::Cost { .. }
            | Directive::Bug { .. }
            | Directive::Gallery { .. } => said.get(directive).cloned().context("the program was not asked"),
        }
    }

    /// What follows an exercise's line: the command that judges it, if there is one.
    pub fn exercise(&self, number: u32) -> Result<String> {
        let begin = format!("{number:02}_");
        let stub = tables::entries(&self.root.join(STUBS))?.into_iter().find(|name| name.starts_with(&begin));
        Ok(stub.map_or(" (planned)".into(), |stub| format!(" [`cargo learn check {number}`]({UP}{STUBS}/{stub})")))
    }

    /// A family's ladder and its twins, with the reports that say so.
    fn measured(&self, family: &str, rungs: Option<&str>) -> Result<String> {
        let reports: Vec<&Report> = self.reports.iter().map(|(_, report)| report).collect();
        ensure!(self.rungs.iter().any(|rung| rung.family == family), "no family is called {family}");
        let used = ladder::sources(family, &self.rungs, &reports);
        ensure!(!used.is_empty(), "no report in {RESULTS} has times of {family}");
        let origin = |i: usize| {
            let (file, report) = &self.reports[i];
            format!("[{file}]({UP}{RESULTS}/{file}): {}", table::origin(report))
        };
        let list = |which: BTreeSet<usize>| which.into_iter().map(origin).collect::<Vec<_>>().join("; ");
        let measured = |table: &str, origin: &str| format!("{table}\n{}\n", small(&format!("Measured: {origin}.")));
        // The table's links begin at the root.
        let ladder = ladder::whole(family, &self.rungs, &reports).replace("](", &format!("]({UP}"));
        let ladder = part(&ladder, rungs)?;
        let mut text = measured(&ladder, &list(used));
        let twins: Vec<(usize, String)> =
            reports.iter().enumerate().filter_map(|(i, report)| Some((i, table::twins(family, report)?))).collect();
        for (i, table) in twins {
            // Those of these rungs, without the column that names the family.
            let cells = |line: &str| line.split('|').map(|cell| cell.trim().to_string()).collect::<Vec<_>>();
            let is_shown = |line: &&str| cells(line).get(4).is_some_and(|rung| names(&ladder).any(|name| name == rung));
            let rows = table.lines().take(2).chain(table.lines().skip(2).filter(is_shown));
            let narrow: Vec<String> =
                rows.filter_map(|line| Some(format!("|{}\n", line.splitn(3, '|').nth(2)?))).collect();
            if narrow.len() > 2 {
                text += &format!("\n{}", measured(&narrow.concat(), &list(BTreeSet::from([i]))));
            }
        }
        Ok(text)
    }
}

/// A line below a picture or table, or above a listing: what it shows, or where it is from.
fn small(text: &str) -> String {
    format!("<small>{text}</small>")
}

/// A link to a file of the repository.
fn source(path: &str) -> String {
    format!("[{path}]({UP}{path})")
}

/// The program `rungs`, as `cargo build` made it: the one that the tests run.
pub struct Program(PathBuf);

impl Program {
    /// Builds it.
    pub fn build() -> Result<Self> {
        program::path().map(Self)
    }

    /// What it prints, on a simulated device. Exit code 1, which says that a check found something, is no error.
    fn says(&self, arguments: &str, device: &str) -> Result<String> {
        let mut command = Command::new(&self.0);
        command.args(arguments.split_whitespace()).args(["--device", device, "--quiet"]).current_dir(project::root());
        let output = command.output().with_context(|| format!("{} does not start", self.0.display()))?;
        let errors = String::from_utf8_lossy(&output.stderr);
        ensure!(matches!(output.status.code(), Some(0 | 1)), "rungs {arguments}: {errors}");
        let text = String::from_utf8(output.stdout).with_context(|| format!("rungs {arguments} printed no text"))?;
        ensure!(!text.trim().is_empty(), "rungs {arguments} printed nothing: {errors}");
        Ok(text)
    }

    /// The picture of a rung's costliest request of one kind.
    fn request(&self, arguments: &str, instruction: &str) -> Result<String> {
        let folder = tempfile::tempdir()?;
        let svg = folder.path().to_str().context("the folder for files has a name in letters")?;
        let json = self.says(&format!("explain {arguments} --stats --format json --svg {svg}"), DEVICE)?;
        let end = costliest(instruction, &json)?;
        let file = tables::entries(folder.path())?.into_iter().find(|name| name.ends_with(&end));
        let file = file.with_context(|| format!("rungs explain {arguments} draws no {instruction}"))?;
        tables::read(&folder.path().join(file))?.context("the file was there")
    }

    /// What a directive shows of the program, if it does.
    pub fn fragment(&self, directive: &Directive) -> Result<Option<String>> {
        let json = "--format json";
        Ok(Some(match directive {
            Directive::Run { arguments } => transcript(arguments, &self.says(arguments, DEVICE)?),
            Directive::Picture { arguments, without, .. } => {
                let trace = self.says(&format!("trace {arguments} {json}"), SMALL)?;
                picture::svg(&trace, &format!("rungs trace {arguments}"), without.as_deref())?
            }
            Directive::Request { arguments, instruction, .. } => self.request(arguments, instruction)?,
            Directive::Counts { arguments, rungs } => {
                counts(arguments, rungs.as_deref(), &self.says(&format!("ladder {arguments} {json}"), DEVICE)?)?
            }
            Directive::Cost { rung, values, formulas } => {
                let values = cost::values(values)?;
                let (family, name) = rung.split_once('/').context("a cost is of FAMILY/RUNG")?;
                let n = values.get("n").context("a cost says for which n")?;
                let counted = self.says(&format!("explain {family} --rung {name} --stats --n {n} {json}"), DEVICE)?;
                model(rung, &values, formulas, &counted)?
            }
            Directive::Bug { name } => bug(&self.says(&format!("bugs show {name} {json}"), DEVICE)?)?,
            Directive::Gallery { topic } => gallery(topic, &self.says(&format!("bugs {json}"), DEVICE)?)?,
            Directive::Listing { .. }
            | Directive::Head { .. }
            | Directive::Measured { .. }
            | Directive::Figure { .. }
            | Directive::Plot { .. } => {
                return Ok(None);
            }
        }))
    }
}

/// Of a rung's counters the place of the costliest request of one kind, as the files of `--svg` end with it.
fn costliest(instruction: &str, json: &str) -> Result<String> {
    let places = explained(json)?.into_iter().flat_map(|kernel| kernel.lines);
    let places = places.filter(|place| place.instruction == instruction);
    // Of those that cost as much the one with the most lanes, and of those the first.
    let rank = |place: &Place| {
        place.worst.as_ref().map_or((0, 0), |worst| (worst.cost, worst.addresses.iter().flatten().count()))
    };
    let place = places.reduce(|a, b| if rank(&b) > rank(&a) { b } else { a });
    let place = place.with_context(|| format!("the rung has no {instruction}"))?;
    Ok(format!("-{}-{}-{}.svg", place.line, place.column, instruction.replace(' ', "-")))
}

/// A call as the reader would type it, and what it prints.
fn transcript(arguments: &str, output: &str) -> String {
    let lines: Vec<&str> = output.trim_end().lines().map(str::trim_end).collect();
    format!("```text\n$ rungs {arguments}\n{}\n```\n", lines.join("\n"))
}

/// Counters of a family's rungs in one table.
fn counts(arguments: &str, rungs: Option<&str>, json: &str) -> Result<String> {
    #[derive(Deserialize)]
    struct Ladder {
        results: Vec<Step>,
    }
    #[derive(Deserialize)]
    struct Step {
        rung: String,
        verified: bool,
        counters: Option<BTreeMap<String, serde_json::Number>>,
    }
    // Each title with its word in the glossary.
    const COLUMNS: &[(&str, &str, &str)] = &[
        ("launches", "launches", "launch"),
        ("requests", "global_requests", "request"),
        ("sectors", "global_sectors", "sector"),
        ("bytes read", "bytes_in", ""),
        ("bytes written", "bytes_out", ""),
        ("barriers", "barriers", "barrier"),
        ("shared wavefronts", "shared_wavefronts", "wavefront"),
        ("bank conflicts", "bank_conflicts", "bank-conflict"),
        ("atomic turns", "atomic_turns", "atomic-turn"),
        ("lanes per request", "lanes_per_request", "divergence"),
    ];
    let ladder: Ladder = serde_json::from_str(json).with_context(|| format!("rungs ladder {arguments}"))?;
    let mut rows = vec![];
    for step in ladder.results {
        // A rung that refuses this many elements has no counters.
        let Some(counters) = step.counters else { continue };
        ensure!(step.verified, "{} was wrong", step.rung);
        let cell = |name: &str| -> Result<String> {
            let number = counters.get(name).with_context(|| format!("rungs ladder counts no {name}"))?;
            Ok(number.as_u64().map_or_else(|| format!("{:.1}", number.as_f64().unwrap_or(0.0)), grouped))
        };
        let mut row = vec![step.rung];
        for (_, name, _) in COLUMNS {
            row.push(cell(name)?);
        }
        rows.push(row);
    }
    ensure!(!rows.is_empty(), "rungs ladder {arguments} counted nothing");
    if let Some(rungs) = rungs {
        let range = between(rows.iter().map(|row| row[0].as_str()), rungs)?;
        rows = rows[range].to_vec();
    }
    // A column of zeros only makes the table wider.
    let linked = |&(title, _, word): &(&str, &str, &str)| match word {
        "" => title.to_string(),
        _ => format!("[{title}]({GLOSSARY}#{word})"),
    };
    let titles = ["rung".to_string()].into_iter().chain(COLUMNS.iter().map(linked));
    let kept: Vec<bool> = (0..=COLUMNS.len()).map(|i| rows.iter().any(|row| row[i] != "0")).collect();
    let head: Vec<String> = titles.zip(&kept).filter(|(_, kept)| **kept).map(|(title, _)| title).collect();
    let head: Vec<&str> = head.iter().map(String::as_str).collect();
    for row in &mut rows {
        let mut kept = kept.iter();
        row.retain(|_| kept.next() == Some(&true));
    }
    let call = format!("Counted by the simulator: `rungs ladder {arguments} --device {DEVICE}`");
    Ok(format!("{}\n{}\n", grid(&head, &rows), small(&call)))
}

/// The rungs that a table's rows name in their first cell, with or without a link.
fn names(table: &str) -> impl Iterator<Item = &str> {
    let rows = table.lines().skip(2).filter_map(|line| line.strip_prefix("| "));
    rows.filter_map(|row| row.trim_start_matches('[').split([']', ' ']).next())
}

/// The places of the rungs from one to another, given as `FIRST..LAST`.
fn between<'a>(names: impl Iterator<Item = &'a str>, rungs: &str) -> Result<RangeInclusive<usize>> {
    let names: Vec<&str> = names.collect();
    let (first, last) = rungs.split_once("..").with_context(|| format!("{rungs} is not FIRST..LAST"))?;
    let find = |rung| names.iter().position(|name| *name == rung).with_context(|| format!("no row of {rung}"));
    let (first, last) = (find(first)?, find(last)?);
    ensure!(first <= last, "{rungs} is in the wrong order");
    Ok(first..=last)
}

/// The head of a table, and its rows of these rungs.
fn part(table: &str, rungs: Option<&str>) -> Result<String> {
    let Some(rungs) = rungs else { return Ok(table.into()) };
    let range = between(names(table), rungs)?;
    let rows = table.lines().skip(2 + range.start()).take(range.end() - range.start() + 1);
    Ok(table.lines().take(2).chain(rows).map(|line| format!("{line}\n")).collect())
}

/// A number with thousands apart.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let groups = digits.as_bytes().rchunks(3).rev().map(|group| String::from_utf8_lossy(group).into_owned());
    groups.collect::<Vec<_>>().join(",")
}

/// A cost model next to what was counted, which has to be equal.
fn model(rung: &str, values: &cost::Values, formulas: &[String], json: &str) -> Result<String> {
    let counted = counted(json)?;
    let mut rows = vec![];
    for text in formulas {
        let (name, formula) = text.split_once(" = ").with_context(|| format!("{text} is not COUNTER = FORMULA"))?;
        let Some(&got) = counted.get(name) else {
            let names: Vec<&String> = counted.keys().collect();
            bail!("the simulator does not count {name}; it counts {names:?}");
        };
        let want = cost::value(formula, values)?;
        ensure!(want == got, "the model of {rung} says {name} = {formula} = {want}; the simulator counts {got}");
        rows.push(vec![name.replace('_', " "), format!("`{formula}`"), grouped(want), grouped(got)]);
    }
    let given: Vec<String> = values.iter().map(|(name, value)| format!("{name} = {}", grouped(*value))).collect();
    let note = format!(
        "The cost model of {rung} for {}. The book is not built when a formula and the simulator disagree.",
        given.join(", ")
    );
    Ok(format!("{}\n{}\n", grid(&["what", "model", "model says", "simulator counts"], &rows), small(&note)))
}

/// A kernel's counters: its totals, and its places in the source.
#[derive(Deserialize)]
struct Counted {
    #[serde(flatten)]
    totals: BTreeMap<String, serde_json::Value>,
    lines: Vec<Place>,
}

/// A place in the source.
#[derive(Deserialize)]
struct Place {
    line: u32,
    column: u32,
    instruction: String,
    worst: Option<Worst>,
}

/// The costliest request of a place.
#[derive(Deserialize)]
struct Worst {
    cost: u32,
    /// That of each lane that takes part.
    addresses: Vec<Option<u64>>,
}

/// The kernels of `rungs explain --stats --format json`.
fn explained(json: &str) -> Result<Vec<Counted>> {
    #[derive(Deserialize)]
    struct Explained {
        rungs: Vec<Rung>,
    }
    #[derive(Deserialize)]
    struct Rung {
        counters: Counters,
    }
    #[derive(Deserialize)]
    struct Counters {
        kernels: Vec<Counted>,
    }
    let explained: Explained = serde_json::from_str(json).context("not the counters of rungs explain --stats")?;
    Ok(explained.rungs.into_iter().flat_map(|rung| rung.counters.kernels).collect())
}

/// The whole counters of a rung's kernels together, and its launches.
fn counted(json: &str) -> Result<BTreeMap<String, u64>> {
    let mut sums = BTreeMap::new();
    for (name, value) in explained(json)?.into_iter().flat_map(|kernel| kernel.totals) {
        if let Some(value) = value.as_u64() {
            *sums.entry(name).or_insert(0) += value;
        }
    }
    ensure!(!sums.is_empty(), "nothing was counted");
    Ok(sums)
}

/// A bug of the gallery: what is wrong, its kernel, the findings as they print, the fix.
fn bug(json: &str) -> Result<String> {
    #[derive(Deserialize)]
    struct Shown {
        name: String,
        bug: String,
        effect: String,
        fix: String,
        file: String,
        kernels: Vec<String>,
        without_checks: String,
        findings: String,
        clean_twin: String,
    }
    let shown: Shown = serde_json::from_str(json).context("not a bug of rungs bugs show")?;
    ensure!(shown.findings != shown.clean_twin, "the checker finds nothing in {}", shown.name);
    let Shown { name, bug, effect, fix, file, kernels, without_checks, findings, clean_twin } = shown;
    let findings = without_addresses(&findings);
    let kernels: Vec<&str> = kernels.iter().map(|kernel| kernel.trim_end()).collect();
    Ok(format!(
        "**{bug}** On a GPU: {effect}\n\n{}\n\n```rust\n{}\n```\n\nWithout its checks, the simulator gives \
         {without_checks}.\n\nThe checker reports (`rungs bugs show {name}`):\n\n```text\n{}\n```\n\nFix: {fix} The \
         checker reports {clean_twin} for the fixed kernel.\n",
        small(&format!("{}; `V::FIXED` is false in the wrong version and true in the fixed one", source(&file))),
        kernels.join("\n\n"),
        findings.trim_end()
    ))
}

/// The text with 0x… in place of each address, which is another one in every run.
fn without_addresses(text: &str) -> String {
    let mut parts = text.split("0x");
    let mut kept = parts.next().unwrap_or_default().to_string();
    for part in parts {
        let rest = part.trim_start_matches(|c: char| c.is_ascii_hexdigit());
        // Small numbers are values of a kernel, not addresses of this machine.
        let is_address = part.len() - rest.len() > 8;
        kept += &if is_address { format!("0x…{rest}") } else { format!("0x{part}") };
    }
    kept
}

/// The bugs of a topic: name, finding, what is wrong.
fn gallery(topic: &str, json: &str) -> Result<String> {
    #[derive(Deserialize)]
    struct Gallery {
        bugs: Vec<Bug>,
    }
    #[derive(Deserialize)]
    struct Bug {
        topic: String,
        name: String,
        bug: String,
        found_as: Vec<String>,
    }
    let gallery: Gallery = serde_json::from_str(json).context("not the list of rungs bugs")?;
    let bugs = gallery.bugs.into_iter().filter(|bug| bug.topic == topic);
    // What separates cells must not stand in one.
    let rows: Vec<Vec<String>> =
        bugs.map(|bug| vec![format!("`{}`", bug.name), bug.bug.replace('|', "\\|"), bug.found_as.join(", ")]).collect();
    ensure!(!rows.is_empty(), "the gallery has no topic {topic}");
    Ok(grid(&["bug", "what is wrong", "found as"], &rows))
}

#[cfg(test)]
mod tests {
    use super::*;

    const COUNTED: &str = r#"{"rungs":[{"counters":{"n":8,"kernels":[{"name":"k","launches":1,"bytes_in":32,
        "lanes_per_request":1.5,"lines":[]},{"name":"l","launches":2,"bytes_in":8,"lines":[
        {"line":3,"column":5,"instruction":"global load","worst":{"cost":4,"addresses":[0,4,8,null]}},
        {"line":9,"column":2,"instruction":"global load","worst":{"cost":32,"addresses":[0,null,null,null]}},
        {"line":4,"column":7,"instruction":"global load","worst":{"cost":32,"addresses":[0,32,null,null]}},
        {"line":6,"column":7,"instruction":"global load","worst":{"cost":32,"addresses":[null,0,32,null]}},
        {"line":5,"column":9,"instruction":"barrier"}]}]}}]}"#;

    #[test]
    fn a_model_that_the_counters_contradict_is_refused() {
        let values = cost::values("n=8").unwrap();
        let of = |formula: &str| model("a/b", &values, &[formula.to_string()], COUNTED);
        assert!(of("bytes_in = 5*n").unwrap().contains("| bytes in | `5*n` | 40 | 40 |"));
        assert!(of("launches = 3").is_ok());
        let refused = of("bytes_in = 4*n").unwrap_err().to_string();
        assert_eq!(refused, "the model of a/b says bytes_in = 4*n = 32; the simulator counts 40");
        for formula in ["bytes_out = n", "lanes_per_request = 1", "bytes_in"] {
            assert!(of(formula).is_err(), "{formula}");
        }
    }

    #[test]
    fn the_costliest_request_is_drawn() {
        assert_eq!(costliest("global load", COUNTED).unwrap(), "-4-7-global-load.svg");
        assert!(costliest("shared load", COUNTED).is_err());
    }

    #[test]
    fn counters_of_a_ladder_become_a_table() {
        let numbers = ["launches", "global_requests", "global_sectors", "bytes_in", "bytes_out", "barriers"]
            .into_iter()
            .chain(["shared_wavefronts", "bank_conflicts", "atomic_turns"])
            .map(|name| format!("\"{name}\":1234"))
            .collect::<Vec<_>>()
            .join(",");
        let json = format!(
            r#"{{"results":[{{"rung":"a","verified":true,"counters":{{{numbers},"lanes_per_request":31.96}}}},
               {{"rung":"b","verified":false}}]}}"#
        );
        let table = counts("x --n 8", None, &json).unwrap();
        assert!(table.contains("| a | 1,234 |") && table.contains("| 32.0 |") && !table.contains("| b |"), "{table}");
        let zero = counts("x", None, &json.replacen("\"atomic_turns\":1234", "\"atomic_turns\":0", 1)).unwrap();
        assert!(table.contains("atomic turns") && !zero.contains("atomic turns"), "{zero}");
        assert!(counts("x", Some("a..a"), &json).is_ok() && counts("x", Some("a..b"), &json).is_err());
        assert!(counts("x", None, &json.replace("true", "false")).is_err());
        assert!(counts("x", None, &json.replace("barriers", "others")).is_err());
    }

    #[test]
    fn a_bug_that_is_not_found_is_refused() {
        let json = r#"{"name":"n","bug":"b","effect":"e","fix":"m","file":"f","kernels":["k"],
            "without_checks":"w","findings":"FOUND","clean_twin":"nothing"}"#;
        assert!(bug(json).unwrap().contains("```text\nFOUND\n```"));
        assert!(bug(&json.replace("FOUND", "nothing")).is_err());
    }

    #[test]
    fn addresses_are_left_out_and_values_are_not() {
        assert_eq!(without_addresses("at 0x55f8920c3500\nand 0xFFFFFFFF"), "at 0x…\nand 0xFFFFFFFF");
    }

    #[test]
    fn a_topic_of_the_gallery_is_a_table() {
        let json = r#"{"bugs":[{"topic":"t","name":"n","bug":"a | b","found_as":["Race"]},
            {"topic":"u","name":"m","bug":"c","found_as":["Race"]}]}"#;
        let table = gallery("t", json).unwrap();
        assert!(table.ends_with("| `n` | a \\| b | Race |\n") && !table.contains("`m`"), "{table}");
        assert!(gallery("v", json).is_err());
    }

    #[test]
    fn parts_of_tables_go_from_one_rung_to_another() {
        let table = "| rung | n |\n| --- | --- |\n| a | 1 |\n| [b](b.rs) | 2 |\n| bc | 3 |\n| d | 4 |\n";
        let of = |rungs| part(table, Some(rungs));
        assert_eq!(of("b..bc").unwrap(), "| rung | n |\n| --- | --- |\n| [b](b.rs) | 2 |\n| bc | 3 |\n");
        assert_eq!(part(table, None).unwrap(), table);
        assert!(of("bc..a").is_err() && of("a..e").is_err() && of("a").is_err());
    }

    #[test]
    fn digits_are_grouped() {
        assert_eq!(grouped(1234567), "1,234,567");
        assert_eq!(grouped(12), "12");
    }
}
