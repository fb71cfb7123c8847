//! Selections, partitions and runs on the simulator, against the host's.

use rungs_common::keys::{DESCENDING, FLOAT, SIGNED, UNSIGNED, Word};
use rungs_common::operator::{Max, Min, Operation, Operator, Sum};
use rungs_selections::by_key::{self, lengths_by_key, reduce_by_key};
use rungs_selections::compact::{self, TILE, partition_compact, select_compact, unique_compact};
use rungs_selections::kernels::*;
use rungs_selections::look_back::{Runs, workspace};
use rungs_selections::pass::Bounds;
use rungs_selections::rows::Pivot;
use rungs_selections::{BLOCK, look_back::Carry};
use rungs_testing::{Buffer, Element, launch, random, same};
use simt::sim::{Check, check as check_races};
use simt::{Argument, Geometry, Global, Kernel, Scalar};
use std::fmt::Debug;

/// Sizes around warps, tiles of both kinds, and several tiles; more than 32 of them, so that one look is not enough.
const SIZES: [usize; 14] = [
    0,
    1,
    2,
    31,
    32,
    33,
    1009,
    by_key::TILE as usize - 1,
    by_key::TILE as usize,
    by_key::TILE as usize + 1,
    TILE as usize - 1,
    TILE as usize,
    TILE as usize + 1,
    34 * TILE as usize + 5,
];

/// How many elements the host says that there are, and how many the device: the limit, if there is one.
fn limits(n: usize) -> Vec<Option<u32>> {
    let n = n as u32;
    if n > 10_000 { vec![None, Some(n / 3)] } else { vec![None, Some(0), Some(n / 2), Some(n), Some(n + 9)] }
}

/// Bits that repeat in runs of different lengths.
fn in_runs(n: usize) -> Vec<u64> {
    let mut all: Vec<u64> = vec![];
    while all.len() < n {
        let bits = random(all.len() as u64);
        // Long runs cross tiles.
        let len = [1, 2, 7, 40, 300, 9000][(bits % 13).min(5) as usize];
        // Halves that differ, and runs that differ in one half alone.
        all.extend(vec![if bits & 32 == 0 { bits } else { bits & !0xffff_ffff }; len]);
    }
    all.truncate(n);
    all
}

/// A view of a limit, or none.
fn limit_of(limit: &mut Option<Buffer<u32>>) -> Global<u32> {
    limit.as_mut().map_or_else(|| rungs_testing::view(&mut []), Buffer::view)
}

/// Selects and partitions `input` by launches of kernels and compares all that was written with `want`, which says of
/// each place whether its item is kept.
fn check<T: Scalar + Debug, S: Kernel, P: Kernel>(
    what: &str,
    input: &[T],
    (selects, select): (S, impl Fn(Views<T>) -> S::Args),
    (partitions, partition): (P, impl Fn(Views<T>) -> P::Args),
    keeps: impl Fn(usize) -> bool,
) {
    let n = input.len();
    for most in limits(n) {
        let there = most.map_or(n, |most| n.min(most as usize));
        let (kept, others): (Vec<usize>, Vec<usize>) = (0..there).partition(|&i| keeps(i));
        for halves in [false, true] {
            let what = format!("{what}, n = {n}, limit {most:?}, partition {halves}");
            let mut from = Buffer::new(input, 1);
            let [mut to, mut rest] = [2, 3].map(|offset| Buffer::<T>::poisoned(n, offset));
            let [mut count, mut rest_count] = [0, 1].map(|_| Buffer::new(&[0u32], 0));
            let mut states = Buffer::new(&vec![0u64; workspace::<u32>(compact::grid(n as u32)) as usize], 0);
            let mut limit = most.map(|most| Buffer::new(&[most], 0));
            let views = Views {
                input: from.view(),
                limit: limit_of(&mut limit),
                output: to.view(),
                count: count.view(),
                rest: rest.view(),
                rest_count: rest_count.view(),
                workspace: states.view(),
            };
            let geometry = Geometry::linear(compact::grid(n as u32), BLOCK).shared(compact::shared_bytes::<T>());
            if halves {
                launch(partitions, geometry, partition(views));
            } else {
                launch(selects, geometry, select(views));
            }
            let expect = |of: &mut Buffer<T>, count: &mut Buffer<u32>, places: &[usize], offset: usize, name: &str| {
                of.check_guards(&what);
                assert_eq!(count.slice(), [places.len() as u32], "{what}: {name}");
                let kept: Vec<T> = places.iter().map(|&i| input[i]).collect();
                let wrong = wrong_place(of.slice(), &kept, offset);
                assert!(wrong.is_none(), "{what}: {name} {wrong:?}");
            };
            expect(&mut to, &mut count, &kept, 2, "kept");
            expect(&mut rest, &mut rest_count, if halves { &others } else { &[] }, 3, "rest");
            assert!(from.slice().iter().zip(input).all(|(&a, &b)| same(a, b)), "{what}: wrote to the input");
            states.check_guards(&what);
        }
    }
}

