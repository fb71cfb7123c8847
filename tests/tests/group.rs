//! Groups of simulators: what several devices do together is what one would do alone.

use rungs::Operation;
use rungs::data::{Distribution, Element, sorted};
use rungs::engine::{DeviceChoice, Engine};
use rungs::profile::Entry;
use rungs::vec::select::SelectWord;
use rungs::{Error, Result};
use rungs_group::product::{Multiplier, bounds};
use rungs_group::profile::{GroupProfile, profile};
use rungs_group::sort::{PairSorter, SortRung, Sorter};
use rungs_group::{
    self as group, Exchange, Group, Meeting, Processes, Rendezvous, Round, Seat, Settings, ShardedVec, Tcp, Total,
    Transport,
};
use rungs_kernels::ladder::reduce::{Reduce, Reduces};
use rungs_kernels::ladder::scan::{Scan, Scans};
use rungs_kernels::selections::sampled::Selects;
use rungs_kernels::sorts::pieces::Bits;
use simt::Scalar;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

const RANKS: [usize; 5] = [1, 2, 3, 5, 8];

/// Simulators with as many SMs, so that each runs on one core.
fn simulators(size: usize) -> Vec<DeviceChoice> {
    vec![DeviceChoice::SimulatorOf(NonZero::new(4).unwrap()); size]
}

/// The same with little patience.
fn hasty() -> Settings {
    Settings { timeout: Duration::from_millis(300), ..Settings::default() }
}

/// The same with data that moves in another way.
fn by(transport: Transport) -> Settings {
    Settings { transport, ..Settings::default() }
}

/// The parts of `n` elements for `size` ranks: equal ones, all at one rank, or of many lengths, with empty ones.
fn shares(n: usize, size: usize) -> Vec<Vec<usize>> {
    let equal = (0..size).map(|rank| n * (rank + 1) / size - n * rank / size).collect();
    let one = |own: usize| (0..size).map(|rank| if rank == own { n } else { 0 }).collect();
    let mut rest = n;
    let mut uneven: Vec<_> = (0..size)
        .map(|rank| {
            let mine = if rank % 3 == 1 { 0 } else { rest / 2 };
            rest -= mine;
            mine
        })
        .collect();
    uneven[size - 1] += rest;
    vec![equal, one(0), one(size - 1), uneven]
}

/// The share of each rank.
fn parts<T: Copy>(all: &[T], lengths: &[usize]) -> Vec<Vec<T>> {
    let mut rest = all;
    let part = |&length: &usize| {
        let (part, after) = rest.split_at(length);
        rest = after;
        part.to_vec()
    };
    lengths.iter().map(part).collect()
}

fn sorts<T: Total>(n: usize, lengths: &[usize], distribution: &Distribution, rung: SortRung) -> usize {
    sorts_by::<T>(n, lengths, distribution, rung, None, Transport::Suited)
}

/// Sorts with buckets that are told apart by these bits, if any are given.
fn sorts_by<T: Total>(
    n: usize,
    lengths: &[usize],
    distribution: &Distribution,
    rung: SortRung,
    bits: Option<Bits>,
    transport: Transport,
) -> usize {
    let keys: Vec<T> = distribution.keys(n as u64, 7).unwrap();
    sorts_keys(&keys, lengths, &distribution.to_string(), rung, bits, transport)
}

/// Sorts these keys.
fn sorts_keys<T: Total>(
    keys: &[T],
    lengths: &[usize],
    what: &str,
    rung: SortRung,
    bits: Option<Bits>,
    transport: Transport,
) -> usize {
    let (n, want) = (keys.len(), sorted(&T::wrap(keys.to_vec())));
    let input = parts(keys, lengths);
    let taken = AtomicUsize::new(0);
    let output = group::run_with(&simulators(lengths.len()), by(transport), |group, engine| {
        let mut vec = ShardedVec::from_slice(group, engine, &input[group.rank()])?;
        let mut sorter = Sorter::new(group, engine)?.with_rounds(3);
        if let Some(bits) = bits {
            sorter = sorter.with_bits(bits);
        }
        // The second sort has the memory of the first, and a share that may begin elsewhere.
        for _ in 0..2 {
            if sorter.sort(&mut vec, rung)? == rung {
                taken.fetch_add(1, Ordering::Relaxed);
            }
        }
        vec.to_vec()
    });
    let output = output.unwrap_or_else(|e| panic!("{n} {} as {lengths:?}, {what}: {e}", T::DTYPE));
    assert_eq!(output.iter().map(Vec::len).collect::<Vec<_>>(), lengths, "a share has another length");
    let difference = T::wrap(output.concat()).first_difference(&want);
    assert!(difference.is_none(), "{n} {} as {lengths:?}, {what}, {rung}: {difference:?}", T::DTYPE);
    taken.into_inner()
}

#[test]
fn sorts_of_every_size_and_share() {
    for size in RANKS {
        for n in [0, 1, 2, 31, 33, 1009] {
            for lengths in shares(n, size) {
                sorts::<u32>(n, &lengths, &Distribution::Uniform, SortRung::Whole);
            }
        }
    }
}

#[test]
fn sorts_of_every_distribution() {
    for name in Distribution::NAMES {
        let distribution: Distribution = name.replace('K', "3").parse().unwrap();
        for size in [2, 3, 8] {
            sorts::<u32>(4099, &shares(4099, size)[0], &distribution, SortRung::Whole);
        }
        sorts::<f64>(4099, &shares(4099, 3)[3], &distribution, SortRung::Whole);
    }
}

#[test]
fn sorts_of_every_type() {
    for distribution in [Distribution::Uniform, Distribution::Special] {
        for lengths in [vec![700, 0, 1303], vec![1000, 1003]] {
            sorts::<u32>(2003, &lengths, &distribution, SortRung::Whole);
            sorts::<i32>(2003, &lengths, &distribution, SortRung::Whole);
            sorts::<f32>(2003, &lengths, &distribution, SortRung::Whole);
            sorts::<u64>(2003, &lengths, &distribution, SortRung::Whole);
            sorts::<i64>(2003, &lengths, &distribution, SortRung::Whole);
            sorts::<f64>(2003, &lengths, &distribution, SortRung::Whole);
        }
    }
}

#[test]
fn sorts_whose_keys_a_kernel_fetches() {
    let (uniform, kernel) = (&Distribution::Uniform, Transport::Kernel);
    for (size, which) in [(2, 0), (3, 3), (5, 2), (9, 0)] {
        let lengths = &shares(20_011, size)[which];
        sorts_by::<u32>(20_011, lengths, uniform, SortRung::Whole, None, kernel);
        assert_eq!(sorts_by::<u32>(20_011, lengths, uniform, SortRung::Ranges, None, kernel), 2 * size, "{lengths:?}");
    }
    sorts_by::<f64>(5003, &shares(5003, 3)[0], &Distribution::Special, SortRung::Whole, None, kernel);
    sorts_by::<u64>(9001, &shares(9001, 4)[0], uniform, SortRung::Ranges, None, kernel);
}

/// Sorts that exchange ranges: how many of the sorts of all ranks did.
fn sorts_by_ranges<T: Total>(n: usize, lengths: &[usize], distribution: &Distribution) -> usize {
    sorts::<T>(n, lengths, distribution, SortRung::Ranges)
}

