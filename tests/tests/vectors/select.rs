//! Selections, partitions and runs of vectors against the host's, on a GPU where there is one; those by a functor of
//! this file on the simulator, which needs no PTX of it.

use rungs::data::{Distribution, Element};
use rungs::engine::{DeviceChoice, Engine};
use rungs::vec::DeviceVec;
use rungs::vec::select::{Combines, SelectWord};
use rungs::{Error, Operation};
use rungs_kernels::selections::{BLOCK, compact};
use rungs_kernels::transform::Functor;
use simt::{Global, Scalar, kernel};
use std::ops::{Bound, RangeBounds};

/// Sizes around tiles of 2816 and 4096.
const SIZES: &[usize] = &[0, 1, 2, 33, 1009, 2815, 2817, 4095, 4096, 4097, 20_011];

/// A GPU, or else the simulator.
fn engine() -> Engine {
    Engine::open(DeviceChoice::Auto).unwrap()
}

/// Sizes that do not take long.
fn sizes(engine: &Engine) -> Vec<usize> {
    let large = (!engine.is_simulator()).then_some(3_000_017);
    SIZES.iter().copied().chain(large).collect()
}

/// Whether a number is odd.
#[simt::argument]
#[derive(Clone, Copy)]
pub struct Odd;

impl Functor<u32> for Odd {
    type Out = bool;

    #[simt::device]
    fn call(&self, x: u32) -> bool {
        x % 2 == 1
    }
}

#[kernel(max_threads = BLOCK)]
pub fn odd(
    input: Global<u32>,
    limit: Global<u32>,
    output: Global<u32>,
    count: Global<u32>,
    workspace: Global<u64>,
    test: Odd,
) {
    compact::select(input, limit, output, count, workspace, compact::If(test))
}

#[kernel(max_threads = BLOCK)]
#[allow(clippy::too_many_arguments, reason = "views")]
pub fn odd_and_even(
    input: Global<u32>,
    limit: Global<u32>,
    output: Global<u32>,
    count: Global<u32>,
    rest: Global<u32>,
    rest_count: Global<u32>,
    workspace: Global<u64>,
    test: Odd,
) {
    compact::partition(input, limit, output, count, rest, rest_count, workspace, compact::If(test))
}

/// The bits, which tell NaN from NaN.
fn bits<T: Scalar>(elements: &[T]) -> Vec<u64> {
    elements.iter().map(|x| x.to_bits_64()).collect()
}

/// Whether an element is in a range of the total order.
fn is_in<T: Element>(range: &impl RangeBounds<T>, x: T) -> bool {
    let above = match range.start_bound() {
        Bound::Included(low) => low.to_word() <= x.to_word(),
        Bound::Excluded(low) => low.to_word() < x.to_word(),
        Bound::Unbounded => true,
    };
    let below = match range.end_bound() {
        Bound::Included(high) => x.to_word() <= high.to_word(),
        Bound::Excluded(high) => x.to_word() < high.to_word(),
        Bound::Unbounded => true,
    };
    above && below
}

fn check_range<T: Element + Scalar>(engine: &Engine, data: &[T], range: impl RangeBounds<T> + Clone)
where
    T::Word: SelectWord,
{
    let vec = DeviceVec::from_slice(engine, data).unwrap();
    let (kept, others): (Vec<T>, Vec<T>) = data.iter().partition(|&&x| is_in(&range, x));
    let what = format!("{} elements, {:?} to {:?}", data.len(), range.start_bound(), range.end_bound());
    let selected = vec.select_between(range.clone()).unwrap();
    assert_eq!(selected.count().unwrap(), kept.len(), "{what}");
    assert_eq!(bits(&selected.to_vec().unwrap()), bits(&kept), "{what}");
    let (low, high) = vec.partition_between(range).unwrap();
    assert_eq!(bits(&low.to_vec().unwrap()), bits(&kept), "{what}");
    assert_eq!(bits(&high.to_vec().unwrap()), bits(&others), "{what}");
    assert_eq!(high.to_device_vec().unwrap().len(), others.len());
    assert_eq!(bits(&vec.to_vec().unwrap()), bits(data), "{what}: changed");
}

fn check_ranges<T: Element + Scalar>()
where
    T::Word: SelectWord,
{
    let engine = engine();
    for n in sizes(&engine) {
        for distribution in [Distribution::Uniform, Distribution::Special, Distribution::Few] {
            let data = distribution.keys::<T>(n as u64, 7).unwrap();
            let [a, b] = [1, 3].map(|quarter| T::at(quarter << 62));
            check_range(&engine, &data, a..b);
            check_range(&engine, &data, a..=b);
            check_range(&engine, &data, ..a);
            check_range(&engine, &data, b..);
            check_range(&engine, &data, ..);
            check_range(&engine, &data, b..a);
            check_range(&engine, &data, (Bound::Excluded(a), Bound::Excluded(b)));
        }
    }
    // The ends of the order: nothing is outside them.
    let ends = [T::CORNERS, &[T::at(0), T::at(u64::MAX)]].concat();
    for &end in &ends {
        check_range(&engine, &ends, (Bound::Excluded(end), Bound::Unbounded));
        check_range(&engine, &ends, ..end);
        check_range(&engine, &ends, end..=end);
    }
}

