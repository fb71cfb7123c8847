//! Many short vectors in one: each segment of the elements is treated by itself.
//!
//! ```
//! use rungs::engine::Engine;
//! use rungs::vec::DeviceVec;
//!
//! # fn main() -> rungs::Result<()> {
//! let engine = Engine::simulator();
//! // Three queries found two documents, none, and three.
//! let offsets = DeviceVec::from_slice(&engine, &[0u32, 2, 2, 5])?;
//! let mut scores = DeviceVec::from_slice(&engine, &[0.25f32, 0.75, 0.5, 0.125, 0.625])?;
//! let mut documents = DeviceVec::from_slice(&engine, &[17u32, 4, 9, 17, 3])?;
//! scores.segmented_sort_with_descending(&offsets, &mut documents)?;
//! assert_eq!(scores.to_vec()?, [0.75, 0.25, 0.625, 0.5, 0.125]);
//! assert_eq!(documents.to_vec()?, [4, 17, 3, 9, 17]);
//! # Ok(())
//! # }
//! ```
//!
//! Segment i begins at element `offsets[i]` and ends before element `offsets[i + 1]`; there is one offset more than
//! there are segments. Offsets stay on the device and are not looked at by the host. Segments may be empty. Elements
//! before the first offset or behind the last one stay as they are. An offset beyond the end counts as the end. Offsets
//! must not descend: if they do, what is in the elements afterwards is unspecified, but nothing else is written.
//! [`DeviceVec::segmented_scan`] differs: wrong offsets are an error.

use super::DeviceVec;
use super::places::gather;
use super::select::Combines;
use super::sorts::{SortKey, Wide, Widened};
use crate::Operation;
use crate::error::{Error, Result};
use rungs_kernels::keys::{DESCENDING, UNSIGNED};
use rungs_kernels::ladder::segmented_sort::{SegmentWord, SegmentedPairs, Segments};
use rungs_kernels::ladder::{Launches, Lengths, expect_len};
use rungs_kernels::places::{geometry, places_halves, places_own};
use rungs_kernels::segments::by_length::launches::RUNG;
use rungs_kernels::segments::numbers::launches as numbers;
use rungs_kernels::segments::reduce::SegmentReduces;
use rungs_kernels::selections::runs::Grouping;
use simt::launcher::{self, Launcher};
use simt::{Global, Scalar};

/// Keys of any type with values, and where their segments lie; see [`SegmentedPairs`].
pub struct Pairs<K, V> {
    pub(crate) keys: Global<K>,
    pub(crate) values: Global<V>,
    pub(crate) moved: Global<V>,
    pub(crate) offsets: Global<u32>,
    pub(crate) order: u32,
}

impl<K: Scalar, V: Scalar> Lengths for Pairs<K, V> {
    fn check(&self, n: u32) -> launcher::Result {
        expect_len("keys", self.keys, n)?;
        expect_len("places of values", self.moved, n)
    }
}

/// A word whose places can be sorted within segments.
pub trait SegmentPlaces: SegmentWord {
    /// Takes the memory for launches that put the places at `moved`, which are those of `n` keys from 0 on, into the
    /// stable order of the keys of each segment; there are no values. If keys may be changed, those of 32 bits are
    /// sorted too.
    ///
    /// # Errors
    /// Those of the rung.
    fn sorter(on: &dyn Launcher, n: u32, may_be_changed: bool) -> launcher::Result<Launches<Pairs<Self, u32>>>;
}

impl SegmentPlaces for u32 {
    fn sorter(on: &dyn Launcher, n: u32, may_be_changed: bool) -> launcher::Result<Launches<Pairs<u32, u32>>> {
        let copy = (!may_be_changed).then(|| on.scratch(n)).transpose()?;
        let mut sort = RUNG.pair_sorter(on, n)?;
        Ok(Box::new(move |on, Pairs { mut keys, values, moved, offsets, order }| {
            if let Some(copy) = &copy {
                gather(on, keys, moved, copy.view())?;
                keys = copy.view();
            }
            sort.run(on, SegmentedPairs { keys, values, moved, offsets, order })
        }))
    }
}

