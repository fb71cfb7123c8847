//! What a run enqueues, and on which memory. That the results are right, for every plan on every engine:
//! tests/tests/plans.rs.

use super::largest::{Largest, LargestPairs};
use super::merge::Searched;
use super::places::Found;
use super::runs::{Grouped, Scanned};
use super::segments::Segmented;
use super::*;
use crate::data::Element;
use crate::engine::Buffer;
use crate::keys::order_of;
use crate::vec::choice;
use crate::vec::histogram::Counted;
use crate::vec::launches::Kept;
use crate::vec::ordered::{Both, Merged};
use crate::vec::places::{Pairs, Placed};
use crate::vec::segments::Pairs as InSegments;
use rungs_kernels::ladder::{histogram as counting, reduce, scan, sort};
use rungs_kernels::operator::Operation;
use rungs_kernels::selections::operators::{Compose, Operator, compose_u32};
use rungs_kernels::selections::pass::{Pass, Views};
use rungs_kernels::selections::runs;
use rungs_kernels::{ladders, scan as scans};
use simt::launcher::{Call, Device, Memory};
use simt::{Geometry, Global, Pair, Scalar, sim};
use std::cell::RefCell;
use std::ptr;

/// What a stream was asked for.
#[derive(Clone, Debug, PartialEq)]
enum Asked {
    /// A kernel, its shape, and its parameters as words.
    Launch(&'static str, Geometry, Vec<u64>),
    /// A fill with zeros.
    Clear(usize, usize),
}

/// A stream as it is while a graph is captured: it notes what is enqueued and refuses everything else. What it notes it
/// runs, unless it is to do nothing.
struct Captured {
    asked: RefCell<Vec<Asked>>,
    runs: Option<OnStream>,
    device: Device,
}

impl Captured {
    fn new(engine: &Engine, runs: bool) -> Self {
        // SAFETY: the simulator has no streams.
        let on = unsafe { OnStream::new(engine, ptr::null_mut()) }.unwrap();
        Self { asked: RefCell::default(), runs: runs.then_some(on), device: engine.device() }
    }
}

impl Launcher for Captured {
    fn device(&self) -> Device {
        self.device
    }

    fn enqueue(&self, call: &dyn Call, geometry: Geometry) -> launcher::Result {
        let mut parameters = call.parameters();
        // SAFETY: the parameters live, and each begins with a word.
        let words = parameters.pointers().into_iter().map(|at| unsafe { at.cast::<u64>().read() }).collect();
        self.asked.borrow_mut().push(Asked::Launch(call.name(), geometry, words));
        self.runs.as_ref().map_or(Ok(()), |on| on.enqueue(call, geometry))
    }

    fn allocate(&self, bytes: usize) -> launcher::Result<Box<dyn Memory>> {
        panic!("{bytes} bytes are allocated while the stream is captured")
    }

