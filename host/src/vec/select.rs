//! Elements selected, partitioned, and combined by key.
//!
//! Only the device knows how many elements a selection keeps. [`Selected`] has room for as many as there were, and the
//! number in device memory. It takes the same calls as a vector, so a chain of them runs without a copy back; the host
//! learns the number when it asks for it.
//!
//! ```
//! use rungs::Operation;
//! use rungs::engine::Engine;
//! use rungs::vec::DeviceVec;
//!
//! # fn main() -> rungs::Result<()> {
//! let engine = Engine::simulator();
//! let mut keys = DeviceVec::from_slice(&engine, &[5u32, 1, 9, 5, 2, 1, 5])?;
//! let mut values = DeviceVec::from_slice(&engine, &[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0])?;
//! assert_eq!(keys.select_between(2..6)?.to_vec()?, [5, 5, 2, 5]);
//! let (small, large) = keys.partition_between(..5)?;
//! assert_eq!((small.to_vec()?, large.to_vec()?), (vec![1, 2, 1], vec![5, 9, 5, 5]));
//!
//! // The sum of the values of each key.
//! keys.sort_with(&mut values)?;
//! let (unique, sums) = keys.reduce_by_key(&values, Operation::Sum)?;
//! assert_eq!(unique.to_vec()?, [1, 2, 5, 9]);
//! assert_eq!(sums.to_vec()?, [8.0, 5.0, 12.0, 3.0]);
//!
//! // A chain: only the last line asks for the number.
//! let (_, lengths) = keys.select_between(..9)?.run_lengths()?;
//! assert_eq!(lengths.to_vec()?, [2, 1, 3]);
//! # Ok(())
//! # }
//! ```
//!
//! Elements keep their order. Bounds are in the order that [`DeviceVec::sort`] sorts by, for floats the IEEE total
//! order: `-0.0` is below `0.0`, and NaN with a positive sign above infinity, so `0.0..` keeps it and
//! `0.0..=f32::INFINITY` does not. Runs are of elements with the same bits: `-0.0` and `0.0` differ, and equal NaNs do
//! not.

use super::DeviceVec;
use crate::Operation;
use crate::data::Element;
use crate::engine::{Engine, Geometry};
use crate::error::{Error, Result};
use crate::keys::{KeyWord, order_of};
use rungs_kernels::keys::Word;
use rungs_kernels::operator::{Max, Min, Operator, Sum};
use rungs_kernels::selections::by_key::{self, reduce_by_key, run_lengths, scan_by_key};
use rungs_kernels::selections::kernels::*;
use rungs_kernels::selections::{BLOCK, compact};
use rungs_kernels::transform::Functor;
use simt::launcher::{Launcher, Scratch};
use simt::{Argument, Global, Kernel, Scalar};
use std::ops::{Bound, RangeBounds};
use std::rc::Rc;

/// Elements that a call has kept, in device memory with their number.
pub struct Selected<T> {
    items: DeviceVec<T>,
    /// One word; the results of one call may share it.
    count: Rc<DeviceVec<u32>>,
}

impl<T: Scalar> Selected<T> {
    /// Room for `len` elements, and none of them yet.
    fn none(engine: &Engine, len: usize) -> Result<Self> {
        let count = DeviceVec::uninit(engine, 1)?;
        // Where there are no elements no block writes the number.
        count.buffer.fill(0)?;
        Ok(Self { items: DeviceVec::uninit(engine, len)?, count: Rc::new(count) })
    }

    /// How many elements, once everything asked of the engine before is done.
    ///
    /// # Errors
    /// [`Error::Cuda`] if the copy, or a kernel launched before it, fails.
    pub fn count(&self) -> Result<usize> {
        Ok(self.count.to_vec()?[0] as usize)
    }

    /// Room for all elements that there were; only the first [`Selected::count`] are specified.
    pub fn room(&self) -> &DeviceVec<T> {
        &self.items
    }

    /// The number of elements, one word, as an argument for one's own kernel.
    pub fn count_view(&self) -> Global<u32> {
        self.count.view()
    }

    /// A copy of the elements.
    ///
    /// # Errors
    /// As for [`Selected::count`].
    pub fn to_vec(&self) -> Result<Vec<T>> {
        self.to_device_vec()?.to_vec()
    }

