//! Sorting the keys of a group, each rank's share of the same length before and after.
//!
//! - `exchange-whole`: each rank sorts its share; the sorted shares are cut exactly; the pieces change places in one
//!   exchange; each rank merges what it got.
//! - `exchange-ranges`: each rank splits its share into buckets by the top bits; runs of buckets are sorted while the
//!   next ones are on their way.
//! - `exchange-counted`: frequent keys are counted, and written where they belong; only the others are sorted and
//!   change places.
//!
//! The first takes any keys. The second is faster where the top bits tell the ranks' keys apart. Where they do not, all
//! ranks find so and take the first: from a sample, if it leaves no doubt, and otherwise from counts. If the sample
//! shows keys that are frequent enough, all take the third.

mod cuts;
mod frequent;
mod merges;
mod pairs;
mod ranges;
mod runs;
mod small;

pub use pairs::PairSorter;

use super::vec::{Part, room};
use super::{Exchange, Group, Round, ShardedVec, Total};
use cuts::Search;
use frequent::Frequent;
use ranges::Ranges;
use rungs::engine::{AnyBuffer, Buffer, Engine};
use rungs::error::{Error, Result};
use rungs::keys::order_of;
use rungs::vec::choice::{self, choose};
use rungs_kernels::ladder::sort::Keys;
use rungs_kernels::ladder::{Options, Sequence};
use rungs_kernels::sorts::pieces::Bits;
use runs::Lists;
use simt::{Global, Scalar};
use small::Small;
use std::fmt;
use std::str::FromStr;

/// Samples that a share shows for a cut and round.
const SAMPLES: u64 = 1024;

/// Keys of a share that show, before a sort by ranges, whether their top bits tell the shares apart; how many keys a
/// share has that shows some.
const SHOWN: u64 = 512;
const SAMPLED: u64 = 4096;

/// How keys are sorted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SortRung {
    /// Sorted, exchanged, sorted.
    Whole,
    /// Split into buckets, which are sorted while others are exchanged.
    #[default]
    Ranges,
    /// Frequent keys counted, others sorted and exchanged: what [`SortRung::Ranges`] takes where many keys are equal.
    Counted,
}

impl SortRung {
    /// Those that can be asked for.
    pub const ALL: [Self; 2] = [Self::Whole, Self::Ranges];

    /// The name in the program.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Whole => "exchange-whole",
            Self::Ranges => "exchange-ranges",
            Self::Counted => "exchange-counted",
        }
    }
}

impl fmt::Display for SortRung {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for SortRung {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        let known = Self::ALL.map(Self::name);
        let found = Self::ALL.into_iter().find(|rung| rung.name() == name);
        found.ok_or_else(|| Error::unknown("rung of a group's sort", name, &known))
    }
}

impl<T: Total> ShardedVec<'_, T> {
    /// Sorts the whole in place: each rank gets as many elements of the sorted whole as it gave, the ranks' shares one
    /// after the other. Floats are in the IEEE total order, see [`rungs::data`].
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] if scratch memory does not fit on the device; [`Error::Launch`] or [`Error::Cuda`] if a
    /// launch, or a kernel before it, fails; [`Error::Group`] on all ranks if one fails.
    pub fn sort(&mut self) -> Result<()> {
        Sorter::new(self.group, &self.engine)?.sort(self, SortRung::default()).map(|_| ())
    }
}

/// Sorts vectors of a group; keeps the memory that it needs in addition to the keys from one sort to the next.
pub struct Sorter<'g, T: Total> {
    group: &'g dyn Group,
    engine: Engine,
    /// For the exchange.
    stream: Engine,
    /// Memory for a share, when there is no sort.
    spare: Option<Buffer<T>>,
    /// Scratch memory of merges.
    splits: Option<Buffer<u32>>,
    /// The launches that sort a share of this length.
    own: Option<(usize, Sequence<Keys<T::Word>>)>,
    ranges: Ranges<T>,
    lists: Lists<T>,
    small: Small,
}

/// A sort of the caller's: from one buffer to another, of this many keys.
pub type OtherSort<'a> = dyn FnMut(&dyn AnyBuffer, &dyn AnyBuffer, usize) -> Result<()> + 'a;

/// Sorts a rank's share.
type OwnSort<'a, 'g, T> = dyn FnMut(&mut Sorter<'g, T>, &mut ShardedVec<'_, T>) -> Result<()> + 'a;

impl<'g, T: Total> Sorter<'g, T> {
    /// A sorter for this rank's vectors.
    ///
    /// # Errors
    /// [`Error::Cuda`] if the driver refuses a stream.
    pub fn new(group: &'g dyn Group, engine: &Engine) -> Result<Self> {
        let stream = engine.second_stream()?;
        Ok(Self {
            group,
            engine: engine.clone(),
            stream,
            spare: None,
            splits: None,
            own: None,
            ranges: Ranges::default(),
            lists: Lists::default(),
            small: Small::default(),
        })
    }

