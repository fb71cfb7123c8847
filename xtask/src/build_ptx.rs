//! `build-ptx`: the kernels as PTX, in files.

use crate::{project, rust_cuda};
use anyhow::{Context, Result};
use ptx_builder::{Arch, DEFAULT_ARCHES, Options, Ptx, Toolchain, build_all, ptx};
use std::fs;
use std::path::PathBuf;
use std::time::Instant;

/// What compiles the kernels.
#[derive(clap::ValueEnum, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Backend {
    /// rustc's own code generator for NVIDIA GPUs
    #[default]
    Rustc,
    /// rust-cuda: cuda_std below the kernels, libnvvm behind the compiler
    RustCuda,
}

/// What to build, and where to.
#[derive(clap::Args)]
pub struct Args {
    /// What compiles the kernels
    #[arg(long, value_enum, default_value_t)]
    backend: Backend,
    /// For which GPUs, with commas between
    #[arg(long, value_name = "ARCH", value_delimiter = ',', default_values = DEFAULT_ARCHES)]
    pub arch: Vec<Arch>,
    /// Check the bounds of every access on the GPU too
    #[arg(long)]
    pub checked: bool,
    /// The folder to write to [default: ptx in cargo's target folder]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

impl Default for Args {
    /// What an empty command line gives.
    fn default() -> Self {
        let arch = DEFAULT_ARCHES.iter().map(|arch| arch.parse().expect("the defaults are architectures")).collect();
        Self { backend: Backend::default(), arch, checked: false, out: None }
    }
}

/// Builds the PTX and says what is in it.
pub fn run(args: &Args) -> Result<()> {
    let out = args.out.clone().unwrap_or_else(project::ptx);
    if args.backend == Backend::RustCuda && !cfg!(feature = "rust-cuda") {
        return rust_cuda::start_again(args, &out);
    }
    let (workspace_root, target_dir) = (project::root().to_path_buf(), project::target());
    let options = |arch: &Arch| Options {
        arch: arch.clone(),
        checked: args.checked,
        workspace_root: workspace_root.clone(),
        target_dir: target_dir.clone(),
    };
    let all: Vec<_> = args.arch.iter().map(options).collect();
    let started = Instant::now();
    let built = compile(args.backend, &all)?;
    fs::create_dir_all(&out).with_context(|| format!("{} cannot be made", out.display()))?;
    for one in &built {
        let path = out.join(format!("{}.ptx", one.name));
        fs::write(&path, &one.text).with_context(|| format!("{} cannot be written", path.display()))?;
        let kernels = ptx::entries(&one.text);
        let size = one.text.len().div_ceil(1024);
        println!("{}: {} kernels, {size} KiB", project::short(&path), kernels.len());
        kernels.iter().for_each(|kernel| println!("  {}", kernel.name));
    }
    // The same for every architecture.
    if let Some(first) = built.first().filter(|first| !first.warnings.is_empty()) {
        eprintln!("{}", first.warnings);
    }
    println!("{:.1} s", started.elapsed().as_secs_f64());
    Ok(())
}

fn compile(backend: Backend, all: &[Options]) -> Result<Vec<Ptx>> {
    let names: Vec<_> = all.iter().map(Options::name).collect();
    let announce = |toolchain: &dyn std::fmt::Display| {
        println!("compiling the kernels for {} with {toolchain}", names.join(", "));
    };
    match backend {
        #[cfg(feature = "rust-cuda")]
        Backend::RustCuda => {
            announce(&format_args!("rust-cuda on {}", ptx_builder::rust_cuda::NIGHTLY));
            rust_cuda::build(all)
        }
        _ => {
            let toolchain = Toolchain::find(project::root())?;
            announce(&toolchain);
            Ok(build_all(&toolchain, all)?)
        }
    }
}
