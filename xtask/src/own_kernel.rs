//! The crates in `examples`, built and run like a user's crate: outside of this folder, whose settings for cargo would
//! otherwise apply to them too.

use crate::{project, shell};
use anyhow::{Context, Result};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

/// The template, below the workspace's folder.
const TEMPLATE: &str = "examples/own-kernel";

/// A crate that calls the library's algorithms with its own functor, order and operator.
const OPERATIONS: &str = "examples/own-operations";

/// Tests both crates, and runs the template's program.
pub fn run() -> Result<()> {
    test(TEMPLATE, &[&["test"], &["run"]])?;
    test(OPERATIONS, &[&["test"]])
}

/// Checks a crate's format, copies it away, and makes cargo's calls there.
fn test(example: &str, calls: &[&[&str]]) -> Result<()> {
    // The format is checked here, by this project's style.
    let manifest = format!("{example}/Cargo.toml");
    shell::run(shell::cargo(&["fmt", "--all", "--check", "--manifest-path", &manifest]))?;
    let folder = place();
    fs::remove_dir_all(&folder).ok();
    copy(&project::root().join(example), &folder)?;
    // The versions that the project is tested with. Cargo removes the packages that are not needed and adds the
    // example's.
    let lock = folder.join("Cargo.lock");
    fs::copy(project::root().join("Cargo.lock"), &lock).with_context(|| lock.display().to_string())?;
    let ran = calls.iter().try_for_each(|args| shell::run(cargo(&folder, args)));
    fs::remove_dir_all(&folder).ok();
    ran
}

/// The folder of the copy: the same at each call, so that cargo rebuilds only changed files; a different one per clone.
fn place() -> PathBuf {
    let mut hasher = DefaultHasher::new();
    project::root().hash(&mut hasher);
    env::temp_dir().join(format!("rungs-own-kernel-{:016x}", hasher.finish()))
}

fn cargo(folder: &Path, args: &[&str]) -> Command {
    let mut command = shell::cargo(args);
    // The example's own kernels are compiled for a GPU all the same.
    shell::reuse_ptx(&mut command);
    command
        .current_dir(folder)
        .env("CARGO_TARGET_DIR", project::target().join("own-kernel"))
        // This project's settings for cargo set these variables; the example has to build without them.
        .env_remove("CUDA_LIBRARY_PATH");
    command
}

/// Copies a folder without cargo's outputs; paths to this project become absolute.
fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to).with_context(|| format!("{} cannot be made", to.display()))?;
    for entry in fs::read_dir(from).with_context(|| format!("{} cannot be read", from.display()))? {
        let (path, name) = entry.map(|entry| (entry.path(), entry.file_name()))?;
        let to = to.join(&name);
        if name == "target" || name == "Cargo.lock" {
            continue;
        }
        let copied = if path.is_dir() {
            copy(&path, &to)
        } else if name == "Cargo.toml" {
            fs::read_to_string(&path)
                .and_then(|text| fs::write(&to, absolute(&text, project::root())))
                .map_err(Into::into)
        } else {
            fs::copy(&path, &to).map(drop).map_err(Into::into)
        };
        copied.with_context(|| format!("{} to {}", path.display(), to.display()))?;
    }
    Ok(())
}

/// A manifest with the paths that lead out of the example made absolute.
fn absolute(manifest: &str, root: &Path) -> String {
    let root = format!("\"{}/", root.display());
    manifest.replace("\"../../../", &root).replace("\"../../", &root)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_out_of_the_example_become_absolute() {
        let manifest = "a = { path = \"../../host\" }\nb = { path = \"../../../simt\" }\nc = { path = \"kernels\" }\n";
        let expected = "a = { path = \"/r/host\" }\nb = { path = \"/r/simt\" }\nc = { path = \"kernels\" }\n";
        assert_eq!(absolute(manifest, Path::new("/r")), expected);
    }

    /// The page has the same replacement as a command.
    #[test]
    fn the_page_s_command_makes_the_same_paths() {
        let page = fs::read_to_string(project::root().join("docs/own-kernels.md")).unwrap();
        let command = page.lines().find(|line| line.starts_with("sed -i.bak ")).expect("the page has the command");
        let expression = command.split('"').nth(1).unwrap().replace("$PWD/rungs", "/r");
        for manifest in ["Cargo.toml", "kernels/Cargo.toml"] {
            let path = project::root().join(TEMPLATE).join(manifest);
            let mut sed = shell::command("sed", &[&expression]);
            sed.arg(&path);
            let want = absolute(&fs::read_to_string(&path).unwrap(), Path::new("/r"));
            assert_eq!(shell::capture(sed).unwrap().trim_end(), want.trim_end(), "{manifest}");
        }
    }

    /// The page's command for a dependency by git leaves no path to this project, and names only packages that
    /// cargo finds.
    #[test]
    fn the_page_s_command_for_git_replaces_all_paths() {
        let page = fs::read_to_string(project::root().join("docs/own-kernels.md")).unwrap();
        let command = page.lines().find(|line| line.contains("git = ")).expect("the page has the command");
        let expression = command.strip_prefix("sed -i.bak -E \"").unwrap().split("\" own-kernel").next().unwrap();
        let expression = expression.replace("\\\"", "\"").replace("$address", "https://h/r");
        for (manifest, count) in [("Cargo.toml", 3), ("kernels/Cargo.toml", 1)] {
            let mut sed = shell::command("sed", &["-E", &expression]);
            sed.arg(project::root().join(TEMPLATE).join(manifest));
            let text = shell::capture(sed).unwrap();
            assert_eq!(text.matches("= { git = \"https://h/r\" }").count(), count, "{text}");
            assert!(!text.contains("\"../"), "{text}");
        }
    }

    #[test]
    fn the_examples_name_this_project_by_such_paths_only() {
        for example in [TEMPLATE, OPERATIONS] {
            for manifest in ["Cargo.toml", "kernels/Cargo.toml"] {
                let text = fs::read_to_string(project::root().join(example).join(manifest)).unwrap();
                assert!(!absolute(&text, Path::new("/r")).contains("\"../"), "{example}/{manifest}");
            }
        }
    }

    /// A copy of the template is only edited: it has one kernel, and every package in it is one that any kernel needs.
    #[test]
    fn the_template_has_nothing_to_delete() {
        let read = |file: &str| fs::read_to_string(project::root().join(TEMPLATE).join(file)).unwrap();
        assert_eq!(read("kernels/src/lib.rs").matches("#[kernel").count(), 1);
        let manifest = read("kernels/Cargo.toml");
        let (_, dependencies) = manifest.split_once("[dependencies]\n").unwrap();
        assert_eq!(dependencies.lines().map(|line| line.split(' ').next().unwrap()).collect::<Vec<_>>(), ["simt"]);
        assert!(read("Cargo.toml").ends_with("[profile.dev.package.simt]\nopt-level = 2\n"));
    }
}
