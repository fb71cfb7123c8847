//! `rungs litmus`: litmus tests of PTX's memory model: what it allows, and what the simulator or a GPU shows.

use super::Common;
use super::bugs::{OnEngine, engine_with};
use crate::report::{self, Format, Grid};
use clap::{Arg, ArgMatches, Command, value_parser};
use rungs::error::{Error, Result};
use rungs_litmus::{Allowed, Outcome, SETS, Shown, Test, allowed, counted, simulated, tests};
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Instances of a test in one launch on a GPU.
const INSTANCES: u32 = 256;

pub(super) fn command() -> Command {
    let number = |name: &'static str, value: &'static str, default: &'static str| {
        Arg::new(name).long(name).value_name(value).default_value(default).value_parser(value_parser!(u32).range(1..))
    };
    Command::new("litmus")
        .about("Litmus tests of the memory model: what PTX allows, what the simulator shows, what its checker reports")
        .after_help(
            "An outcome is weak if no order of all accesses explains it. With --device cuda and --ptx the tests run \
             on a GPU too: cargo xtask build-ptx --manifest-path gpu/litmus",
        )
        .args([
            Arg::new("name").value_name("NAME").num_args(0..).help("Tests to show in full [default: a table of all]"),
            Arg::new("file")
                .long("file")
                .value_name("FILE")
                .help("Tests of your own, in the field's form for PTX")
                .value_parser(value_parser!(PathBuf)),
            number("schedules", "K", "32").help("How many schedules of the simulator"),
            Arg::new("ptx")
                .long("ptx")
                .value_name("FILE")
                .help("The kernel that runs the tests, for a GPU")
                .value_parser(value_parser!(PathBuf)),
            number("launches", "K", "100").help("Launches on a GPU, of 256 instances each"),
        ])
}

/// A test, with what is known of its outcomes.
struct Judged {
    test: Test,
    allowed: Allowed,
    shown: Shown,
    /// How often each outcome came on a GPU.
    on_gpu: Option<BTreeMap<Outcome, u64>>,
}

/// A test, for JSON.
#[derive(Serialize)]
struct Row {
    name: String,
    about: String,
    question: String,
    answer: bool,
    race: bool,
    findings: Vec<&'static str>,
    outcomes: Vec<OutcomeRow>,
    agrees: bool,
}

#[derive(Serialize)]
struct OutcomeRow {
    outcome: String,
    ptx: &'static str,
    schedules: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    gpu: Option<u64>,
}

#[derive(Serialize)]
struct List {
    schema: u32,
    tests: Vec<Row>,
}

pub(super) fn run(matches: &ArgMatches, common: &Common) -> Result<()> {
    let ptx = matches.get_one::<PathBuf>("ptx");
    if ptx.is_none() {
        common.on_simulator("litmus without --ptx")?;
    }
    let engine = ptx.map(|path| engine_with(Some(path), common)).transpose()?;
    let names: Vec<&String> = matches.get_many("name").into_iter().flatten().collect();
    let tests = chosen(matches.get_one("file"), &names)?;
    let number = |name: &str| matches.get_one::<u32>(name).copied().unwrap_or(1);
    let mut progress = common.progress(tests.len());
    let mut judged = Vec::new();
    for test in tests {
        progress.step(&test.name);
        let refused = |why: String| Error::Usage(format!("{}: {why}", test.name));
        let (allowed, shown) =
            (allowed(&test).map_err(refused)?, simulated(&test, number("schedules")).map_err(refused)?);
        let on_gpu = engine
            .as_ref()
            .map(|engine| counted(&test, &OnEngine(engine), (number("launches"), INSTANCES)))
            .transpose()?;
        judged.push(Judged { test, allowed, shown, on_gpu });
    }
    drop(progress);
    match common.format {
        Format::Json => {
            report::json(&List { schema: report::SCHEMA, tests: judged.iter().map(Judged::row).collect() })?;
        }
        Format::Text if !names.is_empty() => {
            report::print(&judged.iter().map(Judged::text).collect::<Vec<_>>().join("\n"))?;
        }
        format => table(&judged, format)?,
    }
    let differing = judged.iter().filter(|test| !test.agrees()).count();
    if differing > 0 { Err(Error::Found { count: differing }) } else { Ok(()) }
}

/// The tests of a file or ours; those of these names, or all.
fn chosen(file: Option<&PathBuf>, names: &[&String]) -> Result<Vec<Test>> {
    let mut all = Vec::new();
    match file {
        Some(path) => {
            let text = std::fs::read_to_string(path).map_err(|e| Error::reading(path.display(), &e))?;
            all.extend(tests(&text).map_err(|why| Error::Usage(format!("{}: {why}", path.display())))?);
        }
        None => {
            for (set, text) in SETS {
                all.extend(tests(text).map_err(|why| Error::Usage(format!("{set}: {why}")))?);
            }
        }
    }
    let known: Vec<&str> = all.iter().map(|test| &*test.name).collect();
    if let Some(name) = names.iter().find(|name| !known.contains(&name.as_str())) {
        return Err(Error::unknown("test", name, &known));
    }
    all.retain(|test| names.is_empty() || names.iter().any(|name| **name == test.name));
    Ok(all)
}