#[test]
fn ranges_of_every_size_and_share() {
    for n in [0, 1, 33] {
        sorts_by_ranges::<u32>(n, &shares(n, 2)[3], &Distribution::Uniform);
    }
    // So many keys that the ranks' shares are told apart by the top bits.
    for (size, which) in [(2, 0), (2, 1), (3, 3), (5, 2), (8, 0)] {
        let lengths = &shares(20_011, size)[which];
        assert_eq!(sorts_by_ranges::<u32>(20_011, lengths, &Distribution::Uniform), 2 * size, "{lengths:?}");
    }
    // A border inside the first bucket, which leaves no room to begin the second share on a line.
    assert_eq!(sorts_by_ranges::<u32>(20_011, &[60, 19_951], &Distribution::Uniform), 4);
}

/// Frequent keys are counted where they are, and no share ends where a key ends.
#[test]
fn frequent_keys_are_counted() {
    fn counts<T: Total>(keys: &[T], size: usize, which: usize, what: &str) {
        let lengths = &shares(keys.len(), size)[which];
        let taken = sorts_keys(keys, lengths, what, SortRung::Counted, None, Transport::Suited);
        assert_eq!(taken, 2 * size, "{what} of {} as {lengths:?}", T::DTYPE);
    }
    for (name, size, which) in
        [("two", 2, 0), ("few", 3, 0), ("equal", 3, 3), ("zipf", 4, 0), ("few", 2, 1), ("small", 4, 3)]
    {
        let distribution: Distribution = name.parse().unwrap();
        counts::<u32>(&distribution.keys(20_011, 7).unwrap(), size, which, name);
    }
    counts::<f32>(&Distribution::Two.keys(13_001, 7).unwrap(), 2, 0, "two");
    counts::<i64>(&Distribution::Few.keys(13_001, 7).unwrap(), 3, 3, "few");
    // Half of the keys are one, and the others are of all kinds: they are exchanged and merged.
    let mut half: Vec<f64> = Distribution::Uniform.keys(15_013, 7).unwrap();
    half.iter_mut().step_by(2).for_each(|key| *key = -0.0);
    counts(&half, 3, 0, "half");
    counts(&half, 3, 3, "half");
    // The others are of few kinds, none of them frequent: words and their numbers are exchanged.
    let of_few = |i: u64| if i.is_multiple_of(2) { 0 } else { (1 + i * i % 151) * 20_000_003 };
    counts(&(0..20_011).map(|i| of_few(i) as u32).collect::<Vec<_>>(), 3, 0, "runs");
    counts(&(0..20_011).map(|i| of_few(i) as i32).collect::<Vec<_>>(), 4, 3, "runs");
    counts(&(0..20_011).map(|i| u64::MAX - (of_few(i) << 30)).collect::<Vec<_>>(), 2, 0, "runs");
}

/// Keys with values: each value is the place of its key, so equal keys show whether they kept their order.
fn sorts_pairs<T, V>(n: usize, lengths: &[usize], distribution: &Distribution, value: impl Fn(usize) -> V + Sync)
where
    T: Total,
    V: Scalar + PartialEq + std::fmt::Debug,
{
    let keys: Vec<T> = distribution.keys(n as u64, 3).unwrap();
    let mut places: Vec<usize> = (0..n).collect();
    places.sort_by_key(|&place| keys[place].to_word());
    let values: Vec<V> = (0..n).map(&value).collect();
    let (input, along) = (parts(&keys, lengths), parts(&values, lengths));
    let output = group::run(&simulators(lengths.len()), |group, engine| {
        let mut keys = ShardedVec::from_slice(group, engine, &input[group.rank()])?;
        let mut values = ShardedVec::from_slice(group, engine, &along[group.rank()])?;
        let mut sorter = PairSorter::new(group, engine)?;
        // The second sort has the memory of the first, and changes nothing.
        sorter.sort(&mut keys, &mut values)?;
        sorter.sort(&mut keys, &mut values)?;
        Ok((keys.to_vec()?, values.to_vec()?))
    });
    let (sorted, moved): (Vec<_>, Vec<_>) = output.unwrap().into_iter().unzip();
    let what = || format!("{n} {} as {lengths:?}, {distribution}", T::DTYPE);
    assert_eq!(sorted.iter().map(Vec::len).collect::<Vec<_>>(), lengths, "{}", what());
    let words = |keys: Vec<T>| keys.into_iter().map(|key| key.to_word()).collect::<Vec<_>>();
    assert!(words(sorted.concat()) == words(places.iter().map(|&place| keys[place]).collect()), "{}", what());
    assert!(moved.concat().into_iter().eq(places.into_iter().map(&value)), "{}", what());
}

#[test]
fn pairs_keep_the_order_of_equal_keys() {
    for n in [0, 1, 2, 31, 32, 33, 1009] {
        for lengths in shares(n, 3) {
            sorts_pairs::<u32, u32>(n, &lengths, &Distribution::Few, |i| i as u32);
        }
    }
    for name in ["uniform", "few", "equal", "zipf", "sorted", "special"] {
        let (distribution, lengths) = (name.parse().unwrap(), &shares(5003, 3)[3]);
        sorts_pairs::<u32, u32>(5003, lengths, &distribution, |i| i as u32);
        sorts_pairs::<f32, u64>(5003, lengths, &distribution, |i| (i as u64) << 33);
        sorts_pairs::<i64, f64>(5003, &shares(5003, 2)[0], &distribution, |i| i as f64);
    }
    sorts_pairs::<i32, u8>(2003, &shares(2003, 5)[0], &Distribution::Few, |i| i as u8);
}

#[test]
fn pairs_that_do_not_match_are_refused_on_all_ranks() {
    let told = std::sync::Mutex::new(vec![]);
    let ended = group::run_with(&simulators(2), hasty(), |group, engine| {
        let mut keys = ShardedVec::from_slice(group, engine, &[3u32, 2, 1])?;
        let mut values = ShardedVec::<u64>::uninit(group, engine, 3 - group.rank())?;
        keys.sort_with(&mut values).inspect_err(|e| told.lock().unwrap().push(e.to_string()))
    });
    assert!(matches!(ended, Err(Error::Usage(_))));
    let want = "rank 1 has [3, 2] keys and values; there must be as many";
    assert_eq!(told.into_inner().unwrap(), [want; 2]);
}

/// What lies on one side of a border, or across it, is found as if there were none.
fn selects<T: Total<Word: SelectWord + Selects> + std::fmt::Debug>(
    n: usize,
    lengths: &[usize],
    distribution: &Distribution,
) {
    let all: Vec<T> = distribution.keys(n as u64, 11).unwrap();
    let input = parts(&all, lengths);
    let (mut words, what) = (words_of(&all), format!("{n} {} as {lengths:?}, {distribution}", T::DTYPE));
    let (low, high) = (all.get(n / 3).copied(), all.get(n / 2).copied());
    let output = group::run(&simulators(lengths.len()), |group, engine| {
        let vec = ShardedVec::from_slice(group, engine, &input[group.rank()])?;
        let between = match (low, high) {
            (Some(low), Some(high)) => vec.select_between(low..=high)?.to_vec()?,
            _ => vec.select_between(..)?.to_vec()?,
        };
        let ks = [0, n.min(1), n.min(33), n];
        let largest = ks.map(|k| vec.top_k(k).and_then(|top| Ok((top, vec.bottom_k(k)?))));
        assert!(matches!(vec.top_k(n + 1), Err(Error::Usage(_))));
        assert_eq!(words_of(&vec.to_vec()?), words_of(&input[group.rank()]), "the input is changed");
        Ok((between, vec.unique()?.to_vec()?, ks.into_iter().zip(largest).collect::<Vec<_>>()))
    })
    .unwrap_or_else(|e| panic!("{what}: {e}"));
    let of = |range: std::ops::RangeInclusive<u64>| words.iter().copied().filter(move |word| range.contains(word));
    let range = match (low, high) {
        (Some(low), Some(high)) => words_of(&[low])[0]..=words_of(&[high])[0],
        _ => 0..=u64::MAX,
    };
    let got: Vec<u64> = output.iter().flat_map(|(between, ..)| words_of(between)).collect();
    assert_eq!(got, of(range).collect::<Vec<_>>(), "{what}");
    let got: Vec<u64> = output.iter().flat_map(|(_, unique, _)| words_of(unique)).collect();
    let mut want = words.clone();
    want.dedup();
    assert_eq!(got, want, "{what}");
    words.sort_unstable();
    for (_, _, largest) in &output {
        for (k, found) in largest {
            let (top, bottom) = found.as_ref().unwrap_or_else(|e| panic!("{what}: {e}"));
            assert_eq!(words_of(top), words.iter().rev().take(*k).copied().collect::<Vec<_>>(), "{what}, top {k}");
            assert_eq!(words_of(bottom), words[..*k], "{what}, bottom {k}");
        }
    }
}

