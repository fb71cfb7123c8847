//! PTX inside a program, put there by its build script.

use crate::build::TARGET;
use crate::{Arch, BuildError, Options, Package, Ptx, Toolchain, build_all, pack, ptx};
use anyhow::{Context, Result, ensure};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

/// The default architectures of `build-ptx`: PTX for every GPU since Ampere, PTX with Hopper's instructions, and PTX
/// with those that Hopper alone has.
pub const DEFAULT_ARCHES: &[&str] = &["sm_80", "sm_90", "sm_90a"];

/// The architectures of a release build on a machine without a GPU: PTX for every GPU since Ampere, and for Hopper.
/// Blackwell runs the former; PTX with Hopper's portable instructions, which it could run, would take another minute.
pub const RELEASE_ARCHES: &[&str] = &["sm_80", "sm_90a"];

/// The environment variable that names the architectures to compile for, separated by commas, or `none`.
pub const ARCHES_VARIABLE: &str = "RUNGS_ARCHES";

/// The environment variable that keeps the lines of the source in the PTX, for profilers: 1.
const LINES_VARIABLE: &str = "RUNGS_LINE_INFO";

/// The form of the texts in the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// As they are.
    Plain,
    /// Compressed, for [`crate::unpack`].
    Packed,
}

/// Called by a build script: compiles the kernels of a package and leaves `ptx.rs` in `OUT_DIR`, with
///
/// ```text
/// pub static PTX: &[(&str, &str)] = …;     // architecture and text, oldest architecture first
/// pub static PTX_TOOLCHAIN: &str = …;      // what compiled it; empty if there is none
/// pub static PTX_MISSING: &str = …;        // why there is none; empty if there is
/// ```
///
/// There is PTX for the GPUs of the machine that builds, as `nvidia-smi` names them. Without a GPU, a release build has
/// PTX for [`RELEASE_ARCHES`], and a debug build none: tests on the simulator then do not wait for it. `RUNGS_ARCHES`
/// decides in all cases: `RUNGS_ARCHES=sm_90a`, or `RUNGS_ARCHES=none`. With `RUNGS_LINE_INFO=1` the PTX names the
/// lines of the source, for profilers.
///
/// `kernels` is the folder of the package with the kernels, or its Cargo.toml; a relative path counts from the folder
/// of the package whose build script calls. It may be that package itself: its build script does nothing when the
/// package is compiled for the GPU.
///
/// Without a toolchain that can compile for a GPU the list is empty and the build goes on, with a warning. Kernels that
/// do not compile fail the build. `NAME_PTX_DIR`, with the calling package's name in capitals (`RUNGS_PTX_DIR` for
/// `rungs`), names a folder whose `sm_*.ptx` are used instead.
pub fn embed_from_build_script(kernels: impl AsRef<Path>) {
    embed_as(Form::Plain, kernels.as_ref());
}

/// [`embed_from_build_script`] for many kernels: `PTX` is a `LazyLock<Vec<(&str, &str)>>`, whose texts are compressed
/// in the program and [unpacked](crate::unpack) when they are first asked for. The program depends on `rungs-ptx`, too.
pub fn embed_packed_from_build_script(kernels: impl AsRef<Path>) {
    embed_as(Form::Packed, kernels.as_ref());
}

