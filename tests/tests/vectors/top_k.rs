//! The largest and smallest elements of vectors, and their places, against the standard library's sort; on a GPU where
//! there is one.

use rungs::Error;
use rungs::data::{Distribution, Element};
use rungs::engine::{DeviceChoice, Engine};
use rungs::vec::DeviceVec;
use rungs::vec::ordered::OrderedWord;
use rungs::vec::places::PlaceWord;
use rungs_kernels::selections::sampled::Selects;
use simt::Scalar;

/// A GPU, or else the simulator.
fn engine() -> Engine {
    Engine::open(DeviceChoice::Auto).unwrap()
}

/// The bits, which tell NaN from NaN.
fn bits<T: Scalar>(elements: &[T]) -> Vec<u64> {
    elements.iter().map(|x| x.to_bits_64()).collect()
}

fn check<T: Element + Scalar>(engine: &Engine, distribution: Distribution, n: usize)
where
    T::Word: Selects + OrderedWord + PlaceWord,
{
    let data = distribution.keys::<T>(n as u64, 11).unwrap();
    let mut sorted = data.clone();
    sorted.sort_unstable_by_key(|x| x.to_word());
    let [mut smallest_first, mut largest_first] = [(); 2].map(|()| (0..n as u32).collect::<Vec<_>>());
    smallest_first.sort_by_key(|&i| data[i as usize].to_word());
    largest_first.sort_by_key(|&i| std::cmp::Reverse(data[i as usize].to_word()));
    let vec = DeviceVec::from_slice(engine, &data).unwrap();
    let values = DeviceVec::generate(engine, n, |i| (i as u64) << 32 | 7).unwrap();
    let mut ks = vec![0, 1, 10, n / 2, n];
    ks.retain(|&k| k <= n);
    ks.dedup();
    for k in ks {
        let what = format!("{} of {n}, {distribution:?}", k);
        let largest: Vec<T> = sorted.iter().rev().take(k).copied().collect();
        assert_eq!(bits(&vec.top_k(k).unwrap().to_vec().unwrap()), bits(&largest), "the largest {what}");
        assert_eq!(bits(&vec.bottom_k(k).unwrap().to_vec().unwrap()), bits(&sorted[..k]), "the smallest {what}");
        let mut unsorted = vec.top_k_unsorted(k).unwrap().to_vec().unwrap();
        unsorted.sort_unstable_by_key(|x| std::cmp::Reverse(x.to_word()));
        assert_eq!(bits(&unsorted), bits(&largest), "the largest {what}, in any order");
        let mut unsorted = vec.bottom_k_unsorted(k).unwrap().to_vec().unwrap();
        unsorted.sort_unstable_by_key(|x| x.to_word());
        assert_eq!(bits(&unsorted), bits(&sorted[..k]), "the smallest {what}, in any order");
        // The first of a stable sort.
        for (places, order) in [(vec.arg_top_k(k), &largest_first), (vec.arg_bottom_k(k), &smallest_first)] {
            assert_eq!(places.unwrap().to_vec().unwrap(), order[..k], "places, {what}");
        }
        let along = |order: &[u32]| order[..k].iter().map(|&i| u64::from(i) << 32 | 7).collect::<Vec<_>>();
        let (keys, of_keys) = vec.top_k_with(&values, k).unwrap();
        assert_eq!(bits(&keys.to_vec().unwrap()), bits(&largest), "with values, the largest {what}");
        assert_eq!(of_keys.to_vec().unwrap(), along(&largest_first), "values of the largest {what}");
        let (keys, of_keys) = vec.bottom_k_with(&values, k).unwrap();
        assert_eq!(bits(&keys.to_vec().unwrap()), bits(&sorted[..k]), "with values, the smallest {what}");
        assert_eq!(of_keys.to_vec().unwrap(), along(&smallest_first), "values of the smallest {what}");
        if k > 0 {
            assert_eq!(bits(&[vec.nth_element(k - 1).unwrap()]), bits(&sorted[k - 1..k]), "number {what}");
        }
    }
    assert_eq!(bits(&vec.to_vec().unwrap()), bits(&data), "changed");
}

/// Keys of a type that one launch selects from: every size of uniform ones, and of the others the sizes around a warp
/// and the largest.
fn check_few<T: Element + Scalar>(others: &[Distribution])
where
    T::Word: Selects + OrderedWord + PlaceWord,
{
    let engine = engine();
    for n in [0, 1, 2, 31, 32, 33, 1009] {
        check::<T>(&engine, Distribution::Uniform, n);
    }
    for (&distribution, n) in others.iter().flat_map(|other| [(other, 33), (other, 1009)]) {
        check::<T>(&engine, distribution, n);
    }
}

#[test]
fn of_few_elements() {
    use Distribution::{Equal, Few, Sorted, Special};
    check_few::<u32>(&[Few, Equal, Sorted]);
    check_few::<i32>(&[Special]);
    check_few::<f32>(&[Special, Few]);
    check_few::<u64>(&[Few, Equal, Sorted]);
    check_few::<i64>(&[Special]);
    check_few::<f64>(&[Special, Few]);
}

#[test]
fn of_many_elements() {
    let engine = engine();
    check::<f32>(&engine, Distribution::Special, 40_009);
    check::<i64>(&engine, Distribution::Uniform, 40_009);
}

#[test]
fn more_than_there_are_is_refused() {
    let vec = DeviceVec::from_slice(&Engine::simulator(), &[1u32, 2, 3]).unwrap();
    let refused = |result: Result<(), Error>, words: &str| {
        let Err(Error::Usage(why)) = result else { panic!("{result:?}") };
        assert!(why.contains(words), "{why}");
    };
    refused(vec.top_k(4).map(drop), "the 4 largest of 3 elements");
    refused(vec.top_k_unsorted(usize::MAX).map(drop), "k is at most 3");
    refused(vec.bottom_k(4).map(drop), "the 4 smallest of 3 elements");
    refused(vec.bottom_k_unsorted(5).map(drop), "k is at most 3");
    refused(vec.arg_top_k(4).map(drop), "the 4 largest of 3 elements");
    refused(vec.arg_bottom_k(4).map(drop), "the 4 smallest of 3 elements");
    let values = DeviceVec::from_slice(vec.engine(), &[1.0f64; 3]).unwrap();
    refused(vec.top_k_with(&values, 4).map(drop), "k is at most 3");
    refused(vec.bottom_k_with(&values, 4).map(drop), "k is at most 3");
    refused(vec.top_k_with(&values.slice(..2), 1).map(drop), "3 elements cannot take 2 values");
    let elsewhere = DeviceVec::from_slice(&Engine::simulator(), &[1u8; 3]).unwrap();
    refused(vec.bottom_k_with(&elsewhere, 1).map(drop), "the same engine");
    refused(vec.nth_element(3).map(drop), "3 elements have no place 3");
}
