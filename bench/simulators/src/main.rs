//! Simulators and checkers of kernels side by side. In this folder:
//!
//!     cargo run --release -- speed --save results/speed.json
//!     cargo run --release -- bugs --save results/bugs.json
//!     cargo run --release -- page
//!
//! Oclgrind is Debian's package `oclgrind`; numba comes from pip, for the Python that `RUNGS_PYTHON` names, or
//! `python3`. riri's part is a program of its own, which `cargo build --release --workspace` in this folder builds
//! next to this one. compute-sanitizer runs on a GPU by gpu/run.sh; `bugs --sanitizer LOG` reads what it printed. A
//! tool that is not there is left out, or taken from an earlier report by `bugs --keep results/bugs.json`. `page`
//! writes the tables of docs/bugs.md from what was saved.

mod bugs;
mod page;
mod speed;
mod tools;

use anyhow::{Context, Result, bail};
use std::path::PathBuf;

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let what = arguments.next().unwrap_or_default();
    let (mut save, mut sanitizer, mut keep) = (None, None, None);
    while let Some(argument) = arguments.next() {
        let mut path = || PathBuf::from(arguments.next().unwrap_or_default());
        match argument.as_str() {
            "--save" => save = Some(path()),
            "--sanitizer" => sanitizer = Some(path()),
            "--keep" => keep = Some(path()),
            other => bail!("{other} is no option: --save FILE, --sanitizer LOG, --keep FILE"),
        }
    }
    let json = match what.as_str() {
        "speed" => serde_json::to_string_pretty(&speed::run()?)?,
        "bugs" => serde_json::to_string_pretty(&bugs::run(sanitizer.as_deref(), keep.as_deref())?)?,
        "page" => return page::run(),
        _ => bail!("the commands are speed, bugs and page"),
    };
    if let Some(path) = save {
        std::fs::write(&path, json + "\n").with_context(|| format!("{} cannot be written", path.display()))?;
    }
    Ok(())
}
