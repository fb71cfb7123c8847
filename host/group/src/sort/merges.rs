//! Merging the sorted pieces that came from the ranks, two at a time.

use super::{Sorter, Total};
use crate::ShardedVec;
use rungs::engine::{Buffer, Engine};
use rungs::error::Result;
use rungs::keys::order_of;
use rungs_kernels::encode;
use rungs_kernels::keys::UNSIGNED;
use rungs_kernels::ladder::sort::Width;
use rungs_kernels::merge::r1_merge_path::launches::{merge_two, two_words};
use simt::{Global, Kernel, Scalar};
use std::ops::Range;

/// Merges `part` of the keys of one buffer, of which the first `first` are sorted, and the others, which are no more,
/// into the same part of another buffer.
fn merge_part<T: Scalar>(
    engine: &Engine,
    [from, to]: [&Buffer<T>; 2],
    part: Range<usize>,
    first: usize,
    splits: &Buffer<u32>,
) -> Result<()> {
    let views = [from, to].map(|buffer| buffer.slice(part.start, part.len()));
    // Words of the key's width, which is one of two.
    match size_of::<T>() {
        4 => merge_two::<u32>(engine, views.map(|view| view.cast()), first as u32, splits.view())?,
        _ => merge_two::<u64>(engine, views.map(|view| view.cast()), first as u32, splits.view())?,
    }
    Ok(())
}

impl<T: Total> Sorter<'_, T> {
    /// Merges sorted pieces that lie one behind the other from the beginning of the keys' memory on, none longer than
    /// the one before. Neighbours are merged until there is one piece, and none ever gets longer than the one before.
    pub(super) fn merge(&mut self, keys: &mut ShardedVec<'_, T>, pieces: Vec<usize>) -> Result<()> {
        // Kernels compare unsigned words.
        if order_of(T::DTYPE) != UNSIGNED && pieces.iter().filter(|&&len| len > 0).count() > 1 {
            self.map(<T::Word as Width>::Encode::default(), keys)?;
            self.merge_words(keys, pieces)?;
            return self.decode(keys);
        }
        self.merge_words(keys, pieces)
    }

    /// Makes keys of unsigned words.
    pub(super) fn decode(&self, keys: &ShardedVec<'_, T>) -> Result<()> {
        match order_of(T::DTYPE) {
            UNSIGNED => Ok(()),
            _ => self.map(<T::Word as Width>::Decode::default(), keys),
        }
    }

    /// Maps the keys to unsigned words, or back, by one of the kernels of [`Width`].
    fn map<K>(&self, kernel: K, keys: &ShardedVec<'_, T>) -> Result<()>
    where
        K: Kernel<Args = (Global<T::Word>, u32)>,
    {
        let words: Global<T::Word> = keys.view().cast();
        self.engine.launch(kernel, encode::geometry(words.len()), (words, order_of(T::DTYPE)))
    }

    /// [`Sorter::merge`] of unsigned words.
    pub(super) fn merge_words(&mut self, keys: &mut ShardedVec<'_, T>, mut pieces: Vec<usize>) -> Result<()> {
        pieces.retain(|&len| len > 0);
        if pieces.len() < 2 {
            return Ok(());
        }
        let most = two_words(keys.len as u32) as usize;
        let splits = match self.splits.take() {
            Some(splits) if splits.len() >= most => splits,
            _ => self.engine.alloc(most)?,
        };
        let mut other = self.spare(keys.len)?;
        while pieces.len() > 1 {
            let (mut at, mut merged) = (0, vec![]);
            for pair in pieces.chunks(2) {
                let part = at..at + pair.iter().sum::<usize>();
                match pair.len() {
                    2 => merge_part(&self.engine, [&keys.buffer, &other], part.clone(), pair[0], &splits)?,
                    _ => other.copy_part(at, &keys.buffer, part.clone())?,
                }
                merged.push(part.len());
                at = part.end;
            }
            std::mem::swap(&mut keys.buffer, &mut other);
            pieces = merged;
        }
        (self.spare, self.splits) = (Some(other), Some(splits));
        Ok(())
    }
}
