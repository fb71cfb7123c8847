//! Histogram: how often each value occurs.

use super::apart::Apart;
use super::upload::Uploaded;
use super::{
    Draws, Extra, Family, Kind, OpenProblem, Operand, Prepared, Problem, RateUnit, Rung, Size, Sizes, Work, Workload,
    compare, entry,
};
use crate::data::{Data, Dtype, Element};
use rungs::engine::{AnyBuffer, Buffer, Engine};
use rungs::error::{Error, Result};
use rungs_kernels::histogram::{Key, MAX_BINS};
use rungs_kernels::ladder::Ladder;
use rungs_kernels::ladder::histogram::{Counts, Histogram, Keys};
use rungs_oracles::{inputs, sums};
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
    keys: Data,
    bins: u32,
    counts: OnceCell<Vec<u32>>,
    uploaded: Uploaded<K>,
}

fn problem(ladder: &'static Ladder<&'static dyn Histogram>, workload: Workload) -> Result<Box<dyn Problem>> {
    let (distribution, given) = (workload.distribution, workload.input.is_some());
    let bins = workload.parameters.bins.unwrap_or(DEFAULT_BINS);
    if !(1..=MAX_BINS).contains(&bins) {
        return Err(Error::Usage(format!("a histogram has 1 to {MAX_BINS} bins, not {bins}")));
    }
    let keys = workload.operand("histogram")?;
    let (keys, counts) = (if given { keys } else { inputs::in_bins(keys, bins, distribution) }, OnceCell::new());
    match keys.dtype() {
        Dtype::U8 => {
            let uploaded = Uploaded::<u8>::default();
            Ok(Box::new(HistogramProblem { ladder, keys, bins, counts, uploaded }))
        }
        Dtype::U32 => {
            let uploaded = Uploaded::<u32>::default();
            Ok(Box::new(HistogramProblem { ladder, keys, bins, counts, uploaded }))
        }
        other => Err(Error::Usage(format!("histogram does not take {other}; it takes u8 and u32"))),
    }
}

impl<K: Key + Element> HistogramProblem<K> {
    fn uploaded(&self, engine: &Engine) -> Result<Rc<Buffer<K>>> {
        self.uploaded.get(engine, &[self.keys.as_slice().unwrap_or_default()])
    }

    /// The oracle.
    fn counts(&self) -> &[u32] {
        let counts = || sums::counts(&self.keys, self.bins).into_iter().map(|count| count as u32).collect();
        self.counts.get_or_init(counts)
    }
}

impl<K: Key + Element> OpenProblem for HistogramProblem<K> {
    fn input(&self, engine: &Engine) -> Result<Rc<dyn AnyBuffer>> {
        Ok(self.uploaded(engine)?)
    }

    fn check(&self, who: &str, output: &dyn AnyBuffer) -> Result<()> {
        compare("histogram", who, &Data::U32(output.download_as()?), &Data::U32(self.counts().to_vec()))
    }
}

impl<K: Key + Element> Problem for HistogramProblem<K>
where
    dyn Histogram: Counts<K>,
{
    fn size(&self) -> Size {
        Size::Elements(self.keys.len() as u64)
    }

    fn left_out(&self) -> u64 {
        self.keys.len() as u64 - self.counts().iter().map(|&count| u64::from(count)).sum::<u64>()
    }

    fn work(&self) -> Work {
        let bytes = self.keys.as_bytes().len() as f64;
        Work { amount: bytes, unit: RateUnit::Gigabytes, bytes: bytes + 4.0 * self.bins as f64, flops: 0.0 }
    }

    fn prepare(&self, engine: &Engine, rung: &Rung) -> Result<Box<dyn Prepared + '_>> {
        let entry = entry(self.ladder, rung)?;
        let keys = self.uploaded(engine)?;
        let sequence = |engine: &Engine| Ok(entry.counter::<K>(engine, self.bins)?);
        let args = |keys: &Buffer<K>, counts: &Buffer<u32>| Keys { keys: keys.view(), counts: counts.view() };
        Apart::prepare(self, rung, keys, (self.bins as usize, 0xA5), sequence, args)
    }

    fn open(&self) -> Option<&dyn OpenProblem> {
        Some(self)
    }
}
