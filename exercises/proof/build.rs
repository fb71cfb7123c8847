//! Makes a module of each answer, with the check of its exercise: stubs, solutions and wrong answers, and a list of
//! them.

use rungs_learn_source::{Answer, answers};
use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() {
    let exercises = PathBuf::from(env::var("CARGO_MANIFEST_DIR").unwrap()).parent().unwrap().to_path_buf();
    for folder in ["solutions", "stubs", "wrong", "checks"] {
        println!("cargo::rerun-if-changed={}", exercises.join(folder).display());
    }
    let out = PathBuf::from(env::var("OUT_DIR").unwrap());
    match answers(&exercises, &out) {
        Ok(all) => fs::write(out.join("answers.rs"), modules(&exercises, &all)).unwrap(),
        Err(why) => println!("cargo::error={why}"),
    }
}

fn modules(exercises: &Path, all: &[Answer]) -> String {
    let (mut modules, mut list) = (String::new(), String::new());
    for Answer { kind, name, exercise, file } in all {
        // A stub has parts that the reader will need; a wrong answer may be wrong in a way that clippy sees too.
        let allowed = match *kind {
            "stubs" => "#[allow(unused)]",
            "wrong" => "#[allow(unused, clippy::all)]",
            _ => "",
        };
        let (module, check) = (format!("{kind}_{name}"), exercises.join("checks").join(format!("{exercise}.rs")));
        modules += &format!(
            "mod {module} {{\n    #[path = {file:?}]\n    {allowed} pub mod answer;\n    \
             #[path = {check:?}]\n    pub mod check;\n}}\n"
        );
        list += &format!(
            "    Answer {{ kind: {kind:?}, name: {name:?}, text: include_str!({file:?}), \
             exercise: &{module}::check::EXERCISE }},\n"
        );
    }
    format!("{modules}\n/// All answers.\npub static ANSWERS: &[Answer] = &[\n{list}];\n")
}
