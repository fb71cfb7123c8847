//! What holds for the rungs of every ladder: their names, what their sequences refuse, and how many launches and how
//! much scratch memory they take.

mod common;

use common::{Element, SIFTS, SORTS, families, view, with_multiprocessors};
use rungs_kernels::keys::{FLOAT, SIGNED, UNSIGNED};
use rungs_kernels::ladder::matmul::{Batch, Matrix, Multiplier as _, Product, Sizes};
use rungs_kernels::ladder::saxpy::Vectors;
use rungs_kernels::ladder::scan::{Scan, Scans};
use rungs_kernels::ladder::sift::{self, Task};
use rungs_kernels::ladder::sort::{Sort, Width};
use rungs_kernels::ladder::{
    Device, Failed, Ladder, Launcher, Lengths, MAX_SHARED, Options, Result, Scratch, Sequence,
};
use rungs_kernels::ladder::{cubes, histogram, reduce, scan, segmented_sort, select, sort, top_k};
use rungs_kernels::operator::Operation;
use rungs_kernels::scan::{r5_look_back, r6_look_ahead};
use rungs_kernels::select::{r3_three_kernels, r4_look_back as selects};
use rungs_kernels::selections::compact;
use rungs_kernels::sorts::msd_pairs::ONE_BLOCK_PAIRS;
use rungs_kernels::{bitonic, bubble, ladders, odd_even, radix};
use simt::Geometry;
use simt::launcher::{Call, Memory};
use std::cell::Cell;
use std::fs;
use std::path::Path;

#[test]
fn a_rung_is_named_like_its_file_and_its_kernels() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    for (family, rungs) in families() {
        let family = family.replace('-', "_");
        for (i, rung) in rungs.into_iter().enumerate() {
            let stem = rung.name.replace('-', "_");
            let module = format!("gpu/{family}/src/r{}_{stem}", i + 1);
            let path = rung.path();
            assert!(fs::read_to_string(root.join(&path)).unwrap() == rung.text, "the text of {path} is another");
            assert!(rung.kernel_names().count() >= 1, "{path}");
            if path.starts_with("gpu/library/") {
                // Rows of the library stand behind the course's rungs and have no numbers.
                assert!(path.ends_with(&format!("/src/{stem}.rs")) || path.ends_with(&format!("/src/{stem}/mod.rs")));
                assert!(rung.kernel_names().all(|kernel| kernel.contains(&format!("_{stem}"))), "{path}");
                continue;
            }
            assert!(path == format!("{module}.rs") || path == format!("{module}/mod.rs"), "{}: {path}", rung.name);
            for kernel in rung.kernel_names() {
                assert!(kernel.starts_with(&format!("{family}_{stem}")), "{path} has the kernel {kernel}");
            }
        }
    }
}

#[test]
fn every_file_of_a_rung_is_in_a_ladder() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let paths: Vec<String> = families().iter().flat_map(|(_, rungs)| rungs.iter().map(|rung| rung.path())).collect();
    let mut files = 0;
    for family in fs::read_dir(root.join("gpu")).unwrap().map(|entry| entry.unwrap().path()) {
        for file in family.join("src").read_dir().into_iter().flatten().map(|entry| entry.unwrap().path()) {
            let name = file.file_name().unwrap().to_str().unwrap();
            if !(name.starts_with('r') && name[1..].starts_with(|c: char| c.is_ascii_digit())) {
                continue;
            }
            let file = if file.is_dir() { file.join("mod.rs") } else { file.clone() };
            let path = file.strip_prefix(root).unwrap().to_str().unwrap().replace('\\', "/");
            assert!(paths.contains(&path), "{path} is in no ladder");
            files += 1;
        }
    }
    assert_eq!(files, paths.iter().filter(|path| !path.starts_with("gpu/library/")).count());
}

/// A machine that runs nothing: it counts launches, memory that is cleared, and bytes of scratch memory.
struct Counting {
    device: Device,
    launches: Cell<u32>,
    clears: Cell<u32>,
    bytes: Cell<usize>,
}

/// Memory that is never touched.
struct Reserved(Vec<Piece>);

/// Bytes at which memory begins.
#[repr(align(256))]
struct Piece {
    _bytes: [u8; 256],
}

