//! The machine: its description and its limits.

use super::stats;
use bench_report::{Device, Limits, rounded};
use rungs::engine::{Buffer, Engine, Geometry};
use rungs::error::Result;
use rungs_kernels::wait::wait;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Bytes of the copy that measures the bandwidth, on a GPU and on the simulator: on a GPU much more than fits in its
/// caches.
const COPY_BYTES: (usize, usize) = (1 << 30, 1 << 24);

/// Number of timed copies.
const COPIES: usize = 21;

/// Duration of the copies before that, so that the GPU's clocks have risen.
const RISE: Duration = Duration::from_millis(300);

/// The fields that `nvidia-smi` is queried for.
const QUERY: &[&str] = &[
    "driver_version",
    "vbios_version",
    "clocks.sm",
    "clocks.mem",
    "clocks.max.sm",
    "clocks.max.mem",
    "power.draw",
    "power.limit",
    "temperature.gpu",
    "clocks_throttle_reasons.active",
];

/// A kernel that makes the device wait, and reads its clock.
pub struct Waiter {
    engine: Engine,
    passed: Buffer<u64>,
}

impl Waiter {
    /// Allocates the kernel's two words on this engine.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](rungs::Error::OutOfMemory) if they do not fit.
    pub fn new(engine: &Engine) -> Result<Self> {
        Ok(Self { engine: engine.clone(), passed: engine.alloc(2)? })
    }

    /// Delays the work that is enqueued next by `nanoseconds`, on a GPU; the simulator runs everything at once.
    ///
    /// # Errors
    /// [`Error::Cuda`](rungs::Error::Cuda) if the launch, or a kernel before it, fails.
    pub fn wait(&self, nanoseconds: u64) -> Result<()> {
        if self.engine.is_simulator() {
            return Ok(());
        }
        self.engine.launch(wait, Geometry::linear(1, 1), (nanoseconds, self.passed.view()))
    }

    /// The current clock rate of the SMs, in MHz; `None` on the simulator.
    ///
    /// # Errors
    /// As for [`Waiter::wait`].
    pub fn clock_mhz(&self) -> Result<Option<f64>> {
        if self.engine.is_simulator() {
            return Ok(None);
        }
        self.wait(200_000)?;
        let mut passed = [0u64; 2];
        self.passed.read(&mut passed)?;
        Ok(Some(rounded(passed[0] as f64 / passed[1].max(1) as f64 * 1e3)))
    }
}

/// Measures the bandwidth of a copy within the device's memory.
///
/// # Errors
/// [`Error::OutOfMemory`](rungs::Error::OutOfMemory) if the two buffers do not fit; [`Error::Cuda`](rungs::Error::Cuda)
/// if a copy fails.
pub fn limits(engine: &Engine) -> Result<Limits> {
    let wanted = if engine.is_simulator() { COPY_BYTES.1 } else { COPY_BYTES.0 };
    let free = engine.as_cuda().map_or(Ok(u64::MAX), |cuda| cuda.free_memory())?;
    let bytes = wanted.min((free / 4) as usize);
    let (from, to) = (engine.alloc::<u8>(bytes)?, engine.alloc::<u8>(bytes)?);
    from.fill(1)?;
    let started = Instant::now();
    while !engine.is_simulator() && started.elapsed() < RISE {
        to.copy_from(&from)?;
        engine.synchronize()?;
    }
    let copy = |_| engine.time(|| to.copy_from(&from)).map(|((), ms)| ms);
    let measured = (0..COPIES).map(copy).collect::<Result<Vec<_>>>()?;
    let ms = stats::times(&measured, 1).map_or(f64::NAN, |times| times.median_ms);
    Ok(Limits { copy_gbs: rounded(2.0 * bytes as f64 / (ms * 1e6)), copy_bytes: bytes as u64, ..Limits::default() })
}

/// 10⁹ floating-point operations per second outside the tensor cores: two per lane and cycle.
pub fn fp32_gflops(engine: &Engine, clock_mhz: f64) -> Option<f64> {
    let (major, minor) = engine.as_cuda()?.properties().compute_capability;
    let lanes = match (major, minor) {
        (6, 0) | (7, _) | (8, 0) => 64,
        (5 | 6, _) | (8.., _) => 128,
        _ => return None,
    };
    Some(rounded(2.0 * f64::from(lanes * engine.multiprocessors()) * clock_mhz * 1e-3))
}

