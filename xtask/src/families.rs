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

/// Packages whose tests read pages, or the files of all packages.
const READERS: &[&str] = &["rungs", "rungs-litmus", "rungs-suites", "rungs-tests", "xtask"];

/// A package whose tests read or compile files of another one that they do not depend on, and that one.
const TESTS_READ: &[(&str, &str)] = &[
    ("cuda-driver", "rungs-tests"),
    ("rungs-learn", "rungs-beat-kernels"),
    ("rungs-learn", "simt"),
    ("rungs-learn", "simt-macros"),
    ("rungs-learn-gpu", "rungs-tests"),
];

/// A package of the workspace.
pub struct Member {
    /// Its name.
    pub name: String,
    /// Its folder, from the root: `gpu/reduce`.
    folder: String,
    /// The names of all that it depends on, except for tests.
    dependencies: Vec<String>,
    /// The names of what its tests depend on besides.
    of_tests: Vec<String>,
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
        let (of_tests, dependencies): (Vec<_>, Vec<_>) =
            package.dependencies.into_iter().partition(|dependency| dependency.kind.as_deref() == Some("dev"));
        let names = |of: Vec<Dependency>| of.into_iter().map(|dependency| dependency.name).collect();
        Member { name: package.name, folder, dependencies: names(dependencies), of_tests: names(of_tests) }
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

/// The package that has this file.
fn holder<'a>(path: &str, members: &'a [Member]) -> Option<&'a Member> {
    let holds = |member: &&Member| path.strip_prefix(&member.folder).is_some_and(|rest| rest.starts_with('/'));
    members.iter().filter(holds).max_by_key(|member| member.folder.len())
}

/// The packages whose tests a change of these files may affect: those that have the files, those that depend on them,
/// and those that read pages and the files of other packages. None if that may be any, because a file is in no package;
/// pages may be.
pub fn tested(paths: &[String], members: &[Member]) -> Option<BTreeSet<String>> {
    let mut changed = BTreeSet::new();
    for path in paths {
        match holder(path, members) {
            Some(member) => changed.insert(&*member.name),
            None if path.ends_with(".md") => continue,
            None => return None,
        };
    }
    let read: Vec<_> =
        TESTS_READ.iter().filter(|(_, read)| changed.contains(read)).map(|(reader, _)| *reader).collect();
    let mut found = 0;
    while found < changed.len() {
        found = changed.len();
        let needs = |member: &&Member| member.dependencies.iter().any(|name| changed.contains(&**name));
        let more: Vec<_> = members.iter().filter(needs).map(|member| &*member.name).collect();
        changed.extend(more);
    }
    let by_tests = members.iter().filter(|member| member.of_tests.iter().any(|name| changed.contains(&**name)));
    let more: Vec<_> = by_tests.map(|member| &*member.name).chain(read).chain(READERS.iter().copied()).collect();
    Some(changed.into_iter().chain(more).map(str::to_string).collect())
}

