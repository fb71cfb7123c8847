//! Vectors on the simulator, with functors and a kernel of this file, which the library does not know.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::{Config, RngSeed, TestCaseResult, TestError, TestRunner};
use rungs::Error;
use rungs::Operation;
use rungs::data::{Distribution, Element};
use rungs::engine::{Engine, Geometry, MOST_SMS};
use rungs::vec::{DeviceVec, places::PlaceWord};
use rungs_kernels::transform::{self, Functor};
use simt::{Global, kernel, thread};

/// Sizes around blocks of 256, tiles of 1024 and 8192.
const SIZES: &[usize] = &[0, 1, 2, 31, 33, 255, 257, 1000, 1001, 1023, 1024, 1025, 8191, 8193, 20_011];

/// x², in a type twice as wide.
#[simt::argument]
#[derive(Clone, Copy)]
struct Square;

impl Functor<u32> for Square {
    type Out = u64;

    fn call(&self, x: u32) -> u64 {
        x as u64 * x as u64
    }
}

#[kernel(max_threads = transform::BLOCK)]
fn square(input: Global<u32>, output: Global<u64>, functor: Square) {
    transform::transform(input, output, functor)
}

/// Keeps a number between two others.
#[simt::argument]
#[derive(Clone, Copy)]
struct Clamp {
    low: f32,
    high: f32,
}

impl Functor<f32> for Clamp {
    type Out = f32;

    fn call(&self, x: f32) -> f32 {
        x.max(self.low).min(self.high)
    }
}

#[kernel(max_threads = transform::BLOCK)]
fn clamp(input: Global<f32>, output: Global<f32>, functor: Clamp) {
    transform::transform(input, output, functor)
}

/// Whether a pair's first is less.
#[simt::argument]
#[derive(Clone, Copy)]
struct Less;

impl Functor<(u32, u64)> for Less {
    type Out = u8;

    fn call(&self, (a, b): (u32, u64)) -> u8 {
        ((a as u64) < b) as u8
    }
}

#[kernel(max_threads = transform::BLOCK)]
fn less(left: Global<u32>, right: Global<u64>, output: Global<u8>, functor: Less) {
    transform::transform_pairs(left, right, output, functor)
}

/// A kernel that is not a transform: reverses the order.
#[kernel(max_threads = 128)]
fn reverse(input: Global<u32>, output: Global<u32>) {
    let i = thread::index_1d();
    if i < input.len() {
        output.set(input.len() - 1 - i, input.get(i));
    }
}

/// A key of any bits, or one of few.
fn key<T: Element>() -> impl Strategy<Value = T> {
    let drawn = any::<u64>().prop_map(T::from_pattern);
    let few = (0..9_i32).prop_map(|whole| T::from_whole(whole - 4));
    prop_oneof![3 => drawn, 3 => few, 1 => select(T::CORNERS)]
}

/// Keys, a few to more than two tiles of them.
fn keys<T: Element>() -> impl Strategy<Value = Vec<T>> {
    prop_oneof![3 => vec(key(), 0..80), 2 => vec(key(), 0..1100), 1 => vec(key(), 0..2600)]
}

/// Runs `check` on drawn input; a failing input is shrunk as long as it still fails. The seed is fixed, so that a run
/// can be repeated; `PROPTEST_RNG_SEED` and `PROPTEST_CASES` set another seed and more cases.
fn for_all<S: Strategy>(input: S, check: impl Fn(S::Value) -> TestCaseResult) -> Result<(), TestError<S::Value>> {
    let asked = Config { failure_persistence: None, ..Config::default() };
    let cases = if std::env::var_os("PROPTEST_CASES").is_some() { asked.cases } else { 40 };
    let seed = if asked.rng_seed == RngSeed::Random { RngSeed::Fixed(1) } else { asked.rng_seed };
    TestRunner::new(Config { cases, rng_seed: seed, max_shrink_iters: 1 << 16, ..asked }).run(&input, check)
}

fn words<T: Element>(keys: &[T]) -> Vec<T::Word> {
    keys.iter().map(|key| key.to_word()).collect()
}

