//! The program `rungs`, for the tasks that run it.

use crate::{project, shell};
use anyhow::Result;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether `cargo test --workspace` has built it.
static BUILT: AtomicBool = AtomicBool::new(false);

/// Builds all test programs, and this program, which some of them run.
///
/// The tests of all packages together ask for more features of some dependencies than this program does, so cargo would
/// compile program and library again for [`path`]: after this it takes the program that is there.
pub fn build_with_tests() -> Result<()> {
    shell::run(shell::cargo(&["test", "--workspace", "--no-run"]))?;
    BUILT.store(true, Ordering::Relaxed);
    Ok(())
}

/// The program, built if it has to be.
pub fn path() -> Result<PathBuf> {
    if !BUILT.load(Ordering::Relaxed) {
        shell::run(shell::cargo(&["build", "--package", "rungs-cli", "--bin", "rungs"]))?;
    }
    Ok(project::target().join("debug/rungs"))
}
