//! The rung `exchange-ranges`: runs of buckets are sorted while the next ones are on their way.
//!
//! Each rank counts its keys by their top bits, 10 to 17, and moves them to buckets by the first 8 or 9 of these bits.
//! All ranks learn the counts of all, so each knows which top buckets belong to which rank: those that hold its part of
//! the sorted whole. A bucket on the border of two ranks goes to both of them, each of which sorts all of it and leaves
//! out what is the other's; so shares are exact without a search for the keys between them. Each rank's top buckets are
//! divided into rounds of about as many keys. When a round has come, its keys are moved to their buckets by the other
//! bits, from wherever they lie, and the buckets are sorted, while the next round is on its way.
//!
//! The keys of the rank itself are read where they are, and are partitioned while the first round is on its way.

use super::super::vec::room;
use super::super::{Exchange, Round};
use super::{ShardedVec, Sorter, Total};
use rungs::engine::{Buffer, Engine};
use rungs::error::Result;
use rungs::keys::order_of;
use rungs_kernels::sorts::buckets::MAX_KEYS;
use rungs_kernels::sorts::pieces::{Besides, Bits, Pieces, Run, RunMemory, cursor, first_tile};
use simt::launcher::{Device, Launcher};
use simt::{Global, Scalar};
use std::ops::Range;

/// Elements of the smallest piece of memory that a device reads at once, for the shortest elements: what is copied
/// keeps its place within it, and kernels begin at a multiple.
const LINE: u64 = 32;

/// Rounds of an exchange that is large enough.
const ROUNDS: usize = 8;

/// Fewest keys of a rank and round.
const LEAST: u64 = 1 << 21;

/// What is done with the keys of all ranks.
#[derive(Debug, PartialEq, Eq)]
struct Plan {
    /// Where each top bucket begins in the memory of each rank, and the end.
    starts: Vec<Vec<u64>>,
    /// The first top bucket of each round of each rank, and that behind the last.
    rounds: Vec<Vec<usize>>,
    /// Keys that each rank gets and that are before its share.
    skips: Vec<u64>,
}

/// The first top buckets of rounds with about as many keys each, of some top buckets with these sums before them.
fn divided(before: &[u64], own: Range<usize>, rounds: usize) -> Vec<usize> {
    let (first, keys) = (before[own.start], before[own.end] - before[own.start]);
    let border = |round: usize| {
        let target = first + keys * round as u64 / rounds as u64;
        own.start + before[own.start..own.end].partition_point(|&start| start < target)
    };
    (0..rounds).map(border).chain([own.end]).collect()
}

impl Plan {
    /// For ranks that have these many keys in each bucket, and shares of these lengths. Nothing if the top bits do not
    /// tell the ranks' shares apart well enough, so that one would get many more keys than its share.
    fn new(counts: &[Vec<u32>], lengths: &[u64], rounds: usize, bits: Bits) -> Option<Self> {
        let (low, top_buckets) = (bits.low() as usize, bits.top_buckets() as usize);
        let sums = |top: Vec<u64>| {
            let mut sums = vec![0];
            top.iter().for_each(|count| sums.push(sums[sums.len() - 1] + count));
            sums
        };
        let top = |of: &Vec<u32>| of.chunks_exact(low).map(|c| c.iter().map(|&n| u64::from(n)).sum()).collect();
        let starts: Vec<Vec<u64>> = counts.iter().map(|of| sums(top(of))).collect();
        let before: Vec<u64> = (0..=top_buckets).map(|q| starts.iter().map(|own| own[q]).sum()).collect();
        let (mut begin, mut plan) = (0, Self { starts, rounds: vec![], skips: vec![] });
        for &length in lengths {
            let end = begin + length;
            // Top buckets that hold a key of the share.
            let own = if length == 0 {
                0..0
            } else {
                before.partition_point(|&start| start <= begin) - 1..before.partition_point(|&start| start < end)
            };
            let keys = before[own.end] - before[own.start];
            if keys > length + length / 4 + LINE || keys + 2 * LINE > u64::from(MAX_KEYS) {
                return None;
            }
            plan.skips.push(if length == 0 { 0 } else { begin - before[own.start] });
            plan.rounds.push(divided(&before, own, rounds));
            begin = end;
        }
        Some(plan)
    }

