//! A vector that lies on all devices of a group.

use super::Group;
use rungs::Operation;
use rungs::data::{Distribution, Element};
use rungs::engine::{AnyBuffer, Buffer, Engine};
use rungs::error::{Error, Result};
use rungs::vec::choice::{self, choose};
use rungs::vec::ordered::OrderedWord;
use rungs::vec::places::PlaceWord;
use rungs_kernels::histogram as kernels;
use rungs_kernels::ladder::Sequence;
use rungs_kernels::ladder::histogram::{self, Counts, Histogram};
use rungs_kernels::ladder::reduce::{self, Reduce, Reduces};
use rungs_kernels::ladder::scan::{self, Scan, Scans};
use rungs_kernels::operator::{Max, Min, Operator, Sum};
use rungs_kernels::sorts::pieces::Pieces;
use simt::launcher::Live;
use simt::{Global, Scalar};

/// One rank's share of a vector: elements in the memory of its device, at most 2³² - 1. The whole is the shares one
/// after the other, by rank. Shares may have any length, 0 too.
///
/// | method | types of elements |
/// | --- | --- |
/// | `sort`, `reduce`, `scan`, `top_k`, `bottom_k`, `select_between` | `u32`, `i32`, `f32`, `u64`, `i64`, `f64` |
/// | `sort_with` | the same, with values of any [`Scalar`] |
/// | `unique` | any [`Scalar`] |
/// | `histogram` | `u8`, `u32` |
///
/// All ranks call a method together, in the same order.
pub struct ShardedVec<'g, T> {
    pub(super) group: &'g dyn Group,
    pub(super) engine: Engine,
    pub(super) buffer: Buffer<T>,
    /// Where the share begins in the buffer, on a multiple of 128 bytes.
    pub(super) start: usize,
    pub(super) len: usize,
}

/// Elements that a buffer for a share of `len` has: some more, because a sort that exchanges whole buckets of keys
/// brings some more to each device.
pub(super) fn room(len: usize) -> usize {
    len + len / 16 + 4096
}

impl<'g, T: Scalar> ShardedVec<'g, T> {
    /// A share of `len` elements; what is in them is unspecified.
    ///
    /// # Errors
    /// [`Error::Usage`] for more than 2³² - 1 elements; [`Error::OutOfMemory`] if they do not fit on the device.
    pub fn uninit(group: &'g dyn Group, engine: &Engine, len: usize) -> Result<Self> {
        if u32::try_from(len).is_err() {
            return Err(Error::Usage(format!("{len} elements are too many for a share; the limit is {}", u32::MAX)));
        }
        Ok(Self { group, engine: engine.clone(), buffer: engine.alloc(room(len))?, start: 0, len })
    }

    /// A copy of `mine` as this rank's share.
    ///
    /// # Errors
    /// As for [`ShardedVec::uninit`].
    pub fn from_slice(group: &'g dyn Group, engine: &Engine, mine: &[T]) -> Result<Self> {
        let vec = Self::uninit(group, engine, mine.len())?;
        vec.buffer.write(mine)?;
        Ok(vec)
    }

    /// A share of `len` elements drawn by the host; ranks draw different ones from the same seed.
    ///
    /// # Errors
    /// As for [`ShardedVec::uninit`].
    pub fn random(
        group: &'g dyn Group,
        engine: &Engine,
        len: usize,
        distribution: Distribution,
        seed: u64,
    ) -> Result<Self>
    where
        T: Element,
    {
        Self::from_slice(group, engine, &distribution.keys::<T>(len as u64, seed_of(seed, group.rank()))?)
    }

    /// The elements of this rank's share.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether this rank's share is empty.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The elements of all shares together.
    ///
    /// # Errors
    /// [`Error::Group`] if another rank failed or is late.
    pub fn total_len(&self) -> Result<u64> {
        self.group.sum(self.len as u64).map(|(all, _)| all)
    }

    /// This rank's share, as an argument for your own kernel.
    pub fn view(&self) -> Global<T> {
        self.buffer.slice(self.start, self.len)
    }

    /// A copy of this rank's share, once everything asked of the engine before is done.
    ///
    /// # Errors
    /// [`Error::Cuda`] if the copy, or a kernel launched before it, fails.
    pub fn to_vec(&self) -> Result<Vec<T>> {
        self.read(0, self.len)
    }

    /// Copies `data` to the elements of this rank's share from `start` on.
    ///
    /// # Errors
    /// [`Error::Cuda`] if the copy, or a kernel launched before it, fails.
    ///
    /// # Panics
    /// If the share ends before.
    pub fn write(&mut self, start: usize, data: &[T]) -> Result<()> {
        let fits = start <= self.len && data.len() <= self.len - start;
        assert!(fits, "{} elements into a share of {} from {start} on", data.len(), self.len);
        self.buffer.write_at(self.start + start, data)
    }

