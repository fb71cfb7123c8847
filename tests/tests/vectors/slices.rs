//! Slices of vectors, and copies into vectors that exist, on a GPU where there is one.

use rungs::data::{Distribution, Element};
use rungs::engine::{DeviceChoice, Engine, PinnedVec};
use rungs::keys::KeyWord;
use rungs::vec::DeviceVec;
use rungs::vec::places::PlaceWord;
use rungs::{Error, Operation};
use rungs_kernels::order::{Greater, Order};
use rungs_kernels::sort_kernels;
use simt::Scalar;
use std::mem;
use std::panic::catch_unwind;

/// Lengths of the slices.
const SIZES: &[usize] = &[0, 1, 2, 31, 32, 33, 1009, 4095, 4096, 4097];

/// Elements before a slice: the second is at a multiple of 16 bytes for no type, the last for all.
const STARTS: &[usize] = &[0, 1, 3, 16];

sort_kernels!(mod greater: <u32, Greater>);

/// A GPU, or else the simulator.
fn engine() -> Engine {
    Engine::open(DeviceChoice::Auto).unwrap()
}

/// Calls `check` with keys, and the begin and end of a slice that others surround.
fn for_slices<T: Element>(mut check: impl FnMut(&[T], usize, usize)) {
    for &n in SIZES {
        for &start in STARTS {
            let keys = Distribution::Special.keys::<T>((start + n + 5) as u64, 11).unwrap();
            check(&keys, start, start + n);
        }
    }
}

fn words<T: Element>(keys: &[T]) -> Vec<T::Word> {
    keys.iter().map(|key| key.to_word()).collect()
}

fn slices_are_sorted<T: Element + Scalar>()
where
    T::Word: KeyWord + PlaceWord,
{
    let engine = engine();
    for_slices::<T>(|keys, start, end| {
        let mut want = words(keys);
        want[start..end].sort_unstable();
        let mut vec = DeviceVec::from_slice(&engine, keys).unwrap();
        vec.slice_mut(start..end).sort().unwrap();
        assert_eq!(words(&vec.to_vec().unwrap()), want, "{} at {start}..{end}", T::DTYPE);
        vec.slice_mut(start..end).sort_descending().unwrap();
        want[start..end].reverse();
        assert_eq!(words(&vec.to_vec().unwrap()), want, "{} at {start}..{end}", T::DTYPE);
        pairs_are_sorted::<T, u32>(&engine, keys, start, end, |i| i as u32);
        pairs_are_sorted::<T, u64>(&engine, keys, start, end, |i| (i as u64) << 33);
    });
}

/// Keys of a slice with values of another one, which begins elsewhere.
fn pairs_are_sorted<T: Element + Scalar, V: Scalar + PartialEq + std::fmt::Debug>(
    engine: &Engine,
    keys: &[T],
    start: usize,
    end: usize,
    value: fn(usize) -> V,
) where
    T::Word: PlaceWord,
{
    let values: Vec<V> = (0..=keys.len()).map(value).collect();
    let mut places: Vec<usize> = (start..end).collect();
    places.sort_by_key(|&i| keys[i].to_word());
    let (mut of_keys, mut of_values) = (words(keys), values.clone());
    for (i, &place) in places.iter().enumerate() {
        of_keys[start + i] = keys[place].to_word();
        of_values[start + 1 + i] = values[place + 1];
    }
    let mut keys = DeviceVec::from_slice(engine, keys).unwrap();
    let mut values = DeviceVec::from_slice(engine, &values).unwrap();
    keys.slice_mut(start..end).sort_with(&mut values.slice_mut(start + 1..=end)).unwrap();
    assert_eq!(words(&keys.to_vec().unwrap()), of_keys, "{} at {start}..{end}", T::DTYPE);
    assert_eq!(values.to_vec().unwrap(), of_values, "{} at {start}..{end}", T::DTYPE);
}

#[test]
fn a_sort_of_a_slice_leaves_the_others_alone() {
    slices_are_sorted::<u32>();
    slices_are_sorted::<f32>();
    slices_are_sorted::<i64>();
    slices_are_sorted::<f64>();
}

/// On the simulator: a GPU would need PTX of this file's kernels.
#[test]
fn slices_are_sorted_by_an_order_of_ones_own() {
    let engine = Engine::simulator();
    for_slices::<u32>(|keys, start, end| {
        let mut want = keys.to_vec();
        want[start..end].sort_by(|a, b| b.cmp(a));
        let mut vec = DeviceVec::from_slice(&engine, keys).unwrap();
        vec.slice_mut(start..end).sort_by(greater::Kernels, Greater).unwrap();
        assert_eq!(vec.to_vec().unwrap(), want);
        let mut vec = DeviceVec::from_slice(&engine, keys).unwrap();
        vec.slice_mut(start..end).stable_sort_by(greater::Kernels, Greater).unwrap();
        assert_eq!(vec.to_vec().unwrap(), want);
    });
    assert!(Greater.before(2u32, 1));
}

