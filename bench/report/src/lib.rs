//! The measurements of `rungs bench`, as data that can be read again.
//!
//! The program writes a report; `cargo xtask tables` makes the tables of the front page, of docs/ladders.md and of
//! docs/losses.md, and the tables and plots in `bench/results`, from reports. Nothing here measures or depends on an
//! algorithm.

mod chart;
pub mod front;
pub mod ladder;
pub mod losses;
pub mod plot;
pub mod table;

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The layout of a report.
pub const SCHEMA: u32 = 1;

/// The results of one call of `rungs bench`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// [`SCHEMA`].
    pub schema: u32,
    /// The machine.
    pub device: Device,
    /// Its limits.
    pub limits: Limits,
    /// The method of measurement, in words.
    pub method: Vec<String>,
    /// Notes for the reader, for example that times are the simulator's.
    #[serde(default)]
    pub notes: Vec<String>,
    /// The seed of all input.
    pub seed: u64,
    /// The time of the call in UTC: `2026-11-21T10:24:19Z`.
    pub date: String,
    /// The commit that the program was built from.
    pub commit: String,
    /// The program's version.
    pub version: String,
    /// The call.
    pub command: String,
    /// The peers' library: the name of its file and its own description.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peers: Option<String>,
    /// One row per rung and per peer in each case; rows of one case stand together.
    pub results: Vec<Row>,
}

/// The machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Device {
    /// `cuda` or `simulator`.
    pub kind: String,
    /// The GPU's name.
    pub name: String,
    /// `9.0` for a GPU.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compute_capability: Option<String>,
    /// SMs of a GPU, cores that the simulator uses.
    pub multiprocessors: u32,
    /// The newest CUDA version that the driver serves.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cuda: Option<String>,
    /// The architecture of the rungs' PTX, and its compiler.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ptx: Option<String>,
    /// Whether the memory corrects errors.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ecc: Option<bool>,
    /// Peak clocks as the driver has them, in MHz.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peak_clock_mhz: Option<f64>,
    /// The theoretical bandwidth of the memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_peak_gbs: Option<f64>,
    /// The output of `nvidia-smi` after the measurements: driver, clocks, power. Empty if there is none.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub nvidia_smi: BTreeMap<String, String>,
}

/// The limits of the machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Limits {
    /// 10⁹ bytes per second, read and written, of a copy within the device: measured in the same call.
    pub copy_gbs: f64,
    /// The bytes of that copy.
    pub copy_bytes: u64,
    /// The clock of the SMs in MHz, right after each case: the median.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clock_mhz: Option<f64>,
    /// 10⁹ floating-point operations per second in `f32`, outside the tensor cores, at that clock.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fp32_gflops: Option<f64>,
    /// The same of the tensor cores on TF32, without sparsity, where it is known for the device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tf32_gflops: Option<f64>,
    /// The same of the tensor cores on bf16.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bf16_gflops: Option<f64>,
}

/// The owner of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A rung of ours.
    Rung,
    /// A library.
    Peer,
    /// The CUDA C++ twin of a rung: the same algorithm, launches and threads.
    Twin,
    /// The algorithm of the source that a rung comes from, in the source's own shape.
    Source,
}

/// One rung or peer in one case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// The family.
    pub family: String,
    /// The rung, or the peer's name.
    pub name: String,
    /// Its owner.
    pub kind: Kind,
    /// Elements; for a matrix product the columns of C.
    pub n: u64,
    /// Rows of C.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub m: Option<u64>,
    /// Columns of A.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub k: Option<u64>,
    /// The element type.
    pub dtype: String,
    /// The distribution of drawn elements.
    pub keys: String,
    /// Further parameters of the computation, as `bins=256`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub parameters: String,
    /// Whether the whole output was right, before and after the timed runs.
    pub verified: bool,
    /// The reason why it was not run, if it was not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skipped: Option<String>,
    /// The error, if there was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// One call on an idle device, launch gaps and all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call: Option<Times>,
    /// One of several calls that follow each other without a gap.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub back_to_back: Option<Times>,
    /// Work divided by the time of a call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<f64>,
    /// The unit of the rate: `keys/s`, `GB/s`, `GFLOP/s`.
    pub rate_unit: String,
    /// 10⁹ bytes per second, counting the bytes that any algorithm must move: input once, output once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gbs: Option<f64>,
    /// `gbs` divided by [`Limits::copy_gbs`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub of_copy: Option<f64>,
    /// 10⁹ floating-point operations per second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gflops: Option<f64>,
    /// `gflops` divided by [`Limits::fp32_gflops`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub of_fp32: Option<f64>,
    /// Operations per byte that must be moved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flops_per_byte: Option<f64>,
    /// The speed divided by that of the library that the family is compared with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub over_peer: Option<Ratio>,
    /// The same by the fastest of the library's algorithms, which was found by timing them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub over_tuned: Option<Ratio>,
    /// The speed divided by that of the rung's twin.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub over_twin: Option<Ratio>,
    /// The speed divided by that of the source's algorithm.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub over_source: Option<Ratio>,
    /// Bytes of device memory that a call needs besides its input and its output. Reports from before it was measured
    /// have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scratch_bytes: Option<u64>,
    /// The devices, where a group of them was measured, be it one of one device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<Group>,
}

