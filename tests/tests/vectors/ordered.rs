//! Merges, searches, histograms and small kernels of vectors against the host's, on a GPU where there is one.

use rungs::data::{Distribution, Element};
use rungs::engine::{DeviceChoice, Engine};
use rungs::vec::DeviceVec;
use rungs::vec::histogram::{Divide, MAX_BINS, Outside};
use rungs::vec::moves::Number;
use rungs::vec::ordered::OrderedWord;
use rungs::vec::sorts::{SortKey, SortWord};
use rungs::{Error, Operation};
use rungs_kernels::ordered::{bins, merge};
use rungs_tests::{real, whole};
use simt::{Scalar, bf16, f16};
use std::fmt::Debug;
use std::ops::Range;

/// Sizes around warps and tiles.
const SIZES: &[usize] = &[
    0,
    1,
    2,
    31,
    32,
    33,
    1009,
    bins::TILE as usize - 1,
    bins::TILE as usize,
    bins::TILE as usize + 1,
    merge::TILE as usize - 1,
    merge::TILE as usize,
    merge::TILE as usize + 1,
    20_011,
];

/// A GPU, or else the simulator.
fn engine() -> Engine {
    Engine::open(DeviceChoice::Auto).unwrap()
}

/// Sizes that do not take long.
fn sizes(engine: &Engine) -> Vec<usize> {
    let large = (!engine.is_simulator()).then_some(3_000_017);
    SIZES.iter().copied().chain(large).collect()
}

fn words<T: Element>(keys: &[T]) -> Vec<T::Word> {
    keys.iter().map(|key| key.to_word()).collect()
}

fn sorted<T: Element>(distribution: Distribution, n: usize, seed: u64) -> Vec<T> {
    let mut keys = distribution.keys::<T>(n as u64, seed).unwrap();
    keys.sort_by_key(|key| key.to_word());
    keys
}

fn check_merges<T: Element + Scalar>()
where
    T::Word: OrderedWord,
{
    let engine = engine();
    for n in sizes(&engine) {
        for distribution in [Distribution::Uniform, Distribution::Special, Distribution::Few, Distribution::Equal] {
            for m in [n, n / 3, 0, 2305] {
                let (a, b) = (sorted::<T>(distribution, n, 1), sorted::<T>(distribution, m, 2));
                let (left, right) = [&a, &b].map(|keys| DeviceVec::from_slice(&engine, keys).unwrap()).into();
                let mut both: Vec<(T, u32)> = a.iter().chain(&b).copied().zip(0..).collect();
                both.sort_by_key(|(key, _)| key.to_word());
                let (keys, from): (Vec<T>, Vec<u32>) = both.into_iter().unzip();
                let what = format!("{n} and {m} of {}, {distribution}", T::DTYPE);
                let merged = left.merge(&right).unwrap().to_vec().unwrap();
                assert!(words(&merged) == words(&keys), "{what}");
                check_pairs(&what, (&left, &right), &keys, &from, |i| i as u8);
                check_pairs(&what, (&left, &right), &keys, &from, |i| i as u16);
                check_pairs(&what, (&left, &right), &keys, &from, |i| i as f32);
                check_pairs(&what, (&left, &right), &keys, &from, |i| u64::from(i) << 33);
            }
        }
    }
}

/// Of equal keys, the value says from where each is.
fn check_pairs<T: Element + Scalar, V: Scalar + Debug>(
    what: &str,
    (left, right): (&DeviceVec<T>, &DeviceVec<T>),
    keys: &[T],
    from: &[u32],
    value: fn(u32) -> V,
) where
    T::Word: OrderedWord,
{
    let (engine, n) = (left.engine(), left.len() as u32);
    let of_left = DeviceVec::generate(engine, left.len(), |i| value(i as u32)).unwrap();
    let of_right = DeviceVec::generate(engine, right.len(), |i| value(n + i as u32)).unwrap();
    let (merged, values) = left.merge_with(&of_left, right, &of_right).unwrap();
    assert!(words(&merged.to_vec().unwrap()) == words(keys), "{what}");
    let want: Vec<V> = from.iter().map(|&i| value(i)).collect();
    assert!(values.to_vec().unwrap() == want, "{what}, values of {} bytes", size_of::<V>());
}

#[test]
fn merges_are_stable() {
    check_merges::<u32>();
    check_merges::<f32>();
    check_merges::<i64>();
    check_merges::<f64>();
}