fn sorts<T: Element + simt::Scalar>(engine: &Engine)
where
    T::Word: rungs::keys::KeyWord,
{
    let outcome = for_all(keys::<T>(), |keys| {
        let mut vec = DeviceVec::from_slice(engine, &keys)?;
        vec.sort()?;
        let mut want = words(&keys);
        want.sort_unstable();
        prop_assert_eq!(words(&vec.to_vec()?), want);
        Ok(())
    });
    outcome.unwrap_or_else(|error| panic!("{}: {error}", T::DTYPE));
}

#[test]
fn sort_is_the_hosts_for_every_type() {
    let engine = Engine::simulator();
    sorts::<u32>(&engine);
    sorts::<i32>(&engine);
    sorts::<f32>(&engine);
    sorts::<u64>(&engine);
    sorts::<i64>(&engine);
    sorts::<f64>(&engine);
}

/// A sort that fails for equal keys: the input shrinks to the two keys that show it.
#[test]
fn a_counterexample_is_made_small() {
    let engine = Engine::simulator();
    let outcome = for_all(keys::<u32>(), |keys| {
        let mut vec = DeviceVec::from_slice(&engine, &keys)?;
        vec.sort()?;
        let sorted = vec.to_vec()?;
        prop_assert!(sorted.windows(2).all(|pair| pair[0] < pair[1]));
        Ok(())
    });
    match outcome {
        Err(TestError::Fail(_, keys)) => assert!(keys.len() == 2 && keys[0] == keys[1], "{keys:?}"),
        other => panic!("{other:?}"),
    }
}

/// The running results by the host; with `exclusive`, without element i itself.
fn running(x: &[u32], operation: Operation, exclusive: bool) -> (Vec<u32>, u32) {
    let (of_nothing, combine): (u32, fn(u32, u32) -> u32) = match operation {
        Operation::Sum => (0, u32::wrapping_add),
        Operation::Min => (u32::MAX, u32::min),
        Operation::Max => (0, u32::max),
    };
    let mut all = of_nothing;
    let each = x.iter().map(|&x| {
        let before = all;
        all = combine(all, x);
        if exclusive { before } else { all }
    });
    (each.collect(), all)
}

#[test]
fn reduce_and_scan_are_the_hosts() {
    let engine = Engine::simulator();
    let operations = select(&[Operation::Sum, Operation::Min, Operation::Max][..]);
    let outcome = for_all((keys::<u32>(), operations, any::<bool>()), |(keys, operation, exclusive)| {
        let (want, all) = running(&keys, operation, exclusive);
        let vec = DeviceVec::from_slice(&engine, &keys)?;
        prop_assert_eq!(vec.reduce(operation)?, all);
        prop_assert_eq!(vec.scan(operation, exclusive)?.to_vec()?, want);
        // A functor's result is reduced and scanned like any other.
        let wide = vec.transform(square, Square)?;
        let sum = keys.iter().fold(0u64, |sum, &x| sum.wrapping_add(x as u64 * x as u64));
        prop_assert_eq!(wide.reduce(Operation::Sum)?, sum);
        let last = wide.scan(Operation::Sum, false)?.to_vec()?.last().copied();
        prop_assert_eq!(last, (!keys.is_empty()).then_some(sum));
        Ok(())
    });
    outcome.unwrap_or_else(|error| panic!("{error}"));
}

/// Larger than the drawn sizes: around the tiles of the rungs.
#[test]
fn sizes_around_tiles() {
    let engine = Engine::simulator();
    for &n in SIZES {
        let mut vec = DeviceVec::<u32>::random(&engine, n, Distribution::Uniform, 3).unwrap();
        let mut host = vec.to_vec().unwrap();
        let (want, sum) = running(&host, Operation::Sum, false);
        assert_eq!(vec.reduce(Operation::Sum).unwrap(), sum, "n = {n}");
        assert_eq!(vec.scan(Operation::Sum, false).unwrap().to_vec().unwrap(), want, "n = {n}");
        vec.sort().unwrap();
        host.sort_unstable();
        assert_eq!(vec.to_vec().unwrap(), host, "n = {n}");
    }
}

