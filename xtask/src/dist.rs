//! `dist`: one folder for a GPU machine without Rust.

mod third_party;

use crate::backend::Backend;
use crate::{book, build_ptx, project, shell};
use anyhow::{Context, Result};
use serde::Deserialize;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The script that runs there.
const RUN: &str = include_str!("dist/run.sh");

/// The folder's README.
const README: &str = include_str!("dist/README.txt");

/// Packages whose tests are useful on a GPU machine; those of the builders need Rust.
const TESTED: &[&str] =
    &["rungs-kernels", "rungs-learn-gpu", "simt", "rungs", "rungs-group", "rungs-cli", "rungs-tests"];

/// Examples of the package `rungs` that need a GPU: no other machine runs more of them than their start.
const EXAMPLES: &[&str] = &["with_cust", "with_cudarc"];

/// The options of `dist`.
#[derive(clap::Args)]
pub struct Args {
    /// The folder that gets rungs/ and rungs.tar.gz
    #[arg(long, value_name = "DIR", default_value = "dist")]
    out: PathBuf,
    /// The compiler of the kernels
    #[arg(long, value_enum, default_value_t)]
    backend: Backend,
}

/// One line of cargo's messages, as far as it matters here.
#[derive(Deserialize)]
struct Message {
    executable: Option<PathBuf>,
    target: Option<Target>,
    profile: Option<Profile>,
    manifest_path: Option<PathBuf>,
}

#[derive(Deserialize)]
struct Target {
    name: String,
    kind: Vec<String>,
}

#[derive(Deserialize)]
struct Profile {
    test: bool,
}

/// A program that cargo built.
struct Executable {
    name: String,
    path: PathBuf,
    is_test: bool,
    /// As cargo names it: `bin`, `lib`, `test` or `example`.
    kind: String,
}

/// Builds everything and packs it.
pub fn run(args: &Args) -> Result<()> {
    let out = project::root().join(&args.out);
    let folder = out.join("rungs");
    let ptx = match args.backend {
        // The program's build script makes it.
        Backend::Rustc => None,
        Backend::RustCuda => Some(build_ptx::by_rust_cuda()?),
    };
    let (executables, manifests) = build(ptx.as_deref())?;
    let is_program = |found: &&Executable| (&*found.kind, &*found.name, found.is_test) == ("bin", "rungs", false);
    let program = executables.iter().find(is_program).context("cargo built no program `rungs`")?;
    // A file of an earlier pack that no longer belongs there would be run on the GPU machine.
    if folder.exists() {
        fs::remove_dir_all(&folder).with_context(|| format!("{} cannot be removed", folder.display()))?;
    }
    copy(&program.path, &folder.join("bin/rungs"))?;
    for test in executables.iter().filter(|executable| executable.is_test) {
        copy(&test.path, &folder.join("bin/tests").join(&test.name))?;
    }
    for example in executables.iter().filter(|executable| executable.kind == "example") {
        copy(&example.path, &folder.join("bin/examples").join(&example.name))?;
    }
    // For the reports of `rungs bench`.
    let describe = ["describe", "--always", "--exclude=*", "--abbrev=40", "--dirty=-modified"];
    if let Ok(commit) = shell::capture(shell::command("git", &describe)) {
        write(&folder.join("bin/commit"), &commit)?;
    }
    copy_folder(&project::root().join("bench/peers"), &folder.join("peers"))?;
    copy_folder(&book::build()?, &folder.join("book"))?;
    for licence in ["LICENSE-MIT", "LICENSE-APACHE"] {
        copy(&project::root().join(licence), &folder.join(licence))?;
    }
    let metadata = shell::capture(shell::cargo(&["metadata", "--format-version", "1", "--locked"]))?;
    write(&folder.join("THIRD-PARTY.txt"), &third_party::list(&manifests, &metadata)?)?;
    write(&folder.join("README.txt"), README)?;
    write(&folder.join("run.sh"), RUN)?;
    make_executable(&folder.join("run.sh"))?;
    let archive = out.join("rungs.tar.gz");
    let mut tar = shell::command("tar", &["--owner=0", "--group=0", "-czf"]);
    tar.arg(&archive).arg("-C").arg(&out).arg("rungs");
    shell::run(tar)?;
    let size = fs::metadata(&archive)?.len().div_ceil(1 << 20);
    println!("{} ({size} MiB); unpack it on the GPU machine and start rungs/run.sh all", project::short(&archive));
    Ok(())
}

