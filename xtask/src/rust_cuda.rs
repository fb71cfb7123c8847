//! `build-ptx --backend rust-cuda`: in two steps, because rust-cuda's code generator is part of a compiler.
//!
//! The xtask that a person runs is compiled without rust-cuda. It finds the toolchain ([`RustCuda::find`]) and starts
//! itself again: compiled by the nightly, with the feature `rust-cuda`, which makes cuda_builder and the code generator
//! part of it, both from the repository by the config file. That second xtask builds the kernels.

mod packages;
pub mod setup;

use crate::{project, shell};
use anyhow::{Context, Result};
use rungs_ptx::Arch;
use rungs_ptx::rust_cuda::{Llvm, NIGHTLY, RustCuda};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

/// The folder of pip's packages for rust-cuda.
fn pip_folder() -> PathBuf {
    project::tools().join("rust-cuda")
}

/// Starts this program again, with rust-cuda in it: once for each LLVM that the architectures need.
pub fn start_again(arches: &[Arch], checked: bool, out: &Path) -> Result<()> {
    let of = |llvm| arches.iter().filter(|arch| Llvm::of(arch) == llvm).collect::<Vec<_>>();
    let runs = [Llvm::Seven, Llvm::Nineteen].map(|llvm| (llvm, of(llvm)));
    let runs = runs.into_iter().filter(|(_, arches)| !arches.is_empty());
    // All that is missing is said before the first build, which takes minutes.
    let found = |(llvm, arches)| Ok((llvm, arches, RustCuda::find(llvm, Some(&pip_folder()))?));
    let runs = runs.map(found).collect::<Result<Vec<_>>>()?;
    runs.into_iter().try_for_each(|(llvm, arches, found)| start_with(llvm, &arches, &found, checked, out))
}

fn start_with(llvm: Llvm, arches: &[&Arch], found: &RustCuda, checked: bool, out: &Path) -> Result<()> {
    println!("building xtask with {found}");
    let mut command = shell::command(found.toolchain.join("bin/cargo"), &["run", "--config", llvm.config()]);
    command
        .args(["--package", "xtask", "--features", features(llvm), "--target-dir"])
        .arg(target_dir(llvm))
        .args(["--", "build-ptx", "--backend", "rust-cuda", "--out"])
        .arg(out)
        .args(arches.iter().flat_map(|arch| ["--arch".to_string(), arch.to_string()]));
    if checked {
        command.arg("--checked");
    }
    // cuda_builder starts a plain `cargo`, and finds the code generator below CARGO_TARGET_DIR.
    command
        .env("PATH", before("PATH", &[found.toolchain.join("bin")])?)
        .env("LD_LIBRARY_PATH", before("LD_LIBRARY_PATH", &[found.toolchain.join("lib"), found.nvvm.clone()])?)
        .env("RUSTUP_TOOLCHAIN", NIGHTLY)
        .env("CARGO_TARGET_DIR", target_dir(llvm))
        .env("CUDA_PATH", &found.cuda)
        .env(llvm.variable(), &found.llvm_config)
        .env("LIBCLANG_PATH", &found.libclang)
        .env_remove("CARGO")
        .env_remove("RUSTC");
    if let Some(folder) = c_headers().filter(|_| env::var_os(CLANG_ARGUMENTS).is_none()) {
        command.env(CLANG_ARGUMENTS, format!("-isystem '{}'", folder.display()));
    }
    let _lock = KeptLock::new()?;
    shell::run(command)
}

/// What bindgen gives to libclang.
const CLANG_ARGUMENTS: &str = "BINDGEN_EXTRA_CLANG_ARGS";

/// The folder of the C compiler's own headers, such as `stddef.h`. pip's libclang comes without.
fn c_headers() -> Option<PathBuf> {
    let output = Command::new("cc").arg("-print-file-name=include").output().ok()?;
    let folder = PathBuf::from(String::from_utf8(output.stdout).ok()?.trim());
    folder.join("stddef.h").is_file().then_some(folder)
}

