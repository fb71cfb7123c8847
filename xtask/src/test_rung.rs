//! `test FAMILY/RUNG`: the checks of one rung, on every engine. A name without a rung is an error, so that a run
//! without tests never passes.

use crate::shell;
use anyhow::{Result, ensure};
use std::collections::BTreeSet;
use std::process::Command;

/// The number of similar names in the error for a wrong name.
const NEAREST: usize = 3;

/// Runs the trials of all `names`, each `FAMILY/RUNG` or `FAMILY`.
pub fn run(names: &[String]) -> Result<()> {
    let list = shell::capture(runner(&["--list"]))?;
    let trials: Vec<&str> = list.lines().filter_map(|line| line.strip_suffix(": test")).collect();
    let chosen = names.iter().map(|name| chosen(&trials, name)).collect::<Result<Vec<_>>>()?.concat();
    // One run each: the runner takes one exact name.
    chosen
        .into_iter()
        .collect::<BTreeSet<_>>()
        .into_iter()
        .try_for_each(|trial| shell::run(runner(&["--exact", trial])))
}

/// The test program that has trials for each rung, one per engine and one under checks, called `engine::family::rung`.
fn runner(args: &[&str]) -> Command {
    let mut command = shell::cargo(&["test", "--quiet", "--package", "rungs-tests", "--test", "rungs", "--"]);
    command.args(args);
    command
}

/// The trials of a rung, or of all rungs of a family.
fn chosen<'a>(trials: &[&'a str], name: &str) -> Result<Vec<&'a str>> {
    let rung = |trial: &str| trial.split_once("::").map(|(_, rung)| rung.replace("::", "/")).unwrap_or_default();
    let is_it = |rung: &str| rung == name || rung.split_once('/').is_some_and(|(family, _)| family == name);
    let found: Vec<_> = trials.iter().copied().filter(|trial| is_it(&rung(trial))).collect();
    let known: BTreeSet<_> = trials.iter().map(|trial| rung(trial)).collect();
    ensure!(!found.is_empty(), "no rung is called {name}; the nearest are {}", nearest(&known, name).join(", "));
    Ok(found)
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

    const TRIALS: &[&str] = &[
        "simulator::reduce::shuffle",
        "gpu::reduce::shuffle",
        "simulator::reduce::shuffle-twice",
        "gpu::reduce::shuffle-twice",
        "simulator::matmul::shared-tile",
        "gpu::matmul::shared-tile",
    ];

    #[test]
    fn a_rung_has_a_trial_per_engine_and_a_family_those_of_its_rungs() {
        assert_eq!(chosen(TRIALS, "reduce/shuffle").unwrap(), &TRIALS[..2]);
        assert_eq!(chosen(TRIALS, "reduce").unwrap(), &TRIALS[..4]);
    }

    #[test]
    fn a_name_of_no_rung_is_refused_with_the_nearest() {
        for (name, nearest) in [
            ("reduce/shufle", "reduce/shuffle, "),
            ("matmul/shared_tile", "matmul/shared-tile, "),
            ("shared-tile", "matmul/shared-tile, "),
            ("", "the nearest are "),
        ] {
            let why = chosen(TRIALS, name).unwrap_err().to_string();
            assert!(why.contains(nearest), "{why}");
        }
    }
}
