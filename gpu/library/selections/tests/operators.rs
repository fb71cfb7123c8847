//! Reductions and scans by operators of your own, extremes and scans by key on the simulator, against the host's.

use rungs_common::keys::{DESCENDING, FLOAT, Key, SIGNED, UNSIGNED, Word};
use rungs_common::ladder::{Launcher, reduce as reduces, scan as scans};
use rungs_common::operator::{Max, Min, Operation, Operator, Sum};
use rungs_selections::by_key::{self, scan_by_key};
use rungs_selections::look_back::{self, Carry, Combined, Runs};
use rungs_selections::operators::launches::{self, OperatorKernels};
use rungs_selections::reduce::Product;
use rungs_selections::reduce::{self, extremes, first_place, product};
use rungs_selections::{BLOCK, operator_kernels, scan};
use rungs_testing::{Buffer, Element, launch, random, same, with_multiprocessors};
use simt::sim::{Check, Gpu, check};
use simt::{Geometry, Global, Kernel, Pair, Scalar};
use std::fmt::Debug;

/// Affine maps x -> a·x + b, in sequence: associative, not commutative, and every element shows.
#[derive(Clone, Copy)]
pub struct Compose;

/// Makes elements of words that look random.
trait Random: Scalar + Debug {
    fn random(bits: u64) -> Self;
}

/// Two halves in one integer: the factor above, the summand below.
macro_rules! packed {
    ($($t:ty)*) => {$(
        impl Operator<$t> for Compose {
            const IDENTITY: $t = 1 << (<$t>::BITS / 2);

            #[simt::device]
            fn combine(f: $t, g: $t) -> $t {
                let (half, low) = (<$t>::BITS / 2, <$t>::MAX >> (<$t>::BITS / 2));
                let factor = (f >> half).wrapping_mul(g >> half) & low;
                let summand = (g >> half).wrapping_mul(f & low).wrapping_add(g & low) & low;
                factor << half | summand
            }
        }

        impl Random for $t {
            /// Odd factors: products of even ones would soon be 0 and hide what came before.
            fn random(bits: u64) -> Self {
                bits as $t | <Compose as Operator<$t>>::IDENTITY
            }
        }
    )*};
}
packed!(u8 u16 u32 u64);

impl Operator<Pair<u32, i32>> for Compose {
    const IDENTITY: Pair<u32, i32> = Pair(1, 0);

    #[simt::device]
    fn combine(f: Pair<u32, i32>, g: Pair<u32, i32>) -> Pair<u32, i32> {
        Pair(f.0.wrapping_mul(g.0), (g.0 as i32).wrapping_mul(f.1).wrapping_add(g.1))
    }
}

impl Random for Pair<u32, i32> {
    fn random(bits: u64) -> Self {
        Pair(bits as u32 | 1, (bits >> 32) as i32)
    }
}

/// An operator that is not associative.
#[derive(Clone, Copy)]
pub struct Average;

impl Operator<f32> for Average {
    const IDENTITY: f32 = 0.0;

    #[simt::device]
    fn combine(a: f32, b: f32) -> f32 {
        (a + b) / 2.0
    }
}

operator_kernels!(mod compose_u8: <u8, Compose>);
operator_kernels!(mod compose_u16: <u16, Compose>);
operator_kernels!(mod compose_u32: <u32, Compose>);
operator_kernels!(mod compose_u64: <u64, Compose>);
operator_kernels!(mod compose_pairs: <Pair<u32, i32>, Compose>, max_spills = 0);
operator_kernels!(mod average: <f32, Average>);

/// Sizes around packs, warps, and the tiles and turns of all kernels; primes.
fn sizes() -> Vec<usize> {
    let (tile, turn) = (scan::TILE as usize, 32 * reduce::ROWS);
    let mut all = vec![0, 1, 2, 3, 31, 32, 33, 1009, 50_021];
    all.extend([tile, by_key::TILE as usize, 2 * turn, 4 * turn, 8 * 4 * turn].iter().flat_map(|&n| [n - 1, n, n + 1]));
    all
}

