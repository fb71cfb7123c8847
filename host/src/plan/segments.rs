//! Plans for segments: each is sorted, combined or scanned by itself.

use super::algorithms::{count, nowhere};
use super::arrays::{Array, given};
use super::{Plan, sealed};
use crate::Operation;
use crate::engine::Engine;
use crate::error::Result;
use crate::vec::segments::{self, Pairs, SegmentPlaces};
use crate::vec::select::Combines;
use crate::vec::sorts::{SortKey, Wide, Widened};
use rungs_kernels::keys::DESCENDING;
use rungs_kernels::ladder::segmented_sort::{SegmentWord, Segments};
use rungs_kernels::ladder::{Lengths, expect_len};
use rungs_kernels::segments::by_length::launches::RUNG;
use rungs_kernels::segments::numbers::launches::number;
use rungs_kernels::segments::reduce::SegmentReduces;
use rungs_kernels::selections::pass::Pass;
use rungs_kernels::selections::runs::Grouping;
use simt::{Global, Scalar, launcher};
use std::ffi::c_void;
use std::marker::PhantomData;

/// Sorts each segment in place.
pub struct SegmentedSort<T> {
    segments: u32,
    order: u32,
    keys: PhantomData<fn(T)>,
}

/// Sorts each segment in place, and moves a value with each key.
pub struct SegmentedSortPairs<K, V> {
    segments: u32,
    order: u32,
    pairs: PhantomData<fn(K, V)>,
}

/// Sorts the places of the keys of each segment.
pub struct SegmentedArgsort<T> {
    segments: u32,
    order: u32,
    keys: PhantomData<fn(T)>,
}

/// Combines the elements of each segment.
pub struct SegmentedReduce<T> {
    segments: u32,
    elements: PhantomData<fn(T)>,
}

/// Combines each element with those before it in its segment.
pub struct SegmentedScan<T> {
    segments: u32,
    exclusive: bool,
    elements: PhantomData<fn(T)>,
}

/// Elements, where their segments lie, and room for the results.
pub struct Elements<T> {
    pub(super) input: Global<T>,
    pub(super) offsets: Global<u32>,
    pub(super) output: Global<T>,
    pub(super) exclusive: bool,
}

/// Keys in segments, and their order.
pub struct Segmented<T> {
    pub(super) keys: Global<T>,
    pub(super) offsets: Global<u32>,
    pub(super) order: u32,
}

impl<T: Scalar> Lengths for Segmented<T> {
    fn check(&self, n: u32) -> launcher::Result {
        expect_len("keys", self.keys, n)
    }
}

impl<T: Scalar> Lengths for Elements<T> {
    fn check(&self, n: u32) -> launcher::Result {
        expect_len("elements", self.input, n)
    }
}

impl<T: Scalar> sealed::Algorithm for SegmentedSort<T> {
    type Args = Segmented<T>;

    fn rehearsal(&self, n: u32) -> Self::Args {
        Segmented { keys: nowhere(n), offsets: nowhere(self.segments + 1), order: self.order }
    }
}

impl<K: Scalar, V: Scalar> sealed::Algorithm for SegmentedSortPairs<K, V> {
    type Args = Pairs<K, V>;

    fn rehearsal(&self, n: u32) -> Self::Args {
        let (values, offsets) = (nowhere(n), nowhere(self.segments + 1));
        Pairs { keys: nowhere(n), values, moved: nowhere(n), offsets, order: self.order }
    }
}

impl<T: Scalar> sealed::Algorithm for SegmentedArgsort<T> {
    type Args = Pairs<T, u32>;

    fn rehearsal(&self, n: u32) -> Self::Args {
        let (values, offsets) = (nowhere(0), nowhere(self.segments + 1));
        Pairs { keys: nowhere(n), values, moved: nowhere(n), offsets, order: self.order }
    }
}

impl<T: Scalar> sealed::Algorithm for SegmentedReduce<T> {
    type Args = Elements<T>;

    fn rehearsal(&self, n: u32) -> Self::Args {
        let (offsets, output) = (nowhere(self.segments + 1), nowhere(self.segments));
        Elements { input: nowhere(n), offsets, output, exclusive: false }
    }
}

impl<T: Scalar> sealed::Algorithm for SegmentedScan<T> {
    type Args = Elements<T>;