// SAFETY: the vector's room is this value's own, and aligned to 256.
unsafe impl Memory for Reserved {
    fn address(&self) -> *mut u8 {
        self.0.as_ptr() as *mut u8
    }
}

impl Counting {
    /// A device of the H100's size.
    fn new() -> Self {
        let device = Device { multiprocessors: 132, shared_per_block: MAX_SHARED, compute_capability: (9, 0) };
        Self { device, launches: Cell::new(0), clears: Cell::new(0), bytes: Cell::new(0) }
    }
}

impl Launcher for Counting {
    fn device(&self) -> Device {
        self.device
    }

    fn enqueue(&self, _: &dyn Call, geometry: Geometry) -> Result {
        self.launches.set(self.launches.get() + !geometry.is_empty() as u32);
        Ok(())
    }

    fn allocate(&self, bytes: usize) -> Result<Box<dyn Memory>> {
        self.bytes.set(self.bytes.get() + bytes);
        Ok(Box::new(Reserved(Vec::with_capacity(bytes.div_ceil(size_of::<Piece>())))))
    }

    unsafe fn clear_bytes(&self, _: *mut u8, _: usize) -> Result {
        self.clears.set(self.clears.get() + 1);
        Ok(())
    }
}

/// Panics unless the sequence refuses each of the arguments, names both numbers, and launches nothing.
fn check_refuses<A: Lengths>(what: &str, sequence: Result<Sequence<A>>, on: &Counting, cases: Vec<(A, [u32; 2])>) {
    let mut sequence = sequence.unwrap();
    let before = (on.launches.get(), on.clears.get());
    for (args, numbers) in cases {
        let result = sequence.run(on, args);
        let Err(Failed::Unsuitable(why)) = result else { panic!("{what}, {numbers:?}: {result:?} is no refusal") };
        let named = |number: u32| why.split(|c: char| !c.is_ascii_digit()).any(|word| word == number.to_string());
        assert!(numbers.into_iter().all(named), "{what}: {why:?} does not name {numbers:?}");
    }
    assert_eq!((on.launches.get(), on.clears.get()), before, "{what}: something was launched");
}

/// Lengths that are not `n`.
fn other_than(n: u32) -> [u32; 3] {
    [n - 1, n + 1, 0]
}

