//! Plans that combine by key: the length of each run of equal keys, its values combined, and scans inside runs.

use super::algorithms::{count, nowhere};
use super::arrays::{Array, given};
use super::{Plan, sealed};
use crate::Operation;
use crate::engine::Engine;
use crate::error::Result;
use crate::vec::launches;
use crate::vec::select::{Combines, SelectWord};
use crate::vec::sorts::{SortKey, Wide, Widened};
use rungs_kernels::ladder::{Lengths, expect_len};
use rungs_kernels::selections::operators::launches::ByKeys;
use rungs_kernels::selections::pass::Pass;
use rungs_kernels::selections::runs::{Grouping, Views};
use simt::{Global, Scalar, launcher};
use std::ffi::c_void;
use std::marker::PhantomData;

/// Counts the elements of each run of equal ones.
pub struct RunLengths<T>(PhantomData<fn(T)>);

/// Combines the values of each run of equal keys.
pub struct ReduceByKey<K, V>(PhantomData<fn(K, V)>);

/// Combines each value with those before it in its run of equal keys.
pub struct ScanByKey<K, V> {
    exclusive: bool,
    types: PhantomData<fn(K, V)>,
}

/// The views of runs.
pub struct Grouped<K, V>(pub(super) Views<K, V>);

impl<K: Scalar, V: Scalar> Lengths for Grouped<K, V> {
    fn check(&self, n: u32) -> launcher::Result {
        expect_len("keys", self.0.keys, n)?;
        expect_len("keys of output", self.0.unique, n)?;
        expect_len("results", self.0.results, n)
    }
}

/// The views of a scan: keys, values, output.
pub struct Scanned<K, V> {
    pub(super) views: (Global<K>, Global<V>, Global<V>),
    pub(super) exclusive: bool,
}

impl<K: Scalar, V: Scalar> Lengths for Scanned<K, V> {
    fn check(&self, n: u32) -> launcher::Result {
        expect_len("keys", self.views.0, n)?;
        expect_len("values", self.views.1, n)?;
        expect_len("results", self.views.2, n)
    }
}

/// Views of nothing.
fn nothing<K: Scalar, V: Scalar>(n: u32, values: u32) -> Grouped<K, V> {
    let (keys, values, limit) = (nowhere(n), nowhere(values), nowhere(0));
    Grouped(Views { keys, values, limit, unique: nowhere(n), results: nowhere(n), count: nowhere(1) })
}

impl<T: Scalar> sealed::Algorithm for RunLengths<T> {
    type Args = Grouped<T, u32>;

    fn rehearsal(&self, n: u32) -> Self::Args {
        nothing(n, 0)
    }
}

impl<K: Scalar, V: Scalar> sealed::Algorithm for ReduceByKey<K, V> {
    type Args = Grouped<K, V>;

    fn rehearsal(&self, n: u32) -> Self::Args {
        nothing(n, n)
    }
}

impl<K: Scalar, V: Scalar> sealed::Algorithm for ScanByKey<K, V> {
    type Args = Scanned<K, V>;

    fn rehearsal(&self, n: u32) -> Self::Args {
        Scanned { views: (nowhere(n), nowhere(n), nowhere(n)), exclusive: self.exclusive }
    }
}

/// The caller's arrays: keys, values or null, limit or null, both outputs, count.
type Arrays<K, V> = (*const K, *const V, *const u32, *mut K, *mut V, *mut u32);

/// The arrays of runs among `n` keys as views, and where they are.
///
/// # Safety
/// The arrays are there, if they are where they can be.
unsafe fn views<K: Scalar, V: Scalar>(
    n: u32,
    of_values: u32,
    (keys, values, limit, unique, results, count): Arrays<K, V>,
) -> (Grouped<K, V>, [Array; 6]) {
    let limits = u32::from(!limit.is_null());
    let arrays = [
        Array::of("the keys", keys, n),
        Array::of("the values", values, of_values),
        Array::of("the limit", limit, limits),
        Array::of("the keys of output", unique, n),
        Array::of("the results", results, n),
        Array::of("the count", count, 1),
    ];
    // SAFETY: as the caller says.
    let views = unsafe {
        Views {
            keys: Global::from_raw(keys.cast_mut(), n),
            values: if of_values == 0 { nowhere(0) } else { Global::from_raw(values.cast_mut(), n) },
            limit: if limits == 0 { nowhere(0) } else { Global::from_raw(limit.cast_mut(), 1) },
            unique: Global::from_raw(unique, n),
            results: Global::from_raw(results, n),
            count: Global::from_raw(count, 1),
        }
    };
    (Grouped(views), arrays)
}

