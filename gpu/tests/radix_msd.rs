//! The rungs of radix sort that work downwards from the first digit, on the simulator: the whole output against the
//! standard library's sort.

mod common;

use common::{Sorting, for_kinds, random, with_multiprocessors};
use rungs_kernels::keys::{FLOAT, SIGNED, UNSIGNED};
use rungs_kernels::ladder::sort::Width;
use rungs_kernels::radix::r8_msd_buckets::{self as msd, Plan};
use simt::sim::MAX_SHARED;
use std::fmt::Debug;

/// Multiprocessors of the device that the simulator stands for: few, so that blocks take many tiles.
const MULTIPROCESSORS: u32 = 4;

/// Sorts on a device with so much shared memory per block, and compares.
fn check_on<W: Width + Debug>(max_shared: u32, what: &str, keys: &[W], order: u32) {
    let mut on = with_multiprocessors(MULTIPROCESSORS);
    on.device.shared_per_block = max_shared;
    // Small ones twice: what the first sort leaves in the scratch memory must serve the second.
    let runs = if keys.len() < 20_000 { 2 } else { 1 };
    Sorting { on, order, runs, ..Sorting::by(&msd::launches::RUNG) }.check(what, keys);
}

fn check<W: Width + Debug>(what: &str, keys: &[W], order: u32) {
    check_on(MAX_SHARED, what, keys, order);
}

/// Keys made from their number.
fn check_made<W: Width + Debug>(n: u64, order: u32, from: impl Fn(u64) -> W) {
    check("made from their number", &(0..n).map(from).collect::<Vec<_>>(), order);
}

#[test]
fn msd_buckets_sorts_every_kind_of_input() {
    for_kinds(&[1, 33, 4097, 40_009], |what, narrow, wide| {
        check(what, narrow, UNSIGNED);
        check(what, wide, UNSIGNED);
    });
    // Many large buckets, which are split several times.
    for_kinds(&[150_001], |what, narrow, _| check(what, narrow, UNSIGNED));
}

#[test]
fn msd_buckets_sorts_uniform_keys_of_any_number() {
    for n in [0, 1, 2, 31, 32, 33, 4095, 4096, 4097, 8191, 8192, 8193, 10_007, 65_537, 262_147] {
        check_made(n, UNSIGNED, |i| random(i) as u32);
    }
}

#[test]
fn msd_buckets_with_two_partitions() {
    for n in [(4096 << 9) + 1, (1 << 22) + 12_345] {
        assert!(msd::split_bits(msd::top_bits(n)).1 > 0);
        check_made(n.into(), UNSIGNED, |i| random(i) as u32);
    }
}

#[test]
fn msd_buckets_maps_signed_keys_and_floats() {
    for n in [33, 8193, 300_000] {
        check_made(n, SIGNED, |i| random(i) as u32);
        check_made(n, FLOAT, |i| random(i) as u32);
    }
}

#[test]
fn msd_buckets_sorts_wide_keys() {
    for n in [0, 1, 2, 31, 32, 33, 4095, 4096, 4097, 65_537, 300_000, (4096 << 9) + 1] {
        check_made(n, UNSIGNED, random);
    }
    check_made(100_003, SIGNED, random);
    check_made(100_003, FLOAT, random);
}

#[test]
fn msd_buckets_sorts_skewed_input_after_two_partitions() {
    let n = (4096 << 9) + 12_345;
    // Floats between 0 and 1: half of them have one exponent. Their order is mapped where they are written for good.
    check_made(n, FLOAT, |i| (random(i) as u32 as f32 / u32::MAX as f32).to_bits());
    check_made(n, UNSIGNED, |i| (random(i) as u32 % 7).wrapping_mul(0x3333_3333));
    // More than 65,535 keys of one value in a block of the histogram.
    check_made(n, SIGNED, |i| if i % 1000 == 0 { random(i) as u32 } else { 0x7777_7777 });
}

#[test]
fn msd_buckets_tallies_keys_of_which_few_bits_are_left() {
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
            check_on(max_shared, &what, &narrow, UNSIGNED);
            if n < 1 << 20 {
                let wide: Vec<u64> = (0..n).map(kind).collect();
                check_on(max_shared, &what, &wide, SIGNED);
            }
        }
    }
}

#[test]
fn msd_buckets_tallies_wide_keys_of_few_values() {
    // Segments that one partition has left where it put them, of which 1 to 4 bits differ.
    for values in [2, 5, 16] {
        let input: Vec<u64> = (0..200_003).map(|i| 0x1234_5678_9ABC_DEF0 | (random(i) % values)).collect();
        check(&format!("{values} values"), &input, UNSIGNED);
    }
}

#[test]
fn msd_buckets_needs_little_memory_beside_the_keys() {
    for bits in 0..=31 {
        let n = 1u32 << bits;
        let (narrow, wide) = (Plan::new::<u32>(n, 132, MAX_SHARED), Plan::new::<u64>(n, 132, MAX_SHARED));
        let bytes = |plan: &Plan| plan.layout().words as u64 * 4;
        for (plan, key_bytes) in [(narrow, 4), (wide, 8)] {
            // A tenth of the keys, and what any number takes; most of the tenth is counters of segments to split.
            assert!(bytes(&plan) < (1 << 20) + n as u64 * key_bytes / 8, "2^{bits}: {} for {plan:?}", bytes(&plan));
        }
    }
    // Less than 32 MiB beside keys and scratch at 2²⁸, whatever else another sort takes.
    assert!(Plan::new::<u32>(1 << 28, 132, MAX_SHARED).layout().words as u64 * 4 < 32 << 20);
}
