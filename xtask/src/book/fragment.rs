//! What stands in the place of a directive.

use super::directive::Directive;
use super::{cost, listing, picture};
use crate::{program, project, tables};
use anyhow::{Context, Result, bail, ensure};
use bench_report::table::{self, grid};
use bench_report::{Report, ladder};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where plots and reports are, from the root.
const RESULTS: &str = "bench/results";

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
        Ok(Self { root, rungs: tables::rungs(root)?, reports: tables::reports(root, tables::RESULTS)? })
    }

    fn text(&self, path: &str) -> Result<String> {
        tables::read(&self.root.join(path))?.with_context(|| format!("there is no {path}"))
    }

    fn rung(&self, name: &str) -> Result<&ladder::Rung> {
        let rung = self.rungs.iter().find(|rung| format!("{}/{}", rung.family, rung.name) == name);
        rung.with_context(|| format!("no rung is called {name}"))
    }

    /// Text for the place of a directive that needs no program; of one that does, that in its file.
    pub fn shown(&self, directive: &Directive, generated: &BTreeMap<String, String>) -> Result<String> {
        match directive {
            Directive::Listing { path, items } => {
                let code = listing::listing(&self.text(path)?, items).with_context(|| path.clone())?;
                Ok(format!("<div class=\"source\">{path}</div>\n\n```rust\n{code}```\n"))
            }
            Directive::Head { rung, part } => {
                let file = &self.rung(rung)?.file;
                let text = listing::head_part(&self.text(file)?, part).with_context(|| file.clone())?;
                let lines: String = text.lines().map(|line| format!("> {line}\n")).collect();
                Ok(format!("<div class=\"source\">{part}, from the head of {file}</div>\n\n{lines}"))
            }
            Directive::Measured { family } => self.measured(family),
            Directive::Plot { file, caption } => {
                let svg = self.text(&format!("{RESULTS}/{file}"))?;
                // A blank line would end the block of HTML.
                let svg: String = svg.lines().filter(|line| !line.trim().is_empty()).collect::<Vec<_>>().join("\n");
                Ok(format!("<figure class=\"plot\">\n{svg}\n<figcaption>{caption}</figcaption>\n</figure>\n"))
            }
            Directive::Picture { caption, .. } | Directive::Request { caption, .. } => {
                let file = directive.file().unwrap_or_default();
                ensure!(generated.contains_key(&file), "there is no {file}; run cargo xtask book");
                let below = html(caption);
                Ok(format!("![{caption}](generated/{file})\n\n<p class=\"caption\">{below}</p>\n"))
            }
            Directive::Run { .. }
            | Directive::Counts { .. }
            | Directive::Cost { .. }
            | Directive::Bug { .. }
            | Directive::Gallery { .. } => {
                let file = directive.file().unwrap_or_default();
                generated.get(&file).cloned().with_context(|| format!("there is no {file}; run cargo xtask book"))
            }
        }
    }

    /// A family's ladder and its twins, with the reports that say so.
    /// What follows an exercise's line: the command that judges it, if there is one.
    pub fn exercise(&self, number: u32) -> Result<String> {
        let stub = format!("{number:02}_");
        let there = tables::entries(&self.root.join(STUBS))?.iter().any(|name| name.starts_with(&stub));
        Ok(if there { format!(" `cargo learn check {number}`") } else { " (planned)".into() })
    }

    fn measured(&self, family: &str) -> Result<String> {
        let reports: Vec<&Report> = self.reports.iter().map(|(_, report)| report).collect();
        ensure!(self.rungs.iter().any(|rung| rung.family == family), "no family is called {family}");
        let used = ladder::sources(family, &self.rungs, &reports);
        ensure!(!used.is_empty(), "no report in {RESULTS} has times of {family}");
        let origin = |i: usize| {
            let (file, report) = &self.reports[i];
            format!("`{RESULTS}/{file}`: {}", table::origin(report))
        };
        let list = |which: BTreeSet<usize>| which.into_iter().map(origin).collect::<Vec<_>>().join("; ");
        let ladder = unlinked(&ladder::whole(family, &self.rungs, &reports));
        let mut text = format!("{ladder}\n<p class=\"caption\">Measured. {}.</p>\n", html(&list(used)));
        let twins: Vec<(usize, String)> =
            reports.iter().enumerate().filter_map(|(i, report)| Some((i, table::twins(family, report)?))).collect();
        for (i, table) in twins {
            text += &format!("\n{table}\n<p class=\"caption\">Measured. {}.</p>\n", html(&list(BTreeSet::from([i]))));
        }
        Ok(text)
    }
}

/// A table without its links: the files are not beside the book.
fn unlinked(table: &str) -> String {
    let mut text = String::new();
    let mut rest = table;
    while let Some((before, after)) = rest.split_once('[') {
        let Some((name, (_, behind))) = after.split_once("](").and_then(|(n, l)| Some((n, l.split_once(')')?))) else {
            break;
        };
        text += before;
        text += name;
        rest = behind;
    }
    text + rest
}

