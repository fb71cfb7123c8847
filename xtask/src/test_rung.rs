//! `test FAMILY/RUNG`: the tests of one rung, the quickest first. A name without a rung is an error, so that a run
//! without tests never passes.

use crate::{families, shell};
use anyhow::{Result, ensure};
use std::collections::BTreeSet;
use std::process::Command;

/// The number of similar names in the error for a wrong name.
const NEAREST: usize = 3;

/// The variable that lowers the number of schedules of the trials under checks.
pub const SCHEDULES: &str = "RUNGS_SCHEDULES";

/// Runs the tests of all `names`, each `FAMILY/RUNG` or `FAMILY`: those of the family's package, which take seconds,
/// and the trials of the rung on every engine and under checks, for which all families and the library are compiled.
pub fn run(names: &[String]) -> Result<()> {
    let members = families::members()?;
    let families: BTreeSet<_> = names.iter().map(|name| name.split('/').next().unwrap_or_default()).collect();
    for member in members.iter().filter(|m| m.family().is_some_and(|family| families.contains(&*family))) {
        shell::run_shown(shell::cargo(&["test", "--package", &member.name]))?;
    }
    let trials = trials(runner(&["--list"]))?;
    let chosen = names.iter().map(|name| chosen(&trials, name)).collect::<Result<Vec<_>>>()?;
    chosen.iter().try_for_each(|arguments| shell::run_shown(runner(arguments)))
}

/// The test program that has trials for each rung, one per engine and one under checks, called `engine::family::rung`.
///
/// Of the whole workspace, and not of its package alone: cargo would choose fewer features of some dependencies then,
/// and compile all that `cargo test --workspace` has compiled again.
pub fn runner<S: AsRef<str>>(args: &[S]) -> Command {
    let mut command = shell::cargo(&["test", "--workspace", "--test", "rungs", "--"]);
    command.args(args.iter().map(AsRef::as_ref));
    command
}

/// The names of all trials, by the runner's list of them.
pub fn trials(list: Command) -> Result<Vec<String>> {
    println!("\n$ {}", shell::text(&list));
    let list = shell::capture(list)?;
    Ok(list.lines().filter_map(|line| line.strip_suffix(": test")).map(str::to_string).collect())
}

/// The families that have trials.
pub fn families(trials: &[String]) -> BTreeSet<String> {
    trials.iter().filter_map(|trial| trial.split("::").nth(1)).map(str::to_string).collect()
}

/// The runner's arguments for the trials of a rung, or of all rungs of a family.
fn chosen(trials: &[String], name: &str) -> Result<Vec<String>> {
    let rung = |trial: &str| trial.split_once("::").map(|(_, rung)| rung.replace("::", "/")).unwrap_or_default();
    let is_it = |rung: &str| rung == name || rung.split_once('/').is_some_and(|(family, _)| family == name);
    let known: BTreeSet<_> = trials.iter().map(|trial| rung(trial)).collect();
    let found = known.iter().any(|rung| is_it(rung));
    ensure!(found, "no rung is called {name}; the nearest are {}", nearest(&known, name).join(", "));
    // The runner takes parts of names.
    let part = |name: &str| format!("::{}{}", name.replace('/', "::"), if name.contains('/') { "" } else { "::" });
    let longer = known.iter().filter(|rung| !is_it(rung) && part(rung).contains(&part(name)));
    Ok([part(name)].into_iter().chain(longer.flat_map(|rung| ["--skip".to_string(), part(rung)])).collect())
}

/// The names that are most like this one, the best first.
fn nearest<'a>(known: &'a BTreeSet<String>, name: &str) -> Vec<&'a str> {
    // If the family is missing or wrong, the rung may still be right.
    let alone = |rung: &str| rung.split_once('/').map_or(0.0, |(_, rung)| strsim::jaro_winkler(rung, name));
    let like = |rung: &str| strsim::jaro_winkler(rung, name).max(alone(rung));
    let mut names: Vec<_> = known.iter().map(String::as_str).collect();
    names.sort_by(|a, b| like(b).total_cmp(&like(a)));
    names.truncate(NEAREST);
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trials() -> Vec<String> {
        let rungs = ["reduce::shuffle", "reduce::shuffle-twice", "reduce::atomic", "matmul::shared-tile"];
        ["simulator", "gpu", "checked"].iter().flat_map(|on| rungs.map(|rung| format!("{on}::{rung}"))).collect()
    }

    /// The trials that the runner runs for a name.
    fn run(name: &str) -> Vec<String> {
        let arguments = chosen(&trials(), name).unwrap();
        let (filter, skipped) = arguments.split_first().unwrap();
        let skips = |trial: &str| skipped.iter().any(|skip| trial.contains(skip));
        trials().into_iter().filter(|trial| trial.contains(filter) && !skips(trial)).collect()
    }

    #[test]
    fn a_rung_has_a_trial_per_engine_and_a_family_those_of_its_rungs() {
        assert_eq!(
            run("reduce/shuffle"),
            ["simulator::reduce::shuffle", "gpu::reduce::shuffle", "checked::reduce::shuffle"]
        );
        assert_eq!(run("reduce/shuffle-twice").len(), 3);
        assert_eq!(run("reduce").len(), 9);
    }

    #[test]
    fn a_name_of_no_rung_is_refused_with_the_nearest() {
        for (name, nearest) in [
            ("reduce/shufle", "reduce/shuffle, "),
            ("matmul/shared_tile", "matmul/shared-tile, "),
            ("shared-tile", "matmul/shared-tile, "),
            ("", "the nearest are "),
        ] {
            let why = chosen(&trials(), name).unwrap_err().to_string();
            assert!(why.contains(nearest), "{why}");
        }
    }
}
