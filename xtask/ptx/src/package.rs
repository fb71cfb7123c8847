//! The package whose kernels are compiled.

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs, io};

/// Kinds of a library that can be compiled to PTX.
const LIBRARIES: &[&str] = &["lib", "rlib", "dylib", "cdylib", "staticlib"];

/// A package with kernels in its library.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Package {
    /// Its name.
    pub name: String,
    /// The name of its library, as rustc has it: without hyphens.
    pub library: String,
    /// Its Cargo.toml.
    pub manifest: PathBuf,
    /// The folder of its workspace, which is its own folder if it is in none.
    pub workspace_root: PathBuf,
    /// The target folder that cargo uses for it.
    pub target_dir: PathBuf,
    /// The folders of its code and of that of its dependencies, as far as those have a path, but for simt.
    pub code: Vec<PathBuf>,
}

impl Package {
    /// The packages whose kernels a package stands for: those that its Cargo.toml names, each compiled by itself, so
    /// that a change of one family leaves the PTX of the others as it is; or the package alone.
    ///
    /// ```toml
    /// [package.metadata.rungs]
    /// kernels = ["rungs-reduce", "rungs-scan"]
    /// ```
    ///
    /// # Errors
    /// As for [`Package::at`]; if a package that is named is not in the workspace.
    pub fn parts(manifest: &Path) -> Result<Vec<Self>> {
        let (manifest, json) = metadata(manifest)?;
        let whole = Self::of_metadata(&json, manifest)?;
        let metadata: Value = serde_json::from_str(&json).context("`cargo metadata` printed something else")?;
        let packages = metadata["packages"].as_array().map_or(&[][..], Vec::as_slice);
        let named = |name: &str| packages.iter().find(|package| package["name"].as_str() == Some(name));
        let parts = named(&whole.name).and_then(|package| package["metadata"]["rungs"]["kernels"].as_array());
        let Some(parts) = parts else { return Ok(vec![whole]) };
        let part = |name: &Value| {
            let name = name.as_str().unwrap_or_default();
            let found = named(name).and_then(|package| package["manifest_path"].as_str());
            let found = found.with_context(|| format!("{}: {name} is not in its workspace", whole.name))?;
            Self::of_metadata(&json, found.into())
        };
        parts.iter().map(part).collect()
    }

    /// The package of a Cargo.toml, or of the Cargo.toml in a folder.
    ///
    /// # Errors
    /// If there is no such file, or cargo cannot read it; if it is a workspace without a package of its own; if the
    /// package has no library.
    pub fn at(manifest: &Path) -> Result<Self> {
        let (manifest, json) = metadata(manifest)?;
        Self::of_metadata(&json, manifest)
    }

    /// The package of a Cargo.toml in the output of `cargo metadata` for its workspace.
    fn of_metadata(json: &str, manifest: PathBuf) -> Result<Self> {
        let metadata: Value = serde_json::from_str(json).context("`cargo metadata` printed something else")?;
        let text = |value: &Value, key: &str| -> Result<String> {
            Ok(value[key].as_str().with_context(|| format!("`cargo metadata` gives no {key}"))?.to_owned())
        };
        let packages = metadata["packages"].as_array().map_or(&[][..], Vec::as_slice);
        let is_it = |package: &&Value| package["manifest_path"].as_str().map(Path::new) == Some(&manifest);
        let Some(package) = packages.iter().find(is_it) else {
            let members: Vec<_> = packages.iter().filter_map(|package| package["name"].as_str()).collect();
            bail!(
                "{} is a workspace without a package of its own; name the Cargo.toml of the package with the kernels \
                 (its packages: {})",
                manifest.display(),
                members.join(", ")
            );
        };
        let name = text(package, "name")?;
        let is_library = |target: &&Value| {
            let kinds = target["kind"].as_array().map_or(&[][..], Vec::as_slice);
            kinds.iter().filter_map(Value::as_str).any(|kind| LIBRARIES.contains(&kind))
        };
        let targets = package["targets"].as_array().map_or(&[][..], Vec::as_slice);
        let library = targets.iter().find(is_library).with_context(|| {
            format!("the package {name} has no library; kernels stand in src/lib.rs or in modules of that")
        })?;
        Ok(Self {
            name,
            library: text(library, "name")?.replace('-', "_"),
            workspace_root: text(&metadata, "workspace_root")?.into(),
            target_dir: text(&metadata, "target_directory")?.into(),
            code: code(packages, &manifest),
            manifest,
        })
    }

    /// Whether there is code for `sm_90a` alone. simt has some, which is compiled where a kernel uses it.
    pub(crate) fn is_for_sm_90a(&self) -> bool {
        fn names_it(path: &Path) -> io::Result<bool> {
            if path.is_dir() {
                fs::read_dir(path)?.try_fold(false, |found, entry| Ok(found || names_it(&entry?.path())?))
            } else {
                Ok(fs::read_to_string(path)?.contains("sm_90a"))
            }
        }
        // Where code cannot be read there may be some.
        self.code.iter().any(|folder| names_it(folder).unwrap_or(true))
    }

    /// The folder of its Cargo.toml.
    pub fn folder(&self) -> &Path {
        folder(&self.manifest)
    }
}

