//! Compiles a package for a GPU by cargo.

use crate::{Arch, Package, Toolchain, convergence, ptx};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs::File;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs, io, thread};

/// The compiler's name of the GPU.
pub(crate) const TARGET: &str = "nvptx64-nvidia-cuda";

/// Options for LLVM in addition to those of rustc.
///
/// rustc marks the intrinsics of barriers and shuffles `convergent`, but leaves functions that call them unmarked. LLVM
/// then copies such a call into both arms of a branch, barrier and all. This option marks every function before LLVM's
/// passes run, as clang does for GPUs, and LLVM removes the mark from functions that do not need it.
const LLVM_ARGS: &[&str] = &["-force-attribute=convergent"];

/// Settings of the release profile for a GPU; the workspace's own are for the host, as are those for the packages of
/// others.
///
/// One module for everything, because PTX is not linked. Debug information consists of line numbers alone, for
/// [`convergence`] and for profilers; it does not change the code, and is removed from the PTX unless
/// [`Options::lines`] keeps it.
const PROFILE: &[&str] = &[
    "lto=\"fat\"",
    "codegen-units=1",
    "panic=\"abort\"",
    "opt-level=3",
    "package.\"*\".opt-level=3",
    "debug=\"line-directives-only\"",
    "debug-assertions=false",
    "overflow-checks=false",
    "incremental=false",
];

/// The options of a build.
#[derive(Clone, Debug)]
pub struct Options {
    /// The architecture; PTX for it also runs on later GPUs.
    pub arch: Arch,
    /// With simt's feature `checked`: every access checks its bounds and traps.
    pub checked: bool,
    /// With the lines of the source, by which profilers name an instruction's place; the code is the same.
    pub lines: bool,
    /// The package with the kernels.
    pub package: Package,
    /// A target folder of cargo's; this build works in `device/` below it, because the caller may hold the lock on the
    /// rest.
    pub target_dir: PathBuf,
}

impl Options {
    /// `sm_90`, or `sm_90-checked`: names the PTX and the folder it is built in.
    pub fn name(&self) -> String {
        format!("{}{}", self.arch, if self.checked { "-checked" } else { "" })
    }

    /// The folder that cargo works in.
    fn folder(&self) -> PathBuf {
        self.target_dir.join("device").join(self.name())
    }

    /// The file in which cargo lists all sources that the package was compiled from, its dependencies' too where those
    /// are in folders next to it.
    pub(crate) fn dep_info(&self) -> PathBuf {
        self.folder().join(TARGET).join("release").join(&self.package.library).with_extension("d")
    }
}

/// PTX that a GPU's driver can load.
#[derive(Clone, Debug)]
pub struct Ptx {
    /// [`Options::name`] of the build.
    pub name: String,
    /// The architecture.
    pub arch: Arch,
    /// The text.
    pub text: String,
    /// Where in it its parts end: those of the packages, and what [`ptx::join`] puts before and behind them.
    pub ends: Vec<usize>,
    /// The compiler's warnings, empty if it had none.
    pub warnings: String,
    /// The files that it was made of.
    pub sources: BTreeSet<PathBuf>,
}

impl Ptx {
    /// The PTX of one package, which is one part.
    pub fn of_one(options: &Options, text: String, warnings: String, sources: BTreeSet<PathBuf>) -> Self {
        Self { name: options.name(), arch: options.arch.clone(), ends: vec![text.len()], text, warnings, sources }
    }

    /// The parts, which together are the text.
    #[cfg(feature = "embed")]
    pub(crate) fn parts(&self) -> impl Iterator<Item = &str> {
        let begins = std::iter::once(0).chain(self.ends.iter().copied());
        begins.zip(&self.ends).map(|(begin, &end)| &self.text[begin..end])
    }

    /// The text, named as one for an architecture that can run it.
    fn text_for(&self, arch: &Arch) -> Cow<'_, str> {
        if self.arch == *arch { (&*self.text).into() } else { ptx::retarget(&self.text, arch).into() }
    }
}