/// Keys as words that are ordered as they are.
fn words_of<T: Total>(keys: &[T]) -> Vec<u64> {
    keys.iter().map(|key| key.to_word().to_bits_64()).collect()
}

#[test]
fn selections_of_every_size_and_share() {
    for n in [0, 1, 2, 31, 32, 33, 1009] {
        for lengths in shares(n, 3) {
            selects::<u32>(n, &lengths, &Distribution::Small);
        }
    }
    for name in ["uniform", "few", "equal", "sorted", "special"] {
        let distribution = name.parse().unwrap();
        selects::<f32>(5003, &shares(5003, 5)[3], &distribution);
        selects::<i64>(5003, &shares(5003, 2)[0], &distribution);
    }
}

#[test]
fn ranges_of_every_type() {
    let lengths = &shares(9001, 2)[0];
    assert_eq!(sorts_by_ranges::<i32>(9001, lengths, &Distribution::Uniform), 4);
    assert_eq!(sorts_by_ranges::<u64>(9001, lengths, &Distribution::Uniform), 4);
    assert_eq!(sorts_by_ranges::<i64>(9001, lengths, &Distribution::Uniform), 4);
    sorts_by_ranges::<f32>(9001, lengths, &Distribution::Special);
    sorts_by_ranges::<f64>(9001, lengths, &Distribution::Special);
}

/// What 2³⁰ keys take: large blocks, and more bits in the first partition than the second.
#[test]
fn ranges_of_more_keys_than_a_test_has() {
    let bits = Some(Bits::by(4, 3, true));
    for name in ["uniform", "special", "sorted", "few"] {
        let distribution: Distribution = name.parse().unwrap();
        sorts_by::<f32>(20_011, &shares(20_011, 2)[0], &distribution, SortRung::Ranges, bits, Transport::Suited);
    }
    let lengths = &shares(20_011, 2)[0];
    let (distribution, rung) = (&Distribution::Uniform, SortRung::Ranges);
    assert_eq!(sorts_by::<u64>(20_011, lengths, distribution, rung, bits, Transport::Suited), 4);
}

#[test]
fn ranges_of_every_distribution() {
    for name in Distribution::NAMES {
        let distribution: Distribution = name.replace('K', "3").parse().unwrap();
        sorts_by_ranges::<u32>(5003, &shares(5003, 2)[0], &distribution);
    }
}

fn reduces_and_scans<T>(n: usize, lengths: &[usize], operation: Operation)
where
    T: Total + PartialEq,
    dyn Reduce: Reduces<T>,
    dyn Scan: Scans<T>,
{
    // Small whole numbers: their sums are exact in every type.
    let all: Vec<T> = Distribution::Small.keys(n as u64, 5).unwrap();
    let input = parts(&all, lengths);
    let output = group::run(&simulators(lengths.len()), |group, engine| {
        let mut vec = ShardedVec::from_slice(group, engine, &input[group.rank()])?;
        let scans = [false, true].map(|exclusive| vec.scan(operation, exclusive).and_then(|scan| scan.to_vec()));
        assert_eq!(vec.to_vec()?, input[group.rank()], "a scan changed its input");
        let [inclusive, exclusive] = scans;
        Ok((vec.reduce(operation)?, inclusive?, exclusive?))
    });
    let output = output.unwrap_or_else(|e| panic!("{n} {} as {lengths:?}: {e}", T::DTYPE));
    let mut sum = T::identity(operation);
    let (mut inclusive, mut exclusive) = (vec![], vec![]);
    for x in all {
        exclusive.push(sum);
        sum = T::combine(operation, sum, x);
        inclusive.push(sum);
    }
    let what = || format!("{n} {} as {lengths:?}, {}", T::DTYPE, operation.name());
    assert!(output.iter().all(|(all, ..)| *all == sum), "{}", what());
    assert_eq!(output.iter().flat_map(|(_, scan, _)| scan.clone()).collect::<Vec<_>>(), inclusive, "{}", what());
    assert_eq!(output.iter().flat_map(|(.., scan)| scan.clone()).collect::<Vec<_>>(), exclusive, "{}", what());
}

#[test]
fn reductions_and_scans() {
    for size in RANKS {
        for n in [0, 1, 2, 31, 33, 1009, 5000] {
            for lengths in shares(n, size) {
                reduces_and_scans::<u32>(n, &lengths, Operation::Sum);
            }
        }
        for operation in Operation::ALL {
            let lengths = &shares(3001, size)[3];
            reduces_and_scans::<i32>(3001, lengths, operation);
            reduces_and_scans::<f32>(3001, lengths, operation);
            reduces_and_scans::<u64>(3001, lengths, operation);
            reduces_and_scans::<i64>(3001, lengths, operation);
            reduces_and_scans::<f64>(3001, lengths, operation);
        }
    }
}

#[test]
fn every_rank_gets_what_the_others_send() {
    // Nine have more peers than a launch has pieces.
    let by_copies = RANKS.map(|size| (size, Transport::Suited));
    for (size, transport) in by_copies.into_iter().chain([2, 3, 8, 9].map(|size| (size, Transport::Kernel))) {
        let moved = group::run_with(&simulators(size), by(transport), |group, engine| {
            let me = group.rank();
            // Rank r sends rank p, in round i, (r + p + i) % 3 words.
            let length = |from: usize, to: usize, round: usize| 4 * ((from + to + round) % 3);
            let words: Vec<u32> = (0..40).map(|i| (100 * me + i) as u32).collect();
            let (from, to) = (engine.upload(&words)?, engine.alloc::<u32>(100)?);
            let mut end = 0;
            let rounds: Vec<Round> = (0..3)
                .map(|i| Round {
                    sends: (0..size).map(|p| 4 * p..4 * p + length(me, p, i)).collect(),
                    receives: (0..size)
                        .map(|p| {
                            let start = end;
                            end += length(p, me, i);
                            start..end
                        })
                        .collect(),
                })
                .collect();
            let stream = engine.second_stream()?;
            let mut seen = vec![];
            let exchange = Exchange { stream: &stream, from: &from, to: &to, rounds: &rounds };
            group.exchange(&exchange, &mut |round| {
                seen.push(round);
                Ok(())
            })?;
            assert_eq!(seen, [0, 1, 2]);
            let want: Vec<u32> = (0..3)
                .flat_map(|i| (0..size).map(move |p| (i, p)))
                .flat_map(|(i, p)| (0..length(p, me, i) / 4).map(move |k| (100 * p + me + k) as u32))
                .collect();
            let mut got = to.download()?;
            got.truncate(end / 4);
            assert_eq!(got, want);
            let told = if transport == Transport::Kernel { "pull kernels" } else { "memory of the host" };
            assert_eq!(group.transport(), told);
            Ok(())
        });
        moved.unwrap();
    }
}

