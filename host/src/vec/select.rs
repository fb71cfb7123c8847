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
//! let (_, firsts) = keys.unique_by_key(&values)?;
//! assert_eq!(firsts.to_vec()?, [2.0, 5.0, 1.0, 3.0]);
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
pub use super::launches::SelectWord;
use super::launches::{self, Kept};
use super::sorts::{SortKey, Wide};
use crate::Operation;
use crate::engine::Engine;
use crate::error::Result;
use rungs_kernels::keys::Word;
use rungs_kernels::ladder::Launches;
use rungs_kernels::selections::operators::launches::ByKeys;
use rungs_kernels::selections::pass::{Bounds, Pass, Views};
use rungs_kernels::selections::runs;
pub use rungs_kernels::selections::runs::Combines;
use rungs_kernels::transform::Functor;
use simt::{Argument, Global, Kernel, Scalar};
use std::fmt;
use std::ops::{Bound, RangeBounds};
use std::rc::Rc;

/// Elements that a call has kept, in device memory with their number.
pub struct Selected<T> {
    items: DeviceVec<T>,
    /// One word; the results of one call may share it.
    count: Rc<DeviceVec<u32>>,
}

impl<T> fmt::Debug for Selected<T> {
    /// The room for elements; how many there are, the host may not know yet.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Selected(of {:?})", self.items)
    }
}

impl<T: Scalar> Selected<T> {
    /// Room for `len` elements and their number, neither of which is there yet.
    fn uninit(engine: &Engine, len: usize) -> Result<Self> {
        Ok(Self { items: DeviceVec::uninit(engine, len)?, count: Rc::new(DeviceVec::uninit(engine, 1)?) })
    }

    /// How many elements, once everything asked of the engine before is done.
    ///
    /// # Errors
    /// [`Error::Cuda`](crate::Error::Cuda) if the copy, or a kernel launched before it, fails.
    pub fn count(&self) -> Result<usize> {
        Ok(self.count.to_vec()?[0] as usize)
    }

    /// Room for all elements that there were; only the first [`Selected::count`] are specified.
    pub fn room(&self) -> &DeviceVec<T> {
        &self.items
    }

    /// The number of elements, one word, as an argument for your own kernel.
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
    /// As for [`Selected::count`]; [`Error::OutOfMemory`](crate::Error::OutOfMemory) if it does not fit on the engine.
    pub fn to_device_vec(&self) -> Result<DeviceVec<T>> {
        let count = self.count()?;
        self.items.slice(..count).duplicate()
    }
}

/// What a call reads: elements, and how many of them there are, if the host does not know.
pub(super) struct Input<'v, T> {
    items: &'v DeviceVec<T>,
    limit: Global<u32>,
}

/// Both results of a partition.
type Parts<T> = (Selected<T>, Selected<T>);

