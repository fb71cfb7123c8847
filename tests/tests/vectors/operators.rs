//! Vectors reduced and scanned by an operator, multiplied, their extremes, and scans by key, against the host's; on a
//! GPU where there is one.

use rungs::data::{Distribution, Element};
use rungs::engine::{DeviceChoice, Engine};
use rungs::keys::KeyWord;
use rungs::vec::DeviceVec;
use rungs::vec::operators::ExtremeWord;
use rungs::vec::select::Combines;
use rungs::{Error, Operation};
use rungs_kernels::operator::Operator;
use rungs_kernels::selections::operators::{Compose, compose_f32, compose_u32};
use simt::{Pair, Scalar};

/// Sizes around packs, warps and the tiles and turns of all kernels, and primes.
const SIZES: &[usize] = &[0, 1, 2, 31, 32, 33, 255, 256, 257, 1009, 2815, 2816, 2817, 3839, 3840, 3841, 20_011];

/// A GPU, or else the simulator.
fn engine() -> Engine {
    Engine::open(DeviceChoice::Auto).unwrap()
}

/// Sizes that do not take long.
fn sizes(engine: &Engine) -> Vec<usize> {
    let large = [3_000_017, 16_777_259];
    let large = if engine.is_simulator() { &[][..] } else { &large };
    SIZES.iter().chain(large).copied().collect()
}

/// The bits, which tell NaN from NaN.
fn bits<T: Scalar>(elements: &[T]) -> Vec<u64> {
    elements.iter().map(|x| x.to_bits_64()).collect()
}

