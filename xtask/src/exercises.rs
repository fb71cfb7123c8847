//! `exercises`: cuts each exercise's stub out of its solution, and proves solutions, stubs and wrong answers; and
//! compiles for a GPU all of them, and what a contest begins with.

use crate::ptxas::{Ptxas, Usage};
use crate::{project, shell};
use anyhow::{Context, Result, ensure};
use rungs_learn::{Folder, names};
use rungs_learn_source::{Answer, answers};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{env, fs};

/// Time for all answers to be compiled and judged.
const LIMIT: Duration = Duration::from_secs(900);

/// The options of `exercises`.
#[derive(clap::Args)]
pub struct Args {
    /// Change nothing; fail if a stub or a program differs from what its solution gives
    #[arg(long)]
    check: bool,
    /// As --check, and judge every answer: solutions pass, stubs fail, wrong answers give their findings
    #[arg(long)]
    prove: bool,
}

/// Cuts stubs and programs again, or lists the stale ones.
pub fn run(args: &Args) -> Result<()> {
    if args.prove {
        return test();
    }
    let folder = Folder::above(project::root())?;
    let (made, stale) = stale(&folder)?;
    if args.check {
        let stale: Vec<_> = stale.iter().map(|path| project::short(path)).collect();
        ensure!(stale.is_empty(), "stale: {}; run cargo xtask exercises", stale.join(", "));
        return Ok(());
    }
    for path in stale {
        let done = match made.get(&path) {
            Some(text) => fs::write(&path, text),
            None => fs::remove_file(&path),
        };
        done.with_context(|| path.display().to_string())?;
        println!("{}", project::short(&path));
    }
    Ok(())
}

/// What the solutions give, by file, and the files that differ from it or should not be there.
fn stale(folder: &Folder) -> Result<(BTreeMap<PathBuf, String>, Vec<PathBuf>)> {
    let mut made = BTreeMap::new();
    let [stubs, programs] = ["stubs", "src/bin"].map(|part| folder.path().join(part));
    for exercise in folder.exercises()? {
        let file = format!("{}.rs", exercise.name);
        made.insert(programs.join(&file), program(&exercise.name));
        made.insert(stubs.join(&file), exercise.source.stub);
    }
    let there = [stubs, programs].iter().map(|folder| files(folder)).collect::<Result<Vec<_>>>()?.concat();
    let differs = |path: &&PathBuf| made.get(*path) != fs::read_to_string(path).ok().as_ref();
    let missing = made.keys().filter(|path| !there.contains(path));
    let stale = there.iter().filter(differs).chain(missing).cloned().collect();
    Ok((made, stale))
}

fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    Ok(names(folder)?.iter().map(|name| folder.join(format!("{name}.rs"))).collect())
}

/// The program that judges the reader's answer.
fn program(name: &str) -> String {
    format!(
        "//! Judges the reader's answer. Cut by `cargo xtask exercises`.\n\n\
         #[allow(unused)]\n#[path = \"../../answers/{name}.rs\"]\n#[rustfmt::skip]\nmod answer;\n\
         #[path = \"../../checks/{name}.rs\"]\nmod check;\n\n\
         fn main() -> std::process::ExitCode {{\n    rungs_exercises::main(&check::EXERCISE)\n}}\n"
    )
}

/// The step of `cargo xtask test --all`: nothing is stale, format and lints, and every answer gets its verdict.
pub fn test() -> Result<()> {
    run(&Args { check: true, prove: false })?;
    let folder = Folder::above(project::root())?;
    let cargo = |args: &[&str]| {
        let mut cargo = shell::cargo(args);
        cargo.current_dir(folder.path()).env("CARGO_TARGET_DIR", project::target().join("exercises"));
        cargo
    };
    shell::run(cargo(&["fmt", "--all", "--check"]))?;
    let mut format = shell::command("rustfmt", &["--check", "--edition", "2024", "--config-path"]);
    format.arg(project::root()); // the answers lie in the target folder, which may be anywhere
    format.args(files(&folder.path().join("checks"))?).args(all_answers(&folder)?.iter().map(|answer| &answer.file));
    shell::run(format)?;
    let proof = ["--locked", "--package", "rungs-exercises-proof"];
    shell::run(cargo(&[&["clippy"], &proof[..], &["--all-targets", "--", "-D", "warnings"]].concat()))?;
    shell::run(cargo(&["test", "--locked", "--lib"]))?;
    shell::run_within(LIMIT, cargo(&[&["test"], &proof[..]].concat()))?;
    answers_for_gpu()?;
    contests()
}

