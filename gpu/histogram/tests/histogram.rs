//! Every histogram rung on the simulator against a count on the host.

use rungs_common::ladder::histogram::{Counts, Histogram, Keys};
use rungs_common::ladder::{Entry, Launcher};
use rungs_histogram::*;
use rungs_testing::{Buffer, random, with_multiprocessors};

/// The number of SMs that the device pretends to have: more blocks than one, and several turns of each loop.
const MULTIPROCESSORS: u32 = 2;

/// Counts on the host.
fn oracle<K: Key>(keys: &[K], bins: u32) -> Vec<u32> {
    let mut counts = vec![0; bins as usize];
    for k in keys {
        if let Some(c) = counts.get_mut(k.bin() as usize) {
            *c += 1;
        }
    }
    counts
}

/// Counts keys that begin `offset` keys after a multiple of 128 bytes, twice by one sequence, and compares.
fn check<K: Key>(rung: &'static Entry<&dyn Histogram>, keys: &[K], offset: usize, bins: u32, what: &str)
where
    dyn Histogram: Counts<K>,
{
    let on: &dyn Launcher = &with_multiprocessors(MULTIPROCESSORS);
    let what = format!("{}, {what}, n = {}, {bins} bins", rung.rung.name, keys.len());
    let want = oracle(keys, bins);
    let mut keys = Buffer::new(keys, offset);
    let mut counts = Buffer::poisoned(bins as usize, 1);
    let mut sequence = rung.counter::<K>(on, bins).unwrap();
    for run in 0..2 {
        counts.poison();
        sequence.run(on, Keys { keys: keys.view(), counts: counts.view() }).unwrap();
        assert!(counts.slice() == want, "{what}, run {run}");
    }
    counts.check_guards(&what);
    keys.check_guards(&what);
}

/// Words that look random.
fn words(n: usize) -> Vec<u32> {
    (0..n as u64).map(|i| random(i) as u32).collect()
}

const SIZES: [usize; 15] = [0, 1, 2, 15, 16, 17, 31, 32, 33, 255, 257, 4095, 4097, 16_411, 70_001];

/// Inputs of n keys below `bins` and beyond: random, all equal, sorted, every 32nd bin, few distinct, largest keys.
fn inputs(n: usize, bins: u32) -> Vec<Vec<u32>> {
    let random = words(n);
    let beyond = bins as u64 + bins as u64 / 8 + 1;
    vec![
        random.iter().map(|&w| ((w as u64 * beyond) >> 32) as u32).collect(),
        vec![bins - 1; n],
        (0..n).map(|i| (i as u64 * bins as u64 / n as u64) as u32).collect(),
        random.iter().map(|&w| w % bins / 32 * 32).collect(),
        random.iter().map(|&w| [0, 1, bins / 2][w as usize % 3]).collect(),
        random.iter().map(|&w| if w % 2 == 0 { u32::MAX } else { bins - 1 }).collect(),
    ]
}

/// All sizes and inputs of words, and of bytes.
fn check_all(rung: &'static Entry<&dyn Histogram>, offset: usize) {
    for &n in &SIZES[..14] {
        for bins in [1, 2, 31, 33, 256, 513, 1537, MAX_BINS] {
            for (which, keys) in inputs(n, bins).iter().enumerate() {
                check(rung, keys, offset, bins, &format!("input {which}"));
            }
        }
    }
    for n in SIZES {
        for bins in [256, 10, 300] {
            for (which, keys) in inputs(n, 256).iter().enumerate() {
                let keys: Vec<u8> = keys.iter().map(|&k| k as u8).collect();
                check(rung, &keys, offset, bins, &format!("input {which} of bytes"));
            }
        }
    }
}

#[test]
fn global_atomics() {
    check_all(&r1_global_atomics::launches::RUNG, 3);
}

#[test]
fn shared_atomics() {
    check_all(&r2_shared_atomics::launches::RUNG, 3);
}

#[test]
fn warp_tables() {
    use r3_warp_tables::*;
    check_all(&launches::RUNG, 3);
    assert_eq!((tables(256), tables(1536), tables(1537), tables(MAX_BINS)), (8, 8, 7, 3));
}

#[test]
fn bank_private_tables() {
    use r4_bank_private::*;
    check_all(&launches::RUNG, 0);
    let of = |n| blocks::<u8>(n, 256, 132);
    assert_eq!([0, 1, 1 << 14, (1 << 14) + 1, 1 << 18, 1 << 20, u32::MAX].map(of), [1, 1, 1, 2, 16, 64, 264]);
    assert_eq!(blocks::<u32>(1 << 20, 4096, 132), 128);
    assert_eq!(blocks::<u32>(u32::MAX, 4096, 132), 264);
    assert_eq!(
        (shared_bytes::<u8>(256), shared_bytes::<u32>(512), shared_bytes::<u32>(4096)),
        (32 << 10, 65536, 65536)
    );
}

#[test]
fn bank_private_at_every_alignment() {
    let rung = &r4_bank_private::launches::RUNG;
    for offset in 0..16 {
        for n in [0, 1, 3, 15, 16, 17, 40, 5003] {
            let keys: Vec<u8> = words(n).iter().map(|&w| (w >> 24) as u8).collect();
            check(rung, &keys, offset, 256, &format!("bytes at {offset}"));
            let keys: Vec<u32> = keys.iter().map(|&k| k as u32).collect();
            check(rung, &keys, offset, 200, &format!("words at {offset}"));
        }
    }
}