/// The simulator as a device on which scans look ahead, and as one on which they look back.
fn devices() -> [Gpu; 2] {
    let ahead = with_multiprocessors(2);
    let mut back = ahead;
    back.device.compute_capability = (8, 0);
    [ahead, back]
}

/// What an operator makes of elements, from the first on: after each of them, and before it.
fn scanned<T: Scalar, O: Operator<T>>(input: &[T]) -> [Vec<T>; 2] {
    let mut all = O::IDENTITY;
    let both = input.iter().map(|&x| {
        let before = all;
        all = O::combine(all, x);
        (all, before)
    });
    let (after, before) = both.unzip();
    [after, before]
}

fn check_operator<T: Random, S: OperatorKernels<Element = T>>() {
    for (which, gpu) in devices().iter().enumerate() {
        let on: &dyn Launcher = gpu;
        for n in sizes() {
            for offset in [0, 1] {
                let what = format!("{n} of {}, offset {offset}, device {which}", std::any::type_name::<T>());
                let input: Vec<T> = (0..n as u64).map(|i| T::random(random(i))).collect();
                let want = scanned::<T, S::Operator>(&input);
                let mut from = Buffer::new(&input, offset);
                let all = want[0].last().copied().unwrap_or(S::Operator::IDENTITY);
                let mut reduce = launches::reduce::<S>(on, n as u32).unwrap();
                let mut scan = launches::scan::<S>(on, n as u32).unwrap();
                // Twice: the memory is ready for the next run.
                for _ in 0..2 {
                    let mut to = Buffer::<T>::poisoned(1, 3);
                    reduce(on, reduces::Elements { input: from.view(), output: to.view() }).unwrap();
                    to.check_guards(&what);
                    assert!(same(to.slice()[0], all), "{what}: {:?}, not {all:?}", to.slice()[0]);
                    for exclusive in [false, true] {
                        let mut to = Buffer::<T>::poisoned(n, 2);
                        scan(on, scans::Elements { input: from.view(), output: to.view(), exclusive }).unwrap();
                        to.check_guards(&what);
                        let want = &want[exclusive as usize];
                        let wrong = (0..n).find(|&i| !same(to.slice()[i], want[i]));
                        assert!(wrong.is_none(), "{what}, exclusive {exclusive}: {wrong:?}");
                    }
                }
                assert!(from.slice().iter().zip(&input).all(|(&a, &b)| same(a, b)), "{what}: wrote to the input");
                from.check_guards(&what);
                // In place.
                let view = from.view();
                scan(on, scans::Elements { input: view, output: view, exclusive: false }).unwrap();
                assert!(from.slice().iter().zip(&want[0]).all(|(&a, &b)| same(a, b)), "{what}: in place");
            }
        }
    }
}

#[test]
fn elements_of_each_size_are_combined_in_their_order() {
    check_operator::<u8, compose_u8::Kernels>();
    check_operator::<u16, compose_u16::Kernels>();
    check_operator::<u32, compose_u32::Kernels>();
    check_operator::<u64, compose_u64::Kernels>();
    check_operator::<Pair<u32, i32>, compose_pairs::Kernels>();
}

/// Reduces on the given number of blocks.
fn on_blocks<T: Scalar, U: Scalar, K: Kernel>(
    input: &[T],
    blocks: u32,
    results: usize,
    kernel: K,
    args: impl Fn(Global<T>, Global<U>, Global<u32>) -> K::Args,
) -> Vec<U> {
    let (mut from, mut to) = (Buffer::new(input, 1), Buffer::<U>::poisoned(results, 1));
    let mut workspace = Buffer::new(&vec![0u32; reduce::workspace(blocks) as usize], 0);
    let geometry = Geometry::linear(blocks, BLOCK).shared(reduce::SHARED_BYTES);
    launch(kernel, geometry, args(from.view(), to.view(), workspace.view()));
    to.check_guards("reduce");
    workspace.check_guards("reduce");
    assert_eq!(workspace.slice()[0], 0, "the ticket");
    to.slice().to_vec()
}

