//! The algorithms that there are plans for.

use super::arrays::{Array, given};
use super::{Plan, SCRATCH_ALIGN, sealed};
use crate::data::Element;
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::vec::choice::{self, choose};
use crate::vec::operators::Factor;
use crate::vec::places::{self, Pairs, PlaceWord, choose_pairs};
use crate::vec::sorts::{SortKey, Wide, Widened};
use rungs_kernels::histogram::{self, Key};
use rungs_kernels::keys::DESCENDING;
use rungs_kernels::ladder::{Entry, Launcher, Launches, Lengths, Options, expect_len};
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

/// What the keys, and the values, of a sort are aligned to: threads load this many bytes at once.
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

/// Counts the occurrences of each value.
pub struct Histogram<K> {
    bins: u32,
    keys: PhantomData<fn(K)>,
}

impl<T: SortKey> sealed::Algorithm for Sort<T> {
    type Args = sort::Keys<T::Word>;

    fn rehearsal(&self, n: u32) -> Self::Args {
        sort::Keys { keys: nowhere(n), order: self.order }
    }
}

impl<K: Scalar, V: Scalar> sealed::Algorithm for SortPairs<K, V> {
    type Args = Pairs<K, V>;

    fn rehearsal(&self, n: u32) -> Self::Args {
        Pairs { keys: nowhere(n), values: nowhere(n), order: self.order }
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

impl<T: SortKey> Plan<Sort<T>> {
    /// A sort of `n` keys, the smallest first; floats in the IEEE total order, see [`crate::data`]. Keys of 8 and 16
    /// bits are sorted as words of 32 bits, which take 4 bytes of scratch memory each.
    ///
    /// # Errors
    /// [`Error::Usage`] for more than 2³² - 1 keys, or if no rung sorts this many on the device; [`Error::Cuda`] if the
    /// driver refuses a kernel.
    pub fn sort(engine: &Engine, n: usize) -> Result<Self> {
        Self::sort_in_order(engine, n, T::ORDER)
    }

    /// A sort of `n` keys, the largest first.
    ///
    /// # Errors
    /// As for [`Plan::sort`].
    pub fn sort_descending(engine: &Engine, n: usize) -> Result<Self> {
        Self::sort_in_order(engine, n, T::ORDER | DESCENDING)
    }

    fn sort_in_order(engine: &Engine, n: usize, order: u32) -> Result<Self> {
        Self::sort_by_rung(engine, count(n)?, order, choose(choice::SORTS, engine, size_of::<Wide<T>>(), n)?)
    }

    pub(super) fn sort_by_rung(engine: &Engine, n: u32, order: u32, rung: &'static Entry<sort::Sort>) -> Result<Self> {
        let algorithm = Sort { order, keys: PhantomData };
        Self::by(engine, n, algorithm, move |on| {
            let widened = Widened::<T::Word>::new(on, n)?;
            let mut sort = rung.sorter::<Wide<T>>(on, n, Options::default())?;
            Ok(Box::new(move |on, sort::Keys { keys, order }| {
                sort.run(on, sort::Keys { keys: widened.widen(on, keys)?, order })?;
                widened.narrow(on, keys)
            }))
        })
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
        // SAFETY: as the caller says.
        unsafe {
            let (keys, array) = given("the keys", keys, self.n);
            let args = sort::Keys { keys, order: self.algorithm.order };
            self.enqueue(stream, args, &[array.aligned(SORT_ALIGN)], scratch, scratch_bytes)
        }
    }
}

impl<K: SortKey, V: Scalar> Plan<SortPairs<K, V>>
where
    Wide<K>: PlaceWord,
{
    /// A sort of `n` keys, the smallest first, which moves a value with each key. Equal keys keep their order. Keys and
    /// values of 4 bytes each are moved together; others by their places, with scratch memory for a copy of the values,
    /// and of keys of 8 bytes.
    ///
    /// # Errors
    /// As for [`Plan::sort`].
    pub fn sort_pairs(engine: &Engine, n: usize) -> Result<Self> {
        Self::sort_pairs_in_order(engine, n, K::ORDER)
    }

    /// The same with the largest key first. Equal keys keep their order here too.
    ///
    /// # Errors
    /// As for [`Plan::sort_pairs`].
    pub fn sort_pairs_descending(engine: &Engine, n: usize) -> Result<Self> {
        Self::sort_pairs_in_order(engine, n, K::ORDER | DESCENDING)
    }

    fn sort_pairs_in_order(engine: &Engine, n: usize, order: u32) -> Result<Self> {
        let n = count(n)?;
        Self::sort_pairs_by_rung(engine, n, order, choose_pairs(engine, n)?)
    }

    pub(super) fn sort_pairs_by_rung(
        engine: &Engine,
        n: u32,
        order: u32,
        rung: &'static Entry<sort::Sort>,
    ) -> Result<Self> {
        Self::by(engine, n, SortPairs { order, pairs: PhantomData }, move |on| places::sort_pairs(on, rung, n))
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
        // SAFETY: as the caller says.
        unsafe {
            let ((keys, a), (values, b)) = (given("the keys", keys, self.n), given("the values", values, self.n));
            let (args, arrays) = (Pairs { keys, values, order: self.algorithm.order }, [a, b]);
            self.enqueue(stream, args, &arrays.map(|array| array.aligned(SORT_ALIGN)), scratch, scratch_bytes)
        }
    }
}

impl<S: MergeKernels> Plan<SortBy<S>> {
    /// A sort of `n` keys by your own order; equivalent keys may change their order. `kernels` are the order's,
    /// see [`sort_kernels!`](rungs_kernels::sort_kernels), and on a GPU the engine has them, see
    /// [`Engine::add_kernels`].
    ///
    /// # Errors
    /// As for [`Plan::sort`].
    pub fn sort_by(engine: &Engine, n: usize, _kernels: S, order: S::Order) -> Result<Self>
    where
        S: SampleKernels,
    {
        Self::by_launches(engine, n, order, sample::launches::sequence::<S>)
    }

    /// A sort by your own order, as [`Plan::sort_by`] makes it; equivalent keys keep their order.
    ///
    /// # Errors
    /// As for [`Plan::sort`].
    pub fn stable_sort_by(engine: &Engine, n: usize, _kernels: S, order: S::Order) -> Result<Self>
    where
        S: StableKernels,
    {
        Self::by_launches(engine, n, order, stable::launches::sequence::<S>)
    }

    fn by_launches(engine: &Engine, n: usize, order: S::Order, launches: MakeByOrder<S>) -> Result<Self> {
        let n = count(n)?;
        Self::by(engine, n, SortBy { order }, move |on| {
            let mut sort = launches(on, n)?;
            Ok(Box::new(move |on, Ordered { keys, order }| sort(on, (keys, order))))
        })
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
        // SAFETY: as the caller says.
        unsafe {
            let (keys, array) = given("the keys", keys, self.n);
            let args = Ordered { keys, order: self.algorithm.order };
            self.enqueue(stream, args, &[array.aligned(SORT_ALIGN)], scratch, scratch_bytes)
        }
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
        Self::by(engine, n, Reduce(PhantomData), move |on| operators::reduce::<S>(on, n))
    }

    /// The product of `n` elements, see [`DeviceVec::product`](crate::vec::DeviceVec::product); of no elements it is 1.
    ///
    /// # Errors
    /// As for [`Plan::sort`].
    pub fn product(engine: &Engine, n: usize) -> Result<Self>
    where
        T: Factor,
    {
        let n = count(n)?;
        Self::by(engine, n, Reduce(PhantomData), move |on| {
            let prepared = Prepared::new::<T>(on, n)?;
            Ok(Box::new(move |on, reduce::Elements { input, output }| {
                T::product(on, prepared.geometry, (input, output, prepared.workspace()))
            }))
        })
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
        // SAFETY: as the caller says.
        unsafe {
            let ((input, a), (output, b)) = (given("the input", input, self.n), given("the output", output, 1));
            self.enqueue(stream, reduce::Elements { input, output }, &[a, b], scratch, scratch_bytes)
        }
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
        Self::by(engine, n, algorithm, move |on| operators::scan::<S>(on, n))
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
        // SAFETY: as the caller says.
        unsafe {
            let ((input, a), (output, b)) = (given("the input", input, self.n), given("the output", output, self.n));
            let args = scan::Elements { input, output, exclusive: self.algorithm.exclusive };
            self.enqueue(stream, args, &[a, b].map(Array::shared), scratch, scratch_bytes)
        }
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
        // SAFETY: as the caller says.
        unsafe {
            let ((keys, a), (counts, b)) = (given("the keys", keys, self.n), given("the counts", counts, bins));
            self.enqueue(stream, counting::Keys { keys, counts }, &[a, b], scratch, scratch_bytes)
        }
    }
}
