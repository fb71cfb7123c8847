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
use crate::engine::Geometry;
use crate::error::Result;
use crate::keys::KeyWord;
use rungs_kernels::keys::Word;
use rungs_kernels::ladder::{Launches, Lengths, expect_len};
use rungs_kernels::ordered::bounds::bounds;
use rungs_kernels::ordered::merge::{merge_keys, merge_pairs, merge_split, shared_bytes, tiles};
use rungs_kernels::ordered::{BLOCK, moves};
use simt::launcher::{self, Launcher};
use simt::{Global, Kernel, Scalar};

/// What a merge reads and writes: both keys, their order, the places where tiles begin, the result.
type Merge<W> = (Global<W>, Global<W>, u32, Global<u32>, Global<W>);

/// Two inputs, and room for all of their elements.
pub struct Both<T> {
    /// The inputs; of equal elements those of the first come first.
    pub inputs: [Global<T>; 2],
    /// Room for all elements of both.
    pub output: Global<T>,
}

/// Sorted keys, and what else is merged with them: their values, or nothing.
pub struct Merged<K, E> {
    pub(crate) keys: Both<K>,
    pub(crate) along: E,
}

impl<K: Scalar, E> Lengths for Merged<K, E> {
    fn check(&self, n: u32) -> launcher::Result {
        expect_len("elements of output", self.keys.output, n)
    }
}

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
    fn merge(on: &dyn Launcher, args: Merge<Self>) -> launcher::Result;

    /// Launches a merge of keys with values.
    ///
    /// # Errors
    /// Those of the launch.
    fn merge_with<V: Scalar>(on: &dyn Launcher, args: Merge<Self>, values: Both<V>) -> launcher::Result;

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

            fn merge(on: &dyn Launcher, args: Merge<Self>) -> launcher::Result {
                on.launch(merge_keys::<$W>::default(), geometry::<$W>(args.4.len(), false), args)
            }

            fn merge_with<V: Scalar>(on: &dyn Launcher, args: Merge<Self>, values: Both<V>) -> launcher::Result {
                fn of<U: Scalar, V: Scalar>(on: &dyn Launcher, m: Merge<$W>, values: Both<V>) -> launcher::Result
                where
                    merge_pairs<$W, U>: Kernel<Args = (
                        Global<$W>, Global<$W>, u32, Global<u32>, Global<$W>, Global<U>, Global<U>, Global<U>,
                    )>,
                {
                    let ([a, b], all) = (values.inputs.map(|values| values.cast()), values.output.cast());
                    let args = (m.0, m.1, m.2, m.3, m.4, a, b, all);
                    on.launch(merge_pairs::<$W, U>::default(), geometry::<$W>(m.4.len(), true), args)
                }
                by_size!(V, of(on, args, values))
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
        let (output, lens) = self.room_for_both(other)?;
        let mut merge = merge::<T>(&self.engine, lens)?;
        merge(&self.engine, Merged { keys: self.both(other, &output), along: () })?;
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
        let (output, lens) = self.room_for_both(other)?;
        let all = DeviceVec::uninit(&self.engine, output.len())?;
        let mut merge = merge_with::<T, V>(&self.engine, lens)?;
        let along = values.both(other_values, &all);
        merge(&self.engine, Merged { keys: self.both(other, &output), along })?;
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

    /// Room for the elements of both, and how many each has.
    fn room_for_both(&self, other: &Self) -> Result<(Self, [u32; 2])> {
        self.same_engine(other, "others")?;
        Ok((Self::uninit(&self.engine, self.len() + other.len())?, [self.len() as u32, other.len() as u32]))
    }
}

impl<T: Scalar> DeviceVec<T> {
    fn both(&self, other: &Self, output: &Self) -> Both<T> {
        Both { inputs: [self.view(), other.view()], output: output.view() }
    }
}

/// Launches that merge sorted keys, of these numbers.
pub(crate) fn merge<T>(on: &dyn Launcher, lens: [u32; 2]) -> launcher::Result<Launches<Merged<T, ()>>>
where
    T: SortKey,
    Wide<T>: OrderedWord,
{
    by_tiles(on, lens, |on, args, ()| Wide::<T>::merge(on, args))
}

/// Launches that merge sorted keys with a value each.
pub(crate) fn merge_with<K, V>(on: &dyn Launcher, lens: [u32; 2]) -> launcher::Result<Launches<Merged<K, Both<V>>>>
where
    K: SortKey,
    V: Scalar,
    Wide<K>: OrderedWord,
{
    by_tiles(on, lens, Wide::<K>::merge_with)
}

/// Launches that search for the places where tiles begin, and merge from there by `launch`.
fn by_tiles<T: SortKey, E>(
    on: &dyn Launcher,
    [a, b]: [u32; 2],
    launch: impl Fn(&dyn Launcher, Merge<Wide<T>>, E) -> launcher::Result + 'static,
) -> launcher::Result<Launches<Merged<T, E>>>
where
    Wide<T>: OrderedWord,
{
    let widened = |n| Widened::<T::Word>::new(on, n);
    let (left, right, merged) = (widened(a)?, widened(b)?, widened(a + b)?);
    let splits = on.scratch::<u32>(tiles(a + b) + 1)?;
    Ok(Box::new(move |on, Merged { keys: Both { inputs: [a, b], output }, along }| {
        let (a, b, to) = (left.widen(on, a.cast())?, right.widen(on, b.cast())?, output.cast());
        Wide::<T>::split(on, [a, b], T::ORDER, splits.view())?;
        launch(on, (a, b, T::ORDER, splits.view(), merged.of(to)), along)?;
        merged.narrow(on, to)
    }))
}

/// The geometry of a merge to `n` elements.
fn geometry<T>(n: u32, pairs: bool) -> Geometry {
    Geometry::linear(tiles(n), BLOCK).shared(shared_bytes::<T>(pairs))
}
