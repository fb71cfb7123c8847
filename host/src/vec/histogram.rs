//! Counts of elements by range.
//!
//! ```
//! use rungs::engine::Engine;
//! use rungs::vec::DeviceVec;
//! use rungs::vec::histogram::Outside;
//!
//! # fn main() -> rungs::Result<()> {
//! let engine = Engine::simulator();
//! let speeds = DeviceVec::from_slice(&engine, &[0.5f32, 9.0, 3.0, -1.0, 10.0, f32::NAN, 2.5])?;
//! let even = speeds.histogram_even(4, 0.0..10.0)?;
//! assert_eq!(even.counts().to_vec()?, [1, 2, 0, 1]);
//! assert_eq!(even.outside()?, Outside { below: 1, above: 1, nan: 1 });
//! let given = speeds.histogram(&[0.0, 1.0, 20.0])?;
//! assert_eq!(given.counts().to_vec()?, [1, 4]);
//! # Ok(())
//! # }
//! ```
//!
//! Bin i counts the elements from edge i on that are below edge i + 1; the last edge belongs to no bin. Numbers are
//! compared as numbers: `-0.0` is `0.0`, and NaN of either sign is counted by itself. Every element is counted once,
//! so all counts together are the number of elements.

use super::DeviceVec;
use super::slice::Slice;
use crate::data::Element;
use crate::engine::Geometry;
use crate::error::{Error, Result};
use crate::keys::{KeyWord, order_of};
use rungs_kernels::ladder::{Launches, Lengths, expect_len};
use rungs_kernels::ordered::BLOCK;
use rungs_kernels::ordered::bins::{self, OUTSIDE, bins_count, bins_even};
use rungs_kernels::ordered::moves::{self, moves_fill};
use simt::launcher::{self, Launcher};
use simt::{Global, Scalar};
use std::fmt;
use std::ops::Range;

/// Most bins of a histogram.
pub const MAX_BINS: usize = bins::MAX_BINS as usize;

/// Counts of elements, in device memory.
pub struct Histogram {
    /// Those of the bins, and then of elements below, above, and NaN.
    all: DeviceVec<u32>,
}

/// How many elements are in no bin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outside {
    /// Those below the first edge, -∞ among them.
    pub below: u32,
    /// Those from the last edge on, ∞ among them.
    pub above: u32,
    /// Those that are no number.
    pub nan: u32,
}

impl Histogram {
    /// The counts of the bins.
    pub fn counts(&self) -> Slice<'_, u32> {
        self.all.slice(..self.all.len() - OUTSIDE as usize)
    }

    /// How many elements are in no bin, once everything asked of the engine before is done.
    ///
    /// # Errors
    /// [`Error::Cuda`] if the copy, or a kernel launched before it, fails.
    pub fn outside(&self) -> Result<Outside> {
        let mut counts = [0; OUTSIDE as usize];
        self.all.slice(self.all.len() - counts.len()..).copy_to_slice(&mut counts)?;
        let [below, above, nan] = counts;
        Ok(Outside { below, above, nan })
    }
}

impl fmt::Debug for Histogram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Histogram({} bins)", self.counts().len())
    }
}

/// A word as which elements are compared with edges.
#[diagnostic::on_unimplemented(
    message = "elements that are stored in `{Self}` are not counted by ranges",
    note = "u32, i32, f32, u64, i64 and f64 are"
)]
pub trait BinWord: KeyWord + Scalar {
    /// Launches a count of keys between edges, which is added to `to`.
    ///
    /// # Errors
    /// Those of the launch.
    fn count(on: &dyn Launcher, keys: [Global<Self>; 2], order: u32, to: Global<u32>) -> launcher::Result;
}

macro_rules! words {
    ($($W:ty),*) => {$(
        #[rustfmt::skip]
        impl BinWord for $W {
            fn count(
                on: &dyn Launcher, [keys, edges]: [Global<Self>; 2], order: u32, to: Global<u32>,
            ) -> launcher::Result {
                let grid = bins::grid(keys.len(), on.device().multiprocessors);
                let geometry = Geometry::linear(grid, BLOCK).shared(bins::shared_bytes::<$W>(edges.len()));
                on.launch(bins_count::<$W>::default(), geometry, (keys, edges, order, to))
            }
        }
    )*};
}
words!(u32, u64);

/// A number whose ranges are divided into equal parts.
pub trait Divide: Element<Word: BinWord> {
    /// Whether a range has equal parts: it does not end before it begins, and its width is finite.
    fn has_parts(range: &Range<Self>) -> bool;

    /// Launches the kernel that writes the edges of equal parts, of which there is one less.
    ///
    /// # Errors
    /// Those of the launch.
    fn edges(on: &dyn Launcher, range: &Range<Self>, to: Global<Self::Word>) -> launcher::Result;
}

