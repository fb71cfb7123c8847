//! The costs that the heads of the rungs state: counted on the simulator, and looked for in the heads' text.

mod common;

use common::{Buffer, Random, view};
use rungs_kernels::ladder::matmul::{Matrix, Multiplier as _, Product, Sizes};
use rungs_kernels::ladder::{
    Entry, Launcher, Options, Result, Rung, cubes, histogram, matmul, reduce, saxpy, scan, select, sort, top_k,
};
use rungs_kernels::operator::Operation;
use rungs_kernels::{bitonic, bubble, keys, merge, odd_even, radix, sorts};
use simt::launcher::{Call, Device, Memory};
use simt::sim::{Access, AccessKind, Event, Gpu, Space, observe};
use simt::{Geometry, Scalar};
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// SMs that the rungs are told of, so that no count depends on the host.
const MULTIPROCESSORS: u32 = 3;

/// A simulated GPU that counts what is launched and, unless it only counts, runs it.
struct Counting {
    gpu: Gpu,
    runs: bool,
    launches: Cell<usize>,
    clears: Cell<usize>,
}

impl Counting {
    fn new(runs: bool) -> Self {
        let mut gpu = Gpu::default();
        gpu.device.multiprocessors = MULTIPROCESSORS;
        Self { gpu, runs, launches: Cell::new(0), clears: Cell::new(0) }
    }
}

impl Launcher for Counting {
    fn device(&self) -> Device {
        self.gpu.device()
    }

    fn enqueue(&self, call: &dyn Call, geometry: Geometry) -> Result {
        self.launches.set(self.launches.get() + !geometry.is_empty() as usize);
        if self.runs { self.gpu.enqueue(call, geometry) } else { Ok(()) }
    }

    fn allocate(&self, bytes: usize) -> Result<Box<dyn Memory>> {
        self.gpu.allocate(bytes)
    }

    unsafe fn clear_bytes(&self, address: *mut u8, bytes: usize) -> Result {
        self.clears.set(self.clears.get() + 1);
        // SAFETY: passed on.
        unsafe { self.gpu.clear_bytes(address, bytes) }
    }
}

/// What one launch did.
#[derive(Default)]
struct Launch {
    kernel: &'static str,
    blocks: u32,
    /// Barriers of each block as a whole, and of its named barriers.
    barriers: Vec<u32>,
    named: Vec<u32>,
    /// Plain accesses to global memory, in bytes, and atomic ones, by number.
    read: u64,
    written: u64,
    atomics: u64,
    /// Accesses to shared memory, by number, and the end of the last byte that was used.
    shared_reads: u64,
    shared_writes: u64,
    shared_atomics: u64,
    shared_end: u64,
    /// The most different words of one bank that the lanes of a warp used in one access: plain, and atomic.
    turns: usize,
    atomic_turns: usize,
    lanes: Lanes,
}

/// The words that the lanes of each warp use between two barriers: the accesses of the lanes of a warp with the same
/// number, counted from the barrier on, are one instruction where no lane has branched away from the others.
#[derive(Default)]
struct Lanes {
    counts: BTreeMap<(u32, bool), u32>,
    words: BTreeMap<(u32, bool, u32), BTreeSet<u64>>,
}

impl Lanes {
    fn note(&mut self, access: Access) {
        let atomic = access.kind == AccessKind::Atomic;
        let count = self.counts.entry((access.thread, atomic)).or_default();
        self.words.entry((access.thread / 32, atomic, *count)).or_default().insert(access.address / 4);
        *count += 1;
    }

    /// The most words of one bank in one access, and forgets all of them.
    fn turns(&mut self, atomic: bool) -> usize {
        let turns = |words: &BTreeSet<u64>| {
            let mut banks = [0; 32];
            words.iter().for_each(|word| banks[(word % 32) as usize] += 1);
            banks.into_iter().max().unwrap_or(0)
        };
        self.words.iter().filter(|((_, a, _), _)| *a == atomic).map(|(_, words)| turns(words)).max().unwrap_or(0)
    }
}

impl Launch {
    fn note(&mut self, event: Event) {
        match event {
            Event::Launch { kernel, grid, .. } => {
                (self.kernel, self.blocks) = (kernel, grid.0.into_iter().product());
                (self.barriers, self.named) = (vec![0; self.blocks as usize], vec![0; self.blocks as usize]);
            }
            Event::Access(access) => self.access(access),
            Event::Barrier { block, id, .. } => {
                let barriers = if id == 0 { &mut self.barriers } else { &mut self.named };
                barriers[block as usize] += 1;
                self.end_of_phase();
            }
            Event::BlockEnd { .. } => self.end_of_phase(),
            Event::LaunchEnd => {}
        }
    }

    fn access(&mut self, access: Access) {
        let bytes = u64::from(access.bytes);
        match (access.space, access.kind) {
            (Space::Global, AccessKind::Read) => self.read += bytes,
            (Space::Global, AccessKind::Write) => self.written += bytes,
            (Space::Global, AccessKind::Atomic) => self.atomics += 1,
            (Space::Shared, kind) => {
                match kind {
                    AccessKind::Read => self.shared_reads += 1,
                    AccessKind::Write => self.shared_writes += 1,
                    AccessKind::Atomic => self.shared_atomics += 1,
                }
                self.shared_end = self.shared_end.max(access.address + bytes);
                self.lanes.note(access);
            }
        }
    }

    fn end_of_phase(&mut self) {
        self.turns = self.turns.max(self.lanes.turns(false));
        self.atomic_turns = self.atomic_turns.max(self.lanes.turns(true));
        self.lanes = Lanes::default();
    }

    /// Asserts that each block passed `each` barriers.
    #[track_caller]
    fn has_barriers(&self, each: u32) {
        assert_eq!(self.barriers, vec![each; self.blocks as usize], "barriers per block of {}", self.kernel);
    }
}

/// Everything that a sequence of launches did.
struct Cost {
    launches: Vec<Launch>,
    /// Clearings of memory by the host while the sequence ran.
    clears: usize,
}

/// Runs what `prepare` prepares, once, and counts.
fn cost<R: FnOnce(&dyn Launcher) -> Result>(prepare: impl FnOnce(&dyn Launcher) -> R) -> Cost {
    let on = Counting::new(true);
    let run = prepare(&on);
    on.clears.set(0);
    let launches: Rc<RefCell<Vec<Launch>>> = Rc::default();
    let log = launches.clone();
    let watch = move |event| {
        let mut log = log.borrow_mut();
        if let Event::Launch { .. } = event {
            log.push(Launch::default());
        }
        log.last_mut().expect("an event belongs to a launch").note(event);
    };
    observe(watch, || run(&on)).unwrap();
    let launches = launches.take();
    assert_eq!(launches.len(), on.launches.get());
    Cost { launches, clears: on.clears.get() }
}

/// The number of launches of a sort of `n` keys, none of which is run.
fn launches_to_sort(rung: &Entry<sort::Sort>, n: u32) -> usize {
    let on = Counting::new(false);
    let mut keys = vec![0u32; n as usize];
    let args = sort::Keys { keys: view(&mut keys), order: keys::UNSIGNED };
    rung.sorter::<u32>(&on, n, Options::default()).unwrap().run(&on, args).unwrap();
    on.launches.get()
}

/// Panics unless the rung's head has these words.
#[track_caller]
fn states(rung: &Rung, words: &str) {
    let head = rung.head();
    let found = head.parts.iter().any(|(_, text)| text.contains(words));
    assert!(found, "the head of {} does not say: {words}", rung.path());
}

fn random(n: u32) -> Vec<u32> {
    let mut random = Random(n.into());
    (0..n).map(|_| random.next() as u32).collect()
}

/// `n` different words in no order.
fn different(n: u32) -> Vec<u32> {
    (0..n).map(|i| i.wrapping_mul(0x9E37_79B1)).collect()
}

fn cost_of_sort(rung: &Entry<sort::Sort>, keys: &[u32], options: Options) -> Cost {
    let (mut sorted, mut want) = (keys.to_vec(), keys.to_vec());
    let n = keys.len() as u32;
    let args = sort::Keys { keys: view(&mut sorted), order: keys::UNSIGNED };
    let cost = cost(|on| {
        let mut sequence = rung.sorter::<u32>(on, n, options).unwrap();
        move |on: &dyn Launcher| sequence.run(on, args)
    });
    want.sort_unstable();
    assert_eq!(sorted, want, "{}", rung.rung.name);
    cost
}

/// Of a product of ones, each element of which is k.
fn cost_of_product(rung: &Entry<matmul::Matmul>, sides: (u32, u32, u32)) -> Cost {
    cost_of_product_of(rung, sides, 1f32, |k| k as f32)
}

/// The same of another type, by its one and its numbers.
fn cost_of_product_of<T: matmul::Multiplied>(
    rung: &Entry<matmul::Matmul>,
    sides: (u32, u32, u32),
    one: T,
    number: fn(u32) -> T,
) -> Cost {
    cost_of_product_by(rung, sides, (one, number), false)
}

/// The same where A may be stored by columns.
fn cost_of_product_by<T: matmul::Multiplied>(
    rung: &Entry<matmul::Matmul>,
    (m, n, k): (u32, u32, u32),
    (one, number): (T, fn(u32) -> T),
    transposed: bool,
) -> Cost {
    let data = |rows, columns| Buffer::new(&vec![one; (rows * columns) as usize], 0);
    let (mut a, mut b, mut c) = (data(m, k), data(k, n), data(m, n));
    let matrix = |data: &mut Buffer<T>, rows, columns| Matrix::new(data.view(), rows, columns, columns);
    let a = Matrix { stride: if transposed { m } else { k }, transposed, ..matrix(&mut a, m, k) };
    let args = Product::new(a, matrix(&mut b, k, n), matrix(&mut c, m, n));
    let cost = cost(|on| {
        let mut sequence = rung.multiplier(on, Sizes { m, n, k }).unwrap();
        move |on: &dyn Launcher| sequence.run(on, args)
    });
    assert!(c.slice().iter().all(|&element| element == number(k)), "{}", rung.rung.name);
    cost
}

