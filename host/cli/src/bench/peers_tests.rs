//! Contests on the simulator, against a library made for the tests: its functions sort and add on the host.

use super::*;
use crate::algorithms::family;
use crate::bench::{self, Kind, Options, Report};
use crate::data::MatrixSize;
use std::cell::RefCell;
use std::time::Duration;

macro_rules! peers {
    ($($name:literal, $family:literal, $dtype:literal, $in_place:literal;)*) => {
        [$(RawPeer {
            name: concat!($name, "\0").as_ptr().cast(),
            family: concat!($family, "\0").as_ptr().cast(),
            what: c"made up".as_ptr(),
            dtype: concat!($dtype, "\0").as_ptr().cast(),
            in_place: $in_place,
        }),*]
    };
}

thread_local! {
    /// The list, which has to live as long as the library does.
    static LIST: &'static [RawPeer] = Box::leak(Box::new(peers! {
        "cub_radix_sort_keys_u32", "sort", "u32", 0;
        "cub_radix_sort_keys_f32", "sort", "f32", 0;
        "cub_radix_sort_pairs_u32", "sort", "u32", 0;
        "thrust_sort_u32", "sort", "u32", 1;
        "twin_bitonic_global_step_u32", "bitonic", "u32", 1;
        "source_bitonic_global_step_u32", "bitonic", "u32", 1;
        "cub_reduce_sum_u32", "reduce", "u32", 0;
        "cub_reduce_max_u32", "reduce", "u32", 0;
        "cub_histogram_u8", "histogram", "u8", 0;
        "cub_inclusive_sum_u32", "scan", "u32", 0;
        "cublas_sgemm_pedantic", "matmul", "f32", 0;
        "cublas_sgemm_tf32", "matmul", "f32", 0;
        "cublaslt_sgemm_pedantic_best", "matmul", "f32", 0;
        "cublaslt_sgemm_tf32_best", "matmul", "f32", 0;
    }));
    /// The names of the peers that ran, in order.
    static RAN: RefCell<Vec<String>> = const { RefCell::new(vec![]) };
}

/// Scratch memory that every peer asks for.
const SCRATCH: usize = 24;

unsafe extern "C" fn list(out: *mut *const RawPeer) -> c_int {
    LIST.with(|list| {
        // SAFETY: the caller gives a place to write to.
        unsafe { *out = list.as_ptr() };
        list.len() as c_int
    })
}

unsafe fn text(name: *const c_char) -> String {
    // SAFETY: names end with a zero.
    unsafe { CStr::from_ptr(name) }.to_str().unwrap().into()
}

unsafe extern "C" fn bytes(
    name: *const c_char,
    shape: *const usize,
    shape_len: usize,
    input: *mut usize,
    output: *mut usize,
) -> c_int {
    // SAFETY: as the header says.
    let (name, shape) = unsafe { (text(name), std::slice::from_raw_parts(shape, shape_len)) };
    let n = shape[0];
    let (input_bytes, output_bytes) = match name.as_str() {
        // A refusal.
        "cub_histogram_u8" if shape[1] != 256 => return 1,
        "cub_histogram_u8" => (n, 4 * shape[1]),
        name if name.starts_with("cub_reduce") => (4 * n, 4),
        name if name.starts_with("cublas") => {
            let [m, n, k] = [shape[0], shape[1], shape[2]];
            (4 * (m * k + k * n), 4 * m * n)
        }
        "cub_radix_sort_pairs_u32" => (8 * n, 8 * n),
        _ => (4 * n, 4 * n),
    };
    // SAFETY: as the header says.
    unsafe { (*input, *output) = (input_bytes, output_bytes) };
    0
}