#[test]
fn any_number_of_blocks_keeps_the_order() {
    for n in [5, 1009, 30_011, 270_001] {
        let input: Vec<u32> = (0..n as u64).map(|i| u32::random(random(i))).collect();
        let want = input.iter().fold(Compose::IDENTITY, |a, &b| Compose::combine(a, b));
        // More blocks than threads of the last one, too, which each combine several of their values.
        for blocks in [1, 2, 3, 31, 257, 600] {
            let kernel = compose_u32::reduce::<u32, Compose>::default();
            assert_eq!(on_blocks(&input, blocks, 1, kernel, |a, b, c| (a, b, c)), [want], "{n} on {blocks} blocks");
        }
    }
}

#[test]
fn grids_have_a_block_for_no_elements_and_no_more_than_their_most() {
    assert_eq!(reduce::grid::<u32>(0, 132), 1);
    assert_eq!(reduce::grid::<u32>(1, 132), 1);
    assert_eq!(reduce::grid::<u32>(8193, 132), 2);
    assert_eq!(reduce::grid::<u8>(u32::MAX, 132), 132 * 12);
    assert_eq!(reduce::grid::<u64>(u32::MAX, 132), 132 * 12);
}

#[test]
fn products() {
    macro_rules! of {
        ($($t:ty)*) => {$(
            for n in [0, 1, 2, 31, 33, 1009, 8193] {
                // Powers of two among few other factors: exact, of floats, too, and no order shows.
                let factor = |i: u64| match i % 7 { 0 => 2, 1 if i < 200 => 3, _ => 1 } as $t;
                let input: Vec<$t> = (0..n).map(factor).collect();
                let want = input.iter().fold(1 as $t, |a, &b| Product::combine(a, b));
                for blocks in [1, 3] {
                    let got = on_blocks(&input, blocks, 1, product::<$t>::default(), |a, b, c| (a, b, c));
                    assert_eq!(got, [want], "{n} of {}", stringify!($t));
                }
            }
        )*};
    }
    of!(u32 i32 f32 u64 i64 f64);
}

#[test]
fn extremes_and_their_first_places() {
    fn of<W: Word + Key + Debug>(make: fn(u64) -> W)
    where
        first_place<W>: Kernel<Args = (Global<W>, Global<u32>, Global<u32>, u32)>,
        extremes<W>: Kernel<Args = (Global<W>, Global<W>, Global<u32>, u32)>,
    {
        for n in [1, 2, 31, 32, 33, 1009, 8193, 20_011] {
            let any: Vec<W> = (0..n).map(|i| make(random(i))).collect();
            // Equal keys, all the same, and the ends of every order.
            let few: Vec<W> = (0..n).map(|i| make((random(i) % 3) << 62)).collect();
            for input in [any, few, vec![W::LAST; n as usize], vec![W::FIRST; n as usize]] {
                for order in [UNSIGNED, SIGNED, FLOAT, UNSIGNED | DESCENDING, SIGNED | DESCENDING, FLOAT | DESCENDING] {
                    for blocks in [1, 4] {
                        let what = format!("{n} keys, order {order}, {blocks} blocks");
                        let key = |i: &usize| input[*i].encode(order);
                        let want = (0..input.len()).min_by_key(key).unwrap();
                        let kernel = first_place::<W>::default();
                        let got = on_blocks(&input, blocks, 1, kernel, |a, b, c| (a, b, c, order));
                        assert_eq!(got, [want as u32], "{what}");
                        let last = (0..input.len()).max_by_key(key).unwrap();
                        let got = on_blocks(&input, blocks, 2, extremes::<W>::default(), |a, b, c| (a, b, c, order));
                        assert_eq!(got, [input[want], input[last]], "{what}");
                    }
                }
            }
        }
    }
    of(|bits| (bits >> 32) as u32);
    of(|bits| bits);
}

