//! A plan that merges two sorted arrays.

use super::algorithms::{count, nowhere};
use super::arrays::given;
use super::{Plan, sealed};
use crate::data::Element;
use crate::engine::Engine;
use crate::error::Result;
use crate::keys::order_of;
use crate::vec::ordered::{OrderedWord, merge_geometry};
use rungs_kernels::ladder::{Lengths, expect_len};
use rungs_kernels::ordered::merge::tiles;
use simt::{Global, Scalar, launcher};
use std::ffi::c_void;
use std::marker::PhantomData;

/// Merges two sorted arrays.
pub struct Merge<T> {
    /// Elements of each.
    lens: [u32; 2],
    elements: PhantomData<fn(T)>,
}

/// Both arrays, and the result.
pub struct Both<W> {
    pub(super) inputs: [Global<W>; 2],
    pub(super) output: Global<W>,
}

impl<W: Scalar> Lengths for Both<W> {
    fn check(&self, n: u32) -> launcher::Result {
        expect_len("elements of output", self.output, n)
    }
}

impl<T: Element<Word: Scalar>> sealed::Algorithm for Merge<T> {
    type Args = Both<T::Word>;

    fn rehearsal(&self, n: u32) -> Self::Args {
        Both { inputs: self.lens.map(nowhere), output: nowhere(n) }
    }
}

impl<T: Element<Word: OrderedWord>> Plan<Merge<T>> {
    /// A merge of `first` and `second` elements, both sorted as [`Plan::sort`] sorts. Of equal elements those of the
    /// first array come first, and each array's keep their order.
    ///
    /// # Errors
    /// As for [`Plan::sort`], by the number of all elements.
    pub fn merge(engine: &Engine, first: usize, second: usize) -> Result<Self> {
        let n = count(first.saturating_add(second))?;
        let algorithm = Merge { lens: [first as u32, second as u32], elements: PhantomData };
        Self::by(engine, n, algorithm, move |on| {
            let (splits, order) = (on.scratch::<u32>(tiles(n) + 1)?, order_of(T::DTYPE));
            Ok(Box::new(move |on, Both { inputs, output }| {
                T::Word::split(on, inputs, order, splits.view())?;
                let args = (inputs[0], inputs[1], order, splits.view(), output);
                T::Word::merge(on, merge_geometry::<T>(n as usize, false), args)
            }))
        })
    }

    /// Enqueues a merge of the elements at `first` and at `second` into `output`, which has room for all.
    ///
    /// # Errors
    /// As for the `run` of [`Plan::sort`].
    ///
    /// # Safety
    /// As for the `run` of [`Plan::sort`], for the arrays `first`, `second`, `output` and `scratch`.
    pub unsafe fn run(
        &self,
        stream: *mut c_void,
        first: *const T,
        second: *const T,
        output: *mut T,
        scratch: *mut u8,
        scratch_bytes: usize,
    ) -> Result<()> {
        let lens = self.algorithm.lens;
        // SAFETY: as the caller says.
        unsafe {
            let ((a, one), (b, two)) =
                (given("the first array", first, lens[0]), given("the second array", second, lens[1]));
            let (output, all) = given("the output", output, self.n);
            self.enqueue(stream, Both { inputs: [a, b], output }, &[one, two, all], scratch, scratch_bytes)
        }
    }
}