    /// The same sorter, whose exchange by ranges has this number of rounds.
    pub fn with_rounds(mut self, rounds: usize) -> Self {
        self.ranges.rounds = Some(rounds.max(1));
        self
    }

    /// The same sorter, whose exchange by ranges tells buckets apart by these bits, not by those that suit the number
    /// of keys: for tests of what only very many keys take.
    pub fn with_bits(mut self, bits: Bits) -> Self {
        self.ranges.bits = Some(bits);
        self
    }

    /// Sorts in place, see [`ShardedVec::sort`]. Returns the rung that sorted: all ranks take another one than asked
    /// for where that cannot sort these keys.
    ///
    /// # Errors
    /// As for [`ShardedVec::sort`].
    pub fn sort(&mut self, keys: &mut ShardedVec<'_, T>, rung: SortRung) -> Result<SortRung> {
        if !self.engine.is(&keys.engine) {
            return Err(Error::Usage("a sorter sorts vectors of its engine".into()));
        }
        self.small.clear();
        let mut mine = vec![keys.len as u64];
        if rung != SortRung::Whole && self.group.size() > 1 && keys.len as u64 >= SAMPLED {
            let (shown, len) = (SHOWN, keys.len as u64);
            let places: Vec<u64> = (0..shown).map(|k| (2 * k + 1) * len / (2 * shown)).collect();
            mine.extend(words_at(&mut self.small, keys, &places)?);
        }
        let all = self.group.all_gather(&mine)?;
        let told = all.iter().map(|told| told.split_first().map(|(&length, samples)| (length, samples)));
        let told = told.collect::<Option<Vec<(u64, &[u64])>>>();
        let told = told.ok_or_else(|| Error::Group("the ranks do not run the same program".into()))?;
        let lengths: Vec<u64> = told.iter().map(|(length, _)| *length).collect();
        if rung != SortRung::Whole && lengths.len() > 1 {
            let bits = self.ranges.bits.unwrap_or_else(|| Bits::of(lengths.iter().sum()));
            let shift = 8 * size_of::<T>() as u32 - bits.top_buckets().ilog2();
            let is_crowded = ranges::are_crowded(&told, shift);
            if let Some(frequent) = Frequent::of(&told, size_of::<T>()).filter(|keys| keys.are_worth(is_crowded)) {
                self.sort_counted(keys, &lengths, &frequent)?;
                return Ok(SortRung::Counted);
            }
            if !is_crowded && self.sort_by_ranges(keys, &lengths, bits)? {
                return Ok(SortRung::Ranges);
            }
        }
        self.sort_whole(keys, &lengths, &mut |sorter, keys| sorter.sort_own(keys.view().cast(), order_of(T::DTYPE)))?;
        Ok(SortRung::Whole)
    }

    /// Sorts as [`SortRung::Whole`] does, with a sort of the caller's in place of the rung that sorts a share. It sorts
    /// from one buffer to another, of which it is told the number of keys.
    ///
    /// # Errors
    /// As for [`Sorter::sort`]; those of `sort`.
    pub fn sort_by_other(&mut self, keys: &mut ShardedVec<'_, T>, sort: &mut OtherSort<'_>) -> Result<()> {
        if !self.engine.is(&keys.engine) {
            return Err(Error::Usage("a sorter sorts vectors of its engine".into()));
        }
        let lengths: Vec<u64> = self.group.all_gather(&[keys.len as u64])?.concat();
        self.sort_whole(keys, &lengths, &mut |sorter, keys| {
            // The two buffers change places.
            let target = sorter.spare(keys.len)?;
            sort(&Part::of(keys), &target, keys.len)?;
            sorter.spare = Some(std::mem::replace(&mut keys.buffer, target));
            keys.start = 0;
            Ok(())
        })
    }

    /// Sorts each share by `own`, exchanges, and merges what came.
    fn sort_whole(
        &mut self,
        keys: &mut ShardedVec<'_, T>,
        lengths: &[u64],
        own: &mut OwnSort<'_, 'g, T>,
    ) -> Result<()> {
        own(self, keys)?;
        if lengths.len() > 1 {
            let cuts = cuts(&mut self.small, keys, lengths)?;
            let pieces = self.exchange_whole(keys, lengths, &cuts)?;
            self.merge(keys, pieces)?;
        }
        Ok(())
    }

    /// Memory for a share of this length.
    fn spare(&mut self, len: usize) -> Result<Buffer<T>> {
        match self.spare.take() {
            Some(spare) if spare.len() >= len => Ok(spare),
            _ => self.engine.alloc(room(len)),
        }
    }

