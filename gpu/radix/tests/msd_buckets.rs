//! The rung of radix sort that works downwards from the first digit, on the simulator: the whole output against the
//! standard library's sort.

use rungs_common::keys::{DESCENDING, FLOAT, SIGNED, UNSIGNED};
use rungs_common::ladder::sort::Keys;
use rungs_common::ladder::{Device, Launcher, Options, Result};
use rungs_radix::r8_msd_buckets::launches::{MAX_KEYS, Plan, RUNG, histogram_shared};
use rungs_radix::r8_msd_buckets::*;
use rungs_testing::{Buffer, Sorting, difference, for_kinds, launch, random, with_multiprocessors};
use simt::Geometry;
use simt::launcher::{Call, Memory};
use simt::sim::{Check, Gpu, MAX_SHARED, check as check_schedules};

/// Sorts on a device with few SMs, so that blocks take many tiles, and compares. Few keys are sorted twice: what the
/// first sort leaves in the scratch memory must serve the second.
fn check(what: &str, keys: &[u32], order: u32) {
    let runs = if keys.len() < 20_000 { 2 } else { 1 };
    Sorting { on: with_multiprocessors(4), order, runs, ..Sorting::by(&RUNG) }.check(what, keys);
}

/// Keys made from their number.
fn check_made(n: u64, order: u32, from: impl Fn(u64) -> u32) {
    check("made from their number", &(0..n).map(from).collect::<Vec<_>>(), order);
}

#[test]
fn sorts_every_kind_of_input() {
    for_kinds(&[1, 33, 4097, 40_009, 150_001], |what, narrow, _| check(what, narrow, UNSIGNED));
}

#[test]
fn sorts_uniform_keys_of_any_number() {
    for n in [0, 1, 2, 31, 32, 33, 4095, 4096, 4097, 8191, 8192, 8193, 10_007, 65_537, 262_147] {
        check_made(n, UNSIGNED, |i| random(i) as u32);
    }
}

#[test]
fn sorts_after_two_partitions() {
    for n in [(4096 << 9) + 1, (1 << 22) + 12_345] {
        assert!(Plan::new(n, MAX_SHARED).second_bits > 0);
        check_made(n.into(), UNSIGNED, |i| random(i) as u32);
    }
}

#[test]
fn maps_signed_keys_and_floats() {
    for n in [33, 8193, 300_000] {
        check_made(n, SIGNED, |i| random(i) as u32);
        check_made(n, FLOAT, |i| random(i) as u32);
    }
}

#[test]
fn sorts_skewed_input_after_two_partitions() {
    let n = (4096 << 9) + 12_345;
    // Floats between 0 and 1: half of them have one exponent.
    check_made(n, FLOAT, |i| (random(i) as u32 as f32 / u32::MAX as f32).to_bits());
    check_made(n, UNSIGNED, |i| (random(i) as u32 % 7).wrapping_mul(0x3333_3333));
    // More than 65,535 keys of one value in a block of the histogram.
    check_made(n, SIGNED, |i| if i % 1000 == 0 { random(i) as u32 } else { 0x7777_7777 });
}

/// A bucket that ends a sort by digits on the right side of the two arrays: one and two partitions, an even and an odd
/// number of digits left, all keys in one bucket or skewed in buckets that would fit.
#[test]
fn sorts_what_does_not_fit_a_block() {
    for (n, kind) in [(50_021u64, "one partition"), ((4096 << 9) + 77, "two partitions")] {
        let keys: Vec<u32> = (0..n).map(|i| 0x5A00_0000 | random(i) as u32 & 0x003f_ffff).collect();
        check(kind, &keys, UNSIGNED);
        let crowded: Vec<u32> = (0..n).map(|i| (random(i) as u32 & 0xff3f_0000) | (random(!i) as u32 & 3)).collect();
        check(kind, &crowded, FLOAT | DESCENDING);
    }
}

/// Counters that overflow in the low and in the high half of a word, and in both at once; the block then counts again.
#[test]
fn counts_keys_whose_counters_overflow() {
    let keys_of = |values: &'static [u32], n: u64| (0..n).map(move |i| values[i as usize % values.len()]);
    for values in [&[0u32][..], &[1 << 24], &[0, 1 << 24], &[7, 1 << 31, u32::MAX]] {
        let keys: Vec<u32> = keys_of(values, 300_003).chain((0..1000).map(|i| random(i) as u32)).collect();
        let mut want = vec![0u32; 256];
        keys.iter().for_each(|key| want[(key >> 24) as usize] += 1);
        let (mut input, mut counted) = (Buffer::new(&keys, 0), Buffer::new(&[0u32; 256], 0));
        let geometry = Geometry::linear(2, HISTOGRAM_THREADS).shared(histogram_shared(8));
        launch(radix_msd_buckets_histogram, geometry, (input.view(), 8, counted.view()));
        assert_eq!(counted.slice(), want, "{values:?}");
        counted.check_guards("counts");
    }
}