/// Slices begin anywhere.
#[test]
fn slices_are_merged_and_searched() {
    let engine = engine();
    let vec = DeviceVec::from_slice(&engine, &[9u64, 1, 4, 6, 2, 5, 6, 0]).unwrap();
    let (a, b) = (vec.slice(1..4), vec.slice(4..7));
    assert_eq!(a.merge(&b).unwrap().to_vec().unwrap(), [1, 2, 4, 5, 6, 6]);
    assert_eq!(a.lower_bound(&b).unwrap().to_vec().unwrap(), [1, 2, 2]);
    assert_eq!(a.upper_bound(&b).unwrap().to_vec().unwrap(), [1, 2, 3]);
}

#[test]
fn vectors_that_are_not_sorted_give_as_many_elements() {
    let engine = engine();
    for &n in SIZES {
        let keys = DeviceVec::<u32>::random(&engine, n, Distribution::Uniform, 1).unwrap();
        let others = DeviceVec::<u32>::random(&engine, n + 700, Distribution::Reversed, 2).unwrap();
        let merged = keys.merge(&others).unwrap().to_vec().unwrap();
        let mut all = [keys.to_vec().unwrap(), others.to_vec().unwrap()].concat();
        all.sort_unstable();
        assert_eq!(merged.len(), all.len());
        assert!(merged.iter().all(|key| all.binary_search(key).is_ok()));
        let places = keys.lower_bound(&others).unwrap().to_vec().unwrap();
        assert!(places.iter().all(|&place| place as usize <= n));
    }
}

fn check_bounds<T: Element + Scalar>()
where
    T::Word: OrderedWord,
{
    let engine = engine();
    for n in sizes(&engine) {
        for distribution in [Distribution::Uniform, Distribution::Special, Distribution::Few] {
            let keys = sorted::<T>(distribution, n, 1);
            let mut needles = distribution.keys::<T>(500, 2).unwrap();
            needles.extend(T::CORNERS);
            let (of_keys, vec) = (words(&keys), DeviceVec::from_slice(&engine, &keys).unwrap());
            let at = DeviceVec::from_slice(&engine, &needles).unwrap();
            let want = |before: fn(&T::Word, &T::Word) -> bool| -> Vec<u32> {
                let place = |needle: T| of_keys.partition_point(|key| before(key, &needle.to_word())) as u32;
                needles.iter().map(|&needle| place(needle)).collect()
            };
            assert_eq!(vec.lower_bound(&at).unwrap().to_vec().unwrap(), want(|a, b| a < b), "{n} of {}", T::DTYPE);
            assert_eq!(vec.upper_bound(&at).unwrap().to_vec().unwrap(), want(|a, b| a <= b), "{n} of {}", T::DTYPE);
        }
    }
}

#[test]
fn places_of_needles() {
    check_bounds::<u32>();
    check_bounds::<i32>();
    check_bounds::<f32>();
    check_bounds::<u64>();
    check_bounds::<f64>();
}

fn check_small_keys<T: SortKey<Word: SortWord<Wide = u32>>>(word: fn(T) -> u16) {
    let engine = engine();
    for n in sizes(&engine) {
        let keys: Vec<T> =
            (0..n as u64).map(|i| T::from_bits_64(i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40)).collect();
        let mut want: Vec<u16> = keys.iter().map(|&key| word(key)).collect();
        want.sort_unstable();
        let words = |vec: &DeviceVec<T>| -> Vec<u16> { vec.to_vec().unwrap().into_iter().map(word).collect() };
        let mut vec = DeviceVec::from_slice(&engine, &keys).unwrap();
        check_small_pairs(&vec, word);
        // None, some, half, for which the sampled filter gives way, all.
        for k in [0, 1.min(n), n / 16, n / 2, n] {
            let what = format!("{k} of {n} keys of {} bytes", size_of::<T>());
            let largest: Vec<u16> = want.iter().rev().take(k).copied().collect();
            assert!(words(&vec.top_k(k).unwrap()) == largest, "the largest {what}");
            assert!(words(&vec.bottom_k(k).unwrap()) == want[..k], "the smallest {what}");
            if k > 0 {
                assert!(word(vec.nth_element(k - 1).unwrap()) == want[k - 1], "the last of the smallest {what}");
            }
        }
        vec.sort().unwrap();
        assert!(words(&vec) == want, "{n} keys of {} bytes", size_of::<T>());
        vec.sort_descending().unwrap();
        want.reverse();
        assert!(words(&vec) == want, "{n} keys of {} bytes, the largest first", size_of::<T>());
        // A slice that begins anywhere.
        vec.slice_mut(n / 3..).sort().unwrap();
        want[n / 3..].reverse();
        assert!(words(&vec) == want, "a slice of {n} keys of {} bytes", size_of::<T>());
    }
}

