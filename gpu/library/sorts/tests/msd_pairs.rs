//! The rung of radix sort that sorts pairs, on the simulator: the whole output against the standard library's stable
//! sort, by buckets and by digits.

use rungs_common::keys::{DESCENDING, FLOAT, SIGNED, UNSIGNED, Word};
use rungs_common::ladder::sort::Pairs;
use rungs_common::ladder::{Device, Launcher, MAX_SHARED};
use rungs_sorts::msd_pairs::launches::{Plan, RUNG, TILES_BY_BUCKETS};
use rungs_sorts::msd_pairs::{LEAST_TOP_BITS, Large, Shape};
use rungs_testing::{Buffer, for_kinds, random, with_multiprocessors};

/// Sorts pairs whose values are the places of their keys, twice by one sequence, and compares.
fn check(what: &str, multiprocessors: u32, keys: &[u32], orders: &[u32]) {
    let on: &dyn Launcher = &with_multiprocessors(multiprocessors);
    let n = keys.len() as u32;
    let mut sequence = RUNG.pair_sorter(on, n).unwrap();
    for &order in orders {
        let mut want: Vec<(u32, u32)> = keys.iter().copied().zip(0..n).collect();
        want.sort_by_key(|&(key, _)| key.encode(order));
        // Values begin anywhere.
        let (mut got_keys, mut got_values) = (Buffer::new(keys, 0), Buffer::new(&(0..n).collect::<Vec<_>>(), 3));
        sequence.run(on, Pairs { keys: got_keys.view(), values: got_values.view(), order }).unwrap();
        let got = got_keys.slice().iter().copied().zip(got_values.slice().iter().copied());
        if let Some((i, (got, want))) = got.zip(want).enumerate().find(|(_, (got, want))| got != want) {
            panic!("{what}, {n} pairs, order {order}: pair {i} is {got:x?}, not {want:x?}");
        }
        got_keys.check_guards(what);
        got_values.check_guards(what);
    }
}

/// So many pairs go by buckets on a device with one SM.
const BY_BUCKETS: u64 = (TILES_BY_BUCKETS * Large::TILE) as u64;

#[test]
fn msd_pairs_sorts_few_pairs_by_digits() {
    for_kinds(&[0, 1, 2, 33, 8191, 8192, 8193, 30_011], |what, keys, _| {
        check(what, 4, keys, &[UNSIGNED, UNSIGNED]);
    });
    let keys: Vec<u32> = (0..20_011).map(|i| random(i) as u32).collect();
    check("random", 4, &keys, &[SIGNED, FLOAT, UNSIGNED | DESCENDING, SIGNED | DESCENDING, FLOAT | DESCENDING]);
}

#[test]
fn msd_pairs_sorts_every_kind_of_input_where_the_device_chooses() {
    for_kinds(&[BY_BUCKETS], |what, keys, _| check(what, 1, keys, &[UNSIGNED, FLOAT | DESCENDING]));
}

#[test]
fn msd_pairs_sorts_buckets_of_every_size() {
    // Bucket b of 2^13 has about as many pairs as it takes to fill one block, from one to the most, and crowds of
    // equal keys, or keys that differ in their last bits alone.
    let n = BY_BUCKETS + 5;
    type Key = fn(u64) -> u32;
    let kinds: [(&str, Key); 4] = [
        ("few buckets, random", |i| (random(i) as u32) & 0x8007_ffff),
        ("16 buckets, equal", |i| (random(i) as u32) & 0xf000_0000),
        ("16 buckets, last bits", |i| (random(i) as u32) & 0xf000_0007),
        ("32 buckets, two clusters", |i| (random(i) as u32) & 0xf804_0000),
    ];
    for (what, key) in kinds {
        let keys: Vec<u32> = (0..n).map(key).collect();
        check(what, 1, &keys, &[UNSIGNED]);
    }
}

#[test]
fn msd_pairs_begins_on_either_road_after_either() {
    let on: &dyn Launcher = &with_multiprocessors(1);
    let n = BY_BUCKETS as u32;
    let mut sequence = RUNG.pair_sorter(on, n).unwrap();
    for round in 0..4 {
        // All keys are in one bucket, or in all of them.
        let key = |i: u32| if round % 2 == 0 { random(i.into()) as u32 & 0xffff } else { random(i.into()) as u32 };
        let keys: Vec<u32> = (0..n).map(key).collect();
        let mut want: Vec<(u32, u32)> = keys.iter().copied().zip(0..n).collect();
        want.sort();
        let (mut keys, mut values) = (Buffer::new(&keys, 0), Buffer::new(&(0..n).collect::<Vec<_>>(), 0));
        sequence.run(on, Pairs { keys: keys.view(), values: values.view(), order: UNSIGNED }).unwrap();
        assert!(keys.slice().iter().copied().zip(values.slice().iter().copied()).eq(want), "round {round}");
    }
}

#[test]
fn the_plan_has_buckets_that_fit_a_block() {
    let device = |shared_per_block| Device { multiprocessors: 132, shared_per_block, compute_capability: (9, 0) };
    let top_bits = |n| Plan::new(n, device(MAX_SHARED)).top_bits;
    assert_eq!([0, 1, 1 << 16, 1 << 21].map(top_bits), [0; 4]);
    assert_eq!([1 << 22, 1 << 25, (1 << 25) + (1 << 13), 1 << 28].map(top_bits), [LEAST_TOP_BITS, 13, 14, 16]);
    assert_eq!([(1 << 28) + (1 << 16), 1 << 29, u32::MAX].map(top_bits), [0; 3]);
    // The histogram of many buckets does not fit.
    assert_eq!(Plan::new(1 << 28, device(100 << 10)).top_bits, 0);
}
