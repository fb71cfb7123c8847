//! The families of kernels: their packages, and which of them a change touches.
//!
//! A family's package is the workspace member in a folder of its own below gpu/, by the family's name. What else is
//! below gpu/ serves several families.

use crate::shell;
use anyhow::{Context, Result};
use serde::Deserialize;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// What trials of a family are built from besides its package. A change here touches the family that the rest of the
/// path names, or all families.
const SHARED: &[&str] = &[
    "Cargo.lock",
    "Cargo.toml",
    "gpu/",
    "host/cli/src/algorithms/",
    "host/cli/src/checks.rs",
    "host/oracles/src/",
    "host/src/engine/",
    "rust-toolchain.toml",
    "simt/Cargo.toml",
    "simt/macros/src/",
    "simt/src/",
    "tests/tests/rungs",
];

/// A package of the workspace.
pub struct Member {
    /// Its name.
    pub name: String,
    /// Its folder, from the root: `gpu/reduce`.
    folder: String,
    /// The names of all that it depends on, except for tests.
    dependencies: Vec<String>,
}

impl Member {
    /// Its folder, from the root.
    #[cfg(test)]
    pub fn folder(&self) -> &str {
        &self.folder
    }

    /// `odd-even` in gpu/odd_even: the name of its family, if it is a family's package.
    pub fn family(&self) -> Option<String> {
        let name = self.folder.strip_prefix("gpu/")?;
        (!name.contains('/')).then(|| name.replace('_', "-"))
    }

    /// Whether kernels are in it, or a list of packages that have them.
    pub fn has_kernels(&self) -> bool {
        self.folder == "gpu" || self.folder.starts_with("gpu/")
    }
}

/// The output of `cargo metadata`.
#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
    workspace_root: PathBuf,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    manifest_path: PathBuf,
    dependencies: Vec<Dependency>,
}

#[derive(Deserialize)]
struct Dependency {
    name: String,
    kind: Option<String>,
}

/// The packages of the workspace.
pub fn members() -> Result<Vec<Member>> {
    parse(&shell::capture(shell::cargo(&["metadata", "--no-deps", "--offline", "--format-version", "1"]))?)
}

fn parse(json: &str) -> Result<Vec<Member>> {
    let Metadata { packages, workspace_root } = serde_json::from_str(json).context("`cargo metadata`")?;
    let member = |package: Package| {
        let folder = package.manifest_path.parent().unwrap_or(Path::new(""));
        let folder = folder.strip_prefix(&workspace_root).unwrap_or(folder).to_string_lossy().replace('\\', "/");
        let needed = package.dependencies.into_iter().filter(|dependency| dependency.kind.as_deref() != Some("dev"));
        Member { name: package.name, folder, dependencies: needed.map(|dependency| dependency.name).collect() }
    };
    Ok(packages.into_iter().map(member).collect())
}

/// The files that differ from the merge base with main, committed or not, and new ones. On main itself: what is not
/// committed. None if git cannot say.
pub fn changed() -> Option<Vec<String>> {
    let git = |args: &[&str]| {
        let output = shell::command("git", args).output().ok().filter(|output| output.status.success())?;
        String::from_utf8(output.stdout).ok()
    };
    let base = ["main", "origin/main"].iter().find_map(|main| git(&["merge-base", "HEAD", main]));
    let base = base.unwrap_or_else(|| "HEAD".into());
    let differing = git(&["diff", "--name-only", "--no-renames", "--relative", base.trim()])?;
    let new = git(&["ls-files", "--others", "--exclude-standard"])?;
    Some(differing.lines().chain(new.lines()).map(str::to_string).collect())
}

