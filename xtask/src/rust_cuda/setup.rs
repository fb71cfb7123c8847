//! `setup --backend rust-cuda`: the missing parts of rust-cuda's toolchain, and how each is installed.

use super::{packages, pip_folder};
use crate::shell;
use anyhow::{Context, Result, bail, ensure};
use rungs_ptx::rust_cuda::{
    COMPONENTS, CXX, Incomplete, LLVM_LIBRARIES, Llvm, NIGHTLY, OPENSSL, PIP_PACKAGES, Part, RustCuda, cuda_of_pip,
    llvm_7_folder, parts,
};
use std::path::{Path, PathBuf};
use std::thread::available_parallelism;
use std::time::{Duration, Instant};
use std::{fs, num::NonZero};

/// Time limit for rustup, which downloads some hundred megabytes.
const RUSTUP_LIMIT: Duration = Duration::from_secs(900);

/// The packages by which Debian and its relatives have LLVM 19, and what its libraries are linked with: Polly, too,
/// which `llvm-config` names among them.
const LLVM_19: &[&str] = &["llvm-19-dev", "libpolly-19-dev", "zlib1g-dev", "libzstd-dev"];

/// What compiles and links the code generator.
const COMPILER: &[&str] = &["g++", "pkg-config", "libssl-dev"];

/// What builds LLVM 7.
const BUILDERS: &[(&str, &str)] =
    &[("cmake", "cmake"), ("ninja", "ninja-build"), ("c++", "g++"), ("python3", "python3"), ("xz", "xz-utils")];

/// The archive of LLVM's own release 7.0.1, and its SHA-256.
const SOURCE: &str = "llvm-7.0.1.src.tar.xz";
const SHA_256: &str = "a38dfc4db47102ec79dcc2aa61e93722c5f6f06f0a961073bd84b78fb949419b";

/// Minutes that LLVM 7 takes on one core of two, on which it is built in half the time.
const LLVM_7_MINUTES: usize = 49;

/// How LLVM 7 is built: for NVIDIA's GPUs alone, and without what the code generator does not ask for.
const CMAKE: &[&str] = &[
    "-DCMAKE_BUILD_TYPE=Release",
    "-DLLVM_TARGETS_TO_BUILD=NVPTX",
    "-DLLVM_ENABLE_ASSERTIONS=OFF",
    "-DLLVM_ENABLE_BINDINGS=OFF",
    "-DLLVM_ENABLE_LIBXML2=OFF",
    "-DLLVM_ENABLE_TERMINFO=OFF",
    "-DLLVM_ENABLE_WARNINGS=OFF",
    "-DLLVM_ENABLE_ZLIB=OFF",
    "-DLLVM_INCLUDE_BENCHMARKS=OFF",
    "-DLLVM_INCLUDE_EXAMPLES=OFF",
    "-DLLVM_INCLUDE_TESTS=OFF",
    // Without tools, and with the libraries that the code generator is linked with: two thirds of the time.
    "-DLLVM_DISTRIBUTION_COMPONENTS=llvm-config;llvm-headers;LLVMAggressiveInstCombine;LLVMAnalysis;LLVMAsmParser;\
     LLVMAsmPrinter;LLVMBinaryFormat;LLVMBitReader;LLVMBitWriter;LLVMCodeGen;LLVMCore;LLVMDebugInfoCodeView;\
     LLVMDebugInfoMSF;LLVMDemangle;LLVMIRReader;LLVMInstCombine;LLVMInstrumentation;LLVMLTO;LLVMLinker;LLVMMC;\
     LLVMMCParser;LLVMNVPTXAsmPrinter;LLVMNVPTXCodeGen;LLVMNVPTXDesc;LLVMNVPTXInfo;LLVMObjCARCOpts;LLVMObject;\
     LLVMPasses;LLVMProfileData;LLVMScalarOpts;LLVMSelectionDAG;LLVMSupport;LLVMTarget;LLVMTransformUtils;\
     LLVMVectorize;LLVMipo",
];

