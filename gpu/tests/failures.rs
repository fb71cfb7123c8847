//! A sequence of launches is right again after one of them failed: every rung of every ladder, every launch.

mod common;

use common::{Buffer, Element, SIFTS, SORTS, difference, families, random, same, view, with_multiprocessors};
use rungs_kernels::histogram::Key;
use rungs_kernels::keys::{SIGNED, UNSIGNED, Word};
use rungs_kernels::ladder::histogram::{Counts, Histogram};
use rungs_kernels::ladder::matmul::{Matmul, Matrix, Multiplied, Multiplier as _, Product, Sizes};
use rungs_kernels::ladder::reduce::{Reduce, Reduces};
use rungs_kernels::ladder::saxpy::{Axpy, Vectors};
use rungs_kernels::ladder::scan::{Scan, Scans};
use rungs_kernels::ladder::segmented_sort::{SegmentedSort, Segments};
use rungs_kernels::ladder::select::Select;
use rungs_kernels::ladder::sift::{Sift, Task};
use rungs_kernels::ladder::sort::{Sort, Width};
use rungs_kernels::ladder::top_k::TopK;
use rungs_kernels::ladder::{Device, Entry, Failed, Launcher, Options, Result, Rung};
use rungs_kernels::ladder::{cubes, histogram, reduce, scan, select, sift, sort, top_k};
use rungs_kernels::operator::Operation;
use simt::launcher::{Call, Memory};
use simt::sim::Gpu;
use simt::{Geometry, Parameters, bf16, f16, thread};
use std::cell::Cell;
use std::fmt::Debug;

/// A rung's sequence with a problem of its own: each call runs it on fresh memory, and compares unless the run failed.
type Run = Box<dyn FnMut(&dyn Launcher) -> Result>;

/// Makes a [`Run`] for a number of elements.
type Make = Box<dyn Fn(&dyn Launcher, u32) -> Result<Run>>;

/// A rung, and how to run it.
struct Case {
    what: String,
    rung: &'static Rung,
    /// Elements for two or more blocks.
    many: u32,
    make: Make,
}

impl Case {
    fn new(
        rung: &'static Rung,
        what: &str,
        many: u32,
        make: impl Fn(&dyn Launcher, u32) -> Result<Run> + 'static,
    ) -> Self {
        let many = rung.capacity.map_or(many, |capacity| many.min(capacity.min(u32::MAX.into()) as u32));
        Self { what: format!("{} on {what}", rung.path()), rung, many, make: Box::new(make) }
    }
}

/// Elements for several blocks of the rungs that do not sort.
const MANY: u32 = 20_000;

/// Keys for two tiles; where there are no tiles, for two blocks of `global-step`, whose launches are many.
fn two_tiles(rung: &Rung) -> u32 {
    rung.tiles.iter().max().map_or(300, |&tile| tile as u32 + 77)
}

/// Words with more zeros than ones, so that some buckets of a sort are oversized; others in every run.
fn words<W: From<u32> + Width>(n: u32, run: u64) -> Vec<W> {
    let word = |i| random(i) & random(i + 77) & random(i + 99);
    (0..n as u64).map(|i| W::from_bits_64(word(i + (run << 32)))).collect()
}

fn sorts<W: From<u32> + Width + Debug>(entry: &'static Entry<Sort>, what: &str) -> Case {
    let name = entry.rung.name;
    Case::new(&entry.rung, what, two_tiles(&entry.rung), move |on, n| {
        let (mut sequence, mut run) = (entry.sorter::<W>(on, n, Options::default())?, 0);
        Ok(Box::new(move |on| {
            run += 1;
            let keys = words::<W>(n, run);
            let mut buffer = Buffer::new(&keys, 0);
            sequence.run(on, sort::Keys { keys: buffer.view(), order: SIGNED })?;
            buffer.check_guards(name);
            assert_eq!(difference(&keys, buffer.slice(), SIGNED), None, "{name}, n = {n}, run {run}");
            Ok(())
        }))
    })
}

