//! Algorithms on the caller's terms: his context, his stream, his memory, his scratch memory, and his graph.
//!
//! A [`Plan`] is an algorithm for a type and a number of elements. It says how much scratch memory a run takes
//! ([`Plan::scratch_bytes`]), and a run takes a stream and addresses. Those who know CUB know this as its two calls, the
//! first of which asks for the size.
//!
//! ```
//! use rungs::engine::Engine;
//! use rungs::plan::Plan;
//!
//! # fn main() -> rungs::Result<()> {
//! let engine = Engine::simulator();
//! let plan = Plan::sort(&engine, 4)?;
//! let keys = engine.upload(&[2.5f32, -1.0, 7.0, 0.5])?;
//! let scratch = engine.alloc::<u8>(plan.scratch_bytes())?;
//! let stream = std::ptr::null_mut(); // the simulator has no streams
//! // SAFETY: keys and scratch memory are as large as the plan says, and live until the results are read.
//! unsafe { plan.run(stream, keys.as_ptr(), scratch.as_ptr(), scratch.len()) }?;
//! assert_eq!(keys.download()?, [-1.0, 0.5, 2.5, 7.0]);
//! # Ok(())
//! # }
//! ```
//!
//! | plan | run with | types |
//! | --- | --- | --- |
//! | [`Plan::sort`], [`Plan::sort_descending`] | keys, sorted in place | `u32`, `i32`, `f32`, `u64`, `i64`, `f64` |
//! | [`Plan::sort_pairs`], [`Plan::sort_pairs_descending`] | keys and values, in place, stable | keys `u32`, `i32`, `f32`; values of 4 bytes |
//! | [`Plan::reduce`] | input, one element of output | as sort |
//! | [`Plan::scan`] | input and output, which may be the same | as sort |
//! | [`Plan::histogram`] | keys, and a count for each bin | `u8`, `u32` |
//!
//! **Contexts, streams, memory.** On a GPU the engine is [`Engine::adopt`]'s, for a context of the caller's, or
//! [`Engine::open`]'s, which has the device's primary context. The crates give handles and addresses so; a cast makes
//! them the pointers that are asked for here:
//!
//! | | cust | cudarc |
//! | --- | --- | --- |
//! | context | `context.get_inner()`, of the trait `ContextHandle` | `context.cu_ctx()` |
//! | stream | `stream.as_inner()` | `stream.cu_stream()` |
//! | address | `buffer.as_device_ptr().as_raw()` | `slice.device_ptr_mut(&stream).0` |
//!
//! The examples `with_cust` and `with_cudarc` are whole programs. In a program with this library, cust finds the driver
//! when it runs, as this library does: nothing links `libcuda`.
//!
//! **What a run does.** It enqueues launches, and at most one fill of a part of the scratch memory. It allocates
//! nothing, waits for nothing and copies nothing, and the calling thread keeps its current context. No run leaves
//! anything behind in the plan or in the scratch memory that another run needs: one scratch memory serves any plans,
//! one run after the other on a stream; runs on two streams at once need two. A plan can be run any number of times,
//! and the content of the scratch memory does not matter.
//!
//! **Graphs.** So a run can be captured into a graph, for every plan there is: no algorithm here reads anything back to
//! choose its launches. Make the plan before the capture begins, since this loads the kernels. A graph that was captured
//! contains the addresses; launch it any number of times, with new data in the same places. While a stream is
//! captured, a launch waits for the one before in full, where it may otherwise start early.
//!
//! **Errors.** What can be checked is checked before anything is enqueued: the size and the alignment of the scratch
//! memory, the alignment of every array, null where there is something, arrays that overlap. If a run fails after that,
//! a part of it may have been enqueued: its results are undefined, and a capture has to be discarded.

mod scratch;

#[cfg(test)]
mod tests;

pub use scratch::ALIGN as SCRATCH_ALIGN;