    /// A vector of the elements alone.
    ///
    /// # Errors
    /// As for [`Selected::count`]; [`Error::OutOfMemory`] if it does not fit on the engine.
    pub fn to_device_vec(&self) -> Result<DeviceVec<T>> {
        let count = self.count()?;
        let vec = DeviceVec::uninit(self.items.engine(), count)?;
        vec.buffer.copy_part(0, &self.items.buffer, 0..count)?;
        Ok(vec)
    }
}

/// What a call reads: elements, and how many of them there are, if the host does not know.
pub(super) struct Input<'v, T> {
    items: &'v DeviceVec<T>,
    limit: Global<u32>,
}

/// The views of a selection: input, limit, output, count, workspace.
type Views<T> = (Global<T>, Global<u32>, Global<T>, Global<u32>, Global<u64>);

/// The views of a partition: input, limit, output, count, rest, its count, workspace.
type Halves<T> = (Global<T>, Global<u32>, Global<T>, Global<u32>, Global<T>, Global<u32>, Global<u64>);

/// The arguments of `reduce_by_key`: keys, values, limit, output of both, count, workspace.
type RunArgs<K, V> = (Global<K>, Global<V>, Global<u32>, Global<K>, Global<V>, Global<u32>, Global<u64>);

/// The arguments of `run_lengths`: keys, limit, output of keys and of lengths, count, workspace.
type LengthArgs<K> = (Global<K>, Global<u32>, Global<K>, Global<u32>, Global<u32>, Global<u64>);

/// The arguments of `scan_by_key`: keys, values, output, workspace, whether it is exclusive.
type ScanArgs<K, V> = (Global<K>, Global<V>, Global<V>, Global<u64>, u32);

/// Both results of a partition.
type Parts<T> = (Selected<T>, Selected<T>);