/// The features of the second xtask. The published crates, which the manifest names, have no LLVM 19.
fn features(llvm: Llvm) -> &'static str {
    match llvm {
        Llvm::Seven => "rust-cuda",
        Llvm::Nineteen => "rust-cuda,cuda_builder/llvm19,rustc_codegen_nvvm/llvm19",
    }
}

/// Where the second xtask and the code generator are built. cuda_builder takes the first code generator that it finds
/// there.
fn target_dir(llvm: Llvm) -> PathBuf {
    project::target().join(match llvm {
        Llvm::Seven => "rust-cuda",
        Llvm::Nineteen => "rust-cuda-19",
    })
}

/// A list of folders with more in front.
fn before(variable: &str, folders: &[PathBuf]) -> Result<std::ffi::OsString> {
    let old = env::var_os(variable).unwrap_or_default();
    let old = env::split_paths(&old).filter(|folder| !folder.as_os_str().is_empty());
    env::join_paths(folders.iter().cloned().chain(old)).with_context(|| format!("{variable} cannot be extended"))
}

/// The workspace's Cargo.lock, which the config file's patches would change, put back at the end.
struct KeptLock {
    path: PathBuf,
    text: Vec<u8>,
}

impl KeptLock {
    fn new() -> Result<Self> {
        let path = project::root().join("Cargo.lock");
        let text = fs::read(&path).with_context(|| format!("{} cannot be read", path.display()))?;
        Ok(Self { path, text })
    }
}

impl Drop for KeptLock {
    fn drop(&mut self) {
        if let Err(error) = fs::write(&self.path, &self.text) {
            eprintln!("warning: {} is changed and could not be put back: {error}", self.path.display());
        }
    }
}

/// Settings as in the default backend's build: optimised code without debug information and without the checks that
/// the simulator makes.
#[cfg(any(feature = "rust-cuda", test))]
const PROFILE: &[&str] = &["opt-level=3", "debug=false", "debug-assertions=false", "overflow-checks=false"];

/// What cargo is told in the second xtask's build of the kernels, with its outputs in `folder`.
#[cfg(any(feature = "rust-cuda", test))]
fn cargo_arguments(options: &rungs_ptx::Options, folder: &Path) -> Vec<String> {
    let mut arguments = vec!["--locked".to_string(), format!("--target-dir={}", folder.display())];
    arguments.extend(PROFILE.iter().map(|setting| format!("--config=profile.release.{setting}")));
    // As in the default backend's build: jump threading copies barriers into both arms of a branch. cuda_builder sets
    // RUSTFLAGS itself; a profile's flags are added to them.
    let mut flags = vec!["-Zmir-enable-passes=-JumpThreading"];
    if options.arch.has_sm_90() {
        flags.extend(["--cfg", "sm_90"]);
    }
    if options.arch.is_sm_90a() {
        flags.extend(["--cfg", "sm_90a"]);
    }
    arguments.push("-Zprofile-rustflags".into());
    arguments.push(format!("--config=profile.release.rustflags={flags:?}"));
    if options.checked {
        arguments.push("--features=checked".into());
    }
    arguments
}

#[cfg(feature = "rust-cuda")]
pub use inside::build;

/// The second xtask.
#[cfg(feature = "rust-cuda")]
mod inside {
    use super::cargo_arguments;
    use crate::project;
    use anyhow::{Context, Result, anyhow};
    use cuda_builder::{CudaBuilder, NvvmArch};
    use rungs_ptx::rust_cuda::{COMPILER, PACKAGE};
    use rungs_ptx::{Options, Ptx, ptx};
    use std::fs;

    /// Builds the PTX, one architecture after the other.
    pub fn build(all: &[Options]) -> Result<Vec<Ptx>> {
        all.iter().map(one).collect()
    }