/// The first place that is not `want`'s or, behind it, poison as a buffer with this offset has it.
fn wrong_place<T: Scalar>(got: &[T], want: &[T], offset: usize) -> Option<usize> {
    let mut fresh = Buffer::<T>::poisoned(got.len(), offset);
    (0..got.len()).find(|&i| !same(got[i], want.get(i).copied().unwrap_or(fresh.slice()[i])))
}

struct Views<T> {
    input: Global<T>,
    limit: Global<u32>,
    output: Global<T>,
    count: Global<u32>,
    rest: Global<T>,
    rest_count: Global<u32>,
    workspace: Global<u64>,
}

#[test]
fn by_flags() {
    fn of<W: Scalar + Debug>(make: fn(u64) -> W)
    where
        select_flagged<W>: Kernel<Args = (Global<W>, Global<u32>, Global<W>, Global<u32>, Global<u64>, Global<u8>)>,
        partition_flagged<W>: Kernel<
            Args = (Global<W>, Global<u32>, Global<W>, Global<u32>, Global<W>, Global<u32>, Global<u64>, Global<u8>),
        >,
    {
        for n in SIZES {
            let input: Vec<W> = (0..n as u64).map(|i| make(random(i))).collect();
            for (name, every) in [("none", u64::MAX), ("all", 1), ("half", 2), ("a tenth", 10)] {
                let flags: Vec<u8> =
                    (0..n as u64).map(|i| (random(i + 7).is_multiple_of(every) as u8) << (i % 8)).collect();
                let mut of_device = Buffer::new(&flags, 5);
                let flags_view = of_device.view();
                check(
                    &format!("{name} flagged of {}", std::any::type_name::<W>()),
                    &input,
                    (select_flagged::<W>::default(), |v: Views<W>| {
                        (v.input, v.limit, v.output, v.count, v.workspace, flags_view)
                    }),
                    (partition_flagged::<W>::default(), |v: Views<W>| {
                        (v.input, v.limit, v.output, v.count, v.rest, v.rest_count, v.workspace, flags_view)
                    }),
                    |i| flags[i] != 0,
                );
            }
        }
    }
    of(|bits| bits as u8);
    of(|bits| bits as u16);
    of(|bits| bits as u32);
    of(|bits| bits);
}

#[test]
fn by_bounds() {
    fn of<W: Scalar + Debug + Argument + rungs_common::keys::Word>(make: fn(u64) -> W)
    where
        select_compact<W>: Kernel<Args = (Global<W>, Global<u32>, Global<W>, Global<u32>, Global<u64>, W, W, u32)>,
        partition_compact<W>: Kernel<
            Args = (Global<W>, Global<u32>, Global<W>, Global<u32>, Global<W>, Global<u32>, Global<u64>, W, W, u32),
        >,
    {
        for n in SIZES {
            let input: Vec<W> = (0..n as u64).map(|i| make(random(i))).collect();
            for order in [UNSIGNED, SIGNED, FLOAT, SIGNED | DESCENDING] {
                let (low, high) = (make(1 << 60 | 1 << 28), make(0xB << 60 | 0xB << 28));
                for (low, high) in [(low, high), (make(0), make(u64::MAX)), (high, low), (low, low)] {
                    check(
                        &format!("{low:?} to {high:?}, order {order}"),
                        &input,
                        (select_compact::<W>::default(), |v: Views<W>| {
                            (v.input, v.limit, v.output, v.count, v.workspace, low, high, order)
                        }),
                        (partition_compact::<W>::default(), |v: Views<W>| {
                            (v.input, v.limit, v.output, v.count, v.rest, v.rest_count, v.workspace, low, high, order)
                        }),
                        |i| (low..=high).contains(&input[i].encode(order)),
                    );
                }
            }
        }
    }
    of(|bits| (bits >> 32 | bits) as u32);
    of(|bits| bits);
}