/// [`Package::code`] of the package of a Cargo.toml.
fn code(packages: &[Value], manifest: &Path) -> Vec<PathBuf> {
    let (mut found, mut next) = (vec![], vec![folder(manifest).to_path_buf()]);
    while let Some(folder) = next.pop() {
        if found.contains(&folder.join("src")) {
            continue;
        }
        let manifest = folder.join("Cargo.toml");
        let package =
            packages.iter().find(|package| package["manifest_path"].as_str().map(Path::new) == Some(&manifest));
        let all = package.and_then(|package| package["dependencies"].as_array()).map_or(&[][..], Vec::as_slice);
        let used = all.iter().filter(|used| used["kind"].is_null() && used["name"].as_str() != Some("simt"));
        next.extend(used.filter_map(|used| used["path"].as_str()).map(PathBuf::from));
        found.push(folder.join("src"));
    }
    found
}

/// The whole path of a Cargo.toml, or of the Cargo.toml in a folder, and what cargo says of its workspace.
fn metadata(manifest: &Path) -> Result<(PathBuf, String)> {
    let manifest = if manifest.is_dir() { manifest.join("Cargo.toml") } else { manifest.to_path_buf() };
    let manifest = fs::canonicalize(&manifest).with_context(|| manifest.display().to_string())?;
    let cargo = env::var_os("CARGO").map_or_else(|| PathBuf::from("cargo"), PathBuf::from);
    let output = Command::new(&cargo)
        .args(["metadata", "--no-deps", "--format-version", "1", "--manifest-path"])
        .arg(&manifest)
        .current_dir(folder(&manifest))
        .output()
        .with_context(|| format!("{} did not start", cargo.display()))?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "cargo cannot read {}:\n{}", manifest.display(), said.trim_end());
    Ok((manifest, String::from_utf8_lossy(&output.stdout).into_owned()))
}

/// The folder of a Cargo.toml whose path is absolute.
fn folder(manifest: &Path) -> &Path {
    manifest.parent().expect("an absolute path of a file has a folder")
}

#[cfg(test)]
mod tests {
    use super::*;

    const METADATA: &str = r#"{
        "packages": [
            {"name": "own-kernels", "manifest_path": "/w/kernels/Cargo.toml",
             "dependencies": [{"name": "program", "kind": null, "path": "/w/program"},
                              {"name": "simt", "kind": null, "path": "/elsewhere/simt"},
                              {"name": "serde", "kind": null},
                              {"name": "harness", "kind": "dev", "path": "/w/harness"}],
             "targets": [{"kind": ["custom-build"], "name": "build-script-build"},
                         {"kind": ["lib"], "name": "own-kernels"}]},
            {"name": "program", "manifest_path": "/w/program/Cargo.toml",
             "dependencies": [{"name": "own-kernels", "kind": null, "path": "/w/kernels"},
                              {"name": "other", "kind": null, "path": "/elsewhere/other"}],
             "targets": [{"kind": ["bin"], "name": "program"}]}
        ],
        "workspace_root": "/w", "target_directory": "/w/target"}"#;

    fn of(manifest: &str) -> Result<Package> {
        Package::of_metadata(METADATA, manifest.into())
    }

    #[test]
    fn a_package_is_found_by_its_manifest() {
        let package = of("/w/kernels/Cargo.toml").unwrap();
        assert_eq!((package.name.as_str(), package.library.as_str()), ("own-kernels", "own_kernels"));
        assert_eq!((package.folder(), package.target_dir.as_path()), (Path::new("/w/kernels"), Path::new("/w/target")));
        assert_eq!(package.code, ["/w/kernels/src", "/w/program/src", "/elsewhere/other/src"].map(PathBuf::from));
    }

    #[test]
    fn a_workspace_without_a_package_is_refused_with_its_members() {
        let why = of("/w/Cargo.toml").unwrap_err().to_string();
        assert!(why.contains("a workspace without a package") && why.contains("own-kernels, program"), "{why}");
    }

    #[test]
    fn a_package_without_a_library_is_refused() {
        let why = of("/w/program/Cargo.toml").unwrap_err().to_string();
        assert!(why.contains("the package program has no library"), "{why}");
    }

    /// The project's own: the root is a workspace, whose default member is not a package of kernels.
    #[test]
    fn cargo_is_asked() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
        let why = Package::at(root).unwrap_err().to_string();
        assert!(why.contains("a workspace without a package") && why.contains("rungs-kernels"), "{why}");
        let kernels = Package::at(&root.join("gpu")).unwrap();
        assert_eq!((kernels.name.as_str(), kernels.library.as_str()), ("rungs-kernels", "rungs_kernels"));
        let parts = Package::parts(&root.join("gpu")).unwrap();
        let for_sm_90a: Vec<_> = parts.iter().filter(|part| part.is_for_sm_90a()).map(|part| &*part.name).collect();
        assert_eq!(for_sm_90a, ["rungs-matmul", "rungs-products"]);
        assert!(parts.iter().any(|part| part.library == "rungs_odd_even") && !parts.contains(&kernels));
        let alone = Package::parts(&root.join("gpu/reduce")).unwrap();
        assert_eq!(alone, [Package::at(&root.join("gpu/reduce")).unwrap()]);
        assert_eq!(kernels.workspace_root, fs::canonicalize(root).unwrap());
        assert!(Package::at(&root.join("no-such-folder")).is_err());
    }
}