/// All answers. The wrong ones, which are kept as changes to the solutions, are written as a whole to
/// target/exercises/wrong.
fn all_answers(folder: &Folder) -> Result<Vec<Answer>> {
    answers(folder.path(), &project::target().join("exercises")).map_err(anyhow::Error::msg)
}

/// The package of all answers' kernels, and the architecture that has all of them.
const ANSWERS: &str = "host/learn/gpu/kernels";
const ARCH: &str = "sm_90a";

/// Compiles all answers to PTX, as one package, and has ptxas assemble it. Answers may spill: the lists of `check-ptx`
/// are for the project's own kernels.
fn answers_for_gpu() -> Result<()> {
    let this = env::current_exe().context("this program has no path")?;
    let out = project::target().join("ptx-answers");
    let mut build = shell::command(&this, &["build-ptx", "--arch", ARCH, "--manifest-path"]);
    build.arg(project::root().join(ANSWERS)).arg("--out").arg(&out).env_remove("RUNGS_LEARN_ANSWER");
    println!("compiling all answers for {ARCH}");
    shell::capture(build)?;
    let kernels = Ptxas::find()?.check(&out.join(ARCH).with_extension("ptx"), ARCH)?;
    let answers = all_answers(&Folder::above(project::root())?)?;
    // Each has a kernel at least.
    let lacking: Vec<_> = answers.iter().filter(|answer| !has_kernel(answer, &kernels)).collect();
    ensure!(lacking.is_empty(), "no kernel in the PTX of {lacking:?}");
    println!("{} kernels of {} answers assembled for {ARCH}", kernels.len(), answers.len());
    Ok(())
}

/// Whether a kernel is an answer's: its name begins with the answer's kind and name.
fn has_kernel(answer: &Answer, kernels: &[Usage]) -> bool {
    let prefix = format!("{}_{}_", answer.kind, answer.name);
    kernels.iter().any(|kernel| kernel.kernel.starts_with(&prefix))
}

/// The package of a contest's kernels, and the files that readers begin with.
const CONTEST: &str = "host/beat/kernels";
const STARTS: &str = "src/starts";

/// Compiles each file that a reader begins with to PTX, as `cargo learn beat` does, and has ptxas assemble it.
fn contests() -> Result<()> {
    let this = env::current_exe().context("this program has no path")?;
    let package = project::root().join(CONTEST);
    for start in files(&package.join(STARTS))?.iter().filter(|file| !file.ends_with("mod.rs")) {
        let name = start.file_stem().context("a file has a name")?;
        let out = project::target().join("ptx-contests").join(name);
        let mut build = shell::command(&this, &["build-ptx", "--arch", "sm_90a", "--manifest-path"]);
        build.arg(&package).arg("--out").arg(&out).env("RUNGS_ANSWER", start);
        shell::run(build)?;
        let mut check = shell::command(&this, &["check-ptx", "--dir"]);
        check.arg(&out);
        shell::run(check)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_stale_and_an_edit_is_noticed() {
        let real = Folder::above(project::root()).unwrap();
        let copy = tempfile::tempdir().unwrap();
        for part in ["solutions", "stubs", "src/bin", "checks"] {
            let to = copy.path().join(part);
            fs::create_dir_all(&to).unwrap();
            for file in files(&real.path().join(part)).unwrap() {
                fs::copy(&file, to.join(file.file_name().unwrap())).unwrap();
            }
        }
        let folder = Folder::above(copy.path()).unwrap();
        assert_eq!(stale(&folder).unwrap().1, <[PathBuf; 0]>::default());
        let [stub, program, extra] =
            ["stubs/01_index.rs", "src/bin/02_guard.rs", "stubs/00_none.rs"].map(|f| copy.path().join(f));
        fs::write(&stub, "// edited").unwrap();
        fs::remove_file(&program).unwrap();
        fs::write(&extra, "").unwrap();
        let mut found = stale(&folder).unwrap().1;
        found.sort();
        let mut want = vec![stub, program, extra];
        want.sort();
        assert_eq!(found, want);
    }
}