impl SegmentPlaces for u64 {
    /// By the lower halves, then by the upper ones: each sort keeps the order of the one before.
    fn sorter(on: &dyn Launcher, n: u32, _: bool) -> launcher::Result<Launches<Pairs<u64, u32>>> {
        let (halves, by_lower, mut sort) = (on.scratch::<u32>(n)?, on.scratch::<u32>(n)?, RUNG.pair_sorter(on, n)?);
        Ok(Box::new(move |on, Pairs { keys, values, moved, offsets, order }| {
            let (halves, by_lower) = (halves.view(), by_lower.view());
            // A sort does not write the places of keys in no segment.
            on.launch(places_own, geometry(n), (by_lower,))?;
            for (upper, values, moved) in [(0, values, by_lower), (1, by_lower, moved)] {
                on.launch(places_halves, geometry(n), (keys, order, upper, by_lower, halves))?;
                sort.run(on, SegmentedPairs { keys: halves, values, moved, offsets, order: UNSIGNED })?;
            }
            Ok(())
        }))
    }
}

/// Launches that write the places of `n` keys in the sorted order of each segment to `moved`; there are no values.
pub(crate) fn argsort<T: SortKey>(on: &dyn Launcher, n: u32) -> launcher::Result<Launches<Pairs<T, u32>>>
where
    Wide<T>: SegmentPlaces,
{
    let widened = Widened::<T::Word>::new(on, n)?;
    let mut sort = Wide::<T>::sorter(on, n, widened.are_copies())?;
    Ok(Box::new(move |on, Pairs { keys, values, moved, offsets, order }| {
        on.launch(places_own, geometry(n), (moved,))?;
        sort(on, Pairs { keys: widened.widen(on, keys.cast())?, values, moved, offsets, order })
    }))
}

/// Whether keys and values are moved together; others are moved by their places.
pub(crate) const fn are_moved_together<K: SortKey, V>() -> bool {
    size_of::<Wide<K>>() == size_of::<u32>() && size_of::<V>() == size_of::<u32>()
}

/// Launches that sort each segment of `n` keys in place, and write the values to `moved` in that order; equal keys keep
/// theirs. If keys and values are moved together, the values of keys in no segment are not written.
pub(crate) fn sort_pairs<K: SortKey, V: Scalar>(on: &dyn Launcher, n: u32) -> launcher::Result<Launches<Pairs<K, V>>>
where
    Wide<K>: SegmentPlaces,
{
    let widened = Widened::<K::Word>::new(on, n)?;
    if are_moved_together::<K, V>() {
        let mut sort = RUNG.pair_sorter(on, n)?;
        return Ok(Box::new(move |on, Pairs { keys, values, moved, offsets, order }| {
            let (words, values, moved) = (widened.widen(on, keys.cast())?.cast(), values.cast(), moved.cast());
            sort.run(on, SegmentedPairs { keys: words, values, moved, offsets, order })?;
            widened.narrow(on, keys.cast())
        }));
    }
    // Words of 32 bits are sorted together with the places. Those of 64 bits stay, and a copy of them is moved after.
    let are_sorted = size_of::<Wide<K>>() == size_of::<u32>();
    let (copy, places) = (on.scratch::<K>(if are_sorted { 0 } else { n })?, on.scratch::<u32>(n)?);
    let mut sort = Wide::<K>::sorter(on, n, are_sorted)?;
    Ok(Box::new(move |on, Pairs { keys, values, moved, offsets, order }| {
        let (places, words) = (places.view(), widened.widen(on, keys.cast())?);
        on.launch(places_own, geometry(n), (places,))?;
        if !are_sorted {
            gather(on, keys, places, copy.view())?;
        }
        sort(on, Pairs { keys: words, values: places.slice(0, 0), moved: places, offsets, order })?;
        if are_sorted {
            widened.narrow(on, keys.cast())?;
        } else {
            gather(on, copy.view(), places, keys)?;
        }
        gather(on, values, places, moved)
    }))
}