fn check_by_key<K: Scalar, V: Element, O: Operator<V>>(operation: Operation, sizes: &[usize], key: fn(u64) -> K)
where
    scan_by_key<K, V, O>: Kernel<Args = (Global<K>, Global<V>, Global<V>, Global<u64>, u32)>,
{
    for &n in sizes {
        let values: Vec<V> = (0..n as u64).map(|i| V::of(random(i + 99))).collect();
        // Runs of all lengths, some of them across tiles; one run; each key its own.
        let runs = (0..n as u64).map(|i| key(random(i / 7) % 2 + (i / 3000)));
        for keys in [runs.collect(), vec![key(3); n], (0..n as u64).map(key).collect::<Vec<K>>()] {
            let what = format!("{} of {n} {}", operation.name(), std::any::type_name::<V>());
            let mut all = O::IDENTITY;
            let want = (0..n).map(|i| {
                let before = if i > 0 && same(keys[i - 1], keys[i]) { all } else { O::IDENTITY };
                all = V::combine(operation, before, values[i]);
                [all, before]
            });
            let want: Vec<[V; 2]> = want.collect();
            for exclusive in [0, 1] {
                let (mut of_keys, mut from) = (Buffer::new(&keys, 1), Buffer::new(&values, 2));
                let mut to = Buffer::<V>::poisoned(n, 3);
                let words = look_back::workspace::<Runs<V, O>>(by_key::grid(n as u32));
                let geometry = Geometry::linear(by_key::grid(n as u32), BLOCK).shared(by_key::shared_bytes::<K, V>());
                let mut run = |from: Global<V>, to: Global<V>| {
                    let mut states = Buffer::new(&vec![0u64; words as usize], 0);
                    let args = (of_keys.view(), from, to, states.view(), exclusive as u32);
                    launch(scan_by_key::<K, V, O>::default(), geometry, args);
                    states.check_guards(&what);
                };
                run(from.view(), to.view());
                to.check_guards(&what);
                let wrong = (0..n).find(|&i| !same(to.slice()[i], want[i][exclusive]));
                assert!(wrong.is_none(), "{what}, exclusive {exclusive}: {wrong:?}");
                let view = from.view();
                run(view, view);
                from.check_guards(&what);
                assert!((0..n).all(|i| same(from.slice()[i], want[i][exclusive])), "{what}: in place");
            }
        }
    }
}

#[test]
fn scans_by_key() {
    let tile = by_key::TILE as usize;
    let few = [0, 1, 33, tile + 1, 3 * tile + 7];
    macro_rules! of {
        ($($V:ty),*) => {$(
            check_by_key::<u32, $V, Sum>(Operation::Sum, &sizes(), |bits| bits as u32);
            check_by_key::<u64, $V, Sum>(Operation::Sum, &few, |bits| bits << 40);
            check_by_key::<u32, $V, Min>(Operation::Min, &few, |bits| bits as u32);
            check_by_key::<u64, $V, Max>(Operation::Max, &few, |bits| bits);
        )*};
    }
    of!(u32, i32, f32, u64, i64, f64);
}

