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
use super::moves::by_size;
use super::places::gather;
use super::sorts::{SortKey, Wide, Widened};
use crate::Operation;
use crate::engine::Engine;
use crate::error::Result;
use crate::keys::KeyWord;
use rungs_kernels::keys::Word;
use rungs_kernels::ladder::Launches;
use rungs_kernels::places::{self, places_own};
use rungs_kernels::selections::compact::unique_compact;
use rungs_kernels::selections::kernels::*;
use rungs_kernels::selections::operators::launches::ByKeys;
use rungs_kernels::selections::pass::{Bounds, Rest, Selection, Selects, Views};
pub use rungs_kernels::selections::runs::Combines;
use rungs_kernels::selections::runs::{self, CountsRuns, Grouping};
use rungs_kernels::transform::Functor;
use simt::launcher::{self, Launcher};
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

    /// Launches a selection from the elements as words of their size.
    fn select<W: Scalar>(
        &self,
        launch: impl FnOnce(&dyn Launcher, &Selection<W>, Views<W>) -> launcher::Result,
    ) -> Result<Selected<T>> {
        let (on, selected): (&dyn Launcher, _) = (self.engine(), Selected::uninit(self.engine(), self.items.len())?);
        launch(on, &Selection::new(on, self.n())?, self.views(&selected))?;
        Ok(selected)
    }

    /// Launches a partition.
    fn partition<W: Scalar>(
        &self,
        launch: impl FnOnce(&dyn Launcher, &Selection<W>, Views<W>, Rest<W>) -> launcher::Result,
    ) -> Result<Parts<T>> {
        let (on, kept): (&dyn Launcher, _) = (self.engine(), Selected::uninit(self.engine(), self.items.len())?);
        let rest = Selected::uninit(self.engine(), self.items.len())?;
        let others = (rest.items.view().cast(), rest.count.view());
        launch(on, &Selection::new(on, self.n())?, self.views(&kept), others)?;
        Ok((kept, rest))
    }

    fn views<W: Scalar>(&self, selected: &Selected<T>) -> Views<W> {
        let (output, count) = (selected.items.view().cast(), selected.count.view());
        Views { input: self.items.view().cast(), limit: self.limit, output, count }
    }

    fn flagged(&self, flags: &DeviceVec<u8>) -> Result<Selected<T>> {
        fn of<W: Scalar, T: Scalar>(input: &Input<T>, flags: Global<u8>) -> Result<Selected<T>>
        where
            select_flagged<W>: Kernel<Args = (Global<W>, Global<u32>, Global<W>, Global<u32>, Global<u64>, Global<u8>)>,
        {
            input.select::<W>(|on, scratch, v| {
                let (geometry, workspace) = scratch.for_look_back(on)?;
                let args = (v.input, v.limit, v.output, v.count, workspace, flags);
                on.launch(select_flagged::<W>::default(), geometry, args)
            })
        }
        self.items.expect("flags", flags)?;
        by_size!(T, of(self, flags.view()))
    }

    fn parted_by_flags(&self, flags: &DeviceVec<u8>) -> Result<Parts<T>> {
        #[rustfmt::skip]
        fn of<W: Scalar, T: Scalar>(input: &Input<T>, flags: Global<u8>) -> Result<Parts<T>>
        where
            partition_flagged<W>: Kernel<Args = (
                Global<W>, Global<u32>, Global<W>, Global<u32>, Global<W>, Global<u32>, Global<u64>, Global<u8>,
            )>,
        {
            input.partition::<W>(|on, scratch, v, (rest, others)| {
                let (geometry, workspace) = scratch.for_look_back(on)?;
                let args = (v.input, v.limit, v.output, v.count, rest, others, workspace, flags);
                on.launch(partition_flagged::<W>::default(), geometry, args)
            })
        }
        self.items.expect("flags", flags)?;
        by_size!(T, of(self, flags.view()))
    }

    fn unique(&self) -> Result<Selected<T>> {
        fn narrow<W: Scalar, T: Scalar>(input: &Input<T>) -> Result<Selected<T>>
        where
            unique_compact<W>: Kernel<Args = (Global<W>, Global<u32>, Global<W>, Global<u32>, Global<u64>)>,
        {
            input.select::<W>(|on, scratch, v| {
                let (geometry, workspace) = scratch.for_look_back(on)?;
                on.launch(unique_compact::<W>::default(), geometry, (v.input, v.limit, v.output, v.count, workspace))
            })
        }
        match size_of::<T>() {
            1 => narrow::<u8, T>(self),
            2 => narrow::<u16, T>(self),
            4 => self.select(u32::firsts),
            _ => self.select(u64::firsts),
        }
    }

    fn between(&self, range: impl RangeBounds<T>) -> Result<Selected<T>>
    where
        T: SortKey,
        Wide<T>: SelectWord,
    {
        let (on, kept, (_memory, input)) = (self.engine(), self.room()?, self.items.words()?);
        let views = Views { input, limit: self.limit, output: kept.view(), count: kept.selected.count.view() };
        Wide::<T>::between(on, &Selection::new(on, self.n())?, views, inclusive::<T>(range))?;
        kept.narrowed()
    }

    fn parted_by_bounds(&self, range: impl RangeBounds<T>) -> Result<Parts<T>>
    where
        T: SortKey,
        Wide<T>: SelectWord,
    {
        let (on, kept, rest, (_memory, input)) = (self.engine(), self.room()?, self.room()?, self.items.words()?);
        let views = Views { input, limit: self.limit, output: kept.view(), count: kept.selected.count.view() };
        let others = (rest.view(), rest.selected.count.view());
        Wide::<T>::parted(on, &Selection::new(on, self.n())?, views, others, inclusive::<T>(range))?;
        Ok((kept.narrowed()?, rest.narrowed()?))
    }

    fn room(&self) -> Result<Room<T>>
    where
        T: SortKey,
    {
        let (on, len) = (self.engine(), self.items.len());
        Ok(Room { selected: Selected::uninit(on, len)?, words: Widened::cleared(on, len as u32)? })
    }

    /// Launches what finds runs of the elements as the words that kernels take, and makes a value of each.
    fn runs<V: Scalar>(
        &self,
        values: Global<V>,
        launch: impl FnOnce(&dyn Launcher, u32, runs::Views<Wide<T>, V>) -> launcher::Result,
    ) -> Result<(Selected<T>, Selected<V>)>
    where
        T: SortKey,
    {
        let (on, unique, (_memory, keys)) = (self.engine(), self.room()?, self.items.words()?);
        let items = DeviceVec::uninit(on, self.items.len())?;
        let results = Selected { items, count: unique.selected.count.clone() };
        let (output, count) = (results.items.view(), results.count.view());
        let views = runs::Views { keys, values, limit: self.limit, unique: unique.view(), results: output, count };
        launch(on, self.n(), views)?;
        Ok((unique.narrowed()?, results))
    }

    fn run_lengths(&self) -> Result<(Selected<T>, Selected<u32>)>
    where
        T: SortKey,
        Wide<T>: SelectWord,
    {
        // No values: a view without elements.
        self.runs(self.limit.slice(0, 0), |on, n, views| Wide::<T>::run_lengths(on, &Grouping::new(on, n)?, views))
    }

    fn unique_by_key<V: Scalar>(&self, values: &DeviceVec<V>) -> Result<(Selected<T>, Selected<V>)>
    where
        T: SortKey,
        Wide<T>: Combines<u32>,
    {
        self.items.expect("values", values)?;
        self.runs(values.view(), |on, n, views| unique_by_key(on, n)?(on, views))
    }

    fn reduce_by_key<V>(&self, values: &DeviceVec<V>, operation: Operation) -> Result<(Selected<T>, Selected<V>)>
    where
        V: Scalar,
        T: SortKey,
        Wide<T>: Combines<V>,
    {
        self.items.expect("values", values)?;
        self.runs(values.view(), |on, n, views| Wide::<T>::reduce_by_key(on, &Grouping::new(on, n)?, operation, views))
    }

    fn reduce_by_key_with<S>(&self, values: &DeviceVec<S::Element>) -> Result<(Selected<T>, Selected<S::Element>)>
    where
        T: SortKey,
        S: ByKeys<Wide<T>>,
    {
        self.items.expect("values", values)?;
        self.runs(values.view(), |on, n, views| S::reduce_by_key(on, &Grouping::new(on, n)?, views))
    }
}

