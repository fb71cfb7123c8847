//! `fuzz`: the fuzz targets, for some seconds each on their seeds; a step of `test`.
//!
//! libFuzzer needs coverage of the code below it, which any rustc's LLVM can insert; only the sanitizers need a nightly
//! compiler. So the targets are built here with the flags of `cargo fuzz run --sanitizer none`, and neither nightly nor
//! cargo-fuzz has to be there.

use crate::{project, shell};
use anyhow::{Context, Result, bail, ensure};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, fs};

/// The workspace of the fuzz targets, below this one.
pub const FOLDER: &str = "fuzz";

/// Seconds of a run that nobody asked to be longer.
const SHORT: u32 = 8;

/// The options of `fuzz`.
#[derive(clap::Args)]
pub struct Args {
    /// How long; all targets run at once
    #[arg(long, default_value_t = SHORT, value_parser = clap::value_parser!(u32).range(1..))]
    seconds: u32,
    /// Only these: npy. Without one, all
    #[arg(value_name = "TARGET")]
    targets: Vec<String>,
}

/// What makes rustc insert what libFuzzer reads: which edges of the control flow were taken, and what was compared.
const COVERAGE: &str = "--cfg fuzzing -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
                        -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
                        -Cllvm-args=-sanitizer-coverage-pc-table -Cllvm-args=-sanitizer-coverage-trace-compares";

/// libFuzzer's arguments. An input that takes longer than 10 s, or for which the reader takes 2 GiB, fails.
const LIMITS: &[&str] = &["-rss_limit_mb=2048", "-timeout=10", "-print_final_stats=1"];

/// Why the targets cannot be built here, if they cannot.
pub fn missing() -> Option<String> {
    let compiler = env::var_os("CXX").unwrap_or_else(|| "c++".into());
    let there = shell::succeeds(shell::command(&compiler, &["--version"]));
    (!there).then(|| format!("libFuzzer is C++, and there is no compiler {}", Path::new(&compiler).display()))
}

/// The step of `test`.
pub fn test() -> Result<()> {
    run(&Args { seconds: SHORT, targets: vec![] })
}

/// Builds the targets and runs each on its seeds, and on what earlier runs of this folder found.
pub fn run(args: &Args) -> Result<()> {
    ensure!(missing().is_none(), "{}", missing().unwrap_or_default());
    let all = targets()?;
    if let Some(unknown) = args.targets.iter().find(|name| !all.contains(name)) {
        bail!("there is no fuzz target {unknown}; there are {}", all.join(", "));
    }
    let manifest = project::root().join(FOLDER).join("Cargo.toml");
    let manifest = manifest.to_str().context("the path of the workspace is not text")?;
    shell::run(shell::cargo(&["fmt", "--all", "--check", "--manifest-path", manifest]))?;
    let programs = build(manifest)?;
    let named = |name: &&String| args.targets.is_empty() || args.targets.contains(name);
    let running: Vec<_> = all.iter().filter(named).map(|name| start(&programs, name, args.seconds)).collect();
    // All are waited for before one can fail the step, so that none goes on behind it.
    let outcomes: Vec<_> = running.into_iter().map(|started| started.and_then(Running::done)).collect();
    outcomes.into_iter().try_for_each(|outcome| outcome.map(|line| println!("{line}")))
}

/// Compiles the targets, into the folder that cargo has for a named target; returns the folder of the programs.
fn build(manifest: &str) -> Result<PathBuf> {
    let host = host()?;
    let mut build = shell::cargo(&["build", "--locked", "--bins", "--manifest-path", manifest]);
    // With the host named, build scripts and macros are not instrumented, and those of earlier steps serve again.
    build.args(["--target", &host, "--target-dir"]).arg(project::target());
    build.env("RUSTFLAGS", COVERAGE).env_remove("CARGO_ENCODED_RUSTFLAGS");
    shell::reuse_ptx(&mut build);
    shell::run(build)?;
    Ok(project::target().join(host).join("debug"))
}