/// Devices that worked on a problem together. Their time is that of the slowest, by the host's clock.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Group {
    /// The number of devices.
    pub gpus: usize,
    /// How data moved between them.
    pub transport: String,
    /// The rate divided by that of the fewest devices in the same call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub speedup: Option<f64>,
    /// The speed-up divided by the number of times as many devices.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub efficiency: Option<f64>,
    /// 10⁹ bytes per second out of a device when all exchange data and do nothing else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exchange_gbs: Option<f64>,
}

/// Times of runs, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Times {
    /// The median.
    pub median_ms: f64,
    /// A tenth of the runs took no longer.
    pub p10_ms: f64,
    /// Nine tenths of the runs took no longer.
    pub p90_ms: f64,
    /// The number of measurements.
    pub runs: usize,
    /// The number of calls in a row per measurement.
    pub calls: usize,
    /// Whether the median is known to within half a percent (of a 95 % confidence interval that assumes no
    /// distribution), or to within the timer's resolution.
    pub stable: bool,
}

/// Our speed divided by that of another row, in the same rounds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ratio {
    /// The other's name.
    pub of: String,
    /// By the medians of one call.
    pub call: f64,
    /// By the medians back to back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub back_to_back: Option<f64>,
}

impl Row {
    /// The speed divided by that of the library: of each of its functions that the rung is compared with.
    pub fn over_library(&self) -> impl Iterator<Item = &Ratio> {
        [&self.over_peer, &self.over_tuned].into_iter().flatten()
    }

    /// The least of [`Row::over_library`] by single calls: that over the library's fastest function.
    pub fn over_fastest(&self) -> Option<&Ratio> {
        self.over_library().min_by(|x, y| x.call.total_cmp(&y.call))
    }

    /// The fields that rows of one case have in common.
    pub fn case(&self) -> Case<'_> {
        Case {
            family: &self.family,
            size: (self.n, self.m, self.k),
            dtype: &self.dtype,
            keys: &self.keys,
            parameters: &self.parameters,
            gpus: self.group.as_ref().map(|group| group.gpus),
        }
    }

    /// The parameters that decide what is computed, without those that decide only how (as `columns=128`).
    pub fn task(&self) -> String {
        let how = |word: &&str| ["columns=", "threads=", "blocks="].iter().any(|name| word.starts_with(name));
        self.parameters.split(' ').filter(|word| !how(word)).collect::<Vec<_>>().join(" ")
    }

    /// The share of what the roofline allows: of a copy's bandwidth or of the arithmetic's peak, whichever is nearer.
    pub fn share(&self) -> Option<f64> {
        self.of_copy.into_iter().chain(self.of_fp32).reduce(f64::max)
    }

    /// The median time of one call, in milliseconds.
    pub fn call_ms(&self) -> Option<f64> {
        self.call.map(|times| times.median_ms)
    }

    /// The size as text: `2^20`, `1000003`, `4096³`, `3x4x5`.
    pub fn size(&self) -> String {
        match (self.m, self.k) {
            (Some(m), Some(k)) if m == self.n && k == self.n => format!("{m}³"),
            (Some(m), Some(k)) => format!("{m}x{}x{k}", self.n),
            _ if self.n.is_power_of_two() && self.n > 512 => format!("2^{}", self.n.ilog2()),
            _ => self.n.to_string(),
        }
    }
}

/// A measured problem: the rows of one case are compared with each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Case<'a> {
    /// The family.
    pub family: &'a str,
    /// Elements, or columns of C with its rows and the columns of A.
    pub size: (u64, Option<u64>, Option<u64>),
    /// The element type.
    pub dtype: &'a str,
    /// The distribution of drawn elements.
    pub keys: &'a str,
    /// Further parameters of the computation.
    pub parameters: &'a str,
    /// The number of devices, where a group of them was measured.
    pub gpus: Option<usize>,
}

/// A measured number with six digits, which is more than a measurement has and can be read again without loss.
pub fn rounded(value: f64) -> f64 {
    format!("{value:.5e}").parse().unwrap_or(value)
}

