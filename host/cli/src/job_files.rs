//! Keys of files that a group sorts, and their values: each rank reads its share, and rank 0 writes the whole, a piece
//! at a time.

use crate::data::{Dtype, Element, KeyFile, Output, Pass};
use rungs::engine::Engine;
use rungs::error::Result;
use rungs_group::{Exchange, Group, Part, Round, ShardedVec};
use rungs_oracles::inputs::places;
use simt::Scalar;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

/// Where the keys of a sort come from, and go to.
pub struct Files {
    /// The keys.
    pub keys: Column,
    /// The values that move with them, if any do.
    pub values: Option<Column>,
}

/// Keys, or their values.
pub struct Column {
    /// The input; values without one are the places of the keys.
    pub input: Option<KeyFile>,
    /// The type of the elements.
    pub dtype: Dtype,
    /// How many there are.
    pub count: u64,
    /// The output, if there is one; of rank 0's process, and of no other.
    pub output: Mutex<Option<Output>>,
}

/// Bytes that go to rank 0 at a time.
const PIECE: usize = 64 << 20;

/// This rank's part of `n` elements.
pub fn part_of(group: &dyn Group, n: u64) -> Range<u64> {
    let (rank, size, n) = (group.rank() as u128, group.size() as u128, u128::from(n));
    (n * rank / size) as u64..(n * (rank + 1) / size) as u64
}

impl Column {
    /// The type of the places of `count` keys: more than 32 bits can count have 64.
    pub fn places(count: u64) -> Dtype {
        if u32::try_from(count).is_ok() { Dtype::U32 } else { Dtype::U64 }
    }

    /// This rank's share.
    ///
    /// # Errors
    /// Those of reading; [`Error::OutOfMemory`](rungs::Error::OutOfMemory) if it does not fit on the device.
    pub fn share<'g, T: Element + Scalar>(&self, group: &'g dyn Group, engine: &Engine) -> Result<ShardedVec<'g, T>> {
        let part = part_of(group, self.count);
        match &self.input {
            Some(input) => {
                let mut share = ShardedVec::uninit(group, engine, (part.end - part.start) as usize)?;
                let start = part.start;
                input.read::<T>(part, &mut |at, piece| share.write((at - start) as usize, piece))?;
                Ok(share)
            }
            None => ShardedVec::from_slice(group, engine, places(T::DTYPE, part).as_slice::<T>().unwrap_or_default()),
        }
    }

    /// Writes the shares of all ranks, in sequence. All ranks call it.
    ///
    /// # Errors
    /// Those of writing, on rank 0; [`Error::Group`](rungs::Error::Group) on the others then.
    pub fn write<T: Element + Scalar>(
        &self,
        group: &dyn Group,
        engine: &Engine,
        keys: &ShardedVec<'_, T>,
    ) -> Result<()> {
        let output = match group.rank() {
            0 => self.output.lock().unwrap_or_else(PoisonError::into_inner).take(),
            _ => None,
        };
        let told = group.all_gather(&[keys.len() as u64, u64::from(output.is_some())])?;
        let lengths: Vec<usize> = told.iter().map(|told| told[0] as usize).collect();
        if told[0][1] == 0 {
            return Ok(());
        }
        let count = lengths.iter().map(|&length| length as u64).sum();
        match output {
            Some(output) => {
                output.write_pieces(self.dtype, count, &mut |pass| gather(group, engine, keys, &lengths, pass))
            }
            None => gather(group, engine, keys, &lengths, &mut |_| Ok(())),
        }
    }
}

/// Passes the bytes of all shares on, in sequence, on rank 0.
fn gather<T: Element + Scalar>(
    group: &dyn Group,
    engine: &Engine,
    keys: &ShardedVec<'_, T>,
    lengths: &[usize],
    pass: &mut Pass<'_>,
) -> Result<()> {
    let (me, size, most) = (group.rank(), group.size(), PIECE / size_of::<T>());
    let (stream, longest) = (engine.second_stream()?, lengths.iter().skip(1).copied().max().unwrap_or(0));
    let to = engine.alloc::<T>(if me == 0 { most.min(longest) } else { 0 })?;
    let bytes = |part: Range<usize>| part.start * size_of::<T>()..part.end * size_of::<T>();
    for (rank, &length) in lengths.iter().enumerate() {
        let mut start = 0;
        while start < length {
            let part = start..length.min(start + most);
            start = part.end;
            if rank == 0 {
                if me == 0 {
                    pass(bytemuck::cast_slice(&keys.read(part.start, part.len())?))?;
                }
                continue;
            }
            let mut round = Round { sends: vec![0..0; size], receives: vec![0..0; size] };
            if me == rank {
                round.sends[0] = bytes(part.clone());
            }
            if me == 0 {
                round.receives[rank] = bytes(0..part.len());
            }
            let from = Part::of(keys);
            group.exchange(&Exchange { stream: &stream, from: &from, to: &to, rounds: &[round] }, &mut |_| Ok(()))?;
            if me == 0 {
                let mut piece = vec![T::zeroed(); part.len()];
                to.read(&mut piece)?;
                pass(bytemuck::cast_slice(&piece))?;
            }
        }
    }
    Ok(())
}
