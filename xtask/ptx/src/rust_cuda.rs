//! The parts that rust-cuda needs, and their places: for xtask, which builds with it, and for `rungs doctor`.
//!
//! Nothing here depends on rust-cuda itself, runs rustup, or asks a network.

use crate::Arch;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fmt, fs};

/// The nightly that the pinned revision of rust-cuda is made for.
pub const NIGHTLY: &str = "nightly-2026-04-02";

pub use crate::ptx::RUST_CUDA as COMPILER;

/// The config file, below the workspace's folder, that makes cargo take rust-cuda from its repository.
pub const CONFIG: &str = "xtask/rust-cuda.toml";

/// The same with a later revision of the code generator, which can be linked with LLVM 19.
pub const CONFIG_19: &str = "xtask/rust-cuda-19.toml";

/// The package, below the workspace's folder, that rust-cuda builds the kernels as.
pub const PACKAGE: &str = "xtask/rust-cuda";

/// The oldest CUDA whose libnvvm the pinned revision works with.
const OLDEST_CUDA: u32 = 12;

/// The LLVM that the code generator is linked with. libnvvm reads LLVM 7's IR for compute capability up to 9.0, and
/// that of a newer LLVM from 10.0 on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Llvm {
    /// For compute capability up to 9.0. No current distribution has it.
    Seven,
    /// For compute capability 10.0 and up.
    Nineteen,
}

impl Llvm {
    /// The LLVM that compiles for an architecture.
    pub fn of(arch: &Arch) -> Self {
        if arch.number() < 100 { Self::Seven } else { Self::Nineteen }
    }

    /// Its name: `LLVM 7`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Seven => "LLVM 7",
            Self::Nineteen => "LLVM 19",
        }
    }

    /// The config file that makes cargo take the code generator from its repository.
    pub fn config(self) -> &'static str {
        match self {
            Self::Seven => CONFIG,
            Self::Nineteen => CONFIG_19,
        }
    }

    /// The environment variable that names `llvm-config` to rust-cuda's build.
    pub fn variable(self) -> &'static str {
        match self {
            Self::Seven => "LLVM_CONFIG",
            Self::Nineteen => "LLVM_CONFIG_19",
        }
    }

    /// The names in PATH, and the usual places, of `llvm-config`.
    fn usual(self) -> ([&'static str; 2], [&'static str; 2]) {
        match self {
            Self::Seven => {
                let places = ["/usr/lib/llvm-7/bin/llvm-config", "/opt/llvm-7/bin/llvm-config"];
                (["llvm-config", "llvm-config-7"], places)
            }
            Self::Nineteen => {
                let places = ["/usr/lib/llvm-19/bin/llvm-config", "/opt/llvm-19/bin/llvm-config"];
                (["llvm-config-19", "llvm-config"], places)
            }
        }
    }
}

/// The folder in which `xtask setup` builds LLVM 7 and keeps it. It is outside of cargo's target folder: the build
/// takes long, and serves every clone.
pub fn llvm_7_folder() -> Option<PathBuf> {
    let cache = env::var_os("XDG_CACHE_HOME").map(PathBuf::from).filter(|folder| folder.is_absolute());
    Some(cache.or_else(|| Some(env::home_dir()?.join(".cache")))?.join("rungs/llvm-7"))
}

/// A part that rust-cuda needs.
#[derive(Clone, Debug)]
pub struct Part {
    /// Its name.
    pub name: &'static str,
    /// Its place, or the places searched and what was found instead.
    pub place: Result<PathBuf, String>,
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            Ok(path) => write!(f, "{}: {}", self.name, path.display()),
            Err(looked) => write!(f, "{}: missing ({looked})", self.name),
        }
    }
}

/// A complete toolchain of rust-cuda.
#[derive(Clone, Debug)]
pub struct RustCuda {
    /// The folder of the nightly toolchain.
    pub toolchain: PathBuf,
    /// The path of `llvm-config`.
    pub llvm_config: PathBuf,
    /// The folder of the CUDA toolkit.
    pub cuda: PathBuf,
    /// The folder of libnvvm, inside of that.
    pub nvvm: PathBuf,
    /// The folder of libclang.
    pub libclang: PathBuf,
}

