//! Radix sort of skewed keys from the first digit, on the simulator: the whole output against the standard library's
//! sort.

use rungs_common::keys::{DESCENDING, FLOAT, SIGNED, UNSIGNED};
use rungs_common::ladder::sort::{Keys, Width};
use rungs_common::ladder::{Device, Launcher, Options, Result};
use rungs_sorts::buckets;
use rungs_sorts::msd_skewed as skewed;
use rungs_sorts::msd_skewed::launches::{Plan, RUNG, Sort};
use rungs_testing::{Buffer, Sorting, difference, for_kinds, random, with_multiprocessors};
use simt::Geometry;
use simt::launcher::{Call, Memory};
use simt::sim::{Gpu, MAX_SHARED};
use std::fmt::Debug;

/// SMs of the device that the simulator stands for: few, so that blocks take many tiles.
const MULTIPROCESSORS: u32 = 4;

/// Sorts on a device with this many bytes of shared memory per block, and compares.
fn check_on<W: Width + Debug>(what: &str, max_shared: u32, keys: &[W], order: u32) {
    let mut on = with_multiprocessors(MULTIPROCESSORS);
    on.device.shared_per_block = max_shared;
    // Small ones twice: what the first sort leaves in the scratch memory must serve the second.
    let runs = if keys.len() < 20_000 { 2 } else { 1 };
    Sorting { on, order, runs, ..Sorting::by(&RUNG) }.check(what, keys);
}

/// Sorts on a usual device, and compares.
fn check<W: Width + Debug>(what: &str, keys: &[W], order: u32) {
    check_on(what, MAX_SHARED, keys, order);
}

/// Keys made from their number.
fn check_made<W: Width + Debug>(n: u64, order: u32, from: impl Fn(u64) -> W) {
    check("made from their number", &(0..n).map(from).collect::<Vec<_>>(), order);
}

#[test]
fn msd_sorts_every_kind_of_input() {
    for_kinds(&[1, 33, 4097, 40_009], |what, narrow, wide| {
        check(what, narrow, UNSIGNED);
        check(what, wide, UNSIGNED);
    });
    // Many large buckets, which are split several times.
    for_kinds(&[150_001], |what, narrow, _| check(what, narrow, UNSIGNED));
}

#[test]
fn msd_sorts_uniform_keys_of_any_number() {
    for n in [0, 1, 2, 31, 32, 33, 4095, 4096, 4097, 8191, 8192, 8193, 10_007, 65_537, 262_147] {
        check_made(n, UNSIGNED, |i| random(i) as u32);
    }
}

#[test]
fn msd_with_two_partitions() {
    for n in [(4096 << 9) + 1, (1 << 22) + 12_345] {
        assert!(Plan::new::<u32>(n, MAX_SHARED).buckets.second_bits > 0);
        check_made(n.into(), UNSIGNED, |i| random(i) as u32);
    }
}

#[test]
fn msd_maps_signed_keys_and_floats() {
    for n in [33, 8193, 300_000] {
        check_made(n, SIGNED, |i| random(i) as u32);
        check_made(n, FLOAT, |i| random(i) as u32);
    }
}

#[test]
fn msd_sorts_wide_keys() {
    for n in [0, 1, 2, 31, 32, 33, 4095, 4096, 4097, 65_537, 300_000, (4096 << 9) + 1] {
        check_made(n, UNSIGNED, random);
    }
    check_made(100_003, SIGNED, random);
    check_made(100_003, FLOAT, random);
}

#[test]
fn msd_sorts_skewed_input_after_two_partitions() {
    let n = (4096 << 9) + 12_345;
    // Floats between 0 and 1: half of them have one exponent. Their order is mapped where they are written for good.
    check_made(n, FLOAT, |i| (random(i) as u32 as f32 / u32::MAX as f32).to_bits());
    check_made(n, UNSIGNED, |i| (random(i) as u32 % 7).wrapping_mul(0x3333_3333));
    // More than 65,535 keys of one value in a block of the histogram.
    check_made(n, SIGNED, |i| if i % 1000 == 0 { random(i) as u32 } else { 0x7777_7777 });
}

#[test]
fn msd_skewed_tallies_keys_of_which_few_bits_are_left() {
    let zeros = |i: u64| random(i) & random(i + (1 << 40)) & random(i + (1 << 41));
    // Segments of more than 65,535 keys, of fewer, and both; places and values that no key has.
    let kinds: [&dyn Fn(u64) -> u64; 4] =
        [&|i| random(i) & 0xffff, &zeros, &|i| ((random(i) % 3) << 30) | random(i) >> 32 & 0x7fff, &|i| {
            ((random(i) % 20) << 24) | zeros(i) & 0xffff
        }];
    // An RTX has less shared memory than an H200, and tallies one bit less.
    for (max_shared, n) in [(MAX_SHARED, 300_007), (99 << 10, 300_007), (MAX_SHARED, (4096 << 9) + 5)] {
        for (i, kind) in kinds.iter().enumerate() {
            let what = format!("kind {i}, {max_shared} bytes of shared memory");
            let narrow: Vec<u32> = (0..n).map(|i| kind(i) as u32).collect();
            check_on(&what, max_shared, &narrow, UNSIGNED);
            if n < 1 << 20 {
                let wide: Vec<u64> = (0..n).map(kind).collect();
                check_on(&what, max_shared, &wide, SIGNED);
            }
        }
    }
}

