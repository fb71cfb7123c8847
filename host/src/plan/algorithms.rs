//! The algorithms that there are plans for.

use super::arrays::Array;
use super::{Plan, SCRATCH_ALIGN, sealed};
use crate::data::Element;
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::keys::KeyWord;
use crate::keys::order_of;
use crate::vec::choice::{self, choose};
use crate::vec::operators::ExtremeWord;
use rungs_kernels::histogram::{self, Key};
use rungs_kernels::keys::DESCENDING;
use rungs_kernels::ladder::{Entry, Launcher, Launches, Lengths, Options, expect_len, sequence};
use rungs_kernels::ladder::{histogram as counting, reduce, scan, sort};
use rungs_kernels::operator::Operation;
use rungs_kernels::selections::operators::launches::{self as operators, OperatorKernels};
use rungs_kernels::selections::reduce::launches::Prepared;
use rungs_kernels::sorts::by_order::multi_way::launches::{ByOrder, MergeKernels};
use rungs_kernels::sorts::by_order::sample::{self, launches::SampleKernels};
use rungs_kernels::sorts::stable::{self, launches::StableKernels};
use simt::{Global, Scalar, launcher};
use std::ffi::c_void;
use std::marker::PhantomData;
use std::ptr;

/// What the keys, and the values, of a sort are aligned to: threads load this number of bytes at once.
pub const SORT_ALIGN: usize = crate::vec::sorts::ALIGN;

/// Sorts keys in place.
pub struct Sort<T> {
    pub(super) order: u32,
    keys: PhantomData<fn(T)>,
}

/// Sorts keys in place, and moves a value with each.
pub struct SortPairs<K, V> {
    pub(super) order: u32,
    pairs: PhantomData<fn(K, V)>,
}

/// Sorts keys in place by an order of the caller's, whose kernels `S` names.
pub struct SortBy<S: MergeKernels> {
    pub(super) order: S::Order,
}

/// Takes scratch memory and makes the launches that sort a number of keys.
type MakeByOrder<S> = fn(&dyn Launcher, u32) -> launcher::Result<Launches<ByOrder<S>>>;

/// Keys, and the order that they are to have.
pub struct Ordered<S: MergeKernels> {
    pub(super) keys: Global<S::Key>,
    pub(super) order: S::Order,
}

impl<S: MergeKernels> Lengths for Ordered<S> {
    fn check(&self, n: u32) -> launcher::Result {
        expect_len("keys", self.keys, n)
    }
}

/// Combines all elements into one.
pub struct Reduce<T>(PhantomData<fn(T)>);

/// Combines each element with those before it.
pub struct Scan<T> {
    exclusive: bool,
    elements: PhantomData<fn(T)>,
}

/// Finds the place of the least or the greatest element.
pub struct FirstPlace<T> {
    order: u32,
    elements: PhantomData<fn(T)>,
}

/// Elements, and memory for a place.
pub struct Places<W> {
    pub(super) input: Global<W>,
    pub(super) place: Global<u32>,
    pub(super) order: u32,
}

impl<W: Scalar> Lengths for Places<W> {
    fn check(&self, n: u32) -> launcher::Result {
        expect_len("elements", self.input, n)
    }
}

/// Counts the occurrences of each value.
pub struct Histogram<K> {
    bins: u32,
    keys: PhantomData<fn(K)>,
}

impl<T: Element<Word: KeyWord>> sealed::Algorithm for Sort<T> {
    type Args = sort::Keys<T::Word>;

    fn rehearsal(&self, n: u32) -> Self::Args {
        sort::Keys { keys: nowhere(n), order: self.order }
    }
}

impl<K, V> sealed::Algorithm for SortPairs<K, V> {
    type Args = sort::Pairs;

    fn rehearsal(&self, n: u32) -> Self::Args {
        sort::Pairs { keys: nowhere(n), values: nowhere(n), order: self.order }
    }
}

impl<S: MergeKernels> sealed::Algorithm for SortBy<S> {
    type Args = Ordered<S>;

    fn rehearsal(&self, n: u32) -> Self::Args {
        Ordered { keys: nowhere(n), order: self.order }
    }
}

impl<T: Scalar> sealed::Algorithm for Reduce<T> {
    type Args = reduce::Elements<T>;

    fn rehearsal(&self, n: u32) -> Self::Args {
        reduce::Elements { input: nowhere(n), output: nowhere(1) }
    }
}

