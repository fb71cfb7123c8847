//! Puts the kernels' PTX into the program, and the commit that it is built from.

use std::path::Path;
use std::process::Command;

/// Says which commit it is where there is no git: in a packed source, say. What the program finds in it is the same
/// variable, see `host::bench`.
const COMMIT: &str = "RUNGS_COMMIT";

fn main() {
    ptx_builder::embed_from_build_script();
    println!("cargo::rerun-if-env-changed={COMMIT}");
    let given = std::env::var(COMMIT).ok().filter(|commit| !commit.is_empty());
    if let Some(commit) = given.or_else(|| git(&["rev-parse", "HEAD"])) {
        println!("cargo::rustc-env={COMMIT}={commit}");
    }
    // Where git writes what is checked out, and the commit of each branch.
    for name in ["HEAD", "logs/HEAD"] {
        if let Some(path) = git(&["rev-parse", "--git-path", name]).filter(|path| Path::new(path).exists()) {
            println!("cargo::rerun-if-changed={path}");
        }
    }
}

/// What git prints; nothing where there is no git or no repository.
fn git(args: &[&str]) -> Option<String> {
    let output = Command::new("git").args(args).output().ok().filter(|output| output.status.success())?;
    let text = String::from_utf8(output.stdout).ok()?;
    Some(text.trim().to_string()).filter(|text| !text.is_empty())
}
