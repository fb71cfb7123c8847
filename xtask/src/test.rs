//! `test`: what a change needs, or with `--all` everything that must pass, in the order in which it is cheapest to
//! fail.

use crate::{book, browser, build_ptx, check_ptx, deny, exercises, families, fuzz, mutants, own_kernel, packages};
use crate::{program, project, setup, shell, systems, table, test_rung};
use anyhow::{Context, Result, bail, ensure};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::io::{BufRead, BufReader, ErrorKind, Read};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};
use std::{env, iter, thread};

/// The options of `test`.
#[derive(clap::Args, Default)]
pub struct Args {
    /// Only the tests of these rungs, on the simulator and on the GPU if there is one: reduce/shuffle, or reduce for
    /// the whole family. A name without a rung is an error
    #[arg(value_name = "FAMILY/RUNG", conflicts_with_all = ["all", "only", "from", "list", "may_skip"])]
    rungs: Vec<String>,
    /// Everything that CI runs: all architectures, all rungs under 32 schedules, packages, exercises, fuzzing
    #[arg(long)]
    all: bool,
    /// Only these steps, of either kind of run
    #[arg(long, value_name = "STEP", value_delimiter = ',', conflicts_with = "from")]
    only: Vec<String>,
    /// Begin with this step
    #[arg(long, value_name = "STEP")]
    from: Option<String>,
    /// Print the steps and run none
    #[arg(long)]
    list: bool,
    /// With --all: these steps may be skipped where a tool is missing. Any other step then fails
    #[arg(long, value_name = "STEP", value_delimiter = ',', requires = "all")]
    may_skip: Vec<String>,
    /// The body of this step alone, for a run that has it next to another
    #[arg(long, value_name = "STEP", hide = true)]
    body: Option<String>,
    /// With --body: the program and all tests have been built
    #[arg(long, requires = "body", hide = true)]
    built: bool,
}

/// The runs that a step is part of, unless `--only` names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Always,
    /// Not with `--all`, where another step does more.
    Short,
    /// With `--all` alone.
    All,
}

/// A part of what must pass.
#[derive(Clone, Copy)]
struct Step {
    name: &'static str,
    what: &'static str,
    part: Part,
    /// Told whether this is a run of all.
    run: fn(bool) -> Result<()>,
    /// Why it cannot run on this machine, if it cannot.
    missing: fn() -> Option<String>,
    /// Whether it may run while another such step does: most of its time it has work for one core.
    apart: bool,
}

const fn step(name: &'static str, part: Part, what: &'static str, run: fn(bool) -> Result<()>) -> Step {
    Step { name, what, part, run, missing: || None, apart: false }
}

impl Step {
    const fn unless(self, missing: fn() -> Option<String>) -> Self {
        Self { missing, ..self }
    }

    const fn apart(self) -> Self {
        Self { apart: true, ..self }
    }
}

/// The architecture of a short run: it has all kernels.
const SHORT_ARCH: &str = "sm_90a";

/// Schedules of trials under checks in a short run.
const SHORT_SCHEDULES: &str = "4";

