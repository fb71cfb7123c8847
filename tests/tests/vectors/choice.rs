//! Every row of the tables of choices, on the simulator under the limits of each device that the row is for: with every
//! type of its width at a size that the simulator holds, and, up to the row's largest size, the geometry and the shared
//! memory of what it would launch.

use rungs::Operation;
use rungs::vec::choice::{Machine, PAIR_SORTS, PRODUCTS, REDUCTIONS, Row, SCANS, SORTS};
use rungs_kernels::keys::{DESCENDING, UNSIGNED};
use rungs_kernels::ladder::matmul::{Matmul, Matrix, Multiplied, Multiplier as _, Product, Sizes};
use rungs_kernels::ladder::reduce::{self, Reduce, Reduces};
use rungs_kernels::ladder::scan::{self, Scan, Scans};
use rungs_kernels::ladder::sort::{Keys, Pairs, Sort, Width};
use rungs_kernels::ladder::{Ask, Device, Entry, Launcher, Options, Result};
use simt::launcher::{Call, KNOWN_DEVICES, Memory};
use simt::sim::{Gpu, MAX_BLOCK_DIM, MAX_GRID_DIM, MAX_THREADS_PER_BLOCK};
use simt::{Geometry, Global, Scalar, bf16, f16, kernel};
use std::cell::Cell;
use std::fmt::Debug;

/// Elements that the simulator sorts, reduces and scans: some tiles, and a ragged one.
const N: u32 = 20_011;

/// The rows, each with a device that it is for and whose rung does not refuse it; each row has one at least.
fn chosen<K>(rows: &[Row<K>]) -> Vec<(&Row<K>, &'static Entry<K>, Device)> {
    let mut all = vec![];
    for row in rows {
        let entry = row.ladder.get(row.rung).unwrap_or_else(|| panic!("there is no rung {}", row.rung));
        let devices: Vec<Device> = match row.machine {
            Machine::Simulator => vec![Gpu::default().device],
            Machine::Cuda(major, minor) => {
                let fits = KNOWN_DEVICES.iter().filter(|(capability, _)| *capability >= (major, minor));
                let known = |&(compute_capability, shared_per_block)| Device {
                    multiprocessors: 4,
                    shared_per_block,
                    compute_capability,
                };
                fits.map(known).collect()
            }
        };
        let refuses = |device: &Device| {
            let (options, element_bytes) = (Options::default(), row.bytes as u32);
            entry.rung.refusal(&Ask { n: u64::from(N), element_bytes, options, device: *device }).is_some()
        };
        let fits: Vec<Device> = devices.into_iter().filter(|device| !refuses(device)).collect();
        assert!(!fits.is_empty(), "no device takes {} for {} bytes", row.rung, row.bytes);
        all.extend(fits.into_iter().map(|device| (row, entry, device)));
    }
    all
}

/// Sizes that no test can hold, up to the row's largest: around those at which rungs change their plans.
fn large<K>(row: &Row<K>) -> Vec<u32> {
    let all = [1 << 20, (1 << 21) + 1, 1 << 27, (1 << 27) + 1, 1 << 31, u64::from(u32::MAX) - 0xffff, row.up_to];
    all.into_iter().filter(|&n| n <= row.up_to).map(|n| u32::try_from(n).unwrap()).collect()
}

/// A device that holds launches to its limits and makes none. Its memory has addresses alone.
struct Limits {
    device: Device,
    launches: Cell<u32>,
}

/// An address that nobody reads or writes, aligned as a GPU's.
const NOWHERE: usize = 1 << 20;

struct Nowhere;

// SAFETY: the launcher runs no kernel, so nothing accesses the bytes.
unsafe impl Memory for Nowhere {
    fn address(&self) -> *mut u8 {
        NOWHERE as *mut u8
    }
}

impl Launcher for Limits {
    fn device(&self) -> Device {
        self.device
    }

    fn enqueue(&self, call: &dyn Call, geometry: Geometry) -> Result {
        if geometry.is_empty() {
            return Ok(());
        }
        let Geometry { grid, block, shared_bytes, .. } = geometry;
        let (name, threads) = (call.name(), block.iter().product::<u32>());
        for axis in 0..3 {
            assert!((1..=MAX_GRID_DIM[axis]).contains(&grid[axis]), "{name}: a grid of {grid:?} blocks");
            assert!((1..=MAX_BLOCK_DIM[axis]).contains(&block[axis]), "{name}: a block of {block:?} threads");
        }
        let most = if call.max_threads() > 0 { call.max_threads() } else { MAX_THREADS_PER_BLOCK };
        assert!(
            threads <= most.min(MAX_THREADS_PER_BLOCK),
            "{name}: {threads} threads per block; {most} are the limit"
        );
        let limit = self.device.shared_per_block;
        assert!(shared_bytes <= limit, "{name}: {shared_bytes} of {limit} bytes of shared memory");
        self.launches.set(self.launches.get() + 1);
        Ok(())
    }