/// The name of this machine's target.
fn host() -> Result<String> {
    let about = shell::capture(shell::command(env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()), &["-vV"]))?;
    let host = about.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(String::from).context("rustc does not tell the name of this machine's target")
}

/// The names of all targets: each has a folder of seeds.
fn targets() -> Result<Vec<String>> {
    let seeds = project::root().join(FOLDER).join("seeds");
    let entries = fs::read_dir(&seeds).with_context(|| seeds.display().to_string())?;
    let mut names = entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into())).collect::<Result<Vec<_>>>()?;
    names.sort();
    Ok(names)
}

/// A target that runs.
struct Running {
    name: String,
    child: std::process::Child,
    /// What it prints.
    log: PathBuf,
}

fn start(programs: &Path, name: &str, seconds: u32) -> Result<Running> {
    let folder = project::target().join(FOLDER);
    let corpus = folder.join("corpus").join(name);
    fs::create_dir_all(&corpus).with_context(|| corpus.display().to_string())?;
    let log = folder.join(format!("{name}.log"));
    let output = fs::File::create(&log).with_context(|| log.display().to_string())?;
    let mut command = Command::new(programs.join(name));
    command.arg(&corpus).arg(project::root().join(FOLDER).join("seeds").join(name));
    command.args(LIMITS).arg(format!("-max_total_time={seconds}"));
    command.arg(format!("-artifact_prefix={}/{name}-", folder.display()));
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(output);
    let child = command.spawn().with_context(|| format!("the fuzz target {name} did not start"))?;
    Ok(Running { name: name.into(), child, log })
}

impl Running {
    /// Waits for its end: what it did in a line, or an error that shows what it printed.
    fn done(mut self) -> Result<String> {
        let status = self.child.wait()?;
        let printed = fs::read(&self.log).with_context(|| self.log.display().to_string())?;
        let printed = String::from_utf8_lossy(&printed);
        ensure!(status.success(), "the fuzz target {} failed ({status}):\n{printed}", self.name);
        let done =
            summary(&printed).with_context(|| format!("what the fuzz target {} printed:\n{printed}", self.name))?;
        Ok(format!("{:<8} {done}", self.name))
    }
}

/// Inputs and coverage, from what libFuzzer prints.
fn summary(printed: &str) -> Result<String> {
    let inputs = printed.lines().find_map(|line| line.strip_prefix("stat::number_of_executed_units:"));
    let inputs = inputs.context("does not say how many inputs it ran")?.trim();
    let word = |line: &str| Some(line.split_once(" cov: ")?.1.split_whitespace().next()?.to_string());
    let covered = printed.lines().rev().find_map(word).context("does not say what it covered")?;
    Ok(format!("{inputs} inputs without a failure, {covered} edges covered"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_target_of_the_workspace_is_run() {
        let manifest = fs::read_to_string(project::root().join(FOLDER).join("Cargo.toml")).unwrap();
        let mut programs: Vec<_> = manifest.split("[[bin]]").skip(1).collect();
        programs.sort();
        let names: Vec<_> = programs.iter().map(|text| text.split('"').nth(1).unwrap()).collect();
        assert_eq!(names, targets().unwrap());
        assert!(names.len() > 3, "{names:?}");
    }

    #[test]
    fn inputs_and_coverage_are_read_from_the_output() {
        let printed = "INFO: Seed: 7\n#20\tINITED cov: 1801 ft: 2808 corp: 19/2705b exec/s: 0 rss: 29Mb\n\
                       #99\tDONE   cov: 1907 ft: 3001 corp: 90/9b exec/s: 12 rss: 40Mb\nDone 99 runs in 5 second(s)\n\
                       stat::number_of_executed_units: 99\n";
        assert_eq!(summary(printed).unwrap(), "99 inputs without a failure, 1907 edges covered");
        assert!(summary("stat::number_of_executed_units: 99\n").unwrap_err().to_string().contains("covered"));
        assert!(summary("").unwrap_err().to_string().contains("how many"));
    }
}
