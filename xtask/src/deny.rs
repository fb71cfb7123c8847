//! The step of `test` for dependencies: advisories, licences, crates that are there twice; by cargo-deny, if it is
//! installed. It asks for the list of advisories, so a machine without a network has none either.

use crate::shell;
use anyhow::Result;

/// Why dependencies cannot be checked, if they cannot.
pub fn missing() -> Option<String> {
    let there = shell::succeeds(shell::cargo(&["deny", "--version"]));
    (!there).then(|| "no cargo-deny; `cargo install cargo-deny` installs it".into())
}

/// Checks them by the rules of deny.toml.
pub fn check() -> Result<()> {
    shell::run(shell::cargo(&["deny", "--workspace", "check"]))
}
