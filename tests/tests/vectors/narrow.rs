//! Keys of 8 and 16 bits, which kernels take as words of 32 bits, against the host's; on a GPU where there is one.

use rungs::engine::{DeviceChoice, Engine};
use rungs::vec::DeviceVec;
use rungs::vec::sorts::{SortKey, SortWord};
use rungs::{Error, Operation};
use simt::{bf16, f16, sim};
use std::ops::Bound::{Excluded, Included, Unbounded};
use std::ops::{Bound, RangeBounds};

/// Sizes around warps and the tiles of selections and runs, and primes.
const SIZES: &[usize] = &[0, 1, 2, 31, 32, 33, 1009, 2815, 2816, 2817, 4097];

/// Keys whose order their words show.
trait Small: SortKey<Word: SortWord<Wide = u32>> {
    /// The word that sorts among unsigned ones as the key does among keys.
    fn word(self) -> u16;
}

macro_rules! small {
    ($($T:ty: |$key:ident| $word:expr;)*) => {$(
        impl Small for $T {
            fn word(self) -> u16 {
                let $key = self;
                $word
            }
        }
    )*};
}

/// The IEEE total order.
fn of_float(bits: u16) -> u16 {
    if bits >> 15 == 1 { !bits } else { bits | 0x8000 }
}

small! {
    u8: |key| key.into();
    i8: |key| (key as u8 ^ 0x80).into();
    u16: |key| key;
    i16: |key| key as u16 ^ 0x8000;
    f16: |key| of_float(key.to_bits());
    bf16: |key| of_float(key.to_bits());
}

fn words<T: Small>(keys: &[T]) -> Vec<u16> {
    keys.iter().map(|key| key.word()).collect()
}

fn of<T: Small>(vec: &DeviceVec<T>) -> Vec<u16> {
    words(&vec.to_vec().unwrap())
}

