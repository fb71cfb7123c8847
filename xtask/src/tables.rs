//! `tables`: the README's tables and the plots, from the reports in bench/results.

use crate::project;
use anyhow::{Context, Result, bail, ensure};
use bench_report::{Report, SCHEMA, plot, table};
use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

/// Where reports and plots are, from the root.
const RESULTS: &str = "bench/results";

/// What the tables stand in, from the root, and between which lines.
const README: &str = "README.md";
const BEGIN: &str = "<!-- bench:begin -->";
const END: &str = "<!-- bench:end -->";

/// What to do.
#[derive(clap::Args)]
pub struct Args {
    /// Change nothing; fail if something is not as the reports have it
    #[arg(long)]
    check: bool,
}

/// Makes the tables and plots anew, or says which are stale.
pub fn run(args: &Args) -> Result<()> {
    let made = make(project::root())?;
    let stale = stale(project::root(), &made)?;
    if args.check {
        ensure!(
            stale.is_empty(),
            "not as the reports in {RESULTS} have it: {}; run cargo xtask tables",
            stale.join(", ")
        );
        return Ok(());
    }
    for path in &stale {
        let file = project::root().join(path);
        match made.get(path) {
            Some(text) => fs::write(&file, text).with_context(|| format!("{path} cannot be written"))?,
            None => fs::remove_file(&file).with_context(|| format!("{path} cannot be removed"))?,
        }
        println!("{path}");
    }
    Ok(())
}

/// Files, from the root, with what is to be in them.
type Files = BTreeMap<String, String>;

/// The README and all plots, as the reports have them.
fn make(root: &Path) -> Result<Files> {
    let reports = reports(root)?;
    let mut files = Files::new();
    let mut plots = String::new();
    for (file, report) in &reports {
        let stem = file.strip_suffix(".json").unwrap_or(file);
        for (name, svg) in plot::all(report) {
            let path = format!("{stem}-{name}");
            let title = name.trim_end_matches(".svg").replace('-', " ");
            plots += &format!("\n![{title}]({path})\n");
            files.insert(path, svg);
        }
    }
    let text = format!("{BEGIN}\n\n{}{plots}\n{END}", table::markdown(&reports));
    let readme = read(&root.join(README))?.with_context(|| format!("there is no {README}"))?;
    files.insert(README.into(), replaced(&readme, &text)?);
    Ok(files)
}

/// The reports, by file, newest first.
fn reports(root: &Path) -> Result<Vec<(String, Report)>> {
    let mut reports = vec![];
    for name in names(root, ".json")? {
        let file = format!("{RESULTS}/{name}");
        let text = read(&root.join(&file))?.unwrap_or_default();
        let report: Report =
            serde_json::from_str(&text).with_context(|| format!("{file} is no report of rungs bench"))?;
        ensure!(report.schema == SCHEMA, "{file} has schema {}, and xtask reads {SCHEMA}", report.schema);
        reports.push((file, report));
    }
    reports.sort_by(|(a, x), (b, y)| y.date.cmp(&x.date).then(a.cmp(b)));
    Ok(reports)
}

/// The README with what stands between the two lines replaced, lines included.
fn replaced(readme: &str, text: &str) -> Result<String> {
    match (readme.split_once(BEGIN), readme.split_once(END)) {
        (Some((before, _)), Some((until, after))) if before.len() < until.len() => Ok(format!("{before}{text}{after}")),
        _ => bail!("{README} has no {BEGIN} followed by {END}"),
    }
}

/// Files that differ from what was made, and plots that no report has.
fn stale(root: &Path, made: &Files) -> Result<Vec<String>> {
    let mut stale = vec![];
    for (path, text) in made {
        if read(&root.join(path))?.as_ref() != Some(text) {
            stale.push(path.clone());
        }
    }
    let plots = names(root, ".svg")?.into_iter().map(|name| format!("{RESULTS}/{name}"));
    stale.extend(plots.filter(|path| !made.contains_key(path)));
    Ok(stale)
}

/// Names in the folder of results that end so, in order.
fn names(root: &Path, end: &str) -> Result<Vec<String>> {
    let folder = root.join(RESULTS);
    let entries = match fs::read_dir(&folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(vec![]),
        other => other.with_context(|| format!("{} cannot be read", folder.display()))?,
    };
    let mut names = vec![];
    for entry in entries {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if name.ends_with(end) {
            names.push(name);
        }
    }
    names.sort();
    Ok(names)
}

/// A file's text; `None` if there is no such file.
fn read(path: &Path) -> Result<Option<String>> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| format!("{} cannot be read", path.display())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_readme_and_the_plots_are_those_of_the_reports() {
        let made = make(project::root()).unwrap();
        let stale = stale(project::root(), &made).unwrap();
        assert!(stale.is_empty(), "{stale:?}: run cargo xtask tables");
    }

    #[test]
    fn what_stands_between_the_lines_is_replaced() {
        let readme = format!("a\n{BEGIN}\nold\n{END}\nb\n");
        assert_eq!(replaced(&readme, "new").unwrap(), "a\nnew\nb\n");
        assert!(replaced("nothing", "new").is_err());
        assert!(replaced(&format!("{END} {BEGIN}"), "new").is_err());
    }

    #[test]
    fn stale_and_left_over_files_are_found() {
        let root = std::env::temp_dir().join(format!("rungs-tables-{}", std::process::id()));
        fs::create_dir_all(root.join(RESULTS)).unwrap();
        fs::write(root.join(README), format!("{BEGIN}\n{END}\n")).unwrap();
        let made = make(&root).unwrap();
        assert!(made[README].contains(table::NOTHING));
        assert_eq!(stale(&root, &made).unwrap(), [README]);
        fs::write(root.join(README), &made[README]).unwrap();
        assert!(stale(&root, &make(&root).unwrap()).unwrap().is_empty());
        fs::write(root.join(RESULTS).join("old.svg"), "").unwrap();
        assert_eq!(stale(&root, &made).unwrap(), [format!("{RESULTS}/old.svg")]);
        fs::write(root.join(RESULTS).join("a.json"), "{}").unwrap();
        assert!(make(&root).is_err());
        fs::remove_dir_all(&root).unwrap();
    }
}