/// Places and values against the host's stable sort; there are many equal keys, so most places show the stability.
fn check_small_pairs<T: SortKey<Word: SortWord<Wide = u32>>>(vec: &DeviceVec<T>, word: fn(T) -> u16) {
    let (engine, keys, n) = (vec.engine(), vec.to_vec().unwrap(), vec.len());
    let by = |descending: u16| {
        let mut places: Vec<u32> = (0..n as u32).collect();
        places.sort_by_key(|&i| word(keys[i as usize]) ^ descending);
        places
    };
    for (want, descending) in [(by(0), false), (by(u16::MAX), true)] {
        let places = if descending { vec.argsort_descending() } else { vec.argsort() };
        assert!(places.unwrap().to_vec().unwrap() == want, "places of {n} keys of {} bytes", size_of::<T>());
        // Values of 4 and of 8 bytes; keys and values that begin anywhere, behind ones that must stay.
        let mut along = DeviceVec::generate(engine, n, |i| i as u32).unwrap();
        let mut sorted = vec.duplicate().unwrap();
        let done = if descending { sorted.sort_with_descending(&mut along) } else { sorted.sort_with(&mut along) };
        done.unwrap();
        let moved: Vec<u16> = sorted.to_vec().unwrap().into_iter().map(word).collect();
        assert!(moved == want.iter().map(|&i| word(keys[i as usize])).collect::<Vec<_>>(), "{n} keys with values");
        assert!(along.to_vec().unwrap() == want, "values of {n} keys of {} bytes", size_of::<T>());
    }
    let before = keys.first().copied().unwrap_or_default();
    let mut room = DeviceVec::generate(engine, n + 1, |i| if i == 0 { before } else { keys[i - 1] }).unwrap();
    let mut along = DeviceVec::generate(engine, n + 1, |i| (i as u64).wrapping_sub(1)).unwrap();
    room.slice_mut(1..).sort_with(&mut along.slice_mut(1..)).unwrap();
    let want: Vec<u64> = std::iter::once(u64::MAX).chain(by(0).into_iter().map(u64::from)).collect();
    assert!(along.to_vec().unwrap() == want, "values of a slice of {n} keys");
    assert!(word(room.to_vec().unwrap()[0]) == word(before), "the key before a slice of {n}");
}

#[test]
fn keys_of_8_and_16_bits_are_sorted() {
    check_small_keys::<u8>(u16::from);
    check_small_keys::<u16>(|key| key);
    check_small_keys::<i8>(|key| (i16::from(key) + 128) as u16);
    check_small_keys::<i16>(|key| key as u16 ^ 0x8000);
    check_small_keys::<f16>(Element::to_word);
    check_small_keys::<bf16>(Element::to_word);
    let mut few = DeviceVec::from_slice(&engine(), f16::CORNERS).unwrap();
    few.sort().unwrap();
    assert!(words(&few.to_vec().unwrap()).is_sorted());
}

/// The counts by the definition, with the comparison of numbers.
fn counted<T: Element>(keys: &[T], edges: &[T]) -> (Vec<u32>, Outside) {
    let (mut counts, mut outside) = (vec![0; edges.len() - 1], Outside::default());
    let last = edges[edges.len() - 1];
    for key in keys {
        if key.partial_cmp(key).is_none() {
            outside.nan += 1;
        } else if *key < edges[0] {
            outside.below += 1;
        } else if *key >= last {
            outside.above += 1;
        } else {
            counts[edges.partition_point(|edge| edge <= key) - 1] += 1;
        }
    }
    (counts, outside)
}

/// `edge`: edge i of a number of equal parts.
fn check_histograms<T: Scalar + Divide>(range: Range<T>, edge: fn(&Range<T>, usize, usize) -> T) {
    let engine = engine();
    for n in sizes(&engine) {
        for distribution in [Distribution::Uniform, Distribution::Special, Distribution::Equal, Distribution::Sorted] {
            let keys = distribution.keys::<T>(n as u64, 3).unwrap();
            let vec = DeviceVec::from_slice(&engine, &keys).unwrap();
            for bins in [1, 2, 3, 256, MAX_BINS] {
                let even: Vec<T> = (0..=bins).map(|i| edge(&range, i, bins)).collect();
                assert!(even.is_sorted() && even[0] == range.start && even[bins] == range.end);
                let mut given = Distribution::Uniform.keys::<T>(bins as u64 + 1, 4).unwrap();
                given[bins / 2] = T::from_whole(0);
                given.sort_by_key(|key| key.to_word());
                // An empty bin.
                given[bins - 1] = given[bins];
                let found = vec.histogram_even(bins, range.clone()).unwrap();
                let what = format!("{n} {distribution} of {}, {bins} bins", T::DTYPE);
                assert_eq!(
                    (found.counts().to_vec().unwrap(), found.outside().unwrap()),
                    counted(&keys, &even),
                    "{what}"
                );
                let found = vec.histogram(&given).unwrap();
                assert_eq!(
                    (found.counts().to_vec().unwrap(), found.outside().unwrap()),
                    counted(&keys, &given),
                    "{what}"
                );
                assert_eq!(format!("{found:?}"), format!("Histogram({bins} bins)"));
            }
        }
    }
}

