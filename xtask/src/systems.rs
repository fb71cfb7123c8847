//! The step of `test` for other systems: what needs no GPU compiles for them. It is not run there.

use crate::{setup, shell};
use anyhow::Result;

/// One target of each system; the standard library for it comes from rustup, and no C compiler is asked for.
const TARGETS: &[&str] = &["aarch64-apple-darwin", "x86_64-pc-windows-gnu"];

/// The simulator with its checker, the library, the program, and what a reader of the course compiles.
const PACKAGES: &[&[&str]] =
    &[&["-p", "simt", "-p", "rungs", "-p", "rungs-cli"], &["--manifest-path", "exercises/Cargo.toml", "--lib"]];

/// Why nothing can be compiled for another system.
pub fn missing() -> Option<String> {
    TARGETS.iter().find_map(|target| setup::rustup(&["target", "add", target]).err()).map(|why| format!("{why:#}"))
}

/// Compiles each package for each target, without linking.
pub fn check() -> Result<()> {
    for target in TARGETS {
        for packages in PACKAGES {
            let mut cargo = shell::cargo(&["check", "--locked", "--target", target]);
            // Kernels are the same on every system, and the default backend of the tests has compiled them.
            cargo.args(*packages).env(rungs_ptx::ARCHES_VARIABLE, "none").env("RUSTFLAGS", "-D warnings");
            shell::run(cargo)?;
        }
    }
    Ok(())
}