/// Tiles of wide blocks, which more keys take than a test can have: the result, and no race under several schedules.
#[test]
fn partitions_in_wide_blocks() {
    let keys: Vec<u32> = (0..50_021).map(|i| random(i) as u32).collect();
    let options = Check { schedules: 4, ..Check::default() };
    let checked = check_schedules(options, || partition_in_wide_blocks(&keys));
    assert!(checked.report.is_clean(), "{:?}", checked.report.kinds());
}

fn partition_in_wide_blocks(keys: &[u32]) {
    let count = |bucket: u32| keys.iter().filter(|&&key| key >> 24 < bucket).count() as u32;
    let (mut input, mut output) = (Buffer::new(keys, 0), Buffer::<u32>::poisoned(keys.len(), 0));
    let mut cursors = Buffer::new(&vec![0; spread(256) as usize], 0);
    (0..256).for_each(|bucket| cursors.slice()[spread(bucket) as usize] = count(bucket));
    let tile = partition_tile(PARTITION_THREADS_WIDE);
    let geometry = Geometry::linear((keys.len() as u32).div_ceil(tile), PARTITION_THREADS_WIDE);
    let (geometry, digit) = (geometry.shared(4 * tile), Digit { shift: 24, bits: 8 });
    let none = cursors.view().slice(0, 0);
    launch(radix_msd_buckets_partition_wide, geometry, (input.view(), output.view(), digit, cursors.view(), none));
    let (mut want, got) = (keys.to_vec(), output.slice());
    assert!(got.is_sorted_by_key(|key| key >> 24), "keys are in other buckets");
    want.sort_unstable();
    got.sort_unstable();
    assert!(got == want, "the keys are not those that were given");
    output.check_guards("partition");
}

/// Static and dynamic shared memory of every kernel, on devices of compute capability 8.6, 8.9 and 12.x, of 8.0, and of
/// 9.0 and 10.0.
#[test]
fn kernels_fit_the_shared_memory_of_every_device() {
    for limit in [101_376, 166_912, 232_448] {
        for n in (0..=32).flat_map(|bits| [(1u64 << bits) - 1, 1 << bits, (1 << bits) + 1, 3 << bits >> 1]) {
            let plan = Plan::new(n.min(MAX_KEYS.into()) as u32, limit);
            let top_bits = plan.first_bits + plan.second_bits;
            assert_eq!(plan.second_bits == 0, top_bits <= 9);
            let threads = if plan.wide { PARTITION_THREADS_WIDE } else { PARTITION_THREADS };
            let partition = 4 * partition_tile(threads) + 4 * (2048 + 512 + 32);
            for bytes in [128 + histogram_shared(top_bits), partition, BUCKET_SORT_SHARED + 128] {
                assert!(bytes <= limit, "n = {n}, {bytes} of {limit} bytes: {plan:?}");
            }
        }
    }
    let top_bits = |n| {
        [101_376, 166_912, 232_448].map(|limit| {
            let plan = Plan::new(n, limit);
            plan.first_bits + plan.second_bits
        })
    };
    // The histogram of 16 top bits fits the larger devices alone.
    assert_eq!(top_bits((1 << 27) + 1), [15, 16, 16]);
    assert_eq!(top_bits(1 << 30), [15, 16, 16]);
}

/// The simulator, which tells sequences of another device than launches find.
struct Told(Device);

impl Launcher for Told {
    fn device(&self) -> Device {
        self.0
    }

    fn enqueue(&self, call: &dyn Call, geometry: Geometry) -> Result {
        Gpu::default().enqueue(call, geometry)
    }

    fn allocate(&self, bytes: usize) -> Result<Box<dyn Memory>> {
        Gpu::default().allocate(bytes)
    }

    unsafe fn clear_bytes(&self, address: *mut u8, bytes: usize) -> Result {
        // SAFETY: the caller's promise.
        unsafe { Gpu::default().clear_bytes(address, bytes) }
    }
}

/// Buckets that are too large on average, where the histogram of more top bits would not fit the device. A limit below
/// that of any device makes them so few that the simulator can sort them; what does not depend on them needs more.
#[test]
fn sorts_with_fewer_top_bits_than_it_would_take() {
    let n = (4096u32 << 9) + 3;
    let limit = histogram_shared(8) + 128;
    assert_eq!(Plan::new(n, limit).first_bits, 8);
    let on = Told(Device { shared_per_block: limit, ..with_multiprocessors(4).device });
    let input: Vec<u32> = (0..n.into()).map(|i| random(i) as u32).collect();
    let mut keys = Buffer::new(&input, 0);
    let mut sort = RUNG.sorter(&on, n, Options::default()).unwrap();
    sort.run(&on, Keys { keys: keys.view(), order: SIGNED }).unwrap();
    assert_eq!(difference(&input, keys.slice(), SIGNED), None);
}