/// Those of `families` whose kernels, helpers or trials a change of these files may affect.
pub fn touched(paths: &[String], members: &[Member], families: &BTreeSet<String>) -> BTreeSet<String> {
    let mut touched = BTreeSet::new();
    for path in paths.iter().filter(|path| [".rs", ".toml", ".lock"].iter().any(|end| path.ends_with(end))) {
        let family = match holder(path, members).filter(|member| member.family().is_some()) {
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
        let dependencies = dependencies.iter().map(|d| d.to_string()).collect();
        Member { name, folder: folder.into(), dependencies, of_tests: vec![] }
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
        assert_eq!(members[0].of_tests, ["rungs"]);
        assert_eq!(members.iter().map(Member::family).collect::<Vec<_>>(), [Some("odd-even".into()), None]);
    }

    #[test]
    fn tests_are_those_of_what_depends_on_a_change() {
        let mut members = [
            member("gpu", &["rungs-merge", "rungs-scan"]),
            member("gpu/merge", &["simt"]),
            member("gpu/scan", &["simt"]),
            member("host/top", &[]),
            member("simt", &[]),
        ];
        members[3].of_tests = vec!["rungs-gpu".into()];
        let of = |paths: &[&str]| {
            let paths: Vec<_> = paths.iter().map(|path| path.to_string()).collect();
            let tested = tested(&paths, &members)?;
            Some(tested.into_iter().filter(|name| !READERS.contains(&&**name)).collect::<Vec<_>>())
        };
        let some = |names: &[&str]| Some(names.iter().map(|name| name.to_string()).collect::<Vec<_>>());
        assert_eq!(of(&["gpu/scan/src/lib.rs"]), some(&["rungs-gpu", "rungs-scan", "rungs-top"]));
        assert_eq!(of(&["host/top/README.md"]), some(&["rungs-top"]));
        assert_eq!(of(&["README.md"]), some(&[]));
        assert_eq!(of(&["README.md", "Cargo.lock"]), None);
        assert_eq!(of(&["exercises/src/lib.rs"]), None);
    }

    /// In this workspace: a change of one family leaves most of the library alone.
    #[test]
    fn tests_of_other_families_are_left_out() {
        let tested = tested(&["gpu/reduce/src/lib.rs".into()], &members().unwrap()).unwrap();
        for (name, expected) in [("rungs-reduce", true), ("rungs-kernels", true), ("rungs-cli", true)]
            .into_iter()
            .chain(["rungs-sorts", "rungs-products", "rungs-merge", "simt", "rungs-learn"].map(|name| (name, false)))
        {
            assert_eq!(tested.contains(name), expected, "{name}");
        }
    }

    /// A package whose tests read a page would not be tested after a change of the page.
    #[test]
    fn all_that_read_pages_are_known() {
        fn of(folder: &Path, found: &mut Vec<PathBuf>) {
            for path in fs::read_dir(folder).into_iter().flatten().map(|entry| entry.unwrap().path()) {
                match path.is_dir() {
                    true => of(&path, found),
                    false => found.push(path),
                }
            }
        }
        let (members, mut readers) = (members().unwrap(), BTreeSet::new());
        for member in &members {
            let mut files = vec![];
            for part in ["src", "tests"] {
                of(&crate::project::root().join(&member.folder).join(part), &mut files);
            }
            let reads = |path: &PathBuf| {
                let text = fs::read_to_string(path).unwrap_or_default();
                let names = |line: &str| line.contains("CARGO_MANIFEST_DIR") || line.contains("include_str!");
                text.lines().any(|line| names(line) && line.contains("/docs"))
            };
            if files.iter().filter(|path| path.extension().is_some_and(|end| end == "rs")).any(reads) {
                readers.insert(&*member.name);
            }
        }
        // This one, by paths from the root.
        readers.insert("xtask");
        assert_eq!(readers.into_iter().collect::<Vec<_>>(), READERS);
    }

    /// A name that is no package's would be one that is never tested.
    #[test]
    fn all_that_read_others_are_packages() {
        let members = members().unwrap();
        let named = TESTS_READ.iter().flat_map(|(reader, read)| [reader, read]).chain(READERS);
        for name in named {
            assert!(members.iter().any(|member| member.name == *name), "{name}");
        }
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

    /// What the workspace's profile says of one package holds for its PTX too.
    #[test]
    fn kernels_are_optimised_for_gpus_whatever_the_host_s_profile() {
        let manifest = fs::read_to_string(crate::project::root().join("Cargo.toml")).unwrap();
        let packages = manifest.split("\n[profile.release.package]\n").nth(1).expect("the profile has packages");
        let packages = packages.split("\n[").next().unwrap_or_default();
        let members = members().unwrap();
        let kernels = members.iter().filter(|member| member.has_kernels() || member.name.starts_with("simt"));
        let settings = |name: &str| packages.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(" = "));
        let found: BTreeSet<_> = kernels.filter_map(|member| settings(&member.name)).collect();
        assert_eq!(found.into_iter().collect::<Vec<_>>(), ["{ codegen-units = 1 }"]);
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
