//! `rungs doctor`: reports which of driver, GPU, PTX and toolchain are here, and how to install the missing ones. It
//! works on a bare machine, and searches by the same code as the other commands.

use super::Common;
use crate::report::{self, Format, Grid};
use clap::Command;
use rungs::engine::{cuda, named_ptx, ptx};
use rungs::error::Result;
use rungs_group::nccl;
use rungs_ptx::rust_cuda::{Incomplete, Llvm, RustCuda};
use serde::Serialize;

pub(super) fn command() -> Command {
    Command::new("doctor")
        .about("Report which of driver, GPU, PTX and toolchain are here, and how to install the missing ones")
}

/// A part that was searched for.
#[derive(Serialize)]
struct Finding {
    what: &'static str,
    found: bool,
    detail: String,
    /// Advice, if it is missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    advice: Option<String>,
}

#[derive(Serialize)]
struct Report {
    schema: u32,
    findings: Vec<Finding>,
}

pub(super) fn run(common: &Common) -> Result<()> {
    let findings = vec![driver(), gpu(), links(), nccl(), embedded_ptx(), toolchain(), rust_cuda(), simulator()];
    if common.format == Format::Json {
        return report::json(&Report { schema: report::SCHEMA, findings });
    }
    if common.format == Format::Csv {
        let mut grid = Grid::new(&["what", "found", "detail", "advice"], &[]);
        for Finding { what, found, detail, advice } in &findings {
            grid.row([what, &*found.to_string(), detail, advice.as_deref().unwrap_or("")]);
        }
        return grid.print_csv();
    }
    let mut grid = Grid::new(&["what", "found", "detail"], &[]);
    for finding in &findings {
        grid.row([finding.what, if finding.found { "yes" } else { "no" }, &finding.detail]);
        if let Some(advice) = &finding.advice {
            grid.row(["", "", &format!("→ {advice}")]);
        }
    }
    grid.print()
}

fn driver() -> Finding {
    let (what, advice) =
        ("CUDA driver", "install NVIDIA's driver (it brings libcuda.so.1); without it the simulator runs");
    match cuda_driver::load() {
        Ok(()) => {
            let detail = cuda_driver::file().unwrap_or_else(|| "libcuda".into()) + " was opened";
            Finding { what, found: true, detail, advice: None }
        }
        Err(missing) => {
            let advice = if missing.stub.is_some() { missing.to_string() } else { advice.into() };
            Finding { what, found: false, detail: missing.tried.join("; "), advice: Some(advice) }
        }
    }
}

fn gpu() -> Finding {
    let what = "GPU";
    match cuda::devices() {
        Ok(gpus) if !gpus.is_empty() => {
            let name = |p: &cuda::Properties| {
                let (major, minor) = p.compute_capability;
                format!("{} (compute capability {major}.{minor}, CUDA {})", p.name, p.driver_version)
            };
            let unserved = gpus.iter().find(|p| cuda::taken(&ptx::PTX, p).is_none());
            let advice = unserved.filter(|_| !ptx::PTX.is_empty()).map(|p| {
                let (major, minor) = p.compute_capability;
                if cuda::choose(&ptx::PTX, p.compute_capability).is_some() {
                    return format!(
                        "the driver is too old for the PTX inside: update it (it is for CUDA {})",
                        p.driver_version
                    );
                }
                format!("the PTX inside needs a newer GPU: cargo xtask build-ptx --arch sm_{major}{minor}")
            });
            Finding { what, found: true, detail: gpus.iter().map(name).collect::<Vec<_>>().join("; "), advice }
        }
        Ok(_) => Finding { what, found: false, detail: "the driver knows of none".into(), advice: None },
        Err(e) => Finding { what, found: false, detail: e.to_string(), advice: None },
    }
}

/// Which GPUs reach each other's memory, for problems on several.
fn links() -> Finding {
    let what = "GPUs that reach each other";
    let count = cuda::devices().map_or(0, |gpus| gpus.len() as u32);
    if count < 2 {
        let detail = format!("there {}", if count == 1 { "is one GPU" } else { "are none" });
        return Finding { what, found: false, detail, advice: None };
    }
    let pairs = || (0..count).flat_map(|a| (0..count).map(move |b| (a, b))).filter(|(a, b)| a != b);
    let apart: Vec<_> = pairs().filter(|&(a, b)| !cuda::reaches(a, b).unwrap_or(false)).collect();
    match &apart[..] {
        [] => Finding { what, found: true, detail: format!("all {count}, without the host"), advice: None },
        apart => {
            let names: Vec<_> = apart.iter().map(|(a, b)| format!("{a} to {b}")).collect();
            let detail = format!("no way from {}: copies go through the host", names.join(", "));
            Finding { what, found: false, detail, advice: Some("nvidia-smi topo -m shows the links".into()) }
        }
    }
}

/// What processes on several GPUs need.
fn nccl() -> Finding {
    let what = "NCCL";
    match nccl::load() {
        Ok(found) => {
            Finding { what, found: true, detail: format!("{} is {}", found.name, found.version()), advice: None }
        }
        Err(why) => {
            let advice = "only processes on several GPUs need it, and --transport nccl".into();
            Finding { what, found: false, detail: why, advice: Some(advice) }
        }
    }
}

fn embedded_ptx() -> Finding {
    let needs =
        |text| cuda::least_driver(text).map_or(String::new(), |(a, b)| format!(", for drivers of CUDA {a}.{b} on"));
    let architectures: Vec<_> = ptx::PTX.iter().map(|pair| named_ptx(pair) + &needs(pair.1)).collect();
    let found = !architectures.is_empty();
    Finding {
        what: "PTX in this program",
        found,
        detail: if found { architectures.join("; ") } else { ptx::PTX_MISSING.to_string() },
        advice: (!found).then(|| "cargo xtask setup, then build again".into()),
    }
}

fn toolchain() -> Finding {
    let found = !ptx::PTX_TOOLCHAIN.is_empty();
    Finding {
        what: "toolchain for PTX, when built",
        found,
        detail: if found { ptx::PTX_TOOLCHAIN } else { ptx::PTX_MISSING }.to_string(),
        advice: (!found).then(|| "cargo xtask setup finds or installs one".into()),
    }
}

/// The other backend: whether rust-cuda's toolchain is here, by the code that `xtask build-ptx` searches with.
fn rust_cuda() -> Finding {
    let what = "rust-cuda's toolchain";
    match RustCuda::find(Llvm::Seven, None) {
        Ok(_) => Finding { what, found: true, detail: "all of its parts were found".into(), advice: None },
        Err(incomplete) => {
            let detail = format!("missing: {}", incomplete.missing().collect::<Vec<_>>().join(", "));
            Finding { what, found: false, detail, advice: Some(Incomplete::REMEDY.into()) }
        }
    }
}

fn simulator() -> Finding {
    let cores = rungs::engine::Engine::simulator().multiprocessors();
    Finding { what: "simulator", found: true, detail: format!("{cores} cores"), advice: None }
}