unsafe extern "C" fn run(
    name: *const c_char,
    input: *const c_void,
    output: *mut c_void,
    scratch: *mut c_void,
    scratch_bytes: *mut usize,
    shape: *const usize,
    shape_len: usize,
    _: *mut c_void,
) -> c_int {
    if scratch.is_null() {
        // SAFETY: as the header says.
        unsafe { *scratch_bytes = SCRATCH };
        return 0;
    }
    // SAFETY: the memory is the simulator's, which is the host's, and as large as `bytes` said.
    let (name, n, keys, sides) = unsafe {
        assert_eq!(*scratch_bytes, SCRATCH);
        let (name, sides) = (text(name), std::slice::from_raw_parts(shape, shape_len));
        let n = sides[0];
        let words = match name.as_str() {
            name if name.starts_with("cublas") => (sides[0] + sides[1]) * sides[2],
            "cub_histogram_u8" => 0,
            "cub_radix_sort_pairs_u32" => 2 * n,
            _ => n,
        };
        (name, n, std::slice::from_raw_parts(input.cast::<u32>(), words).to_vec(), sides)
    };
    // SAFETY: as above.
    let write = |words: &[u32]| unsafe { std::ptr::copy(words.as_ptr(), output.cast::<u32>(), words.len()) };
    RAN.with_borrow_mut(|ran| ran.push(name.clone()));
    match name.as_str() {
        "cub_reduce_sum_u32" => write(&[keys.iter().fold(0u32, |sum, x| sum.wrapping_add(*x))]),
        name if name.starts_with("cublas") => {
            let (&[m, n, k], floats) = (sides.first_chunk().unwrap(), keys.into_iter().map(f32::from_bits));
            let floats: Vec<f32> = floats.collect();
            let (a, b) = floats.split_at(m * k);
            let element = |place: usize| (0..k).map(|e| a[place / n * k + e] * b[e * n + place % n]).sum::<f32>();
            write(&(0..m * n).map(|place| element(place).to_bits()).collect::<Vec<_>>());
        }
        // Wrong by one.
        "cub_reduce_max_u32" => write(&[keys.iter().max().unwrap() - 1]),
        // Fails when it runs.
        "cub_inclusive_sum_u32" => return 700,
        "cub_histogram_u8" => {
            // SAFETY: as above.
            let samples = unsafe { std::slice::from_raw_parts(input.cast::<u8>(), n) };
            let mut counts = vec![0u32; 256];
            samples.iter().for_each(|s| counts[*s as usize] += 1);
            write(&counts);
        }
        "cub_radix_sort_keys_f32" => {
            // As in CUB, zeros are equal.
            let mut floats: Vec<f32> = keys.into_iter().map(f32::from_bits).collect();
            floats.sort_by(|a, b| if *a == 0.0 && *b == 0.0 { std::cmp::Ordering::Equal } else { a.total_cmp(b) });
            write(&floats.into_iter().map(f32::to_bits).collect::<Vec<_>>());
        }
        "cub_radix_sort_pairs_u32" => {
            let (keys, values) = keys.split_at(n);
            assert!(!keys.is_sorted() && values.is_sorted(), "{name} got input that is not fresh");
            let mut pairs: Vec<_> = keys.iter().zip(values).collect();
            pairs.sort_by_key(|(key, _)| **key);
            let (keys, values): (Vec<u32>, Vec<u32>) = pairs.into_iter().unzip();
            write(&[keys, values].concat());
        }
        _ => {
            assert!(n < 100 || !keys.is_sorted(), "{name} got input that is not fresh");
            let mut sorted = keys;
            sorted.sort_unstable();
            write(&sorted);
        }
    }
    0
}

unsafe extern "C" fn error() -> *const c_char {
    c"so it says".as_ptr()
}

unsafe extern "C" fn about() -> *const c_char {
    c"made up".as_ptr()
}

fn library() -> Peers {
    Peers::new(Path::new("/of/this/machine/libmade.so"), Functions { about, list, bytes, run, error }, None)
}

fn options(families: &[&str], rounds: usize) -> Options {
    Options {
        families: families.iter().map(|name| family(name).unwrap()).collect(),
        sizes: vec![MatrixSize::cube(1000)],
        dtypes: vec![],
        keys: vec![],
        rungs: families.contains(&"bitonic").then(|| "global-step".into()).into_iter().collect(),
        peers: Some(library()),
        peer_names: vec![],
        parameters: Parameters::default(),
        rounds: Some(rounds),
        budget: Duration::ZERO,
        back_to_back: true,
        seed: 3,
        command: "rungs bench".into(),
    }
}