#[test]
fn elements_between_bounds() {
    check_ranges::<u32>();
    check_ranges::<i32>();
    check_ranges::<f32>();
    check_ranges::<u64>();
    check_ranges::<i64>();
    check_ranges::<f64>();
}

#[test]
fn the_place_of_nan_is_that_of_the_total_order() {
    let engine = engine();
    let vec = DeviceVec::from_slice(&engine, &[f32::NAN, -0.0, 0.0, 1.0, -f32::NAN, f32::INFINITY]).unwrap();
    let of = |range: (Bound<f32>, Bound<f32>)| vec.select_between(range).unwrap().count().unwrap();
    assert_eq!(of((Bound::Included(0.0), Bound::Unbounded)), 4);
    assert_eq!(of((Bound::Included(0.0), Bound::Included(f32::INFINITY))), 3);
    assert_eq!(of((Bound::Included(-0.0), Bound::Included(f32::INFINITY))), 4);
    assert_eq!(of((Bound::Unbounded, Bound::Excluded(-0.0))), 1);
}

#[test]
fn elements_by_flags() {
    let engine = engine();
    for n in sizes(&engine) {
        let data = Distribution::Uniform.keys::<u32>(n as u64, 3).unwrap();
        let (odds, evens): (Vec<u32>, Vec<u32>) = data.iter().partition(|&&x| x % 2 == 1);
        let vec = DeviceVec::from_slice(&engine, &data).unwrap();
        let flags = DeviceVec::generate(&engine, n, |i| (data[i] % 2) as u8 * 128).unwrap();
        assert_eq!(vec.select_flagged(&flags).unwrap().to_vec().unwrap(), odds);
        let (kept, rest) = vec.partition_flagged(&flags).unwrap();
        assert_eq!((kept.to_vec().unwrap(), rest.to_vec().unwrap()), (odds.clone(), evens));
        // Bytes and doubles move as well.
        let doubles = DeviceVec::generate(&engine, n, |i| data[i] as f64).unwrap();
        let of_doubles: Vec<f64> = odds.iter().map(|&x| x as f64).collect();
        assert_eq!(doubles.select_flagged(&flags).unwrap().to_vec().unwrap(), of_doubles);
        let bytes = flags.select_flagged(&flags).unwrap().to_vec().unwrap();
        assert_eq!(bytes, vec![128; odds.len()]);
    }
}

#[test]
fn elements_by_a_functor() {
    let engine = Engine::simulator();
    for &n in SIZES {
        let data = Distribution::Uniform.keys::<u32>(n as u64, 3).unwrap();
        let (odds, evens): (Vec<u32>, Vec<u32>) = data.iter().partition(|&&x| x % 2 == 1);
        let vec = DeviceVec::from_slice(&engine, &data).unwrap();
        assert_eq!(vec.select_if(odd, Odd).unwrap().to_vec().unwrap(), odds);
        let (kept, rest) = vec.partition_if(odd_and_even, Odd).unwrap();
        assert_eq!((kept.to_vec().unwrap(), rest.to_vec().unwrap()), (odds, evens));
    }
}

fn runs<K: Scalar, V: Copy>(keys: &[K], values: &[V], combine: impl Fn(V, V) -> V) -> (Vec<u64>, Vec<V>) {
    let (mut unique, mut sums): (Vec<u64>, Vec<V>) = (vec![], vec![]);
    for (key, &value) in bits(keys).into_iter().zip(values) {
        match sums.last_mut() {
            Some(sum) if unique.last() == Some(&key) => *sum = combine(*sum, value),
            _ => {
                unique.push(key);
                sums.push(value);
            }
        }
    }
    (unique, sums)
}

