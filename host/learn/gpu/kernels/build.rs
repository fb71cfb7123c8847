//! Makes a module of each answer: of the one that `RUNGS_LEARN_ANSWER` names, or of all that the project knows. And
//! tells the program's build script where this package is.

use rungs_learn_source::{Answer, answers};
use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() {
    println!("cargo::rerun-if-env-changed=RUNGS_LEARN_ANSWER");
    println!("cargo::metadata=manifest={}/Cargo.toml", env!("CARGO_MANIFEST_DIR"));
    let folder = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    let modules = match env::var_os("RUNGS_LEARN_ANSWER").map(PathBuf::from) {
        Some(answer) => {
            println!("cargo::rerun-if-changed={}", answer.display());
            Ok(format!("#[path = {answer:?}]\npub mod answer;\n"))
        }
        None => all(&folder.join("../../../../exercises"), &out),
    };
    match modules {
        Ok(modules) => write(&out.join("answers.rs"), &modules),
        Err(why) => println!("cargo::error={why}"),
    }
}

/// Modules of all answers of the exercises. Kernels of several answers have one name, and a file of PTX has each name
/// once: the copies that are compiled here have kernels whose names begin with those of their modules.
fn all(exercises: &Path, out: &Path) -> Result<String, String> {
    let mut modules = String::new();
    for folder in ["solutions", "stubs", "wrong", "checks"] {
        println!("cargo::rerun-if-changed={}", exercises.join(folder).display());
    }
    for Answer { kind, name, file, .. } in answers(exercises, out)? {
        let module = format!("{kind}_{name}");
        let text = fs::read_to_string(&file).map_err(|e| format!("{}: {e}", file.display()))?;
        let copy = out.join(&module).with_extension("rs");
        write(&copy, &renamed(&text, &module));
        modules += &format!("#[path = {copy:?}]\npub mod {module};\n");
    }
    Ok(modules)
}

/// An answer whose kernels have longer names, and are known by their own ones too.
fn renamed(text: &str, module: &str) -> String {
    let (mut made, mut own_names, mut is_kernel, mut condition) = (String::new(), String::new(), false, "");
    for line in text.lines() {
        let name = line.split_once("fn ").filter(|_| is_kernel).and_then(|(before, after)| {
            let end = after.find(|c: char| !c.is_alphanumeric() && c != '_')?;
            Some((before, &after[..end], &after[end..]))
        });
        match name {
            Some((visibility, name, rest)) => {
                made += &format!("{visibility}fn {module}_{name}{rest}\n");
                own_names += condition;
                own_names += &format!("{visibility}use self::{module}_{name} as {name};\n");
                is_kernel = false;
            }
            None => {
                made += &format!("{line}\n");
                if line.starts_with("#[kernel") {
                    is_kernel = true;
                    // Such a kernel is not there for an older GPU.
                    condition = match (line.contains("sm_90a"), line.contains("sm_90")) {
                        (true, _) => "#[cfg(any(not(target_os = \"cuda\"), sm_90a))]\n",
                        (_, true) => "#[cfg(any(not(target_os = \"cuda\"), sm_90))]\n",
                        _ => "",
                    };
                }
            }
        }
    }
    assert!(!own_names.is_empty() && !is_kernel, "{module}: a kernel's name could not be read");
    made + &own_names
}

fn write(path: &Path, text: &str) {
    fs::write(path, text).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
}
