//! The files of this crate use each other in one direction, except where a comment says why not.

use quote::ToTokens;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use syn::{Item, UseTree};

/// The simulator's files are one thing in several files; its mod.rs says why.
const MAY_BE_A_CIRCLE: &str = "sim";

/// The files of a folder and below, without lib.rs.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let paths = entries.map(|entry| entry.unwrap().path());
    paths.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

/// The module of a file, as a path below the crate: `["sim", "launch"]`.
fn module(source: &Path, file: &Path) -> Vec<String> {
    let path = file.strip_prefix(source).unwrap().with_extension("");
    path.iter().map(|part| part.to_str().unwrap().to_string()).filter(|part| part != "mod").collect()
}

/// The paths that a `use` brings in.
fn used(tree: &UseTree, before: &[String], paths: &mut Vec<Vec<String>>) {
    let with = |name: &syn::Ident| [before, &[name.to_string()]].concat();
    match tree {
        UseTree::Path(path) => used(&path.tree, &with(&path.ident), paths),
        UseTree::Group(group) => group.items.iter().for_each(|tree| used(tree, before, paths)),
        UseTree::Name(name) => paths.push(with(&name.ident)),
        UseTree::Rename(rename) => paths.push(with(&rename.ident)),
        UseTree::Glob(_) => paths.push(before.to_vec()),
    }
}

/// The paths from `crate` or `super` that a file names: those of its `use` items, and those within its text.
fn paths(items: &[Item]) -> Vec<Vec<String>> {
    let mut paths = vec![];
    for item in items {
        if let Item::Use(u) = item {
            used(&u.tree, &[], &mut paths);
            continue;
        }
        let text = item.to_token_stream().to_string().replace(" :: ", "::");
        let words = text.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':'));
        paths.extend(words.map(|word| word.split("::").map(str::to_string).collect::<Vec<_>>()));
    }
    paths.retain(|path| path.len() > 1 && (path[0] == "crate" || path[0] == "super"));
    paths
}

/// Which modules each module uses.
fn uses() -> BTreeMap<String, BTreeSet<String>> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let parsed: Vec<(Vec<String>, Vec<Item>)> = files(&source)
        .iter()
        .map(|file| {
            // A link in the docs does not count as use.
            let text = std::fs::read_to_string(file).unwrap();
            let text: String =
                text.lines().filter(|l| !l.trim_start().starts_with("//")).map(|l| format!("{l}\n")).collect();
            (module(&source, file), syn::parse_file(&text).unwrap().items)
        })
        .collect();
    let modules: BTreeSet<String> = parsed.iter().map(|(module, _)| module.join("::")).collect();
    // Re-exports of lib.rs are resolved by the crate's own name for them.
    let root = &parsed.iter().find(|(module, _)| module == &["lib"]).expect("there is a lib.rs").1;
    let mut exports = BTreeMap::from([("Backend".to_string(), "machine".to_string())]);
    for item in root {
        let Item::Use(u) = item else { continue };
        let mut paths = vec![];
        used(&u.tree, &[], &mut paths);
        let names = paths.into_iter().filter(|path| path.len() == 2 && modules.contains(&path[0]));
        exports.extend(names.map(|path| (path[1].clone(), path[0].clone())));
    }
    let mut uses = BTreeMap::new();
    for (module, items) in parsed.iter().filter(|(module, _)| module != &["lib"]) {
        let mut targets = BTreeSet::new();
        for path in paths(items) {
            let mut at = if path[0] == "super" { module[..module.len() - 1].to_vec() } else { vec![] };
            let mut found = modules.contains(&at.join("::")).then(|| at.join("::"));
            for name in &path[1..] {
                at.push(name.clone());
                let here = at.join("::");
                found = match exports.get(&here) {
                    Some(file) => Some(file.clone()),
                    None if modules.contains(&here) => Some(here),
                    None => break,
                };
            }
            targets.extend(found.filter(|file| *file != module.join("::")));
        }
        uses.insert(module.join("::"), targets);
    }
    uses
}

#[test]
fn no_circle_of_files_but_the_simulators() {
    let uses = uses();
    assert!(uses["global"].contains("machine") && uses["sim::launch"].contains("sim::block"), "{uses:#?}");
    for start in uses.keys() {
        let (mut reached, mut open) = (BTreeSet::new(), vec![start]);
        while let Some(next) = open.pop() {
            for file in &uses[next] {
                let folder = |name: &str| name.split("::").next() == Some(MAY_BE_A_CIRCLE);
                assert!(file != start || folder(start), "{start} uses itself, by way of {next}: {:#?}", uses[next]);
                if reached.insert(file) {
                    open.push(file);
                }
            }
        }
    }
}