impl<T: SortKey> DeviceVec<T>
where
    Wide<T>: SegmentWord,
{
    /// Sorts each segment in place, as [`DeviceVec::sort`] sorts a whole vector. The [module](self) says where segments
    /// lie.
    ///
    /// # Errors
    /// [`Error::Usage`] if the offsets are on another engine; otherwise as for [`DeviceVec::sort`].
    pub fn segmented_sort(&mut self, offsets: &DeviceVec<u32>) -> Result<()> {
        self.segmented_sort_by_order(offsets, T::ORDER)
    }

    /// Sorts each segment as [`DeviceVec::segmented_sort`] does, the largest key first.
    ///
    /// # Errors
    /// As for [`DeviceVec::segmented_sort`].
    pub fn segmented_sort_descending(&mut self, offsets: &DeviceVec<u32>) -> Result<()> {
        self.segmented_sort_by_order(offsets, T::ORDER | DESCENDING)
    }

    fn segmented_sort_by_order(&mut self, offsets: &DeviceVec<u32>, order: u32) -> Result<()> {
        self.same_engine(offsets, "offsets")?;
        let (on, offsets) = (self.engine.clone(), offsets.view());
        let mut sorter = RUNG.sorter::<Wide<T>>(&on, self.len() as u32)?;
        self.change_words(|keys| Ok(sorter.run(&on, Segments { keys, offsets, order })?))
    }
}

impl<T: SortKey> DeviceVec<T>
where
    Wide<T>: SegmentPlaces,
{
    /// Sorts each segment in place, and moves the value of each key with it. Equal keys keep their order.
    ///
    /// # Errors
    /// [`Error::Usage`] if there are not as many values as keys, or if values or offsets are on another engine;
    /// otherwise as for [`DeviceVec::sort`].
    pub fn segmented_sort_with<V: Scalar>(
        &mut self,
        offsets: &DeviceVec<u32>,
        values: &mut DeviceVec<V>,
    ) -> Result<()> {
        self.segmented_pairs(offsets, values, T::ORDER)
    }

    /// Sorts each segment as [`DeviceVec::segmented_sort_with`] does, the largest key first. Equal keys keep their
    /// order here too.
    ///
    /// # Errors
    /// As for [`DeviceVec::segmented_sort_with`].
    pub fn segmented_sort_with_descending<V: Scalar>(
        &mut self,
        offsets: &DeviceVec<u32>,
        values: &mut DeviceVec<V>,
    ) -> Result<()> {
        self.segmented_pairs(offsets, values, T::ORDER | DESCENDING)
    }

    /// The places of the elements in the sorted order of each segment: element `places[i]` is the one for place i.
    /// Equal elements keep their order. The elements stay where they are.
    ///
    /// # Errors
    /// As for [`DeviceVec::segmented_sort_with`].
    pub fn segmented_argsort(&self, offsets: &DeviceVec<u32>) -> Result<DeviceVec<u32>> {
        self.segmented_places(offsets, T::ORDER)
    }

    /// The same with the largest element first. Equal elements keep their order here too.
    ///
    /// # Errors
    /// As for [`DeviceVec::segmented_sort_with`].
    pub fn segmented_argsort_descending(&self, offsets: &DeviceVec<u32>) -> Result<DeviceVec<u32>> {
        self.segmented_places(offsets, T::ORDER | DESCENDING)
    }

    fn segmented_places(&self, offsets: &DeviceVec<u32>, order: u32) -> Result<DeviceVec<u32>> {
        self.same_engine(offsets, "offsets")?;
        let (on, places) = (&self.engine, DeviceVec::uninit(&self.engine, self.len())?);
        let (moved, mut sort) = (places.view(), argsort::<T>(on, self.len() as u32)?);
        let values = moved.slice(0, 0);
        sort(on, Pairs { keys: self.view(), values, moved, offsets: offsets.view(), order })?;
        Ok(places)
    }

    fn segmented_pairs<V: Scalar>(
        &mut self,
        offsets: &DeviceVec<u32>,
        values: &mut DeviceVec<V>,
        order: u32,
    ) -> Result<()> {
        self.expect("values", values)?;
        self.same_engine(offsets, "offsets")?;
        let on = &self.engine;
        let mut sort = sort_pairs::<T, V>(on, self.len() as u32)?;
        // Values of keys in no segment stay.
        let are_written = !are_moved_together::<T, V>();
        let to = if are_written { DeviceVec::uninit(on, self.len())? } else { values.duplicate()? };
        let (keys, moved) = (self.view(), to.view());
        sort(on, Pairs { keys, values: values.view(), moved, offsets: offsets.view(), order })?;
        values.replace(to)
    }
}

