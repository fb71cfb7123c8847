//! Groups of simulators: what several devices do together is what one would do alone.

use rungs::algorithms::Operation;
use rungs::algorithms::keys::KeyWord;
use rungs::data::{Distribution, sorted};
use rungs::engine::{DeviceChoice, Engine};
use rungs::group::sort::{SortRung, Sorter};
use rungs::group::{self, Exchange, Group, Meeting, Room, Round, Seat, Settings, ShardedVec, Tcp, Total};
use rungs::{Error, Result};
use rungs_kernels::ladder::reduce::{Reduce, Reduces};
use rungs_kernels::ladder::scan::{Scan, Scans};
use rungs_kernels::radix::pieces::Pieces;
use std::net::TcpListener;
use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

const RANKS: [usize; 5] = [1, 2, 3, 5, 8];

/// Simulators with as many multiprocessors, so that each runs on one core.
fn simulators(size: usize) -> Vec<DeviceChoice> {
    vec![DeviceChoice::SimulatorOf(NonZero::new(4).unwrap()); size]
}

/// The same with little patience.
fn hasty() -> Settings {
    Settings { timeout: Duration::from_millis(300), ..Settings::default() }
}

/// The parts of `n` elements for so many ranks: equal ones, all at one rank, or of many lengths, with empty ones.
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

fn sorts<T: Total<Word: KeyWord + Pieces>>(
    n: usize,
    lengths: &[usize],
    distribution: &Distribution,
    rung: SortRung,
) -> usize {
    let keys: Vec<T> = distribution.keys(n as u64, 7).unwrap();
    let want = sorted(&T::wrap(keys.clone()));
    let input = parts(&keys, lengths);
    let taken = AtomicUsize::new(0);
    let output = group::run(&simulators(lengths.len()), |group, engine| {
        let mut vec = ShardedVec::from_slice(group, engine, &input[group.rank()])?;
        let mut sorter = Sorter::new(group, engine)?.with_rounds(3);
        // The second sort has the memory of the first, and a share that may begin elsewhere.
        for _ in 0..2 {
            if sorter.sort(&mut vec, rung)? == rung {
                taken.fetch_add(1, Ordering::Relaxed);
            }
        }
        vec.to_vec()
    });
    let output = output.unwrap_or_else(|e| panic!("{n} {} as {lengths:?}, {distribution}: {e}", T::DTYPE));
    assert_eq!(output.iter().map(Vec::len).collect::<Vec<_>>(), lengths, "a share has another length");
    let difference = T::wrap(output.concat()).first_difference(&want);
    assert!(difference.is_none(), "{n} {} as {lengths:?}, {distribution}, {rung}: {difference:?}", T::DTYPE);
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

/// Sorts that exchange ranges: how many of the sorts of all ranks did.
fn sorts_by_ranges<T: Total<Word: KeyWord + Pieces>>(
    n: usize,
    lengths: &[usize],
    distribution: &Distribution,
) -> usize {
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

#[test]
fn ranges_of_every_type() {
    let lengths = &shares(9001, 2)[0];
    assert_eq!(sorts_by_ranges::<i32>(9001, lengths, &Distribution::Uniform), 4);
    assert_eq!(sorts_by_ranges::<u64>(9001, lengths, &Distribution::Uniform), 4);
    assert_eq!(sorts_by_ranges::<i64>(9001, lengths, &Distribution::Uniform), 4);
    sorts_by_ranges::<f32>(9001, lengths, &Distribution::Special);
    sorts_by_ranges::<f64>(9001, lengths, &Distribution::Special);
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
    for size in RANKS {
        let moved = group::run(&simulators(size), |group, engine| {
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
            Ok(())
        });
        moved.unwrap();
    }
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
    let (error, waited) = ends(3, |group, _| if group.rank() == 2 { Ok(()) } else { group.barrier() });
    assert_eq!((error.to_string(), error.exit_code()), ("rank 2 did not answer within 0.3 s".into(), 5));
    assert!(waited < Duration::from_secs(10));
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

/// Runs `work` for each rank of a meeting over TCP, and returns what the ranks say.
fn over_tcp<R: Send>(size: usize, work: impl Fn(Tcp) -> R + Sync) -> Vec<R> {
    let (port, work) = (port(), &work);
    std::thread::scope(|scope| {
        let ranks: Vec<_> = (0..size)
            .map(|rank| {
                scope.spawn(move || {
                    let place = ("127.0.0.1", port);
                    work(Tcp::new(rank, size, place, Duration::from_secs(2)).unwrap())
                })
            })
            .collect();
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

#[test]
fn a_room_has_a_seat_for_each_rank() {
    let room = Room::new(1, Duration::from_secs(1));
    let seat = Seat::new(&room, 0);
    assert_eq!(*seat.all_gather(vec![1, 2]).unwrap(), [vec![1, 2]]);
    seat.fail("it has to");
    assert_eq!(seat.look().unwrap_err().to_string(), "rank 0 failed: it has to");
}
