//! Makes the reader's file a module: the one that `RUNGS_ANSWER` names, or what a scan begins with. And tells the
//! program's build script where this package is.

use std::path::PathBuf;
use std::{env, fs};

fn main() {
    println!("cargo::rerun-if-env-changed=RUNGS_ANSWER");
    println!("cargo::metadata=manifest={}/Cargo.toml", env!("CARGO_MANIFEST_DIR"));
    let folder = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let answer = env::var_os("RUNGS_ANSWER").map_or_else(|| folder.join("src/starts/scan.rs"), PathBuf::from);
    println!("cargo::rerun-if-changed={}", answer.display());
    let to = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it")).join("answer.rs");
    let module = format!("#[path = {answer:?}]\npub mod answer;\n");
    fs::write(&to, module).unwrap_or_else(|e| panic!("{}: {e}", to.display()));
}
