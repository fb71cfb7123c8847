//! The registry, the files and the heads of the rungs against each other.

use rungs_cli::algorithms::{FAMILIES, SUPPORT};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

const PARTS: [&str; 7] = ["Idea", "Changed from the rung before", "Bottleneck", "Cost", "Threads", "Limits", "Source"];

/// Most lines of a file of the course, for one sitting, and of the file that holds a family's helpers.
const LINES: usize = 300;
const HELPERS: usize = 420;

/// The library, what several GPUs do, and the program.
const HOST_SOURCES: [&str; 3] = ["host/src", "host/group/src", "host/cli/src"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_path_buf()
}

/// The folders of sources of the packages of kernels, the course's and the library's.
fn kernel_sources() -> Vec<PathBuf> {
    let folders = |path: &str| fs::read_dir(root().join(path)).unwrap().map(|entry| entry.unwrap().path());
    let mut all: Vec<_> = folders("gpu").chain(folders("gpu/library")).map(|folder| folder.join("src")).collect();
    all.retain(|source| source.is_dir());
    all.sort();
    assert!(all.len() > 12, "{all:?}");
    all
}

/// `gpu/bitonic/src/r1_global_step.rs` → (`bitonic`, `global_step`); a folder's `mod.rs` counts by the folder's name.
fn family_and_stem(path: &str) -> (String, String) {
    let path = path.strip_suffix("/mod.rs").or_else(|| path.strip_suffix(".rs")).unwrap();
    let (folder, file) = path.split_once("/src/").unwrap();
    let family = folder.rsplit('/').next().unwrap();
    let (number, stem) = file.split_once('_').unwrap();
    assert!(number.starts_with('r') && number[1..].parse::<u32>().is_ok(), "{path}: a rung's file is rN_name.rs");
    (family.into(), stem.into())
}

/// Whether a row of a ladder is the library's, whose modules have no numbers.
fn is_library(path: &str) -> bool {
    path.starts_with("gpu/library/")
}

#[test]
fn every_rung_file_is_registered_and_every_registered_file_is_there() {
    let registered: BTreeSet<String> =
        FAMILIES.iter().flat_map(|f| &f.rungs).map(|r| r.path()).filter(|path| !is_library(path)).collect();
    let mut found = BTreeSet::new();
    for family in kernel_sources() {
        for entry in fs::read_dir(&family).unwrap().map(|e| e.unwrap().path()) {
            let name = entry.file_name().unwrap().to_string_lossy().to_string();
            let is_rung = name.starts_with('r') && name[1..].starts_with(|c: char| c.is_ascii_digit());
            if is_rung {
                let file = if entry.is_dir() { entry.join("mod.rs") } else { entry };
                found.insert(file.strip_prefix(root()).unwrap().to_string_lossy().replace('\\', "/"));
            }
        }
    }
    assert_eq!(found, registered);
}

#[test]
fn names_are_the_same_everywhere_and_ladders_are_in_order() {
    let mut kernels = BTreeSet::new();
    for family in FAMILIES.iter() {
        let mut last = 0;
        let course = family.rungs.iter().position(|rung| is_library(&rung.path())).unwrap_or(family.rungs.len());
        for rung in &family.rungs[course..] {
            assert!(is_library(&rung.path()), "{} of the course comes after rows of the library", rung.path());
            let stem = rung.name.replace('-', "_");
            assert!(
                rung.path().ends_with(&format!("/src/{stem}.rs")) || rung.path().contains(&format!("/src/{stem}/"))
            );
            for kernel in rung.kernel_names() {
                assert!(kernel.contains(&format!("_{stem}")), "{kernel} of {}", rung.path());
                assert!(kernels.insert(kernel), "{kernel} is registered twice");
            }
        }
        for rung in family.rungs[..course].iter().copied() {
            let (folder, stem) = family_and_stem(&rung.path());
            assert_eq!(folder.replace('_', "-"), family.name, "{}", rung.path());
            assert_eq!(stem.replace('_', "-"), rung.name, "{}", rung.path());
            let number: u32 =
                rung.path().rsplit('/').find_map(|p| p.strip_prefix('r')?.split('_').next()?.parse().ok()).unwrap();
            assert!(number > last, "{} comes after rung {last} in the registry", rung.path());
            last = number;
            assert!(!rung.kernels.is_empty(), "{} {} has no kernel", family.name, rung.name);
            for kernel in rung.kernel_names() {
                let prefix = format!("{folder}_{stem}");
                assert!(kernel.starts_with(&prefix), "{kernel} of {} should begin with {prefix}", rung.path());
                assert!(kernels.insert(kernel), "{kernel} is registered twice");
            }
        }
    }
    for kernel in SUPPORT.iter().flat_map(|(_, kernels)| kernels.concat()) {
        assert!(kernels.insert(kernel), "{kernel} is registered twice");
    }
}