/// The options of `setup` for rust-cuda.
#[derive(clap::Args, Default)]
#[group(id = "rust-cuda")]
pub struct Args {
    /// The LLVM of rust-cuda: 7 compiles for compute capability up to 9.0, 19 for 10.0 and up [default: 7]
    #[arg(long, value_name = "VERSION", value_parser = llvm)]
    llvm: Option<Llvm>,
    /// The source archive of LLVM 7.0.1, from which LLVM 7 is built
    #[arg(long, value_name = "FILE")]
    llvm_source: Option<PathBuf>,
    /// The SHA-256 of the source archive, if it is of another release of LLVM 7
    #[arg(long, value_name = "HASH", requires = "llvm_source")]
    llvm_sha256: Option<String>,
    /// A folder with the packages (.deb) of LLVM 7 from an older Debian or Ubuntu, which are unpacked, not installed
    #[arg(long, value_name = "DIR", conflicts_with = "llvm_source")]
    llvm_packages: Option<PathBuf>,
}

impl Args {
    /// Whether one of them is given.
    pub fn are_given(&self) -> bool {
        self.llvm.is_some() || self.llvm_source.is_some() || self.llvm_packages.is_some()
    }

    fn sha_256(&self) -> &str {
        self.llvm_sha256.as_deref().unwrap_or(SHA_256)
    }
}

/// An LLVM by its number on the command line.
fn llvm(number: &str) -> Result<Llvm> {
    match number {
        "7" => Ok(Llvm::Seven),
        "19" => Ok(Llvm::Nineteen),
        _ => bail!("rust-cuda is linked with LLVM 7 or 19"),
    }
}

/// One program that installs parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// The nightly with its components.
    Rustup,
    /// CUDA's libraries and headers, and libclang.
    Pip,
    /// Debian's packages of the compiler.
    Compiler,
    /// Debian's packages of LLVM 19.
    Llvm19,
    /// LLVM 7, built from source.
    Llvm7,
    /// LLVM 7, from packages that the user has.
    Llvm7Packages,
}

/// The steps that install what is missing, by the names of the parts.
fn steps(missing: &[&str], llvm: Llvm, packages: bool) -> Vec<Step> {
    let lacks = |parts: &[&str]| missing.iter().any(|part| parts.contains(part));
    let build = match llvm {
        Llvm::Seven if packages => Step::Llvm7Packages,
        Llvm::Seven => Step::Llvm7,
        Llvm::Nineteen => Step::Llvm19,
    };
    let all = [
        (Step::Rustup, lacks(&[NIGHTLY]) || lacks(&COMPONENTS)),
        (Step::Pip, lacks(&["CUDA toolkit", "libnvvm", "libdevice", "libclang"])),
        (Step::Compiler, lacks(&[CXX, OPENSSL])),
        (build, lacks(&[llvm.name(), LLVM_LIBRARIES])),
    ];
    all.into_iter().filter(|(_, needed)| *needed).map(|(step, _)| step).collect()
}

impl Step {
    /// What it installs, by which program, and what that takes. The figures are of a machine with two cores.
    fn describe(self, cores: usize) -> String {
        match self {
            Self::Rustup => {
                format!("rustup: {NIGHTLY} with {}; 1 to 3 minutes, 1.5 GB in rustup's folder", COMPONENTS.join(", "))
            }
            Self::Pip => format!(
                "pip: libnvvm, libdevice and headers of CUDA 13.0, libclang; half a minute, 200 MB in {}",
                pip_folder().display()
            ),
            Self::Compiler => format!("apt: {}", COMPILER.join(", ")),
            Self::Llvm19 => format!("apt: {}; a minute, 600 MB", LLVM_19.join(", ")),
            Self::Llvm7 => format!(
                "cmake: LLVM 7 from source, for NVPTX alone, into {}; about {} minutes on the {cores} cores here",
                llvm_7_folder().unwrap_or_default().display(),
                LLVM_7_MINUTES.div_ceil(cores)
            ),
            Self::Llvm7Packages => format!(
                "dpkg-deb: LLVM 7 from its packages, into {}; seconds, 230 MB",
                llvm_7_folder().unwrap_or_default().display()
            ),
        }
    }