/// A kernel moves words: whatever else comes is copied, and a report says so.
#[test]
fn bytes_that_are_no_words_are_copied() {
    let done = group::run_with(&simulators(3), by(Transport::Kernel), |group, engine| {
        let bytes: Vec<u8> = (0..96).map(|i| (100 * group.rank() + i) as u8).collect();
        let (from, to, stream) = (engine.upload(&bytes)?, engine.alloc::<u8>(96)?, engine.second_stream()?);
        // Moves this number of bytes of each rank, from one place to another.
        let moves = |at: [usize; 2], bytes: usize| -> Result<String> {
            to.fill(7)?;
            let part = |at: usize| (0..3).map(|rank| 32 * rank + at..32 * rank + at + bytes).collect();
            let rounds = [Round { sends: part(at[0]), receives: part(at[1]) }];
            group.exchange(&Exchange { stream: &stream, from: &from, to: &to, rounds: &rounds }, &mut |_| Ok(()))?;
            let mut want = vec![7; 96];
            for rank in 0..3 {
                for i in 0..bytes {
                    want[32 * rank + at[1] + i] = (100 * rank + 32 * group.rank() + at[0] + i) as u8;
                }
            }
            assert_eq!(to.download()?, want);
            Ok(group.transport().into())
        };
        assert_eq!(moves([0, 1], 8)?, "memory of the host");
        assert_eq!(moves([2, 4], 8)?, "memory of the host");
        assert_eq!(moves([4, 4], 9)?, "memory of the host");
        assert_eq!(moves([4, 16], 12)?, "pull kernels and memory of the host");
        Ok(())
    });
    done.unwrap();
    let unused = group::run_with(&simulators(2), by(Transport::Kernel), |group, _| Ok(group.transport().to_owned()));
    assert_eq!(unused.unwrap(), ["pull kernels"; 2]);
}

/// A rank that is early at the next exchange does not keep those that are late at the end of this one.
#[test]
fn exchanges_follow_each_other_without_a_meeting_between() {
    let done = group::run_with(&simulators(3), hasty(), |group, engine| {
        let (from, to) = (engine.upload(&[group.rank() as u32; 3])?, engine.alloc::<u32>(3)?);
        let (stream, part) = (engine.second_stream()?, |i: usize| 4 * i..4 * i + 4);
        let rounds = [Round { sends: (0..3).map(part).collect(), receives: (0..3).map(part).collect() }];
        for _ in 0..100 {
            group.exchange(&Exchange { stream: &stream, from: &from, to: &to, rounds: &rounds }, &mut |_| Ok(()))?;
        }
        assert_eq!(to.download()?, [0, 1, 2]);
        // Nothing to send, and nothing to receive.
        let (from, to) = (engine.alloc::<u32>(0)?, engine.alloc::<u32>(0)?);
        let rounds = [Round { sends: vec![0..0; 3], receives: vec![0..0; 3] }];
        group.exchange(&Exchange { stream: &stream, from: &from, to: &to, rounds: &rounds }, &mut |_| Ok(()))
    });
    done.unwrap();
}

#[test]
fn what_does_not_fit_together_is_refused() {
    let refused = group::run_with(&simulators(2), hasty(), |group, engine| {
        let (from, to) = (engine.alloc::<u32>(4)?, engine.alloc::<u32>(4)?);
        let stream = engine.second_stream()?;
        let round = |bytes| Round { sends: vec![0..bytes; 2], receives: vec![0..8; 2] };
        let rounds = [round(if group.rank() == 0 { 8 } else { 4 })];
        group.exchange(&Exchange { stream: &stream, from: &from, to: &to, rounds: &rounds }, &mut |_| Ok(()))
    });
    let error = refused.unwrap_err();
    assert!(error.to_string().contains("expects 8"), "{error}");
    let outside = group::run_with(&simulators(2), hasty(), |group, engine| {
        let (from, to) = (engine.alloc::<u32>(4)?, engine.alloc::<u32>(4)?);
        let stream = engine.second_stream()?;
        let rounds = [Round { sends: vec![0..20; 2], receives: vec![0..8; 2] }];
        group.exchange(&Exchange { stream: &stream, from: &from, to: &to, rounds: &rounds }, &mut |_| Ok(()))
    });
    assert!(matches!(outside, Err(Error::Usage(_))));
}

/// Another engine's stream is not waited for, so its memory is refused before anything moves.
#[test]
fn memory_of_another_engine_is_refused() {
    let done = group::run(&simulators(2), |group, engine| {
        let (other, [from, to]) = (engine.second_stream()?, [4, 4].map(|n| engine.alloc::<u32>(n)));
        let (from, to, foreign) = (from?, to?, other.alloc::<u32>(4)?);
        let part = |i: usize| 4 * i..4 * i + 4;
        let rounds = [Round { sends: (0..2).map(part).collect(), receives: (0..2).map(part).collect() }];
        for (from, to) in [(&from, &foreign), (&foreign, &to)] {
            let exchange = Exchange { stream: &other, from, to, rounds: &rounds };
            let error = group.exchange(&exchange, &mut |_| Ok(())).unwrap_err();
            assert!(matches!(&error, Error::Usage(why) if why.ends_with("buffers of one engine")), "{error}");
        }
        let (rows, columns, inner) = (3, 2, 130);
        let panel = bounds(inner, 2);
        let panel = panel[group.rank() + 1] - panel[group.rank()];
        let mut multiplier = Multiplier::new(group, engine, rows, columns, inner)?;
        let lengths = [rows * inner, panel * columns, rows * columns];
        let buffers = |engine: &Engine| lengths.map(|n| engine.upload(&vec![1.0; n]).unwrap());
        let ([a, b, c], [own_a, own_b, own_c]) = (buffers(&other), buffers(engine));
        for [a, b, c] in [[&a, &own_b, &own_c], [&own_a, &b, &own_c], [&own_a, &own_b, &c]] {
            let error = multiplier.multiply(a, b, c).unwrap_err();
            assert!(matches!(&error, Error::Usage(why) if why.ends_with("engine that multiplies")), "{error}");
        }
        multiplier.multiply(&own_a, &own_b, &own_c)?;
        assert_eq!(own_c.download()?, [130.0; 6]);
        Ok(())
    });
    done.unwrap();
}

/// What ends a group: an error, and how long the other ranks have waited.
fn ends(size: usize, work: impl Fn(&dyn Group, &Engine) -> Result<()> + Sync) -> (Error, Duration) {
    let start = Instant::now();
    (group::run_with(&simulators(size), hasty(), work).unwrap_err(), start.elapsed())
}

#[test]
fn an_error_of_one_rank_ends_all() {
    let (error, waited) = ends(3, |group, engine| {
        if group.rank() == 1 {
            // More than any host has.
            ShardedVec::<u64>::uninit(group, engine, u32::MAX as usize)?;
            engine.alloc::<u64>(1 << 50)?;
        }
        let mut vec = ShardedVec::from_slice(group, engine, &[3u32, 2, 1])?;
        vec.sort()
    });
    assert!(matches!(error, Error::OutOfMemory { .. }), "the rank's own error is told: {error}");
    assert!(waited < Duration::from_secs(20));
    // The others are told whose it was.
    let told = std::sync::Mutex::new(vec![]);
    ends(3, |group, _| {
        if group.rank() == 1 {
            return Err(Error::NoDevice("no device is left".into()));
        }
        group.barrier().inspect_err(|e| told.lock().unwrap().push((e.to_string(), e.exit_code())))
    });
    assert_eq!(told.into_inner().unwrap(), vec![("rank 1 failed: no device is left".to_string(), 5); 2]);
}

