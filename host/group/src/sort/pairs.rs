//! Sorting keys with values: each rank sorts its share, the sorted shares are cut exactly, the pieces change places,
//! and each rank merges what it got. The pieces lie in the order of their ranks, and sorts and merges are stable. So
//! equal keys keep their order in the whole.

use super::small::Small;
use super::{cuts, length_of, round};
use crate::vec::room;
use crate::{Exchange, Group, ShardedVec, Total};
use rungs::engine::{Buffer, Engine};
use rungs::error::{Error, Result};
use rungs::keys::order_of;
use rungs::vec::choice::{self, choose};
use rungs::vec::ordered::{Both, OrderedWord};
use rungs::vec::places::{argsort, gather};
use rungs_kernels::ladder::Sequence;
use rungs_kernels::ladder::sort::Pairs;
use rungs_kernels::ordered::merge::tiles;
use simt::Scalar;

impl<T: Total> ShardedVec<'_, T> {
    /// Sorts the whole in place, and moves the values as the keys are moved: the value at a place belongs to the key
    /// there. Equal keys keep their order, also across ranks. Keys and values have shares of the same lengths.
    ///
    /// ```
    /// use rungs::engine::DeviceChoice;
    /// use rungs_group::ShardedVec;
    ///
    /// # fn main() -> rungs::Result<()> {
    /// let sorted = rungs_group::run(&[DeviceChoice::Simulator; 2], |group, engine| {
    ///     let (keys, values): (&[u32], &[f64]) =
    ///         if group.rank() == 0 { (&[5, 1, 5], &[0.5, 0.25, 1.5]) } else { (&[1, 5], &[2.5, 3.5]) };
    ///     let mut keys = ShardedVec::from_slice(group, engine, keys)?;
    ///     let mut values = ShardedVec::from_slice(group, engine, values)?;
    ///     keys.sort_with(&mut values)?;
    ///     Ok((keys.to_vec()?, values.to_vec()?))
    /// })?;
    /// assert_eq!(sorted, [(vec![1, 1, 5], vec![0.25, 2.5, 0.5]), (vec![5, 5], vec![1.5, 3.5])]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Usage`] on all ranks if one has another number of values than keys; [`Error::Usage`] if they are on
    /// another engine; otherwise as for [`ShardedVec::sort`].
    pub fn sort_with<V: Scalar>(&mut self, values: &mut ShardedVec<'_, V>) -> Result<()> {
        PairSorter::new(self.group, &self.engine)?.sort(self, values)
    }
}

/// Sorts keys of a group with values; keeps the memory that it needs from one sort to the next.
pub struct PairSorter<'g, T: Total, V> {
    group: &'g dyn Group,
    engine: Engine,
    /// For the exchange.
    stream: Engine,
    /// Memory for a share's keys, values, and places.
    keys: Option<Buffer<T>>,
    values: Option<Buffer<V>>,
    places: Option<Buffer<u32>>,
    /// Where the tiles of a merge begin.
    splits: Option<Buffer<u32>>,
    small: Small,
    /// The launches that sort a share of this length, of keys and values of 32 bits.
    own: Option<(usize, Sequence<Pairs>)>,
}

/// Memory for a share of this length.
fn spare<T: Scalar>(engine: &Engine, kept: &mut Option<Buffer<T>>, len: usize) -> Result<Buffer<T>> {
    match kept.take() {
        Some(kept) if kept.len() >= len => Ok(kept),
        _ => engine.alloc(room(len)),
    }
}

/// Puts other memory in the place of a share's.
fn replace<T>(vec: &mut ShardedVec<'_, T>, kept: &mut Option<Buffer<T>>, buffer: Buffer<T>) {
    *kept = Some(std::mem::replace(&mut vec.buffer, buffer));
    vec.start = 0;
}

