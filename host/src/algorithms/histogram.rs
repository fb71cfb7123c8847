//! Histogram: how often each value occurs.

use super::apart::Apart;
use super::rung::{Implementation, rung};
use super::upload::Uploaded;
use super::{Extra, Family, OpenProblem, Prepared, Problem, RateUnit, Rung, Size, Work, Workload, compare};
use crate::data::{Data, Distribution, Dtype};
use crate::engine::{AnyBuffer, Buffer, Engine, Geometry};
use crate::error::{Error, Result};
use rungs_kernels::histogram::{
    Key, MAX_BINS,
    r1_global_atomics::{self as global_atomics, histogram_global_atomics},
    r2_shared_atomics::{self as shared_atomics, histogram_shared_atomics},
    r3_warp_tables::{self as warp_tables, histogram_warp_tables},
    r4_bank_private::{self as bank_private, histogram_bank_private},
};
use simt::{Global, Kernel};
use std::cell::OnceCell;
use std::rc::Rc;

/// Bins where none are asked for: one for each byte.
pub const DEFAULT_BINS: u32 = 256;

/// Names of a kernel's instances.
macro_rules! names {
    ($kernel:ident) => {
        &[<$kernel<u8> as Kernel>::NAME, <$kernel<u32> as Kernel>::NAME]
    };
}

/// The family.
///
/// Drawn keys are brought into the range of the bins: those of distributions that fill the range of their type by
/// scaling, the others by a remainder. Given keys are taken as they are.
pub static FAMILY: Family = Family {
    name: "histogram",
    about: "how often each value occurs",
    rungs: &[
        rung!(
            "histogram/r1_global_atomics.rs",
            "global-atomics",
            names!(histogram_global_atomics),
            Implementation::Histogram(&GlobalAtomics)
        ),
        rung!(
            "histogram/r2_shared_atomics.rs",
            "shared-atomics",
            names!(histogram_shared_atomics),
            Implementation::Histogram(&SharedAtomics)
        ),
        rung!(
            "histogram/r3_warp_tables.rs",
            "warp-tables",
            names!(histogram_warp_tables),
            Implementation::Histogram(&WarpTables)
        ),
        rung!(
            "histogram/r4_bank_private.rs",
            "bank-private",
            names!(histogram_bank_private),
            Implementation::Histogram(&BankPrivate)
        ),
    ],
    dtypes: &[Dtype::U8, Dtype::U32],
    simulator_size: Size::Elements(1 << 18),
    gpu_size: Size::Elements(1 << 28),
    extras: &[Extra::Bins],
    input: Distribution::Uniform,
    problem,
};

/// Counts the keys of a view, again and again: a rung with its scratch memory. Whatever the counts were before is
/// overwritten.
pub type Counter<K> = Box<dyn FnMut(Global<K>, &Buffer<u32>) -> Result<()>>;

/// A rung that counts keys of one type.
pub trait Counts<K> {
    /// Prepares to count keys in `bins` bins on an engine: takes the scratch memory.
    fn counter(&self, engine: &Engine, bins: u32) -> Result<Counter<K>>;
}

/// A rung that counts keys of all types of the family.
pub trait HistogramRung: Counts<u8> + Counts<u32> + Sync {}

impl<R: Counts<u8> + Counts<u32> + Sync> HistogramRung for R {}