fn check_runs<K: Element + Scalar>()
where
    K::Word: SelectWord + Combines<i64> + Combines<f32> + Combines<u32>,
{
    let engine = engine();
    for n in sizes(&engine) {
        for distribution in [Distribution::Equal, Distribution::Two, Distribution::Special, Distribution::Uniform] {
            let mut keys = distribution.keys::<K>(n as u64, 5).unwrap();
            keys.sort_by_key(|key| key.to_word());
            let vec = DeviceVec::from_slice(&engine, &keys).unwrap();
            let (unique, lengths) = runs(&keys, &vec![1u32; n], |a, b| a + b);
            assert_eq!(bits(&vec.unique().unwrap().to_vec().unwrap()), unique);
            let (got, of_runs) = vec.run_lengths().unwrap();
            assert_eq!((bits(&got.to_vec().unwrap()), of_runs.to_vec().unwrap()), (unique.clone(), lengths));
            let values: Vec<i64> = (0..n as i64).map(|i| i * 0x1_0000_0001 - 5000).collect();
            let of_device = DeviceVec::from_slice(&engine, &values).unwrap();
            let (got, firsts) = vec.unique_by_key(&of_device).unwrap();
            let first_values = runs(&keys, &values, |first, _| first).1;
            assert_eq!((bits(&got.to_vec().unwrap()), firsts.to_vec().unwrap()), (unique.clone(), first_values));
            for operation in Operation::ALL {
                let combine: fn(i64, i64) -> i64 = match operation {
                    Operation::Sum => i64::wrapping_add,
                    Operation::Min => |a, b| a.min(b),
                    Operation::Max => |a, b| a.max(b),
                };
                let (got, sums) = vec.reduce_by_key(&of_device, operation).unwrap();
                assert_eq!(bits(&got.to_vec().unwrap()), unique);
                assert_eq!(sums.to_vec().unwrap(), runs(&keys, &values, combine).1, "{}", operation.name());
            }
            let floats: Vec<f32> = (0..n).map(|i| (i % 9) as f32).collect();
            let sums = vec.reduce_by_key(&DeviceVec::from_slice(&engine, &floats).unwrap(), Operation::Sum).unwrap().1;
            assert_eq!(sums.to_vec().unwrap(), runs(&keys, &floats, |a, b| a + b).1);
        }
    }
}

#[test]
fn runs_of_equal_keys() {
    check_runs::<u32>();
    check_runs::<f32>();
    check_runs::<i64>();
    check_runs::<f64>();
}

#[test]
fn a_chain_knows_its_length_on_the_device_alone() {
    let engine = Engine::simulator();
    for n in [0u32, 1, 5000, 20_000] {
        let vec = DeviceVec::generate(&engine, n as usize, |i| i as u32 / 3).unwrap();
        let chain = vec.select_between(100..5000).unwrap().select_if(odd, Odd).unwrap();
        let want: Vec<u32> = (0..n).map(|i| i / 3).filter(|x| (100..5000).contains(x) && x % 2 == 1).collect();
        assert_eq!(chain.to_vec().unwrap(), want);
        let (unique, lengths) = chain.run_lengths().unwrap();
        let (keys, counts) = runs(&want, &vec![1; want.len()], |a, b| a + b);
        assert_eq!((bits(&unique.to_vec().unwrap()), lengths.to_vec().unwrap()), (keys, counts));
        assert_eq!(unique.count().unwrap(), chain.unique().unwrap().count().unwrap());
        let places = DeviceVec::generate(&engine, n as usize, |i| i as u8).unwrap();
        let (firsts, first_places) = chain.unique_by_key(&places).unwrap();
        let with_places: Vec<u8> = (0..want.len()).map(|i| i as u8).collect();
        let (keys, of_keys) = runs(&want, &with_places, |first, _| first);
        assert_eq!((bits(&firsts.to_vec().unwrap()), first_places.to_vec().unwrap()), (keys, of_keys));
        let (few, others) = unique.partition_between(..1000).unwrap();
        assert_eq!(few.count().unwrap() + others.count().unwrap(), unique.count().unwrap());
    }
}

#[test]
fn what_does_not_go_together_is_refused() {
    let engine = engine();
    let vec = DeviceVec::from_slice(&engine, &[1u32, 2, 3]).unwrap();
    let refused = |result: Result<(), Error>, words: &str| {
        let Err(Error::Usage(why)) = result else { panic!("{result:?}") };
        assert!(why.contains(words), "{why}");
    };
    let few = DeviceVec::from_slice(&engine, &[1u8, 0]).unwrap();
    refused(vec.select_flagged(&few).map(drop), "3 elements cannot take 2 flags");
    refused(vec.partition_flagged(&few).map(drop), "3 elements cannot take 2 flags");
    let many = DeviceVec::from_slice(&engine, &[1.0f64; 4]).unwrap();
    refused(vec.reduce_by_key(&many, Operation::Sum).map(drop), "3 elements cannot take 4 values");
    refused(vec.unique_by_key(&many).map(drop), "3 elements cannot take 4 values");
    let elsewhere = DeviceVec::from_slice(&Engine::simulator(), &[1u8, 0, 1]).unwrap();
    refused(vec.select_flagged(&elsewhere).map(drop), "the same engine");
}
