//! The k largest keys on the simulator, against the standard library's sort.

use rungs_common::keys::{DESCENDING, FLOAT, SIGNED, UNSIGNED};
use rungs_selections::sampled::kernels::{STAGE_BYTES, one_block};
use rungs_selections::sampled::{Args, Plan, SAMPLES, Selects, Sequence};
use rungs_testing::{Buffer, inputs, narrow, random, same, with_multiprocessors};
use simt::launcher::Launcher;
use simt::sim::{Check, check as check_races};
use std::fmt::Debug;

/// SMs of the device that the simulator stands for, unless said otherwise.
const MULTIPROCESSORS: u32 = 3;

/// The k largest words and the k-th, by a plan, after checks of everything that must not be written. The largest is
/// first.
fn run<W: Selects + Debug>(what: &str, on: &dyn Launcher, keys: &[W], order: u32, plan: Plan) -> (Vec<W>, W) {
    let sequence = Sequence::new(on, plan).unwrap();
    let (mut from, mut nth) = (Buffer::new(keys, plan.k as usize % 5), Buffer::poisoned(1, 3));
    let mut to = Buffer::poisoned(plan.k as usize, 2);
    // Twice: scratch memory is used again.
    for _ in 0..2 {
        to.poison();
        nth.poison();
        let args = Args { input: from.view(), output: to.view(), nth: nth.view(), order };
        sequence.run(on, args).unwrap_or_else(|e| panic!("{what}: {e}"));
        to.check_guards(what);
        nth.check_guards(what);
        from.check_guards(what);
        assert!(from.slice().iter().zip(keys).all(|(&a, &b)| same(a, b)), "{what}: wrote to the input");
    }
    let mut got: Vec<W> = to.slice().iter().map(|key| key.encode(order)).collect();
    got.sort_unstable_by(|a, b| b.cmp(a));
    (got, nth.slice()[0].encode(order))
}

/// Panics unless a plan finds what the standard library finds.
fn check<W: Selects + Debug>(what: &str, on: &dyn Launcher, keys: &[W], order: u32, plan: Plan) {
    let what = format!("{what}, order {order}, {} bytes, {plan:?}", size_of::<W>());
    let (got, nth) = run(&what, on, keys, order, plan);
    let mut want: Vec<W> = keys.iter().map(|key| key.encode(order)).collect();
    want.sort_unstable_by(|a, b| b.cmp(a));
    want.truncate(plan.k as usize);
    let wrong = (0..want.len()).find(|&i| got[i] != want[i]);
    assert!(
        wrong.is_none(),
        "{what}: {wrong:?} of {:?} instead of {:?}",
        wrong.map(|i| got[i]),
        wrong.map(|i| want[i])
    );
    assert_eq!(Some(&nth), want.last(), "{what}");
}

/// k of 1, 10, half and all.
fn ks(n: u32) -> Vec<u32> {
    let mut ks: Vec<u32> = [1, 10, n / 2, n].into_iter().filter(|k| (1..=n).contains(k)).collect();
    ks.dedup();
    ks
}

#[test]
fn few_keys() {
    let on: &dyn Launcher = &with_multiprocessors(MULTIPROCESSORS);
    for n in [1, 2, 31, 32, 33, 1009] {
        for (name, wide) in inputs(n as usize) {
            for k in ks(n) {
                let plan = Plan::new(n, k);
                assert_eq!(plan.rank, 0, "few keys need no filter");
                check(name, on, &narrow(&wide), UNSIGNED, plan);
                if n == 1009 {
                    for order in [SIGNED, FLOAT, FLOAT | DESCENDING] {
                        check(name, on, &wide, order, plan);
                    }
                }
            }
        }
    }
}

#[test]
fn around_what_one_block_takes() {
    for multiprocessors in [1, MULTIPROCESSORS] {
        let on: &dyn Launcher = &with_multiprocessors(multiprocessors);
        let most = [8, 4].map(one_block);
        for n in [most[0] - 1, most[0], most[0] + 1, most[1], most[1] + 1, 2 * most[1] + 77] {
            let wide: Vec<u64> = (0..n as u64).map(random).collect();
            let plan = Plan { n, k: n / 3, rank: 0, room: 0 };
            check("random", on, &narrow(&wide), UNSIGNED, plan);
            check("few distinct", on, &wide.iter().map(|w| w % 5).collect::<Vec<_>>(), SIGNED, plan);
        }
    }
}

/// The filter, with good samples.
#[test]
fn filtered_keys() {
    let on: &dyn Launcher = &with_multiprocessors(MULTIPROCESSORS);
    let n = (1 << 15) + 1;
    for (name, wide) in inputs(n as usize) {
        for k in [10, n / 2] {
            let plan = Plan::new(n, k);
            assert!((1..=SAMPLES).contains(&plan.rank) && plan.room > 0, "{plan:?}");
            check(name, on, &narrow(&wide), FLOAT, plan);
        }
        check(name, on, &wide, SIGNED | DESCENDING, Plan::new(n, 100));
    }
}

