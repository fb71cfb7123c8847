//! Makes a module of each answer, with the check of its exercise: stubs, solutions and wrong answers, and a list of
//! them.

use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() {
    let exercises = PathBuf::from(env::var("CARGO_MANIFEST_DIR").unwrap()).parent().unwrap().to_path_buf();
    let checks = names(&exercises.join("checks"));
    let (mut modules, mut list) = (String::new(), String::new());
    // A stub has parts that the reader will need; a wrong answer may be wrong in a way that clippy sees too.
    for (kind, allowed) in
        [("stubs", "#[allow(unused)]"), ("solutions", ""), ("wrong", "#[allow(unused, clippy::all)]")]
    {
        for answer in names(&exercises.join(kind)) {
            let number = answer.split('_').next().unwrap();
            let mut of_number = checks.iter().filter(|check| check.split('_').next() == Some(number));
            let check = of_number.next().unwrap_or_else(|| panic!("{kind}/{answer}.rs belongs to no check"));
            assert!(of_number.next().is_none(), "two checks have the number {number}");
            let module = format!("{kind}_{answer}");
            let path = |folder: &str, name: &str| exercises.join(folder).join(format!("{name}.rs"));
            let (answers, checks) = (path(kind, &answer), path("checks", check));
            modules += &format!(
                "mod {module} {{\n    #[path = {answers:?}]\n    {allowed} pub mod answer;\n    \
                 #[path = {checks:?}]\n    pub mod check;\n}}\n"
            );
            list += &format!(
                "    Answer {{ kind: {kind:?}, name: {answer:?}, text: include_str!({answers:?}), \
                 exercise: &{module}::check::EXERCISE }},\n"
            );
        }
    }
    let to = PathBuf::from(env::var("OUT_DIR").unwrap()).join("answers.rs");
    fs::write(to, format!("{modules}\n/// All answers.\npub static ANSWERS: &[Answer] = &[\n{list}];\n")).unwrap();
}

/// The names of a folder's Rust files, in order.
fn names(folder: &Path) -> Vec<String> {
    println!("cargo::rerun-if-changed={}", folder.display());
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = files.filter_map(|file| Some(file.strip_suffix(".rs")?.to_string())).collect();
    names.sort();
    names
}