#[test]
fn a_sequence_refuses_views_of_other_lengths() {
    let (on, n) = (Counting::new(), 40);
    let (mut words, mut longs) = (vec![7u32; 100], vec![7u64; 100]);
    let (words, longs) = (view(&mut words), view(&mut longs));
    let all = words.slice(0, n);

    for entry in SORTS.iter().flat_map(|ladder| ladder.rungs) {
        let name = entry.rung.name;
        if entry.run.narrow.is_some() {
            let keys = other_than(n).map(|m| (sort::Keys { keys: words.slice(0, m), order: SIGNED }, [m, n]));
            check_refuses(name, entry.sorter(&on, n, Options::default()), &on, keys.into());
        }
        if entry.run.pairs.is_some() {
            let keys = |m| sort::Pairs { keys: words.slice(0, m), values: all, order: SIGNED };
            let values = |m| sort::Pairs { keys: all, values: words.slice(0, m), order: SIGNED };
            let pairs = other_than(n).into_iter().flat_map(|m| [(keys(m), [m, n]), (values(m), [m, n])]);
            check_refuses(name, entry.pair_sorter(&on, n), &on, pairs.collect());
        }
    }
    for entry in rungs_kernels::reduce::LADDER.rungs {
        let with = |m, of| reduce::Elements { input: words.slice(0, m), output: words.slice(0, of) };
        let inputs = other_than(n).map(|m| (with(m, 1), [m, n]));
        let outputs = [0, 2].map(|of| (with(n, of), [of, 1]));
        let made = entry.reducer(&on, n, Operation::Sum);
        check_refuses(entry.rung.name, made, &on, inputs.into_iter().chain(outputs).collect());
    }
    for entry in rungs_kernels::scan::LADDER.rungs {
        let with = |m, of| scan::Elements { input: words.slice(0, m), output: words.slice(0, of), exclusive: true };
        let cases = other_than(n).into_iter().flat_map(|m| [(with(m, n), [m, n]), (with(n, m), [m, n])]);
        check_refuses(entry.rung.name, entry.scanner(&on, n, Operation::Sum), &on, cases.collect());
    }
    for entry in ladders::SELECT.rungs {
        let with = |m, of, count| select::Items {
            input: words.slice(0, m),
            output: words.slice(0, of),
            count: words.slice(0, count),
            pivot: 7,
        };
        let cases = other_than(n).into_iter().flat_map(|m| [(with(m, n, 1), [m, n]), (with(n, m, 1), [m, n])]);
        let cases = cases.chain([0, 2].map(|count| (with(n, n, count), [count, 1])));
        check_refuses(entry.rung.name, entry.selector(&on, n), &on, cases.collect());
    }
    for entry in SIFTS.iter().flat_map(|ladder| ladder.rungs) {
        let task = entry.run.task();
        let [parts, sums] = [Task::Partition, Task::ReduceByKey].map(|of| if task == of { n } else { 0 });
        let results = if task == Task::RunLengths { n } else { sums };
        let items = sift::Items {
            input: all,
            words: words.slice(0, sums),
            pivot: 7,
            output: all,
            count: words.slice(0, 1),
            rest: words.slice(0, parts),
            rest_count: words.slice(0, u32::from(parts > 0)),
            results: words.slice(0, results),
        };
        let other = |m: u32| words.slice(0, m);
        let cases = other_than(n).into_iter().flat_map(|m| {
            [(sift::Items { input: other(m), ..items }, [m, n]), (sift::Items { output: other(m), ..items }, [m, n])]
        });
        let without = [
            (sift::Items { words: other(n + 2 - sums), ..items }, [n + 2 - sums, sums]),
            (sift::Items { rest: other(n + 2 - parts), ..items }, [n + 2 - parts, parts]),
            (sift::Items { results: other(n + 2 - results), ..items }, [n + 2 - results, results]),
            (sift::Items { count: other(2), ..items }, [2, 1]),
        ];
        check_refuses(entry.rung.name, entry.sifter(&on, n), &on, cases.chain(without).collect());
    }
    for entry in ladders::TOP_K.rungs {
        let with = |m, of| top_k::Keys { input: words.slice(0, m), output: words.slice(0, of), order: SIGNED };
        let (keys, outputs) =
            (other_than(n).map(|m| (with(m, 7), [m, n])), other_than(7).map(|of| (with(n, of), [of, 7])));
        check_refuses(entry.rung.name, entry.finder(&on, n, 7), &on, keys.into_iter().chain(outputs).collect());
    }
    for entry in rungs_kernels::segments::LADDER.rungs {
        let offsets = words.slice(0, 3);
        let with = |m| segmented_sort::Segments { keys: words.slice(0, m), offsets, order: SIGNED };
        let cases = other_than(n).map(|m| (with(m), [m, n]));
        check_refuses(entry.rung.name, entry.sorter::<u32>(&on, n), &on, cases.into());
        let with = |m, values, moved| segmented_sort::SegmentedPairs {
            keys: words.slice(0, m),
            values: words.slice(0, values),
            moved: words.slice(0, moved),
            offsets,
            order: SIGNED,
        };
        let cases = other_than(n).into_iter().flat_map(|m| [(with(m, n, n), [m, n]), (with(n, n, m), [m, n])]);
        let cases = cases.chain([(with(n, n + 1, n), [n + 1, n])]);
        check_refuses(entry.rung.name, entry.pair_sorter(&on, n), &on, cases.collect());
    }
    for entry in rungs_kernels::histogram::LADDER.rungs {
        let cases = other_than(n).map(|m| (histogram::Keys { keys: words, counts: words.slice(0, m) }, [m, n]));
        check_refuses(entry.rung.name, entry.counter(&on, n), &on, cases.into());
    }
    for entry in rungs_kernels::cubes::LADDER.rungs {
        let options = Options { blocks: Some(2), threads: Some(5), columns: None };
        let plan = entry.run.plan(&options, on.device());
        let times = plan.blocks * rungs_kernels::cubes::clocks::TIMES;
        let with =
            |sums, times| cubes::Values { values: words, sums: longs.slice(0, sums), times: longs.slice(0, times) };
        let sums = other_than(plan.sums).map(|m| (with(m, times), [m, plan.sums]));
        let times = other_than(times).map(|m| (with(plan.sums, m), [m, times]));
        check_refuses(entry.rung.name, entry.adder(&on, plan), &on, sums.into_iter().chain(times).collect());
    }
    let floats = words.cast::<f32>();
    for entry in rungs_kernels::saxpy::LADDER.rungs {
        let with = |x, y| Vectors { a: 1.0, x: floats.slice(0, x), y: floats.slice(0, y) };
        let cases = other_than(n).map(|m| (with(m, n), [m, n]));
        check_refuses(entry.rung.name, entry.adder(&on), &on, cases.into());
    }
    for entry in rungs_kernels::products::LADDER.rungs.iter().filter(|entry| entry.run.f32()) {
        let matrix = |rows, columns, stride, len| Matrix::new(floats.slice(0, len), rows, columns, stride);
        let (a, b, c) = (matrix(3, 4, 5, 14), matrix(4, 2, 2, 8), matrix(3, 2, 3, 8));
        let transposed = |matrix| Matrix { transposed: true, ..matrix };
        let batch = |count, a, b, c| Batch { count, a, b, c };
        let (product, sizes) = (Product::new(a, b, c), Sizes { m: 3, n: 2, k: 4 });
        let cases = vec![
            // Views that the last row does not fit into, by one element; rows that overlap.
            (Product::new(matrix(3, 4, 5, 13), b, c), [5, 13]),
            (Product::new(a, matrix(4, 2, 2, 7), c), [2, 7]),
            (Product::new(a, b, matrix(3, 2, 3, 7)), [3, 7]),
            (Product::new(a, matrix(4, 2, 1, 8), c), [2, 1]),
            (Product::new(transposed(matrix(3, 4, 3, 11)), b, c), [3, 11]),
            (Product::new(transposed(matrix(3, 4, 2, 12)), b, c), [3, 2]),
            // The last of a batch; products that overlap; a C by columns.
            (Product { batch: batch(3, 1, 0, 0), ..product }, [3, 14]),
            (Product { batch: batch(2, 0, 1, 0), ..product }, [2, 8]),
            (Product { c: matrix(3, 2, 3, 15), batch: batch(2, 0, 0, 7), ..product }, [8, 7]),
            (Product { c: transposed(matrix(3, 2, 3, 8)), ..product }, [3, 2]),
            // Sizes that do not go together.
            (Product::new(a, matrix(5, 2, 2, 10), c), [4, 5]),
            (Product::new(a, b, matrix(2, 2, 3, 8)), [3, 2]),
            (Product::new(a, matrix(4, 3, 3, 12), c), [3, 2]),
        ];
        check_refuses(entry.rung.name, entry.multiplier(&on, sizes), &on, cases);
        entry.multiplier(&on, sizes).unwrap().run(&on, product).unwrap();
        assert!(on.launches.take() >= 1);
    }
}