impl<T: Scalar> Input<'_, T> {
    fn n(&self) -> u32 {
        self.items.len() as u32
    }

    fn engine(&self) -> &Engine {
        &self.items.engine
    }

    fn geometry(&self) -> Geometry {
        Geometry::linear(compact::grid(self.n()), BLOCK).shared(compact::shared_bytes::<T>())
    }

    /// States of tiles, all zero.
    fn workspace(&self, words: u32) -> Result<Scratch<u64>> {
        let on: &dyn Launcher = self.engine();
        Ok(on.zeros(words)?)
    }

    /// Launches a selection.
    fn select(&self, launch: impl FnOnce(&Engine, Geometry, Views<T>) -> Result<()>) -> Result<Selected<T>> {
        let selected = Selected::none(self.engine(), self.items.len())?;
        let workspace = self.workspace(compact::workspace(self.n()))?;
        let (output, count) = (selected.items.view(), selected.count.view());
        let views = (self.items.view(), self.limit, output, count, workspace.view());
        launch(self.engine(), self.geometry(), views)?;
        Ok(selected)
    }

    /// Launches a partition.
    fn partition(&self, launch: impl FnOnce(&Engine, Geometry, Halves<T>) -> Result<()>) -> Result<Parts<T>> {
        let kept = Selected::none(self.engine(), self.items.len())?;
        let rest = Selected::none(self.engine(), self.items.len())?;
        let workspace = self.workspace(compact::workspace(self.n()))?;
        let (output, count) = (kept.items.view(), kept.count.view());
        let (other, others) = (rest.items.view(), rest.count.view());
        let views = (self.items.view(), self.limit, output, count, other, others, workspace.view());
        launch(self.engine(), self.geometry(), views)?;
        Ok((kept, rest))
    }

    /// Refuses another vector that does not go with the elements.
    pub(super) fn expect<V: Scalar>(&self, what: &str, other: &DeviceVec<V>) -> Result<()> {
        let (n, of_other) = (self.items.len(), other.len());
        if n != of_other {
            return Err(Error::Usage(format!("{n} elements cannot take {of_other} {what}; there must be as many")));
        }
        if !self.engine().is(&other.engine) {
            return Err(Error::Usage(format!("elements and {what} must be on the same engine")));
        }
        Ok(())
    }

    fn flagged(&self, flags: &DeviceVec<u8>) -> Result<Selected<T>> {
        fn of<W: Scalar, T: Scalar>(e: &Engine, geometry: Geometry, v: Views<T>, flags: Global<u8>) -> Result<()>
        where
            select_flagged<W>: Kernel<Args = (Global<W>, Global<u32>, Global<W>, Global<u32>, Global<u64>, Global<u8>)>,
        {
            e.launch(select_flagged::<W>::default(), geometry, (v.0.cast(), v.1, v.2.cast(), v.3, v.4, flags))
        }
        self.expect("flags", flags)?;
        self.select(|engine, geometry, views| match size_of::<T>() {
            1 => of::<u8, T>(engine, geometry, views, flags.view()),
            2 => of::<u16, T>(engine, geometry, views, flags.view()),
            4 => of::<u32, T>(engine, geometry, views, flags.view()),
            _ => of::<u64, T>(engine, geometry, views, flags.view()),
        })
    }

    fn parted_by_flags(&self, flags: &DeviceVec<u8>) -> Result<Parts<T>> {
        #[rustfmt::skip]
        fn of<W: Scalar, T: Scalar>(e: &Engine, geometry: Geometry, v: Halves<T>, flags: Global<u8>) -> Result<()>
        where
            partition_flagged<W>: Kernel<Args = (
                Global<W>, Global<u32>, Global<W>, Global<u32>, Global<W>, Global<u32>, Global<u64>, Global<u8>,
            )>,
        {
            let args = (v.0.cast(), v.1, v.2.cast(), v.3, v.4.cast(), v.5, v.6, flags);
            e.launch(partition_flagged::<W>::default(), geometry, args)
        }
        self.expect("flags", flags)?;
        self.partition(|engine, geometry, views| match size_of::<T>() {
            1 => of::<u8, T>(engine, geometry, views, flags.view()),
            2 => of::<u16, T>(engine, geometry, views, flags.view()),
            4 => of::<u32, T>(engine, geometry, views, flags.view()),
            _ => of::<u64, T>(engine, geometry, views, flags.view()),
        })
    }

    fn unique(&self) -> Result<Selected<T>> {
        fn of<W: Scalar, T: Scalar>(e: &Engine, geometry: Geometry, v: Views<T>) -> Result<()>
        where
            unique<W>: Kernel<Args = (Global<W>, Global<u32>, Global<W>, Global<u32>, Global<u64>)>,
        {
            e.launch(unique::<W>::default(), geometry, (v.0.cast(), v.1, v.2.cast(), v.3, v.4))
        }
        self.select(|engine, geometry, views| match size_of::<T>() {
            1 => of::<u8, T>(engine, geometry, views),
            2 => of::<u16, T>(engine, geometry, views),
            4 => of::<u32, T>(engine, geometry, views),
            _ => of::<u64, T>(engine, geometry, views),
        })
    }

    fn between(&self, range: impl RangeBounds<T>) -> Result<Selected<T>>
    where
        T: Element,
        T::Word: SelectWord,
    {
        let (bounds, order) = (inclusive::<T>(range), order_of(T::DTYPE));
        self.select(|engine, geometry, (input, limit, output, count, workspace)| {
            let views = (input.cast(), limit, output.cast(), count, workspace);
            T::Word::select_between(engine, geometry, views, bounds, order)
        })
    }

    fn parted_by_bounds(&self, range: impl RangeBounds<T>) -> Result<Parts<T>>
    where
        T: Element,
        T::Word: SelectWord,
    {
        let (bounds, order) = (inclusive::<T>(range), order_of(T::DTYPE));
        self.partition(|engine, geometry, (input, limit, output, count, rest, others, workspace)| {
            let views = (input.cast(), limit, output.cast(), count, rest.cast(), others, workspace);
            T::Word::partition_between(engine, geometry, views, bounds, order)
        })
    }

    /// Launches a kernel that finds runs and makes a value of each.
    fn runs<V: Scalar>(
        &self,
        words: u32,
        launch: impl FnOnce(&Engine, Geometry, &Selected<T>, &Selected<V>, Global<u64>) -> Result<()>,
    ) -> Result<(Selected<T>, Selected<V>)> {
        let unique = Selected::none(self.engine(), self.items.len())?;
        let items = DeviceVec::uninit(self.engine(), self.items.len())?;
        let sums = Selected { items, count: unique.count.clone() };
        let workspace = self.workspace(words)?;
        let geometry = Geometry::linear(by_key::grid(self.n()), BLOCK).shared(by_key::shared_bytes::<T, V>());
        launch(self.engine(), geometry, &unique, &sums, workspace.view())?;
        Ok((unique, sums))
    }

    fn run_lengths(&self) -> Result<(Selected<T>, Selected<u32>)>
    where
        T: Element,
        T::Word: SelectWord,
    {
        self.runs::<u32>(by_key::workspace::<u32>(self.n()), |engine, geometry, unique, lengths, workspace| {
            let (input, output) = (self.items.view().cast(), unique.items.view().cast());
            let args = (input, self.limit, output, lengths.items.view(), unique.count.view(), workspace);
            T::Word::run_lengths(engine, geometry, args)
        })
    }

    fn reduce_by_key<V>(&self, values: &DeviceVec<V>, operation: Operation) -> Result<(Selected<T>, Selected<V>)>
    where
        V: Scalar,
        T: Element,
        T::Word: Combines<V>,
    {
        self.expect("values", values)?;
        self.runs::<V>(T::Word::words(self.n()), |engine, geometry, unique, sums, workspace| {
            let (keys, output) = (self.items.view().cast(), unique.items.view().cast());
            let args = (keys, values.view(), self.limit, output, sums.items.view(), unique.count.view(), workspace);
            T::Word::reduce_by_key(engine, operation, geometry, args)
        })
    }
}

