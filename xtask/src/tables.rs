//! `tables`: generates parts of README.md, docs/backends.md, bench/results/README.md and the plots, from the reports in
//! bench/results and from the heads of the rungs.

use crate::project;
use anyhow::{Context, Result, ensure};
use bench_report::ladder::{self, Rung};
use bench_report::{Report, SCHEMA, plot, table};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

/// Where reports and plots are, from the root, and the page that shows all of them.
pub const RESULTS: &str = "bench/results";
const ALL: &str = "bench/results/README.md";

/// The front page, whose generated parts stand between two lines each.
const README: &str = "README.md";

/// The reports of the same rungs from two backends, and the page with their table.
const BACKENDS: &str = "bench/results/backends";
const BACKENDS_PAGE: &str = "docs/backends.md";
/// The backend beside the default one, as reports name it.
const SECOND_BACKEND: &str = "rust-cuda";

/// Where the families are, from the root; the rungs of each are in its folder `src`.
const FAMILY_FOLDERS: &str = "gpu";

/// The kernel that the front page shows, and the parts of its head that stand above it.
const KERNEL: &str = "gpu/bitonic/src/r1_global_step.rs";
const PARTS: &[&str] = &["Idea"];

/// The order of the ladders on the front page. Families that are not named here come last.
const FAMILIES: &[&str] =
    &["reduce", "scan", "histogram", "radix", "merge", "bitonic", "odd-even", "bubble", "matmul", "saxpy", "cubes"];

/// Folders in the folder of results with reports of other devices, each with a page of its own.
const OTHERS: [(&str, &str); 1] = [("h100", "H100")];

/// The family whose rates the front page shows.
const RATES: &str = "radix";

/// Plots that belong to no single report.
const OVER_LIBRARIES: &str = "over-libraries.svg";
const ROOFLINE: &str = "roofline.svg";

/// The options of `tables`.
#[derive(clap::Args)]
pub struct Args {
    /// Change nothing; fail if something differs from the reports
    #[arg(long)]
    check: bool,
}

