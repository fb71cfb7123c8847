//! Runs of equal keys by look-ahead on the simulator, against the host's.

use rungs_common::operator::{Operation, Sum};
use rungs_selections::look_ahead::runs::shape;
use rungs_selections::operators::launches::ByKeys;
use rungs_selections::operators::{Compose, Operator, compose_u32};
use rungs_selections::pass::{LEAST_IN_RUNS, Pass};
use rungs_selections::runs::{CombinesBy, CountsRuns, Grouping, Views};
use rungs_testing::{Buffer, Element, random, same, view, with_multiprocessors};
use simt::launcher::{Device, Launcher, MAX_SHARED};
use simt::sim::{Check, check as check_races};
use simt::{Pair, Scalar};
use std::fmt::Debug;

/// Where keys, values and both outputs begin, in elements past a multiple of 128 bytes.
type Offsets = [usize; 4];

/// Packs of 16 bytes, as the look-ahead wants them.
const ALIGNED: Offsets = [4, 8, 12, 4];

/// Keys in runs whose mean length is `mean`.
fn in_runs<K>(n: usize, mean: u64, key: fn(u64) -> K) -> Vec<K> {
    let mut bits = 7;
    let next = (0..n as u64).map(|i| {
        bits = if random(i + 3).is_multiple_of(mean) { random(i) } else { bits };
        key(bits)
    });
    next.collect()
}

/// What each key begins or ends, on the host: the places of the first keys of runs, and for each key the values of its
/// run without its own, and with it.
fn oracle<K: Scalar, V: Element>(keys: &[K], values: &[V], by: Operation) -> (Vec<usize>, Vec<[V; 2]>) {
    let (mut firsts, mut running) = (vec![], Vec::<[V; 2]>::new());
    for (i, &value) in values.iter().enumerate() {
        let is_first = i == 0 || !same(keys[i], keys[i - 1]);
        if is_first {
            firsts.push(i);
        }
        let before = if is_first { V::identity(by) } else { running[i - 1][1] };
        running.push([before, V::combine(by, before, value)]);
    }
    (firsts, running)
}

/// Panics if `got` is not `want`, with poison behind it.
fn expect<T: Scalar + Debug>(got: &mut Buffer<T>, want: &[T], offset: usize, what: &str) {
    got.check_guards(what);
    let (n, mut fresh) = (got.slice().len(), Buffer::<T>::poisoned(got.slice().len(), offset));
    let wrong = (0..n).find(|&i| !same(got.slice()[i], want.get(i).copied().unwrap_or(fresh.slice()[i])));
    assert!(wrong.is_none(), "{what}: place {wrong:?} of {}", want.len());
}

/// Runs all three tasks twice, the second time with used scratch memory, and compares all that was written.
fn check<K, V, O>(on: &dyn Launcher, by: Operation, keys: &[K], limit: Option<u32>, offsets: Offsets)
where
    K: CombinesBy<V, O> + CountsRuns + Debug,
    V: Element,
{
    let (n, [from, to_values, to, to_results]) = (keys.len(), offsets);
    let what = format!("{} of {n} {}, limit {limit:?}, {offsets:?}", by.name(), std::any::type_name::<(K, V)>());
    let values: Vec<V> = (0..n as u64).map(|i| V::of(random(i + 99))).collect();
    let there = limit.map_or(n, |limit| n.min(limit as usize));
    let (firsts, running) = oracle(&keys[..there], &values[..there], by);
    let ends: Vec<usize> = firsts.iter().skip(1).copied().chain(Some(there)).take(firsts.len()).collect();
    let unique: Vec<K> = firsts.iter().map(|&i| keys[i]).collect();
    let sums: Vec<V> = ends.iter().map(|&end| running[end - 1][1]).collect();
    let lengths: Vec<u32> = firsts.iter().zip(&ends).map(|(first, end)| (end - first) as u32).collect();

    let scratch = Grouping::<K, V>::by(on, n as u32, Pass::LookAhead).unwrap();
    let of_lengths = Grouping::<K, u32>::by(on, n as u32, Pass::LookAhead).unwrap();
    let (mut of_keys, mut of_values) = (Buffer::new(keys, from), Buffer::new(&values, to_values));
    let mut limits = limit.map(|limit| Buffer::new(&[limit], 1));
    for _ in 0..2 {
        let (mut output, mut results) = (Buffer::<K>::poisoned(n, to), Buffer::<V>::poisoned(n, to_results));
        let (mut count, mut counts) = (Buffer::<u32>::poisoned(1, 1), Buffer::<u32>::poisoned(n, to_results));
        let views = Views {
            keys: of_keys.view(),
            values: of_values.view(),
            limit: limits.as_mut().map_or_else(|| view(&mut []), Buffer::view),
            unique: output.view(),
            results: results.view(),
            count: count.view(),
        };
        K::reduce(on, &scratch, views).unwrap_or_else(|e| panic!("{what}: {e}"));
        expect(&mut output, &unique, to, &what);
        expect(&mut results, &sums, to_results, &what);
        expect(&mut count, &[unique.len() as u32], 1, &what);

        output.poison();
        count.poison();
        let Views { keys: of, limit: most, unique: keys_of_runs, count: number, .. } = views;
        let views = Views {
            keys: of,
            values: view(&mut []),
            limit: most,
            unique: keys_of_runs,
            results: counts.view(),
            count: number,
        };
        K::run_lengths(on, &of_lengths, views).unwrap_or_else(|e| panic!("{what}: {e}"));
        expect(&mut output, &unique, to, &what);
        expect(&mut counts, &lengths, to_results, &what);
        expect(&mut count, &[unique.len() as u32], 1, &what);

        // Scans have no limit.
        if limit.is_none() {
            for exclusive in [true, false] {
                results.poison();
                K::scan(on, &scratch, (of, of_values.view(), results.view()), exclusive).unwrap();
                let want: Vec<V> = running.iter().map(|both| both[usize::from(!exclusive)]).collect();
                expect(&mut results, &want, to_results, &what);
            }
        }
    }
    if limit.is_none() {
        let view = of_values.view();
        K::scan(on, &scratch, (of_keys.view(), view, view), false).unwrap();
        let want: Vec<V> = running.iter().map(|both| both[1]).collect();
        expect(&mut of_values, &want, to_values, &what);
    }
    of_keys.check_guards(&what);
    of_values.check_guards(&what);
    assert!(of_keys.slice().iter().zip(keys).all(|(&a, &b)| same(a, b)), "{what}: wrote to the keys");
}