impl Judged {
    /// What the model says of an outcome.
    fn word(&self, outcome: &Outcome) -> &'static str {
        match self.allowed.outcomes.get(outcome) {
            Some(true) => "allowed",
            Some(false) => "weak",
            None => "FORBIDDEN",
        }
    }

    /// All outcomes that are allowed or came.
    fn outcomes(&self) -> Vec<&Outcome> {
        let came = self.shown.outcomes.keys().chain(self.on_gpu.iter().flat_map(BTreeMap::keys));
        let mut all: Vec<_> = self.allowed.outcomes.keys().chain(came).collect();
        all.sort();
        all.dedup();
        all
    }

    /// Whether every outcome that came is allowed, and a race is reported if there is one.
    fn agrees(&self) -> bool {
        self.outcomes().into_iter().all(|outcome| self.word(outcome) != "FORBIDDEN")
            && self.allowed.race != self.shown.findings.is_empty()
    }

    fn kinds(&self) -> Vec<&'static str> {
        let mut kinds: Vec<_> = self.shown.findings.iter().map(|finding| finding.kind.name()).collect();
        kinds.sort_unstable();
        kinds.dedup();
        kinds
    }

    fn answer(&self) -> bool {
        self.test.answer(self.allowed.outcomes.keys())
    }

    fn row(&self) -> Row {
        let outcome = |outcome: &Outcome| OutcomeRow {
            outcome: self.test.words(outcome),
            ptx: self.word(outcome),
            schedules: self.shown.outcomes.get(outcome).copied().unwrap_or(0),
            gpu: self.on_gpu.as_ref().map(|all| all.get(outcome).copied().unwrap_or(0)),
        };
        Row {
            name: self.test.name.clone(),
            about: self.test.about.clone(),
            question: self.test.question.asks.to_string(),
            answer: self.answer(),
            race: self.allowed.race,
            findings: self.kinds(),
            outcomes: self.outcomes().into_iter().map(outcome).collect(),
            agrees: self.agrees(),
        }
    }

    /// The test, and a table of its outcomes.
    fn text(&self) -> String {
        let Row { outcomes, answer, race, findings, .. } = self.row();
        let columns = ["outcome", "PTX", "schedules", "on the GPU"];
        let mut grid = Grid::new(&columns[..if self.on_gpu.is_some() { 4 } else { 3 }], &[2, 3]);
        for OutcomeRow { outcome, ptx, schedules, gpu } in outcomes {
            let gpu = gpu.map(|n| n.to_string());
            grid.row([outcome, ptx.into(), schedules.to_string()].into_iter().chain(gpu));
        }
        let checker = match &findings[..] {
            [] => "nothing".into(),
            kinds => kinds.join(", "),
        };
        format!(
            "{}\n\n{}\nThe answer: {}. Data race: {}. The checker reports: {checker}.\n",
            self.test,
            grid.text(),
            if answer { "yes" } else { "no" },
            if race { "yes" } else { "no" },
        )
    }
}

fn table(judged: &[Judged], format: Format) -> Result<()> {
    let columns = [
        "test",
        "PTX allows",
        "weak",
        "shown",
        "weak shown",
        "forbidden shown",
        "race",
        "reported",
        "GPU shows",
        "weak on GPU",
    ];
    let with_gpu = judged.iter().any(|test| test.on_gpu.is_some());
    let mut grid = Grid::new(&columns[..if with_gpu { 10 } else { 8 }], &[1, 2, 3, 4, 5, 8, 9]);
    for test in judged {
        let of = |outcomes: &mut dyn Iterator<Item = &Outcome>, word: &str| {
            outcomes.filter(|outcome| word.is_empty() || test.word(outcome) == word).count().to_string()
        };
        let allowed = |word| of(&mut test.allowed.outcomes.keys(), word);
        let shown = |word| of(&mut test.shown.outcomes.keys(), word);
        let race = if test.allowed.race { "yes" } else { "no" };
        let cells = [allowed(""), allowed("weak"), shown(""), shown("weak"), shown("FORBIDDEN"), race.into()];
        let on_gpu = test.on_gpu.as_ref().map(|all| ["", "weak"].map(|word| of(&mut all.keys(), word)));
        let cells = [test.test.name.clone()].into_iter().chain(cells).chain([test.kinds().join(" ")]);
        grid.row(cells.chain(on_gpu.into_iter().flatten()));
    }
    if format == Format::Csv { grid.print_csv() } else { grid.print() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(name: &str) -> Judged {
        let test = chosen(None, &[&name.to_string()]).unwrap().remove(0);
        let (allowed, shown) = (allowed(&test).unwrap(), simulated(&test, 32).unwrap());
        Judged { test, allowed, shown, on_gpu: None }
    }

    #[test]
    fn a_test_is_told_with_its_outcomes() {
        let text = judged("SB-relaxed").text();
        assert!(text.contains("st.relaxed.gpu x, 1"), "{text}");
        let weak = text.lines().find(|line| line.contains("P0:r0=0 P1:r0=0")).unwrap();
        assert!(weak.contains("weak"), "{text}");
        assert!(text.ends_with("The answer: yes. Data race: no. The checker reports: nothing.\n"), "{text}");
        let race = judged("MP-unguarded");
        assert!(race.agrees() && race.text().contains("The checker reports: global-race."), "{}", race.text());
    }

    #[test]
    fn an_outcome_that_is_not_allowed_is_a_difference() {
        let mut test = judged("SB-fences-sc");
        assert!(test.agrees());
        test.on_gpu = Some([(vec![0, 0], 3)].into());
        assert!(!test.agrees());
        let text = test.text();
        assert!(text.lines().any(|line| line.contains("FORBIDDEN") && line.trim_end().ends_with('3')), "{text}");
    }

    #[test]
    fn a_name_that_is_near_is_proposed() {
        let error = chosen(None, &[&"SB-relaxd".to_string()]).unwrap_err();
        assert!(error.to_string().contains("SB-relaxed"), "{error}");
    }
}
