//! The rung of radix sort that sorts pairs, on the simulator: the whole output against the standard library's stable
//! sort, by buckets and by digits.

mod learned;
mod linear;

use rungs_common::keys::{DESCENDING, FLOAT, SIGNED, UNSIGNED, Word};
use rungs_common::ladder::sort::Pairs;
use rungs_common::ladder::{Device, Launcher, MAX_SHARED, Result};
use rungs_sorts::codes::split;
use rungs_sorts::msd_pairs::launches::{Plan, RUNG, TILES_BY_BUCKETS};
use rungs_sorts::msd_pairs::{LEAST_TOP_BITS, Large, ONE_BLOCK_PAIRS, Shape};
use rungs_testing::{Buffer, for_kinds, random, with_multiprocessors};
use simt::Geometry;
use simt::launcher::{Call, Memory};
use simt::sim::{Check, Gpu, check as check_schedules};

/// Sorts pairs whose values are the places of their keys, twice by one sequence, and compares.
fn check(what: &str, multiprocessors: u32, keys: &[u32], orders: &[u32]) {
    check_on(&with_multiprocessors(multiprocessors), what, keys, orders);
}

fn check_on(on: &dyn Launcher, what: &str, keys: &[u32], orders: &[u32]) {
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

/// A machine that leaves out the launch of all passes by digits: only pairs that go by buckets are sorted on it.
struct WithoutPasses(Gpu);

impl Launcher for WithoutPasses {
    fn device(&self) -> Device {
        self.0.device()
    }

    fn enqueue(&self, call: &dyn Call, geometry: Geometry) -> Result {
        if call.name() == "radix_msd_pairs_rest" { Ok(()) } else { self.0.enqueue(call, geometry) }
    }

    fn allocate(&self, bytes: usize) -> Result<Box<dyn Memory>> {
        self.0.allocate(bytes)
    }

    unsafe fn clear_bytes(&self, address: *mut u8, bytes: usize) -> Result {
        // SAFETY: passed on.
        unsafe { self.0.clear_bytes(address, bytes) }
    }
}

/// So many pairs go by buckets on a device with one SM.
const BY_BUCKETS: u64 = (TILES_BY_BUCKETS * Large::TILE) as u64;

#[test]
fn msd_pairs_sorts_pairs_of_one_block() {
    const MOST: u64 = ONE_BLOCK_PAIRS as u64;
    // Up to 1024 the shortest network, from 3584 on code of its own.
    for_kinds(&[0, 1, 2, 31, 32, 33, 257, 1024, 1025, 3583, 3584, 3585, MOST - 1, MOST], |what, keys, _| {
        check(what, 4, keys, &[UNSIGNED, FLOAT | DESCENDING, SIGNED]);
    });
    // Of one round and of two, skewed or not.
    for mask in [0x1, 0x7_ffff, 0xf_ffff, 0x8000_0001, 0xf800_0000, 0xffff_0000, 0x0700_0007, u32::MAX] {
        let keys: Vec<u32> = (0..4093).map(|i| random(i) as u32 & mask).collect();
        check(&format!("{mask:x}"), 4, &keys, &[UNSIGNED, FLOAT, SIGNED | DESCENDING, UNSIGNED | DESCENDING]);
    }
    let corners = [0.0, -0.0, f32::NAN, -f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 1.5, -1.5];
    let keys: Vec<u32> = (0..997).map(|i| corners[random(i) as usize % 8].to_bits()).collect();
    check("corners", 4, &keys, &[FLOAT, FLOAT | DESCENDING]);
}

#[test]
fn msd_pairs_of_one_block_under_hostile_schedules() {
    for (n, mask) in
        [(1, u32::MAX), (700, u32::MAX), (3700, 0x7_ffff), (4000, 0x8000_0001), (4001, 0), (4096, u32::MAX)]
    {
        let keys: Vec<u32> = (0..n).map(|i| random(i) as u32 & mask).collect();
        let schedules = Check { schedules: 4, ..Check::default() };
        let checked = check_schedules(schedules, || check("one block", 1, &keys, &[UNSIGNED, FLOAT]));
        assert!(checked.report.is_clean(), "{n} pairs, {mask:x}: {}", checked.report);
    }
}

#[test]
fn msd_pairs_sorts_few_pairs_by_digits() {
    for_kinds(&[ONE_BLOCK_PAIRS as u64 + 1, 8191, 8192, 8193, 30_011], |what, keys, _| {
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
    // Bucket b of 2^13 has about as many pairs as it takes to fill one block, from one to the most, and many
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
fn digits_share_bytes_of_a_code_if_their_values_fit() {
    let cases = [
        ([1, 1, 1, 1], 0),
        ([256, 1, 1, 256], 0),
        ([2, 2, 1, 1], 0),
        ([2, 2, 2, 2], 4),
        ([4, 4, 4, 4], 4),
        ([4, 4, 4, 5], 2),
        ([1, 85, 3, 1], 0),
        ([17, 5, 3, 1], 4),
        ([16, 16, 16, 16], 2),
        ([17, 16, 16, 16], 0),
        ([3, 85, 2, 128], 2),
        ([256, 2, 8, 16], 1),
        ([3, 6, 14, 256], 3),
        ([1, 256, 256, 256], 0),
        ([256, 256, 256, 256], 0),
    ];
    for (values, in_low) in cases {
        assert_eq!(split(values), in_low, "{values:?}");
    }
}

/// Keys whose digit p, from the last one on, has `values[p]` values. Three digits in four have their least value, so
/// that a bucket is oversized.
fn by_digits(values: [u64; 4]) -> impl Fn(u64) -> u32 {
    move |i| {
        (0..4u64).fold(0, |key, p| {
            let (random, count) = (random(4 * i + p), values[p as usize]);
            let rank = if random % 4 == 0 { (random >> 8) % count } else { 0 };
            let value = if count == 1 { 0x5a } else { rank * 255 / (count - 1) };
            key | (value as u32) << (8 * p)
        })
    }
}

#[test]
fn msd_pairs_sorts_keys_with_few_values_in_each_digit() {
    // One byte of a code for all digits, one for the first digits and one for the others, or just too many values.
    let kinds = [
        [2, 2, 2, 2],
        [4, 4, 4, 4],
        [1, 255, 1, 1],
        [256, 1, 1, 1],
        [1, 1, 1, 2],
        [3, 1, 5, 17],
        [16, 16, 16, 16],
        [17, 16, 16, 16],
        [16, 16, 16, 17],
        [3, 85, 2, 128],
        [256, 1, 1, 256],
        [256, 2, 8, 16],
        [3, 6, 14, 256],
        [1, 20, 20, 1],
        [1, 256, 256, 256],
        [256, 256, 2, 1],
        [256, 256, 256, 256],
    ];
    for (i, values) in kinds.into_iter().enumerate() {
        let n = BY_BUCKETS + [0, 1, 4095, 8191][i % 4];
        let keys: Vec<u32> = (0..n).map(by_digits(values)).collect();
        check(&format!("{values:?}"), 1, &keys, &[UNSIGNED, SIGNED | DESCENDING, UNSIGNED]);
    }
}

#[test]
fn msd_pairs_sorts_few_values() {
    for count in [2, 3, 16, 50, 256] {
        let n = BY_BUCKETS + count;
        let mut keys: Vec<u32> = (0..n).map(|i| random(!(random(i) % count)) as u32).collect();
        check(&format!("{count} values"), 1, &keys, &[UNSIGNED, FLOAT, SIGNED, FLOAT | DESCENDING]);
        keys.sort();
        check(&format!("{count} values, sorted"), 1, &keys, &[UNSIGNED, UNSIGNED | DESCENDING]);
        // The last digit alone is another.
        *keys.last_mut().unwrap() ^= 0x80;
        check(&format!("{count} values and one"), 1, &keys, &[UNSIGNED]);
    }
    let corners = [0.0, -0.0, f32::NAN, -f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 1.5, -1.5];
    let keys: Vec<u32> = (0..BY_BUCKETS + 77).map(|i| corners[random(i) as usize % 8].to_bits()).collect();
    check("corners", 1, &keys, &[FLOAT, FLOAT | DESCENDING, SIGNED]);
}

/// Chunks of several tiles, and a last one that is not full.
#[test]
fn msd_pairs_counts_codes_of_many_tiles() {
    let n = 71 * Large::TILE as u64 + 1234;
    let keys: Vec<u32> = (0..n).map(by_digits([16, 16, 16, 16])).collect();
    check("two bytes", 1, &keys, &[UNSIGNED]);
    let keys: Vec<u32> = (0..n).map(by_digits([2, 3, 4, 5])).collect();
    check("one byte", 1, &keys, &[UNSIGNED]);
}

#[test]
fn msd_pairs_of_few_values_under_hostile_schedules() {
    for values in [[2, 2, 2, 2], [16, 16, 16, 16], [1, 200, 200, 200]] {
        let keys: Vec<u32> = (0..BY_BUCKETS + 5).map(by_digits(values)).collect();
        let what = format!("{values:?}");
        let schedules = Check { schedules: 2, ..Check::default() };
        let checked = check_schedules(schedules, || check(&what, 1, &keys, &[UNSIGNED]));
        assert!(checked.report.is_clean(), "{}", checked.report);
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
    let bits = |n| Plan::new(n, device(MAX_SHARED)).bits;
    assert_eq!([0, 1, 1 << 16, 1 << 21].map(bits), [0; 4]);
    assert_eq!([1 << 22, 1 << 25, (1 << 25) + (1 << 13), 1 << 28].map(bits), [LEAST_TOP_BITS, 13, 14, 16]);
    assert_eq!([(1 << 28) + (1 << 16), 1 << 29, u32::MAX].map(bits), [0; 3]);
    // The histogram of many buckets does not fit.
    assert_eq!(Plan::new(1 << 28, device(100 << 10)).bits, 0);
}