/// Pivots that are too high or too low, and too little room: the result is the same.
#[test]
fn bad_samples() {
    let on: &dyn Launcher = &with_multiprocessors(MULTIPROCESSORS);
    let n = 40_009;
    let wide: Vec<u64> = (0..n as u64).map(random).collect();
    for (rank, room, k) in [(1, n, 5000), (SAMPLES, n, 10), (SAMPLES, 5000, 10), (4096, 1, 3000), (4096, 300, 30_000)] {
        let plan = Plan { n, k, rank, room };
        check("random", on, &narrow(&wide), UNSIGNED, plan);
        check("few distinct", on, &wide.iter().map(|w| w % 3).collect::<Vec<_>>(), UNSIGNED, plan);
    }
    // More candidates in a block than it stages: two blocks have all keys.
    let on: &dyn Launcher = &with_multiprocessors(1);
    assert!(n / 2 > 2 * STAGE_BYTES / 4);
    check("random", on, &narrow(&wide), UNSIGNED, Plan::new(n, n / 2));
    check("random", on, &wide, UNSIGNED, Plan::new(n, n / 4));
}

#[test]
fn nan_and_zeros_are_in_the_total_order() {
    let on: &dyn Launcher = &with_multiprocessors(MULTIPROCESSORS);
    let kinds =
        [f32::NAN, -f32::NAN, 0.0, -0.0, f32::INFINITY, f32::NEG_INFINITY, 1.5, -1.5, f32::from_bits(0x7f80_0001)];
    for n in [9u32, 50_000] {
        let keys: Vec<u32> = (0..n as u64).map(|i| kinds[(random(i) % 9) as usize].to_bits()).collect();
        let mut sorted: Vec<f32> = keys.iter().map(|&bits| f32::from_bits(bits)).collect();
        sorted.sort_unstable_by(f32::total_cmp);
        for k in [1, n / 2, n] {
            let (_, nth) = run("floats", on, &keys, FLOAT, Plan::new(n, k));
            let want = sorted[(n - k) as usize].to_bits();
            assert_eq!(rungs_common::keys::Word::decode(nth, FLOAT), want, "number {k} of {n}");
            check("floats", on, &keys, FLOAT, Plan::new(n, k));
            check("floats", on, &keys, FLOAT | DESCENDING, Plan::new(n, k));
        }
    }
}

#[test]
fn one_of_both_results_is_enough() {
    let on: &dyn Launcher = &with_multiprocessors(MULTIPROCESSORS);
    for (n, k) in [(1000u32, 77), (40_009, 77)] {
        let keys: Vec<u32> = (0..n as u64).map(|i| random(i) as u32 % 50_000).collect();
        let mut sorted = keys.clone();
        sorted.sort_unstable_by(|a, b| b.cmp(a));
        let sequence = Sequence::new(on, Plan::new(n, k)).unwrap();
        let (mut from, mut to, mut nth) =
            (Buffer::new(&keys, 0), Buffer::poisoned(k as usize, 1), Buffer::poisoned(1, 0));
        let (output, of_nth) = (to.view(), nth.view());
        let args = Args { input: from.view(), output, nth: of_nth.slice(0, 0), order: UNSIGNED };
        sequence.run(on, args).unwrap();
        let poison = Buffer::<u32>::poisoned(1, 0).slice()[0];
        assert_eq!(nth.slice(), [poison]);
        to.slice().sort_unstable_by(|a, b| b.cmp(a));
        assert!(to.slice() == &sorted[..k as usize]);
        to.poison();
        sequence.run(on, Args { output: output.slice(0, 0), nth: of_nth, ..args }).unwrap();
        assert_eq!(nth.slice(), [sorted[k as usize - 1]]);
        assert!(to.slice().iter().all(|&key| key == poison));
    }
}

#[test]
fn plans() {
    for n in [1u32, 100, 1 << 15, 1 << 16, 1 << 20, 1 << 28, u32::MAX] {
        for k in [1, 10, 1000, 65_536, n / 8, n / 2, n].into_iter().filter(|k| (1..=n).contains(k)) {
            let plan = Plan::new(n, k);
            assert_eq!((plan.n, plan.k), (n, k));
            assert!(plan.rank <= SAMPLES && plan.room <= n && plan.room <= (n / 8).max(1 << 22), "{plan:?}");
            if plan.rank > 0 {
                // Room for a good deal more than k.
                assert!(n > 1 << 15 && plan.room > k, "{plan:?}");
            }
        }
        assert_eq!(Plan::new(n, n).rank, 0, "all keys need no filter");
    }
    // Of the sample, 0.0003 keys are expected.
    assert_eq!(Plan::new(1 << 28, 10).rank, 7);
}

/// Blocks that depend on each other, under schedules that are hostile: no finding, and the same keys.
#[test]
fn no_schedule_shows_a_race() {
    let n = 33_000;
    let keys: Vec<u32> = (0..n as u64).map(|i| random(i) as u32 % 1000).collect();
    let mut want = keys.clone();
    want.sort_unstable_by(|a, b| b.cmp(a));
    for plan in [Plan::new(n, 200), Plan { n, k: 200, rank: 0, room: 0 }, Plan { n, k: 20_000, rank: 8000, room: n }] {
        let checked = check_races(Check { schedules: 3, ..Check::default() }, || {
            run("checked", &with_multiprocessors(2), &keys, UNSIGNED, plan).0
        });
        let findings: Vec<_> = checked.report.findings.iter().map(ToString::to_string).collect();
        assert!(findings.is_empty(), "{plan:?}: {findings:#?}");
        checked.results.iter().for_each(|got| assert!(got == &want[..plan.k as usize], "{plan:?}"));
    }
}
