//! Plans that keep some of the elements, and may write the others: those of a range, of a functor, those with a flag,
//! the first of each run.

use super::algorithms::{count, nowhere};
use super::arrays::given;
use super::{Plan, sealed};
use crate::engine::Engine;
use crate::error::Result;
use crate::vec::launches::{self, Kept};
use crate::vec::select::{SelectWord, inclusive};
use crate::vec::sorts::{SortKey, Wide};
use rungs_kernels::selections::pass::{Pass, Views};
use rungs_kernels::transform::Functor;
use simt::{Argument, Global, Kernel, Scalar};
use std::ffi::c_void;
use std::marker::PhantomData;
use std::ops::RangeBounds;
use std::ptr::{null, null_mut};

/// Views of nothing.
fn nothing<T: Scalar>(n: u32, flags: u32, rest: u32) -> Kept<T> {
    let views = Views { input: nowhere(n), limit: nowhere(0), output: nowhere(n), count: nowhere(1) };
    Kept { views, flags: nowhere(n * flags), rest: (nowhere(n * rest), nowhere(rest)) }
}

/// Algorithms: whether there are flags, and whether the others are written.
macro_rules! sifts {
    ($($doc:literal $Sift:ident: $flags:literal, $rest:literal;)*) => {$(
        #[doc = $doc]
        pub struct $Sift<T>(PhantomData<fn(T)>);

        impl<T: Scalar> sealed::Algorithm for $Sift<T> {
            type Args = Kept<T>;

            fn rehearsal(&self, n: u32) -> Self::Args {
                nothing(n, $flags, $rest)
            }
        }
    )*};
}
sifts! {
    "Keeps some of the elements, in order: those of a range, or of a functor, or the first of each run." Select: 0, 0;
    "Keeps the elements with a flag, in order." SelectFlagged: 1, 0;
    "Keeps the elements of a range, or of a functor, in order, and writes the others." Partition: 0, 1;
    "Keeps the elements with a flag, in order, and writes the others." PartitionFlagged: 1, 1;
}

/// The caller's arrays: input, flags, limit or null; output and count; those of the others. Null: there are none.
type Arrays<T> = ((*const T, *const u8, *const u32), (*mut T, *mut u32), (*mut T, *mut u32));

impl<A: sealed::Algorithm<Args = Kept<T>>, T: Scalar> Plan<A> {
    /// Enqueues a run.
    ///
    /// # Safety
    /// As for [`Plan::enqueue`].
    unsafe fn sift(
        &self,
        stream: *mut c_void,
        ((input, flags, limit), (output, count), (rest, rest_count)): Arrays<T>,
        (scratch, scratch_bytes): (*mut u8, usize),
    ) -> Result<()> {
        let Kept { flags: of_flags, rest: (of_rest, counts), .. } = self.algorithm.rehearsal(self.n);
        // SAFETY: as the caller says.
        unsafe {
            let (input, a) = given("the input", input, self.n);
            let (flags, b) = given("the flags", flags, of_flags.len());
            let (limit, c) = given("the limit", limit, u32::from(!limit.is_null()));
            let (output, d) = given("the output", output, self.n);
            let (count, e) = given("the count", count, 1);
            let (others, f) = given("the other elements", rest, of_rest.len());
            let (number, g) = given("the number of the others", rest_count, counts.len());
            let args = Kept { views: Views { input, limit, output, count }, flags, rest: (others, number) };
            self.enqueue(stream, args, &[a, b, c, d, e, f, g], scratch, scratch_bytes)
        }
    }
}

impl<T: Scalar> Plan<Select<T>> {
    /// A selection of the elements in a range from up to `n`; they keep their order. Bounds are in the order that
    /// [`Plan::sort`] sorts by. Behind the kept ones, elements of 8 and 16 bits become zero.
    ///
    /// # Errors
    /// As for [`Plan::sort`].
    pub fn select_between(engine: &Engine, n: usize, range: impl RangeBounds<T>) -> Result<Self>
    where
        T: SortKey,
        Wide<T>: SelectWord,
    {
        let n = count(n)?;
        Self::select_by_pass(engine, n, range, Pass::of(engine.device(), n))
    }