    /// What to say if it fails.
    fn failed(self) -> &'static str {
        match self {
            Self::Rustup => "rustup could not install the nightly; is there a network?",
            Self::Pip => "pip could not install CUDA's libraries; is there a network?",
            Self::Compiler | Self::Llvm19 => "apt could not install the packages; is there a network?",
            Self::Llvm7 => "LLVM 7 could not be built",
            Self::Llvm7Packages => "the packages of LLVM 7 could not be unpacked",
        }
    }

    fn run(self, args: &Args) -> Result<()> {
        match self {
            Self::Rustup => {
                let components = COMPONENTS.join(",");
                let arguments = ["toolchain", "install", NIGHTLY, "--profile", "minimal", "--component", &components];
                shell::run_within(RUSTUP_LIMIT, shell::command("rustup", &arguments))
            }
            Self::Pip => pip(),
            Self::Compiler => crate::setup::apt(COMPILER),
            Self::Llvm19 => crate::setup::apt(LLVM_19),
            Self::Llvm7 => {
                let folder = llvm_7_folder().context("there is no home folder")?;
                build_llvm_7(args.llvm_source.as_deref().context("no source")?, args.sha_256(), &folder)
            }
            Self::Llvm7Packages => {
                let folder = llvm_7_folder().context("there is no home folder")?;
                let to_link = packages::to_link();
                if !to_link.is_empty() {
                    crate::setup::apt(&to_link)?;
                }
                packages::unpack(&packages::find(args.llvm_packages.as_deref().context("no packages")?)?, &folder)
            }
        }
    }
}

/// Prints the place of each part of the toolchain and the steps that install the missing ones; then takes the steps,
/// unless `dry_run`. Fails with the first step that does.
pub fn setup(args: &Args, dry_run: bool) -> Result<()> {
    let llvm = args.llvm.unwrap_or(Llvm::Seven);
    let found = show(llvm);
    let missing: Vec<_> = found.iter().filter(|part| part.place.is_err()).map(|part| part.name).collect();
    let steps = steps(&missing, llvm, args.llvm_packages.is_some());
    let cores = available_parallelism().map_or(1, NonZero::get);
    if !steps.is_empty() {
        println!("to install:");
        steps.iter().for_each(|step| println!("  {}", step.describe(cores)));
    }
    // Before the first step, which takes minutes.
    if (steps.contains(&Step::Llvm7) || steps.contains(&Step::Llvm7Packages))
        && let Some(missing) = source_missing(args, dry_run)?
    {
        println!("  where LLVM 7 comes from is missing: {missing}");
    }
    if dry_run || steps.is_empty() {
        return Ok(());
    }
    for step in steps {
        let started = Instant::now();
        let what = step.describe(cores);
        println!("{what}");
        let (installer, _) = what.split_once(':').expect("it begins with the program");
        step.run(args).with_context(|| step.failed())?;
        println!("{installer}: {:.0} s", started.elapsed().as_secs_f64());
    }
    show(llvm);
    RustCuda::find(llvm, Some(&pip_folder())).map(drop).map_err(|incomplete: Incomplete| {
        let missing = incomplete.missing().collect::<Vec<_>>().join(", ");
        anyhow::anyhow!("rust-cuda's toolchain still lacks {missing}")
    })
}

/// Prints the place of each part.
fn show(llvm: Llvm) -> Vec<Part> {
    let parts = parts(llvm, Some(&pip_folder()));
    for part in &parts {
        let place = part.place.as_ref().map_or_else(|why| format!("missing: {why}"), |path| path.display().to_string());
        println!("{:<19} {place}", part.name);
    }
    parts
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
    bail!("link {} to {} by hand", from.display(), to.display())
}