    /// The top buckets of a rank.
    fn own(&self, rank: usize) -> Range<usize> {
        let rounds = &self.rounds[rank];
        rounds[0]..rounds[rounds.len() - 1]
    }

    /// Keys of one rank in some top buckets.
    fn keys(&self, rank: usize, buckets: &Range<usize>) -> u64 {
        self.starts[rank][buckets.end] - self.starts[rank][buckets.start]
    }

    /// Keys of all ranks in some top buckets.
    fn all_keys(&self, buckets: &Range<usize>) -> u64 {
        (0..self.starts.len()).map(|rank| self.keys(rank, buckets)).sum()
    }

    /// The top buckets of a round of a rank.
    fn round(&self, rank: usize, round: usize) -> Range<usize> {
        self.rounds[rank][round]..self.rounds[rank][round + 1]
    }
}

/// Whether samples show that some rank's top buckets, by the bits above `shift`, hold at least one and a half times the
/// keys of its share. Then the top bits cannot tell the shares apart, and no key has to be counted or moved to see it.
/// `told` has the length of each share, and keys of it in any order.
pub(super) fn are_crowded(told: &[(u64, &[u64])], shift: u32) -> bool {
    // Each sample stands for as many keys as there are per sample.
    let mut keys = vec![];
    for (length, samples) in told {
        let weight = *length as f64 / samples.len().max(1) as f64;
        keys.extend(samples.iter().map(|sample| (sample >> shift, weight)));
    }
    keys.sort_by_key(|(bucket, _)| *bucket);
    let mut begin = 0.0;
    told.iter().any(|(length, samples)| {
        let (start, end) = (begin, begin + *length as f64);
        begin = end;
        let mut sum = 0.0;
        let own: f64 = keys
            .chunk_by(|(a, _), (b, _)| a == b)
            .map(|bucket| {
                let (before, all) = (sum, bucket.iter().map(|(_, weight)| weight).sum::<f64>());
                sum += all;
                if before < end && sum > start { all } else { 0.0 }
            })
            .sum();
        !samples.is_empty() && own > 1.5 * (end - start)
    })
}

/// A piece that a rank sent: all keys of this rank's top buckets that it has.
struct Piece {
    rank: usize,
    /// Where the piece's memory begins, on a line, and the places before its keys.
    at: u64,
    pad: u64,
    keys: u64,
}

impl Piece {
    /// Elements of its memory.
    fn places(&self) -> u32 {
        (self.pad + self.keys) as u32
    }
}

/// A round of this rank.
struct Part {
    buckets: Range<usize>,
    /// Where the output's memory begins, on a line, and the places before its keys.
    at: u64,
    pad: u64,
    keys: u64,
}

impl Part {
    /// Elements of its memory.
    fn places(&self) -> u32 {
        (self.pad + self.keys) as u32
    }
}

/// Where the keys of one rank lie: those that others send it, and those that it sorts.
struct Places {
    pieces: Vec<Piece>,
    /// Elements of the memory for the pieces.
    received: usize,
    parts: Vec<Part>,
    /// Where the keys of the first part begin, and the elements of the memory for all.
    lead: u64,
    sorted: usize,
}

impl Places {
    fn new(plan: &Plan, me: usize) -> Self {
        let (own, mut end) = (plan.own(me), 0);
        let mut pieces = vec![];
        for rank in (0..plan.starts.len()).filter(|&rank| rank != me) {
            let (pad, keys) = (plan.starts[rank][own.start] % LINE, plan.keys(rank, &own));
            pieces.push(Piece { rank, at: end, pad, keys });
            end = (end + pad + keys).next_multiple_of(LINE);
        }
        let received = end as usize;
        // So that the share begins on a line. Only where there is a bucket before, which has the places before the
        // keys.
        let lead = if own.start == 0 { 0 } else { plan.skips[me].wrapping_neg() % LINE };
        let (mut parts, mut end) = (vec![], lead);
        for round in 0..plan.rounds[me].len() - 1 {
            let buckets = plan.round(me, round);
            let (keys, pad) = (plan.all_keys(&buckets), end % LINE);
            parts.push(Part { buckets, at: end - pad, pad, keys });
            end += keys;
        }
        Self { pieces, received, parts, lead, sorted: end as usize }
    }

