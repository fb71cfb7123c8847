//! The steps of `test` for dependencies, by cargo-deny where it is installed: `deny` for licences, sources and crates
//! that are there twice, and `advisories` for known vulnerabilities, whose list comes from a network.

use crate::shell;
use anyhow::Result;
use std::process::Command;

/// Why dependencies cannot be checked, if they cannot.
pub fn missing() -> Option<String> {
    let there = shell::succeeds(shell::cargo(&["deny", "--version"]));
    (!there).then(|| "no cargo-deny; `cargo install cargo-deny` installs it".into())
}

/// Checks them by the rules of deny.toml that need no list of advisories.
pub fn check() -> Result<()> {
    shell::run(shell::cargo(&["deny", "--workspace", "check", "bans", "licenses", "sources"]))
}

/// Why advisories cannot be checked, if they cannot: a list that was fetched before may be out of date.
pub fn no_list() -> Option<String> {
    missing().or_else(|| not_fetched(shell::cargo(&["deny", "fetch", "db"])))
}

/// Why a command does not fetch the list of advisories, if it does not: the last line that it says.
fn not_fetched(mut fetch: Command) -> Option<String> {
    let said = match fetch.output() {
        Ok(output) if output.status.success() => return None,
        Ok(output) => String::from_utf8_lossy(&output.stderr).into_owned(),
        Err(error) => error.to_string(),
    };
    Some(format!("the list of advisories cannot be fetched: {}", said.trim().lines().last().unwrap_or_default()))
}

/// Checks that no dependency has an advisory but those that deny.toml excuses.
pub fn advisories() -> Result<()> {
    shell::run(shell::cargo(&["deny", "--workspace", "check", "advisories"]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn a_list_that_is_out_of_reach_is_told_by_the_last_line() {
        let sh = |script: &str| not_fetched(shell::command("sh", &["-c", script]));
        assert_eq!(sh("echo fetched >&2"), None);
        let why = sh("echo Cloning >&2; echo no such host >&2; echo >&2; exit 1").unwrap();
        assert_eq!(why, "the list of advisories cannot be fetched: no such host");
        let why = not_fetched(shell::command("/no-such-program", &[])).unwrap();
        assert!(why.starts_with("the list of advisories cannot be fetched: No such file"), "{why}");
    }
}
