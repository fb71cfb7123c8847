//! Vectors on an engine, with the algorithms that one wants of a library.
//!
//! ```
//! use rungs::Operation;
//! use rungs::engine::Engine;
//! use rungs::vec::DeviceVec;
//!
//! # fn main() -> rungs::Result<()> {
//! let engine = Engine::simulator();
//! let mut keys = DeviceVec::from_slice(&engine, &[3.5f32, -1.0, 2.0])?;
//! keys.sort()?;
//! assert_eq!(keys.to_vec()?, [-1.0, 2.0, 3.5]);
//! assert_eq!(keys.reduce(Operation::Sum)?, 4.5);
//! assert_eq!(keys.scan(Operation::Sum, true)?.to_vec()?, [0.0, -1.0, 1.0]);
//! # Ok(())
//! # }
//! ```
//!
//! | method | types of elements |
//! | --- | --- |
//! | `reduce`, `scan` | `u32`, `i32`, `f32`, `u64`, `i64`, `f64` |
//! | `sort`, `sort_descending`, `argsort`, `argsort_descending` | the same, `u8`, `i8`, `u16`, `i16`, `f16`, `bf16` |
//! | `sort_with`, `sort_with_descending`, `segmented_sort_with` | as `sort`, with values of any [`Scalar`] |
//! | `select_between`, `partition_between`, `run_lengths` | as `sort` |
//! | `top_k`, `bottom_k`, `nth_element`, `arg_top_k`, `arg_bottom_k` | as `sort` |
//! | `top_k_with`, `bottom_k_with`, `unique_by_key`, `merge_with` | as `sort`, with values of any [`Scalar`] |
//! | `reduce_by_key`, `scan_by_key` | as `sort`, with values as `reduce` |
//! | `segmented_sort`, `segmented_argsort`, their `_descending`, `merge`, `lower_bound`, `upper_bound` | as `sort` |
//! | `arg_min`, `arg_max`, `min_max` | as `sort` |
//! | `segmented_reduce`, `segmented_scan`, `product`, `iota`, `adjacent_difference` | as `reduce` |
//! | `histogram`, `histogram_even` | as `reduce` |
//! | `gather`, `scatter`, transforms, `select_if`, `select_flagged`, `unique` | any [`Scalar`] |
//! | `fill`, `reverse`, copies, `slice`, `slice_mut` | any [`Scalar`] |
//! | `reduce_with`, `scan_with`, `reduce_by_key_with` | any [`Scalar`], by an operator of your own |
//!
//! Kernels take keys of 8 and 16 bits as words of 32 bits: each is copied there, and results back. That adds a pass
//! over the memory for each vector that is read or written, and 4 bytes of scratch memory per key.
//!
//! [`DeviceVec::sort`], [`DeviceVec::sort_with`], [`DeviceVec::reduce`] and [`DeviceVec::scan`] run the rung that
//! [`choice`] names for the type, the size and the device. What a transform does to an element is a functor, a type of
//! your own: see [`rungs_kernels::transform`] for its kernel. A kernel of your own takes [`DeviceVec::view`] as an
//! argument, another library [`DeviceVec::as_ptr`]. [`DeviceVec::sort_by`] takes your own order. [`select`] says
//! what a selection of elements is, [`top_k`] in which order the largest are, [`ordered`] what a sorted vector is good
//! for, [`histogram`] what a bin holds, [`segments`] where segments lie. [`mod@slice`] has parts of vectors, [`moves`]
//! the small kernels, [`operators`] operators of your own.

pub mod choice;
mod copies;
pub mod histogram;
pub(crate) mod launches;
pub mod moves;
pub mod operators;
pub mod ordered;
pub mod places;
pub mod segments;
pub mod select;
pub mod slice;
pub mod sorts;
pub mod top_k;

use crate::Operation;
use crate::data::{Distribution, Element};
use crate::engine::{Buffer, Engine, Geometry};
use crate::error::{Error, Result};
use choice::choose;
use places::PlaceWord;
use rungs_kernels::keys::DESCENDING;
use rungs_kernels::ladder::reduce::{self, Reduce, Reduces};
use rungs_kernels::ladder::scan::{self, Scan, Scans};
use rungs_kernels::ladder::sort::Pairs;
use rungs_kernels::order::ByKey;
use rungs_kernels::sorts::by_order::sample::{self, launches::SampleKernels};
use rungs_kernels::sorts::stable::{self, launches::StableKernels};
use rungs_kernels::transform::{self, Functor};
use simt::{Argument, Global, Kernel, Scalar};
use sorts::{SortKey, SortWord, Wide};
use std::fmt;
use std::ops::Range;
use std::rc::Rc;

