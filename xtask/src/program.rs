//! The program `rungs`, for the tasks that run it.

use crate::{project, shell};
use anyhow::Result;
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether `cargo test --workspace` has built it.
static BUILT: AtomicBool = AtomicBool::new(false);

/// Whether the program and all tests have been built.
pub fn is_built() -> bool {
    BUILT.load(Ordering::Relaxed)
}

/// Says that another process has built them.
pub fn set_built() {
    BUILT.store(true, Ordering::Relaxed);
}

/// Builds all test programs, and this program, which some of them run.
///
/// The tests of all packages together ask for more features of some dependencies than this program does, so cargo would
/// compile program and library again for [`path`]: after this it takes the program that is there.
pub fn build_with_tests() -> Result<()> {
    shell::run(with_ptx(shell::cargo(&["test", "--workspace", "--no-run"])))?;
    set_built();
    Ok(())
}

/// A command that builds the program with PTX, which a debug build without a GPU has not: tests on a made-up driver
/// load it. It is that of the step before, kept by the contents of the sources.
pub fn with_ptx(mut command: Command) -> Command {
    command.env(rungs_ptx::ARCHES_VARIABLE, "sm_90a");
    command
}

/// The program, built if it has to be.
pub fn path() -> Result<PathBuf> {
    if !is_built() {
        shell::run(shell::cargo(&["build", "--package", "rungs-cli", "--bin", "rungs"]))?;
    }
    Ok(project::target().join("debug/rungs"))
}