#[test]
fn histograms_count_every_element_once() {
    check_histograms::<u32>(1 << 20..3 << 30, |of, i, parts| whole(of.start, of.end, i, parts) as u32);
    check_histograms::<i32>(-(1 << 30)..1 << 30, |of, i, parts| whole(of.start, of.end, i, parts) as i32);
    check_histograms::<f32>(-0.5..0.75, |of, i, parts| real(of.start, of.end, i, parts) as f32);
    check_histograms::<u64>(0..u64::MAX, |of, i, parts| whole(of.start, of.end, i, parts) as u64);
    check_histograms::<i64>(i64::MIN..i64::MAX, |of, i, parts| whole(of.start, of.end, i, parts) as i64);
    check_histograms::<f64>(-0.9..0.1, |of, i, parts| real(of.start, of.end, i, parts));
}

#[test]
fn zeros_are_equal_and_infinities_outside() {
    let engine = engine();
    let values = [-0.0f32, 0.0, f32::INFINITY, -f32::INFINITY, f32::NAN, -f32::NAN, f32::MAX, -1.0];
    let vec = DeviceVec::from_slice(&engine, &values).unwrap();
    for zero in [0.0, -0.0] {
        let found = vec.histogram(&[-1.0, zero, 1.0]).unwrap();
        assert_eq!(found.counts().to_vec().unwrap(), [1, 2]);
        assert_eq!(found.outside().unwrap(), Outside { below: 1, above: 2, nan: 2 });
    }
    let whole = vec.histogram(&[f32::NEG_INFINITY, f32::INFINITY]).unwrap();
    assert_eq!((whole.counts().to_vec().unwrap(), whole.outside().unwrap().above), (vec![5], 1));
}

#[test]
fn elements_written_by_rule() {
    let engine = engine();
    for n in sizes(&engine) {
        check_moves(&engine, n, |i| i as u8);
        check_moves(&engine, n, |i| i as u16);
        check_moves(&engine, n, |i| i as f32);
        check_moves(&engine, n, |i| i as i64);
        check_numbers::<u32>(&engine, n, 7, u32::MAX, |first, step, i| first.wrapping_add(step.wrapping_mul(i as u32)));
        check_numbers::<i32>(&engine, n, -3, 5, |first, step, i| first + step * i as i32);
        check_numbers::<u64>(&engine, n, 1 << 40, 1 << 33, |first, step, i| first + step * i as u64);
        check_numbers::<i64>(&engine, n, 9, -(1 << 33), |first, step, i| first + step * i as i64);
        check_numbers::<f32>(&engine, n, 0.5, 0.1, |first, step, i| first + step * i as f32);
        check_numbers::<f64>(&engine, n, -1.0, 0.1, |first, step, i| first + step * i as f64);
        let sums = DeviceVec::<u32>::random(&engine, n, Distribution::Uniform, 5).unwrap();
        let differences = sums.adjacent_difference().unwrap();
        assert_eq!(differences.scan(Operation::Sum, false).unwrap().to_vec().unwrap(), sums.to_vec().unwrap());
    }
}

fn check_moves<T: Scalar + Debug>(engine: &Engine, n: usize, value: fn(usize) -> T) {
    let mut vec = DeviceVec::generate(engine, n, value).unwrap();
    // A permutation, and places that do not exist.
    let place = |i: usize| (i * 7919 + 13) % n;
    let places = DeviceVec::generate(engine, n, |i| place(i) as u32).unwrap();
    if !n.is_multiple_of(7919) || n == 0 {
        let mut moved = DeviceVec::filled(engine, n, value(77)).unwrap();
        vec.scatter(&places, &mut moved).unwrap();
        assert_eq!(moved.gather(&places).unwrap().to_vec().unwrap(), vec.to_vec().unwrap());
        let mut want = vec![value(77); n / 2];
        (0..n).filter(|&i| place(i) < n / 2).for_each(|i| want[place(i)] = value(i));
        let mut surrounded = DeviceVec::filled(engine, n + 9, value(78)).unwrap();
        surrounded.slice_mut(4..4 + n / 2).fill(value(77)).unwrap();
        vec.scatter(&places, &mut surrounded.slice_mut(4..4 + n / 2)).unwrap();
        let all = surrounded.to_vec().unwrap();
        assert_eq!(all[4..4 + n / 2], want);
        assert!(all[..4].iter().chain(&all[4 + n / 2..]).all(|&x| x == value(78)), "outside");
    }
    vec.reverse().unwrap();
    assert_eq!(vec.to_vec().unwrap(), (0..n).rev().map(value).collect::<Vec<T>>());
    // A part alone.
    vec.slice_mut(n / 3..).reverse().unwrap();
    let want: Vec<T> = (n - n / 3..n).rev().chain(0..n - n / 3).map(value).collect();
    assert_eq!(vec.to_vec().unwrap(), want);
}

