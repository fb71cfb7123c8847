//! The choice of `either` for many keys, on the simulator, by plans made by hand for fewer: the whole output against
//! the standard library's sort, and which way the keys went.

mod maps;

use rungs_common::keys::{DESCENDING, FLOAT, SIGNED, UNSIGNED};
use rungs_common::ladder::sort::{Keys, Width};
use rungs_common::ladder::{Device, Launcher, Result};
use rungs_sorts::buckets::launches::Plan;
use rungs_sorts::digits::LAST_EPOCH;
use rungs_sorts::either::choice::Choice;
use rungs_sorts::either::many::{BY_BITS, BY_MAP, CHOICE_WORDS, FROM_LAST, LEARNED, LINEARLY, Learning, SAMPLED, WAY};
use rungs_sorts::either::many_launches::{Many, Sort, Sorter};
use rungs_testing::{Buffer, difference, random, with_multiprocessors};
use simt::Geometry;
use simt::launcher::{Call, Memory};
use simt::sim::{Check, Gpu, MAX_SHARED, check as check_races};
use std::cell::Cell;
use std::fmt::Debug;
use std::ptr;

/// Bits of the two partitions: one as for the fewest keys, and two.
const PARTITIONS: [(u32, u32); 2] = [(9, 0), (5, 4)];

/// Keys that a bucket takes.
const MOST: u64 = 384 * 12 - 31;

/// A sort of `n` keys by way of buckets that are told apart by these numbers of bits. No map is learned.
fn many(n: usize, (first_bits, second_bits): (u32, u32)) -> Many {
    let usual = Many::new::<u32>(n as u32, MAX_SHARED);
    let buckets = Plan { first_bits, second_bits, ..usual.buckets };
    let learning = Learning { more_bits: 0, ..usual.learning };
    Many { buckets, learning, choice: Choice::new(n as u32, second_bits != 0), ..usual }
}

/// A machine that remembers where the words of the choice are, and how often memory is cleared.
struct Seeing {
    gpu: Gpu,
    words: Cell<*const u32>,
    clears: Cell<u32>,
}

impl Seeing {
    fn new(multiprocessors: u32) -> Self {
        Self { gpu: with_multiprocessors(multiprocessors), words: Cell::new(ptr::null()), clears: Cell::new(0) }
    }

    /// Whether a sample sufficed for that.
    fn sampled(&self) -> bool {
        // SAFETY: as for `went`.
        unsafe { self.words.get().add(SAMPLED as usize).read() == FROM_LAST }
    }

    /// Whether a map was learned.
    fn learned(&self) -> bool {
        // SAFETY: as for `went`.
        unsafe { self.words.get().add(LEARNED as usize).read() != 0 }
    }

    /// Which way the last sort went.
    fn went(&self) -> Way {
        assert!(!self.words.get().is_null());
        // SAFETY: the words belong to a sequence of launches that is still there, and has ended.
        match unsafe { self.words.get().add(WAY as usize).read() } {
            BY_BITS => Buckets,
            FROM_LAST => FromLast,
            BY_MAP => Map,
            LINEARLY => Linear,
            other => panic!("the choice is {other}"),
        }
    }
}

impl Launcher for Seeing {
    fn device(&self) -> Device {
        self.gpu.device()
    }

    fn enqueue(&self, call: &dyn Call, geometry: Geometry) -> Result {
        self.gpu.enqueue(call, geometry)
    }

    fn allocate(&self, bytes: usize) -> Result<Box<dyn Memory>> {
        let memory = self.gpu.allocate(bytes)?;
        if bytes == 4 * CHOICE_WORDS as usize {
            self.words.set(memory.address().cast_const().cast());
        }
        Ok(memory)
    }

    unsafe fn clear_bytes(&self, address: *mut u8, bytes: usize) -> Result {
        self.clears.set(self.clears.get() + 1);
        // SAFETY: passed on.
        unsafe { self.gpu.clear_bytes(address, bytes) }
    }
}

/// Which way keys go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Buckets,
    FromLast,
    Map,
    Linear,
}
use Way::{Buckets, FromLast, Linear, Map};

/// A sort, and the machine that it is for.
struct Sequence<'a, W> {
    on: &'a Seeing,
    sorter: Sorter<W>,
}

impl<'a, W: Width + Sort + Debug> Sequence<'a, W> {
    fn new(on: &'a Seeing, many: &Many) -> Self {
        Self { on, sorter: Sorter::new(on, many).unwrap() }
    }

    /// Sorts, compares, and tells which way the keys went.
    fn sort(&mut self, what: &str, keys: &[W], order: u32) -> Way {
        let mut got = Buffer::new(keys, 0);
        self.sorter.sort(self.on, Keys { keys: got.view(), order }).unwrap_or_else(|e| panic!("{what}: {e}"));
        got.check_guards(what);
        if let Some(difference) = difference(keys, got.slice(), order) {
            panic!("{what}, n = {}, order {order}: {difference}", keys.len());
        }
        self.on.went()
    }
}

