//! All answers that the project knows, by what `cargo learn check` runs on a GPU: with the simulator in the GPU's
//! place, and on a GPU, where trials are reported as ignored if there is none.
//!
//! The simulator's checks are off, so only what stands in memory at the end of a run is judged. A GPU gets no answer
//! that may hang there, or write beyond the guards of a buffer.
//!
//! One trial has a driver that is made for the tests and runs no kernel (tests/tests/driver/driver.c): on it no answer
//! may be called equal. This program starts itself again for that, because a process has one driver for good.

use libtest_mimic::{Arguments, Failed, Trial};
use rungs::engine::DeviceChoice;
use rungs_exercises::{Compared, compare};
use rungs_learn_gpu::{ANSWERS, Answer, OnEngine, PTX};
use std::env::{current_exe, var_os};
use std::path::Path;
use std::process::Command;

/// The driver that runs nothing: its source, from this package's folder, and what it asks for, a file for its notes.
const DRIVER: &str = "../../../tests/tests/driver/driver.c";
const LOG: &str = "RUNGS_TEST_DRIVER_LOG";

const COMPILER: &str = "cc";

/// The simulator's name as an engine.
const SIMULATOR: &str = "simulator";

/// Wrong answers whose output is right under some orders of threads and blocks. The last one was right on an H200 in
/// all runs: there atomics of one instruction come back in the order of the lanes, which nothing promises.
const BY_ORDER: [&str; 4] = ["26_first_sum_alone", "26_flag_before_value", "28_load_and_store", "36_rank_by_atomic"];

/// Wrong answers that write one element behind a buffer. The simulator faults, because it knows the view's length; a
/// GPU writes into the guard.
const INTO_A_GUARD: [&str; 2] = ["01_neighbour", "02_at_most"];

/// Wrong answers that a GPU runs, at least; the others are wrong in a way that a GPU does not show, or hang.
const SHOWN: usize = 40;

/// Stubs that have a right output: the reader makes them cheaper.
const RIGHT_STUBS: [&str; 8] = [
    "07_one_block",
    "08_vector_loads",
    "15_sequential",
    "16_first_add",
    "20_grid_atomic",
    "24_blelloch_padded",
    "30_bank_private",
    "33_register_step",
];

fn main() {
    if var_os(LOG).is_some() {
        return solutions_on_nothing();
    }
    let arguments = Arguments::from_args();
    let why = OnEngine::open(DeviceChoice::Cuda(0)).err().map(|error| error.to_string());
    if let Some(why) = &why {
        eprintln!("tests on a GPU are ignored: {why}");
    }
    let simulator = |name: &str, run: fn(&OnEngine) -> Result<(), Failed>| {
        Trial::test(format!("simulator::{name}"), move || with(DeviceChoice::Simulator, run))
    };
    let gpu = |name: &str, run: fn(&OnEngine) -> Result<(), Failed>| {
        let trial = Trial::test(format!("gpu::{name}"), move || with(DeviceChoice::Cuda(0), run));
        trial.with_ignored_flag(why.is_some())
    };
    let driver = Path::new(env!("CARGO_MANIFEST_DIR")).join(DRIVER);
    let no_driver = PTX.is_empty() || !driver.exists() || Command::new(COMPILER).arg("--version").output().is_err();
    let trials = vec![
        Trial::test("driver::no_kernel_runs", move || no_kernel_runs(&driver)).with_ignored_flag(no_driver),
        simulator("solutions", solutions),
        simulator("wrong_answers", wrong_answers),
        simulator("stubs", stubs),
        gpu("solutions", solutions),
        gpu("wrong_answers", wrong_answers),
        gpu("guards", guards),
    ];
    libtest_mimic::run(&arguments, trials).exit();
}

/// Makes the driver that runs nothing, and has this program compare all solutions on it.
fn no_kernel_runs(driver: &Path) -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let library = folder.path().join("libcuda.so.1");
    let built = Command::new(COMPILER).args(["-shared", "-fPIC", "-o"]).arg(&library).arg(driver).status()?;
    let mut again = Command::new(current_exe()?);
    let output = again.env(LOG, folder.path().join("log")).env("LD_LIBRARY_PATH", folder.path()).output()?;
    let said = String::from_utf8_lossy(&output.stdout);
    let names: Vec<_> = said.lines().collect();
    match built.success() && output.status.success() && names == all("solutions").map(|a| a.name).collect::<Vec<_>>() {
        true => Ok(()),
        false => Err(format!("{said}\n{}", String::from_utf8_lossy(&output.stderr)).into()),
    }
}

