//! Vectors combined by an operator of your own, products, extremes and their places, and scans inside runs of keys.
//!
//! ```
//! use rungs::Operation;
//! use rungs::engine::Engine;
//! use rungs::vec::DeviceVec;
//! use rungs_kernels::operator::Operator;
//! use rungs_kernels::operator_kernels;
//! use rungs_kernels::selections::operators::compose_f32;
//! use simt::Pair;
//!
//! /// The last element that is not 0.
//! #[derive(Clone, Copy)]
//! pub struct LastSet;
//!
//! impl Operator<u32> for LastSet {
//!     const IDENTITY: u32 = 0;
//!
//!     #[simt::device]
//!     fn combine(a: u32, b: u32) -> u32 {
//!         if b != 0 { b } else { a }
//!     }
//! }
//!
//! operator_kernels!(pub mod last: <u32, LastSet>);
//!
//! # fn main() -> rungs::Result<()> {
//! let engine = Engine::simulator();
//! // An operator of your own: gaps are filled with the element before them.
//! let readings = DeviceVec::from_slice(&engine, &[7u32, 0, 0, 3, 0])?;
//! assert_eq!(readings.scan_with(last::Kernels, false)?.to_vec()?, [7, 7, 7, 3, 3]);
//! assert_eq!(readings.reduce_with(last::Kernels)?, 3);
//!
//! // One of the library's. A balance grows by half, gets a payment of 10, and doubles: x becomes 3 x + 20.
//! let maps = DeviceVec::from_slice(&engine, &[Pair(1.5, 0.0), Pair(1.0, 10.0), Pair(2.0, 0.0)])?;
//! assert_eq!(maps.reduce_with(compose_f32::Kernels)?, Pair(3.0, 20.0));
//!
//! let heights = DeviceVec::from_slice(&engine, &[1.5f32, 1.75, 1.25, 1.75])?;
//! assert_eq!((heights.arg_min()?, heights.arg_max()?), (Some(2), Some(1)));
//! assert_eq!(heights.min_max()?, Some((1.25, 1.75)));
//! assert_eq!(heights.product()?, 5.7421875);
//!
//! let teams = DeviceVec::from_slice(&engine, &[1u32, 1, 7, 7])?;
//! assert_eq!(teams.scan_by_key(&heights, Operation::Sum, false)?.to_vec()?, [1.5, 3.25, 1.25, 3.0]);
//! # Ok(())
//! # }
//! ```
//!
//! An operator is associative and need not be commutative; what becomes of one that is not associative is said in
//! [`rungs_kernels::selections::operators`]. Each call reads the elements once.
//!
//! The least and the greatest element are those of the order that [`DeviceVec::sort`] sorts by, for floats the IEEE
//! total order: `-0.0` is below `0.0`, NaN with a positive sign above infinity, NaN with a negative sign below all. So
//! [`DeviceVec::arg_min`] is the first of [`DeviceVec::argsort`], and [`DeviceVec::arg_max`] that of
//! [`DeviceVec::argsort_descending`]; of equal elements both find the first. [`DeviceVec::reduce`] differs: its minimum
//! and maximum are NaN if any element is.

use super::DeviceVec;
use super::select::Combines;
use super::sorts::{SortKey, Wide, Widened};
use crate::Operation;
use crate::engine::{Buffer, Geometry};
use crate::error::Result;
use crate::keys::KeyWord;
use rungs_kernels::keys::{DESCENDING, Key, Word};
use rungs_kernels::ladder::{reduce, scan};
use rungs_kernels::selections::operators::launches::{self, OperatorKernels};
use rungs_kernels::selections::reduce::{extremes, first_place, launches::Prepared, product};
use rungs_kernels::selections::runs::Grouping;
use simt::launcher::{self, Launcher};
use simt::{Global, Kernel, Scalar};

/// The arguments of a kernel that combines all elements: input, output, workspace.
type ReduceArgs<T> = (Global<T>, Global<T>, Global<u32>);