impl<T: SortKey> Plan<RunLengths<T>>
where
    Wide<T>: SelectWord,
{
    /// The first element of each run of elements with the same bits, of up to `n`, and how many elements it has. Of
    /// elements of 8 and 16 bits, those behind the results become zero.
    ///
    /// # Errors
    /// As for [`Plan::sort`].
    pub fn run_lengths(engine: &Engine, n: usize) -> Result<Self> {
        let n = count(n)?;
        Self::run_lengths_by_pass(engine, n, Pass::of_runs(engine.device(), n))
    }

    pub(super) fn run_lengths_by_pass(engine: &Engine, n: u32, pass: Pass) -> Result<Self> {
        Self::by(engine, n, RunLengths(PhantomData), move |on| {
            let mut run = launches::run_lengths::<T>(on, n, pass)?;
            Ok(Box::new(move |on, Grouped(views)| run(on, views)))
        })
    }

    /// Enqueues a search for the runs of the elements at `input`. It writes the first element of each to `output` and
    /// its length to `lengths`, which have room for as many as the input has, and the number of runs to `count`. At
    /// `limit` is the number of elements, if only the device knows it, as the count of a run before; null: the plan's.
    /// Fastest if the arrays begin on multiples of 16 bytes.
    ///
    /// # Errors
    /// As for the `run` of [`Plan::sort`].
    ///
    /// # Safety
    /// As for the `run` of [`Plan::sort`], for the arrays `input`, `limit`, `output`, `lengths`, `count` and `scratch`.
    #[allow(clippy::too_many_arguments, reason = "arrays")]
    pub unsafe fn run(
        &self,
        stream: *mut c_void,
        input: *const T,
        limit: *const u32,
        output: *mut T,
        lengths: *mut u32,
        count: *mut u32,
        scratch: *mut u8,
        scratch_bytes: usize,
    ) -> Result<()> {
        let all = (input, std::ptr::null(), limit, output, lengths, count);
        // SAFETY: the arrays are there, as the caller says; the check of their alignment comes before any launch.
        let (args, arrays) = unsafe { views(self.n, 0, all) };
        // SAFETY: as the caller says.
        unsafe { self.enqueue(stream, args, &arrays, scratch, scratch_bytes) }
    }
}

impl<K: SortKey, V: Scalar> Plan<ReduceByKey<K, V>>
where
    Wide<K>: Combines<V>,
{
    /// The key of each run of equal keys, of up to `n`, and its values combined. The last bits of a sum of floats may
    /// differ from run to run. Behind the results, keys of 8 and 16 bits become zero.
    ///
    /// # Errors
    /// As for [`Plan::sort`].
    pub fn reduce_by_key(engine: &Engine, n: usize, operation: Operation) -> Result<Self> {
        let n = count(n)?;
        Self::reduce_by_key_by_pass(engine, n, operation, Pass::of_runs(engine.device(), n))
    }

    pub(super) fn reduce_by_key_by_pass(engine: &Engine, n: u32, operation: Operation, pass: Pass) -> Result<Self> {
        Self::by(engine, n, ReduceByKey(PhantomData), move |on| {
            let mut reduce = launches::reduce_by_key::<K, V>(on, n, operation, pass)?;
            Ok(Box::new(move |on, Grouped(views)| reduce(on, views)))
        })
    }
}

impl<K: SortKey, V: Scalar> Plan<ReduceByKey<K, V>> {
    /// The key of each run of equal keys, of up to `n`, and the first of its values. Behind the results, the output of
    /// values is unspecified.
    ///
    /// # Errors
    /// As for [`Plan::sort`].
    pub fn unique_by_key(engine: &Engine, n: usize) -> Result<Self>
    where
        Wide<K>: Combines<u32>,
    {
        let n = count(n)?;
        Self::by(engine, n, ReduceByKey(PhantomData), move |on| {
            let mut unique = launches::unique_by_key::<K, V>(on, n)?;
            Ok(Box::new(move |on, Grouped(views)| unique(on, views)))
        })
    }

