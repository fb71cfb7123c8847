//! A plan that merges two sorted arrays.

use super::algorithms::{count, nowhere};
use super::arrays::Array;
use super::{Plan, sealed};
use crate::data::Element;
use crate::engine::Engine;
use crate::error::Result;
use crate::keys::order_of;
use crate::vec::ordered::{OrderedWord, merge_geometry};
use rungs_kernels::ladder::{Launcher, Launches, Lengths, expect_len, sequence};
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
        let make = move |on: &dyn Launcher| {
            let (splits, order) = (on.scratch::<u32>(tiles(n) + 1)?, order_of(T::DTYPE));
            let run: Launches<Both<T::Word>> = Box::new(move |on, Both { inputs, output }| {
                T::Word::split(on, inputs, order, splits.view())?;
                let args = (inputs[0], inputs[1], order, splits.view(), output);
                T::Word::merge(on, merge_geometry::<T>(n as usize, false), args)
            });
            Ok(run)
        };
        let algorithm = Merge { lens: [first as u32, second as u32], elements: PhantomData };
        Self::new(engine, n, algorithm, move |on| sequence(on, n, make))
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
        let arrays = [
            Array::of("the first array", first, lens[0]),
            Array::of("the second array", second, lens[1]),
            Array::of("the output", output, self.n),
        ];
        // SAFETY: the arrays are there, as the caller says; the check of their alignment comes before any launch.
        let args = unsafe {
            Both {
                inputs: [(first, lens[0]), (second, lens[1])].map(|(at, n)| Global::from_raw(at.cast_mut().cast(), n)),
                output: Global::from_raw(output.cast(), self.n),
            }
        };
        // SAFETY: as the caller says.
        unsafe { self.enqueue(stream, args, &arrays, scratch, scratch_bytes) }
    }
}
