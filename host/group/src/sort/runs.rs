//! Runs in place of keys: where most of the sorted keys of a rank equal the one before, words and their numbers change
//! places. The lists that came are merged, and whose share it is writes each word as often as it occurs.

use super::Sorter;
use super::frequent::Known;
use super::pairs::merge_pairs;
use super::ranges::at_least;
use crate::vec::room;
use crate::{Exchange, Round, ShardedVec, Total};
use rungs::Operation;
use rungs::engine::{Buffer, Engine};
use rungs::error::{Error, Result};
use rungs::keys::order_of;
use rungs::vec::choice::{self, choose};
use rungs_kernels::exchange::frequent::Sifts;
use rungs_kernels::keys::UNSIGNED;
use rungs_kernels::ladder::Sequence;
use rungs_kernels::ladder::scan::Elements;
use rungs_kernels::selections::BLOCK;
use rungs_kernels::selections::by_key::{grid, lengths_by_key, shared_bytes, workspace};
use simt::launcher::Launcher;
use simt::{Geometry, Global, Kernel, Scalar};
use std::ops::Range;

/// Places of a rank's keys where neighbours are compared.
const SHOWN: u64 = 1024;

/// Runs change places if there are this many times as many keys.
const SHORTER: f64 = 8.0;

/// The memory that is kept from one sort to the next.
pub(super) struct Lists<T> {
    /// Of this rank's runs: their lengths; the words take the place of the keys.
    lengths: Option<Buffer<u32>>,
    states: Option<Buffer<u64>>,
    /// Of the runs that came, and memory to merge them.
    words: [Option<Buffer<T>>; 2],
    counts: [Option<Buffer<u32>>; 2],
    starts: Option<Buffer<u32>>,
    splits: Option<Buffer<u32>>,
    /// The launches that scan the counts of this number of runs.
    scan: Option<(usize, Sequence<Elements<u32>>)>,
}

impl<T> Default for Lists<T> {
    fn default() -> Self {
        Self {
            lengths: None,
            states: None,
            words: [None, None],
            counts: [None, None],
            starts: None,
            splits: None,
            scan: None,
        }
    }
}

/// Lists the runs of sorted words.
fn list<W: Scalar>(
    engine: &Engine,
    keys: Global<W>,
    (words, lengths, count): (Global<W>, Global<u32>, Global<u32>),
    states: Global<u64>,
) -> Result<()>
where
    lengths_by_key<W>: Kernel<Args = (Global<W>, Global<u32>, Global<W>, Global<u32>, Global<u32>, Global<u64>)>,
{
    let on: &dyn Launcher = engine;
    let states = states.slice(0, workspace::<u32>(keys.len()));
    on.clear(states)?;
    let geometry = Geometry::linear(grid(keys.len()), BLOCK).shared(shared_bytes::<W, u32>());
    engine.launch(lengths_by_key::<W>::default(), geometry, (keys, count.slice(0, 0), words, lengths, count, states))
}

