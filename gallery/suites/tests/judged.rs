//! The checker's judgement of every case. `docs/suites.md` has the tables, which the test holds to what the checker
//! says; `SUITES=write cargo test -p rungs-suites` writes them.

use rungs_gallery::{Simulated, Trial};
use rungs_suites::{Bug, Case, SUITES, What};
use simt::sim::{Check, Finding, Kind, check};
use std::fmt::Write;

/// The findings that say so.
fn kinds(what: What) -> &'static [Kind] {
    match what {
        What::Race => {
            &[Kind::SharedRace, Kind::GlobalRace, Kind::SameValueWrite, Kind::MixedAtomic, Kind::ScopeTooSmall]
        }
        What::OutOfBounds => &[Kind::OutOfBounds],
        What::Misaligned => &[Kind::Misaligned],
        What::Uninitialised => &[Kind::UninitialisedShared, Kind::UninitialisedGlobal],
        What::Divergence => &[Kind::DivergentBarrier, Kind::MissedBarrier, Kind::WarpMask],
        What::NotAwaited => &[Kind::CopyInFlight],
    }
}

/// Schedules for each case.
const SCHEDULES: u32 = 8;

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
    // A launch that a finding ends is an error; the check has the finding.
    let findings = check(options, || (case.run)(&Trial::new(&Simulated::default(), false))).report.findings;
    let found = |bug: &Bug| findings.iter().any(|finding| kinds(bug.what).contains(&finding.kind));
    let there = |bug: &Bug| findings.iter().any(|finding| located(finding, bug, case.file));
    let bugs: Vec<_> = case.bugs.iter().map(|bug| (bug.what, found(bug), there(bug))).collect();
    assert!(case.bugs.iter().all(|bug| !bug.lines.is_empty()), "{}: no line has the bug", case.name);
    Judged { name: case.name, accused: if bugs.is_empty() { findings } else { Vec::new() }, bugs }
}

