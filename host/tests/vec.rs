//! Vectors on the simulator, with functors and a kernel that this file brings along: nothing in the library knows them.

use rungs::Error;
use rungs::algorithms::Operation;
use rungs::data::{Distribution, Element};
use rungs::engine::{Engine, Geometry};
use rungs::vec::DeviceVec;
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

/// A kernel that is no transform: turns the order round.
#[kernel(max_threads = 128)]
fn reverse(input: Global<u32>, output: Global<u32>) {
    let i = thread::index_1d();
    if i < input.len() {
        output.set(input.len() - 1 - i, input.get(i));
    }
}

fn sorts<T: Element + simt::Scalar>(engine: &Engine, n: usize)
where
    T::Word: rungs::algorithms::sort::KeyWord,
{
    let mut vec = DeviceVec::<T>::random(engine, n, Distribution::Special, n as u64).unwrap();
    let mut want = vec.to_vec().unwrap();
    want.sort_by_key(|key| key.to_word());
    vec.sort().unwrap();
    let words = |keys: &[T]| keys.iter().map(|key| key.to_word()).collect::<Vec<_>>();
    assert_eq!(words(&vec.to_vec().unwrap()), words(&want), "{}, n = {n}", T::DTYPE);
}

#[test]
fn sort_is_the_hosts_for_every_type() {
    let engine = Engine::simulator();
    for &n in SIZES {
        sorts::<u32>(&engine, n);
        sorts::<i32>(&engine, n);
        sorts::<f32>(&engine, n);
        sorts::<u64>(&engine, n);
        sorts::<i64>(&engine, n);
        sorts::<f64>(&engine, n);
    }
}

#[test]
fn reduce_and_scan_are_the_hosts() {
    let engine = Engine::simulator();
    for &n in SIZES {
        let vec = DeviceVec::<u32>::random(&engine, n, Distribution::Uniform, 3).unwrap();
        let host = vec.to_vec().unwrap();
        let sum = host.iter().fold(0u32, |sum, &x| sum.wrapping_add(x));
        assert_eq!(vec.reduce(Operation::Sum).unwrap(), sum, "n = {n}");
        assert_eq!(vec.reduce(Operation::Min).unwrap(), host.iter().copied().min().unwrap_or(u32::MAX), "n = {n}");
        assert_eq!(vec.reduce(Operation::Max).unwrap(), host.iter().copied().max().unwrap_or(0), "n = {n}");
        for exclusive in [false, true] {
            let mut total = 0u32;
            let sums = host.iter().map(|&x| {
                let before = total;
                total = total.wrapping_add(x);
                if exclusive { before } else { total }
            });
            let sums: Vec<u32> = sums.collect();
            assert_eq!(vec.scan(Operation::Sum, exclusive).unwrap().to_vec().unwrap(), sums, "n = {n}");
        }
        let mut largest = 0;
        let maxima: Vec<u32> = host
            .iter()
            .map(|&x| {
                largest = x.max(largest);
                largest
            })
            .collect();
        assert_eq!(vec.scan(Operation::Max, false).unwrap().to_vec().unwrap(), maxima, "n = {n}");
        let wide = vec.transform(square, Square).unwrap();
        let want = host.iter().fold(0u64, |sum, &x| sum.wrapping_add(x as u64 * x as u64));
        assert_eq!(wide.reduce(Operation::Sum).unwrap(), want, "n = {n}");
        assert_eq!(wide.scan(Operation::Sum, false).unwrap().to_vec().unwrap().last(), (n > 0).then_some(&want));
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

#[test]
fn values_move_with_their_keys() {
    let engine = Engine::simulator();
    for &n in SIZES {
        let keys: Vec<i32> = (0..n as u32).map(|i| (i.wrapping_mul(0x9E37_79B9) >> 28) as i32 - 8).collect();
        let values: Vec<f32> = (0..n).map(|i| i as f32 * 0.5).collect();
        let mut want: Vec<(i32, f32)> = keys.iter().copied().zip(values.iter().copied()).collect();
        want.sort_by_key(|(key, _)| *key);
        let mut keys = DeviceVec::from_slice(&engine, &keys).unwrap();
        let mut values = DeviceVec::from_slice(&engine, &values).unwrap();
        keys.sort_with(&mut values).unwrap();
        let got: Vec<(i32, f32)> = keys.to_vec().unwrap().into_iter().zip(values.to_vec().unwrap()).collect();
        assert!(got == want && keys.len() == n, "n = {n}");
    }
}

#[test]
fn values_that_cannot_go_along() {
    let (engine, other) = (Engine::simulator(), Engine::simulator());
    let mut keys = DeviceVec::from_slice(&engine, &[3u32, 1, 2]).unwrap();
    let refused = |error: Error, words: &str| {
        assert!(matches!(&error, Error::Usage(text) if text.contains(words)), "{error}");
    };
    let mut few = DeviceVec::from_slice(&engine, &[1u32, 2]).unwrap();
    refused(keys.sort_with(&mut few).unwrap_err(), "3 keys cannot take 2 values");
    let mut elsewhere = DeviceVec::from_slice(&other, &[1u32, 2, 3]).unwrap();
    refused(keys.sort_with(&mut elsewhere).unwrap_err(), "same engine");
    assert_eq!(keys.to_vec().unwrap(), [3, 1, 2]);
}
