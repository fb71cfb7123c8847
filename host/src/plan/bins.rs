//! Plans that count elements by range: between edges, and in equal parts.

use super::algorithms::{count, nowhere};
use super::arrays::given;
use super::{Plan, sealed};
use crate::data::Element;
use crate::engine::Engine;
use crate::error::Result;
use crate::vec::histogram::{self, BinWord, Counted, Divide};
use rungs_kernels::ordered::bins::OUTSIDE;
use simt::Scalar;
use std::ffi::c_void;
use std::marker::PhantomData;
use std::ops::Range;
use std::ptr::null;

/// Counts the elements between edges.
pub struct HistogramByEdges<T> {
    bins: u32,
    elements: PhantomData<fn(T)>,
}

/// Counts the elements in equal parts of a range.
pub struct HistogramEven<T> {
    bins: u32,
    elements: PhantomData<fn(T)>,
}

impl<T: Element<Word: Scalar>> sealed::Algorithm for HistogramByEdges<T> {
    type Args = Counted<T::Word>;

    fn rehearsal(&self, n: u32) -> Self::Args {
        Counted { input: nowhere(n), edges: nowhere(self.bins + 1), counts: nowhere(self.bins + OUTSIDE) }
    }
}

impl<T: Element<Word: Scalar>> sealed::Algorithm for HistogramEven<T> {
    type Args = Counted<T::Word>;

    fn rehearsal(&self, n: u32) -> Self::Args {
        Counted { input: nowhere(n), edges: nowhere(0), counts: nowhere(self.bins + OUTSIDE) }
    }
}

impl<T: Element<Word: BinWord>> Plan<HistogramByEdges<T>> {
    /// A histogram of `n` elements in `bins` bins between edges in device memory; see [`crate::vec::histogram`].
    ///
    /// # Errors
    /// [`Error::Usage`](crate::Error::Usage) for no bins or more than [`MAX_BINS`](histogram::MAX_BINS); otherwise as
    /// for [`Plan::sort`].
    pub fn histogram_by_edges(engine: &Engine, n: usize, bins: usize) -> Result<Self> {
        let algorithm = HistogramByEdges { bins: histogram::bins(bins)?, elements: PhantomData };
        Self::by(engine, count(n)?, algorithm, |_| Ok(Box::new(histogram::count::<T>)))
    }

    /// Enqueues a histogram of the elements at `input`. At `edges` is one edge more than there are bins; edges must not
    /// descend or be NaN: if they do, each element counts in some bin. At `counts` is room for the counts of the bins
    /// and three more: of elements below the first edge, of those from the last one on, and of NaN.
    ///
    /// # Errors
    /// As for the `run` of [`Plan::sort`].
    ///
    /// # Safety
    /// As for the `run` of [`Plan::sort`], for the arrays `input`, `edges`, `counts` and `scratch`.
    pub unsafe fn run(
        &self,
        stream: *mut c_void,
        input: *const T,
        edges: *const T,
        counts: *mut u32,
        scratch: *mut u8,
        scratch_bytes: usize,
    ) -> Result<()> {
        let bins = self.algorithm.bins;
        // SAFETY: as the caller says.
        unsafe {
            let ((input, a), (edges, b)) = (given("the input", input, self.n), given("the edges", edges, bins + 1));
            let (counts, c) = given("the counts", counts, bins + OUTSIDE);
            self.enqueue(stream, Counted { input, edges, counts }, &[a, b, c], scratch, scratch_bytes)
        }
    }
}

impl<T: Divide> Plan<HistogramEven<T>> {
    /// A histogram of `n` elements in `bins` equal parts of a range, whose edges are those of
    /// [`DeviceVec::histogram_even`](crate::vec::DeviceVec::histogram_even). Each run computes them in scratch memory.
    ///
    /// # Errors
    /// [`Error::Usage`](crate::Error::Usage) for no bins or more than [`MAX_BINS`](histogram::MAX_BINS), and for a
    /// range that ends before it begins, or has NaN or an infinite width; otherwise as for [`Plan::sort`].
    pub fn histogram_even(engine: &Engine, n: usize, bins: usize, range: Range<T>) -> Result<Self> {
        let bins = histogram::parts(bins, &range)?;
        let (algorithm, Range { start, end }) = (HistogramEven { bins, elements: PhantomData }, range);
        Self::by(engine, count(n)?, algorithm, move |on| histogram::even(on, bins, start..end))
    }

    /// Enqueues a histogram of the elements at `input`. `counts` is as for the `run` of [`Plan::histogram_by_edges`].
    ///
    /// # Errors
    /// As for the `run` of [`Plan::sort`].
    ///
    /// # Safety
    /// As for the `run` of [`Plan::sort`], for the arrays `input`, `counts` and `scratch`.
    pub unsafe fn run(
        &self,
        stream: *mut c_void,
        input: *const T,
        counts: *mut u32,
        scratch: *mut u8,
        scratch_bytes: usize,
    ) -> Result<()> {
        // SAFETY: as the caller says.
        unsafe {
            let (input, a) = given("the input", input, self.n);
            let (counts, b) = given("the counts", counts, self.algorithm.bins + OUTSIDE);
            let (edges, _) = given("the edges", null::<T>(), 0);
            self.enqueue(stream, Counted { input, edges, counts }, &[a, b], scratch, scratch_bytes)
        }
    }
}