fn check_sizes<K, V, O>(by: Operation, key: fn(u64) -> K)
where
    K: CombinesBy<V, O> + CountsRuns + Debug,
    V: Element,
{
    let (on, one) = (with_multiprocessors(3), with_multiprocessors(1));
    let tile = shape::<K, V>().tile as usize;
    for n in [0, 1, 2, 3, 31, 32, 33, 1009, tile - 1, tile, tile + 1, tile + 5, 2 * tile - 3] {
        // Runs of one key, of two, longer than a tile, and one of all.
        for mean in [1, 2, 3 * tile as u64, u64::MAX] {
            check::<K, V, O>(&on, by, &in_runs(n, mean, key), None, ALIGNED);
        }
        check::<K, V, O>(&on, by, &in_runs(n, 5, key), Some(n as u32 / 3), ALIGNED);
    }
    // More tiles than the ring has stages.
    for mean in [2, 3 * tile as u64] {
        check::<K, V, O>(&one, by, &in_runs(11 * tile + 7, mean, key), None, ALIGNED);
    }
}

#[test]
fn keys_and_values_of_4_bytes() {
    check_sizes::<u32, u32, Sum>(Operation::Sum, |bits| (bits >> 32) as u32);
}

#[test]
fn keys_of_4_bytes_and_values_of_8() {
    check_sizes::<u32, i64, Sum>(Operation::Sum, |bits| (bits >> 32) as u32);
}

/// Keys that differ in one half alone.
#[test]
fn keys_of_8_bytes_and_values_of_4() {
    check_sizes::<u64, f32, Sum>(Operation::Sum, |bits| bits & !0xffff_ffff);
}

#[test]
fn keys_and_values_of_8_bytes() {
    check_sizes::<u64, f64, Sum>(Operation::Sum, |bits| bits & 0xffff_ffff);
}

/// Without bulk copies, by the other pass.
#[test]
fn memory_that_does_not_begin_at_packs() {
    let (on, keys) = (with_multiprocessors(2), in_runs(10_007, 3, |bits| bits as u32));
    for offsets in [[1, 4, 4, 4], [4, 3, 4, 4], [4, 4, 2, 4], [4, 4, 4, 1]] {
        check::<u32, u32, Sum>(&on, Operation::Sum, &keys, None, offsets);
    }
}

#[test]
fn no_race_and_no_word_that_nobody_wrote() {
    let on = with_multiprocessors(2);
    let checked = check_races(Check { schedules: 8, ..Check::default() }, || {
        let n = 2 * shape::<u32, u32>().tile as usize + 5;
        check::<u32, u32, Sum>(&on, Operation::Sum, &in_runs(n, 2, |bits| bits as u32), None, ALIGNED);
        let n = 3 * shape::<u64, f32>().tile as usize + 5;
        check::<u64, f32, Sum>(&on, Operation::Sum, &in_runs(n, 5000, |bits| bits), Some(n as u32 - 3), ALIGNED);
    });
    let findings: Vec<_> = checked.report.findings.iter().map(ToString::to_string).collect();
    assert!(findings.is_empty(), "{findings:#?}");
}

