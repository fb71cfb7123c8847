//! Every rung of top k on the simulator, against the standard library's sort.

use rungs_common::keys::{DESCENDING, FLOAT, SIGNED, UNSIGNED, Word};
use rungs_common::ladder::Entry;
use rungs_common::ladder::top_k::{Keys, TopK};
use rungs_testing::{Buffer, inputs, narrow, random, with_multiprocessors};
use rungs_top_k::*;
use simt::launcher::Launcher;
use simt::sim::{Check, check as check_races};

/// The words of the k largest keys that a rung finds, the largest first, after checks of everything that must not be
/// written.
fn run(what: &str, on: &dyn Launcher, rung: &'static Entry<&dyn TopK>, keys: &[u32], k: u32, order: u32) -> Vec<u32> {
    let mut sequence = rung.finder(on, keys.len() as u32, k).unwrap_or_else(|e| panic!("{what}: {e}"));
    let (mut from, mut to) = (Buffer::new(keys, k as usize % 5), Buffer::<u32>::poisoned(k as usize, 3));
    // Twice: scratch memory is used again.
    for _ in 0..2 {
        to.poison();
        let args = Keys { input: from.view(), output: to.view(), order };
        sequence.run(on, args).unwrap_or_else(|e| panic!("{what}: {e}"));
        to.check_guards(what);
        from.check_guards(what);
        assert!(from.slice() == keys, "{what}: wrote to the input");
    }
    let mut words: Vec<u32> = to.slice().iter().map(|key| key.encode(order)).collect();
    words.sort_unstable_by(|a, b| b.cmp(a));
    words
}

fn largest(keys: &[u32], k: u32, order: u32) -> Vec<u32> {
    let mut words: Vec<u32> = keys.iter().map(|key| key.encode(order)).collect();
    words.sort_unstable_by(|a, b| b.cmp(a));
    words.truncate(k as usize);
    words
}

fn check(name: &str, rung: &'static Entry<&dyn TopK>, keys: &[u32], k: u32, order: u32) {
    let what = format!("{}, {name}, the {k} largest of {}, order {order}", rung.rung.name, keys.len());
    let got = run(&what, &with_multiprocessors(2), rung, keys, k, order);
    let want = largest(keys, k, order);
    let wrong = (0..want.len()).find(|&i| got[i] != want[i]);
    assert!(
        wrong.is_none(),
        "{what}: {wrong:?} of {:?} instead of {:?}",
        wrong.map(|i| got[i]),
        wrong.map(|i| want[i])
    );
}

fn check_all(rung: &'static Entry<&dyn TopK>) {
    for n in [0u32, 1, 2, 31, 32, 33, 255, 256, 257, 1009] {
        for (name, keys) in inputs(n as usize) {
            let mut ks = vec![0, 1, 10, n / 2, n];
            ks.retain(|&k| k <= n);
            ks.dedup();
            ks.into_iter().for_each(|k| check(name, rung, &narrow(&keys), k, UNSIGNED));
        }
    }
    for order in [SIGNED, FLOAT, FLOAT | DESCENDING] {
        let special = [f32::NAN, -f32::NAN, 0.0, -0.0, f32::INFINITY, f32::NEG_INFINITY, 1.5].map(f32::to_bits);
        let keys: Vec<u32> = (0..1009).map(|i| special[(random(i) % 7) as usize]).collect();
        [1, 300, 1008].into_iter().for_each(|k| check("special", rung, &keys, k, order));
    }
    let n = 10_007;
    for (name, keys) in inputs(n as usize) {
        check(name, rung, &narrow(&keys), 100, UNSIGNED);
    }
}

#[test]
fn radix_select() {
    check_all(&r1_radix_select::launches::RUNG);
}

#[test]
fn filter() {
    check_all(&r2_filter::launches::RUNG);
}

#[test]
fn one_read() {
    check_all(&r3_one_read::launches::RUNG);
}

/// A sample that knows nothing of the largest keys: the rung selects from all keys.
#[test]
fn one_read_finds_keys_that_no_sample_shows() {
    use r3_one_read::launches::{RUNG, rank};
    // The sample has one in 5 of these keys; with k beyond the sample's reach the pivot is its smallest.
    let n = 20_011;
    let keys: Vec<u32> = (0..n as u64).map(|i| random(i) as u32).collect();
    assert_eq!(rank(n, n - 5), r3_one_read::SAMPLES);
    check("nearly all", &RUNG, &keys, n - 5, UNSIGNED);
}

#[test]
fn no_schedule_shows_a_race() {
    let keys: Vec<u32> = (0..3000).map(|i| random(i) as u32 % 500).collect();
    for rung in LADDER.rungs {
        let checked = check_races(Check { schedules: 8, ..Check::default() }, || {
            run(rung.rung.name, &with_multiprocessors(2), rung, &keys, 70, UNSIGNED)
        });
        let findings: Vec<_> = checked.report.findings.iter().map(ToString::to_string).collect();
        assert!(findings.is_empty(), "{}: {findings:#?}", rung.rung.name);
        checked.results.iter().for_each(|got| assert!(*got == largest(&keys, 70, UNSIGNED), "{}", rung.rung.name));
    }
}