impl<T: Scalar> sealed::Algorithm for Scan<T> {
    type Args = scan::Elements<T>;

    fn rehearsal(&self, n: u32) -> Self::Args {
        scan::Elements { input: nowhere(n), output: nowhere(n), exclusive: self.exclusive }
    }
}

impl<T: Element<Word: Scalar>> sealed::Algorithm for FirstPlace<T> {
    type Args = Places<T::Word>;

    fn rehearsal(&self, n: u32) -> Self::Args {
        Places { input: nowhere(n), place: nowhere(1), order: self.order }
    }
}

impl<K: Scalar> sealed::Algorithm for Histogram<K> {
    type Args = counting::Keys<K>;

    fn rehearsal(&self, n: u32) -> Self::Args {
        counting::Keys { keys: nowhere(n), counts: nowhere(self.bins) }
    }
}

/// A view of nothing, for launches that do not run.
pub(super) fn nowhere<T: Scalar>(n: u32) -> Global<T> {
    // SAFETY: no kernel gets the view.
    unsafe { Global::from_raw(ptr::without_provenance_mut(SCRATCH_ALIGN), n) }
}

/// A number of elements, as kernels count them.
pub(super) fn count(n: usize) -> Result<u32> {
    u32::try_from(n)
        .map_err(|_| Error::Usage(format!("{n} elements are too many for a plan; the limit is {}", u32::MAX)))
}

impl<T: Element<Word: KeyWord>> Plan<Sort<T>> {
    /// A sort of `n` keys, the smallest first; floats in the IEEE total order, see [`crate::data`].
    ///
    /// # Errors
    /// [`Error::Usage`] for more than 2³² - 1 keys, or if no rung sorts that number on the device; [`Error::Cuda`] if
    /// the driver refuses a kernel.
    pub fn sort(engine: &Engine, n: usize) -> Result<Self> {
        Self::sort_in_order(engine, n, order_of(T::DTYPE))
    }

    /// A sort of `n` keys, the largest first.
    ///
    /// # Errors
    /// As for [`Plan::sort`].
    pub fn sort_descending(engine: &Engine, n: usize) -> Result<Self> {
        Self::sort_in_order(engine, n, order_of(T::DTYPE) | DESCENDING)
    }

    fn sort_in_order(engine: &Engine, n: usize, order: u32) -> Result<Self> {
        Self::sort_by_rung(engine, count(n)?, order, choose(choice::SORTS, engine, size_of::<T>(), n)?)
    }

    pub(super) fn sort_by_rung(engine: &Engine, n: u32, order: u32, rung: &'static Entry<sort::Sort>) -> Result<Self> {
        let algorithm = Sort { order, keys: PhantomData };
        Self::new(engine, n, algorithm, move |on| rung.sorter::<T::Word>(on, n, Options::default()))
    }

    /// Enqueues a sort of the keys at `keys`, which begin on a multiple of [`SORT_ALIGN`] bytes.
    ///
    /// # Errors
    /// [`Error::Usage`] if the scratch memory is too small, or an array is where it cannot be; [`Error::Cuda`] if the
    /// driver refuses a launch, or a kernel before failed; on the simulator [`Error::Launch`] if a kernel failed.
    ///
    /// # Safety
    /// - `stream` is a stream of the engine's context, or null for the default one, and lives. The simulator does not
    ///   use it.
    /// - At `keys` are as many keys as the plan is for, and at `scratch` `scratch_bytes` bytes, in memory of the
    ///   context, or of the simulator's host. Both stay allocated, and nothing else uses them, until what was enqueued
    ///   has ended. Where the run is captured, that holds for each launch of the graph.
    pub unsafe fn run(&self, stream: *mut c_void, keys: *mut T, scratch: *mut u8, scratch_bytes: usize) -> Result<()> {
        let arrays = [Array::of("the keys", keys, self.n).aligned(SORT_ALIGN)];
        // SAFETY: the keys are there, as the caller says; the check of their alignment comes before any launch.
        let args = sort::Keys { keys: unsafe { Global::from_raw(keys.cast(), self.n) }, order: self.algorithm.order };
        // SAFETY: as the caller says.
        unsafe { self.enqueue(stream, args, &arrays, scratch, scratch_bytes) }
    }
}

