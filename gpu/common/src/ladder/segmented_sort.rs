//! Rungs that sort each segment of a vector.

pub use super::*;

/// The keys, and where their segments lie.
#[derive(Clone, Copy)]
pub struct Segments<W> {
    /// The keys, which are sorted in place. Those that are in no segment stay as they are.
    pub keys: Global<W>,
    /// Where each segment begins, and where the last one ends. Offsets do not descend, or what is in the keys
    /// afterwards is unspecified.
    pub offsets: Global<u32>,
    /// What the words mean, see [`crate::keys`].
    pub order: u32,
}

/// Keys with values, and where their segments lie. Equal keys keep their order.
#[derive(Clone, Copy)]
pub struct SegmentedPairs {
    /// The keys, see [`Segments::keys`].
    pub keys: Global<u32>,
    /// The value of each key; empty for the key's place.
    pub values: Global<u32>,
    /// Room for the values in the order of the sorted keys. Those of keys in no segment are not written.
    pub moved: Global<u32>,
    /// See [`Segments::offsets`].
    pub offsets: Global<u32>,
    /// See [`Segments::order`].
    pub order: u32,
}

impl<W: Scalar> Lengths for Segments<W> {
    fn check(&self, n: u32) -> Result {
        expect_len("keys", self.keys, n)
    }
}

impl Lengths for SegmentedPairs {
    fn check(&self, n: u32) -> Result {
        expect_len("keys", self.keys, n)?;
        if !self.values.is_empty() {
            expect_len("values", self.values, n)?;
        }
        expect_len("places of values", self.moved, n)
    }
}

/// A rung that sorts segments. Each method takes the scratch memory for `n` keys.
pub trait SegmentedSort: Sync {
    /// The launches for keys of 32 bits.
    ///
    /// # Errors
    /// [`Failed::Machine`] if there is no memory.
    fn narrow(&self, on: &dyn Launcher, n: u32) -> Result<Launches<Segments<u32>>>;

    /// The launches for keys of 64 bits.
    ///
    /// # Errors
    /// As for [`SegmentedSort::narrow`].
    fn wide(&self, on: &dyn Launcher, n: u32) -> Result<Launches<Segments<u64>>>;

    /// The launches for keys of 32 bits with values of 32 bits.
    ///
    /// # Errors
    /// As for [`SegmentedSort::narrow`].
    fn pairs(&self, on: &dyn Launcher, n: u32) -> Result<Launches<SegmentedPairs>>;
}

/// A word that a [`SegmentedSort`] sorts.
pub trait SegmentWord: Scalar {
    /// The launches of a rung for `n` such keys.
    ///
    /// # Errors
    /// As for [`SegmentedSort::narrow`].
    fn launches(run: &dyn SegmentedSort, on: &dyn Launcher, n: u32) -> Result<Launches<Segments<Self>>>;
}

impl SegmentWord for u32 {
    fn launches(run: &dyn SegmentedSort, on: &dyn Launcher, n: u32) -> Result<Launches<Segments<Self>>> {
        run.narrow(on, n)
    }
}

impl SegmentWord for u64 {
    fn launches(run: &dyn SegmentedSort, on: &dyn Launcher, n: u32) -> Result<Launches<Segments<Self>>> {
        run.wide(on, n)
    }
}

impl Entry<&'static dyn SegmentedSort> {
    /// The rung ready to sort the segments of `n` keys.
    ///
    /// # Errors
    /// [`Failed::Unsuitable`] beyond the rung's capacity; [`Failed::Machine`] if there is no memory.
    pub fn sorter<W: SegmentWord>(&self, on: &dyn Launcher, n: u32) -> Result<Sequence<Segments<W>>> {
        let run = self.run;
        self.rung.check(&Ask::of::<W>(on, n))?;
        sequence(on, n, move |on| W::launches(run, on, n))
    }

    /// The rung ready to sort the segments of `n` keys with their values.
    ///
    /// # Errors
    /// As for [`Entry::sorter`](#method.sorter).
    pub fn pair_sorter(&self, on: &dyn Launcher, n: u32) -> Result<Sequence<SegmentedPairs>> {
        let run = self.run;
        self.rung.check(&Ask::of::<u32>(on, n))?;
        sequence(on, n, move |on| run.pairs(on, n))
    }
}
