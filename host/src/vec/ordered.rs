//! Sorted vectors: merged, and searched.
//!
//! ```
//! use rungs::engine::Engine;
//! use rungs::vec::DeviceVec;
//!
//! # fn main() -> rungs::Result<()> {
//! let engine = Engine::simulator();
//! let old = DeviceVec::from_slice(&engine, &[1.0f32, 3.0, 7.0])?;
//! let new = DeviceVec::from_slice(&engine, &[2.0f32, 3.0])?;
//! let all = old.merge(&new)?;
//! assert_eq!(all.to_vec()?, [1.0, 2.0, 3.0, 3.0, 7.0]);
//! assert_eq!(all.lower_bound(&new)?.to_vec()?, [1, 2]);
//! assert_eq!(all.upper_bound(&new)?.to_vec()?, [2, 4]);
//! # Ok(())
//! # }
//! ```
//!
//! Sorted means in the order that [`DeviceVec::sort`] sorts by, for floats the IEEE total order: `-0.0` is before
//! `0.0`, and NaN with a positive sign after infinity. Vectors that are not sorted so are not recognised. They give an
//! unspecified merge of as many elements, or unspecified places up to their length; nothing outside is read or written.

use super::DeviceVec;
use super::moves::by_size;
use super::sorts::{SortKey, Wide, Widened};
use crate::engine::{Engine, Geometry};
use crate::error::Result;
use crate::keys::KeyWord;
use rungs_kernels::keys::Word;
use rungs_kernels::ordered::bounds::bounds;
use rungs_kernels::ordered::merge::{merge_keys, merge_pairs, merge_split, shared_bytes, tiles};
use rungs_kernels::ordered::{BLOCK, moves};
use simt::launcher::{self, Launcher};
use simt::{Global, Kernel, Scalar};

/// What a merge reads and writes: both keys, their order, the places where tiles begin, the result.
type Merge<W> = (Global<W>, Global<W>, u32, Global<u32>, Global<W>);

/// Values of both keys, and of the result.
type Values<V> = [Global<V>; 3];

/// A word of keys that are merged and searched.
#[diagnostic::on_unimplemented(
    message = "keys that are stored in `{Self}` are not merged or searched",
    note = "u32, i32, f32, u64, i64 and f64 are"
)]
pub trait OrderedWord: KeyWord + Word {
    /// Launches the search for the places where tiles begin.
    ///
    /// # Errors
    /// Those of the launch.
    fn split(on: &dyn Launcher, keys: [Global<Self>; 2], order: u32, splits: Global<u32>) -> launcher::Result;

    /// Launches a merge of keys.
    ///
    /// # Errors
    /// Those of the launch.
    fn merge(on: &dyn Launcher, geometry: Geometry, args: Merge<Self>) -> launcher::Result;

    /// Launches a merge of keys with values.
    ///
    /// # Errors
    /// [`Error::Launch`](crate::Error::Launch) or [`Error::Cuda`](crate::Error::Cuda) if the launch fails.
    fn merge_with<V: Scalar>(on: &Engine, geometry: Geometry, args: Merge<Self>, values: Values<V>) -> Result<()>;

    /// Launches a search for needles.
    ///
    /// # Errors
    /// Those of the launch.
    fn bounds(
        on: &dyn Launcher,
        keys: [Global<Self>; 2],
        order: u32,
        upper: u32,
        places: Global<u32>,
    ) -> launcher::Result;
}

macro_rules! words {
    ($($W:ty),*) => {$(
        #[rustfmt::skip]
        impl OrderedWord for $W {
            fn split(
                on: &dyn Launcher, [a, b]: [Global<Self>; 2], order: u32, splits: Global<u32>,
            ) -> launcher::Result {
                on.launch(merge_split::<$W>::default(), moves::geometry(splits.len()), (a, b, order, splits))
            }

            fn merge(on: &dyn Launcher, geometry: Geometry, args: Merge<Self>) -> launcher::Result {
                on.launch(merge_keys::<$W>::default(), geometry, args)
            }

            fn merge_with<V: Scalar>(
                on: &Engine, geometry: Geometry, args: Merge<Self>, values: Values<V>,
            ) -> Result<()> {
                fn of<U: Scalar, V: Scalar>(on: &Engine, g: Geometry, m: Merge<$W>, values: Values<V>) -> Result<()>
                where
                    merge_pairs<$W, U>: Kernel<Args = (
                        Global<$W>, Global<$W>, u32, Global<u32>, Global<$W>, Global<U>, Global<U>, Global<U>,
                    )>,
                {
                    let [a, b, all] = values.map(|values| values.cast());
                    on.launch(merge_pairs::<$W, U>::default(), g, (m.0, m.1, m.2, m.3, m.4, a, b, all))
                }
                by_size!(V, of(on, geometry, args, values))
            }

            fn bounds(
                on: &dyn Launcher, [keys, needles]: [Global<Self>; 2], order: u32, upper: u32, places: Global<u32>,
            ) -> launcher::Result {
                let args = (keys, needles, order, upper, places);
                on.launch(bounds::<$W>::default(), moves::geometry(places.len()), args)
            }
        }
    )*};
}
words!(u32, u64);

