//! Suites of others, judged by the checker: patterns of GPUVerify's tests, Indigo's programs, Indigo3's planted bugs
//! and Oclgrind's tests, written again over `simt`. Each case has its suite's name and verdict. `docs/suites.md` has
//! the table, which the test holds to what the checker says; `SUITES=write cargo test -p simt --test suites` writes it.

mod gpuverify;
mod indigo;
mod indigo3;
mod oclgrind;
mod rows;

use simt::launcher::Launcher;
use simt::sim::{Check, Finding, Gpu, Kind, check};
use simt::{Global, Scalar};
use std::fmt::Write;

/// What a suite says is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum What {
    Race,
    OutOfBounds,
    Uninitialised,
    Misaligned,
    Divergence,
    NotAwaited,
}

impl What {
    const ALL: [Self; 6] =
        [Self::Race, Self::OutOfBounds, Self::Misaligned, Self::Uninitialised, Self::Divergence, Self::NotAwaited];

    /// The findings that say so.
    fn kinds(self) -> &'static [Kind] {
        match self {
            Self::Race => {
                &[Kind::SharedRace, Kind::GlobalRace, Kind::SameValueWrite, Kind::MixedAtomic, Kind::ScopeTooSmall]
            }
            Self::OutOfBounds => &[Kind::OutOfBounds],
            Self::Misaligned => &[Kind::Misaligned],
            Self::Uninitialised => &[Kind::UninitialisedShared, Kind::UninitialisedGlobal],
            Self::Divergence => &[Kind::DivergentBarrier, Kind::MissedBarrier, Kind::WarpMask],
            Self::NotAwaited => &[Kind::CopyInFlight],
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Race => "race",
            Self::OutOfBounds => "out of bounds",
            Self::Misaligned => "misaligned",
            Self::Uninitialised => "uninitialised",
            Self::Divergence => "divergence",
            Self::NotAwaited => "copy not awaited",
        }
    }
}

/// A bug that a suite planted, and the lines of the file that have it here.
struct Bug {
    what: What,
    lines: Vec<u32>,
}

impl Bug {
    /// The lines are those of `text` that say `[mark]` in a comment.
    fn marked(what: What, text: &str, mark: &str) -> Self {
        let mark = format!("// [{mark}]");
        let lines = (1..).zip(text.lines()).filter(|(_, line)| line.ends_with(&mark)).map(|(n, _)| n).collect();
        Self { what, lines }
    }
}

/// Launches a case.
type Run = dyn Fn(&dyn Launcher);

/// A program of a suite.
struct Case {
    /// The suite's name for it.
    name: String,
    /// None where the suite says that it is right.
    bugs: Vec<Bug>,
    /// The file here that has its kernel.
    file: &'static str,
    /// Whether the suite lets threads write one value to one word.
    same_value: bool,
    run: Box<Run>,
}

/// Schedules for each case.
const SCHEDULES: u32 = 8;

type Cases = fn() -> Vec<Case>;

const SUITES: [(&str, Cases); 4] = [
    (gpuverify::SUITE, gpuverify::cases),
    (indigo::SUITE, indigo::cases),
    (indigo3::SUITE, indigo3::cases),
    (oclgrind::SUITE, oclgrind::cases),
];

/// Right by their suite, and wrong by PTX's model: why.
const DIFFERENT: [(&str, &str); 3] = [
    ("CUDA/warpsync/shuffle", "trusts that a warp runs in lockstep; since compute capability 7.0 it needs `sync_warp`"),
    ("CUDA/warpsync/scan_warp", "the same"),
    (
        "OpenCL/benign_race_tests/pass/writeafterread",
        "each thread writes the value that it has read; GPUVerify lets that pass, PTX calls it a race",
    ),
];

/// What the checker says of a case.
struct Judged {
    name: String,
    /// Of each bug: what it is, whether it was found, and whether at its lines.
    bugs: Vec<(What, bool, bool)>,
    /// What was found in a case that its suite calls right.
    accused: Vec<Finding>,
}

fn judge(case: Case) -> Judged {
    let options = Check { schedules: SCHEDULES, allow_same_value: case.same_value, ..Check::default() };
    let findings = check(options, || (case.run)(&Gpu::default())).report.findings;
    let found = |bug: &Bug| findings.iter().any(|finding| bug.what.kinds().contains(&finding.kind));
    let there = |bug: &Bug| findings.iter().any(|finding| located(finding, bug, case.file));
    let bugs: Vec<_> = case.bugs.iter().map(|bug| (bug.what, found(bug), there(bug))).collect();
    assert!(case.bugs.iter().all(|bug| !bug.lines.is_empty()), "{}: no line has the bug", case.name);
    Judged { name: case.name, accused: if bugs.is_empty() { findings } else { Vec::new() }, bugs }
}

