//! Keys of which many are equal: frequent keys are counted, and do not move.
//!
//! 1. A sample of all shares shows which keys are frequent, the same on all ranks: a window of consecutive words, and
//!    some others.
//! 2. Each rank counts its frequent keys, and sorts the rare ones.
//! 3. The cuts are found among the rare keys of all ranks and the frequent ones, whose numbers all ranks know. So a
//!    frequent key whose copies fill more than a share is divided among ranks by their number.
//! 4. The rare keys change places: as runs of equal keys, if most of them equal the one before, and otherwise as they
//!    are. Each rank writes the frequent keys of its share, and merges them with the rare ones.

use super::small::Small;
use super::{Sorter, cuts_of, longest_first, round};
use crate::{Exchange, ShardedVec, Total};
use rungs::engine::{Buffer, Engine};
use rungs::error::{Error, Result};
use rungs::keys::order_of;
use rungs_kernels::exchange::frequent::{COUNTERS, Counted, SLOTS, Sift, Sifts, TABLE, WINDOW};
use rungs_kernels::keys::UNSIGNED;
use simt::{Global, Scalar};
use std::cmp::Reverse;
use std::ops::Range;

/// Most frequent keys outside of the window: so few that a multiplier is soon found that gives each a slot of its own.
const MOST: usize = 32;

/// A key outside of the window is frequent if it makes up one of this number of keys of the sample, or more.
const ONE_OF: u64 = 128;

/// Which keys are frequent, as words.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Frequent {
    /// Bytes of a word.
    bytes: usize,
    /// The first word of the window.
    first: u64,
    /// The others.
    others: Vec<u64>,
    /// What gives each of the others a slot of its own.
    multiplier: u64,
    /// How many keys are frequent, and how many there are, by the sample.
    shares: [u64; 2],
}

/// How far a word lies behind the window's first one.
fn offset(bytes: usize, word: u64, first: u64) -> u32 {
    if bytes == size_of::<u32>() { (word as u32).offset(first as u32) } else { word.offset(first) }
}

/// The slot of a word.
fn slot(bytes: usize, word: u64, multiplier: u64) -> u32 {
    if bytes == size_of::<u32>() { (word as u32).slot(multiplier as u32) } else { word.slot(multiplier) }
}

/// The first of some odd numbers that gives each word a slot of its own.
fn multiplier(bytes: usize, words: &[u64]) -> Option<u64> {
    let odd = |i: u64| i.wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29) | 1;
    (1..1000).map(odd).find(|&multiplier| {
        let mut taken = [false; SLOTS as usize];
        words.iter().all(|&word| !std::mem::replace(&mut taken[slot(bytes, word, multiplier) as usize], true))
    })
}

impl Frequent {
    /// By what each rank told: the length of its share, and words of it in no order. Nothing if none told any.
    pub(super) fn of(told: &[(u64, &[u64])], bytes: usize) -> Option<Self> {
        let mut sample = vec![];
        for (length, words) in told {
            // Each word stands for as many keys as there are per word.
            sample.extend(words.iter().map(|&word| (word, length / words.len() as u64)));
        }
        sample.sort_unstable();
        let keys: Vec<(u64, u64)> = (sample.chunk_by(|a, b| a.0 == b.0))
            .map(|equal| (equal[0].0, equal.iter().map(|(_, weight)| weight).sum()))
            .collect();
        let all: u64 = keys.iter().map(|(_, weight)| weight).sum();
        let (mut most, mut first, mut begin, mut inside) = (0, keys.first()?.0, 0, 0);
        for &(word, weight) in &keys {
            inside += weight;
            while word - keys[begin].0 >= u64::from(WINDOW) {
                inside -= keys[begin].1;
                begin += 1;
            }
            if inside > most {
                (most, first) = (inside, keys[begin].0);
            }
        }
        let is_outside = |word: u64| offset(bytes, word, first) >= WINDOW;
        let mut others: Vec<(u64, u64)> =
            keys.into_iter().filter(|&(word, weight)| weight * ONE_OF >= all && is_outside(word)).collect();
        others.sort_by_key(|&(word, weight)| (Reverse(weight), word));
        others.truncate(MOST);
        let words = |of: &[(u64, u64)]| of.iter().map(|(word, _)| *word).collect::<Vec<u64>>();
        let multiplier = loop {
            match multiplier(bytes, &words(&others)) {
                Some(multiplier) => break multiplier,
                None => others.pop(),
            };
        };
        let frequent = most + others.iter().map(|(_, weight)| weight).sum::<u64>();
        Some(Self { bytes, first, others: words(&others), multiplier, shares: [frequent, all] })
    }