#[test]
fn a_rank_that_does_not_come_is_not_waited_for() {
    let late = |group: &dyn Group, _: &Engine| {
        if group.rank() == 2 {
            std::thread::sleep(Duration::from_secs(1));
        }
        group.barrier()
    };
    let (error, waited) = ends(3, late);
    assert_eq!((error.to_string(), error.exit_code()), ("rank 2 did not answer within 0.3 s".into(), 5));
    assert!(waited < Duration::from_secs(10));
}

/// Whether the others are at the meeting already or come to it later; and nobody misses it if they do not.
#[test]
fn a_rank_that_has_ended_is_not_waited_for() {
    for last in [0, 2] {
        let start = Instant::now();
        let ended = group::run(&simulators(3), |group, _| {
            group.barrier()?;
            if group.rank() == last {
                std::thread::sleep(Duration::from_millis(300));
            }
            if group.rank() == 2 { Ok(()) } else { group.barrier() }
        });
        let error = ended.unwrap_err();
        let want = "rank 2 failed: it has ended, and others wait for it";
        assert_eq!((error.to_string(), error.exit_code()), (want.into(), 5));
        assert!(start.elapsed() < Duration::from_secs(60), "the others waited for the time-out");
    }
    group::run(&simulators(3), |group, _| group.barrier()).unwrap();
}

/// A later time than any clock has.
#[test]
fn patience_has_no_end_that_panics() {
    let settings = Settings { timeout: Duration::MAX, ..Settings::default() };
    group::run_with(&simulators(2), settings, |group, _| group.barrier()).unwrap();
    let at = &rendezvous(port(), "one");
    std::thread::scope(|scope| {
        for rank in 0..2 {
            scope.spawn(move || Tcp::new(rank, 2, at, Duration::MAX).unwrap().all_gather(vec![]).unwrap());
        }
    });
}

#[test]
fn a_rank_that_panics_ends_all() {
    let start = Instant::now();
    let ended = std::panic::catch_unwind(|| {
        group::run_with(&simulators(2), Settings::default(), |group, _| {
            assert!(group.rank() == 0, "on purpose");
            group.barrier()
        })
    });
    assert!(ended.is_err() && start.elapsed() < Duration::from_secs(60), "the other rank waited for the time-out");
}

/// A port that is free now.
fn port() -> u16 {
    TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port()
}

/// A meeting at a port of this host.
fn rendezvous(port: u16, job: &str) -> Rendezvous {
    Rendezvous { host: "127.0.0.1".into(), port, job: job.into(), ..Default::default() }
}

/// Runs `work` for each rank of a meeting over TCP, and returns what the ranks say.
fn over_tcp<R: Send>(size: usize, work: impl Fn(Tcp) -> R + Sync) -> Vec<R> {
    over_tcp_within(Duration::from_secs(2), size, work)
}

/// The same with another time-out.
fn over_tcp_within<R: Send>(timeout: Duration, size: usize, work: impl Fn(Tcp) -> R + Sync) -> Vec<R> {
    let (at, work) = (&rendezvous(port(), "one"), &work);
    std::thread::scope(|scope| {
        let ranks: Vec<_> =
            (0..size).map(|rank| scope.spawn(move || work(Tcp::new(rank, size, at, timeout).unwrap()))).collect();
        ranks.into_iter().map(|rank| rank.join().unwrap()).collect()
    })
}

#[test]
fn processes_meet_over_tcp() {
    for size in RANKS {
        let all = over_tcp(size, |meeting| {
            let mine = vec![meeting.rank() as u8; 1000 * meeting.rank()];
            let first = meeting.all_gather(mine).unwrap();
            meeting.look().unwrap();
            (first, meeting.all_gather(vec![]).unwrap().len())
        });
        for (first, second) in all {
            assert_eq!(second, size);
            let want: Vec<Vec<u8>> = (0..size).map(|rank| vec![rank as u8; 1000 * rank]).collect();
            assert_eq!(*first, want);
        }
    }
}

/// The same for a meeting over memory of the host.
fn over_memory<R: Send>(size: usize, work: impl Fn(Box<dyn Meeting>) -> R + Sync) -> Vec<R> {
    over_tcp(size, |tcp| work(group::share(tcp).unwrap()))
}

/// Also where what a rank brings does not fit its slot, and where a slot has been used before.
#[test]
fn processes_meet_over_memory() {
    const SLOT: usize = 1 << 20;
    for size in RANKS {
        let lengths = |k: usize| move |rank: usize| [0, 1, 7, SLOT - 1, SLOT, SLOT + 1, 3 * SLOT][(rank + k) % 7];
        let brought = |rank: usize, k: usize| vec![(10 * rank + k) as u8; lengths(k)(rank)];
        let all = over_memory(size, |meeting| {
            let told = (0..8).map(|k| {
                meeting.look().unwrap();
                meeting.all_gather(brought(meeting.rank(), k)).unwrap()
            });
            let told = told.collect::<Vec<_>>();
            assert_eq!((meeting.size(), meeting.timeout()), (size, Duration::from_secs(2)));
            told
        });
        for (rank, told) in all.iter().enumerate() {
            for (k, told) in told.iter().enumerate() {
                let want: Vec<_> = (0..size).map(|other| brought(other, k)).collect();
                assert!(**told == want, "rank {rank} of {size}, meeting {k}");
            }
        }
    }
}

#[test]
fn over_memory_failures_end_all() {
    let start = Instant::now();
    for failing in [0, 2] {
        let said = over_memory(3, |meeting| {
            meeting.all_gather(vec![]).unwrap();
            if meeting.rank() == failing {
                meeting.fail("no memory");
                return String::new();
            }
            meeting.all_gather(vec![1]).unwrap_err().to_string()
        });
        let want = format!("rank {failing} failed: no memory");
        assert!(said.iter().enumerate().all(|(rank, said)| rank == failing || *said == want), "{said:?}");
        let said = over_memory(3, |meeting| match meeting.rank() == failing {
            true => String::new(),
            false => meeting.all_gather(vec![1]).unwrap_err().to_string(),
        });
        let right = |said: &String| said.is_empty() || said.starts_with(&format!("rank {failing} is gone"));
        assert!(said.iter().all(right), "{said:?}");
    }
    assert!(start.elapsed() < Duration::from_secs(2), "the others waited for the time-out");
    let waited = over_memory(3, |meeting| {
        if meeting.rank() == 2 {
            std::thread::sleep(Duration::from_secs(3));
        }
        let start = Instant::now();
        assert_eq!(meeting.all_gather(vec![1]).unwrap_err().to_string(), "rank 2 did not answer within 2 s");
        start.elapsed()
    });
    assert!(waited.iter().all(|waited| *waited < about(Duration::from_secs(2))), "{waited:?}");
}

/// Ranks of a group of processes, which here are threads.
fn processes<R: Send>(size: usize, transport: Transport, work: impl Fn(&dyn Group, &Engine) -> R + Sync) -> Vec<R> {
    over_tcp_within(Duration::from_secs(100), size, |tcp| {
        let engine = Engine::open(simulators(1)[0]).unwrap();
        let group = Processes::join(group::share(tcp).unwrap(), &engine, transport).unwrap();
        work(&group.unwrap_or_else(|(_, why)| panic!("{why}")), &engine)
    })
}