impl<T: Total> Sorter<'_, T> {
    /// Whether most of these sorted keys of all ranks equal the one before; the same on all ranks.
    pub(super) fn are_runs(&mut self, sorted: &ShardedVec<'_, T>) -> Result<bool> {
        let (len, shown) = (sorted.len as u64, SHOWN.min((sorted.len as u64).saturating_sub(1)));
        let places: Vec<u64> = (0..shown).flat_map(|k| [0, 1].map(|i| k * (len - 1) / shown + i)).collect();
        let found = self.small.elements_at(&self.engine, sorted.view().cast::<T::Word>(), &places)?;
        let equal = found.chunks_exact(2).filter(|pair| pair[0] == pair[1]).count() as u64;
        let told = self.group.all_gather(&[[len, shown, equal]])?.concat();
        let runs = told.iter().map(|&[len, shown, equal]| len as f64 * (1.0 - equal as f64 / shown.max(1) as f64));
        let all = told.iter().map(|[len, ..]| *len as f64);
        Ok(runs.sum::<f64>() * SHORTER <= all.sum())
    }

    /// Writes a rank's share: its piece of the sorted keys of each rank, and a part of the known ones, in order.
    /// Everything here is words, but for the share at the end.
    pub(super) fn exchange_runs(
        &mut self,
        keys: &mut ShardedVec<'_, T>,
        sorted: &ShardedVec<'_, T>,
        cuts: &[Vec<u64>],
        (known, part): (&Known, Range<u64>),
    ) -> Result<()> {
        let (engine, group, bytes) = (self.engine.clone(), self.group, size_of::<T>());
        let (me, size) = (group.rank(), group.size());
        let lists = &mut self.lists;
        // The keys themselves have been counted or collected, so the words of the runs take their place.
        let lengths = at_least(&engine, &mut lists.lengths, room(sorted.len))?;
        let pieces: Vec<Range<usize>> = cuts.windows(2).map(|cut| cut[0][me] as usize..cut[1][me] as usize).collect();
        let longest = pieces.iter().map(ExactSizeIterator::len).max().unwrap_or_default();
        let states = at_least(&engine, &mut lists.states, workspace::<u32>(longest as u32) as usize)?;
        let counts = self.small.upload(&engine, &vec![0u32; size])?;
        for (to, piece) in pieces.iter().enumerate().filter(|(_, piece)| !piece.is_empty()) {
            let input = sorted.buffer.slice(piece.start, piece.len());
            let words = keys.buffer.slice(piece.start, piece.len());
            let (lengths, count) = (lengths.slice(piece.start, piece.len()), counts.view.slice(to as u32, 1));
            match bytes {
                4 => list::<u32>(&engine, input.cast(), (words.cast(), lengths, count), states.view())?,
                _ => list::<u64>(&engine, input.cast(), (words.cast(), lengths, count), states.view())?,
            }
        }
        let all: Vec<Vec<u32>> = group.all_gather(&self.small.download(counts)?)?;
        if all.iter().any(|counts| counts.len() != size) {
            return Err(Error::Group("the ranks do not run the same program".into()));
        }

        // The lists that come, and that of the known keys.
        let (own_words, own_counts) = known.part::<T::Word>(part);
        let mut ends: Vec<u32> = vec![];
        for length in all.iter().map(|counts| counts[me]).chain([own_words.len() as u32]) {
            ends.push(ends.last().copied().unwrap_or_default() + length);
        }
        let runs = ends[size] as usize;
        let begin = |rank: usize| if rank == 0 { 0 } else { ends[rank - 1] as usize };
        let round = |bytes: usize| Round {
            sends: (pieces.iter().zip(&all[me]))
                .map(|(piece, &runs)| piece.start * bytes..(piece.start + runs as usize) * bytes)
                .collect(),
            receives: (0..size).map(|rank| begin(rank) * bytes..ends[rank] as usize * bytes).collect(),
        };
        let [words, merged_words] = &mut lists.words;
        let (mut words, mut merged_words) =
            (at_least(&engine, words, room(runs))?, at_least(&engine, merged_words, room(runs))?);
        let [counts, merged_counts] = &mut lists.counts;
        let (mut counts, mut merged_counts) =
            (at_least(&engine, counts, room(runs))?, at_least(&engine, merged_counts, room(runs))?);
        let starts = at_least(&engine, &mut lists.starts, room(runs))?;
        let (stream, rounds) = (&self.stream, [round(bytes)]);
        group.exchange(&Exchange { stream, from: &keys.buffer, to: &words, rounds: &rounds }, &mut |_| Ok(()))?;
        let rounds = [round(size_of::<u32>())];
        group.exchange(&Exchange { stream, from: &lengths, to: &counts, rounds: &rounds }, &mut |_| Ok(()))?;
        let known_words: Vec<T> = bytemuck::cast_slice(&own_words).to_vec();
        words.write_at(begin(size), &known_words)?;
        counts.write_at(begin(size), &own_counts)?;

        keys.start = 0;
        if runs > 0 {
            let pieces = (0..=size).map(|list| ends[list] as usize - begin(list)).collect();
            let (both, of_both) = ([&mut words, &mut merged_words], [&mut counts, &mut merged_counts]);
            merge_pairs(&engine, both, UNSIGNED, of_both, &mut lists.splits, pieces)?;
            let (words, counts) = (words.slice(0, runs), counts.slice(0, runs));
            let mut scan = match lists.scan.take() {
                Some((len, scan)) if len == runs => scan,
                _ => choose(choice::SCANS, &engine, size_of::<u32>(), runs)?.scanner(
                    &engine,
                    runs as u32,
                    Operation::Sum,
                )?,
            };
            let (input, output) = (counts, starts.slice(0, runs));
            scan.run(&engine, Elements { input, output, exclusive: true })?;
            lists.scan = Some((runs, scan));
            let (order, share) = (order_of(T::DTYPE), keys.view());
            match bytes {
                4 => u32::fill(&engine, (words.cast(), output), order, share.cast())?,
                _ => u64::fill(&engine, (words.cast(), output), order, share.cast())?,
            }
        }
        let (lengths, states, starts) = (Some(lengths), Some(states), Some(starts));
        let (words, counts) = ([Some(words), Some(merged_words)], [Some(counts), Some(merged_counts)]);
        let (splits, scan) = (lists.splits.take(), lists.scan.take());
        self.lists = Lists { lengths, states, words, counts, starts, splits, scan };
        Ok(())
    }
}