    fn allocate(&self, _: usize) -> Result<Box<dyn Memory>> {
        Ok(Box::new(Nowhere))
    }

    unsafe fn clear_bytes(&self, _: *mut u8, _: usize) -> Result {
        Ok(())
    }
}

/// Asks for launches under the limits of a device, which must be some.
fn within_limits(what: &str, device: Device, run: impl FnOnce(&dyn Launcher) -> Result) {
    let on = Limits { device, launches: Cell::new(0) };
    run(&on).unwrap_or_else(|why| panic!("{what}: {why}"));
    assert!(on.launches.get() > 0, "{what}: nothing is launched");
}

/// A view of `len` elements for [`Limits`].
fn nowhere<T: Scalar>(len: u32) -> Global<T> {
    // SAFETY: nothing accesses it.
    unsafe { Global::from_raw(NOWHERE as *mut T, len) }
}

/// A view of elements for the simulator.
fn view<T: Scalar>(data: &mut [T]) -> Global<T> {
    // SAFETY: each use ends before the elements are used otherwise or dropped.
    unsafe { Global::from_raw(data.as_mut_ptr(), data.len() as u32) }
}

/// Where elements begin that kernels access 16 bytes at a time.
#[derive(Clone, Copy)]
#[repr(align(16))]
struct Aligned<T>(T);

/// Elements, aligned to 16 bytes.
struct Elements<T> {
    room: Vec<Aligned<[u64; 2]>>,
    data: Vec<T>,
}

impl<T: Scalar> Elements<T> {
    fn new(data: Vec<T>) -> Self {
        Self { room: vec![Aligned([0; 2]); size_of_val(&data[..]).div_ceil(16)], data }
    }

    /// What `run` makes of them.
    fn after(mut self, run: impl FnOnce(Global<T>) -> Result) -> Result<Vec<T>> {
        let room = self.room.as_mut_ptr().cast::<T>();
        // SAFETY: the room has as many bytes as the elements, and is aligned to more than they are.
        let room = unsafe { std::slice::from_raw_parts_mut(room, self.data.len()) };
        room.copy_from_slice(&self.data);
        run(view(room))?;
        self.data.copy_from_slice(room);
        Ok(self.data)
    }
}