/// A rate in its own unit with a decimal prefix: `12.3 G keys/s`.
pub fn rate(rate: f64, unit: &str) -> String {
    if unit != "keys/s" {
        return match rate {
            rate if rate < 1.0 => format!("{rate:.4} {unit}"),
            rate if rate < 100.0 => format!("{rate:.1} {unit}"),
            rate => format!("{rate:.0} {unit}"),
        };
    }
    let (scaled, prefix) = match rate {
        r if r >= 1e9 => (r / 1e9, "G"),
        r if r >= 1e6 => (r / 1e6, "M"),
        r => (r / 1e3, "k"),
    };
    format!("{scaled:.2} {prefix}{unit}")
}

/// An amount of memory with a suitable unit.
pub fn bytes(bytes: u64) -> String {
    match bytes {
        bytes if bytes < 1 << 10 => format!("{bytes} B"),
        bytes if bytes < 1 << 20 => format!("{:.1} KiB", bytes as f64 / 1024.0),
        bytes => format!("{:.1} MiB", bytes as f64 / (1 << 20) as f64),
    }
}

/// A duration with a suitable unit.
pub fn time(ms: f64) -> String {
    match ms {
        ms if ms >= 1000.0 => format!("{:.2} s", ms / 1000.0),
        ms if ms >= 1.0 => format!("{ms:.3} ms"),
        ms => format!("{:.1} µs", ms * 1000.0),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// The sample with a function of the library that is a tenth faster than the other.
    pub fn sample_with_tuned() -> Report {
        let mut report = sample();
        let mut tuned = vec![];
        for row in &mut report.results {
            let faster = |ms: f64| rounded(ms / 1.1);
            if row.kind == Kind::Peer {
                let call = row.call.map(|times| Times { median_ms: faster(times.median_ms), ..times });
                let back_to_back = row.back_to_back.map(|times| Times { median_ms: faster(times.median_ms), ..times });
                tuned.push(Row { name: "tuned_best".into(), call, back_to_back, ..row.clone() });
            }
            let over = |of: &Ratio| Ratio {
                of: "tuned_best".into(),
                call: faster(of.call),
                back_to_back: of.back_to_back.map(faster),
            };
            row.over_tuned = row.over_peer.as_ref().map(over);
        }
        report.results.extend(tuned);
        report
    }

    fn row(family: &str, name: &str, kind: Kind, n: u64, ms: f64) -> Row {
        let times = |ms: f64| {
            let [median_ms, p10_ms, p90_ms] = [1.0, 0.9, 1.1].map(|part| rounded(ms * part));
            Some(Times { median_ms, p10_ms, p90_ms, runs: 15, calls: 1, stable: true })
        };
        Row {
            family: family.into(),
            name: name.into(),
            kind,
            n,
            m: None,
            k: None,
            dtype: "u32".into(),
            keys: "uniform".into(),
            parameters: String::new(),
            verified: true,
            skipped: None,
            error: None,
            call: times(ms),
            back_to_back: times(ms * 0.8),
            rate: Some(rounded(n as f64 / (ms * 1e-3))),
            rate_unit: "keys/s".into(),
            gbs: Some(rounded(n as f64 * 8e-6 / ms)),
            of_copy: Some(0.5),
            gflops: None,
            of_fp32: None,
            flops_per_byte: None,
            over_peer: None,
            over_tuned: None,
            over_twin: None,
            over_source: None,
            scratch_bytes: Some(4 * n + 1000),
            group: None,
        }
    }

    /// A report with made-up numbers: a sort at two sizes next to CUB, a wrong rung, a matrix product, a bubble sort
    /// with its twin and its source's algorithm.
    pub fn sample() -> Report {
        let peer = "cub_radix_sort_keys_u32";
        let mut results = vec![];
        for (n, ms) in [(1 << 16, 0.01), (1 << 20, 0.05)] {
            let ratio = |call| Some(Ratio { of: peer.into(), call, back_to_back: Some(call) });
            results.push(Row { over_peer: ratio(0.5), ..row("radix", "lsd-blocks", Kind::Rung, n, 4.0 * ms) });
            results.push(Row { over_peer: ratio(2.0), ..row("radix", "msd-buckets", Kind::Rung, n, ms) });
            results.push(row("radix", peer, Kind::Peer, n, 2.0 * ms));
        }
        results.retain(|row| row.name != "lsd-blocks" || row.n == 1 << 16);
        let (call, error) = (None, Some("key 3 is wrong".into()));
        let wrong = row("radix", "onesweep", Kind::Rung, 1 << 16, 1.0);
        results.push(Row { verified: false, error, call, back_to_back: None, rate: None, ..wrong });
        let product = row("matmul", "naive", Kind::Rung, 4096, 20.0);
        let (m, k, unit) = (Some(4096), Some(4096), "GFLOP/s".into());
        let (gflops, flops_per_byte) = (Some(6900.0), Some(682.0));
        results.push(Row { m, k, rate: gflops, rate_unit: unit, gflops, flops_per_byte, ..product });
        let (twin, source) = ("twin_bubble_shared_block_u32", "source_bubble_shared_block_u32");
        let ratio = |of: &str, call| Some(Ratio { of: of.into(), call, back_to_back: None });
        let bubble = row("bubble", "shared-block", Kind::Rung, 1 << 17, 10.0);
        results.push(Row { over_twin: ratio(twin, 1.02), over_source: ratio(source, 1.5), ..bubble });
        results.push(row("bubble", twin, Kind::Twin, 1 << 17, 10.2));
        results.push(row("bubble", source, Kind::Source, 1 << 17, 15.0));
        let smi = [("driver_version".to_string(), "580.1".to_string())];
        Report {
            schema: SCHEMA,
            device: Device {
                kind: "cuda".into(),
                name: "NVIDIA H200".into(),
                multiprocessors: 132,
                nvidia_smi: smi.into(),
                ..Device::default()
            },
            limits: Limits {
                copy_gbs: 4000.0,
                copy_bytes: 1 << 30,
                clock_mhz: Some(1980.0),
                fp32_gflops: Some(66_900.0),
                ..Limits::default()
            },
            method: vec![],
            notes: vec![],
            seed: 1,
            date: "2026-11-21T10:24:19Z".into(),
            commit: "unknown".into(),
            version: "0.1.0".into(),
            command: "rungs bench".into(),
            peers: None,
            results,
        }
    }

    /// A report of groups of one and two devices, with made-up numbers.
    pub fn sample_of_groups() -> Report {
        let of = |gpus, ms, speedup: Option<f64>| {
            let (efficiency, exchange_gbs) = (speedup.map(|times| times / gpus as f64), speedup.map(|_| 390.0));
            let group = Some(Group { gpus, transport: "copy engines".into(), speedup, efficiency, exchange_gbs });
            let own = row("radix", "exchange-ranges", Kind::Rung, 1 << 20, ms);
            Row { back_to_back: None, of_copy: None, gbs: None, scratch_bytes: None, group, ..own }
        };
        Report { results: vec![of(1, 2.0, None), of(2, 1.0, Some(2.0))], ..sample() }
    }

    #[test]
    fn groups_are_other_cases_than_their_devices() {
        let report = sample_of_groups();
        let text = serde_json::to_string(&report).unwrap();
        assert_eq!(serde_json::from_str::<Report>(&text).unwrap(), report);
        let cases: Vec<_> = report.results.iter().map(|row| row.case().gpus).collect();
        assert_eq!(cases, [Some(1), Some(2)]);
        // They are in no plot or ladder of single devices, whose times are those of the device's clock.
        let one = sample();
        let both = Report { results: [one.results.clone(), report.results.clone()].concat(), ..sample() };
        assert_eq!(plot::all(&both), plot::all(&one));
        let rungs = ["msd-buckets", "exchange-ranges"].map(|name| {
            let [family, idea, file] = ["radix", "", "r.rs"].map(String::from);
            ladder::Rung { family, name: name.into(), idea, file, library: false }
        });
        assert_eq!(ladder::whole("radix", &rungs, &[&both]), ladder::whole("radix", &rungs, &[&one]));
    }

    #[test]
    fn a_report_can_be_read_again() {
        let report = sample();
        let text = serde_json::to_string(&report).unwrap();
        assert_eq!(serde_json::from_str::<Report>(&text).unwrap(), report);
    }

    #[test]
    fn a_report_without_what_was_added_later_can_be_read() {
        let mut report = sample();
        let mut old = serde_json::to_value(&report).unwrap();
        for row in old["results"].as_array_mut().unwrap() {
            assert!(row.as_object_mut().unwrap().remove("scratch_bytes").is_some());
        }
        report.results.iter_mut().for_each(|row| row.scratch_bytes = None);
        assert_eq!(serde_json::from_value::<Report>(old).unwrap(), report);
    }

    #[test]
    fn sizes_and_rates_as_people_write_them() {
        let mut sized = row("f", "r", Kind::Rung, 1 << 20, 1.0);
        assert_eq!(sized.size(), "2^20");
        sized.n = 1000;
        assert_eq!(sized.size(), "1000");
        (sized.m, sized.k) = (Some(1000), Some(1000));
        assert_eq!(sized.size(), "1000³");
        sized.m = Some(3);
        assert_eq!(sized.size(), "3x1000x1000");
        assert_eq!(rate(43.21e9, "keys/s"), "43.21 Gkeys/s");
        assert_eq!(rate(4012.3, "GB/s"), "4012 GB/s");
        assert_eq!(time(0.0123), "12.3 µs");
        assert_eq!([1000, 5 << 9, 3 << 29].map(bytes), ["1000 B", "2.5 KiB", "1536.0 MiB"]);
        assert_eq!([rounded(0.012345678), rounded(f64::INFINITY)], [0.0123457, f64::INFINITY]);
    }
}
