//! The gallery's bugs in each tool: which it finds, which it misses, which clean twins it accuses.

use crate::tools::{folder, output, python, version};
use anyhow::{Context, Result};
use rungs_gallery::{Case, Simulated, Trial, all};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Schedules, and seeds of riri's.
const SCHEDULES: u32 = 32;
const SEEDS: u32 = 8;

/// The tools, in the order of the table's columns.
pub const TOOLS: [&str; 9] =
    ["rungs", "plain", "Oclgrind", "riri", "numba", "memcheck", "racecheck", "initcheck", "synccheck"];

/// What a tool says of a case.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Said {
    pub verdict: Verdict,
    /// In the tool's words, shortened.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub what: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The bug is reported, the clean twin is not.
    Found,
    /// Nothing is said of the bug.
    Missed,
    /// The clean twin is accused.
    FalseAlarm,
    /// The tool does not end, or the kernel does not.
    Hangs,
}

impl Said {
    fn of(planted: &str, fixed: &str) -> Self {
        let verdict = match (planted, fixed) {
            (_, m) if !m.is_empty() => Verdict::FalseAlarm,
            ("", _) => Verdict::Missed,
            _ => Verdict::Found,
        };
        // Files are named from the root of the project, wherever that is.
        let root = env!("CARGO_MANIFEST_DIR").trim_end_matches("bench/simulators");
        let what = if fixed.is_empty() { planted } else { fixed }.replace(root, "");
        Self { verdict, what: what.chars().take(120).collect() }
    }
}

/// A case in all tools; a tool that cannot be given it is not there.
#[derive(Serialize, Deserialize)]
pub struct Row {
    pub name: String,
    pub topic: String,
    pub finding: String,
    pub said: BTreeMap<String, Said>,
    /// What the bug does on the GPU, alone.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub on_gpu: String,
}

#[derive(Serialize, Deserialize)]
pub struct Report {
    pub schema: u32,
    pub versions: Vec<String>,
    pub cases: Vec<Row>,
}

/// Asks all tools that are there about all cases. `sanitizer`: the log of a run on a GPU. `keep`: a report that has
/// what the other tools said.
///
/// # Errors
/// If a file cannot be read.
pub fn run(sanitizer: Option<&Path>, keep: Option<&Path>) -> Result<Report> {
    let kept: Option<Report> = match keep {
        Some(path) => Some(serde_json::from_str(&std::fs::read_to_string(path)?)?),
        None => None,
    };
    let kept_case = |name: &str| kept.as_ref()?.cases.iter().find(|row| row.name == name);
    let kept_version = |tool: &str| kept.as_ref()?.versions.iter().find(|version| version.contains(tool)).cloned();
    let mut tools: Vec<BTreeMap<String, Said>> = vec![ours(), plain(), oclgrind()?, riri(), numba()];
    let (checks, on_gpu) = match sanitizer {
        Some(log) => gpu(&std::fs::read_to_string(log).with_context(|| format!("{}", log.display()))?),
        None => Default::default(),
    };
    tools.extend(checks);
    tools.resize_with(TOOLS.len(), BTreeMap::new);
    let row = |(topic, case): (&rungs_gallery::Topic, &Case)| Row {
        name: case.name.into(),
        topic: topic.name.into(),
        finding: format!("{:?}", case.finds[0]),
        said: TOOLS
            .iter()
            .zip(&tools)
            .filter_map(|(tool, said)| {
                let said = match said.is_empty() {
                    true => kept_case(case.name)?.said.get(*tool)?,
                    false => said.get(case.name)?,
                };
                Some((tool.to_string(), said.clone()))
            })
            .collect(),
        on_gpu: match sanitizer {
            Some(_) => on_gpu.get(case.name).cloned(),
            None => kept_case(case.name).map(|row| row.on_gpu.clone()),
        }
        .unwrap_or_default(),
    };
    let report = Report {
        schema: 1,
        versions: [
            version(Path::new("oclgrind-kernel"), &["--version"]).or_else(|| kept_version("Oclgrind")),
            version(&python(), &["-c", "import numba; print('numba', numba.__version__)"])
                .filter(|version| version.starts_with("numba"))
                .or_else(|| kept_version("numba")),
            Some("riri 0.8.0".into()),
            sanitizer.map(|_| "compute-sanitizer of CUDA 13".into()).or_else(|| kept_version("compute-sanitizer")),
        ]
        .into_iter()
        .flatten()
        .collect(),
        cases: all().map(row).collect(),
    };
    println!("{}", summary(&report));
    Ok(report)
}