#[test]
fn msd_skewed_tallies_wide_keys_of_few_values() {
    // Segments that one partition has left where it put them, of which 1 to 4 bits differ.
    for values in [2, 5, 16] {
        let input: Vec<u64> = (0..200_003).map(|i| 0x1234_5678_9ABC_DEF0 | (random(i) % values)).collect();
        check_on(&format!("{values} values"), MAX_SHARED, &input, UNSIGNED);
    }
}

/// One and two partitions, all keys in one bucket or crowded in buckets that would fit.
#[test]
fn msd_skewed_sorts_what_does_not_fit_a_block() {
    for (n, kind) in [(50_021u64, "one partition"), ((4096 << 9) + 77, "two partitions")] {
        let narrow: Vec<u32> = (0..n).map(|i| 0x5A00_0000 | random(i) as u32 & 0x003f_ffff).collect();
        let crowded: Vec<u32> = (0..n).map(|i| (random(i) as u32 & 0xff3f_0000) | (random(!i) as u32 & 3)).collect();
        check_on(kind, MAX_SHARED, &crowded, FLOAT | DESCENDING);
        check_on(kind, MAX_SHARED, &narrow, UNSIGNED | DESCENDING);
    }
    let wide: Vec<u64> = (0..50_021).map(|i| random(i) & 0xff00_00ff_0000_ffff).collect();
    for order in [UNSIGNED, SIGNED, FLOAT, UNSIGNED | DESCENDING, FLOAT | DESCENDING] {
        check_on("wide keys", MAX_SHARED, &wide, order);
    }
}

#[test]
fn msd_needs_little_memory_beside_the_keys() {
    for bits in 0..=31 {
        let n = 1u32 << bits;
        let (narrow, wide) = (Plan::new::<u32>(n, MAX_SHARED), Plan::new::<u64>(n, MAX_SHARED));
        let bytes = |plan: &Plan| plan.words() as u64 * 4;
        for (plan, key_bytes) in [(narrow, 4), (wide, 8)] {
            // A tenth of the keys, and what any number takes; most of the tenth is counters of segments to split.
            assert!(bytes(&plan) < (1 << 20) + n as u64 * key_bytes / 8, "2^{bits}: {} for {plan:?}", bytes(&plan));
        }
    }
    // Less than 32 MiB beside keys and scratch at 2²⁸, whatever else another sort takes.
    assert!(Plan::new::<u32>(1 << 28, MAX_SHARED).words() as u64 * 4 < 32 << 20);
}

/// Static and dynamic shared memory of every kernel, on devices of compute capability 8.6,
/// 8.9 and 12.x, of 8.0, and of 9.0 and 10.0.
#[test]
fn msd_kernels_fit_the_shared_memory_of_every_device() {
    fn check<W: Sort>(n: u32, limit: u32) {
        let plan = Plan::new::<W>(n, limit);
        let top_bits = plan.buckets.top_bits();
        assert_eq!(plan.buckets.second_bits == 0, top_bits <= 9);
        for (kernel, bytes) in [
            ("histogram", buckets::HISTOGRAM_STATIC + buckets::histogram_shared(top_bits)),
            ("partition", buckets::partition_shared(plan.buckets.wide)),
            ("second partition", buckets::partition_shared(false)),
            ("bucket sort", skewed::BUCKET_SORT_STATIC + skewed::bucket_sort_shared::<W>(plan.large)),
            ("split", skewed::SPLIT_STATIC + skewed::SPLIT_SHARED),
            ("tally", skewed::TALLY_STATIC + skewed::tally_shared(plan.limits.tally_bits)),
            ("groups", skewed::GROUPS_STATIC + skewed::groups_shared::<W>()),
        ] {
            assert!(bytes <= limit, "{kernel} of {n} keys takes {bytes} of {limit} bytes: {plan:?}");
        }
    }
    for limit in [101_376, 166_912, 232_448] {
        for n in (0..=32).flat_map(|bits| [(1u64 << bits) - 1, 1 << bits, (1 << bits) + 1, 3 << bits >> 1]) {
            let n = n.min(buckets::MAX_KEYS.into()) as u32;
            check::<u32>(n, limit);
            check::<u64>(n, limit);
        }
    }
    // The histogram of 16 top bits fits the larger devices alone.
    let top_bits = |n| [101_376, 166_912, 232_448].map(|limit| Plan::new::<u32>(n, limit).buckets.top_bits());
    assert_eq!(top_bits((1 << 27) + 1), [15, 16, 16]);
    // A bit more only where buckets then fit a large block.
    assert_eq!(top_bits(1 << 29), [15, 16, 16]);
    assert_eq!(top_bits(1 << 30), [15, 17, 17]);
    assert_eq!(top_bits(1 << 31), [15, 16, 16]);
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
fn msd_sorts_with_fewer_top_bits_than_it_would_take() {
    let n = (4096u32 << 9) + 3;
    let limit = buckets::HISTOGRAM_STATIC + buckets::histogram_shared(8);
    assert_eq!(Plan::new::<u32>(n, limit).buckets.top_bits(), 8);
    let on = Told(Device { shared_per_block: limit, ..with_multiprocessors(MULTIPROCESSORS).device });
    let input: Vec<u32> = (0..n.into()).map(|i| random(i) as u32).collect();
    let mut keys = Buffer::new(&input, 0);
    let mut sort = RUNG.sorter(&on, n, Options::default()).unwrap();
    sort.run(&on, Keys { keys: keys.view(), order: SIGNED }).unwrap();
    assert_eq!(difference(&input, keys.slice(), SIGNED), None);
}