fn cost_of_reduction<T: Scalar>(rung: &Entry<&'static dyn reduce::Reduce>, n: u32) -> Cost
where
    dyn reduce::Reduce: reduce::Reduces<T>,
{
    // Views of packs begin at a multiple of 16 bytes.
    let (mut input, mut output) = (zeros::<T>(n), zeros::<T>(1));
    let args = reduce::Elements { input: input.view(), output: output.view() };
    cost(|on| {
        let mut sequence = rung.reducer::<T>(on, n, Operation::Sum).unwrap();
        move |on: &dyn Launcher| sequence.run(on, args)
    })
}

/// `n` zeros, aligned for loads of packs.
fn zeros<T: Scalar>(n: u32) -> Buffer<T> {
    Buffer::new(&vec![T::default(); n as usize], 0)
}

#[test]
fn reductions_level_by_level() {
    use rungs_kernels::reduce::*;
    let rungs = [
        (&r1_interleaved::launches::RUNG, 256, 8),
        (&r2_sequential::launches::RUNG, 256, 8),
        (&r3_first_add::launches::RUNG, 512, 8),
        (&r4_unrolled_warp::launches::RUNG, 512, 3),
        (&r5_shuffle::launches::RUNG, 512, 1),
    ];
    for (rung, per_block, barriers) in rungs {
        let base = if per_block == 256 { "⌈log₂₅₆ n⌉" } else { "⌈log₅₁₂ n⌉" };
        states(&rung.rung, &format!("{base} launches, at least one"));
        states(&rung.rung, &format!("{barriers} barrier{} per block", if barriers == 1 { "" } else { "s" }));
        states(&rung.rung, "one read of each element and of each block's value");
        for n in [0, 1, per_block, per_block + 1, 70_000] {
            let cost = cost_of_reduction::<u32>(rung, n);
            let levels = std::iter::successors(Some(u64::from(per_block)), |reach| Some(reach * u64::from(per_block)));
            let want = 1 + levels.take_while(|&reach| reach < n.into()).count();
            assert_eq!(cost.launches.len(), want, "launches of {}, n = {n}", rung.rung.name);
            let mut elements = n;
            for launch in &cost.launches {
                launch.has_barriers(barriers);
                assert_eq!((launch.read, launch.written), (4 * u64::from(elements), 4 * u64::from(launch.blocks)));
                elements = launch.blocks;
            }
        }
    }
    let shared = |rung| cost_of_reduction::<u64>(rung, 1000).launches[0].shared_end;
    let (before, after) = (shared(&r4_unrolled_warp::launches::RUNG), shared(&r5_shuffle::launches::RUNG));
    states(&r5_shuffle::launches::RUNG.rung, &format!("{after} bytes of shared memory instead of {before}"));
}

#[test]
fn reductions_by_packs() {
    use rungs_kernels::reduce::*;
    let rung = &r6_vector_loads::launches::RUNG;
    states(&rung.rung, "1 launch if one block is enough, else 2 (on up to 256 SMs); 1 barrier per block");
    for (n, launches) in [(0, 1), (4096, 1), (4097, 2), (300_000, 2)] {
        let cost = cost_of_reduction::<u32>(rung, n);
        assert_eq!(cost.launches.len(), launches, "n = {n}");
        cost.launches.iter().for_each(|launch| launch.has_barriers(1));
        assert_eq!(cost.launches[0].read, 4 * u64::from(n));
    }
    // The values of the largest first launch are still one block's elements.
    assert_eq!(r6_vector_loads::grid::<u64>(r6_vector_loads::grid::<u64>(u32::MAX, 256), 256), 1);
    assert_eq!(r6_vector_loads::grid::<u64>(r6_vector_loads::grid::<u64>(u32::MAX, 257), 257), 2);

    let rung = &r7_single_launch::launches::RUNG;
    states(&rung.rung, "1 launch; one atomic and 2 barriers per block, 3 barriers in the last one");
    states(&rung.rung, "If there is only one block, it takes no ticket and has 1 barrier");
    for n in [0, 100, 300_000] {
        let cost = cost_of_reduction::<u32>(rung, n);
        let [launch] = &cost.launches[..] else { panic!("{} launches", cost.launches.len()) };
        assert_eq!(cost.clears, 0);
        if launch.blocks == 1 {
            assert_eq!((launch.atomics, &launch.barriers[..]), (0, &[1][..]));
        } else {
            assert_eq!(launch.atomics, launch.blocks.into());
            let mut barriers = launch.barriers.clone();
            barriers.sort_unstable();
            assert_eq!((barriers.pop(), barriers.iter().all(|&b| b == 2)), (Some(3), true));
        }
    }
}

fn cost_of_scan(rung: &Entry<&'static dyn scan::Scan>, n: u32, exclusive: bool) -> Cost {
    let (mut input, mut output) = (zeros::<u32>(n), zeros::<u32>(n));
    let args = scan::Elements { input: input.view(), output: output.view(), exclusive };
    cost(|on| {
        let mut sequence = rung.scanner::<u32>(on, n, Operation::Sum).unwrap();
        move |on: &dyn Launcher| sequence.run(on, args)
    })
}

#[test]
fn scans_of_one_block() {
    use rungs_kernels::scan::*;
    let only = |rung, n, exclusive| {
        let mut cost = cost_of_scan(rung, n, exclusive);
        assert_eq!(cost.launches.len(), 1);
        let launch = cost.launches.remove(0);
        assert_eq!((launch.read, launch.written), (4 * u64::from(n), 4 * u64::from(n)), "8 bytes per word");
        launch
    };
    let rung = &r1_hillis_steele::launches::RUNG;
    states(&rung.rung, "8 bytes of global memory per word; 10 barriers, 11 if exclusive; one launch");
    for n in [1, 700, 1024] {
        only(rung, n, false).has_barriers(10);
        only(rung, n, true).has_barriers(11);
    }
    for (rung, turns) in [(&r2_blelloch::launches::RUNG, 32), (&r3_blelloch_padded::launches::RUNG, 1)] {
        states(&rung.rung, "8 bytes of global memory per word; 21 barriers; one launch");
        for (n, exclusive) in [(1, false), (700, true), (1024, false)] {
            let launch = only(rung, n, exclusive);
            launch.has_barriers(21);
            assert_eq!(launch.turns, turns, "lanes in a bank in {}", rung.rung.name);
        }
    }
    states(&r2_blelloch::launches::RUNG.rung, "up to 32 lanes of a warp want the same bank");
    states(&r3_blelloch_padded::launches::RUNG.rung, "The tree has no bank conflicts if elements have 4 bytes");
}

#[test]
fn scans_of_any_length() {
    use rungs_kernels::scan::*;
    let rung = &r4_three_kernels::launches::RUNG;
    states(&rung.rung, "2·k - 1 launches for k levels of tiles (k = 1 up to 2¹⁰ elements, 2 up to 2²⁰, 3 up to 2³⁰");
    states(&rung.rung, "16 bytes of global memory per word");
    states(&rung.rung, "21 barriers per block of the first kernel");
    for (n, launches) in [(1, 1), (1024, 1), (1025, 3), (1 << 20, 3), ((1 << 20) + 1, 5)] {
        let (on, mut data) = (Counting::new(false), zeros::<u32>(n));
        let args = scan::Elements { input: data.view(), output: data.view(), exclusive: false };
        rung.scanner::<u32>(&on, n, Operation::Sum).unwrap().run(&on, args).unwrap();
        assert_eq!(on.launches.get(), launches, "n = {n}");
    }
    let (n, tiles) = (4096, 4);
    let cost = cost_of_scan(rung, n, false);
    let [first, sums, last] = &cost.launches[..] else { panic!("{} launches", cost.launches.len()) };
    first.has_barriers(21);
    sums.has_barriers(21);
    last.has_barriers(0);
    assert_eq!((first.read, first.written), (4 * u64::from(n), 4 * u64::from(n + tiles)));
    // Each thread of the last kernel reads its tile's sum.
    let threads = u64::from(tiles * r4_three_kernels::BLOCK);
    assert_eq!((last.read, last.written), (4 * (u64::from(n) + threads), 4 * u64::from(n)));

    let rung = &r5_look_back::launches::RUNG;
    states(&rung.rung, "5 barriers per tile; 2 launches");
    let n = 3 * r5_look_back::TILE + 5;
    let cost = cost_of_scan(rung, n, false);
    let [clear, pass] = &cost.launches[..] else { panic!("{} launches", cost.launches.len()) };
    clear.has_barriers(0);
    pass.has_barriers(5);
    assert_eq!((pass.read, pass.written), (4 * u64::from(n), 4 * u64::from(n)), "states are atomic accesses");

    let rung = &r6_look_ahead::launches::RUNG;
    states(&rung.rung, "1 barrier per block, and per tile 1 for the four warps that add; one launch");
    let tile = r6_look_ahead::tile::<u32>();
    let cost = cost_of_scan(rung, 10 * tile, false);
    let [pass] = &cost.launches[..] else { panic!("{} launches", cost.launches.len()) };
    pass.has_barriers(1);
    assert_eq!((pass.blocks, pass.named.iter().sum::<u32>()), (MULTIPROCESSORS, 10));
    assert_eq!((pass.read, pass.written), (40 * u64::from(tile), 40 * u64::from(tile)));
    states(&rung.rung, &format!("{:.1} KiB of shared memory", pass.shared_end as f64 / 1024.0));
    states(&rung.rung, "A tile that lies partly outside the input takes 2 more");
    let incomplete = cost_of_scan(rung, 10 * tile + 5, false);
    assert_eq!(incomplete.launches[0].named.iter().sum::<u32>(), 11 + 2);
}

fn cost_of_selection(rung: &Entry<&'static dyn select::Select>, n: u32, pivot: u32) -> Cost {
    let items: Vec<u32> = (0..n).map(|i| i % 100).collect();
    let (mut input, mut output) = (Buffer::new(&items, 0), Buffer::poisoned(items.len(), 0));
    let mut count = Buffer::poisoned(1, 0);
    let args = select::Items { input: input.view(), output: output.view(), count: count.view(), pivot };
    let cost = cost(|on| {
        let mut sequence = rung.selector::<u32>(on, n).unwrap();
        move |on: &dyn Launcher| sequence.run(on, args)
    });
    assert_eq!(count.slice()[0] as usize, items.iter().filter(|&&item| item < pivot).count());
    cost
}

#[test]
fn selections() {
    use rungs_kernels::select::*;
    let atomics = [
        (&r1_global_atomics::launches::RUNG, "One global atomic per selected item"),
        (&r2_warp_aggregated::launches::RUNG, "One global atomic per warp that selects an item"),
    ];
    for (rung, words) in atomics {
        states(&rung.rung, words);
        states(&rung.rung, "one read of each item and one write of each selected one; no barrier; one launch");
        for (n, pivot) in [(1000u32, 0), (1000, 20), (4001, 100)] {
            let cost = cost_of_selection(rung, n, pivot);
            let [launch] = &cost.launches[..] else { panic!("{} launches", cost.launches.len()) };
            launch.has_barriers(0);
            let selected = (0..n).filter(|i| i % 100 < pivot);
            let warps: BTreeSet<_> = selected.clone().map(|i| i / 32).collect();
            let each = [selected.clone().count(), warps.len()][usize::from(words.contains("warp"))];
            assert_eq!((launch.atomics, cost.clears), (each as u64, 1), "{words}");
            assert_eq!((launch.read, launch.written), (4 * u64::from(n), 4 * selected.count() as u64));
        }
    }

    let rung = &r3_three_kernels::launches::RUNG;
    states(&rung.rung, "Two reads of each item and one write of each selected one; 3 launches");
    states(&rung.rung, "1 barrier per tile that is counted and 1 per tile that is scattered");
    states(&rung.rung, &format!("1 barrier per round of {} counts", r3_three_kernels::ROUND));
    let (n, half) = (3 * r3_three_kernels::TILE + 5, 50);
    let selected = (0..n).filter(|i| i % 100 < half).count() as u64;
    let cost = cost_of_selection(rung, n, half);
    let [count, scan, scatter] = &cost.launches[..] else { panic!("{} launches", cost.launches.len()) };
    cost.launches.iter().for_each(|launch| launch.has_barriers(1));
    assert_eq!((count.read, count.written), (4 * u64::from(n), 4 * 4));
    assert_eq!((scan.blocks, scan.read, scan.written), (1, 4 * 4, 4 * 5));
    // Each thread of the last kernel reads its tile's place.
    let threads = u64::from(4 * r3_three_kernels::BLOCK);
    assert_eq!((scatter.read, scatter.written), (4 * (u64::from(n) + threads), 4 * selected));
    assert_eq!((count.atomics, scan.atomics, scatter.atomics, cost.clears), (0, 0, 0, 0));

    let rung = &r4_look_back::launches::RUNG;
    states(&rung.rung, "One read of each item and one write of each selected one; a state of 8 bytes per tile");
    states(&rung.rung, "3 barriers per tile; one launch, and the clearing of the count and the states before it");
    states(&rung.rung, "16 KiB of words, 32 of items of 8 bytes");
    assert_eq!([r4_look_back::shared_bytes::<u32>(), r4_look_back::shared_bytes::<u64>()], [16 << 10, 32 << 10]);
    let cost = cost_of_selection(rung, n, half);
    let [pass] = &cost.launches[..] else { panic!("{} launches", cost.launches.len()) };
    pass.has_barriers(3);
    assert_eq!(cost.clears, 2);
    // The count is one word more; states are atomic accesses.
    assert_eq!((pass.read, pass.written), (4 * u64::from(n), 4 * (selected + 1)));
}

fn cost_of_top_k(rung: &Entry<&'static dyn top_k::TopK>, keys: &[u32], k: u32) -> Cost {
    let (mut input, mut output) = (Buffer::new(keys, 0), Buffer::poisoned(k as usize, 0));
    let args = top_k::Keys { input: input.view(), output: output.view(), order: keys::UNSIGNED };
    let cost = cost(|on| {
        let mut sequence = rung.finder(on, keys.len() as u32, k).unwrap();
        move |on: &dyn Launcher| sequence.run(on, args)
    });
    let smallest = output.slice().iter().min().copied();
    let mut sorted = keys.to_vec();
    sorted.sort_unstable();
    assert_eq!(smallest, Some(sorted[keys.len() - k as usize]));
    cost
}

#[test]
fn largest_keys() {
    use rungs_kernels::top_k::*;
    let (n, k) = (20_000, 50);
    let keys = random(n);
    let mut sorted = keys.clone();
    sorted.sort_unstable_by(|a, b| b.cmp(a));
    let threshold = sorted[k as usize - 1];
    // What all threads read besides keys: `each` words of the state.
    let words = |launch: &Launch, each: u64| u64::from(launch.blocks * BINS) * each;

    let rung = &r1_radix_select::launches::RUNG;
    states(&rung.rung, "Five reads of each key; 9 launches, and the clearing of the state before them; 2 barriers");
    let cost = cost_of_top_k(rung, &keys, k);
    assert_eq!((cost.launches.len(), cost.clears), (9, 1));
    for pair in cost.launches[..8].chunks(2) {
        pair[0].has_barriers(2);
        assert_eq!(pair[0].read, 4 * (u64::from(n) + words(&pair[0], 1)));
        assert_eq!(pair[1].blocks, 1);
    }
    let gather = &cost.launches[8];
    assert_eq!((gather.read, gather.written), (4 * (u64::from(n) + words(gather, 2)), 4 * u64::from(k)));

    let rung = &r2_filter::launches::RUNG;
    states(
        &rung.rung,
        "Two reads of each key, and for each key that agrees with 1, 2 or 3 digits one write and one read",
    );
    states(&rung.rung, "9 launches, and the clearing of the state before them; 2 barriers per block that filters");
    let cost = cost_of_top_k(rung, &keys, k);
    assert_eq!((cost.launches.len(), cost.clears), (9, 1));
    let agree =
        |digits: u32| keys.iter().filter(move |&key| key >> (32 - 8 * digits) == threshold >> (32 - 8 * digits));
    let passes: Vec<&Launch> = cost.launches.iter().step_by(2).collect();
    for (number, pass) in passes.iter().enumerate() {
        pass.has_barriers(2);
        let (read, each) = if number < 2 { (n as usize, 2) } else { (agree(number as u32 - 1).count(), 3) };
        assert_eq!(pass.read, 4 * (read as u64 + words(pass, each)), "pass {number}");
    }
    let listed: usize = (1..4).map(|digits| agree(digits).count()).sum();
    assert_eq!(passes.iter().map(|pass| pass.written).sum::<u64>(), 4 * (listed as u64 + u64::from(k)));

    let rung = &r3_one_read::launches::RUNG;
    states(&rung.rung, "One read of each key; 3 launches, and the clearing of the state before them");
    states(&rung.rung, "5 reads of each of those, by one block. 16 barriers for the sample, as many for the selection");
    let cost = cost_of_top_k(rung, &keys, k);
    let [pivot, filter, select] = &cost.launches[..] else { panic!("{} launches", cost.launches.len()) };
    assert_eq!((cost.clears, pivot.blocks, select.blocks), (1, 1, 1));
    pivot.has_barriers(16);
    filter.has_barriers(0);
    select.has_barriers(16);
    assert_eq!(filter.read, 4 * (u64::from(n) + words(filter, 1)));
    assert!(filter.written < 4 * u64::from(n) / 10, "{} bytes", filter.written);
    let threads = u64::from(r3_one_read::ONE_BLOCK);
    assert_eq!((select.read, select.written), (5 * filter.written + 4 * 2 * threads, 4 * u64::from(k)));
}

#[test]
fn bubbles() {
    let rung = &bubble::r1_one_block::launches::RUNG;
    states(&rung.rung, "⌈n/2⌉·(n - 1) compare-exchanges, each with two shared loads and up to two stores");
    states(&rung.rung, "2·⌈n/2⌉ + 1 barriers; one launch; one read and one write of each key");
    states(&rung.rung, "two lanes share a bank");
    for n in [1u32, 2, 101, 256] {
        let cost = cost_of_sort(rung, &random(n), Options::default());
        let [launch] = &cost.launches[..] else { panic!("{} launches", cost.launches.len()) };
        launch.has_barriers(2 * n.div_ceil(2) + 1);
        let (words, exchanges) = (u64::from(n), u64::from(n.div_ceil(2) * (n - 1)));
        // Beside the exchanges each key is put in and taken out once.
        assert_eq!(launch.shared_reads, 2 * exchanges + words);
        assert!((words..=2 * exchanges + words).contains(&launch.shared_writes));
        assert_eq!((launch.read, launch.written), (4 * words, 4 * words));
        if n == 256 {
            assert_eq!(launch.turns, 2);
        }
    }

    // Rounds of two phases, and pairs that are compared in each phase.
    let windows = |launch: &Launch| u64::from(launch.blocks);
    let rung = &bubble::r2_shared_block::launches::RUNG;
    states(&rung.rung, "About n² compare-exchanges, twice those of the rung before: ⌈n/512⌉ launches");
    states(&rung.rung, "each of 512 rounds of two phases; 1024 barriers per block and launch");
    states(&rung.rung, "Up to 1024 keys take one launch");
    assert_eq!(cost_of_sort(rung, &random(1024), Options::default()).launches.len(), 1);
    let cost = cost_of_sort(rung, &random(2048), Options::default());
    assert_eq!(cost.launches.len(), 2048 / 512);
    for launch in &cost.launches {
        launch.has_barriers(1024);
        // A load and a store per compare-exchange, one store to fill each place, and one load to empty each but the
        // last.
        let exchanges = windows(launch) * 512 * 1024;
        assert_eq!(launch.shared_reads, exchanges + 512 * windows(launch));
        assert_eq!(launch.shared_writes, exchanges + 513 * windows(launch));
        assert_eq!((launch.read, launch.written), (4096 * windows(launch), 4096 * windows(launch)));
        assert_eq!(launch.turns, 1, "no bank conflicts");
    }

    let rung = &bubble::r3_warp_registers::launches::RUNG;
    states(&rung.rung, "Up to 1024 keys take one launch");
    assert_eq!(cost_of_sort(rung, &random(1024), Options::default()).launches.len(), 1);
    states(&rung.rung, "About n² compare-exchanges: ⌈n/512⌉ launches, each of 512 rounds of two phases; no barrier");
    let cost = cost_of_sort(rung, &random(2048), Options::default());
    assert_eq!(cost.launches.len(), 2048 / 512);
    for launch in &cost.launches {
        launch.has_barriers(0);
        assert_eq!((launch.shared_reads, launch.shared_writes), (0, 0));
    }

    let rung = &bubble::r4_ring::launches::RUNG;
    states(&rung.rung, "n²/2 + 256·n compare-exchanges for n a multiple of 1024");
    states(&rung.rung, "W = ⌈n/1024⌉ warps take 2·W + 1 steps in which 512 movers meet 512 cells");
    states(&rung.rung, "One launch and the clearing of the links");
    for n in [1024u32, 3 * 1024] {
        let (warps, words) = (u64::from(bubble::r4_ring::warps(n)), u64::from(n));
        let steps = warps * (2 * warps + 1);
        assert_eq!(steps * 512 * 512, words * words / 2 + 256 * words);
        let cost = cost_of_sort(rung, &random(n), Options::default());
        let [launch] = &cost.launches[..] else { panic!("{} launches", cost.launches.len()) };
        launch.has_barriers(0);
        assert_eq!((cost.clears, launch.read, launch.written), (1, 4 * words, 4 * words));
        // A mover goes to the next warp after each step but the last, and is looked for there until it has come.
        assert!(launch.atomics >= 2 * warps * 2 * warps * 512, "{}", launch.atomics);
        // What comes is staged, a turn takes 32 bytes of that in each lane, and what leaves is staged again: the turns
        // are 64 for each step of a warp, and 32 until the last token has left.
        let (staged, turns) = (512 * steps, 64 * steps + 32 * warps);
        assert!(launch.shared_writes >= 2 * staged && launch.shared_writes <= 2 * staged + 600 * warps);
        assert!(launch.shared_reads >= 32 * 2 * turns, "{} reads", launch.shared_reads);
    }

    // Compare-exchanges by the passes: an even phase has 512 pairs of a window, an odd one 512 with the place past the
    // end, or 511 without it.
    let n = 1u32 << 16;
    let total = |pairs: u64| -> f64 {
        let passes = bubble::r2_shared_block::passes(n, 1024);
        passes.map(|offset| u64::from(bubble::r2_shared_block::grid(n, 1024, offset)) * 512 * pairs).sum::<u64>() as f64
    };
    for pairs in [1024, 1023] {
        let ratio = total(pairs) / f64::from(n).powi(2);
        assert!((0.98..=1.0).contains(&ratio), "{ratio} · n²");
    }
    assert_eq!(bubble::r2_shared_block::passes(n, 1024).count(), bubble::r3_warp_registers::passes(n).count());
}

/// The logarithm of the number of parts of `part` keys that `n` keys have, rounded up.
fn halvings(n: u32, part: u32) -> u32 {
    let mut runs = n.div_ceil(part);
    let mut halvings = 0;
    while runs > 1 {
        (runs, halvings) = (runs.div_ceil(2), halvings + 1);
    }
    halvings
}

#[test]
fn merge_sorts() {
    let rung = &merge::r1_merge_path::launches::RUNG;
    states(&rung.rung, "p = ⌈log₂⌈n/4352⌉⌉ passes of two launches each, after the launch that sorts tiles");
    states(&rung.rung, "Each pass reads every key, for the searches some twice, and writes it");
    for n in [0, 1, 4352, 4353, 2 * 4352 + 1, 100_000, 1 << 20, (1 << 24) + 1] {
        let want = if n == 0 { 0 } else { 1 + 2 * halvings(n, 4352) };
        assert_eq!(launches_to_sort(rung, n), want as usize, "n = {n}");
    }
    let n = 20_000;
    let cost = cost_of_sort(rung, &random(n), Options::default());
    for launch in cost.launches.iter().filter(|launch| launch.kernel.ends_with("merge")) {
        assert_eq!(launch.written, 4 * u64::from(n));
        // The threads of a part that is not full load its last key again; two threads read two splits each.
        let (least, most) = (4 * u64::from(n), 4 * (u64::from(launch.blocks) * (4352 + 4)));
        assert!((least..=most).contains(&launch.read), "{} bytes", launch.read);
    }

    let rung = &merge::r2_multi_way::launches::RUNG;
    states(&rung.rung, "⌈l/3⌉ passes, where l = ⌈log₂⌈n/11776⌉⌉");
    states(&rung.rung, "up to 2¹⁸ keys ⌈l/2⌉ passes with l = ⌈log₂⌈n/4352⌉⌉");
    states(&rung.rung, "Each pass is one launch, or two beyond 2²¹ keys, and reads and writes every key once");
    for n in [1, 4352, 4353, 5 * 4352, 1 << 18, (1 << 18) + 1, 1 << 20, 1 << 21, (1 << 21) + 1, (1 << 24) + 1] {
        let passes = match n <= 1 << 18 {
            true => halvings(n, 4352).div_ceil(2),
            false => halvings(n, 11_776).div_ceil(3),
        };
        let want = 1 + passes * if n <= 1 << 21 { 1 } else { 2 };
        assert_eq!(launches_to_sort(rung, n), want as usize, "n = {n}");
    }
    states(&rung.rung, "A level of merging has two barriers");
    let cost = cost_of_sort(rung, &random(n), Options::default());
    assert_eq!(cost.launches.len(), 3);
    for launch in &cost.launches[1..] {
        assert_eq!(launch.written, 4 * u64::from(n));
        // Two levels of merging, after the splits, the places of the runs, and the load.
        launch.has_barriers(3 + 2 * 2);
    }

    let all_runs = &merge::r3_all_runs::launches::RUNG;
    states(&all_runs.rung, "Two launches for 4353 (64-bit: 3841) to 2²⁰ keys; each reads and writes every key once");
    states(
        &all_runs.rung,
        "⌈log₂ r⌉ levels of merging for r runs, twice: of samples, and of keys; and a level has two",
    );
    let most = 1 << 20;
    assert_eq!(most, merge::r3_all_runs::launches::MOST);
    for (n, want) in [(0, 0), (1, 1), (4352, 1), (4353, 2), (557_056, 2), (557_057, 2), (most, 2)] {
        assert_eq!(launches_to_sort(all_runs, n), want, "n = {n}");
    }
    let cost = cost_of_sort(all_runs, &random(n), Options::default());
    assert_eq!(cost.launches.len(), 2);
    assert_eq!([0, 1].map(|i| cost.launches[i].written), [4 * u64::from(n); 2]);
    // Five runs: three levels, twice. Before them the samples, and then the part, are loaded; the threads are dealt
    // out; in between the bounds and the splits are found, and the cuts set.
    cost.launches[1].has_barriers(2 * (2 + 2 * 3) + 3);

    let rung = &merge::r4_sample::launches::RUNG;
    let stable = &sorts::stable::launches::RUNG;
    states(&stable.rung, "That of `all_runs` up to 2²⁰ keys, beyond them that of `sample`");
    for n in [1, 4353, most, most + 1, (1 << 21) + 1] {
        let like = if n <= most { all_runs } else { rung };
        // The library sorts oversized buckets by a launch of their own.
        let more = usize::from(n > most);
        assert_eq!(launches_to_sort(stable, n), launches_to_sort(like, n) + more, "n = {n}");
    }
    states(&rung.rung, "Nine launches: twice a sample, the count, the starts and the move, then the buckets");
    states(&rung.rung, "Beyond 2²⁸ keys there are four rounds and seventeen launches");
    let few = merge::r4_sample::launches::FEW;
    assert_eq!(launches_to_sort(rung, few), launches_to_sort(all_runs, few));
    assert_eq!(launches_to_sort(rung, few + 1), 9);
    for (n, rounds) in [(1 << 28, 2), ((1 << 28) + 1, 4)] {
        assert_eq!(merge::r4_sample::launches::rounds(n).len(), rounds);
    }
    states(&rung.rung, "A round reads every key twice and writes it once, and a byte per key, its bucket, is written");
    let n = few + 12_345;
    for rung in [rung, stable] {
        let cost = cost_of_sort(rung, &different(n), Options::default());
        let moves = |launch: &&Launch| launch.kernel.contains("scatter");
        assert_eq!(cost.launches.iter().filter(moves).count(), 2);
        for launch in cost.launches.iter().filter(moves) {
            // A stable move also publishes 256 words of 8 bytes per tile, twice where tiles are before it.
            let published = launch.written - 4 * u64::from(n);
            assert!(published <= if rung.rung.name == "stable" { n as u64 } else { 0 }, "{published}");
            assert!(launch.read >= 5 * u64::from(n));
        }
    }
}

#[test]
fn odd_even_sorts() {
    let rung = &odd_even::r1_bitonic_blocks::launches::RUNG;
    states(&rung.rung, "⌈n/4096⌉ launches. The first one sorts the blocks in 91 steps of the network and 26 barriers.");
    states(&rung.rung, "Each of the others merges in 13 steps and 4 barriers, and reads and writes every key once.");
    states(&rung.rung, "A merge of halves that are already in order reads two keys");
    let bits = odd_even::r1_bitonic_blocks::KEYS.ilog2();
    assert_eq!((bits * (bits + 1) / 2, bits), (91, 13));
    for n in [1, 4096, 4097, 3 * 4096 + 1] {
        assert_eq!(launches_to_sort(rung, n), n.div_ceil(4096) as usize, "n = {n}");
    }
    // Backwards, so that every merge has something to do; then in order.
    let n = 2 * 8192;
    let keys: Vec<u32> = (0..n).rev().collect();
    let cost = cost_of_sort(rung, &keys, Options::default());
    assert_eq!(cost.launches.len(), 4);
    cost.launches[0].has_barriers(26);
    // Across the one seam: each thread reads the two keys at the seam, then the block's keys are read and written.
    let (merge, threads) = (&cost.launches[1], u64::from(odd_even::r1_bitonic_blocks::THREADS));
    merge.barriers[..1].iter().for_each(|&barriers| assert_eq!(barriers, 4));
    assert_eq!(merge.read, 4 * (8192 + 2 * threads));
    assert_eq!(merge.written, 4 * 8192);
    let keys: Vec<u32> = (0..n).collect();
    for merge in &cost_of_sort(rung, &keys, Options::default()).launches[1..] {
        merge.has_barriers(0);
        assert!(merge.read <= 4 * 2 * threads * u64::from(merge.blocks) && merge.written == 0);
    }
}

#[test]
fn odd_even_rounds() {
    use odd_even::{r2_merge_split as r2, r3_persistent as r3, r4_levels as r4};
    let rung = &r2::launches::RUNG;
    states(
        &rung.rung,
        "p = ⌈n/32,768⌉ runs (half as long for keys of 8 bytes, and where a block has less than 132 KiB",
    );
    states(&rung.rung, "1 launch sorts them, and each of p rounds is a launch (1 round for two runs, none for one)");
    states(&rung.rung, "its blocks have 4 barriers, or 1 where a chunk is a copy");
    for (n, launches) in [(1, 1), (32_768, 1), (32_769, 2), (65_536, 2), (65_537, 4), (1 << 20, 33)] {
        assert_eq!(launches_to_sort(rung, n), launches, "n = {n}");
    }
    let n = 3u32 << 15;
    let cost = cost_of_sort(rung, &random(n), Options::default());
    let [runs, rounds @ ..] = &cost.launches[..] else { panic!("no launch") };
    assert_eq!((runs.read, runs.written), (4 * u64::from(n), 4 * u64::from(n)));
    let mut seen = BTreeSet::new();
    for round in rounds {
        assert_eq!(round.written, 4 * u64::from(n));
        // Beside each key the keys that the searches look at: in each chunk two warps, 64 of them at a time.
        assert!((4 * u64::from(n)..5 * u64::from(n)).contains(&round.read), "{}", round.read);
        seen.extend(round.barriers.iter().copied());
    }
    assert_eq!(seen, BTreeSet::from([1, 4]));

    let rung = &r3::launches::RUNG;
    states(&rung.rung, "2 launches; each of p rounds reads and writes every key once");
    states(&rung.rung, "For each chunk two atomics, and 5 barriers, or 2 where a chunk is a copy");
    states(&rung.rung, "Two more arrays of n keys");
    let before: u32 = rounds.iter().flat_map(|round| &round.barriers).sum();
    let cost = cost_of_sort(rung, &random(n), Options::default());
    let [runs, all] = &cost.launches[..] else { panic!("{} launches", cost.launches.len()) };
    assert_eq!((cost.clears, runs.written), (0, 4 * u64::from(n)));
    assert_eq!(all.written, 3 * 4 * u64::from(n));
    // One more barrier for each chunk of three rounds, and one for each block's first number.
    let chunks = 3 * n.div_ceil(1 << 15) * odd_even::split::Round::first(1 << 15).chunks;
    assert_eq!(all.barriers.iter().sum::<u32>(), before + chunks + all.blocks);
    // Blocks draw once more than there are chunks; the counters that they wait for are loaded atomically too.
    assert!(all.atomics >= u64::from(2 * chunks + all.blocks));

    let rung = &r4::launches::RUNG;
    states(&rung.rung, "Two levels up to 64 runs, three beyond: 13 launches for 2²⁰ keys of 4 bytes, 25 for 2²⁴");
    states(&rung.rung, "12 instead of 32. With three levels it is 24 instead of 512");
    assert_eq!([1 << 20, 1 << 24].map(|n| launches_to_sort(rung, n)), [13, 25]);
    assert_eq!([1 << 20, 1 << 24].map(|n| launches_to_sort(&r2::launches::RUNG, n)), [33, 513]);
}

#[test]
fn bitonic_networks() {
    use bitonic::{r1_global_step, r2_shared_step, r3_register_step, r4_transpose, r5_strides, r6_backwards};
    let rung = &r1_global_step::launches::RUNG;
    states(&rung.rung, "For 2^m keys, m·(m + 1)/2 launches; each does n/2 compare-exchanges, reads every key");
    for m in 0..=24 {
        assert_eq!(r1_global_step::steps(1 << m).count(), m * (m + 1) / 2);
    }
    let cost = cost_of_sort(rung, &random(256), Options::default());
    assert_eq!(cost.launches.len(), 8 * 9 / 2);
    for launch in &cost.launches {
        launch.has_barriers(0);
        assert_eq!(launch.read, 4 * 256);
        assert!(launch.written <= 4 * 256);
    }

    let rung = &r2_shared_step::launches::RUNG;
    states(&rung.rung, "For 2^m keys, m > 12: (m - 12)·(m - 11)/2 launches of one step and m - 11 launches of tiles");
    states(&rung.rung, "the 78 steps of the first 12 stages are one launch");
    states(&rung.rung, "one barrier per step and one more: 79 barriers, later 13");
    states(&rung.rung, "no bank conflict down to a distance of 32");
    for m in 13..=24 {
        let (tiles, across): (Vec<_>, Vec<_>) =
            r2_shared_step::steps(1 << m).partition(|step| matches!(step, r2_shared_step::Step::Tile(..)));
        assert_eq!((across.len(), tiles.len()), ((m - 12) * (m - 11) / 2, m - 11));
    }
    assert_eq!(r1_global_step::steps(1 << 12).count(), 78);
    let cost = cost_of_sort(rung, &random(8192), Options::default());
    let barriers: Vec<_> = cost.launches.iter().map(|launch| launch.barriers[0]).collect();
    assert_eq!(barriers, [79, 0, 13]);
    for launch in &cost.launches {
        assert_eq!(launch.read, 4 * 8192);
    }

    let rung = &r3_register_step::launches::RUNG;
    let (before, after) = (launches_to_sort(&r2_shared_step::launches::RUNG, 1 << 24), launches_to_sort(rung, 1 << 24));
    states(&rung.rung, &format!("{after} launches for 2²⁴ keys"));
    states(&rung.rung, &format!("the rung before has {before}"));
    states(&rung.rung, "each reads and writes every key once");
    let cost = cost_of_sort(rung, &random(1 << 15), Options::default());
    assert_eq!(cost.launches.len(), r3_register_step::passes(1 << 15).count());
    for launch in &cost.launches {
        assert_eq!((launch.read, launch.written), (4 << 15, 4 << 15), "{}", launch.kernel);
    }

    states(&r4_transpose::launches::RUNG.rung, "23 launches for 2²⁴ keys; each reads and writes every key once");
    states(&r4_transpose::launches::RUNG.rung, "sorts tiles in 105 steps of the network and 9 barriers");
    states(&r4_transpose::launches::RUNG.rung, "those that merge tiles do 14 steps and have 2 barriers");
    assert_eq!(14 * 15 / 2, 105);
    states(&r5_strides::launches::RUNG.rung, "25 launches for 2²⁴ keys; each reads and writes every key once");
    states(&r5_strides::launches::RUNG.rung, "1 sorts tiles, 10 merge in tiles, 14 do up to six long steps each");
    states(&r6_backwards::launches::RUNG.rung, "25 launches for 2²⁴ keys; each reads and writes every key once");
    for (rung, launches) in
        [(&r4_transpose::launches::RUNG, 23), (&r5_strides::launches::RUNG, 25), (&r6_backwards::launches::RUNG, 25)]
    {
        assert_eq!(launches_to_sort(rung, 1 << 24), launches);
        let cost = cost_of_sort(rung, &random(1 << 16), Options::default());
        for launch in &cost.launches {
            assert_eq!((launch.read, launch.written), (4 << 16, 4 << 16), "{}", launch.kernel);
            match launch.kernel {
                kernel if kernel.ends_with("_sort") => launch.has_barriers(9),
                kernel if kernel.ends_with("_merge") => {
                    launch.has_barriers(2);
                    assert_eq!(launch.turns, 1, "bank conflicts in {kernel}");
                }
                kernel if kernel.contains("_long") => launch.has_barriers(0),
                _ => {}
            }
        }
    }
}

#[test]
fn saxpys() {
    for rung in rungs_kernels::saxpy::LADDER.rungs {
        states(&rung.rung, "12 bytes per element; no barrier; one launch");
        let n = 3000u32;
        let (mut x, mut y) = (vec![1f32; n as usize], vec![2f32; n as usize]);
        let args = saxpy::Vectors { a: 2.5, x: view(&mut x), y: view(&mut y) };
        let cost = cost(|on| {
            let mut sequence = rung.adder(on).unwrap();
            move |on: &dyn Launcher| sequence.run(on, args)
        });
        let [launch] = &cost.launches[..] else { panic!("{} launches", cost.launches.len()) };
        launch.has_barriers(0);
        assert_eq!(launch.read + launch.written, 12 * u64::from(n));
    }
}

#[test]
fn products() {
    use rungs_kernels::products::{any_type, fp32};
    let of = |rung: &Entry<matmul::Matmul>, (m, n, k): (u32, u32, u32)| {
        let mut cost = cost_of_product(rung, (m, n, k));
        assert_eq!(cost.launches.len(), 1);
        let launch = cost.launches.remove(0);
        assert_eq!(launch.written, 4 * u64::from(m * n), "{}", rung.rung.name);
        launch
    };
    let (m, n, k) = (48, 32, 40);
    states(&any_type::launches::RUNG.rung, "8·m·n·k bytes of loads; no barrier; one launch");
    let launch = of(&any_type::launches::RUNG, (m, n, k));
    launch.has_barriers(0);
    assert_eq!(launch.read, 8 * u64::from(m * n * k));
    // Sides of more than a tile, whose last tiles are not full.
    let (rung, tile, depth) = (&fp32::launches::RUNG, fp32::TILE, fp32::DEPTH);
    let bytes = "4·k·(m·⌈n/TILE⌉ + n·⌈m/TILE⌉) bytes of global loads";
    states(&rung.rung, &format!("{bytes}; ⌈k/DEPTH⌉ barriers per block; one launch"));
    let (m, n, k) = (tile + 2, 2 * tile + 4, depth + 4);
    let launch = of(rung, (m, n, k));
    launch.has_barriers(k.div_ceil(depth));
    assert_eq!(launch.read, 4 * u64::from(k * (m * n.div_ceil(tile) + n * m.div_ceil(tile))));
}

/// Small tiles, of which the last of each row and column are not full.
#[test]
fn products_in_f64() {
    use rungs_kernels::products::fp64;
    let rung = &fp64::launches::RUNG;
    let bytes = "8·k·(m·⌈n/COLUMNS⌉ + n·⌈m/ROWS⌉) bytes of global loads";
    states(&rung.rung, &format!("{bytes}; ⌈k/DEPTH⌉ + 1 barriers per block; one launch"));
    let (m, n, k) = (66, 36, 2 * fp64::DEPTH + 4);
    let mut cost = cost_of_product_of(rung, (m, n, k), 1f64, f64::from);
    assert_eq!(cost.launches.len(), 1);
    let launch = cost.launches.remove(0);
    launch.has_barriers(k.div_ceil(fp64::DEPTH) + 1);
    assert_eq!(launch.read, 8 * u64::from(k * (m * n.div_ceil(32) + n * m.div_ceil(64))));
    assert_eq!(launch.written, 8 * u64::from(m * n));
}

/// The same from boxes: a whole tile for each SM.
#[test]
fn products_in_f64_from_boxes() {
    use rungs_kernels::products::fp64_hopper::{COLUMNS, ROWS, launches::RUNG};
    states(&RUNG.rung, "2·m·n·k operations, with m, n and k rounded up to tiles.");
    let bytes = "Copies of 8·k·(m·⌈n/COLUMNS⌉ + n·⌈m/ROWS⌉) bytes to shared memory.";
    states(&RUNG.rung, &format!("{bytes} One barrier per block; one launch."));
    let (m, n, k) = (ROWS * MULTIPROCESSORS, COLUMNS, 50);
    let mut cost = cost_of_product_of(&RUNG, (m, n, k), 1f64, f64::from);
    let product = cost.launches.pop().unwrap();
    assert_eq!((product.kernel, product.blocks), ("product_fp64_hopper", MULTIPROCESSORS));
    product.has_barriers(1);
    assert_eq!(product.read, 8 * u64::from(k * (m * n.div_ceil(COLUMNS) + n * m.div_ceil(ROWS))));
    assert_eq!(product.written, 8 * u64::from(m * n));
    assert!(cost.launches.is_empty());
}

/// Two rows of tiles and three columns, the last of each not full. They are two for each SM, and small ones
/// would be more than three, so that `three-tf32` does not take those.
#[test]
fn products_on_the_tensor_cores() {
    use rungs_kernels::products::{tf32, three_tf32};
    for (rung, rows, columns, depth, each) in [
        (&tf32::launches::RUNG, tf32::ROWS, tf32::COLUMNS, tf32::DEPTH, "2·m·n·k operations"),
        (
            &three_tf32::launches::RUNG,
            three_tf32::ROWS,
            three_tf32::COLUMNS,
            three_tf32::DEPTH,
            "6·m·n·k operations, three times those of one product",
        ),
    ] {
        let bytes = "4·k·(m·⌈n/COLUMNS⌉ + n·⌈m/ROWS⌉) bytes of global loads";
        states(&rung.rung, &format!("{each}; {bytes}; ⌈k/DEPTH⌉ barriers per block; one launch"));
        let (down, along) = (2, 3);
        let (m, n, k) = ((down - 1) * rows + rows / 2 + 2, (along - 1) * columns + 4, depth + 4);
        let mut cost = cost_of_product(rung, (m, n, k));
        assert_eq!(cost.launches.len(), 1);
        let launch = cost.launches.remove(0);
        launch.has_barriers(k.div_ceil(depth));
        assert_eq!(launch.blocks, down * along);
        assert_eq!(launch.read, 4 * u64::from(k * (m * along + n * down)), "{}", rung.rung.name);
        assert_eq!(launch.written, 4 * u64::from(m * n));
    }
}

/// With two tiles for each SM none is divided along K. With less than one all are: by clusters or, where k
/// is long, by all blocks.
#[test]
fn a_persistent_product() {
    use rungs_kernels::products::fp32_hopper::{COLUMNS, DEPTH, ROWS, launches::RUNG};
    states(
        &RUNG.rung,
        "Copies of 4·k·(m·⌈n/COLUMNS⌉ + n·⌈m/ROWS⌉) bytes to shared memory, and of one stage more per block. Before \
         that, copies in global memory of operands that are not taken as they are; scratch memory as large as both. \
         One barrier per block; one launch, one more if an operand is copied, and one more if blocks have parts of \
         tiles: each writes 4·ROWS·COLUMNS bytes of sums per part to scratch memory, and that launch reads them. In a \
         cluster two cluster barriers and one more of the multiplying warps; a block writes 4·ROWS·COLUMNS bytes of \
         sums to shared memory, and reads as many, from all. Half tiles have ROWS/2 rows, and two stages more per \
         block, each of two thirds of the bytes.",
    );
    let part = 4 * u64::from(ROWS * COLUMNS);
    let of = |(m, n, k): (u32, u32, u32), blocks: u32, parts: u64| {
        let mut cost = cost_of_product(&RUNG, (m, n, k));
        if parts > 0 {
            let sum = cost.launches.pop().unwrap();
            assert_eq!((sum.kernel, sum.read), ("product_fp32_hopper_sum", parts * part));
            assert_eq!(sum.written, 4 * u64::from(m * n));
        }
        let product = cost.launches.pop().unwrap();
        assert_eq!(product.written, if parts > 0 { parts * part } else { 4 * u64::from(m * n) });
        let cluster = blocks < MULTIPROCESSORS;
        product.has_barriers(if cluster { 3 } else { 1 });
        assert_eq!(product.named, vec![cluster as u32; blocks as usize]);
        let kernels: Vec<_> = cost.launches.iter().map(|launch| launch.kernel).collect();
        // A is copied: each element once in and once out; rows and k are filled up to tiles. B is taken as it is.
        let copies = cost.launches.last().unwrap();
        let filled = m.next_multiple_of(ROWS) * k.next_multiple_of(DEPTH);
        assert_eq!((copies.read, copies.written), (4 * u64::from(m * k), 4 * u64::from(filled)));
        let stage = 4 * u64::from((ROWS + COLUMNS) * DEPTH);
        assert_eq!(product.blocks, blocks);
        assert_eq!(kernels, ["product_fp32_hopper_pack"]);
        (product.read - u64::from(product.blocks) * stage, product.atomics)
    };
    let bytes = |m: u32, n: u32, k: u32| 4 * u64::from(k * (m * n.div_ceil(COLUMNS) + n * m.div_ceil(ROWS)));
    let (m, n, k) = (2 * ROWS, 3 * COLUMNS, 2 * DEPTH);
    assert_eq!(of((m, n, k), MULTIPROCESSORS, 0), (bytes(m, n, k), 0));
    // A tile for two blocks of a cluster.
    let (m, n, k) = (ROWS, COLUMNS, 6 * DEPTH);
    assert_eq!(of((m, n, k), 2, 0), (bytes(m, n, k), 0));
    // Half a tile for two blocks of a cluster. A is copied in tiles of ROWS/2 rows.
    let (m, n, k) = (ROWS / 2, COLUMNS, 6 * DEPTH);
    let product = cost_of_product(&RUNG, (m, n, k)).launches.pop().unwrap();
    assert_eq!((product.kernel, product.blocks), ("product_fp32_hopper_half_by_2", 2));
    product.has_barriers(3);
    let stage = 4 * u64::from((ROWS / 2 + COLUMNS) * DEPTH);
    assert_eq!(product.read - 2 * 2 * stage, 4 * u64::from(k * (m + n)));
    // A tile for three blocks: each has a part.
    let (m, n, k) = (ROWS, COLUMNS, 102 * DEPTH);
    assert_eq!(of((m, n, k), MULTIPROCESSORS, 3), (bytes(m, n, k), 0));
}

/// A whole tile for each SM, of those that the rung is named for.
#[test]
fn products_by_groups_of_warps() {
    use rungs_kernels::products::{mixed, packed};
    let (rows, columns, depth) = (packed::ROWS, packed::COLUMNS, packed::DEPTH);
    assert_eq!((rows, columns), (mixed::ROWS, mixed::COLUMNS));
    for (rung, kernel, k, parts, operations, scratch) in [
        (&packed::launches::RUNG, "product_packed", 2 * depth, 1u32, "2·m·n·k operations", "as"),
        (
            &mixed::launches::RUNG,
            "product_mixed",
            mixed::LEAST_K,
            2,
            "2·m·n·k operations in TF32 and 4·m·n·k in `bf16`",
            "twice as",
        ),
    ] {
        states(&rung.rung, &format!("{operations}, with m, n and k rounded up to tiles."));
        states(
            &rung.rung,
            &format!(
                "Copies of A and B in global memory, in {scratch} much scratch memory; from there, copies of \
                 {}·k·(m·⌈n/COLUMNS⌉ + n·⌈m/ROWS⌉) bytes to shared memory. One barrier per block; two launches.",
                4 * parts
            ),
        );
        let (m, n) = (rows * MULTIPROCESSORS, columns);
        let mut cost = cost_of_product(rung, (m, n, k));
        let product = cost.launches.pop().unwrap();
        let copies = cost.launches.pop().unwrap();
        assert!(cost.launches.is_empty());
        let filled = 4 * u64::from((m + n) * k);
        assert_eq!((copies.read, copies.written), (filled, u64::from(parts) * filled));
        assert_eq!((product.kernel, product.blocks), (kernel, MULTIPROCESSORS));
        product.has_barriers(1);
        let per_element = 4 * u64::from(parts);
        assert_eq!(product.read, per_element * u64::from(k * (m * n.div_ceil(columns) + n * m.div_ceil(rows))));
        assert_eq!(product.written, 4 * u64::from(m * n));
    }
}

/// A whole tile for each SM, from A as it is and from a copy of it; and one tile by a pair of blocks.
#[test]
fn products_of_a_split_operand() {
    use rungs_kernels::products::three_tf32_group::{COLUMNS, HELD_COLUMNS, ROWS, launches::RUNG};
    states(
        &RUNG.rung,
        "6·m·n·k operations, three times those of one product, with m, n and k rounded up to tiles. Copies of B in \
         global memory, in twice as much scratch memory, and of A that is not taken as it is; from there, copies of \
         8·k·(m·⌈n/COLUMNS⌉ + n·⌈m/ROWS⌉) bytes to shared memory, or with A as it is of 4·k·m·⌈n/HELD_COLUMNS⌉ and \
         8·k·n·⌈m/ROWS⌉. One barrier per block; two launches. In a pair one barrier of the multiplying warps and two \
         of the pair more; a block writes 2·ROWS·HELD_COLUMNS bytes of sums to shared memory, and reads as many of \
         the other's.",
    );
    let bytes = |m: u32, n: u32, k: u32, columns: u32, of_a: u32| {
        u64::from(k * (of_a * m * n.div_ceil(columns) + 8 * n * m.div_ceil(ROWS)))
    };
    for (transposed, kernel, columns, of_a) in
        [(false, "product_three_tf32_group_held", HELD_COLUMNS, 4), (true, "product_three_tf32_group", COLUMNS, 8)]
    {
        let (m, n, k) = (ROWS * MULTIPROCESSORS, columns, 64);
        let mut cost = cost_of_product_by(&RUNG, (m, n, k), (1f32, |k| k as f32), transposed);
        let product = cost.launches.pop().unwrap();
        let copies = cost.launches.pop().unwrap();
        assert!(cost.launches.is_empty());
        let copied = 4 * u64::from((n + if transposed { m } else { 0 }) * k);
        assert_eq!((copies.read, copies.written), (copied, 2 * copied));
        assert_eq!((product.kernel, product.blocks), (kernel, MULTIPROCESSORS));
        product.has_barriers(1);
        assert_eq!((product.read, product.written), (bytes(m, n, k, columns, of_a), 4 * u64::from(m * n)));
    }
    let (m, n, k) = (ROWS, HELD_COLUMNS, 32 * 20);
    let mut cost = cost_of_product(&RUNG, (m, n, k));
    let product = cost.launches.pop().unwrap();
    assert_eq!((product.kernel, product.blocks), ("product_three_tf32_group_held_pair", 2));
    product.has_barriers(3);
    assert_eq!(product.named, [1, 1]);
    assert_eq!((product.read, product.written), (bytes(m, n, k, HELD_COLUMNS, 4), 4 * u64::from(m * n)));
}

/// The same for operands as they are, whose k is large enough for the widest tiles.
#[test]
fn products_of_operands_as_they_are() {
    use rungs_kernels::products::half_hopper::{COLUMNS, ROWS, launches::RUNG};
    states(&RUNG.rung, "2·m·n·k operations, with m, n and k rounded up to tiles.");
    states(
        &RUNG.rung,
        "Copies of 2·k·(m·⌈n/COLUMNS⌉ + n·⌈m/ROWS⌉) bytes to shared memory, and of C from there. One barrier per \
         block, and two per small tile; one launch.",
    );
    let (m, n, k) = (ROWS * MULTIPROCESSORS, COLUMNS, 64 * 40);
    let mut cost = cost_of_product_of(&RUNG, (m, n, k), simt::f16::ONE, |k| simt::f16::from_f32(k as f32));
    let product = cost.launches.pop().unwrap();
    assert_eq!((product.kernel, product.blocks), ("product_half_hopper_nn_f16", MULTIPROCESSORS));
    product.has_barriers(1);
    assert_eq!(product.read, 2 * u64::from(k * (m * n.div_ceil(COLUMNS) + n * m.div_ceil(ROWS))));
    assert_eq!(product.written, 2 * u64::from(m * n));
    assert!(cost.launches.is_empty());
}

/// The same by pairs of blocks, which read B once. Rows of A that do not begin on lines have pairs chosen.
#[test]
fn products_by_pairs_of_blocks() {
    use rungs_kernels::products::half_cluster::{COLUMNS, PAIR_ROWS, launches::RUNG};
    states(&RUNG.rung, "2·m·n·k operations, with m, n and k rounded up to tiles of a pair.");
    states(
        &RUNG.rung,
        "Copies of 2·k·(m·⌈n/COLUMNS⌉ + n·⌈m/PAIR_ROWS⌉) bytes to shared memory, of which those of B arrive twice, and \
         of C from there. Two barriers of the pair; one launch.",
    );
    let (m, n, k) = (PAIR_ROWS, COLUMNS, 64 * 40 + 8);
    let mut cost = cost_of_product_of(&RUNG, (m, n, k), simt::f16::ONE, |k| simt::f16::from_f32(k as f32));
    let product = cost.launches.pop().unwrap();
    assert_eq!((product.kernel, product.blocks), ("product_half_cluster_nn_f16", 2));
    product.has_barriers(2);
    assert_eq!(product.read, 2 * u64::from(k * (m * n.div_ceil(COLUMNS) + n * m.div_ceil(PAIR_ROWS))));
    assert_eq!(product.written, 2 * u64::from(m * n));
    assert!(cost.launches.is_empty());
}

/// The same with one operand in registers.
#[test]
fn products_with_an_operand_in_registers() {
    use rungs_kernels::products::tensor_registers::{COLUMNS, ROWS, launches::RUNG};
    states(&RUNG.rung, "2·m·n·k operations, with m, n and k rounded up to tiles.");
    states(
        &RUNG.rung,
        "Copies of 4·k·(m·⌈n/COLUMNS⌉ + n·⌈m/ROWS⌉) bytes to shared memory, and of C from there. One barrier per \
         block, and two of two warps for each box of C; one launch.",
    );
    let (m, n, k) = (ROWS * MULTIPROCESSORS, COLUMNS, 32 * 40);
    let mut cost = cost_of_product(&RUNG, (m, n, k));
    let product = cost.launches.pop().unwrap();
    assert_eq!((product.kernel, product.blocks), ("product_tensor_registers_across", MULTIPROCESSORS));
    product.has_barriers(1);
    assert_eq!(product.named, vec![2 * ROWS / 32 * COLUMNS / 32; MULTIPROCESSORS as usize]);
    assert_eq!(product.read, 4 * u64::from(k * (m * n.div_ceil(COLUMNS) + n * m.div_ceil(ROWS))));
    assert_eq!(product.written, 4 * u64::from(m * n));
    assert!(cost.launches.is_empty());
}

#[test]
fn sums_of_cubes() {
    use rungs_kernels::cubes::*;
    let n = 5000u32;
    let of = |rung: &Entry<cubes::Cubes>, threads: u32| {
        let on = Counting::new(true);
        let options = Options { threads: Some(threads), blocks: Some(2), columns: None };
        let plan = rung.run.plan(&options, on.device());
        let (mut values, mut sums) = (vec![3u32; n as usize], vec![0u64; plan.sums as usize]);
        let mut times = vec![0u64; (plan.blocks * TIMES) as usize];
        let args = cubes::Values { values: view(&mut values), sums: view(&mut sums), times: view(&mut times) };
        let mut cost = cost(|on| {
            let mut sequence = rung.adder(on, plan).unwrap();
            move |on: &dyn Launcher| sequence.run(on, args)
        });
        assert_eq!(cost.launches.len(), 1);
        let launch = cost.launches.remove(0);
        assert_eq!(launch.read, 4 * u64::from(n));
        // Without the blocks' times, which the heads do not count.
        (launch.written - 32 * u64::from(plan.blocks), launch, cost.clears, plan)
    };
    /// Barriers per block of a number of threads.
    type Barriers = fn(u32) -> u32;
    let rungs: [(_, &str, Barriers); 7] = [
        (&r1_one_thread::launches::RUNG, "no barrier; one launch", |_| 0),
        (&r2_one_block_strided::launches::RUNG, "8 bytes per thread; 1 barrier, for the clock; one launch", |_| 1),
        (&r3_one_block::launches::RUNG, "8 bytes per thread; 1 barrier, for the clock; one launch", |_| 1),
        (&r4_many_blocks::launches::RUNG, "8 bytes per thread; 1 barrier per block, for the clock; one launch", |_| 1),
        (&r5_block_sum::launches::RUNG, "2 barriers per block, the second for the clock; one launch", |_| 2),
        (&r6_block_tree::launches::RUNG, "⌈log₂ threads⌉ + 1 barriers per block; one launch", |threads| {
            threads.next_power_of_two().ilog2() + 1
        }),
        (&r7_warp_shuffle::launches::RUNG, "1 barrier per block; one launch", |_| 1),
    ];
    for (rung, words, barriers) in rungs {
        states(&rung.rung, words);
        for threads in [32, 96, 256] {
            let (written, launch, clears, plan) = of(rung, threads);
            launch.has_barriers(barriers(threads));
            let threads = plan.blocks * plan.threads;
            let sums = if words.contains("per thread") { threads } else { plan.blocks };
            assert_eq!((written, clears), (8 * u64::from(sums), 0), "{}", rung.rung.name);
        }
    }
    states(&r7_warp_shuffle::launches::RUNG.rung, "256 bytes of shared memory");
    assert_eq!(of(&r7_warp_shuffle::launches::RUNG, 1024).1.shared_end, 256);

    let rung = &r8_grid_atomic::launches::RUNG;
    states(&rung.rung, "one atomic and 1 barrier per block; one launch, and the clearing of a word before it");
    let (written, launch, clears, _) = of(rung, 256);
    launch.has_barriers(1);
    assert_eq!((written, launch.atomics, clears), (0, launch.blocks.into(), 1));
}

#[test]
fn histograms() {
    use rungs_kernels::histogram::*;
    let (n, bins) = (40_000u32, 256u32);
    let of = |rung: &Entry<&'static dyn histogram::Histogram>| {
        let (mut keys, mut random) = (zeros::<u8>(n), Random(7));
        keys.slice().fill_with(|| random.next() as u8);
        let mut counts = vec![0u32; bins as usize];
        let args = histogram::Keys { keys: keys.view(), counts: view(&mut counts) };
        let mut cost = cost(|on| {
            let mut sequence = rung.counter::<u8>(on, bins).unwrap();
            move |on: &dyn Launcher| sequence.run(on, args)
        });
        assert_eq!(cost.launches.len(), 1);
        let launch = cost.launches.remove(0);
        assert_eq!(launch.read, n.into(), "one read of each key");
        (launch, cost.clears)
    };
    let cleared = "one launch, and the clearing of the counts before it";
    let rung = &r1_global_atomics::launches::RUNG;
    states(&rung.rung, &format!("n global atomics; one read of each key; no barrier; {cleared}"));
    let (launch, clears) = of(rung);
    launch.has_barriers(0);
    assert_eq!((launch.atomics, clears), (n.into(), 1));
    for rung in [&r2_shared_atomics::launches::RUNG, &r3_warp_tables::launches::RUNG] {
        states(&rung.rung, "n shared atomics, at most blocks × bins global atomics; one read of each key");
        states(&rung.rung, &format!("2 barriers per block; {cleared}"));
        let (launch, clears) = of(rung);
        launch.has_barriers(2);
        assert_eq!((launch.shared_atomics, clears), (n.into(), 1));
        assert!(launch.atomics <= u64::from(launch.blocks * bins));
    }
    let rung = &r4_bank_private::launches::RUNG;
    states(&rung.rung, "n shared atomics; at most blocks × bins global atomics, one more per block, and one per bin");
    states(&rung.rung, "4 barriers per block; one launch");
    states(&rung.rung, "no two lanes of a warp want the same bank");
    let (launch, clears) = of(rung);
    launch.has_barriers(4);
    assert_eq!((launch.shared_atomics, launch.atomic_turns, clears), (n.into(), 1, 0));
    assert!(launch.atomics <= u64::from(launch.blocks * bins + launch.blocks + bins));
}