/// Merges sorted pieces of these lengths, which lie in sequence from the beginning of the first memory of keys, and of
/// values, on: neighbours until there is one piece, in the first memory again. Equal keys keep their order, those of
/// the earlier piece first. The second memories have room for as much.
pub(super) fn merge_pairs<T: Total, V: Scalar>(
    engine: &Engine,
    [keys, merged]: [&mut Buffer<T>; 2],
    order: u32,
    [values, along]: [&mut Buffer<V>; 2],
    splits: &mut Option<Buffer<u32>>,
    mut pieces: Vec<usize>,
) -> Result<()> {
    pieces.retain(|&len| len > 0);
    let places = |n: usize| tiles(n as u32) as usize + 1;
    while pieces.len() > 1 {
        let starts = spare(engine, splits, places(pieces.iter().sum()))?;
        let mut end = 0;
        for pair in pieces.chunks(2) {
            let (start, middle) = (end, end + pair[0]);
            end = start + pair.iter().sum::<usize>();
            if middle == end {
                merged.copy_part(start, keys, start..end)?;
                along.copy_part(start, values, start..end)?;
                continue;
            }
            let [a, b] = [start..middle, middle..end].map(|part| keys.slice(part.start, part.len()).cast());
            let inputs = [start..middle, middle..end].map(|part| values.slice(part.start, part.len()));
            let starts = starts.slice(0, places(end - start));
            T::Word::split(engine, [a, b], order, starts)?;
            let args = (a, b, order, starts, merged.slice(start, end - start).cast());
            T::Word::merge_with(engine, args, Both { inputs, output: along.slice(start, end - start) })?;
        }
        *splits = Some(starts);
        std::mem::swap(keys, merged);
        std::mem::swap(values, along);
        pieces = pieces.chunks(2).map(|pair| pair.iter().sum()).collect();
    }
    Ok(())
}

impl<'g, T: Total, V: Scalar> PairSorter<'g, T, V> {
    /// A sorter for this rank's vectors.
    ///
    /// # Errors
    /// [`Error::Cuda`] if the driver refuses a stream.
    pub fn new(group: &'g dyn Group, engine: &Engine) -> Result<Self> {
        let (engine, stream) = (engine.clone(), engine.second_stream()?);
        let (keys, values, places, splits, small, own) = (None, None, None, None, Small::default(), None);
        Ok(Self { group, engine, stream, keys, values, places, splits, small, own })
    }

    /// Sorts in place, see [`ShardedVec::sort_with`].
    ///
    /// # Errors
    /// As for [`ShardedVec::sort_with`].
    pub fn sort(&mut self, keys: &mut ShardedVec<'_, T>, values: &mut ShardedVec<'_, V>) -> Result<()> {
        if !self.engine.is(&keys.engine) || !self.engine.is(&values.engine) {
            return Err(Error::Usage("a sorter sorts vectors of its engine".into()));
        }
        let told = self.group.all_gather(&[keys.len as u64, values.len as u64])?;
        if let Some((rank, told)) = told.iter().enumerate().find(|(_, told)| told.first() != told.last()) {
            let why = format!("rank {rank} has {told:?} keys and values; there must be as many");
            return Err(Error::Usage(why));
        }
        let lengths: Vec<u64> = told.iter().filter_map(|told| told.first().copied()).collect();
        self.sort_own(keys, values)?;
        if lengths.len() == 1 {
            return Ok(());
        }
        self.small.clear();
        let cuts = cuts(&mut self.small, keys, &lengths)?;
        let order: Vec<usize> = (0..lengths.len()).collect();
        let moved = [round(keys, &cuts, &order)];
        let target = spare(&self.engine, &mut self.keys, keys.len)?;
        let exchange = Exchange { stream: &self.stream, from: &keys.buffer, to: &target, rounds: &moved };
        self.group.exchange(&exchange, &mut |_| Ok(()))?;
        replace(keys, &mut self.keys, target);
        let moved = [round(values, &cuts, &order)];
        let target = spare(&self.engine, &mut self.values, values.len)?;
        let exchange = Exchange { stream: &self.stream, from: &values.buffer, to: &target, rounds: &moved };
        self.group.exchange(&exchange, &mut |_| Ok(()))?;
        replace(values, &mut self.values, target);
        let pieces: Vec<usize> = order.iter().map(|&rank| length_of(&cuts, rank, self.group.rank())).collect();
        let mut merged = spare(&self.engine, &mut self.keys, keys.len)?;
        let mut along = spare(&self.engine, &mut self.values, keys.len)?;
        let (both, of_both) = ([&mut keys.buffer, &mut merged], [&mut values.buffer, &mut along]);
        merge_pairs(&self.engine, both, order_of(T::DTYPE), of_both, &mut self.splits, pieces)?;
        (self.keys, self.values) = (Some(merged), Some(along));
        Ok(())
    }