impl<T: Scalar> Input<'_, T> {
    fn n(&self) -> u32 {
        self.items.len() as u32
    }

    fn engine(&self) -> &Engine {
        &self.items.engine
    }

    /// Launches a selection; without flags `flags` is empty.
    fn select(&self, mut launches: Launches<Kept<T>>, flags: Global<u8>) -> Result<Selected<T>> {
        let kept = Selected::uninit(self.engine(), self.items.len())?;
        let rest = (kept.items.view().slice(0, 0), kept.count.view().slice(0, 0));
        launches(self.engine(), Kept { views: self.views(&kept), flags, rest })?;
        Ok(kept)
    }

    /// Launches a partition, likewise.
    fn partition(&self, mut launches: Launches<Kept<T>>, flags: Global<u8>) -> Result<Parts<T>> {
        let kept = Selected::uninit(self.engine(), self.items.len())?;
        let others = Selected::uninit(self.engine(), self.items.len())?;
        let rest = (others.items.view(), others.count.view());
        launches(self.engine(), Kept { views: self.views(&kept), flags, rest })?;
        Ok((kept, others))
    }

    fn views(&self, selected: &Selected<T>) -> Views<T> {
        let (output, count) = (selected.items.view(), selected.count.view());
        Views { input: self.items.view(), limit: self.limit, output, count }
    }

    fn no_flags(&self) -> Global<u8> {
        self.limit.slice(0, 0).cast()
    }

    fn flagged(&self, flags: &DeviceVec<u8>) -> Result<Selected<T>> {
        self.items.expect("flags", flags)?;
        self.select(launches::flagged(self.engine(), self.n())?, flags.view())
    }

    fn parted_by_flags(&self, flags: &DeviceVec<u8>) -> Result<Parts<T>> {
        self.items.expect("flags", flags)?;
        self.partition(launches::parted_by_flags(self.engine(), self.n())?, flags.view())
    }

    fn unique(&self) -> Result<Selected<T>> {
        let pass = Pass::of(self.engine().device(), self.n());
        self.select(launches::unique(self.engine(), self.n(), pass)?, self.no_flags())
    }

    fn between(&self, range: impl RangeBounds<T>) -> Result<Selected<T>>
    where
        T: SortKey,
        Wide<T>: SelectWord,
    {
        let pass = Pass::of(self.engine().device(), self.n());
        let launches = launches::between::<T>(self.engine(), self.n(), pass, inclusive(range))?;
        self.select(launches, self.no_flags())
    }

    fn parted_by_bounds(&self, range: impl RangeBounds<T>) -> Result<Parts<T>>
    where
        T: SortKey,
        Wide<T>: SelectWord,
    {
        let launches = launches::parted_by_bounds::<T>(self.engine(), self.n(), inclusive(range))?;
        self.partition(launches, self.no_flags())
    }

    /// Launches what makes a value of each run of elements.
    fn runs<V: Scalar>(
        &self,
        values: Global<V>,
        mut launches: Launches<runs::Views<T, V>>,
    ) -> Result<(Selected<T>, Selected<V>)> {
        let unique = Selected::uninit(self.engine(), self.items.len())?;
        let items = DeviceVec::uninit(self.engine(), self.items.len())?;
        let results = Selected { items, count: unique.count.clone() };
        let Views { input: keys, limit, output, count } = self.views(&unique);
        let views = runs::Views { keys, values, limit, unique: output, results: results.items.view(), count };
        launches(self.engine(), views)?;
        Ok((unique, results))
    }

    fn run_lengths(&self) -> Result<(Selected<T>, Selected<u32>)>
    where
        T: SortKey,
        Wide<T>: SelectWord,
    {
        let (on, n) = (self.engine(), self.n());
        // No values: a view without elements.
        self.runs(self.limit.slice(0, 0), launches::run_lengths(on, n, Pass::of_runs(on.device(), n))?)
    }

    fn unique_by_key<V: Scalar>(&self, values: &DeviceVec<V>) -> Result<(Selected<T>, Selected<V>)>
    where
        T: SortKey,
        Wide<T>: Combines<u32>,
    {
        self.items.expect("values", values)?;
        self.runs(values.view(), launches::unique_by_key(self.engine(), self.n())?)
    }

    fn reduce_by_key<V>(&self, values: &DeviceVec<V>, operation: Operation) -> Result<(Selected<T>, Selected<V>)>
    where
        V: Scalar,
        T: SortKey,
        Wide<T>: Combines<V>,
    {
        self.items.expect("values", values)?;
        let (on, n) = (self.engine(), self.n());
        self.runs(values.view(), launches::reduce_by_key(on, n, operation, Pass::of_runs(on.device(), n))?)
    }

    fn reduce_by_key_with<S>(&self, values: &DeviceVec<S::Element>) -> Result<(Selected<T>, Selected<S::Element>)>
    where
        T: SortKey,
        S: ByKeys<Wide<T>>,
    {
        self.items.expect("values", values)?;
        let (on, n) = (self.engine(), self.n());
        let pass = Pass::of_runs(on.device(), n);
        self.runs(values.view(), launches::reduce_by_key_with::<T, S>(on, n, pass)?)
    }
}

/// The words of the first and the last key of a range; the first is above the last in an empty range.
pub(crate) fn inclusive<T: SortKey>(range: impl RangeBounds<T>) -> Bounds<Wide<T>> {
    let above = 8 * (size_of::<Wide<T>>() - size_of::<T>());
    let word = |key: &T| Wide::<T>::from_bits_64(key.to_bits_64() << above).encode(T::ORDER).to_bits_64();
    let most = u64::MAX >> (64 - 8 * size_of::<Wide<T>>());
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
    let (low, high) = low.zip(high).unwrap_or((1, 0));
    let [low, high] = [low, high].map(Wide::<T>::from_bits_64);
    Bounds { low, high, order: T::ORDER }
}

