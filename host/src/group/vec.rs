//! A vector that lies on all devices of a group.

use super::Group;
use super::sort::{SortRung, Sorter};
use crate::algorithms::Operation;
use crate::algorithms::keys::KeyWord;
use crate::data::{Distribution, Element};
use crate::engine::{Buffer, Engine};
use crate::error::{Error, Result};
use crate::vec::choice::{self, choose};
use rungs_kernels::ladder::reduce::{self, Reduce, Reduces};
use rungs_kernels::ladder::scan::{self, Scan, Scans};
use rungs_kernels::operator::{Max, Min, Operator, Sum};
use simt::{Global, Scalar};

/// One rank's share of a vector: elements in the memory of its device, at most 2³² - 1. The whole is the shares one
/// after the other, by rank. Shares may have any length, 0 too.
///
/// | method | types of elements |
/// | --- | --- |
/// | `sort`, `reduce`, `scan` | `u32`, `i32`, `f32`, `u64`, `i64`, `f64` |
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

/// Elements that a buffer for a share of `len` has: some more, because a sort that exchanges whole buckets of keys brings
/// some more to each device.
pub(super) fn room(len: usize) -> usize {
    len + len / 32 + 4096
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

    /// This rank's share, as an argument for one's own kernel.
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
    pub(super) fn read(&self, start: usize, len: usize) -> Result<Vec<T>> {
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

/// The seed of a rank's share.
pub(crate) fn seed_of(seed: u64, rank: usize) -> u64 {
    seed.wrapping_add((rank as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15))
}

impl<T: Total> ShardedVec<'_, T> {
    /// Sorts the whole in place: each rank gets as many elements of the sorted whole as it gave, the ranks' shares one
    /// after the other. Floats are in the IEEE total order, see [`crate::data`].
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] if scratch memory does not fit on the device; [`Error::Launch`] or [`Error::Cuda`] if a
    /// launch, or a kernel before it, fails; [`Error::Group`] on all ranks if one fails.
    pub fn sort(&mut self) -> Result<()>
    where
        T::Word: KeyWord,
    {
        Sorter::new(self.group, &self.engine)?.sort(self, SortRung::default()).map(|_| ())
    }

    /// All elements of all shares together, on every rank; for none, the identity: 0, or the type's largest or smallest
    /// value. The sum of floats is that of the ranks' sums, in the order of the ranks.
    ///
    /// # Errors
    /// As for [`ShardedVec::sort`].
    pub fn reduce(&self, operation: Operation) -> Result<T>
    where
        dyn Reduce: Reduces<T>,
    {
        Ok(self.totals(operation)?.all)
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
        let before = self.totals(operation)?.before;
        let output = Self::uninit(self.group, &self.engine, self.len)?;
        if self.len == 0 {
            return Ok(output);
        }
        let rung = choose(choice::SCANS, &self.engine, size_of::<T>(), self.len)?;
        let mut scanner = rung.scanner::<T>(&self.engine, self.len as u32, operation)?;
        let args = scan::Elements { input: self.view(), output: output.view(), exclusive };
        // What comes before the share is combined with its first element, for as long as the scan takes: so it is part
        // of every result, and no further pass over the results is needed.
        let first = self.read(0, 1)?[0];
        let moved = self.group.rank() > 0;
        if moved {
            self.buffer.write_at(self.start, &[T::combine(operation, before, first)])?;
        }
        let scanned = scanner.run(&self.engine, args);
        if moved {
            self.buffer.write_at(self.start, &[first])?;
        }
        scanned?;
        if moved && exclusive {
            output.buffer.write_at(output.start, &[before])?;
        }
        Ok(output)
    }

    /// What the shares are combined into: all, and those of the ranks before.
    fn totals(&self, operation: Operation) -> Result<Totals<T>>
    where
        dyn Reduce: Reduces<T>,
    {
        let rung = choose(choice::REDUCTIONS, &self.engine, size_of::<T>(), self.len)?;
        let output: Buffer<T> = self.engine.alloc(1)?;
        let mut reducer = rung.reducer::<T>(&self.engine, self.len as u32, operation)?;
        reducer.run(&self.engine, reduce::Elements { input: self.view(), output: output.view() })?;
        let own: Vec<T> = self.group.all_gather(&output.download()?)?.concat();
        let combine = |totals: &[T]| {
            let mut totals = totals.iter().copied();
            let first = totals.next().unwrap_or_else(|| T::identity(operation));
            totals.fold(first, |a, b| T::combine(operation, a, b))
        };
        Ok(Totals { all: combine(&own), before: combine(&own[..self.group.rank()]) })
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
pub trait Total: Element + Scalar {
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