fn sorts_pairs(entry: &'static Entry<Sort>) -> Case {
    let name = entry.rung.name;
    Case::new(&entry.rung, "pairs", two_tiles(&entry.rung), move |on, n| {
        let (mut sequence, mut run) = (entry.pair_sorter(on, n)?, 0);
        Ok(Box::new(move |on| {
            run += 1;
            let mut want: Vec<(u32, u32)> = words::<u32>(n, run).into_iter().zip(0..n).collect();
            let mut keys = Buffer::new(&want.iter().map(|pair| pair.0).collect::<Vec<_>>(), 0);
            let mut values = Buffer::new(&want.iter().map(|pair| pair.1).collect::<Vec<_>>(), 0);
            sequence.run(on, sort::Pairs { keys: keys.view(), values: values.view(), order: SIGNED })?;
            want.sort_by_key(|pair| pair.0.encode(SIGNED));
            let got = keys.slice().iter().copied().zip(values.slice().iter().copied());
            assert!(got.eq(want), "{name}, n = {n}, run {run}");
            Ok(())
        }))
    })
}

/// Elements, others in every run.
fn elements<T: Element>(n: u32, run: u64) -> Vec<T> {
    (0..n as u64).map(|i| T::of(random(i + (run << 32)))).collect()
}

fn reduces<T: Element>(entry: &'static Entry<&dyn Reduce>, operation: Operation) -> Case
where
    dyn Reduce: Reduces<T>,
{
    let (name, what) = (entry.rung.name, std::any::type_name::<T>());
    Case::new(&entry.rung, what, MANY, move |on, n| {
        let (mut sequence, mut run) = (entry.reducer::<T>(on, n, operation)?, 0);
        Ok(Box::new(move |on| {
            run += 1;
            let values = elements::<T>(n, run);
            let (mut input, mut output) = (Buffer::new(&values, 0), Buffer::poisoned(1, 0));
            sequence.run(on, reduce::Elements { input: input.view(), output: output.view() })?;
            let fold = |all, &value| T::combine(operation, all, value);
            let (got, want) = (output.slice()[0], values.iter().fold(T::identity(operation), fold));
            assert!(same(got, want), "{name}, n = {n}, run {run}: {got:?}, not {want:?}");
            Ok(())
        }))
    })
}

fn selects(entry: &'static Entry<&dyn Select>) -> Case {
    let name = entry.rung.name;
    Case::new(&entry.rung, "u32", MANY, move |on, n| {
        let (mut sequence, mut run) = (entry.selector::<u32>(on, n)?, 0);
        Ok(Box::new(move |on| {
            run += 1;
            let (values, pivot) = (elements::<u32>(n, run), 1 << 31);
            let (mut input, mut output) = (Buffer::new(&values, 0), Buffer::poisoned(n as usize, 0));
            let mut count = Buffer::<u32>::poisoned(1, 0);
            let args = select::Items { input: input.view(), output: output.view(), count: count.view(), pivot };
            sequence.run(on, args)?;
            let mut want: Vec<u32> = values.into_iter().filter(|&x| x < pivot).collect();
            assert_eq!(count.slice(), [want.len() as u32], "{name}, n = {n}, run {run}");
            let mut got = output.slice()[..want.len()].to_vec();
            if !entry.run.is_stable() {
                got.sort_unstable();
                want.sort_unstable();
            }
            assert!(got == want, "{name}, n = {n}, run {run}");
            Ok(())
        }))
    })
}

fn sifts(entry: &'static Entry<&dyn Sift>) -> Case {
    let (name, task) = (entry.rung.name, entry.run.task());
    Case::new(&entry.rung, "u32", MANY, move |on, n| {
        let (mut sequence, mut run) = (entry.sifter::<u32>(on, n)?, 0);
        Ok(Box::new(move |on| {
            run += 1;
            let (pivot, len) = (1 << 31, n as usize);
            // Runs of about two items, so that not all are alike.
            let items: Vec<u32> = elements::<u32>(n, run).into_iter().map(|x| x >> 31 << 31).collect();
            let has = |of: &[Task]| if of.contains(&task) { len } else { 0 };
            let mut input = Buffer::new(&items, 0);
            let mut words = Buffer::new(&items[..has(&[Task::ReduceByKey])], 0);
            let [mut output, mut rest] = [len, has(&[Task::Partition])].map(|len| Buffer::<u32>::poisoned(len, 0));
            let mut results = Buffer::<u32>::poisoned(has(&[Task::RunLengths, Task::ReduceByKey]), 0);
            let [mut count, mut others] = [1, usize::from(task == Task::Partition)].map(|n| Buffer::poisoned(n, 0));
            sequence.run(
                on,
                sift::Items {
                    input: input.view(),
                    words: words.view(),
                    pivot,
                    output: output.view(),
                    count: count.view(),
                    rest: rest.view(),
                    rest_count: others.view(),
                    results: results.view(),
                },
            )?;
            let (below, above): (Vec<u32>, Vec<u32>) = items.iter().partition(|&&x| x < pivot);
            let runs: Vec<&[u32]> = items.chunk_by(|a, b| a == b).collect();
            let firsts: Vec<u32> = runs.iter().map(|run| run[0]).collect();
            let of_runs: Vec<u32> = match task {
                Task::RunLengths => runs.iter().map(|run| run.len() as u32).collect(),
                Task::ReduceByKey => runs.iter().map(|run| run.iter().fold(0u32, |a, b| a.wrapping_add(*b))).collect(),
                _ => vec![],
            };
            let want = if task == Task::Partition { &below } else { &firsts };
            assert_eq!(count.slice(), [want.len() as u32], "{name}, {task:?}, n = {n}, run {run}");
            assert!(output.slice()[..want.len()] == want[..], "{name}, {task:?}, n = {n}, run {run}");
            assert!(results.slice().starts_with(&of_runs), "{name}, {task:?}, n = {n}, run {run}");
            if task == Task::Partition {
                assert_eq!(others.slice(), [above.len() as u32], "{name}, {task:?}, n = {n}, run {run}");
                assert!(rest.slice().starts_with(&above), "{name}, {task:?}, n = {n}, run {run}");
            }
            Ok(())
        }))
    })
}

fn finds(entry: &'static Entry<&dyn TopK>) -> Case {
    let name = entry.rung.name;
    Case::new(&entry.rung, "u32", MANY, move |on, n| {
        let k = n.min(100);
        let (mut sequence, mut run) = (entry.finder(on, n, k)?, 0);
        Ok(Box::new(move |on| {
            run += 1;
            let mut keys = elements::<u32>(n, run);
            let (mut input, mut output) = (Buffer::new(&keys, 0), Buffer::poisoned(k as usize, 0));
            sequence.run(on, top_k::Keys { input: input.view(), output: output.view(), order: UNSIGNED })?;
            output.slice().sort_unstable();
            keys.sort_unstable();
            assert!(output.slice() == &keys[(n - k) as usize..], "{name}, n = {n}, run {run}");
            Ok(())
        }))
    })
}

fn sorts_segments(entry: &'static Entry<&dyn SegmentedSort>) -> Case {
    let name = entry.rung.name;
    Case::new(&entry.rung, "u32", MANY, move |on, n| {
        let (mut sequence, mut run) = (entry.sorter::<u32>(on, n)?, 0);
        Ok(Box::new(move |on| {
            run += 1;
            let mut keys = elements::<u32>(n, run);
            // Short segments, one for a block, and one for buckets if there are enough keys.
            let offsets = [0, n / 90, n / 80, n / 3, n];
            let (mut input, mut at) = (Buffer::new(&keys, 0), Buffer::new(&offsets, 0));
            sequence.run(on, Segments { keys: input.view(), offsets: at.view(), order: UNSIGNED })?;
            offsets.windows(2).for_each(|pair| keys[pair[0] as usize..pair[1] as usize].sort_unstable());
            assert!(input.slice() == keys, "{name}, n = {n}, run {run}");
            Ok(())
        }))
    })
}

fn scans<T: Element>(entry: &'static Entry<&dyn Scan>, operation: Operation) -> Case
where
    dyn Scan: Scans<T>,
{
    let (name, what) = (entry.rung.name, std::any::type_name::<T>());
    Case::new(&entry.rung, what, MANY, move |on, n| {
        let (mut sequence, mut run) = (entry.scanner::<T>(on, n, operation)?, 0);
        Ok(Box::new(move |on| {
            run += 1;
            let values = elements::<T>(n, run);
            let (mut input, mut output) = (Buffer::new(&values, 0), Buffer::poisoned(n as usize, 0));
            sequence.run(on, scan::Elements { input: input.view(), output: output.view(), exclusive: false })?;
            let mut all = T::identity(operation);
            for (i, (&value, &got)) in values.iter().zip(output.slice().iter()).enumerate() {
                all = T::combine(operation, all, value);
                assert!(same(got, all), "{name}, n = {n}, run {run}: [{i}] is {got:?}, not {all:?}");
            }
            Ok(())
        }))
    })
}

/// Bins of the histograms here; keys go a little beyond.
const BINS: u32 = 100;

fn counts<K: Key + TryFrom<u32>>(entry: &'static Entry<&dyn Histogram>) -> Case
where
    dyn Histogram: Counts<K>,
{
    let (name, what) = (entry.rung.name, std::any::type_name::<K>());
    Case::new(&entry.rung, what, MANY, move |on, n| {
        let (mut sequence, mut run) = (entry.counter::<K>(on, BINS)?, 0);
        Ok(Box::new(move |on| {
            run += 1;
            let keys = words::<u32>(n, run).into_iter().map(|word| word % (BINS + 9));
            let keys: Vec<K> = keys.filter_map(|key| key.try_into().ok()).collect();
            let (mut keys, mut counts) = (Buffer::new(&keys, 0), Buffer::poisoned(BINS as usize, 0));
            sequence.run(on, histogram::Keys { keys: keys.view(), counts: counts.view() })?;
            let count = |bin: u32| keys.slice().iter().filter(|key| key.bin() == bin).count() as u32;
            let want: Vec<u32> = (0..BINS).map(count).collect();
            assert_eq!(counts.slice(), want, "{name}, n = {n}, run {run}");
            Ok(())
        }))
    })
}

fn adds_cubes(entry: &'static Entry<cubes::Cubes>) -> Case {
    let name = entry.rung.name;
    Case::new(&entry.rung, "words", MANY, move |on, n| {
        let plan = entry.run.plan(&Options::default(), on.device());
        let (mut sequence, mut run) = (entry.adder(on, plan)?, 0);
        Ok(Box::new(move |on| {
            run += 1;
            let mut values = Buffer::new(&words::<u32>(n, run), 0);
            let mut sums = Buffer::<u64>::poisoned(plan.sums as usize, 0);
            let mut times = Buffer::<u64>::poisoned((plan.blocks * rungs_kernels::cubes::clocks::TIMES) as usize, 0);
            let args = cubes::Values { values: values.view(), sums: sums.view(), times: times.view() };
            sequence.run(on, args)?;
            let add = |sum: u64, part: u64| sum.wrapping_add(part);
            let want = values.slice().iter().map(|&v| (v as u64).wrapping_pow(3)).fold(0, add);
            assert_eq!(sums.slice().iter().copied().fold(0, add), want, "{name}, n = {n}, run {run}");
            Ok(())
        }))
    })
}

/// Columns of A, whatever n is: A has `n / 100` rows.
const INNER: u32 = 19;

/// Columns of B.
const COLUMNS: u32 = 37;

/// With elements of `f32`, or of another type that the rung takes.
fn multiplies(entry: &'static Entry<Matmul>) -> Case {
    let run = entry.run;
    match () {
        () if run.f32() => multiplies_of::<f32>(entry, |x| x),
        () if run.f64().is_some() => multiplies_of(entry, f64::from),
        () if run.f16().is_some() => multiplies_of(entry, f16::from_f32),
        () => multiplies_of(entry, bf16::from_f32),
    }
}

fn multiplies_of<T: Multiplied + PartialEq + Debug>(entry: &'static Entry<Matmul>, of: fn(f32) -> T) -> Case {
    let name = entry.rung.name;
    Case::new(&entry.rung, "floats", MANY, move |on, n| {
        let rows = n / 100;
        let sizes = Sizes { m: rows, n: COLUMNS, k: INNER };
        let (mut sequence, mut run) = (entry.multiplier::<T>(on, sizes)?, 0);
        // Rows begin on multiples of 16 bytes if elements have 16 bits: TMA takes no others. The course's products take
        // rows without gaps.
        let gaps = size_of::<T>() == 2 && !entry.run.is_plain();
        let stride = move |columns: u32| if gaps { columns.next_multiple_of(8) } else { columns };
        // Two sets of matrices, each for two runs on end: a rung may keep what it wrote about the matrices of the run
        // before. Then a run that fails is on other matrices than the run before it, and the next is on its matrices.
        let matrix_of = |rows, columns| Buffer::new(&vec![of(0.0); (rows * stride(columns)) as usize], 0);
        let set = || [matrix_of(rows, INNER), matrix_of(INNER, COLUMNS), matrix_of(rows, COLUMNS)];
        let mut sets = [set(), set()];
        Ok(Box::new(move |on| {
            run += 1;
            let [stored_a, stored_b, c] = &mut sets[(run / 2 % 2) as usize];
            let fill = |buffer: &mut Buffer<T>, run| {
                let values = elements::<f32>(buffer.slice().len() as u32, run);
                buffer.slice().iter_mut().zip(&values).for_each(|(to, &x)| *to = of(x));
                values
            };
            let (a, b) = (fill(stored_a, run), fill(stored_b, run + 1000));
            c.poison();
            let matrix = |data, rows, columns| Matrix::new(data, rows, columns, stride(columns));
            sequence.run(
                on,
                Product::new(
                    matrix(stored_a.view(), rows, INNER),
                    matrix(stored_b.view(), INNER, COLUMNS),
                    matrix(c.view(), rows, COLUMNS),
                ),
            )?;
            for (row, column) in (0..rows).flat_map(|row| (0..COLUMNS).map(move |column| (row, column))) {
                let got = c.slice()[(row * stride(COLUMNS) + column) as usize];
                let at = |row: u32, columns: u32, column: u32| (row * stride(columns) + column) as usize;
                let term = |k| a[at(row, INNER, k)] * b[at(k, COLUMNS, column)];
                // Small whole numbers: sums are exact in any order, and rounded once.
                let want = of((0..INNER).map(term).sum());
                assert!(got == want, "{name}, n = {n}, run {run}: [{row}, {column}] is {got:?}, not {want:?}");
            }
            Ok(())
        }))
    })
}

fn adds_scaled(entry: &'static Entry<Axpy>) -> Case {
    let name = entry.rung.name;
    Case::new(&entry.rung, "floats", MANY, move |on, n| {
        let (mut sequence, mut run) = (entry.adder(on)?, 0);
        Ok(Box::new(move |on| {
            run += 1;
            let (mut x, y) = (elements::<f32>(n, run), elements::<f32>(n, run + 1000));
            let mut result = Buffer::new(&y, 1);
            sequence.run(on, Vectors { a: 2.5, x: view(&mut x), y: result.view() })?;
            result.check_guards(name);
            let want = x.iter().zip(&y).map(|(x, y)| 2.5 * x + y);
            assert!(want.eq(result.slice().iter().copied()), "{name}, n = {n}, run {run}");
            Ok(())
        }))
    })
}

/// Every rung of every ladder, with the kinds of elements that differ in their launches.
fn cases() -> Vec<Case> {
    let mut cases = vec![];
    for entry in SORTS.iter().flat_map(|ladder| ladder.rungs) {
        if entry.run.narrow.is_some() {
            cases.push(sorts::<u32>(entry, "u32"));
        }
        // The last rungs of radix sort leave scratch memory ready for the next sort, each width in its own way. The
        // launches of the others are those of narrow keys, and more take a while.
        if entry.run.wide.is_some() && ["onesweep", "msd-buckets", "msd-skewed"].contains(&entry.rung.name) {
            cases.push(sorts::<u64>(entry, "u64"));
        }
        if entry.run.pairs.is_some() {
            cases.push(sorts_pairs(entry));
        }
    }
    for entry in rungs_kernels::reduce::LADDER.rungs {
        cases.extend([reduces::<u32>(entry, Operation::Sum), reduces::<f64>(entry, Operation::Max)]);
    }
    for entry in rungs_kernels::scan::LADDER.rungs {
        cases.extend([scans::<u32>(entry, Operation::Sum), scans::<f64>(entry, Operation::Max)]);
    }
    cases.extend(rungs_kernels::ladders::SELECT.rungs.iter().map(|entry| selects(entry)));
    cases.extend(rungs_kernels::ladders::TOP_K.rungs.iter().map(|entry| finds(entry)));
    cases.extend(SIFTS.iter().flat_map(|ladder| ladder.rungs).map(|entry| sifts(entry)));
    cases.extend(rungs_kernels::segments::LADDER.rungs.iter().map(|entry| sorts_segments(entry)));
    for entry in rungs_kernels::histogram::LADDER.rungs {
        cases.extend([counts::<u8>(entry), counts::<u32>(entry)]);
    }
    cases.extend(rungs_kernels::cubes::LADDER.rungs.iter().map(|entry| adds_cubes(entry)));
    cases.extend(rungs_kernels::ladders::MATMUL.rungs.iter().map(|entry| multiplies(entry)));
    cases.extend(rungs_kernels::saxpy::LADDER.rungs.iter().map(|entry| adds_scaled(entry)));
    cases
}

#[test]
fn every_rung_has_a_case_here() {
    let cases = cases();
    for rung in families().into_iter().flat_map(|(_, rungs)| rungs) {
        assert!(cases.iter().any(|case| std::ptr::eq(case.rung, rung)), "{}", rung.path());
    }
}

/// What a request that failed on purpose says.
const PLANTED: &str = "this request was to fail";

/// A launch of which the first `blocks` blocks along x run, and no others.
struct Half<'a> {
    call: &'a dyn Call,
    blocks: u32,
}

// SAFETY: name and parameters are those of the call inside.
unsafe impl Call for Half<'_> {
    fn name(&self) -> &'static str {
        self.call.name()
    }

    fn max_threads(&self) -> u32 {
        self.call.max_threads()
    }

    fn cluster(&self) -> u32 {
        self.call.cluster()
    }

    fn parameters(&self) -> Parameters {
        self.call.parameters()
    }

    fn thread(&self) {
        if thread::block_idx_x() < self.blocks {
            self.call.thread();
        }
    }
}

