//! Plans that find the largest and the smallest elements.

use super::algorithms::{count, nowhere};
use super::arrays::given;
use super::{Plan, sealed};
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::vec::places::{PlaceWord, Placed, choose_pairs, gather, launches};
use crate::vec::sorts::{SortKey, Wide, Widened};
use rungs_kernels::keys::DESCENDING;
use rungs_kernels::ladder::{Lengths, expect_len};
use rungs_kernels::selections::sampled;
use simt::{Global, Scalar, launcher};
use std::ffi::c_void;
use std::marker::PhantomData;

/// Finds the k largest or smallest elements, or the k-th alone.
pub struct TopK<T> {
    /// Elements of output.
    results: u32,
    order: u32,
    elements: PhantomData<fn(T)>,
}

/// Finds the k largest or smallest keys, and the value of each.
pub struct TopKPairs<K, V> {
    k: u32,
    order: u32,
    pairs: PhantomData<fn(K, V)>,
}

/// The views of a search for the largest elements.
pub struct Largest<T> {
    pub(super) input: Global<T>,
    pub(super) output: Global<T>,
    pub(super) order: u32,
}

impl<T: Scalar> Lengths for Largest<T> {
    fn check(&self, n: u32) -> launcher::Result {
        expect_len("elements", self.input, n)
    }
}

/// The views of a search for the largest keys: of these, and of their values.
pub struct LargestPairs<K, V> {
    pub(super) keys: Largest<K>,
    pub(super) values: Global<V>,
    pub(super) moved: Global<V>,
}

impl<K: Scalar, V: Scalar> Lengths for LargestPairs<K, V> {
    fn check(&self, n: u32) -> launcher::Result {
        self.keys.check(n)?;
        expect_len("values", self.values, n)?;
        expect_len("values of output", self.moved, self.keys.output.len())
    }
}

impl<T: Scalar> sealed::Algorithm for TopK<T> {
    type Args = Largest<T>;

    fn rehearsal(&self, n: u32) -> Self::Args {
        Largest { input: nowhere(n), output: nowhere(self.results), order: self.order }
    }
}

impl<K: Scalar, V: Scalar> sealed::Algorithm for TopKPairs<K, V> {
    type Args = LargestPairs<K, V>;

    fn rehearsal(&self, n: u32) -> Self::Args {
        let keys = Largest { input: nowhere(n), output: nowhere(self.k), order: self.order };
        LargestPairs { keys, values: nowhere(n), moved: nowhere(self.k) }
    }
}

/// The number of elements, and how many of them are asked for.
fn counts(n: usize, k: usize) -> Result<(u32, u32)> {
    if k > n {
        return Err(Error::Usage(format!("{k} of {n} elements do not exist; k is at most {n}")));
    }
    Ok((count(n)?, count(k)?))
}

impl<T: SortKey> Plan<TopK<T>>
where
    Wide<T>: sampled::Selects,
{
    /// The `k` largest of `n` elements, in any order. Elements are in the order that [`Plan::sort`] sorts by. Those of
    /// 8 and 16 bits take 4 bytes of scratch memory each.
    ///
    /// # Errors
    /// [`Error::Usage`] if there are fewer than `k`; otherwise as for [`Plan::sort`].
    pub fn top_k(engine: &Engine, n: usize, k: usize) -> Result<Self> {
        Self::extreme(engine, counts(n, k)?, T::ORDER, false)
    }

    /// The `k` smallest of `n` elements, in any order.
    ///
    /// # Errors
    /// As for [`Plan::top_k`].
    pub fn bottom_k(engine: &Engine, n: usize, k: usize) -> Result<Self> {
        Self::extreme(engine, counts(n, k)?, T::ORDER | DESCENDING, false)
    }

    /// The one of `n` elements that would be at place `i` if they were sorted; 0 is the smallest.
    ///
    /// # Errors
    /// [`Error::Usage`] if there is no place `i`; otherwise as for [`Plan::sort`].
    pub fn nth_element(engine: &Engine, n: usize, i: usize) -> Result<Self> {
        if i >= n {
            return Err(Error::Usage(format!("{n} elements have no place {i}; places start at 0")));
        }
        // From the nearer end: fewer elements pass the filter.
        let (order, k) = if i < n / 2 { (T::ORDER | DESCENDING, i + 1) } else { (T::ORDER, n - i) };
        Self::extreme(engine, counts(n, k)?, order, true)
    }

    /// With `last` the k-th element alone is written.
    fn extreme(engine: &Engine, (n, k): (u32, u32), order: u32, last: bool) -> Result<Self> {
        let results = if last { 1 } else { k };
        Self::by(engine, n, TopK { results, order, elements: PhantomData }, move |on| {
            let (from, to) = (Widened::<T::Word>::new(on, n)?, Widened::<T::Word>::new(on, results)?);
            // Of none, nothing is asked.
            let find = (k > 0).then(|| sampled::Sequence::<Wide<T>>::new(on, sampled::Plan::new(n, k))).transpose()?;
            Ok(Box::new(move |on, Largest { input, output, order }| {
                expect_len("places of output", output, results)?;
                let Some(find) = &find else { return Ok(()) };
                let (input, found) = (from.widen(on, input.cast())?, to.of(output.cast()));
                let none = found.slice(0, 0);
                let (all, nth) = if last { (none, found) } else { (found, none) };
                find.run(on, sampled::Args { input, output: all, nth, order })?;
                to.narrow(on, output.cast())
            }))
        })
    }

    /// Enqueues a search among the elements at `input`, which writes as many as were asked for to `output`. On a GPU
    /// one of its launches may be cooperative: its blocks wait for each other.
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
        let TopK { results, order, .. } = self.algorithm;
        // SAFETY: as the caller says.
        unsafe {
            let ((input, a), (output, b)) = (given("the input", input, self.n), given("the output", output, results));
            self.enqueue(stream, Largest { input, output, order }, &[a, b], scratch, scratch_bytes)
        }
    }
}

