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
use rungs_kernels::ordered::BLOCK;
use rungs_kernels::ordered::bins::{self, OUTSIDE, bins_count};
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

/// A number whose ranges are divided.
pub trait Divide: Element {
    /// The place of edge `i` of `bins` equal parts of a range, rounded: down for integers, to the nearest for floats.
    /// None if the range is wider than the largest number.
    fn edge(range: &Range<Self>, i: usize, bins: usize) -> Option<Self>;
}

macro_rules! divide {
    ($($T:ty: $Wide:ty),*) => {$(
        impl Divide for $T {
            fn edge(range: &Range<Self>, i: usize, bins: usize) -> Option<Self> {
                let (low, high) = (range.start as $Wide, range.end as $Wide);
                Some((low + (high - low) * i as $Wide / bins as $Wide) as $T)
            }
        }
    )*};
}
divide!(u32: i128, i32: i128, u64: i128, i64: i128);

macro_rules! divide_floats {
    ($($T:ty),*) => {$(
        impl Divide for $T {
            fn edge(range: &Range<Self>, i: usize, bins: usize) -> Option<Self> {
                let (low, high) = (range.start as f64, range.end as f64);
                let width = high - low;
                // Rounding keeps the order of the edges; the last of them may only not pass the end.
                let edge = if i == bins { high } else { (low + width * (i as f64 / bins as f64)).min(high) };
                width.is_finite().then_some(edge as $T)
            }
        }
    )*};
}
divide_floats!(f32, f64);

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
        let bins = edges.len().saturating_sub(1);
        if bins == 0 || bins > MAX_BINS {
            return Err(Error::Usage(format!("{bins} bins cannot be counted; there are 1 to {MAX_BINS}")));
        }
        // A pair with NaN is not sorted either.
        if let Some(pair) = edges.windows(2).find(|pair| !pair.is_sorted()) {
            let (a, b) = (pair[0].show(), pair[1].show());
            return Err(Error::Usage(format!("edges {a} and {b} do not ascend; sort them, and leave out NaN")));
        }
        let edges = Self::from_slice(&self.engine, edges)?;
        let all = DeviceVec::uninit(&self.engine, bins + OUTSIDE as usize)?;
        all.buffer.fill(0)?;
        let views = [self.view().cast(), edges.view().cast()];
        T::Word::count(&self.engine, views, order_of(T::DTYPE), all.view())?;
        Ok(Histogram { all })
    }

    /// How many elements are in each of `bins` equal parts of a range: [`DeviceVec::histogram`] with the edges of
    /// [`Divide::edge`]. A range of integers with fewer numbers than bins has empty bins.
    ///
    /// # Errors
    /// [`Error::Usage`] for no bins or more than [`MAX_BINS`], for a range that ends before it begins, or has NaN or an
    /// infinite width; otherwise as for [`DeviceVec::sort`].
    pub fn histogram_even(&self, bins: usize, range: Range<T>) -> Result<Histogram>
    where
        T: Divide,
    {
        // One more than there may be, for the refusal.
        let edges = (0..=bins.min(MAX_BINS + 1)).map(|i| T::edge(&range, i, bins.max(1)));
        match edges.collect::<Option<Vec<T>>>() {
            Some(edges) if range.start <= range.end => self.histogram(&edges),
            _ => {
                let (low, high) = (range.start.show(), range.end.show());
                let why = "it must not end before it begins, and its width must be finite";
                Err(Error::Usage(format!("the range from {low} to {high} cannot be divided: {why}")))
            }
        }
    }
}
