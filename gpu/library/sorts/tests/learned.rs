//! The radix sort whose buckets come from a learned map, on the simulator: whole outputs against the standard library's
//! sort, and how even the buckets are.

use rungs_common::keys::{DESCENDING, FLOAT, SIGNED, UNSIGNED, Word};
use rungs_common::ladder::sort::{Keys, Width};
use rungs_common::ladder::{Device, Launcher, Options, Result};
use rungs_sorts::buckets::{HISTOGRAM_STATIC, Mapped, partition_tile};
use rungs_sorts::either::ONE_BLOCK;
use rungs_sorts::either::launches as either;
use rungs_sorts::learned::launches::{Plan, RUNG, Sort, Sorter};
use rungs_sorts::learned::*;
use rungs_sorts::msd_skewed::BUCKET_SORT_STATIC;
use rungs_sorts::steps::leading_zeros;
use rungs_testing::{
    Buffer, Sorting, corners, difference, for_kinds, launch, normal, random, unit, with_multiprocessors,
};
use simt::Geometry;
use simt::launcher::{Call, Memory};
use simt::sim::{Check, Gpu, MAX_SHARED, check as check_schedules};
use std::cell::Cell;
use std::fmt::Debug;

/// SMs of the device that the simulator stands for: few, so that blocks take many tiles.
const MULTIPROCESSORS: u32 = 4;

fn check<W: Width + Debug>(what: &str, order: u32, keys: &[W]) {
    Sorting { on: with_multiprocessors(MULTIPROCESSORS), order, runs: 2, ..Sorting::by(&RUNG) }.check(what, keys);
}

/// Sorts by way of `1 << bits` buckets, twice with the same memory, and compares.
fn check_by<W: Width + Sort + Debug>(what: &str, bits: u32, order: u32, keys: &[W]) {
    check_plan(what, Plan::with_bits::<W>(keys.len() as u32, bits, MAX_SHARED), order, keys);
}

fn check_plan<W: Width + Sort + Debug>(what: &str, plan: Plan, order: u32, keys: &[W]) {
    let on = with_multiprocessors(MULTIPROCESSORS);
    let mut sorter = Sorter::new(&on, plan).unwrap();
    for run in 0..2 {
        let mut sorted = Buffer::new(keys, 0);
        sorter.sort(&on, Keys { keys: sorted.view(), order }).unwrap();
        if let Some(difference) = difference(keys, sorted.slice(), order) {
            panic!("{what}, {} keys, order {order}, run {run}, {plan:?}: {difference}", keys.len());
        }
        sorted.check_guards(what);
    }
}

