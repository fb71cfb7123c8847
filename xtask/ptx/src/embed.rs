//! PTX inside a program: what its build script does.

use crate::{Arch, BuildError, Options, Ptx, Toolchain, build_all, ptx};
use anyhow::{Context, Result, ensure};
use std::path::{Path, PathBuf};
use std::{env, fs};

/// What is built where nobody says otherwise: PTX that every GPU since Ampere takes, and one with Hopper's
/// instructions.
pub const DEFAULT_ARCHES: &[&str] = &["sm_80", "sm_90"];

/// The environment variable that names a folder of finished PTX, to be taken instead of building it.
pub const PTX_DIR_VARIABLE: &str = "RUNGS_PTX_DIR";

/// Called by the build script of a package in a folder of the workspace's root: leaves `ptx.rs` in `OUT_DIR`, with
///
/// ```text
/// pub static PTX: &[(&str, &str)] = …;     // architecture and text, oldest architecture first
/// pub static PTX_TOOLCHAIN: &str = …;      // what compiled it; empty if there is none
/// pub static PTX_MISSING: &str = …;        // why there is none; empty if there is
/// ```
///
/// Without a toolchain that can compile for a GPU the list is empty and the build goes on, with a warning. Kernels
/// that do not compile fail it. `RUNGS_PTX_DIR` names a folder whose `sm_*.ptx` are taken instead.
pub fn embed_from_build_script() {
    if let Err(why) = embed() {
        // Every line of the compiler's message; cargo fails the build for them.
        format!("{why:#}").lines().for_each(|line| println!("cargo::error={line}"));
    }
}

/// The target folder that a file made by cargo lies in: the nearest that cargo marked as its own.
pub fn target_dir_above(path: &Path) -> Option<PathBuf> {
    path.ancestors().find(|folder| folder.join("CACHEDIR.TAG").is_file()).map(Path::to_path_buf)
}

fn embed() -> Result<()> {
    let folder = |name: &str| env::var_os(name).map(PathBuf::from).with_context(|| format!("cargo sets no {name}"));
    let (out, package) = (folder("OUT_DIR")?, folder("CARGO_MANIFEST_DIR")?);
    let root = package.parent().context("the package is not in a folder of the workspace")?;
    for path in ["Cargo.toml", "Cargo.lock", "gpu", "simt", "xtask/ptx"] {
        rerun_if_changed(&root.join(path));
    }
    println!("cargo::rerun-if-env-changed={PTX_DIR_VARIABLE}");
    let embedded = match env::var_os(PTX_DIR_VARIABLE).filter(|dir| !dir.is_empty()) {
        Some(dir) => from_folder(Path::new(&dir))?,
        None => from_source(root, &target_dir_above(&out).unwrap_or_else(|| out.clone()))?,
    };
    if !embedded.missing.is_empty() {
        println!("cargo::warning=built without PTX, for the simulator only: {}", embedded.missing);
    }
    embedded.write(&out)
}

/// What goes into the program.
#[derive(Default)]
struct Embedded {
    ptx: Vec<(String, String)>,
    toolchain: String,
    missing: String,
}

impl Embedded {
    fn without(missing: impl Into<String>) -> Self {
        Self { missing: missing.into(), ..Self::default() }
    }

    fn write(&self, out: &Path) -> Result<()> {
        let mut list = String::new();
        for (name, text) in &self.ptx {
            write(&out.join(name).with_extension("ptx"), text)?;
            list += &format!("    ({name:?}, include_str!(concat!(env!(\"OUT_DIR\"), \"/{name}.ptx\"))),\n");
        }
        let (toolchain, missing) = (&self.toolchain, &self.missing);
        let code = format!(
            "/// The kernels: architecture and PTX, oldest architecture first.\n\
             pub static PTX: &[(&str, &str)] = &[\n{list}];\n\
             /// What compiled them; empty if there are none.\n\
             pub static PTX_TOOLCHAIN: &str = {toolchain:?};\n\
             /// Why there are none; empty if there are.\n\
             pub static PTX_MISSING: &str = {missing:?};\n"
        );
        write(&out.join("ptx.rs"), &code)
    }
}

/// Built here, if it can be.
fn from_source(root: &Path, target_dir: &Path) -> Result<Embedded> {
    let toolchain = match Toolchain::find(root) {
        Ok(toolchain) => toolchain,
        Err(missing) => {
            // What rustup and Debian change when a component or a package is installed.
            let components = missing.sysroots.iter().map(|sysroot| sysroot.join("lib/rustlib/components"));
            let dpkg = PathBuf::from("/var/lib/dpkg/status");
            components.chain([dpkg]).filter(|path| path.exists()).for_each(|path| rerun_if_changed(&path));
            return Ok(Embedded::without(missing.one_line()));
        }
    };
    let options = |arch: &&str| -> Result<Options> {
        let (workspace_root, target_dir) = (root.to_path_buf(), target_dir.to_path_buf());
        Ok(Options { arch: arch.parse()?, checked: false, workspace_root, target_dir })
    };
    let all = DEFAULT_ARCHES.iter().map(options).collect::<Result<Vec<_>>>()?;
    match build_all(&toolchain, &all) {
        Ok(built) => {
            let ptx = built.into_iter().map(|Ptx { name, text, .. }| (name, text)).collect();
            Ok(Embedded { ptx, toolchain: toolchain.to_string(), missing: String::new() })
        }
        // No network for what `core` is built with, say: the program is of use without PTX. The next build tries
        // again, because cargo runs a script anew that depends on a file which is not there.
        Err(BuildError::Toolchain(why)) => {
            rerun_if_changed(&target_dir.join("device/try-again"));
            let why = why.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join("; ");
            Ok(Embedded::without(format!("{toolchain} did not get to the kernels: {why}")))
        }
        Err(error) => Err(error.into()),
    }
}

/// Built before, by `cargo xtask build-ptx`.
fn from_folder(dir: &Path) -> Result<Embedded> {
    rerun_if_changed(dir);
    let mut found = vec![];
    let files = fs::read_dir(dir).with_context(|| format!("{PTX_DIR_VARIABLE}={}", dir.display()))?;
    for path in files.map(|file| Ok(file?.path())).collect::<Result<Vec<_>>>()? {
        let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
        let is_ptx = path.extension().is_some_and(|extension| extension == "ptx");
        if let (true, Ok(arch)) = (is_ptx, stem.parse::<Arch>()) {
            let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
            ensure!(!ptx::entries(&text).is_empty(), "{} has no kernels in it", path.display());
            found.push((arch, text));
        }
    }
    ensure!(!found.is_empty(), "{PTX_DIR_VARIABLE}={}: there is no sm_*.ptx in it", dir.display());
    found.sort_by_key(|(arch, _)| (arch.number(), arch.to_string()));
    let ptx = found.into_iter().map(|(arch, text)| (arch.to_string(), text)).collect();
    Ok(Embedded { ptx, toolchain: format!("taken from {PTX_DIR_VARIABLE}"), missing: String::new() })
}

fn rerun_if_changed(path: &Path) {
    println!("cargo::rerun-if-changed={}", path.display());
}

fn write(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text).with_context(|| format!("{} cannot be written", path.display()))
}