/// Makes tables and plots anew, or lists the stale ones.
pub fn run(args: &Args) -> Result<()> {
    let made = make(project::root())?;
    let stale = stale(project::root(), &made)?;
    if args.check {
        ensure!(
            stale.is_empty(),
            "differs from the reports in {RESULTS}: {}; run cargo xtask tables",
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

/// Files, relative to the root, with their contents.
type Files = BTreeMap<String, String>;

/// The generated pages and all plots, from the reports and the rungs.
fn make(root: &Path) -> Result<Files> {
    let reports = reports(root, RESULTS)?;
    let mut files = Files::new();
    let mut sections = String::new();
    // The sizes of the plot that the front page shows, and the plot.
    let mut rates: Option<(usize, String)> = None;
    for (file, report) in &reports {
        let stem = file.strip_suffix(".json").unwrap_or(file);
        sections += &format!("\n## {stem}\n\n{}", table::section(file, report));
        for (name, svg) in plot::beside_tables(report) {
            let title = name.trim_end_matches(".svg").replace('-', " ");
            let path = format!("{stem}-{name}");
            sections += &format!("\n![{title}]({path})\n");
            // That with the most sizes, of several the newest; sorts of pairs are another matter.
            if name.starts_with(RATES) && name.ends_with("-rate.svg") && !name.contains("values") {
                let sizes = report.results.iter().map(|row| row.n).collect::<BTreeSet<_>>().len();
                if rates.as_ref().is_none_or(|(most, _)| sizes > *most) {
                    rates = Some((sizes, path.clone()));
                }
            }
            files.insert(format!("{RESULTS}/{path}"), svg);
        }
    }
    let mut others = String::new();
    for (folder, device) in OTHERS {
        let reports = self::reports(root, &format!("{RESULTS}/{folder}"))?;
        if reports.is_empty() {
            continue;
        }
        others += &format!("\nAnother device: [{device}]({folder}/README.md).\n");
        let sections = reports.iter().map(|(file, report)| {
            format!("\n## {}\n\n{}", file.strip_suffix(".json").unwrap_or(file), table::section(file, report))
        });
        let page = results_page(&format!("Results on an {device}"), "", &[], &sections.collect::<String>());
        files.insert(format!("{RESULTS}/{folder}/README.md"), page);
    }
    let all: Vec<&Report> = reports.iter().map(|(_, report)| report).collect();
    let mut shown: Vec<Shown> =
        rates.map(|(_, path)| (format!("Rates of the {RATES} sorts, by n"), path)).into_iter().collect();
    let fronts = [
        (OVER_LIBRARIES, "Speed of the fastest rungs over the libraries' functions, by n", plot::over_libraries(&all)),
        (ROOFLINE, "Roofline", plot::roofline(&all)),
    ];
    for (name, title, svg) in fronts {
        let Some(svg) = svg else { continue };
        files.insert(format!("{RESULTS}/{name}"), svg);
        shown.push((title.into(), name.into()));
    }
    let sections = format!("\n## {}\n\n{}{sections}", ladder::BEHIND, ladder::behind(&all));
    files.insert(ALL.into(), results_page("Results", &others, &shown, &sections));
    let readme = read(&root.join(README))?.with_context(|| format!("there is no {README}"))?;
    files.insert(README.into(), front_page(root, &readme, &all, &shown)?);
    let roads = self::reports(root, BACKENDS)?;
    if !roads.is_empty() {
        let roads: Vec<&Report> = roads.iter().rev().map(|(_, report)| report).collect();
        let page = read(&root.join(BACKENDS_PAGE))?.with_context(|| format!("there is no {BACKENDS_PAGE}"))?;
        let times = bench_report::backends(&roads, SECOND_BACKEND);
        files.insert(BACKENDS_PAGE.into(), replaced(&page, "times", &times)?);
    }
    Ok(files)
}

/// The link to a plot: its subject, and its file in the folder of results.
type Shown = (String, String);

/// The page of all tables and plots.
fn results_page(title: &str, others: &str, plots: &[Shown], sections: &str) -> String {
    let plots: String = plots.iter().map(|(title, name)| format!("\n![{title}]({name})\n")).collect();
    let method = table::METHOD;
    let made = "Made by `cargo xtask tables` from the reports in this folder.";
    format!("# {title}\n\n{made} {method}\n{others}{plots}{sections}")
}

/// The front page with its generated parts, from the reports and the rungs.
fn front_page(root: &Path, readme: &str, reports: &[&Report], plots: &[Shown]) -> Result<String> {
    let rungs = rungs(root)?;
    let mut families = FAMILIES.to_vec();
    rungs.iter().for_each(|rung| {
        if !families.contains(&rung.family.as_str()) {
            families.push(&rung.family);
        }
    });
    families.retain(|family| rungs.iter().any(|rung| rung.family == *family));
    let ladders: Vec<String> = families.iter().map(|family| ladder::ladder(family, &rungs, reports)).collect();
    let plots: Vec<String> = plots.iter().map(|(title, name)| format!("![{title}]({RESULTS}/{name})")).collect();
    let behind =
        ladder::behind_in_short(reports, &format!("{ALL}#{}", ladder::BEHIND.to_lowercase().replace(' ', "-")));
    let summary = [ladder::summary(&families, reports), behind + "\n", plots.join(" ") + "\n"];
    let file = read(&root.join(KERNEL))?.with_context(|| format!("there is no {KERNEL}"))?;
    let parts = [
        ("kernel", format!("```rust\n{}```\n", kernel(&file)?)),
        ("summary", summary.join("\n")),
        ("ladders", ladders.join("\n")),
    ];
    parts.iter().try_fold(readme.to_string(), |text, (name, part)| replaced(&text, name, part))
}

/// Every rung, in the order of its ladder: the files `rN_name.rs` and `rN_name/mod.rs`. That the program lists just
/// these is tested in tests/tests/sources.rs; reading them here needs no build of the program.
pub fn rungs(root: &Path) -> Result<Vec<Rung>> {
    let mut rungs = vec![];
    for folder in entries(&root.join(FAMILY_FOLDERS))? {
        let (mut of_family, sources) = (vec![], format!("{FAMILY_FOLDERS}/{folder}/src"));
        if !root.join(&sources).is_dir() {
            continue;
        }
        for entry in entries(&root.join(&sources))? {
            let stem = entry.strip_suffix(".rs").unwrap_or(&entry);
            let Some((number, name)) = stem.strip_prefix('r').and_then(|rest| rest.split_once('_')) else { continue };
            let Ok(number) = number.parse::<u32>() else { continue };
            let inside = if entry.ends_with(".rs") { "" } else { "/mod.rs" };
            let file = format!("{sources}/{entry}{inside}");
            let text = read(&root.join(&file))?.with_context(|| format!("there is no {file}"))?;
            let title = text.lines().find_map(|line| line.strip_prefix("//! # "));
            let (_, idea) = title.and_then(|title| title.split_once(", ")).with_context(|| {
                format!("{file} should begin with //! # and the family's name, a comma and the idea in a few words")
            })?;
            let idea = idea.to_string();
            let rung = Rung { family: folder.replace('_', "-"), name: name.replace('_', "-"), idea, file };
            of_family.push((number, rung));
        }
        of_family.sort_by_key(|(number, _)| *number);
        rungs.extend(of_family.into_iter().map(|(_, rung)| rung));
    }
    Ok(rungs)
}

/// The excerpt of a rung's file for the front page: some parts of its head, and its kernel with the kernel's own
/// comment.
fn kernel(text: &str) -> Result<String> {
    let lines: Vec<&str> = text.lines().collect();
    let head: Vec<&str> = lines.iter().copied().take_while(|line| line.starts_with("//!")).collect();
    let wanted = |paragraph: &&[&str]| {
        let part = paragraph[0].strip_prefix("//! **").and_then(|rest| rest.split_once(".**"));
        part.is_some_and(|(name, _)| PARTS.contains(&name))
    };
    let head: Vec<&[&str]> =
        head.split(|line| *line == "//!").filter(|lines| !lines.is_empty()).filter(wanted).collect();
    let attribute = lines.iter().position(|line| line.starts_with("#[kernel"));
    let attribute = attribute.with_context(|| format!("{KERNEL} has no kernel"))?;
    let comment = lines[..attribute].iter().rev().take_while(|line| line.starts_with("///")).count();
    let length = lines[attribute..].iter().position(|line| *line == "}");
    let end = attribute + length.with_context(|| format!("the kernel of {KERNEL} does not end"))?;
    Ok(head.join(&"//!").join("\n") + "\n\n" + &lines[attribute - comment..=end].join("\n") + "\n")
}

/// The names in a folder, in order; none where there is no folder.
pub fn entries(folder: &Path) -> Result<Vec<String>> {
    let entries = match fs::read_dir(folder) {
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => return Ok(vec![]),
        other => other.with_context(|| format!("{} cannot be read", folder.display()))?,
    };
    let mut names = vec![];
    for entry in entries {
        names.push(entry?.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    Ok(names)
}

/// The reports in a folder, by file, newest first.
pub fn reports(root: &Path, folder: &str) -> Result<Vec<(String, Report)>> {
    let mut reports = vec![];
    for file in names(root, folder, ".json")? {
        let text = read(&root.join(folder).join(&file))?.unwrap_or_default();
        let report: Report =
            serde_json::from_str(&text).with_context(|| format!("{file} is not a report of rungs bench"))?;
        ensure!(report.schema == SCHEMA, "{file} has schema {}, and xtask reads {SCHEMA}", report.schema);
        reports.push((file, report));
    }
    reports.sort_by(|(a, x), (b, y)| y.date.cmp(&x.date).then(a.cmp(b)));
    Ok(reports)
}

/// The page with a generated part replaced; the lines before and after it stay.
fn replaced(page: &str, name: &str, part: &str) -> Result<String> {
    let (begin, end) = (format!("<!-- {name}: generated -->\n"), format!("<!-- {name}: end -->"));
    let missing = || format!("the page has no {} followed by {end}", begin.trim_end());
    let (before, rest) = page.split_once(&begin).with_context(missing)?;
    let (_, after) = rest.split_once(&end).with_context(missing)?;
    Ok(format!("{before}{begin}{part}{end}{after}"))
}

/// Files that differ from what was made, and plots that no report has.
fn stale(root: &Path, made: &Files) -> Result<Vec<String>> {
    let mut stale = vec![];
    for (path, text) in made {
        if read(&root.join(path))?.as_ref() != Some(text) {
            stale.push(path.clone());
        }
    }
    let plots = names(root, RESULTS, ".svg")?.into_iter().map(|name| format!("{RESULTS}/{name}"));
    stale.extend(plots.filter(|path| !made.contains_key(path)));
    Ok(stale)
}

/// Names in a folder that end so, in order.
fn names(root: &Path, folder: &str, end: &str) -> Result<Vec<String>> {
    let mut names = entries(&root.join(folder))?;
    names.retain(|name| name.ends_with(end));
    Ok(names)
}

/// A file's text; `None` if there is no such file.
pub fn read(path: &Path) -> Result<Option<String>> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| format!("{} cannot be read", path.display())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Most lines of the front page.
    const LINES: usize = 200;

    #[test]
    fn the_pages_and_the_plots_are_those_of_the_reports_and_the_rungs() {
        let made = make(project::root()).unwrap();
        let stale = stale(project::root(), &made).unwrap();
        assert!(stale.is_empty(), "{stale:?}: run cargo xtask tables");
    }

    #[test]
    fn the_front_page_is_short_and_names_every_rung() {
        let readme = read(&project::root().join(README)).unwrap().unwrap();
        assert!(readme.lines().count() <= LINES, "{README} has {} lines; {LINES} is the limit", readme.lines().count());
        for rung in rungs(project::root()).unwrap() {
            assert!(readme.contains(&format!("[{}]({})", rung.name, rung.file)), "{README} leaves out {}", rung.file);
        }
    }

    /// The targets of the links of a page, without those to the web or within the page.
    fn links(text: &str) -> Vec<&str> {
        let targets = text.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(target, _)| target);
        targets
            .map(|target| target.split_once('#').map_or(target, |(file, _)| file))
            .filter(|target| !target.is_empty() && !target.contains("://"))
            .collect()
    }

    #[test]
    fn links_lead_to_files() {
        assert_eq!(links("[a](b.md#c) ![d](e.svg) [f](https://g) [h](#i)"), ["b.md", "e.svg"]);
        let docs = entries(&project::root().join("docs")).unwrap().into_iter().map(|name| format!("docs/{name}"));
        let pages = docs.filter(|name| name.ends_with(".md")).chain([README.into(), ALL.into()]);
        let mut followed = 0;
        for page in pages {
            let path = project::root().join(&page);
            for link in links(&read(&path).unwrap().unwrap()) {
                assert!(path.parent().unwrap().join(link).exists(), "{page} links to {link}, which is not there");
                followed += 1;
            }
        }
        assert!(followed > rungs(project::root()).unwrap().len());
    }

    #[test]
    fn what_stands_between_the_lines_is_replaced() {
        let page = "a\n<!-- x: generated -->\nold\n<!-- x: end -->\nb\n";
        assert_eq!(replaced(page, "x", "new\n").unwrap(), "a\n<!-- x: generated -->\nnew\n<!-- x: end -->\nb\n");
        assert!(replaced(page, "y", "new").is_err());
        assert!(replaced("<!-- x: end -->\n<!-- x: generated -->\n", "x", "new").is_err());
    }

    #[test]
    fn a_kernel_is_shown_with_its_head_and_its_comment() {
        let file = "//! # T\n//!\n//! **Idea.** A\n//! b.\n//!\n//! **Cost.** None.\n\nuse a;\n\n\
                    /// Does it.\n#[kernel]\npub fn f() {\n    g();\n}\n\nfn g() {\n}\n";
        let shown = "//! **Idea.** A\n//! b.\n\n/// Does it.\n#[kernel]\npub fn f() {\n    g();\n}\n";
        assert_eq!(kernel(file).unwrap(), shown);
        assert!(kernel("//! # T\n").is_err());
    }

    #[test]
    fn stale_and_left_over_files_are_found() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let kernel = root.join(KERNEL);
        fs::create_dir_all(kernel.parent().unwrap()).unwrap();
        fs::create_dir_all(root.join(RESULTS)).unwrap();
        fs::write(&kernel, "//! # Sort, one step\n#[kernel]\nfn f() {\n}\n").unwrap();
        let parts = ["kernel", "summary", "ladders"];
        let page: String = parts.map(|name| format!("<!-- {name}: generated -->\n<!-- {name}: end -->\n")).concat();
        fs::write(root.join(README), page).unwrap();
        let made = make(root).unwrap();
        assert!(made[README].contains("[global-step](gpu/bitonic/src/r1_global_step.rs) not measured"));
        assert_eq!(stale(root, &made).unwrap(), [README, ALL]);
        made.iter().for_each(|(path, text)| fs::write(root.join(path), text).unwrap());
        assert!(stale(root, &make(root).unwrap()).unwrap().is_empty());
        fs::write(root.join(RESULTS).join("old.svg"), "").unwrap();
        assert_eq!(stale(root, &made).unwrap(), [format!("{RESULTS}/old.svg")]);
        fs::write(root.join(RESULTS).join("a.json"), "{}").unwrap();
        assert!(format!("{:#}", make(root).unwrap_err()).contains("not a report of rungs bench"));
        fs::remove_file(root.join(RESULTS).join("a.json")).unwrap();
        fs::write(&kernel, "//! # Sort without an idea\n#[kernel]\nfn f() {\n}\n").unwrap();
        assert!(format!("{:#}", make(root).unwrap_err()).contains("a comma and the idea"));
    }
}
