//! Plans that find places: of the keys in sorted order, and of the least and the greatest element.

use super::algorithms::{SORT_ALIGN, count, nowhere};
use super::arrays::given;
use super::{Plan, sealed};
use crate::engine::Engine;
use crate::error::Result;
use crate::vec::operators::ExtremeWord;
use crate::vec::places::{PlaceWord, Placed, choose_pairs, launches};
use crate::vec::sorts::{SortKey, Wide, Widened};
use rungs_kernels::keys::DESCENDING;
use rungs_kernels::ladder::{Lengths, expect_len};
use rungs_kernels::selections::reduce::launches::Prepared;
use simt::{Global, Scalar, launcher};
use std::ffi::c_void;
use std::marker::PhantomData;

/// Sorts the places of keys.
pub struct Argsort<T> {
    pub(super) order: u32,
    keys: PhantomData<fn(T)>,
}

/// Finds the place of the least or the greatest element.
pub struct FirstPlace<T> {
    order: u32,
    elements: PhantomData<fn(T)>,
}

/// Finds the least and the greatest element.
pub struct MinMax<T>(FirstPlace<T>);

/// Elements, and memory for what is found among them.
pub struct Found<W, O> {
    pub(super) input: Global<W>,
    pub(super) output: Global<O>,
    pub(super) order: u32,
}

impl<W: Scalar, O> Lengths for Found<W, O> {
    fn check(&self, n: u32) -> launcher::Result {
        expect_len("elements", self.input, n)
    }
}

impl<T: SortKey> sealed::Algorithm for Argsort<T> {
    type Args = Placed<T::Word>;

    fn rehearsal(&self, n: u32) -> Self::Args {
        Placed { keys: nowhere(n), order: self.order, places: nowhere(n) }
    }
}

impl<T: Scalar> sealed::Algorithm for FirstPlace<T> {
    type Args = Found<T, u32>;

    fn rehearsal(&self, n: u32) -> Self::Args {
        Found { input: nowhere(n), output: nowhere(1), order: self.order }
    }
}

impl<T: Scalar> sealed::Algorithm for MinMax<T> {
    type Args = Found<T, T>;

    fn rehearsal(&self, n: u32) -> Self::Args {
        Found { input: nowhere(n), output: nowhere(2), order: self.0.order }
    }
}

impl<T: SortKey> Plan<Argsort<T>>
where
    Wide<T>: PlaceWord,
{
    /// The places of `n` keys in sorted order, see [`DeviceVec::argsort`](crate::vec::DeviceVec::argsort); equal keys
    /// keep their order. NaN is where a sort puts it, see [`crate::data`].
    ///
    /// # Errors
    /// As for [`Plan::sort`].
    pub fn argsort(engine: &Engine, n: usize) -> Result<Self> {
        Self::argsort_in_order(engine, n, T::ORDER)
    }

    /// The same with the largest key first. Equal keys keep their order here too.
    ///
    /// # Errors
    /// As for [`Plan::sort`].
    pub fn argsort_descending(engine: &Engine, n: usize) -> Result<Self> {
        Self::argsort_in_order(engine, n, T::ORDER | DESCENDING)
    }

    fn argsort_in_order(engine: &Engine, n: usize, order: u32) -> Result<Self> {
        let n = count(n)?;
        let pairs = choose_pairs(engine, n)?;
        Self::by(engine, n, Argsort { order, keys: PhantomData }, move |on| launches::<T::Word>(on, pairs, n))
    }

    /// Enqueues a sort of the places of the keys at `keys`, which stay as they are. The places go to `places`, which
    /// begin on a multiple of [`SORT_ALIGN`] bytes.
    ///
    /// # Errors
    /// As for the `run` of [`Plan::sort`].
    ///
    /// # Safety
    /// As for the `run` of [`Plan::sort`], for the arrays `keys`, `places` and `scratch`.
    pub unsafe fn run(
        &self,
        stream: *mut c_void,
        keys: *const T,
        places: *mut u32,
        scratch: *mut u8,
        scratch_bytes: usize,
    ) -> Result<()> {
        // SAFETY: as the caller says.
        unsafe {
            let ((keys, a), (places, b)) = (given("the keys", keys, self.n), given("the places", places, self.n));
            let args = Placed { keys, order: self.algorithm.order, places };
            self.enqueue(stream, args, &[a, b.aligned(SORT_ALIGN)], scratch, scratch_bytes)
        }
    }
}