fn ours() -> BTreeMap<String, Said> {
    let said = |case: &Case| {
        let (planted, fixed) = (case.check(false, SCHEDULES), case.check(true, SCHEDULES));
        let what = if planted.names(case) { format!("{:?}", planted.kinds[0]) } else { String::new() };
        let accused = if fixed.is_clean() { String::new() } else { fixed.text() };
        eprintln!("rungs {}: {:?} {accused}", case.name, planted.kinds);
        Said::of(&what, &accused)
    };
    all().map(|(_, case)| (case.name.to_owned(), said(case))).collect()
}

/// The simulator without its checks: whether it ends a launch or the output is wrong.
fn plain() -> BTreeMap<String, Said> {
    let on = Simulated::default();
    let outcome = |case: &Case, fixed| match (case.run)(&Trial::new(&on, fixed)) {
        Ok(ended) => ended.difference().map(|what| format!("wrong output: {what}")).unwrap_or_default(),
        Err(error) => error.to_string(),
    };
    all().map(|(_, case)| (case.name.to_owned(), Said::of(&outcome(case, false), &outcome(case, true)))).collect()
}

/// The lines above the OpenCL kernels: case, kernel, sizes and arguments.
fn oclgrind() -> Result<BTreeMap<String, Said>> {
    let file = folder().join("opencl/gallery.cl");
    let text = std::fs::read_to_string(&file)?;
    let lines: Vec<&str> = text.lines().collect();
    let mut all = BTreeMap::new();
    if version(Path::new("oclgrind-kernel"), &["--version"]).is_none() {
        return Ok(all);
    }
    for pair in lines.windows(2) {
        let Some(case) = pair[0].strip_prefix("// case ") else { continue };
        let kernel = pair[1].trim_start_matches("kernel void ").split('(').next().unwrap_or_default();
        let words: Vec<&str> = case.split(' ').collect();
        let [planted, fixed] = [false, true].map(|fixed| one_oclgrind(&file, kernel, &words, fixed));
        all.insert(words[0].to_owned(), Said::of(&planted?, &fixed?));
    }
    Ok(all)
}

fn one_oclgrind(file: &Path, kernel: &str, case: &[&str], fixed: bool) -> Result<String> {
    let sizes = |text: &str| format!("{} 1 1", text.replace(',', " ")).split(' ').take(3).collect::<Vec<_>>().join(" ");
    let mut sim = format!("{}\n{kernel}\n{}\n{}\n", file.display(), sizes(case[1]), sizes(case[2]));
    for argument in &case[3..] {
        // EITHER(for the twin,for the bug)
        let either = argument.strip_prefix("EITHER(").and_then(|text| text.trim_end_matches(')').split_once(','));
        let argument = either.map_or(*argument, |(fix, bug)| if fixed { fix } else { bug });
        let (kind, n) = argument.split_once(':').context("an argument is kind:number")?;
        let n: u32 = n.parse()?;
        let data: Vec<String> = (0..n).map(|i| ((i + 1).wrapping_mul(0x9E37_79B9) >> 25).to_string()).collect();
        sim += &match kind {
            "in" => format!("<size={} uint>\n{}\n", 4 * n, data.join(" ")),
            "zero" => format!("<size={} fill=0 uint>\n", 4 * n),
            "raw" => format!("<size={} noinit>\n", 4 * n),
            _ => format!("<size=4 uint>\n{n}\n"),
        };
    }
    let path = std::env::temp_dir().join(format!("gallery-{}.sim", std::process::id()));
    std::fs::write(&path, sim)?;
    let mut command = Command::new("oclgrind-kernel");
    command.args(["--data-races", "--uninitialized", "--uniform-writes", "--max-errors", "200"]);
    if fixed {
        command.args(["--build-options", "-DFIXED"]);
    }
    let said = output(command.arg(&path), Duration::from_secs(60)).unwrap_or_else(|| "does not end".into());
    let heads =
        ["data race at", "Invalid ", "ninitialized", "divergence", "does not end", "naligned", "without waiting"];
    // A race and an access beyond the array say more than the values that follow from them.
    let all: Vec<&str> = said.lines().filter(|line| heads.iter().any(|head| line.contains(head))).collect();
    let first = all.iter().find(|line| !line.contains("ninitialized")).or(all.first());
    Ok(first.map_or(String::new(), |line| line.trim().to_owned()))
}

