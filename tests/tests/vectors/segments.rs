//! Segments of vectors against the standard library, on a GPU where there is one.

use rungs::data::{Distribution, Element};
use rungs::engine::{DeviceChoice, Engine};
use rungs::keys::KeyWord;
use rungs::vec::DeviceVec;
use rungs::vec::segments::SegmentPlaces;
use rungs::vec::select::Combines;
use rungs::{Error, Operation};
use rungs_kernels::ladder::reduce::{Reduce, Reduces};
use rungs_kernels::segments::reduce::SegmentReduces;
use simt::Scalar;

/// The bits, which tell NaN from NaN.
fn bits<T: Scalar>(elements: &[T]) -> Vec<u64> {
    elements.iter().map(|x| x.to_bits_64()).collect()
}

/// Offsets of segments of these lengths, behind three elements that are in none.
fn offsets(lens: &[u32]) -> Vec<u32> {
    lens.iter().fold(vec![3], |mut offsets, len| {
        offsets.push(offsets[offsets.len() - 1] + len);
        offsets
    })
}

/// Around what a lane, a warp and a block sort, and one that is cut.
fn lens(engine: &Engine) -> Vec<u32> {
    let large = if engine.is_simulator() { 8193 } else { 3_000_017 };
    vec![0, 1, 2, 7, 8, 9, 0, 31, 32, 33, 127, 128, 129, 1009, 1024, 1025, large, 0, 5]
}

/// The order of the elements after a stable sort of each segment.
fn places<T: Element>(data: &[T], offsets: &[u32], descending: bool) -> Vec<u32> {
    let mut places: Vec<u32> = (0..data.len() as u32).collect();
    for pair in offsets.windows(2) {
        let segment = &mut places[pair[0] as usize..pair[1] as usize];
        segment.sort_by(|&a, &b| {
            let (a, b) = (data[a as usize].to_word(), data[b as usize].to_word());
            if descending { b.cmp(&a) } else { a.cmp(&b) }
        });
    }
    places
}

fn check<T: Element + Scalar>(distribution: Distribution)
where
    T::Word: KeyWord + SegmentPlaces,
{
    let engine = Engine::open(DeviceChoice::Auto).unwrap();
    let at = offsets(&lens(&engine));
    let n = at[at.len() - 1] as usize + 2;
    let data = distribution.keys::<T>(n as u64, 5).unwrap();
    let offsets = DeviceVec::from_slice(&engine, &at).unwrap();
    let (narrow, wide): (Vec<u32>, Vec<u64>) = (0..n).map(|i| (!(i as u32), i as u64 * 3)).unzip();
    for descending in [false, true] {
        let what = format!("{distribution:?} of {:?}, descending {descending}", T::DTYPE);
        let want = places(&data, &at, descending);
        let of = |i: &u32| data[*i as usize];
        let sorted: Vec<T> = want.iter().map(of).collect();
        let mut keys = DeviceVec::from_slice(&engine, &data).unwrap();
        if descending {
            keys.segmented_sort_descending(&offsets).unwrap();
        } else {
            keys.segmented_sort(&offsets).unwrap();
        }
        let unsorted = DeviceVec::from_slice(&engine, &data).unwrap();
        let argsort = if descending { DeviceVec::segmented_argsort_descending } else { DeviceVec::segmented_argsort };
        assert!(argsort(&unsorted, &offsets).unwrap().to_vec().unwrap() == want, "places, {what}");
        assert!(bits(&unsorted.to_vec().unwrap()) == bits(&data), "changed, {what}");
        assert!(bits(&keys.to_vec().unwrap()) == bits(&sorted), "{what}");
        let mut keys = DeviceVec::from_slice(&engine, &data).unwrap();
        let mut values = DeviceVec::from_slice(&engine, &narrow).unwrap();
        let mut others = DeviceVec::from_slice(&engine, &wide).unwrap();
        let mut again = keys.duplicate().unwrap();
        if descending {
            keys.segmented_sort_with_descending(&offsets, &mut values).unwrap();
            again.segmented_sort_with_descending(&offsets, &mut others).unwrap();
        } else {
            keys.segmented_sort_with(&offsets, &mut values).unwrap();
            again.segmented_sort_with(&offsets, &mut others).unwrap();
        }
        for keys in [keys, again] {
            assert!(bits(&keys.to_vec().unwrap()) == bits(&sorted), "with values, {what}");
        }
        let (values, others) = (values.to_vec().unwrap(), others.to_vec().unwrap());
        assert!(want.iter().zip(values).all(|(&i, value)| narrow[i as usize] == value), "values, {what}");
        assert!(want.iter().zip(others).all(|(&i, value)| wide[i as usize] == value), "wide values, {what}");
    }
}