/// The words of the first and the last key of a range, as bits; the first is above the last in an empty range.
fn inclusive<T: Element<Word: Scalar>>(range: impl RangeBounds<T>) -> (u64, u64) {
    let word = |key: &T| key.to_word().to_bits_64();
    let most = u64::MAX >> (64 - 8 * size_of::<T>());
    let low = match range.start_bound() {
        Bound::Included(key) => Some(word(key)),
        // Nothing is above the largest.
        Bound::Excluded(key) => Some(word(key)).filter(|&word| word < most).map(|word| word + 1),
        Bound::Unbounded => Some(0),
    };
    let high = match range.end_bound() {
        Bound::Included(key) => Some(word(key)),
        Bound::Excluded(key) => word(key).checked_sub(1),
        Bound::Unbounded => Some(most),
    };
    low.zip(high).unwrap_or((1, 0))
}

/// A word as which elements are compared.
#[diagnostic::on_unimplemented(
    message = "elements that are stored in `{Self}` are not selected by bounds or runs",
    note = "u32, i32, f32, u64, i64 and f64 are"
)]
pub trait SelectWord: KeyWord + Word {
    /// Launches a selection by the bits of its first and last word.
    ///
    /// # Errors
    /// [`Error::Launch`] or [`Error::Cuda`] if the launch fails.
    fn select_between(on: &Engine, geometry: Geometry, v: Views<Self>, bounds: (u64, u64), order: u32) -> Result<()>;

    /// Launches a partition by the bits of its first and last word.
    ///
    /// # Errors
    /// [`Error::Launch`] or [`Error::Cuda`] if the launch fails.
    #[rustfmt::skip]
    fn partition_between(
        on: &Engine, geometry: Geometry, v: Halves<Self>, bounds: (u64, u64), order: u32,
    ) -> Result<()>;

    /// Launches a count of the elements of each run.
    ///
    /// # Errors
    /// [`Error::Launch`] or [`Error::Cuda`] if the launch fails.
    fn run_lengths(on: &Engine, geometry: Geometry, args: LengthArgs<Self>) -> Result<()>;
}

