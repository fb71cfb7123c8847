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
use super::places;
use super::select::Combines;
use super::sorts::{SortKey, Wide};
use crate::Operation;
use crate::error::{Error, Result};
use rungs_kernels::keys::{DESCENDING, UNSIGNED};
use rungs_kernels::ladder::segmented_sort::{SegmentWord, SegmentedPairs, Segments};
use rungs_kernels::places::{geometry, places_halves, places_own};
use rungs_kernels::segments::by_length::launches::RUNG;
use rungs_kernels::segments::numbers::launches as numbers;
use rungs_kernels::segments::reduce::SegmentReduces;
use rungs_kernels::selections::runs::Grouping;
use simt::launcher::Launcher;
use simt::{Global, Scalar};

/// A word whose places can be sorted within segments.
pub trait SegmentPlaces: SegmentWord {
    /// Puts `places`, which are those of `keys` from 0 on, into the stable order of the keys of each segment. `order`:
    /// see [`rungs_kernels::keys`].
    ///
    /// # Errors
    /// As for [`DeviceVec::segmented_argsort`].
    fn argsort(keys: Global<Self>, order: u32, offsets: Global<u32>, places: &mut DeviceVec<u32>) -> Result<()>;
}

/// Sorts keys in place, with values.
fn sort_pairs<V: Scalar>(keys: Global<u32>, order: u32, offsets: Global<u32>, values: &mut DeviceVec<V>) -> Result<()> {
    // Values of keys in no segment stay.
    let moved = values.duplicate()?;
    let mut sorter = RUNG.pair_sorter(&values.engine, keys.len())?;
    let views = (values.view().cast(), moved.view().cast());
    sorter.run(&values.engine, SegmentedPairs { keys, values: views.0, moved: views.1, offsets, order })?;
    values.replace(moved)
}

impl SegmentPlaces for u32 {
    fn argsort(keys: Global<u32>, order: u32, offsets: Global<u32>, places: &mut DeviceVec<u32>) -> Result<()> {
        let own = DeviceVec::<u32>::uninit(&places.engine, places.len())?;
        places::gather(&places.engine, keys, places.view(), own.view())?;
        sort_pairs(own.view(), order, offsets, places)
    }
}

impl SegmentPlaces for u64 {
    /// By the lower halves, then by the upper ones: each sort keeps the order of the one before.
    fn argsort(keys: Global<u64>, order: u32, offsets: Global<u32>, places: &mut DeviceVec<u32>) -> Result<()> {
        let halves = DeviceVec::<u32>::uninit(&places.engine, places.len())?;
        for upper in [0, 1] {
            let args = (keys, order, upper, places.view(), halves.view());
            places.engine.launch(places_halves, geometry(keys.len()), args)?;
            sort_pairs(halves.view(), UNSIGNED, offsets, places)?;
        }
        Ok(())
    }
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

    fn segmented_places(&self, offsets: &DeviceVec<u32>, order: u32) -> Result<DeviceVec<u32>> {
        self.same_engine(offsets, "offsets")?;
        let mut places = DeviceVec::uninit(&self.engine, self.len())?;
        self.engine.launch(places_own, geometry(self.len() as u32), (places.view(),))?;
        let (_memory, keys) = self.words()?;
        Wide::<T>::argsort(keys, order, offsets.view(), &mut places)?;
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
        if size_of::<T>() == size_of::<u32>() && size_of::<V>() == size_of::<u32>() {
            return sort_pairs(self.view().cast(), order, offsets.view(), values);
        }
        let places = self.segmented_places(offsets, order)?;
        // Both or none: without memory for the second, keys and values would no longer belong together.
        let (sorted, along) = (self.gather(&places)?, values.gather(&places)?);
        self.replace(sorted)?;
        values.replace(along)
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
