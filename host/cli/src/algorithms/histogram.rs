//! Histogram: how often each value occurs.

use super::apart::Apart;
use super::upload::Uploaded;
use super::{
    Draws, Extra, Family, Kind, OpenProblem, Operand, Prepared, Problem, RateUnit, Rung, Size, Sizes, Work, Workload,
    compare, entry,
};
use crate::data::{Data, Distribution, Dtype};
use rungs::engine::{AnyBuffer, Buffer, Engine};
use rungs::error::{Error, Result};
use rungs_kernels::histogram::{Key, MAX_BINS};
use rungs_kernels::ladder::Ladder;
use rungs_kernels::ladder::histogram::{Counts, Histogram, Keys};
use std::cell::OnceCell;
use std::rc::Rc;

/// Default number of bins: one per value of a byte.
pub const DEFAULT_BINS: u32 = 256;

/// The family of a ladder of histograms.
///
/// Drawn keys are mapped to the range of the bins: by scaling if the distribution fills the range of its type,
/// otherwise by a remainder. Given keys are taken as they are.
pub fn family(ladder: &'static Ladder<&'static dyn Histogram>, sizes: Sizes) -> Family {
    Family {
        dtypes: &[Dtype::U8, Dtype::U32],
        extras: &[Extra::Bins],
        draws: Draws::Arrays { inputs: vec![Operand::line("keys")], output: Operand::other("counts") },
        ..Family::new(ladder, Kind::Histogram, sizes, problem)
    }
}

/// Keys, and how often each occurs.
struct HistogramProblem<K> {
    ladder: &'static Ladder<&'static dyn Histogram>,
    keys: Vec<K>,
    bins: u32,
    counts: OnceCell<Data>,
    uploaded: Uploaded<K>,
}

fn problem(ladder: &'static Ladder<&'static dyn Histogram>, workload: Workload) -> Result<Box<dyn Problem>> {
    let (distribution, given) = (workload.distribution, workload.input.is_some());
    let bins = workload.parameters.bins.unwrap_or(DEFAULT_BINS);
    if !(1..=MAX_BINS).contains(&bins) {
        return Err(Error::Usage(format!("a histogram has 1 to {MAX_BINS} bins, not {bins}")));
    }
    let keys = workload.operand("histogram")?;
    match if given { keys } else { into_range(keys, bins, distribution) } {
        Data::U8(keys) => Ok(Box::new(HistogramProblem {
            ladder,
            keys,
            bins,
            counts: OnceCell::new(),
            uploaded: Uploaded::default(),
        })),
        Data::U32(keys) => Ok(Box::new(HistogramProblem {
            ladder,
            keys,
            bins,
            counts: OnceCell::new(),
            uploaded: Uploaded::default(),
        })),
        other => Err(Error::Usage(format!("histogram does not take {}; it takes u8 and u32", other.dtype()))),
    }
}

/// Drawn keys as numbers of bins.
fn into_range(keys: Data, bins: u32, distribution: Distribution) -> Data {
    let small = matches!(distribution, Distribution::Zipf | Distribution::Small | Distribution::LowBits(_));
    let scaled = |key: u32, bits: u32| {
        if small { key % bins } else { ((key as u64 * bins as u64) >> bits) as u32 }
    };
    match keys {
        // A byte has no more than 256 values to be scaled to.
        Data::U8(keys) if bins < 256 => Data::U8(keys.into_iter().map(|k| scaled(k.into(), 8) as u8).collect()),
        Data::U32(keys) => Data::U32(keys.into_iter().map(|k| scaled(k, 32)).collect()),
        other => other,
    }
}

impl<K: Key> HistogramProblem<K> {
    /// The oracle.
    fn counts(&self) -> &Data {
        self.counts.get_or_init(|| {
            let mut counts = vec![0u32; self.bins as usize];
            for key in &self.keys {
                if let Some(count) = counts.get_mut(key.bin() as usize) {
                    *count += 1;
                }
            }
            Data::U32(counts)
        })
    }
}

impl<K: Key> OpenProblem for HistogramProblem<K> {
    fn input(&self, engine: &Engine) -> Result<Rc<dyn AnyBuffer>> {
        Ok(self.uploaded.get(engine, &[&self.keys])?)
    }

    fn check(&self, who: &str, output: &dyn AnyBuffer) -> Result<()> {
        compare("histogram", who, &Data::U32(output.download_as()?), self.counts())
    }
}

impl<K: Key> Problem for HistogramProblem<K>
where
    dyn Histogram: Counts<K>,
{
    fn size(&self) -> Size {
        Size::Elements(self.keys.len() as u64)
    }

    fn left_out(&self) -> u64 {
        self.keys.iter().filter(|key| u64::from(key.bin()) >= u64::from(self.bins)).count() as u64
    }

    fn work(&self) -> Work {
        let bytes = size_of_val(&self.keys[..]) as f64;
        Work { amount: bytes, unit: RateUnit::Gigabytes, bytes: bytes + 4.0 * self.bins as f64, flops: 0.0 }
    }

    fn prepare(&self, engine: &Engine, rung: &Rung) -> Result<Box<dyn Prepared + '_>> {
        let entry = entry(self.ladder, rung)?;
        let keys = self.uploaded.get(engine, &[&self.keys])?;
        let sequence = |engine: &Engine| Ok(entry.counter::<K>(engine, self.bins)?);
        let args = |keys: &Buffer<K>, counts: &Buffer<u32>| Keys { keys: keys.view(), counts: counts.view() };
        Apart::prepare(self, rung, keys, (self.bins as usize, 0xA5), sequence, args)
    }

    fn open(&self) -> Option<&dyn OpenProblem> {
        Some(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drawn_keys_reach_every_bin_and_no_further() {
        for bins in [1, 100, 4096] {
            for distribution in [Distribution::Uniform, Distribution::LowBits(14)] {
                let keys = into_range(distribution.generate(Dtype::U32, 1 << 17, 1).unwrap(), bins, distribution);
                let Data::U32(keys) = keys else { unreachable!() };
                let mut seen = vec![false; bins as usize];
                keys.iter().for_each(|&k| seen[k as usize] = true);
                assert!(seen.iter().all(|&s| s), "{distribution} in {bins} bins");
            }
        }
    }
}