fn check_numbers<T: Number + Element>(engine: &Engine, n: usize, first: T, step: T, value: fn(T, T, usize) -> T) {
    let vec = DeviceVec::iota(engine, n, first, step).unwrap();
    let want: Vec<T> = (0..n).map(|i| value(first, step, i)).collect();
    assert_eq!(vec.to_vec().unwrap(), want, "{n} of {}", T::DTYPE);
}

#[test]
fn differences_of_all_types() {
    let engine = engine();
    let of = |vec: DeviceVec<f32>| vec.adjacent_difference().unwrap().to_vec().unwrap();
    assert_eq!(of(DeviceVec::from_slice(&engine, &[1.5, 1.0, 4.0]).unwrap()), [1.5, -0.5, 3.0]);
    let of = |vec: DeviceVec<f64>| vec.adjacent_difference().unwrap().to_vec().unwrap();
    assert_eq!(of(DeviceVec::from_slice(&engine, &[1.5, 1.0, 4.0]).unwrap()), [1.5, -0.5, 3.0]);
    let of = |vec: DeviceVec<i32>| vec.adjacent_difference().unwrap().to_vec().unwrap();
    assert_eq!(of(DeviceVec::from_slice(&engine, &[i32::MIN, 1, -4]).unwrap()), [i32::MIN, i32::MIN + 1, -5]);
    let of = |vec: DeviceVec<u64>| vec.adjacent_difference().unwrap().to_vec().unwrap();
    assert_eq!(of(DeviceVec::from_slice(&engine, &[1 << 40, 1]).unwrap()), [1 << 40, 1u64.wrapping_sub(1 << 40)]);
}

#[test]
fn what_does_not_go_together_is_refused() {
    let engine = engine();
    let mut vec = DeviceVec::from_slice(&engine, &[1.0f32, 2.0, 3.0]).unwrap();
    let elsewhere = DeviceVec::from_slice(&Engine::simulator(), &[1.0f32, 2.0]).unwrap();
    let refused = |result: Result<(), Error>, words: &str| {
        let Err(Error::Usage(why)) = result else { panic!("{result:?}") };
        assert!(why.contains(words), "{why}");
    };
    refused(vec.merge(&elsewhere).map(drop), "the same engine");
    refused(vec.lower_bound(&elsewhere).map(drop), "the same engine");
    let few = DeviceVec::from_slice(&engine, &[1u32, 2]).unwrap();
    refused(vec.merge_with(&few, &vec, &few).map(drop), "3 elements cannot take 2 values");
    refused(vec.scatter(&few, &mut DeviceVec::uninit(&engine, 3).unwrap()), "3 elements cannot take 2 places");
    refused(vec.histogram(&[1.0]).map(drop), "0 bins");
    refused(vec.histogram_even(0, 0.0..1.0).map(drop), "0 bins");
    refused(vec.histogram_even(MAX_BINS + 1, 0.0..1.0).map(drop), "4097 bins");
    refused(vec.histogram_even(5000, 0.0..1.0).map(drop), "5000 bins");
    refused(vec.histogram(&[1.0, 2.0, 0.5]).map(drop), "edges 2.0 and 0.5 do not ascend");
    refused(vec.histogram(&[f32::NAN, f32::NAN]).map(drop), "do not ascend");
    refused(vec.histogram_even(4, 1.0..0.0).map(drop), "from 1.0 to 0.0 cannot be divided");
    refused(vec.histogram_even(4, f32::NEG_INFINITY..0.0).map(drop), "its width must be finite");
    refused(vec.histogram_even(4, 0.0..f32::NAN).map(drop), "cannot be divided");
    vec.reverse().unwrap();
    assert_eq!(vec.to_vec().unwrap(), [3.0, 2.0, 1.0]);
}