/// Blocks that begin far behind the first tile load the states of several groups of tiles, in two rounds; and a run
/// goes through all of them, or begins in one.
#[test]
fn many_tiles_before_the_first_of_a_block() {
    let on: &dyn Launcher = &with_multiprocessors(200);
    let n = 200 * shape::<u64, u64>().tile as usize;
    for first in [0, 50, 150] {
        let second = first * n / 200 + 3;
        let keys: Vec<u64> = (0..n).map(|i| u64::from(i >= second)).collect();
        let values: Vec<u64> = (0..n as u64).map(random).collect();
        let (mut of_keys, mut of_values) = (Buffer::new(&keys, 4), Buffer::new(&values, 8));
        let (mut unique, mut results) = (Buffer::<u64>::poisoned(n, 4), Buffer::<u64>::poisoned(n, 4));
        let mut count = Buffer::<u32>::poisoned(1, 1);
        let views = Views {
            keys: of_keys.view(),
            values: of_values.view(),
            limit: view(&mut []),
            unique: unique.view(),
            results: results.view(),
            count: count.view(),
        };
        let scratch = Grouping::by(on, n as u32, Pass::LookAhead).unwrap();
        <u64 as CombinesBy<u64, Sum>>::reduce(on, &scratch, views).unwrap();
        let (few, many) = values.split_at(second);
        let want = [few, many].map(|values| values.iter().fold(0u64, |a, &b| a.wrapping_add(b)));
        expect(&mut results, &want, 4, "sums");
        expect(&mut unique, &[0, 1], 4, "keys");
        expect(&mut count, &[2], 1, "count");
    }
}

/// An operator that is not commutative: each value shows, and its place.
#[test]
fn any_operator_combines_in_order() {
    fn of<K: Scalar + Debug>(key: fn(u64) -> K)
    where
        compose_u32::Kernels: ByKeys<K, Element = Pair<u32, u32>>,
    {
        let on: &dyn Launcher = &with_multiprocessors(3);
        let tile = shape::<K, Pair<u32, u32>>().tile as usize;
        for (n, mean) in [(0, 1), (1, 1), (33, 5), (tile + 1, 1), (5 * tile + 3, 700), (5 * tile + 3, u64::MAX)] {
            let (keys, mut want) = (in_runs(n, mean, key), Vec::<(K, Pair<u32, u32>)>::new());
            let values: Vec<_> = (0..n as u64).map(|i| Pair(random(i) as u32 | 1, (random(i) >> 32) as u32)).collect();
            for (i, (&key, &value)) in keys.iter().zip(&values).enumerate() {
                match want.last_mut() {
                    Some(last) if same(keys[i - 1], key) => last.1 = Compose::combine(last.1, value),
                    _ => want.push((key, value)),
                }
            }
            let (unique, sums): (Vec<_>, Vec<_>) = want.into_iter().unzip();
            for pass in [Pass::LookBack, Pass::LookAhead] {
                let what = format!("{n} keys of {} bytes, {pass:?}", size_of::<K>());
                let (mut of_keys, mut of_values) = (Buffer::new(&keys, 4), Buffer::new(&values, 2));
                let (mut output, mut results) = (Buffer::<K>::poisoned(n, 4), Buffer::poisoned(n, 4));
                let mut count = Buffer::<u32>::poisoned(1, 1);
                let views = Views {
                    keys: of_keys.view(),
                    values: of_values.view(),
                    limit: view(&mut []),
                    unique: output.view(),
                    results: results.view(),
                    count: count.view(),
                };
                let scratch = Grouping::by(on, n as u32, pass).unwrap();
                <compose_u32::Kernels as ByKeys<K>>::reduce_by_key(on, &scratch, views).unwrap();
                expect(&mut output, &unique, 4, &what);
                expect(&mut results, &sums, 4, &what);
                expect(&mut count, &[unique.len() as u32], 1, &what);
            }
        }
    }
    of(|bits| bits as u32);
    of(|bits| bits);
}

#[test]
fn the_pass_suits_the_number_of_keys() {
    let device = Device { multiprocessors: 132, shared_per_block: MAX_SHARED, compute_capability: (9, 0) };
    let passes = [LEAST_IN_RUNS - 1, LEAST_IN_RUNS].map(|n| Pass::of_runs(device, n));
    assert_eq!(passes, [Pass::LookBack, Pass::LookAhead]);
    let old = Device { compute_capability: (8, 0), shared_per_block: 163 << 10, ..device };
    assert_eq!(Pass::of_runs(old, LEAST_IN_RUNS), Pass::LookBack);
}