fn report(options: &Options) -> Report {
    RAN.take();
    let (report, failed) = bench::run(&Engine::simulator(), options, |_| ()).unwrap();
    assert!(failed.is_none(), "{failed:?}");
    report
}

fn row<'r>(report: &'r Report, name: &str) -> &'r bench::Row {
    report.results.iter().find(|row| row.name == name).unwrap_or_else(|| panic!("{name} is not in the report"))
}

#[test]
fn a_contest_has_rung_reference_twin_source_and_others() {
    let report = report(&options(&["bitonic"], 4));
    let kinds: Vec<_> = report.results.iter().map(|row| (row.name.as_str(), row.kind)).collect();
    let expected = [
        ("global-step", Kind::Rung),
        ("cub_radix_sort_keys_u32", Kind::Peer),
        ("thrust_sort_u32", Kind::Peer),
        ("twin_bitonic_global_step_u32", Kind::Twin),
        ("source_bitonic_global_step_u32", Kind::Source),
    ];
    assert_eq!(kinds, expected);
    for row in &report.results {
        assert!(row.verified, "{row:?}");
        let (call, back) = (row.call.unwrap(), row.back_to_back.unwrap());
        assert_eq!((call.runs, back.runs, call.calls), (4, 4, 1));
        assert!(call.p10_ms <= call.median_ms && call.median_ms <= call.p90_ms);
    }
    let rung = row(&report, "global-step");
    let (peer, twin) = (rung.over_peer.as_ref().unwrap(), rung.over_twin.as_ref().unwrap());
    assert_eq!((peer.of.as_str(), twin.of.as_str()), ("cub_radix_sort_keys_u32", "twin_bitonic_global_step_u32"));
    let theirs = row(&report, "cub_radix_sort_keys_u32").call.unwrap().median_ms;
    assert_eq!(peer.call, bench_report::rounded(theirs / rung.call.unwrap().median_ms));
    let source = rung.over_source.as_ref().unwrap();
    let its_time = row(&report, "source_bitonic_global_step_u32").call.unwrap().median_ms;
    assert_eq!(source.of, "source_bitonic_global_step_u32");
    assert_eq!(source.call, bench_report::rounded(its_time / rung.call.unwrap().median_ms));
    assert!(row(&report, "thrust_sort_u32").over_peer.is_none());
    let scratch = |name| row(&report, name).scratch_bytes;
    assert_eq!((scratch("global-step"), scratch("thrust_sort_u32")), (Some(0), Some(SCRATCH as u64)));
    // The file name without folders, and the library's own description.
    assert_eq!(report.peers.as_deref(), Some("libmade.so: made up"));
}

/// Both functions of the library are references: that of the rung's own precision, and the tuned one of the same.
#[test]
fn a_product_is_compared_with_the_fastest_algorithm_too() {
    let mut options = options(&["matmul"], 2);
    (options.sizes, options.rungs) = (vec![MatrixSize::cube(16)], vec!["naive".into(), "tensor-mma".into()]);
    let report = report(&options);
    assert!(report.results.iter().all(|row| row.verified), "{:?}", report.results);
    for (rung, peer, tuned) in [
        ("naive", "cublas_sgemm_pedantic", "cublaslt_sgemm_pedantic_best"),
        ("tensor-mma", "cublas_sgemm_tf32", "cublaslt_sgemm_tf32_best"),
    ] {
        let row = row(&report, rung);
        let of = [&row.over_peer, &row.over_tuned].map(|ratio| ratio.as_ref().unwrap().of.as_str());
        assert_eq!(of, [peer, tuned]);
        let theirs = report.results.iter().find(|row| row.name == tuned).unwrap().call.unwrap().median_ms;
        let ratio = bench_report::rounded(theirs / row.call.unwrap().median_ms);
        assert_eq!(row.over_tuned.as_ref().unwrap().call, ratio);
    }
    options.peer_names = vec!["reference".into()];
    let names: Vec<_> = self::report(&options).results.into_iter().map(|row| row.name).collect();
    assert_eq!(names, ["naive", "tensor-mma", "cublas_sgemm_pedantic", "cublaslt_sgemm_pedantic_best"]);
}