/// The simulator, of which one request fails: an allocation, the clearing of memory, or a launch. A launch that fails
/// has run half of its blocks, as after a fault, or, if it has but one, nothing.
struct Flaky {
    gpu: Gpu,
    /// Requests so far.
    requests: Cell<u32>,
    /// The number of the one that fails.
    fails: Cell<Option<u32>>,
}

impl Flaky {
    fn new() -> Self {
        Self { gpu: with_multiprocessors(3), requests: Cell::new(0), fails: Cell::new(None) }
    }

    /// Lets the request fail that comes after this number of requests.
    fn fail_after(&self, requests: u32) {
        self.fails.set(Some(self.requests.get() + requests));
    }

    /// Counts a request, and fails the one that has to.
    fn request(&self) -> Result {
        let number = self.requests.replace(self.requests.get() + 1);
        if self.fails.get() == Some(number) { Err(Failed::Machine(PLANTED.into())) } else { Ok(()) }
    }
}

impl Launcher for Flaky {
    fn device(&self) -> Device {
        self.gpu.device()
    }

    fn enqueue(&self, call: &dyn Call, geometry: Geometry) -> Result {
        if geometry.is_empty() {
            return Ok(());
        }
        let result = self.request();
        match &result {
            Ok(()) => self.gpu.enqueue(call, geometry)?,
            // It may run into a fault of its own, as its blocks wait for each other.
            Err(_) => {
                // Whole clusters: a block would wait for one that does not run.
                let blocks = geometry.grid[0] / 2;
                let blocks = blocks - blocks % call.cluster().max(1);
                drop(self.gpu.enqueue(&Half { call, blocks }, geometry))
            }
        }
        result
    }