/// The same results as threads have.
#[test]
fn processes_sort_reduce_and_scan() {
    for (size, transport) in [(2, Transport::Suited), (3, Transport::Kernel), (5, Transport::Suited)] {
        let (n, lengths) = (20_011, &shares(20_011, size)[if size == 3 { 3 } else { 0 }]);
        let keys: Vec<u32> = Distribution::Uniform.keys(n as u64, 7).unwrap();
        let (input, want) = (parts(&keys, lengths), sorted(&u32::wrap(keys.clone())));
        let sum = keys.iter().fold(0, |sum: u32, &key| sum.wrapping_add(key));
        for rung in SortRung::ALL {
            let output = processes(size, transport, |group, engine| {
                let mut vec = ShardedVec::from_slice(group, engine, &input[group.rank()]).unwrap();
                assert_eq!(vec.reduce(Operation::Sum).unwrap(), sum);
                let mut sorter = Sorter::new(group, engine).unwrap().with_rounds(3);
                for _ in 0..2 {
                    assert_eq!(sorter.sort(&mut vec, rung).unwrap(), rung);
                }
                group.reclaim().unwrap();
                let told = if transport == Transport::Kernel { "pull kernels" } else { "memory of the host" };
                assert_eq!((group.transport(), group.note()), (told, None));
                vec.to_vec().unwrap()
            });
            assert!(u32::wrap(output.concat()).first_difference(&want).is_none(), "{size} {rung}");
        }
    }
}

/// Whoever is another version, or another program, is found out before anything moves.
#[test]
fn processes_of_another_version_are_refused() {
    let said = |told: &str, purpose: u8| {
        over_memory(2, |meeting| {
            if meeting.rank() == 1 {
                let brought = [told.as_bytes(), &[0, 0, 0, 0, purpose]].concat();
                return meeting.all_gather(brought).map(|_| String::new()).unwrap();
            }
            let joined = Processes::join(meeting, &Engine::simulator(), Transport::Suited);
            joined.map(|_| ()).unwrap_err().to_string()
        })
        .remove(0)
    };
    let other = said("0.0.1: a simulator", 1);
    assert!(
        other.starts_with("rank 0 is version ") && other.ends_with("rank 1 is 0.0.1: all need the same"),
        "{other}"
    );
    assert_eq!(said(concat!(env!("CARGO_PKG_VERSION"), ": a GPU"), 1), "a group has GPUs or simulators, not both");
    let unlike = "the ranks do not run the same program";
    assert_eq!((said("what", 1), said("0.0.1: a simulator", 0)), (unlike.into(), unlike.into()));
}

#[test]
fn over_tcp_a_failure_is_told_to_all() {
    for failing in [0, 2] {
        let said = over_tcp(3, |meeting| {
            if meeting.rank() == failing {
                meeting.fail("no memory");
                return String::new();
            }
            meeting.all_gather(vec![1]).unwrap_err().to_string()
        });
        let want = format!("rank {failing} failed: no memory");
        assert!(said.iter().enumerate().all(|(rank, said)| rank == failing || *said == want), "{said:?}");
    }
}

#[test]
fn over_tcp_a_rank_that_dies_or_is_late_ends_all() {
    for dying in [0, 1] {
        let start = Instant::now();
        let said = over_tcp(3, |meeting| {
            if meeting.rank() == dying {
                return String::new();
            }
            meeting.all_gather(vec![1]).unwrap_err().to_string()
        });
        let right = |said: &String| said.is_empty() || said.starts_with(&format!("rank {dying} is gone"));
        assert!(said.iter().all(right), "{said:?}");
        assert!(start.elapsed() < Duration::from_secs(2), "the others waited for the time-out");
    }
    let said = over_tcp(3, |meeting| {
        if meeting.rank() == 2 {
            std::thread::sleep(Duration::from_secs(3));
        }
        meeting.all_gather(vec![1]).unwrap_err().to_string()
    });
    assert!(said.iter().all(|said| said == "rank 2 did not answer within 2 s"), "{said:?}");
}

/// What the ranks say that try to meet, and how long each has waited.
fn fail_to_meet(size: usize, ranks: &[usize], patience: Duration) -> Vec<(String, Duration)> {
    let at = &rendezvous(port(), "one");
    std::thread::scope(|scope| {
        let tried = |&rank: &usize| {
            scope.spawn(move || {
                let start = Instant::now();
                // As a rank does that meets the others once: the failure may be told at either call.
                let met = Tcp::new(rank, size, at, patience).and_then(|meeting| meeting.all_gather(vec![]));
                (met.unwrap_err().to_string(), start.elapsed())
            })
        };
        let tried: Vec<_> = ranks.iter().map(tried).collect();
        tried.into_iter().map(|rank| rank.join().unwrap()).collect()
    })
}

/// Some more than the time-out, for a machine that has other work.
fn about(patience: Duration) -> Duration {
    patience + patience / 10
}

#[test]
fn over_tcp_all_are_told_who_never_came() {
    let patience = Duration::from_secs(2);
    for (ranks, absent) in [(&[0, 1, 3][..], "rank 2"), (&[0, 4], "ranks 1, 2, 3"), (&[0], "ranks 1, 2, 3, 4")] {
        let size = if absent == "rank 2" { 4 } else { 5 };
        for (said, waited) in fail_to_meet(size, ranks, patience) {
            assert_eq!(said, format!("{absent} did not answer within 2 s"));
            assert!(waited < about(patience), "{waited:?}");
        }
    }
    // Without rank 0 nobody knows of the others.
    for (said, waited) in fail_to_meet(3, &[1, 2], patience) {
        assert!(said.starts_with("rank 0 did not answer within 2 s at 127.0.0.1, port "), "{said}");
        assert!(waited < about(patience), "{waited:?}");
    }
}

/// Who has come first waits for its own time, not for that of the last one.
#[test]
fn over_tcp_the_time_begins_with_the_first_rank() {
    let (at, patience) = (&rendezvous(port(), "one"), Duration::from_secs(2));
    std::thread::scope(|scope| {
        for rank in [1, 0] {
            scope.spawn(move || {
                std::thread::sleep(if rank == 0 { patience / 2 } else { Duration::ZERO });
                let start = Instant::now();
                let error = Tcp::new(rank, 3, at, patience).err().unwrap();
                assert_eq!(error.to_string(), "rank 2 did not answer within 2 s");
                let most = if rank == 0 { patience / 2 } else { patience };
                assert!(start.elapsed() < about(most), "rank {rank}: {:?}", start.elapsed());
            });
        }
    });
    // At a meeting, too: rank 1 comes first, then rank 0, and rank 2 does not.
    let waited = over_tcp(3, |meeting| {
        std::thread::sleep(patience * [1, 0, 4][meeting.rank()] / 2);
        let start = Instant::now();
        let error = meeting.all_gather(vec![]).unwrap_err();
        assert_eq!(error.to_string(), "rank 2 did not answer within 2 s");
        start.elapsed()
    });
    assert!(waited[0] < about(patience / 2) && waited[1] < about(patience), "{waited:?}");
    // A rank that waits for rank 0 alone.
    let waited = over_tcp(2, |meeting| {
        let start = Instant::now();
        if meeting.rank() == 0 {
            std::thread::sleep(patience * 3 / 2);
        }
        let error = meeting.all_gather(vec![]).unwrap_err();
        assert_eq!(error.to_string(), "rank 0 did not answer within 2 s");
        start.elapsed()
    });
    assert!(waited[1] < about(patience), "{waited:?}");
}

/// A connection to rank 0, which may not listen yet.
fn connect(port: u16) -> TcpStream {
    let start = Instant::now();
    loop {
        match TcpStream::connect(("127.0.0.1", port)) {
            Ok(link) => return link,
            Err(e) => assert!(start.elapsed() < Duration::from_secs(20), "{e}"),
        }
    }
}

/// All that a connection is told until its end.
fn told(mut link: TcpStream) -> Vec<u8> {
    let mut answer = vec![];
    let _ = link.read_to_end(&mut answer);
    answer
}