/// What `check-ptx --compare` accepts of a compiler, it accepts of kernels by name.
#[test]
fn known_differences_of_compilers_name_kernels_that_exist() {
    let of_rungs = FAMILIES.iter().flat_map(|family| &family.rungs).flat_map(|rung| rung.kernel_names());
    let kernels: Vec<_> = of_rungs.chain(SUPPORT.iter().flat_map(|(_, kernels)| kernels.concat())).collect();
    assert_eq!(rungs_ptx::backends::stale(&kernels), [""; 0]);
}

#[test]
fn every_head_has_its_parts_in_order() {
    for rung in FAMILIES.iter().flat_map(|f| &f.rungs) {
        let head = rung.head();
        assert!(!head.title.is_empty(), "{} has no title", rung.path());
        let names: Vec<_> = head.parts.iter().map(|(name, _)| name.as_str()).collect();
        if is_library(&rung.path()) {
            // Rows of the library have no rung before, and may have more to say.
            let named: Vec<_> = names.iter().filter(|name| PARTS.contains(name)).copied().collect();
            assert_eq!(named, [&PARTS[..1], &PARTS[2..]].concat(), "{}", rung.path());
        } else {
            assert_eq!(names, PARTS, "{}", rung.path());
        }
        for (name, text) in &head.parts {
            assert!(!text.is_empty(), "{}: {name} is empty", rung.path());
        }
        assert!(!rung.source().is_empty(), "{} names no source", rung.path());
    }
}

/// Calls `check` with each Rust file of a folder and below, and its text.
fn walk(folder: &Path, check: &mut impl FnMut(&Path, &str)) {
    for path in fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()) {
        if path.is_dir() && path.file_name().is_none_or(|name| name != "target") {
            walk(&path, check);
        } else if path.extension().is_some_and(|e| e == "rs") {
            check(&path, &fs::read_to_string(&path).unwrap());
        }
    }
}

#[test]
fn kernels_hold_no_unsafe_code_and_can_be_read_in_one_sitting() {
    kernel_sources().iter().for_each(|source| {
        walk(source, &mut |path, text| {
            let code = text.lines().filter(|l| !l.trim_start().starts_with("//"));
            for line in code {
                assert!(!line.contains("unsafe") && !line.contains("asm!"), "{}: {line}", path.display());
            }
            let lines = text.lines().count();
            let most = if path.ends_with("src/lib.rs") { HELPERS } else { LINES };
            let is_course = !path.components().any(|part| part.as_os_str() == "library");
            assert!(!is_course || lines <= most, "{} has {lines} lines; a reader can take {most}", path.display());
        })
    });
}

/// Most lines of kernel code that a reader follows for a rung of the course: its own, and all that it uses beyond
/// `simt` and the `lib.rs` of its family. Comments, blank lines and launches do not count; a file counts whole.
const FOLLOWED: usize = 400;

/// A module: the crate as paths name it, and the names of its modules.
type Module = Vec<String>;