/// What a rung says that it cannot do.
fn refusal<A>(made: Result<Sequence<A>>) -> String {
    match made {
        Err(Failed::Unsuitable(why)) => why,
        Err(error) => panic!("{error} is no refusal"),
        Ok(_) => panic!("a sequence was made"),
    }
}

#[test]
fn a_rung_refuses_what_it_cannot_do() {
    let gpu = with_multiprocessors(3);
    for entry in SORTS.iter().flat_map(|ladder| ladder.rungs) {
        if entry.run.narrow.is_none() {
            assert!(refusal(entry.sorter::<u32>(&gpu, 1, Options::default())).contains("without values"));
        }
        if entry.run.wide.is_none() {
            assert!(refusal(entry.sorter::<u64>(&gpu, 1, Options::default())).contains("64 bits"));
        }
        if entry.run.pairs.is_none() {
            assert!(refusal(entry.pair_sorter(&gpu, 1)).contains("without values"));
        }
        if let Some(n) = entry.rung.capacity.and_then(|capacity| u32::try_from(capacity + 1).ok()) {
            assert!(refusal(entry.sorter::<u32>(&gpu, n, Options::default())).contains(&n.to_string()));
        }
    }
    for entry in rungs_kernels::scan::LADDER.rungs {
        if let Some(n) = entry.rung.capacity.map(|capacity| capacity as u32 + 1) {
            assert!(refusal(entry.scanner::<f64>(&gpu, n, Operation::Min)).contains(&n.to_string()));
        }
    }
    for entry in ladders::TOP_K.rungs {
        assert!(refusal(entry.finder(&gpu, 5, 6)).contains("the 6 largest of 5 keys"));
    }
    // Columns and windows that there cannot be.
    for (columns, entry) in [4, 24, 2048].into_iter().zip(&radix::LADDER.rungs[..3]) {
        let options = Options { columns: Some(columns), ..Options::default() };
        assert!(refusal(entry.sorter::<u32>(&gpu, 1, options)).contains(&format!("{columns} columns")));
    }
    for threads in [0, 513] {
        let options = Options { threads: Some(threads), ..Options::default() };
        let entry = bubble::LADDER.get("shared-block").unwrap();
        assert!(refusal(entry.sorter::<u32>(&gpu, 1, options)).contains(&format!("a block of {} keys", 2 * threads)));
    }
    // Devices that look-ahead cannot use, and less shared memory than there is where the rungs were measured.
    let look_ahead = rungs_kernels::scan::LADDER.get("look-ahead").unwrap();
    let mut ampere = gpu;
    ampere.device.compute_capability = (8, 6);
    assert!(refusal(look_ahead.scanner::<u32>(&ampere, 1, Operation::Sum)).contains("8.6"));
    let mut small = gpu;
    small.device.shared_per_block = 99 << 10;
    assert!(refusal(look_ahead.scanner::<u32>(&small, 1, Operation::Sum)).contains("101376"));
    for entry in [bubble::LADDER.rungs[0], radix::LADDER.rungs[0]] {
        assert!(entry.sorter::<u32>(&gpu, 26_000, Options::default()).is_ok());
        assert!(refusal(entry.sorter::<u32>(&small, 26_000, Options::default())).contains("26000"));
    }
}

