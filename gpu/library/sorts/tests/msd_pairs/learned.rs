//! Floats, by a learned map.

use super::*;
use rungs_sorts::msd_pairs::{Block, LearnedBuckets, PIECE};
use rungs_testing::{corners, normal, unit};

type Floats = (&'static str, fn(u64) -> f64);

/// Floats that a map spreads, or that meet in buckets that do not fit a block.
const BY_MAP: [Floats; 13] = [
    ("uniform", unit),
    ("normal", normal),
    ("exponential", |i| -unit(i).ln()),
    ("far from zero", |i| 1000.0 + normal(i)),
    ("any bits", |i| f32::from_bits(random(i) as u32).into()),
    ("sorted", |i| i as f64 - 9000.0),
    ("reversed", |i| 9000.0 - i as f64),
    ("corners", corners),
    // A bucket of one value, of two pieces.
    ("one value in three", |i| if random(i).is_multiple_of(3) { 0.5 } else { normal(i) }),
    // The slices of the map are too wide for the floats near one.
    ("two in five near one", |i| if random(i) % 5 < 2 { 1.0 + 1e-5 * unit(i) } else { 1e30 * normal(i) }),
    ("a few near one", |i| if random(i).is_multiple_of(3) { 1.0 + 1e-6 * (i % 7) as f64 } else { 1e30 * normal(i) }),
    // A bucket that nearly fills a block has four values, which are neighbours, or seven, which are not.
    (
        "four from one on",
        |i| if random(i).is_multiple_of(5) { 1.0 + 1.2e-7 * (i % 4) as f64 } else { 1e30 * normal(i) },
    ),
    ("seven near one", |i| if random(i).is_multiple_of(5) { 1.0 + 1e-6 * (i % 7) as f64 } else { 1e30 * normal(i) }),
];

/// Floats far from those by which a map finds its range: they are in one bucket, which is oversized, and differ in many
/// bits.
fn out_of_range(n: u64) -> Vec<u32> {
    let packs = n / 4;
    let mut seen = vec![false; packs as usize + 1];
    for i in 0..4096u32 {
        seen[((u64::from(i.wrapping_mul(0x9e37_79b1)) * packs) >> 32) as usize] = true;
    }
    let keys = floats(n, |i| if seen[i as usize / 4] { unit(i) } else { 10f64.powf(5.0 + 30.0 * unit(i)) });
    let beyond = keys.iter().filter(|&&key| f32::from_bits(key) > 1.0).count() as u32;
    assert!((LearnedBuckets::MOST..2 * PIECE).contains(&beyond), "{beyond} are out of range");
    keys
}

fn floats(n: u64, from: impl Fn(u64) -> f64) -> Vec<u32> {
    (0..n).map(|i| (from(i) as f32).to_bits()).collect()
}

#[test]
fn msd_pairs_sorts_floats_by_a_map() {
    for (what, from) in BY_MAP {
        check_on(&WithoutPasses(with_multiprocessors(1)), what, &floats(BY_BUCKETS + 7, from), &[FLOAT]);
    }
    check_on(&WithoutPasses(with_multiprocessors(1)), "out of range", &out_of_range(BY_BUCKETS), &[FLOAT]);
    let keys = floats(BY_BUCKETS, normal);
    check_on(&WithoutPasses(with_multiprocessors(1)), "normal", &keys, &[FLOAT | DESCENDING, FLOAT]);
}

#[test]
fn msd_pairs_sorts_floats_by_digits_where_a_map_does_not_spread_them() {
    // The last two have a bucket of more pieces than a block sorts.
    let kinds: [Floats; 3] = [
        ("equal", |_| 2.5),
        ("two values", |i| (random(i) % 2) as f64),
        ("a value in three of four", |i| if random(i).is_multiple_of(4) { normal(i) } else { -1.5 }),
    ];
    for (what, from) in kinds {
        let keys = floats(BY_BUCKETS + 7, from);
        check(what, 1, &keys, &[FLOAT, FLOAT | DESCENDING]);
    }
}

/// Whatever the order in which blocks run, nothing is read that another block may be writing.
#[test]
fn msd_pairs_by_a_map_under_hostile_schedules() {
    let keys = floats(BY_BUCKETS, BY_MAP[9].1);
    let checked = check_schedules(Check { schedules: 2, ..Check::default() }, || check("near one", 1, &keys, &[FLOAT]));
    assert!(checked.report.is_clean(), "{}", checked.report);
}

#[test]
fn the_plan_has_buckets_by_a_map_that_fit_a_block() {
    let device = |shared_per_block| Device { multiprocessors: 132, shared_per_block, compute_capability: (9, 0) };
    let plan = |n| Plan::new(n, device(MAX_SHARED));
    assert_eq!(
        [1 << 21, 1 << 22, 1 << 24, 1 << 28, (1 << 28) + (1 << 16)].map(|n| plan(n).map_bits),
        [0, 10, 12, 16, 0]
    );
    for n in (22..=28).map(|bits| 1 << bits) {
        let plan = plan(n);
        assert!(plan.map_bits <= plan.bits && n >> plan.map_bits < LearnedBuckets::MOST, "{plan:?}");
    }
    // The histogram of many buckets does not fit with the table.
    let plan = Plan::new(1 << 28, device(150 << 10));
    assert_eq!((plan.bits, plan.map_bits), (16, 0));
}
