//! `build-ptx --backend rust-cuda`: in two steps, because rust-cuda's code generator is part of a compiler.
//!
//! The xtask that a person runs is compiled without rust-cuda. It finds the toolchain ([`RustCuda::find`]) and starts
//! itself again: compiled by the nightly, with the feature `rust-cuda`, which makes cuda_builder and the code generator
//! part of it, both from the repository by the config file. That second xtask builds the kernels.

use crate::{project, shell};
use anyhow::{Context, Result};
use rungs_ptx::Arch;
use rungs_ptx::rust_cuda::{COMPONENTS, CONFIG, NIGHTLY, PIP_PACKAGES, RustCuda, cuda_of_pip, parts};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use std::{env, fs};

/// Time limit for rustup, which downloads some hundred megabytes.
const RUSTUP_LIMIT: Duration = Duration::from_secs(900);

/// The folder of pip's packages for rust-cuda.
fn pip_folder() -> PathBuf {
    project::tools().join("rust-cuda")
}

/// Finds all parts of the toolchain, installs those that rustup and pip have, and prints the place of each; fails if
/// one is missing. LLVM 7 is in no package.
pub fn setup() -> Result<()> {
    let missing = || parts(Some(&pip_folder())).into_iter().filter(|part| part.place.is_err()).map(|part| part.name);
    if missing().any(|name| name == NIGHTLY || COMPONENTS.contains(&name)) {
        println!("{NIGHTLY} or a component of it is missing; installing it");
        let components = COMPONENTS.join(",");
        let args = ["toolchain", "install", NIGHTLY, "--profile", "minimal", "--component", &components];
        // What is missing afterwards is said below, with the command.
        shell::run_within(RUSTUP_LIMIT, shell::command("rustup", &args)).unwrap_or_else(|why| println!("{why:#}"));
    }
    if missing().any(|name| ["CUDA toolkit", "libnvvm", "libdevice", "libclang"].contains(&name)) {
        println!("a part of CUDA, or libclang, is missing; installing it by pip");
        pip().unwrap_or_else(|why| println!("{why:#}"));
    }
    report()
}

/// Installs the packages, and makes the layout of a CUDA toolkit of them.
fn pip() -> Result<()> {
    let folder = pip_folder();
    crate::setup::pip(&folder, &PIP_PACKAGES)?;
    let cuda = cuda_of_pip(&folder);
    let nvvm = cuda.join("nvvm");
    fs::create_dir_all(nvvm.join("lib64")).with_context(|| format!("{} cannot be made", nvvm.display()))?;
    // The second is the name that programs look for which were linked with the first. The paths are absolute, because
    // the build script of rust-cuda's cust_raw reads a link and takes what it says from its own folder.
    let library = cuda.join("lib/libnvvm.so.4");
    for (name, to) in
        [("lib64/libnvvm.so", &library), ("lib64/libnvvm.so.4", &library), ("include", &cuda.join("include"))]
    {
        link(to, &nvvm.join(name))?;
    }
    Ok(())
}

/// Makes a link, unless something is there.
fn link(to: &Path, from: &Path) -> Result<()> {
    if from.exists() {
        return Ok(());
    }
    #[cfg(unix)]
    return std::os::unix::fs::symlink(to, from).with_context(|| format!("{} cannot be made", from.display()));
    #[cfg(not(unix))]
    anyhow::bail!("link {} to {} by hand", from.display(), to.display())
}

/// Prints the place of each part of the toolchain; fails if one is missing.
fn report() -> Result<()> {
    for part in parts(Some(&pip_folder())) {
        let place = part.place.map_or_else(|looked| format!("missing: {looked}"), |path| path.display().to_string());
        println!("{:<19} {place}", part.name);
    }
    RustCuda::find(Some(&pip_folder())).map(drop).map_err(|incomplete| {
        let missing = incomplete.missing().collect::<Vec<_>>().join(", ");
        anyhow::anyhow!("rust-cuda's toolchain lacks {missing}; {}", rungs_ptx::rust_cuda::Incomplete::REMEDY)
    })
}

/// Starts this program again, with rust-cuda in it.
pub fn start_again(arches: &[Arch], checked: bool, out: &Path) -> Result<()> {
    let found = RustCuda::find(Some(&pip_folder()))?;
    println!("building xtask with {found}");
    let mut command = shell::command(found.toolchain.join("bin/cargo"), &["run", "--config", CONFIG]);
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
        for (arch, checked) in [("sm_80", false), ("sm_90", true), ("sm_90a", false), ("sm_100", false)] {
            let (package, target_dir) = (package.clone(), project::target());
            let options = rungs_ptx::Options { arch: arch.parse().unwrap(), checked, package, target_dir };
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
        for name in ["rungs-kernels", "simt", "simt-macros"] {
            let block = lock.split("[[package]]").find(|block| block.contains(&format!("\nname = \"{name}\"\n")));
            let locked = block.unwrap_or_else(|| panic!("{name} is not in the lock file"));
            let package = metadata["packages"].as_array().unwrap().iter().find(|package| package["name"] == name);
            let dependencies = package.unwrap()["dependencies"].as_array().unwrap();
            for dependency in dependencies.iter().filter(|dependency| dependency["kind"].is_null()) {
                let dependency = dependency["name"].as_str().unwrap();
                assert!(locked.contains(&format!("\n \"{dependency}")), "{name} needs {dependency}: {locked}");
            }
        }
    }
}