impl<K: SortKey, V: Scalar> Plan<TopKPairs<K, V>>
where
    Wide<K>: PlaceWord,
{
    /// The `k` largest of `n` keys, the largest first, and the value of each; of equal keys the first ones, in their
    /// order. All places are sorted, as by [`Plan::argsort_descending`]: the host does not learn how many keys equal
    /// the k-th.
    ///
    /// # Errors
    /// As for [`Plan::top_k`].
    pub fn top_k_pairs(engine: &Engine, n: usize, k: usize) -> Result<Self> {
        Self::top_k_pairs_in_order(engine, counts(n, k)?, K::ORDER | DESCENDING)
    }

    /// The `k` smallest of `n` keys, the smallest first, and the value of each, likewise.
    ///
    /// # Errors
    /// As for [`Plan::top_k`].
    pub fn bottom_k_pairs(engine: &Engine, n: usize, k: usize) -> Result<Self> {
        Self::top_k_pairs_in_order(engine, counts(n, k)?, K::ORDER)
    }

    fn top_k_pairs_in_order(engine: &Engine, (n, k): (u32, u32), order: u32) -> Result<Self> {
        let pairs = choose_pairs(engine, n)?;
        Self::by(engine, n, TopKPairs { k, order, pairs: PhantomData }, move |on| {
            let (places, mut sort) = (on.scratch::<u32>(n)?, launches::<K::Word>(on, pairs, n)?);
            Ok(Box::new(move |on, LargestPairs { keys: Largest { input, output, order }, values, moved }| {
                sort(on, Placed { keys: input.cast(), order, places: places.view() })?;
                let first = places.view().slice(0, k);
                gather(on, input, first, output)?;
                gather(on, values, first, moved)
            }))
        })
    }

    /// Enqueues a search among the keys at `keys` with the values at `values`. It writes the keys that were asked for
    /// to `output`, and their values to `moved`.
    ///
    /// # Errors
    /// As for the `run` of [`Plan::sort`].
    ///
    /// # Safety
    /// As for the `run` of [`Plan::sort`], for the arrays `keys`, `values`, `output`, `moved` and `scratch`.
    #[allow(clippy::too_many_arguments, reason = "arrays")]
    pub unsafe fn run(
        &self,
        stream: *mut c_void,
        keys: *const K,
        values: *const V,
        output: *mut K,
        moved: *mut V,
        scratch: *mut u8,
        scratch_bytes: usize,
    ) -> Result<()> {
        let TopKPairs { k, order, .. } = self.algorithm;
        // SAFETY: as the caller says.
        unsafe {
            let ((input, a), (values, b)) = (given("the keys", keys, self.n), given("the values", values, self.n));
            let ((output, c), (moved, d)) = (given("the output", output, k), given("the moved values", moved, k));
            let args = LargestPairs { keys: Largest { input, output, order }, values, moved };
            self.enqueue(stream, args, &[a, b, c, d], scratch, scratch_bytes)
        }
    }
}