/// An incomplete toolchain; displays all parts.
#[derive(Clone, Debug)]
pub struct Incomplete {
    /// All parts, present and missing.
    pub parts: Vec<Part>,
}

impl Incomplete {
    /// The names of what is missing.
    pub fn missing(&self) -> impl Iterator<Item = &'static str> {
        self.parts.iter().filter(|part| part.place.is_err()).map(|part| part.name)
    }

    /// The remedy.
    pub const REMEDY: &str = "`cargo xtask setup --backend rust-cuda` installs it, with `--llvm 19` for compute \
                              capability 10.0 and up; the default backend needs none of it";
}

impl fmt::Display for Incomplete {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "rust-cuda's toolchain is not complete here")?;
        for part in &self.parts {
            writeln!(f, "  {part}")?;
        }
        f.write_str(Self::REMEDY)
    }
}

impl std::error::Error for Incomplete {}

impl RustCuda {
    /// The toolchain on this machine; the arguments are those of [`parts`].
    ///
    /// # Errors
    /// [`Incomplete`] if a part is missing; it displays all parts.
    pub fn find(llvm: Llvm, pip: Option<&Path>) -> Result<Self, Incomplete> {
        let parts = parts(llvm, pip);
        if parts.iter().any(|part| part.place.is_err()) {
            return Err(Incomplete { parts });
        }
        let place = |name: &str| {
            let part = parts.iter().find(|part| part.name == name);
            part.and_then(|part| part.place.clone().ok()).unwrap_or_default()
        };
        let folder = |name: &str| place(name).parent().map(Path::to_path_buf).unwrap_or_default();
        let (nvvm, libclang) = (folder(LIBNVVM), folder(LIBCLANG));
        Ok(Self { toolchain: place(NIGHTLY), llvm_config: place(llvm.name()), cuda: place(CUDA), nvvm, libclang })
    }
}

impl fmt::Display for RustCuda {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rust-cuda on {NIGHTLY} and CUDA in {}", self.cuda.display())
    }
}

/// The part that has the libraries of LLVM.
pub const LLVM_LIBRARIES: &str = "LLVM's libraries";
const CUDA: &str = "CUDA toolkit";
const LIBNVVM: &str = "libnvvm";
const LIBCLANG: &str = "libclang";

/// The compiler of the code generator's parts in C++.
pub const CXX: &str = "C++ compiler";
/// What the code generator's build links, with the program that finds it.
pub const OPENSSL: &str = "OpenSSL's headers";

/// The components of the nightly.
pub const COMPONENTS: [&str; 3] = ["rust-src", "rustc-dev", "llvm-tools"];

/// CUDA's parts, of the release that was tried, and libclang, as python packages.
pub const PIP_PACKAGES: [&str; 4] =
    ["nvidia-nvvm==13.0.*", "nvidia-cuda-runtime==13.0.*", "nvidia-cuda-crt==13.0.*", "libclang>=18"];

/// The toolkit in a folder of pip's that has [`PIP_PACKAGES`].
pub fn cuda_of_pip(folder: &Path) -> PathBuf {
    folder.join("nvidia/cu13")
}

/// All parts, each with its place or with the places searched. `pip` is a folder with [`PIP_PACKAGES`], which is
/// searched after the others.
pub fn parts(llvm: Llvm, pip: Option<&Path>) -> Vec<Part> {
    let toolchain = toolchain();
    let component = |name: &str| component(&toolchain, name);
    let cuda = cuda(pip);
    let llvm_config = llvm_config(llvm);
    let toolkit = |folder: &str, file: &str| in_nvvm(&cuda, folder, file);
    vec![
        Part { name: NIGHTLY, place: toolchain.clone() },
        Part { name: COMPONENTS[0], place: component(COMPONENTS[0]) },
        Part { name: COMPONENTS[1], place: component(COMPONENTS[1]) },
        Part { name: COMPONENTS[2], place: component(COMPONENTS[2]) },
        Part { name: CXX, place: in_path("c++").ok_or_else(|| "no c++ in PATH".into()) },
        Part { name: OPENSSL, place: openssl() },
        Part { name: llvm.name(), place: llvm_config.clone() },
        Part { name: LLVM_LIBRARIES, place: llvm_libraries(&llvm_config) },
        Part { name: CUDA, place: cuda.clone() },
        Part { name: LIBNVVM, place: toolkit("lib64", "libnvvm.so") },
        Part { name: "libdevice", place: toolkit("libdevice", "libdevice.10.bc") },
        Part { name: LIBCLANG, place: libclang(pip) },
    ]
}