/// The reason why there is no PTX.
#[derive(Debug)]
pub enum BuildError {
    /// The kernels are wrong: the message of the compiler, or of the check of its output.
    Kernels(String),
    /// The compiler did not get to the kernels: the message of cargo, or of the system.
    Toolchain(String),
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kernels(why) => write!(f, "the kernels do not compile for a GPU:\n{why}"),
            Self::Toolchain(why) => write!(f, "the compiler for the GPU did not run:\n{why}"),
        }
    }
}

impl std::error::Error for BuildError {}

/// Compiles the kernels, without output on the terminal; the first build takes about 20 seconds, most of it for `core`.
///
/// # Errors
/// [`BuildError::Kernels`] if the kernels do not compile or their PTX is refused; [`BuildError::Toolchain`] if the
/// compiler did not run.
pub fn build(toolchain: &Toolchain, options: &Options) -> Result<Ptx, BuildError> {
    let (name, folder) = (options.name(), options.folder());
    let (assembly, kept) = (assembly(toolchain, options), kept(toolchain, options));
    if let (Some(sources), Ok(text)) = (if_fresh(&kept), fs::read_to_string(&kept)) {
        return Ok(Ptx::of_one(options, text, String::new(), sources));
    }
    let output = cargo(toolchain, options, &folder, &assembly)
        .output()
        .map_err(|e| BuildError::Toolchain(format!("{} did not start: {e}", toolchain.cargo.display())))?;
    let said = String::from_utf8_lossy(&output.stderr).trim_end().to_string();
    if !output.status.success() {
        let compiled = said.contains("could not compile");
        return Err(if compiled { BuildError::Kernels(said) } else { BuildError::Toolchain(said) });
    }
    let failed = |e: io::Error| BuildError::Toolchain(format!("{}: {e}", folder.display()));
    keep_fresh(options).map_err(failed)?;
    let text = fs::read_to_string(&assembly).map_err(|e| {
        let (file, folder) = (assembly.display(), folder.display());
        BuildError::Toolchain(format!("cargo left no PTX in {file} ({e}); remove {folder} and build again"))
    })?;
    let plain = ptx::without_lines(&text);
    check_convergence(&plain, &assembly).map_err(|error| match error {
        BuildError::Kernels(why) => BuildError::Kernels(format!("{name}: {why}")),
        other => other,
    })?;
    let text = if options.lines { ptx::with_lines(&text) } else { plain };
    let text = ptx::finish(&text, &options.arch, &toolchain.to_string())
        .map_err(|e| BuildError::Kernels(format!("{name}: {e:#}")))?;
    let sources = sources(options);
    // The text first: the list of sources says that it is there.
    fs::write(&kept, &text).and_then(|()| fs::write(list_of(&kept), fingerprints(&sources))).map_err(failed)?;
    Ok(Ptx::of_one(options, text, said, sources))
}

/// The file with rustc's assembly.
fn assembly(toolchain: &Toolchain, options: &Options) -> PathBuf {
    options.folder().join(assembly_name(toolchain, options))
}

/// The file with the finished PTX.
fn kept(toolchain: &Toolchain, options: &Options) -> PathBuf {
    assembly(toolchain, options).with_extension(if options.lines { "lines.ptx" } else { "ptx" })
}

/// The file, next to finished PTX, that lists the sources that it was made of, each with the hash of its content.
///
/// To ask cargo whether a package is fresh takes it half a second, and there is one per family and architecture; this
/// list takes a millisecond. A file that is new is part of the package only if one that the list has names it.
fn list_of(ptx: &Path) -> PathBuf {
    ptx.with_extension("sources")
}

/// The sources of finished PTX, if all are as they were when it was made.
fn if_fresh(ptx: &Path) -> Option<BTreeSet<PathBuf>> {
    let list = fs::read_to_string(list_of(ptx)).ok()?;
    let sources: BTreeSet<_> =
        list.lines().filter_map(|line| line.split_once(' ')).map(|(_, path)| path.into()).collect();
    (!sources.is_empty() && fingerprints(&sources) == list).then_some(sources)
}

