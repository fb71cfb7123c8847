//! Compiles the answers to PTX, and makes a module of each with the check of its exercise.

use rungs_learn_source::Answer;
use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() {
    println!("cargo::rerun-if-env-changed=RUNGS_LEARN_ANSWER");
    let kernels = env::var_os("DEP_RUNGS_LEARN_GPU_KERNELS_MANIFEST").expect("the kernels' package says where it is");
    rungs_ptx::embed_from_build_script(&kernels);
    let exercises = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../exercises");
    let checks = exercises.join("checks");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    let mut answers = String::new();
    match env::var_os("RUNGS_LEARN_ANSWER").map(PathBuf::from) {
        Some(answer) => {
            println!("cargo::rerun-if-changed={}", answer.display());
            let name = answer.file_stem().and_then(|name| name.to_str()).expect("an answer's name is text");
            answers += &module("answer", &answer, "answers", name, &checks);
        }
        None => {
            for folder in ["solutions", "stubs", "wrong", "checks"] {
                println!("cargo::rerun-if-changed={}", exercises.join(folder).display());
            }
            // The kernels' build script has told what is wrong with a file, if anything is.
            for Answer { kind, name, exercise, file } in rungs_learn_source::answers(&exercises, &out).unwrap() {
                answers += &module(&format!("{kind}_{name}"), &file, kind, &exercise, &checks);
            }
        }
    }
    let to = out.join("answers.rs");
    fs::write(&to, format!("[\n{answers}]\n")).unwrap_or_else(|e| panic!("{}: {e}", to.display()));
}

/// An answer with its check, as an expression: its module is a block's.
fn module(module: &str, file: &Path, kind: &str, check: &str, checks: &Path) -> String {
    let check = checks.join(format!("{check}.rs"));
    println!("cargo::rerun-if-changed={}", check.display());
    let name = file.file_stem().unwrap_or_default();
    format!(
        "    {{\n        mod exercise {{\n            pub use rungs_learn_gpu_kernels::{module} as answer;\n\
         #[path = {check:?}]\n            pub mod check;\n        }}\n\
         Answer {{ kind: {kind:?}, name: {name:?}, text: include_str!({file:?}), \
         exercise: &exercise::check::EXERCISE }}\n    }},\n"
    )
}