    fn rehearsal(&self, n: u32) -> Self::Args {
        let (offsets, exclusive) = (nowhere(self.segments + 1), self.exclusive);
        Elements { input: nowhere(n), offsets, output: nowhere(n), exclusive }
    }
}

/// A number of segments; there is one offset more.
fn segments(segments: usize) -> Result<u32> {
    count(segments.saturating_add(1)).map(|offsets| offsets - 1)
}

impl<T: SortKey> Plan<SegmentedSort<T>>
where
    Wide<T>: SegmentWord,
{
    /// A sort of `segments` segments of `n` keys, in each the smallest first; see [`crate::vec::segments`].
    ///
    /// # Errors
    /// As for [`Plan::sort`].
    pub fn segmented_sort(engine: &Engine, n: usize, segments: usize) -> Result<Self> {
        Self::segmented_sort_in_order(engine, n, segments, T::ORDER)
    }

    /// The same, the largest first.
    ///
    /// # Errors
    /// As for [`Plan::sort`].
    pub fn segmented_sort_descending(engine: &Engine, n: usize, segments: usize) -> Result<Self> {
        Self::segmented_sort_in_order(engine, n, segments, T::ORDER | DESCENDING)
    }

    fn segmented_sort_in_order(engine: &Engine, n: usize, of: usize, order: u32) -> Result<Self> {
        let algorithm = SegmentedSort { segments: segments(of)?, order, keys: PhantomData };
        let n = count(n)?;
        Self::by(engine, n, algorithm, move |on| {
            let (widened, mut sort) = (Widened::<T::Word>::new(on, n)?, RUNG.sorter::<Wide<T>>(on, n)?);
            Ok(Box::new(move |on, Segmented { keys, offsets, order }| {
                sort.run(on, Segments { keys: widened.widen(on, keys.cast())?, offsets, order })?;
                widened.narrow(on, keys.cast())
            }))
        })
    }

    /// Enqueues a sort of the segments of the keys at `keys`. At `offsets` is where each segment begins and, behind
    /// that, where the last one ends. On a GPU one of its launches may be cooperative: its blocks wait for each other.
    ///
    /// # Errors
    /// As for the `run` of [`Plan::sort`].
    ///
    /// # Safety
    /// As for the `run` of [`Plan::sort`], for the arrays `keys`, `offsets` and `scratch`.
    pub unsafe fn run(
        &self,
        stream: *mut c_void,
        keys: *mut T,
        offsets: *const u32,
        scratch: *mut u8,
        scratch_bytes: usize,
    ) -> Result<()> {
        let SegmentedSort { segments, order, .. } = self.algorithm;
        // SAFETY: as the caller says.
        unsafe {
            let (keys, a) = given("the keys", keys, self.n);
            let (offsets, b) = given("the offsets", offsets, segments + 1);
            self.enqueue(stream, Segmented { keys, offsets, order }, &[a, b], scratch, scratch_bytes)
        }
    }
}