/// The kernel code of all packages of kernels, by module: without comments, blank lines, launches and tests.
fn kernel_code() -> BTreeMap<Module, String> {
    let mut all = BTreeMap::new();
    for source in kernel_sources() {
        let package = source.parent().unwrap();
        let manifest = fs::read_to_string(package.join("Cargo.toml")).unwrap();
        let name = manifest.lines().find_map(|line| line.strip_prefix("name = ")).unwrap();
        let name = name.trim_matches('"').replace('-', "_");
        walk(&source, &mut |path, text| {
            let mut module = module(&source, path);
            module.retain(|part| part != "lib");
            if module.last().is_some_and(|last| last == "launches" || last == "host") {
                return;
            }
            module.insert(0, name.clone());
            let host = "#[cfg(not(target_os = \"cuda\"))]\n";
            let ends = ["pub mod launches {", "mod launches {", "mod host {", "#[cfg(test)]"];
            let end =
                ends.iter().filter_map(|end| text.find(&format!("\n{host}{end}")).or(text.find(&format!("\n{end}"))));
            let code = text[..end.min().unwrap_or(text.len())].lines().map(|line| line.split("//").next().unwrap());
            let code =
                code.filter(|line| !line.trim().is_empty() && !line.contains("launches::") && line != &host.trim());
            all.insert(module, code.flat_map(|line| [line, "\n"]).collect());
        });
    }
    all
}

/// The paths that code names: those of `use`, with their braces opened, and those in the code that begin with a crate,
/// `crate` or `super`.
fn paths(code: &str) -> Vec<Vec<String>> {
    fn open(before: &[String], tree: &str, all: &mut Vec<Vec<String>>) {
        let (head, group) = tree.split_once('{').map_or((tree, None), |(head, group)| (head, Some(group)));
        let names = head.split(" as ").next().unwrap().split("::").map(str::trim).filter(|name| !name.is_empty());
        let path: Vec<_> = before.iter().cloned().chain(names.map(String::from)).collect();
        let Some(group) = group else { return all.push(path) };
        let (mut depth, mut begin) = (0, 0);
        let group = group.trim_end().strip_suffix('}').unwrap_or(group);
        for (at, c) in group.char_indices().chain([(group.len(), ',')]) {
            match c {
                '{' => depth += 1,
                '}' => depth -= 1,
                ',' if depth == 0 => {
                    open(&path, &group[begin..at], all);
                    begin = at + 1;
                }
                _ => {}
            }
        }
    }
    let mut all = vec![];
    let uses = code.split("use ").skip(1).filter_map(|text| Some(text.split_once(';')?.0));
    uses.for_each(|tree| open(&[], tree, &mut all));
    let words = code.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':'));
    all.extend(words.filter(|word| word.contains("::")).map(|word| word.split("::").map(String::from).collect()));
    all
}

/// The modules that a module's kernel code uses, other than the roots of crates.
fn used(code: &BTreeMap<Module, String>, from: &Module) -> BTreeSet<Module> {
    let mut found = BTreeSet::new();
    for path in paths(&code[from]) {
        let mut at = match path[0].as_str() {
            "crate" => from[..1].to_vec(),
            "super" | "self" => from.clone(),
            // A child of this module, or another crate.
            name if code.contains_key(&[&from[..], &[name.to_string()]].concat()) => [&from[..], &path[..1]].concat(),
            name => vec![name.to_string()],
        };
        let mut rest = &path[if matches!(path[0].as_str(), "super" | "self") { 0 } else { 1 }..];
        while let [name @ ("super" | "self"), ..] = rest.iter().map(|part| &**part).collect::<Vec<_>>()[..] {
            if name == "super" {
                at.pop();
            }
            rest = &rest[1..];
        }
        while let Some(name) = rest.first().filter(|name| code.contains_key(&[&at[..], &[name.to_string()]].concat())) {
            at.push(name.clone());
            rest = &rest[1..];
        }
        if at.len() > 1 && code.contains_key(&at) {
            found.insert(at);
        }
    }
    found
}

