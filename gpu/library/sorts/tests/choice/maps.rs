//! Keys that go by a map, learned or linear.

use super::*;
use rungs_sorts::buckets::{Buckets as _, Key};
use rungs_sorts::either::choice::Worth;
use rungs_sorts::either::many::many_histogram_shared;
use rungs_sorts::linear::Linear as LinearMap;
use rungs_sorts::msd_skewed::tally_bits;
use std::collections::HashSet;

/// A sort of `n` keys with two partitions, and with a map for keys of type `W` that their bits do not spread; its
/// second digit has a bit more. Keys of 64 bits do not go from the last digit.
fn with_map<W: Key>(n: usize) -> Many {
    let (first_bits, second_bits) = PARTITIONS[1];
    let usual = Many::new::<W>(n as u32, MAX_SHARED);
    let buckets = Plan { first_bits, second_bits, ..usual.buckets };
    let from_last = W::HALVES == 1;
    let least = if from_last { Choice::new(n as u32, true).least } else { u32::MAX };
    Many {
        buckets,
        learning: Learning { more_bits: 1, parts: 3, worth: Worth::new::<W>(n as u32, from_last) },
        choice: Choice { least, ..Choice::new(n as u32, true) },
        tally_bits: if from_last { 0 } else { tally_bits(MAX_SHARED) },
    }
}

/// Kinds of keys, by the bits of a word, with a map at hand; for each, which way keys of 32 and of 64 bits go, and
/// whether a map is learned for these.
#[allow(clippy::type_complexity)]
const BY_MAPS: [(&str, fn(u64) -> u64, [(Way, bool); 2]); 11] = [
    ("uniform", random, [(Buckets, false); 2]),
    ("in a range", |i| random(i) % 1_000_000, [(Linear, false), (Map, true)]),
    ("equal", |_| 0x1234_5678, [(FromLast, false), (Buckets, false)]),
    ("timestamps", |i| 1_735_689_600 + random(i) % 31_536_000, [(Linear, false), (Map, true)]),
    ("few", |i| random(random(i) % 16), [(Buckets, false); 2]),
    // By two passes keys of 32 bits are sorted as fast.
    ("two digits", |i| random(i) % 60_000, [(FromLast, false), (Map, true)]),
    ("half is equal", |i| if i.is_multiple_of(2) { 77 } else { random(i) }, [(FromLast, false), (Buckets, false)]),
    // Each octave is as likely as the next: by the map there are some buckets to split, too many for 32 bits.
    ("octaves", |i| (random(i) & 0xffff_ffff) >> (random(!i) % 21), [(FromLast, true), (Map, true)]),
    // Nearly all are in one slice of the map, and in a small part of that.
    ("outliers", |i| random(i) & if i % 50 == 3 { u64::MAX } else { 0x3fff }, [(FromLast, true), (Buckets, true)]),
    (
        "sum of four",
        |i| (0..4).map(|j| random(i ^ j << 60) & 0x00ff_ffff_00ff_ffff).sum(),
        [(Linear, false), (Map, true)],
    ),
    // Of 64 bits, nearly all are in one slice.
    ("two densities", |i| random(i) & if i % 10 == 3 { u64::MAX } else { 0x3f_ffff }, [(Map, true), (Buckets, true)]),
];

/// The keys of a kind, of 32 or 64 bits.
fn words<W: Key>(kind: fn(u64) -> u64, n: u64) -> Vec<W> {
    (0..n).map(|i| W::from_bits(kind(i) & W::LARGEST.bits())).collect()
}

#[test]
fn keys_that_bits_do_not_spread_go_by_a_map() {
    fn check<W: Width + Sort + Debug>() {
        let on = Seeing::new(4);
        let mut sequence = Sequence::<W>::new(&on, &with_map::<W>(ENOUGH as usize));
        // By one sequence: each kind finds what the one before has left, which mostly went another way.
        for (name, kind, goes) in BY_MAPS {
            let way = sequence.sort(name, &words::<W>(kind, ENOUGH), UNSIGNED);
            assert_eq!((way, on.learned()), goes[W::HALVES as usize - 1], "{name}, {} bits", 32 * W::HALVES);
        }
    }
    check::<u32>();
    check::<u64>();
}

#[test]
fn a_map_sorts_any_number_of_keys_in_any_order() {
    fn check<W: Width + Sort + Debug>() {
        let orders = [UNSIGNED, SIGNED, FLOAT, UNSIGNED | DESCENDING, SIGNED | DESCENDING, FLOAT | DESCENDING];
        // The fewest keys of which a sample can show that a bucket is too large are 9155.
        let sizes = [0, 1, 2, 31, 32, 33, MOST + 1, 8191, 8192, 8193, 10_007, 16_383, 16_384, 16_385, 24_001];
        for (n, k) in sizes.into_iter().zip(0..) {
            let on = Seeing::new(if n % 2 == 0 { 1 } else { 132 });
            let mut sequence = Sequence::<W>::new(&on, &with_map::<W>(n as usize));
            for (j, which) in [(0, 1), (1, 7), (2, 9), (3, 10)] {
                let (name, kind, _) = BY_MAPS[which];
                let way = (n > 0).then(|| sequence.sort(name, &words::<W>(kind, n), orders[(j + k) % 6]));
                if which == 1 && n > 10_000 {
                    assert_eq!(way, Some(if W::HALVES == 1 { Linear } else { Map }), "n = {n}");
                }
            }
        }
    }
    check::<u32>();
    check::<u64>();
}