const STEPS: &[Step] = &[
    step("setup", Part::Always, "find the tools, and install missing ones", |_| setup::run(&setup::Args::default())),
    step("format", Part::Always, "cargo fmt --check", |_| shell::run(shell::cargo(&["fmt", "--all", "--check"]))),
    step("lints", Part::Always, "cargo clippy, and the lock files of the workspaces below this one", |_| {
        lock_files()?;
        shell::run(shell::cargo(&["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]))
    }),
    step("rust-cuda", Part::All, "cargo check of the kernels on rust-cuda's cuda_std", |_| rust_cuda()),
    step("build-ptx", Part::Always, "PTX for sm_90a; with --all, for all architectures", build_fresh_ptx),
    step("build", Part::Always, "compile the program and all tests", |_| program::build_with_tests()),
    // Before the steps that a browser does more for.
    step("browser", Part::All, "find or install Chromium, which the pages are tested in", |_| Ok(()))
        .unless(browser::missing),
    step("check-ptx", Part::Always, "assemble the PTX, and compare it with the rungs", |_| {
        check_ptx::run(&check_ptx::Args::default())
    })
    .apart(),
    step("docs", Part::Always, "cargo doc without warnings", |_| docs()).apart(),
    step("book", Part::All, "the book has nothing stale, missing or dead", |_| book::check()).apart(),
    step("own-kernel", Part::All, "the crates in examples, built elsewhere", |_| own_kernel::run()).apart(),
    step("exercises", Part::All, "solutions pass, stubs and wrong answers fail", |_| exercises::test()).apart(),
    step("packages", Part::All, "each package compiles from the files that would be published", |_| packages::check())
        .apart(),
    step("systems", Part::All, "what needs no GPU compiles for macOS and Windows", |_| systems::check())
        .unless(systems::missing)
        .apart(),
    step("deny", Part::All, "licences, sources and duplicates of the dependencies", |_| deny::check())
        .unless(deny::missing)
        .apart(),
    step("advisories", Part::All, "known vulnerabilities of the dependencies", |_| deny::advisories())
        .unless(deny::no_list)
        .apart(),
    step("fuzz", Part::All, "the fuzz targets, for some seconds", |_| fuzz::test()).unless(fuzz::missing).apart(),
    step("mutants", Part::All, "a sample of changes to rungs-ptx, which its tests must notice", |_| mutants::check())
        .unless(mutants::missing)
        .apart(),
    step("checks", Part::Short, "trials of the touched families, checked under 4 schedules", |_| checks()),
    // Last, so that the summary of the test runner is the last that is printed.
    step(
        TESTS,
        Part::Always,
        "cargo test of what a change may affect; with --all everything, each rung under 32 schedules",
        run_tests,
    ),
];

const TESTS: &str = "tests";

/// Runs the steps, or the tests of the rungs that are named. A step that fails stops no other; the error names all.
pub fn run(args: &Args) -> Result<()> {
    if !args.rungs.is_empty() {
        return test_rung::run(&args.rungs);
    }
    if let Some(name) = &args.body {
        if args.built {
            program::set_built();
        }
        let step = STEPS.iter().find(|step| step.name == name).with_context(|| format!("there is no step {name}"))?;
        return (step.run)(args.all);
    }
    let steps = select(args)?;
    if args.list {
        let row =
            |step: &Step| vec![step.name.to_string(), format!("{:?}", step.part).to_lowercase(), step.what.into()];
        print!("{}", table::render(&["step", "in runs", ""], &STEPS.iter().map(row).collect::<Vec<_>>(), 3));
        return Ok(());
    }
    verdict(&run_all(&steps, args.all, &args.may_skip))
}

/// The steps that the options ask for.
fn select(args: &Args) -> Result<Vec<Step>> {
    let names: Vec<_> = STEPS.iter().map(|step| step.name).collect();
    for name in args.only.iter().chain(&args.from).chain(&args.may_skip) {
        ensure!(names.contains(&&**name), "there is no step {name}; there are {}", names.join(", "));
    }
    if !args.only.is_empty() {
        return Ok(STEPS.iter().filter(|step| args.only.iter().any(|name| name == step.name)).copied().collect());
    }
    let left_out = if args.all { Part::Short } else { Part::All };
    let steps: Vec<_> = STEPS.iter().filter(|step| step.part != left_out).copied().collect();
    let Some(from) = &args.from else { return Ok(steps) };
    let (first, all) = (steps.iter().position(|step| step.name == from), if args.all { "out" } else { "" });
    let first = first.with_context(|| format!("the step {from} is part of a run with{all} --all"))?;
    Ok(steps[first..].to_vec())
}

/// A package that gets a dependency changes the lock files of all workspaces that depend on it.
fn lock_files() -> Result<()> {
    for folder in ["exercises", fuzz::FOLDER] {
        let manifest = format!("{folder}/Cargo.toml");
        let call = ["metadata", "--locked", "--format-version", "1", "--manifest-path", &manifest];
        shell::capture(shell::cargo(&call)).with_context(|| format!("`cargo update --workspace` in {folder}/"))?;
    }
    Ok(())
}

/// Every link of a doc comment leads somewhere. Not for private items: those of a kernel may name each other freely.
fn docs() -> Result<()> {
    let mut docs = shell::cargo(&["doc", "--workspace", "--no-deps"]);
    docs.env("RUSTDOCFLAGS", "-D warnings");
    shell::run(docs)
}

/// What became of a step.
#[derive(Debug, PartialEq, Eq)]
enum Outcome {
    Passed,
    Failed(String),
    Skipped(String),
}

struct Done {
    name: &'static str,
    outcome: Outcome,
    time: Duration,
    /// Processor time of the programs that it ran, where that can be told.
    processor: Option<Duration>,
}

/// The processor time of all programs that this one has waited for.
fn processor_time() -> Option<Duration> {
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    // The name, in parentheses, may hold spaces. Behind it, fields 13 and 14 are the children's times, in 1/100 s.
    let fields: Vec<_> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks = |i: usize| fields.get(i)?.parse::<u64>().ok();
    Some(Duration::from_millis(10 * (ticks(13)? + ticks(14)?)))
}

/// Runs them all. The table of times comes at the end, but before the tests.
fn run_all(steps: &[Step], all: bool, may_skip: &[String]) -> Vec<Done> {
    let mut done = vec![];
    for group in steps.chunk_by(|a, b| a.apart && b.apart) {
        if group[0].name == TESTS && !done.is_empty() {
            print!("\n{}", summary(&done));
        }
        let numbered = |i: usize| format!("{} of {}", done.len() + i + 1, steps.len());
        let numbered: Vec<_> = (0..group.len()).map(numbered).collect();
        let left = Mutex::new(group.iter().zip(&numbered).enumerate());
        let take = || left.lock().expect("no step panics").next();
        let lane = || {
            let run = |(i, (step, number)): (usize, (&Step, &String))| {
                (i, run_one(step, number, group.len() > 1, all, may_skip))
            };
            iter::from_fn(take).map(run).collect::<Vec<_>>()
        };
        let mut of_group = thread::scope(|scope| {
            let other = (group.len() > 1).then(|| scope.spawn(lane));
            let mut of_group = lane();
            of_group.extend(other.into_iter().flat_map(|other| other.join().expect("no step panics")));
            of_group
        });
        of_group.sort_by_key(|(i, _)| *i);
        done.extend(of_group.into_iter().map(|(_, done)| done));
    }
    if done.last().is_some_and(|last| last.name != TESTS || last.outcome != Outcome::Passed) {
        print!("\n{}", summary(&done));
    }
    done
}

/// Runs a step; next to others, as a program of its own.
fn run_one(step: &Step, number: &str, next_to_others: bool, all: bool, may_skip: &[String]) -> Done {
    println!("\n== {} ({number}): {}", step.name, step.what);
    let (started, before) = (Instant::now(), processor_time());
    let body = || if next_to_others { in_its_own_program(step.name, all) } else { (step.run)(all) };
    let outcome = match (step.missing)() {
        Some(why) if all && !may_skip.iter().any(|name| name == step.name) => {
            Outcome::Failed(format!("a tool is missing, and --may-skip does not name the step: {why}"))
        }
        Some(why) => Outcome::Skipped(why),
        None => body().map_or_else(|error| Outcome::Failed(format!("{error:#}")), |()| Outcome::Passed),
    };
    match &outcome {
        Outcome::Passed if step.name == TESTS => {}
        Outcome::Passed => println!("== {}: ok, {:.1} s", step.name, started.elapsed().as_secs_f64()),
        Outcome::Failed(why) => println!("== {}: failed: {why}", step.name),
        Outcome::Skipped(why) => println!("== {}: skipped: {why}", step.name),
    }
    // Next to others, theirs would be counted too.
    let processor = processor_time().zip(before).filter(|_| !next_to_others).map(|(after, before)| after - before);
    Done { name: step.name, outcome, time: started.elapsed(), processor }
}

/// Runs the body of a step by this program again, whose lines are printed as they come, behind the step's name.
fn in_its_own_program(name: &str, all: bool) -> Result<()> {
    let this = env::current_exe().context("this program has no path")?;
    let mut command = shell::command(this, &["test", "--body", name]);
    command.args(all.then_some("--all")).args(program::is_built().then_some("--built"));
    with_its_lines(name, command)
}

/// Runs a program whose lines are printed behind a name. The error is what it says from its last `error: ` on.
fn with_its_lines(name: &str, mut command: Command) -> Result<()> {
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut child = child.with_context(|| format!("the program of {name} did not start"))?;
    let (out, err) = (child.stdout.take().expect("it is a pipe"), child.stderr.take().expect("it is a pipe"));
    let print = |line: &str| println!("{name}: {line}");
    let said = thread::scope(|scope| {
        scope.spawn(|| lines(out).for_each(|line| print(&line)));
        lines(err).inspect(|line| print(line)).fold(String::new(), |said, line| match line.strip_prefix("error: ") {
            Some(error) => error.into(),
            None => said + "\n" + &line,
        })
    });
    ensure!(child.wait()?.success(), "{}", said.trim_end());
    Ok(())
}

/// The lines of a stream, until it ends.
fn lines(stream: impl Read) -> impl Iterator<Item = String> {
    BufReader::new(stream).split(b'\n').map_while(Result::ok).map(|line| String::from_utf8_lossy(&line).into_owned())
}

/// The time of each step, the processor time of what it ran, and the reason for each that was skipped.
fn summary(done: &[Done]) -> String {
    let row = |done: &Done| {
        let outcome = match done.outcome {
            Outcome::Passed => "ok",
            Outcome::Failed(_) => "FAILED",
            Outcome::Skipped(_) => "skipped",
        };
        let seconds = |time: Duration| format!("{:.1}", time.as_secs_f64());
        let processor = done.processor.map_or_else(String::new, seconds);
        vec![done.name.to_string(), outcome.to_string(), seconds(done.time), processor]
    };
    let rows = done.iter().map(row).collect::<Vec<_>>();
    let mut text = table::render(&["step", "", "seconds", "processor"], &rows, 2);
    for done in done {
        if let Outcome::Skipped(why) = &done.outcome {
            text += &format!("NOT PROVED HERE: {}: {why}\n", done.name);
        }
    }
    text
}

/// All failures as one error.
fn verdict(done: &[Done]) -> Result<()> {
    let failure = |done: &Done| match &done.outcome {
        Outcome::Failed(why) => Some(format!("{}: {}", done.name, why.replace('\n', "\n    "))),
        _ => None,
    };
    let failures: Vec<_> = done.iter().filter_map(failure).collect();
    match &failures[..] {
        [] => Ok(()),
        _ => bail!("{} of {} steps failed:\n  {}", failures.len(), done.len(), failures.join("\n  ")),
    }
}

/// The kernels type-check on top of cuda_std. That they do so without it, the lints have shown.
fn rust_cuda() -> Result<()> {
    let members = families::members()?;
    let kernels = members.iter().filter(|member| member.name == "simt" || member.has_kernels());
    let packages = kernels.flat_map(|member| ["--package", &member.name]).collect::<Vec<_>>();
    shell::run(shell::cargo(&[&["check", "--features", "rust-cuda"], &packages[..]].concat()))
}

/// The PTX of this run and no other: PTX of an earlier build would be compared with today's rungs.
fn build_fresh_ptx(all: bool) -> Result<()> {
    match fs::remove_dir_all(project::ptx()) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            return Err(error).with_context(|| format!("{} cannot be removed", project::ptx().display()));
        }
        _ => {}
    }
    build_ptx::run(&if all { build_ptx::Args::default() } else { build_ptx::Args::of(&[SHORT_ARCH]) })
}

/// The trials of the touched families, on the simulator and under checks.
fn checks() -> Result<()> {
    let trials = test_rung::trials(runner(&["--list"]))?;
    let families = test_rung::families(&trials);
    let touched = match families::changed() {
        Some(paths) => families::touched(&paths, &families::members()?, &families),
        None => families.clone(),
    };
    if touched.is_empty() {
        println!("no family is touched by what differs from main");
        return Ok(());
    }
    println!("touched: {}", touched.iter().cloned().collect::<Vec<_>>().join(", "));
    let mut command = runner(&without(&families.difference(&touched).cloned().collect()));
    command.env(test_rung::SCHEDULES, SHORT_SCHEDULES);
    shell::run(command)
}

/// The test runner's arguments that leave out the trials of these families on the simulator, but for those on a GPU.
fn without(families: &BTreeSet<String>) -> Vec<String> {
    let of = |family: &String| ["simulator", "checked"].map(|engine| format!("{engine}::{family}::"));
    families.iter().flat_map(of).flat_map(|trials| ["--skip".to_string(), trials]).collect()
}

/// A program of tests, as cargo would run it. Which packages a cargo command names decides on the features of what they
/// depend on, so a command for some packages alone would compile much of the workspace again.
#[derive(clap::Args)]
pub struct Program {
    /// The packages' names, with commas between
    packages: String,
    /// The program and its arguments
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, required = true)]
    command: Vec<OsString>,
}