#[test]
fn twins_and_sources_can_be_asked_for_alone() {
    for (asked, peer) in [("twins", "twin_bitonic_global_step_u32"), ("sources", "source_bitonic_global_step_u32")] {
        let mut options = options(&["bitonic"], 1);
        options.peer_names = vec![asked.into()];
        let names: Vec<_> = report(&options).results.into_iter().map(|row| row.name).collect();
        assert_eq!(names, ["global-step", peer]);
    }
}

#[test]
fn contestants_take_turns() {
    let mut options = options(&["bitonic"], 3);
    options.back_to_back = false;
    report(&options);
    let ran = RAN.take();
    let (a, b, c) = ("cub_radix_sort_keys_u32", "thrust_sort_u32", "twin_bitonic_global_step_u32");
    let d = "source_bitonic_global_step_u32";
    // Once each for the check; then in rounds of five, of which the first is the rung in round 0, the reference in
    // round 1, Thrust in round 2.
    assert_eq!(ran, [a, b, c, d, a, b, c, d, a, b, c, d, b, c, d, a]);
}

#[test]
fn who_is_wrong_has_no_number() {
    let mut options = options(&["reduce"], 2);
    options.parameters.operation = crate::algorithms::Operation::Max;
    options.rungs = vec!["single-launch".into()];
    let report = report(&options);
    let wrong = row(&report, "cub_reduce_max_u32");
    assert!(!wrong.verified && wrong.call.is_none() && wrong.rate.is_none());
    assert!(wrong.error.as_ref().unwrap().contains("is wrong"), "{wrong:?}");
    let ours = row(&report, "single-launch");
    assert!(ours.verified && ours.call.is_some() && ours.over_peer.is_none());
    assert_eq!(RAN.take().len(), 1, "a wrong peer runs no further");
}

#[test]
fn a_peer_that_fails_or_refuses_does_not_end_the_contest() {
    let mut options = options(&["scan", "histogram"], 2);
    options.parameters.bins = Some(100);
    options.rungs = vec!["look-back".into(), "bank-private".into()];
    let report = report(&options);
    let failed = row(&report, "cub_inclusive_sum_u32");
    assert!(failed.error.as_ref().unwrap().contains("700") && failed.error.as_ref().unwrap().contains("so it says"));
    let refused = row(&report, "cub_histogram_u8");
    assert!(refused.skipped.as_ref().unwrap().contains("so it says") && refused.error.is_none(), "{refused:?}");
    for rung in ["look-back", "bank-private"] {
        assert!(row(&report, rung).verified && row(&report, rung).call.is_some());
    }
}

/// With values, only rungs and peers that move values take part, and rates count keys and values; families without
/// values are measured as before.
#[test]
fn values_are_measured_beside_pairs() {
    let mut options = options(&["radix", "bitonic"], 3);
    options.rungs = vec!["global-step".into(), "onesweep".into(), "msd-buckets".into(), "msd-skewed".into()];
    options.parameters.values = true;
    options.keys = vec!["few".parse().unwrap()];
    let report = report(&options);
    let all: Vec<_> = report.results.iter().map(|row| (row.name.as_str(), row.parameters.as_str())).collect();
    let want = [
        ("onesweep", "values"),
        ("cub_radix_sort_pairs_u32", "values"),
        ("global-step", ""),
        ("cub_radix_sort_keys_u32", ""),
        ("thrust_sort_u32", ""),
        ("twin_bitonic_global_step_u32", ""),
        ("source_bitonic_global_step_u32", ""),
    ];
    assert_eq!(all, want);
    assert!(report.results.iter().all(|row| row.verified), "{:?}", report.results);
    let rung = row(&report, "onesweep");
    assert_eq!(rung.over_peer.as_ref().unwrap().of, "cub_radix_sort_pairs_u32");
    // 1000 keys and values of 4 bytes, read once and written once.
    assert_eq!(rung.gbs.unwrap(), bench_report::rounded(16_000.0 / (rung.call.unwrap().median_ms * 1e6)));
}