/// The kinds of keys; for each, which way many of them go with one partition and with two.
#[allow(clippy::type_complexity)]
const KINDS: [(&str, fn(u64, u64) -> u32, [Way; 2]); 16] = [
    ("uniform", |i, _| random(i) as u32, [Buckets, Buckets]),
    ("sorted", |i, n| ((i << 32) / n) as u32, [Buckets, Buckets]),
    ("reversed", |i, n| !((i << 32) / n) as u32, [Buckets, Buckets]),
    ("equal", |_, _| 0x1234_5678, [FromLast, FromLast]),
    ("all largest", |_, _| u32::MAX, [FromLast, FromLast]),
    ("few", |i, _| random(random(i) % 16) as u32, [FromLast, Buckets]),
    ("two", |i, _| if random(i) & 1 == 0 { 0 } else { u32::MAX }, [FromLast, Buckets]),
    ("small", |i, _| (random(i) % 9) as u32, [FromLast, FromLast]),
    ("one digit", |i, _| 0x7711_0088 | (random(i) as u32 & 0xff00), [FromLast, FromLast]),
    ("low bits", |i, _| random(i) as u32 & 0xffff, [FromLast, FromLast]),
    ("high bits", |i, _| random(i) as u32 & 0xffff_0000, [Buckets, Buckets]),
    ("three digits", |i, _| random(i) as u32 & 0x00ff_ffff, [FromLast, Buckets]),
    ("zipf", |i, _| (1 << (random(!i) % 24)) + (random(i) as u32 & ((1 << (random(!i) % 24)) - 1)), [FromLast; 2]),
    ("entropy 3", |i, _| (random(i) & random(i << 20) & random(i << 40)) as u32, [FromLast, FromLast]),
    ("entropy 5", |i, _| (0..5).fold(!0, |key, k| key & random(i * 5 + k) as u32), [FromLast, FromLast]),
    ("a tenth is equal", |i, _| if i.is_multiple_of(10) { 77 } else { random(i) as u32 }, [FromLast, Buckets]),
];

/// Enough that each of 16 values is too many for a bucket, and that entropy 3 is skewed; a prime.
const ENOUGH: u64 = 100_003;

fn of_kind(kind: fn(u64, u64) -> u32, n: u64) -> Vec<u32> {
    (0..n).map(|i| kind(i, n)).collect()
}

#[test]
fn every_kind_of_many_keys_goes_its_way() {
    for (partitions, k) in PARTITIONS.into_iter().zip(0..) {
        let on = Seeing::new(4);
        let mut sequence = Sequence::new(&on, &many(ENOUGH as usize, partitions));
        // By one sequence: each kind finds what the one before has left, which mostly went the other way.
        for j in 0..KINDS.len() {
            let (name, kind, ways) = KINDS[j * 7 % KINDS.len()];
            let keys = of_kind(kind, ENOUGH);
            assert_eq!(sequence.sort(name, &keys, UNSIGNED), ways[k], "{name}, partitions of {partitions:?} bits");
            // A sample shows what is beyond doubt: 16 values, whose buckets are a few keys too large, are not.
            if ["equal", "all largest", "small", "one digit", "low bits"].contains(&name) {
                assert!(on.sampled(), "{name}");
            } else if name == "few" {
                assert!(!on.sampled(), "{name}");
            }
        }
    }
}

#[test]
fn both_ways_sort_any_number_of_keys() {
    // At these sizes all buckets of a few kinds fit a block; keys go to buckets then.
    for n in [0, 1, 2, 31, 33, MOST - 1, MOST, MOST + 1, 8191, 8192, 8193, 16_411] {
        for partitions in PARTITIONS {
            for multiprocessors in [1, 132] {
                let on = Seeing::new(multiprocessors);
                let mut sequence = Sequence::new(&on, &many(n as usize, partitions));
                if n == 0 {
                    let keys = Keys { keys: Buffer::new(&[], 0).view(), order: UNSIGNED };
                    sequence.sorter.sort(&on, keys).unwrap();
                    continue;
                }
                for name in ["uniform", "equal", "one digit", "low bits", "zipf"] {
                    let (_, kind, _) = KINDS.into_iter().find(|(kind, ..)| *kind == name).unwrap();
                    let way = sequence.sort(name, &of_kind(kind, n), UNSIGNED);
                    let skewed = name != "uniform" && n > MOST && (name != "zipf" || n > 2 * MOST);
                    if name != "zipf" || n <= MOST || skewed {
                        assert_eq!(way, if skewed { FromLast } else { Buckets }, "{name}, n = {n}, {partitions:?}");
                    }
                }
            }
        }
    }
}

#[test]
fn both_ways_map_signed_keys_and_floats() {
    let on = Seeing::new(4);
    for partitions in PARTITIONS {
        let n = 20_011;
        let mut sequence = Sequence::new(&on, &many(n as usize, partitions));
        for order in [SIGNED, FLOAT, UNSIGNED | DESCENDING, SIGNED | DESCENDING, FLOAT | DESCENDING] {
            let mut went = [0; 4];
            for (name, kind, _) in KINDS {
                went[sequence.sort(name, &of_kind(kind, n), order) as usize] += 1;
            }
            let [buckets, from_last, map, linear] = went;
            assert!(buckets > 3 && from_last > 3 && map + linear == 0, "order {order}: {went:?}");
        }
    }
}