    unsafe fn clear_bytes(&self, address: *mut u8, bytes: usize) -> launcher::Result {
        self.asked.borrow_mut().push(Asked::Clear(address as usize, bytes));
        // SAFETY: as the caller says.
        self.runs.as_ref().map_or(Ok(()), |on| unsafe { on.clear_bytes(address, bytes) })
    }
}

/// Kernels and their shapes, without addresses.
fn shapes(asked: &[Asked]) -> Vec<(&'static str, Option<Geometry>, usize)> {
    let shape = |asked: &Asked| match asked {
        Asked::Launch(kernel, geometry, _) => (*kernel, Some(*geometry), 0),
        Asked::Clear(_, bytes) => ("clear", None, *bytes),
    };
    asked.iter().map(shape).collect()
}

/// Scratch memory with bytes of no meaning, and more behind it that nobody may write.
fn scratch<A: Algorithm>(plan: &Plan<A>) -> Buffer<u8> {
    let scratch = plan.engine.alloc(plan.scratch_bytes() + SCRATCH_ALIGN).unwrap();
    scratch.fill(0x5B).unwrap();
    scratch
}

/// Runs a plan twice on a captured stream, checks that it enqueues launches and at most one fill, the same ones each
/// time and as it was rehearsed, and stays inside the scratch memory. `arrays` makes the views of a run.
fn check_captured<A: Algorithm>(what: &str, plan: &Plan<A>, arrays: impl Fn() -> A::Args) {
    check_fills(what, plan, 1, arrays);
}

/// The same with another number of fills.
fn check_fills<A: Algorithm>(what: &str, plan: &Plan<A>, fills: usize, arrays: impl Fn() -> A::Args) {
    let what = format!("{what}, n = {}", plan.len());
    let scratch = scratch(plan);
    let rehearsal = Captured::new(&plan.engine, false);
    assert_eq!(plan.rehearse(&rehearsal).unwrap(), plan.scratch_bytes(), "{what}");
    let [first, second] = [(); 2].map(|()| {
        let stream = Captured::new(&plan.engine, true);
        plan.enqueue_on(&stream, arrays(), scratch.as_ptr()).unwrap_or_else(|e| panic!("{what}: {e}"));
        stream.asked.into_inner()
    });
    assert_eq!(first, second, "{what}: a run depends on the one before");
    assert_eq!(shapes(&first), shapes(&rehearsal.asked.into_inner()), "{what}");
    let clears: Vec<_> = first.iter().filter(|asked| matches!(asked, Asked::Clear(..))).collect();
    assert!(clears.len() <= fills, "{what}: {clears:?}");
    for asked in &first {
        match asked {
            Asked::Clear(address, bytes) => {
                let (start, end) = (scratch.as_ptr() as usize, scratch.as_ptr() as usize + plan.scratch_bytes());
                assert!(*address >= start && address + bytes <= end, "{what}: clears what is not scratch memory");
            }
            Asked::Launch(kernel, geometry, _) => assert!(!geometry.together, "{what}: {kernel} is cooperative"),
        }
    }
    let behind = &scratch.download().unwrap()[plan.scratch_bytes()..];
    assert!(behind.iter().all(|&byte| byte == 0x5B), "{what}: writes behind the scratch memory");
}

fn keys(n: u32) -> Vec<u32> {
    (0..n).map(|i| (i ^ i >> 5).wrapping_mul(2_654_435_761)).collect()
}

/// Around blocks and tiles, and a prime.
const SIZES: [u32; 9] = [0, 1, 33, 3839, 3841, 8191, 8193, 12_289, 30_011];

#[test]
fn a_sort_by_every_rung_that_a_gpu_is_given_only_launches_and_fills() {
    let engine = Engine::simulator();
    for n in SIZES {
        for rung in ["onesweep", "msd-skewed", "learned", "either"] {
            let rung = ladders::RADIX.get(rung).unwrap();
            let plan = Plan::<Sort<i32>>::sort_by_rung(&engine, n, order_of(i32::DTYPE), rung).unwrap();
            let memory: Buffer<i32> = engine.alloc(n as usize).unwrap();
            let mut sorted: Vec<i32> = keys(n).into_iter().map(|key| key as i32).collect();
            check_captured(rung.rung.name, &plan, || {
                memory.write(&keys(n).into_iter().map(|key| key as i32).collect::<Vec<_>>()).unwrap();
                sort::Keys { keys: memory.view().cast(), order: plan.algorithm.order }
            });
            sorted.sort_unstable();
            assert_eq!(memory.download().unwrap(), sorted, "{}, n = {n}", rung.rung.name);
        }
        for rung in ["onesweep", "msd-pairs"] {
            let rung = ladders::RADIX.get(rung).unwrap();
            let plan = Plan::<SortPairs<u32, u32>>::sort_pairs_by_rung(&engine, n, order_of(u32::DTYPE), rung).unwrap();
            let (keys_memory, values): (Buffer<u32>, Buffer<u32>) =
                (engine.alloc(n as usize).unwrap(), engine.alloc(n as usize).unwrap());
            let few: Vec<u32> = keys(n).into_iter().map(|key| key >> 20).collect();
            check_captured(rung.rung.name, &plan, || {
                keys_memory.write(&few).unwrap();
                values.write(&(0..n).collect::<Vec<_>>()).unwrap();
                Pairs { keys: keys_memory.view(), values: values.view(), order: plan.algorithm.order }
            });
            let mut sorted: Vec<(u32, u32)> = few.iter().copied().zip(0..n).collect();
            sorted.sort_unstable();
            let got = keys_memory.download().unwrap().into_iter().zip(values.download().unwrap());
            assert!(got.eq(sorted), "pairs by {}, n = {n}", rung.rung.name);
        }
    }
}

#[test]
fn scans_reductions_and_histograms_only_launch_and_fill() {
    let engine = Engine::simulator();
    for n in SIZES {
        let input = engine.upload(&keys(n)).unwrap();
        let (output, one, counts) =
            (engine.alloc(n as usize).unwrap(), engine.alloc(1).unwrap(), engine.alloc(1000).unwrap());
        let sums: Vec<u32> =
            keys(n).iter().scan(0u32, |sum, &x| Some(std::mem::replace(sum, sum.wrapping_add(x)))).collect();
        for rung in ["look-back", "look-ahead"] {
            let rung = scans::LADDER.get(rung).unwrap();
            let plan = Plan::<Scan<u32>>::scan_by_rung(&engine, n, Operation::Sum, true, rung).unwrap();
            output.fill(0xA5).unwrap();
            check_captured(rung.rung.name, &plan, || scan::Elements {
                input: input.view(),
                output: output.view(),
                exclusive: true,
            });
            assert_eq!(output.download().unwrap(), sums, "{}, n = {n}", rung.rung.name);
        }
        let plan = Plan::<Reduce<u32>>::reduce(&engine, n as usize, Operation::Max).unwrap();
        check_captured("reduce", &plan, || reduce::Elements { input: input.view(), output: one.view() });
        assert_eq!(one.download().unwrap(), [keys(n).into_iter().max().unwrap_or(0)], "n = {n}");
        let plan = Plan::<FirstPlace<u32>>::arg_min(&engine, n as usize).unwrap();
        let order = order_of(u32::DTYPE);
        check_captured("arg_min", &plan, || Found { input: input.view(), output: one.view(), order });
        let least = (0..n).zip(keys(n)).min_by_key(|&(_, key)| key).map(|(place, _)| place);
        assert_eq!(one.download().unwrap(), [least.unwrap_or(u32::MAX)], "n = {n}");
        let maps = engine.upload(&keys(n).into_iter().map(|key| Pair(key | 1, key)).collect::<Vec<_>>()).unwrap();
        let (composed, all) = (engine.alloc(n as usize).unwrap(), engine.alloc(1).unwrap());
        let plan = Plan::scan_with(&engine, n as usize, compose_u32::Kernels, false).unwrap();
        let exclusive = false;
        check_captured("scan_with", &plan, || scan::Elements {
            input: maps.view(),
            output: composed.view(),
            exclusive,
        });
        let plan = Plan::reduce_with(&engine, n as usize, compose_u32::Kernels).unwrap();
        check_captured("reduce_with", &plan, || reduce::Elements { input: maps.view(), output: all.view() });
        let last = composed.download().unwrap().last().copied().unwrap_or(Pair(1, 0));
        assert_eq!(all.download().unwrap(), [last], "n = {n}");
        let plan = Plan::<Histogram<u8>>::histogram(&engine, 4 * n as usize, 1000).unwrap();
        check_captured("histogram", &plan, || counting::Keys { keys: input.view().cast(), counts: counts.view() });
        let mut want = vec![0u32; 1000];
        keys(n).iter().flat_map(|key| key.to_le_bytes()).for_each(|byte| want[byte as usize] += 1);
        assert_eq!(counts.download().unwrap(), want, "n = {n}");
    }
}

#[test]
fn selections_only_launch_and_fill() {
    let engine = Engine::simulator();
    for n in SIZES {
        let input = engine.upload(&keys(n)).unwrap();
        let (output, count) = (engine.alloc::<u32>(n as usize).unwrap(), engine.alloc::<u32>(1).unwrap());
        let limits = engine.upload(&[n / 3]).unwrap();
        let views = |limit: Global<u32>| {
            output.fill(0xA5).unwrap();
            count.fill(0xA5).unwrap();
            let views = Views { input: input.view(), limit, output: output.view(), count: count.view() };
            Kept { views, flags: limits.slice(0, 0).cast(), rest: (output.slice(0, 0), limits.slice(0, 0)) }
        };
        for pass in [Pass::LookBack, Pass::LookAhead] {
            let plan = Plan::<Select<u32>>::select_by_pass(&engine, n, ..1 << 30, pass).unwrap();
            for (limit, there) in [(limits.slice(0, 0), n), (limits.view(), n / 3)] {
                check_captured("select", &plan, || views(limit));
                let want: Vec<u32> = keys(n)[..there as usize].iter().copied().filter(|&key| key < 1 << 30).collect();
                assert_eq!(count.download().unwrap(), [want.len() as u32], "{pass:?} of {there} of {n}");
                assert_eq!(output.download().unwrap()[..want.len()], want, "{pass:?} of {there} of {n}");
            }
            let plan = Plan::<Select<u32>>::unique_by_pass(&engine, n, pass).unwrap();
            input.write(&keys(n).into_iter().map(|key| key >> 31).collect::<Vec<_>>()).unwrap();
            check_captured("unique", &plan, || views(limits.slice(0, 0)));
            let mut want: Vec<u32> = keys(n).into_iter().map(|key| key >> 31).collect();
            want.dedup();
            assert_eq!(count.download().unwrap(), [want.len() as u32], "{pass:?}, n = {n}");
            assert_eq!(output.download().unwrap()[..want.len()], want, "{pass:?}, n = {n}");
            input.write(&keys(n)).unwrap();
        }
    }
}

#[test]
fn places_extremes_products_and_counts_only_launch_and_fill() {
    let engine = Engine::simulator();
    for n in SIZES {
        let input = engine.upload(&keys(n)).unwrap();
        let (places, two) = (engine.alloc::<u32>(n as usize).unwrap(), engine.alloc::<u32>(2).unwrap());
        let by = |key: &dyn Fn(u32) -> u32| {
            let (all, mut places): (_, Vec<u32>) = (keys(n), (0..n).collect());
            places.sort_by_key(|&i| key(all[i as usize]));
            places
        };
        let plan = Plan::<Argsort<u32>>::argsort(&engine, n as usize).unwrap();
        let order = plan.algorithm.order;
        check_captured("argsort", &plan, || Placed { keys: input.view(), order, places: places.view() });
        assert_eq!(places.download().unwrap(), by(&|key| key), "n = {n}");
        let bytes = engine.upload(&keys(n).into_iter().map(|key| key as u8).collect::<Vec<_>>()).unwrap();
        let plan = Plan::<Argsort<u8>>::argsort(&engine, n as usize).unwrap();
        check_captured("argsort of bytes", &plan, || Placed { keys: bytes.view(), order, places: places.view() });
        assert_eq!(places.download().unwrap(), by(&|key| key & 0xFF), "n = {n}");
        let plan = Plan::<MinMax<u32>>::min_max(&engine, n as usize).unwrap();
        two.fill(0).unwrap();
        check_captured("min_max", &plan, || Found { input: input.view(), output: two.view(), order });
        let (least, most) = (keys(n).into_iter().min(), keys(n).into_iter().max());
        assert_eq!(two.download().unwrap(), [least, most].map(Option::unwrap_or_default), "n = {n}");
        let plan = Plan::<Reduce<u32>>::product(&engine, n as usize).unwrap();
        let output = two.view().slice(0, 1);
        check_captured("product", &plan, || reduce::Elements { input: input.view(), output });
        assert_eq!(two.download().unwrap()[0], keys(n).into_iter().fold(1, u32::wrapping_mul), "n = {n}");
        let plan = Plan::<HistogramByEdges<u32>>::histogram_by_edges(&engine, n as usize, 1).unwrap();
        let (edges, counts) = (engine.upload(&[1u32 << 30, 1 << 31]).unwrap(), engine.alloc(4).unwrap());
        let views = || Counted { input: input.view(), edges: edges.view(), counts: counts.view() };
        check_captured("histogram by edges", &plan, views);
        let upper = |bits| keys(n).into_iter().filter(|key| key >> 30 >= bits).count() as u32;
        assert_eq!(counts.download().unwrap(), [upper(1) - upper(2), n - upper(1), upper(2), 0], "n = {n}");
        let plan = Plan::<HistogramEven<u32>>::histogram_even(&engine, n as usize, 1, 1 << 30..1 << 31).unwrap();
        counts.fill(0xA5).unwrap();
        let none = edges.view().slice(0, 0);
        let views = || Counted { input: input.view(), edges: none, counts: counts.view() };
        check_captured("histogram of equal parts", &plan, views);
        assert_eq!(counts.download().unwrap(), [upper(1) - upper(2), n - upper(1), upper(2), 0], "n = {n}");
        let plan = Plan::<ReduceByKey<u32, u32>>::unique_by_key(&engine, n as usize).unwrap();
        let few = engine.upload(&keys(n).into_iter().map(|key| key >> 31).collect::<Vec<_>>()).unwrap();
        let (unique, results, count) = (engine.alloc(n as usize).unwrap(), places.view(), two.view().slice(0, 1));
        let (values, limit) = (input.view(), two.view().slice(0, 0));
        check_captured("unique by key", &plan, || {
            Grouped(runs::Views { keys: few.view(), values, limit, unique: unique.view(), results, count })
        });
        let firsts: Vec<u32> = keys(n).chunk_by(|a, b| a >> 31 == b >> 31).map(|run| run[0]).collect();
        assert_eq!(two.download().unwrap()[0], firsts.len() as u32, "n = {n}");
        assert_eq!(places.download().unwrap()[..firsts.len()], firsts, "n = {n}");
        let want: Vec<u32> = firsts.iter().map(|key| key >> 31).collect();
        assert_eq!(unique.download().unwrap()[..want.len()], want, "n = {n}");
    }
}

/// Keys that are copied to words and back, in plans of all kinds; that the results are right: tests/tests/plans.rs.
#[test]
fn narrow_keys_take_launches_and_one_fill_alone() {
    let engine = Engine::simulator();
    for n in [0u32, 1, 33, 2816, 2817, 8193] {
        let len = n as usize;
        let keys: Vec<u8> = keys(n).into_iter().map(|key| key as u8).collect();
        let (input, output) = (engine.upload(&keys).unwrap(), engine.upload(&keys).unwrap());
        let rest = engine.upload(&keys).unwrap();
        let wide = [(); 2].map(|()| engine.upload(&vec![7u64; len]).unwrap());
        let (words, ends) = (engine.alloc::<u32>(len).unwrap(), engine.upload(&[0, n / 3, n]).unwrap());
        let (count, two) = (engine.alloc::<u32>(1).unwrap(), engine.alloc::<u32>(1).unwrap());
        let limit = count.slice(0, 0);
        let (input, output, rest) = (input.view(), output.view(), rest.view());
        let views = Views { input, limit, output, count: count.view() };
        let of = |others| Kept { views, flags: input, rest: others };
        let plan = Plan::<Select<u8>>::select_between(&engine, len, 7..100).unwrap();
        check_captured("select", &plan, || of((rest, two.view())));
        let plan = Plan::<Select<u8>>::unique(&engine, len).unwrap();
        check_captured("unique", &plan, || of((rest, two.view())));
        let plan = Plan::<Partition<u8>>::partition_between(&engine, len, 7..100).unwrap();
        check_captured("partition", &plan, || of((rest, two.view())));
        let plan = Plan::<SelectFlagged<u8>>::select_flagged(&engine, len).unwrap();
        check_captured("select by flags", &plan, || of((rest, two.view())));
        let plan = Plan::<PartitionFlagged<u8>>::partition_flagged(&engine, len).unwrap();
        check_captured("partition by flags", &plan, || of((rest, two.view())));
        let (values, results) = (wide[0].view(), wide[1].view());
        let runs = || Grouped(runs::Views { keys: input, values, limit, unique: output, results, count: count.view() });
        let plan = Plan::<ReduceByKey<u8, u64>>::reduce_by_key(&engine, len, Operation::Sum).unwrap();
        check_captured("reduce by key", &plan, runs);
        let plan = Plan::<ReduceByKey<u8, u64>>::unique_by_key(&engine, len).unwrap();
        check_captured("unique by key", &plan, runs);
        let plan = Plan::<ScanByKey<u8, u64>>::scan_by_key(&engine, len, Operation::Sum, true).unwrap();
        check_captured("scan by key", &plan, || Scanned { views: (input, values, results), exclusive: true });
        let order = order_of(u8::DTYPE);
        for k in [0, len / 2, len] {
            let (to, moved) = (output.slice(0, k as u32), words.slice(0, k));
            let plan = Plan::<TopK<u8>>::top_k(&engine, len, k).unwrap();
            check_captured("top k", &plan, || Largest { input, output: to, order });
            let plan = Plan::<TopKPairs<u8, u32>>::top_k_pairs(&engine, len, k).unwrap();
            let values = words.view();
            let keys = || Largest { input, output: to, order };
            check_captured("top k of pairs", &plan, || LargestPairs { keys: keys(), values, moved });
        }
        if len > 0 {
            let plan = Plan::<TopK<u8>>::nth_element(&engine, len, len / 3).unwrap();
            check_captured("nth element", &plan, || Largest { input, output: output.slice(0, 1), order });
        }
        let plan = Plan::<SortPairs<u8, u64>>::sort_pairs(&engine, len).unwrap();
        check_captured("pairs of bytes and words", &plan, || Pairs { keys: output, values, order });
        let plan = Plan::<SortPairs<u64, u8>>::sort_pairs(&engine, len).unwrap();
        check_captured("pairs of words and bytes", &plan, || Pairs { keys: results, values: output, order });
        let plan = Plan::<Search<u8>>::lower_bound(&engine, len, len).unwrap();
        check_captured("search", &plan, || Searched { keys: [output, input], places: words.view() });
        let plan = Plan::<Merge<u8>>::merge(&engine, len / 3, len - len / 3).unwrap();
        let inputs = [input.slice(0, n / 3), input.slice(n / 3, n - n / 3)];
        check_captured("merge", &plan, || Merged { keys: Both { inputs, output }, along: () });
        let plan = Plan::<MergeWith<u8, u64>>::merge_with(&engine, len / 3, len - len / 3).unwrap();
        let of_inputs = [values.slice(0, n / 3), values.slice(n / 3, n - n / 3)];
        check_captured("merge of pairs", &plan, || Merged {
            keys: Both { inputs, output },
            along: Both { inputs: of_inputs, output: results },
        });
        if n < 8192 {
            // Longer segments are sorted by a cooperative launch, which this harness refuses.
            let (offsets, none) = (ends.view(), words.view().slice(0, 0));
            let plan = Plan::<SegmentedSort<u8>>::segmented_sort(&engine, len, 2).unwrap();
            check_captured("segmented sort", &plan, || Segmented { keys: output, offsets, order });
            let plan = Plan::<SegmentedSortPairs<u8, u64>>::segmented_sort_pairs(&engine, len, 2).unwrap();
            let pairs = || InSegments { keys: output, values, moved: results, offsets, order };
            check_captured("segmented sort of pairs", &plan, pairs);
            let plan = Plan::<SegmentedArgsort<u8>>::segmented_argsort(&engine, len, 2).unwrap();
            let places = || InSegments { keys: input, values: none, moved: words.view(), offsets, order };
            check_captured("places in segments", &plan, places);
        }
    }
}

/// By both passes: what a run of keys begins, its values, and its length.
#[test]
fn runs_are_combined_by_a_plan() {
    let engine = Engine::simulator();
    for n in [0, 1, 33, 2817, 12_289] {
        let (few, values): (Vec<u32>, Vec<u64>) =
            keys(n).into_iter().map(|key| (key >> 30, u64::from(key) << 9 | 1)).unzip();
        let (of_keys, of_values) = (engine.upload(&few).unwrap(), engine.upload(&values).unwrap());
        let (unique, count) = (engine.alloc::<u32>(n as usize).unwrap(), engine.alloc::<u32>(1).unwrap());
        let lengths = engine.alloc::<u32>(n as usize).unwrap();
        let sums = engine.alloc::<u64>(n as usize).unwrap();
        let all = of_keys.view().slice(0, 0);
        let (mut firsts, mut want, mut lens, mut scan, mut maps) = (vec![], vec![], vec![], vec![], vec![]);
        let mut start = 0;
        for run in few.chunk_by(|a, b| a == b) {
            let of_run = &values[start..start + run.len()];
            firsts.push(run[0]);
            want.push(of_run.iter().sum::<u64>());
            let of_maps = of_run.iter().map(|&value| Pair::<u32, u32>::from_bits_64(value));
            maps.push(of_maps.fold(Compose::IDENTITY, Compose::combine));
            lens.push(run.len() as u32);
            scan.extend(of_run.iter().scan(0, |sum, value| Some(std::mem::replace(sum, *sum + value))));
            start += run.len();
        }
        for pass in [Pass::LookBack, Pass::LookAhead] {
            let views = |results| {
                let (keys, values, limit) = (of_keys.view(), of_values.view(), all);
                runs::Views { keys, values, limit, unique: unique.view(), results, count: count.view() }
            };
            let check = || {
                assert_eq!(count.download().unwrap(), [firsts.len() as u32], "{pass:?}, n = {n}");
                assert_eq!(unique.download().unwrap()[..firsts.len()], firsts, "{pass:?}, n = {n}");
            };
            let plan = Plan::<ReduceByKey<u32, u64>>::reduce_by_key_by_pass(&engine, n, Operation::Sum, pass).unwrap();
            check_captured("reduce by key", &plan, || Grouped(views(sums.view())));
            check();
            assert_eq!(sums.download().unwrap()[..firsts.len()], want, "{pass:?}, n = {n}");
            let plan = Plan::<ReduceByKey<u32, Pair<u32, u32>>>::reduce_by_key_with_by_pass::<compose_u32::Kernels>(
                &engine, n, pass,
            );
            unique.fill(0xA5).unwrap();
            check_captured("reduce by key with", &plan.unwrap(), || {
                let (keys, values, results) = (of_keys.view(), of_values.view().cast(), sums.view().cast());
                Grouped(runs::Views { keys, values, limit: all, unique: unique.view(), results, count: count.view() })
            });
            check();
            let got: Vec<_> = sums.download().unwrap().into_iter().map(Pair::from_bits_64).collect();
            assert_eq!(got[..maps.len()], maps, "{pass:?}, n = {n}");
            let plan = Plan::<RunLengths<u32>>::run_lengths_by_pass(&engine, n, pass).unwrap();
            unique.fill(0xA5).unwrap();
            check_captured("run lengths", &plan, || {
                let of = views(sums.view());
                let (limit, results) = (of.limit, lengths.view());
                Grouped(runs::Views {
                    keys: of.keys,
                    values: limit,
                    limit,
                    unique: of.unique,
                    results,
                    count: of.count,
                })
            });
            check();
            assert_eq!(lengths.download().unwrap()[..firsts.len()], lens, "{pass:?}, n = {n}");
            let plan =
                Plan::<ScanByKey<u32, u64>>::scan_by_key_by_pass(&engine, n, Operation::Sum, true, pass).unwrap();
            let views = (of_keys.view(), of_values.view(), sums.view());
            check_captured("scan by key", &plan, || Scanned { views, exclusive: true });
            assert_eq!(sums.download().unwrap(), scan, "{pass:?}, n = {n}");
        }
    }
}

#[test]
fn segments_are_treated_by_a_plan() {
    let engine = Engine::simulator();
    // Long segments are sorted by a cooperative launch, which this harness refuses.
    for n in [0, 1, 5, 4095, 8191] {
        // The first and the last segment are empty, and one in between.
        let at = [0, 0, n / 3, n / 3, n / 2, n, n];
        let offsets = engine.upload(&at).unwrap();
        let (input, output) = (engine.upload(&keys(n)).unwrap(), engine.alloc::<u32>(n as usize).unwrap());
        let (data, segments) = (keys(n), at.len() - 1);
        let of = |pair: &[u32]| data[pair[0] as usize..pair[1] as usize].to_vec();
        let plan = Plan::<SegmentedScan<u32>>::segmented_scan(&engine, n as usize, segments, Operation::Max, false);
        check_captured("segmented scan", &plan.unwrap(), || segments::Elements {
            input: input.view(),
            offsets: offsets.view(),
            output: output.view(),
            exclusive: false,
        });
        let mut want = vec![];
        for pair in at.windows(2) {
            let mut most = 0;
            want.extend(of(pair).into_iter().map(|x| {
                most = most.max(x);
                most
            }));
        }
        assert_eq!(output.download().unwrap(), want, "n = {n}");
        let results = engine.alloc::<u32>(segments).unwrap();
        let plan = Plan::<SegmentedReduce<u32>>::segmented_reduce(&engine, n as usize, segments, Operation::Max);
        check_captured("segmented reduction", &plan.unwrap(), || segments::Elements {
            input: input.view(),
            offsets: offsets.view(),
            output: results.view(),
            exclusive: false,
        });
        let want: Vec<u32> = at.windows(2).map(|pair| of(pair).into_iter().max().unwrap_or(0)).collect();
        assert_eq!(results.download().unwrap(), want, "n = {n}");
        let plan = Plan::<SegmentedSort<u32>>::segmented_sort(&engine, n as usize, segments).unwrap();
        let order = order_of(u32::DTYPE);
        check_captured("segmented sort", &plan, || {
            input.write(&data).unwrap();
            Segmented { keys: input.view(), offsets: offsets.view(), order }
        });
        let sorted = |pair: &[u32]| {
            let mut all = of(pair);
            all.sort_unstable();
            all
        };
        assert_eq!(input.download().unwrap(), at.windows(2).flat_map(sorted).collect::<Vec<_>>(), "n = {n}");
        if n > 4096 {
            continue;
        }
        // The places of keys of 8 bytes are sorted twice, by both halves.
        let wide: Vec<u64> = data.iter().map(|&key| u64::from(key % 3) << 32 | u64::from(key % 5)).collect();
        let (of_wide, moved) = (engine.upload(&wide).unwrap(), engine.alloc::<u64>(n as usize).unwrap());
        let (keys, offsets) = (of_wide.view(), offsets.view());
        let mut places: Vec<u32> = (0..n).collect();
        at.windows(2).for_each(|of| places[of[0] as usize..of[1] as usize].sort_by_key(|&i| wide[i as usize]));
        let plan = Plan::<SegmentedArgsort<u64>>::segmented_argsort(&engine, n as usize, segments).unwrap();
        let none = output.view().slice(0, 0);
        let views = || InSegments { keys, values: none, moved: output.view(), offsets, order };
        check_fills("places in segments", &plan, 2, views);
        assert_eq!(output.download().unwrap(), places, "n = {n}");
        let plan = Plan::<SegmentedSortPairs<u64, u64>>::segmented_sort_pairs(&engine, n as usize, segments).unwrap();
        let values = engine.upload(&wide).unwrap();
        check_fills("segmented sort of pairs", &plan, 2, || {
            of_wide.write(&wide).unwrap();
            InSegments { keys, values: values.view(), moved: moved.view(), offsets, order }
        });
        let want: Vec<u64> = places.iter().map(|&i| wide[i as usize]).collect();
        assert!(of_wide.download().unwrap() == want && moved.download().unwrap() == want, "n = {n}");
    }
}

#[test]
fn the_largest_and_the_smallest_are_found_by_a_plan() {
    let engine = Engine::simulator();
    // One launch, several, and with a pivot.
    for n in [0, 1, 33, 8193, 40_009] {
        let input = engine.upload(&keys(n)).unwrap();
        let mut sorted = keys(n);
        sorted.sort_unstable();
        for k in [0, 1, 10, n as usize / 2, n as usize].into_iter().filter(|&k| k <= n as usize) {
            let output = engine.alloc::<u32>(k).unwrap();
            for largest in [true, false] {
                let make = if largest { Plan::<TopK<u32>>::top_k } else { Plan::<TopK<u32>>::bottom_k };
                let plan = make(&engine, n as usize, k).unwrap();
                let scratch = scratch(&plan);
                for _ in 0..2 {
                    output.fill(0xA5).unwrap();
                    let (from, to, bytes) = (input.as_ptr(), output.as_ptr(), plan.scratch_bytes());
                    // SAFETY: all arrays live, and are as large as the plan says.
                    unsafe { plan.run(ptr::null_mut(), from, to, scratch.as_ptr(), bytes) }.unwrap();
                    let mut got = output.download().unwrap();
                    got.sort_unstable();
                    let want = if largest { &sorted[n as usize - k..] } else { &sorted[..k] };
                    assert!(got == want, "{k} of {n}, the largest: {largest}");
                }
                let behind = &scratch.download().unwrap()[plan.scratch_bytes()..];
                assert!(behind.iter().all(|&byte| byte == 0x5B), "{k} of {n} writes behind the scratch memory");
            }
        }
        let why = Plan::<TopK<u32>>::top_k(&engine, n as usize, n as usize + 1).map(|plan| plan.len()).unwrap_err();
        assert!(why.to_string().contains("do not exist"), "{why}");
    }
}

/// Three allocations and what is cleared of them.
#[test]
fn neighbours_are_cleared_by_one_fill_and_nothing_else_is_cleared() {
    let engine = Engine::simulator();
    let memory: Buffer<u8> = engine.alloc(4096).unwrap();
    let (base, stream) = (memory.as_ptr(), Captured::new(&engine, true));
    let cleared = |work: &dyn Fn(&dyn Launcher)| {
        memory.fill(0x5B).unwrap();
        let carved = Carved::new(&stream, base, 4096);
        work(&carved);
        carved.flush().unwrap();
        let asked = stream.asked.take().into_iter();
        let fills: Vec<_> = asked
            .map(|asked| match asked {
                Asked::Clear(address, bytes) => (address - base as usize, bytes),
                other => panic!("{other:?}"),
            })
            .collect();
        let zeros = memory.download().unwrap().iter().filter(|&&byte| byte == 0).count();
        assert_eq!(zeros, fills.iter().map(|(_, bytes)| bytes).sum::<usize>());
        (fills, carved.used())
    };
    assert_eq!(
        cleared(&|on| {
            let _three = (on.zeros::<u32>(10).unwrap(), on.zeros::<u8>(0).unwrap(), on.zeros::<u64>(3).unwrap());
        }),
        (vec![(0, 256 + 24)], 256 + 24)
    );
    assert_eq!(
        cleared(&|on| {
            let _between = (on.zeros::<u32>(10), on.scratch::<u8>(300), on.zeros::<u32>(64), on.zeros::<u32>(1));
        }),
        (vec![(0, 40), (768, 256 + 4)], 1028)
    );
    // A part of an array that ends before its middle, and the array's second half: what lies between is no gap.
    assert_eq!(
        cleared(&|on| {
            let array = on.scratch::<u8>(512).unwrap();
            on.clear(array.view().slice(0, 40)).unwrap();
            on.clear(array.view().slice(256, 256)).unwrap();
        }),
        (vec![(0, 40), (256, 256)], 512)
    );
}

#[test]
fn what_is_cleared_is_cleared_before_the_next_launch() {
    let engine = Engine::simulator();
    let memory: Buffer<u8> = engine.alloc(4096).unwrap();
    let stream = Captured::new(&engine, false);
    let carved: &dyn Launcher = &Carved::new(&stream, memory.as_ptr(), 4096);
    let zeros = carved.zeros::<u32>(5).unwrap();
    let kernel = rungs_kernels::encode::keys_encode::<u32>::default();
    carved.launch(kernel, Geometry::linear(1, 32), (zeros.view(), 0)).unwrap();
    let names: Vec<_> = shapes(&stream.asked.take()).into_iter().map(|(name, ..)| name).collect();
    assert_eq!(names, ["clear", "keys_encode"]);
}

#[test]
fn scratch_memory_ends_where_it_was_said_to_end() {
    let engine = Engine::simulator();
    let memory: Buffer<u8> = engine.alloc(4096).unwrap();
    let stream = Captured::new(&engine, true);
    let carve = |bytes, lens: &[u32]| {
        let carved = Carved::new(&stream, memory.as_ptr(), bytes);
        let on: &dyn Launcher = &carved;
        lens.iter().try_for_each(|&len| on.scratch::<u8>(len).map(drop)).map(|()| carved.used())
    };
    assert_eq!(carve(300, &[1, 44]).unwrap(), 300);
    assert_eq!(carve(0, &[0, 0]).unwrap(), 0);
    let why = carve(299, &[1, 44]).unwrap_err().to_string();
    assert_eq!(why, "299 bytes of scratch memory are too few for this run");
    assert!(carve(0, &[1]).is_err());
    let endless = Carved::endless(&stream);
    let on: &dyn Launcher = &endless;
    drop((on.scratch::<u8>(1).unwrap(), on.scratch::<u64>(u32::MAX).unwrap()));
    assert_eq!(endless.used(), 256 + 8 * u32::MAX as usize);
}

/// The simulator's checks see no race, nothing out of bounds and nothing read that was not written, although the
/// scratch memory was never cleared by its owner.
#[test]
fn runs_are_clean_under_the_simulators_checks() {
    let checks = sim::Check { schedules: 2, ..sim::Check::default() };
    let checked = sim::check(checks, || {
        let engine = Engine::simulator();
        let n = 9001;
        let memory = engine.upload(&keys(n)).unwrap();
        let plan = Plan::<Sort<u32>>::sort_by_rung(&engine, n, 0, ladders::RADIX.get("msd-skewed").unwrap()).unwrap();
        let scratch: Buffer<u8> = engine.alloc(plan.scratch_bytes()).unwrap();
        for _ in 0..2 {
            // SAFETY: both arrays live, and are as large as the plan says.
            unsafe { plan.run(ptr::null_mut(), memory.as_ptr(), scratch.as_ptr(), scratch.len()) }.unwrap();
        }
        memory.download().unwrap()
    });
    assert!(checked.report.is_clean(), "{}", checked.report);
    let mut sorted = keys(9001);
    sorted.sort_unstable();
    assert!(checked.results.iter().all(|got| *got == sorted));
}

/// A number of bytes, to three digits or so.
fn about(bytes: usize) -> String {
    match bytes {
        1_000_000.. => format!("{:.1} MB", bytes as f64 / 1e6),
        _ => format!("{:.1} kB", bytes as f64 / 1e3),
    }
}

#[test]
fn the_page_says_how_much_scratch_memory_plans_take_on_an_h200() {
    let engine = Engine::simulator_with(132);
    // On a simulator of that size, with the rungs that are chosen on the GPU.
    let h200 = engine.device();
    let chosen = |table, n: u32| choice::pick(table, false, h200, 4, n.into()).unwrap();
    let sort = |n| Plan::<Sort<u32>>::sort_by_rung(&engine, n, 0, chosen(choice::SORTS, n));
    let pairs = |n| {
        let rung = chosen(choice::PAIR_SORTS, n);
        Plan::<SortPairs<u32, u32>>::sort_pairs_by_rung(&engine, n, 0, rung)
    };
    let rows: [(&str, &dyn Fn(u32) -> usize); 5] = [
        ("sort", &|n| sort(n).unwrap().scratch_bytes()),
        ("sort of pairs", &|n| pairs(n).unwrap().scratch_bytes()),
        ("scan", &|n| Plan::<Scan<u32>>::scan(&engine, n as usize, Operation::Sum, false).unwrap().scratch_bytes()),
        ("reduce", &|n| Plan::<Reduce<u32>>::reduce(&engine, n as usize, Operation::Sum).unwrap().scratch_bytes()),
        ("histogram, 256 bins", &|n| {
            Plan::<Histogram<u8>>::histogram(&engine, n as usize, 256).unwrap().scratch_bytes()
        }),
    ];
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/callers-memory.md");
    let page = std::fs::read_to_string(page).unwrap();
    for (what, bytes) in rows {
        let row = [16, 20, 24, 28].map(|log2| about(bytes(1 << log2))).join(" | ");
        let row = format!("| {what} | {row} |");
        assert!(page.contains(&row), "the page lacks {row}");
    }
}