    /// What the rank sends and receives in a round, in bytes.
    fn round(&self, plan: &Plan, me: usize, round: usize, bytes: usize) -> Round {
        let (size, own) = (plan.starts.len(), &self.parts[round].buckets);
        let mut receives = vec![0..0; size];
        for piece in &self.pieces {
            let from = &plan.starts[piece.rank];
            let place = |q: usize| (piece.at + piece.pad + from[q] - from[plan.own(me).start]) as usize * bytes;
            receives[piece.rank] = place(own.start)..place(own.end);
        }
        let send = |rank: usize| {
            let (theirs, from) = (plan.round(rank, round), &plan.starts[me]);
            from[theirs.start] as usize * bytes..from[theirs.end] as usize * bytes
        };
        let sends = (0..size).map(|rank| if rank == me { 0..0 } else { send(rank) }).collect();
        Round { sends, receives }
    }
}

/// The first bucket of a run of top buckets, and the counts from there on. If there are places before the keys, the
/// bucket before has them.
fn counts_in(counts: &[&[u32]], buckets: &Range<usize>, pad: u64, bits: Bits) -> (usize, Vec<u32>) {
    let low = bits.low() as usize;
    let run = buckets.start * low..buckets.end * low;
    let sum = |bucket: usize| counts.iter().map(|counts| counts[bucket]).sum::<u32>();
    // There is a bucket before if keys that begin within a line have others before them.
    let before = (pad > 0).then_some(pad as u32);
    (run.start - before.is_some() as usize, before.into_iter().chain(run.map(sum)).collect())
}

/// Where each top bucket of a rank begins, for the kernel that moves its keys there.
fn top_cursors(counts: &[u32], bits: Bits) -> Vec<u32> {
    let (mut cursors, mut start) = (vec![0; bits.cursors() as usize], 0);
    for (q, counts) in counts.chunks_exact(bits.low() as usize).enumerate() {
        cursors[cursor(q as u32) as usize] = start;
        start += counts.iter().sum::<u32>();
    }
    cursors
}

/// The memory that the rung keeps from one sort to the next.
pub struct Ranges<T> {
    /// Rounds of the exchange; as many as suit the number of keys if none.
    pub rounds: Option<usize>,
    /// What buckets are told apart by; what suits the number of keys if nothing.
    pub bits: Option<Bits>,
    /// Keys in their top buckets; keys that others sent, where the memory of the share has no room for them; the sorted
    /// keys; scratch memory of a round.
    split: Option<Buffer<T>>,
    received: Option<Buffer<T>>,
    output: Option<Buffer<T>>,
    scratch: Option<Buffer<T>>,
    words: Option<Buffer<u32>>,
    counts: Option<Buffer<u32>>,
}

impl<T> Default for Ranges<T> {
    fn default() -> Self {
        let (split, received, output, scratch) = (None, None, None, None);
        Self { rounds: None, bits: None, split, received, output, scratch, words: None, counts: None }
    }
}

/// Memory of at least this length: what is there, or new.
pub(super) fn at_least<T: Scalar>(engine: &Engine, kept: &mut Option<Buffer<T>>, len: usize) -> Result<Buffer<T>> {
    match kept.take() {
        Some(kept) if kept.len() >= len => Ok(kept),
        _ => engine.alloc(len),
    }
}

/// Memory of this length: what is there, or new.
fn exactly<T: Scalar>(engine: &Engine, kept: &mut Option<Buffer<T>>, len: usize) -> Result<Buffer<T>> {
    match kept.take() {
        Some(kept) if kept.len() == len => Ok(kept),
        _ => engine.alloc(len),
    }
}

/// Places words in sequence, each array on a line.
#[derive(Default)]
struct Layout(usize);

impl Layout {
    fn place(&mut self, words: u32) -> Range<usize> {
        let start = self.0;
        self.0 = (start + words as usize).next_multiple_of(LINE as usize);
        start..start + words as usize
    }
}

/// Where the words lie that the kernels work with, in one buffer.
struct Words {
    /// The counts of each piece's buckets, then those of each part's.
    counts: Vec<Range<usize>>,
    /// The tiles of this rank's keys, and of each piece.
    own_tiles: Range<usize>,
    tiles: Vec<Range<usize>>,
    /// What [`Besides`] has.
    besides: [Range<usize>; 4],
    /// Starts, cursors and lists of each part.
    parts: Vec<[Range<usize>; 3]>,
    all: usize,
}