use crate::algorithms::keys::KeyWord;
use crate::algorithms::verify::order_of;
use crate::data::Element;
use crate::engine::Engine;
use crate::engine::on_stream::{OnStream, Rehearsal};
use crate::error::{Error, Result};
use crate::vec::choice::{self, choose};
use rungs_kernels::histogram::{self, Key};
use rungs_kernels::keys::DESCENDING;
use rungs_kernels::ladder::{Entry, Launcher, Lengths, Options, Sequence};
use rungs_kernels::ladder::{histogram as counting, reduce, scan, sort};
use rungs_kernels::operator::Operation;
use scratch::Carved;
use simt::{Global, Scalar, launcher};
use std::ffi::c_void;
use std::marker::PhantomData;
use std::ptr;

/// What the keys, and the values, of a sort are aligned to: threads load so many bytes at once.
pub const SORT_ALIGN: usize = 16;

/// An algorithm, ready to be enqueued on any stream of an engine's context: see [the module](self).
pub struct Plan<A: Algorithm> {
    engine: Engine,
    n: u32,
    algorithm: A,
    make: Make<A::Args>,
    scratch_bytes: usize,
}

/// Takes scratch memory and makes the launches of one run.
type Make<A> = Box<dyn Fn(&dyn Launcher) -> launcher::Result<Sequence<A>>>;

/// What a [`Plan`] does. Its implementations are in this module.
pub trait Algorithm: sealed::Algorithm {}

impl<A: sealed::Algorithm> Algorithm for A {}

mod sealed {
    use super::Lengths;

    pub trait Algorithm {
        /// The views of a run.
        type Args: Lengths;

        /// Views of nothing, with which a run is rehearsed.
        fn rehearsal(&self, n: u32) -> Self::Args;
    }
}

/// Sorts keys in place.
pub struct Sort<T> {
    order: u32,
    keys: PhantomData<fn(T)>,
}

/// Sorts keys in place, and moves a value with each.
pub struct SortPairs<K, V> {
    order: u32,
    pairs: PhantomData<fn(K, V)>,
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

impl<A: Algorithm> Plan<A> {
    /// The bytes of scratch memory that a run takes; 0 if it takes none.
    pub fn scratch_bytes(&self) -> usize {
        self.scratch_bytes
    }

    /// The number of elements.
    #[allow(clippy::len_without_is_empty, reason = "a plan is no collection")]
    pub fn len(&self) -> usize {
        self.n as usize
    }

    fn new(
        engine: &Engine,
        n: u32,
        algorithm: A,
        make: impl Fn(&dyn Launcher) -> launcher::Result<Sequence<A::Args>> + 'static,
    ) -> Result<Self> {
        let mut plan = Self { engine: engine.clone(), n, algorithm, make: Box::new(make), scratch_bytes: 0 };
        plan.scratch_bytes = plan.rehearse(&Rehearsal(engine))?;
        Ok(plan)
    }

    /// Makes a run on a machine that runs nothing and has memory without end; tells how much of it was taken.
    fn rehearse(&self, on: &dyn Launcher) -> Result<usize> {
        let carved = Carved::endless(on);
        (self.make)(&carved)?.run(&carved, self.algorithm.rehearsal(self.n))?;
        carved.flush()?;
        Ok(carved.used())
    }

    /// Enqueues a run. `arrays`: what it reads and writes.
    ///
    /// # Safety
    /// As for the plans' own `run`: the arrays are of the engine's context, as is the stream, and stay valid until what
    /// was enqueued has ended, for graphs until their last launch has; nothing else uses them meanwhile.
    unsafe fn enqueue(
        &self,
        stream: *mut c_void,
        args: A::Args,
        arrays: &[Array],
        scratch: *mut u8,
        scratch_bytes: usize,
    ) -> Result<()> {
        self.check(arrays, scratch, scratch_bytes)?;
        // SAFETY: as the caller says.
        let on = unsafe { OnStream::new(&self.engine, stream) }?;
        self.enqueue_on(&on, args, scratch)
    }

    /// Enqueues a run whose arrays have been checked.
    fn enqueue_on(&self, on: &dyn Launcher, args: A::Args, scratch: *mut u8) -> Result<()> {
        let carved = Carved::new(on, scratch, self.scratch_bytes);
        (self.make)(&carved)?.run(&carved, args)?;
        Ok(carved.flush()?)
    }