fn embed_as(form: Form, kernels: &Path) {
    if let Err(why) = embed(form, kernels) {
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

/// The architectures that a build script compiles for, or the reason why for none.
fn arches() -> Result<Result<Vec<Arch>, String>> {
    println!("cargo::rerun-if-env-changed={ARCHES_VARIABLE}");
    let asked = env::var(ARCHES_VARIABLE).ok().filter(|asked| !asked.is_empty());
    let release = env::var("PROFILE").is_ok_and(|profile| profile == "release");
    chosen(asked.as_deref(), release, gpus)
}

/// [`arches`], of what is asked for, of the profile, and of the architectures of the machine's GPUs.
fn chosen(asked: Option<&str>, release: bool, gpus: fn() -> Vec<String>) -> Result<Result<Vec<Arch>, String>> {
    let parsed = |names: &[&str]| names.iter().map(|name| name.trim().parse::<Arch>()).collect::<Result<Vec<_>>>();
    Ok(match asked {
        Some("none") => Err(format!("{ARCHES_VARIABLE}=none")),
        Some(names) => Ok(parsed(&names.split(',').collect::<Vec<_>>()).context(ARCHES_VARIABLE)?),
        None => {
            let at_hand: BTreeSet<_> = gpus().into_iter().collect();
            match at_hand.iter().map(|arch| &**arch).collect::<Vec<_>>()[..] {
                [] if release => Ok(parsed(RELEASE_ARCHES)?),
                [] => Err("a debug build has PTX for the GPUs of the machine that builds it, and it has none; build \
                           with --release, or set RUNGS_ARCHES=sm_90a, for example"
                    .into()),
                ref gpus => Ok(parsed(gpus)?),
            }
        }
    })
}

/// The architectures of the machine's GPUs, by the driver's own program: with Hopper's own instructions, where it has
/// them.
fn gpus() -> Vec<String> {
    let asked = Command::new("nvidia-smi").args(["--query-gpu=compute_cap", "--format=csv,noheader"]).output();
    let said = asked.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    let arch = |line: &str| {
        let digits: String = line.trim().split('.').collect();
        let number = digits.parse::<u32>().ok()?;
        // What rustc has no name for runs PTX for an older one.
        Some(if number == 90 { "sm_90a".into() } else { format!("sm_{}", if number > 90 { 90 } else { number }) })
    };
    said.lines().filter_map(arch).collect()
}

fn embed(form: Form, kernels: &Path) -> Result<()> {
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
            match arches()? {
                Ok(arches) => {
                    let target_dir = target_dir_above(&out).unwrap_or_else(|| out.clone());
                    from_source(&Package::parts(kernels)?, &arches, &target_dir)?
                }
                Err(why) => Embedded::without(why),
            }
        }
    };
    // A debug build without a GPU is not worth a warning.
    if !embedded.missing.is_empty() && env::var("PROFILE").is_ok_and(|profile| profile == "release") {
        println!("cargo::warning=built without PTX, for the simulator only: {}", embedded.missing);
    }
    embedded.write(form, &out)
}

/// The PTX for the program.
#[derive(Default)]
struct Embedded {
    /// For each architecture the parts of its text.
    ptx: Vec<(String, Vec<String>)>,
    toolchain: String,
    missing: String,
}

impl Embedded {
    fn without(missing: impl Into<String>) -> Self {
        Self { missing: missing.into(), ..Self::default() }
    }

    fn write(&self, form: Form, out: &Path) -> Result<()> {
        let mut list = String::new();
        if form == Form::Packed {
            let parts = self.ptx.iter().flat_map(|(_, parts)| parts).map(String::as_str);
            pack::pack_into(out, parts).with_context(|| format!("{}: compressed PTX", out.display()))?;
        }
        for (name, parts) in &self.ptx {
            if form == Form::Packed {
                let bytes =
                    |part: &String| format!("include_bytes!(concat!(env!(\"OUT_DIR\"), \"/{}\"))", pack::file_of(part));
                let bytes = parts.iter().map(bytes).collect::<Vec<_>>().join(", ");
                list += &format!("    ({name:?}, &*rungs_ptx::unpack(&[{bytes}]).leak()),\n");
            } else {
                write(&out.join(name).with_extension("ptx"), parts.concat().as_bytes())?;
                list += &format!("    ({name:?}, include_str!(concat!(env!(\"OUT_DIR\"), \"/{name}.ptx\"))),\n");
            }
        }
        let (kind, list) = match form {
            Form::Plain => ("&[(&str, &str)]", format!("&[\n{list}]")),
            Form::Packed => (
                "std::sync::LazyLock<Vec<(&'static str, &'static str)>>",
                if list.is_empty() {
                    "std::sync::LazyLock::new(Vec::new)".into()
                } else {
                    format!("std::sync::LazyLock::new(|| vec![\n{list}])")
                },
            ),
        };
        let (toolchain, missing) = (&self.toolchain, &self.missing);
        let code = format!(
            "/// The kernels: architecture and PTX, oldest architecture first.\n\
             pub static PTX: {kind} = {list};\n\
             /// The compiler that made them; empty if there are none.\n\
             pub static PTX_TOOLCHAIN: &str = {toolchain:?};\n\
             /// The reason why there are none; empty if there are.\n\
             pub static PTX_MISSING: &str = {missing:?};\n"
        );
        write(&out.join("ptx.rs"), code.as_bytes())
    }
}