#[test]
fn functors_of_ones_own() {
    let engine = Engine::simulator();
    for &n in SIZES {
        let x = DeviceVec::generate(&engine, n, |i| i as u32 * 7).unwrap();
        let squares = x.transform(square, Square).unwrap().to_vec().unwrap();
        assert_eq!(squares, (0..n as u64).map(|i| 49 * i * i).collect::<Vec<_>>());

        let limits = DeviceVec::generate(&engine, n, |i| i as u64 % 3 * 5000).unwrap();
        let flags = x.transform_pairs(&limits, less, Less).unwrap().to_vec().unwrap();
        assert_eq!(flags, (0..n as u64).map(|i| (7 * i < i % 3 * 5000) as u8).collect::<Vec<_>>());

        let mut f = DeviceVec::generate(&engine, n, |i| i as f32 - 100.0).unwrap();
        f.transform_in_place(clamp, Clamp { low: -3.5, high: 99.0 }).unwrap();
        assert_eq!(f.to_vec().unwrap(), (0..n).map(|i| (i as f32 - 100.0).clamp(-3.5, 99.0)).collect::<Vec<_>>());
    }
    let (short, long) = (DeviceVec::from_slice(&engine, &[1u32]), DeviceVec::from_slice(&engine, &[1u64, 2]));
    let error = short.unwrap().transform_pairs(&long.unwrap(), less, Less).err().unwrap();
    assert!(matches!(error, Error::Usage(_)), "{error}");
}

#[test]
fn views_and_addresses_for_ones_own_kernels() {
    let engine = Engine::simulator();
    let x = DeviceVec::generate(&engine, 1000, |i| i as u32).unwrap();
    let y = DeviceVec::uninit(&engine, x.len()).unwrap();
    engine.launch(reverse, Geometry::linear(1000u32.div_ceil(128), 128), (x.view(), y.view())).unwrap();
    assert_eq!(y.to_vec().unwrap(), (0..1000).rev().collect::<Vec<u32>>());
    assert_eq!((y.view().as_ptr(), y.duplicate().unwrap().to_vec().unwrap()), (y.as_ptr(), y.to_vec().unwrap()));
}

#[test]
fn too_many_elements_are_refused() {
    let error = DeviceVec::<u32>::uninit(&Engine::simulator(), 1 << 32).err().unwrap();
    assert!(error.to_string().contains("4294967295"), "{error}");
}

fn values_move<T: Element<Word = u32> + simt::Scalar>(engine: &Engine) {
    let outcome = for_all(keys::<T>(), |keys| {
        let values: Vec<f32> = (0..keys.len()).map(|i| i as f32 * 0.5).collect();
        let mut want: Vec<(u32, f32)> = words(&keys).into_iter().zip(values.iter().copied()).collect();
        // A stable sort: equal keys keep their order, and with them their values.
        want.sort_by_key(|(key, _)| *key);
        let mut keys = DeviceVec::from_slice(engine, &keys)?;
        let mut values = DeviceVec::from_slice(engine, &values)?;
        keys.sort_with(&mut values)?;
        let got: Vec<(u32, f32)> = words(&keys.to_vec()?).into_iter().zip(values.to_vec()?).collect();
        prop_assert_eq!(got, want);
        Ok(())
    });
    outcome.unwrap_or_else(|error| panic!("{}: {error}", T::DTYPE));
}

#[test]
fn values_move_with_their_keys() {
    let engine = Engine::simulator();
    values_move::<u32>(&engine);
    values_move::<i32>(&engine);
    values_move::<f32>(&engine);
}

