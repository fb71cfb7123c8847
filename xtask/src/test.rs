//! `test`: everything that must pass, in the order in which it is cheapest to fail.

use crate::{book, browser, build_ptx, check_ptx, exercises, fuzz, own_kernel, project, setup, shell, test_rung};
use anyhow::{Context, Result};
use std::fs;
use std::io::ErrorKind;
use std::time::Instant;

/// The options of `test`.
#[derive(clap::Args)]
pub struct Args {
    /// Only the checks of these rungs, on the simulator and on the GPU if there is one: reduce/shuffle, or reduce for
    /// the whole family. A name without a rung is an error
    #[arg(value_name = "FAMILY/RUNG")]
    rungs: Vec<String>,
}

/// A part of all that must pass.
struct Step {
    name: &'static str,
    run: fn() -> Result<()>,
    /// Why it cannot run on this machine, if it cannot: it is skipped then, and the reason is printed.
    missing: fn() -> Option<String>,
}

const fn step(name: &'static str, run: fn() -> Result<()>) -> Step {
    Step { name, run, missing: || None }
}

impl Step {
    const fn unless(self, missing: fn() -> Option<String>) -> Self {
        Self { missing, ..self }
    }
}

const STEPS: &[Step] = &[
    step("setup", || setup::run(&setup::Args::default())),
    step("format", || shell::run(shell::cargo(&["fmt", "--all", "--check"]))),
    step("lints", || shell::run(shell::cargo(&["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]))),
    step("kernels on rust-cuda", || {
        shell::run(shell::cargo(&[
            "check",
            "--package",
            "simt",
            "--package",
            "rungs-kernels",
            "--features",
            "rust-cuda",
        ]))
    }),
    step("build-ptx", build_fresh_ptx),
    step("check-ptx", || check_ptx::run(&check_ptx::Args::default())),
    // The tests of the program run it.
    step("program", || shell::run(shell::cargo(&["build", "--package", "rungs"]))),
    step("book", book::check),
    step("own kernel", own_kernel::run),
    step("exercises", exercises::test),
    step("packages", packages),
    step("fuzz targets", fuzz::test).unless(fuzz::missing),
    // Last, so that the summary of the test runner is the last that is printed.
    step("tests", run_tests),
];

/// Runs all steps, or the rungs that are named; stops at the first that fails, with its name.
pub fn run(args: &Args) -> Result<()> {
    if !args.rungs.is_empty() {
        return test_rung::run(&args.rungs);
    }
    let last = STEPS.len() - 1;
    for (i, Step { name, run, missing }) in STEPS.iter().enumerate() {
        println!("\n== {name} ({} of {})", i + 1, STEPS.len());
        if let Some(why) = missing() {
            println!("== {name}: skipped: {why}");
            continue;
        }
        let started = Instant::now();
        run().with_context(|| format!("step `{name}` of the test failed"))?;
        if i < last {
            println!("== {name}: ok, {:.1} s", started.elapsed().as_secs_f64());
        }
    }
    Ok(())
}

/// All tests, with a browser for those that need one.
fn run_tests() -> Result<()> {
    let mut tests = shell::cargo(&["test", "--workspace"]);
    if let Some(browser) = browser::find_or_install() {
        tests.env("RUNGS_CHROMIUM", browser);
    }
    shell::run(tests)
}

/// Each package is built from the files that would be published. Offline: all that it needs was needed before.
///
/// In a target folder of its own for each run: cargo unpacks a package of one version once per folder, and would check
/// the files of an earlier run again. Nothing of it is run: it is compiled without optimisation, in half the time.
fn packages() -> Result<()> {
    let folder = project::target().join(format!("packages-{}", std::process::id()));
    let args = ["package", "--workspace", "--quiet", "--offline", "--allow-dirty", "--target-dir"];
    let mut package = shell::cargo(&args);
    package.arg(&folder);
    package.env("CARGO_PROFILE_DEV_OPT_LEVEL", "0").env("CARGO_PROFILE_DEV_DEBUG", "0");
    // Made of files of the exercises, which are a workspace of their own and not published.
    package.args(["--exclude", "rungs-learn-gpu", "--exclude", "rungs-learn-gpu-kernels"]);
    let packaged = shell::run(package);
    fs::remove_dir_all(&folder).ok();
    packaged
}

/// The default PTX and no other: PTX of an earlier build would be compared with today's rungs.
fn build_fresh_ptx() -> Result<()> {
    match fs::remove_dir_all(project::ptx()) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(error).with_context(|| format!("{} cannot be removed", project::ptx().display()))
        }
        _ => build_ptx::run(&build_ptx::Args::default()),
    }
}
