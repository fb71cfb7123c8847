//! `tables`: generates the tables and excerpts of the front page, of the pages of ladders and losses,
//! bench/results/README.md and the plots, from the reports in bench/results and the sources.

use crate::project;
use anyhow::{Context, Result, ensure};
use bench_report::ladder::{self, Rung};
use bench_report::{Report, SCHEMA, front, losses, plot, table};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

/// Where reports and plots are, from the root, and the page that shows all of them.
pub const RESULTS: &str = "bench/results";
const ALL: &str = "bench/results/README.md";

/// The front page, the page of all ladders and that of all losses. Their generated parts stand between two lines each.
const README: &str = "README.md";
const LADDERS: &str = "docs/ladders.md";
const LOSSES: &str = "docs/losses.md";

/// Where the families are, from the root; the rungs of each are in its folder `src`.
const FAMILY_FOLDERS: &str = "gpu";

/// Where the library's packages are, whose modules are rows of the families' ladders.
const LIBRARY: &str = "gpu/library";

/// The kernel that the front page shows with its launch.
const KERNEL: &str = "gpu/bitonic/src/r1_global_step.rs";

/// The test that the front page shows as an example of the library.
const EXAMPLE: &str = "tests/tests/vectors/book.rs";
const EXAMPLE_TEST: &str = "fn sort_and_add_up";

/// The order of the ladders on their page. Families that are not named here come last.
const FAMILIES: &[&str] = &[
    "reduce",
    "scan",
    "select",
    "top-k",
    "histogram",
    "radix",
    "merge",
    "bitonic",
    "odd-even",
    "bubble",
    "matmul",
    "saxpy",
    "cubes",
];

/// Folders in the folder of results with reports of other devices or days, each with a page of its own.
const OTHERS: [(&str, &str); 2] = [("h100", "H100"), ("h200", "H200 on 29 and 30 November")];

/// The family whose rates the page of all results begins with.
const RATES: &str = "radix";

/// Plots that belong to no single report; the first is the front page's.
const PRIMITIVES: &str = "primitives.svg";
const OVER_LIBRARIES: &str = "over-libraries.svg";
const ROOFLINE: &str = "roofline.svg";

/// The options of `tables`.
#[derive(clap::Args)]
pub struct Args {
    /// Change nothing; fail if something differs from the reports
    #[arg(long)]
    check: bool,
}

/// Makes tables and plots again, or lists the stale ones.
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
    // The sizes of the plot that the page begins with, and the plot.
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
    let of_front = devices(root)?.into_iter().next().unwrap_or_default();
    let of_front: Vec<&Report> = of_front.iter().map(|(_, report)| report).collect();
    let fronts = [
        (PRIMITIVES, "Speedup over CUB and cuBLAS, by primitive", front::plot(&of_front)),
        (OVER_LIBRARIES, "Speed of the fastest rungs over the libraries' functions, by n", plot::over_libraries(&all)),
        (ROOFLINE, "Roofline", plot::roofline(&all)),
    ];
    for (name, title, svg) in fronts {
        let Some(svg) = svg else { continue };
        files.insert(format!("{RESULTS}/{name}"), svg);
        shown.push((title.into(), name.into()));
    }
    others += &format!("\nWhere the library is ahead: [losses](../../{LOSSES}).\n");
    files.insert(ALL.into(), results_page("Results", &others, &shown, &sections));
    let page = |name: &str| read(&root.join(name))?.with_context(|| format!("there is no {name}"));
    let rungs = rungs(root)?;
    let (kernel, example) = (kernel(&page(KERNEL)?)?, example(&page(EXAMPLE)?)?);
    let ratios = format!("{}\n{}\n", front::table(&of_front), losses::in_short(&of_front, LOSSES));
    let code = |text: &str| format!("```rust\n{text}```\n");
    let parts = [("kernel", code(&kernel)), ("ratios", ratios), ("example", code(&example))];
    let replace_all = |text: String, (name, part): &(&str, String)| replaced(&text, name, part);
    files.insert(README.into(), parts.iter().try_fold(page(README)?, replace_all)?);
    let of_ladders = reports_of_ladders(root)?;
    let of_ladders: Vec<&Report> = of_ladders.iter().map(|(_, report)| report).collect();
    files.insert(LADDERS.into(), replaced(&page(LADDERS)?, "ladders", &ladders(&rungs, &of_ladders))?);
    files.insert(LOSSES.into(), replaced(&page(LOSSES)?, "losses", &losses::tables(&of_front))?);
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