#[test]
fn first_of_runs() {
    fn of<W: Scalar + Debug>(make: fn(u64) -> W)
    where
        unique_compact<W>: Kernel<Args = (Global<W>, Global<u32>, Global<W>, Global<u32>, Global<u64>)>,
    {
        for n in SIZES {
            let runs: Vec<W> = in_runs(n).into_iter().map(make).collect();
            let any: Vec<W> = (0..n as u64).map(|i| make(random(i) % 2)).collect();
            for input in [runs, any, vec![make(7); n], (0..n as u64).map(make).collect()] {
                let kernel =
                    (unique_compact::<W>::default(), |v: Views<W>| (v.input, v.limit, v.output, v.count, v.workspace));
                let keeps = |i: usize| i == 0 || !same(input[i], input[i - 1]);
                select_only("unique", &input, kernel, keeps);
            }
        }
    }
    of(|bits| bits as u8);
    of(|bits| bits as u16);
    of(|bits| bits as u32);
    of(|bits| bits);
}

/// As [`check`], of a selection without a partition.
fn select_only<T: Scalar + Debug, S: Kernel>(
    what: &str,
    input: &[T],
    (kernel, args): (S, impl Fn(Views<T>) -> S::Args),
    keeps: impl Fn(usize) -> bool,
) {
    let n = input.len();
    for most in limits(n) {
        let there = most.map_or(n, |most| n.min(most as usize));
        let want: Vec<T> = (0..there).filter(|&i| keeps(i)).map(|i| input[i]).collect();
        let (mut from, mut to) = (Buffer::new(input, 1), Buffer::<T>::poisoned(n, 2));
        let (mut count, mut nothing) = (Buffer::new(&[0u32], 0), Buffer::<T>::poisoned(0, 0));
        let mut states = Buffer::new(&vec![0u64; workspace::<u32>(compact::grid(n as u32)) as usize], 0);
        let mut limit = most.map(|most| Buffer::new(&[most], 0));
        let views = Views {
            input: from.view(),
            limit: limit_of(&mut limit),
            output: to.view(),
            count: count.view(),
            rest: nothing.view(),
            rest_count: rungs_testing::view(&mut []),
            workspace: states.view(),
        };
        let geometry = Geometry::linear(compact::grid(n as u32), BLOCK).shared(compact::shared_bytes::<T>());
        launch(kernel, geometry, args(views));
        to.check_guards(what);
        assert_eq!(count.slice(), [want.len() as u32], "{what}, n = {n}, limit {most:?}");
        let wrong = wrong_place(to.slice(), &want, 2);
        assert!(wrong.is_none(), "{what}, n = {n}, limit {most:?}: {wrong:?}");
    }
}

/// The runs of the host: keys, and values combined from the first on.
fn runs_of<K: Scalar, V: Scalar>(keys: &[K], values: &[V], combine: impl Fn(V, V) -> V) -> (Vec<K>, Vec<V>) {
    let (mut unique, mut sums) = (vec![], vec![]);
    for (i, (&key, &value)) in keys.iter().zip(values).enumerate() {
        match sums.last_mut() {
            Some(sum) if same(keys[i - 1], key) => *sum = combine(*sum, value),
            _ => {
                unique.push(key);
                sums.push(value);
            }
        }
    }
    (unique, sums)
}