/// A line for each file: the hash of its content, and its path.
fn fingerprints(sources: &BTreeSet<PathBuf>) -> String {
    let line = |path: &PathBuf| {
        let mut hasher = DefaultHasher::new();
        // A file that is missing has another hash than an empty one.
        fs::read(path).ok().hash(&mut hasher);
        format!("{:016x} {}\n", hasher.finish(), path.display())
    };
    sources.iter().map(line).collect()
}

/// The files that a package's PTX was made of, by the list that cargo has just written: sources, the manifests of the
/// packages that they are in, and what decides on versions and profiles. Cargo's next list for a package of the same
/// name, from another folder, takes the place of this one.
fn sources(options: &Options) -> BTreeSet<PathBuf> {
    let listed = fs::read_to_string(options.dep_info()).map(|text| named(&text)).unwrap_or_default();
    let above = |source: &PathBuf| source.ancestors().map(|f| f.join("Cargo.toml")).find(|path| path.is_file());
    let manifests: Vec<_> = listed.iter().filter_map(above).collect();
    let root = &options.package.workspace_root;
    let fixed = [options.package.manifest.clone(), root.join("Cargo.toml"), root.join("Cargo.lock")];
    listed.into_iter().chain(manifests).chain(fixed).collect()
}

/// The sources in a file of make's rules, as cargo writes it: `made: source source`, with `\ ` for a space in a name.
fn named(dep_info: &str) -> BTreeSet<PathBuf> {
    const SPACE: &str = "\0";
    let rules = dep_info.lines().filter_map(|line| line.split_once(": "));
    let names = rules.flat_map(|(_, sources)| {
        let sources = sources.replace("\\ ", SPACE);
        sources.split(' ').map(|name| name.replace(SPACE, " ")).collect::<Vec<_>>()
    });
    names.filter(|name| !name.is_empty()).map(PathBuf::from).collect()
}

/// Leaves the file that a linker would have left. PTX needs no linker, and cargo compiles again where its file is
/// missing.
fn keep_fresh(options: &Options) -> io::Result<()> {
    let linked = options.folder().join(TARGET).join("release/deps").join(&options.package.library);
    match File::create_new(linked.with_extension("ptx")) {
        Err(e) if e.kind() != ErrorKind::AlreadyExists => Err(e),
        _ => Ok(()),
    }
}

/// Searches the IR that rustc has just written for copied collectives. If cargo had nothing to compile, there is no new
/// IR, and the former IR has been checked.
fn check_convergence(text: &str, assembly: &Path) -> Result<(), BuildError> {
    let (ir, checked) = (assembly.with_extension("ll"), assembly.with_extension("checked"));
    let failed = |e: std::io::Error| BuildError::Toolchain(format!("{}: {e}", ir.display()));
    if !ir.exists() && checked.exists() {
        return Ok(());
    }
    let copied = convergence::check(&fs::read_to_string(&ir).map_err(failed)?, text);
    if !copied.is_empty() {
        let lines: Vec<_> = copied.iter().map(|copied| format!("  {copied}")).collect();
        let why = "the compiler copied code at which threads meet into several branches, where they would not";
        return Err(BuildError::Kernels(format!("{why}:\n{}", lines.join("\n"))));
    }
    // The IR takes some 40 MB.
    fs::write(&checked, "").and_then(|()| fs::remove_file(&ir)).map_err(failed)
}