impl<K: SortKey, V: Scalar> Plan<SegmentedSortPairs<K, V>>
where
    Wide<K>: SegmentPlaces,
{
    /// A sort of `segments` segments of `n` keys, in each the smallest first, with a value for each key. Equal keys
    /// keep their order. Values of 4 bytes are moved together with keys of at most 4 bytes; others by the keys' places.
    ///
    /// # Errors
    /// As for [`Plan::sort`].
    pub fn segmented_sort_pairs(engine: &Engine, n: usize, segments: usize) -> Result<Self> {
        Self::segmented_sort_pairs_in_order(engine, n, segments, K::ORDER)
    }

    /// The same, the largest first. Equal keys keep their order here too.
    ///
    /// # Errors
    /// As for [`Plan::sort`].
    pub fn segmented_sort_pairs_descending(engine: &Engine, n: usize, segments: usize) -> Result<Self> {
        Self::segmented_sort_pairs_in_order(engine, n, segments, K::ORDER | DESCENDING)
    }

    fn segmented_sort_pairs_in_order(engine: &Engine, n: usize, of: usize, order: u32) -> Result<Self> {
        let (n, algorithm) = (count(n)?, SegmentedSortPairs { segments: segments(of)?, order, pairs: PhantomData });
        Self::by(engine, n, algorithm, move |on| segments::sort_pairs(on, n))
    }

    /// Enqueues a sort of the segments of the keys at `keys`. The values at `values` go to `moved` in the order of the
    /// sorted keys. Those of keys in no segment are copied if values are moved by places; otherwise they are not
    /// written. `offsets` is as for the `run` of [`Plan::segmented_sort`].
    ///
    /// # Errors
    /// As for the `run` of [`Plan::sort`].
    ///
    /// # Safety
    /// As for the `run` of [`Plan::sort`], for the arrays `keys`, `values`, `moved`, `offsets` and `scratch`.
    #[allow(clippy::too_many_arguments, reason = "arrays")]
    pub unsafe fn run(
        &self,
        stream: *mut c_void,
        keys: *mut K,
        values: *const V,
        moved: *mut V,
        offsets: *const u32,
        scratch: *mut u8,
        scratch_bytes: usize,
    ) -> Result<()> {
        let SegmentedSortPairs { segments, order, .. } = self.algorithm;
        // SAFETY: as the caller says.
        unsafe {
            let ((keys, a), (values, b)) = (given("the keys", keys, self.n), given("the values", values, self.n));
            let (moved, c) = given("the moved values", moved, self.n);
            let (offsets, d) = given("the offsets", offsets, segments + 1);
            let args = Pairs { keys, values, moved, offsets, order };
            self.enqueue(stream, args, &[a, b, c, d], scratch, scratch_bytes)
        }
    }
}

impl<T: SortKey> Plan<SegmentedArgsort<T>>
where
    Wide<T>: SegmentPlaces,
{
    /// The places of `n` keys in the sorted order of each of `segments` segments, see
    /// [`DeviceVec::segmented_argsort`](crate::vec::DeviceVec::segmented_argsort). Equal keys keep their order; a key
    /// in no segment has its own place.
    ///
    /// # Errors
    /// As for [`Plan::sort`].
    pub fn segmented_argsort(engine: &Engine, n: usize, segments: usize) -> Result<Self> {
        Self::segmented_argsort_in_order(engine, n, segments, T::ORDER)
    }

    /// The same with the largest key first. Equal keys keep their order here too.
    ///
    /// # Errors
    /// As for [`Plan::sort`].
    pub fn segmented_argsort_descending(engine: &Engine, n: usize, segments: usize) -> Result<Self> {
        Self::segmented_argsort_in_order(engine, n, segments, T::ORDER | DESCENDING)
    }

    fn segmented_argsort_in_order(engine: &Engine, n: usize, of: usize, order: u32) -> Result<Self> {
        let (n, algorithm) = (count(n)?, SegmentedArgsort { segments: segments(of)?, order, keys: PhantomData });
        Self::by(engine, n, algorithm, move |on| segments::argsort(on, n))
    }

    /// Enqueues a sort of the places of the keys at `keys`, which stay as they are. The places go to `places`.
    /// `offsets` is as for the `run` of [`Plan::segmented_sort`].
    ///
    /// # Errors
    /// As for the `run` of [`Plan::sort`].
    ///
    /// # Safety
    /// As for the `run` of [`Plan::sort`], for the arrays `keys`, `offsets`, `places` and `scratch`.
    pub unsafe fn run(
        &self,
        stream: *mut c_void,
        keys: *const T,
        offsets: *const u32,
        places: *mut u32,
        scratch: *mut u8,
        scratch_bytes: usize,
    ) -> Result<()> {
        let SegmentedArgsort { segments, order, .. } = self.algorithm;
        // SAFETY: as the caller says.
        unsafe {
            let (keys, a) = given("the keys", keys, self.n);
            let (offsets, b) = given("the offsets", offsets, segments + 1);
            let (moved, c) = given("the places", places, self.n);
            let args = Pairs { keys, values: nowhere(0), moved, offsets, order };
            self.enqueue(stream, args, &[a, b, c], scratch, scratch_bytes)
        }
    }
}

impl<T: SegmentReduces> Plan<SegmentedReduce<T>> {
    /// A reduction inside each of `of` segments of `n` elements; an empty one gives the operation's identity.
    ///
    /// # Errors
    /// As for [`Plan::sort`].
    pub fn segmented_reduce(engine: &Engine, n: usize, of: usize, operation: Operation) -> Result<Self> {
        let (n, segments) = (count(n)?, segments(of)?);
        Self::by(engine, n, SegmentedReduce { segments, elements: PhantomData }, move |_| {
            Ok(Box::new(move |on, of| T::segmented_reduce(on, operation, of.input, of.offsets, of.output)))
        })
    }

