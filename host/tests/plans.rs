//! Plans that tests/tests/plans.rs has no jobs for, against the host's results; on a GPU where there is one.

use rungs::engine::{Buffer, DeviceChoice, Engine};
use rungs::plan::{Argsort, HistogramByEdges, MinMax, Plan, ReduceByKey, SegmentedSortPairs, Sort};
use rungs::vec::histogram::MAX_BINS;
use rungs::vec::places::PlaceWord;
use rungs::vec::sorts::{SortKey, Wide};
use rungs::{Error, Result};
use simt::{Scalar, bf16, f16};
use std::ffi::c_void;
use std::ptr::{null, null_mut};

/// Sizes around warps, blocks and tiles, and primes.
const SIZES: &[usize] = &[0, 1, 2, 31, 32, 33, 257, 2815, 2816, 2817, 8191, 8193];

/// An engine, its stream, and sizes that do not take long.
fn engine() -> (Engine, *mut c_void, Vec<usize>) {
    let engine = Engine::open(DeviceChoice::Auto).unwrap();
    let stream = engine.as_cuda().map_or(null_mut(), |cuda| cuda.stream_handle());
    let large = (!engine.is_simulator()).then_some(1_000_003);
    let sizes = SIZES.iter().copied().chain(large).collect();
    (engine, stream, sizes)
}

/// Scratch memory whose content has no meaning.
fn scratch(engine: &Engine, bytes: usize) -> Buffer<u8> {
    let scratch = engine.alloc(bytes).unwrap();
    scratch.fill(0x5B).unwrap();
    scratch
}