#[test]
fn slices_are_reduced_scanned_and_selected_from() {
    let engine = engine();
    for_slices::<u32>(|keys, start, end| {
        let vec = DeviceVec::from_slice(&engine, keys).unwrap();
        let (slice, part) = (vec.slice(start..end), &keys[start..end]);
        let sum = |of: &[u32]| of.iter().fold(0, |sum: u32, &x| sum.wrapping_add(x));
        let sums: Vec<u32> = (0..part.len()).map(|i| sum(&part[..i])).collect();
        assert_eq!(slice.reduce(Operation::Sum).unwrap(), sum(part));
        assert_eq!(slice.scan(Operation::Sum, true).unwrap().to_vec().unwrap(), sums);
        let few: Vec<u32> = part.iter().copied().filter(|&x| x < 1 << 30).collect();
        assert_eq!(slice.select_between(..1 << 30).unwrap().to_vec().unwrap(), few);
        let (unique, _) = slice.run_lengths().unwrap();
        let mut runs = part.to_vec();
        runs.dedup();
        assert_eq!(unique.to_vec().unwrap(), runs);
        let mut sorted = part.to_vec();
        sorted.sort_unstable_by(|a, b| b.cmp(a));
        let k = part.len() / 3;
        assert_eq!(slice.top_k(k).unwrap().to_vec().unwrap(), sorted[..k]);
        let places = slice.argsort_descending().unwrap();
        assert_eq!(slice.gather(&places).unwrap().to_vec().unwrap(), sorted);
    });
}

#[test]
fn slices_of_slices_and_both_halves() {
    let engine = engine();
    let mut vec = DeviceVec::generate(&engine, 100, |i| i as u16).unwrap();
    let slice = vec.slice(10..90);
    assert_eq!(slice.slice(5..=6).to_vec().unwrap(), [15, 16]);
    assert_eq!((slice.slice(..0).len(), slice.slice(80..).is_empty(), slice.slice(..).len()), (0, true, 80));
    assert_eq!(slice.view().as_ptr(), slice.as_ptr());
    assert_eq!(slice.as_ptr(), vec.as_ptr().wrapping_add(10));
    let (low, high) = slice.split_at(30);
    assert_eq!((low.to_vec().unwrap().len(), high.to_vec().unwrap()[0]), (30, 40));
    let (mut low, mut high) = vec.split_at_mut(50);
    low.copy_from(&high).unwrap();
    high.slice_mut(..2).copy_from_slice(&[7, 8]).unwrap();
    let want: Vec<u16> = (50..100).chain([7, 8]).chain(52..100).collect();
    assert_eq!(vec.to_vec().unwrap(), want);
    use std::ops::Bound::{Excluded, Included, Unbounded};
    let most = usize::MAX;
    for places in [
        (Included(3), Excluded(2)),
        (Included(0), Excluded(101)),
        (Included(101), Excluded(101)),
        (Included(0), Included(most)),
        (Excluded(most), Unbounded),
    ] {
        let refused = catch_unwind(std::panic::AssertUnwindSafe(|| vec.slice(places).len()));
        assert!(refused.unwrap_err().downcast_ref::<String>().unwrap().contains("of a vector of 100"));
    }
}

/// Safe code can move a slice out of its borrow; the memory stays then.
#[test]
fn a_slice_that_is_moved_out_keeps_its_memory() {
    let engine = engine();
    let mut vec = DeviceVec::from_slice(&engine, &[1u64, 2, 3]).unwrap();
    let mut moved = DeviceVec::from_slice(&engine, &[9u64; 2]).unwrap();
    mem::swap(&mut *vec.slice_mut(1..), &mut moved);
    drop(vec);
    let _others = DeviceVec::from_slice(&engine, &[0u64; 3]).unwrap();
    assert_eq!(moved.to_vec().unwrap(), [2, 3]);
    moved.sort_descending().unwrap();
    assert_eq!(moved.to_vec().unwrap(), [3, 2]);
}

