//! Simulators and checkers of kernels side by side.
//!
//!     cargo run --release --manifest-path bench/simulators/Cargo.toml -- speed --save bench/results/simulators.json
//!     cargo run --release --manifest-path bench/simulators/Cargo.toml -- bugs --save bench/results/bugs.json
//!
//! Oclgrind is Debian's package `oclgrind`; numba comes from pip, for the Python that `RUNGS_PYTHON` names or `python3`.
//! A tool that is not there is left out, and the report says so.

mod bugs;
mod speed;
mod tools;

use anyhow::{Context, Result, bail};
use std::path::PathBuf;

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let what = arguments.next().unwrap_or_default();
    let (mut save, mut sanitizer) = (None, None);
    while let Some(argument) = arguments.next() {
        let path = || PathBuf::from(arguments.next().unwrap_or_default());
        match argument.as_str() {
            "--save" => save = Some({ path }()),
            "--sanitizer" => sanitizer = Some({ path }()),
            other => bail!("{other} is no option: --save FILE, --sanitizer LOG"),
        }
    }
    let json = match what.as_str() {
        "speed" => serde_json::to_string_pretty(&speed::run()?)?,
        "bugs" => serde_json::to_string_pretty(&bugs::run(sanitizer.as_deref())?)?,
        _ => bail!("the commands are speed and bugs"),
    };
    if let Some(path) = save {
        std::fs::write(&path, json + "\n").with_context(|| format!("{} cannot be written", path.display()))?;
    }
    Ok(())
}