/// The calls, which vectors and selections of them have alike.
macro_rules! selections {
    ($Of:ident) => {
        impl<T: Scalar> $Of<T> {
            /// The elements for which a functor is true. `kernel` is the functor's, see
            /// [`compact`](rungs_kernels::selections::compact).
            ///
            /// # Errors
            /// [`Error::OutOfMemory`](crate::Error::OutOfMemory) if the result or scratch memory does not fit on the
            /// engine; [`Error::Launch`](crate::Error::Launch) or [`Error::Cuda`](crate::Error::Cuda) if a launch, or a
            /// kernel before it, fails.
            pub fn select_if<F, K>(&self, kernel: K, test: F) -> Result<Selected<T>>
            where
                F: Functor<T, Out = bool> + Argument,
                K: Kernel<Args = (Global<T>, Global<u32>, Global<T>, Global<u32>, Global<u64>, F)>,
            {
                let input = self.input();
                input.select(launches::by_functor(input.engine(), input.n(), kernel, test)?, input.no_flags())
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
                        let input = self.input();
                        let launches = launches::parted_by_functor(input.engine(), input.n(), kernel, test)?;
                        input.partition(launches, input.no_flags())
                    }

            /// The elements whose flags, at the same places, are not zero.
            ///
            /// # Errors
            /// As for [`select_if`](Self::select_if); [`Error::Usage`](crate::Error::Usage) for another number of
            /// flags, or flags of another engine.
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
                T: SortKey,
                Wide<T>: SelectWord,
            {
                self.input().between(range)
            }

            /// The elements in a range, and the others.
            ///
            /// # Errors
            /// As for [`select_if`](Self::select_if).
            pub fn partition_between(&self, range: impl RangeBounds<T>) -> Result<(Selected<T>, Selected<T>)>
            where
                T: SortKey,
                Wide<T>: SelectWord,
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

            /// The key of each run of equal keys, and the first of its values; the value at a place belongs to the key
            /// there. If the keys are sorted, each occurs once, with its first value.
            ///
            /// # Errors
            /// As for [`reduce_by_key`](Self::reduce_by_key).
            pub fn unique_by_key<V>(&self, values: &DeviceVec<V>) -> Result<(Selected<T>, Selected<V>)>
            where
                V: Scalar,
                T: SortKey,
                Wide<T>: Combines<u32>,
            {
                self.input().unique_by_key(values)
            }

            /// The first element of each run of elements with the same bits, and how many elements it has.
            ///
            /// # Errors
            /// As for [`select_if`](Self::select_if).
            pub fn run_lengths(&self) -> Result<(Selected<T>, Selected<u32>)>
            where
                T: SortKey,
                Wide<T>: SelectWord,
            {
                self.input().run_lengths()
            }

            /// The key of each run of equal keys, and its values combined; the value at a place belongs to the key
            /// there. The last bits of a sum of floats may differ from call to call.
            ///
            /// # Errors
            /// As for [`select_if`](Self::select_if); [`Error::Usage`](crate::Error::Usage) for another number of
            /// values, or values of another engine.
            pub fn reduce_by_key<V>(
                &self,
                values: &DeviceVec<V>,
                operation: Operation,
            ) -> Result<(Selected<T>, Selected<V>)>
            where
                V: Scalar,
                T: SortKey,
                Wide<T>: Combines<V>,
            {
                self.input().reduce_by_key(values, operation)
            }

            /// The key of each run of equal keys, and its values combined by an operator of your own, in their order.
            /// `kernels` are the operator's, see [`operator_kernels!`](rungs_kernels::operator_kernels).
            ///
            /// # Errors
            /// As for [`reduce_by_key`](Self::reduce_by_key).
            pub fn reduce_by_key_with<S>(
                &self,
                values: &DeviceVec<S::Element>,
                _kernels: S,
            ) -> Result<(Selected<T>, Selected<S::Element>)>
            where
                T: SortKey,
                S: ByKeys<Wide<T>>,
            {
                self.input().reduce_by_key_with::<S>(values)
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
