//! Plans for sorted arrays: two are merged, or one is searched.

use super::algorithms::{count, nowhere};
use super::arrays::given;
use super::{Plan, sealed};
use crate::engine::Engine;
use crate::error::Result;
use crate::vec::ordered::{self, Both, Merged, OrderedWord};
use crate::vec::sorts::{SortKey, Wide, Widened};
use rungs_kernels::ladder::{Lengths, expect_len};
use simt::{Global, Scalar, launcher};
use std::ffi::c_void;
use std::marker::PhantomData;

/// Merges two sorted arrays.
pub struct Merge<T> {
    /// Elements of each.
    lens: [u32; 2],
    elements: PhantomData<fn(T)>,
}

/// Merges two sorted arrays of keys, and a value with each key.
pub struct MergeWith<K, V> {
    /// Keys of each.
    lens: [u32; 2],
    pairs: PhantomData<fn(K, V)>,
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

/// Views of nothing.
fn nothing<T: Scalar>(lens: [u32; 2], n: u32) -> Both<T> {
    Both { inputs: lens.map(nowhere), output: nowhere(n) }
}

impl<T: Scalar> sealed::Algorithm for Merge<T> {
    type Args = Merged<T, ()>;

    fn rehearsal(&self, n: u32) -> Self::Args {
        Merged { keys: nothing(self.lens, n), along: () }
    }
}

impl<K: Scalar, V: Scalar> sealed::Algorithm for MergeWith<K, V> {
    type Args = Merged<K, Both<V>>;

    fn rehearsal(&self, n: u32) -> Self::Args {
        Merged { keys: nothing(self.lens, n), along: nothing(self.lens, n) }
    }
}

/// The numbers of elements of both arrays, and of all.
fn counts(first: usize, second: usize) -> Result<([u32; 2], u32)> {
    let n = count(first.saturating_add(second))?;
    Ok(([first as u32, second as u32], n))
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
        let (lens, n) = counts(first, second)?;
        Self::by(engine, n, Merge { lens, elements: PhantomData }, move |on| ordered::merge(on, lens))
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
            let args = Merged { keys: Both { inputs: [a, b], output }, along: () };
            self.enqueue(stream, args, &[one, two, all], scratch, scratch_bytes)
        }
    }
}

impl<K: SortKey, V: Scalar> Plan<MergeWith<K, V>>
where
    Wide<K>: OrderedWord,
{
    /// A merge of `first` and `second` keys with a value each, in the order of [`Plan::merge`].
    ///
    /// # Errors
    /// As for [`Plan::merge`].
    pub fn merge_with(engine: &Engine, first: usize, second: usize) -> Result<Self> {
        let (lens, n) = counts(first, second)?;
        Self::by(engine, n, MergeWith { lens, pairs: PhantomData }, move |on| ordered::merge_with(on, lens))
    }

    /// Enqueues a merge of the keys at `first` and at `second` into `output`, and of their values at `first_values` and
    /// at `second_values` into `moved`. Both outputs have room for all.
    ///
    /// # Errors
    /// As for the `run` of [`Plan::sort`].
    ///
    /// # Safety
    /// As for the `run` of [`Plan::sort`], for the arrays `first`, `first_values`, `second`, `second_values`, `output`,
    /// `moved` and `scratch`.
    #[allow(clippy::too_many_arguments, reason = "arrays")]
    pub unsafe fn run(
        &self,
        stream: *mut c_void,
        first: *const K,
        first_values: *const V,
        second: *const K,
        second_values: *const V,
        output: *mut K,
        moved: *mut V,
        scratch: *mut u8,
        scratch_bytes: usize,
    ) -> Result<()> {
        let [m, n] = self.algorithm.lens;
        // SAFETY: as the caller says.
        unsafe {
            let ((keys, a), (values, b)) =
                (given("the first keys", first, m), given("the first values", first_values, m));
            let ((others, c), (of_others, d)) =
                (given("the second keys", second, n), given("the second values", second_values, n));
            let ((output, e), (moved, f)) =
                (given("the output", output, self.n), given("the moved values", moved, self.n));
            let along = Both { inputs: [values, of_others], output: moved };
            let args = Merged { keys: Both { inputs: [keys, others], output }, along };
            self.enqueue(stream, args, &[a, b, c, d, e, f], scratch, scratch_bytes)
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