    fn one(options: &Options) -> Result<Ptx> {
        let name = options.name();
        let arch = options.arch.to_string().replacen("sm_", "compute_", 1);
        let arch: NvvmArch = arch.parse().map_err(|why| anyhow!("rust-cuda on {}: {why}", options.arch))?;
        let folder = options.target_dir.join("device").join(&name);
        fs::create_dir_all(&folder).with_context(|| format!("{} cannot be made", folder.display()))?;
        let raw = folder.join("kernels.ptx");
        // A product and a sum stay two operations, as the default backend leaves them.
        let builder = CudaBuilder::new(project::root().join(PACKAGE)).arch(arch).fma_contraction(false);
        let arguments = cargo_arguments(options, &folder);
        builder.build_args(&arguments).copy_to(&raw).build().map_err(|error| anyhow!("{name}: {error}"))?;
        let text = fs::read_to_string(&raw).with_context(|| format!("{} cannot be read", raw.display()))?;
        let text =
            ptx::finish(&text, &options.arch, COMPILER).with_context(|| format!("PTX of rust-cuda for {name}"))?;
        Ok(Ptx::of_one(options, text, String::new(), Default::default()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rungs_ptx::Package;

    /// Without it the build goes on, and 21 kernels have copies of barriers.
    #[test]
    fn jump_threading_is_off_for_every_architecture() {
        let package = Package::at(&project::root().join("gpu")).unwrap();
        for (arch, checked) in [("sm_80", false), ("sm_90", true), ("sm_90a", false), ("sm_100", false)] {
            let (package, target_dir) = (package.clone(), project::target());
            let options =
                rungs_ptx::Options { arch: arch.parse().unwrap(), checked, lines: false, package, target_dir };
            let arguments = cargo_arguments(&options, Path::new("out"));
            let flags: Vec<_> = arguments.iter().filter(|argument| argument.contains("rustflags=")).collect();
            // A second list of flags would take the place of the first.
            let [flags] = flags[..] else { panic!("{arguments:?}") };
            assert!(flags.contains("\"-Zmir-enable-passes=-JumpThreading\""), "{flags}");
            assert_eq!(flags.contains("\"--cfg\", \"sm_90\""), arch != "sm_80", "{flags}");
            assert_eq!(flags.contains("\"--cfg\", \"sm_90a\""), arch == "sm_90a", "{flags}");
            assert_eq!(arguments.iter().any(|argument| argument == "--features=checked"), checked);
        }
    }

    /// The build of the kernels is `--locked`, and nothing else reads its lock file.
    #[test]
    fn the_lock_file_has_the_dependencies_of_the_kernels() {
        let lock = fs::read_to_string(project::root().join("xtask/rust-cuda/Cargo.lock")).unwrap();
        let command = shell::cargo(&["metadata", "--no-deps", "--offline", "--format-version", "1"]);
        let metadata: serde_json::Value = serde_json::from_str(&shell::capture(command).unwrap()).unwrap();
        let packages = metadata["packages"].as_array().unwrap();
        let block_of = |name: &str| lock.split("[[package]]").find(|it| it.contains(&format!("\nname = \"{name}\"\n")));
        // Those of the workspace that the kernels are made of.
        let locked = packages.iter().filter_map(|package| Some((package, block_of(package["name"].as_str()?)?)));
        let locked: Vec<_> = locked.collect();
        for name in ["rungs-kernels", "rungs-ordered", "simt", "simt-macros"] {
            assert!(locked.iter().any(|(package, _)| package["name"] == name), "{name} is not in the lock file");
        }
        for (package, locked) in locked {
            let dependencies = package["dependencies"].as_array().unwrap();
            for dependency in dependencies.iter().filter(|dependency| dependency["kind"].is_null()) {
                let dependency = dependency["name"].as_str().unwrap();
                assert!(locked.contains(&format!("\n \"{dependency}")), "{} needs {dependency}", package["name"]);
            }
        }
    }
}