/// Keys of all bits, NaN and -0.0 among them; few; equal ones; and sorted.
fn inputs<T: Small>(n: usize) -> [Vec<T>; 4] {
    let drawn = |i: usize| (i as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
    let keys = |bits: &dyn Fn(usize) -> u64| (0..n).map(|i| T::from_bits_64(bits(i))).collect::<Vec<T>>();
    // The sign bit alone is -0.0, or the least number.
    let sign = 1 << (8 * size_of::<T>() - 1);
    let mut sorted = keys(&drawn);
    sorted.sort_by_key(|key| key.word());
    [keys(&drawn), keys(&|i| drawn(i) % 2 * sign), keys(&|_| sign - 1), sorted]
}

/// Calls `check` with an engine and all inputs of all sizes.
fn for_inputs<T: Small>(check: impl Fn(&Engine, &[T])) {
    let engine = Engine::open(DeviceChoice::Auto).unwrap();
    let large = (!engine.is_simulator()).then_some(3_000_017);
    for n in SIZES.iter().copied().chain(large) {
        inputs::<T>(n).iter().for_each(|keys| check(&engine, keys));
    }
}

/// Whether a word is in a range of keys.
fn is_in<T: Small>(range: (Bound<T>, Bound<T>), word: u16) -> bool {
    let bound = |bound: Bound<T>| bound.map(|key| key.word());
    (bound(range.0), bound(range.1)).contains(&word)
}

fn check_selections<T: Small>() {
    let key = |bits: u64| T::from_bits_64(bits);
    // The least and the greatest word, and two between, of floats -1.0 and 1.0 or so.
    let mut all: Vec<T> = (0..1 << (8 * size_of::<T>())).map(key).collect();
    all.sort_by_key(|key| key.word());
    let [least, a, b, greatest] = [0, all.len() / 4, all.len() / 4 * 3, all.len() - 1].map(|i| all[i]);
    for_inputs::<T>(|engine, keys| {
        let vec = DeviceVec::from_slice(engine, keys).unwrap();
        for range in [
            (Included(a), Excluded(b)),
            (Excluded(a), Included(b)),
            (Unbounded, Excluded(a)),
            (Included(b), Unbounded),
            (Unbounded, Unbounded),
            (Included(b), Excluded(a)),
            (Excluded(greatest), Unbounded),
            (Unbounded, Excluded(least)),
            (Included(greatest), Included(greatest)),
            (Excluded(least), Excluded(greatest)),
        ] {
            let (kept, others): (Vec<u16>, Vec<u16>) = words(keys).iter().partition(|&&word| is_in(range, word));
            let selected = vec.select_between(range).unwrap();
            assert_eq!(selected.count().unwrap(), kept.len(), "{} of {} bytes", keys.len(), size_of::<T>());
            assert!(words(&selected.to_vec().unwrap()) == kept, "{} of {} bytes", keys.len(), size_of::<T>());
            let (low, high) = vec.partition_between(range).unwrap();
            assert!(words(&low.to_vec().unwrap()) == kept, "{} of {} bytes", keys.len(), size_of::<T>());
            assert!(words(&high.to_vec().unwrap()) == others, "{} of {} bytes", keys.len(), size_of::<T>());
            // A number that only the device knows.
            let again = selected.select_between(range).unwrap();
            assert!(words(&again.to_vec().unwrap()) == kept, "{} of {} bytes", keys.len(), size_of::<T>());
        }
        assert!(of(&vec) == words(keys), "changed");
    });
}

#[test]
fn keys_are_selected_by_bounds() {
    check_selections::<u8>();
    check_selections::<i8>();
    check_selections::<u16>();
    check_selections::<i16>();
    check_selections::<f16>();
    check_selections::<bf16>();
}

fn check_runs<T: Small>() {
    for_inputs::<T>(|engine, keys| {
        let (n, vec) = (keys.len(), DeviceVec::from_slice(engine, keys).unwrap());
        let values: Vec<i64> = (0..n as i64).map(|i| i * 0x1_0000_0001 - 5000).collect();
        let of_values = DeviceVec::from_slice(engine, &values).unwrap();
        let (mut unique, mut lengths, mut firsts, mut sums, mut running) = (vec![], vec![], vec![], vec![], vec![]);
        for run in words(keys).chunk_by(|a, b| a == b) {
            let (start, mut sum) = (running.len(), 0i64);
            for value in &values[start..start + run.len()] {
                running.push(sum);
                sum = sum.wrapping_add(*value);
            }
            unique.push(run[0]);
            lengths.push(run.len() as u32);
            firsts.push(values[start]);
            sums.push(sum);
        }
        let what = format!("{n} of {} bytes", size_of::<T>());
        let (got, of_runs) = vec.run_lengths().unwrap();
        assert!(words(&got.to_vec().unwrap()) == unique, "{what}");
        assert_eq!(of_runs.to_vec().unwrap(), lengths, "{what}");
        let (got, of_runs) = vec.reduce_by_key(&of_values, Operation::Sum).unwrap();
        assert!(words(&got.to_vec().unwrap()) == unique, "{what}");
        assert_eq!(of_runs.to_vec().unwrap(), sums, "{what}");
        let (got, of_runs) = vec.unique_by_key(&of_values).unwrap();
        assert!(words(&got.to_vec().unwrap()) == unique, "{what}");
        assert_eq!(of_runs.to_vec().unwrap(), firsts, "{what}");
        let before = vec.scan_by_key(&of_values, Operation::Sum, true).unwrap();
        assert_eq!(before.to_vec().unwrap(), running, "{what}");
    });
}

#[test]
fn runs_of_keys_are_combined() {
    check_runs::<u8>();
    check_runs::<i16>();
    check_runs::<f16>();
    check_runs::<bf16>();
}

fn check_order<T: Small>() {
    for_inputs::<T>(|engine, keys| {
        let (n, vec) = (keys.len(), DeviceVec::from_slice(engine, keys).unwrap());
        let what = format!("{n} of {} bytes", size_of::<T>());
        let mut places: Vec<u32> = (0..n as u32).collect();
        places.sort_by_key(|&i| keys[i as usize].word());
        let ascending: Vec<T> = places.iter().map(|&i| keys[i as usize]).collect();
        places.sort_by_key(|&i| (!keys[i as usize].word(), i));
        let k = n.min(7);
        assert_eq!(vec.arg_top_k(k).unwrap().to_vec().unwrap(), places[..k], "{what}");
        assert_eq!(vec.arg_max().unwrap(), places.first().map(|&i| i as usize), "{what}");
        places.sort_by_key(|&i| (keys[i as usize].word(), i));
        assert_eq!(vec.arg_bottom_k(k).unwrap().to_vec().unwrap(), places[..k], "{what}");
        assert_eq!(vec.arg_min().unwrap(), places.first().map(|&i| i as usize), "{what}");
        let both = vec.min_max().unwrap().map(|(low, high)| (low.word(), high.word()));
        assert_eq!(both, ascending.first().zip(ascending.last()).map(|(a, b)| (a.word(), b.word())), "{what}");

        // Merged with every third of them, and found among them.
        let third: Vec<T> = ascending.iter().copied().step_by(3).collect();
        let (low, high) =
            (DeviceVec::from_slice(engine, &ascending).unwrap(), DeviceVec::from_slice(engine, &third).unwrap());
        let mut all: Vec<(u16, u8)> = words(&ascending).into_iter().map(|word| (word, 0)).collect();
        all.extend(words(&third).into_iter().map(|word| (word, 1)));
        all.sort_unstable();
        let (all, from): (Vec<u16>, Vec<u8>) = all.into_iter().unzip();
        assert!(of(&low.merge(&high).unwrap()) == all, "{what}");
        let [zeros, ones] = [(n, 0u8), (third.len(), 1)].map(|(n, x)| DeviceVec::filled(engine, n, x).unwrap());
        let (merged, values) = low.merge_with(&zeros, &high, &ones).unwrap();
        assert!(of(&merged) == all && values.to_vec().unwrap() == from, "{what}");
        let place = |before: fn(u16, u16) -> bool| -> Vec<u32> {
            let of_key = |key: &T| ascending.partition_point(|other| before(other.word(), key.word())) as u32;
            keys.iter().map(of_key).collect()
        };
        assert_eq!(low.lower_bound(&vec).unwrap().to_vec().unwrap(), place(|a, b| a < b), "{what}");
        assert_eq!(low.upper_bound(&vec).unwrap().to_vec().unwrap(), place(|a, b| a <= b), "{what}");

        // Segments: an empty one, two of everything but the first and the last key, and an empty one.
        let (start, end) = (n.min(1), n.saturating_sub(1).max(n.min(1)));
        let offsets = [start, start, n / 2, end, end].map(|offset| offset.clamp(start, end));
        let of_offsets = DeviceVec::from_slice(engine, &offsets.map(|offset| offset as u32)).unwrap();
        for descending in [false, true] {
            let mut places: Vec<u32> = (0..n as u32).collect();
            for pair in offsets.windows(2) {
                places[pair[0]..pair[1]]
                    .sort_by_key(|&i| keys[i as usize].word() ^ if descending { 0xFFFF } else { 0 });
            }
            let sorted: Vec<u16> = places.iter().map(|&i| keys[i as usize].word()).collect();
            let (mut alone, mut together) = (vec.duplicate().unwrap(), vec.duplicate().unwrap());
            let mut along = DeviceVec::generate(engine, n, |i| i as u32).unwrap();
            if descending {
                alone.segmented_sort_descending(&of_offsets).unwrap();
                together.segmented_sort_with_descending(&of_offsets, &mut along).unwrap();
            } else {
                alone.segmented_sort(&of_offsets).unwrap();
                together.segmented_sort_with(&of_offsets, &mut along).unwrap();
                assert_eq!(vec.segmented_argsort(&of_offsets).unwrap().to_vec().unwrap(), places, "{what}");
            }
            assert!(of(&alone) == sorted && of(&together) == sorted, "segments, {what}");
            assert_eq!(along.to_vec().unwrap(), places, "segments, {what}");
        }
    });
}

#[test]
fn keys_are_ordered() {
    check_order::<u8>();
    check_order::<i8>();
    check_order::<u16>();
    check_order::<f16>();
    check_order::<bf16>();
}

/// The words behind those that a selection keeps are not read before they are written.
#[test]
fn selections_are_clean_under_the_simulators_checks() {
    let checked = sim::check(sim::Check { schedules: 2, ..sim::Check::default() }, || {
        let engine = Engine::simulator();
        let vec = DeviceVec::generate(&engine, 3001, |i| (i * i / 9) as u8).unwrap();
        let values = DeviceVec::generate(&engine, 3001, |i| i as u16).unwrap();
        let (kept, others) = vec.partition_between(..100).unwrap();
        let (_, firsts) = kept.unique_by_key(&values).unwrap();
        let (largest, along) = vec.top_k_with(&values, 10).unwrap();
        let counts = [kept.count().unwrap(), others.count().unwrap(), firsts.to_vec().unwrap().len()];
        (counts, largest.to_vec().unwrap(), along.to_vec().unwrap())
    });
    assert!(checked.report.is_clean(), "{}", checked.report);
    let keys: Vec<u8> = (0..3001).map(|i: usize| (i * i / 9) as u8).collect();
    let mut small = keys.iter().copied().filter(|&key| key < 100).collect::<Vec<_>>();
    let few = small.len();
    small.dedup();
    let mut places: Vec<u16> = (0..3001).collect();
    places.sort_by_key(|&i| u8::MAX - keys[usize::from(i)]);
    for (counts, largest, along) in checked.results {
        assert_eq!(counts, [few, 3001 - few, small.len()]);
        assert_eq!(along, places[..10]);
        assert!(largest.iter().zip(&places).all(|(&key, &i)| key == keys[usize::from(i)]));
    }
}

#[test]
fn another_engine_is_refused() {
    let (engine, other) = (Engine::simulator(), Engine::simulator());
    let vec = DeviceVec::from_slice(&engine, &[1i8, -1]).unwrap();
    let elsewhere = DeviceVec::from_slice(&other, &[1i8, -1]).unwrap();
    for result in [
        vec.merge(&elsewhere).map(drop),
        vec.lower_bound(&elsewhere).map(drop),
        vec.unique_by_key(&elsewhere).map(drop),
        vec.top_k_with(&elsewhere, 1).map(drop),
    ] {
        let Err(Error::Usage(why)) = result else { panic!("{result:?}") };
        assert!(why.contains("same engine"), "{why}");
    }
}