/// Elements in the memory of an engine, at most 2³² - 1; freed when dropped. [`mod@slice`]: parts of them.
///
/// **Threads.** A vector stays on the thread that made it, as its engine does; the driver itself would not mind. A
/// launch refuses views of freed memory, and only because no other thread can free what the engine's thread holds does
/// memory that was live at the check stay so until the kernel is enqueued, or, on the simulator, has ended. So each
/// thread opens an engine: those of one GPU share its primary context and have a stream each, whose work can overlap.
/// [`PinnedVec`](crate::engine::PinnedVec) can be sent, and so can the GPU's own handle,
/// [`Cuda`](crate::engine::cuda::Cuda).
///
/// ```compile_fail,E0277
/// fn can_be_sent<T: Send>() {}
/// can_be_sent::<rungs::vec::DeviceVec<u32>>();
/// ```
///
/// ```
/// fn can_be_sent<T: Send + Sync>() {}
/// can_be_sent::<rungs::engine::PinnedVec<u32>>();
/// can_be_sent::<rungs::engine::cuda::Cuda>();
/// ```
pub struct DeviceVec<T> {
    engine: Engine,
    /// Shared with the slices of a vector, which stay sound even where safe code moves one out of its lifetime.
    buffer: Rc<Buffer<T>>,
    start: usize,
    len: usize,
}

impl<T> fmt::Debug for DeviceVec<T> {
    /// The type, the number of elements and the engine. The elements would have to be copied: print
    /// [`DeviceVec::to_vec`].
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = std::any::type_name::<T>();
        write!(f, "DeviceVec<{name}>({} elements on {})", self.len, self.engine.info().name)
    }
}

impl<T: Scalar> DeviceVec<T> {
    /// Room for `len` elements; what is in them is unspecified.
    ///
    /// # Errors
    /// [`Error::Usage`] for more than 2³² - 1 elements; [`Error::OutOfMemory`] if they do not fit on the engine.
    pub fn uninit(engine: &Engine, len: usize) -> Result<Self> {
        if u32::try_from(len).is_err() {
            return Err(Error::Usage(format!("{len} elements are too many for a vector; the limit is {}", u32::MAX)));
        }
        Ok(Self { engine: engine.clone(), buffer: Rc::new(engine.alloc(len)?), start: 0, len })
    }

    /// A copy of `data`.
    ///
    /// # Errors
    /// As for [`DeviceVec::uninit`].
    pub fn from_slice(engine: &Engine, data: &[T]) -> Result<Self> {
        let vec = Self::uninit(engine, data.len())?;
        vec.buffer.write(data)?;
        Ok(vec)
    }

    /// A copy of some elements of a buffer, on the buffer's engine.
    ///
    /// # Errors
    /// As for [`DeviceVec::uninit`]; [`Error::Cuda`] if the copy, or a kernel launched before it, fails.
    ///
    /// # Panics
    /// If the elements are not all there.
    pub fn from_part(buffer: &Buffer<T>, part: Range<usize>) -> Result<Self> {
        let vec = Self::uninit(buffer.engine(), part.len())?;
        vec.buffer.copy_part(0, buffer, part)?;
        Ok(vec)
    }

    /// The memory of the elements.
    pub fn buffer(&self) -> &Buffer<T> {
        &self.buffer
    }

    /// `len` elements, element i being `element(i)`; made by the host.
    ///
    /// # Errors
    /// As for [`DeviceVec::uninit`].
    pub fn generate(engine: &Engine, len: usize, element: impl FnMut(usize) -> T) -> Result<Self> {
        let vec = Self::uninit(engine, len)?;
        vec.buffer.write(&(0..len).map(element).collect::<Vec<T>>())?;
        Ok(vec)
    }

