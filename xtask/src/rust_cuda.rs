//! `build-ptx --backend rust-cuda`: in two steps, because rust-cuda's code generator is part of a compiler.
//!
//! The xtask that a person runs is compiled without rust-cuda. It finds the toolchain ([`RustCuda::find`]) and starts
//! itself again: compiled by the nightly, with the feature `rust-cuda`, which makes cuda_builder and the code generator
//! part of it, both from the repository by the config file. That second xtask builds the kernels.

use crate::{project, shell};
use anyhow::{Context, Result};
use rungs_ptx::Arch;
use rungs_ptx::rust_cuda::{CONFIG, NIGHTLY, RustCuda, parts};
use std::path::{Path, PathBuf};
use std::{env, fs};

/// Prints the place of each part of the toolchain; fails if one is missing. Installs nothing: a tool should not install
/// LLVM 7 and CUDA without being told to.
pub fn report() -> Result<()> {
    for part in parts() {
        let place = part.place.map_or_else(|looked| format!("missing: {looked}"), |path| path.display().to_string());
        println!("{:<19} {place}", part.name);
    }
    RustCuda::find().map(drop).map_err(|incomplete| {
        let missing = incomplete.missing().collect::<Vec<_>>().join(", ");
        anyhow::anyhow!("rust-cuda's toolchain lacks {missing}; {}", rungs_ptx::rust_cuda::Incomplete::REMEDY)
    })
}

/// Starts this program again, with rust-cuda in it.
pub fn start_again(arches: &[Arch], checked: bool, out: &Path) -> Result<()> {
    let found = RustCuda::find()?;
    println!("building xtask with {found}");
    let mut command = shell::command(found.toolchain.join("bin/cargo"), &["run", "--quiet", "--config", CONFIG]);
    command
        .args(["--package", "xtask", "--features", "rust-cuda", "--target-dir"])
        .arg(target_dir())
        .args(["--", "build-ptx", "--backend", "rust-cuda", "--out"])
        .arg(out)
        .args(arches.iter().flat_map(|arch| ["--arch".to_string(), arch.to_string()]));
    if checked {
        command.arg("--checked");
    }
    // cuda_builder starts a plain `cargo`, and finds the code generator below CARGO_TARGET_DIR.
    command
        .env("PATH", before("PATH", &[found.toolchain.join("bin")])?)
        .env("LD_LIBRARY_PATH", before("LD_LIBRARY_PATH", &[found.toolchain.join("lib"), found.nvvm])?)
        .env("RUSTUP_TOOLCHAIN", NIGHTLY)
        .env("CARGO_TARGET_DIR", target_dir())
        .env("CUDA_PATH", found.cuda)
        .env("LLVM_CONFIG", found.llvm_config)
        .env_remove("CARGO")
        .env_remove("RUSTC");
    let _lock = KeptLock::new()?;
    shell::run(command)
}

/// Where the second xtask and the code generator are built.
fn target_dir() -> PathBuf {
    project::target().join("rust-cuda")
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

/// Settings as in the default backend's build: no debug information, no checks that the simulator makes.
#[cfg(any(feature = "rust-cuda", test))]
const PROFILE: &[&str] = &["opt-level=3", "debug=false", "debug-assertions=false", "overflow-checks=false"];

/// What cargo is told in the second xtask's build of the kernels, with its outputs in `folder`.
#[cfg(any(feature = "rust-cuda", test))]
fn cargo_arguments(options: &rungs_ptx::Options, folder: &Path) -> Vec<String> {
    let mut arguments = vec![
        "--locked".to_string(),
        format!("--config={}", project::root().join(CONFIG).display()),
        format!("--target-dir={}", folder.display()),
    ];
    arguments.extend(PROFILE.iter().map(|setting| format!("--config=profile.release.{setting}")));
    // As in the default backend's build: jump threading copies barriers into both arms of a branch. cuda_builder sets
    // RUSTFLAGS itself; a profile's flags are added to them.
    let mut flags = vec!["-Zmir-enable-passes=-JumpThreading"];
    if options.arch.has_sm_90() {
        flags.extend(["--cfg", "sm_90"]);
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
        Ok(Ptx { name, arch: options.arch.clone(), text, warnings: String::new() })
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
        for (arch, checked) in [("sm_80", false), ("sm_90", true), ("sm_100", false)] {
            let (package, target_dir) = (package.clone(), project::target());
            let options = rungs_ptx::Options { arch: arch.parse().unwrap(), checked, package, target_dir };
            let arguments = cargo_arguments(&options, Path::new("out"));
            let flags: Vec<_> = arguments.iter().filter(|argument| argument.contains("rustflags=")).collect();
            // A second list of flags would take the place of the first.
            let [flags] = flags[..] else { panic!("{arguments:?}") };
            assert!(flags.contains("\"-Zmir-enable-passes=-JumpThreading\""), "{flags}");
            assert_eq!(flags.contains("\"--cfg\", \"sm_90\""), arch != "sm_80", "{flags}");
            assert_eq!(arguments.iter().any(|argument| argument == "--features=checked"), checked);
        }
    }
}