impl Program {
    /// Runs it, or says that it is skipped. Cargo tells which package it is of.
    pub fn run(&self) -> Result<()> {
        match env::var("CARGO_PKG_NAME") {
            Ok(package) if !self.packages.split(',').any(|name| name == package) => {
                println!("skipped: {package} does not depend on what differs from main");
                Ok(())
            }
            _ => {
                let (program, arguments) = self.command.split_first().context("there is no program")?;
                let status = Command::new(program).args(arguments).status();
                let status = status.with_context(|| format!("{} did not start", program.display()))?;
                // As cargo would see it without this program between.
                std::process::exit(status.code().unwrap_or(1));
            }
        }
    }

    /// The option by which cargo has test programs of these packages alone run by this program.
    fn option(packages: &BTreeSet<String>) -> Result<String> {
        let this = env::current_exe().context("this program has no path")?;
        let packages = packages.iter().map(String::as_str).collect::<Vec<_>>().join(",");
        Ok(format!("target.'cfg(all())'.runner=[{this:?}, \"run-test\", {packages:?}]"))
    }
}

/// All tests, with a browser for those that need one. In a short run those of packages that depend on a change, and the
/// trials of rungs are left to the step before.
fn run_tests(all: bool) -> Result<()> {
    let mut tests = all_tests();
    if !all {
        let packages = match families::changed() {
            Some(paths) => families::tested(&paths, &families::members()?),
            None => None,
        };
        if let Some(packages) = packages {
            tests.args(["--config", &Program::option(&packages)?]);
        }
        tests.arg("--").args(without(&test_rung::families(&test_rung::trials(runner(&["--list"]))?)));
    }
    // Only a run of all installs one.
    if let Some(browser) = if all { browser::find_or_install().ok() } else { browser::find() } {
        tests.env("RUNGS_CHROMIUM", browser);
    }
    shell::run(tests)
}