/// The section of each family, as the page of ladders has it.
fn ladders(rungs: &[Rung], reports: &[&Report]) -> String {
    // The page is in a folder, and the rungs' files are named from the root.
    let from_page = |rung: &Rung| Rung { file: format!("../{}", rung.file), ..rung.clone() };
    let rungs: Vec<Rung> = rungs.iter().map(from_page).collect();
    let mut families = FAMILIES.to_vec();
    rungs.iter().for_each(|rung| {
        if !families.contains(&rung.family.as_str()) {
            families.push(&rung.family);
        }
    });
    families.retain(|family| rungs.iter().any(|rung| rung.family == *family));
    families.iter().map(|family| ladder::section(family, &rungs, reports)).collect::<Vec<_>>().join("\n")
}

/// The rungs of the course and the library's rows.
pub fn rungs(root: &Path) -> Result<Vec<Rung>> {
    Ok([course(root)?, library(root)?].concat())
}

/// Every rung of the course, in the order of its ladder: the files `rN_name.rs` and `rN_name/mod.rs`. That the program
/// lists just these is tested in tests/tests/sources.rs; reading them here needs no build of the program.
fn course(root: &Path) -> Result<Vec<Rung>> {
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
            let (_, idea) = title(&text).and_then(|title| title.split_once(", ")).with_context(|| {
                format!("{file} should begin with //! # and the family's name, a comma and the idea in a few words")
            })?;
            let idea = idea.to_string();
            let (family, name) = (folder.replace('_', "-"), name.replace('_', "-"));
            let rung = Rung { family, name, idea, file, library: false };
            of_family.push((number, rung));
        }
        of_family.sort_by_key(|(number, _)| *number);
        rungs.extend(of_family.into_iter().map(|(_, rung)| rung));
    }
    Ok(rungs)
}

/// The library's rows: modules whose title begins with a family's, followed by a comma and the idea.
fn library(root: &Path) -> Result<Vec<Rung>> {
    let mut families = vec![];
    for folder in entries(&root.join(FAMILY_FOLDERS))? {
        let head = read(&root.join(format!("{FAMILY_FOLDERS}/{folder}/src/lib.rs")))?.unwrap_or_default();
        families.extend(title(&head).map(|title| (title.to_string(), folder.replace('_', "-"))));
    }
    let mut rows = vec![];
    for package in entries(&root.join(LIBRARY))? {
        for entry in entries(&root.join(format!("{LIBRARY}/{package}/src")))? {
            let inside = if entry.ends_with(".rs") { "" } else { "/mod.rs" };
            let file = format!("{LIBRARY}/{package}/src/{entry}{inside}");
            let text = if entry == "lib.rs" { None } else { read(&root.join(&file))? }.unwrap_or_default();
            let Some((what, idea)) = title(&text).and_then(|title| title.split_once(", ")) else { continue };
            let Some((_, family)) = families.iter().find(|(title, _)| what.starts_with(title.as_str())) else {
                continue;
            };
            let name = entry.strip_suffix(".rs").unwrap_or(&entry).replace('_', "-");
            rows.push(Rung { family: family.clone(), name, idea: idea.into(), file, library: true });
        }
    }
    Ok(rows)
}

/// The title of a source file.
fn title(text: &str) -> Option<&str> {
    text.lines().find_map(|line| line.strip_prefix("//! # "))
}

/// The excerpt of a rung's file for the front page, without comments: its kernel, and the block that launches it.
fn kernel(text: &str) -> Result<String> {
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
    let attribute = lines.iter().position(|line| line.starts_with("#[kernel"));
    let attribute = attribute.with_context(|| format!("{KERNEL} has no kernel"))?;
    let launch = lines.iter().position(|line| line.contains(".launch("));
    let launch = launch.with_context(|| format!("{KERNEL} launches nothing"))?;
    let around = lines[..launch].iter().rposition(|line| !line.is_empty() && indent(line) < indent(lines[launch]));
    let around = around.with_context(|| format!("{KERNEL} launches outside of a block"))?;
    let shown = [block(&lines[attribute..])?, vec![""], block(&lines[around..])?].concat();
    Ok(shown.join("\n") + "\n")
}