#[test]
fn columns() {
    use radix::*;
    let n = 300u32;
    for columns in [8, 32] {
        let options = Options { columns: Some(columns), ..Options::default() };
        let of = |rung: &Entry<sort::Sort>| {
            let mut cost = cost_of_sort(rung, &different(n), options);
            assert_eq!(cost.launches.len(), 1);
            cost.launches.remove(0)
        };
        let rung = &r1_columns_one_thread::launches::RUNG;
        states(&rung.rung, "1 barrier; one launch");
        let sorted = of(rung);
        sorted.has_barriers(1);
        let rung = &r2_columns_atomic_min::launches::RUNG;
        states(&rung.rung, "an atomic per column, one more and a store for each key");
        states(&rung.rung, "n + 2 barriers for n keys, fewer if several columns have the same key; one launch");
        let launch = of(rung);
        launch.has_barriers(n + 2);
        assert!(launch.shared_atomics <= u64::from(n * columns + n));
        // Two words are set at first; then each round has a read in each thread, and a word that is cleared.
        let minima = u64::from((n + 1) * (columns + 1) + 2);
        let sorting = launch.shared_reads + launch.shared_writes - minima;
        let rung = &r3_columns_tree::launches::RUNG;
        states(&rung.rung, "log₂(columns) + 1 barriers and 4·columns - 2 accesses to shared memory for each key");
        let launch = of(rung);
        launch.has_barriers(n * (columns.ilog2() + 1));
        // The columns are sorted, and their heads read, as in the rung before.
        assert_eq!(launch.shared_reads + launch.shared_writes - sorting, u64::from(n * (4 * columns - 2)));
        let rung = &r4_columns_groups::launches::RUNG;
        states(&rung.rung, "two barriers, 9/8 atomics per column, one more and a store for each key");
        states(&rung.rung, "2·n + 3 barriers for n keys, fewer if several columns have the same key; one launch");
        let launch = of(rung);
        launch.has_barriers(2 * n + 3);
        assert!(launch.shared_atomics <= u64::from(n * columns) * 9 / 8 + u64::from(n));
    }
    // Equal keys of several columns leave together.
    let options = Options { columns: Some(8), ..Options::default() };
    let equal = cost_of_sort(&r2_columns_atomic_min::launches::RUNG, &[7; 300], options);
    assert!(equal.launches[0].barriers[0] < 300 / 4);
}