    /// Sorts this rank's share.
    fn sort_own(&mut self, keys: &mut ShardedVec<'_, T>, values: &mut ShardedVec<'_, V>) -> Result<()> {
        let (engine, order, len) = (self.engine.clone(), order_of(T::DTYPE), keys.len);
        if size_of::<T>() == size_of::<u32>() && size_of::<V>() == size_of::<u32>() {
            let mut own = match self.own.take() {
                Some((own_len, own)) if own_len == len => own,
                // The memory of another length is freed first.
                _ => choose(choice::PAIR_SORTS, &engine, size_of::<T>(), len)?.pair_sorter(&engine, len as u32)?,
            };
            own.run(&engine, Pairs { keys: keys.view().cast(), values: values.view().cast(), order })?;
            self.own = Some((len, own));
            return Ok(());
        }
        // Other keys and values follow the places of the sorted keys.
        let places = spare(&engine, &mut self.places, len)?;
        let sorted = spare(&engine, &mut self.keys, len)?;
        let along = spare(&engine, &mut self.values, len)?;
        argsort::<T::Word>(&engine, keys.view().cast(), order, places.slice(0, len))?;
        gather(&engine, keys.view(), places.slice(0, len), sorted.slice(0, len))?;
        gather(&engine, values.view(), places.slice(0, len), along.slice(0, len))?;
        self.places = Some(places);
        replace(keys, &mut self.keys, sorted);
        replace(values, &mut self.values, along);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rungs::engine::DeviceChoice;
    use rungs_kernels::keys::UNSIGNED;

    /// Merges sorted lists of words, whose values are their places.
    fn merges<T: Total + Ord + std::fmt::Debug>(engine: &Engine, lists: &[Vec<u64>]) {
        let all: Vec<T> = lists.concat().into_iter().map(T::from_pattern).collect();
        let places: Vec<u32> = (0..all.len() as u32).collect();
        let mut want: Vec<(T, u32)> = all.iter().copied().zip(places.iter().copied()).collect();
        want.sort();
        let [mut words, mut merged] = [engine.upload(&all).unwrap(), engine.alloc(all.len()).unwrap()];
        let [mut values, mut along] = [engine.upload(&places).unwrap(), engine.alloc(all.len()).unwrap()];
        let lengths = lists.iter().map(Vec::len).collect();
        let (both, of_both) = ([&mut words, &mut merged], [&mut values, &mut along]);
        merge_pairs(engine, both, UNSIGNED, of_both, &mut None, lengths).unwrap();
        let got: Vec<_> = words.download().unwrap().into_iter().zip(values.download().unwrap()).collect();
        assert!(got == want, "{lists:?}");
    }

    #[test]
    fn sorted_lists_are_merged_with_their_values() {
        let engine = Engine::open(DeviceChoice::Simulator).unwrap();
        let list = |n: u64, step: u64| (0..n).map(|i| i * step / 3).collect::<Vec<u64>>();
        for n in [0, 1, 2, 31, 32, 33, 1009, 4999] {
            merges::<u32>(&engine, &[list(n, 1)]);
            merges::<u32>(&engine, &[list(n, 1), list(n, 2), vec![], list(n / 2, 3)]);
            merges::<u64>(&engine, &[vec![], list(n, 1), list(n, 1), vec![5], list(n + 1, 5)]);
        }
        merges::<u32>(&engine, &[]);
    }
}
