//! Puts the text of the kernels' sources into the program.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() {
    // The build script of rungs-kernels says where that package is.
    let kernels = env::var_os("DEP_RUNGS_KERNELS_MANIFEST").expect("rungs-kernels says where it is");
    if let Err(why) = embed_sources(Path::new(&kernels)) {
        println!("cargo::error=the sources of the kernels cannot be read: {why}");
    }
}

/// Writes `sources.rs`: path, from the root of the project, and text of each file of the kernels.
fn embed_sources(kernels: &Path) -> io::Result<()> {
    let package = kernels.parent().unwrap_or(Path::new("."));
    let mut table = String::from("static SOURCES: &[(&str, &str)] = &[\n");
    let mut paths = vec![];
    for source in source_folders(package)? {
        println!("cargo::rerun-if-changed={}", source.display());
        paths.extend(files(&source)?);
    }
    paths.sort();
    for path in paths {
        let root = package.parent().unwrap_or(package);
        let name = path.strip_prefix(root).unwrap_or(&path).to_string_lossy().replace('\\', "/");
        table += &format!("    ({name:?}, include_str!({:?})),\n", path.to_string_lossy());
    }
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    fs::write(out.join("sources.rs"), table + "];\n")
}

/// The folders `src` of the package and of the families' packages below it.
fn source_folders(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut all = vec![];
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.ends_with("src") {
            all.push(path);
        } else if path.is_dir() {
            all.extend(source_folders(&path)?);
        }
    }
    Ok(all)
}

fn files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut all = vec![];
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            all.extend(files(&path)?);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            all.push(path);
        }
    }
    Ok(all)
}