/// The nightly, in rustup's folder.
fn toolchain() -> Result<PathBuf, String> {
    let rustup = env::var_os("RUSTUP_HOME").map(PathBuf::from);
    let rustup = rustup.or_else(|| Some(env::home_dir()?.join(".rustup"))).ok_or("there is no home folder")?;
    let folder = rustup.join("toolchains");
    let prefix = format!("{NIGHTLY}-");
    let found = entries(&folder).into_iter().find(|path| name(path).starts_with(&prefix));
    found.ok_or_else(|| format!("no {NIGHTLY}-* in {}; rustup toolchain install {NIGHTLY}", folder.display()))
}

/// A component of the nightly, by the list that rustup keeps in it.
fn component(toolchain: &Result<PathBuf, String>, component: &str) -> Result<PathBuf, String> {
    let Ok(toolchain) = toolchain else { return Err(format!("a component of {NIGHTLY}, which is not here")) };
    let list = toolchain.join("lib/rustlib/components");
    let installed = fs::read_to_string(&list).unwrap_or_default();
    // A line is a component, with the host behind it if the component has one.
    if installed.lines().any(|line| line == component || line.starts_with(&format!("{component}-"))) {
        return Ok(toolchain.clone());
    }
    let add = format!("rustup component add --toolchain {NIGHTLY} {component}");
    Err(format!("not in {}; {add}", list.display()))
}

/// The headers of OpenSSL, by the program that the build asks.
fn openssl() -> Result<PathBuf, String> {
    let program = in_path("pkg-config").ok_or("no pkg-config in PATH")?;
    let asked = Command::new(&program).args(["--variable=includedir", "openssl"]).output();
    let said = asked.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_string()).unwrap_or_default();
    if said.is_empty() { Err("pkg-config knows no openssl".into()) } else { Ok(said.into()) }
}

/// The places where rust-cuda's build searches, the variable first and then PATH; two usual places of one LLVM next
/// to another; and the folder in which setup builds LLVM 7.
fn llvm_config(llvm: Llvm) -> Result<PathBuf, String> {
    let named = env::var_os(llvm.variable()).map(PathBuf::from);
    let (names, places) = llvm.usual();
    let in_path = names.map(|name| in_path(name).unwrap_or_else(|| name.into()));
    let built = llvm_7_folder().filter(|_| llvm == Llvm::Seven).map(|folder| folder.join("bin/llvm-config"));
    let mut looked = vec![];
    for program in named.into_iter().chain(in_path).chain(places.map(PathBuf::from)).chain(built) {
        match version(&program) {
            Some(version) if is_of(llvm, &version) => return Ok(program),
            Some(version) => looked.push(format!("{} is of LLVM {version}", program.display())),
            None => looked.push(format!("no {}", program.display())),
        }
    }
    Err(looked.join(", "))
}

/// Whether `llvm-config --version` is of this LLVM: `7.0.1`, `19.1.7`.
fn is_of(llvm: Llvm, version: &str) -> bool {
    llvm.name().strip_prefix("LLVM ") == version.split('.').next()
}

