//! `miri`: the unsafe code below the simulator, and the buffers on its memory, under Miri.
//!
//! Miri interprets Rust and finds undefined behaviour: accesses out of bounds or after the memory was freed, misaligned
//! references, broken rules of borrowing, data races. It cannot switch stacks, so it runs no kernel; what lies below
//! kernels, memory and parameters, has tests without one. Miri needs a nightly compiler and takes minutes, so it is no
//! step of `test`.

use crate::{project, shell};
use anyhow::{Context, Result, bail};

/// The options of `miri`.
#[derive(clap::Args)]
pub struct Args {}

/// What is run: Miri's flags, and the tests.
const RUNS: &[(&str, &[&str])] = &[
    // Its emulation of weak memory stops at a word that is written in one size and read in another.
    ("-Zmiri-disable-weak-memory-emulation", &["--package", "simt", "--lib", "--test", "parameters"]),
    // Kernels' arguments hold addresses as numbers; the engine looks at the machine it is on.
    ("-Zmiri-permissive-provenance -Zmiri-disable-isolation", &["--package", "rungs", "--test", "buffer"]),
];

/// The way to a nightly that has what is needed.
const INSTALL: &str = "rustup toolchain install nightly --component miri --component rust-src";

/// Runs the tests, or says why they cannot run here: that is no failure.
pub fn run(_: &Args) -> Result<()> {
    let toolchain = match toolchain() {
        Ok(toolchain) => toolchain,
        Err(why) => {
            println!("miri: skipped: {why:#}");
            return Ok(());
        }
    };
    println!("miri of {toolchain}");
    for (flags, tests) in RUNS {
        let mut miri = shell::command("rustup", &["run", &toolchain, "cargo", "miri", "test"]);
        miri.args(*tests).arg("--target-dir").arg(project::target().join("miri")).env("MIRIFLAGS", flags);
        shell::reuse_ptx(&mut miri);
        shell::run(miri)?;
    }
    Ok(())
}

/// The first nightly of rustup's that has Miri.
fn toolchain() -> Result<String> {
    let mut list = shell::command("rustup", &["toolchain", "list"]);
    let output = list.output().context("rustup does not run here")?;
    let text = String::from_utf8_lossy(&output.stdout);
    let all = nightlies(&text);
    let has_miri =
        |name: &&str| shell::succeeds(shell::command("rustup", &["run", name, "cargo", "miri", "--version"]));
    match all.iter().copied().find(has_miri) {
        Some(name) => Ok(name.into()),
        None if all.is_empty() => bail!("rustup has no nightly; {INSTALL}"),
        None => bail!("{} has no miri; {INSTALL}", all.join(", ")),
    }
}

/// The nightly toolchains of `rustup toolchain list`.
fn nightlies(list: &str) -> Vec<&str> {
    let names = list.lines().filter_map(|line| line.split_whitespace().next());
    names.filter(|name| name.starts_with("nightly")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nightlies_are_told_from_other_toolchains() {
        let list = "stable-x86_64-unknown-linux-gnu (default)\nnightly-x86_64-unknown-linux-gnu\n\
                    nightly-2026-04-02-x86_64-unknown-linux-gnu\n1.95.0-x86_64-unknown-linux-gnu (active)\n";
        let want = ["nightly-x86_64-unknown-linux-gnu", "nightly-2026-04-02-x86_64-unknown-linux-gnu"];
        assert_eq!(nightlies(list), want);
        assert!(nightlies("no installed toolchains\n").is_empty());
    }

    /// The tests that it names are there.
    #[test]
    fn the_tests_are_there() {
        for (_, tests) in RUNS {
            let folder = if tests.contains(&"simt") { "simt" } else { "host" };
            let name = tests.last().expect("a test is named");
            assert!(project::root().join(folder).join("tests").join(name).with_extension("rs").is_file(), "{name}");
        }
    }
}