/// Each limit of the choice, by keys that just reach it and by a limit that they just do not.
#[test]
fn the_limits_of_the_choice() {
    let on = Seeing::new(4);
    // Two large buckets, of one key more than fit a block and of 6000, 5 keys in a third one, and no others.
    let keys: Vec<u32> = (0..MOST + 1 + 6000 + 5)
        .map(|i| {
            random(i) as u32 >> 9
                | if i <= MOST {
                    0
                } else if i < MOST + 6001 {
                    1 << 31
                } else {
                    3 << 30
                }
        })
        .collect();
    let crowded = MOST as u32 + 6001;
    let limits = |least, few, most| Choice { least, few, most, bucket: MOST as u32 };
    for (choice, way) in [
        (limits(crowded, 0, 0), FromLast),
        (limits(crowded + 1, 0, 0), Buckets),
        (limits(1, 2, 6000), FromLast),
        (limits(1, 3, 6000), Buckets),
        (limits(1, 3, 5999), FromLast),
    ] {
        for partitions in PARTITIONS {
            let many = Many { choice, ..many(keys.len(), partitions) };
            let mut sequence = Sequence::new(&on, &many);
            assert_eq!(sequence.sort("two large buckets", &keys, UNSIGNED), way, "{choice:?}, {partitions:?}");
        }
    }
    // No bucket is too large, whatever the limits.
    let keys: Vec<u32> = (0..2 * MOST).map(|i| random(i) as u32 >> 9 | (i as u32) << 31).collect();
    for partitions in PARTITIONS {
        let many = Many { choice: limits(0, 0, 0), ..many(keys.len(), partitions) };
        assert_eq!(Sequence::new(&on, &many).sort("full buckets", &keys, UNSIGNED), Buckets);
    }
    // What 2048 keys of a sample have to show: the same share and a sixteenth more; of a bucket twice its share, or
    // more than an accident.
    let sample = |n| limits(1000, 16, 3000).of_sample(n);
    assert_eq!(sample(4000), Choice { bucket: 4096, ..limits(640, 16, 1664) });
    assert_eq!(sample(1 << 22), Choice { bucket: 5, ..limits(128, 16, 129) });
    // What the host sets: any bucket that is too large with one partition; a quarter of the keys with two.
    assert_eq!(Choice::new(1000, false), limits(1, 0, 0));
    assert_eq!(Choice::new(1000, true), limits(250, 16, 750));
}

/// Sorts by one sequence before and after the epochs begin again, with the last epoch in use and with some to spare.
#[test]
fn sorts_begin_anew_after_the_last_epoch() {
    let n = 2 * 8192 + 77;
    for unused in [0, 1, 3] {
        let on = Seeing::new(4);
        // Two sorts of four passes.
        let mut sequence = Sequence::new(&on, &many(n, PARTITIONS[1]));
        sequence.sorter.epoch = LAST_EPOCH - unused - 7;
        let fresh = on.clears.get();
        for run in 0..4u64 {
            // Most keys share the top bits, and keys differ in all digits.
            let key = |i: u64| random(i + (run << 32)) as u32 >> if i.is_multiple_of(16) { 0 } else { 9 };
            let keys: Vec<u32> = (0..n as u64).map(key).collect();
            let what = format!("{unused} epochs unused, run {run}");
            assert_eq!(sequence.sort(&what, &keys, UNSIGNED), FromLast, "{what}");
            assert_eq!(on.clears.get() - fresh, (run > 1) as u32, "{what}");
        }
    }
}

/// Whatever the order in which blocks run, none waits forever, and nothing is read that another block may be writing.
#[test]
fn both_ways_under_hostile_schedules() {
    let n = 8192 + 77;
    for partitions in PARTITIONS {
        let checked = check_races(Check { schedules: 2, ..Check::default() }, || {
            let on = Seeing::new(4);
            let many = many(n, partitions);
            let mut sequence = Sequence::new(&on, &many);
            for (name, kind, ways) in [KINDS[0], KINDS[3], KINDS[7], KINDS[9], KINDS[15]] {
                let way = sequence.sort(name, &of_kind(kind, n as u64), UNSIGNED);
                assert_eq!(way, ways[1], "{name}");
            }
            // A bucket that is split by and by, and one that is written again next to others.
            let halves: Vec<u32> =
                (0..n as u64).map(|i| if i.is_multiple_of(3) { random(i) as u32 >> 1 } else { 5 }).collect();
            let split = Many { choice: Choice { least: u32::MAX, ..many.choice }, ..many };
            assert_eq!(Sequence::new(&on, &split).sort("split", &of_kind(KINDS[9].1, n as u64), SIGNED), Buckets);
            assert_eq!(Sequence::new(&on, &split).sort("split", &halves, FLOAT), Buckets);
        });
        assert!(checked.report.is_clean(), "{partitions:?}: {}", checked.report);
    }
}