impl Words {
    /// For a share of this many keys.
    fn new<W: Pieces>(places: &Places, share: u32, bits: Bits, device: &Device) -> Self {
        let (buckets, mut layout) = (bits.buckets(), Layout::default());
        let counts = (0..places.pieces.len() + places.parts.len()).map(|_| layout.place(buckets)).collect();
        let own_tiles = layout.place(W::tile_words(share, bits));
        let tiles = places.pieces.iter().map(|piece| layout.place(W::tile_words(piece.places(), bits))).collect();
        let [starts, second, first] = [buckets + 1, buckets, bits.cursors()].map(|words| layout.place(words));
        let most = places.parts.iter().map(Part::places).max().unwrap_or_default();
        let besides = [starts, second, first, layout.place(W::tile_words(most.max(share), bits))];
        let of_part = |part: &Part| {
            let lists = W::list_words(part.places().max(1), bits, device);
            [buckets + 1, buckets, lists].map(|words| layout.place(words))
        };
        let parts = places.parts.iter().map(of_part).collect();
        Self { counts, own_tiles, tiles, besides, parts, all: layout.0 }
    }
}

impl<T: Total> Sorter<'_, T> {
    /// Sorts by ranges; false, with the keys as they were, if the top bits do not tell the ranks' keys apart.
    pub(super) fn sort_by_ranges(&mut self, keys: &mut ShardedVec<'_, T>, lengths: &[u64], bits: Bits) -> Result<bool> {
        let (me, engine) = (self.group.rank(), self.engine.clone());
        let (device, order, mine) = (engine.device(), order_of(T::DTYPE), keys.len);
        let can = bits.suit::<T::Word>(&device) && lengths.iter().all(|&length| length <= u64::from(MAX_KEYS));
        // A rank that cannot brings nothing, and all see that.
        let count = |counted: &Buffer<u32>| -> Result<Vec<u32>> {
            counted.fill(0)?;
            if mine > 0 {
                T::Word::count(&engine, keys.view().cast(), order, bits, counted.view())?;
            }
            counted.download()
        };
        let counted = exactly(&engine, &mut self.ranges.counts, bits.buckets() as usize)?;
        let own = if can { count(&counted)? } else { vec![] };
        let split = at_least(&engine, &mut self.ranges.split, room(mine))?;
        if can && mine > 0 {
            // It runs while the ranks tell each other their counts.
            let cursors = self.small.upload(&engine, &top_cursors(&own, bits))?;
            let output = split.slice(0, mine).cast();
            T::Word::split(&engine, keys.view().cast(), order, bits, cursors.view, output)?;
        }
        let all = self.group.all_gather(&own)?;
        let longest = lengths.iter().copied().max().unwrap_or_default();
        let rounds = self.ranges.rounds.unwrap_or((longest / LEAST).clamp(1, ROUNDS as u64) as usize);
        let is_told = all.iter().all(|counts| counts.len() == bits.buckets() as usize);
        let Some(plan) = is_told.then(|| Plan::new(&all, lengths, rounds, bits)).flatten() else {
            (self.ranges.split, self.ranges.counts) = (Some(split), Some(counted));
            return Ok(false);
        };

        let (own, places) = (plan.own(me), Places::new(&plan, me));
        let (pieces, parts) = (&places.pieces, &places.parts);
        let share = u32::try_from(mine).unwrap_or(MAX_KEYS);
        let at = Words::new::<T::Word>(&places, share, bits, &device);
        let words = at_least(&engine, &mut self.ranges.words, at.all)?;
        let output = at_least(&engine, &mut self.ranges.output, places.sorted.max(room(mine)))?;
        let most = parts.iter().map(Part::places).max().unwrap_or_default();
        let scratch = at_least(&engine, &mut self.ranges.scratch, most as usize)?;
        // The keys themselves have been moved away, so what others send takes their place.
        let fits = keys.buffer.len() >= places.received;
        let extra = if fits { None } else { Some(at_least(&engine, &mut self.ranges.received, places.received)?) };
        let received = extra.as_ref().unwrap_or(&keys.buffer);

        let view = |range: &Range<usize>| words.slice(range.start, range.len());
        let [starts, second, first, tiles] = at.besides.each_ref().map(view);
        let besides = Besides { starts, second, first, tiles };
        let memory: Vec<RunMemory<T::Word>> = (parts.iter().zip(&at.parts).zip(&at.counts[pieces.len()..]))
            .map(|((part, [starts, cursors, lists]), counts)| RunMemory {
                output: output.slice(part.at as usize, part.places() as usize).cast(),
                scratch: scratch.slice(0, part.places() as usize).cast(),
                histogram: view(counts),
                starts: view(starts),
                cursors: view(cursors),
                lists: view(lists),
            })
            .collect();
        let run = |part: &Part| Run {
            n: part.places(),
            top_buckets: (part.buckets.start as u32, part.buckets.end as u32),
            order,
            bits,
        };
        // Partitions the keys of a piece that a part takes. `starts` says where a top bucket begins in the piece.
        let partition = |piece: Global<T::Word>,
                         tiles: &Range<usize>,
                         starts: &dyn Fn(usize) -> u64,
                         part: &Part,
                         memory,
                         after_copy| {
            let tile = |q: usize| first_tile::<T::Word>(q as u32, starts(q) as u32);
            let (begin, end) = (tile(part.buckets.start), tile(part.buckets.end));
            let tiles = view(tiles).slice(4 * begin, 4 * (end - begin));
            if starts(part.buckets.start) == starts(part.buckets.end) {
                return Ok(());
            }
            T::Word::partition(&engine, piece, tiles, after_copy, bits, memory)
        };
        let counts: Vec<&[u32]> = all.iter().map(Vec::as_slice).collect();
        // Made while the keys are split.
        let of_pieces = pieces.iter().map(|piece| counts_in(&[counts[piece.rank]], &own, piece.pad, bits));
        let of_parts = parts.iter().map(|part| counts_in(&counts, &part.buckets, part.pad, bits));
        let tables: Vec<(usize, Vec<u32>)> = of_pieces.chain(of_parts).collect();
        let prepare = || -> Result<()> {
            // Most counts are zero: a piece, or a part, has the keys of few buckets.
            let on: &dyn Launcher = &engine;
            on.clear(words.slice(0, at.own_tiles.start))?;
            for ((first, counts), table) in tables.iter().zip(&at.counts) {
                words.write_at(table.start + first, counts)?;
            }
            if mine > 0 {
                T::Word::tiles(&engine, counted.view(), share, bits, besides, view(&at.own_tiles))?;
            }
            for ((piece, tiles), counts) in pieces.iter().zip(&at.tiles).zip(&at.counts) {
                if piece.keys > 0 {
                    T::Word::tiles(&engine, view(counts), piece.places(), bits, besides, view(tiles))?;
                }
            }
            for (part, memory) in parts.iter().zip(&memory).filter(|(part, _)| part.keys > 0) {
                T::Word::prepare(&engine, run(part), *memory, besides)?;
            }
            for (part, memory) in parts.iter().zip(&memory).filter(|(part, _)| part.keys > 0) {
                let own = split.slice(0, mine).cast();
                partition(own, &at.own_tiles, &|q| plan.starts[me][q], part, *memory, false)?;
            }
            Ok(())
        };
        let exchange_rounds: Vec<Round> =
            (0..rounds).map(|round| places.round(&plan, me, round, size_of::<T>())).collect();
        let exchange = Exchange { stream: &self.stream, from: &split, to: received, rounds: &exchange_rounds };
        self.group.exchange(&exchange, &mut |round| {
            if round == 0 {
                prepare()?;
            }
            let (part, memory) = (&parts[round], memory[round]);
            engine.wait_for(&self.stream.mark()?)?;
            if part.keys == 0 {
                return Ok(());
            }
            for (piece, tiles) in pieces.iter().zip(&at.tiles) {
                let from = &plan.starts[piece.rank];
                let starts = |q: usize| piece.pad + from[q.clamp(own.start, own.end)] - from[own.start];
                let keys = received.slice(piece.at as usize, piece.places() as usize).cast();
                partition(keys, tiles, &starts, part, memory, true)?;
            }
            Ok(T::Word::finish(&engine, run(part), memory)?)
        })?;
        let start = (places.lead + plan.skips[me]) as usize;
        if start.is_multiple_of(LINE as usize) {
            self.ranges.output = Some(std::mem::replace(&mut keys.buffer, output));
            keys.start = start;
        } else {
            keys.buffer.copy_part(0, &output, start..start + mine)?;
            keys.start = 0;
            self.ranges.output = Some(output);
        }
        (self.ranges.split, self.ranges.received, self.ranges.scratch) = (Some(split), extra, Some(scratch));
        (self.ranges.words, self.ranges.counts) = (Some(words), Some(counted));
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 16 top bits, half of them for each partition.
    const BITS: Bits = Bits::of(1 << 28);

    /// Counts of keys in top buckets.
    fn counts(keys: &[(usize, u32)]) -> Vec<u32> {
        let mut counts = vec![0; BITS.buckets() as usize];
        keys.iter().for_each(|&(top, n)| counts[256 * top + 7] += n);
        counts
    }

    #[test]
    fn top_buckets_go_to_whom_their_keys_belong() {
        let even: Vec<(usize, u32)> = (0..256).map(|q| (q, 100)).collect();
        let plan = Plan::new(&[counts(&even), counts(&even)], &[25_600, 25_600], 2, BITS).unwrap();
        assert_eq!((plan.own(0), plan.own(1), &plan.skips[..]), (0..128, 128..256, &[0, 0][..]));
        assert_eq!(plan.rounds, [[0, 64, 128], [128, 192, 256]]);
        // A border inside a bucket: both ranks get all of it.
        let plan = Plan::new(&[counts(&even), counts(&even)], &[25_650, 25_550], 1, BITS).unwrap();
        assert_eq!((plan.own(0), plan.own(1), &plan.skips[..]), (0..129, 128..256, &[0, 50][..]));
        let (one, all) = (plan.keys(0, &(128..129)), plan.all_keys(&(128..129)));
        assert_eq!((one, all), (100, 200));
        // An empty share gets nothing.
        let plan = Plan::new(&[counts(&even), counts(&[]), counts(&[])], &[0, 25_600, 0], 3, BITS).unwrap();
        assert_eq!((plan.all_keys(&plan.own(0)), plan.own(1), plan.all_keys(&plan.own(2))), (0, 0..256, 0));
    }

    #[test]
    fn keys_that_share_their_top_bits_are_refused() {
        let one = counts(&[(3, 1000)]);
        assert_eq!(Plan::new(&[one.clone(), one.clone()], &[1000, 1000], 4, BITS), None);
        // One rank's keys alone can share them.
        assert!(Plan::new(&[one.clone(), one], &[2000, 0], 4, BITS).is_some());
        assert!(Plan::new(&[counts(&[]), counts(&[])], &[0, 0], 4, BITS).is_some());
    }

    #[test]
    fn a_sample_tells_what_the_top_bits_cannot() {
        let even: Vec<u64> = (0..512).map(|i| (i * 37 % 512) << 23).collect();
        let two: Vec<u64> = (0..512).map(|i| (i % 2) << 31).collect();
        let low: Vec<u64> = (0..512).collect();
        let crowded = |shares: &[(u64, &[u64])]| are_crowded(shares, 24);
        assert!(!crowded(&[(10_000, &even), (10_000, &even), (10_000, &even)]));
        assert!(!crowded(&[(10_000, &even), (0, &[]), (100, &[])]));
        // Each of two shares is one of two values, and each of three is not.
        assert!(!crowded(&[(10_000, &two), (10_000, &two)]));
        assert!(crowded(&[(10_000, &two), (10_000, &two), (10_000, &two)]));
        assert!(crowded(&[(10_000, &low), (10_000, &low)]));
        // One share has nearly all keys.
        assert!(!crowded(&[(1_000_000, &low), (0, &[])]));
        assert!(!crowded(&[]));
    }

    #[test]
    fn rounds_have_about_as_many_keys() {
        let before: Vec<u64> = [0, 10, 10, 30, 35, 40].to_vec();
        assert_eq!(divided(&before, 0..5, 4), [0, 1, 3, 3, 5]);
        assert_eq!(divided(&before, 2..2, 3), [2, 2, 2, 2]);
        assert_eq!(divided(&before, 0..5, 1), [0, 5]);
    }
}