    /// `len` elements drawn by the host; the same seed gives the same everywhere.
    ///
    /// # Errors
    /// As for [`DeviceVec::uninit`].
    pub fn random(engine: &Engine, len: usize, distribution: Distribution, seed: u64) -> Result<Self>
    where
        T: Element,
    {
        let vec = Self::uninit(engine, len)?;
        vec.buffer.write(&distribution.keys::<T>(len as u64, seed)?)?;
        Ok(vec)
    }

    /// A copy of all elements, once everything asked of the engine before is done.
    ///
    /// # Errors
    /// [`Error::Cuda`] if the copy, or a kernel launched before it, fails.
    pub fn to_vec(&self) -> Result<Vec<T>> {
        let mut data = vec![T::default(); self.len];
        self.copy_to_slice(&mut data)?;
        Ok(data)
    }

    /// A second vector with the same elements.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] if it does not fit on the engine; [`Error::Cuda`] if the copy, or a kernel launched
    /// before it, fails.
    pub fn duplicate(&self) -> Result<Self> {
        let mut vec = Self::uninit(&self.engine, self.len)?;
        vec.copy_from(self)?;
        Ok(vec)
    }

    /// How many elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The engine whose memory this is.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// All elements, as an argument for your own kernel.
    pub fn view(&self) -> Global<T> {
        self.buffer.slice(self.start, self.len)
    }

    /// The address of the first element, for other libraries: one of the GPU's memory, or of the simulator's.
    pub fn as_ptr(&self) -> *mut T {
        self.buffer.as_ptr().wrapping_add(self.start)
    }

    /// Sorts in place; floats in the IEEE total order, see [`crate::data`]. Keys of 8 and 16 bits are sorted as words
    /// of 32 bits: that takes as long as as many `u32`, two more passes over the memory, and 4 bytes of scratch memory
    /// per key in addition to the sort's own.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] if scratch memory does not fit on the engine; [`Error::Launch`] or [`Error::Cuda`] if a
    /// launch, or a kernel before it, fails.
    pub fn sort(&mut self) -> Result<()>
    where
        T: SortKey,
    {
        self.sort_by_order(T::ORDER)
    }

    /// Sorts in place as [`DeviceVec::sort`] does, the largest key first.
    ///
    /// # Errors
    /// As for [`DeviceVec::sort`].
    pub fn sort_descending(&mut self) -> Result<()>
    where
        T: SortKey,
    {
        self.sort_by_order(T::ORDER | DESCENDING)
    }

    /// Sorts in place by your own order; equivalent elements may change their order. `kernels` are the order's,
    /// see [`sort_kernels!`](rungs_kernels::sort_kernels).
    ///
    /// ```
    /// use rungs::engine::Engine;
    /// use rungs::vec::DeviceVec;
    /// use rungs_kernels::order::Order;
    /// use rungs_kernels::sort_kernels;
    ///
    /// /// Even numbers first, the smallest of either kind first.
    /// #[simt::argument]
    /// #[derive(Clone, Copy)]
    /// pub struct EvenFirst;
    ///
    /// impl Order<u32> for EvenFirst {
    ///     const TOTAL: bool = true;
    ///
    ///     fn before(&self, a: u32, b: u32) -> bool {
    ///         (a % 2, a) < (b % 2, b)
    ///     }
    /// }
    ///
    /// sort_kernels!(pub mod even_first: <u32, EvenFirst>);
    ///
    /// # fn main() -> rungs::Result<()> {
    /// let engine = Engine::simulator();
    /// let mut numbers = DeviceVec::from_slice(&engine, &[3, 8, 5, 2])?;
    /// numbers.sort_by(even_first::Kernels, EvenFirst)?;
    /// assert_eq!(numbers.to_vec()?, [2, 8, 3, 5]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As for [`DeviceVec::sort`].
    pub fn sort_by<S: SampleKernels<Key = T>>(&mut self, _kernels: S, order: S::Order) -> Result<()> {
        let mut sort = sample::launches::sequence::<S>(&self.engine, self.len() as u32)?;
        Ok(sort(&self.engine, (self.view(), order))?)
    }

    /// Sorts in place by your own order, as [`DeviceVec::sort_by`] does; equivalent elements keep their order.
    ///
    /// # Errors
    /// As for [`DeviceVec::sort`].
    pub fn stable_sort_by<S: StableKernels<Key = T>>(&mut self, _kernels: S, order: S::Order) -> Result<()> {
        let mut sort = stable::launches::sequence::<S>(&self.engine, self.len() as u32)?;
        Ok(sort(&self.engine, (self.view(), order))?)
    }