/// Elements that can be multiplied.
#[diagnostic::on_unimplemented(
    message = "elements of type `{Self}` are not multiplied",
    note = "u32, i32, f32, u64, i64 and f64 are; for others write an operator for `reduce_with`"
)]
pub trait Factor: Scalar {
    /// Launches the kernel.
    ///
    /// # Errors
    /// Those of the launch.
    fn product(on: &dyn Launcher, geometry: Geometry, args: ReduceArgs<Self>) -> launcher::Result;
}

impl<T: Scalar> Factor for T
where
    product<T>: Kernel<Args = ReduceArgs<T>>,
{
    fn product(on: &dyn Launcher, geometry: Geometry, args: ReduceArgs<T>) -> launcher::Result {
        on.launch(product::<T>::default(), geometry, args)
    }
}

/// A word that carries a key whose extremes are found.
#[diagnostic::on_unimplemented(
    message = "extremes of elements that are stored in `{Self}` are not found",
    note = "those of u32, i32, f32, u64, i64 and f64 are"
)]
pub trait ExtremeWord: KeyWord + Word + Key {
    /// Launches the kernel that finds the first key's place.
    ///
    /// # Errors
    /// Those of a launch.
    fn first_place(
        on: &dyn Launcher,
        geometry: Geometry,
        args: (Global<Self>, Global<u32>, Global<u32>, u32),
    ) -> launcher::Result;

    /// Launches the kernel that finds the first and the last key.
    ///
    /// # Errors
    /// Those of a launch.
    fn extremes(
        on: &dyn Launcher,
        geometry: Geometry,
        args: (Global<Self>, Global<Self>, Global<u32>, u32),
    ) -> launcher::Result;
}

macro_rules! words {
    ($($W:ty)*) => {$(
        #[rustfmt::skip]
        impl ExtremeWord for $W {
            fn first_place(
                on: &dyn Launcher, geometry: Geometry, args: (Global<Self>, Global<u32>, Global<u32>, u32),
            ) -> launcher::Result {
                on.launch(first_place::<$W>::default(), geometry, args)
            }

            fn extremes(
                on: &dyn Launcher, geometry: Geometry, args: (Global<Self>, Global<Self>, Global<u32>, u32),
            ) -> launcher::Result {
                on.launch(extremes::<$W>::default(), geometry, args)
            }
        }
    )*};
}
words!(u32 u64);

impl<T: Scalar> DeviceVec<T> {
    /// All elements combined by an operator of your own, in their order; for an empty vector, the operator's identity.
    /// `kernels` are the operator's, see [`operator_kernels!`](rungs_kernels::operator_kernels).
    ///
    /// # Errors
    /// As for [`DeviceVec::sort`].
    pub fn reduce_with<S: OperatorKernels<Element = T>>(&self, _kernels: S) -> Result<T> {
        let output: Buffer<T> = self.engine.alloc(1)?;
        let mut reduce = launches::reduce::<S>(&self.engine, self.len() as u32)?;
        reduce(&self.engine, reduce::Elements { input: self.view(), output: output.view() })?;
        Ok(output.download()?[0])
    }

    /// Running results of an operator of your own: element i combines the elements up to i, in their order; with
    /// `exclusive`, it leaves element i itself out. `kernels` are the operator's, see
    /// [`operator_kernels!`](rungs_kernels::operator_kernels).
    ///
    /// # Errors
    /// As for [`DeviceVec::sort`]; [`Error::OutOfMemory`](crate::Error::OutOfMemory) also if the result does not fit.
    pub fn scan_with<S: OperatorKernels<Element = T>>(&self, _kernels: S, exclusive: bool) -> Result<Self> {
        let output = Self::uninit(&self.engine, self.len())?;
        let mut scan = launches::scan::<S>(&self.engine, self.len() as u32)?;
        scan(&self.engine, scan::Elements { input: self.view(), output: output.view(), exclusive })?;
        Ok(output)
    }

