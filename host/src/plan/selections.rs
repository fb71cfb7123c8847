//! Plans that keep some of the elements: those of a range, the first of each run, the largest or smallest.

use super::algorithms::{count, nowhere};
use super::arrays::{Array, given};
use super::{Plan, sealed};
use crate::data::Element;
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::keys::{KeyWord, order_of};
use crate::vec::select::{SelectWord, inclusive};
use rungs_kernels::keys::DESCENDING;
use rungs_kernels::ladder::{Lengths, expect_len};
use rungs_kernels::selections::pass::{Bounds, Pass, Selection, Selects, Views};
use rungs_kernels::selections::sampled;
use simt::{Global, Scalar, launcher};
use std::ffi::c_void;
use std::marker::PhantomData;
use std::ops::RangeBounds;

/// Keeps the elements of a range, in order.
pub struct Select<T>(PhantomData<fn(T)>);

/// Keeps the first element of each run of elements with the same bits.
pub struct Unique<T>(PhantomData<fn(T)>);

/// Finds the k largest or smallest elements.
pub struct TopK<T> {
    k: u32,
    order: u32,
    elements: PhantomData<fn(T)>,
}

/// The views of a selection.
pub struct Kept<W>(pub(super) Views<W>);

impl<W: Scalar> Lengths for Kept<W> {
    fn check(&self, n: u32) -> launcher::Result {
        expect_len("elements", self.0.input, n)?;
        expect_len("elements of output", self.0.output, n)
    }
}

/// The views of a search for the largest elements.
pub struct Largest<W> {
    pub(super) input: Global<W>,
    pub(super) output: Global<W>,
    pub(super) order: u32,
}

impl<W: Scalar> Lengths for Largest<W> {
    fn check(&self, n: u32) -> launcher::Result {
        expect_len("elements", self.input, n)
    }
}

/// Views of nothing.
fn nothing<W: Scalar>(n: u32) -> Kept<W> {
    Kept(Views { input: nowhere(n), limit: nowhere(0), output: nowhere(n), count: nowhere(1) })
}

impl<T: Element<Word: SelectWord>> sealed::Algorithm for Select<T> {
    type Args = Kept<T::Word>;

    fn rehearsal(&self, n: u32) -> Self::Args {
        nothing(n)
    }
}

impl<T: Element<Word: SelectWord>> sealed::Algorithm for Unique<T> {
    type Args = Kept<T::Word>;

    fn rehearsal(&self, n: u32) -> Self::Args {
        nothing(n)
    }
}

impl<T: Element<Word: KeyWord>> sealed::Algorithm for TopK<T> {
    type Args = Largest<T::Word>;

    fn rehearsal(&self, n: u32) -> Self::Args {
        Largest { input: nowhere(n), output: nowhere(self.k), order: self.order }
    }
}

/// The arrays of a selection: input, limit or null, output, count.
type Selecting<T> = (*const T, *const u32, *mut T, *mut u32);

/// The arrays of a selection from `n` elements as views, and where they are.
///
/// # Safety
/// The arrays are there, if they are where they can be.
unsafe fn views<T: Element<Word: SelectWord>>(
    n: u32,
    (input, limit, output, count): Selecting<T>,
) -> (Kept<T::Word>, [Array; 4]) {
    let limits = u32::from(!limit.is_null());
    let arrays = [
        Array::of("the input", input, n),
        Array::of("the limit", limit, limits),
        Array::of("the output", output, n),
        Array::of("the count", count, 1),
    ];
    // SAFETY: as the caller says.
    let views = unsafe {
        Views {
            input: Global::from_raw(input.cast_mut().cast(), n),
            limit: if limits == 0 { nowhere(0) } else { Global::from_raw(limit.cast_mut(), 1) },
            output: Global::from_raw(output.cast(), n),
            count: Global::from_raw(count, 1),
        }
    };
    (Kept(views), arrays)
}

impl<T: Element<Word: SelectWord> + Scalar> Plan<Select<T>> {
    /// A selection of the elements in a range from up to `n`; they keep their order. Bounds are in the order that
    /// [`Plan::sort`] sorts by.
    ///
    /// # Errors
    /// As for [`Plan::sort`].
    pub fn select_between(engine: &Engine, n: usize, range: impl RangeBounds<T>) -> Result<Self> {
        let n = count(n)?;
        Self::select_by_pass(engine, n, range, Pass::of(engine.device(), n))
    }

    pub(super) fn select_by_pass(engine: &Engine, n: u32, range: impl RangeBounds<T>, pass: Pass) -> Result<Self> {
        let bounds: Bounds<T::Word> = inclusive(range);
        Self::by(engine, n, Select(PhantomData), move |on| {
            let scratch = Selection::by(on, n, pass)?;
            Ok(Box::new(move |on, kept| T::Word::between(on, &scratch, kept.0, bounds)))
        })
    }