/// Those of `families` whose kernels, helpers or trials a change of these files may affect.
pub fn touched(paths: &[String], members: &[Member], families: &BTreeSet<String>) -> BTreeSet<String> {
    let mut touched = BTreeSet::new();
    for path in paths.iter().filter(|path| [".rs", ".toml", ".lock"].iter().any(|end| path.ends_with(end))) {
        let holds = |member: &&Member| path.strip_prefix(&member.folder).is_some_and(|rest| rest.starts_with('/'));
        let package = members.iter().filter(holds).max_by_key(|member| member.folder.len());
        let family = match package.filter(|member| member.family().is_some()) {
            Some(member) => member.family().filter(|name| families.contains(name)),
            None if SHARED.iter().any(|shared| path.starts_with(shared)) => {
                path.split(['/', '.']).map(|part| part.replace('_', "-")).find(|part| families.contains(part))
            }
            None => continue,
        };
        match family {
            Some(family) => touched.insert(family),
            None => return families.clone(),
        };
    }
    // A family may use what another one has.
    let of = |family: &String| members.iter().find(|member| member.family().as_ref() == Some(family));
    loop {
        let names: Vec<_> = touched.iter().filter_map(of).map(|member| &member.name).collect();
        let uses = |family: &&String| of(family).is_some_and(|m| m.dependencies.iter().any(|d| names.contains(&d)));
        let more: Vec<_> = families.iter().filter(|family| !touched.contains(*family)).filter(uses).cloned().collect();
        if more.is_empty() {
            return touched;
        }
        touched.extend(more);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn member(folder: &str, dependencies: &[&str]) -> Member {
        let name = format!("rungs-{}", folder.rsplit('/').next().unwrap().replace('_', "-"));
        Member { name, folder: folder.into(), dependencies: dependencies.iter().map(|d| d.to_string()).collect() }
    }

    /// The families that a change of these files touches, in a workspace where merge uses what scan has.
    fn of(paths: &[&str]) -> Vec<String> {
        let members = [
            member("gpu", &["rungs-merge", "rungs-odd-even", "rungs-scan"]),
            member("gpu/common", &["simt"]),
            member("gpu/merge", &["rungs-common", "rungs-scan"]),
            member("gpu/odd_even", &["rungs-common"]),
            member("gpu/scan", &["rungs-common"]),
            member("simt", &[]),
        ];
        let families = ["merge", "odd-even", "scan"].map(String::from).into();
        let paths: Vec<_> = paths.iter().map(|path| path.to_string()).collect();
        touched(&paths, &members, &families).into_iter().collect()
    }

    #[test]
    fn a_file_touches_the_family_of_its_package_and_those_that_use_it() {
        assert_eq!(of(&["gpu/odd_even/src/r1_shared.rs"]), ["odd-even"]);
        assert_eq!(of(&["gpu/merge/tests/merge.rs", "gpu/odd_even/Cargo.toml"]), ["merge", "odd-even"]);
        assert_eq!(of(&["gpu/scan/src/lib.rs"]), ["merge", "scan"]);
        // The name of another family in the path is a module's.
        assert_eq!(of(&["gpu/merge/src/scan.rs"]), ["merge"]);
    }

    #[test]
    fn what_all_share_touches_all() {
        let all = ["merge", "odd-even", "scan"];
        for path in
            ["gpu/common/src/scan.rs", "simt/src/lib.rs", "gpu/src/lib.rs", "Cargo.lock", "tests/tests/rungs.rs"]
        {
            assert_eq!(of(&["gpu/scan/src/lib.rs", path]), all, "{path}");
        }
        assert_eq!(of(&["host/src/engine/mod.rs"]), all);
    }

    #[test]
    fn a_file_of_one_family_elsewhere_touches_that_family() {
        assert_eq!(of(&["host/cli/src/algorithms/odd_even.rs"]), ["odd-even"]);
        assert_eq!(of(&["gpu/tests/merge.rs"]), ["merge"]);
    }

    #[test]
    fn pages_and_the_program_touch_none() {
        let paths =
            ["README.md", "gpu/scan/README.md", "host/cli/src/cli/scan.rs", "xtask/src/test.rs", "book/src/scan.md"];
        assert_eq!(of(&paths), [""; 0]);
        assert_eq!(of(&[]), [""; 0]);
    }

    #[test]
    fn members_are_read_with_their_folders_and_what_they_need() {
        let json = r#"{"workspace_root":"/r","packages":[
            {"name":"rungs-odd-even","manifest_path":"/r/gpu/odd_even/Cargo.toml",
             "dependencies":[{"name":"simt","kind":null},{"name":"rungs","kind":"dev"}]},
            {"name":"rungs-kernels","manifest_path":"/r/gpu/Cargo.toml","dependencies":[]}]}"#;
        let members = parse(json).unwrap();
        assert_eq!((&*members[0].folder, &members[0].dependencies[..]), ("gpu/odd_even", &["simt".to_string()][..]));
        assert_eq!(members.iter().map(Member::family).collect::<Vec<_>>(), [Some("odd-even".into()), None]);
    }

    /// In this workspace a line of a family compiles that family and its PTX again, and of the other packages with
    /// kernels those alone that use it: no family is the base of many.
    #[test]
    fn a_change_of_a_family_rebuilds_no_other() {
        let members = members().unwrap();
        let kernels: Vec<_> = members.iter().filter(|member| member.has_kernels() && member.folder != "gpu").collect();
        let mut users = vec![];
        for family in kernels.iter().filter(|member| member.family().is_some() && member.name != "rungs-common") {
            let uses = |member: &&&Member| member.dependencies.contains(&family.name);
            users.extend(kernels.iter().filter(uses).map(|user| (&*family.name, &*user.name)));
        }
        let expected =
            [("rungs-bitonic", "rungs-odd-even"), ("rungs-radix", "rungs-sorts"), ("rungs-scan", "rungs-selections")];
        assert_eq!(users, expected);
        assert!(kernels.iter().any(|member| member.name == "rungs-reduce"));
    }

    /// Whether the project's folder has this file or folder.
    fn exists(path: &str) -> bool {
        let (folder, start) = path.rsplit_once('/').unwrap_or(("", path));
        let entries = fs::read_dir(crate::project::root().join(folder)).into_iter().flatten().flatten();
        entries.into_iter().any(|entry| entry.file_name().to_string_lossy().starts_with(start))
    }

    /// A path that was renamed would touch nothing, unseen.
    #[test]
    fn the_shared_paths_are_there() {
        for path in SHARED {
            assert!(exists(path), "{path}");
        }
    }
}