impl<K: Element<Word = u32>, V: Scalar> Plan<SortPairs<K, V>> {
    /// A sort of `n` keys of 4 bytes, the smallest first, which moves a value of 4 bytes with each key. Equal keys keep
    /// their order.
    ///
    /// # Errors
    /// [`Error::Usage`] for values of another size; otherwise as for [`Plan::sort`].
    pub fn sort_pairs(engine: &Engine, n: usize) -> Result<Self> {
        Self::sort_pairs_in_order(engine, n, order_of(K::DTYPE))
    }

    /// The same with the largest key first. Equal keys keep their order here too.
    ///
    /// # Errors
    /// As for [`Plan::sort_pairs`].
    pub fn sort_pairs_descending(engine: &Engine, n: usize) -> Result<Self> {
        Self::sort_pairs_in_order(engine, n, order_of(K::DTYPE) | DESCENDING)
    }

    fn sort_pairs_in_order(engine: &Engine, n: usize, order: u32) -> Result<Self> {
        Self::sort_pairs_by_rung(engine, count(n)?, order, choose(choice::PAIR_SORTS, engine, size_of::<K>(), n)?)
    }

    pub(super) fn sort_pairs_by_rung(
        engine: &Engine,
        n: u32,
        order: u32,
        rung: &'static Entry<sort::Sort>,
    ) -> Result<Self> {
        if size_of::<V>() != size_of::<u32>() {
            let bytes = size_of::<V>();
            return Err(Error::Usage(format!("values of {bytes} bytes do not go with keys here; those of 4 bytes do")));
        }
        let algorithm = SortPairs { order, pairs: PhantomData };
        Self::new(engine, n, algorithm, move |on| rung.pair_sorter(on, n))
    }

    /// Enqueues a sort of the keys at `keys` with the values at `values`, both of which begin on a multiple of
    /// [`SORT_ALIGN`] bytes.
    ///
    /// # Errors
    /// As for the `run` of [`Plan::sort`].
    ///
    /// # Safety
    /// As for the `run` of [`Plan::sort`]; the values are in such memory, too.
    pub unsafe fn run(
        &self,
        stream: *mut c_void,
        keys: *mut K,
        values: *mut V,
        scratch: *mut u8,
        scratch_bytes: usize,
    ) -> Result<()> {
        let arrays = [Array::of("the keys", keys, self.n), Array::of("the values", values, self.n)];
        let arrays = arrays.map(|array| array.aligned(SORT_ALIGN));
        // SAFETY: the pairs are there, as the caller says; the check of their alignment comes before any launch.
        let (keys, values) =
            unsafe { (Global::from_raw(keys.cast(), self.n), Global::from_raw(values.cast(), self.n)) };
        let args = sort::Pairs { keys, values, order: self.algorithm.order };
        // SAFETY: as the caller says.
        unsafe { self.enqueue(stream, args, &arrays, scratch, scratch_bytes) }
    }
}

impl<S: MergeKernels> Plan<SortBy<S>> {
    /// A sort of `n` keys by an order of your own; equivalent keys may change their order. `kernels` are the order's,
    /// see [`sort_kernels!`](rungs_kernels::sort_kernels), and on a GPU the engine has them, see
    /// [`Engine::add_kernels`].
    ///
    /// # Errors
    /// As for [`Plan::sort`].
    pub fn sort_by(engine: &Engine, n: usize, _kernels: S, order: S::Order) -> Result<Self>
    where
        S: SampleKernels,
    {
        Self::by(engine, n, order, sample::launches::sequence::<S>)
    }

    /// A sort by an order of your own, as [`Plan::sort_by`] makes it; equivalent keys keep their order.
    ///
    /// # Errors
    /// As for [`Plan::sort`].
    pub fn stable_sort_by(engine: &Engine, n: usize, _kernels: S, order: S::Order) -> Result<Self>
    where
        S: StableKernels,
    {
        Self::by(engine, n, order, stable::launches::sequence::<S>)
    }

    fn by(engine: &Engine, n: usize, order: S::Order, launches: MakeByOrder<S>) -> Result<Self> {
        let n = count(n)?;
        let make = move |on: &dyn Launcher| {
            let mut sort = launches(on, n)?;
            let run: Launches<Ordered<S>> = Box::new(move |on, Ordered { keys, order }| sort(on, (keys, order)));
            Ok(run)
        };
        Self::new(engine, n, SortBy { order }, move |on| sequence(on, n, make))
    }

