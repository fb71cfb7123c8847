//! What the radix sorts from the first digit launch for more keys than a test can have, on the simulator: counters of
//! eight bits, large blocks. The plans that ask for them are made by hand.

use rungs_common::keys::{DESCENDING, FLOAT, SIGNED, UNSIGNED};
use rungs_common::ladder::sort::Width;
use rungs_testing::{Buffer, difference, launch, random, with_multiprocessors};

use rungs_sorts::buckets;
use rungs_sorts::buckets::launches::Memory;
use rungs_sorts::buckets::{BYTES_TOP_BITS, Plain};
use rungs_sorts::msd_skewed::launches::{Plan, Sort};
use simt::Geometry;
use simt::sim::MAX_SHARED;
use std::fmt::Debug;

const MULTIPROCESSORS: u32 = 4;

/// Counts 32-bit keys by 17 top bits, and compares with counts made one by one.
fn check_count(what: &str, blocks: u32, keys: &[u32]) {
    let mut want = vec![0u32; 1 << BYTES_TOP_BITS];
    keys.iter().for_each(|key| want[(key >> (32 - BYTES_TOP_BITS)) as usize] += 1);
    let (mut input, mut counted) = (Buffer::new(keys, 0), Buffer::new(&vec![0u32; want.len()], 0));
    let mut zeroed = Buffer::<u32>::poisoned(100, 0);
    let geometry = Geometry::linear(blocks, buckets::HISTOGRAM_THREADS);
    let geometry = geometry.shared(buckets::histogram_shared(BYTES_TOP_BITS)).overlapping();
    let args = (input.view(), UNSIGNED, counted.view(), zeroed.view());
    launch(buckets::radix_msd_skewed_histogram_bytes::<u32, Plain>::default(), geometry, args);
    if let Some(value) = (0..want.len()).find(|&value| want[value] != counted.slice()[value]) {
        panic!("{what}: value {value}: {} instead of {}", counted.slice()[value], want[value]);
    }
    assert!(zeroed.slice().iter().all(|&word| word == 0), "{what}: words are left");
    counted.check_guards(what);
    zeroed.check_guards(what);
}

fn made(n: u64, from: impl Fn(u64) -> u32) -> Vec<u32> {
    (0..n).map(from).collect()
}

#[test]
fn counts_of_seventeen_top_bits() {
    for n in [0, 1, 3, 4, 5, 4095, 4097, 16_383, 16_385, 100_003] {
        check_count("uniform", 3, &made(n, |i| random(i) as u32));
    }
    let n = 300_007;
    check_count("all equal", 3, &vec![0x7777_7777; n]);
    check_count("largest", 3, &vec![u32::MAX; n]);
    check_count("in order", 3, &made(n as u64, |i| (i as u32) << 13));
    // No warp has many keys of one value, but a counter gets more than it can hold: its carry shows in the sum. Values
    // of all places in a word, and those of the last place, whose carry leaves the word.
    let few = |values: u64| made(n as u64, move |i| ((random(i) % values * ((1 << 17) / values)) as u32) << 15);
    check_count("values that overflow", 3, &few(128));
    check_count("values that just do not", 3, &few(2048));
    check_count("the last values", 3, &made(n as u64, |i| !((random(i) % 200) as u32) << 15));
    // A counter of 16 bits has to be relieved.
    check_count("half equal", 1, &made(n as u64, |i| if i % 2 == 0 { random(i) as u32 } else { 5 }));
}

#[test]
fn counts_in_several_rounds() {
    // One block, more keys than a round has, with a crowd in the second.
    let round = 64 << 17;
    let key = |i: u64| if i < round + 9000 { random(i) as u32 } else { 0x1234_5678 };
    check_count("a crowd", 1, &made(round + 70_011, key));
}

/// Sorts by a plan, twice with the same memory, and compares.
fn check<W: Width + Sort + Debug>(what: &str, plan: Plan, order: u32, input: &[W]) {
    let on = with_multiprocessors(MULTIPROCESSORS);
    let (mut scratch, mut workspace) =
        (Buffer::<W>::poisoned(input.len(), 0), Buffer::new(&vec![0u32; plan.words() as usize], 0));
    for run in 1..=2 {
        let mut keys = Buffer::new(input, 0);
        let memory =
            Memory { input: keys.view(), output: keys.view(), scratch: scratch.view(), workspace: workspace.view() };
        W::sort_skewed(&on, &plan, order, memory).unwrap_or_else(|e| panic!("{what}: {e}"));
        assert_eq!(difference(input, keys.slice(), order), None, "{what}, run {run}, {plan:?}");
        keys.check_guards(what);
        scratch.check_guards(what);
        workspace.check_guards(what);
    }
}

/// A plan for eight buckets that large blocks sort.
fn plan<W: Sort>(n: u32) -> Plan {
    let usual = buckets::launches::Plan::new::<W>(n, MAX_SHARED);
    let buckets = buckets::launches::Plan { first_bits: 3, second_bits: 0, ..usual };
    Plan::by_way_of::<W>(buckets, true, MAX_SHARED)
}

#[test]
fn sorts_with_large_blocks() {
    // Buckets of 7500 keys on average, of some more than a usual block takes, and of more than a large one does.
    let n = (7500 << 3) + 11;
    let narrow = made(n, |i| random(i) as u32);
    let of = |n: u64| plan::<u32>(n as u32);
    check("uniform", of(n), UNSIGNED, &narrow);
    check("uniform", of(n), FLOAT | DESCENDING, &narrow);
    check("fits a usual block", of(9001), SIGNED, &narrow[..9001]);
    check("too large", of(n), UNSIGNED, &made(n, |i| random(i) as u32 & 0x7fff_ffff));
    // Crowded buckets: those that a usual block takes become groups, the others segments.
    let crowded = |i: u64| (random(i) as u32 & 0xff3f_0000) | (random(!i) as u32 & 3);
    check("crowded", of(n), UNSIGNED, &made(n, crowded));
    check("crowded", of(30_001), FLOAT, &made(30_001, crowded));
    check("equal in a bucket", of(n), SIGNED, &made(n, |i| (random(i) as u32 & 0xe000_0000) | 77));
    check("few", of(n), FLOAT, &made(n, |i| (random(i) as u32 & 0xe000_0000) | (random(!i) as u32 % 3)));
    let wide: Vec<u64> = (0..n).map(random).collect();
    check("64 bits", plan::<u64>(n as u32), UNSIGNED, &wide);
    check("64 bits, mapped", plan::<u64>(n as u32), FLOAT | DESCENDING, &wide);
}