#[test]
fn keys_of_32_bits() {
    check::<u32>(Distribution::Uniform);
    check::<i32>(Distribution::Few);
    check::<f32>(Distribution::Special);
}

#[test]
fn keys_of_64_bits() {
    check::<u64>(Distribution::Few);
    check::<i64>(Distribution::Uniform);
    check::<f64>(Distribution::Special);
}

fn check_reduce<T: Element + SegmentReduces>(of: impl Fn(u32) -> T)
where
    dyn Reduce: Reduces<T>,
{
    let engine = Engine::open(DeviceChoice::Auto).unwrap();
    let at = offsets(&lens(&engine));
    // Small whole numbers: sums are exact in any order.
    let data: Vec<T> = (0..at[at.len() - 1] + 2).map(|i| of(i.wrapping_mul(2_654_435_761) >> 27)).collect();
    let (input, offsets) =
        (DeviceVec::from_slice(&engine, &data).unwrap(), DeviceVec::from_slice(&engine, &at).unwrap());
    for operation in Operation::ALL {
        let got = input.segmented_reduce(&offsets, operation).unwrap().to_vec().unwrap();
        assert_eq!(got.len(), at.len() - 1);
        for (got, pair) in got.iter().zip(at.windows(2)) {
            let segment = DeviceVec::from_slice(&engine, &data[pair[0] as usize..pair[1] as usize]).unwrap();
            let want = segment.reduce(operation).unwrap();
            assert_eq!(bits(&[*got]), bits(&[want]), "{operation:?} of {} of {:?}", segment.len(), T::DTYPE);
        }
    }
}

#[test]
fn reductions() {
    check_reduce(|x| x);
    check_reduce(|x| x as i32 - 9);
    check_reduce(|x| x as f32 - 9.0);
    check_reduce(u64::from);
    check_reduce(|x| i64::from(x) - 9);
    check_reduce(|x| f64::from(x) - 9.0);
}

/// An operation, its neutral element, and what it does to two elements.
type Combination<T> = (Operation, T, fn(T, T) -> T);

fn check_scan<T: Element + Scalar>(of: impl Fn(u32) -> T, operations: &[Combination<T>])
where
    u32: Combines<T>,
{
    let engine = Engine::open(DeviceChoice::Auto).unwrap();
    // Three elements before the first segment and two behind the last.
    for at in [offsets(&lens(&engine)), vec![3; 9], vec![0, 0, 5], vec![]] {
        let n = at.last().map_or(7, |last| last + 2);
        let data: Vec<T> = (0..n).map(|i| of(i.wrapping_mul(2_654_435_761) >> 27)).collect();
        let input = DeviceVec::from_slice(&engine, &data).unwrap();
        let offsets = DeviceVec::from_slice(&engine, &at).unwrap();
        for &(operation, identity, combine) in operations {
            let mut all = identity;
            let running: Vec<[T; 2]> = data
                .iter()
                .enumerate()
                .map(|(i, &x)| {
                    let before = if at.contains(&(i as u32)) { identity } else { all };
                    all = combine(before, x);
                    [all, before]
                })
                .collect();
            for exclusive in [false, true] {
                let got = input.segmented_scan(&offsets, operation, exclusive).unwrap().to_vec().unwrap();
                let want: Vec<T> = running.iter().map(|both| both[usize::from(exclusive)]).collect();
                assert!(bits(&got) == bits(&want), "{operation:?} of {n} of {:?}, exclusive {exclusive}", T::DTYPE);
            }
        }
    }
}

#[test]
fn scans() {
    check_scan(|x| x, &[(Operation::Sum, 0, u32::wrapping_add), (Operation::Min, u32::MAX, u32::min)]);
    check_scan(|x| (x % 3) as f32 - 1.0, &[(Operation::Sum, 0.0, |a, b| a + b)]);
    check_scan(|x| i64::from(x) - 9, &[(Operation::Max, i64::MIN, i64::max)]);
}