/// The libraries that the code generator is linked with, all of them: a build of LLVM may have stopped half-way.
fn llvm_libraries(llvm_config: &Result<PathBuf, String>) -> Result<PathBuf, String> {
    let Ok(program) = llvm_config else { return Err("parts of LLVM, which is not here".into()) };
    let run = |arguments: &[&str]| {
        let output = Command::new(program).args(arguments).output();
        output.map_err(|error| format!("{} does not run: {error}", program.display()))
    };
    let libraries = run(&["--link-static", "--libs", "ipo", "bitreader", "bitwriter", "lto", "nvptx"])?;
    let said = String::from_utf8_lossy(&libraries.stderr).into_owned();
    let missing = |path: &str| Path::new(path.trim()).file_name().map(|name| name.to_string_lossy().into_owned());
    let mut missing: Vec<_> = said.lines().filter_map(|line| missing(line.split_once("missing: ")?.1)).collect();
    missing.sort();
    missing.dedup();
    if !missing.is_empty() {
        return Err(format!("{} are not built: {}", missing.len(), missing.join(" ")));
    }
    if !libraries.status.success() {
        return Err(said.trim().to_string());
    }
    let folder = PathBuf::from(String::from_utf8_lossy(&run(&["--libdir"])?.stdout).trim());
    let names = String::from_utf8_lossy(&libraries.stdout).into_owned();
    let absent =
        |flag: &&str| flag.strip_prefix("-l").is_some_and(|name| !folder.join(format!("lib{name}.a")).is_file());
    match names.split_whitespace().filter(absent).collect::<Vec<_>>()[..] {
        [] => Ok(folder),
        ref absent => Err(format!("not in {}: {}", folder.display(), absent.join(" "))),
    }
}

/// The places where rust-cuda's build searches, and `$CUDA_HOME`.
fn cuda(pip: Option<&Path>) -> Result<PathBuf, String> {
    let mut looked = vec![];
    let variables = ["CUDA_PATH", "CUDA_ROOT", "CUDA_TOOLKIT_ROOT_DIR", "CUDA_HOME"];
    let named = variables.into_iter().filter_map(env::var_os).map(PathBuf::from);
    let usual = ["/usr/lib/cuda", "/usr/local/cuda", "/opt/cuda"].map(PathBuf::from);
    for folder in named.chain(usual).chain(pip.map(cuda_of_pip)) {
        let header = folder.join("include/cuda.h");
        match fs::read_to_string(&header).ok().and_then(|text| cuda_version(&text)) {
            Some((major, _)) if major >= OLDEST_CUDA => return Ok(folder),
            Some((major, minor)) => looked.push(format!("{} is CUDA {major}.{minor}", folder.display())),
            None => looked.push(format!("no {}", header.display())),
        }
    }
    let unset: Vec<_> = variables.into_iter().filter(|name| env::var_os(name).is_none()).collect();
    if !unset.is_empty() {
        looked.push(format!("{} not set", unset.join(", ")));
    }
    Err(looked.join(", "))
}

/// `(12, 8)` of `#define CUDA_VERSION 12080`.
fn cuda_version(header: &str) -> Option<(u32, u32)> {
    let line = header.lines().find(|line| line.starts_with("#define CUDA_VERSION "))?;
    let number: u32 = line.split_whitespace().nth(2)?.parse().ok()?;
    Some((number / 1000, number / 10 % 100))
}

/// A file of CUDA's folder `nvvm`.
fn in_nvvm(cuda: &Result<PathBuf, String>, folder: &str, file: &str) -> Result<PathBuf, String> {
    let Ok(cuda) = cuda else { return Err("a part of the CUDA toolkit, which is not here".into()) };
    let path = cuda.join("nvvm").join(folder).join(file);
    if path.is_file() {
        return Ok(path);
    }
    // pip has another layout than the toolkit, which is what rust-cuda's build expects.
    let of_pip = entries(&cuda.join("lib")).into_iter().find(|path| name(path).starts_with(file));
    let but = of_pip.map_or(String::new(), |path| format!("; link it to {}", path.display()));
    Err(format!("no {}{but}", path.display()))
}

