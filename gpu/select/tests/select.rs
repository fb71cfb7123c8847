//! Every rung of select on the simulator, against a filter of the input.

use rungs_common::ladder::select::{Items, Select, Selects};
use rungs_common::ladder::{Entry, Launcher, Sequence};
use rungs_select::*;
use rungs_testing::{Buffer, random, same, with_multiprocessors};
use simt::sim::{Check, check as check_races};
use simt::{Argument, Scalar};
use std::fmt::Debug;

/// SMs of the device that the simulator stands for.
const MULTIPROCESSORS: u32 = 3;

/// Inputs of `n` items with a pivot, by name: none, all and half of them below it, every tenth, runs, and the pivot
/// among the items.
fn inputs<T: Scalar>(n: u32, of: impl Fn(i64) -> T) -> Vec<(&'static str, Vec<T>, T)> {
    let make = |f: &dyn Fn(u64) -> i64| (0..n as u64).map(|i| of(f(i))).collect::<Vec<T>>();
    vec![
        ("none", make(&|i| 5 + (i % 7) as i64), of(5)),
        ("all", make(&|i| (i % 100) as i64), of(100)),
        ("half", make(&|i| (random(i) % 100) as i64), of(50)),
        ("a tenth", make(&|i| (random(i) % 100) as i64), of(10)),
        ("runs", make(&|i| (i / 100 % 2) as i64), of(1)),
        ("the first half", make(&|i| i as i64), of(n as i64 / 2)),
    ]
}

/// Runs a sequence on memory with guards: the selected items, after checks of everything that must not be written.
fn select<T: Scalar + Argument>(
    what: &str,
    on: &dyn Launcher,
    sequence: &mut Sequence<Items<T>>,
    (input, pivot): (&[T], T),
    offset: usize,
) -> Vec<T> {
    let (mut from, mut to) = (Buffer::new(input, offset), Buffer::<T>::poisoned(input.len(), offset + 1));
    let (mut count, poison) = (Buffer::<u32>::poisoned(1, 0), Buffer::<T>::poisoned(1, 0).slice()[0]);
    let args = Items { input: from.view(), output: to.view(), count: count.view(), pivot };
    sequence.run(on, args).unwrap_or_else(|e| panic!("{what}: {e}"));
    to.check_guards(what);
    from.check_guards(what);
    count.check_guards(what);
    assert!(from.slice().iter().zip(input).all(|(a, b)| same(*a, *b)), "{what}: wrote to the input");
    let (count, output) = (count.slice()[0] as usize, to.slice());
    assert!(count <= output.len(), "{what}: {count} of {}", output.len());
    assert!(output[count..].iter().all(|&x| same(x, poison)), "{what}: wrote behind the selected items");
    output[..count].to_vec()
}

/// The same bits, in the same order if the rung is stable.
fn expect<T: Scalar + Debug>(what: &str, stable: bool, got: &[T], want: &[T]) {
    let bits = |items: &[T]| {
        let mut bits: Vec<u64> = items.iter().map(|x| x.to_bits_64()).collect();
        if !stable {
            bits.sort_unstable();
        }
        bits
    };
    assert!(bits(got) == bits(want), "{what}: {} items, not {}, or others", got.len(), want.len());
}