/// Launches a kernel on keys and compares all that it wrote.
fn check_runs<K: Scalar + Debug, V: Scalar + Debug, Call: Kernel>(
    what: &str,
    keys: &[K],
    words: u32,
    (kernel, args): (Call, impl Fn(Views<K>, Global<V>) -> Call::Args),
    want: impl Fn(usize) -> (Vec<K>, Vec<V>),
) {
    let n = keys.len();
    for most in limits(n) {
        let what = format!("{what}, n = {n}, limit {most:?}");
        let (unique, sums) = want(most.map_or(n, |most| n.min(most as usize)));
        let (mut from, mut to, mut of_runs) =
            (Buffer::new(keys, 1), Buffer::<K>::poisoned(n, 2), Buffer::<V>::poisoned(n, 3));
        let (mut count, mut nothing) = (Buffer::new(&[0u32], 0), Buffer::<K>::poisoned(0, 0));
        let mut states = Buffer::new(&vec![0u64; words as usize], 0);
        let mut limit = most.map(|most| Buffer::new(&[most], 0));
        let views = Views {
            input: from.view(),
            limit: limit_of(&mut limit),
            output: to.view(),
            count: count.view(),
            rest: nothing.view(),
            rest_count: rungs_testing::view(&mut []),
            workspace: states.view(),
        };
        let geometry = Geometry::linear(by_key::grid(n as u32), BLOCK).shared(by_key::shared_bytes::<K, V>());
        launch(kernel, geometry, args(views, of_runs.view()));
        to.check_guards(&what);
        of_runs.check_guards(&what);
        states.check_guards(&what);
        assert_eq!(count.slice(), [unique.len() as u32], "{what}");
        let wrong = wrong_place(to.slice(), &unique, 2).or(wrong_place(of_runs.slice(), &sums, 3));
        assert!(wrong.is_none(), "{what}: {wrong:?}");
    }
}

fn sums_by_key<K: Scalar + Debug, V: Element, O: Operator<V>>(operation: Operation, sizes: &[usize], key: fn(u64) -> K)
where
    reduce_by_key<K, V, O>:
        Kernel<Args = (Global<K>, Global<V>, Global<u32>, Global<K>, Global<V>, Global<u32>, Global<u64>)>,
{
    for &n in sizes {
        let values: Vec<V> = (0..n as u64).map(|i| V::of(random(i + 99))).collect();
        let mut of_device = Buffer::new(&values, 1);
        let view = of_device.view();
        let runs: Vec<K> = in_runs(n).into_iter().map(key).collect();
        for keys in [runs, vec![key(3); n], (0..n as u64).map(key).collect()] {
            let call = (reduce_by_key::<K, V, O>::default(), |v: Views<K>, sums| {
                (v.input, view, v.limit, v.output, sums, v.count, v.workspace)
            });
            let what = format!("{} of {} by {}", operation.name(), std::any::type_name::<V>(), size_of::<K>());
            check_runs(&what, &keys, workspace::<Runs<V, O>>(by_key::grid(n as u32)), call, |there| {
                runs_of(&keys[..there], &values[..there], |a, b| V::combine(operation, a, b))
            });
        }
    }
}

#[test]
fn values_by_key() {
    let few = [0, 1, 33, by_key::TILE as usize + 1, 3 * by_key::TILE as usize + 7];
    macro_rules! of {
        ($($V:ty),*) => {$(
            sums_by_key::<u32, $V, Sum>(Operation::Sum, &SIZES, |bits| bits as u32);
            sums_by_key::<u64, $V, Sum>(Operation::Sum, &few, |bits| bits);
            sums_by_key::<u32, $V, Min>(Operation::Min, &few, |bits| bits as u32);
            sums_by_key::<u64, $V, Max>(Operation::Max, &few, |bits| bits);
        )*};
    }
    of!(u32, i32, f32, u64, i64, f64);
}

#[test]
fn lengths_of_runs() {
    fn of<K: Scalar + Debug>(key: fn(u64) -> K)
    where
        lengths_by_key<K>: Kernel<Args = (Global<K>, Global<u32>, Global<K>, Global<u32>, Global<u32>, Global<u64>)>,
    {
        for n in SIZES {
            let runs: Vec<K> = in_runs(n).into_iter().map(key).collect();
            for keys in [runs, vec![key(3); n], (0..n as u64).map(key).collect()] {
                let call = (lengths_by_key::<K>::default(), |v: Views<K>, lengths| {
                    (v.input, v.limit, v.output, lengths, v.count, v.workspace)
                });
                let words = workspace::<Runs<u32, Sum>>(by_key::grid(n as u32));
                check_runs("lengths", &keys, words, call, |there| {
                    runs_of(&keys[..there], &vec![1u32; there], |a, b| a + b)
                });
            }
        }
    }
    of(|bits| bits as u32);
    of(|bits| bits);
}

