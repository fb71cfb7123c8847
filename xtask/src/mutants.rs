//! The step of `test` that asks the tests of `rungs-ptx` whether they notice changes of its code: cargo-mutants, where
//! it is installed, makes a sample of them, another one each day. That package decides which PTX a program carries.

use crate::{project, shell};
use anyhow::Result;
use std::time::{SystemTime, UNIX_EPOCH};

/// Days after which every change has been made.
const DAYS: u64 = 32;

/// Why the step cannot run, if it cannot.
pub fn missing() -> Option<String> {
    let there = shell::succeeds(shell::cargo(&["mutants", "--version"]));
    (!there).then(|| "no cargo-mutants; `cargo install cargo-mutants` installs it".into())
}

/// The step. `.cargo/mutants.toml` names the changes that no test can notice; `--shard` in the command line that is
/// printed after a failure repeats the sample.
pub fn check() -> Result<()> {
    let day = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs() / (24 * 60 * 60);
    let shard = format!("{}/{DAYS}", day % DAYS);
    let mut mutants = shell::cargo(&["mutants", "--package", "rungs-ptx", "--timeout", "60"]);
    mutants.args(["--shard", &shard, "--sharding", "round-robin"]);
    mutants.arg("--output").arg(project::target()).args(["--", "--lib", "--test", "stand_in"]);
    shell::run(mutants)
}