    /// Enqueues a reduction of the segments of the elements at `input`, which writes a result for each to `output`. Of
    /// `offsets` see the `run` of [`Plan::segmented_sort`].
    ///
    /// # Errors
    /// As for the `run` of [`Plan::sort`].
    ///
    /// # Safety
    /// As for the `run` of [`Plan::sort`], for the arrays `input`, `offsets`, `output` and `scratch`.
    pub unsafe fn run(
        &self,
        stream: *mut c_void,
        input: *const T,
        offsets: *const u32,
        output: *mut T,
        scratch: *mut u8,
        scratch_bytes: usize,
    ) -> Result<()> {
        let all = (input, offsets, output, self.algorithm.segments);
        // SAFETY: the arrays are there, as the caller says; the check of their alignment comes before any launch.
        let (args, arrays) = unsafe { elements((self.n, self.algorithm.segments), all, false) };
        // SAFETY: as the caller says.
        unsafe { self.enqueue(stream, args, &arrays, scratch, scratch_bytes) }
    }
}

impl<T: Scalar> Plan<SegmentedScan<T>>
where
    u32: Combines<T>,
{
    /// Running results inside each of `of` segments of `n` elements, as
    /// [`DeviceVec::segmented_scan`](crate::vec::DeviceVec::segmented_scan) has them. If offsets descend or lie beyond
    /// the end, the results are unspecified.
    ///
    /// # Errors
    /// As for [`Plan::sort`].
    pub fn segmented_scan(engine: &Engine, n: usize, of: usize, by: Operation, exclusive: bool) -> Result<Self> {
        let (n, segments) = (count(n)?, segments(of)?);
        let pass = Pass::of_runs(engine.device(), n);
        Self::by(engine, n, SegmentedScan { segments, exclusive, elements: PhantomData }, move |on| {
            let (numbers, scratch) = (on.scratch::<u32>(n)?, Grouping::by(on, n, pass)?);
            Ok(Box::new(move |on, of| {
                // Nobody asks whether the offsets are right.
                number(on, of.offsets, numbers.view(), nowhere(0))?;
                u32::scan_by_key(on, &scratch, by, (numbers.view(), of.input, of.output), of.exclusive)
            }))
        })
    }

    /// Enqueues a scan of the segments of the elements at `input` into `output`, which may be `input`. `offsets` is
    /// as for the `run` of [`Plan::segmented_sort`]. Fastest if the arrays begin on multiples of 16 bytes.
    ///
    /// # Errors
    /// As for the `run` of [`Plan::sort`].
    ///
    /// # Safety
    /// As for the `run` of [`Plan::sort`], for the arrays `input`, `offsets`, `output` and `scratch`.
    pub unsafe fn run(
        &self,
        stream: *mut c_void,
        input: *const T,
        offsets: *const u32,
        output: *mut T,
        scratch: *mut u8,
        scratch_bytes: usize,
    ) -> Result<()> {
        let SegmentedScan { segments, exclusive, .. } = self.algorithm;
        // SAFETY: the arrays are there, as the caller says; the check of their alignment comes before any launch.
        let (args, [input, offsets, output]) =
            unsafe { elements((self.n, segments), (input, offsets, output, self.n), exclusive) };
        // SAFETY: as the caller says.
        unsafe { self.enqueue(stream, args, &[input.shared(), offsets, output.shared()], scratch, scratch_bytes) }
    }
}

/// The arrays of `n` elements in segments as views, and where they are: input, offsets, output and its length.
///
/// # Safety
/// The arrays are there, if they are where they can be.
unsafe fn elements<T: Scalar>(
    (n, segments): (u32, u32),
    (input, offsets, output, results): (*const T, *const u32, *mut T, u32),
    exclusive: bool,
) -> (Elements<T>, [Array; 3]) {
    // SAFETY: as the caller says.
    let ((input, a), (offsets, b), (output, c)) = unsafe {
        (
            given("the input", input, n),
            given("the offsets", offsets, segments + 1),
            given("the output", output, results),
        )
    };
    (Elements { input, offsets, output, exclusive }, [a, b, c])
}