/// Builds the program, the tests and the examples, with the PTX in this folder if there is one, and says which packages
/// were compiled, by their manifests. One command, for the features that packages ask for are those of all that are
/// built together: by a second one most of them would be compiled twice.
fn build(ptx: Option<&Path>) -> Result<(Vec<Executable>, BTreeSet<PathBuf>)> {
    let mut command = shell::cargo(&["build", "--release", "--lib", "--bins", "--tests", "--features", "rungs/cust"]);
    command.args(TESTED.iter().flat_map(|package| ["--package", package]));
    command.args(EXAMPLES.iter().flat_map(|example| ["--example", example]));
    command.arg("--message-format=json-render-diagnostics");
    if let Some(folder) = ptx {
        command.env(rungs_ptx::ptx_dir_variable("rungs"), folder);
    }
    let messages = shell::capture(command)?;
    let parsed: Vec<Message> = messages.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let manifests = parsed.iter().filter_map(|message| message.manifest_path.clone()).collect();
    Ok((parsed.into_iter().filter_map(executable).collect(), manifests))
}

/// The program of one message, if it names one.
fn executable(message: Message) -> Option<Executable> {
    let Message { executable, target, profile, .. } = message;
    let (path, target) = (executable?, target?);
    // A test with a runner of its own is of kind `test`; a library's or a program's own tests have the profile.
    let is_test = target.kind.iter().any(|kind| kind == "test") || profile.is_some_and(|profile| profile.test);
    let kind = target.kind.first().map_or("", String::as_str);
    let name = match kind {
        "bin" if is_test => format!("{}-program", target.name),
        "lib" => format!("{}-library", target.name),
        _ => target.name,
    };
    Some(Executable { name, path, is_test, kind: kind.into() })
}

/// A folder with all that is in it.
fn copy_folder(from: &Path, to: &Path) -> Result<()> {
    for entry in fs::read_dir(from).with_context(|| format!("{} cannot be read", from.display()))? {
        let path = entry?.path();
        let to = to.join(path.file_name().expect("an entry has a name"));
        if path.is_dir() { copy_folder(&path, &to)? } else { copy(&path, &to)? }
    }
    Ok(())
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    let folder = to.parent().expect("a file is in a folder");
    fs::create_dir_all(folder).with_context(|| format!("{} cannot be made", folder.display()))?;
    fs::copy(from, to).with_context(|| format!("{} to {}", from.display(), to.display()))?;
    Ok(())
}

fn write(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text).with_context(|| format!("{} cannot be written", path.display()))
}

/// The mode of a program; where files have no mode, tar gives it none either.
fn make_executable(path: &Path) -> Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(path, fs::Permissions::from_mode(0o755))
            .with_context(|| format!("{} cannot be made executable", path.display()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_and_tests_are_told_apart() {
        let message = |name: &str, kind: &str, test: bool| {
            format!(
                r#"{{"reason":"compiler-artifact","target":{{"kind":["{kind}"],"name":"{name}"}},
                    "profile":{{"test":{test}}},"executable":"target/{name}"}}"#
            )
        };
        for (kind, profile, name, is_test) in [
            ("bin", false, "rungs", false),
            ("bin", true, "rungs-program", true),
            ("lib", true, "rungs-library", true),
            ("test", true, "rungs", true),
            ("test", false, "rungs", true),
            ("example", false, "rungs", false),
        ] {
            let found = executable(serde_json::from_str(&message("rungs", kind, profile)).unwrap()).unwrap();
            assert_eq!((found.name.as_str(), found.is_test), (name, is_test), "{kind} {profile}");
        }
    }

    #[test]
    fn folders_are_copied_with_those_inside() {
        let folder = tempfile::tempdir().unwrap();
        let (from, to) = (folder.path().join("from"), folder.path().join("to"));
        fs::create_dir_all(from.join("css")).unwrap();
        write(&from.join("css/a"), "a").unwrap();
        copy_folder(&from, &to).unwrap();
        assert_eq!(fs::read_to_string(to.join("css/a")).unwrap(), "a");
    }

    #[test]
    fn other_messages_are_passed_over() {
        for message in [r#"{"reason":"build-finished","success":true}"#, r#"{"executable":null}"#] {
            assert!(executable(serde_json::from_str(message).unwrap()).is_none(), "{message}");
        }
    }
}
