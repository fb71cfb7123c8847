//! What tests/tests/plans.rs does not see of plans: results in any order, functors of ours, limits of runs, and plans
//! that are refused; on a GPU where there is one.

use super::select::{Odd, odd, odd_and_even};
use rungs::engine::{Buffer, DeviceChoice, Engine};
use rungs::plan::{
    Argsort, HistogramByEdges, HistogramEven, MergeWith, Plan, ReduceByKey, SegmentedArgsort, SegmentedSortPairs, TopK,
    TopKPairs,
};
use rungs::vec::DeviceVec;
use rungs::vec::histogram::MAX_BINS;
use rungs::vec::sorts::{SortKey, Wide};
use rungs::{Error, Result};
use rungs_kernels::selections::operators::compose_u32;
use rungs_kernels::selections::sampled::Selects;
use simt::{Pair, Scalar, bf16, f16};
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

/// Runs a plan twice: the scratch memory is what the run before left.
fn twice(mut run: impl FnMut() -> Result<()>) {
    run().unwrap();
    run().unwrap();
}

/// The bits, which tell NaN from NaN.
fn bits<T: Scalar>(elements: &[T]) -> Vec<u64> {
    elements.iter().map(|element| element.to_bits_64()).collect()
}

/// The sorted results of a search are those of the vector's.
fn check_largest<T: SortKey>()
where
    Wide<T>: Selects,
{
    let (engine, stream, sizes) = engine();
    for n in sizes.into_iter().chain([40_009]) {
        // Of all bits, NaN and -0.0 among them; and of two values.
        let sign = 1 << (8 * size_of::<T>() - 1);
        for of in [drawn, |i| drawn(i) % 2] {
            let keys: Vec<T> = (0..n).map(|i| T::from_bits_64(if of(1) < 2 { of(i) * sign } else { of(i) })).collect();
            let vec = DeviceVec::from_slice(&engine, &keys).unwrap();
            for k in [0, 2, n / 3, n].into_iter().filter(|&k| k <= n) {
                let output = engine.alloc::<T>(k).unwrap();
                for largest in [false, true] {
                    let make = if largest { Plan::<TopK<T>>::top_k } else { Plan::<TopK<T>>::bottom_k };
                    let plan = make(&engine, n, k).unwrap();
                    let free = scratch(&engine, plan.scratch_bytes());
                    output.fill(0xA5).unwrap();
                    // SAFETY: the memory is of the engine and as large as the plan says.
                    twice(|| unsafe { plan.run(stream, vec.as_ptr(), output.as_ptr(), free.as_ptr(), free.len()) });
                    let mut got = DeviceVec::from_slice(&engine, &output.download().unwrap()).unwrap();
                    got.sort().unwrap();
                    let mut all = vec.duplicate().unwrap();
                    all.sort().unwrap();
                    let want = all.slice(if largest { n - k..n } else { 0..k }).to_vec().unwrap();
                    let what = std::any::type_name::<T>();
                    assert!(bits(&got.to_vec().unwrap()) == bits(&want), "{k} of {n} {what}, the largest: {largest}");
                }
            }
            assert!(bits(&vec.to_vec().unwrap()) == bits(&keys), "changed");
        }
    }
}

#[test]
fn the_largest_keys_of_all_widths() {
    check_largest::<u8>();
    check_largest::<i8>();
    check_largest::<i16>();
    check_largest::<f16>();
    check_largest::<bf16>();
    check_largest::<f64>();
}