    /// Makes the share that of `other`, which has as many elements.
    ///
    /// # Errors
    /// [`Error::Usage`] if it has not, or is on another engine; [`Error::Cuda`] if the copy fails.
    pub fn copy_from(&mut self, other: &Self) -> Result<()> {
        if other.len != self.len {
            return Err(Error::Usage(format!("a share of {} elements has no room for {}", self.len, other.len)));
        }
        if other.start == 0 && other.buffer.len() <= self.buffer.len() {
            self.start = 0;
            return self.buffer.copy_from(&other.buffer);
        }
        let elements = other.to_vec()?;
        self.start = 0;
        self.buffer.write(&elements)
    }

    /// `len` elements from `start` on.
    ///
    /// # Errors
    /// [`Error::Cuda`] if the copy, or a kernel launched before it, fails.
    pub fn read(&self, start: usize, len: usize) -> Result<Vec<T>> {
        let mut elements = vec![T::default(); len];
        let bytes = size_of_val(&elements[..]);
        // SAFETY: a scalar has no padding, and every byte pattern is one.
        let to = unsafe { std::slice::from_raw_parts_mut(elements.as_mut_ptr().cast(), bytes) };
        let view = self.view().slice(start as u32, len as u32);
        // SAFETY: the view is of this vector's memory.
        unsafe { self.engine.read_at(view.as_ptr().cast(), to) }?;
        Ok(elements)
    }
}

/// A share as memory.
pub struct Part<'a> {
    engine: &'a Engine,
    address: *mut u8,
    bytes: usize,
    mark: &'a Live,
}

impl<'a> Part<'a> {
    /// The share of a vector.
    pub fn of<T: Scalar>(vec: &'a ShardedVec<'_, T>) -> Self {
        let (address, bytes) = (vec.view().as_ptr() as *mut u8, vec.len() * size_of::<T>());
        Self { engine: &vec.engine, address, bytes, mark: AnyBuffer::mark(&vec.buffer) }
    }
}

// SAFETY: `of` alone makes parts: the bytes are those of a vector's view, which is inside of its buffer and begins on a
// multiple of 128 bytes, and the vector stays borrowed.
unsafe impl AnyBuffer for Part<'_> {
    fn engine(&self) -> &Engine {
        self.engine
    }

    fn address(&self) -> *mut u8 {
        self.address
    }

    fn mark(&self) -> &Live {
        self.mark
    }

    fn bytes(&self) -> usize {
        self.bytes
    }

    fn read_bytes(&self, to: &mut [u8]) -> Result<()> {
        // SAFETY: the bytes are part of a buffer that is borrowed.
        unsafe { self.engine.read_at(self.address, to) }
    }
}

/// The seed of a rank's share.
pub fn seed_of(seed: u64, rank: usize) -> u64 {
    seed.wrapping_add((rank as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15))
}

impl<T: Total> ShardedVec<'_, T> {
    /// All elements of all shares together, on every rank; for none, the identity: 0, or the type's largest or smallest
    /// value. The sum of floats is that of the ranks' sums, in the order of the ranks.
    ///
    /// # Errors
    /// As for [`ShardedVec::sort`].
    pub fn reduce(&self, operation: Operation) -> Result<T>
    where
        dyn Reduce: Reduces<T>,
    {
        Ok(Reducer::new(self, operation)?.totals(self)?.all)
    }

    /// Running sums, minima or maxima of the whole; with `exclusive`, element i leaves element i itself out.
    ///
    /// # Errors
    /// As for [`ShardedVec::sort`]; [`Error::OutOfMemory`] also if the result does not fit.
    pub fn scan(&mut self, operation: Operation, exclusive: bool) -> Result<Self>
    where
        dyn Reduce: Reduces<T>,
        dyn Scan: Scans<T>,
    {
        let mut output = Self::uninit(self.group, &self.engine, self.len)?;
        Scanner::new(self, operation)?.scan(self, &mut output, exclusive)?;
        Ok(output)
    }
}

/// Reduces vectors of a length; keeps the memory that it needs.
pub struct Reducer<T: Scalar> {
    operation: Operation,
    launches: Sequence<reduce::Elements<T>>,
    output: Buffer<T>,
}

impl<T: Total> Reducer<T>
where
    dyn Reduce: Reduces<T>,
{
    /// For vectors whose shares are as long as those of `like`.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] if scratch memory does not fit on the device.
    pub fn new(like: &ShardedVec<'_, T>, operation: Operation) -> Result<Self> {
        let rung = choose(choice::REDUCTIONS, &like.engine, size_of::<T>(), like.len)?;
        let launches = rung.reducer::<T>(&like.engine, like.len as u32, operation)?;
        Ok(Self { operation, launches, output: like.engine.alloc(1)? })
    }

    /// What the shares are combined into.
    ///
    /// # Errors
    /// As for [`ShardedVec::reduce`].
    pub fn totals(&mut self, vec: &ShardedVec<'_, T>) -> Result<Totals<T>> {
        let args = reduce::Elements { input: vec.view(), output: self.output.view() };
        self.launches.run(&vec.engine, args)?;
        let own: Vec<T> = vec.group.all_gather(&self.output.download()?)?.concat();
        let combine = |totals: &[T]| {
            let mut totals = totals.iter().copied();
            let first = totals.next().unwrap_or_else(|| T::identity(self.operation));
            totals.fold(first, |a, b| T::combine(self.operation, a, b))
        };
        Ok(Totals { all: combine(&own), before: combine(&own[..vec.group.rank()]) })
    }
}

