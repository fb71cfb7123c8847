//! `build-ptx`: the kernels as PTX, in files.

use crate::backend::Backend;
use crate::{project, rust_cuda};
use anyhow::{Context, Result, ensure};
use rungs_ptx::{Arch, DEFAULT_ARCHES, Options, Package, Ptx, Toolchain, build_all, ptx};
use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::time::Instant;

/// The options of `build-ptx`.
#[derive(clap::Args)]
pub struct Args {
    /// The compiler of the kernels
    #[arg(long, value_enum, default_value_t)]
    backend: Backend,
    /// The GPU architectures, separated by commas
    #[arg(long, value_name = "ARCH", value_delimiter = ',', default_values = DEFAULT_ARCHES)]
    arch: Vec<Arch>,
    /// Check the bounds of every access on the GPU too
    #[arg(long)]
    checked: bool,
    /// Keep the lines of the source, for ncu and compute-sanitizer
    #[arg(long)]
    line_info: bool,
    /// The Cargo.toml of a package with kernels of your own; it may be anywhere [default: this project's kernels]
    #[arg(long, value_name = "PATH")]
    manifest_path: Option<PathBuf>,
    /// The folder to write to [default: ptx in the target folder of the package's workspace]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

impl Default for Args {
    /// The options of an empty command line.
    fn default() -> Self {
        Self::of(DEFAULT_ARCHES)
    }
}

impl Args {
    /// The options that name these architectures and nothing else.
    pub fn of(arches: &[&str]) -> Self {
        let arch = arches.iter().map(|arch| arch.parse().expect("they are architectures")).collect();
        Self { backend: Backend::default(), arch, checked: false, line_info: false, manifest_path: None, out: None }
    }
}

/// Builds the PTX of this project's kernels by rust-cuda; the folder that it is in.
pub fn by_rust_cuda() -> Result<PathBuf> {
    let out = project::target().join("ptx-rust-cuda");
    run(&Args { backend: Backend::RustCuda, out: Some(out.clone()), ..Args::default() })?;
    Ok(out)
}

/// Builds the PTX and prints its kernels.
pub fn run(args: &Args) -> Result<()> {
    let (packages, target_dir) = match &args.manifest_path {
        Some(manifest) => (Package::parts(manifest)?, Package::at(manifest)?.target_dir),
        // In the target folder of this program, which may differ from the one in cargo's current settings.
        // rust-cuda compiles all families at once, as a package of its own.
        None if args.backend == Backend::RustCuda => {
            (vec![Package::at(&project::root().join("gpu"))?], project::target())
        }
        None => (Package::parts(&project::root().join("gpu"))?, project::target()),
    };
    let out = args.out.clone().unwrap_or_else(|| target_dir.join("ptx"));
    if args.backend == Backend::RustCuda {
        ensure!(args.manifest_path.is_none(), "--backend rust-cuda compiles this project's kernels alone");
        ensure!(!args.line_info, "--line-info requires the default backend: rust-cuda's PTX has no lines");
        if !cfg!(feature = "rust-cuda") {
            return rust_cuda::start_again(&args.arch, args.checked, &out);
        }
    }
    let options = |arch: &Arch, package: &Package| Options {
        arch: arch.clone(),
        checked: args.checked,
        lines: args.line_info,
        package: package.clone(),
        target_dir: target_dir.clone(),
    };
    let all: Vec<_> =
        args.arch.iter().flat_map(|arch| packages.iter().map(move |package| options(arch, package))).collect();
    let started = Instant::now();
    let built = compile(args.backend, &packages, &all)?;
    fs::create_dir_all(&out).with_context(|| format!("{} cannot be made", out.display()))?;
    for one in &built {
        let path = out.join(format!("{}.ptx", one.name));
        fs::write(&path, &one.text).with_context(|| format!("{} cannot be written", path.display()))?;
        let kernels = ptx::entries(&one.text);
        let size = one.text.len().div_ceil(1024);
        let plural = if kernels.len() == 1 { "" } else { "s" };
        println!("{}: {} kernel{plural}, {size} KiB", project::short(&path), kernels.len());
        kernels.iter().for_each(|kernel| println!("  {}", kernel.name));
    }
    // The same for every architecture.
    if let Some(first) = built.first().filter(|first| !first.warnings.is_empty()) {
        eprintln!("{}", first.warnings);
    }
    println!("{:.1} s", started.elapsed().as_secs_f64());
    Ok(())
}

fn compile(backend: Backend, packages: &[Package], all: &[Options]) -> Result<Vec<Ptx>> {
    let arches: BTreeSet<_> = all.iter().map(Options::name).collect();
    let list = |names: Vec<String>| names.join(", ");
    let of = list(packages.iter().map(|package| package.name.clone()).collect());
    let announce = |toolchain: &dyn std::fmt::Display| {
        println!("compiling {of} for {} with {toolchain}", list(arches.iter().cloned().collect()));
    };
    match backend {
        #[cfg(feature = "rust-cuda")]
        Backend::RustCuda => {
            announce(&format_args!("rust-cuda on {}", rungs_ptx::rust_cuda::NIGHTLY));
            rust_cuda::build(all)
        }
        _ => {
            let folder = packages.first().context("there is no package of kernels")?.folder();
            let toolchain = Toolchain::find(folder)?;
            announce(&toolchain);
            Ok(build_all(&toolchain, all)?)
        }
    }
}