/// Lines of kernel code that a reader follows from a module.
fn followed(code: &BTreeMap<Module, String>, from: &Module) -> (usize, BTreeSet<Module>) {
    let (mut reached, mut open) = (BTreeSet::from([from.clone()]), vec![from.clone()]);
    // A folder is read whole.
    for module in code.keys().filter(|module| module.starts_with(from)) {
        reached.insert(module.clone());
        open.push(module.clone());
    }
    while let Some(next) = open.pop() {
        for module in used(code, &next) {
            if reached.insert(module.clone()) {
                open.push(module);
            }
        }
    }
    (reached.iter().map(|module| code[module].lines().count()).sum(), reached)
}

#[test]
fn a_rung_of_the_course_is_followed_within_its_file_and_few_others() {
    let (code, mut table, mut long) = (kernel_code(), vec![], vec![]);
    for module in code.keys().filter(|module| module.len() == 2) {
        let numbered = module[1].strip_prefix('r').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
        if numbered {
            let (lines, reached) = followed(&code, module);
            table.push(format!("{lines:5} {}", module.join("::")));
            if lines > FOLLOWED {
                long.push(format!("{}: {lines} lines in {reached:#?}", module.join("::")));
            }
        }
    }
    println!("{}", table.join("\n"));
    assert!(table.len() > 50, "{table:#?}");
    assert!(long.is_empty(), "a reader follows {FOLLOWED} lines at most:\n{}", long.join("\n"));
}

#[test]
fn paths_are_opened() {
    let of = |code: &str| paths(code).into_iter().map(|path| path.join("::")).collect::<Vec<_>>();
    assert_eq!(of("use super::{a, b::{c, d as e}};")[..3], ["super::a", "super::b::c", "super::b::d"]);
    assert!(of("let x = crate::y::z(1);").contains(&"crate::y::z".to_string()));
}

/// Columns of a line at most; comments too.
const COLUMNS: usize = 120;

#[test]
fn lines_fit_a_screen() {
    let mut long = vec![];
    for folder in ["bench", "examples", "exercises", "gallery", "gpu", "host", "simt", "tests", "xtask"] {
        walk(&root().join(folder), &mut |path, text| {
            for (number, line) in (1..).zip(text.lines()) {
                let columns = line.chars().count();
                if columns > COLUMNS {
                    long.push(format!("{}:{number} has {columns} columns", path.display()));
                }
            }
        });
    }
    assert!(long.is_empty(), "{}", long.join("\n"));
}

/// A kernel belongs to its rung: the host meets it through the ladder.
#[test]
fn the_host_names_no_kernel_of_a_rung() {
    let names = |text: &str| {
        let words = text.split(|c: char| !(c.is_alphanumeric() || c == '_')).map(String::from);
        words.collect::<BTreeSet<_>>()
    };
    for source in HOST_SOURCES {
        walk(&root().join(source), &mut |path, text| {
            let used = names(text);
            for rung in FAMILIES.iter().flat_map(|family| &family.rungs) {
                let named: Vec<_> = rung.kernel_names().filter(|kernel| used.contains(*kernel)).collect();
                assert!(named.is_empty(), "{} names the kernels {named:?}", path.display());
            }
        });
    }
}

/// The module of a file below `src`: `["radix", "steps"]`.
fn module(source: &Path, file: &Path) -> Vec<String> {
    let path = file.strip_prefix(source).unwrap().with_extension("");
    path.iter().map(|part| part.to_str().unwrap().to_string()).filter(|part| part != "mod").collect()
}