/// 10⁹ floating-point operations per second of the tensor cores on TF32, without sparsity; bf16 has twice the rate.
/// Known for compute capability 8.0 and 9.0, whose devices all have tensor cores of one width.
pub fn tf32_gflops(engine: &Engine, clock_mhz: f64) -> Option<f64> {
    let per_cycle = match engine.as_cuda()?.properties().compute_capability {
        (8, 0) => 1024,
        (9, 0) => 2048,
        _ => return None,
    };
    Some(rounded(f64::from(per_cycle * engine.multiprocessors()) * clock_mhz * 1e-3))
}

/// The description of the machine.
pub fn device(engine: &Engine) -> Device {
    let info = engine.info();
    let properties = engine.as_cuda().map(|cuda| cuda.properties());
    Device {
        kind: info.kind.into(),
        name: info.name.clone(),
        compute_capability: info.compute_capability.clone(),
        multiprocessors: info.multiprocessors,
        cuda: info.driver.clone(),
        ptx: info.ptx.clone(),
        ecc: properties.map(|p| p.ecc),
        peak_clock_mhz: properties.map(|p| f64::from(p.clock_khz) * 1e-3),
        memory_peak_gbs: properties.map(|p| p.memory_bandwidth_gbs).filter(|gbs| *gbs > 0.0),
        nvidia_smi: properties.map_or_else(BTreeMap::new, |p| nvidia_smi(&p.pci)),
    }
}

/// The answer of `nvidia-smi` about the GPU at this PCI address; empty if there is no `nvidia-smi` or no answer.
fn nvidia_smi(pci: &str) -> BTreeMap<String, String> {
    let query = format!("--query-gpu={}", QUERY.join(","));
    let output = Command::new("nvidia-smi").args([&query, "--format=csv,noheader", "-i", pci]).output();
    let Some(output) = output.ok().filter(|output| output.status.success()) else { return BTreeMap::new() };
    let text = String::from_utf8_lossy(&output.stdout);
    let values = text.trim().split(',').map(|value| value.trim().to_string());
    QUERY.iter().map(|name| name.to_string()).zip(values).collect()
}

/// The commit that the program was built from: what `RUNGS_COMMIT` says, the file `commit` next to the program (which
/// `cargo xtask dist` writes), or the commit by git of the folder that the program is in; `unknown` if none of them
/// exists.
///
/// Looked up at run time and not compiled in: every commit would otherwise rebuild the program.
pub fn commit() -> String {
    let folder = std::env::current_exe().ok().and_then(|program| Some(program.parent()?.to_path_buf()));
    let git = |folder: &Path| {
        let args = ["describe", "--always", "--exclude=*", "--abbrev=40", "--dirty=-modified"];
        let output = Command::new("git").arg("-C").arg(folder).args(args).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let found = std::env::var("RUNGS_COMMIT").ok().filter(|commit| !commit.trim().is_empty());
    let found = found.or_else(|| std::fs::read_to_string(folder.as_ref()?.join("commit")).ok());
    let found = found.or_else(|| git(folder.as_ref()?));
    found.map_or("unknown".into(), |commit| commit.trim().escape_debug().to_string())
}

/// The time in UTC, as `2026-11-21T10:24:19Z`.
pub fn now() -> String {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    date(seconds)
}

/// Seconds since 1970 as a date of the Gregorian calendar.
fn date(seconds: u64) -> String {
    // Days since 1 March of the year 0, in eras of 400 years; years that begin in March have their leap day at the end.
    let days = seconds / 86_400 + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let march = (5 * day + 2) / 153;
    let (day, month) = (day - (153 * march + 2) / 5 + 1, if march < 10 { march + 3 } else { march - 9 });
    let year = era * 400 + year + u64::from(month <= 2);
    let (hour, minute, second) = (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates() {
        assert_eq!(date(0), "1970-01-01T00:00:00Z");
        assert_eq!(date(951_782_399), "2000-02-28T23:59:59Z");
        assert_eq!(date(951_782_400), "2000-02-29T00:00:00Z");
        assert_eq!(date(4_107_542_400), "2100-03-01T00:00:00Z");
        assert_eq!(date(1_795_256_659), "2026-11-21T10:24:19Z");
    }

    #[test]
    fn a_copy_takes_time() {
        let limits = limits(&Engine::simulator()).unwrap();
        assert!(limits.copy_gbs > 0.0 && limits.copy_gbs.is_finite());
    }
}
