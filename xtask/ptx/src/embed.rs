//! PTX inside a program, put there by its build script.

use crate::build::TARGET;
use crate::{Arch, BuildError, Options, Package, Ptx, Toolchain, build_all, ptx};
use anyhow::{Context, Result, ensure};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::{env, fs};

/// The default architectures: PTX for every GPU since Ampere, PTX with Hopper's instructions, and PTX with those that
/// Hopper alone has.
pub const DEFAULT_ARCHES: &[&str] = &["sm_80", "sm_90", "sm_90a"];

/// Called by a build script: compiles the kernels of a package and leaves `ptx.rs` in `OUT_DIR`, with
///
/// ```text
/// pub static PTX: &[(&str, &str)] = …;     // architecture and text, oldest architecture first
/// pub static PTX_TOOLCHAIN: &str = …;      // what compiled it; empty if there is none
/// pub static PTX_MISSING: &str = …;        // why there is none; empty if there is
/// ```
///
/// `kernels` is the folder of the package with the kernels, or its Cargo.toml; a relative path counts from the folder
/// of the package whose build script calls. It may be that package itself: its build script does nothing when the
/// package is compiled for the GPU.
///
/// Without a toolchain that can compile for a GPU the list is empty and the build goes on, with a warning. Kernels that
/// do not compile fail the build. `NAME_PTX_DIR`, with the calling package's name in capitals (`RUNGS_PTX_DIR` for
/// `rungs`), names a folder whose `sm_*.ptx` are used instead.
pub fn embed_from_build_script(kernels: impl AsRef<Path>) {
    if let Err(why) = embed(kernels.as_ref()) {
        // Prints every line of the compiler's message; cargo fails the build because of them.
        format!("{why:#}").lines().for_each(|line| println!("cargo::error={line}"));
    }
}

/// The environment variable that names a folder of finished PTX for a package, to be taken instead of building it.
pub fn ptx_dir_variable(package: &str) -> String {
    package.to_uppercase().replace('-', "_") + "_PTX_DIR"
}

/// The target folder of a file made by cargo: the nearest folder that cargo marked as its own.
pub fn target_dir_above(path: &Path) -> Option<PathBuf> {
    path.ancestors().find(|folder| folder.join("CACHEDIR.TAG").is_file()).map(Path::to_path_buf)
}

fn embed(kernels: &Path) -> Result<()> {
    let set = |name: &str| env::var_os(name).with_context(|| format!("cargo sets no {name}"));
    if set("TARGET")? == TARGET {
        return Ok(());
    }
    let out = PathBuf::from(set("OUT_DIR")?);
    let variable = ptx_dir_variable(&set("CARGO_PKG_NAME")?.to_string_lossy());
    println!("cargo::rerun-if-env-changed={variable}");
    let embedded = match env::var_os(&variable).filter(|dir| !dir.is_empty()) {
        Some(dir) => from_folder(Path::new(&dir), &variable)?,
        None => {
            // Cargo runs a build script in the folder of its package.
            let package = Package::at(kernels)?;
            from_source(&package, &target_dir_above(&out).unwrap_or_else(|| out.clone()))?
        }
    };
    if !embedded.missing.is_empty() {
        println!("cargo::warning=built without PTX, for the simulator only: {}", embedded.missing);
    }
    embedded.write(&out)
}

/// The PTX for the program.
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
             /// The compiler that made them; empty if there are none.\n\
             pub static PTX_TOOLCHAIN: &str = {toolchain:?};\n\
             /// The reason why there are none; empty if there are.\n\
             pub static PTX_MISSING: &str = {missing:?};\n"
        );
        write(&out.join("ptx.rs"), &code)
    }
}