    fn allocate(&self, bytes: usize) -> Result<Box<dyn Memory>> {
        self.request()?;
        self.gpu.allocate(bytes)
    }

    unsafe fn clear_bytes(&self, address: *mut u8, bytes: usize) -> Result {
        self.request()?;
        // SAFETY: the caller's promise.
        unsafe { self.gpu.clear_bytes(address, bytes) }
    }
}

/// Runs a sequence, for every request of a run: with that request failing, and then with none failing, which has to
/// give the right result. At last the first run after a failure fails as well, at its first request.
fn check_after_failures(case: &Case, on: &Flaky) {
    let what = &case.what;
    let mut run = (case.make)(on, case.many).unwrap_or_else(|error| panic!("{what}: {error}"));
    succeeds(&mut run, on, &format!("{what}, first run"));
    let before = on.requests.get();
    succeeds(&mut run, on, &format!("{what}, second run"));
    let requests = on.requests.get() - before;
    succeeds(&mut run, on, &format!("{what}, third run"));
    assert!(requests > 0, "{what} has launched nothing");
    for k in 0..requests {
        let what = format!("{what}, request {k} of {requests}");
        fails(&mut run, on, k, &what);
        succeeds(&mut run, on, &what);
    }
    fails(&mut run, on, requests - 1, what);
    fails(&mut run, on, 0, what);
    succeeds(&mut run, on, what);
    succeeds(&mut run, on, what);
}

