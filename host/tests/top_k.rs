//! The largest and smallest elements of vectors on the simulator, against the standard library's sort.

use rungs::Error;
use rungs::data::{Distribution, Element};
use rungs::engine::Engine;
use rungs::keys::KeyWord;
use rungs::vec::DeviceVec;
use rungs_kernels::selections::sampled::Selects;
use simt::Scalar;

/// The bits, which tell NaN from NaN.
fn bits<T: Scalar>(elements: &[T]) -> Vec<u64> {
    elements.iter().map(|x| x.to_bits_64()).collect()
}

fn check<T: Element + Scalar>(engine: &Engine, distribution: Distribution, n: usize)
where
    T::Word: KeyWord + Selects,
{
    let data = distribution.keys::<T>(n as u64, 11).unwrap();
    let mut sorted = data.clone();
    sorted.sort_unstable_by_key(|x| x.to_word());
    let vec = DeviceVec::from_slice(engine, &data).unwrap();
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
        if k > 0 {
            assert_eq!(bits(&[vec.nth_element(k - 1).unwrap()]), bits(&sorted[k - 1..k]), "number {what}");
        }
    }
    assert_eq!(bits(&vec.to_vec().unwrap()), bits(&data), "changed");
}

/// Keys of a type that one launch selects from.
fn check_few<T: Element + Scalar>()
where
    T::Word: KeyWord + Selects,
{
    let engine = Engine::simulator();
    for distribution in [Distribution::Uniform, Distribution::Special, Distribution::Few] {
        for n in [0, 1, 2, 33, 1009] {
            check::<T>(&engine, distribution, n);
        }
    }
}

#[test]
fn of_few_elements() {
    check_few::<u32>();
    check_few::<i32>();
    check_few::<f32>();
    check_few::<u64>();
    check_few::<i64>();
    check_few::<f64>();
}

#[test]
fn of_many_elements() {
    let engine = Engine::simulator();
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
    refused(vec.nth_element(3).map(drop), "3 elements have no place 3");
}