    /// Whether it is faster to count them than to sort by ranges, or, if the top bits do not tell the shares apart, by
    /// whole shares.
    pub(super) fn are_worth(&self, is_crowded: bool) -> bool {
        let [frequent, all] = self.shares;
        if is_crowded { frequent >= all / 4 } else { frequent >= all / 4 * 3 }
    }

    /// What the kernel tells them by.
    fn table(&self) -> Vec<u64> {
        let mut table = vec![self.first; TABLE as usize];
        for &word in &self.others {
            table[slot(self.bytes, word, self.multiplier) as usize] = word;
        }
        table[SLOTS as usize + 1] = self.multiplier;
        table
    }

    /// Each that occurs, in order, by the counters of all ranks.
    fn known(&self, counts: &[Vec<u32>]) -> Known {
        let count = |counter: u32| counts.iter().map(|counts| u64::from(counts[counter as usize])).sum::<u64>();
        let mask = u64::MAX >> (64 - 8 * self.bytes);
        let window = (0..WINDOW).map(|i| (self.first.wrapping_add(i.into()) & mask, count(i)));
        let others = self.others.iter();
        let others = others.map(|&word| (word, count(WINDOW + slot(self.bytes, word, self.multiplier))));
        let mut all: Vec<(u64, u64)> = window.chain(others).filter(|(_, count)| *count > 0).collect();
        all.sort_unstable();
        let mut end = 0;
        let runs = all.into_iter().map(|(word, count)| {
            end += count;
            (word, end)
        });
        Known { runs: runs.collect() }
    }
}

/// Frequent keys in order, as if each was there as often as it occurs.
pub(super) struct Known {
    /// The words, and where the run of each ends.
    runs: Vec<(u64, u64)>,
}

impl Known {
    /// How many keys.
    fn len(&self) -> u64 {
        self.runs.last().map_or(0, |(_, end)| *end)
    }

    /// The run that has this place.
    fn run(&self, place: u64) -> usize {
        self.runs.partition_point(|(_, end)| *end <= place)
    }

    /// The words at these places.
    fn at(&self, places: &[u64]) -> Vec<u64> {
        places.iter().map(|&place| self.runs[self.run(place)].0).collect()
    }

    /// The runs of a part, which is no longer than a share: their words, and how many of each are in it.
    pub(super) fn part<W: Scalar>(&self, part: Range<u64>) -> (Vec<W>, Vec<u32>) {
        let runs = if part.is_empty() { 0..0 } else { self.run(part.start)..self.run(part.end - 1) + 1 };
        let mut start = part.start;
        let run = |(word, end): &(u64, u64)| {
            let count = part.end.min(*end) - std::mem::replace(&mut start, *end);
            (W::from_bits_64(*word), count as u32)
        };
        self.runs[runs].iter().map(run).unzip()
    }
}

/// Counts the frequent keys and collects the rare ones. Returns the counters.
fn sift<W: Sifts>(
    (engine, small): (&Engine, &mut Small),
    (keys, order): (Global<W>, u32),
    by: &Frequent,
    rare: Global<W>,
) -> Result<Vec<u32>> {
    let table: Vec<W> = by.table().into_iter().map(W::from_bits_64).collect();
    let (table, counts) = (small.upload(engine, &table)?, small.upload(engine, &[0u32; COUNTERS as usize + 1])?);
    W::sift(engine, Sift { keys, order, table: table.view, counts: counts.view, rare })?;
    small.download(counts)
}

