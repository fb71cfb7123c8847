//! The packages as they would be published: each compiles from the files that are packed.
//!
//! `cargo package` would compile every package with all of its dependencies in a target folder of its own, and most of
//! ours twice: as a dependency and as itself. Here the packed files become a workspace, and each package is checked by
//! itself, so that one that lacks a file, a version or a feature fails as it would there. That machine code comes of
//! the same sources is what the tests show.

use crate::{project, shell};
use anyhow::{Context, Result, ensure};
use rungs_ptx::Toolchain;
use std::fs;
use std::path::Path;

/// Made of files of the exercises, which are a workspace of their own and not published.
const NOT_PUBLISHED: &[&str] = &["rungs-learn-gpu", "rungs-learn-gpu-kernels"];

/// The package that has or names all kernels, and an architecture that has all.
const KERNELS: &str = "rungs-kernels";
const ARCH: &str = "sm_90a";

/// The step of `test`. Offline: all that packages need was needed before.
pub fn check() -> Result<()> {
    let folder = project::target().join("packages");
    let unpacked = folder.join("unpacked");
    // Files of an earlier run would be checked too.
    fs::remove_dir_all(&folder).ok();
    fs::create_dir_all(&unpacked).with_context(|| format!("{} cannot be made", unpacked.display()))?;
    let mut pack = shell::cargo(&["package", "--workspace", "--no-verify", "--offline", "--allow-dirty", "--quiet"]);
    pack.args(NOT_PUBLISHED.iter().flat_map(|name| ["--exclude", name])).arg("--target-dir").arg(&folder);
    shell::run(pack)?;
    for file in files(&folder.join("package"))?.iter().filter(|name| name.ends_with(".crate")) {
        // Packed files are decades old; with the time of now, cargo sees that they are not those of the run before.
        let mut tar = shell::command("tar", &["-xzmf"]);
        tar.arg(folder.join("package").join(file)).arg("-C").arg(&unpacked);
        shell::run(tar)?;
    }
    let members = files(&unpacked)?;
    ensure!(!members.is_empty(), "cargo packed nothing into {}", folder.display());
    let manifests = members.iter().map(|member| read(&unpacked.join(member).join("Cargo.toml")));
    let manifests = manifests.collect::<Result<Vec<_>>>()?.concat();
    let root = read(&project::root().join("Cargo.toml"))?;
    let manifest = unpacked.join("Cargo.toml");
    fs::write(&manifest, workspace(&members, &manifests, &root))?;
    // The versions that the project is tested with.
    fs::copy(project::root().join("Cargo.lock"), unpacked.join("Cargo.lock"))?;
    for member in &members {
        let mut check = shell::cargo(&["check", "--offline", "--package", name(member), "--manifest-path"]);
        // What is not ours was compiled for the lints.
        check.arg(&manifest).arg("--target-dir").arg(project::target());
        println!("checking the package {member}");
        shell::run(check)?;
    }
    for_gpu(&unpacked, &members)
}

/// The packed kernels compile for a GPU too, by the packed sources of what they need. Machine code comes of the same
/// sources elsewhere, so the compiler only checks them.
fn for_gpu(unpacked: &Path, members: &[String]) -> Result<()> {
    let kernels = members.iter().find(|member| name(member) == KERNELS).context("the kernels are not packed")?;
    let toolchain = Toolchain::find(project::root())?;
    let mut check = shell::command(toolchain.cargo, &["check", "--offline", "-Zbuild-std=core", "--manifest-path"]);
    check.arg(unpacked.join(kernels).join("Cargo.toml")).args(["--target", "nvptx64-nvidia-cuda", "--target-dir"]);
    check.arg(project::target().join("packages").join("gpu")).env("RUSTC", toolchain.rustc);
    // As for PTX: `core` from source is not stable, and these settings choose the kernels that there are.
    check.env("RUSTC_BOOTSTRAP", "1").env("RUSTFLAGS", format!("-Ctarget-cpu={ARCH} --cfg sm_90 --cfg sm_90a"));
    println!("checking the packed kernels for {ARCH}");
    shell::run(check)
}

/// The manifest of a workspace of these folders, in which each finds the others instead of published ones.
/// `manifests`: theirs; `root`: the project's, whose profiles make cargo take what it has compiled with them.
fn workspace(members: &[String], manifests: &str, root: &str) -> String {
    let list = members.iter().map(|member| format!("{member:?}")).collect::<Vec<_>>().join(", ");
    let mut text = format!("[workspace]\nmembers = [{list}]\nresolver = \"3\"\n\n[patch.crates-io]\n");
    // Cargo warns of what nobody needs.
    for member in members.iter().filter(|member| manifests.contains(&format!("dependencies.{}]", name(member)))) {
        text += &format!("{} = {{ path = {member:?} }}\n", name(member));
    }
    // Cargo also warns of the profile of a package that is not there.
    let is_here = |line: &&str| match line.split_once(" = {") {
        Some((package, _)) => package == "\"*\"" || members.iter().any(|member| name(member) == package),
        None => !line.starts_with('#'),
    };
    for table in root.split("\n[").filter(|table| table.starts_with("profile.dev")) {
        text += &format!("\n[{}\n", table.lines().filter(is_here).collect::<Vec<_>>().join("\n"));
    }
    text
}

/// `simt-macros` of `simt-macros-0.1.0`.
fn name(member: &str) -> &str {
    member.rsplit_once('-').map_or(member, |(name, _)| name)
}

/// The names in a folder, sorted.
fn files(folder: &Path) -> Result<Vec<String>> {
    let entries = fs::read_dir(folder).with_context(|| format!("{} cannot be read", folder.display()))?;
    let mut names =
        entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect::<Result<Vec<_>>>()?;
    names.sort();
    Ok(names)
}

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).with_context(|| format!("{} cannot be read", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_find_each_other_and_have_the_project_s_profile() {
        let members = ["simt-0.1.0", "simt-macros-0.1.0"].map(String::from);
        let manifests = "[dependencies.simt-macros]\nversion = \"0.1.0\"\n[dependencies.half]\n";
        let root = "[workspace]\n\n# Text.\n[profile.dev]\nopt-level = 2\n\n[profile.dev.package]\n# Text.\n\
                    \"*\" = { debug = 0 }\nsimt = { opt-level = 0 }\nxtask = { opt-level = 0 }\n\n\
                    [profile.release]\ndebug = 1\n";
        let want = "[workspace]\nmembers = [\"simt-0.1.0\", \"simt-macros-0.1.0\"]\nresolver = \"3\"\n\n\
                    [patch.crates-io]\nsimt-macros = { path = \"simt-macros-0.1.0\" }\n\n\
                    [profile.dev]\nopt-level = 2\n\n\
                    [profile.dev.package]\n\"*\" = { debug = 0 }\nsimt = { opt-level = 0 }\n";
        assert_eq!(workspace(&members, manifests, root), want);
    }

    /// Without it every dependency would be compiled again.
    #[test]
    fn the_project_has_the_profile() {
        let root = read(&project::root().join("Cargo.toml")).unwrap();
        assert!(workspace(&[], "", &root).contains("[profile.dev]\nopt-level"));
    }
}