    pub(super) fn select_by_pass(engine: &Engine, n: u32, range: impl RangeBounds<T>, pass: Pass) -> Result<Self>
    where
        T: SortKey,
        Wide<T>: SelectWord,
    {
        let bounds = inclusive(range);
        Self::by(engine, n, Select(PhantomData), move |on| launches::between::<T>(on, n, pass, bounds))
    }

    /// A selection of the elements for which a functor is true from up to `n`. `kernel` is the functor's, see
    /// [`compact`](rungs_kernels::selections::compact), and on a GPU the engine has it, see [`Engine::add_kernels`].
    ///
    /// # Errors
    /// As for [`Plan::sort`].
    pub fn select_if<F, K>(engine: &Engine, n: usize, kernel: K, test: F) -> Result<Self>
    where
        F: Functor<T, Out = bool> + Argument,
        K: Kernel<Args = (Global<T>, Global<u32>, Global<T>, Global<u32>, Global<u64>, F)>,
    {
        let n = count(n)?;
        Self::by(engine, n, Select(PhantomData), move |on| launches::by_functor(on, n, kernel, test))
    }

    /// The first element of each run of elements with the same bits, of up to `n`.
    ///
    /// # Errors
    /// As for [`Plan::sort`].
    pub fn unique(engine: &Engine, n: usize) -> Result<Self> {
        let n = count(n)?;
        Self::unique_by_pass(engine, n, Pass::of(engine.device(), n))
    }

    pub(super) fn unique_by_pass(engine: &Engine, n: u32, pass: Pass) -> Result<Self> {
        Self::by(engine, n, Select(PhantomData), move |on| launches::unique(on, n, pass))
    }

    /// Enqueues a selection from the elements at `input`. It writes those that it keeps to `output`, which has room for
    /// all, and their number to `count`. At `limit` is the number of elements, if only the device knows it, as the
    /// count of a run before; null: the plan's. Fastest if input and output begin on multiples of 16 bytes.
    ///
    /// # Errors
    /// As for the `run` of [`Plan::sort`].
    ///
    /// # Safety
    /// As for the `run` of [`Plan::sort`], for the arrays `input`, `limit`, `output`, `count` and `scratch`.
    #[allow(clippy::too_many_arguments, reason = "arrays")]
    pub unsafe fn run(
        &self,
        stream: *mut c_void,
        input: *const T,
        limit: *const u32,
        output: *mut T,
        count: *mut u32,
        scratch: *mut u8,
        scratch_bytes: usize,
    ) -> Result<()> {
        let arrays = ((input, null(), limit), (output, count), (null_mut(), null_mut()));
        // SAFETY: as the caller says.
        unsafe { self.sift(stream, arrays, (scratch, scratch_bytes)) }
    }
}

impl<T: Scalar> Plan<SelectFlagged<T>> {
    /// A selection of the elements whose flags are not zero from up to `n`; they keep their order.
    ///
    /// # Errors
    /// As for [`Plan::sort`].
    pub fn select_flagged(engine: &Engine, n: usize) -> Result<Self> {
        let n = count(n)?;
        Self::by(engine, n, SelectFlagged(PhantomData), move |on| launches::flagged(on, n))
    }

    /// Enqueues a selection by the flags at `flags`, one byte for each element; the other arrays are those of
    /// [`Plan::select_between`].
    ///
    /// # Errors
    /// As for the `run` of [`Plan::sort`].
    ///
    /// # Safety
    /// As for the `run` of [`Plan::select_between`]; the flags are in such memory, too.
    #[allow(clippy::too_many_arguments, reason = "arrays")]
    pub unsafe fn run(
        &self,
        stream: *mut c_void,
        input: *const T,
        flags: *const u8,
        limit: *const u32,
        output: *mut T,
        count: *mut u32,
        scratch: *mut u8,
        scratch_bytes: usize,
    ) -> Result<()> {
        let arrays = ((input, flags, limit), (output, count), (null_mut(), null_mut()));
        // SAFETY: as the caller says.
        unsafe { self.sift(stream, arrays, (scratch, scratch_bytes)) }
    }
}