#[test]
fn a_carry_keeps_the_values_of_the_last_run() {
    let of = Runs::<u32, Sum>::new;
    let whole = of(2, 5).then(of(0, 7)).then(of(0, 1));
    assert_eq!((whole.count, whole.sum), (2, 13));
    let whole = whole.then(of(1, 4));
    assert_eq!((whole.count, whole.sum), (3, 4));
}

/// Blocks that depend on each other, under schedules that are hostile: no finding, and the same results.
#[test]
fn no_schedule_shows_a_race() {
    let n = 3 * TILE as usize + 45;
    let keys: Vec<u64> = in_runs(n);
    let want = runs_of(&keys, &keys, |a, b| a.wrapping_add(b));
    let checked = check_races(Check { schedules: 8, ..Check::default() }, || {
        let (mut from, mut to, mut rest) =
            (Buffer::new(&keys, 0), Buffer::<u64>::poisoned(n, 0), Buffer::<u64>::poisoned(n, 0));
        let [mut count, mut rest_count] = [0, 1].map(|_| Buffer::new(&[0u32], 0));
        let none = rungs_testing::view(&mut []);
        let mut states = Buffer::new(&vec![0u64; workspace::<u32>(compact::grid(n as u32)) as usize], 0);
        let geometry = Geometry::linear(compact::grid(n as u32), BLOCK).shared(compact::shared_bytes::<u64>());
        let bounds = (0u64, u64::MAX / 3, UNSIGNED);
        let args = (from.view(), none, to.view(), count.view(), rest.view(), rest_count.view(), states.view());
        let (a, b, c, d, e, f, g) = args;
        launch(partition_compact::<u64>::default(), geometry, (a, b, c, d, e, f, g, bounds.0, bounds.1, bounds.2));
        let halves = [count.slice()[0], rest_count.slice()[0]];
        let mut states = Buffer::new(&vec![0u64; workspace::<Runs<u64, Sum>>(by_key::grid(n as u32)) as usize], 0);
        let geometry = Geometry::linear(by_key::grid(n as u32), BLOCK).shared(by_key::shared_bytes::<u64, u64>());
        let args = (from.view(), from.view(), none, to.view(), rest.view(), count.view(), states.view());
        launch(reduce_by_key::<u64, u64, Sum>::default(), geometry, args);
        let runs = count.slice()[0] as usize;
        (halves, to.slice()[..runs].to_vec(), rest.slice()[..runs].to_vec())
    });
    let findings: Vec<_> = checked.report.findings.iter().map(ToString::to_string).collect();
    assert!(findings.is_empty(), "{findings:#?}");
    let kept = keys.iter().filter(|&&key| key <= u64::MAX / 3).count() as u32;
    for (halves, unique, sums) in checked.results {
        assert_eq!(halves, [kept, n as u32 - kept]);
        assert!(unique == want.0 && sums == want.1);
    }
}

/// The bounds keep what `<` keeps.
#[test]
fn bounds_are_those_of_less() {
    fn check<T: Pivot + PartialOrd + Debug>(items: &[T])
    where
        T::Word: Ord,
    {
        for &pivot in items {
            let Bounds { low, high, order } = pivot.bounds();
            let is_in = |x: &T| (low..=high).contains(&T::Word::from_bits_64(x.to_bits_64()).encode(order));
            let (got, want): (Vec<bool>, Vec<bool>) = items.iter().map(|x| (is_in(x), *x < pivot)).unzip();
            assert_eq!(got, want, "{items:?} < {pivot:?}");
        }
    }
    check(&[0u32, 1, 7, u32::MAX - 1, u32::MAX]);
    check(&[i32::MIN, -1, 0, 1, i32::MAX]);
    check(&[0u64, 1, 1 << 40, u64::MAX]);
    check(&[i64::MIN, -1, 0, 1, i64::MAX]);
    check(&[0.0f32, -0.0, 1.0, -1.0, f32::MIN_POSITIVE, f32::INFINITY, f32::NEG_INFINITY, f32::NAN, -f32::NAN]);
    check(&[0.0f64, -0.0, 1.0, -1.0, f64::MAX, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, -f64::NAN]);
}