    /// Enqueues a sort of the keys at `keys`, which begin on a multiple of [`SORT_ALIGN`] bytes.
    ///
    /// # Errors
    /// As for the `run` of [`Plan::sort`].
    ///
    /// # Safety
    /// As for the `run` of [`Plan::sort`].
    pub unsafe fn run(
        &self,
        stream: *mut c_void,
        keys: *mut S::Key,
        scratch: *mut u8,
        scratch_bytes: usize,
    ) -> Result<()> {
        let arrays = [Array::of("the keys", keys, self.n).aligned(SORT_ALIGN)];
        // SAFETY: the keys are there, as the caller says; the check of their alignment comes before any launch.
        let args = Ordered { keys: unsafe { Global::from_raw(keys, self.n) }, order: self.algorithm.order };
        // SAFETY: as the caller says.
        unsafe { self.enqueue(stream, args, &arrays, scratch, scratch_bytes) }
    }
}

impl<T: Element + Scalar> Plan<Reduce<T>>
where
    dyn reduce::Reduce: reduce::Reduces<T>,
{
    /// A reduction of `n` elements; of no elements the result is the identity: 0, or the type's largest or smallest
    /// value.
    ///
    /// # Errors
    /// As for [`Plan::sort`].
    pub fn reduce(engine: &Engine, n: usize, operation: Operation) -> Result<Self> {
        let (n, rung) = (count(n)?, choose(choice::REDUCTIONS, engine, size_of::<T>(), n)?);
        Self::new(engine, n, Reduce(PhantomData), move |on| rung.reducer::<T>(on, n, operation))
    }
}

impl<T: Scalar> Plan<Reduce<T>> {
    /// A reduction of `n` elements by an operator of your own, in their order; of no elements the result is its
    /// identity. `kernels` are the operator's, see [`operator_kernels!`](rungs_kernels::operator_kernels), and on a GPU
    /// the engine has them, see [`Engine::add_kernels`].
    ///
    /// # Errors
    /// As for [`Plan::sort`].
    pub fn reduce_with<S: OperatorKernels<Element = T>>(engine: &Engine, n: usize, _kernels: S) -> Result<Self> {
        let n = count(n)?;
        Self::new(engine, n, Reduce(PhantomData), move |on| sequence(on, n, move |on| operators::reduce::<S>(on, n)))
    }

    /// Enqueues a reduction of the elements at `input` to the element at `output`.
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
        let arrays = [Array::of("the input", input, self.n), Array::of("the output", output, 1)];
        // SAFETY: the elements are there, as the caller says; the check of their alignment comes before any launch.
        let (input, output) = unsafe { (Global::from_raw(input.cast_mut(), self.n), Global::from_raw(output, 1)) };
        // SAFETY: as the caller says.
        unsafe { self.enqueue(stream, reduce::Elements { input, output }, &arrays, scratch, scratch_bytes) }
    }
}

impl<T: Element + Scalar> Plan<Scan<T>>
where
    dyn scan::Scan: scan::Scans<T>,
{
    /// A scan of `n` elements: running sums, minima or maxima; with `exclusive`, result i leaves element i itself out.
    ///
    /// # Errors
    /// As for [`Plan::sort`].
    pub fn scan(engine: &Engine, n: usize, operation: Operation, exclusive: bool) -> Result<Self> {
        Self::scan_by_rung(engine, count(n)?, operation, exclusive, choose(choice::SCANS, engine, size_of::<T>(), n)?)
    }

    pub(super) fn scan_by_rung(
        engine: &Engine,
        n: u32,
        operation: Operation,
        exclusive: bool,
        rung: &'static Entry<&dyn scan::Scan>,
    ) -> Result<Self> {
        let algorithm = Scan { exclusive, elements: PhantomData };
        Self::new(engine, n, algorithm, move |on| rung.scanner::<T>(on, n, operation))
    }
}

impl<T: Scalar> Plan<Scan<T>> {
    /// A scan of `n` elements by an operator of your own, in their order; with `exclusive`, result i leaves element i
    /// itself out. `kernels` are the operator's, as for [`Plan::reduce_with`].
    ///
    /// # Errors
    /// As for [`Plan::sort`].
    pub fn scan_with<S>(engine: &Engine, n: usize, _kernels: S, exclusive: bool) -> Result<Self>
    where
        S: OperatorKernels<Element = T>,
    {
        let (n, algorithm) = (count(n)?, Scan { exclusive, elements: PhantomData });
        Self::new(engine, n, algorithm, move |on| sequence(on, n, move |on| operators::scan::<S>(on, n)))
    }