/// [`build`]s several packages for several architectures; the result has one text per architecture, in which those of
/// the packages are joined. Architectures are compiled side by side, each in a folder of its own. A package without
/// code for `sm_90a` is compiled once for `sm_90` and `sm_90a`: as `sm_90`, if that is asked for or there already.
///
/// # Errors
/// The first [`BuildError`], as for [`build`]; [`BuildError::Kernels`] if two packages have a kernel of the same name.
pub fn build_all(toolchain: &Toolchain, all: &[Options]) -> Result<Vec<Ptx>, BuildError> {
    let older = Arch::sm_90();
    let has_older = all.iter().any(|options| options.arch == older);
    let compiled_as = |options: &Options| {
        let for_both = Options { arch: older.clone(), ..options.clone() };
        let has_it = || has_older || if_fresh(&kept(toolchain, &for_both)).is_some();
        let shared = options.arch.is_sm_90a() && !options.package.is_for_sm_90a() && has_it();
        if shared { for_both } else { options.clone() }
    };
    let compiled: Vec<_> = all.iter().map(compiled_as).map(|options| (kept(toolchain, &options), options)).collect();
    let once: BTreeMap<_, _> = compiled.iter().map(|(file, options)| (file, options)).collect();
    let in_folder = |name: &String| -> Result<Vec<_>, BuildError> {
        let here = once.iter().filter(|(_, options)| options.name() == *name);
        here.map(|(file, options)| Ok((*file, build(toolchain, options)?))).collect()
    };
    let folders: BTreeSet<_> = once.values().map(|options| options.name()).collect();
    let built = thread::scope(|scope| {
        let running: Vec<_> = folders.iter().map(|name| scope.spawn(|| in_folder(name))).collect();
        running.into_iter().map(|one| one.join().expect("building does not panic")).collect::<Result<Vec<_>, _>>()
    })?;
    let built: BTreeMap<_, _> = built.into_iter().flatten().collect();

    let mut joined: Vec<Ptx> = vec![];
    for options in all {
        let (name, arch) = (options.name(), options.arch.clone());
        if joined.iter().any(|ptx| ptx.name == name) {
            continue;
        }
        let of_name = compiled.iter().zip(all).filter(|(_, options)| options.name() == name);
        let parts: Vec<_> = of_name.map(|((file, _), _)| &built[file]).collect();
        let texts: Vec<_> = parts.iter().map(|part| part.text_for(&arch)).collect();
        let joined_texts = ptx::join(texts.iter().map(|text| &**text));
        let (text, ends) = joined_texts.map_err(|e| BuildError::Kernels(format!("{e:#}")))?;
        let warnings: BTreeSet<_> = parts.iter().map(|part| &*part.warnings).filter(|said| !said.is_empty()).collect();
        let warnings = warnings.into_iter().collect::<Vec<_>>().join("\n");
        let sources = parts.iter().flat_map(|part| part.sources.clone()).collect();
        joined.push(Ptx { name, arch, text, ends, warnings, sources });
    }
    Ok(joined)
}

/// The command: everything compiled from source for one GPU, its assembly written to `assembly`.
fn cargo(toolchain: &Toolchain, options: &Options, folder: &Path, assembly: &Path) -> Command {
    let mut command = Command::new(&toolchain.cargo);
    clean_environment(&mut command);
    command
        .current_dir(options.package.folder())
        .env("RUSTC", &toolchain.rustc)
        .env("RUSTC_WRAPPER", "")
        .env("RUSTC_WORKSPACE_WRAPPER", "")
        .env("RUSTC_BOOTSTRAP", "1") // build-std and the target's intrinsics are not stable
        .env("CARGO_ENCODED_RUSTFLAGS", rustflags(&options.arch).join("\x1f"))
        .args(["rustc", "--quiet", "--release", "--lib", "--crate-type", "cdylib", "--manifest-path"])
        .arg(&options.package.manifest)
        .args(["-Zbuild-std=core", "--target", TARGET, "--target-dir"])
        .arg(folder);
    // The workspace decides on versions, not this build. A package that was never built has no lock file yet.
    if options.package.workspace_root.join("Cargo.lock").exists() {
        command.arg("--locked");
    }
    if options.checked {
        command.args(["--features", "simt/checked"]);
    }
    for setting in PROFILE {
        command.args(["--config", &format!("profile.release.{setting}")]);
    }
    // PTX needs no linker, and rustc insists on one.
    let ir = assembly.with_extension("ll");
    command.args(["--", "-Clinker=true"]).arg(format!("--emit=asm={},llvm-ir={}", assembly.display(), ir.display()));
    command
}

/// A separate name for each package, toolchain and set of flags. Cargo keeps its outputs for each of them and does not
/// run rustc again when one of them returns; under a common name the assembly could then be that of another build.
fn assembly_name(toolchain: &Toolchain, options: &Options) -> String {
    let mut hasher = DefaultHasher::new();
    (&options.package.manifest, &toolchain.version, rustflags(&options.arch), PROFILE).hash(&mut hasher);
    format!("{}-{:016x}.s", options.package.library, hasher.finish())
}