/// What a rung takes for a problem: launches and clearings of one run, and bytes of scratch memory.
#[derive(Debug, PartialEq)]
struct Taken {
    launches: u32,
    clears: u32,
    bytes: u64,
}

/// Makes a sequence and runs it once.
fn taken<A: Lengths>(
    make: impl Fn(&dyn Launcher) -> Result<Sequence<A>>,
    args: impl Fn(&dyn Launcher) -> Result<(A, Vec<Scratch<u32>>)>,
) -> Taken {
    let on = Counting::new();
    let mut sequence = make(&on).unwrap();
    let bytes = on.bytes.get() as u64;
    on.clears.set(0);
    let (args, _memory) = args(&on).unwrap();
    sequence.run(&on, args).unwrap();
    Taken { launches: on.launches.get(), clears: on.clears.get(), bytes }
}

/// For a sort of `n` unsigned keys.
fn taken_by_sort<W: Width>(ladder: &Ladder<Sort>, name: &str, n: u32) -> Taken {
    let entry = ladder.get(name).unwrap();
    let make = |on: &dyn Launcher| entry.sorter::<W>(on, n, Options::default());
    taken(make, |on| {
        let memory = on.scratch::<u32>(n * size_of::<W>() as u32 / 4)?;
        Ok((sort::Keys { keys: memory.view().cast(), order: UNSIGNED }, vec![memory]))
    })
}

/// For a sort of `n` pairs.
fn taken_by_pairs(name: &str, n: u32, order: u32) -> Taken {
    let entry = ladders::RADIX.get(name).unwrap();
    taken(
        |on| entry.pair_sorter(on, n),
        |on| {
            let (keys, values) = (on.scratch::<u32>(n)?, on.scratch::<u32>(n)?);
            Ok((sort::Pairs { keys: keys.view(), values: values.view(), order }, vec![keys, values]))
        },
    )
}

/// For a reduction of `n` words.
fn taken_by_reduce(name: &str, n: u32) -> Taken {
    let entry = rungs_kernels::reduce::LADDER.get(name).unwrap();
    let make = |on: &dyn Launcher| entry.reducer::<u32>(on, n, Operation::Sum);
    taken(make, |on| {
        let (input, output) = (on.scratch::<u32>(n)?, on.scratch::<u32>(1)?);
        Ok((reduce::Elements { input: input.view(), output: output.view() }, vec![input, output]))
    })
}