/// libclang, which reads CUDA's headers for rust-cuda: the places where bindgen searches first, and those of packages.
fn libclang(pip: Option<&Path>) -> Result<PathBuf, String> {
    let named = env::var_os("LIBCLANG_PATH").map(PathBuf::from);
    let llvm = entries(Path::new("/usr/lib")).into_iter().filter(|path| name(path).starts_with("llvm"));
    let usual =
        ["/usr/lib64", "/usr/lib", "/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu"].map(PathBuf::from);
    let folders: Vec<_> = named
        .into_iter()
        .chain(llvm.map(|path| path.join("lib")))
        .chain(usual)
        .chain(pip.map(|folder| folder.join("clang/native")))
        .collect();
    // Not libclang-cpp.so, which is something else.
    let is_libclang = |path: &PathBuf| {
        let name = name(path);
        let rest = name.strip_prefix("libclang").unwrap_or_default();
        let numbered = rest.strip_prefix('-').is_some_and(|r| r.starts_with(|c: char| c.is_ascii_digit()));
        rest.starts_with(".so") || numbered && rest.contains(".so")
    };
    let found = folders.iter().flat_map(|folder| entries(folder)).find(is_libclang);
    let looked = || folders.iter().map(|folder| folder.display().to_string()).collect::<Vec<_>>().join(", ");
    found.ok_or_else(|| format!("no libclang.so in {}", looked()))
}

/// The entries of a folder, in order; none if it is not there.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let mut entries: Vec<_> = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    entries.sort();
    entries
}

fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// The path of a program that is in PATH.
fn in_path(program: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    env::split_paths(&path).map(|folder| folder.join(program)).find(|file| file.is_file())
}