/// Every case is judged as its suite does, at the line of the bug, and the page says how many there are.
#[test]
fn suites_of_others() {
    let suites = std::thread::scope(|scope| {
        let judged = |cases: Cases| cases().into_iter().map(judge).collect::<Vec<_>>();
        SUITES
            .map(|(suite, cases)| (suite, scope.spawn(move || judged(cases))))
            .map(|(suite, work)| (suite, work.join().unwrap()))
    });
    let mut wrong = String::new();
    for (suite, judged) in &suites {
        for Judged { name, bugs, accused } in judged {
            for (what, found, there) in bugs {
                if !found || !there {
                    let how = if *found { "found elsewhere" } else { "missed" };
                    writeln!(wrong, "{suite}, {name}: {} {how}", what.name()).unwrap();
                }
            }
            if accused.is_empty() == DIFFERENT.iter().any(|(different, _)| different == name) {
                let told: String = accused.iter().map(|finding| format!("\n{finding}")).collect();
                writeln!(wrong, "{suite}, {name}: {} findings{told}", accused.len()).unwrap();
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
    let (table, page) = (table(&suites), concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/suites.md"));
    println!("{table}");
    let text = std::fs::read_to_string(page).unwrap();
    let (from, to) = ("<!-- suites: generated -->\n", "<!-- suites: end -->");
    let (before, rest) = text.split_once(from).expect("the page has a generated part");
    let (is, after) = rest.split_once(to).expect("it ends");
    if std::env::var("SUITES").is_ok_and(|what| what == "write") {
        std::fs::write(page, format!("{before}{from}{table}{to}{after}")).unwrap();
    } else {
        assert_eq!(is, table, "docs/suites.md is old: SUITES=write cargo test -p simt --test suites");
    }
}

/// The tables of the page.
fn table(suites: &[(&str, Vec<Judged>)]) -> String {
    let mut text = String::from(
        "| suite | cases | with a bug | found | at its line | right | accused |\n\
         | --- | --- | --- | --- | --- | --- | --- |\n",
    );
    let mut row = |name: &str, cases: &[&Judged]| {
        let count = |which: &dyn Fn(&Judged) -> bool| cases.iter().filter(|case| which(case)).count();
        let (buggy, right) = (count(&|case| !case.bugs.is_empty()), count(&|case| case.bugs.is_empty()));
        let found = count(&|case| !case.bugs.is_empty() && case.bugs.iter().all(|&(_, found, _)| found));
        let there = count(&|case| !case.bugs.is_empty() && case.bugs.iter().all(|&(.., there)| there));
        let accused = count(&|case| !case.accused.is_empty());
        let all = cases.len();
        writeln!(text, "| {name} | {all} | {buggy} | {found} | {there} | {right} | {accused} |").unwrap();
    };
    suites.iter().for_each(|(suite, judged)| row(suite, &judged.iter().collect::<Vec<_>>()));
    row("all", &suites.iter().flat_map(|(_, judged)| judged).collect::<Vec<_>>());

    text += "\n| planted | bugs | found | at its line |\n| --- | --- | --- | --- |\n";
    for what in What::ALL {
        let all = suites.iter().flat_map(|(_, judged)| judged).flat_map(|case| &case.bugs);
        let bugs: Vec<_> = all.filter(|(planted, ..)| *planted == what).collect();
        let found = bugs.iter().filter(|(_, found, _)| *found).count();
        let there = bugs.iter().filter(|(.., there)| *there).count();
        writeln!(text, "| {} | {} | {found} | {there} |", what.name(), bugs.len()).unwrap();
    }

    text += "\n| accused, and right by its suite | why |\n| --- | --- |\n";
    for (name, why) in DIFFERENT {
        writeln!(text, "| {name} | {why} |").unwrap();
    }
    text
}

/// Whether one of a finding's sides is at a line of the bug.
fn located(finding: &Finding, bug: &Bug, file: &str) -> bool {
    let sides = [finding.first.as_ref(), Some(&finding.second)];
    let here = |site: &simt::sim::Site| site.file.ends_with(file) && bug.lines.contains(&site.line);
    bug.what.kinds().contains(&finding.kind)
        && sides.into_iter().flatten().filter_map(|side| side.site.as_ref()).any(here)
}

/// A view of words that the host has written.
fn host<T: Scalar>(words: &mut [T]) -> Global<T> {
    // SAFETY: the caller keeps the words until its launches have ended.
    unsafe { Global::from_raw(words.as_mut_ptr(), words.len() as u32) }
}

/// A graph: where the neighbours of each vertex begin, and all neighbours. The first vertex and the last have none, and
/// several vertices begin and end with the same neighbour, which has a higher number.
fn graph() -> (Vec<u32>, Vec<u32>) {
    const NEIGHBOURS: [&[u32]; 12] =
        [&[], &[9, 3, 10], &[9, 10], &[9, 1, 10], &[2, 9], &[10], &[5, 7], &[6, 10], &[9], &[1, 2, 10], &[9, 1], &[]];
    let ends = NEIGHBOURS.iter().scan(0, |end, next| {
        *end += next.len() as u32;
        Some(*end)
    });
    (std::iter::once(0).chain(ends).collect(), NEIGHBOURS.concat())
}