#[test]
fn digits_from_the_last() {
    use radix::*;
    let n = 5000u32;
    for (rung, launches, passes, scatter) in
        [(&r5_lsd_blocks::launches::RUNG, 24, 8, 3), (&r6_lsd_ballot::launches::RUNG, 12, 4, 4)]
    {
        states(&rung.rung, &format!("{passes} passes, {launches} launches"));
        states(
            &rung.rung,
            &format!("Barriers per block: 2 to count, {scatter} to scatter; 2 per 8192 counts in the scan"),
        );
        states(&rung.rung, "a pass moves 12 bytes per key of 4 bytes");
        let cost = cost_of_sort(rung, &random(n), Options::default());
        assert_eq!(cost.launches.len(), launches);
        for pass in cost.launches.chunks(3) {
            let [count, scan, put] = pass else { panic!("a pass is three launches") };
            count.has_barriers(2);
            scan.has_barriers(2);
            put.has_barriers(scatter);
            // Beside the keys, the scatter reads where they go: for each key, or for each block's digits.
            let starts = if passes == 8 { n } else { put.blocks * r6_lsd_ballot::DIGITS };
            let moved = count.read + put.read - 4 * u64::from(starts) + put.written;
            assert_eq!(moved, 12 * u64::from(n));
        }
    }
    // More than 8192 counts: two rounds of the scan.
    let n = 33 * r6_lsd_ballot::TILE;
    assert!((8193..=16_384).contains(&r6_lsd_ballot::counts(n)));
    let cost = cost_of_sort(&r6_lsd_ballot::launches::RUNG, &random(n), Options::default());
    cost.launches[1].has_barriers(4);
}