macro_rules! words {
    ($($W:ty),*) => {$(
        #[rustfmt::skip]
        impl SelectWord for $W {
            fn select_between(
                on: &Engine, geometry: Geometry, v: Views<Self>, (low, high): (u64, u64), order: u32,
            ) -> Result<()> {
                let (low, high) = (low as $W, high as $W);
                let args = (v.0, v.1, v.2, v.3, v.4, low, high, order);
                on.launch(select_between::<$W>::default(), geometry, args)
            }

            fn partition_between(
                on: &Engine, geometry: Geometry, v: Halves<Self>, (low, high): (u64, u64), order: u32,
            ) -> Result<()> {
                let (low, high) = (low as $W, high as $W);
                let args = (v.0, v.1, v.2, v.3, v.4, v.5, v.6, low, high, order);
                on.launch(partition_between::<$W>::default(), geometry, args)
            }

            fn run_lengths(on: &Engine, geometry: Geometry, args: LengthArgs<Self>) -> Result<()> {
                on.launch(run_lengths::<$W>::default(), geometry, args)
            }
        }
    )*};
}
words!(u32, u64);

/// A word of keys by which values of type `V` are combined.
#[diagnostic::on_unimplemented(
    message = "values of type `{V}` are not combined by keys that are stored in `{Self}`",
    note = "keys and values are u32, i32, f32, u64, i64 and f64"
)]
pub trait Combines<V>: Scalar {
    /// Words of the workspace for `n` elements.
    fn words(n: u32) -> u32;

    /// Launches the kernel of an operation.
    ///
    /// # Errors
    /// [`Error::Launch`] or [`Error::Cuda`] if the launch fails.
    fn reduce_by_key(on: &Engine, by: Operation, geometry: Geometry, args: RunArgs<Self, V>) -> Result<()>;

    /// Launches the kernel that scans by an operation.
    ///
    /// # Errors
    /// As for [`Combines::reduce_by_key`].
    fn scan_by_key(on: &Engine, by: Operation, geometry: Geometry, args: ScanArgs<Self, V>) -> Result<()>;
}

impl<K: Scalar, V: Scalar> Combines<V> for K
where
    Sum: Operator<V>,
    reduce_by_key<K, V, Sum>: Kernel<Args = RunArgs<K, V>> + Default,
    reduce_by_key<K, V, Min>: Kernel<Args = RunArgs<K, V>> + Default,
    reduce_by_key<K, V, Max>: Kernel<Args = RunArgs<K, V>> + Default,
    scan_by_key<K, V, Sum>: Kernel<Args = ScanArgs<K, V>> + Default,
    scan_by_key<K, V, Min>: Kernel<Args = ScanArgs<K, V>> + Default,
    scan_by_key<K, V, Max>: Kernel<Args = ScanArgs<K, V>> + Default,
{
    fn words(n: u32) -> u32 {
        by_key::workspace::<V>(n)
    }

    fn reduce_by_key(on: &Engine, by: Operation, geometry: Geometry, args: RunArgs<K, V>) -> Result<()> {
        match by {
            Operation::Sum => on.launch(reduce_by_key::<K, V, Sum>::default(), geometry, args),
            Operation::Min => on.launch(reduce_by_key::<K, V, Min>::default(), geometry, args),
            Operation::Max => on.launch(reduce_by_key::<K, V, Max>::default(), geometry, args),
        }
    }

    fn scan_by_key(on: &Engine, by: Operation, geometry: Geometry, args: ScanArgs<K, V>) -> Result<()> {
        match by {
            Operation::Sum => on.launch(scan_by_key::<K, V, Sum>::default(), geometry, args),
            Operation::Min => on.launch(scan_by_key::<K, V, Min>::default(), geometry, args),
            Operation::Max => on.launch(scan_by_key::<K, V, Max>::default(), geometry, args),
        }
    }
}

