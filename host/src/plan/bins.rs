//! A plan that counts elements between edges.

use super::algorithms::{count, nowhere};
use super::arrays::given;
use super::{Plan, sealed};
use crate::data::Element;
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::keys::order_of;
use crate::vec::histogram::{BinWord, MAX_BINS};
use rungs_kernels::ladder::{Lengths, expect_len};
use rungs_kernels::ordered::bins::OUTSIDE;
use rungs_kernels::ordered::moves::{geometry, moves_fill};
use simt::{Global, Scalar, launcher};
use std::ffi::c_void;
use std::marker::PhantomData;

/// Counts the elements between edges.
pub struct HistogramByEdges<T> {
    bins: u32,
    elements: PhantomData<fn(T)>,
}

/// Elements, edges, and room for the counts.
pub struct Counted<W> {
    pub(super) input: Global<W>,
    pub(super) edges: Global<W>,
    pub(super) counts: Global<u32>,
}

impl<W: Scalar> Lengths for Counted<W> {
    fn check(&self, n: u32) -> launcher::Result {
        expect_len("elements", self.input, n)
    }
}

impl<T: Element<Word: Scalar>> sealed::Algorithm for HistogramByEdges<T> {
    type Args = Counted<T::Word>;

    fn rehearsal(&self, n: u32) -> Self::Args {
        Counted { input: nowhere(n), edges: nowhere(self.bins + 1), counts: nowhere(self.bins + OUTSIDE) }
    }
}

impl<T: Element<Word: BinWord>> Plan<HistogramByEdges<T>> {
    /// A histogram of `n` elements in `bins` bins between edges in device memory; see [`crate::vec::histogram`].
    ///
    /// # Errors
    /// [`Error::Usage`] for no bins or more than [`MAX_BINS`]; otherwise as for [`Plan::sort`].
    pub fn histogram_by_edges(engine: &Engine, n: usize, bins: usize) -> Result<Self> {
        if bins == 0 || bins > MAX_BINS {
            return Err(Error::Usage(format!("{bins} bins cannot be counted; there are 1 to {MAX_BINS}")));
        }
        let algorithm = HistogramByEdges { bins: bins as u32, elements: PhantomData };
        Self::by(engine, count(n)?, algorithm, |_| {
            Ok(Box::new(|on, Counted { input, edges, counts }| {
                on.launch(moves_fill::<u32>::default(), geometry(counts.len()), (counts, 0))?;
                T::Word::count(on, [input, edges], order_of(T::DTYPE), counts)
            }))
        })
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