/// Which files of a crate use which. A folder's `mod.rs` and the files of that folder are one thing: what they take
/// from each other does not count.
fn uses(source: &Path) -> BTreeMap<Vec<String>, BTreeSet<Vec<String>>> {
    let mut texts = BTreeMap::new();
    walk(source, &mut |path, text| {
        // A file's own tests are a module inside it, with a `super` of their own.
        let text = text.split("\n#[cfg(test)]").next().unwrap_or_default();
        let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
        texts.insert(module(source, path), code.map(|line| format!("{line}\n")).collect::<String>());
    });
    let is_one_thing = |a: &[String], b: &[String]| a.starts_with(b) || b.starts_with(a);
    let mut uses = BTreeMap::new();
    for (from, text) in &texts {
        let mut targets = BTreeSet::new();
        let words = text.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':'));
        for word in words.filter(|word| word.contains("::")) {
            let mut parts = word.split("::").filter(|part| !part.is_empty()).peekable();
            let mut at = match parts.next() {
                Some("crate") => vec![],
                Some("super") => from[..from.len().saturating_sub(1)].to_vec(),
                _ => continue,
            };
            while parts.next_if_eq(&"super").is_some() {
                at.pop();
            }
            while let Some(part) = parts.next_if(|part| texts.contains_key(&[&at[..], &[part.to_string()]].concat())) {
                at.push(part.to_string());
            }
            if !at.is_empty() && texts.contains_key(&at) && !is_one_thing(&at, from) {
                targets.insert(at);
            }
        }
        uses.insert(from.clone(), targets);
    }
    uses
}

#[test]
fn files_use_each_other_in_one_direction() {
    // The simulator is looked at by a test of its own, which knows why its files are a circle.
    let others = ["host/driver/src", "bench/report/src", "xtask/src", "xtask/ptx/src"];
    let others = HOST_SOURCES.into_iter().chain(others).map(|source| root().join(source));
    for source in kernel_sources().into_iter().chain(others) {
        let (uses, source) = (uses(&source), source.display());
        for start in uses.keys() {
            let (mut reached, mut open) = (BTreeSet::new(), vec![start]);
            while let Some(next) = open.pop() {
                for file in &uses[next] {
                    assert!(file != start, "{source}: {start:?} uses itself, by way of {next:?}: {:#?}", uses[next]);
                    if reached.insert(file) {
                        open.push(file);
                    }
                }
            }
        }
    }
    let known = uses(&root().join("gpu/bitonic/src"));
    let module = |path: &str| path.split("::").map(String::from).collect::<Vec<_>>();
    assert!(known[&module("r2_shared_step")].contains(&module("r1_global_step")), "{known:#?}");
}

/// The functions are in the files that docs/rungs.md names, from the command to the driver.
#[test]
fn the_path_of_a_launch_is_the_documented_one() {
    let page = fs::read_to_string(root().join("docs/rungs.md")).unwrap();
    let (_, path) = page.split_once("## From the command to the driver").unwrap();
    let (mut functions, mut files) = (0, BTreeSet::new());
    for row in path.lines().take_while(|line| !line.starts_with("##")).filter(|line| line.starts_with("| `")) {
        let cells: Vec<_> = row.split('|').collect();
        let (_, file) = cells[2].trim().trim_end_matches(')').split_once("](../").unwrap();
        let text = fs::read_to_string(root().join(file)).unwrap();
        for function in cells[1].split('`').skip(1).step_by(2) {
            let name = function.rsplit("::").next().unwrap();
            let is_there = ["(", "<"].iter().any(|next| text.contains(&format!("fn {name}{next}")));
            assert!(is_there, "{file} has no function {name}");
            functions += 1;
        }
        files.insert(file.to_owned());
    }
    // Ten calls, by way of six files and the driver's.
    assert_eq!((functions, files.len()), (11, 7), "{files:?}");
}

/// A file is a module of `vectors`, or no test of it runs.
#[test]
fn every_test_of_vectors_is_run() {
    let vectors = root().join("tests/tests/vectors");
    let modules = fs::read_to_string(vectors.join("main.rs")).unwrap();
    let files = fs::read_dir(vectors).unwrap().map(|entry| entry.unwrap().path());
    let stems: BTreeSet<_> = files.map(|path| path.file_stem().unwrap().to_string_lossy().into_owned()).collect();
    assert!(stems.len() > 10, "{stems:?}");
    let is_run = |stem: &str| stem == "main" || modules.contains(&format!("\nmod {stem};\n"));
    let lacking: Vec<_> = stems.iter().filter(|stem| !is_run(stem)).collect();
    assert!(lacking.is_empty(), "run by no test: {lacking:?}");
}