/// For a selection from `n` words.
fn taken_by_select(name: &str, n: u32) -> Taken {
    let entry = ladders::SELECT.get(name).unwrap();
    let make = |on: &dyn Launcher| entry.selector::<u32>(on, n);
    taken(make, |on| {
        let (memory, count) = (on.scratch::<u32>(n)?, on.scratch::<u32>(1)?);
        let view = memory.view();
        let args = select::Items { input: view, output: view, count: count.view(), pivot: 7 };
        Ok((args, vec![memory, count]))
    })
}

/// For a scan of `n` elements.
fn taken_by_scan<T: Element>(name: &str, n: u32) -> Taken
where
    dyn Scan: Scans<T>,
{
    let entry = rungs_kernels::scan::LADDER.get(name).unwrap();
    let make = |on: &dyn Launcher| entry.scanner::<T>(on, n, Operation::Sum);
    taken(make, |on| {
        let memory = on.scratch::<u32>(n * size_of::<T>() as u32 / 4)?;
        let view = memory.view().cast();
        Ok((scan::Elements { input: view, output: view, exclusive: false }, vec![memory]))
    })
}

/// The launches of the sorts that `costs.rs` does not count are as many as their heads say.
#[test]
fn launches_are_as_many_as_heads_say() {
    let launches = |name| taken_by_sort::<u32>(&ladders::RADIX, name, 1 << 22).launches;
    assert_eq!(["onesweep", "msd-buckets", "msd-skewed"].map(launches), [6, 5, 5 + 3]);
    let launches = |n| taken_by_sort::<u32>(&ladders::RADIX, "either", n).launches;
    let sizes = [1, 1 << 20, (1 << 20) + 1, 1 << 21, (1 << 21) + 1, 1 << 25, (1 << 25) + 1];
    assert_eq!(sizes.map(launches), [1, 6, 6, 6, 7, 7, 5 + 3]);
    let launches = |n| taken_by_sort::<u32>(&ladders::RADIX, "learned", n).launches;
    assert_eq!([1, 1 << 20, 1 << 24, (1 << 25) + 1].map(launches), [1, 7, 8, 9]);
    let launches = |(n, order)| taken_by_pairs("msd-pairs", n, order).launches;
    let sizes = [(1 << 21, UNSIGNED), (1 << 24, UNSIGNED), (1 << 21, FLOAT), (1 << 24, FLOAT)];
    assert_eq!(sizes.map(launches), [5, 7, 5, 9]);
}

/// Rungs whose head says that they are one launch clear nothing before it either.
#[test]
fn one_launch_is_all_there_is() {
    let entry = rungs_kernels::histogram::LADDER.get("bank-private").unwrap();
    let counted = taken(
        |on| entry.counter::<u8>(on, 256),
        |on| {
            let (keys, counts) = (on.scratch::<u32>(1 << 20)?, on.scratch::<u32>(256)?);
            Ok((histogram::Keys { keys: keys.view().cast(), counts: counts.view() }, vec![keys, counts]))
        },
    );
    assert_eq!((counted.launches, counted.clears), (1, 0));
    for counted in [taken_by_reduce("single-launch", 1 << 24), taken_by_scan::<f32>("look-ahead", 1 << 24)] {
        assert_eq!((counted.launches, counted.clears), (1, 0));
    }
}