/// A word with all bits of its number mixed.
fn mixed(i: u32) -> u64 {
    let x = (u64::from(i) + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (x ^ (x >> 29)).wrapping_mul(0xBF58_476D_1CE4_E5B9)
}

fn gpu(device: Device) -> Gpu {
    Gpu { device, ..Gpu::default() }
}

fn sorts<W: Width + Scalar + Ord + Debug>(
    (row, entry, device): (&Row<Sort>, &Entry<Sort>, Device),
    word: fn(u32) -> W,
) {
    let what = format!("{} of {} bytes on {device:?}", row.rung, row.bytes);
    let on = gpu(device);
    for order in [UNSIGNED, DESCENDING] {
        let input: Vec<W> = (0..N).map(word).collect();
        let mut want = input.clone();
        want.sort_by(|a, b| if order == UNSIGNED { a.cmp(b) } else { b.cmp(a) });
        let mut sorter = entry.sorter::<W>(&on, N, Options::default()).unwrap_or_else(|why| panic!("{what}: {why}"));
        let got = Elements::new(input).after(|keys| sorter.run(&on, Keys { keys, order }));
        assert!(got.unwrap_or_else(|why| panic!("{what}: {why}")) == want, "{what}");
    }
    for n in large(row) {
        within_limits(&format!("{n} keys by {what}"), device, |on| {
            entry.sorter::<W>(on, n, Options::default())?.run(on, Keys { keys: nowhere(n), order: UNSIGNED })
        });
    }
}

#[test]
fn sorts_of_keys() {
    for case in chosen(SORTS) {
        match case.0.bytes {
            4 => sorts::<u32>(case, |i| mixed(i) as u32),
            8 => sorts::<u64>(case, mixed),
            bytes => panic!("no keys have {bytes} bytes"),
        }
    }
}

#[test]
fn sorts_of_pairs() {
    for (row, entry, device) in chosen(PAIR_SORTS) {
        let (what, on) = (format!("{} on {device:?}", row.rung), gpu(device));
        // Few keys, so that the order of equal ones shows.
        let keys: Vec<u32> = (0..N).map(|i| mixed(i) as u32 % 999).collect();
        let mut want: Vec<(u32, u32)> = keys.iter().copied().zip(0..).collect();
        want.sort_unstable();
        let mut sorter = entry.pair_sorter(&on, N).unwrap_or_else(|why| panic!("{what}: {why}"));
        let mut moved = vec![];
        let sorted = Elements::new(keys).after(|keys| {
            moved = Elements::new((0..N).collect())
                .after(|values| sorter.run(&on, Pairs { keys, values, order: UNSIGNED }))?;
            Ok(())
        });
        let got = sorted.unwrap_or_else(|why| panic!("{what}: {why}")).into_iter().zip(moved);
        assert!(got.eq(want), "{what}");
        for n in large(row) {
            within_limits(&format!("{n} pairs by {what}"), device, |on| {
                entry.pair_sorter(on, n)?.run(on, Pairs { keys: nowhere(n), values: nowhere(n), order: UNSIGNED })
            });
        }
    }
}

/// Small whole numbers, whose sums are exact in every type.
fn small(i: u32) -> u32 {
    mixed(i) as u32 % 7
}

fn reduces<T: Scalar + PartialEq + Debug>(
    (row, entry, device): (&Row<&'static dyn Reduce>, &Entry<&'static dyn Reduce>, Device),
    number: fn(u32) -> T,
) where
    dyn Reduce: Reduces<T>,
{
    let (what, on) = (format!("{} of {} bytes on {device:?}", row.rung, row.bytes), gpu(device));
    let sum = (0..N).map(small).sum();
    let mut reducer = entry.reducer::<T>(&on, N, Operation::Sum).unwrap_or_else(|why| panic!("{what}: {why}"));
    let got = Elements::new(vec![number(9)]).after(|output| {
        let input = Elements::new((0..N).map(|i| number(small(i))).collect());
        input.after(|input| reducer.run(&on, reduce::Elements { input, output })).map(drop)
    });
    assert_eq!(got.unwrap_or_else(|why| panic!("{what}: {why}")), [number(sum)], "{what}");
    for n in large(row) {
        within_limits(&format!("{n} elements by {what}"), device, |on| {
            let args = reduce::Elements { input: nowhere(n), output: nowhere(1) };
            entry.reducer::<T>(on, n, Operation::Sum)?.run(on, args)
        });
    }
}

#[test]
fn reductions() {
    for case in chosen(REDUCTIONS) {
        match case.0.bytes {
            4 => {
                reduces::<u32>(case, |x| x);
                reduces::<i32>(case, |x| x as i32);
                reduces::<f32>(case, |x| x as f32);
            }
            8 => {
                reduces::<u64>(case, u64::from);
                reduces::<i64>(case, i64::from);
                reduces::<f64>(case, f64::from);
            }
            bytes => panic!("no numbers have {bytes} bytes"),
        }
    }
}

fn scans<T: Scalar + PartialEq + Debug>(
    (row, entry, device): (&Row<&'static dyn Scan>, &Entry<&'static dyn Scan>, Device),
    number: fn(u32) -> T,
) where
    dyn Scan: Scans<T>,
{
    let (what, on) = (format!("{} of {} bytes on {device:?}", row.rung, row.bytes), gpu(device));
    let mut sum = 0;
    let want: Vec<T> = (0..N)
        .map(|i| {
            sum += small(i);
            number(sum)
        })
        .collect();
    let mut scanner = entry.scanner::<T>(&on, N, Operation::Sum).unwrap_or_else(|why| panic!("{what}: {why}"));
    let got = Elements::new(vec![number(9); N as usize]).after(|output| {
        let input = Elements::new((0..N).map(|i| number(small(i))).collect());
        let scan = |input| scanner.run(&on, scan::Elements { input, output, exclusive: false });
        input.after(scan).map(drop)
    });
    assert!(got.unwrap_or_else(|why| panic!("{what}: {why}")) == want, "{what}");
    for n in large(row) {
        within_limits(&format!("{n} elements by {what}"), device, |on| {
            let args = scan::Elements { input: nowhere(n), output: nowhere(n), exclusive: true };
            entry.scanner::<T>(on, n, Operation::Sum)?.run(on, args)
        });
    }
}

#[test]
fn scans_of_all_types() {
    for case in chosen(SCANS) {
        match case.0.bytes {
            4 => {
                scans::<u32>(case, |x| x);
                scans::<i32>(case, |x| x as i32);
                scans::<f32>(case, |x| x as f32);
            }
            8 => {
                scans::<u64>(case, u64::from);
                scans::<i64>(case, i64::from);
                scans::<f64>(case, f64::from);
            }
            bytes => panic!("no numbers have {bytes} bytes"),
        }
    }
}

fn product<T: Multiplied>(m: u32, n: u32, k: u32, view: impl Fn(u32) -> Global<T>) -> (Sizes, Product<T>) {
    let matrix = |rows: u32, columns: u32| Matrix::new(view(rows * columns), rows, columns, columns);
    (Sizes { m, n, k }, Product::new(matrix(m, k), matrix(k, n), matrix(m, n)))
}

fn multiplies<T: Multiplied + Debug>(
    (row, entry, device): (&Row<Matmul>, &Entry<Matmul>, Device),
    number: fn(f32) -> T,
) {
    let (m, n, k) = (150, 140, 60);
    // Whole numbers that every precision multiplies exactly, and whose sums have at most 8 bits, and a sign.
    let at = |i: u32| small(i) as f32 - 3.0;
    let term = |i: u32, e: u32| at((i / n) * k + e) * at(e * n + i % n + m * k);
    let sums: Vec<f32> = (0..m * n).map(|i| (0..k).map(|e| term(i, e)).sum()).collect();
    assert!(sums.iter().all(|sum| sum.abs() <= 256.0));
    let want: Vec<T> = sums.into_iter().map(number).collect();
    let a: Vec<T> = (0..m * k).map(|i| number(at(i))).collect();
    let b: Vec<T> = (0..k * n).map(|i| number(at(i + m * k))).collect();
    let (what, on) = (format!("{} of {} on {device:?}", row.rung, T::NAME), gpu(device));
    let sizes = Sizes { m, n, k };
    let mut multiplier = entry.multiplier(&on, sizes).unwrap_or_else(|why| panic!("{what}: {why}"));
    let got = Elements::new(vec![number(9.0); (m * n) as usize]).after(|c| {
        let (a, b) = (Elements::new(a.clone()), Elements::new(b.clone()));
        let matrix = |data, rows, columns| Matrix::new(data, rows, columns, columns);
        let multiply = |a, b| Product::new(matrix(a, m, k), matrix(b, k, n), matrix(c, m, n));
        a.after(|a| b.after(|b| multiplier.run(&on, multiply(a, b))).map(drop)).map(drop)
    });
    assert!(got.unwrap_or_else(|why| panic!("{what}: {why}")) == want, "{what}");
    // C as large as a row may have it, as a square and as a tall one, of more tiles than a grid has along y.
    for (m, n, k) in [(65_535, 65_537, 300), ((1 << 25) + 1, 127, 33), (127, (1 << 25) + 1, 33)] {
        assert!(u64::from(m) * u64::from(n) <= row.up_to);
        let (sizes, product) = product::<T>(m, n, k, nowhere);
        within_limits(&format!("{m} x {n} x {k} by {what}"), device, |on| {
            entry.multiplier(on, sizes)?.run(on, product)
        });
    }
}

#[test]
fn products() {
    for case in chosen::<Matmul>(PRODUCTS) {
        match case.0.bytes {
            2 => {
                multiplies::<f16>(case, f16::from_f32);
                multiplies::<bf16>(case, bf16::from_f32);
            }
            4 => multiplies::<f32>(case, |x| x),
            8 => multiplies::<f64>(case, f64::from),
            bytes => panic!("no numbers have {bytes} bytes"),
        }
    }
}

#[kernel]
fn nothing(_words: Global<u32>) {}

/// The check of large sizes is one: it refuses what a device does not have.
#[test]
#[should_panic(expected = "nothing: 101377 of 101376 bytes of shared memory")]
fn too_much_shared_memory_is_noticed() {
    let device = Device { multiprocessors: 4, shared_per_block: 99 << 10, compute_capability: (8, 6) };
    let geometry = Geometry::linear(1, 32).shared((99 << 10) + 1);
    within_limits("too much", device, |on| on.launch(nothing, geometry, (nowhere(1),)));
}