impl<T: SegmentReduces> DeviceVec<T> {
    /// The elements of each segment together; for an empty segment the identity: 0, or the type's largest or smallest
    /// value. Sums of floats have the same bits in every run.
    ///
    /// ```
    /// use rungs::Operation;
    /// use rungs::engine::Engine;
    /// use rungs::vec::DeviceVec;
    ///
    /// # fn main() -> rungs::Result<()> {
    /// let engine = Engine::simulator();
    /// let offsets = DeviceVec::from_slice(&engine, &[0u32, 2, 2, 5])?;
    /// let scores = DeviceVec::from_slice(&engine, &[0.25f32, 0.75, 0.5, 0.125, 0.625])?;
    /// assert_eq!(scores.segmented_reduce(&offsets, Operation::Sum)?.to_vec()?, [1.0, 0.0, 1.25]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As for [`DeviceVec::segmented_sort`]; [`Error::OutOfMemory`] also if the result does not fit.
    pub fn segmented_reduce(&self, offsets: &DeviceVec<u32>, operation: Operation) -> Result<Self> {
        self.same_engine(offsets, "offsets")?;
        let output = Self::uninit(&self.engine, offsets.len().saturating_sub(1))?;
        T::segmented_reduce(&self.engine, operation, self.view(), offsets.view(), output.view())?;
        Ok(output)
    }
}

impl<T: Scalar> DeviceVec<T>
where
    u32: Combines<T>,
{
    /// Running sums, minima or maxima inside each segment; with `exclusive`, each leaves its own element out, and the
    /// first of a segment is the operation's identity. Elements before the first offset are a segment of their own, and
    /// so are those behind the last one. The last bits of a sum of floats may differ from call to call. The call waits
    /// for the result: only then does the host know whether the offsets were right.
    ///
    /// ```
    /// use rungs::Operation;
    /// use rungs::engine::Engine;
    /// use rungs::vec::DeviceVec;
    ///
    /// # fn main() -> rungs::Result<()> {
    /// let engine = Engine::simulator();
    /// let offsets = DeviceVec::from_slice(&engine, &[0u32, 2, 2, 5])?;
    /// let scores = DeviceVec::from_slice(&engine, &[0.25f32, 0.75, 0.5, 0.125, 0.625])?;
    /// let running = scores.segmented_scan(&offsets, Operation::Sum, false)?;
    /// assert_eq!(running.to_vec()?, [0.25, 1.0, 0.5, 0.625, 1.25]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Usage`] if offsets descend, lie beyond the end, or are on another engine; otherwise as for
    /// [`DeviceVec::sort`]; [`Error::OutOfMemory`] also if the result does not fit.
    pub fn segmented_scan(&self, offsets: &DeviceVec<u32>, operation: Operation, exclusive: bool) -> Result<Self> {
        self.same_engine(offsets, "offsets")?;
        let (n, on): (u32, &dyn Launcher) = (self.len() as u32, &self.engine);
        let output = Self::uninit(&self.engine, self.len())?;
        let (numbers, broken) = (on.scratch::<u32>(n)?, DeviceVec::<u32>::uninit(&self.engine, 1)?);
        numbers::number(on, offsets.view(), numbers.view(), broken.view())?;
        let views = (numbers.view(), self.view(), output.view());
        u32::scan_by_key(on, &Grouping::new(on, n)?, operation, views, exclusive)?;
        if broken.to_vec()? != [0] {
            let why = format!("offsets of segments must not descend, nor lie beyond the end, which is {n}");
            return Err(Error::Usage(why));
        }
        Ok(output)
    }
}