impl<T: Scalar> Plan<Partition<T>> {
    /// A partition of up to `n` elements into those in a range and the others; both keep their order. Bounds are as for
    /// [`Plan::select_between`]. Behind both outputs, elements of 8 and 16 bits become zero.
    ///
    /// # Errors
    /// As for [`Plan::sort`].
    pub fn partition_between(engine: &Engine, n: usize, range: impl RangeBounds<T>) -> Result<Self>
    where
        T: SortKey,
        Wide<T>: SelectWord,
    {
        let (n, bounds) = (count(n)?, inclusive(range));
        Self::by(engine, n, Partition(PhantomData), move |on| launches::parted_by_bounds::<T>(on, n, bounds))
    }

    /// A partition by a functor. `kernel` is the functor's, which calls
    /// [`partition`](rungs_kernels::selections::compact::partition), and on a GPU the engine has it.
    ///
    /// # Errors
    /// As for [`Plan::sort`].
    #[rustfmt::skip]
    pub fn partition_if<F, K>(engine: &Engine, n: usize, kernel: K, test: F) -> Result<Self>
    where
        F: Functor<T, Out = bool> + Argument,
        K: Kernel<Args = (Global<T>, Global<u32>, Global<T>, Global<u32>, Global<T>, Global<u32>, Global<u64>, F)>,
    {
        let n = count(n)?;
        Self::by(engine, n, Partition(PhantomData), move |on| launches::parted_by_functor(on, n, kernel, test))
    }

    /// Enqueues a partition, with arrays as for the `run` of [`Plan::select_between`]. The elements that are not kept
    /// go to `rest`, which has room for all, and their number to `rest_count`.
    ///
    /// # Errors
    /// As for the `run` of [`Plan::sort`].
    ///
    /// # Safety
    /// As for the `run` of [`Plan::select_between`]; `rest` and `rest_count` are such memory, too.
    #[allow(clippy::too_many_arguments, reason = "arrays")]
    pub unsafe fn run(
        &self,
        stream: *mut c_void,
        input: *const T,
        limit: *const u32,
        output: *mut T,
        count: *mut u32,
        rest: *mut T,
        rest_count: *mut u32,
        scratch: *mut u8,
        scratch_bytes: usize,
    ) -> Result<()> {
        let arrays = ((input, null(), limit), (output, count), (rest, rest_count));
        // SAFETY: as the caller says.
        unsafe { self.sift(stream, arrays, (scratch, scratch_bytes)) }
    }
}

impl<T: Scalar> Plan<PartitionFlagged<T>> {
    /// A partition of up to `n` elements into those whose flags are not zero and the others; both keep their order.
    ///
    /// # Errors
    /// As for [`Plan::sort`].
    pub fn partition_flagged(engine: &Engine, n: usize) -> Result<Self> {
        let n = count(n)?;
        Self::by(engine, n, PartitionFlagged(PhantomData), move |on| launches::parted_by_flags(on, n))
    }

    /// Enqueues a partition by the flags at `flags`, one byte for each element; the other arrays are those of
    /// [`Plan::partition_between`].
    ///
    /// # Errors
    /// As for the `run` of [`Plan::sort`].
    ///
    /// # Safety
    /// As for the `run` of [`Plan::partition_between`]; the flags are in such memory, too.
    #[allow(clippy::too_many_arguments, reason = "arrays")]
    pub unsafe fn run(
        &self,
        stream: *mut c_void,
        input: *const T,
        flags: *const u8,
        limit: *const u32,
        output: *mut T,
        count: *mut u32,
        rest: *mut T,
        rest_count: *mut u32,
        scratch: *mut u8,
        scratch_bytes: usize,
    ) -> Result<()> {
        let arrays = ((input, flags, limit), (output, count), (rest, rest_count));
        // SAFETY: as the caller says.
        unsafe { self.sift(stream, arrays, (scratch, scratch_bytes)) }
    }
}