/// A greeting as rank 1 of three, with the question that it is answered.
fn greeting(port: u16) -> (TcpStream, Vec<u8>) {
    let (mut link, mut question) = (connect(port), vec![0; 25]);
    link.write_all(&[&b"rungs\0\0\x04\x01\0\0\0\x03\0\0\0"[..], &[9; 24]].concat()).unwrap();
    link.read_exact(&mut question).unwrap();
    (link, question)
}

/// Others at the same port are told why they are not let in, and the ranks of the job meet all the same.
#[test]
fn over_tcp_strangers_are_refused() {
    let (port, patience) = (port(), Duration::from_secs(8));
    let with = |job: &str, secret: &str| Rendezvous { secret: secret.to_string().into(), ..rendezvous(port, job) };
    let (at, other, guess) = (&with("one", "hush"), &with("other", "hush"), &with("one", "hash"));
    let refused = |rank, size, at: &Rendezvous, patience| Tcp::new(rank, size, at, patience).err().unwrap().to_string();
    std::thread::scope(|scope| {
        let first = scope.spawn(move || Tcp::new(0, 3, at, patience).unwrap().all_gather(vec![0]).unwrap());
        // They come before the right ones. The first ones say nothing, or what no rank says.
        let _silent = [connect(port), connect(port), connect(port)];
        let (mut loud, mut old) = (connect(port), connect(port));
        loud.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
        assert_eq!(told(loud), b"");
        old.write_all(b"rungs\0\0\x01\x01\0\0\0\x03\0\0\0").unwrap();
        assert!(String::from_utf8_lossy(&told(old)).contains("version 4 of the protocol between ranks, not 1"));
        // Who cannot answer is told no more than that, and is asked something else the next time.
        let ((mut link, question), (mut more, second)) = (greeting(port), greeting(port));
        assert!(question[0] == 4 && question != second);
        link.write_all(&[0; 32]).unwrap();
        assert_eq!(told(link), [3, 0, 0, 0, 0, 0, 0, 0, 0]);
        more.write_all(&[0; 33]).unwrap();
        assert_eq!(told(more), b"");
        // One of another job, or with another secret, waits: its own rank 0 may come.
        for (at, job) in [(other, "other"), (guess, "one")] {
            let said = refused(1, 3, at, patience / 16);
            let why = format!("another job meets there, not job '{job}', or its RUNGS_SECRET is another");
            let late = format!("rank 0 did not answer within 0.5 s at 127.0.0.1, port {port}: {why}");
            assert_eq!(said, late + "; RUNGS_PORT names another port");
        }
        assert_eq!(refused(1, 2, at, patience), "rank 0 is one of 3 ranks, and rank 1 one of 2");
        assert_eq!(refused(7, 9, at, patience), "rank 0 is one of 3 ranks, and rank 7 one of 9");
        let second = scope.spawn(move || Tcp::new(2, 3, at, patience).unwrap().all_gather(vec![2]).unwrap());
        std::thread::sleep(Duration::from_millis(300));
        assert_eq!(refused(2, 3, at, patience), "another process is rank 2 already");
        let all = Tcp::new(1, 3, at, patience).unwrap().all_gather(vec![1]).unwrap();
        for all in [all, first.join().unwrap(), second.join().unwrap()] {
            assert_eq!(*all, [[0], [1], [2]]);
        }
    });
}

/// A rank does not join whoever listens, and does not print what it is told as it is.
#[test]
fn over_tcp_a_rank_0_has_to_prove_that_it_is_one() {
    let said = |what: u8, bytes: &[u8]| {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let at = &rendezvous(listener.local_addr().unwrap().port(), "one");
        std::thread::scope(|scope| {
            let rank = scope.spawn(|| Tcp::new(1, 2, at, Duration::from_secs(1)).err().unwrap().to_string());
            let mut link = listener.accept().unwrap().0;
            drop(listener);
            link.read_exact(&mut [0; 40]).unwrap();
            for (what, bytes) in [(4, &[7; 16][..]), (what, bytes)] {
                link.write_all(&[&[what][..], &(bytes.len() as u64).to_le_bytes(), bytes].concat()).unwrap();
            }
            assert_eq!(told(link).len(), 32);
            rank.join().unwrap()
        })
    };
    let welcome = said(2, &[0; 32]);
    assert!(welcome.starts_with("rank 0 did not answer within 1 s"), "{welcome}");
    assert_eq!(said(1, b"no \x1b[2J\x07"), "no \\u{1b}[2J\\u{7}");
}

/// More of them than rank 0 keeps, and longer than it listens to one.
#[test]
fn over_tcp_silent_connections_end_nothing() {
    let (at, patience) = (&rendezvous(port(), "one"), Duration::from_secs(20));
    std::thread::scope(|scope| {
        let first = scope.spawn(move || Tcp::new(0, 2, at, patience).unwrap().all_gather(vec![0]).unwrap());
        let start = Instant::now();
        let silent: Vec<_> = (0..200).map(|_| connect(at.port)).collect();
        for link in silent {
            assert_eq!(told(link), b"");
        }
        let waited = start.elapsed();
        assert!(waited > Duration::from_secs(4) && waited < Duration::from_secs(15), "{waited:?}");
        let all = Tcp::new(1, 2, at, patience).unwrap().all_gather(vec![1]).unwrap();
        for all in [all, first.join().unwrap()] {
            assert_eq!(*all, [[0], [1]]);
        }
    });
}

#[test]
fn a_room_has_a_seat_for_each_rank() {
    let [seat] = &Seat::row(1, Duration::from_secs(1))[..] else { panic!("one seat") };
    assert_eq!(*seat.all_gather(vec![1, 2]).unwrap(), [vec![1, 2]]);
    seat.fail("it has to");
    assert_eq!(seat.look().unwrap_err().to_string(), "rank 0 failed: it has to");
    let seats = Seat::row(3, Duration::from_secs(1));
    assert_eq!(seats.iter().map(Seat::rank).collect::<Vec<_>>(), [0, 1, 2]);
    assert!(seats.iter().all(|seat| seat.size() == 3));
}

/// Two threads that share a seat are not two ranks.
#[test]
fn a_rank_comes_to_a_meeting_once() {
    let seats = Seat::row(2, Duration::from_secs(20));
    std::thread::scope(|scope| {
        let first = scope.spawn(|| seats[0].all_gather(vec![1]).unwrap());
        std::thread::sleep(Duration::from_millis(500));
        let refused = seats[0].all_gather(vec![2]).unwrap_err();
        assert_eq!(refused.to_string(), "rank 0 is at the meeting already, on another thread");
        seats[1].all_gather(vec![3]).unwrap();
        assert_eq!(*first.join().unwrap(), [[1], [3]]);
    });
}

/// The entries of a rank's track.
fn track<'p>(profile: &'p GroupProfile, rank: usize, name: &str) -> &'p [Entry] {
    let found = profile.tracks.iter().find(|track| track.rank == Some(rank) && track.name == name);
    &found.unwrap_or_else(|| panic!("rank {rank} has no {name}")).profile.trace
}

/// One has ended when the next one begins, up to the rounding of sums.
fn is_in_order(trace: &[Entry]) -> bool {
    trace.windows(2).all(|pair| pair[0].start_ms + pair[0].duration_ms <= pair[1].start_ms + 1e-6)
}

