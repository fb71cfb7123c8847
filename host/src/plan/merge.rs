//! Plans for sorted arrays: two are merged, or one is searched.

use super::algorithms::{count, nowhere};
use super::arrays::given;
use super::{Plan, sealed};
use crate::engine::Engine;
use crate::error::Result;
use crate::vec::ordered::{OrderedWord, merge_geometry};
use crate::vec::sorts::{SortKey, Wide, Widened};
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

/// Searches a sorted array.
pub struct Search<T> {
    needles: u32,
    elements: PhantomData<fn(T)>,
}

/// The sorted array, what is searched for, and the places.
pub struct Searched<T> {
    pub(super) keys: [Global<T>; 2],
    pub(super) places: Global<u32>,
}

impl<T: Scalar> Lengths for Searched<T> {
    fn check(&self, n: u32) -> launcher::Result {
        expect_len("elements", self.keys[0], n)?;
        expect_len("places", self.places, self.keys[1].len())
    }
}

impl<T: Scalar> sealed::Algorithm for Search<T> {
    type Args = Searched<T>;

    fn rehearsal(&self, n: u32) -> Self::Args {
        Searched { keys: [n, self.needles].map(nowhere), places: nowhere(self.needles) }
    }
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

impl<T: Scalar> sealed::Algorithm for Merge<T> {
    type Args = Both<T>;

    fn rehearsal(&self, n: u32) -> Self::Args {
        Both { inputs: self.lens.map(nowhere), output: nowhere(n) }
    }
}

impl<T: SortKey> Plan<Merge<T>>
where
    Wide<T>: OrderedWord,
{
    /// A merge of `first` and `second` elements, both sorted as [`Plan::sort`] sorts. Equal elements
    /// keep their order, those of the first array before those of the second.
    ///
    /// # Errors
    /// As for [`Plan::sort`], by the number of all elements.
    pub fn merge(engine: &Engine, first: usize, second: usize) -> Result<Self> {
        let n = count(first.saturating_add(second))?;
        let algorithm = Merge { lens: [first as u32, second as u32], elements: PhantomData };
        Self::by(engine, n, algorithm, move |on| {
            let widened = |n: usize| Widened::<T::Word>::new(on, n as u32);
            let (a, b, merged) = (widened(first)?, widened(second)?, widened(n as usize)?);
            let splits = on.scratch::<u32>(tiles(n) + 1)?;
            Ok(Box::new(move |on, Both { inputs, output }| {
                let [first, second] = inputs.map(|input| input.cast());
                let (inputs, to) = ([a.widen(on, first)?, b.widen(on, second)?], output.cast());
                Wide::<T>::split(on, inputs, T::ORDER, splits.view())?;
                let args = (inputs[0], inputs[1], T::ORDER, splits.view(), merged.of(to));
                Wide::<T>::merge(on, merge_geometry::<Wide<T>>(n as usize, false), args)?;
                merged.narrow(on, to)
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

impl<T: SortKey> Plan<Search<T>>
where
    Wide<T>: OrderedWord,
{
    /// For each of `needles` needles, how many of `n` elements are less: the first place where it could stand. The
    /// elements are sorted as [`Plan::sort`] sorts. Needles that are sorted are found faster.
    ///
    /// # Errors
    /// As for [`Plan::sort`], by the number of needles, too.
    pub fn lower_bound(engine: &Engine, n: usize, needles: usize) -> Result<Self> {
        Self::bounds(engine, n, needles, 0)
    }

    /// For each of `needles` needles, how many of `n` elements are at most as large: the last place where it could
    /// stand.
    ///
    /// # Errors
    /// As for [`Plan::lower_bound`].
    pub fn upper_bound(engine: &Engine, n: usize, needles: usize) -> Result<Self> {
        Self::bounds(engine, n, needles, 1)
    }

    fn bounds(engine: &Engine, n: usize, needles: usize, upper: u32) -> Result<Self> {
        let (n, needles) = (count(n)?, count(needles)?);
        Self::by(engine, n, Search { needles, elements: PhantomData }, move |on| {
            let (a, b) = (Widened::<T::Word>::new(on, n)?, Widened::<T::Word>::new(on, needles)?);
            Ok(Box::new(move |on, Searched { keys, places }| {
                let [elements, needles] = keys.map(|keys| keys.cast());
                let keys = [a.widen(on, elements)?, b.widen(on, needles)?];
                Wide::<T>::bounds(on, keys, T::ORDER, upper, places)
            }))
        })
    }

    /// Enqueues a search for the needles at `needles` among the elements at `input`, which writes a place for each to
    /// `places`.
    ///
    /// # Errors
    /// As for the `run` of [`Plan::sort`].
    ///
    /// # Safety
    /// As for the `run` of [`Plan::sort`], for the arrays `input`, `needles`, `places` and `scratch`.
    pub unsafe fn run(
        &self,
        stream: *mut c_void,
        input: *const T,
        needles: *const T,
        places: *mut u32,
        scratch: *mut u8,
        scratch_bytes: usize,
    ) -> Result<()> {
        let of = self.algorithm.needles;
        // SAFETY: as the caller says.
        unsafe {
            let ((input, a), (needles, b)) = (given("the input", input, self.n), given("the needles", needles, of));
            let (places, c) = given("the places", places, of);
            self.enqueue(stream, Searched { keys: [input, needles], places }, &[a, b, c], scratch, scratch_bytes)
        }
    }
}