/// Flags for the kernels and for `core` alike: both must be for the same GPU to be inlined into each other.
fn rustflags(arch: &Arch) -> Vec<String> {
    let mut flags = vec![format!("-Ctarget-cpu={arch}")];
    // A panic becomes a trap, and no code to format a message stays.
    flags.extend(["-Zunstable-options".into(), "-Cpanic=immediate-abort".into()]);
    // rustc's own jump threading ignores convergence. It copied a block's barrier into both arms of an `if` before
    // LLVM, which would not have done so, saw the code; the threads of one warp then met at two barriers and hung.
    flags.push("-Zmir-enable-passes=-JumpThreading".into());
    if arch.has_sm_90() {
        flags.extend(["--cfg".into(), "sm_90".into()]);
    }
    if arch.is_sm_90a() {
        flags.extend(["--cfg".into(), "sm_90a".into()]);
    }
    flags.extend(LLVM_ARGS.iter().map(|arg| format!("-Cllvm-args={arg}")));
    flags
}

/// Removes the variables that an outer cargo sets for its build scripts and that the user set for host code; keeps
/// those for registries and the number of jobs.
fn clean_environment(command: &mut Command) {
    const KEPT: &[&str] = &["CARGO_HOME", "CARGO_HTTP_", "CARGO_NET_", "CARGO_REGISTR", "CARGO_SOURCE_"];
    for (name, _) in env::vars_os() {
        let Some(name) = name.to_str() else { continue };
        let ours = name == "CARGO" || ["CARGO_", "RUST"].iter().any(|prefix| name.starts_with(prefix));
        let kept = KEPT.iter().any(|prefix| name.starts_with(prefix)) || name == "CARGO_MAKEFLAGS";
        if ours && !kept && !name.starts_with("RUSTUP_") {
            command.env_remove(name);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_are_read_from_cargo_s_list() {
        let text = "/t/release/k.ptx: /w/k/src/lib.rs /w/my\\ kernels/src/a.rs\n\n/w/k/src/lib.rs:\n";
        let expected = ["/w/k/src/lib.rs", "/w/my kernels/src/a.rs"].map(PathBuf::from);
        assert_eq!(named(text), BTreeSet::from(expected));
    }

    #[test]
    fn ptx_is_stale_if_a_source_changes_or_goes() {
        let folder = tempfile::tempdir().unwrap();
        let (source, ptx) = (folder.path().join("a.rs"), folder.path().join("a.ptx"));
        assert!(if_fresh(&ptx).is_none(), "there is no list");
        fs::write(&source, "one").unwrap();
        fs::write(list_of(&ptx), fingerprints(&BTreeSet::from([source.clone()]))).unwrap();
        assert_eq!(if_fresh(&ptx), Some(BTreeSet::from([source.clone()])));
        fs::write(&source, "two").unwrap();
        assert!(if_fresh(&ptx).is_none());
        fs::write(&source, "one").unwrap();
        assert!(if_fresh(&ptx).is_some(), "the content counts, not the time");
        fs::remove_file(&source).unwrap();
        assert!(if_fresh(&ptx).is_none());
        fs::write(&source, "").unwrap();
        assert!(if_fresh(&ptx).is_none(), "an empty file is not a missing one");
    }

    #[test]
    fn hopper_kernels_are_compiled_from_sm_90_on() {
        let has = |arch: &str| rustflags(&arch.parse().unwrap()).contains(&"sm_90".to_string());
        assert_eq!(["sm_80", "sm_89", "sm_90", "sm_90a", "sm_100"].map(has), [false, false, true, true, true]);
        let alone = |arch: &str| rustflags(&arch.parse().unwrap()).contains(&"sm_90a".to_string());
        assert_eq!(["sm_80", "sm_90", "sm_90a", "sm_100a"].map(alone), [false, false, true, false]);
    }
}