/// The second process: prints the solutions whose output is wrong, because nothing computes it.
fn solutions_on_nothing() {
    let on = OnEngine::open(DeviceChoice::Cuda(0)).unwrap_or_else(|error| panic!("{error}"));
    for answer in all("solutions") {
        match compare(answer.exercise, &on) {
            Compared::Wrong { what: "unwritten" | "different", .. } => println!("{}", answer.name),
            other => println!("{}: {other:?}", answer.name),
        }
    }
}

/// A trial on a machine that is opened for it.
fn with(device: DeviceChoice, run: fn(&OnEngine) -> Result<(), Failed>) -> Result<(), Failed> {
    run(&OnEngine::open(device).map_err(|error| error.to_string())?)
}

fn all(kind: &str) -> impl Iterator<Item = &'static Answer> {
    ANSWERS.iter().filter(move |answer| answer.kind == kind)
}

/// Compares answers, prints what a GPU said of each, and fails if it is not what is `wanted` of one.
fn compare_all<'a>(
    on: &OnEngine,
    answers: impl IntoIterator<Item = &'a Answer>,
    wanted: impl Fn(&Answer, &Compared) -> bool,
) -> Result<usize, Failed> {
    let (mut count, mut unwanted) = (0, String::new());
    for answer in answers {
        let compared = compare(answer.exercise, on);
        if on.name() != SIMULATOR {
            println!("{}/{} on {}: {compared:?}", answer.kind, answer.name, on.name());
        }
        count += 1;
        if !wanted(answer, &compared) {
            unwanted += &format!("\n{}/{}: {compared:?}", answer.kind, answer.name);
        }
    }
    if unwanted.is_empty() { Ok(count) } else { Err(unwanted.into()) }
}

/// Solutions are equal. On a GPU that lacks an instruction, one is not run.
fn solutions(on: &OnEngine) -> Result<(), Failed> {
    let count = compare_all(on, all("solutions"), |_, compared| match compared {
        Compared::Equal { runs, launches } => *runs > 0 && *launches > 0,
        Compared::Lacking(_) => on.name() != SIMULATOR,
        Compared::Wrong { .. } => false,
    })?;
    if count == all("stubs").count() && count > 0 { Ok(()) } else { Err(format!("{count} solutions").into()) }
}

/// Wrong answers whose finding is their output give a wrong output, and nothing else.
fn wrong_answers(on: &OnEngine) -> Result<(), Failed> {
    let shows = |answer: &&Answer| {
        matches!(answer.finding(), Some("different" | "unwritten")) && !BY_ORDER.contains(&answer.name)
    };
    let is_shown = |answer: &Answer, compared: &Compared| match compared {
        Compared::Wrong { what, .. } => Some(*what) == answer.finding(),
        _ => false,
    };
    let count = compare_all(on, all("wrong").filter(shows), is_shown)?;
    if count >= SHOWN { Ok(()) } else { Err(format!("{count} wrong answers").into()) }
}

/// A write behind a buffer is seen.
fn guards(on: &OnEngine) -> Result<(), Failed> {
    let answers = all("wrong").filter(|answer| INTO_A_GUARD.contains(&answer.name));
    let count = compare_all(on, answers, |_, compared| matches!(compared, Compared::Wrong { what: "canary", .. }))?;
    if count == INTO_A_GUARD.len() { Ok(()) } else { Err(format!("{count} wrong answers").into()) }
}

/// Stubs fail, unless only a limit fails them.
fn stubs(on: &OnEngine) -> Result<(), Failed> {
    let is_right = |answer: &Answer| RIGHT_STUBS.contains(&answer.name);
    compare_all(on, all("stubs"), |answer, compared| is_right(answer) != matches!(compared, Compared::Wrong { .. }))?;
    Ok(())
}