#[test]
fn copies_into_vectors_that_exist() {
    let engine = engine();
    for &n in SIZES {
        let data: Vec<f64> = (0..n).map(|i| i as f64 - 0.5).collect();
        let mut vec = DeviceVec::from_slice(&engine, &vec![-1.0; n + 2]).unwrap();
        let address = vec.as_ptr();
        vec.slice_mut(1..=n).copy_from_slice(&data).unwrap();
        let mut got = vec![9.0; n + 2];
        vec.copy_to_slice(&mut got).unwrap();
        assert_eq!((got[0], &got[1..=n], got[n + 1]), (-1.0, &data[..], -1.0));
        let mut other = DeviceVec::uninit(&engine, n).unwrap();
        other.copy_from(&vec.slice(1..=n)).unwrap();
        assert_eq!(other.to_vec().unwrap(), data);
        // Page-locked memory, and copies that are waited for later.
        let there = PinnedVec::from_slice(&engine, &data[..n / 2]).unwrap();
        let copy = vec.slice_mut(n - n / 2..n).start_copy_from(there).unwrap();
        let back = vec.slice(n - n / 2..n).start_copy_to(PinnedVec::zeros(&engine, n / 2).unwrap()).unwrap();
        assert_eq!(back.wait().unwrap()[..], data[..n / 2]);
        let mut there = copy.wait().unwrap();
        assert_eq!(there[..], data[..n / 2]);
        // A copy that nobody waits for.
        there.fill(4.0);
        drop(other.slice_mut(..n / 2).start_copy_from(there).unwrap());
        let want: Vec<f64> = data.iter().enumerate().map(|(i, &x)| if i < n / 2 { 4.0 } else { x }).collect();
        assert_eq!((other.to_vec().unwrap(), vec.as_ptr()), (want, address));
    }
}

#[test]
fn copies_that_do_not_fit_are_refused() {
    let (engine, other) = (engine(), Engine::simulator());
    let mut vec = DeviceVec::from_slice(&engine, &[1u32, 2, 3]).unwrap();
    let refused = |result: Result<(), Error>, words: &str| {
        let Err(Error::Usage(why)) = result else { panic!("{result:?}") };
        assert!(why.contains(words), "{why}");
    };
    refused(vec.copy_from_slice(&[1, 2]), "a vector of 3 elements is not copied from or to 2");
    refused(vec.copy_to_slice(&mut [0; 4]), "not copied from or to 4");
    refused(vec.start_copy_from(PinnedVec::zeros(&engine, 2).unwrap()).map(drop), "not copied from or to 2");
    refused(vec.start_copy_to(PinnedVec::zeros(&engine, 4).unwrap()).map(drop), "not copied from or to 4");
    let error = PinnedVec::<u64>::zeros(&other, usize::MAX).map(drop).unwrap_err();
    assert!(matches!(error, Error::OutOfMemory { .. }), "{error}");
    let elsewhere = DeviceVec::from_slice(&other, &[4u32, 5, 6]).unwrap();
    refused(vec.copy_from(&elsewhere), "one engine");
    refused(vec.copy_from(&elsewhere.slice(1..)), "not copied from or to 2");
    assert_eq!(vec.to_vec().unwrap(), [1, 2, 3]);
}

#[test]
fn debug_says_what_it_is_and_copies_nothing() {
    let engine = Engine::simulator();
    let vec = DeviceVec::from_slice(&engine, &[1u32, 2, 3]).unwrap();
    let (text, copies) = engine.record(|| Ok(format!("{vec:?} {:?}", vec.slice(1..)))).unwrap();
    assert_eq!(text, "DeviceVec<u32>(3 elements on simulator) DeviceVec<u32>(2 elements on simulator)");
    assert!(copies.is_empty());
    let selected = format!("{:?}", vec.select_between(2..).unwrap());
    assert_eq!(selected, "Selected(of DeviceVec<u32>(3 elements on simulator))");
    assert_eq!(format!("{:?}", PinnedVec::from_slice(&engine, &[1u8, 2]).unwrap()), "[1, 2]");
}

/// Page-locked memory passes from thread to thread; each has an engine of its own.
#[test]
fn threads_have_an_engine_each() {
    let sorted = std::thread::scope(|scope| {
        let sorts = [5u32, 9].map(|seed| {
            scope.spawn(move || {
                let engine = engine();
                let mut keys = DeviceVec::<u32>::random(&engine, 5000, Distribution::Uniform, seed.into()).unwrap();
                keys.sort().unwrap();
                keys.start_copy_to(PinnedVec::zeros(&engine, 5000).unwrap()).unwrap().wait().unwrap()
            })
        });
        sorts.map(|sort| sort.join().unwrap())
    });
    assert!(sorted.iter().all(|keys| keys.is_sorted() && keys[0] < keys[4999]));
    assert_ne!(sorted[0][..], sorted[1][..]);
}