/// Every case is judged as its suite does, at the line of the bug, and the page says how many there are.
#[test]
fn suites_of_others() {
    let suites = std::thread::scope(|scope| {
        SUITES
            .map(|(suite, cases)| (suite, scope.spawn(move || cases().into_iter().map(judge).collect::<Vec<_>>())))
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
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/suites.md");
    let old = std::fs::read_to_string(page).unwrap();
    let mut new = replaced(&old, "suites", &table(&suites));
    // What bench/simulators/gpu/suites.py has written on a GPU.
    let runs = concat!(env!("CARGO_MANIFEST_DIR"), "/../../bench/simulators/results/suites.csv");
    if let Ok(runs) = std::fs::read_to_string(runs) {
        new = replaced(&new, "sanitizer", &next_to_ours(&suites, &runs));
    }
    if std::env::var("SUITES").is_ok_and(|what| what == "write") {
        std::fs::write(page, new).unwrap();
    } else {
        assert_eq!(old, new, "docs/suites.md is old: SUITES=write cargo test -p rungs-suites");
    }
}

/// The page with this generated part.
fn replaced(page: &str, name: &str, part: &str) -> String {
    let (from, to) = (format!("<!-- {name}: generated -->\n"), format!("<!-- {name}: end -->"));
    let (before, rest) = page.split_once(&from).expect("the page has a generated part");
    let (_, after) = rest.split_once(&to).expect("it ends");
    format!("{before}{from}{part}{to}{after}")
}

/// compute-sanitizer's tools, as the columns of the runs name them, and the bugs that each is made for.
const TOOLS: [(&str, &[What]); 4] = [
    ("memcheck", &[What::OutOfBounds, What::Misaligned]),
    ("racecheck", &[What::Race]),
    ("initcheck", &[What::Uninitialised]),
    ("synccheck", &[What::Divergence]),
];

/// A case in the tools: what each said of it.
type Said<'a> = [&'a str; 4];

/// Whether a tool found a bug: it reported something, and the case has no other bug that the tool is made for.
fn found_by(tool: usize, said: &Said, what: What, case: &Judged) -> bool {
    let own = TOOLS[tool].1;
    said[tool] == "finding" && (own.contains(&what) || case.bugs.iter().all(|(other, ..)| !own.contains(other)))
}

/// The tables of compute-sanitizer's runs next to the checker's judgement of the same cases.
fn next_to_ours(suites: &[(&str, Vec<Judged>)], runs: &str) -> String {
    let mut lines = runs.lines();
    let machine = lines.next().and_then(|line| line.strip_prefix("# ")).expect("the first line names the GPU");
    assert_eq!(lines.next(), Some("suite,memcheck,racecheck,initcheck,synccheck,case"));
    // Those that every tool was given.
    let mut run: Vec<(&str, &Judged, Said)> = Vec::new();
    for line in lines {
        let cells: Vec<&str> = line.splitn(6, ',').collect();
        let (suite, said, name) = (cells[0], [cells[1], cells[2], cells[3], cells[4]], cells[5]);
        let of_suite = suites.iter().find(|(known, _)| *known == suite);
        let case = of_suite.and_then(|(_, cases)| cases.iter().find(|case| case.name == name));
        let case = case.unwrap_or_else(|| panic!("{suite} has no case {name}: run compute-sanitizer again"));
        if !said.contains(&"") {
            run.push((suite, case, said));
        }
    }
    let parts = suites.iter().map(|(suite, cases)| {
        let ran = run.iter().filter(|(of, ..)| of == suite).count();
        format!("| {suite} | {} | {ran} |\n", cases.len())
    });
    let mut text = format!("{machine}.\n\n| suite | cases | run under all four tools |\n| --- | --- | --- |\n");
    text.extend(parts);

    text += "\n| planted | bugs | our checker | memcheck | racecheck | initcheck | synccheck | the four together |\n\
             | --- | --- | --- | --- | --- | --- | --- | --- |\n";
    for what in What::ALL {
        let of = run.iter().flat_map(|(_, case, said)| case.bugs.iter().map(move |bug| (*case, said, bug)));
        let bugs: Vec<_> = of.filter(|(.., (planted, ..))| *planted == what).collect();
        let found = |tool: usize| move |(case, said, _): &(&Judged, &Said, _)| found_by(tool, said, what, case);
        let ours = bugs.iter().filter(|(.., (_, found, _))| *found).count();
        let theirs: Vec<_> = (0..4).map(|tool| bugs.iter().copied().filter(found(tool)).count().to_string()).collect();
        let any = bugs.iter().filter(|bug| (0..4).any(|tool| found(tool)(bug))).count();
        writeln!(text, "| {} | {} | {ours} | {} | {any} |", what.name(), bugs.len(), theirs.join(" | ")).unwrap();
    }
    let right: Vec<_> = run.iter().filter(|(_, case, _)| case.bugs.is_empty()).collect();
    let ours = right.iter().filter(|(_, case, _)| !case.accused.is_empty()).count();
    let by = |tool: usize| right.iter().filter(|(.., said)| said[tool] == "finding").count().to_string();
    let any = right.iter().filter(|(.., said)| said.contains(&"finding")).count();
    let theirs = (0..4).map(by).collect::<Vec<_>>().join(" | ");
    writeln!(text, "| *right cases that are accused* | {} | {ours} | {theirs} | {any} |", right.len()).unwrap();

    let count = |outcome| run.iter().flat_map(|(.., said)| said).filter(|said| **said == outcome).count();
    let (all, endless, errors) = (4 * run.len(), count("endless"), count("error"));
    writeln!(
        text,
        "\n{endless} of these {all} runs had not ended after 20 seconds, and {errors} ended with an error of the \
         driver that the tool\ndid not explain. Both count as not found."
    )
    .unwrap();
    text
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
    kinds(bug.what).contains(&finding.kind)
        && sides.into_iter().flatten().filter_map(|side| side.site.as_ref()).any(here)
}