fn riri() -> BTreeMap<String, Said> {
    let program: PathBuf =
        std::env::current_exe().map_or_else(|_| PathBuf::new(), |me| me.with_file_name("gallery-on-riri"));
    let mut said = BTreeMap::new();
    if !program.exists() {
        return said;
    }
    for (topic, case) in all().filter(|(topic, _)| !["copies", "own_copies", "dependent"].contains(&topic.name)) {
        let ask = |version: &str| {
            let mut command = Command::new(&program);
            output(command.args([case.name, version, &SEEDS.to_string()]), Duration::from_secs(20))
        };
        let (planted, fixed) = (ask("planted"), ask("fixed"));
        let both = format!("{planted:?}{fixed:?}");
        if both.contains("not expressible") {
            continue;
        }
        // A wrong result is not riri's finding: it is for who compares.
        let first = |text: String| text.lines().find(|l| !l.starts_with("wrong result")).unwrap_or_default().to_owned();
        let line = match (planted, fixed) {
            // The clean twin takes too long.
            (_, None) => continue,
            (None, _) => Said { verdict: Verdict::Hangs, what: String::new() },
            (Some(planted), Some(fixed)) => Said::of(&first(planted), &first(fixed)),
        };
        eprintln!("riri {} {}: {:?} {}", topic.name, case.name, line.verdict, line.what);
        said.insert(case.name.to_owned(), line);
    }
    said
}

#[derive(Deserialize)]
struct Numba {
    case: String,
    fixed: bool,
    said: String,
}

fn numba() -> BTreeMap<String, Said> {
    let mut command = Command::new(python());
    let text = output(command.arg(folder().join("numba/gallery.py")), Duration::from_secs(900)).unwrap_or_default();
    let lines: Vec<Numba> = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let of = |case: &str, fixed| lines.iter().find(|l| l.case == case && l.fixed == fixed).map(|l| l.said.clone());
    let names: BTreeSet<&str> = lines.iter().map(|line| line.case.as_str()).collect();
    let said = |name: &str| match (of(name, false)?, of(name, true)?) {
        (planted, fixed) if planted == "does not end" && fixed.is_empty() => {
            Some((name.to_owned(), Said { verdict: Verdict::Hangs, what: String::new() }))
        }
        (planted, fixed) => Some((name.to_owned(), Said::of(&planted, &fixed))),
    };
    names.into_iter().filter_map(said).collect()
}