#[test]
fn a_scan_refuses_wrong_offsets() {
    let engine = Engine::open(DeviceChoice::Auto).unwrap();
    let input = DeviceVec::from_slice(&engine, &[1u32; 5000]).unwrap();
    for at in [vec![0, 7, 6], vec![4000, 3999, 5000], vec![0, 5001], vec![u32::MAX], vec![1, 5000, 4999, 5000]] {
        let offsets = DeviceVec::from_slice(&engine, &at).unwrap();
        let error = input.segmented_scan(&offsets, Operation::Sum, false).map(drop).unwrap_err();
        assert!(matches!(&error, Error::Usage(why) if why.contains("must not descend")), "{at:?}: {error}");
    }
    let elsewhere = DeviceVec::from_slice(&Engine::simulator(), &[0u32, 5]).unwrap();
    let error = input.segmented_scan(&elsewhere, Operation::Sum, false).map(drop).unwrap_err();
    assert!(error.to_string().contains("same engine"), "{error}");
}

/// What belongs to a slice is changed in the vector that it is of.
#[test]
fn segments_of_slices() {
    let engine = Engine::open(DeviceChoice::Auto).unwrap();
    let offsets = DeviceVec::from_slice(&engine, &[0u32, 3, 5]).unwrap();
    // Keys of 4 bytes move with their values, others by their places.
    let mut narrow = DeviceVec::from_slice(&engine, &[7u32, 9, 8, 3, 2, 1, 0]).unwrap();
    let mut wide = DeviceVec::from_slice(&engine, &[7u64, 9, 8, 3, 2, 1, 0]).unwrap();
    let mut values = DeviceVec::from_slice(&engine, &[10u32, 11, 12, 13, 14, 15, 16]).unwrap();
    let mut others = values.duplicate().unwrap();
    narrow.slice_mut(1..6).segmented_sort_with(&offsets, &mut values.slice_mut(2..)).unwrap();
    wide.slice_mut(1..6).segmented_sort_with(&offsets, &mut others.slice_mut(2..)).unwrap();
    assert_eq!(narrow.to_vec().unwrap(), [7, 3, 8, 9, 1, 2, 0]);
    assert_eq!(wide.to_vec().unwrap(), [7, 3, 8, 9, 1, 2, 0]);
    for values in [values, others] {
        assert_eq!(values.to_vec().unwrap(), [10, 11, 14, 13, 12, 16, 15]);
    }
}

#[test]
fn nothing_to_sort() {
    let engine = Engine::open(DeviceChoice::Auto).unwrap();
    for at in [vec![], vec![0], vec![0, 0, 0], vec![2, 2], vec![7, 9, u32::MAX]] {
        let offsets = DeviceVec::from_slice(&engine, &at).unwrap();
        for data in [vec![], vec![3.5f32], vec![9.0, -1.0, 2.0]] {
            let mut keys = DeviceVec::from_slice(&engine, &data).unwrap();
            keys.segmented_sort(&offsets).unwrap();
            assert_eq!(keys.to_vec().unwrap(), data, "{at:?}");
            let mut values = DeviceVec::from_slice(&engine, &data).unwrap();
            keys.segmented_sort_with(&offsets, &mut values).unwrap();
            assert_eq!(values.to_vec().unwrap(), data, "{at:?}");
        }
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let (engine, other) = (Engine::simulator(), Engine::simulator());
    let vec = |engine: &Engine, data: &[u32]| DeviceVec::from_slice(engine, data).unwrap();
    let (mut keys, offsets) = (vec(&engine, &[2, 1]), vec(&engine, &[0, 2]));
    let refusals = [
        keys.segmented_sort(&vec(&other, &[0, 2])),
        keys.segmented_sort_with(&vec(&other, &[0, 2]), &mut vec(&engine, &[1, 2])),
        keys.segmented_sort_with(&offsets, &mut vec(&other, &[1, 2])),
        keys.segmented_sort_with(&offsets, &mut vec(&engine, &[1, 2, 3])),
    ];
    for (i, refusal) in refusals.into_iter().enumerate() {
        assert!(matches!(refusal, Err(Error::Usage(_))), "refusal {i}");
    }
    assert_eq!(keys.to_vec().unwrap(), [2, 1]);
}