    /// Enqueues a scan of the elements at `input` to as many at `output`, which may be the same address.
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
        let arrays = [Array::of("the input", input, self.n), Array::of("the output", output, self.n)];
        let arrays = arrays.map(Array::shared);
        // SAFETY: the elements are there, as the caller says; the check of their alignment comes before any launch.
        let (input, output) = unsafe { (Global::from_raw(input.cast_mut(), self.n), Global::from_raw(output, self.n)) };
        let args = scan::Elements { input, output, exclusive: self.algorithm.exclusive };
        // SAFETY: as the caller says.
        unsafe { self.enqueue(stream, args, &arrays, scratch, scratch_bytes) }
    }
}

impl<T: Element<Word: ExtremeWord>> Plan<FirstPlace<T>> {
    /// The place of the least of `n` elements, of equal ones the first; of no elements it is [`u32::MAX`]. NaN is where
    /// a sort puts it, see [`crate::data`].
    ///
    /// # Errors
    /// As for [`Plan::sort`].
    pub fn arg_min(engine: &Engine, n: usize) -> Result<Self> {
        Self::first_place(engine, n, order_of(T::DTYPE))
    }

    /// The place of the greatest of `n` elements, as [`Plan::arg_min`] gives that of the least.
    ///
    /// # Errors
    /// As for [`Plan::sort`].
    pub fn arg_max(engine: &Engine, n: usize) -> Result<Self> {
        Self::first_place(engine, n, order_of(T::DTYPE) | DESCENDING)
    }

    fn first_place(engine: &Engine, n: usize, order: u32) -> Result<Self> {
        let n = count(n)?;
        let make = move |on: &dyn Launcher| {
            let prepared = Prepared::new::<T::Word>(on, n)?;
            let run: Launches<Places<T::Word>> = Box::new(move |on, Places { input, place, order }| {
                T::Word::first_place(on, prepared.geometry, (input, place, prepared.workspace(), order))
            });
            Ok(run)
        };
        let algorithm = FirstPlace { order, elements: PhantomData };
        Self::new(engine, n, algorithm, move |on| sequence(on, n, make))
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
        let arrays = [Array::of("the input", input, self.n), Array::of("the place", place, 1)];
        // SAFETY: the elements are there, as the caller says; the check of their alignment comes before any launch.
        let (input, place) = unsafe { (Global::from_raw(input.cast_mut().cast(), self.n), Global::from_raw(place, 1)) };
        let args = Places { input, place, order: self.algorithm.order };
        // SAFETY: as the caller says.
        unsafe { self.enqueue(stream, args, &arrays, scratch, scratch_bytes) }
    }
}

impl<K: Key> Plan<Histogram<K>>
where
    dyn counting::Histogram: counting::Counts<K>,
{
    /// A histogram of `n` keys in `bins` bins: how often each number below `bins` occurs. Other keys are not counted.
    ///
    /// # Errors
    /// [`Error::Usage`] for no bins or more than [`histogram::MAX_BINS`]; otherwise as for [`Plan::sort`].
    pub fn histogram(engine: &Engine, n: usize, bins: u32) -> Result<Self> {
        let algorithm = Histogram { bins, keys: PhantomData };
        Self::new(engine, count(n)?, algorithm, move |on| histogram::LADDER.default.counter::<K>(on, bins))
    }

    /// Enqueues a histogram of the keys at `keys`; the counts go to `counts`, one for each bin.
    ///
    /// # Errors
    /// As for the `run` of [`Plan::sort`].
    ///
    /// # Safety
    /// As for the `run` of [`Plan::sort`], for the arrays `keys`, `counts` and `scratch`.
    pub unsafe fn run(
        &self,
        stream: *mut c_void,
        keys: *const K,
        counts: *mut u32,
        scratch: *mut u8,
        scratch_bytes: usize,
    ) -> Result<()> {
        let bins = self.algorithm.bins;
        let arrays = [Array::of("the keys", keys, self.n), Array::of("the counts", counts, bins)];
        // SAFETY: the arrays are there, as the caller says; the check of their alignment comes before any launch.
        let (keys, counts) = unsafe { (Global::from_raw(keys.cast_mut(), self.n), Global::from_raw(counts, bins)) };
        // SAFETY: as the caller says.
        unsafe { self.enqueue(stream, counting::Keys { keys, counts }, &arrays, scratch, scratch_bytes) }
    }
}