/// Reads the log of the run on a GPU: the four tools of compute-sanitizer, and what each bug does there alone.
fn gpu(log: &str) -> (Vec<BTreeMap<String, Said>>, BTreeMap<String, String>) {
    let case_of = |kernel: &str| {
        let fits = |case: &&Case| kernel.starts_with(&case.name.replace('-', "_"));
        all().map(|(_, case)| case).filter(fits).max_by_key(|case| case.name.len())
    };
    // By tool, version and case: the messages. And which pairs of tool and case ran.
    let mut messages: BTreeMap<(String, String, &str), String> = BTreeMap::new();
    let mut ran: BTreeSet<(String, String, &str)> = BTreeSet::new();
    let mut alone = BTreeMap::new();
    for line in log.lines() {
        let parts: Vec<&str> = line.splitn(4, '|').map(str::trim).collect();
        let Some((mark, file)) = parts[0].split_once(' ') else { continue };
        let names: Vec<&str> = file.splitn(3, '.').collect();
        let (tool, version, only) = match names[..] {
            ["one", tool, case] => (tool, "planted", Some(case)),
            [tool, "mended"] => (tool, "fixed", None), // as logs of before 2026-11-27 say
            [tool, version] => (tool, version, None),
            _ => continue,
        };
        match mark {
            "%" if parts.len() >= 3 => {
                let case = only.and_then(|name| rungs_gallery::named(name).map(|(_, case)| case)).or(case_of(parts[1]));
                let Some(case) = case else { continue };
                messages.entry((tool.into(), version.into(), case.name)).or_insert(parts[2].to_owned());
            }
            "#" => {
                // Some messages name no kernel; with one case alone it is clear whose they are.
                let errors = parts[1].strip_prefix("ERROR SUMMARY: ").filter(|errors| !errors.starts_with("0 "));
                if let (Some(case), Some(errors)) = (only.and_then(rungs_gallery::named), errors) {
                    messages.entry((tool.into(), version.into(), case.1.name)).or_insert(errors.to_owned());
                }
                let ended = parts.iter().any(|part| part.starts_with("exit ") && *part != "exit 137");
                let alone: Vec<String> = ALONE.lines().map(str::to_owned).collect();
                for (_, case) in all() {
                    let covered = match only {
                        Some(name) => name == case.name,
                        None => version == "fixed" || !alone.iter().any(|name| name == case.name),
                    };
                    if covered && ended {
                        ran.insert((tool.into(), version.into(), case.name));
                    } else if covered && only.is_some() {
                        messages.entry((tool.into(), "hangs".into(), case.name)).or_default();
                    }
                }
            }
            "@" if tool == "plain" => {
                if let Some((name, what)) = parts[1].split_once(" planted: ") {
                    alone.insert(name.to_owned(), what.to_owned());
                } else if let (Some(name), "exit 137") = (only, parts[1]) {
                    alone.entry(name.to_owned()).or_insert("hangs".to_owned());
                }
            }
            _ => {}
        }
    }
    // A case that came after the run is not in its log: not even alone.
    ran.retain(|(_, _, case)| alone.contains_key(*case));
    let said = |tool: &&str| {
        let of =
            |version: &str, case: &'static str| messages.get(&(tool.to_string(), version.to_string(), case)).cloned();
        let line = |case: &'static Case| {
            let key = (tool.to_string(), "planted".to_string(), case.name);
            let fixed = of("fixed", case.name).unwrap_or_default();
            match of("planted", case.name) {
                _ if !fixed.is_empty() => Some(Said::of("", &fixed)),
                Some(planted) => Some(Said::of(&planted, &fixed)),
                None if ran.contains(&key) => Some(Said::of("", &fixed)),
                None if of("hangs", case.name).is_some() => Some(Said { verdict: Verdict::Hangs, what: String::new() }),
                None => None,
            }
        };
        all().filter_map(|(_, case)| Some((case.name.to_owned(), line(case)?))).collect()
    };
    (TOOLS[5..].iter().map(said).collect(), alone)
}

/// The cases that run in a process of their own on the GPU, because they hang or end it.
const ALONE: &str = include_str!("../gpu/alone.txt");

/// Whether a case has an access or a wait that is undefined. The others' outputs are wrong, or slow, and defined.
fn is_undefined(row: &Row) -> bool {
    !["WrongResult", "MoreSectors", "MoreWavefronts"].contains(&row.finding.as_str())
}

/// How many a tool finds, misses, and so on, of the cases with something undefined.
pub fn summary(report: &Report) -> String {
    let mut text = String::from(
        "| tool | cases | found | missed | false alarms | does not end |\n| --- | --- | --- | --- | --- | --- |\n",
    );
    let all: Vec<&Row> = report.cases.iter().filter(|row| is_undefined(row)).collect();
    let mut line = |name: &str, verdict_of: &dyn Fn(&Row) -> Option<Verdict>| {
        let of = |verdict| all.iter().filter(|row| verdict_of(row) == Some(verdict)).count();
        let [found, missed, alarms, hangs] =
            [Verdict::Found, Verdict::Missed, Verdict::FalseAlarm, Verdict::Hangs].map(of);
        let cases = found + missed + alarms + hangs;
        if cases > 0 {
            text += &format!("| {name} | {cases} | {found} | {missed} | {alarms} | {hangs} |\n");
        }
    };
    for tool in TOOLS {
        line(tool, &|row| row.said.get(tool).map(|said| said.verdict));
    }
    // What any of the four says.
    let worst = |row: &Row| {
        let said: Vec<Verdict> = TOOLS[5..].iter().filter_map(|tool| Some(row.said.get(*tool)?.verdict)).collect();
        let order = [Verdict::FalseAlarm, Verdict::Found, Verdict::Hangs, Verdict::Missed];
        order.into_iter().find(|verdict| said.contains(verdict))
    };
    line("compute-sanitizer's four together", &worst);
    text
}
