//! Rungs that count the occurrences of each value.

pub use super::*;
use crate::bins::MAX_BINS;

/// The keys, and the memory for their counts.
#[derive(Clone, Copy)]
pub struct Keys<K> {
    /// The keys: numbers of bins. Keys past the last bin are not counted.
    pub keys: Global<K>,
    /// A count for each bin; overwritten.
    pub counts: Global<u32>,
}

impl<K: Scalar> Lengths for Keys<K> {
    /// The launches are made for a number of bins; the number of keys is free.
    fn check(&self, bins: u32) -> Result {
        expect_len("counts", self.counts, bins)
    }
}

/// A rung that counts keys of type `K`.
pub trait Counts<K>: Sync {
    /// The rung ready to count keys in `bins` bins.
    ///
    /// # Errors
    /// Those of [`Serves::scratch`].
    fn prepare(&'static self, on: &dyn Launcher, bins: u32) -> Result<Sequence<Keys<K>>>;
}

impl<K: Scalar, R: Serves<Keys<K>>> Counts<K> for R {
    fn prepare(&'static self, on: &dyn Launcher, bins: u32) -> Result<Sequence<Keys<K>>> {
        serve(self, on, bins)
    }
}

/// A rung that counts keys of all types of the family.
pub trait Histogram: Counts<u8> + Counts<u32> {}

impl<R: Counts<u8> + Counts<u32>> Histogram for R {}

impl Entry<&'static dyn Histogram> {
    /// The rung ready to count keys in `bins` bins.
    ///
    /// # Errors
    /// [`Failed::Unsuitable`] for no bins or more than [`MAX_BINS`]; [`Failed::Machine`] if there is no memory.
    pub fn counter<K: Scalar>(&self, on: &dyn Launcher, bins: u32) -> Result<Sequence<Keys<K>>>
    where
        dyn Histogram: Counts<K>,
    {
        if !(1..=MAX_BINS).contains(&bins) {
            return Err(Failed::Unsuitable(format!("a histogram has 1 to {MAX_BINS} bins, not {bins}")));
        }
        Counts::<K>::prepare(self.run, on, bins)
    }
}