/// The lines to the end of the block that opens in the first of them or below, as far to the left as they can stand.
fn block<'t>(lines: &[&'t str]) -> Result<Vec<&'t str>> {
    let left = indent(lines[0]);
    let end = lines.iter().position(|line| line.get(left..).is_some_and(|line| line.starts_with('}')));
    let end = end.with_context(|| format!("a block does not end: {}", lines[0]))?;
    Ok(lines[..=end].iter().map(|line| line.get(left..).unwrap_or_default()).collect())
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// What the test that is an example does, without its result.
fn example(text: &str) -> Result<String> {
    let lines: Vec<&str> = text.lines().collect();
    let test = lines.iter().position(|line| line.starts_with(EXAMPLE_TEST));
    let test = block(&lines[test.with_context(|| format!("{EXAMPLE} has no {EXAMPLE_TEST}"))?..])?;
    let body = test[1..test.len() - 1].iter().filter(|line| line.trim() != "Ok(())");
    Ok(body.map(|line| line.strip_prefix("    ").unwrap_or(line).to_string() + "\n").collect())
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

/// The reports of the device on which most of today's rungs were measured, and of those of others the rows of families
/// that it has none of.
pub fn reports_of_ladders(root: &Path) -> Result<Vec<(String, Report)>> {
    let mut all = vec![];
    let mut families: BTreeSet<String> = BTreeSet::new();
    for reports in devices(root)? {
        let rows = reports.iter().flat_map(|(_, report)| &report.results);
        let of_device: BTreeSet<String> = rows.map(|row| row.family.clone()).collect();
        for (file, mut report) in reports {
            report.results.retain(|row| !families.contains(&row.family));
            all.push((file, report));
        }
        families.extend(of_device);
    }
    Ok(all)
}

/// The reports of each device, newest first; first the device on which most of today's rungs were measured. Their files
/// are named from the folder of results.
fn devices(root: &Path) -> Result<Vec<Vec<(String, Report)>>> {
    let today: BTreeSet<(String, String)> = rungs(root)?.into_iter().map(|rung| (rung.family, rung.name)).collect();
    let mut devices = vec![reports(root, RESULTS)?];
    for (folder, _) in OTHERS {
        let named = |(file, report)| (format!("{folder}/{file}"), report);
        devices.push(reports(root, &format!("{RESULTS}/{folder}"))?.into_iter().map(named).collect());
    }
    devices.sort_by_cached_key(|reports| {
        let rows = reports.iter().flat_map(|(_, report)| &report.results);
        let measured: BTreeSet<_> = rows.map(|row| (row.family.clone(), row.name.clone())).collect();
        std::cmp::Reverse(measured.intersection(&today).count())
    });
    Ok(devices)
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
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(None),
        Err(error) => Err(error).with_context(|| format!("{} cannot be read", path.display())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Most lines of the front page.
    const LINES: usize = 90;

    #[test]
    fn the_pages_and_the_plots_are_those_of_the_reports_and_the_rungs() {
        let made = make(project::root()).unwrap();
        let stale = stale(project::root(), &made).unwrap();
        assert!(stale.is_empty(), "{stale:?}: run cargo xtask tables");
    }

    #[test]
    fn the_front_page_is_short_and_the_ladders_name_every_rung() {
        let readme = read(&project::root().join(README)).unwrap().unwrap();
        assert!(readme.lines().count() <= LINES, "{README} has {} lines; {LINES} is the limit", readme.lines().count());
        let page = read(&project::root().join(LADDERS)).unwrap().unwrap();
        let (course, library) = (course(project::root()).unwrap(), library(project::root()).unwrap());
        assert!(!library.is_empty() && library.iter().all(|row| row.file.starts_with(LIBRARY)), "{library:?}");
        for rung in course.iter().chain(&library) {
            assert!(page.contains(&format!("[{}](../{})", rung.name, rung.file)), "{LADDERS} leaves out {}", rung.file);
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
        let pages = docs
            .filter(|name| name.ends_with(".md"))
            .chain([README, ALL, "CONTRIBUTING.md", "CHANGELOG.md"].map(String::from));
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
    fn a_kernel_is_shown_with_its_launch() {
        let file = "//! # T\n\n/// Does it.\n#[kernel]\npub fn f() {\n    // Once.\n    g();\n}\n\n\
                    fn sort() {\n    for a in b {\n\n        on.launch(f)?;\n    }\n}\n";
        let shown = "#[kernel]\npub fn f() {\n    g();\n}\n\nfor a in b {\n\n    on.launch(f)?;\n}\n";
        assert_eq!(kernel(file).unwrap(), shown);
        let closure = file.replace("for a in b {", "b.for_each(|a| {").replace("    }\n", "    })\n");
        assert!(kernel(&closure).unwrap().ends_with("\nb.for_each(|a| {\n\n    on.launch(f)?;\n})\n"));
        for wrong in ["//! # T\n", "#[kernel]\nfn f() {\n}\n", "#[kernel]\nfn f() {\n}\non.launch(f);\n"] {
            assert!(kernel(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn an_example_is_the_body_of_its_test() {
        let file = format!(
            "use a;\n\n#[test]\n{EXAMPLE_TEST}() -> Result<()> {{\n    a();\n    if b {{\n        c();\n    }}\n\
             \x20   Ok(())\n}}\n"
        );
        assert_eq!(example(&file).unwrap(), "a();\nif b {\n    c();\n}\n");
        assert!(example("fn other() {\n}\n").is_err());
    }

    #[test]
    fn a_module_of_the_library_is_a_row_of_the_family_whose_title_it_has() {
        let folder = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("gpu/odd_even/src/lib.rs", "//! # Odd sort\n");
        write("gpu/library/sorts/src/lib.rs", "//! # Odd sorts, all of them\n");
        write("gpu/library/sorts/src/in_two.rs", "//! # Odd sort of pairs, in two\n");
        write("gpu/library/sorts/src/both/mod.rs", "//! # Odd sort, both, or one\n");
        write("gpu/library/sorts/src/ring.rs", "//! # A ring, of stages\n");
        write("gpu/library/sorts/src/odd.rs", "//! # Odd sort\n");
        let rows = library(folder.path()).unwrap();
        let shown: Vec<_> = rows.iter().map(|row| [&*row.family, &*row.name, &*row.idea, &*row.file]).collect();
        let both = ["odd-even", "both", "both, or one", "gpu/library/sorts/src/both/mod.rs"];
        assert_eq!(shown, [both, ["odd-even", "in-two", "in two", "gpu/library/sorts/src/in_two.rs"]]);
    }

    #[test]
    fn stale_and_left_over_files_are_found() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let kernel = root.join(KERNEL);
        fs::create_dir_all(kernel.parent().unwrap()).unwrap();
        fs::create_dir_all(root.join(RESULTS)).unwrap();
        fs::write(&kernel, "//! # Sort, one step\n#[kernel]\nfn f() {\n}\nfn g() {\n    on.launch(f);\n}\n").unwrap();
        let example = root.join(EXAMPLE);
        fs::create_dir_all(example.parent().unwrap()).unwrap();
        fs::write(example, format!("{EXAMPLE_TEST}() {{\n    sort();\n}}\n")).unwrap();
        fs::create_dir_all(root.join("docs")).unwrap();
        let part = |name: &str| format!("<!-- {name}: generated -->\n<!-- {name}: end -->\n");
        fs::write(root.join(README), ["kernel", "ratios", "example"].map(part).concat()).unwrap();
        fs::write(root.join(LADDERS), part("ladders")).unwrap();
        fs::write(root.join(LOSSES), part("losses")).unwrap();
        let made = make(root).unwrap();
        assert!(
            made[LADDERS].contains("| [global-step](../gpu/bitonic/src/r1_global_step.rs) | one step | not measured |")
        );
        assert!(made[README].contains("    on.launch(f);") && made[README].contains("\nsort();\n"));
        assert_eq!(stale(root, &made).unwrap(), [README, ALL, LADDERS, LOSSES]);
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