/// An operator that is not associative ends, writes nothing else, and a reduction gives the same bits each time.
#[test]
fn an_operator_that_is_not_associative_does_no_harm() {
    let n = 20_011;
    let input: Vec<f32> = (0..n as u64).map(|i| (random(i) % 1000) as f32).collect();
    for gpu in devices() {
        let on: &dyn Launcher = &gpu;
        let mut from = Buffer::new(&input, 1);
        let mut reduce = launches::reduce::<average::Kernels>(on, n as u32).unwrap();
        let results = [(); 3].map(|()| {
            let mut to = Buffer::<f32>::poisoned(1, 0);
            reduce(on, reduces::Elements { input: from.view(), output: to.view() }).unwrap();
            to.check_guards("reduce");
            to.slice()[0].to_bits()
        });
        assert!(results.iter().all(|&result| result == results[0]), "{results:?}");
        let mut to = Buffer::<f32>::poisoned(n, 1);
        let mut scan = launches::scan::<average::Kernels>(on, n as u32).unwrap();
        scan(on, scans::Elements { input: from.view(), output: to.view(), exclusive: false }).unwrap();
        to.check_guards("scan");
        assert!(to.slice().iter().all(|x| (0.0..1000.0).contains(x)));
        from.check_guards("input");
    }
}

#[test]
fn carries_keep_all_their_words() {
    fn check<C: Carry>(carry: C) {
        let words = carry.to_words();
        let again = C::from_words(words).to_words();
        assert_eq!(again[..C::WORDS as usize], words[..C::WORDS as usize]);
    }
    let bits = 0x0123_4567_89AB_CDEF;
    check(7u32);
    check(Combined::<u32, Sum>::new(bits as u32));
    check(Combined::<f64, Max>::new(f64::from_bits(bits)));
    check(Runs::<u32, Sum>::new(3, 9));
    check(Runs::<u64, Min>::new(3, bits));
    assert_eq!(Runs::<u64, Min>::from_words(Runs::<u64, Min>::new(3, bits).to_words()).sum, bits);
    assert_eq!(Combined::<i64, Sum>::from_words([5, 1, 0, 0]).value, (1 << 32) + 5);
}

/// Blocks that depend on each other, under schedules that are hostile: no finding, and the same results.
#[test]
fn no_schedule_shows_a_race() {
    let n = 2 * scan::TILE as usize + 45;
    let input: Vec<u64> = (0..n as u64).map(|i| u64::random(random(i))).collect();
    let [want, _] = scanned::<u64, Compose>(&input);
    for gpu in devices() {
        let checked = check(Check { schedules: 8, ..Check::default() }, || {
            let on: &dyn Launcher = &gpu;
            let (mut from, mut to, mut one) =
                (Buffer::new(&input, 0), Buffer::<u64>::poisoned(n, 0), Buffer::<u64>::poisoned(1, 0));
            let mut reduce = launches::reduce::<compose_u64::Kernels>(on, n as u32).unwrap();
            reduce(on, reduces::Elements { input: from.view(), output: one.view() }).unwrap();
            let mut scan = launches::scan::<compose_u64::Kernels>(on, n as u32).unwrap();
            scan(on, scans::Elements { input: from.view(), output: to.view(), exclusive: false }).unwrap();
            let mut sums = Buffer::<u64>::poisoned(n, 0);
            let words = look_back::workspace::<Runs<u64, Sum>>(by_key::grid(n as u32));
            let mut states = Buffer::new(&vec![0u64; words as usize], 0);
            let geometry = Geometry::linear(by_key::grid(n as u32), BLOCK).shared(by_key::shared_bytes::<u64, u64>());
            let args = (from.view(), from.view(), sums.view(), states.view(), 0);
            launch(scan_by_key::<u64, u64, Sum>::default(), geometry, args);
            let place = on_blocks(&input, 3, 1, first_place::<u64>::default(), |a, b, c| (a, b, c, UNSIGNED));
            (one.slice()[0], to.slice().to_vec(), sums.slice().to_vec(), place)
        });
        assert!(checked.report.is_clean(), "{}", checked.report);
        let least = (0..n).min_by_key(|&i| input[i]).unwrap() as u32;
        for (all, scanned, sums, place) in checked.results {
            assert_eq!((all, place.as_slice()), (want[n - 1], [least].as_slice()));
            assert!(scanned == want);
            // No two neighbours are equal, so each is a run.
            assert!(sums == input);
        }
    }
}