    /// Enqueues a selection from the elements at `input`. It writes those that it keeps to `output`, which has room for
    /// all, and their number to `count`. At `limit` is the number of elements, if only the device knows it, as the
    /// count of a run before; null: the plan's. Fastest if input and output begin on multiples of 16 bytes.
    ///
    /// # Errors
    /// As for the `run` of [`Plan::sort`].
    ///
    /// # Safety
    /// As for the `run` of [`Plan::sort`], for the arrays `input`, `limit`, `output`, `count` and `scratch`.
    #[allow(clippy::too_many_arguments, reason = "arrays")]
    pub unsafe fn run(
        &self,
        stream: *mut c_void,
        input: *const T,
        limit: *const u32,
        output: *mut T,
        count: *mut u32,
        scratch: *mut u8,
        scratch_bytes: usize,
    ) -> Result<()> {
        // SAFETY: the arrays are there, as the caller says; the check of their alignment comes before any launch.
        let (args, arrays) = unsafe { views(self.n, (input, limit, output, count)) };
        // SAFETY: as the caller says.
        unsafe { self.enqueue(stream, args, &arrays, scratch, scratch_bytes) }
    }
}

impl<T: Element<Word: SelectWord>> Plan<Unique<T>> {
    /// The first element of each run of elements with the same bits, of up to `n`.
    ///
    /// # Errors
    /// As for [`Plan::sort`].
    pub fn unique(engine: &Engine, n: usize) -> Result<Self> {
        let n = count(n)?;
        Self::unique_by_pass(engine, n, Pass::of(engine.device(), n))
    }

    pub(super) fn unique_by_pass(engine: &Engine, n: u32, pass: Pass) -> Result<Self> {
        Self::by(engine, n, Unique(PhantomData), move |on| {
            let scratch = Selection::by(on, n, pass)?;
            Ok(Box::new(move |on, kept| T::Word::firsts(on, &scratch, kept.0)))
        })
    }

    /// Enqueues a run, with arrays as for the `run` of [`Plan::select_between`].
    ///
    /// # Errors
    /// As for the `run` of [`Plan::sort`].
    ///
    /// # Safety
    /// As for the `run` of [`Plan::select_between`].
    #[allow(clippy::too_many_arguments, reason = "arrays")]
    pub unsafe fn run(
        &self,
        stream: *mut c_void,
        input: *const T,
        limit: *const u32,
        output: *mut T,
        count: *mut u32,
        scratch: *mut u8,
        scratch_bytes: usize,
    ) -> Result<()> {
        // SAFETY: the arrays are there, as the caller says; the check of their alignment comes before any launch.
        let (args, arrays) = unsafe { views(self.n, (input, limit, output, count)) };
        // SAFETY: as the caller says.
        unsafe { self.enqueue(stream, args, &arrays, scratch, scratch_bytes) }
    }
}

impl<T: Element> Plan<TopK<T>>
where
    T::Word: KeyWord + sampled::Selects,
{
    /// The `k` largest of `n` elements, in any order. Elements are in the order that [`Plan::sort`] sorts by.
    ///
    /// # Errors
    /// [`Error::Usage`] if there are fewer than `k`; otherwise as for [`Plan::sort`].
    pub fn top_k(engine: &Engine, n: usize, k: usize) -> Result<Self> {
        Self::extreme(engine, n, k, order_of(T::DTYPE))
    }

    /// The `k` smallest of `n` elements, in any order.
    ///
    /// # Errors
    /// As for [`Plan::top_k`].
    pub fn bottom_k(engine: &Engine, n: usize, k: usize) -> Result<Self> {
        Self::extreme(engine, n, k, order_of(T::DTYPE) | DESCENDING)
    }

    fn extreme(engine: &Engine, n: usize, k: usize, order: u32) -> Result<Self> {
        if k > n {
            return Err(Error::Usage(format!("{k} of {n} elements do not exist; k is at most {n}")));
        }
        let (n, k) = (count(n)?, count(k)?);
        Self::by(engine, n, TopK { k, order, elements: PhantomData }, move |on| {
            // Of none, nothing is asked.
            let find = (k > 0).then(|| sampled::Sequence::<T::Word>::new(on, sampled::Plan::new(n, k))).transpose()?;
            Ok(Box::new(move |on, Largest { input, output, order }| {
                expect_len("places of output", output, k)?;
                let args = sampled::Args { input, output, nth: output.slice(0, 0), order };
                find.as_ref().map_or(Ok(()), |find| find.run(on, args))
            }))
        })
    }

    /// Enqueues a search among the elements at `input`, which writes as many as were asked for to `output`. On a GPU
    /// the last of its launches may be cooperative: its blocks wait for each other.
    ///
    /// # Errors
    /// As for the `run` of [`Plan::sort`].
    ///
    /// # Safety
    /// As for the `run` of [`Plan::sort`], for the arrays `input`, `output` and `scratch`.
    pub unsafe fn run(
        &self,
        stream: *mut c_void,
        input: *const T,
        output: *mut T,
        scratch: *mut u8,
        scratch_bytes: usize,
    ) -> Result<()> {
        let TopK { k, order, .. } = self.algorithm;
        // SAFETY: as the caller says.
        unsafe {
            let ((input, a), (output, b)) = (given("the input", input, self.n), given("the output", output, k));
            self.enqueue(stream, Largest { input, output, order }, &[a, b], scratch, scratch_bytes)
        }
    }
}
