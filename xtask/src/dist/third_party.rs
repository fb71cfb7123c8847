//! The licences of the crates that the packed programs are made of.

use anyhow::{Context, Result};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// How the names of files begin in which a crate has its licences and copyright notices.
const NAMES: &[&str] = &["licen", "copying", "copyright", "notice", "unlicense"];

/// The output of `cargo metadata`.
#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
    workspace_root: PathBuf,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    version: String,
    license: Option<String>,
    repository: Option<String>,
    manifest_path: PathBuf,
}

/// A list of the crates with these manifests that are not the project's own, and the texts of their licences, each text
/// once. `metadata`: the output of `cargo metadata`.
///
/// # Errors
/// If a licence cannot be read, or a crate has neither a licence's text nor its name.
pub fn list(manifests: &BTreeSet<PathBuf>, metadata: &str) -> Result<String> {
    let metadata: Metadata = serde_json::from_str(metadata).context("the output of cargo metadata")?;
    let is_foreign = |package: &&Package| {
        manifests.contains(&package.manifest_path) && !package.manifest_path.starts_with(&metadata.workspace_root)
    };
    let mut text = String::from(
        "Crates in these programs, with their licences, beside Rust's standard library (MIT or Apache-2.0).\n\
         The texts follow the list.\n\n",
    );
    let mut texts: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for Package { name, version, license, repository, manifest_path } in metadata.packages.iter().filter(is_foreign) {
        let crate_name = format!("{name} {version}");
        let found = texts_in(manifest_path.parent().context("a manifest is in a folder")?)?;
        let license = license.clone().or_else(|| (!found.is_empty()).then(|| "see its text".into()));
        let license = license.with_context(|| format!("{crate_name} has no licence"))?;
        text += &format!("{crate_name}: {license}; {}\n", repository.as_deref().unwrap_or("no address"));
        found.into_iter().for_each(|found| {
            texts.entry(found).or_default().insert(crate_name.clone());
        });
    }
    for (licence, crates) in texts {
        let crates = crates.into_iter().collect::<Vec<_>>().join(", ");
        text += &format!("\n{}\n{crates}\n\n{}\n", "=".repeat(80), licence.trim_end());
    }
    Ok(text)
}

/// The licences and notices in a crate's folder.
fn texts_in(folder: &Path) -> Result<Vec<String>> {
    let entries = fs::read_dir(folder).with_context(|| format!("{} cannot be read", folder.display()))?;
    let mut paths = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    paths.sort();
    let is_licence = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
        path.is_file() && NAMES.iter().any(|start| name.starts_with(start))
    };
    let read = |path: PathBuf| fs::read_to_string(&path).with_context(|| format!("{} cannot be read", path.display()));
    paths.into_iter().filter(is_licence).map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder with crates: one of the workspace, two with the same text, one that is not asked for.
    #[test]
    fn foreign_crates_are_listed_and_each_text_stands_once() {
        let folder = tempfile::tempdir().unwrap();
        let crate_at = |name: &str, licence: Option<&str>| {
            let at = folder.path().join(name);
            fs::create_dir_all(&at).unwrap();
            fs::write(at.join("Cargo.toml"), "").unwrap();
            if let Some(text) = licence {
                fs::write(at.join("LICENSE-MIT"), text).unwrap();
            }
            at.join("Cargo.toml")
        };
        let paths = [
            crate_at("ours/rungs", Some("ours")),
            crate_at("one", Some("the text\n")),
            crate_at("two", Some("the text\n")),
            crate_at("three", None),
            crate_at("unused", Some("unused")),
        ];
        let metadata = |license: &str| {
            let package = |path: &PathBuf| {
                let name = path.parent().unwrap().file_name().unwrap().to_string_lossy();
                format!(
                    r#"{{"name":"{name}","version":"1.0.0","license":{license},"repository":null,
                        "manifest_path":{path:?}}}"#
                )
            };
            let packages = paths.iter().map(package).collect::<Vec<_>>().join(",");
            format!(r#"{{"packages":[{packages}],"workspace_root":{:?}}}"#, folder.path().join("ours"))
        };
        let asked = paths[..4].iter().cloned().collect();
        let text = list(&asked, &metadata("\"MIT\"")).unwrap();
        assert!(text.contains("\none 1.0.0: MIT; no address\ntwo 1.0.0: MIT; no address\nthree 1.0.0: MIT"), "{text}");
        assert!(text.ends_with("\none 1.0.0, two 1.0.0\n\nthe text\n"), "{text}");
        assert_eq!(text.matches("the text").count(), 1, "{text}");
        assert!(!text.contains("ours") && !text.contains("unused"), "{text}");
        // A crate that states no licence and brings no text may not be passed on.
        assert_eq!(list(&asked, &metadata("null")).unwrap_err().to_string(), "three 1.0.0 has no licence");
    }
}