/// Built here, if it can be.
fn from_source(package: &Package, target_dir: &Path) -> Result<Embedded> {
    [package.manifest.clone(), package.workspace_root.join("Cargo.toml"), package.workspace_root.join("Cargo.lock")]
        .iter()
        .for_each(|path| rerun_if_changed(path));
    let toolchain = match Toolchain::find(package.folder()) {
        Ok(toolchain) => toolchain,
        Err(missing) => {
            // The files that rustup and Debian change when a component or a package is installed.
            let components = missing.sysroots.iter().map(|sysroot| sysroot.join("lib/rustlib/components"));
            let dpkg = PathBuf::from("/var/lib/dpkg/status");
            components.chain([dpkg]).filter(|path| path.exists()).for_each(|path| rerun_if_changed(&path));
            return Ok(Embedded::without(missing.one_line()));
        }
    };
    let options = |arch: &&str| -> Result<Options> {
        let (package, target_dir) = (package.clone(), target_dir.to_path_buf());
        Ok(Options { arch: arch.parse()?, checked: false, package, target_dir })
    };
    let all = DEFAULT_ARCHES.iter().map(options).collect::<Result<Vec<_>>>()?;
    match build_all(&toolchain, &all) {
        Ok(built) => {
            for options in &all {
                let path = options.dep_info();
                let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
                let sources = sources(&text);
                sources.iter().chain(&manifests(&sources)).for_each(|path| rerun_if_changed(path));
            }
            let ptx = built.into_iter().map(|Ptx { name, text, .. }| (name, text)).collect();
            Ok(Embedded { ptx, toolchain: toolchain.to_string(), missing: String::new() })
        }
        // For example, no network for the dependencies of `core`: the program is useful without PTX. The next build
        // tries again, because cargo reruns a script that depends on a missing file.
        Err(BuildError::Toolchain(why)) => {
            rerun_if_changed(&target_dir.join("device/try-again"));
            let why = why.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join("; ");
            Ok(Embedded::without(format!("{toolchain} did not get to the kernels: {why}")))
        }
        Err(error) => Err(error.into()),
    }
}

/// PTX that was built before, by `cargo xtask build-ptx`.
fn from_folder(dir: &Path, variable: &str) -> Result<Embedded> {
    rerun_if_changed(dir);
    let mut found = vec![];
    let files = fs::read_dir(dir).with_context(|| format!("{variable}={}", dir.display()))?;
    for path in files.map(|file| Ok(file?.path())).collect::<Result<Vec<_>>>()? {
        let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
        let is_ptx = path.extension().is_some_and(|extension| extension == "ptx");
        if let (true, Ok(arch)) = (is_ptx, stem.parse::<Arch>()) {
            let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
            ensure!(!ptx::entries(&text).is_empty(), "{} has no kernels in it", path.display());
            found.push((arch, text));
        }
    }
    ensure!(!found.is_empty(), "{variable}={}: there is no sm_*.ptx in it", dir.display());
    found.sort_by_key(|(arch, _)| (arch.number(), arch.to_string()));
    let compilers: BTreeSet<_> = found.iter().map(|(_, text)| ptx::compiler(text).unwrap_or("unknown")).collect();
    let toolchain = format!("{} (from {variable})", compilers.into_iter().collect::<Vec<_>>().join(" and "));
    let ptx = found.into_iter().map(|(arch, text)| (arch.to_string(), text)).collect();
    Ok(Embedded { ptx, toolchain, missing: String::new() })
}

fn rerun_if_changed(path: &Path) {
    println!("cargo::rerun-if-changed={}", path.display());
}

fn write(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text).with_context(|| format!("{} cannot be written", path.display()))
}

/// The sources in a file of make's rules, as cargo writes it: `made: source source`, with `\ ` for a space in a name.
fn sources(dep_info: &str) -> BTreeSet<PathBuf> {
    const SPACE: &str = "\0";
    let rules = dep_info.lines().filter_map(|line| line.split_once(": "));
    let names = rules.flat_map(|(_, sources)| {
        let sources = sources.replace("\\ ", SPACE);
        sources.split(' ').map(|name| name.replace(SPACE, " ")).collect::<Vec<_>>()
    });
    names.filter(|name| !name.is_empty()).map(PathBuf::from).collect()
}

/// The Cargo.toml of each package that one of these files is in.
fn manifests(sources: &BTreeSet<PathBuf>) -> BTreeSet<PathBuf> {
    let above = |source: &PathBuf| source.ancestors().map(|f| f.join("Cargo.toml")).find(|path| path.is_file());
    sources.iter().filter_map(above).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_of_ptx_is_named_by_the_package_that_takes_it() {
        assert_eq!(["rungs", "own-kernel"].map(ptx_dir_variable), ["RUNGS_PTX_DIR", "OWN_KERNEL_PTX_DIR"]);
    }

    #[test]
    fn sources_are_read_from_cargo_s_list() {
        let text = "/t/release/k.ptx: /w/k/src/lib.rs /w/my\\ kernels/src/a.rs\n\n/w/k/src/lib.rs:\n";
        let expected = ["/w/k/src/lib.rs", "/w/my kernels/src/a.rs"].map(PathBuf::from);
        assert_eq!(sources(text), BTreeSet::from(expected));
    }

    #[test]
    fn the_manifest_of_a_source_is_that_of_its_package() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
        let sources = BTreeSet::from(["src/lib.rs", "src/ptx/tests.rs"].map(|file| folder.join(file)));
        assert_eq!(manifests(&sources), BTreeSet::from([folder.join("Cargo.toml")]));
    }
}
