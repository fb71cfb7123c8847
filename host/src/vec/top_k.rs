//! The largest and smallest elements.
//!
//! ```
//! use rungs::engine::Engine;
//! use rungs::vec::DeviceVec;
//!
//! # fn main() -> rungs::Result<()> {
//! let engine = Engine::simulator();
//! let scores = DeviceVec::from_slice(&engine, &[0.25f32, 0.75, -1.0, 0.75, 0.5])?;
//! assert_eq!(scores.top_k(3)?.to_vec()?, [0.75, 0.75, 0.5]);
//! assert_eq!(scores.bottom_k(2)?.to_vec()?, [-1.0, 0.25]);
//! assert_eq!(scores.nth_element(2)?, 0.5); // the median
//!
//! let players = DeviceVec::from_slice(&engine, &[17u64, 4, 9, 3, 8])?;
//! let (best, who) = scores.top_k_with(&players, 3)?;
//! assert_eq!((best.to_vec()?, who.to_vec()?), (vec![0.75, 0.75, 0.5], vec![4, 3, 8]));
//! assert_eq!(scores.arg_bottom_k(2)?.to_vec()?, [2, 0]);
//! # Ok(())
//! # }
//! ```
//!
//! Elements are in the order that [`DeviceVec::sort`] sorts by, for floats the IEEE total order: NaN with a positive
//! sign is above infinity, so `top_k` begins with it. The input is read once or, where k is more than about an eighth
//! of the elements, a few times, see [`rungs_kernels::selections::sampled`]; it stays as it is.
//! Elements of 8 and 16 bits are copied to words of 32 bits first, which takes 4 bytes of scratch memory for each.
//!
//! Places and values of the largest take more: two more reads of the input, 13 bytes of scratch memory per element, and
//! a wait for the number of elements that are not below the k-th. Those are sorted: hardly more than k, unless many
//! elements equal the k-th.

use super::DeviceVec;
use super::ordered::OrderedWord;
use super::places::PlaceWord;
use super::sorts::{SortKey, Wide, Widened};
use crate::error::{Error, Result};
use rungs_kernels::keys::DESCENDING;
use rungs_kernels::selections::sampled::{Args, Plan, Selects, Sequence};
use simt::Scalar;