    /// Sorts keys of this rank.
    fn sort_own(&mut self, keys: Global<T::Word>, order: u32) -> Result<()> {
        let len = keys.len() as usize;
        let mut own = match self.own.take() {
            Some((own_len, own)) if own_len == len => own,
            // The memory of another length is freed first.
            _ => {
                let rung = choose(choice::SORTS, &self.engine, size_of::<T>(), len)?;
                rung.sorter::<T::Word>(&self.engine, keys.len(), Options::default())?
            }
        };
        own.run(&self.engine, Keys { keys, order })?;
        self.own = Some((len, own));
        Ok(())
    }

    /// Moves the pieces to their ranks, where they lie one behind the other, the longest first. Returns their lengths.
    fn exchange_whole(
        &mut self,
        keys: &mut ShardedVec<'_, T>,
        lengths: &[u64],
        cuts: &[Vec<u64>],
    ) -> Result<Vec<usize>> {
        let (ranks, pieces) = longest_first(cuts, lengths.len(), self.group.rank());
        let round = round(keys, cuts, &ranks);
        let target = self.spare(keys.len)?;
        let exchange = Exchange { stream: &self.stream, from: &keys.buffer, to: &target, rounds: &[round] };
        self.group.exchange(&exchange, &mut |_| Ok(()))?;
        self.spare = Some(std::mem::replace(&mut keys.buffer, target));
        keys.start = 0;
        Ok(pieces)
    }
}

/// Where each share, which is sorted, is cut for each rank: by rank and share.
fn cuts<T: Total>(small: &mut Small, keys: &ShardedVec<'_, T>, lengths: &[u64]) -> Result<Vec<Vec<u64>>> {
    cuts_of(keys.group, lengths, lengths, &mut |places| words_at(small, keys, places), &|_| vec![])
}

/// Where sorted parts are cut for ranks that get shares of these lengths: by rank and part. Each rank has a part, whose
/// words at some places `own` gives. There may be one part more, which all ranks know, with words that `known` gives.
fn cuts_of(
    group: &dyn Group,
    parts: &[u64],
    lengths: &[u64],
    own: &mut dyn FnMut(&[u64]) -> Result<Vec<u64>>,
    known: &dyn Fn(&[u64]) -> Vec<u64>,
) -> Result<Vec<Vec<u64>>> {
    let ends = lengths.iter().scan(0, |sum, &length| {
        *sum += length;
        Some(*sum)
    });
    let targets = ends.take(lengths.len() - 1).collect();
    let mut search = Search::new(parts, targets, SAMPLES);
    while !search.is_done() {
        let mut words = group.all_gather(&own(&search.places(group.rank()))?)?;
        words.extend((group.size()..parts.len()).map(|part| known(&search.places(part))));
        if !search.narrow(&words) {
            return Err(Error::Group("the ranks do not run the same program".into()));
        }
    }
    let mut cuts = vec![vec![0; parts.len()]];
    cuts.append(&mut search.cuts());
    cuts.push(parts.to_vec());
    Ok(cuts)
}

/// The keys at these places, as words that are ordered as they are.
fn words_at<T: Total>(small: &mut Small, keys: &ShardedVec<'_, T>, places: &[u64]) -> Result<Vec<u64>> {
    let found = small.elements_at(&keys.engine, keys.view(), places)?;
    Ok(found.iter().map(|key| key.to_word().to_bits_64()).collect())
}

/// The parts that a rank gets pieces of, that of the longest piece first, and the pieces' lengths.
fn longest_first(cuts: &[Vec<u64>], parts: usize, rank: usize) -> (Vec<usize>, Vec<usize>) {
    let length = |part: usize| length_of(cuts, part, rank);
    let mut parts: Vec<usize> = (0..parts).collect();
    parts.sort_by_key(|&part| std::cmp::Reverse(length(part)));
    let pieces = parts.iter().copied().map(length).collect();
    (parts, pieces)
}

/// How many elements one rank gets from another.
fn length_of(cuts: &[Vec<u64>], from: usize, to: usize) -> usize {
    (cuts[to + 1][from] - cuts[to][from]) as usize
}

/// What moves a vector's elements to the ranks that cuts give them to: there they lie one behind the other, in this
/// order of the ranks that they came from.
fn round<T: Scalar>(vec: &ShardedVec<'_, T>, cuts: &[Vec<u64>], order: &[usize]) -> Round {
    let (me, bytes) = (vec.group.rank(), size_of::<T>());
    let at = |place: u64| (vec.start + place as usize) * bytes;
    let sends = cuts.windows(2).map(|cut| at(cut[0][me])..at(cut[1][me])).collect();
    let (mut end, mut receives) = (0, vec![0..0; order.len()]);
    for &rank in order {
        receives[rank] = end..end + length_of(cuts, rank, me) * bytes;
        end = receives[rank].end;
    }
    Round { sends, receives }
}