impl<T: SortKey> Plan<FirstPlace<T>>
where
    Wide<T>: ExtremeWord,
{
    /// The place of the least of `n` elements, of equal ones the first; of no elements it is [`u32::MAX`]. NaN is where
    /// a sort puts it, see [`crate::data`].
    ///
    /// # Errors
    /// As for [`Plan::sort`].
    pub fn arg_min(engine: &Engine, n: usize) -> Result<Self> {
        Self::first_place(engine, n, T::ORDER)
    }

    /// The place of the greatest of `n` elements, as [`Plan::arg_min`] gives that of the least.
    ///
    /// # Errors
    /// As for [`Plan::sort`].
    pub fn arg_max(engine: &Engine, n: usize) -> Result<Self> {
        Self::first_place(engine, n, T::ORDER | DESCENDING)
    }

    fn first_place(engine: &Engine, n: usize, order: u32) -> Result<Self> {
        let n = count(n)?;
        Self::by(engine, n, FirstPlace { order, elements: PhantomData }, move |on| {
            let (words, prepared) = (Widened::<T::Word>::new(on, n)?, Prepared::new::<Wide<T>>(on, n)?);
            Ok(Box::new(move |on, Found { input, output, order }| {
                let args = (words.widen(on, input.cast())?, output, prepared.workspace(), order);
                Wide::<T>::first_place(on, prepared.geometry, args)
            }))
        })
    }

    /// Enqueues the search among the elements at `input`; their place goes to `place`.
    ///
    /// # Errors
    /// As for the `run` of [`Plan::sort`].
    ///
    /// # Safety
    /// As for the `run` of [`Plan::sort`], for the arrays `input`, `place` and `scratch`.
    pub unsafe fn run(
        &self,
        stream: *mut c_void,
        input: *const T,
        place: *mut u32,
        scratch: *mut u8,
        scratch_bytes: usize,
    ) -> Result<()> {
        // SAFETY: as the caller says.
        unsafe {
            let ((input, a), (output, b)) = (given("the input", input, self.n), given("the place", place, 1));
            let args = Found { input, output, order: self.algorithm.order };
            self.enqueue(stream, args, &[a, b], scratch, scratch_bytes)
        }
    }
}

impl<T: SortKey> Plan<MinMax<T>>
where
    Wide<T>: ExtremeWord,
{
    /// The least and the greatest of `n` elements; of no elements nothing is written. NaN is where a sort puts it, see
    /// [`crate::data`].
    ///
    /// # Errors
    /// As for [`Plan::sort`].
    pub fn min_max(engine: &Engine, n: usize) -> Result<Self> {
        let n = count(n)?;
        let algorithm = MinMax(FirstPlace { order: T::ORDER, elements: PhantomData });
        Self::by(engine, n, algorithm, move |on| {
            let (words, both) = (Widened::<T::Word>::new(on, n)?, Widened::<T::Word>::new(on, 2)?);
            let prepared = Prepared::new::<Wide<T>>(on, n)?;
            Ok(Box::new(move |on, Found { input, output, order }| {
                if n == 0 {
                    return Ok(());
                }
                let args = (words.widen(on, input.cast())?, both.of(output.cast()), prepared.workspace(), order);
                Wide::<T>::extremes(on, prepared.geometry, args)?;
                both.narrow(on, output.cast())
            }))
        })
    }

    /// Enqueues the search among the elements at `input`; the least goes to `output[0]`, the greatest to `output[1]`.
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
        // SAFETY: as the caller says.
        unsafe {
            let ((input, a), (output, b)) = (given("the input", input, self.n), given("the output", output, 2));
            let args = Found { input, output, order: self.algorithm.0.order };
            self.enqueue(stream, args, &[a, b], scratch, scratch_bytes)
        }
    }
}
