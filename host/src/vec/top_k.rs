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
//! # Ok(())
//! # }
//! ```
//!
//! Elements are in the order that [`DeviceVec::sort`] sorts by, for floats the IEEE total order: NaN with a positive
//! sign is above infinity, so `top_k` begins with it. The input is read once or, where k is more than about an eighth
//! of the elements, a few times, see [`rungs_kernels::selections::sampled`]; it stays as it is.
//! Elements of 8 and 16 bits are copied to words of 32 bits first, which takes 4 bytes of scratch memory for each.

use super::DeviceVec;
use super::sorts::{SortKey, SortWord, narrowed, widened};
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::keys::KeyWord;
use rungs_kernels::keys::DESCENDING;
use rungs_kernels::selections::sampled::{Args, Plan, Selects, Sequence};

/// A word of which the largest are found.
pub trait TopWord: SortWord {
    /// Finds the `k` largest words of `args`, at least one; which are large, `args` says.
    ///
    /// # Errors
    /// As for [`DeviceVec::top_k`].
    fn find(on: &Engine, k: usize, args: Args<Self>) -> Result<()>;
}

impl<W: KeyWord + Selects> TopWord for W {
    fn find(on: &Engine, k: usize, args: Args<W>) -> Result<()> {
        let sequence = Sequence::<W>::new(on, Plan::new(args.input.len(), k as u32))?;
        Ok(sequence.run(on, args)?)
    }
}

macro_rules! small {
    ($($W:ty),*) => {$(
        impl TopWord for $W {
            /// As words of 32 bits, see [`rungs_kernels::ordered::small`].
            fn find(on: &Engine, k: usize, args: Args<$W>) -> Result<()> {
                let input = widened(on, args.input)?;
                let [output, nth] = [args.output, args.nth].map(|to| DeviceVec::<u32>::uninit(on, to.len() as usize));
                let (output, nth) = (output?, nth?);
                let views = (input.view(), output.view(), nth.view());
                u32::find(on, k, Args { input: views.0, output: views.1, nth: views.2, order: args.order })?;
                narrowed(on, output.view(), args.output)?;
                narrowed(on, nth.view(), args.nth)
            }
        }
    )*};
}
small!(u8, u16);

impl<T: SortKey<Word: TopWord>> DeviceVec<T> {
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
        let (nth, nothing) = (Self::uninit(&self.engine, 1)?, Self::uninit(&self.engine, 0)?);
        self.find(k, &nothing, &nth, order)?;
        Ok(nth.to_vec()?[0])
    }

    fn extreme(&self, k: usize, which: &str, order: u32) -> Result<Self> {
        let n = self.len();
        if k > n {
            return Err(Error::Usage(format!("the {k} {which} of {n} elements do not exist; k is at most {n}")));
        }
        let (output, nothing) = (Self::uninit(&self.engine, k)?, Self::uninit(&self.engine, 0)?);
        if k > 0 {
            self.find(k, &output, &nothing, order)?;
        }
        Ok(output)
    }

    fn find(&self, k: usize, output: &Self, nth: &Self, order: u32) -> Result<()> {
        let (input, output, nth) = (self.view().cast(), output.view().cast(), nth.view().cast());
        T::Word::find(&self.engine, k, Args { input, output, nth, order })
    }
}