#[test]
fn peers_can_be_chosen_and_zeros_of_libraries_are_equal() {
    let mut options = options(&["bitonic"], 1);
    options.dtypes = vec![Dtype::U32, Dtype::F32];
    options.keys = vec!["special".parse().unwrap()];
    options.peer_names = vec!["reference".into()];
    let report = report(&options);
    let names: Vec<_> = report.results.iter().map(|row| row.name.as_str()).collect();
    assert_eq!(names, ["global-step", "cub_radix_sort_keys_u32", "global-step", "cub_radix_sort_keys_f32"]);
    assert!(report.results.iter().all(|row| row.verified), "{:?}", report.results);
}

/// Radix sorts take no order, so a merge sort is held against CUB's; it is measured beside the radix sort too.
#[test]
fn a_sort_by_any_order_is_compared_with_one() {
    let peer = |name: &str| LIST.with(|_| library().list.into_iter().find(|p| p.name == name).unwrap());
    let (merge, parameters) = (family("merge").unwrap(), Parameters::default());
    assert_eq!(reference(merge, Dtype::U64, &parameters).unwrap(), "cub_merge_sort_keys_u64");
    let radix = relation(&peer("cub_radix_sort_keys_u32"), merge, &merge.rungs, Dtype::U32, &parameters);
    assert_eq!(radix, Some(Relation::Other));
}

#[test]
fn parity_wants_the_same_problem() {
    let peer = |name: &str| LIST.with(|_| library().list.into_iter().find(|p| p.name == name).unwrap());
    let (bitonic, reduce) = (family("bitonic").unwrap(), family("reduce").unwrap());
    let rungs: Vec<&'static Rung> = bitonic.rungs.clone();
    let parameters = Parameters::default();
    let of = |name: &str, dtype| relation(&peer(name), bitonic, &rungs, dtype, &parameters);
    assert_eq!(of("twin_bitonic_global_step_u32", Dtype::U32), Some(Relation::Twin("global-step")));
    assert_eq!(of("source_bitonic_global_step_u32", Dtype::U32), Some(Relation::Source("global-step")));
    assert_eq!(of("cub_radix_sort_keys_u32", Dtype::U32), Some(Relation::Reference));
    assert_eq!(of("cub_radix_sort_keys_u32", Dtype::I32), None);
    assert_eq!(of("cub_radix_sort_pairs_u32", Dtype::U32), None);
    let pairs = Parameters { values: true, ..Parameters::default() };
    let of_pairs = |name: &str| relation(&peer(name), bitonic, &rungs, Dtype::U32, &pairs);
    assert_eq!(of_pairs("cub_radix_sort_pairs_u32"), Some(Relation::Reference));
    for keys_only in
        ["cub_radix_sort_keys_u32", "thrust_sort_u32", "twin_bitonic_global_step_u32", "source_bitonic_global_step_u32"]
    {
        assert_eq!(of_pairs(keys_only), None, "{keys_only}");
    }
    // A twin has the grid of its rung and no other; its columns are in its shape.
    let twin_with =
        |parameters| relation(&peer("twin_bitonic_global_step_u32"), bitonic, &rungs, Dtype::U32, &parameters);
    let twin = Some(Relation::Twin("global-step"));
    assert_eq!(twin_with(Parameters { blocks: Some(32), ..parameters }), None);
    assert_eq!(twin_with(Parameters { exclusive: true, ..parameters }), None);
    assert_eq!(twin_with(Parameters { columns: Some(32), ..parameters }), twin);
    assert_eq!(of("cub_reduce_sum_u32", Dtype::U32), None);
    let reduces = |parameters| relation(&peer("cub_reduce_sum_u32"), reduce, &[], Dtype::U32, &parameters);
    assert_eq!(reduces(Parameters::default()), Some(Relation::Reference));
    assert_eq!(reduces(Parameters { operation: crate::algorithms::Operation::Min, ..Parameters::default() }), None);
}
