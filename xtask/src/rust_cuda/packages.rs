//! LLVM 7 from the packages of an older Debian or Ubuntu, unpacked in a folder of its own and not installed.

use crate::shell;
use anyhow::{Context, Result, ensure};
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

/// The packages that have LLVM 7's static libraries, `llvm-config` and the library that it is linked with. The fourth
/// is libffi: of Ubuntu 20.04 `libffi7`, of Debian 10 `libffi6`.
const NAMES: &[&str] = &["llvm-7-dev", "llvm-7", "libllvm7", "libffi"];

/// Libraries that LLVM 7 of a distribution is linked with, and the packages of this machine's distribution by which
/// they can be linked.
const LINKED: &[(&str, &str)] = &[("libz.so", "zlib1g-dev"), ("libtinfo.so", "libncurses-dev")];

/// Runs the packages' `llvm-config`, with the folder of their libraries among those that the loader searches.
const LLVM_CONFIG: &str = r#"#!/bin/sh
lib=$(dirname "$(dirname "$(readlink -f "$0")")")/packages/usr/lib
for folder in "$lib"/*-linux-gnu; do LD_LIBRARY_PATH=$folder${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}; done
export LD_LIBRARY_PATH
exec "$lib/llvm-7/bin/llvm-config" "$@"
"#;

/// The packages in a folder, by the names of [`NAMES`].
///
/// # Errors
/// If one of them is missing.
pub fn find(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).with_context(|| format!("{} cannot be read", folder.display()))?;
    let files: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    let is_of = |file: &Path, name: &str| {
        let file = file.file_name().and_then(OsStr::to_str).unwrap_or_default();
        let rest = file.strip_suffix(".deb").and_then(|file| file.strip_prefix(name));
        // A package's name ends at the first `_`, or with libffi's number.
        rest.is_some_and(|rest| rest.trim_start_matches(|c: char| c.is_ascii_digit()).starts_with('_'))
    };
    let found = |&name: &&'static str| files.iter().find(|file| is_of(file, name)).cloned().ok_or(name);
    let (found, missing): (Vec<_>, Vec<_>) = NAMES.iter().map(found).partition(Result::is_ok);
    let missing: Vec<_> = missing.into_iter().filter_map(Result::err).collect();
    ensure!(missing.is_empty(), "{} has no package of {}", folder.display(), missing.join(", "));
    Ok(found.into_iter().flatten().collect())
}

/// Unpacks them in `to`, where `bin/llvm-config` then is LLVM 7's.
pub fn unpack(packages: &[PathBuf], to: &Path) -> Result<()> {
    // Under another name until they are complete.
    let (part, whole) = (to.join("packages.part"), to.join("packages"));
    fs::remove_dir_all(&part).ok();
    fs::create_dir_all(&part).with_context(|| format!("{} cannot be made", part.display()))?;
    for package in packages {
        let mut unpack = shell::command("dpkg-deb", &["--extract"]);
        unpack.arg(std::path::absolute(package)?).arg(&part);
        shell::run(unpack)?;
    }
    fs::remove_dir_all(&whole).ok();
    fs::rename(&part, &whole).with_context(|| format!("{} cannot be made", whole.display()))?;
    let program = to.join("bin/llvm-config");
    fs::create_dir_all(to.join("bin")).with_context(|| format!("{} cannot be made", to.display()))?;
    fs::write(&program, LLVM_CONFIG).with_context(|| format!("{} cannot be written", program.display()))?;
    #[cfg(unix)]
    fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
    // It says itself which library it lacks.
    let version = shell::capture(shell::command(&program, &["--version"])).context("llvm-config does not run")?;
    ensure!(version.starts_with("7."), "the packages are of LLVM {}", version.trim());
    Ok(())
}

/// The packages of this machine's distribution without which the code generator cannot be linked, if they are missing.
pub fn to_link() -> Vec<&'static str> {
    // cc prints a path if it finds the file, and its name otherwise.
    let finds = |library: &str| {
        let mut cc = shell::command("cc", &[]);
        cc.arg(format!("-print-file-name={library}"));
        shell::capture(cc).is_ok_and(|said| said.trim() != library)
    };
    LINKED.iter().filter(|(library, _)| !finds(library)).map(|(_, package)| *package).collect()
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    fn folder_with(names: &[&str]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        names.iter().for_each(|name| fs::write(folder.path().join(name), "").unwrap());
        folder
    }

    #[test]
    fn packages_are_found_by_their_names() {
        let all = ["libffi7_3.3-4_amd64.deb", "libllvm7_7_amd64.deb", "llvm-7-dev_7_amd64.deb", "llvm-7_7_amd64.deb"];
        let found = find(folder_with(&[&all[..], &["llvm-7-runtime_7_amd64.deb"]].concat()).path()).unwrap();
        let names: Vec<_> = found.iter().map(|path| path.file_name().unwrap().to_str().unwrap()).collect();
        assert_eq!(names, [all[2], all[3], all[1], all[0]]);
        let why = |names: &[&str]| find(folder_with(names).path()).unwrap_err().to_string();
        assert!(why(&all[..3]).ends_with("has no package of llvm-7"), "{}", why(&all[..3]));
        assert!(why(&all[1..]).ends_with("has no package of libffi"));
        let strangers = ["libffi-dev_3_amd64.deb", "libllvm7_7_amd64.deb.part", all[2], all[3]];
        assert!(why(&strangers).ends_with("has no package of libllvm7, libffi"));
        assert!(find(Path::new("/nowhere")).unwrap_err().to_string().starts_with("/nowhere cannot be read"));
    }

    /// A package of our own, whose `llvm-config` prints what it is given and where its libraries are searched.
    fn package(folder: &Path, version: &str) -> PathBuf {
        let tree = folder.join("tree");
        let bin = tree.join("usr/lib/llvm-7/bin");
        for folder in [&bin, &tree.join("DEBIAN"), &tree.join("usr/lib/x86_64-linux-gnu")] {
            fs::create_dir_all(folder).unwrap();
        }
        let control = "Package: a\nVersion: 1\nArchitecture: all\nMaintainer: a <a@b>\nDescription: a\n";
        fs::write(tree.join("DEBIAN/control"), control).unwrap();
        let program = bin.join("llvm-config");
        let script = format!("#!/bin/sh\n[ \"$1\" = --version ] && echo {version} || echo \"$LD_LIBRARY_PATH|$2\"\n");
        fs::write(&program, script).unwrap();
        fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        let package = folder.join("a.deb");
        let mut build = shell::command("dpkg-deb", &["--build"]);
        build.arg(&tree).arg(&package);
        shell::capture(build).unwrap();
        package
    }

    #[test]
    fn an_unpacked_llvm_config_finds_its_libraries() {
        if shell::which("dpkg-deb").is_none() {
            return eprintln!("no dpkg-deb here: not run");
        }
        let folder = tempfile::tempdir().unwrap();
        // A space and two unpackings, the second of which replaces the first.
        let to = folder.path().join("an llvm");
        unpack(&[package(folder.path(), "7.0.0")], &to).unwrap();
        unpack(&[package(folder.path(), "7.0.1")], &to).unwrap();
        let program = to.join("bin/llvm-config");
        let run = |arguments: &[&str]| {
            let mut command = shell::command(&program, arguments);
            command.env("LD_LIBRARY_PATH", "/first:/second");
            shell::capture(command).unwrap()
        };
        assert_eq!(run(&["--version"]), "7.0.1\n");
        let library = fs::canonicalize(to.join("packages/usr/lib/x86_64-linux-gnu")).unwrap();
        assert_eq!(run(&["--libs", "a  b"]), format!("{}:/first:/second|a  b\n", library.display()));
        let why = unpack(&[package(folder.path(), "8.0.1")], &to).unwrap_err();
        assert_eq!(why.to_string(), "the packages are of LLVM 8.0.1");
    }
}