    /// Sorts in place by what a functor makes of each element, the smallest first; elements of which it makes the same
    /// may change their order. `kernels` are those of the order [`ByKey<F>`](ByKey).
    ///
    /// ```
    /// use rungs::engine::Engine;
    /// use rungs::vec::DeviceVec;
    /// use rungs_kernels::order::ByKey;
    /// use rungs_kernels::sort_kernels;
    /// use rungs_kernels::transform::Functor;
    ///
    /// #[simt::argument]
    /// #[derive(Clone, Copy)]
    /// pub struct Square;
    ///
    /// impl Functor<i32> for Square {
    ///     type Out = i32;
    ///
    ///     fn call(&self, x: i32) -> i32 {
    ///         x * x
    ///     }
    /// }
    ///
    /// sort_kernels!(pub mod by_square: <i32, ByKey<Square>>);
    ///
    /// # fn main() -> rungs::Result<()> {
    /// let engine = Engine::simulator();
    /// let mut numbers = DeviceVec::from_slice(&engine, &[3, -8, -5, 2])?;
    /// numbers.sort_by_key(by_square::Kernels, Square)?;
    /// assert_eq!(numbers.to_vec()?, [2, 3, -5, -8]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As for [`DeviceVec::sort`].
    pub fn sort_by_key<F, S>(&mut self, kernels: S, key: F) -> Result<()>
    where
        F: Functor<T, Out: PartialOrd> + Argument,
        S: SampleKernels<Key = T, Order = ByKey<F>>,
    {
        self.sort_by(kernels, ByKey(key))
    }

    fn sort_by_order(&mut self, order: u32) -> Result<()>
    where
        T: SortKey,
    {
        let on = self.engine.clone();
        if self.is_aligned() || T::Word::COPIES.is_some() {
            return self.change_words(|words| sorts::sort(&on, words, order));
        }
        let mut copy = self.duplicate()?;
        copy.change_words(|words| sorts::sort(&on, words, order))?;
        self.replace(copy)
    }

    /// Whether the rungs that sort in place can load the elements: a slice may begin between two packs of 16 bytes.
    fn is_aligned(&self) -> bool {
        (self.as_ptr() as usize).is_multiple_of(sorts::ALIGN)
    }

    /// Puts the elements of `new`, of which there are as many, in place of these: without a copy if no slice and no
    /// vector that this is a slice of shares the memory.
    fn replace(&mut self, new: Self) -> Result<()> {
        if Rc::strong_count(&self.buffer) > 1 {
            return self.copy_from(&new);
        }
        *self = new;
        Ok(())
    }

    /// Sorts in place as [`DeviceVec::sort`] does, and moves the value of each key with it: `values[i]` belongs to key
    /// i, before and after. Equal keys keep their order, and with them their values. Keys and values of 4 bytes each
    /// are moved together; others by their places, see [`DeviceVec::argsort`]. Keys of 8 and 16 bits are allowed.
    ///
    /// ```
    /// use rungs::engine::Engine;
    /// use rungs::vec::DeviceVec;
    ///
    /// # fn main() -> rungs::Result<()> {
    /// let engine = Engine::simulator();
    /// let mut years = DeviceVec::from_slice(&engine, &[1991u32, 1968, 2004, 1968])?;
    /// let mut heights = DeviceVec::from_slice(&engine, &[1.73f32, 1.80, 1.66, 1.59])?;
    /// years.sort_with(&mut heights)?;
    /// assert_eq!(years.to_vec()?, [1968, 1968, 1991, 2004]);
    /// assert_eq!(heights.to_vec()?, [1.80, 1.59, 1.73, 1.66]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Usage`] if there are not as many values as keys, or if they are on another engine; otherwise as for
    /// [`DeviceVec::sort`].
    pub fn sort_with<V: Scalar>(&mut self, values: &mut DeviceVec<V>) -> Result<()>
    where
        T: SortKey,
        Wide<T>: PlaceWord,
    {
        self.sort_pairs_by_order(values, T::ORDER)
    }