#[test]
fn elements_by_a_functor() {
    // The functors' kernels are of this program, and for the simulator.
    let engine = Engine::simulator();
    for &n in SIZES {
        let all: Vec<u32> = (0..n).map(|i| drawn(i) as u32).collect();
        let input = engine.upload(&all).unwrap();
        let (output, rest) = (engine.alloc::<u32>(n).unwrap(), engine.alloc::<u32>(n).unwrap());
        let counts = engine.alloc::<u32>(2).unwrap();
        let limit = engine.upload(&[n as u32 / 2]).unwrap();
        for (limit, there) in [(null(), n), (limit.as_ptr().cast_const(), n / 2)] {
            let (odds, evens): (Vec<u32>, Vec<u32>) = all[..there].iter().partition(|&&x| x % 2 == 1);
            let plan = Plan::select_if(&engine, n, odd, Odd).unwrap();
            let free = scratch(&engine, plan.scratch_bytes());
            output.fill(0xA5).unwrap();
            let (from, to, count) = (input.as_ptr(), output.as_ptr(), counts.as_ptr());
            // SAFETY: the memory is of the engine and as large as the plan says.
            twice(|| unsafe { plan.run(null_mut(), from, limit, to, count, free.as_ptr(), free.len()) });
            assert_eq!(counts.download().unwrap()[0], odds.len() as u32, "{there} of {n}");
            assert_eq!(output.download().unwrap()[..odds.len()], odds, "{there} of {n}");
            assert!(output.download().unwrap()[odds.len()..].iter().all(|&x| x == 0xA5A5_A5A5), "{there} of {n}");
            let plan = Plan::partition_if(&engine, n, odd_and_even, Odd).unwrap();
            let free = scratch(&engine, plan.scratch_bytes());
            output.fill(0xA5).unwrap();
            rest.fill(0xA5).unwrap();
            let (others, number) = (rest.as_ptr(), count.wrapping_add(1));
            // SAFETY: as above.
            twice(|| unsafe {
                plan.run(null_mut(), from, limit, to, count, others, number, free.as_ptr(), free.len())
            });
            assert_eq!(counts.download().unwrap(), [odds.len() as u32, evens.len() as u32], "{there} of {n}");
            assert_eq!(output.download().unwrap()[..odds.len()], odds, "{there} of {n}");
            assert_eq!(rest.download().unwrap()[..evens.len()], evens, "{there} of {n}");
            assert!(rest.download().unwrap()[evens.len()..].iter().all(|&x| x == 0xA5A5_A5A5), "{there} of {n}");
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
fn what_a_plan_cannot_do_is_refused() {
    let (engine, stream, _) = engine();
    let refused = |result: Result<()>, words: &str| {
        let Err(Error::Usage(why)) = result else { panic!("{result:?}") };
        assert!(why.contains(words), "{why}");
    };
    for bins in [0, MAX_BINS + 1] {
        refused(Plan::<HistogramByEdges<u32>>::histogram_by_edges(&engine, 5, bins).map(drop), "cannot be counted");
    }
    for (bins, range, why) in [
        (0, 0.0..1.0, "0 bins cannot be counted"),
        (MAX_BINS + 1, 0.0..1.0, "4097 bins cannot be counted"),
        (4, 1.0..0.0, "from 1.0 to 0.0 cannot be divided"),
        (4, f64::NAN..0.0, "cannot be divided"),
        (4, f64::MIN..f64::MAX, "its width must be finite"),
    ] {
        refused(Plan::<HistogramEven<f64>>::histogram_even(&engine, 5, bins, range).map(drop), why);
    }
    let (most, few) = (u32::MAX as usize, 1);
    refused(Plan::<MergeWith<u8, u8>>::merge_with(&engine, most, few).map(drop), "too many");
    refused(Plan::<SegmentedArgsort<u64>>::segmented_argsort(&engine, few, most).map(drop), "too many");
    refused(Plan::<SegmentedSortPairs<u8, u64>>::segmented_sort_pairs(&engine, most + 1, few).map(drop), "too many");
    let by_key = Plan::<ReduceByKey<u8, Pair<u32, u32>>>::reduce_by_key_with(&engine, most + 1, compose_u32::Kernels);
    refused(by_key.map(drop), "too many");
    for k in [6, usize::MAX] {
        refused(Plan::<TopK<u8>>::top_k(&engine, 5, k).map(drop), "do not exist");
        refused(Plan::<TopKPairs<u8, u8>>::bottom_k_pairs(&engine, 5, k).map(drop), "do not exist");
    }
    refused(Plan::<TopK<bf16>>::nth_element(&engine, 5, 5).map(drop), "have no place 5");
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