/// Numbers that look random.
fn word(i: u64) -> u32 {
    ((i + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 29) as u32
}

#[test]
fn maps_are_composed_in_their_order() {
    let engine = engine();
    for n in sizes(&engine) {
        let data: Vec<_> = (0..n as u64).map(|i| Pair(word(i) | 1, word(i + 77))).collect();
        let maps = DeviceVec::from_slice(&engine, &data).unwrap();
        let mut all = Compose::IDENTITY;
        let step = |&map: &Pair<u32, u32>| {
            let before = all;
            all = Compose::combine(all, map);
            (before, all)
        };
        let (before, after): (Vec<_>, Vec<_>) = data.iter().map(step).unzip();
        assert_eq!(maps.reduce_with(compose_u32::Kernels).unwrap(), all, "{n}");
        let scan = |exclusive| maps.scan_with(compose_u32::Kernels, exclusive).unwrap().to_vec().unwrap();
        assert!(scan(false) == after, "{n}");
        assert!(scan(true) == before, "{n}, exclusive");
        assert!(maps.to_vec().unwrap() == data, "{n}: changed");
    }
}

/// The recurrence x = x / 2 + b: each scanned map gives its x.
#[test]
fn a_recurrence_of_floats_is_a_scan() {
    let engine = engine();
    let data: Vec<_> = (0..5000u64).map(|i| Pair(0.5f32, (word(i) % 100) as f32)).collect();
    let maps = DeviceVec::from_slice(&engine, &data).unwrap();
    let mut x = 3.0f64;
    for (Pair(_, b), Pair(factor, summand)) in
        data.iter().zip(maps.scan_with(compose_f32::Kernels, false).unwrap().to_vec().unwrap())
    {
        x = 0.5 * x + f64::from(*b);
        let got = f64::from(factor) * 3.0 + f64::from(summand);
        assert!((got - x).abs() <= 1e-5 * x.max(1.0), "{got}, not {x}");
    }
}

fn check_extremes<T: Element + Scalar>(engine: &Engine)
where
    T::Word: ExtremeWord,
{
    for n in sizes(engine) {
        for distribution in [Distribution::Uniform, Distribution::Special, Distribution::Few] {
            let data = distribution.keys::<T>(n as u64, 3).unwrap();
            let vec = DeviceVec::from_slice(engine, &data).unwrap();
            let what = format!("{n} of {}, {distribution:?}", std::any::type_name::<T>());
            // Both find the first of equal elements.
            let least = (0..n).min_by_key(|&i| data[i].to_word());
            let greatest = (0..n).min_by_key(|&i| std::cmp::Reverse(data[i].to_word()));
            assert_eq!(vec.arg_min().unwrap(), least, "{what}");
            assert_eq!(vec.arg_max().unwrap(), greatest, "{what}");
            let both = vec.min_max().unwrap().map(|(low, high)| bits(&[low, high]));
            assert_eq!(both, least.zip(greatest).map(|(i, j)| bits(&[data[i], data[j]])), "{what}");
        }
    }
}

#[test]
fn extremes_and_their_places() {
    let engine = engine();
    check_extremes::<u32>(&engine);
    check_extremes::<i32>(&engine);
    check_extremes::<f32>(&engine);
    check_extremes::<u64>(&engine);
    check_extremes::<i64>(&engine);
    check_extremes::<f64>(&engine);
}

#[test]
fn nan_is_where_a_sort_puts_it() {
    let engine = engine();
    let vec = |data: &[f32]| DeviceVec::from_slice(&engine, data).unwrap();
    let with_nan = vec(&[1.0, f32::NAN, f32::NEG_INFINITY, f32::INFINITY, f32::NAN, -0.0, 0.0]);
    assert_eq!((with_nan.arg_min().unwrap(), with_nan.arg_max().unwrap()), (Some(2), Some(1)));
    let negative = vec(&[1.0, f32::NEG_INFINITY, -f32::NAN, f32::INFINITY]);
    assert_eq!((negative.arg_min().unwrap(), negative.arg_max().unwrap()), (Some(2), Some(3)));
    let zeros = vec(&[0.0, -0.0, 0.0]);
    assert_eq!((zeros.arg_min().unwrap(), zeros.arg_max().unwrap()), (Some(1), Some(0)));
    let (least, greatest) = zeros.min_max().unwrap().unwrap();
    assert!(least.is_sign_negative() && greatest.is_sign_positive());
}

#[test]
fn products() {
    let engine = engine();
    for n in sizes(&engine) {
        // Odd numbers, whose product is never 0, and few factors of 2, whose product a float holds exactly.
        let odd: Vec<u64> = (0..n as u64).map(|i| u64::from(word(i)) << 20 | 1).collect();
        let want = odd.iter().fold(1u64, |a, &b| a.wrapping_mul(b));
        assert_eq!(DeviceVec::from_slice(&engine, &odd).unwrap().product().unwrap(), want, "{n}");
        let narrow: Vec<i32> = odd.iter().map(|&x| (x >> 19) as i32 | 1).collect();
        let want = narrow.iter().fold(1i32, |a, &b| a.wrapping_mul(b));
        assert_eq!(DeviceVec::from_slice(&engine, &narrow).unwrap().product().unwrap(), want, "{n}");
        let floats: Vec<f32> = (0..n).map(|i| [1.0, -1.0, 2.0, 0.5][if i < 40 { i % 4 } else { i % 2 }]).collect();
        let want: f32 = floats.iter().product();
        assert_eq!(DeviceVec::from_slice(&engine, &floats).unwrap().product().unwrap(), want, "{n}");
    }
}

fn check_by_key<K: Element + Scalar, V: Element + Scalar>(engine: &Engine, operation: Operation, add: fn(V, V) -> V)
where
    K::Word: KeyWord + Combines<V>,
{
    for n in sizes(engine) {
        for run in [1, 3, 700, n.max(1)] {
            let keys: Vec<K> = (0..n).map(|i| K::from_whole((i / run % 100) as i32)).collect();
            let values: Vec<V> = (0..n as u64).map(|i| V::from_whole((word(i) % 50) as i32)).collect();
            let (of_keys, of_values) =
                (DeviceVec::from_slice(engine, &keys).unwrap(), DeviceVec::from_slice(engine, &values).unwrap());
            let got = of_keys.scan_by_key(&of_values, operation, false).unwrap().to_vec().unwrap();
            let before = of_keys.scan_by_key(&of_values, operation, true).unwrap().to_vec().unwrap();
            let what = format!("{operation:?} of {n}, runs of {run}");
            let mut all = V::from_whole(0);
            for i in 0..n {
                let first = i % run == 0;
                if !first {
                    assert_eq!(bits(&[before[i]]), bits(&[all]), "{what}, place {i}, exclusive");
                } else if i > 0 {
                    // The identity, whatever it is: the same at each beginning.
                    assert_eq!(bits(&[before[i]]), bits(&[before[0]]), "{what}, place {i}, exclusive");
                }
                all = if first { values[i] } else { add(all, values[i]) };
                assert_eq!(bits(&[got[i]]), bits(&[all]), "{what}, place {i}");
            }
        }
    }
}

#[test]
fn scans_inside_runs() {
    let engine = engine();
    check_by_key::<u32, u32>(&engine, Operation::Sum, |a, b| a.wrapping_add(b));
    check_by_key::<i64, i32>(&engine, Operation::Min, |a, b| a.min(b));
    check_by_key::<f32, u64>(&engine, Operation::Max, |a, b| a.max(b));
    // The greatest run has 20,011 or 16,777,259 values below 50: exact in a double.
    check_by_key::<f64, f64>(&engine, Operation::Sum, |a, b| a + b);
    let keys = DeviceVec::from_slice(&engine, &[1u32, 1, 2]).unwrap();
    let values = DeviceVec::from_slice(&engine, &[5i32, 6, 7]).unwrap();
    let exclusive = |operation| keys.scan_by_key(&values, operation, true).unwrap().to_vec().unwrap();
    assert_eq!(exclusive(Operation::Sum), [0, 5, 0]);
    assert_eq!(exclusive(Operation::Min), [i32::MAX, 5, i32::MAX]);
}

#[test]
fn values_that_do_not_go_with_the_keys_are_refused() {
    let engine = engine();
    let keys = DeviceVec::from_slice(&engine, &[1u32, 2, 3]).unwrap();
    let few = DeviceVec::from_slice(&engine, &[1.0f32, 2.0]).unwrap();
    let error = keys.scan_by_key(&few, Operation::Sum, false).map(drop).unwrap_err();
    assert!(matches!(error, Error::Usage(_)), "{error}");
    let elsewhere = DeviceVec::from_slice(&Engine::simulator(), &[1.0f32, 2.0, 3.0]).unwrap();
    let error = keys.scan_by_key(&elsewhere, Operation::Sum, false).map(drop).unwrap_err();
    assert!(matches!(error, Error::Usage(_)), "{error}");
}