    /// Sorts in place as [`DeviceVec::sort_with`] does, the largest key first. Equal keys keep their order here too.
    ///
    /// # Errors
    /// As for [`DeviceVec::sort_with`].
    pub fn sort_with_descending<V: Scalar>(&mut self, values: &mut DeviceVec<V>) -> Result<()>
    where
        T: SortKey,
        Wide<T>: PlaceWord,
    {
        self.sort_pairs_by_order(values, T::ORDER | DESCENDING)
    }

    /// The places of the elements in sorted order: element `places[i]` is number i. Equal elements keep their order.
    /// The elements stay where they are; [`DeviceVec::gather`] moves them, and whatever belongs to them. Those of 8 and
    /// 16 bits are sorted as words of 32 bits. Floats are in the total order of IEEE 754, as in [`DeviceVec::sort`]:
    /// NaN is last, a negative NaN first.
    ///
    /// ```
    /// use rungs::engine::Engine;
    /// use rungs::vec::DeviceVec;
    ///
    /// # fn main() -> rungs::Result<()> {
    /// let engine = Engine::simulator();
    /// let prices = DeviceVec::from_slice(&engine, &[7.5f64, 1.25, 3.0])?;
    /// let stock = DeviceVec::from_slice(&engine, &[40u8, 0, 12])?;
    /// let cheapest_first = prices.argsort()?;
    /// assert_eq!(cheapest_first.to_vec()?, [1, 2, 0]);
    /// assert_eq!(stock.gather(&cheapest_first)?.to_vec()?, [0, 12, 40]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As for [`DeviceVec::sort`].
    pub fn argsort(&self) -> Result<DeviceVec<u32>>
    where
        T: SortKey,
        Wide<T>: PlaceWord,
    {
        self.argsort_by_order(T::ORDER)
    }

    /// [`DeviceVec::argsort`] with the largest element first. Equal elements keep their order here too.
    ///
    /// # Errors
    /// As for [`DeviceVec::sort`].
    pub fn argsort_descending(&self) -> Result<DeviceVec<u32>>
    where
        T: SortKey,
        Wide<T>: PlaceWord,
    {
        self.argsort_by_order(T::ORDER | DESCENDING)
    }

    fn argsort_by_order(&self, order: u32) -> Result<DeviceVec<u32>>
    where
        T: SortKey,
        Wide<T>: PlaceWord,
    {
        let places = DeviceVec::uninit(&self.engine, self.len())?;
        places::argsort::<T::Word>(&self.engine, self.view().cast(), order, places.view())?;
        Ok(places)
    }

    /// The elements at these places, in that order; an element whose place does not exist is zero.
    ///
    /// # Errors
    /// [`Error::Usage`] if the places are on another engine; otherwise as for [`DeviceVec::sort`].
    pub fn gather(&self, places: &DeviceVec<u32>) -> Result<Self> {
        self.same_engine(places, "places")?;
        let output = Self::uninit(&self.engine, places.len())?;
        places::gather(&self.engine, self.view(), places.view(), output.view())?;
        Ok(output)
    }

    fn sort_pairs_by_order<V: Scalar>(&mut self, values: &mut DeviceVec<V>, order: u32) -> Result<()>
    where
        T: SortKey,
        Wide<T>: PlaceWord,
    {
        self.expect("values", values)?;
        let is_pair_of_words = size_of::<T>() == size_of::<u32>() && size_of::<V>() == size_of::<u32>();
        if !is_pair_of_words || !self.is_aligned() || !values.is_aligned() {
            let places = self.argsort_by_order(order)?;
            // Both or none: without memory for the second, keys and values would no longer belong together.
            let (sorted, along) = (self.gather(&places)?, values.gather(&places)?);
            self.replace(sorted)?;
            return values.replace(along);
        }
        let rung = choose(choice::PAIR_SORTS, &self.engine, size_of::<T>(), self.len())?;
        let mut sorter = rung.pair_sorter(&self.engine, self.len() as u32)?;
        let args = Pairs { keys: self.view().cast(), values: values.view().cast(), order };
        Ok(sorter.run(&self.engine, args)?)
    }