/// Every input of `n` items of a type.
fn check<T: Scalar + Argument + Debug>(rung: &'static Entry<&dyn Select>, n: u32, of: impl Fn(i64) -> T)
where
    dyn Select: Selects<T>,
{
    let on: &dyn Launcher = &with_multiprocessors(MULTIPROCESSORS);
    // One sequence for all of them: its scratch memory is used again.
    let mut sequence = rung.selector::<T>(on, n).unwrap();
    for (name, input, pivot) in inputs(n, of) {
        let what = format!("{}, {name} of {n} {}", rung.rung.name, std::any::type_name::<T>());
        let got = select(&what, on, &mut sequence, (&input, pivot), n as usize % 3);
        let want: Vec<T> = input.iter().copied().filter(|x| *x < pivot).collect();
        expect(&what, rung.run.is_stable(), &got, &want);
    }
}

fn check_all(rung: &'static Entry<&dyn Select>, tile: u32) {
    for n in [0, 1, 2, 31, 32, 33, 1009, tile - 1, tile, tile + 1, 2 * tile + 1, 20_011] {
        check(rung, n, |x| x as u32);
    }
    for n in [0, 33, tile - 1, tile + 1, 2 * tile + 77] {
        check(rung, n, |x| x as i32 - 50);
        check(rung, n, |x| x as f32 - 50.5);
        check(rung, n, |x| (x as u64) << 32 | 7);
        check(rung, n, |x| (x - 50) << 33);
        check(rung, n, |x| x as f64 * 0.25 - 10.0);
    }
}

#[test]
fn global_atomics() {
    use r1_global_atomics::{BLOCK, launches::RUNG};
    check_all(&RUNG, BLOCK);
}

#[test]
fn warp_aggregated() {
    use r2_warp_aggregated::{BLOCK, launches::RUNG};
    check_all(&RUNG, BLOCK);
}

#[test]
fn three_kernels() {
    use r3_three_kernels::{ROUND, SCAN_BLOCK, launches::RUNG};
    check_all(&RUNG, r3_three_kernels::TILE);
    // The scan of more counts than one round has, alone: a select with these tiles would have millions of items.
    for n in [1, 1023, ROUND - 1, ROUND, ROUND + 1, 3 * ROUND + 7] {
        let counts: Vec<u32> = (0..n as u64).map(|i| random(i) as u32 % 4097).collect();
        let (mut places, mut total) = (Buffer::new(&counts, 0), Buffer::<u32>::poisoned(1, 0));
        let geometry = simt::Geometry::linear(1, SCAN_BLOCK);
        let args = (places.view(), total.view());
        rungs_testing::launch(r3_three_kernels::select_three_kernels_scan, geometry, args);
        let before = counts.iter().scan(0, |sum, count| Some(std::mem::replace(sum, *sum + count)));
        assert!(before.eq(places.slice().iter().copied()), "{n} counts");
        assert_eq!(total.slice(), [counts.iter().sum::<u32>()]);
        places.check_guards("counts");
    }
}

#[test]
fn look_back() {
    use r4_look_back::{TILE, launches::RUNG};
    check_all(&RUNG, TILE);
    // More than 32 tiles: more than one look may be needed.
    check(&RUNG, 35 * TILE + 17, |x| x as u32);
    check(&RUNG, 35 * TILE + 17, |x| x as u64);
}

#[test]
fn nothing_is_less_than_nan_and_nan_is_less_than_nothing() {
    let input: Vec<f32> = (0..100).map(|i| if i % 3 == 0 { f32::NAN } else { i as f32 - 50.0 }).collect();
    let on: &dyn Launcher = &with_multiprocessors(MULTIPROCESSORS);
    for rung in LADDER.rungs {
        for (pivot, at_zero) in [(0.0, 33), (-0.0, 33), (f32::INFINITY, 66), (f32::NAN, 0)] {
            let mut sequence = rung.selector::<f32>(on, 100).unwrap();
            let got = select(rung.rung.name, on, &mut sequence, (&input, pivot), 0);
            assert_eq!(got.len(), at_zero, "{} below {pivot}", rung.rung.name);
            assert!(got.iter().all(|x| *x < pivot));
        }
    }
}

/// Several blocks that depend on each other, under schedules that are hostile: no finding, and the same items.
#[test]
fn no_schedule_shows_a_race() {
    for rung in LADDER.rungs {
        let n = 3 * r4_look_back::TILE + 45;
        let input: Vec<u32> = (0..n as u64).map(|i| random(i) as u32 % 100).collect();
        let want: Vec<u32> = input.iter().copied().filter(|&x| x < 30).collect();
        let checked = check_races(Check { schedules: 8, ..Check::default() }, || {
            let on: &dyn Launcher = &with_multiprocessors(2);
            select(rung.rung.name, on, &mut rung.selector::<u32>(on, n).unwrap(), (&input, 30), 0)
        });
        let findings: Vec<_> = checked.report.findings.iter().map(ToString::to_string).collect();
        assert!(findings.is_empty(), "{}: {findings:#?}", rung.rung.name);
        checked.results.iter().for_each(|got| expect(rung.rung.name, rung.run.is_stable(), got, &want));
    }
}