/// Runs a sequence of which nothing fails.
fn succeeds(run: &mut Run, on: &Flaky, what: &str) {
    run(on).unwrap_or_else(|error| panic!("{what}: {error}"));
}

/// Runs a sequence whose request number `k` fails.
fn fails(run: &mut Run, on: &Flaky, k: u32, what: &str) {
    on.fail_after(k);
    match run(on) {
        Err(Failed::Machine(error)) if error.to_string() == PLANTED => {}
        result => panic!("{what} failed, and the run gives {result:?}"),
    }
}

#[test]
fn a_sequence_is_right_after_a_request_that_failed() {
    cases().iter().for_each(|case| check_after_failures(case, &Flaky::new()));
}

#[test]
fn a_sequence_that_gets_no_memory_is_not_made() {
    for case in cases() {
        let on = Flaky::new();
        drop((case.make)(&on, case.many).unwrap());
        for k in 0..on.requests.get() {
            on.fail_after(k);
            let failed = matches!((case.make)(&on, case.many), Err(Failed::Machine(_)));
            assert!(failed, "{}: request {k} of making it failed", case.what);
        }
    }
}

#[test]
fn no_elements_are_no_failure() {
    for case in cases() {
        let on = Flaky::new();
        let mut run = (case.make)(&on, 0).unwrap_or_else(|error| panic!("{}: {error}", case.what));
        (0..2).for_each(|_| run(&on).unwrap_or_else(|error| panic!("{}: {error}", case.what)));
    }
}