/// Markdown's marks for code as HTML's.
fn html(text: &str) -> String {
    let parts = text.split('`').enumerate();
    parts.map(|(i, part)| if i % 2 == 1 { format!("<code>{part}</code>") } else { part.to_string() }).collect()
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

    /// What goes into a directive's file, if it has one.
    pub fn fragment(&self, directive: &Directive) -> Result<Option<String>> {
        let json = "--format json";
        Ok(Some(match directive {
            Directive::Run { arguments } => transcript(arguments, &self.says(arguments, DEVICE)?),
            Directive::Picture { arguments, without, .. } => {
                let trace = self.says(&format!("trace {arguments} {json}"), SMALL)?;
                picture::svg(&trace, &format!("rungs trace {arguments}"), without.as_deref())?
            }
            Directive::Request { arguments, instruction, .. } => self.request(arguments, instruction)?,
            Directive::Counts { arguments } => {
                counts(arguments, &self.says(&format!("ladder {arguments} {json}"), DEVICE)?)?
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
    // The first of those that cost as much.
    let cost = |place: &Place| place.worst.as_ref().map_or(0, |worst| worst.cost);
    let place = places.reduce(|a, b| if cost(&b) > cost(&a) { b } else { a });
    let place = place.with_context(|| format!("the rung has no {instruction}"))?;
    Ok(format!("-{}-{}-{}.svg", place.line, place.column, instruction.replace(' ', "-")))
}

/// A call as the reader would type it, and what it prints.
fn transcript(arguments: &str, output: &str) -> String {
    let lines: Vec<&str> = output.trim_end().lines().map(str::trim_end).collect();
    format!("```text\n$ rungs {arguments}\n{}\n```\n", lines.join("\n"))
}

/// Counters of a family's rungs in one table.
fn counts(arguments: &str, json: &str) -> Result<String> {
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
    const COLUMNS: &[(&str, &str)] = &[
        ("launches", "launches"),
        ("requests", "global_requests"),
        ("sectors", "global_sectors"),
        ("bytes read", "bytes_in"),
        ("bytes written", "bytes_out"),
        ("barriers", "barriers"),
        ("shared wavefronts", "shared_wavefronts"),
        ("bank conflicts", "bank_conflicts"),
        ("atomic turns", "atomic_turns"),
        ("lanes per request", "lanes_per_request"),
    ];
    let ladder: Ladder = serde_json::from_str(json).with_context(|| format!("rungs ladder {arguments}"))?;
    let mut rows = vec![];
    for step in ladder.results {
        // A rung that refuses so many elements has no counters.
        let Some(counters) = step.counters else { continue };
        ensure!(step.verified, "{} was wrong", step.rung);
        let cell = |name: &str| -> Result<String> {
            let number = counters.get(name).with_context(|| format!("rungs ladder counts no {name}"))?;
            Ok(number.as_u64().map_or_else(|| format!("{:.1}", number.as_f64().unwrap_or(0.0)), grouped))
        };
        let mut row = vec![step.rung];
        for (_, name) in COLUMNS {
            row.push(cell(name)?);
        }
        rows.push(row);
    }
    ensure!(!rows.is_empty(), "rungs ladder {arguments} counted nothing");
    let head: Vec<&str> = ["rung"].into_iter().chain(COLUMNS.iter().map(|(title, _)| *title)).collect();
    let call = format!(
        "<p class=\"caption\">Counted by the simulator: <code>rungs ladder {arguments} --device {DEVICE}</code></p>"
    );
    Ok(format!("{}\n{call}\n", grid(&head, &rows)))
}

/// A number with thousands apart.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let groups = digits.as_bytes().rchunks(3).rev().map(|group| String::from_utf8_lossy(group).into_owned());
    groups.collect::<Vec<_>>().join(",")
}

/// A cost model beside what was counted, which has to be equal.
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
        "<p class=\"caption\">The cost model of {rung} for {}. The book is not built when a formula and the \
         simulator disagree.</p>",
        given.join(", ")
    );
    Ok(format!("{}\n{note}\n", grid(&["what", "model", "model says", "simulator counts"], &rows)))
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
        "**{bug}** On a GPU: {effect}\n\n<div class=\"source\">{file}; <code>V::FIXED</code> is false in the wrong \
         version and true in its clean twin</div>\n\n```rust\n{}\n```\n\nRun without checks, the simulator says: \
         {without_checks}\n\nIts checker says (`rungs bugs show {name}`):\n\n```text\n{}\n```\n\nFix: {fix} What the \
         checker finds in the fixed kernel: {clean_twin}.\n",
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
        bugs.map(|bug| vec![format!("`{}`", bug.name), bug.found_as.join(", "), bug.bug.replace('|', "\\|")]).collect();
    ensure!(!rows.is_empty(), "the gallery has no topic {topic}");
    Ok(grid(&["bug", "found as", "what is wrong"], &rows))
}

#[cfg(test)]
mod tests {
    use super::*;

    const COUNTED: &str = r#"{"rungs":[{"counters":{"n":8,"kernels":[{"name":"k","launches":1,"bytes_in":32,
        "lanes_per_request":1.5,"lines":[]},{"name":"l","launches":2,"bytes_in":8,"lines":[
        {"line":3,"column":5,"instruction":"global load","worst":{"cost":4}},
        {"line":4,"column":7,"instruction":"global load","worst":{"cost":32}},
        {"line":6,"column":7,"instruction":"global load","worst":{"cost":32}},
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
        let table = counts("x --n 8", &json).unwrap();
        assert!(table.contains("| a | 1,234 |") && table.contains("| 32.0 |") && !table.contains("| b |"), "{table}");
        assert!(counts("x", &json.replace("true", "false")).is_err());
        assert!(counts("x", &json.replace("barriers", "others")).is_err());
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
        assert!(table.ends_with("| `n` | Race | a \\| b |\n") && !table.contains("`m`"), "{table}");
        assert!(gallery("v", json).is_err());
    }

    #[test]
    fn links_of_tables_become_names() {
        assert_eq!(unlinked("| [a](gpu/a.rs) | b [c](d) [e |"), "| a | b c [e |");
        assert_eq!(html("`a` b `c`"), "<code>a</code> b <code>c</code>");
        assert_eq!(grouped(1234567), "1,234,567");
        assert_eq!(grouped(12), "12");
    }
}