#[test]
fn scratch_memory_is_as_much_as_heads_say() {
    // What sorts in place, or in one block, takes none.
    const ELSEWHERE: [&str; 4] = ["ring", "merge-split", "persistent", "levels"];
    for ladder in [&bitonic::LADDER, &bubble::LADDER, &odd_even::LADDER] {
        for entry in ladder.rungs.iter().filter(|entry| !ELSEWHERE.contains(&entry.rung.name)) {
            assert_eq!(taken_by_sort::<u32>(ladder, entry.rung.name, 2049).bytes, 0, "{}", entry.rung.name);
            assert_eq!(taken_by_sort::<u64>(ladder, entry.rung.name, 2049).bytes, 0, "{}", entry.rung.name);
        }
    }
    // One word for each mover of the ring, two for keys of 8 bytes.
    assert_eq!(taken_by_sort::<u32>(&bubble::LADDER, "ring", 2049).bytes, 3 * 512 * 8);
    assert_eq!(taken_by_sort::<u64>(&bubble::LADDER, "ring", 2049).bytes, 3 * 512 * 16);
    // Arrays as large as the keys', unless there is one run; a counter of 128 bytes for each run, and one more.
    for (name, arrays, counters) in [("merge-split", 1, 0), ("persistent", 2, 128), ("levels", 1, 0)] {
        let bytes = |n| taken_by_sort::<u32>(&odd_even::LADDER, name, n).bytes;
        assert_eq!(bytes(32_768), 2 * counters, "{name}");
        assert_eq!(bytes(1 << 20), arrays * (4 << 20) + 33 * counters, "{name}");
    }
    for name in ["columns-one-thread", "columns-atomic-min", "columns-tree", "columns-groups"] {
        assert_eq!(taken_by_sort::<u32>(&radix::LADDER, name, 2049).bytes, 0, "{name}");
    }
    for name in ["hillis-steele", "blelloch", "blelloch-padded"] {
        assert_eq!(taken_by_scan::<u32>(name, 1000).bytes, 0, "{name}");
    }
    // Sorts that go to and fro take as much as the keys, and at most an eighth of them and a MiB to count digits. What
    // fits a block takes nothing.
    for entry in ladders::RADIX.rungs[4..].iter().filter(|entry| entry.run.narrow.is_some()) {
        for n in [1, 1 << 16, 1 << 20, (1 << 24) + 1] {
            let name = entry.rung.name;
            let wide = || taken_by_sort::<u64>(&ladders::RADIX, name, n);
            let narrow = [(4, taken_by_sort::<u32>(&ladders::RADIX, name, n))];
            for (key_bytes, taken) in narrow.into_iter().chain(entry.run.wide.is_some().then(|| (8, wide()))) {
                let keys = n as u64 * key_bytes;
                if ["either", "learned"].contains(&name) && n == 1 {
                    assert_eq!(taken.bytes, 0);
                    continue;
                }
                assert!((keys..=keys + keys / 8 + (1 << 20)).contains(&taken.bytes), "{name}, n = {n}: {taken:?}");
            }
        }
    }
    // Pairs go to and fro between two arrays, or between one and where they are if the device chooses the way. What
    // fits a block takes nothing.
    for n in [1, ONE_BLOCK_PAIRS] {
        assert_eq!(taken_by_pairs("msd-pairs", n, UNSIGNED).bytes, 0);
    }
    for (n, bytes) in [(ONE_BLOCK_PAIRS + 1, 16), (1 << 16, 16), (1 << 20, 16), ((1 << 24) + 1, 8)] {
        let (taken, pairs) = (taken_by_pairs("msd-pairs", n, UNSIGNED), n as u64 * bytes);
        assert!((pairs..=pairs + pairs / 16 + (2 << 20)).contains(&taken.bytes), "n = {n}: {taken:?}");
    }
    // The states of tiles, 8 or 16 bytes each, 128 bytes after the word that blocks draw from.
    let n = 1u32 << 24;
    let states = |tile: u32, bytes: u64| 128 + n.div_ceil(tile) as u64 * bytes;
    assert_eq!(taken_by_scan::<f32>("look-back", n).bytes, states(r5_look_back::TILE, 8));
    assert_eq!(taken_by_scan::<i64>("look-back", n).bytes, states(r5_look_back::TILE, 16));
    assert_eq!(taken_by_scan::<f32>("look-ahead", n).bytes, states(r6_look_ahead::tile::<f32>(), 8));
    assert_eq!(taken_by_scan::<i64>("look-ahead", n).bytes, states(r6_look_ahead::tile::<i64>(), 16));
    for (name, bytes) in [
        ("global-atomics", 0),
        ("warp-aggregated", 0),
        ("three-kernels", 4 * n.div_ceil(r3_three_kernels::TILE) as u64),
        ("look-back", states(selects::TILE, 8)),
        // Room for either pass: tiles of the one that looks back are more.
        ("compact", states(compact::TILE, 8)),
        ("look-ahead", states(compact::TILE, 8)),
    ] {
        assert_eq!(taken_by_select(name, n).bytes, bytes, "{name}");
    }
}