/// The output of `llvm-config --version`.
fn version(llvm_config: &Path) -> Option<String> {
    let output = Command::new(llvm_config).arg("--version").output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?.trim().to_string();
    (output.status.success() && !text.is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nightly_and_the_revision_are_the_same_in_all_files() {
        let toolchain = include_str!("../../rust-cuda/rust-toolchain.toml");
        assert!(toolchain.contains(&format!("channel = \"{NIGHTLY}\"")), "{toolchain}");
        let config = include_str!("../../rust-cuda.toml");
        assert!(COMPILER.ends_with(NIGHTLY), "{COMPILER}");
        assert!(config.contains(NIGHTLY), "the head of {CONFIG} names another nightly");
        let container = include_str!("../../../containers/rust-cuda.Containerfile");
        assert!(container.contains(NIGHTLY), "the container has another nightly");
        assert!(include_str!("../../rust-cuda-19.toml").contains(NIGHTLY), "the head of {CONFIG_19} names another");
        // cuda_std is of the code generator's revision; LLVM 19's code generator takes the same.
        let revisions = |text: &'static str| text.split("rev = \"").skip(1).map(|rest| &rest[..40]).collect::<Vec<_>>();
        let mut all = revisions(config);
        all.extend(revisions(include_str!("../../rust-cuda/Cargo.toml")));
        assert_eq!(all.len(), 4, "{config}");
        assert!(all.iter().all(|revision| *revision == all[0]), "{all:?}");
        let lock = include_str!("../../rust-cuda/Cargo.lock");
        assert!(lock.contains(all[0]), "{PACKAGE}/Cargo.lock was made with another revision");
    }

    #[test]
    fn every_part_says_where_it_is_or_where_it_was_looked_for() {
        for part in [Llvm::Seven, Llvm::Nineteen].into_iter().flat_map(|llvm| parts(llvm, None)) {
            match &part.place {
                Ok(path) => assert!(path.exists(), "{part}"),
                Err(looked) => assert!(!looked.is_empty(), "{part}"),
            }
        }
    }

    #[test]
    fn the_message_names_every_missing_part() {
        let part = |name, place| Part { name, place };
        let parts = vec![part(NIGHTLY, Err("no such folder".into())), part(CUDA, Ok("/opt/cuda".into()))];
        let incomplete = Incomplete { parts };
        assert_eq!(incomplete.missing().collect::<Vec<_>>(), [NIGHTLY]);
        let text = incomplete.to_string();
        assert!(text.contains("nightly-2026-04-02: missing (no such folder)"), "{text}");
        assert!(text.contains("CUDA toolkit: /opt/cuda"), "{text}");
        assert!(text.ends_with(Incomplete::REMEDY), "{text}");
    }

    #[test]
    fn an_architecture_and_a_version_choose_their_llvm() {
        let of = |name: &str| Llvm::of(&name.parse().unwrap());
        assert_eq!(["sm_80", "sm_90a"].map(of), [Llvm::Seven; 2]);
        assert_eq!(["sm_100", "sm_103a", "sm_120f"].map(of), [Llvm::Nineteen; 3]);
        assert!(is_of(Llvm::Seven, "7.0.1") && is_of(Llvm::Nineteen, "19.1.7"));
        for (llvm, version) in [(Llvm::Seven, "17.0.6"), (Llvm::Seven, "70.1"), (Llvm::Nineteen, "1.9.0")] {
            assert!(!is_of(llvm, version), "{version}");
        }
    }

    /// A build that stopped half-way, and one that is whole, by programs that answer as LLVM 7's `llvm-config` does.
    #[cfg(unix)]
    #[test]
    fn a_library_of_llvm_that_is_missing_is_named() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("llvm-config");
        let answers = |text: String| {
            fs::write(&program, format!("#!/bin/sh\n{text}\n")).unwrap();
            fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
            llvm_libraries(&Ok(program.clone()))
        };
        let error = "llvm-config: error: missing: /b/lib/libLLVM";
        let half = answers(format!("echo '{error}LTO.a' >&2; echo '{error}Core.a' >&2; exit 1"));
        assert_eq!(half.unwrap_err(), "2 are not built: libLLVMCore.a libLLVMLTO.a");
        assert!(answers("echo unknown component >&2; exit 1".into()).unwrap_err().contains("unknown component"));
        let place = folder.path().display();
        let whole = format!("[ \"$1\" = --libdir ] && echo {place} || echo -lLLVMLTO -lLLVMCore");
        assert!(answers(whole.clone()).unwrap_err().ends_with("-lLLVMLTO -lLLVMCore"));
        for name in ["LTO", "Core"] {
            fs::write(folder.path().join(format!("libLLVM{name}.a")), "").unwrap();
        }
        assert_eq!(answers(whole), Ok(folder.path().to_path_buf()));
    }

    #[test]
    fn cuda_of_pip_is_told_apart() {
        let folder = tempfile::tempdir().unwrap();
        let cuda = cuda_of_pip(folder.path());
        fs::create_dir_all(cuda.join("lib")).unwrap();
        fs::write(cuda.join("lib/libnvvm.so.4"), "").unwrap();
        let why = in_nvvm(&Ok(cuda.clone()), "lib64", "libnvvm.so").unwrap_err();
        assert!(why.contains("; link it to ") && why.ends_with("libnvvm.so.4"), "{why}");
        fs::create_dir_all(cuda.join("nvvm/lib64")).unwrap();
        fs::write(cuda.join("nvvm/lib64/libnvvm.so"), "").unwrap();
        assert_eq!(in_nvvm(&Ok(cuda.clone()), "lib64", "libnvvm.so"), Ok(cuda.join("nvvm/lib64/libnvvm.so")));
    }

    #[test]
    fn cuda_s_header_tells_its_version() {
        assert_eq!(cuda_version("// x\n#define CUDA_VERSION 12080\n"), Some((12, 8)));
        assert_eq!(cuda_version("#define CUDA_VERSION 13000"), Some((13, 0)));
        assert_eq!(cuda_version("#define __CUDA_API_VERSION 1"), None);
    }

    #[test]
    fn a_component_is_found_in_rustup_s_list() {
        let folder = env::temp_dir().join(format!("rungs-components-{}", std::process::id()));
        fs::create_dir_all(folder.join("lib/rustlib")).unwrap();
        let list = "rustc-x86_64-unknown-linux-gnu\nrustc-dev-x86_64-unknown-linux-gnu\n";
        fs::write(folder.join("lib/rustlib/components"), list).unwrap();
        assert_eq!(component(&Ok(folder.clone()), "rustc-dev"), Ok(folder.clone()));
        assert!(component(&Ok(folder.clone()), "rust-src").unwrap_err().contains("rustup component add"));
        fs::remove_dir_all(folder).unwrap();
    }
}