/// Built here, if it can be.
fn from_source(packages: &[Package], arches: &[Arch], target_dir: &Path) -> Result<Embedded> {
    println!("cargo::rerun-if-env-changed={LINES_VARIABLE}");
    let lines = env::var_os(LINES_VARIABLE).is_some_and(|set| set == "1");
    let options = |arch: &Arch| -> Vec<Options> {
        let of = |package: &Package| {
            let (arch, package, target_dir) = (arch.clone(), package.clone(), target_dir.to_path_buf());
            Options { arch, checked: false, lines, package, target_dir }
        };
        packages.iter().map(of).collect()
    };
    let all: Vec<_> = arches.iter().flat_map(options).collect();
    let Some(package) = packages.first() else { return Ok(Embedded::without("there is no package of kernels")) };
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
    match build_all(&toolchain, &all) {
        Ok(built) => {
            let sources: BTreeSet<_> = built.iter().flat_map(|ptx| &ptx.sources).collect();
            sources.into_iter().for_each(|path| rerun_if_changed(path));
            let parts = |ptx: &Ptx| ptx.parts().map(String::from).collect();
            let ptx = built.iter().map(|ptx| (ptx.name.clone(), parts(ptx))).collect();
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
    let ptx = found.into_iter().map(|(arch, text)| (arch.to_string(), vec![text])).collect();
    Ok(Embedded { ptx, toolchain, missing: String::new() })
}

fn rerun_if_changed(path: &Path) {
    println!("cargo::rerun-if-changed={}", path.display());
}

fn write(path: &Path, content: &[u8]) -> Result<()> {
    fs::write(path, content).with_context(|| format!("{} cannot be written", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_of_ptx_is_named_by_the_package_that_takes_it() {
        assert_eq!(["rungs", "own-kernel"].map(ptx_dir_variable), ["RUNGS_PTX_DIR", "OWN_KERNEL_PTX_DIR"]);
    }

    #[test]
    fn architectures_are_those_asked_for_or_those_that_the_build_needs() {
        let none: fn() -> Vec<String> = Vec::new;
        let two: fn() -> Vec<String> = || ["sm_90a", "sm_80", "sm_90a"].map(String::from).to_vec();
        let names = |asked, release, gpus| {
            let arches = chosen(asked, release, gpus).unwrap();
            arches.map(|arches| arches.iter().map(Arch::to_string).collect::<Vec<_>>().join(","))
        };
        assert_eq!(names(None, true, none).unwrap(), RELEASE_ARCHES.join(","));
        assert_eq!([true, false].map(|release| names(None, release, two).unwrap()), ["sm_80,sm_90a"; 2]);
        assert!(names(None, false, none).unwrap_err().contains("--release"));
        assert_eq!(names(Some("sm_90a, sm_80"), false, none).unwrap(), "sm_90a,sm_80");
        assert_eq!(names(Some("none"), true, two).unwrap_err(), "RUNGS_ARCHES=none");
        assert!(chosen(Some("volta"), true, none).is_err());
    }
}
