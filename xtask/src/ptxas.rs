//! NVIDIA's assembler: its place, and its report of a kernel.

use crate::{project, shell};
use anyhow::{Context, Result, bail, ensure};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

/// The oldest CUDA whose assembler takes PTX 8.0.
const OLDEST: (u32, u32) = (12, 0);

/// An assembler that is new enough.
pub struct Ptxas {
    /// The program.
    pub path: PathBuf,
    /// Its CUDA release, such as `13.0`.
    pub release: String,
}

/// The resources of one kernel on the GPU.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// The kernel's symbol.
    pub kernel: String,
    /// Registers per thread.
    pub registers: u32,
    /// Bytes of spilled registers that a thread writes.
    pub spill_stores: u32,
    /// Bytes of spilled registers that a thread reads.
    pub spill_loads: u32,
    /// Bytes of stack frame per thread.
    pub stack: u32,
    /// Bytes of static shared memory.
    pub shared: u32,
}

impl Ptxas {
    /// Searches PATH, CUDA toolkits, python's packages, and the folder of setup.
    pub fn find() -> Result<Self> {
        let mut looked = vec![];
        for path in candidates() {
            match release(&path) {
                Some(release) if number(&release) >= Some(OLDEST) => return Ok(Self { path, release }),
                Some(release) => looked.push(format!("{} is of CUDA {release}", path.display())),
                None => looked.push(format!("{} does not run", path.display())),
            }
        }
        let seen = if looked.is_empty() { "none is here".into() } else { looked.join("; ") };
        let (major, minor) = OLDEST;
        bail!("no ptxas of CUDA {major}.{minor} or later: {seen}; `cargo xtask setup` installs one")
    }

    /// Assembles a file for `arch` and reports each kernel in it.
    pub fn check(&self, file: &Path, arch: &str) -> Result<Vec<Usage>> {
        let object = project::target().join("ptxas.cubin");
        let mut command = Command::new(&self.path);
        command.arg("-v").arg(format!("-arch={arch}")).arg("-o").arg(&object).arg(file);
        let output = command.output().with_context(|| format!("{} did not start", self.path.display()))?;
        let said = String::from_utf8_lossy(&output.stderr);
        if !output.status.success() {
            bail!("ptxas does not take {}:\n{}", project::short(file), said.trim_end());
        }
        fs::remove_file(&object).ok();
        let slow = slow(&said);
        ensure!(slow.is_empty(), "ptxas says of {}:\n{}", project::short(file), slow.join("\n"));
        Ok(parse(&said))
    }
}

/// What ptxas calls advice, and makes a kernel several times slower: products by four warps that it finishes one by one
/// (C7508 to C7515), or for which a thread has too few registers (C7602).
fn slow(said: &str) -> Vec<&str> {
    let codes: Vec<_> = (7508..=7515).chain([7602]).map(|code| format!("C{code}")).collect();
    said.lines().filter(|line| codes.iter().any(|code| line.contains(code))).collect()
}

/// Every existing file of a ptxas.
fn candidates() -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> = vec![];
    folders.extend(shell::which("ptxas").and_then(|path| path.parent().map(Path::to_path_buf)));
    let toolkits = ["CUDA_HOME", "CUDA_PATH"].into_iter().filter_map(env::var_os).map(PathBuf::from);
    folders.extend(toolkits.chain(below("/usr/local", "cuda")).map(|toolkit| toolkit.join("bin")));
    for packages in [project::tools()].into_iter().chain(site_packages()) {
        let nvidia = packages.join("nvidia");
        folders.extend(below(&nvidia, "cu").into_iter().rev().map(|cuda| cuda.join("bin")));
    }
    folders.into_iter().map(|folder| folder.join("ptxas")).filter(|path| path.is_file()).collect()
}

/// The entries of a folder whose names begin with `prefix`, in order: toolkits next to each other, and both layouts of
/// NVIDIA's python packages (`cu13`, `cuda_nvcc`).
fn below(folder: impl AsRef<Path>, prefix: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let named = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(prefix));
    let mut paths: Vec<_> = named.map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

/// The folders of python's packages.
fn site_packages() -> Vec<PathBuf> {
    let code = "import site, sys; print('\\n'.join(sys.path + site.getsitepackages() + [site.getusersitepackages()]))";
    let output = Command::new("python3").args(["-c", code]).output().ok();
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    text.lines().filter(|line| !line.is_empty()).map(PathBuf::from).collect()
}

/// The `13.0` of `…release 13.0, V13.0.88`.
fn release(ptxas: &Path) -> Option<String> {
    let output = Command::new(ptxas).arg("--version").output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    Some(text.split("release ").nth(1)?.split(',').next()?.trim().to_string())
}

fn number(release: &str) -> Option<(u32, u32)> {
    let (major, minor) = release.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// Reads the output of `ptxas -v`.
fn parse(said: &str) -> Vec<Usage> {
    let mut all: Vec<Usage> = vec![];
    for line in said.lines() {
        if let Some(rest) = line.split("Compiling entry function '").nth(1) {
            let kernel = rest.split('\'').next().unwrap_or_default().to_string();
            all.push(Usage { kernel, ..Usage::default() });
        }
        let Some(usage) = all.last_mut() else { continue };
        if line.contains("bytes stack frame") {
            usage.stack = before(line, " bytes stack frame");
            usage.spill_stores = before(line, " bytes spill stores");
            usage.spill_loads = before(line, " bytes spill loads");
        } else if line.contains(" registers") {
            usage.registers = before(line, " registers");
            usage.shared = before(line, " bytes smem");
        }
    }
    all
}

/// The number in front of a text, 0 without it.
fn before(line: &str, text: &str) -> u32 {
    let word = line.split(text).next().filter(|_| line.contains(text)).and_then(|head| head.rsplit(' ').next());
    word.and_then(|word| word.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn advice_that_products_become_slow_is_an_error() {
        let one = "ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async instructions are serialized";
        let said = format!("ptxas info    : 0 bytes gmem\n{one} due to insufficient register resources\n");
        assert_eq!(slow(&said), [said.lines().last().unwrap()]);
        assert!(slow("ptxas info    : Used 168 registers, used 1 barriers").is_empty());
    }

    #[test]
    fn reads_what_ptxas_says() {
        let said = "\
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'matmul' for 'sm_90'
ptxas info    : Function properties for matmul
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 38 registers, used 1 barriers, 2048 bytes smem
ptxas info    : Compile time = 11.1 ms
ptxas info    : Compiling entry function 'spilling' for 'sm_90'
ptxas info    : Function properties for spilling
    256 bytes stack frame, 12 bytes spill stores, 16 bytes spill loads
ptxas info    : Used 255 registers, used 0 barriers, 256 bytes cumulative stack size
";
        let matmul = Usage { kernel: "matmul".into(), registers: 38, shared: 2048, ..Usage::default() };
        let spilling = Usage {
            kernel: "spilling".into(),
            registers: 255,
            spill_stores: 12,
            spill_loads: 16,
            stack: 256,
            shared: 0,
        };
        assert_eq!(parse(said), [matmul, spilling]);
    }

    #[test]
    fn releases_compare_as_numbers() {
        assert!(number("9.2") < number("12.0"));
        assert!(number("13.0") > Some(OLDEST));
        assert_eq!(number("unknown"), None);
    }
}