/// The calls, which vectors and selections of them have alike.
macro_rules! selections {
    ($Of:ident) => {
        impl<T: Scalar> $Of<T> {
            /// The elements for which a functor is true. `kernel` is the functor's, see
            /// [`compact`](rungs_kernels::selections::compact).
            ///
            /// # Errors
            /// [`Error::OutOfMemory`] if the result or scratch memory does not fit on the engine; [`Error::Launch`] or
            /// [`Error::Cuda`] if a launch, or a kernel before it, fails.
            pub fn select_if<F, K>(&self, kernel: K, test: F) -> Result<Selected<T>>
            where
                F: Functor<T, Out = bool> + Argument,
                K: Kernel<Args = (Global<T>, Global<u32>, Global<T>, Global<u32>, Global<u64>, F)>,
            {
                self.input()
                    .select(|engine, geometry, v| engine.launch(kernel, geometry, (v.0, v.1, v.2, v.3, v.4, test)))
            }

            /// The elements for which a functor is true, and the others. `kernel` is the functor's, which calls
            /// [`partition`](rungs_kernels::selections::compact::partition).
            ///
            /// # Errors
            /// As for [`select_if`](Self::select_if).
                    #[rustfmt::skip]
            pub fn partition_if<F, K>(&self, kernel: K, test: F) -> Result<(Selected<T>, Selected<T>)>
                    where
                        F: Functor<T, Out = bool> + Argument,
                        K: Kernel<Args = (
                            Global<T>, Global<u32>, Global<T>, Global<u32>, Global<T>, Global<u32>, Global<u64>, F,
                        )>,
                    {
                        self.input().partition(|engine, geometry, v| {
                            engine.launch(kernel, geometry, (v.0, v.1, v.2, v.3, v.4, v.5, v.6, test))
                        })
                    }

            /// The elements whose flags, at the same places, are not zero.
            ///
            /// # Errors
            /// As for [`select_if`](Self::select_if); [`Error::Usage`] for another number of flags, or flags of another
            /// engine.
            pub fn select_flagged(&self, flags: &DeviceVec<u8>) -> Result<Selected<T>> {
                self.input().flagged(flags)
            }

            /// The elements whose flags are not zero, and the others.
            ///
            /// # Errors
            /// As for [`select_flagged`](Self::select_flagged).
            pub fn partition_flagged(&self, flags: &DeviceVec<u8>) -> Result<(Selected<T>, Selected<T>)> {
                self.input().parted_by_flags(flags)
            }

            /// The elements in a range.
            ///
            /// # Errors
            /// As for [`select_if`](Self::select_if).
            pub fn select_between(&self, range: impl RangeBounds<T>) -> Result<Selected<T>>
            where
                T: Element,
                T::Word: SelectWord,
            {
                self.input().between(range)
            }

            /// The elements in a range, and the others.
            ///
            /// # Errors
            /// As for [`select_if`](Self::select_if).
            pub fn partition_between(&self, range: impl RangeBounds<T>) -> Result<(Selected<T>, Selected<T>)>
            where
                T: Element,
                T::Word: SelectWord,
            {
                self.input().parted_by_bounds(range)
            }

            /// The first element of each run of elements with the same bits: of sorted elements, each one once.
            ///
            /// # Errors
            /// As for [`select_if`](Self::select_if).
            pub fn unique(&self) -> Result<Selected<T>> {
                self.input().unique()
            }

            /// The first element of each run of elements with the same bits, and how many elements it has.
            ///
            /// # Errors
            /// As for [`select_if`](Self::select_if).
            pub fn run_lengths(&self) -> Result<(Selected<T>, Selected<u32>)>
            where
                T: Element,
                T::Word: SelectWord,
            {
                self.input().run_lengths()
            }

            /// The key of each run of equal keys, and its values combined; the value at a place belongs to the key
            /// there. The last bits of a sum of floats may differ from call to call.
            ///
            /// # Errors
            /// As for [`select_if`](Self::select_if); [`Error::Usage`] for another number of values, or values of
            /// another engine.
            pub fn reduce_by_key<V>(
                &self,
                values: &DeviceVec<V>,
                operation: Operation,
            ) -> Result<(Selected<T>, Selected<V>)>
            where
                V: Scalar,
                T: Element,
                T::Word: Combines<V>,
            {
                self.input().reduce_by_key(values, operation)
            }
        }
    };
}
selections!(DeviceVec);
selections!(Selected);

impl<T: Scalar> DeviceVec<T> {
    pub(super) fn input(&self) -> Input<'_, T> {
        // A view without elements: there is no limit.
        Input { items: self, limit: self.view().slice(0, 0).cast() }
    }
}

impl<T: Scalar> Selected<T> {
    fn input(&self) -> Input<'_, T> {
        Input { items: &self.items, limit: self.count.view() }
    }
}