    /// The product of all elements, of integers modulo 2³² or 2⁶⁴; for an empty vector, 1. Of floats the order of the
    /// multiplications depends on the number of elements and the device, so the same call gives the same bits.
    ///
    /// # Errors
    /// As for [`DeviceVec::sort`].
    pub fn product(&self) -> Result<T>
    where
        T: Factor,
    {
        let output: Buffer<T> = self.engine.alloc(1)?;
        let prepared = Prepared::new::<T>(&self.engine, self.len() as u32)?;
        T::product(&self.engine, prepared.geometry, (self.view(), output.view(), prepared.workspace()))?;
        Ok(output.download()?[0])
    }

    /// The place of the least element, of equal ones the first; `None` for an empty vector. [The module](self) says
    /// where NaN is.
    ///
    /// # Errors
    /// As for [`DeviceVec::sort`].
    pub fn arg_min(&self) -> Result<Option<usize>>
    where
        T: SortKey,
        Wide<T>: ExtremeWord,
    {
        self.first_place(T::ORDER)
    }

    /// The place of the greatest element, of equal ones the first; `None` for an empty vector. [The module](self) says
    /// where NaN is.
    ///
    /// # Errors
    /// As for [`DeviceVec::sort`].
    pub fn arg_max(&self) -> Result<Option<usize>>
    where
        T: SortKey,
        Wide<T>: ExtremeWord,
    {
        self.first_place(T::ORDER | DESCENDING)
    }

    fn first_place(&self, order: u32) -> Result<Option<usize>>
    where
        T: SortKey,
        Wide<T>: ExtremeWord,
    {
        if self.is_empty() {
            return Ok(None);
        }
        let output: Buffer<u32> = self.engine.alloc(1)?;
        let ((_memory, words), prepared) = (self.words()?, Prepared::new::<Wide<T>>(&self.engine, self.len() as u32)?);
        let args = (words, output.view(), prepared.workspace(), order);
        Wide::<T>::first_place(&self.engine, prepared.geometry, args)?;
        Ok(Some(output.download()?[0] as usize))
    }

    /// The least and the greatest element; `None` for an empty vector. [The module](self) says where NaN is.
    ///
    /// # Errors
    /// As for [`DeviceVec::sort`].
    pub fn min_max(&self) -> Result<Option<(T, T)>>
    where
        T: SortKey,
        Wide<T>: ExtremeWord,
    {
        if self.is_empty() {
            return Ok(None);
        }
        let (on, output) = (&self.engine, Self::uninit(&self.engine, 2)?);
        let ((_memory, words), to) = (self.words()?, output.view().cast());
        let (prepared, both) = (Prepared::new::<Wide<T>>(on, words.len())?, Widened::<T::Word>::new(on, 2)?);
        Wide::<T>::extremes(on, prepared.geometry, (words, both.of(to), prepared.workspace(), T::ORDER))?;
        both.narrow(on, to)?;
        let both = output.to_vec()?;
        Ok(Some((both[0], both[1])))
    }

    /// Running sums, minima or maxima of values inside each run of keys with the same bits; the value at a place
    /// belongs to the key there. With `exclusive`, each leaves its own value out, and the first of a run is the
    /// operation's identity. The last bits of a sum of floats may differ from call to call.
    ///
    /// # Errors
    /// [`Error::Usage`](crate::Error::Usage) if there are not as many values as keys, or if they are on another engine;
    /// otherwise as for [`DeviceVec::sort`]; [`Error::OutOfMemory`](crate::Error::OutOfMemory) also if the result does
    /// not fit.
    pub fn scan_by_key<V>(&self, values: &DeviceVec<V>, operation: Operation, exclusive: bool) -> Result<DeviceVec<V>>
    where
        V: Scalar,
        T: SortKey,
        Wide<T>: Combines<V>,
    {
        self.expect("values", values)?;
        let (n, on): (u32, &dyn Launcher) = (self.len() as u32, &self.engine);
        let output = DeviceVec::uninit(&self.engine, self.len())?;
        let (_memory, keys) = self.words()?;
        let views = (keys, values.view(), output.view());
        Wide::<T>::scan_by_key(on, &Grouping::new(on, n)?, operation, views, exclusive)?;
        Ok(output)
    }
}
