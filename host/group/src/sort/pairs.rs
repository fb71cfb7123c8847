//! Sorting keys with values: each rank sorts its share, the sorted shares are cut exactly, the pieces change places,
//! and each rank merges what it got. The pieces lie in the order of their ranks, and sorts and merges are stable. So
//! equal keys keep their order in the whole.

use super::small::Small;
use super::{cuts, length_of, round};
use crate::vec::room;
use crate::{Exchange, Group, ShardedVec, Total};
use rungs::engine::{Buffer, Engine};
use rungs::error::{Error, Result};
use rungs::keys::{KeyWord, order_of};
use rungs::vec::choice::{self, choose};
use rungs::vec::ordered::{Both, OrderedWord};
use rungs::vec::places::{PlaceWord, argsort, gather};
use rungs_kernels::ladder::Sequence;
use rungs_kernels::ladder::sort::Pairs;
use rungs_kernels::ordered::merge::tiles;
use simt::Scalar;

impl<T: Total<Word: OrderedWord + PlaceWord>> ShardedVec<'_, T> {
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
pub struct PairSorter<'g, T: Total<Word: KeyWord>, V> {
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

impl<'g, T: Total<Word: OrderedWord + PlaceWord>, V: Scalar> PairSorter<'g, T, V> {
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
        self.merge(keys, values, order.iter().map(|&rank| length_of(&cuts, rank, self.group.rank())).collect())
    }

    /// Merges sorted pieces of these lengths, which lie in sequence from the beginning of both memories on: neighbours
    /// until there is one piece. Of equal keys those of the earlier piece stay first.
    fn merge(
        &mut self,
        keys: &mut ShardedVec<'_, T>,
        values: &mut ShardedVec<'_, V>,
        mut pieces: Vec<usize>,
    ) -> Result<()> {
        let (engine, order) = (self.engine.clone(), order_of(T::DTYPE));
        pieces.retain(|&len| len > 0);
        while pieces.len() > 1 {
            let splits = spare(&engine, &mut self.splits, tiles(keys.len as u32) as usize + 1)?;
            let merged = spare(&engine, &mut self.keys, keys.len)?;
            let along = spare(&engine, &mut self.values, keys.len)?;
            let mut end = 0;
            for pair in pieces.chunks(2) {
                let (start, first) = (end, pair[0]);
                end += pair.iter().sum::<usize>();
                if pair.len() < 2 {
                    merged.copy_part(start, &keys.buffer, start..end)?;
                    along.copy_part(start, &values.buffer, start..end)?;
                    continue;
                }
                let both = [start..start + first, start + first..end];
                let [a, b] = both.clone().map(|part| keys.buffer.slice(part.start, part.len()).cast());
                let inputs = both.map(|part| values.buffer.slice(part.start, part.len()));
                let (len, splits) = (end - start, splits.slice(0, tiles((end - start) as u32) as usize + 1));
                T::Word::split(&engine, [a, b], order, splits)?;
                let output = along.slice(start, len);
                let args = (a, b, order, splits, merged.slice(start, len).cast());
                T::Word::merge_with(&engine, args, Both { inputs, output })?;
            }
            self.splits = Some(splits);
            replace(keys, &mut self.keys, merged);
            replace(values, &mut self.values, along);
            pieces = pieces.chunks(2).map(|pair| pair.iter().sum()).collect();
        }
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