impl<T: SortKey> DeviceVec<T>
where
    Wide<T>: OrderedWord,
{
    /// The elements of two sorted vectors, sorted. Of equal elements those of this vector come first, and each vector's
    /// keep their order. Both are read once.
    ///
    /// # Errors
    /// [`Error::Usage`](crate::Error::Usage) if `other` is on another engine, or if there are more than 2³² - 1
    /// elements in all; otherwise as for [`DeviceVec::sort`].
    pub fn merge(&self, other: &Self) -> Result<Self> {
        let output = self.room_for_both(other)?;
        let geometry = merge_geometry::<Wide<T>>(output.len, false);
        self.merge_by(other, &output, |on, args| Ok(Wide::<T>::merge(on, geometry, args)?))?;
        Ok(output)
    }

    /// The same for keys that have a value each: the sorted keys, and their values in the same order. Equal keys keep
    /// theirs.
    ///
    /// # Errors
    /// As for [`DeviceVec::merge`]; [`Error::Usage`](crate::Error::Usage) also if there are not as many values as keys.
    pub fn merge_with<V: Scalar>(
        &self,
        values: &DeviceVec<V>,
        other: &Self,
        other_values: &DeviceVec<V>,
    ) -> Result<(Self, DeviceVec<V>)> {
        self.expect("values", values)?;
        other.expect("values", other_values)?;
        let output = self.room_for_both(other)?;
        let all = DeviceVec::uninit(&self.engine, output.len())?;
        let views = [values.view(), other_values.view(), all.view()];
        let geometry = merge_geometry::<Wide<T>>(output.len, true);
        self.merge_by(other, &output, |on, args| Wide::<T>::merge_with(on, geometry, args, views))?;
        Ok((output, all))
    }

    /// For each needle, how many elements of this sorted vector are less: the first place where it could stand. Needles
    /// that are sorted are found faster.
    ///
    /// # Errors
    /// [`Error::Usage`](crate::Error::Usage) if the needles are on another engine; otherwise as for
    /// [`DeviceVec::sort`].
    pub fn lower_bound(&self, needles: &Self) -> Result<DeviceVec<u32>> {
        self.bounds_in(T::ORDER, needles, 0)
    }

    /// For each needle, how many elements of this sorted vector are not greater: the last place where it could stand.
    ///
    /// # Errors
    /// As for [`DeviceVec::lower_bound`].
    pub fn upper_bound(&self, needles: &Self) -> Result<DeviceVec<u32>> {
        self.bounds_in(T::ORDER, needles, 1)
    }

    /// The places of needles among elements that are sorted in an order.
    pub(super) fn bounds_in(&self, order: u32, needles: &Self, upper: u32) -> Result<DeviceVec<u32>> {
        self.same_engine(needles, "needles")?;
        let places = DeviceVec::uninit(&self.engine, needles.len())?;
        let ((_memory, keys), (_of_needles, needles)) = (self.words()?, needles.words()?);
        Wide::<T>::bounds(&self.engine, [keys, needles], order, upper, places.view())?;
        Ok(places)
    }

    fn room_for_both(&self, other: &Self) -> Result<Self> {
        self.same_engine(other, "others")?;
        Self::uninit(&self.engine, self.len() + other.len())
    }

    /// Searches for the places where tiles begin, and launches a merge from there.
    fn merge_by(
        &self,
        other: &Self,
        output: &Self,
        launch: impl FnOnce(&Engine, Merge<Wide<T>>) -> Result<()>,
    ) -> Result<()> {
        let (on, to) = (&self.engine, output.view().cast());
        let splits = DeviceVec::<u32>::uninit(on, tiles(to.len()) as usize + 1)?;
        let ((_memory, a), (_of_other, b)) = (self.words()?, other.words()?);
        let merged = Widened::<T::Word>::new(on, to.len())?;
        Wide::<T>::split(on, [a, b], T::ORDER, splits.view())?;
        launch(on, (a, b, T::ORDER, splits.view(), merged.of(to)))?;
        Ok(merged.narrow(on, to)?)
    }
}

/// The geometry of a merge to `n` elements.
pub(crate) fn merge_geometry<T>(n: usize, pairs: bool) -> Geometry {
    Geometry::linear(tiles(n as u32), BLOCK).shared(shared_bytes::<T>(pairs))
}