/// Room for a selection, and for its elements as the words that kernels write.
struct Room<T: SortKey> {
    selected: Selected<T>,
    words: Widened<T::Word>,
}

impl<T: SortKey> Room<T> {
    fn view(&self) -> Global<Wide<T>> {
        self.words.of(self.selected.items.view().cast())
    }

    fn narrowed(self) -> Result<Selected<T>> {
        let items = &self.selected.items;
        self.words.narrow(&items.engine, items.view().cast())?;
        Ok(self.selected)
    }
}

/// Takes the memory for launches that write the key of each run among `n` keys, and the first of its values: those are
/// found by their places, the least of each run.
pub(crate) fn unique_by_key<K: Combines<u32>, V: Scalar>(
    on: &dyn Launcher,
    n: u32,
) -> launcher::Result<Launches<runs::Views<K, V>>> {
    let (scratch, places, firsts) = (Grouping::new(on, n)?, on.scratch::<u32>(n)?, on.scratch::<u32>(n)?);
    Ok(Box::new(move |on, v: runs::Views<K, V>| {
        // Behind the results, too, there are places of values.
        for places in [&places, &firsts] {
            on.launch(places_own, places::geometry(n), (places.view(),))?;
        }
        let (values, results) = (places.view(), firsts.view());
        let runs::Views { keys, limit, unique, count, .. } = v;
        K::reduce_by_key(on, &scratch, Operation::Min, runs::Views { keys, values, limit, unique, results, count })?;
        gather(on, v.values, results, v.results)
    }))
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

/// A word as which elements are compared.
#[diagnostic::on_unimplemented(
    message = "elements that are stored in `{Self}` are not selected by bounds or runs",
    note = "u32, i32, f32, u64, i64 and f64 are"
)]
pub trait SelectWord: KeyWord + Selects + CountsRuns {}

impl<W: KeyWord + Selects + CountsRuns> SelectWord for W {}

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
                self.input().select(|on, scratch, v| {
                    let (geometry, workspace) = scratch.for_look_back(on)?;
                    on.launch(kernel, geometry, (v.input, v.limit, v.output, v.count, workspace, test))
                })
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
                        self.input().partition(|on, scratch, v, (rest, others)| {
                            let (geometry, workspace) = scratch.for_look_back(on)?;
                            let args = (v.input, v.limit, v.output, v.count, rest, others, workspace, test);
                            on.launch(kernel, geometry, args)
                        })
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
            /// there. Of sorted keys, each one once, with its first value.
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