macro_rules! divide {
    ($($T:ty as $W:ty),*) => {$(
        impl Divide for $T {
            fn has_parts(range: &Range<Self>) -> bool {
                range.start <= range.end && (range.end as f64 - range.start as f64).is_finite()
            }

            fn edges(on: &dyn Launcher, range: &Range<Self>, to: Global<Self::Word>) -> launcher::Result {
                let args = (to.cast::<$W>(), range.start.to_bits_64(), range.end.to_bits_64());
                on.launch(bins_even::<$W>::default(), moves::geometry(to.len()), args)
            }
        }
    )*};
}
divide!(u32 as u32, i32 as u32, f32 as f32, u64 as u64, i64 as u64, f64 as f64);

/// Elements, edges, and room for the counts.
pub struct Counted<W> {
    pub(crate) input: Global<W>,
    /// Empty if the edges are those of equal parts.
    pub(crate) edges: Global<W>,
    /// Those of the bins, and then of elements below, above, and NaN.
    pub(crate) counts: Global<u32>,
}

impl<W: Scalar> Lengths for Counted<W> {
    fn check(&self, n: u32) -> launcher::Result {
        expect_len("elements", self.input, n)
    }
}

/// Launches a count of elements between edges.
pub(crate) fn count<T: Element<Word: BinWord>>(on: &dyn Launcher, of: Counted<T::Word>) -> launcher::Result {
    let Counted { input, edges, counts } = of;
    on.launch(moves_fill::<u32>::default(), moves::geometry(counts.len()), (counts, 0))?;
    T::Word::count(on, [input, edges], order_of(T::DTYPE), counts)
}

/// Launches that count elements in equal parts of a range.
pub(crate) fn even<T: Divide>(
    on: &dyn Launcher,
    bins: u32,
    range: Range<T>,
) -> launcher::Result<Launches<Counted<T::Word>>> {
    let edges = on.scratch::<T::Word>(bins + 1)?;
    Ok(Box::new(move |on, Counted { input, counts, .. }| {
        T::edges(on, &range, edges.view())?;
        count::<T>(on, Counted { input, edges: edges.view(), counts })
    }))
}

/// A number of bins that can be counted.
pub(crate) fn bins(bins: usize) -> Result<u32> {
    match bins {
        1..=MAX_BINS => Ok(bins as u32),
        _ => Err(Error::Usage(format!("{bins} bins cannot be counted; there are 1 to {MAX_BINS}"))),
    }
}

/// A number of equal parts that a range can be divided into.
pub(crate) fn parts<T: Divide>(parts: usize, range: &Range<T>) -> Result<u32> {
    if !T::has_parts(range) {
        let (low, high) = (range.start.show(), range.end.show());
        let why = "it must not end before it begins, and its width must be finite";
        return Err(Error::Usage(format!("the range from {low} to {high} cannot be divided: {why}")));
    }
    bins(parts)
}

impl<T: Element + Scalar> DeviceVec<T>
where
    T::Word: BinWord,
{
    /// How many elements are between each edge and the next. Equal edges have an empty bin between them.
    ///
    /// # Errors
    /// [`Error::Usage`] for less than two edges, for more than [`MAX_BINS`] bins, and for edges that descend or are
    /// NaN; otherwise as for [`DeviceVec::sort`].
    pub fn histogram(&self, edges: &[T]) -> Result<Histogram> {
        let bins = bins(edges.len().saturating_sub(1))?;
        // A pair with NaN is not sorted either.
        if let Some(pair) = edges.windows(2).find(|pair| !pair.is_sorted()) {
            let (a, b) = (pair[0].show(), pair[1].show());
            return Err(Error::Usage(format!("edges {a} and {b} do not ascend; sort them, and leave out NaN")));
        }
        let edges = Self::from_slice(&self.engine, edges)?;
        self.counted(bins, |counted| Ok(count::<T>(&self.engine, Counted { edges: edges.view().cast(), ..counted })?))
    }

    /// How many elements are in each of `bins` equal parts of a range. Edge i is `start + (end - start) * i / bins`,
    /// rounded down for integers; for floats it is computed as `f64` and rounded to the nearest. A range of integers
    /// with fewer numbers than bins has empty bins.
    ///
    /// # Errors
    /// [`Error::Usage`] for no bins or more than [`MAX_BINS`], for a range that ends before it begins, or has NaN or an
    /// infinite width; otherwise as for [`DeviceVec::sort`].
    pub fn histogram_even(&self, bins: usize, range: Range<T>) -> Result<Histogram>
    where
        T: Divide,
    {
        let bins = parts(bins, &range)?;
        self.counted(bins, |counted| Ok(even(&self.engine, bins, range)?(&self.engine, counted)?))
    }

    /// Room for the counts of bins, which `launch` writes.
    fn counted(&self, bins: u32, launch: impl FnOnce(Counted<T::Word>) -> Result<()>) -> Result<Histogram> {
        let all = DeviceVec::uninit(&self.engine, (bins + OUTSIDE) as usize)?;
        let input = self.view().cast();
        launch(Counted { input, edges: input.slice(0, 0), counts: all.view() })?;
        Ok(Histogram { all })
    }
}