/// Blocks of the histogram wait for each other, whatever the order in which they run.
#[test]
fn a_map_under_hostile_schedules() {
    fn check<W: Width + Sort + Debug>() {
        let n = 12_289;
        let on = Seeing::new(4);
        let mut sequence = Sequence::<W>::new(&on, &with_map::<W>(n as usize));
        for (which, learned) in [(1, W::HALVES == 2), (10, true), (8, true)] {
            let (name, kind, _) = BY_MAPS[which];
            sequence.sort(name, &words::<W>(kind, n), SIGNED);
            assert_eq!(on.learned(), learned, "{name}");
        }
    }
    let checked = check_races(Check { schedules: 2, ..Check::default() }, || {
        check::<u32>();
        check::<u64>();
    });
    assert!(checked.report.is_clean(), "{}", checked.report);
}

/// What makes a map worth its while, by hand.
#[test]
fn the_limits_of_a_map() {
    assert_eq!(
        Worth::new::<u32>(1 << 24, true),
        Worth { digits: 2, repeats: 286, bucket: 4 + 2 * 2 + 2, crowded: 512 }
    );
    assert_eq!(
        Worth::new::<u64>(1 << 22, false),
        Worth { digits: 0, repeats: 512, bucket: 8 + 2 * 2 + 2, crowded: 1024 }
    );
    // Every size has a plan, whose kernels take no more shared memory than there is.
    for max_shared in [101_376, 166_912, 232_448] {
        for n in (13..=26).flat_map(|bits| [(1 << bits) - 1, 1 << bits, (1 << bits) - (1 << bits) / 3]) {
            let many = Many::new::<u64>(n, max_shared);
            let bits = many.buckets.top_bits() + many.learning.more_bits;
            assert!(
                many.buckets.first_bits <= 9 && many.buckets.second_bits + many.learning.more_bits <= 8,
                "{many:?}"
            );
            assert!((many.buckets.top_bits()..=many.buckets.top_bits() + 1).contains(&bits), "{many:?}");
            assert_eq!(many.learning.parts > 0, n > 1 << 21, "{many:?}");
            assert!(14_000 + many_histogram_shared(bits) <= max_shared, "{many:?}");
        }
    }
}

/// From one key to another, and the order that they are in.
const SPANS: [([u32; 2], u32); 6] = [
    ([0, 999_999], UNSIGNED),
    ([0, 70_000], UNSIGNED | DESCENDING),
    ([1_700_000_000, 1_731_536_000], SIGNED | DESCENDING),
    ([(-999_999i32) as u32, 999_999], SIGNED),
    ([u32::MAX - 77_777, u32::MAX], UNSIGNED),
    ([1 << 26, (1 << 26) + (1 << 24)], UNSIGNED),
];

/// Among the keys of a span are some that the sample has missed: those go to the first or the last bucket, which
/// 5500 of them make too large.
#[test]
fn keys_go_by_a_linear_map_whatever_is_outside_of_their_span() {
    let (on, n) = (Seeing::new(4), 2 * ENOUGH);
    let mut sequence = Sequence::<u32>::new(&on, &with_map::<u32>(n as usize));
    let sampled: HashSet<u64> = (0..2048u32).map(|i| (u64::from(i.wrapping_mul(0x9e37_79b1)) * n) >> 32).collect();
    for ([least, greatest], order) in SPANS {
        let width = u64::from(greatest.wrapping_sub(least)) + 1;
        for outside in [0, 7, 5500] {
            let missed = (0..n).filter(|place| place % 30 == 7 && !sampled.contains(place)).take(outside);
            let mut keys: Vec<u32> = (0..n).map(|i| least.wrapping_add((random(i) % width) as u32)).collect();
            missed.for_each(|place| keys[place as usize] = random(!place) as u32);
            let what = format!("{least} to {greatest}, {outside} outside");
            assert_eq!(sequence.sort(&what, &keys, order), Linear, "{what}");
        }
    }
}

/// Every bucket has an equal part, and its number is that of its first digit with the second behind it.
#[test]
fn a_linear_map_is_monotone_and_even() {
    for i in 0..2000 {
        let (a, b) = (random(3 * i) as u32 >> (i % 31), random(3 * i + 1) as u32 >> (i % 7));
        let (least, greatest, cut) = (a.min(b), a.max(b), 4 + (i % 4) as u32);
        let buckets = 1 << (2 * cut);
        let map = LinearMap::of_sample((least, greatest), buckets, cut);
        let width = greatest - least;
        let at = |part: u32| least + (u64::from(width) * u64::from(part) / 64) as u32;
        let keys: Vec<u32> = [0].into_iter().chain((0..=64).map(at)).chain([u32::MAX]).collect();
        let found: Vec<u32> = keys.iter().map(|&key| map.bucket(key)).collect();
        let what = format!("{least} to {greatest}, {cut} bits: {found:?}");
        assert!(found.is_sorted() && found[66] < buckets, "{what}");
        assert!(keys.iter().zip(&found).all(|(&key, b)| map.without(cut).bucket(key) == b >> cut), "{what}");
        // The margin at either end takes one bucket in 128; what is cut off a scale may take more of few buckets.
        let least_share = if width > buckets { buckets / 64 * 3 / 4 } else { 0 };
        let steps = found[1..66].windows(2).map(|pair| pair[1] - pair[0]);
        assert!(steps.clone().all(|step| step + 1 >= least_share && step <= buckets / 64 + 1), "{what}");
    }
}