impl<T: SortKey> DeviceVec<T>
where
    Wide<T>: Selects,
{
    /// The `k` largest elements, the largest first.
    ///
    /// # Errors
    /// [`Error::Usage`] if there are fewer than `k`; otherwise as for [`DeviceVec::sort`].
    pub fn top_k(&self, k: usize) -> Result<Self> {
        let mut largest = self.top_k_unsorted(k)?;
        largest.sort_descending()?;
        Ok(largest)
    }

    /// The `k` largest elements in any order, which may differ from call to call.
    ///
    /// # Errors
    /// As for [`DeviceVec::top_k`].
    pub fn top_k_unsorted(&self, k: usize) -> Result<Self> {
        self.extreme(k, "largest", T::ORDER)
    }

    /// The `k` smallest elements, the smallest first.
    ///
    /// # Errors
    /// As for [`DeviceVec::top_k`].
    pub fn bottom_k(&self, k: usize) -> Result<Self> {
        let mut smallest = self.bottom_k_unsorted(k)?;
        smallest.sort()?;
        Ok(smallest)
    }

    /// The `k` smallest elements in any order, which may differ from call to call.
    ///
    /// # Errors
    /// As for [`DeviceVec::top_k`].
    pub fn bottom_k_unsorted(&self, k: usize) -> Result<Self> {
        self.extreme(k, "smallest", T::ORDER | DESCENDING)
    }

    /// The element that would be at place `i` if the elements were sorted; 0 is the smallest.
    ///
    /// # Errors
    /// [`Error::Usage`] if there is no place `i`; otherwise as for [`DeviceVec::sort`].
    pub fn nth_element(&self, i: usize) -> Result<T> {
        let n = self.len();
        if i >= n {
            return Err(Error::Usage(format!("{n} elements have no place {i}; places start at 0")));
        }
        // From the nearer end: fewer elements pass the filter.
        let (order, k) = (T::ORDER, i + 1);
        let (order, k) = if i < n / 2 { (order | DESCENDING, k) } else { (order, n - i) };
        Ok(self.last_of(k, order)?.to_vec()?[0])
    }

    /// The places of the `k` largest elements, that of the largest first; of equal elements, the first ones. They are
    /// the first `k` of [`DeviceVec::argsort_descending`], without a sort of all elements.
    ///
    /// # Errors
    /// As for [`DeviceVec::top_k`].
    pub fn arg_top_k(&self, k: usize) -> Result<DeviceVec<u32>>
    where
        Wide<T>: OrderedWord + PlaceWord,
    {
        self.extreme_places(k, "largest", T::ORDER)
    }

    /// The places of the `k` smallest elements, that of the smallest first; of equal elements, the first ones.
    ///
    /// # Errors
    /// As for [`DeviceVec::top_k`].
    pub fn arg_bottom_k(&self, k: usize) -> Result<DeviceVec<u32>>
    where
        Wide<T>: OrderedWord + PlaceWord,
    {
        self.extreme_places(k, "smallest", T::ORDER | DESCENDING)
    }

    /// The `k` largest elements, the largest first, and the value of each; `values[i]` belongs to element i. Of equal
    /// elements the first ones are taken, in their order.
    ///
    /// # Errors
    /// As for [`DeviceVec::top_k`]; [`Error::Usage`] also if there are not as many values as elements, or if they are
    /// on another engine.
    pub fn top_k_with<V: Scalar>(&self, values: &DeviceVec<V>, k: usize) -> Result<(Self, DeviceVec<V>)>
    where
        Wide<T>: OrderedWord + PlaceWord,
    {
        self.expect("values", values)?;
        let places = self.arg_top_k(k)?;
        Ok((self.gather(&places)?, values.gather(&places)?))
    }

    /// The `k` smallest elements, the smallest first, and the value of each, as [`DeviceVec::top_k_with`] has them.
    ///
    /// # Errors
    /// As for [`DeviceVec::top_k_with`].
    pub fn bottom_k_with<V: Scalar>(&self, values: &DeviceVec<V>, k: usize) -> Result<(Self, DeviceVec<V>)>
    where
        Wide<T>: OrderedWord + PlaceWord,
    {
        self.expect("values", values)?;
        let places = self.arg_bottom_k(k)?;
        Ok((self.gather(&places)?, values.gather(&places)?))
    }

    /// The elements not beyond the k-th are selected with their places, and those are sorted.
    fn extreme_places(&self, k: usize, which: &str, order: u32) -> Result<DeviceVec<u32>>
    where
        Wide<T>: OrderedWord + PlaceWord,
    {
        self.expect_so_many(k, which)?;
        if k == 0 {
            return DeviceVec::uninit(&self.engine, 0);
        }
        // 1 for an element that the k-th does not come after.
        let is_kept = self.last_of(k, order)?.bounds_in(order, self, 1)?;
        let flags = DeviceVec::from_slice(&self.engine, &[0u8, 1])?.gather(&is_kept)?;
        let kept = DeviceVec::iota(&self.engine, self.len(), 0u32, 1)?.select_flagged(&flags)?.to_device_vec()?;
        let sorted = self.gather(&kept)?.argsort_by_order(order ^ DESCENDING)?;
        kept.gather(&sorted.slice(..k))
    }

    fn extreme(&self, k: usize, which: &str, order: u32) -> Result<Self> {
        self.expect_so_many(k, which)?;
        let output = Self::uninit(&self.engine, k)?;
        if k > 0 {
            self.find(k, &output, &output.slice(..0), order)?;
        }
        Ok(output)
    }

    fn expect_so_many(&self, k: usize, which: &str) -> Result<()> {
        let n = self.len();
        if k > n {
            return Err(Error::Usage(format!("the {k} {which} of {n} elements do not exist; k is at most {n}")));
        }
        Ok(())
    }

    /// The k-th largest element, at least the first, in device memory.
    fn last_of(&self, k: usize, order: u32) -> Result<Self> {
        let nth = Self::uninit(&self.engine, 1)?;
        self.find(k, &nth.slice(..0), &nth, order)?;
        Ok(nth)
    }

    fn find(&self, k: usize, output: &Self, nth: &Self, order: u32) -> Result<()> {
        let (on, outputs) = (&self.engine, [output, nth].map(|to| to.view().cast()));
        let (_memory, input) = self.words()?;
        let [of_output, of_nth] = outputs.map(|to| Widened::<T::Word>::new(on, to.len()));
        let widened = [of_output?, of_nth?];
        let args = Args { input, output: widened[0].of(outputs[0]), nth: widened[1].of(outputs[1]), order };
        Sequence::<Wide<T>>::new(on, Plan::new(input.len(), k as u32))?.run(on, args)?;
        for (words, to) in widened.iter().zip(outputs) {
            words.narrow(on, to)?;
        }
        Ok(())
    }
}