/// Writes a part of the frequent keys.
fn fill<W: Sifts>(
    (engine, small): (&Engine, &mut Small),
    (known, part): (&Known, Range<u64>),
    order: u32,
    output: Global<W>,
) -> Result<()> {
    let (words, counts) = known.part::<W>(part);
    if words.is_empty() {
        return Ok(());
    }
    let starts: Vec<u32> = counts.iter().scan(0, |end, n| Some(std::mem::replace(end, *end + n))).collect();
    let (words, starts) = (small.upload(engine, &words)?, small.upload(engine, &starts)?);
    Ok(W::fill(engine, (words.view, starts.view), order, output)?)
}

impl<T: Total> Sorter<'_, T> {
    /// Sorts keys of which these are frequent.
    pub(super) fn sort_counted(
        &mut self,
        keys: &mut ShardedVec<'_, T>,
        lengths: &[u64],
        frequent: &Frequent,
    ) -> Result<()> {
        let (engine, order, group) = (self.engine.clone(), order_of(T::DTYPE), self.group);
        let (me, size) = (group.rank(), group.size());
        let buffer: Buffer<T> = self.spare(keys.len)?;
        let room = buffer.slice(0, keys.len);
        // Words of the key's width, which is one of two.
        let counts = match size_of::<T>() {
            4 => sift::<u32>((&engine, &mut self.small), (keys.view().cast(), order), frequent, room.cast())?,
            _ => sift::<u64>((&engine, &mut self.small), (keys.view().cast(), order), frequent, room.cast())?,
        };
        let all = group.all_gather(&counts)?;
        if all.iter().any(|counts| counts.len() != COUNTERS as usize + 1) {
            return Err(Error::Group("the ranks do not run the same program".into()));
        }
        let known = frequent.known(&all);
        let mut parts: Vec<u64> = all.iter().map(|counts| u64::from(counts[COUNTERS as usize])).collect();
        let rare = ShardedVec { group, engine: engine.clone(), buffer, start: 0, len: parts[me] as usize };
        if rare.len > 0 {
            self.sort_own(rare.view().cast(), UNSIGNED)?;
        }
        parts.push(known.len());
        let small = &mut self.small;
        let mut own = |places: &[u64]| {
            let found = small.elements_at(&engine, rare.view().cast::<T::Word>(), places)?;
            Ok(found.into_iter().map(Scalar::to_bits_64).collect())
        };
        let cuts = cuts_of(group, &parts, lengths, &mut own, &|places| known.at(places))?;
        let filled = cuts[me][size]..cuts[me + 1][size];
        let fill = |small: &mut Small, order: u32, output: Global<T>| match size_of::<T>() {
            4 => fill::<u32>((&engine, small), (&known, filled.clone()), order, output.cast()),
            _ => fill::<u64>((&engine, small), (&known, filled.clone()), order, output.cast()),
        };
        if parts[..size].iter().all(|&len| len == 0) {
            fill(&mut self.small, order, keys.view())?;
            self.spare = Some(rare.buffer);
            return Ok(());
        }
        if self.are_runs(&rare)? {
            self.exchange_runs(keys, &rare, &cuts, (&known, filled.clone()))?;
            self.spare = Some(rare.buffer);
            return Ok(());
        }
        // The keys themselves have been counted or collected, so their memory receives.
        let (ranks, pieces) = longest_first(&cuts, size + 1, me);
        let mut round = round(&rare, &cuts, &ranks);
        let own = round.receives.pop().unwrap_or_default();
        fill(&mut self.small, UNSIGNED, keys.buffer.slice(own.start / size_of::<T>(), own.len() / size_of::<T>()))?;
        let exchange = Exchange { stream: &self.stream, from: &rare.buffer, to: &keys.buffer, rounds: &[round] };
        group.exchange(&exchange, &mut |_| Ok(()))?;
        keys.start = 0;
        self.spare = Some(rare.buffer);
        self.merge_words(keys, pieces)?;
        self.decode(keys)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By words of 4 bytes of one rank, which has 100 keys for each.
    fn of(words: &[u64]) -> Frequent {
        Frequent::of(&[(100 * words.len() as u64, words), (0, &[])], 4).unwrap()
    }

    #[test]
    fn a_sample_shows_which_keys_are_frequent() {
        assert_eq!(Frequent::of(&[(10, &[]), (0, &[])], 4), None);
        // Two far apart: the window has one of them, the table the other.
        let two = of(&[0, 1 << 31, 0, 1 << 31, 0]);
        assert_eq!((two.first, &two.others[..], two.shares), (0, &[1 << 31][..], [500, 500]));
        assert!(two.are_worth(true) && two.are_worth(false));
        // The window is where most words are, and ends with it.
        let words: Vec<u64> = (0..1000).map(|i| if i % 2 == 0 { 7000 + 10 * i } else { i << 21 }).collect();
        let small = of(&words);
        let inside = words.iter().filter(|&&word| offset(4, word, small.first) < WINDOW).count() as u64;
        assert!((405..412).contains(&inside) && small.others.is_empty(), "{small:?}");
        assert_eq!(small.shares, [100 * inside, 100_000]);
        assert!(small.are_worth(true) && !small.are_worth(false));
        // None occurs twice.
        let none = of(&(0..1000).map(|i| i << 22).collect::<Vec<_>>());
        assert!(!none.are_worth(true), "{none:?}");
    }

    #[test]
    fn each_key_of_the_table_has_its_slot() {
        for (bytes, step) in [(4, 0x0400_0000), (8, 0x0123_4567_89AB_CDEF), (8, 1 << 40)] {
            let words: Vec<u64> = (0..100).map(|i| ((1 + i % 40) * step) & (u64::MAX >> (64 - 8 * bytes))).collect();
            let frequent = Frequent::of(&[(6400, &words)], bytes).unwrap();
            let table = frequent.table();
            assert!(frequent.others.len() > 20, "{frequent:?}");
            for &word in &frequent.others {
                assert_eq!(table[slot(bytes, word, frequent.multiplier) as usize], word);
            }
        }
    }

    #[test]
    fn the_copies_of_known_keys_lie_one_after_the_other() {
        let frequent = of(&[u64::from(u32::MAX), u64::from(u32::MAX), 1 << 20, 5, 1 << 20]);
        let mut counts = vec![vec![0; COUNTERS as usize + 1]; 2];
        // The window goes on at zero behind the largest word.
        let at = |word: u64| match offset(4, word, frequent.first) {
            inside if inside < WINDOW => inside as usize,
            _ => (WINDOW + slot(4, word, frequent.multiplier)) as usize,
        };
        (counts[0][at(u32::MAX.into())], counts[1][at(u32::MAX.into())], counts[1][at(1 << 20)]) = (3, 4, 5);
        let known = frequent.known(&counts);
        assert_eq!((known.len(), &known.runs[..]), (12, &[(1 << 20, 5), (u32::MAX.into(), 12)][..]));
        assert_eq!(known.at(&[0, 4, 5, 11]), [1 << 20, 1 << 20, u32::MAX.into(), u32::MAX.into()]);
        let part = |part| known.part::<u32>(part);
        assert_eq!(part(0..12), (vec![1 << 20, u32::MAX], vec![5, 7]));
        assert_eq!((part(2..5), part(5..6)), ((vec![1 << 20], vec![3]), (vec![u32::MAX], vec![1])));
        assert_eq!((part(4..7), part(7..7)), ((vec![1 << 20, u32::MAX], vec![1, 2]), (vec![], vec![])));
    }
}