/// Why neither the archive of LLVM 7 nor its packages can be used, for a plan; fails with that if the steps are to be
/// taken.
fn source_missing(args: &Args, dry_run: bool) -> Result<Option<String>> {
    match check_source(args) {
        Err(why) if dry_run => Ok(Some(format!("{why:#}"))),
        checked => checked.map(|()| None),
    }
}

/// Fails unless the packages of LLVM 7 are there, or its archive is and has the hash.
fn check_source(args: &Args) -> Result<()> {
    if let Some(folder) = &args.llvm_packages {
        return packages::find(folder).map(drop);
    }
    let Some(archive) = &args.llvm_source else {
        bail!(
            "no current distribution has LLVM 7. Fetch the packages of an older one and name their folder with \
             --llvm-packages (docs/backends.md names them); or download {SOURCE} from \
             https://releases.llvm.org/7.0.1/ and name it with --llvm-source; or set LLVM_CONFIG to the llvm-config \
             of one that you have"
        )
    };
    ensure!(archive.is_file(), "{} is not a file", archive.display());
    let mut sum = shell::command("sha256sum", &[]);
    sum.arg(absolute(archive)?);
    let said = shell::capture(sum)?;
    let hash = said.split_whitespace().next().unwrap_or_default();
    let wanted = args.sha_256();
    ensure!(hash == wanted, "{} has the SHA-256 {hash}, and {wanted} is wanted", archive.display());
    Ok(())
}

/// A path as a program takes it that runs in another folder.
fn absolute(path: &Path) -> Result<PathBuf> {
    std::path::absolute(path).with_context(|| format!("{} is no path", path.display()))
}