/// The stable order of keys of any width, and values of any size that go along.
fn places_are_sorted<T: Element + simt::Scalar>(engine: &Engine)
where
    T::Word: PlaceWord,
{
    let outcome = for_all(keys::<T>(), |keys| {
        let mut want: Vec<u32> = (0..keys.len() as u32).collect();
        want.sort_by_key(|&i| keys[i as usize].to_word());
        let mut vec = DeviceVec::from_slice(engine, &keys)?;
        prop_assert_eq!(&vec.argsort()?.to_vec()?, &want);
        let mut largest_first: Vec<u32> = (0..keys.len() as u32).collect();
        largest_first.sort_by_key(|&i| std::cmp::Reverse(keys[i as usize].to_word()));
        prop_assert_eq!(vec.argsort_descending()?.to_vec()?, largest_first);
        // Values of 1 and of 8 bytes.
        let small: Vec<u8> = (0..keys.len()).map(|i| (i % 251) as u8).collect();
        let large: Vec<f64> = (0..keys.len()).map(|i| i as f64).collect();
        let mut values = DeviceVec::from_slice(engine, &small)?;
        DeviceVec::from_slice(engine, &keys)?.sort_with(&mut values)?;
        prop_assert_eq!(values.to_vec()?, want.iter().map(|&i| small[i as usize]).collect::<Vec<_>>());
        let mut values = DeviceVec::from_slice(engine, &large)?;
        vec.sort_with(&mut values)?;
        prop_assert_eq!(values.to_vec()?, want.iter().map(|&i| large[i as usize]).collect::<Vec<_>>());
        prop_assert_eq!(words(&vec.to_vec()?), want.iter().map(|&i| keys[i as usize].to_word()).collect::<Vec<_>>());
        Ok(())
    });
    outcome.unwrap_or_else(|error| panic!("{}: {error}", T::DTYPE));
}

#[test]
fn places_are_the_stable_order() {
    let engine = Engine::simulator();
    places_are_sorted::<u32>(&engine);
    places_are_sorted::<f32>(&engine);
    places_are_sorted::<u64>(&engine);
    places_are_sorted::<i64>(&engine);
    places_are_sorted::<f64>(&engine);
    let elements = DeviceVec::from_slice(&engine, &[10u16, 20]).unwrap();
    let places = DeviceVec::from_slice(&engine, &[1, 2, u32::MAX, 0]).unwrap();
    assert_eq!(elements.gather(&places).unwrap().to_vec().unwrap(), [20, 0, 0, 10]);
}

#[test]
fn values_that_cannot_go_along() {
    let (engine, other) = (Engine::simulator(), Engine::simulator());
    let mut keys = DeviceVec::from_slice(&engine, &[3u32, 1, 2]).unwrap();
    let refused = |error: Error, words: &str| {
        assert!(matches!(&error, Error::Usage(text) if text.contains(words)), "{error}");
    };
    let mut few = DeviceVec::from_slice(&engine, &[1u32, 2]).unwrap();
    refused(keys.sort_with(&mut few).unwrap_err(), "3 elements cannot take 2 values");
    let mut elsewhere = DeviceVec::from_slice(&other, &[1u32, 2, 3]).unwrap();
    refused(keys.sort_with(&mut elsewhere).unwrap_err(), "same engine");
    assert_eq!(keys.to_vec().unwrap(), [3, 1, 2]);
}