    /// Refuses arrays that are not where they can be, and scratch memory that is too small.
    fn check(&self, arrays: &[Array], scratch: *mut u8, bytes: usize) -> Result<()> {
        if bytes < self.scratch_bytes {
            let needed = self.scratch_bytes;
            return Err(Error::Usage(format!("a run takes {needed} bytes of scratch memory, and {bytes} are given")));
        }
        let (what, align) = ("the scratch memory", SCRATCH_ALIGN);
        let scratch = Array { what, address: scratch as usize, bytes: self.scratch_bytes, align, shared: false };
        let mut all: Vec<&Array> = arrays.iter().chain([&scratch]).filter(|array| array.bytes > 0).collect();
        all.iter().try_for_each(|array| array.check())?;
        all.sort_by_key(|array| array.address);
        let overlapping = |pair: &&[&Array]| pair[0].overlaps(pair[1]);
        match all.windows(2).find(overlapping) {
            Some(pair) => Err(Error::Usage(format!("{} and {} overlap", pair[0].what, pair[1].what))),
            None => Ok(()),
        }
    }
}

/// Memory of the caller's.
struct Array {
    what: &'static str,
    address: usize,
    bytes: usize,
    align: usize,
    /// Whether another array that is shared may be in the same place.
    shared: bool,
}

impl Array {
    /// `n` elements at an address, aligned as their type.
    fn of<T>(what: &'static str, address: *const T, n: u32) -> Self {
        let (bytes, align) = ((n as usize).saturating_mul(size_of::<T>()), align_of::<T>());
        Self { what, address: address as usize, bytes, align, shared: false }
    }

    fn aligned(self, align: usize) -> Self {
        Self { align, ..self }
    }

    fn shared(self) -> Self {
        Self { shared: true, ..self }
    }

    fn check(&self) -> Result<()> {
        let Self { what, address, bytes, align, .. } = *self;
        if address == 0 || address.checked_add(bytes).is_none() {
            return Err(Error::Usage(format!("there are no {bytes} bytes at {address:#x}, where {what} should be")));
        }
        if !address.is_multiple_of(align) {
            return Err(Error::Usage(format!("{what} at {address:#x} must begin on a multiple of {align} bytes")));
        }
        Ok(())
    }

    /// Whether an array that begins no earlier has bytes of this one and must not.
    fn overlaps(&self, next: &Self) -> bool {
        let same = self.address == next.address && self.shared && next.shared;
        next.address - self.address < self.bytes && !same
    }
}

/// A view of nothing, for launches that do not run.
fn nowhere<T: Scalar>(n: u32) -> Global<T> {
    // SAFETY: no kernel gets the view.
    unsafe { Global::from_raw(ptr::without_provenance_mut(SCRATCH_ALIGN), n) }
}

/// A number of elements, as kernels count them.
fn count(n: usize) -> Result<u32> {
    u32::try_from(n)
        .map_err(|_| Error::Usage(format!("{n} elements are too many for a plan; the limit is {}", u32::MAX)))
}

impl<T: Element<Word: KeyWord>> Plan<Sort<T>> {
    /// A sort of `n` keys, the smallest first; floats in the IEEE total order, see [`crate::data`].
    ///
    /// # Errors
    /// [`Error::Usage`] for more than 2³² - 1 keys, or if no rung sorts so many on the device; [`Error::Cuda`] if the
    /// driver refuses a kernel.
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

    fn sort_by_rung(engine: &Engine, n: u32, order: u32, rung: &'static Entry<sort::Sort>) -> Result<Self> {
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

    fn sort_pairs_by_rung(engine: &Engine, n: u32, order: u32, rung: &'static Entry<sort::Sort>) -> Result<Self> {
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
        let rung = choose(choice::REDUCTIONS, engine, size_of::<T>(), n)?;
        let n = count(n)?;
        Self::new(engine, n, Reduce(PhantomData), move |on| rung.reducer::<T>(on, n, operation))
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

    fn scan_by_rung(
        engine: &Engine,
        n: u32,
        operation: Operation,
        exclusive: bool,
        rung: &'static Entry<&dyn scan::Scan>,
    ) -> Result<Self> {
        let algorithm = Scan { exclusive, elements: PhantomData };
        Self::new(engine, n, algorithm, move |on| rung.scanner::<T>(on, n, operation))
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