/// Builds LLVM 7 in `folder` and installs it there. A build of the same archive that was interrupted goes on where it
/// stopped.
fn build_llvm_7(archive: &Path, hash: &str, folder: &Path) -> Result<()> {
    let absent: Vec<_> = BUILDERS.iter().filter(|(program, _)| shell::which(program).is_none()).collect();
    if !absent.is_empty() {
        crate::setup::apt(&absent.iter().map(|(_, package)| *package).collect::<Vec<_>>())?;
    }
    let [source, build] = ["source", "build"].map(|name| folder.join(format!("{name}-{hash:.8}")));
    if !source.is_dir() {
        // Under another name until it is complete.
        let part = folder.join("source.part");
        fs::remove_dir_all(&part).ok();
        fs::create_dir_all(&part).with_context(|| format!("{} cannot be made", part.display()))?;
        let mut tar = shell::command("tar", &["--extract", "--strip-components=1", "--file"]);
        tar.arg(absolute(archive)?).arg("--directory").arg(&part);
        shell::run(tar)?;
        fs::rename(&part, &source).with_context(|| format!("{} cannot be made", source.display()))?;
    }
    let mut configure = shell::command("cmake", &["-G", "Ninja"]);
    configure.arg("-S").arg(&source).arg("-B").arg(&build).args(CMAKE);
    configure.arg(format!("-DCMAKE_INSTALL_PREFIX={}", folder.display()));
    // By itself it takes the first Python 2 that it finds, and stops if that is only the name of one.
    if let Some(python) = shell::which("python3") {
        configure.arg(format!("-DPYTHON_EXECUTABLE={}", python.display()));
    }
    shell::run(configure)?;
    // ninja prints how many of its steps are done.
    let mut install = shell::command("cmake", &["--build"]);
    install.arg(&build).args(["--target", "install-distribution"]);
    shell::run(install)?;
    for folder in [source, build] {
        fs::remove_dir_all(&folder).with_context(|| format!("{} cannot be removed", folder.display()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Command {
        #[command(flatten)]
        args: Args,
    }

    fn parse(words: &str) -> Result<Args, clap::Error> {
        Command::try_parse_from(["setup"].into_iter().chain(words.split_whitespace())).map(|command| command.args)
    }

    #[test]
    fn each_missing_part_has_the_step_that_installs_it() {
        for llvm in [Llvm::Seven, Llvm::Nineteen] {
            let build = if llvm == Llvm::Seven { Step::Llvm7 } else { Step::Llvm19 };
            assert_eq!(steps(&[], llvm, false), []);
            assert_eq!(steps(&["rustc-dev", "libclang"], llvm, true), [Step::Rustup, Step::Pip]);
            assert_eq!(steps(&[OPENSSL, LLVM_LIBRARIES], llvm, false), [Step::Compiler, build]);
            let with_packages = if llvm == Llvm::Seven { Step::Llvm7Packages } else { build };
            assert_eq!(steps(&[LLVM_LIBRARIES], llvm, true), [with_packages]);
            // One step at least for each part that there is, whatever else there is.
            for part in parts(llvm, None) {
                assert_eq!(steps(&[part.name], llvm, false).len(), 1, "{}", part.name);
            }
        }
    }

    #[test]
    fn a_plan_names_a_missing_source_and_does_not_fail() {
        let no_such = ["--llvm-source no/such", "--llvm-packages no/such"].map(|words| (words, "no/such"));
        for (words, said) in [("", SOURCE)].into_iter().chain(no_such) {
            let args = parse(words).unwrap();
            assert!(source_missing(&args, true).unwrap().is_some_and(|missing| missing.contains(said)));
            assert!(source_missing(&args, false).unwrap_err().to_string().contains(said));
        }
    }

    #[test]
    fn a_step_says_what_it_takes() {
        for step in [Step::Rustup, Step::Pip, Step::Compiler, Step::Llvm19, Step::Llvm7, Step::Llvm7Packages] {
            let said = step.describe(2);
            assert!(said.split_once(": ").is_some_and(|(installer, _)| !installer.contains(' ')), "{said}");
        }
        assert!(Step::Llvm7.describe(2).ends_with("about 25 minutes on the 2 cores here"));
        assert!(Step::Llvm7.describe(16).ends_with("about 4 minutes on the 16 cores here"));
    }

    #[test]
    fn the_options_are_read() {
        assert!(!parse("").unwrap().are_given());
        let args = parse("--llvm 19").unwrap();
        assert!(args.are_given() && args.llvm == Some(Llvm::Nineteen));
        let args = parse("--llvm-source a.tar.xz --llvm-sha256 12").unwrap();
        assert_eq!((args.llvm, args.sha_256()), (None, "12"));
        assert_eq!(parse("--llvm-source a.tar.xz").unwrap().sha_256(), SHA_256);
        assert!(parse("--llvm-packages a").unwrap().are_given());
        for refused in ["--llvm 8", "--llvm 7.0", "--llvm-sha256 12", "--llvm-packages a --llvm-source b"] {
            assert!(parse(refused).is_err(), "{refused}");
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn an_archive_is_refused_that_is_not_the_known_one() {
        let why = |words: &str| check_source(&parse(words).unwrap()).map_err(|why| why.to_string());
        assert!(why("").unwrap_err().contains("--llvm-source"));
        assert_eq!(why("--llvm-source /nowhere/a.tar.xz").unwrap_err(), "/nowhere/a.tar.xz is not a file");
        let folder = tempfile::tempdir().unwrap();
        let archive = folder.path().join("a.tar.xz");
        fs::write(&archive, "abc").unwrap();
        let named = format!("--llvm-source {}", archive.display());
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        let refused = why(&named).unwrap_err();
        assert!(refused.contains(abc) && refused.contains(SHA_256), "{refused}");
        assert_eq!(why(&format!("{named} --llvm-sha256 {abc}")), Ok(()));
    }

    #[test]
    fn the_container_builds_llvm_7_likewise() {
        let container = include_str!("../../../containers/rust-cuda.Containerfile");
        for option in CMAKE {
            assert!(container.contains(option), "{option}");
        }
        let check = format!("echo \"{SHA_256}  {SOURCE}\" \\\n    | sha256sum --check && tar");
        assert!(container.contains(&check), "{check}");
    }
}