/// A view is copied freely: a launch, not the compiler, finds that its memory is gone or elsewhere.
#[test]
fn launches_refuse_views_of_memory_that_is_not_theirs() {
    let (engine, other) = (Engine::simulator(), Engine::simulator());
    let (here, elsewhere) = (DeviceVec::from_slice(&engine, &[1u32, 2, 3]).unwrap(), [4u32, 5, 6]);
    let elsewhere = DeviceVec::from_slice(&other, &elsewhere).unwrap();
    let dropped = DeviceVec::from_slice(&engine, &[7u32, 8, 9]).unwrap().view();
    let launch = |input, output| engine.launch(reverse, Geometry::linear(1, 128), (input, output));
    for view in [dropped, elsewhere.view()] {
        for (input, output, number) in [(view, here.view(), 1), (here.view(), view, 2)] {
            match launch(input, output) {
                // No row of a table may skip it as unsuited: it is a mistake of the caller's code.
                Err(Error::Launch(why)) => {
                    assert!(why.to_string().contains(&format!("reverse: view number {number}")), "{why}");
                }
                taken => panic!("{taken:?}"),
            }
        }
    }
    // The simulator refuses it without an engine too.
    let alone = simt::sim::launch(reverse, [1; 3], [128, 1, 1], 0, (dropped, here.view()), Default::default());
    assert!(alone.unwrap_err().to_string().contains("freed before the launch"));
    assert_eq!(here.to_vec().unwrap(), [1, 2, 3]);
    let whole = DeviceVec::<u32>::uninit(&engine, 3).unwrap();
    launch(here.view(), whole.view()).unwrap();
    assert_eq!(whole.to_vec().unwrap(), [3, 2, 1]);
    // A part of a vector and an empty view are taken.
    let part = DeviceVec::<u32>::uninit(&engine, 2).unwrap();
    launch(here.view().slice(1, 2), part.view()).unwrap();
    assert_eq!(part.to_vec().unwrap(), [3, 2]);
    launch(DeviceVec::<u32>::uninit(&engine, 0).unwrap().view(), part.view()).unwrap();
}

#[test]
fn buffers_of_two_engines_are_not_copied() {
    let (engine, other) = (Engine::simulator(), Engine::simulator());
    let (to, from) = (engine.upload(&[1u32, 2]).unwrap(), other.upload(&[3u32, 4]).unwrap());
    let error = to.copy_from(&from).unwrap_err().to_string();
    assert!(error.contains("buffers of one engine"), "{error}");
    assert_eq!(to.download().unwrap(), [1, 2]);
}

/// The reverse of the ascending order; with values, equal keys keep their order.
fn sorts_descending<T: Element + simt::Scalar>(engine: &Engine, n: usize)
where
    T::Word: rungs::keys::KeyWord,
{
    let mut vec = DeviceVec::<T>::random(engine, n, Distribution::Special, n as u64).unwrap();
    let mut want: Vec<_> = vec.to_vec().unwrap().iter().map(|key| key.to_word()).collect();
    want.sort_unstable_by(|a, b| b.cmp(a));
    vec.sort_descending().unwrap();
    let got: Vec<_> = vec.to_vec().unwrap().iter().map(|key| key.to_word()).collect();
    assert_eq!(got, want, "{}, n = {n}", T::DTYPE);
}

#[test]
fn the_largest_key_comes_first_where_that_is_asked_for() {
    let engine = Engine::simulator();
    for &n in SIZES {
        sorts_descending::<u32>(&engine, n);
        sorts_descending::<i32>(&engine, n);
        sorts_descending::<f32>(&engine, n);
        sorts_descending::<u64>(&engine, n);
        sorts_descending::<i64>(&engine, n);
        sorts_descending::<f64>(&engine, n);
        let mut keys = DeviceVec::<i32>::random(&engine, n, Distribution::Few, 5).unwrap();
        let mut places = DeviceVec::generate(&engine, n, |i| i as u32).unwrap();
        let mut want: Vec<_> = keys.to_vec().unwrap().into_iter().zip(0u32..).collect();
        want.sort_by_key(|(key, _)| std::cmp::Reverse(*key));
        keys.sort_with_descending(&mut places).unwrap();
        let got: Vec<_> = keys.to_vec().unwrap().into_iter().zip(places.to_vec().unwrap()).collect();
        assert_eq!(got, want, "n = {n}");
    }
}

/// Blocks and threads of more would have no numbers of 32 bits.
#[test]
fn a_simulator_has_from_one_sm_to_the_most() {
    for (asked, sms) in [(0, 1), (132, 132), (u32::MAX, MOST_SMS)] {
        let engine = Engine::simulator_with(asked);
        assert_eq!(engine.multiprocessors(), sms);
        let ones = DeviceVec::from_slice(&engine, &[1_u32; 70_000]).unwrap();
        assert_eq!(ones.reduce(Operation::Sum).unwrap(), 70_000);
    }
}
