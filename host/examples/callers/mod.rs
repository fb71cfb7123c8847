//! What the examples with other crates have in common: the input, and what should come out.

use rungs::data::{Distribution, Size};
use rungs::engine::cuda;
use rungs::error::{Error, Result};
use rungs::verify::compare;
use std::process::ExitCode;

/// Bins of the histogram, one for each value of a byte.
pub const BINS: usize = 256;

/// Runs an example; where it fails, says so and ends with the exit code of the program `rungs`: 3 without a GPU.
pub fn main(example: impl FnOnce(usize) -> Result<()>) -> ExitCode {
    let run = || {
        let n = std::env::args().nth(1).map_or(Ok(1 << 22), |n| n.parse::<Size>().map(|n| n.0))?;
        if cuda::devices()?.is_empty() {
            return Err(Error::NoDevice("the driver knows of no GPU".into()));
        }
        example(n as usize)
    };
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(error.exit_code())
        }
    }
}

/// The other crate's result.
pub fn told<T, E: std::fmt::Display>(what: &str, result: std::result::Result<T, E>) -> Result<T> {
    result.map_err(|error| Error::Cuda(format!("{what}: {error}").into()))
}

/// Fresh keys for each round.
pub fn keys(n: usize, round: u64) -> Result<Vec<u32>> {
    Distribution::Uniform.keys(n as u64, round)
}

/// What a round gives.
#[derive(Default)]
pub struct Results {
    /// The keys, sorted.
    pub sorted: Vec<u32>,
    /// Their running sums, modulo 2³².
    pub sums: Vec<u32>,
    /// The sum of all.
    pub total: Vec<u32>,
    /// How often each byte occurs in them.
    pub counts: Vec<u32>,
}

impl Results {
    /// Room for the results of `n` keys, with values that are none of them.
    pub fn poison(n: usize) -> Self {
        let of = |len| vec![0xA5A5_A5A5; len];
        Self { sorted: of(n), sums: of(n), total: of(1), counts: of(BINS) }
    }

    /// As the host computes them.
    pub fn expected(keys: &[u32]) -> Self {
        let mut wanted = Self { sorted: keys.to_vec(), counts: vec![0; BINS], ..Self::default() };
        wanted.sorted.sort_unstable();
        let mut sum = 0u32;
        for key in keys {
            sum = sum.wrapping_add(*key);
            wanted.sums.push(sum);
            key.to_le_bytes().into_iter().for_each(|byte| wanted.counts[byte as usize] += 1);
        }
        wanted.total = vec![sum];
        wanted
    }

    /// Compares everything with the host's results for the same keys.
    pub fn check(self, keys: &[u32]) -> Result<()> {
        let wanted = Self::expected(keys);
        compare("plan", "sort", &self.sorted.into(), &wanted.sorted.into())?;
        compare("plan", "scan", &self.sums.into(), &wanted.sums.into())?;
        compare("plan", "reduce", &self.total.into(), &wanted.total.into())?;
        compare("plan", "histogram", &self.counts.into(), &wanted.counts.into())
    }
}
