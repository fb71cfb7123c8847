//! Algorithms in a context of your own, on your own stream, in your own memory, and in your own graph.
//!
//! A [`Plan`] is an algorithm for a type and a number of elements. It says how much scratch memory a run takes
//! ([`Plan::scratch_bytes`]), and a run takes a stream and addresses. In CUB these are two calls of one function, the
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
//! | [`Plan::sort`], [`Plan::sort_descending`] | keys, in place | integers of 8 to 64 bits, all floats |
//! | [`Plan::argsort`], [`Plan::argsort_descending`] | keys, a place of 4 bytes for each, stable | as sort |
//! | [`Plan::sort_pairs`], [`Plan::sort_pairs_descending`] | keys and values, in place, stable | as sort; any values |
//! | [`Plan::sort_by`], [`Plan::stable_sort_by`] | keys, in place, by your own order | any number |
//! | [`Plan::reduce`] | input, one element of output | `u32`, `i32`, `f32`, `u64`, `i64`, `f64` |
//! | [`Plan::scan`] | input and output, which may be the same | as reduce |
//! | [`Plan::reduce_with`], [`Plan::scan_with`] | the same, by an operator of your own | any `Scalar` |
//! | [`Plan::product`] | input, one element of output | as reduce |
//! | [`Plan::arg_min`], [`Plan::arg_max`] | input, a place of 4 bytes | as sort |
//! | [`Plan::min_max`] | input, two elements of output | as sort |
//! | [`Plan::histogram`] | keys, and a count for each bin | `u8`, `u32` |
//! | [`Plan::histogram_by_edges`] | input, edges, and a count for each bin and three more | as reduce |
//! | [`Plan::histogram_even`] | input, and a count for each bin and three more | as reduce |
//! | [`Plan::select_between`] | input, output, count; a limit, or null | as sort |
//! | [`Plan::unique`], [`Plan::select_if`] | the same | any `Scalar` |
//! | [`Plan::select_flagged`] | the same, and flags | any `Scalar` |
//! | [`Plan::partition_between`], [`Plan::partition_if`] | the same, and both of the others | as selections |
//! | [`Plan::partition_flagged`] | the same, and flags | any `Scalar` |
//! | [`Plan::run_lengths`] | input, output, lengths, count; a limit, or null | as sort |
//! | [`Plan::reduce_by_key`] | keys, values, both outputs, count; a limit, or null | keys as sort, values as reduce |
//! | [`Plan::reduce_by_key_with`] | the same, by an operator of your own | keys as sort, values of any `Scalar` |
//! | [`Plan::unique_by_key`] | the same | keys as sort, values of any `Scalar` |
//! | [`Plan::scan_by_key`] | keys, values, output, which may be the values | keys as sort, values as reduce |
//! | [`Plan::merge`] | two sorted inputs, output | as sort |
//! | [`Plan::merge_with`] | two sorted inputs with values, output for both | as sort; any values |
//! | [`Plan::lower_bound`], [`Plan::upper_bound`] | sorted input, needles, a place for each | as sort |
//! | [`Plan::segmented_sort`], [`Plan::segmented_sort_descending`] | keys, in place, offsets | as sort |
//! | [`Plan::segmented_sort_pairs`], its `_descending` | keys, values, their output, offsets | as sort; any values |
//! | [`Plan::segmented_argsort`], its `_descending` | keys, offsets, a place of 4 bytes for each key | as sort |
//! | [`Plan::segmented_reduce`] | input, offsets, an element of output per segment | as reduce |
//! | [`Plan::segmented_scan`] | input, offsets, output, which may be the input | as reduce |
//! | [`Plan::top_k`], [`Plan::bottom_k`] | input and k elements of output, in any order | as sort |
//! | [`Plan::nth_element`] | input, one element of output | as sort |
//! | [`Plan::top_k_pairs`], [`Plan::bottom_k_pairs`] | keys, values, output for both | as sort; any values |
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
//! **What a run does.** It enqueues launches, and at most one fill of a part of the scratch memory; two where segments
//! of keys of 8 bytes are sorted with values, or their places. It allocates nothing, waits for nothing and copies
//! nothing, and the calling thread keeps its current context. No run leaves
//! anything behind in the plan or in the scratch memory that another run needs: one scratch memory serves any plans,
//! one run after the other on a stream; runs on two streams at once need two. A plan can be run any number of times,
//! and the content of the scratch memory does not matter.
//!
//! **Graphs.** So a run of any plan can be captured into a graph: no algorithm here reads anything back to choose its
//! launches. Make the plan before the capture begins, since this loads the kernels. A graph that was captured contains
//! the addresses; launch it any number of times, with new data in the same places. While a stream is captured, a launch
//! waits for the one before in full, where it may otherwise start early.
//!
//! **Errors.** What can be checked is checked before anything is enqueued: the size and the alignment of the scratch
//! memory, the alignment of every array, null where there is something, arrays that overlap. If a run fails after that,
//! a part of it may have been enqueued: its results are undefined, and a capture has to be discarded.

mod algorithms;
mod arrays;
mod bins;
mod largest;
mod merge;
mod places;
mod runs;
mod scratch;
mod segments;
mod selections;

#[cfg(test)]
mod tests;

pub use algorithms::{Histogram, Reduce, SORT_ALIGN, Scan, Sort, SortBy, SortPairs};
pub use bins::{HistogramByEdges, HistogramEven};
pub use largest::{TopK, TopKPairs};
pub use merge::{Merge, MergeWith, Search};
pub use places::{Argsort, FirstPlace, MinMax};
pub use runs::{ReduceByKey, RunLengths, ScanByKey};
pub use scratch::ALIGN as SCRATCH_ALIGN;
pub use segments::{SegmentedArgsort, SegmentedReduce, SegmentedScan, SegmentedSort, SegmentedSortPairs};
pub use selections::{Partition, PartitionFlagged, Select, SelectFlagged};

use crate::engine::Engine;
use crate::engine::on_stream::{OnStream, Rehearsal};
use crate::error::{Error, Result};
use arrays::Array;
use rungs_kernels::ladder::{Launcher, Launches, Lengths, Sequence, sequence};
use scratch::Carved;
use simt::launcher;
use std::ffi::c_void;

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

    /// A plan whose launches `make` makes, with their scratch memory.
    fn by(
        engine: &Engine,
        n: u32,
        algorithm: A,
        make: impl Fn(&dyn Launcher) -> launcher::Result<Launches<A::Args>> + Copy + 'static,
    ) -> Result<Self>
    where
        A::Args: 'static,
    {
        Self::new(engine, n, algorithm, move |on| sequence(on, n, make))
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
