//! `setup`: finds what the other tasks need and installs what is missing.

use crate::backend::Backend;
use crate::ptxas::Ptxas;
use crate::{project, rust_cuda, shell};
use anyhow::{Context, Result, anyhow, bail, ensure};
use rungs_ptx::Toolchain;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Time limit for rustup, which waits long for a server that it cannot reach.
const RUSTUP_LIMIT: Duration = Duration::from_secs(120);

/// Debian's compiler, cargo and library source of one version.
const DEBIAN_TOOLCHAIN: &[&str] = &["rustc-web", "cargo-web", "rust-web-src"];

/// NVIDIA's assembler as a python package; from this CUDA on it takes every PTX that is built here.
const PTXAS_PACKAGE: &str = "nvidia-cuda-nvcc>=13,<14";

/// A part that the tasks need.
struct Need {
    name: &'static str,
    /// Its place, or that it is missing.
    find: fn() -> Result<String>,
    install: fn() -> Result<()>,
}

const NEEDS: &[Need] = &[
    Need { name: "rustfmt", find: || cargo_tool("fmt"), install: || rustup(&["component", "add", "rustfmt"]) },
    Need { name: "clippy", find: || cargo_tool("clippy"), install: || rustup(&["component", "add", "clippy"]) },
    Need { name: "device toolchain", find: device_toolchain, install: install_device_toolchain },
    Need { name: "ptxas", find: ptxas, install: install_ptxas },
];

/// The options of `setup`.
#[derive(clap::Args, Default)]
pub struct Args {
    /// The compiler of the kernels
    #[arg(long, value_enum, default_value_t)]
    backend: Backend,
    /// Say what is here and what would be installed, and install nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten, next_help_heading = "With --backend rust-cuda")]
    rust_cuda: rust_cuda::setup::Args,
}

/// Goes through all needs, prints the place of each, and fails with those that cannot be met.
pub fn run(args: &Args) -> Result<()> {
    let without = args.backend == Backend::Rustc && args.rust_cuda.are_given();
    ensure!(!without, "--llvm, --llvm-source and --llvm-packages require --backend rust-cuda");
    let mut unmet = vec![];
    for need in NEEDS {
        let met = if args.dry_run { (need.find)() } else { meet(need) };
        match met {
            Err(_) if args.dry_run => println!("{:<17} missing; would be installed", need.name),
            Ok(place) => println!("{:<17} {place}", need.name),
            Err(why) => unmet.push(format!("{}: {why:#}", need.name)),
        }
    }
    if !unmet.is_empty() {
        bail!("missing, and could not be installed:\n  {}", unmet.join("\n  "));
    }
    match args.backend {
        Backend::Rustc => Ok(()),
        Backend::RustCuda => rust_cuda::setup::setup(&args.rust_cuda, args.dry_run),
    }
}

/// Its place, after installing it if it was missing.
fn meet(need: &Need) -> Result<String> {
    if let Ok(place) = (need.find)() {
        return Ok(place);
    }
    println!("{:<17} missing; installing it", need.name);
    (need.install)()?;
    let place = (need.find)().context("installed, but still not found")?;
    Ok(format!("{place} (installed now)"))
}

fn cargo_tool(name: &str) -> Result<String> {
    let mut command = shell::cargo(&[name, "--version"]);
    let output = command.output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    if output.status.success() { Ok(text.trim().into()) } else { bail!("cargo {name} does not run") }
}

fn device_toolchain() -> Result<String> {
    let toolchain = Toolchain::find(project::root())?;
    Ok(format!("{toolchain}, {}", toolchain.rustc.display()))
}

fn ptxas() -> Result<String> {
    let ptxas = Ptxas::find()?;
    Ok(format!("CUDA {}, {}", ptxas.release, ptxas.path.display()))
}

/// What rustup adds to the toolchain that it uses in this workspace.
pub fn rustup(args: &[&str]) -> Result<()> {
    let mut command = shell::command("rustup", args);
    command.env("RUST_BACKTRACE", "0");
    shell::run_within(RUSTUP_LIMIT, command).with_context(|| format!("rustup cannot do {}", args.join(" ")))
}

fn install_device_toolchain() -> Result<()> {
    let Err(why) = rustup(&["component", "add", "rust-src"]) else { return Ok(()) };
    println!("{why:#}; trying Debian's packages");
    apt(DEBIAN_TOOLCHAIN)
}

/// Into a folder of our own: it disturbs no other python, and `cargo clean` takes it away.
fn install_ptxas() -> Result<()> {
    pip(&project::tools(), &[PTXAS_PACKAGE])
}

/// Installs python packages, without those that they depend on, into a folder.
pub fn pip(folder: &Path, packages: &[&str]) -> Result<()> {
    if !has_pip() {
        apt(&["python3-pip"])?;
    }
    fs::create_dir_all(folder).with_context(|| format!("{} cannot be made", folder.display()))?;
    let args = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--upgrade", "--target"];
    let mut pip = shell::command("python3", &args);
    pip.arg(folder).args(packages).env("PIP_ROOT_USER_ACTION", "ignore");
    shell::run(pip)
}

fn has_pip() -> bool {
    shell::succeeds(shell::command("python3", &["-m", "pip", "--version"]))
}

/// Installs Debian packages, through sudo if that is needed and installed.
pub fn apt(packages: &[&str]) -> Result<()> {
    let by_hand = || format!("install the Debian packages {} by hand, as root", packages.join(", "));
    let apt_get = shell::which("apt-get").context("there is no apt-get here").with_context(by_hand)?;
    // Both take NAME=VALUE before the program.
    let runner = match (is_root(), shell::which("sudo")) {
        (true, _) => PathBuf::from("env"),
        (false, Some(sudo)) => sudo,
        (false, None) => return Err(anyhow!("this is not root, and there is no sudo").context(by_hand())),
    };
    let run = |args: &[&str], packages: &[&str]| {
        let mut command = shell::command(&runner, &["DEBIAN_FRONTEND=noninteractive"]);
        command.arg(&apt_get).args(args).args(packages);
        shell::run(command).with_context(by_hand)
    };
    run(&["update", "-qq"], &[])?;
    run(&["install", "-qq", "-oDpkg::Use-Pty=0", "--yes", "--no-install-recommends"], packages)
}

fn is_root() -> bool {
    let output = Command::new("id").arg("-u").output();
    output.is_ok_and(|output| output.stdout.trim_ascii() == b"0")
}