    /// All elements together; for an empty vector, the identity: 0, or the type's largest or smallest value.
    ///
    /// # Errors
    /// As for [`DeviceVec::sort`].
    pub fn reduce(&self, operation: Operation) -> Result<T>
    where
        dyn Reduce: Reduces<T>,
    {
        let rung = choose(choice::REDUCTIONS, &self.engine, size_of::<T>(), self.len())?;
        let output: Buffer<T> = self.engine.alloc(1)?;
        let mut reducer = rung.reducer::<T>(&self.engine, self.len() as u32, operation)?;
        reducer.run(&self.engine, reduce::Elements { input: self.view(), output: output.view() })?;
        Ok(output.download()?[0])
    }

    /// Running sums, minima or maxima; with `exclusive`, element i leaves element i itself out.
    ///
    /// # Errors
    /// As for [`DeviceVec::sort`]; [`Error::OutOfMemory`] also if the result does not fit.
    pub fn scan(&self, operation: Operation, exclusive: bool) -> Result<Self>
    where
        dyn Scan: Scans<T>,
    {
        let rung = choose(choice::SCANS, &self.engine, size_of::<T>(), self.len())?;
        let output = Self::uninit(&self.engine, self.len())?;
        let mut scanner = rung.scanner::<T>(&self.engine, self.len() as u32, operation)?;
        scanner.run(&self.engine, scan::Elements { input: self.view(), output: output.view(), exclusive })?;
        Ok(output)
    }

    /// What the functor makes of each element. `kernel` is the functor's, see [`rungs_kernels::transform`].
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] if the result does not fit on the engine; [`Error::Launch`] or [`Error::Cuda`] if the
    /// launch, or a kernel before it, fails.
    pub fn transform<U, F, K>(&self, kernel: K, functor: F) -> Result<DeviceVec<U>>
    where
        U: Scalar,
        F: Functor<T, Out = U> + Argument,
        K: Kernel<Args = (Global<T>, Global<U>, F)>,
    {
        let output = DeviceVec::uninit(&self.engine, self.len())?;
        self.engine.launch(kernel, self.geometry(), (self.view(), output.view(), functor))?;
        Ok(output)
    }

    /// The same in place.
    ///
    /// # Errors
    /// [`Error::Launch`] or [`Error::Cuda`] if the launch, or a kernel before it, fails.
    pub fn transform_in_place<F, K>(&mut self, kernel: K, functor: F) -> Result<()>
    where
        F: Functor<T, Out = T> + Argument,
        K: Kernel<Args = (Global<T>, Global<T>, F)>,
    {
        self.engine.launch(kernel, self.geometry(), (self.view(), self.view(), functor))
    }

    /// What the functor makes of each pair of an element and the one at its place in `other`.
    ///
    /// # Errors
    /// [`Error::Usage`] if the lengths differ; otherwise as for [`DeviceVec::transform`].
    pub fn transform_pairs<B, U, F, K>(&self, other: &DeviceVec<B>, kernel: K, functor: F) -> Result<DeviceVec<U>>
    where
        B: Scalar,
        U: Scalar,
        F: Functor<(T, B), Out = U> + Argument,
        K: Kernel<Args = (Global<T>, Global<B>, Global<U>, F)>,
    {
        if self.len() != other.len() {
            let (left, right) = (self.len(), other.len());
            return Err(Error::Usage(format!("{left} elements cannot be paired with {right}; there must be as many")));
        }
        let output = DeviceVec::uninit(&self.engine, self.len())?;
        self.engine.launch(kernel, self.geometry(), (self.view(), other.view(), output.view(), functor))?;
        Ok(output)
    }

    /// Refuses another vector that does not go with the elements, one for one.
    fn expect<U: Scalar>(&self, what: &str, other: &DeviceVec<U>) -> Result<()> {
        if self.len != other.len {
            let (n, of_other) = (self.len, other.len);
            return Err(Error::Usage(format!("{n} elements cannot take {of_other} {what}; there must be as many")));
        }
        self.same_engine(other, what)
    }

    /// Refuses another vector of another engine.
    fn same_engine<U: Scalar>(&self, other: &DeviceVec<U>, what: &str) -> Result<()> {
        if self.engine.is(&other.engine) {
            return Ok(());
        }
        Err(Error::Usage(format!("elements and {what} must be on the same engine")))
    }

    fn geometry(&self) -> Geometry {
        Geometry::linear(transform::grid(self.len() as u32), transform::BLOCK)
    }
}