/// Scans vectors of a length; keeps the memory that it needs.
pub struct Scanner<T: Scalar> {
    totals: Reducer<T>,
    launches: Sequence<scan::Elements<T>>,
}

impl<T: Total> Scanner<T>
where
    dyn Reduce: Reduces<T>,
    dyn Scan: Scans<T>,
{
    /// For vectors whose shares are as long as those of `like`.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] if scratch memory does not fit on the device.
    pub fn new(like: &ShardedVec<'_, T>, operation: Operation) -> Result<Self> {
        let rung = choose(choice::SCANS, &like.engine, size_of::<T>(), like.len)?;
        let launches = rung.scanner::<T>(&like.engine, like.len as u32, operation)?;
        Ok(Self { totals: Reducer::new(like, operation)?, launches })
    }

    /// Scans the elements of `input` into `output`, which has as many. See [`ShardedVec::scan`].
    ///
    /// # Errors
    /// As for [`ShardedVec::scan`].
    pub fn scan(
        &mut self,
        input: &mut ShardedVec<'_, T>,
        output: &mut ShardedVec<'_, T>,
        exclusive: bool,
    ) -> Result<()> {
        let before = self.totals.totals(input)?.before;
        if input.len == 0 {
            return Ok(());
        }
        let args = scan::Elements { input: input.view(), output: output.view(), exclusive };
        // What comes before the share is combined with its first element, for as long as the scan takes: so it is part
        // of every result, and no further pass over the results is needed.
        let first = input.read(0, 1)?[0];
        let moved = input.group.rank() > 0;
        if moved {
            let combined = T::combine(self.totals.operation, before, first);
            input.buffer.write_at(input.start, &[combined])?;
        }
        let scanned = self.launches.run(&input.engine, args);
        if moved {
            input.buffer.write_at(input.start, &[first])?;
        }
        scanned?;
        if moved && exclusive {
            output.buffer.write_at(output.start, &[before])?;
        }
        Ok(())
    }
}

impl<T: Scalar> ShardedVec<'_, T>
where
    dyn Histogram: Counts<T>,
{
    /// How often each number below `bins` occurs in the whole, on every rank. Elements past the last bin are not
    /// counted.
    ///
    /// # Errors
    /// [`Error::Usage`] for no bins or more than there can be; otherwise as for [`ShardedVec::reduce`].
    pub fn histogram(&self, bins: u32) -> Result<Vec<u64>> {
        Counter::new(self, bins)?.count(self)
    }
}

/// Counts the elements of vectors; keeps the memory that it needs.
pub struct Counter<T: Scalar> {
    launches: Sequence<histogram::Keys<T>>,
    counts: Buffer<u32>,
}

impl<T: Scalar> Counter<T>
where
    dyn Histogram: Counts<T>,
{
    /// For this many bins, by the last rung of the ladder.
    ///
    /// # Errors
    /// As for [`ShardedVec::histogram`].
    pub fn new(like: &ShardedVec<'_, T>, bins: u32) -> Result<Self> {
        let launches = kernels::LADDER.default.counter::<T>(&like.engine, bins)?;
        Ok(Self { launches, counts: like.engine.alloc(bins as usize)? })
    }

    /// How often each number occurs in the whole.
    ///
    /// # Errors
    /// As for [`ShardedVec::histogram`].
    pub fn count(&mut self, vec: &ShardedVec<'_, T>) -> Result<Vec<u64>> {
        self.launches.run(&vec.engine, histogram::Keys { keys: vec.view(), counts: self.counts.view() })?;
        let mut sums = vec![0; self.counts.len()];
        for counts in vec.group.all_gather(&self.counts.download()?)? {
            sums.iter_mut().zip(counts).for_each(|(sum, count)| *sum += u64::from(count));
        }
        Ok(sums)
    }
}

/// What shares are combined into.
#[derive(Clone, Copy, Debug)]
pub struct Totals<T> {
    /// All of them.
    pub all: T,
    /// Those of the ranks before.
    pub before: T,
}

/// A type whose values the host can combine as kernels do.
pub trait Total: Element<Word: OrderedWord + PlaceWord + Pieces> + Scalar {
    /// The operation's identity.
    fn identity(operation: Operation) -> Self;
    /// Combines both; `a` comes before `b`.
    fn combine(operation: Operation, a: Self, b: Self) -> Self;
}

macro_rules! totals {
    ($($T:ty)*) => {$(
        impl Total for $T {
            fn identity(operation: Operation) -> Self {
                operation.identity()
            }

            fn combine(operation: Operation, a: Self, b: Self) -> Self {
                match operation {
                    Operation::Sum => <Sum as Operator<$T>>::combine(a, b),
                    Operation::Min => <Min as Operator<$T>>::combine(a, b),
                    Operation::Max => <Max as Operator<$T>>::combine(a, b),
                }
            }
        }
    )*};
}
totals!(u32 i32 f32 u64 i64 f64);
