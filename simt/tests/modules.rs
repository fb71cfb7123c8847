//! The files of this crate use each other in one direction, and those who watch a simulated block do not know it.

use quote::ToTokens;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use syn::{Item, UseTree, Visibility};

/// The watchers, each with the files of the simulator that it may use, by way of others too.
const WATCHERS: [(&str, &[&str]); 3] = [
    ("sim::check", &["error", "finding", "map", "memory", "observe", "words"]),
    ("sim::stats", &["observe"]),
    ("sim::observe", &[]),
];

/// The parts of a block, which report to no watcher: the block does, through `sim::watchers`.
const PARTS: [&str; 8] = ["barrier", "mbarrier", "registers", "shared", "spin", "threads", "waits", "warp"];

/// A path in the source, name by name.
type Names = Vec<String>;

/// The files of a folder and below.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let paths = entries.map(|entry| entry.unwrap().path());
    paths.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

/// The module of a file, as a path below the crate: `["sim", "launch"]`; of lib.rs the empty one.
fn module(source: &Path, file: &Path) -> Names {
    let path = file.strip_prefix(source).unwrap().with_extension("");
    let names = path.iter().map(|part| part.to_str().unwrap().to_string());
    names.filter(|part| part != "mod" && part != "lib").collect()
}

/// The paths that a `use` brings in, each with its name here.
fn used(tree: &UseTree, before: &[String], paths: &mut Vec<(String, Names)>) {
    let with = |name: &syn::Ident| [before, &[name.to_string()]].concat();
    match tree {
        UseTree::Path(path) => used(&path.tree, &with(&path.ident), paths),
        UseTree::Group(group) => group.items.iter().for_each(|tree| used(tree, before, paths)),
        UseTree::Name(name) if name.ident == "self" => paths.push((before.last().unwrap().clone(), before.to_vec())),
        UseTree::Name(name) => paths.push((name.ident.to_string(), with(&name.ident))),
        UseTree::Rename(rename) => paths.push((rename.rename.to_string(), with(&rename.ident))),
        UseTree::Glob(_) => paths.push(("*".into(), before.to_vec())),
    }
}

/// One file: what its `use` items bring in, and whether for others alone; and the paths that stand in its text.
struct File {
    imports: Vec<(String, Names, bool)>,
    text: Vec<Names>,
}

impl File {
    fn new(path: &Path) -> Self {
        // A link in the docs does not count as use.
        let text = std::fs::read_to_string(path).unwrap();
        let text: String =
            text.lines().filter(|l| !l.trim_start().starts_with("//")).map(|l| format!("{l}\n")).collect();
        let (mut imports, mut words) = (vec![], vec![]);
        for item in syn::parse_file(&text).unwrap().items {
            if let Item::Use(u) = &item {
                let mut paths = vec![];
                used(&u.tree, &[], &mut paths);
                let exported = !matches!(u.vis, Visibility::Inherited);
                imports.extend(paths.into_iter().map(|(name, path)| (name, path, exported)));
                continue;
            }
            let text = item.to_token_stream().to_string().replace(" :: ", "::");
            // Who may see an item is no use of anything.
            let text = text.replace("(in crate::sim)", "").replace("(in super::super)", "");
            let paths = text.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':'));
            let paths = paths.map(|path| path.split("::").map(str::to_string).collect::<Names>());
            match item {
                Item::Mod(inside) if inside.attrs.iter().any(|a| quote::quote!(#a).to_string() == "# [cfg (test)]") => {
                }
                // The parent of a module in this file is this one.
                Item::Mod(_) => words.extend(paths.map(|path| path[usize::from(path[0] == "super")..].to_vec())),
                _ => words.extend(paths),
            }
        }
        Self { imports, text: words }
    }
}

/// A path from the crate's root, if it is one of this crate's.
fn absolute(module: &[String], path: &[String], modules: &BTreeMap<Names, File>) -> Option<Names> {
    match path[0].as_str() {
        "crate" => Some(path[1..].to_vec()),
        "super" => {
            let up = path.iter().take_while(|name| *name == "super").count();
            Some([&module[..module.len().checked_sub(up)?], &path[up..]].concat())
        }
        name => {
            let inside = [module, &[name.to_string()]].concat();
            modules.contains_key(&inside).then(|| [module, path].concat())
        }
    }
}