    /// The key of each run of equal keys, of up to `n`, and its values combined by an operator of your own, in their
    /// order. `kernels` are the operator's, as for [`Plan::reduce_with`]. Behind the results, keys of 8 and 16 bits
    /// become zero.
    ///
    /// # Errors
    /// As for [`Plan::sort`].
    pub fn reduce_by_key_with<S>(engine: &Engine, n: usize, _kernels: S) -> Result<Self>
    where
        S: ByKeys<Wide<K>, Element = V>,
    {
        let n = count(n)?;
        Self::reduce_by_key_with_by_pass::<S>(engine, n, Pass::of_runs(engine.device(), n))
    }

    pub(super) fn reduce_by_key_with_by_pass<S>(engine: &Engine, n: u32, pass: Pass) -> Result<Self>
    where
        S: ByKeys<Wide<K>, Element = V>,
    {
        Self::by(engine, n, ReduceByKey(PhantomData), move |on| {
            let mut reduce = launches::reduce_by_key_with::<K, S>(on, n, pass)?;
            Ok(Box::new(move |on, Grouped(views)| reduce(on, views)))
        })
    }

    /// Enqueues a reduction of the values at `values` by the keys at `keys`. It writes the key of each run to `output`
    /// and its values, combined, to `results`, which have room for as many as there are keys, and the number of runs to
    /// `count`. `limit` and alignment are as for the `run` of [`Plan::run_lengths`].
    ///
    /// # Errors
    /// As for the `run` of [`Plan::sort`].
    ///
    /// # Safety
    /// As for the `run` of [`Plan::sort`], for the arrays `keys`, `values`, `limit`, `output`, `results`, `count` and
    /// `scratch`.
    #[allow(clippy::too_many_arguments, reason = "arrays")]
    pub unsafe fn run(
        &self,
        stream: *mut c_void,
        keys: *const K,
        values: *const V,
        limit: *const u32,
        output: *mut K,
        results: *mut V,
        count: *mut u32,
        scratch: *mut u8,
        scratch_bytes: usize,
    ) -> Result<()> {
        // SAFETY: the arrays are there, as the caller says; the check of their alignment comes before any launch.
        let (args, arrays) = unsafe { views(self.n, self.n, (keys, values, limit, output, results, count)) };
        // SAFETY: as the caller says.
        unsafe { self.enqueue(stream, args, &arrays, scratch, scratch_bytes) }
    }
}

impl<K: SortKey, V: Scalar> Plan<ScanByKey<K, V>>
where
    Wide<K>: Combines<V>,
{
    /// Running sums, minima or maxima of `n` values inside each run of equal keys; with `exclusive`, each leaves its
    /// own value out, and the first of a run is the operation's identity.
    ///
    /// # Errors
    /// As for [`Plan::sort`].
    pub fn scan_by_key(engine: &Engine, n: usize, operation: Operation, exclusive: bool) -> Result<Self> {
        let n = count(n)?;
        Self::scan_by_key_by_pass(engine, n, operation, exclusive, Pass::of_runs(engine.device(), n))
    }

    pub(super) fn scan_by_key_by_pass(
        engine: &Engine,
        n: u32,
        operation: Operation,
        exclusive: bool,
        pass: Pass,
    ) -> Result<Self> {
        Self::by(engine, n, ScanByKey { exclusive, types: PhantomData }, move |on| {
            let (words, scratch) = (Widened::<K::Word>::new(on, n)?, Grouping::by(on, n, pass)?);
            Ok(Box::new(move |on, Scanned { views: (keys, values, output), exclusive }| {
                let views = (words.widen(on, keys.cast())?, values, output);
                Wide::<K>::scan_by_key(on, &scratch, operation, views, exclusive)
            }))
        })
    }

    /// Enqueues a scan of the values at `values` by the keys at `keys` into `output`, which may be `values`. Fastest if
    /// the arrays begin on multiples of 16 bytes.
    ///
    /// # Errors
    /// As for the `run` of [`Plan::sort`].
    ///
    /// # Safety
    /// As for the `run` of [`Plan::sort`], for the arrays `keys`, `values`, `output` and `scratch`.
    pub unsafe fn run(
        &self,
        stream: *mut c_void,
        keys: *const K,
        values: *const V,
        output: *mut V,
        scratch: *mut u8,
        scratch_bytes: usize,
    ) -> Result<()> {
        // SAFETY: as the caller says.
        unsafe {
            let ((keys, a), (values, b)) = (given("the keys", keys, self.n), given("the values", values, self.n));
            let (output, c) = given("the output", output, self.n);
            let args = Scanned { views: (keys, values, output), exclusive: self.algorithm.exclusive };
            self.enqueue(stream, args, &[a, b.shared(), c.shared()], scratch, scratch_bytes)
        }
    }
}