/// With the same PTX as all other tests: without, cargo would compile the library again, here and once more for them.
fn runner<S: AsRef<str>>(args: &[S]) -> Command {
    program::with_ptx(test_rung::runner(args))
}

fn all_tests() -> Command {
    let mut tests = program::with_ptx(shell::cargo(&["test", "--workspace", "--no-fail-fast"]));
    // Set by a person, it would prove less.
    tests.env_remove(test_rung::SCHEDULES);
    tests
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::{Path, PathBuf};

    fn named(args: Args) -> Vec<&'static str> {
        select(&args).unwrap().iter().map(|step| step.name).collect()
    }

    #[test]
    fn a_run_of_all_has_every_step_but_what_the_tests_do_anyway() {
        let all = named(Args { all: true, ..Args::default() });
        let lacking: Vec<_> = STEPS.iter().map(|step| step.name).filter(|name| !all.contains(name)).collect();
        assert_eq!(lacking, ["checks"]);
        assert_eq!(all.last(), Some(&TESTS));
        let short = named(Args::default());
        let want = ["setup", "format", "lints", "build-ptx", "build", "check-ptx", "docs", "checks", "tests"];
        assert_eq!(short, want);
    }

    #[test]
    fn named_steps_run_in_their_order_whatever_the_run() {
        let only = |names: &[&str]| names.iter().map(|name| name.to_string()).collect();
        assert_eq!(named(Args { only: only(&["fuzz", "format"]), ..Args::default() }), ["format", "fuzz"]);
        assert_eq!(named(Args { only: only(&["checks"]), all: true, ..Args::default() }), ["checks"]);
        assert_eq!(
            named(Args { from: Some("check-ptx".into()), ..Args::default() }),
            ["check-ptx", "docs", "checks", "tests"]
        );
        assert_eq!(
            named(Args { from: Some("fuzz".into()), all: true, ..Args::default() }),
            ["fuzz", "mutants", "tests"]
        );
    }

    #[test]
    fn a_step_that_is_not_in_the_run_is_refused() {
        for (args, says) in [
            (Args { only: vec!["fmt".into()], ..Args::default() }, "there is no step fmt; there are setup, format"),
            (Args { from: Some("book".into()), ..Args::default() }, "run with --all"),
            (Args { from: Some("checks".into()), all: true, ..Args::default() }, "run without --all"),
            (Args { may_skip: vec!["gpu".into()], all: true, ..Args::default() }, "there is no step gpu"),
        ] {
            let why = select(&args).map(drop).unwrap_err().to_string();
            assert!(why.contains(says), "{why}");
        }
    }

    const FAKE: [Step; 4] = [
        step("one", Part::Always, "", |_| bail!("first\nsecond")),
        step("two", Part::Always, "", |_| Ok(())),
        step("three", Part::Always, "", |_| Ok(())).unless(|| Some("no tool".into())),
        step("four", Part::Always, "", |all| if all { bail!("all") } else { Ok(()) }),
    ];

    #[test]
    fn a_failed_step_stops_no_other_and_all_failures_are_listed() {
        let done = run_all(&FAKE, false, &[]);
        let outcomes: Vec<_> = done.iter().map(|done| &done.outcome).collect();
        let want = [
            &Outcome::Failed("first\nsecond".into()),
            &Outcome::Passed,
            &Outcome::Skipped("no tool".into()),
            &Outcome::Passed,
        ];
        assert_eq!(outcomes, want);
        assert_eq!(verdict(&done).unwrap_err().to_string(), "1 of 4 steps failed:\n  one: first\n    second");
        verdict(&done[1..]).unwrap();
        let summary = summary(&done);
        assert!(summary.contains("\none    FAILED "), "{summary}");
        assert!(summary.ends_with("\nNOT PROVED HERE: three: no tool\n"), "{summary}");
    }

    #[test]
    fn a_program_of_its_own_fails_with_its_last_error() {
        let says = |text: &str| with_its_lines("fake", shell::command("sh", &["-c", text]));
        says("echo error: nothing >&2").unwrap();
        let error = says("echo error: one >&2; echo out; printf 'error: two\n  three\n\n' >&2; exit 1").unwrap_err();
        assert_eq!(error.to_string(), "two\n  three");
    }

    #[test]
    fn what_runs_next_to_others_is_in_order_and_its_failures_are_told() {
        // This program has no such subcommand, so each fails by itself.
        let steps = ["one", "two", "three"].map(|name| step(name, Part::Always, "", |_| Ok(())).apart());
        let done = run_all(&steps, false, &[]);
        assert_eq!(done.iter().map(|done| done.name).collect::<Vec<_>>(), ["one", "two", "three"]);
        assert!(done.iter().all(|done| matches!(done.outcome, Outcome::Failed(_))));
        // One such step alone needs no program of its own.
        assert_eq!(run_all(&steps[..1], false, &[])[0].outcome, Outcome::Passed);
    }

    #[test]
    fn a_missing_tool_fails_a_run_of_all_unless_the_step_may_be_skipped() {
        let why = verdict(&run_all(&FAKE, true, &[])).unwrap_err().to_string();
        assert!(why.starts_with("3 of 4 steps failed:") && why.contains("\n  three: a tool is missing"), "{why}");
        let done = run_all(&FAKE, true, &["three".into()]);
        assert_eq!(done[2].outcome, Outcome::Skipped("no tool".into()));
        assert!(verdict(&done).unwrap_err().to_string().ends_with("\n  four: all"));
    }

    #[test]
    fn trials_on_a_gpu_are_left_out_by_no_run() {
        let families = ["odd-even".to_string()].into();
        assert_eq!(without(&families), ["--skip", "simulator::odd-even::", "--skip", "checked::odd-even::"]);
    }

    #[test]
    fn a_program_of_tests_is_told_from_the_packages_and_keeps_its_arguments() {
        #[derive(clap::Parser)]
        struct Cli {
            #[command(flatten)]
            program: Program,
        }
        let packages = ["rungs-reduce", "xtask"].map(String::from).into();
        let option = Program::option(&packages).unwrap();
        let runner = option.strip_prefix("target.'cfg(all())'.runner=").unwrap();
        let runner: Vec<String> = serde_json::from_str(runner).unwrap();
        assert_eq!(runner[1..], ["run-test", "rungs-reduce,xtask"]);
        let call = [&*runner[0], &*runner[2], "deps/sort-1", "--skip", "a::b"];
        let Cli { program } = clap::Parser::parse_from(call);
        assert_eq!(
            (&*program.packages, program.command.join(" ".as_ref())),
            (&*runner[2], "deps/sort-1 --skip a::b".into())
        );
    }

    /// Commands that differ in this would compile the library again for each other.
    #[test]
    fn all_commands_build_with_the_same_ptx() {
        let ptx = |command: &Command| -> Vec<_> {
            let all = command.get_envs().map(|(name, value)| (name.to_owned(), value.map(ToOwned::to_owned)));
            all.filter(|(name, _)| name == rungs_ptx::ARCHES_VARIABLE).collect()
        };
        assert_eq!(ptx(&runner(&["--list"])), ptx(&all_tests()));
        assert_eq!(ptx(&all_tests()).len(), 1);
    }

    /// What a person set would lower the number of schedules in a run of all.
    #[test]
    fn the_tests_check_under_all_schedules() {
        let tests = all_tests();
        assert!(tests.get_envs().any(|(name, value)| name == test_rung::SCHEDULES && value.is_none()));
    }

    /// The files of sources below a folder.
    fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                sources(&path, found);
            } else if path.extension().is_some_and(|ending| ending == "rs") {
                found.push(path);
            }
        }
    }

    /// Where a package's sources hold no test, its manifest says so, and cargo compiles and links it once less. A test
    /// that is written there later would be run by nobody. In a package with a library and a program the program alone
    /// may say it: it is one file then.
    #[test]
    fn what_is_compiled_for_no_tests_has_none() {
        let (mut untested, mut wrong) = (0, vec![]);
        for member in families::members().unwrap() {
            let folder = project::root().join(member.folder());
            let manifest = fs::read_to_string(folder.join("Cargo.toml")).unwrap();
            for table in manifest.split("\n[").filter(|table| table.contains("\ntest = false")) {
                let mut files = vec![];
                match table.split(']').next() {
                    Some("lib") => sources(&folder.join("src"), &mut files),
                    Some("[bin") => files.push(folder.join("src/main.rs")),
                    _ => continue,
                }
                assert!(!files.is_empty(), "{}", member.name);
                untested += 1;
                wrong.extend(files.into_iter().filter(|path| {
                    let text = fs::read_to_string(path).unwrap();
                    text.contains(concat!("#[", "test]")) || text.contains(concat!("cfg(", "test"))
                }));
            }
        }
        assert!(wrong.is_empty(), "these tests are not run, as `test = false` in the manifest says: {wrong:?}");
        assert!(untested > 20, "{untested}");
    }
}
