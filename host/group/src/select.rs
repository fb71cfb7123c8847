//! Selections and the largest elements of the vectors of a group.

use super::{ShardedVec, Total};
use rungs::error::{Error, Result};
use rungs::keys::order_of;
use rungs::vec::DeviceVec;
use rungs::vec::select::{SelectWord, Selected};
use rungs_kernels::keys::DESCENDING;
use rungs_kernels::selections::sampled::{Args, Plan, Selects, Sequence};
use simt::Scalar;
use std::cmp::Reverse;
use std::ops::RangeBounds;

impl<'g, T: Scalar> ShardedVec<'g, T> {
    /// A copy of the share as a vector of this rank's engine.
    fn share(&self) -> Result<DeviceVec<T>> {
        DeviceVec::from_part(&self.buffer, self.start..self.start + self.len)
    }

    /// A share of selected elements, but for the first `skip` ones.
    fn of_selected(&self, selected: &Selected<T>, skip: usize) -> Result<Self> {
        let count = selected.count()?;
        let vec = Self::uninit(self.group, &self.engine, count - skip)?;
        vec.buffer.copy_part(0, selected.room().buffer(), skip..count)?;
        Ok(vec)
    }

    /// The first element of each run of elements with the same bits, also where a run begins on another rank: of a
    /// sorted whole, each element once. Each rank has those of its share.
    ///
    /// # Errors
    /// As for [`ShardedVec::sort`].
    pub fn unique(&self) -> Result<Self> {
        let selected = self.share()?.unique()?;
        // The last element of each share that has one.
        let last = if self.len > 0 { self.read(self.len - 1, 1)? } else { vec![] };
        let all = self.group.all_gather_bytes(bytes_of(&last).to_vec())?;
        let before = all[..self.group.rank()].iter().rev().find(|bytes| !bytes.is_empty());
        let first = if self.len > 0 { self.read(0, 1)? } else { vec![] };
        let continues = before.is_some_and(|before| !first.is_empty() && bytes_of(&first) == before.as_slice());
        self.of_selected(&selected, usize::from(continues))
    }
}

/// The bytes of elements.
fn bytes_of<T: Scalar>(data: &[T]) -> &[u8] {
    // SAFETY: scalars have no padding.
    unsafe { std::slice::from_raw_parts(data.as_ptr().cast(), size_of_val(data)) }
}

impl<T: Total<Word: SelectWord>> ShardedVec<'_, T> {
    /// The elements in a range, in the order that [`ShardedVec::sort`] sorts by. Each rank has those of its share, in
    /// their order. Nothing moves between the ranks.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] if the result or scratch memory does not fit on the device; [`Error::Cuda`] if a launch
    /// fails.
    pub fn select_between(&self, range: impl RangeBounds<T>) -> Result<Self> {
        self.of_selected(&self.share()?.select_between(range)?, 0)
    }
}

impl<T: Total<Word: Selects>> ShardedVec<'_, T> {
    /// The `k` largest elements of the whole, the largest first, the same on every rank.
    ///
    /// # Errors
    /// [`Error::Usage`] if the whole has fewer than `k`; otherwise as for [`ShardedVec::sort`].
    pub fn top_k(&self, k: usize) -> Result<Vec<T>> {
        let mut all = self.extremes(k, "largest", order_of(T::DTYPE))?;
        all.sort_by_key(|key| Reverse(key.to_word()));
        all.truncate(k);
        Ok(all)
    }

    /// The `k` smallest elements of the whole, the smallest first, the same on every rank.
    ///
    /// # Errors
    /// As for [`ShardedVec::top_k`].
    pub fn bottom_k(&self, k: usize) -> Result<Vec<T>> {
        let mut all = self.extremes(k, "smallest", order_of(T::DTYPE) | DESCENDING)?;
        all.sort_by_key(|key| key.to_word());
        all.truncate(k);
        Ok(all)
    }

    /// The `k` first elements of each share by an order, or all that it has.
    fn extremes(&self, k: usize, which: &str, order: u32) -> Result<Vec<T>> {
        let n = self.total_len()?;
        if k as u64 > n {
            return Err(Error::Usage(format!("the {k} {which} of {n} elements do not exist; k is at most {n}")));
        }
        let own = k.min(self.len);
        let (output, nothing) = (self.engine.alloc::<T>(own)?, self.engine.alloc::<T>(0)?);
        if own > 0 {
            let sequence = Sequence::<T::Word>::new(&self.engine, Plan::new(self.len as u32, own as u32))?;
            let (input, output, nth) = (self.view().cast(), output.view().cast(), nothing.view().cast());
            sequence.run(&self.engine, Args { input, output, nth, order })?;
        }
        Ok(self.group.all_gather(&output.download()?)?.concat())
    }
}
