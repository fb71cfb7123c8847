//! `watch`: the tests of rungs, again whenever a kernel changes.

use crate::{project, test_rung};
use anyhow::Result;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use std::{fs, thread};

/// The options of `watch`.
#[derive(clap::Args)]
pub struct Args {
    /// reduce/shuffle, or reduce for the whole family
    #[arg(value_name = "FAMILY/RUNG", required = true)]
    rungs: Vec<String>,
}

/// The folders of what kernels are made of.
const WATCHED: &[&str] = &["gpu", "simt"];

/// The time between two looks at them.
const PAUSE: Duration = Duration::from_millis(300);

/// Runs the tests, waits for a change, and begins again; ended by whoever started it.
pub fn run(args: &Args) -> Result<()> {
    loop {
        // Taken before the run: a change during it counts.
        let before = times();
        match test_rung::run(&args.rungs) {
            Ok(()) => println!("\npassed"),
            Err(why) => println!("\nfailed: {why:#}"),
        }
        println!("waiting for a change in {} (Ctrl-C ends)", WATCHED.join("/ or ") + "/");
        while times() == before {
            thread::sleep(PAUSE);
        }
    }
}

fn times() -> BTreeMap<PathBuf, SystemTime> {
    let mut times = BTreeMap::new();
    WATCHED.iter().for_each(|folder| collect(&project::root().join(folder), &mut times));
    times
}

/// The time of the last change of each source below a folder. What vanishes while it is read is not there.
fn collect(folder: &Path, times: &mut BTreeMap<PathBuf, SystemTime>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let is_source = path.extension().is_some_and(|end| end == "rs" || end == "toml");
        match entry.metadata() {
            Ok(about) if about.is_dir() && entry.file_name() != "target" => collect(&path, times),
            Ok(about) if is_source => drop(about.modified().map(|time| times.insert(path, time))),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_that_are_written_added_or_removed_are_changes() {
        let folder = tempfile::tempdir().unwrap();
        let seen = || {
            let mut times = BTreeMap::new();
            collect(folder.path(), &mut times);
            times
        };
        let [kernel, other, page] =
            ["reduce/src/r1.rs", "reduce/src/r2.rs", "reduce/README.md"].map(|name| folder.path().join(name));
        fs::create_dir_all(kernel.parent().unwrap()).unwrap();
        fs::write(&kernel, "").unwrap();
        let first = seen();
        assert_eq!(first.keys().collect::<Vec<_>>(), [&kernel]);
        fs::write(&page, "").unwrap();
        assert_eq!(seen(), first);
        let later = SystemTime::now() + Duration::from_secs(5);
        fs::File::options().write(true).open(&kernel).unwrap().set_modified(later).unwrap();
        let second = seen();
        assert_ne!(second, first);
        fs::write(&other, "").unwrap();
        assert_ne!(seen(), second);
        fs::remove_file(&other).unwrap();
        assert_eq!(seen(), second);
    }

    #[test]
    fn the_watched_folders_have_sources() {
        for folder in WATCHED {
            assert!(times().keys().any(|path| path.starts_with(project::root().join(folder))), "{folder}");
        }
    }
}