fn drawn(i: usize) -> u64 {
    (i as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 17
}

/// The word that sorts among unsigned ones as a key does among keys.
fn ordered<T: SortKey>(key: T) -> u64 {
    use rungs_kernels::keys::{FLOAT, UNSIGNED};
    let (bits, sign) = (key.to_bits_64(), 1u64 << (8 * size_of::<T>() - 1));
    match T::ORDER {
        UNSIGNED => bits,
        FLOAT if bits & sign != 0 => !bits & (sign | (sign - 1)),
        _ => bits ^ sign,
    }
}

/// Runs a plan twice: the scratch memory is what the run before left.
fn twice(mut run: impl FnMut() -> Result<()>) {
    run().unwrap();
    run().unwrap();
}

fn check_sorts<T: SortKey>()
where
    Wide<T>: PlaceWord,
{
    let (engine, stream, sizes) = engine();
    for n in sizes {
        // Of all bits; few, -0.0 or the least number among them; sorted.
        let sign = 1 << (8 * size_of::<T>() - 1);
        let all: [&dyn Fn(usize) -> u64; 3] = [&drawn, &|i| drawn(i) % 2 * sign, &|i| i as u64];
        for bits in all {
            let keys: Vec<T> = (0..n).map(|i| T::from_bits_64(bits(i))).collect();
            let (memory, places) = (engine.upload(&keys).unwrap(), engine.alloc::<u32>(n).unwrap());
            for descending in [false, true] {
                let mut want: Vec<u32> = (0..n as u32).collect();
                want.sort_by_key(|&i| ordered(keys[i as usize]) ^ if descending { u64::MAX } else { 0 });
                let make =
                    if descending { Plan::<Argsort<T>>::argsort_descending } else { Plan::<Argsort<T>>::argsort };
                let plan = make(&engine, n).unwrap();
                let free = scratch(&engine, plan.scratch_bytes());
                // SAFETY: the memory is of the engine and as large as the plan says.
                twice(|| unsafe { plan.run(stream, memory.as_ptr(), places.as_ptr(), free.as_ptr(), free.len()) });
                assert!(places.download().unwrap() == want, "{n} of {}", std::any::type_name::<T>());
                let make = if descending { Plan::<Sort<T>>::sort_descending } else { Plan::<Sort<T>>::sort };
                let (plan, sorted) = (make(&engine, n).unwrap(), engine.upload(&keys).unwrap());
                let free = scratch(&engine, plan.scratch_bytes());
                // SAFETY: as above.
                unsafe { plan.run(stream, sorted.as_ptr(), free.as_ptr(), free.len()) }.unwrap();
                let got = sorted.download().unwrap().into_iter().map(|key| key.to_bits_64());
                let what = std::any::type_name::<T>();
                assert!(got.eq(want.iter().map(|&i| keys[i as usize].to_bits_64())), "{n} of {what}");
            }
            assert!(memory.download().unwrap().iter().zip(&keys).all(|(a, b)| a.to_bits_64() == b.to_bits_64()));
        }
    }
}

#[test]
fn keys_and_places_of_all_types_are_sorted() {
    check_sorts::<u32>();
    check_sorts::<f32>();
    check_sorts::<i64>();
    check_sorts::<f64>();
    check_sorts::<u8>();
    check_sorts::<i8>();
    check_sorts::<i16>();
    check_sorts::<f16>();
    check_sorts::<bf16>();
}

#[test]
fn products_and_extremes() {
    let (engine, stream, sizes) = engine();
    for n in sizes {
        let keys: Vec<u64> = (0..n).map(|i| drawn(i) | 1).collect();
        let (memory, output) = (engine.upload(&keys).unwrap(), engine.alloc::<u64>(1).unwrap());
        let plan = Plan::product(&engine, n).unwrap();
        let free = scratch(&engine, plan.scratch_bytes());
        // SAFETY: the memory is of the engine and as large as the plan says.
        twice(|| unsafe { plan.run(stream, memory.as_ptr(), output.as_ptr(), free.as_ptr(), free.len()) });
        assert_eq!(output.download().unwrap(), [keys.iter().fold(1u64, |a, &b| a.wrapping_mul(b))], "{n}");

        // NaN of either sign, and both zeros.
        let few = [f32::NAN, -f32::NAN, -0.0, 0.0];
        for keys in [few[2..].to_vec(), (0..n).map(|i| f32::from_bits(drawn(i) as u32)).collect(), vec![7.0; n]] {
            let (memory, output) = (engine.upload(&keys).unwrap(), engine.upload(&[3.0f32, 4.0]).unwrap());
            let plan = Plan::<MinMax<f32>>::min_max(&engine, keys.len()).unwrap();
            let free = scratch(&engine, plan.scratch_bytes());
            // SAFETY: as above.
            twice(|| unsafe { plan.run(stream, memory.as_ptr(), output.as_ptr(), free.as_ptr(), free.len()) });
            let mut sorted = keys;
            sorted.sort_by(f32::total_cmp);
            let want = sorted.first().zip(sorted.last()).map_or([3.0, 4.0], |(&low, &high)| [low, high]);
            let got = output.download().unwrap();
            assert_eq!([got[0], got[1]].map(f32::to_bits), want.map(f32::to_bits), "{n}");
        }
    }
}

fn check_first_values<V: Scalar + PartialEq + std::fmt::Debug>(value: fn(usize) -> V) {
    let (engine, stream, sizes) = engine();
    for n in sizes {
        for run in [1, 3, 700, n.max(1)] {
            let keys: Vec<i64> = (0..n).map(|i| (i / run % 100) as i64 - 50).collect();
            let values: Vec<V> = (0..n).map(value).collect();
            let (of_keys, of_values) = (engine.upload(&keys).unwrap(), engine.upload(&values).unwrap());
            let (unique, firsts) = (engine.alloc::<i64>(n).unwrap(), engine.alloc::<V>(n).unwrap());
            let plan = Plan::<ReduceByKey<i64, V>>::unique_by_key(&engine, n).unwrap();
            let (free, count) = (scratch(&engine, plan.scratch_bytes()), engine.alloc::<u32>(1).unwrap());
            // All, and as many as only the device knows.
            let limit = engine.upload(&[n as u32 / 2]).unwrap();
            for (limit, there) in [(null(), n), (limit.as_ptr().cast_const(), n / 2)] {
                let (a, b, c, d) = (of_keys.as_ptr(), of_values.as_ptr(), unique.as_ptr(), firsts.as_ptr());
                // SAFETY: the memory is of the engine and as large as the plan says.
                twice(|| unsafe { plan.run(stream, a, b, limit, c, d, count.as_ptr(), free.as_ptr(), free.len()) });
                let begins = |&i: &usize| i == 0 || keys[i] != keys[i - 1];
                let places: Vec<usize> = (0..there).filter(begins).collect();
                assert_eq!(count.download().unwrap(), [places.len() as u32], "{there} of {n}, runs of {run}");
                let (got, of_runs) = (unique.download().unwrap(), firsts.download().unwrap());
                for (run, &place) in places.iter().enumerate() {
                    assert_eq!((got[run], of_runs[run]), (keys[place], values[place]), "{there} of {n}");
                }
            }
        }
    }
}

#[test]
fn first_values_of_runs() {
    check_first_values(|i| i as u8);
    check_first_values(|i| drawn(i) as f64);
}

#[test]
fn pairs_of_segments() {
    let (engine, stream, sizes) = engine();
    for n in sizes {
        // The first key and the last are in no segment; two are empty.
        let (start, end) = (n.min(1), n.saturating_sub(1).max(n.min(1)));
        let offsets = [start, start, n / 3, n / 3, end].map(|offset| offset.clamp(start, end));
        let keys: Vec<f32> = (0..n).map(|i| [f32::NAN, -0.0, 0.0, -1.5][drawn(i) as usize % 4]).collect();
        let values: Vec<u32> = (0..n).map(|i| drawn(i) as u32).collect();
        let of_offsets = engine.upload(&offsets.map(|offset| offset as u32)).unwrap();
        let of_values = engine.upload(&values).unwrap();
        for descending in [false, true] {
            let (of_keys, moved) = (engine.upload(&keys).unwrap(), engine.upload(&vec![77u32; n]).unwrap());
            let mut places: Vec<usize> = (0..n).collect();
            for pair in offsets.windows(2) {
                places[pair[0]..pair[1]].sort_by(|&a, &b| {
                    let order = keys[a].total_cmp(&keys[b]);
                    if descending { order.reverse() } else { order }
                });
            }
            let make = if descending {
                Plan::<SegmentedSortPairs<f32, u32>>::segmented_sort_pairs_descending
            } else {
                Plan::<SegmentedSortPairs<f32, u32>>::segmented_sort_pairs
            };
            let plan = make(&engine, n, offsets.len() - 1).unwrap();
            let free = scratch(&engine, plan.scratch_bytes());
            let (a, b, c, d) = (of_keys.as_ptr(), of_values.as_ptr(), moved.as_ptr(), of_offsets.as_ptr());
            // SAFETY: the memory is of the engine and as large as the plan says.
            unsafe { plan.run(stream, a, b, c, d, free.as_ptr(), free.len()) }.unwrap();
            let sorted = of_keys.download().unwrap();
            assert!(sorted.iter().zip(&places).all(|(key, &i)| key.to_bits() == keys[i].to_bits()), "{n}");
            let in_segments = |i: usize| (start..end).contains(&i);
            let want: Vec<u32> = (0..n).map(|i| if in_segments(i) { values[places[i]] } else { 77 }).collect();
            assert_eq!(moved.download().unwrap(), want, "{n}");
        }
    }
}

#[test]
fn counts_between_edges() {
    let (engine, stream, sizes) = engine();
    let edges = [-1.0, 0.0, 0.0, 0.5, f64::INFINITY];
    for n in sizes {
        let special = [f64::NAN, -f64::NAN, -0.0, 0.0, f64::INFINITY, f64::NEG_INFINITY, 0.5, -1.0, 0.25, -2.0, 1e300];
        let keys: Vec<f64> = (0..n).map(|i| special[drawn(i) as usize % special.len()]).collect();
        let mut want = [0u32; 7];
        for key in &keys {
            let place = match edges.iter().filter(|edge| *edge <= key).count() {
                _ if key.is_nan() => 6,
                0 => 4,
                5 => 5,
                place => place - 1,
            };
            want[place] += 1;
        }
        let (memory, of_edges) = (engine.upload(&keys).unwrap(), engine.upload(&edges).unwrap());
        let counts = engine.upload(&[9u32; 7]).unwrap();
        let plan = Plan::<HistogramByEdges<f64>>::histogram_by_edges(&engine, n, 4).unwrap();
        let free = scratch(&engine, plan.scratch_bytes());
        let (a, b, c) = (memory.as_ptr(), of_edges.as_ptr(), counts.as_ptr());
        // SAFETY: the memory is of the engine and as large as the plan says.
        twice(|| unsafe { plan.run(stream, a, b, c, free.as_ptr(), free.len()) });
        assert_eq!(counts.download().unwrap(), want, "{n}");
    }
}

#[test]
fn what_a_plan_cannot_do_is_refused() {
    let (engine, stream, _) = engine();
    let refused = |result: Result<()>, words: &str| {
        let Err(Error::Usage(why)) = result else { panic!("{result:?}") };
        assert!(why.contains(words), "{why}");
    };
    for bins in [0, MAX_BINS + 1] {
        refused(Plan::<HistogramByEdges<u32>>::histogram_by_edges(&engine, 5, bins).map(drop), "cannot be counted");
    }
    let wide = Plan::<SegmentedSortPairs<u32, f64>>::segmented_sort_pairs(&engine, 5, 1);
    refused(wide.map(drop), "values of 8 bytes");
    refused(Plan::<Argsort<u8>>::argsort(&engine, 1 << 32).map(drop), "too many");
    let plan = Plan::<Argsort<u64>>::argsort(&engine, 100).unwrap();
    let (keys, places) = (engine.upload(&[1u64; 100]).unwrap(), engine.alloc::<u32>(104).unwrap());
    let free = scratch(&engine, plan.scratch_bytes());
    // SAFETY: what is there is of the engine, and a refused run touches nothing.
    let run = |keys, places, bytes| unsafe { plan.run(stream, keys, places, free.as_ptr(), bytes) };
    let (at, to) = (keys.as_ptr().cast_const(), places.as_ptr());
    refused(run(at, to, free.len() - 1), "bytes of scratch memory");
    refused(run(at, to.wrapping_add(1), free.len()), "the places at");
    refused(run(at, null_mut(), free.len()), "where the places should be");
    refused(run(at, keys.as_ptr().cast(), free.len()), "overlap");
}