/// The module in whose file the thing at a path is, through what other modules re-export.
fn resolved(path: &[String], exports: &BTreeMap<Names, Names>, modules: &BTreeMap<Names, File>) -> Names {
    let mut at = vec![];
    for (i, name) in path.iter().enumerate() {
        let next = [&at[..], std::slice::from_ref(name)].concat();
        match exports.get(&next) {
            _ if modules.contains_key(&next) => at = next,
            Some(from) => return resolved(&[&from[..], &path[i + 1..]].concat(), exports, modules),
            None => break,
        }
    }
    at
}

/// Which modules each module uses. What it re-exports it uses only if its text names it.
fn uses() -> BTreeMap<String, BTreeSet<String>> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let modules: BTreeMap<Names, File> =
        files(&source).iter().map(|file| (module(&source, file), File::new(file))).collect();
    // A backend stands for the trait: lib.rs says why.
    let mut exports = BTreeMap::from([(vec!["Backend".to_string()], vec!["machine".to_string()])]);
    for (module, file) in &modules {
        for (name, path, _) in file.imports.iter().filter(|(_, _, exported)| *exported) {
            if let Some(path) = absolute(module, path, &modules) {
                exports.entry([&module[..], std::slice::from_ref(name)].concat()).or_insert(path);
            }
        }
    }
    let mut uses = BTreeMap::new();
    for (module, file) in modules.iter().filter(|(module, _)| !module.is_empty()) {
        let mut paths: Vec<Names> = vec![];
        for (name, path, exported) in &file.imports {
            let named: Vec<_> = file.text.iter().filter(|words| words.first() == Some(name)).collect();
            // `check::active` is what `active` is, wherever that is from.
            paths.extend(named.iter().map(|words| [&path[..], &words[1..]].concat()));
            if !exported {
                paths.push(path.clone());
            }
        }
        paths.extend(file.text.iter().filter(|path| path.len() > 1).cloned());
        let found = paths.iter().filter_map(|path| absolute(module, path, &modules));
        let targets = found.map(|path| resolved(&path, &exports, &modules));
        let others = targets.filter(|target| !target.is_empty() && target != module).map(|target| target.join("::"));
        uses.insert(module.join("::"), others.collect());
    }
    uses
}

/// The modules that `start` uses, by way of others too.
fn reached<'a>(uses: &'a BTreeMap<String, BTreeSet<String>>, start: &'a str) -> BTreeSet<&'a str> {
    let (mut reached, mut open) = (BTreeSet::new(), vec![start]);
    while let Some(next) = open.pop() {
        open.extend(uses[next].iter().map(String::as_str).filter(|file| reached.insert(*file)));
    }
    reached
}

#[test]
fn no_circle_of_files() {
    let uses = uses();
    assert!(uses["global"].contains("machine") && uses["sim::launch"].contains("sim::block"), "{uses:#?}");
    // Through a re-export, and by a function of a module that is brought in.
    assert!(uses["sim::block"].contains("sim::check::session"), "{:#?}", uses["sim::block"]);
    assert!(uses["sim::launch"].contains("sim::limit"), "{:#?}", uses["sim::launch"]);
    let circle: Vec<_> = uses.keys().filter(|file| reached(&uses, file).contains(&file[..])).collect();
    let within = |file: &&String| (file.to_string(), uses[*file].iter().filter(|to| circle.contains(to)).collect());
    let circle: Vec<(String, Vec<&String>)> = circle.iter().map(within).collect();
    assert!(circle.is_empty(), "files that use themselves by way of others, with what they use of these: {circle:#?}");
}

/// The checker, the statistics and observers can be read without the scheduler, and the parts of a block without them.
#[test]
fn watchers_and_the_scheduler_meet_at_one_seam() {
    let uses = uses();
    let is_in =
        |file: &str, module: &str| file.strip_prefix(module).is_some_and(|r| r.is_empty() || r.starts_with(':'));
    for (watcher, allowed) in WATCHERS {
        let files: Vec<_> = uses.keys().filter(|file| is_in(file, watcher)).collect();
        assert!(!files.is_empty(), "there is no {watcher}");
        for file in files {
            for to in reached(&uses, file).into_iter().filter(|to| is_in(to, "sim") && !is_in(to, watcher)) {
                assert!(allowed.contains(&to.trim_start_matches("sim::")), "{file} uses {to}: {:#?}", uses[file]);
            }
        }
    }
    for part in PARTS {
        for to in reached(&uses, &format!("sim::{part}")) {
            let watcher = ["sim::check", "sim::stats", "sim::watchers"].iter().find(|watcher| is_in(to, watcher));
            assert!(watcher.is_none(), "sim::{part} uses {to}");
        }
    }
}