type Floats = (&'static str, fn(u64) -> f64);

/// Floats whose distribution is smooth.
const SMOOTH: [Floats; 5] = [
    ("uniform", unit),
    ("normal", normal),
    ("exponential", |i| -unit(i).ln()),
    ("log-normal", |i| (3.0 * normal(i)).exp()),
    ("far from zero", |i| 1000.0 + normal(i)),
];

/// Floats that a map meets in addition to those: corner values among others, and an exponential that few values of a
/// sample reach.
const OTHERS: [Floats; 3] = [
    ("corners", |i| match random(i) % 24 {
        7 => f64::from_bits(random(!i) % 1000),
        8 => f64::MAX,
        _ => corners(i),
    }),
    ("an outlier", |i| if i == 777 { 1e30 } else { unit(i) }),
    ("special among equal ones", |i| if i % 5000 == 3 { normal(i) } else { 2.5 }),
];

fn narrow(n: u64, from: impl Fn(u64) -> f64) -> Vec<u32> {
    (0..n).map(|i| (from(i) as f32).to_bits()).collect()
}

fn wide(n: u64, from: impl Fn(u64) -> f64) -> Vec<u64> {
    (0..n).map(|i| from(i).to_bits()).collect()
}

/// Whole numbers, with the name of each kind.
fn whole(n: u64) -> Vec<(&'static str, Vec<u64>)> {
    let made = |from: &dyn Fn(u64) -> u64| (0..n).map(from).collect::<Vec<_>>();
    vec![
        ("in a range", made(&|i| random(i) % 1_000_000)),
        ("few values", made(&|i| ((random(i) % 5) << 20) | 0x77)),
        ("equal", made(&|_| 0x1234_5678)),
        ("all ones", made(&|_| u64::MAX)),
        ("zipf", made(&|i| (unit(i) * 16.6).exp() as u64)),
        ("sorted", made(&|i| i * 7 + random(i) % 5)),
        ("reversed", made(&|i| (n - i) * 7 + random(i) % 5)),
        ("with gaps", made(&|i| ((random(i) % 40) << 25) | (random(!i) % 3000))),
        // Two values of which the sample sees one or both, and outliers that it does not see.
        ("ends", made(&|i| if i % 4000 == 1 { 0 } else { u64::MAX >> (random(i) % 3) })),
        ("sum of four", made(&|i| (0..4).map(|j| (random(i ^ (j << 60)) >> 2) & 0x3fff_ffff_3fff_ffff).sum())),
    ]
}

#[test]
fn learned_sorts_every_kind_of_input() {
    let (tile, most) = (u64::from(partition_tile::<u32>(false)), u64::from(ONE_BLOCK));
    for_kinds(&[0, 1, 2, 31, 32, 33, most, most + 1, tile - 1, tile, tile + 1, 20_011], |what, narrow, wide| {
        check(what, UNSIGNED, narrow);
        check(what, UNSIGNED, wide);
    });
}

#[test]
fn learned_sorts_floats() {
    for (what, from) in SMOOTH.into_iter().chain(OTHERS) {
        check(what, FLOAT, &narrow(24_001, from));
        check(what, FLOAT | DESCENDING, &wide(16_385, from));
    }
    // In order, and against it.
    for sign in [1.0, -1.0] {
        check("sorted", FLOAT, &narrow(20_021, |i| sign * (i as f64 - 9_000.0)));
    }
}

#[test]
fn learned_sorts_whole_numbers() {
    for (what, keys) in whole(32_771) {
        let narrow: Vec<u32> = keys.iter().map(|&key| key as u32).collect();
        check(what, SIGNED, &narrow);
        check(what, UNSIGNED | DESCENDING, &keys);
    }
}

/// With more buckets than so few keys need, so that there is a second partition: the fewest, since each is a block.
#[test]
fn learned_with_two_partitions() {
    let n = 9011;
    for (what, from) in SMOOTH.into_iter().chain(OTHERS) {
        check_by(what, 9, FLOAT, &narrow(n, from));
        check_by(what, 9, FLOAT, &wide(n, from));
    }
    for (what, keys) in whole(n) {
        let narrow: Vec<u32> = keys.iter().map(|&key| key as u32).collect();
        check_by(what, 9, SIGNED | DESCENDING, &narrow);
        check_by(what, 9, SIGNED, &keys);
    }
}

/// The first partition of more keys than a test can have.
#[test]
fn learned_with_a_wide_partition() {
    fn check<W: Width + Sort + Debug>(order: u32, keys: &[W]) {
        for bits in [8, 10] {
            let mut plan = Plan::with_bits::<W>(keys.len() as u32, bits, MAX_SHARED);
            plan.buckets.wide = true;
            check_plan("wide", plan, order, keys);
        }
    }
    check(FLOAT, &narrow(u64::from(partition_tile::<u32>(true)) + 1001, normal));
    check(UNSIGNED, &narrow(u64::from(partition_tile::<u32>(true)), unit));
    check(FLOAT | DESCENDING, &wide(u64::from(partition_tile::<u64>(true)) - 1, normal));
}

/// Whatever the order in which blocks run, nothing is read that another block may be writing.
#[test]
fn learned_under_hostile_schedules() {
    let n = 9001;
    let checked = check_schedules(Check { schedules: 3, ..Check::default() }, || {
        check_by("normal", 8, FLOAT, &narrow(n, normal));
        check_by("corners", 9, FLOAT, &wide(n, OTHERS[0].1));
        let mut plan = Plan::with_bits::<u32>(n as u32, 9, MAX_SHARED);
        plan.buckets.wide = true;
        check_plan("few values", plan, SIGNED, &(0..n).map(|i| random(i) as u32 % 3).collect::<Vec<_>>());
    });
    assert!(checked.report.is_clean(), "{}", checked.report);
}

/// So many floats go by a map in `either` too.
#[test]
fn either_sorts_many_floats_by_a_map() {
    let n = 1_200_007;
    assert!(Plan::new::<u32>(n, MAX_SHARED).unwrap().buckets.second_bits > 0);
    let on = Counting(with_multiprocessors(MULTIPROCESSORS), Cell::new(0));
    let mut memory = either::scratch(&on, n, &Options::default()).unwrap();
    for (order, launches) in [(FLOAT, 8), (UNSIGNED, 6)] {
        let input = narrow(n.into(), normal);
        let mut keys = Buffer::new(&input, 0);
        on.1.set(0);
        either::sort(&on, Keys { keys: keys.view(), order }, &mut memory).unwrap();
        assert_eq!(difference(&input, keys.slice(), order), None);
        assert_eq!(on.1.get(), launches, "order {order}");
    }
}

/// A machine that counts launches.
struct Counting(Gpu, Cell<u32>);

impl Launcher for Counting {
    fn device(&self) -> Device {
        self.0.device()
    }

    fn enqueue(&self, call: &dyn Call, geometry: Geometry) -> Result {
        self.1.set(self.1.get() + 1);
        self.0.enqueue(call, geometry)
    }

    fn allocate(&self, bytes: usize) -> Result<Box<dyn Memory>> {
        self.0.allocate(bytes)
    }

    unsafe fn clear_bytes(&self, address: *mut u8, bytes: usize) -> Result {
        // SAFETY: passed on.
        unsafe { self.0.clear_bytes(address, bytes) }
    }
}

/// The map of `keys`, learned by its kernel.
fn learned(order: u32, keys: &[u32]) -> Buffer<u32> {
    let mut input = Buffer::new(keys, 0);
    let mut counts = Buffer::new(&[0u32; COUNT_WORDS as usize], 0);
    let mut map = Buffer::poisoned(MAP_WORDS as usize, 0);
    let geometry = Geometry::linear(learn_blocks(keys.len() as u32), LEARN_THREADS);
    let args = (input.view(), order, counts.view(), map.view());
    launch(radix_learned_map::<u32, Mapped>::default(), geometry, args);
    assert!(counts.slice().iter().all(|&count| count == 0), "the counts of the sample are left");
    counts.check_guards("counts");
    map.check_guards("map");
    map
}

/// How many keys each of `1 << bits` buckets of a map has, by the kernel of the histogram.
fn counted(map: &mut Buffer<u32>, bits: u32, order: u32, keys: &[u32]) -> Vec<u32> {
    let mut input = Buffer::new(keys, 0);
    let mut histogram = Buffer::new(&vec![0u32; 1 << bits], 0);
    let mut zeroed = Buffer::<u32>::poisoned(8, 0);
    let geometry = Geometry::linear(3, 1024).shared(learned_histogram_shared(bits));
    let args = (input.view(), order, bits, map.view(), histogram.view(), zeroed.view());
    launch(radix_learned_histogram::<u32, Mapped>::default(), geometry, args);
    histogram.check_guards("histogram");
    let counted = histogram.slice().to_vec();
    assert_eq!(counted.iter().sum::<u32>(), keys.len() as u32);
    counted
}

/// No bucket of keys with a smooth distribution is oversized, at the fullest that a plan makes buckets.
#[test]
fn buckets_are_even() {
    let n = 240 * 4700;
    let plan = Plan::new::<u32>(n, MAX_SHARED).unwrap();
    assert_eq!((plan.buckets.first_bits, plan.buckets.second_bits), (8, 0));
    assert_eq!(Plan::new::<u32>(n + 1, MAX_SHARED).unwrap().buckets.top_bits(), 9);
    let check = |what: &str, order: u32, keys: &[u32]| {
        let largest = counted(&mut learned(order, keys), 8, order, keys).into_iter().max().unwrap();
        assert!(largest <= LEARNED_MAX, "{what}: a bucket of {largest} keys");
    };
    check("normal", FLOAT, &narrow(n.into(), normal));
    check("uniform", FLOAT, &narrow(n.into(), |i| 2.0 * unit(i) - 1.0));
    let range: Vec<u32> = (0..u64::from(n)).map(|i| (random(i) % 1_000_000) as u32).collect();
    check("in a range", UNSIGNED, &range);
    // Slices that are a bucket or less, of many more of them.
    let n = 1 << 24;
    for (what, from) in SMOOTH.into_iter().take(3) {
        let keys = narrow(n, if what == "uniform" { |i| 2.0 * unit(i) - 1.0 } else { from });
        let largest = counted(&mut learned(FLOAT, &keys), 12, FLOAT, &keys).into_iter().max().unwrap();
        assert!(largest <= LEARNED_MAX, "{n} keys, {what}: a bucket of {largest}");
    }
}

/// Greater keys are in the buckets of lesser ones or in later ones.
#[test]
fn maps_are_monotone() {
    for (what, keys) in whole(60_013) {
        let mut keys: Vec<u32> = keys.iter().map(|&key| key as u32).collect();
        let mut map = learned(SIGNED, &keys);
        keys.sort_unstable_by_key(|key| key.encode(SIGNED));
        let (lesser, greater) = keys.split_at(20_000);
        let [lesser, greater] = [lesser, greater].map(|keys| counted(&mut map, 14, SIGNED, keys));
        let last = lesser.iter().rposition(|&keys| keys > 0);
        let first = greater.iter().position(|&keys| keys > 0);
        assert!(last <= first, "{what}: {last:?} and {first:?}");
    }
}

/// Every size has a plan, or too many keys; no kernel takes more shared memory than there is.
#[test]
fn plans_fit_every_device() {
    for max_shared in [101_376, 166_912, 232_448] {
        for n in (13..=28).flat_map(|bits| [(1 << bits) - 1, 1 << bits, (1 << bits) - (1 << bits) / 3]) {
            let Some(plan) = Plan::new::<u64>(n, max_shared) else {
                assert!(max_shared < 110_000 && n > 1 << 27, "{n} keys have no plan");
                continue;
            };
            let bits = plan.buckets.top_bits();
            assert!(plan.buckets.first_bits <= 8 && bits <= NUMBER_BITS);
            for bytes in [
                HISTOGRAM_STATIC + learned_histogram_shared(bits),
                learned_partition_shared(plan.buckets.wide),
                learned_partition_shared(false),
                BUCKET_SORT_STATIC + learned_bucket_shared::<u64>(),
            ] {
                assert!(bytes <= max_shared, "{n} keys take {bytes} bytes of {max_shared}");
            }
        }
    }
    assert!(Plan::new::<u32>(1 << 28, 232_448).is_some());
    assert!(Plan::new::<u32>(1 << 29, 232_448).is_none());
}

#[test]
fn leading_zeros_of_all_lengths() {
    for word in (0..64).flat_map(|bits| [1 << bits, (1 << bits) - 1, u64::MAX >> bits]) {
        assert_eq!(leading_zeros(word), word.leading_zeros(), "{word:#x}");
    }
}