/// A rung that adds to counts, after the host has made them zero.
macro_rules! adding {
    ($(#[$doc:meta])* $rung:ident, $kernel:ident, $file:ident, |$bins:ident| $shared_bytes:expr) => {
        $(#[$doc])*
        struct $rung;

        impl<K: Key> Counts<K> for $rung
        where
            $kernel<K>: Kernel<Args = (Global<K>, Global<u32>)>,
        {
            fn counter(&self, engine: &Engine, $bins: u32) -> Result<Counter<K>> {
                let (engine, shared_bytes) = (engine.clone(), $shared_bytes);
                Ok(Box::new(move |keys, counts| {
                    counts.fill(0)?;
                    let grid = $file::grid(keys.len(), engine.multiprocessors());
                    let geometry = Geometry::linear(grid, $file::BLOCK).shared(shared_bytes);
                    engine.launch($kernel::<K>::default(), geometry, (keys, counts.view()))
                }))
            }
        }
    };
}
adding! {
    /// An atomic in global memory a key.
    GlobalAtomics, histogram_global_atomics, global_atomics, |_bins| 0
}
adding! {
    /// A table a block.
    SharedAtomics, histogram_shared_atomics, shared_atomics, |bins| shared_atomics::shared_bytes(bins)
}
adding! {
    /// A table a warp.
    WarpTables, histogram_warp_tables, warp_tables, |bins| warp_tables::shared_bytes(bins)
}

/// A table a memory bank, one launch.
struct BankPrivate;

impl<K: Key> Counts<K> for BankPrivate
where
    histogram_bank_private<K>: Kernel<Args = (Global<K>, Global<u32>, Global<u32>, Global<u32>)>,
{
    fn counter(&self, engine: &Engine, bins: u32) -> Result<Counter<K>> {
        let engine = engine.clone();
        // Zero once: every launch leaves both so.
        let (totals, ticket) = (engine.upload(&vec![0u32; bins as usize])?, engine.upload(&[0u32])?);
        Ok(Box::new(move |keys, counts| {
            let grid = bank_private::grid::<K>(keys.len(), engine.multiprocessors());
            let geometry = Geometry::linear(grid, bank_private::BLOCK).shared(bank_private::shared_bytes::<K>(bins));
            let args = (keys, counts.view(), totals.view(), ticket.view());
            engine.launch(histogram_bank_private::<K>::default(), geometry, args)
        }))
    }
}

/// Keys, and how often each occurs.
struct HistogramProblem<K> {
    keys: Vec<K>,
    bins: u32,
    counts: OnceCell<Data>,
    uploaded: Uploaded<K>,
}

fn problem(workload: Workload) -> Result<Box<dyn Problem>> {
    let (distribution, given) = (workload.distribution, workload.input.is_some());
    let bins = workload.parameters.bins.unwrap_or(DEFAULT_BINS);
    if !(1..=MAX_BINS).contains(&bins) {
        return Err(Error::Usage(format!("a histogram has 1 to {MAX_BINS} bins, not {bins}")));
    }
    let keys = workload.operand("histogram")?;
    match if given { keys } else { into_range(keys, bins, distribution) } {
        Data::U8(keys) => {
            Ok(Box::new(HistogramProblem { keys, bins, counts: OnceCell::new(), uploaded: Uploaded::default() }))
        }
        Data::U32(keys) => {
            Ok(Box::new(HistogramProblem { keys, bins, counts: OnceCell::new(), uploaded: Uploaded::default() }))
        }
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
    dyn HistogramRung: Counts<K>,
{
    fn size(&self) -> Size {
        Size::Elements(self.keys.len() as u64)
    }

    fn work(&self) -> Work {
        let bytes = size_of_val(&self.keys[..]) as f64;
        Work { amount: bytes, unit: RateUnit::Gigabytes, bytes: bytes + 4.0 * self.bins as f64, flops: 0.0 }
    }

    fn prepare(&self, engine: &Engine, rung: &Rung) -> Result<Box<dyn Prepared + '_>> {
        let Implementation::Histogram(implementation) = rung.implementation else {
            return Err(Error::Usage(format!("{} is not a histogram", rung.name)));
        };
        let keys = self.uploaded.get(engine, &[&self.keys])?;
        Apart::prepare(self, rung, keys, (self.bins as usize, 0xA5), |engine| {
            let mut counter = implementation.counter(engine, self.bins)?;
            Ok(Box::new(move |keys, counts| counter(keys.view(), counts)))
        })
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