#[test]
fn a_profile_has_the_tracks_of_all_ranks() {
    const N: usize = 5000;
    for size in [2, 3] {
        let profiles = group::run(&simulators(size), |group, engine| {
            // The shares are in the reverse order of the ranks: each goes to another rank, or to the same one, as a
            // whole.
            let (me, other) = (group.rank(), size - 1 - group.rank());
            let share = |rank: usize| (rank * N) as u32..((rank + 1) * N) as u32;
            let mine: Vec<u32> = share(other).rev().collect();
            let mut keys = ShardedVec::from_slice(group, engine, &mine)?;
            let mut sorter = Sorter::new(group, engine)?;
            let (ran, profile) = profile(group, engine, || sorter.sort(&mut keys, SortRung::Whole))?;
            assert_eq!(ran, SortRung::Whole);
            assert!(keys.to_vec()?.into_iter().eq(share(me)));
            Ok(profile)
        });
        let profiles = profiles.unwrap();
        let profile = &profiles[0];
        let text = |of| serde_json::to_string(of).unwrap();
        assert!(profiles.iter().all(|other| text(other) == text(profile)), "ranks were told different things");
        let names: Vec<_> = profile.tracks.iter().map(ToString::to_string).collect();
        let of_rank = |rank| ["host", "stream 1", "stream 2"].map(|name| format!("rank {rank}, {name}"));
        assert_eq!(names, (0..size).flat_map(of_rank).collect::<Vec<_>>());
        assert_eq!(profile.ranks.iter().map(|member| member.begin_ms).fold(1.0, f64::min), 0.0);
        for (rank, member) in profile.ranks.iter().enumerate() {
            assert_eq!((member.rank, &*member.device, member.within_ms), (rank, "simulator", 0.0));
            let [host, own, second] = ["host", "stream 1", "stream 2"].map(|name| track(profile, rank, name));
            for trace in [host, own, second] {
                assert!(is_in_order(trace), "{trace:?}");
                let inside =
                    |e: &Entry| e.start_ms >= member.begin_ms && e.start_ms + e.duration_ms <= member.end_ms + 1e-6;
                assert!(trace.iter().all(inside), "{member:?} {trace:?}");
            }
            // The exchange: of all keys with the other rank, or of none.
            let (other, bytes) = (size - 1 - rank, 4 * N);
            let [moved] = second else { panic!("{second:?}") };
            let (name, peer) = if other == rank { ("[DtoD]", None) } else { ("[PtoP]", Some(other)) };
            assert_eq!((&*moved.name, moved.size, moved.peer, moved.sent), (name, Some(bytes), peer, None));
            assert!(moved.throughput_gbs.unwrap() > 0.0);
            let exchanges: Vec<_> = host.iter().filter(|e| e.name == "[exchange]").collect();
            let [exchange] = exchanges[..] else { panic!("{host:?}") };
            let crossed = if other == rank { 0 } else { bytes };
            assert_eq!((exchange.size, exchange.sent, exchange.peer), (Some(crossed), Some(crossed), None));
            let end = |e: &Entry| e.start_ms + e.duration_ms;
            assert!(
                exchange.start_ms <= moved.start_ms && end(moved) <= end(exchange) + 1e-6,
                "{exchange:?} {moved:?}"
            );
            // The ranks tell each other first how many keys they have, and then samples: each is told what the others
            // tell.
            let gathers = |rank: usize| track(profile, rank, "host").iter().filter(|e| e.name == "[all-gather]");
            assert_eq!(gathers(rank).next().map(|e| (e.sent, e.size)), Some((Some(8), Some(8 * (size - 1)))));
            assert!(gathers(rank).count() > 1 && gathers(rank).count() + 1 == host.len());
            for (i, gather) in gathers(rank).enumerate() {
                let others = (0..size).filter(|&other| other != rank);
                let told: usize = others.map(|other| gathers(other).nth(i).unwrap().sent.unwrap()).sum();
                assert_eq!(gather.size, Some(told));
            }
            // What is sorted, and which samples are gathered, is launched on the first stream.
            assert!(own.iter().any(|e| e.grid.is_some()) && own.iter().all(|e| e.peer.is_none() && e.sent.is_none()));
        }
        for track in &profile.tracks {
            let calls: usize = track.profile.summary.iter().map(|total| total.calls).sum();
            assert_eq!(calls, track.profile.trace.len());
        }
    }
}

/// Each rank is told a total of every other one, and the panels of a product come from one rank after the other.
#[test]
fn a_profile_has_what_a_kernel_fetches() {
    let profiles = group::run_with(&simulators(3), by(Transport::Kernel), |group, engine| {
        let (from, to, stream) = (engine.upload(&[1u32; 12])?, engine.alloc::<u32>(12)?, engine.second_stream()?);
        let part = || (0..3).map(|rank| 16 * rank..16 * rank + 16).collect();
        let rounds = [Round { sends: part(), receives: part() }];
        let exchange = Exchange { stream: &stream, from: &from, to: &to, rounds: &rounds };
        Ok(profile(group, engine, || group.exchange(&exchange, &mut |_| Ok(())))?.1)
    });
    for rank in 0..3 {
        let [own, pulled] = track(&profiles.as_ref().unwrap()[0], rank, "stream 2") else { panic!("two entries") };
        assert_eq!((&*own.name, own.size), ("[DtoD]", Some(16)));
        assert_eq!((&*pulled.name, pulled.size, pulled.peer), ("[pull]", Some(32), None));
        assert!(pulled.throughput_gbs.unwrap() > 0.0);
    }
}

#[test]
fn a_profile_tells_reductions_and_products_by_their_bytes() {
    const SIDE: usize = 192;
    for size in RANKS {
        let [sums, products] = [false, true].map(|is_product| {
            let run = |group: &dyn Group, engine: &Engine| {
                let share = |rank: usize| bounds(SIDE, size)[rank]..bounds(SIDE, size)[rank + 1];
                let rows = share(group.rank()).len();
                let keys = ShardedVec::from_slice(group, engine, &vec![1_u64; rows])?;
                let mut multiplier = Multiplier::new(group, engine, rows, SIDE, SIDE)?;
                let [a, b, c] = [(); 3].map(|()| engine.alloc::<f32>(rows * SIDE));
                let (a, b, c) = (a?, b?, c?);
                a.fill(0)?;
                b.fill(0)?;
                let work = || {
                    if is_product {
                        return multiplier.multiply(&a, &b, &c);
                    }
                    keys.reduce(Operation::Sum).map(|sum| assert_eq!(sum, SIDE as u64))
                };
                Ok(profile(group, engine, work)?.1)
            };
            group::run(&simulators(size), run).unwrap().remove(0)
        });
        for rank in 0..size {
            let [told] = track(&sums, rank, "host") else { panic!("{sums:?}") };
            let of_others = Some(8 * (size - 1));
            assert_eq!((&*told.name, told.sent, told.size), ("[all-gather]", Some(8), of_others));
            assert!(sums.tracks.iter().all(|track| track.name != "stream 2"), "a sum is not exchanged on a stream");
            // The panel of the rank itself, and those of the ranks after it, as far as they have rows.
            let panel = |rank: usize| 4 * SIDE * (bounds(SIDE, size)[rank + 1] - bounds(SIDE, size)[rank]);
            let from = (0..size).map(|i| (rank + i) % size).filter(|&from| panel(from) > 0);
            let want: Vec<_> = from.map(|from| ((from != rank).then_some(from), Some(panel(from)))).collect();
            let got: Vec<_> = track(&products, rank, "stream 2").iter().map(|e| (e.peer, e.size)).collect();
            assert_eq!(got, want, "rank {rank} of {size}");
            let [exchange] = track(&products, rank, "host") else { panic!("{products:?}") };
            let all: usize = (0..size).map(panel).sum();
            let (received, sent) = (all - panel(rank), panel(rank) * (size - 1));
            assert_eq!((&*exchange.name, exchange.size, exchange.sent), ("[exchange]", Some(received), Some(sent)));
        }
    }
}
