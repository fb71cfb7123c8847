//! Matrix products on the simulator: every rung, with all that BLAS knows of a product, whole results compared with
//! sums computed here.

use rungs_common::ladder::{Entry, Launcher, Sequence};
use rungs_products::LADDER;
use rungs_products::ladder::{Batch, Matmul, Matrix, Multiplied, Multiplier as _, Precision, Product, Sizes};
use rungs_products::mixed::LEAST_K;
use rungs_testing::{Buffer, Random, with_multiprocessors};
use simt::launcher::{Call, Device, Memory, Result};
use simt::sim::stats::{Instruction, statistics};
use simt::sim::{Check, Gpu, check as check_races};
use simt::{Geometry, bf16, f16};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fmt::Debug;

/// A type of elements, which a test computes with in double precision.
trait Number: Multiplied + Debug + Into<f64> {
    /// The nearest element.
    fn of(x: f64) -> Self;
}

macro_rules! numbers {
    ($($t:ident: $of:expr;)*) => {$(
        impl Number for $t {
            fn of(x: f64) -> Self {
                $of(x)
            }
        }
    )*};
}
numbers! {
    f32: |x| x as f32;
    f64: |x| x;
    bf16: bf16::from_f64;
    f16: f16::from_f64;
}

/// A product, as a test describes it.
#[derive(Clone, Copy, Debug)]
struct Case {
    m: u32,
    n: u32,
    k: u32,
    /// Whether A and B are stored transposed.
    transposed: [bool; 2],
    /// Elements behind each row of A, B and C that do not belong to it.
    gap: [u32; 3],
    /// Elements before the first of A, B and C, counted from a multiple of 128 bytes.
    offset: [usize; 3],
    alpha: f64,
    beta: f64,
    batch: u32,
}

impl Case {
    const fn new(m: u32, n: u32, k: u32) -> Self {
        let (transposed, gap, offset) = ([false; 2], [0; 3], [0; 3]);
        Self { m, n, k, transposed, gap, offset, alpha: 1.0, beta: 0.0, batch: 1 }
    }
}

/// The matrices of a batch in one buffer, between elements that belong to none.
struct Stored<T> {
    buffer: Buffer<T>,
    rows: u32,
    columns: u32,
    transposed: bool,
    stride: u32,
    apart: u32,
}

impl<T: Number> Stored<T> {
    /// Room for the matrices of a batch, all of it poison.
    fn new(rows: u32, columns: u32, transposed: bool, gap: u32, offset: usize, batch: u32) -> Self {
        let (down, along) = if transposed { (columns, rows) } else { (rows, columns) };
        let stride = along + gap;
        let apart = down * stride + gap;
        // The last row of the last matrix has nothing behind it.
        let len = if down * along == 0 { 0 } else { (batch - 1) * apart + (down - 1) * stride + along };
        Self { buffer: Buffer::poisoned(len as usize, offset), rows, columns, transposed, stride, apart }
    }

    fn place(&self, number: u32, row: u32, column: u32) -> usize {
        let (row, column) = if self.transposed { (column, row) } else { (row, column) };
        (number * self.apart + row * self.stride + column) as usize
    }

    /// Small whole numbers, whose products and sums are exact.
    fn fill(&mut self, batch: u32, random: &mut Random) {
        for number in 0..batch {
            for (row, column) in self.places() {
                let at = self.place(number, row, column);
                self.buffer.slice()[at] = T::of((random.next() % 9) as f64 - 4.0);
            }
        }
    }

    fn places(&self) -> impl Iterator<Item = (u32, u32)> + use<T> {
        let columns = self.columns;
        (0..self.rows).flat_map(move |row| (0..columns).map(move |column| (row, column)))
    }

    fn matrix(&mut self) -> Matrix<T> {
        let Self { rows, columns, stride, transposed, .. } = *self;
        Matrix { data: self.buffer.view(), rows, columns, stride, transposed }
    }
}

/// [`check_of`] for `f32`.
fn check(entry: &Entry<Matmul>, on: &dyn Launcher, case: Case) {
    check_of::<f32>(entry, on, case);
}

/// Multiplies twice by one sequence, and compares all that there is in C's buffer, bit by bit: sums are exact, and
/// rounded once.
fn check_of<T: Number>(entry: &Entry<Matmul>, on: &dyn Launcher, case: Case) {
    let Case { m, n, k, transposed: [ta, tb], gap, offset, alpha, beta, batch } = case;
    let what = format!("{} of {}, {case:?}", entry.rung.name, T::NAME);
    let mut random = Random(u64::from(m * 31 + n * 7 + k));
    let mut a = Stored::<T>::new(m, k, ta, gap[0], offset[0], batch);
    let mut b = Stored::<T>::new(k, n, tb, gap[1], offset[1], batch);
    let mut c = Stored::<T>::new(m, n, false, gap[2], offset[2], batch);
    let sizes = Sizes { m, n, k };
    let mut sequence = entry.multiplier(on, sizes).unwrap();
    for _ in 0..2 {
        a.fill(batch, &mut random);
        b.fill(batch, &mut random);
        c.buffer.poison();
        if beta != 0.0 {
            c.fill(batch, &mut random);
        }
        let mut want = c.buffer.slice().to_vec();
        let (from_a, from_b) = (a.buffer.slice().to_vec(), b.buffer.slice().to_vec());
        for number in 0..batch {
            let at = |of: &[T], place: usize| -> f64 { of[place].into() };
            // Rows of A and columns of B, converted once.
            let of_a = |i| (0..k).map(|e| at(&from_a, a.place(number, i, e))).collect();
            let of_b = |j| (0..k).map(|e| at(&from_b, b.place(number, e, j))).collect();
            let rows: Vec<Vec<f64>> = (0..m).map(of_a).collect();
            let columns: Vec<Vec<f64>> = (0..n).map(of_b).collect();
            for (row, column) in c.places() {
                let terms = rows[row as usize].iter().zip(&columns[column as usize]);
                let sum: f64 = terms.map(|(a, b)| a * b).sum();
                let place = c.place(number, row, column);
                want[place] = T::of(alpha * sum + if beta == 0.0 { 0.0 } else { beta * at(&want, place) });
            }
        }
        let batch = Batch { count: batch, a: a.apart, b: b.apart, c: c.apart };
        let [alpha, beta] = [alpha, beta].map(T::factor);
        let product = Product { a: a.matrix(), b: b.matrix(), c: c.matrix(), alpha, beta, batch };
        sequence.run(on, product).unwrap_or_else(|e| panic!("{what}: {e}"));
        let got = c.buffer.slice();
        // By bits, for the poison between the rows is NaN.
        let wrong = (0..want.len()).find(|&i| got[i].to_bits_64() != want[i].to_bits_64() && got[i] != want[i]);
        assert!(
            wrong.is_none(),
            "{what}: place {wrong:?} has {:?}, not {:?}",
            got[wrong.unwrap()],
            want[wrong.unwrap()]
        );
        c.buffer.check_guards(&what);
    }
}

/// Every rung, on as few SMs as let blocks have several tiles, with every type that it takes.
fn check_all(cases: &[Case]) {
    let gpu = with_multiprocessors(3);
    for entry in LADDER.rungs {
        cases.iter().for_each(|&case| {
            if entry.run.f32() {
                check(entry, &gpu, case);
            }
            if entry.run.f64().is_some() {
                check_of::<f64>(entry, &gpu, case);
            }
            if entry.run.bf16().is_some() {
                check_of::<bf16>(entry, &gpu, case);
            }
            if entry.run.f16().is_some() {
                check_of::<f16>(entry, &gpu, case);
            }
        });
    }
}

/// The rungs for elements of 16 bits.
const HALF: [&str; 3] = ["packed", "half-hopper", "half-cluster"];

/// The rungs for `f32`.
fn rungs_of_f32() -> impl Iterator<Item = &'static Entry<Matmul>> {
    LADDER.rungs.iter().copied().filter(|entry| entry.run.f32())
}

/// The types of each rung; a rung refuses the others.
#[test]
fn types() {
    fn takes<T: Number>() -> Vec<&'static str> {
        let gpu: &dyn Launcher = &with_multiprocessors(1);
        let rungs = LADDER.rungs.iter().filter(|entry| match entry.multiplier::<T>(gpu, SMALL) {
            Ok(_) => true,
            Err(why) => {
                assert!(why.to_string().contains(&format!("does not multiply matrices of {}", T::NAME)), "{why}");
                false
            }
        });
        rungs.map(|entry| entry.rung.name).collect()
    }
    assert_eq!(takes::<f32>().len(), LADDER.rungs.len() - 4);
    assert_eq!(takes::<f64>(), ["any-type", "fp64", "fp64-hopper"]);
    assert_eq!((takes::<bf16>(), takes::<f16>()), (HALF.to_vec(), HALF.to_vec()));
}

/// Sides around those of tiles, each with small others.
#[test]
fn any_size() {
    let sides = [0, 1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 256, 257];
    let cases: Vec<Case> = sides
        .into_iter()
        .flat_map(|side| {
            [Case::new(side, 5, 3), Case::new(3, side, 5), Case::new(5, 3, side), Case::new(side, side, 2)]
        })
        .collect();
    check_all(&cases);
}

#[test]
fn shapes_of_more_than_a_tile() {
    check_all(&[Case::new(257, 131, 19), Case::new(130, 260, 16), Case::new(67, 300, 41), Case::new(520, 129, 8)]);
}

/// A grid has at most 65,535 blocks along y and z, and one block more than that has a tile of 32 rows here.
#[test]
fn more_rows_of_tiles_than_a_grid_has_along_y() {
    let gpu = with_multiprocessors(3);
    check(LADDER.get("any-type").unwrap(), &gpu, Case::new(65_535 * 32 + 1, 1, 2));
}

/// Parts of larger matrices, which begin anywhere.
#[test]
fn strides_and_offsets() {
    let mut cases = vec![];
    for gap in [[0, 0, 0], [1, 2, 3], [4, 4, 4], [7, 4, 0]] {
        for offset in [[0, 0, 0], [1, 2, 3], [4, 4, 4], [0, 1, 0]] {
            cases.push(Case { gap, offset, ..Case::new(37, 68, 20) });
        }
    }
    check_all(&cases);
}

#[test]
fn transposed_operands() {
    let mut cases = vec![];
    for transposed in [[false, true], [true, false], [true, true]] {
        cases.push(Case { transposed, ..Case::new(36, 68, 20) });
        cases.push(Case { transposed, gap: [1, 2, 3], ..Case::new(131, 37, 11) });
        cases.push(Case { transposed, ..Case::new(1, 1, 1) });
    }
    check_all(&cases);
}

/// With beta = 0, C may hold anything: it does here.
#[test]
fn factors() {
    let mut cases = vec![];
    for (alpha, beta) in [(2.0, 0.0), (-1.0, 1.0), (0.5, -2.0), (0.0, 3.0), (0.0, 0.0), (1.0, 1.0)] {
        cases.push(Case { alpha, beta, ..Case::new(36, 68, 20) });
        cases.push(Case { alpha, beta, gap: [0, 0, 1], ..Case::new(130, 129, 9) });
        cases.push(Case { alpha, beta, ..Case::new(9, 10, 0) });
    }
    check_all(&cases);
}

#[test]
fn batches() {
    let mut cases = vec![];
    for batch in [0, 1, 2, 5] {
        cases.push(Case { batch, ..Case::new(17, 20, 12) });
        cases.push(Case { batch, gap: [1, 0, 2], beta: 1.0, transposed: [true, false], ..Case::new(33, 129, 10) });
    }
    // An empty batch has no last matrix, so its buffers are made as for one.
    cases.retain(|case| case.batch > 0);
    check_all(&cases);
}

/// Sizes that are none of the products': scratch memory grows.
const SMALL: Sizes = Sizes { m: 1, n: 1, k: 1 };

/// Checks of one rung.
type OfRung = fn(&Entry<Matmul>);

/// Checks of all rungs that take a type of elements, for each type.
fn of_each_type(of_f32: OfRung, of_f64: OfRung, of_bf16: OfRung, of_f16: OfRung) {
    rungs_of_f32().for_each(of_f32);
    LADDER.rungs.iter().filter(|entry| entry.run.f64().is_some()).for_each(|entry| of_f64(entry));
    for entry in HALF.map(|name| LADDER.get(name).unwrap()) {
        of_bf16(entry);
        of_f16(entry);
    }
}

/// With alpha = 0, BLAS does not read A and B: NaN there changes nothing.
#[test]
fn without_alpha_nothing_is_multiplied() {
    fn check<T: Number>(entry: &Entry<Matmul>) {
        let (mut a, mut b) = (Buffer::new(&[T::of(f64::NAN); 6], 0), Buffer::new(&[T::of(f64::INFINITY); 6], 0));
        let matrix = |buffer: &mut Buffer<T>, rows, columns| Matrix::new(buffer.view(), rows, columns, columns);
        // The sign of a zero is that of beta·C.
        for (beta, want) in [(2.0, [-0.0, 4.0, 0.0, 8.0]), (1.0, [-0.0, 2.0, 0.0, 4.0]), (0.0, [0.0; 4])] {
            let mut c = Buffer::new(&[-0.0, 2.0, 0.0, 4.0].map(T::of), 0);
            let product = Product::new(matrix(&mut a, 2, 3), matrix(&mut b, 3, 2), matrix(&mut c, 2, 2));
            let product = Product { alpha: T::factor(0.0), beta: T::factor(beta), ..product };
            let gpu: &dyn Launcher = &with_multiprocessors(3);
            entry.multiplier(gpu, SMALL).unwrap().run(gpu, product).unwrap();
            let bits = |x: f64| x.to_bits();
            let got: Vec<u64> = c.slice().iter().map(|&x| bits(x.into())).collect();
            assert_eq!(got, want.map(bits), "{}: C times {beta}", entry.rung.name);
        }
    }
    of_each_type(check::<f32>, check::<f64>, check::<bf16>, check::<f16>);
}

/// Rows of B behind the last are not multiplied with the zeros that A is filled up with: they may be infinite.
#[test]
fn what_lies_outside_is_not_multiplied() {
    fn check<T: Number>(entry: &Entry<Matmul>) {
        let [one, infinite, nan] = [1.0, f64::INFINITY, f64::NAN].map(T::of);
        // Rows of 16 elements: TMA takes them of 2 bytes, too.
        let (mut a, mut b) = (vec![one; 4 * 16], vec![one; 12 * 8]);
        (0..4).for_each(|row| a[row * 16 + 9..][..7].fill(infinite));
        b[9 * 8..].fill(nan);
        let (mut a, mut b, mut c) = (Buffer::new(&a, 0), Buffer::new(&b, 0), Buffer::<T>::poisoned(32, 0));
        let product = Product::new(
            Matrix::new(a.view(), 4, 9, 16),
            Matrix::new(b.view(), 9, 8, 8),
            Matrix::new(c.view(), 4, 8, 8),
        );
        let gpu: &dyn Launcher = &with_multiprocessors(3);
        entry.multiplier(gpu, SMALL).unwrap().run(gpu, product).unwrap();
        assert_eq!(c.slice(), [T::of(9.0); 32], "{}", entry.rung.name);
    }
    of_each_type(check::<f32>, check::<f64>, check::<bf16>, check::<f16>);
}

/// The work of a persistent rung is divided in every way there is: fewer tiles than blocks, one round, some more. The
/// tiles of the others become smaller where there are too few.
#[test]
fn any_number_of_multiprocessors() {
    let on_groups = ["three-tf32-group", "half-hopper", "tensor-registers", "half-cluster"];
    for name in ["fp32-hopper", "three-tf32", "packed"].into_iter().chain(on_groups) {
        let entry = LADDER.get(name).unwrap();
        for multiprocessors in [1, 2, 3, 4, 5, 7, 16, 132] {
            let gpu = with_multiprocessors(multiprocessors);
            for case in [Case::new(300, 400, 24), Case::new(256, 128, 100), Case::new(5, 7, 9), Case::new(600, 130, 17)]
            {
                if entry.run.f32() {
                    check(entry, &gpu, case);
                    check(entry, &gpu, Case { beta: -1.0, alpha: 2.0, ..case });
                }
                if HALF.contains(&name) {
                    check_of::<bf16>(entry, &gpu, case);
                    check_of::<f16>(entry, &gpu, Case { beta: -1.0, alpha: 2.0, ..case });
                }
            }
        }
    }
}

/// Products of random numbers against sums in double precision, within the bound of each rung's precision; and the
/// rungs for `f32` are within that of `f32` although the tensor cores round elements to fewer bits.
#[test]
fn each_rung_is_as_precise_as_it_says() {
    let (m, n, k) = (70, 72, 300);
    let mut random = Random(11);
    let mut draw = |count: u32| -> Vec<f32> {
        (0..count).map(|_| (random.next() >> 40) as f32 / (1 << 23) as f32 - 1.0).collect()
    };
    let (a, b) = (draw(m * k), draw(k * n));
    let gpu: &dyn Launcher = &with_multiprocessors(1);
    for entry in rungs_of_f32() {
        let (mut a_there, mut b_there) = (Buffer::new(&a, 0), Buffer::new(&b, 0));
        let mut c = Buffer::<f32>::poisoned((m * n) as usize, 0);
        let product = Product::new(
            Matrix::new(a_there.view(), m, k, k),
            Matrix::new(b_there.view(), k, n, n),
            Matrix::new(c.view(), m, n, n),
        );
        entry.multiplier(gpu, SMALL).unwrap().run(gpu, product).unwrap();
        let (bound, mut largest) = (entry.run.precision().bound(k as usize), 0.0f64);
        for (at, &got) in c.slice().iter().enumerate() {
            let (row, column) = (at as u32 / n, at as u32 % n);
            let term = |e: u32| f64::from(a[(row * k + e) as usize]) * f64::from(b[(e * n + column) as usize]);
            let (sum, size) = (0..k).map(term).fold((0.0, 0.0), |(sum, size), x| (sum + x, size + x.abs()));
            largest = largest.max((f64::from(got) - sum).abs() / size);
        }
        assert!(largest <= bound, "{}: {largest:e} is more than {bound:e}", entry.rung.name);
        let of_f32 = largest <= 8.0 * f64::from(f32::EPSILON);
        assert_eq!(of_f32, entry.run.precision().asked_for() != Precision::Tf32, "{}: {largest:e}", entry.rung.name);
    }
}

/// The same for the other types: random numbers against sums of the elements as they are. Elements of C are within the
/// bound of the sums, and then rounded once.
#[test]
fn other_types_are_as_precise_as_they_say() {
    fn check<T: Number>(entry: &Entry<Matmul>, of_f32: bool) {
        let (m, n, k) = (70, 72, 300);
        let mut random = Random(11);
        let mut draw = |count: u32| -> Vec<T> {
            (0..count).map(|_| T::of((random.next() >> 11) as f64 / (1u64 << 52) as f64 - 1.0)).collect()
        };
        let (a, b) = (draw(m * k), draw(k * n));
        let gpu: &dyn Launcher = &with_multiprocessors(1);
        let (mut a_there, mut b_there) = (Buffer::new(&a, 0), Buffer::new(&b, 0));
        let mut c = Buffer::<T>::poisoned((m * n) as usize, 0);
        let product = Product::new(
            Matrix::new(a_there.view(), m, k, k),
            Matrix::new(b_there.view(), k, n, n),
            Matrix::new(c.view(), m, n, n),
        );
        entry.multiplier(gpu, SMALL).unwrap().run(gpu, product).unwrap();
        let bound = T::precision(entry.run).unwrap().bound(k as usize);
        let mut differ = 0;
        for (at, &got) in c.slice().iter().enumerate() {
            let (row, column) = (at as u32 / n, at as u32 % n);
            let term = |e: u32| a[(row * k + e) as usize].into() * b[(e * n + column) as usize].into();
            let (sum, size) = (0..k).map(term).fold((0.0, 0.0), |(sum, size), x: f64| (sum + x, size + x.abs()));
            let (least, most) = (T::of(sum - bound * size).into(), T::of(sum + bound * size).into());
            assert!((least..=most).contains(&got.into()), "{}: {got:?} for {sum}", entry.rung.name);
            differ += (f64::from(sum as f32) != sum && got.into() == f64::from(sum as f32)) as u32;
        }
        // Sums of `f64` are no rounded sums of `f32`.
        assert!(of_f32 || differ < 3, "{}: {differ} sums are those of f32", entry.rung.name);
    }
    LADDER.rungs.iter().filter(|entry| entry.run.f64().is_some()).for_each(|entry| check::<f64>(entry, false));
    for name in HALF {
        check::<bf16>(LADDER.get(name).unwrap(), true);
        check::<f16>(LADDER.get(name).unwrap(), true);
    }
}

/// Elements of C that are too large for 16 bits are infinite, and sums that are not are not cut off on the way.
#[test]
fn sums_are_wider_than_elements() {
    HALF.into_iter().for_each(|name| sums_are_wider(LADDER.get(name).unwrap()));
}

fn sums_are_wider(entry: &Entry<Matmul>) {
    let (mut a, mut b) =
        (Buffer::new(&[300.0, 300.0, 300.0, 300.0].map(f16::of), 0), Buffer::new(&[300.0, -299.0].map(f16::of), 0));
    let mut c = Buffer::<f16>::poisoned(2, 0);
    let product =
        Product::new(Matrix::new(a.view(), 2, 2, 2), Matrix::new(b.view(), 2, 1, 1), Matrix::new(c.view(), 2, 1, 1));
    let gpu: &dyn Launcher = &with_multiprocessors(1);
    entry.multiplier(gpu, SMALL).unwrap().run(gpu, product).unwrap();
    assert_eq!(c.slice(), [f16::of(300.0); 2]);
    let (mut a, mut b) = (Buffer::new(&[300.0].map(f16::of), 0), Buffer::new(&[300.0, -300.0].map(f16::of), 0));
    let product =
        Product::new(Matrix::new(a.view(), 1, 1, 1), Matrix::new(b.view(), 1, 2, 2), Matrix::new(c.view(), 1, 2, 2));
    entry.multiplier(gpu, SMALL).unwrap().run(gpu, product).unwrap();
    assert_eq!(c.slice(), [f16::INFINITY, f16::NEG_INFINITY]);
}

/// A simulated GPU that notes the kernels it launches.
struct Noting {
    gpu: Gpu,
    launched: RefCell<Vec<&'static str>>,
}

impl Launcher for Noting {
    fn device(&self) -> Device {
        self.gpu.device()
    }

    fn enqueue(&self, call: &dyn Call, geometry: Geometry) -> Result {
        self.launched.borrow_mut().push(call.name());
        self.gpu.enqueue(call, geometry)
    }

    fn allocate(&self, bytes: usize) -> Result<Box<dyn Memory>> {
        self.gpu.allocate(bytes)
    }

    unsafe fn clear_bytes(&self, address: *mut u8, bytes: usize) -> Result {
        // SAFETY: passed on.
        unsafe { self.gpu.clear_bytes(address, bytes) }
    }
}

/// Operands that TMA takes, in all four forms, with edges inside boxes of each matrix; C by boxes, and by
/// the threads where its rows or beta do not suit. All kernels are launched, by the widths of tiles.
#[test]
fn operands_as_they_are() {
    let entry = LADDER.get("half-hopper").unwrap();
    let mut seen = BTreeSet::new();
    for (multiprocessors, m, n, k) in [
        (4, 8, 8, 8),
        (4, 136, 72, 64),
        (4, 72, 120, 328),
        (1, 64, 264, 72),
        (1, 128, 128, 328),
        (4, 264, 520, 16),
        (1, 264, 504, 456),
    ] {
        for transposed in [[false, false], [false, true], [true, false], [true, true]] {
            let case = Case { transposed, ..Case::new(m, n, k) };
            let mut check_16 = |case: Case, other_type| {
                let gpu = Noting { gpu: with_multiprocessors(multiprocessors), launched: RefCell::default() };
                if other_type {
                    check_of::<f16>(entry, &gpu, case)
                } else {
                    check_of::<bf16>(entry, &gpu, case)
                }
                seen.extend(gpu.launched.take());
            };
            check_16(case, false);
            check_16(Case { batch: 2, gap: [8, 16, 24], offset: [8, 16, 64], alpha: 0.5, ..case }, true);
            if m * n * k < 1 << 20 {
                check_16(Case { beta: 2.0, ..case }, false);
                check_16(Case { gap: [0, 8, 3], batch: 2, offset: [0, 0, 1], ..case }, true);
            }
        }
    }
    assert!(seen.iter().all(|name| name.starts_with("product_half_hopper")), "{seen:?}");
    // Four ways for each type and size of tiles.
    assert_eq!(seen.len(), 4 * 2 * 4, "{seen:?}");
}

/// The same by pairs of blocks: with rows of tiles of even and of odd number, more pairs than run at once, and a pair
/// of which one block has but a part of a tile.
#[test]
fn operands_that_pairs_of_blocks_share() {
    let entry = LADDER.get("half-cluster").unwrap();
    let mut seen = BTreeSet::new();
    // The last three have narrow tiles: one, more than the pairs with fewer tiles take two each of, and these alone.
    for (multiprocessors, m, n, k) in [
        (2, 136, 248, 136),
        (5, 256, 504, 136),
        (2, 520, 248, 200),
        (2, 248, 264, 136),
        (4, 1272, 264, 72),
        (6, 392, 320, 136),
    ] {
        for transposed in [[false, false], [false, true], [true, false], [true, true]] {
            let case = Case { transposed, ..Case::new(m, n, k) };
            let mut check_16 = |case: Case, other_type| {
                let gpu = Noting { gpu: with_multiprocessors(multiprocessors), launched: RefCell::default() };
                if other_type {
                    check_of::<f16>(entry, &gpu, case)
                } else {
                    check_of::<bf16>(entry, &gpu, case)
                }
                seen.extend(gpu.launched.take());
            };
            check_16(Case { gap: [8, 16, 8], ..case }, false);
            check_16(Case { batch: 2, gap: [8, 16, 24], offset: [8, 16, 64], alpha: 0.5, ..case }, true);
            if m * n * k < 1 << 23 {
                check_16(Case { beta: 2.0, gap: [8, 16, 3], batch: 2, offset: [0, 0, 1], ..case }, false);
            }
        }
    }
    assert!(seen.iter().all(|name| name.starts_with("product_half_cluster")), "{seen:?}");
    assert_eq!(seen.len(), 4 * 2, "{seen:?}");
}

/// The same for `f32`, whose products are turned around if that helps; those of a transposed A and a B that is not are
/// made otherwise.
#[test]
fn one_operand_in_registers() {
    let entry = LADDER.get("tensor-registers").unwrap();
    let mut seen = BTreeSet::new();
    for (multiprocessors, m, n, k) in
        [(4, 4, 4, 4), (4, 68, 132, 32), (1, 264, 64, 36), (1, 128, 128, 164), (4, 520, 264, 8), (1, 504, 264, 228)]
    {
        for transposed in [[false, false], [false, true], [true, true], [true, false]] {
            let mut check = |case: Case| {
                let gpu = Noting { gpu: with_multiprocessors(multiprocessors), launched: RefCell::default() };
                check(entry, &gpu, case);
                let otherwise = transposed == [true, false];
                let name = if otherwise { "product_packed" } else { "product_tensor_registers" };
                assert!(gpu.launched.borrow().iter().all(|launched| launched.starts_with(name)), "{case:?}");
                seen.extend(gpu.launched.take().into_iter().filter(|_| !otherwise));
            };
            let case = Case { transposed, ..Case::new(m, n, k) };
            check(case);
            check(Case { batch: 2, gap: [4, 8, 12], offset: [4, 8, 32], alpha: 0.5, ..case });
            if m * n * k < 1 << 20 {
                check(Case { beta: 2.0, ..case });
                check(Case { beta: -1.0, gap: [0, 4, 3], batch: 2, offset: [0, 0, 1], ..case });
            }
        }
    }
    // Two ways for each width.
    assert_eq!(seen.len(), 2 * 3, "{seen:?}");
}

/// Operands of `f64` as they are, if both are stored by rows, or both by columns: with edges inside boxes, and more
/// tiles than blocks. `fp64` multiplies the others, and the small ones.
#[test]
fn doubles_as_they_are() {
    let entry = LADDER.get("fp64-hopper").unwrap();
    let mut seen = BTreeSet::new();
    let forms = [[false, false], [false, true], [true, false], [true, true]];
    for (multiprocessors, m, n, k, forms) in [
        (1, 2, 2, 2, &forms[..]),
        (1, 128, 128, 2, &forms),
        (1, 126, 128, 16, &forms),
        (2, 250, 250, 34, &forms),
        (2, 254, 382, 98, &forms[..1]),
        (1, 128, 190, 130, &forms[..1]),
    ] {
        for &transposed in forms {
            let mut check = |case: Case| {
                let gpu = Noting { gpu: with_multiprocessors(multiprocessors), launched: RefCell::default() };
                check_of::<f64>(entry, &gpu, case);
                let by_boxes = transposed[0] == transposed[1] && m * n > 4 && case.offset[0] != 1;
                let is_ours = |name: &str| name.starts_with("product_fp64_hopper");
                assert!(gpu.launched.borrow().iter().all(|name| is_ours(name) == by_boxes), "{case:?}");
                seen.extend(gpu.launched.take().into_iter().filter(|name| is_ours(name)));
            };
            let case = Case { transposed, ..Case::new(m, n, k) };
            check(case);
            check(Case { batch: 2, gap: [2, 4, 6], offset: [2, 4, 16], alpha: 0.5, ..case });
            check(Case { beta: -1.0, gap: [0, 2, 3], batch: 2, offset: [0, 0, 1], ..case });
            check(Case { offset: [1, 0, 0], ..case });
        }
    }
    assert_eq!(seen.len(), 2, "{seen:?}");
}

/// Loads of fragments of `f64` are free of bank conflicts.
#[test]
fn doubles_are_in_different_banks() {
    let gpu: &dyn Launcher = &with_multiprocessors(1);
    let (m, n, k) = (128, 128, 64);
    let [a, b, c] = [m * k, k * n, m * n].map(|n| gpu.zeros::<f64>(n).unwrap());
    let (a, b) = (Matrix::new(a.view(), m, k, k), Matrix::new(b.view(), k, n, n));
    let product = Product::new(a, b, Matrix::new(c.view(), m, n, n));
    let mut multiplier = LADDER.get("fp64-hopper").unwrap().multiplier(gpu, SMALL).unwrap();
    let (result, counted) = statistics(|| multiplier.run(gpu, product));
    result.unwrap();
    let [launch] = &counted.launches[..] else { panic!("{} launches", counted.launches.len()) };
    assert_eq!(launch.kernel, "product_fp64_hopper");
    let loads = launch.lines.iter().filter(|line| line.instruction == Instruction::SharedLoad);
    let all = loads.map(|line| (line.counts.requests, line.counts.conflicts()));
    // Eight warps load eight fragments of A, of two packs, and two of B, of four, for each 16 k.
    assert_eq!(all.fold((0, 0), |x, y| (x.0 + y.0, x.1 + y.1)), (u64::from(8 * k / 16 * 24), 0));
}

/// A thread's loads of an operand and its stores to boxes of C are free of bank conflicts.
#[test]
fn elements_in_registers_are_in_different_banks() {
    let gpu: &dyn Launcher = &with_multiprocessors(1);
    for (tb, kernel) in [(false, "product_tensor_registers_across"), (true, "product_tensor_registers_along")] {
        let (m, n, k) = (256, 128, 2048);
        let [a, b, c] = [m * k, k * n, m * n].map(|n| gpu.zeros::<f32>(n).unwrap());
        let b = Matrix { stride: if tb { k } else { n }, transposed: tb, ..Matrix::new(b.view(), k, n, n) };
        let product = Product::new(Matrix::new(a.view(), m, k, k), b, Matrix::new(c.view(), m, n, n));
        let mut multiplier = LADDER.get("tensor-registers").unwrap().multiplier(gpu, SMALL).unwrap();
        let (result, counted) = statistics(|| multiplier.run(gpu, product));
        result.unwrap();
        let [launch] = &counted.launches[..] else { panic!("{} launches", counted.launches.len()) };
        assert_eq!(launch.kernel, kernel);
        let conflicts = |what| {
            let lines = launch.lines.iter().filter(|line| line.instruction == what);
            lines
                .map(|line| (line.counts.requests, line.counts.conflicts()))
                .fold((0, 0), |x, y| (x.0 + y.0, x.1 + y.1))
        };
        // Eight warps load a pair, or two elements by themselves, for each of 4 k of eight; they store two.
        let loads = 8 * k / 8 * if tb { 4 } else { 2 };
        assert_eq!(conflicts(Instruction::SharedLoad), (loads.into(), 0), "{kernel}");
        assert_eq!(conflicts(Instruction::SharedStore), (8 * 64, 0), "{kernel}");
    }
}

/// Each product begins while the one before ends, and waits for that one where it must.
#[test]
fn products_overlap() {
    for (name, kernel, [m, n, k]) in [
        ("half-hopper", "product_half_hopper_", [136, 136, 328]),
        ("half-cluster", "product_half_cluster_", [136, 248, 200]),
    ] {
        let checked = check_races(Check { schedules: 2, ..Check::default() }, || {
            let noting = Noting { gpu: with_multiprocessors(2), launched: RefCell::default() };
            let on: &dyn Launcher = &noting;
            let [a, b, c, other] = [m * k, k * n, m * n, m * n].map(|n| on.zeros::<bf16>(n).unwrap());
            let mut multiplier = LADDER.get(name).unwrap().multiplier(on, SMALL).unwrap();
            for c in [&c, &other, &c, &c] {
                let (a, b) = (Matrix::new(a.view(), m, k, k), Matrix::new(b.view(), k, n, n));
                multiplier.run(on, Product::new(a, b, Matrix::new(c.view(), m, n, n))).unwrap();
            }
            drop(multiplier);
            assert!(noting.launched.borrow().iter().all(|name| name.starts_with(kernel)), "{:?}", noting.launched);
        });
        assert!(checked.report.is_clean(), "{}", checked.report);
        assert_eq!(checked.report.launches, 2 * 4);
    }
}

/// The same in `f64`, with more tiles than blocks, so that one ring serves several tiles, and more K steps than the
/// ring has stages, so that TMA overwrites what threads have read.
#[test]
fn products_of_doubles_overlap() {
    let (m, n, k) = (126, 250, 300);
    let checked = check_races(Check { schedules: 2, ..Check::default() }, || {
        let noting = Noting { gpu: with_multiprocessors(1), launched: RefCell::default() };
        let on: &dyn Launcher = &noting;
        let [a, b, c, other] = [m * k, k * n, m * n, m * n].map(|n| on.zeros::<f64>(n).unwrap());
        let mut multiplier = LADDER.get("fp64-hopper").unwrap().multiplier(on, SMALL).unwrap();
        for c in [&c, &other, &c] {
            let (a, b) = (Matrix::new(a.view(), m, k, k), Matrix::new(b.view(), k, n, n));
            multiplier.run(on, Product::new(a, b, Matrix::new(c.view(), m, n, n))).unwrap();
        }
        drop(multiplier);
        let launched = noting.launched.borrow();
        assert!(launched.iter().all(|name| name.starts_with("product_fp64_hopper")), "{launched:?}");
    });
    assert!(checked.report.is_clean(), "{}", checked.report);
    assert_eq!(checked.report.launches, 2 * 3);
}

/// The same with one operand in registers, whichever it is: C by boxes, and by the threads.
#[test]
fn products_in_registers_overlap() {
    for (transposed, m, n, k) in
        [([false, true], 136, 136, 328), ([true, true], 136, 136, 328), ([false, true], 264, 130, 132)]
    {
        let checked = check_races(Check { schedules: 2, ..Check::default() }, || {
            let on: &dyn Launcher = &with_multiprocessors(2);
            let [a, b, c, other] = [m * k, k * n, m * n, m * n].map(|n| on.zeros::<f32>(n).unwrap());
            let mut multiplier = LADDER.get("tensor-registers").unwrap().multiplier(on, SMALL).unwrap();
            let matrix = |data, rows, columns, transposed| Matrix {
                stride: if transposed { rows } else { columns },
                transposed,
                ..Matrix::new(data, rows, columns, columns)
            };
            for c in [&c, &other, &c, &c] {
                let (a, b) = (matrix(a.view(), m, k, transposed[0]), matrix(b.view(), k, n, transposed[1]));
                multiplier.run(on, Product::new(a, b, matrix(c.view(), m, n, false))).unwrap();
            }
        });
        assert!(checked.report.is_clean(), "{transposed:?}: {}", checked.report);
        assert_eq!(checked.report.launches, 2 * 4);
    }
}

/// `mixed` on this number of SMs, and the kernels that it launches.
fn mixed_launches(multiprocessors: u32, case: Case) -> BTreeSet<&'static str> {
    let gpu = Noting { gpu: with_multiprocessors(multiprocessors), launched: RefCell::default() };
    check(LADDER.get("mixed").unwrap(), &gpu, case);
    gpu.launched.take().into_iter().collect()
}

/// From `LEAST_K` on products are made by one in TF32 and two in bf16, for fewer k by three in TF32: with each width of
/// tiles, few and many SMs, and edges of tiles.
#[test]
fn mixed_products_by_k() {
    let mut seen = BTreeSet::new();
    for (multiprocessors, m, n) in
        [(1, 127, 256), (1, 1, 257), (2, 129, 128), (2, 5, 129), (132, 7, 65), (132, 128, 63)]
    {
        for k in [LEAST_K - 1, LEAST_K, LEAST_K + 1] {
            let launched = mixed_launches(multiprocessors, Case::new(m, n, k));
            let prefix = if k < LEAST_K { "product_three_tf32_group" } else { "product_mixed" };
            assert!(launched.iter().all(|name| name.starts_with(prefix)), "{k}: {launched:?}");
            seen.extend(launched);
        }
    }
    // The copies, and the product with three widths of tiles, twice; of few k also tiles of pairs.
    assert_eq!(seen.len(), 2 * 4 + 1, "{seen:?}");
    for (m, n) in [(0, 3), (3, 0), (0, 0)] {
        mixed_launches(2, Case::new(m, n, LEAST_K));
    }
}

/// All that BLAS knows of a product.
#[test]
fn mixed_products_of_any_form() {
    let case = Case { gap: [1, 2, 3], offset: [1, 2, 3], ..Case::new(33, 67, LEAST_K + 3) };
    for transposed in [[false, false], [false, true], [true, false], [true, true]] {
        mixed_launches(3, Case { transposed, ..Case::new(36, 68, LEAST_K + 32) });
        mixed_launches(3, Case { transposed, alpha: 2.0, beta: -1.0, ..case });
        mixed_launches(3, Case { transposed, batch: 3, alpha: 0.5, ..case });
    }
    for (alpha, beta) in [(0.0, 3.0), (0.0, 0.0), (-1.0, 1.0)] {
        mixed_launches(3, Case { alpha, beta, ..case });
    }
}

/// A product C = A·B of matrices without gaps by one sequence of `mixed`.
fn mixed_product(sequence: &mut Sequence<Product>, (m, n, k): (u32, u32, u32), a: &[f32], b: &[f32]) -> Vec<f32> {
    let (mut a, mut b) = (Buffer::new(a, 0), Buffer::new(b, 0));
    let mut c = Buffer::<f32>::poisoned((m * n) as usize, 0);
    let product =
        Product::new(Matrix::new(a.view(), m, k, k), Matrix::new(b.view(), k, n, n), Matrix::new(c.view(), m, n, n));
    let gpu: &dyn Launcher = &with_multiprocessors(3);
    sequence.run(gpu, product).unwrap();
    c.check_guards("C");
    c.slice().to_vec()
}

/// A sequence of `mixed`.
fn mixed_sequence(sizes: Sizes) -> Sequence<Product> {
    let gpu: &dyn Launcher = &with_multiprocessors(3);
    LADDER.get("mixed").unwrap().multiplier(gpu, sizes).unwrap()
}

/// Sums of the products of a row of A and a column of B, from the first on.
fn sums_in_order<S: Copy>(
    (m, n, k): (u32, u32, u32),
    (a, b): (&[f32], &[f32]),
    zero: S,
    add: impl Fn(S, f32, f32) -> S,
) -> Vec<S> {
    let sum = |row: u32, column: u32| {
        (0..k).fold(zero, |sum, e| add(sum, a[(row * k + e) as usize], b[(e * n + column) as usize]))
    };
    (0..m * n).map(|at| sum(at / n, at % n)).collect()
}

/// The same, in double precision.
fn exact_sums(sides: (u32, u32, u32), of: (&[f32], &[f32])) -> Vec<f64> {
    sums_in_order(sides, of, 0.0, |sum, x, y| sum + f64::from(x) * f64::from(y))
}

/// Whole numbers of 13 bits in A or in B: they have rests, which `bf16` holds, and the products with the other
/// operand's -1, 0 and 1 are exact. One sequence multiplies with few k and with many by turns.
#[test]
fn rests_of_mixed_products_are_multiplied() {
    let mut random = Random(5);
    for first in [LEAST_K, 40] {
        let (m, n) = (131, 67);
        let mut sequence = mixed_sequence(Sizes { m, n, k: first });
        for (k, large_a) in [(40, true), (LEAST_K, true), (LEAST_K + 5, false), (33, false), (LEAST_K + 33, true)] {
            let mut draw = |count: u32, most: u64| -> Vec<f32> {
                (0..count).map(|_| (random.next() % (2 * most + 1)) as f32 - most as f32).collect()
            };
            let [of_a, of_b] = if large_a { [8000, 1] } else { [1, 8000] };
            let (a, b) = (draw(m * k, of_a), draw(k * n, of_b));
            let want: Vec<f32> = exact_sums((m, n, k), (&a, &b)).into_iter().map(|sum| sum as f32).collect();
            assert!(mixed_product(&mut sequence, (m, n, k), &a, &b) == want, "k = {k}, {of_a} times {of_b}");
        }
    }
}

/// From `LEAST_K` on the error is no larger than that of sums of `f32` in order, rounded once per product: in the mean
/// of squares, and within the bound of the precision for each element.
#[test]
fn mixed_products_are_as_precise_as_those_of_f32() {
    let mut random = Random(17);
    let mut unit = || ((random.next() >> 40) as f32 + 0.5) / (1 << 24) as f32;
    let kinds = ["in 0 to 1", "in -1 to 1", "normal"];
    for (kind, k) in kinds.into_iter().flat_map(|kind| [LEAST_K, LEAST_K + 1, 2 * LEAST_K].map(|k| (kind, k))) {
        let (m, n) = (60, 70);
        let mut draw = |count: u32| -> Vec<f32> {
            let normal = |u: f32, v: f32| (-2.0 * u.ln()).sqrt() * (v * std::f32::consts::TAU).cos();
            let number = |_| match kind {
                "in 0 to 1" => unit(),
                "in -1 to 1" => 2.0 * unit() - 1.0,
                _ => normal(unit(), unit()),
            };
            (0..count).map(number).collect()
        };
        let (a, b) = (draw(m * k), draw(k * n));
        let of = (&a[..], &b[..]);
        let right = exact_sums((m, n, k), of);
        let sizes = sums_in_order((m, n, k), of, 0.0, |sum, x, y| sum + f64::from(x).abs() * f64::from(y).abs());
        let in_order = sums_in_order((m, n, k), of, 0.0f32, |sum, x, y| x.mul_add(y, sum));
        let got = mixed_product(&mut mixed_sequence(Sizes { m, n, k }), (m, n, k), &a, &b);
        let error = |c: &[f32]| {
            let squares: f64 = c.iter().zip(&right).map(|(&c, right)| (f64::from(c) - right).powi(2)).sum();
            (squares / right.iter().map(|right| right * right).sum::<f64>()).sqrt()
        };
        let (of_mixed, of_f32) = (error(&got), error(&in_order));
        assert!(of_mixed <= of_f32, "{kind}, k = {k}: {of_mixed:e}, and of f32 {of_f32:e}");
        let bound = Precision::Mixed.bound(k as usize);
        for ((&got, right), size) in got.iter().zip(&right).zip(&sizes) {
            let error = (f64::from(got) - right).abs() / size;
            assert!(error <= bound, "{kind}, k = {k}: {error:e} is more than {bound:e}");
        }
    }
}

/// Infinite elements make NaN, as do NaN, in their rows and columns alone; so may elements that no `bf16` is near to.
/// The largest `bf16`, and elements so small that their rests are the smallest normal numbers, are multiplied.
#[test]
fn special_values_of_mixed_products() {
    let (m, n, k) = (6, 3, LEAST_K + 1);
    let largest = 2f32.powi(127) * (2.0 - 2f32.powi(-7));
    let small = 2f32.powi(-100) * (1.0 + 2f32.powi(-12));
    let mut a = vec![0.0; (m * k) as usize];
    let of_rows = [f32::INFINITY, f32::NEG_INFINITY, f32::NAN, f32::MAX, largest, small];
    for (row, x) in (0..).zip(of_rows) {
        a[(row * k + k - 1 - row) as usize] = x;
    }
    let (mut b, mut sequence) = (vec![1.0; (k * n) as usize], mixed_sequence(Sizes { m, n, k }));
    let c = mixed_product(&mut sequence, (m, n, k), &a, &b);
    for column in 0..n {
        let of = |row: u32| c[(row * n + column) as usize];
        assert!([0, 1, 2].iter().all(|&row| of(row).is_nan()), "{c:?}");
        assert!(!of(3).is_finite(), "{c:?}");
        assert_eq!([of(4), of(5)], [largest, small]);
    }
    // NaN in a column of B, and an A without any.
    a.fill(1.0);
    b[(5 * n + 1) as usize] = f32::NAN;
    let c = mixed_product(&mut sequence, (m, n, k), &a, &b);
    for (at, got) in (0..).zip(c) {
        assert!(if at % n == 1 { got.is_nan() } else { got == k as f32 }, "{at}: {got}");
    }
}

/// A and B are not read where alpha is 0, and not outside of their rows and columns.
#[test]
fn what_mixed_products_do_not_read() {
    let (k, stride) = (LEAST_K + 1, LEAST_K + 8);
    let mut a = vec![f32::NAN; 2 * stride as usize];
    (0..2).for_each(|row| a[row * stride as usize..][..k as usize].fill(1.0));
    let mut b = vec![f32::INFINITY; (k + 8) as usize * 4];
    b.chunks_mut(4).take(k as usize).for_each(|row| row[..3].fill(2.0));
    let (mut a, mut b, mut c) = (Buffer::new(&a, 0), Buffer::new(&b, 0), Buffer::new(&[3.0; 6], 0));
    let product = Product::new(
        Matrix::new(a.view(), 2, k, stride),
        Matrix::new(b.view(), k, 3, 4),
        Matrix::new(c.view(), 2, 3, 3),
    );
    let gpu: &dyn Launcher = &with_multiprocessors(3);
    let mut sequence = mixed_sequence(Sizes { m: 2, n: 3, k });
    sequence.run(gpu, product).unwrap();
    assert_eq!(c.slice(), [2.0 * k as f32; 6]);
    a.slice().fill(f32::NAN);
    sequence.run(gpu, Product { alpha: 0.0, beta: -1.0, ..product }).unwrap();
    assert_eq!(c.slice(), [-2.0 * k as f32; 6]);
}

/// Products that follow each other overlap, with more tiles than blocks, and wait for each other where they must.
#[test]
fn mixed_products_overlap() {
    let (m, n, k) = (130, 67, LEAST_K);
    let checked = check_races(Check { schedules: 2, ..Check::default() }, || {
        let noting = Noting { gpu: with_multiprocessors(2), launched: RefCell::default() };
        let on: &dyn Launcher = &noting;
        let [a, b, c, other] = [m * k, k * n, m * n, m * n].map(|n| on.zeros::<f32>(n).unwrap());
        let mut multiplier = LADDER.get("mixed").unwrap().multiplier(on, SMALL).unwrap();
        for c in [&c, &other, &c] {
            let (a, b) = (Matrix::new(a.view(), m, k, k), Matrix::new(b.view(), k, n, n));
            multiplier.run(on, Product::new(a, b, Matrix::new(c.view(), m, n, n))).unwrap();
        }
        drop(multiplier);
        assert!(noting.launched.borrow().iter().all(|name| name.starts_with("product_mixed")), "{:?}", noting.launched);
    });
    assert!(checked.report.is_clean(), "{}", checked.report);
    assert_eq!(checked.report.launches, 2 * 2 * 3);
}

/// What a rung launches on a simulated GPU where nothing runs: kernels, and their blocks.
struct Planning {
    gpu: Gpu,
    launched: RefCell<Vec<(&'static str, u32)>>,
}

impl Launcher for Planning {
    fn device(&self) -> Device {
        self.gpu.device()
    }

    fn enqueue(&self, call: &dyn Call, geometry: Geometry) -> Result {
        self.launched.borrow_mut().push((call.name(), geometry.grid[0]));
        Ok(())
    }

    fn allocate(&self, bytes: usize) -> Result<Box<dyn Memory>> {
        self.gpu.allocate(bytes)
    }

    unsafe fn clear_bytes(&self, _: *mut u8, _: usize) -> Result {
        Ok(())
    }
}

/// The launches of `fp32-hopper` for a product with so much k, by the names behind the rung's.
fn planned(multiprocessors: u32, [m, n, k]: [u32; 3], transposed: [bool; 2]) -> Vec<(&'static str, u32)> {
    let planning = Planning { gpu: with_multiprocessors(multiprocessors), launched: RefCell::default() };
    let on: &dyn Launcher = &planning;
    let [a, b, c] = [m * k, k * n, m * n].map(|n| on.scratch::<f32>(n).unwrap());
    let matrix = |data, rows, columns, transposed| Matrix {
        stride: if transposed { rows } else { columns },
        transposed,
        ..Matrix::new(data, rows, columns, columns)
    };
    let (a, b) = (matrix(a.view(), m, k, transposed[0]), matrix(b.view(), k, n, transposed[1]));
    let product = Product::new(a, b, matrix(c.view(), m, n, false));
    LADDER.get("fp32-hopper").unwrap().multiplier(on, SMALL).unwrap().run(on, product).unwrap();
    let of_rung = |name: &'static str| name.strip_prefix("product_fp32_hopper").unwrap();
    planning.launched.take().into_iter().map(|(name, blocks)| (of_rung(name), blocks)).collect()
}

/// Whether tiles are made by blocks or by clusters, and whether blocks divide some.
#[test]
fn the_way_depends_on_the_tiles() {
    let square = |side| planned(132, [side; 3], [true, false]);
    assert_eq!(square(256), [("_by_8", 2 * 8)]);
    assert_eq!(square(512), [("_by_8", 8 * 8)]);
    assert_eq!(square(768), [("_half_by_3", 36 * 3)]);
    assert_eq!(square(1024), [("_half_by_2", 64 * 2)], "of clusters of four not all run at once");
    assert_eq!(square(1280), [("_by_2", 50 * 2)]);
    assert_eq!(square(2048), [("", 128)]);
    assert_eq!(square(4096), [("", 132), ("_sum", (512 - 2 * 132) * 32)]);
    // As few K steps as adding them up would take.
    assert_eq!(planned(132, [512, 512, 32], [true, false]), [("", 8)]);
    // No clusters without the SMs for one.
    assert_eq!(planned(1, [256; 3], [true, false]), [("", 1)]);
    assert_eq!(planned(2, [256, 128, 256], [true, false]), [("_by_2", 2)]);
}

/// Only operands that TMA cannot take are copied, by as many blocks as they have squares of 64 × 64.
#[test]
fn what_is_copied_to_tiles() {
    let copied = |sides, transposed| match planned(132, sides, transposed)[..] {
        [("_pack", blocks), _] => blocks,
        [_] => 0,
        ref other => panic!("{other:?}"),
    };
    let ways = [[true, false], [false, false], [true, true], [false, true]];
    assert_eq!(ways.map(|transposed| copied([1024; 3], transposed)), [0, 256, 256, 512]);
    // Rows of B are not aligned; rows of a transposed A are not.
    assert_eq!(ways.map(|transposed| copied([256, 127, 64], transposed)), [2, 6, 2, 6]);
    assert_eq!(ways.map(|transposed| copied([255, 128, 64], transposed)), [4, 4, 6, 6]);
}

/// Tiles by clusters of each size: parts of k of several steps, of one, and of none; edges inside tiles; operands by
/// boxes and by copies; what is in C is used or not.
#[test]
fn tiles_of_clusters() {
    let entry = LADDER.get("fp32-hopper").unwrap();
    let mut seen = BTreeSet::new();
    for (multiprocessors, m, n, k, kernel) in [
        (2, 252, 124, 100, "product_fp32_hopper_by_2"),
        (4, 256, 128, 41, "product_fp32_hopper_by_3"),
        (2, 100, 124, 100, "product_fp32_hopper_half_by_2"),
        (4, 4, 8, 140, "product_fp32_hopper_half_by_3"),
        // One step for a block: a group has none.
        (5, 128, 60, 110, "product_fp32_hopper_half_by_4"),
        (5, 131, 128, 60, "product_fp32_hopper_by_4"),
        (10, 256, 99, 70, "product_fp32_hopper_by_8"),
        (10, 36, 124, 200, "product_fp32_hopper_by_8"),
        (132, 260, 132, 68, "product_fp32_hopper_by_8"),
    ] {
        for transposed in [[false, false], [false, true], [true, false], [true, true]] {
            let case = Case { transposed, ..Case::new(m, n, k) };
            for case in [
                case,
                Case { beta: -2.0, alpha: 0.5, gap: [4, 8, 4], offset: [4, 8, 12], batch: 2, ..case },
                // Neither operands nor C are aligned; then operands begin elsewhere than on 16 bytes.
                Case { beta: 1.0, gap: [1, 3, 1], ..case },
                Case { offset: [1, 2, 3], batch: 2, gap: [4, 4, 0], ..case },
            ] {
                let gpu = Noting { gpu: with_multiprocessors(multiprocessors), launched: RefCell::default() };
                check(entry, &gpu, case);
                let launched = gpu.launched.take();
                let packs = |name: &&str| name.ends_with("_pack");
                assert!(launched.iter().all(|name| packs(name) || *name == kernel), "{case:?}: {launched:?}");
                seen.extend(launched);
            }
        }
    }
    assert_eq!(seen.len(), 7 + 1, "{seen:?}");
}

/// The same as whole tiles, and divided among blocks, which a cluster does in less time unless k is long.
#[test]
fn tiles_without_clusters() {
    let entry = LADDER.get("fp32-hopper").unwrap();
    for (multiprocessors, m, n, k, divided) in
        [(1, 260, 132, 36, false), (2, 516, 124, 20, false), (3, 200, 36, 2900, true)]
    {
        for transposed in [[false, false], [false, true], [true, false], [true, true]] {
            let case = Case { transposed, ..Case::new(m, n, k) };
            let gpu = Noting { gpu: with_multiprocessors(multiprocessors), launched: RefCell::default() };
            check(entry, &gpu, Case { beta: 2.0, gap: [4, 8, 4], offset: [4, 8, 12], ..case });
            if !divided {
                check(entry, &gpu, Case { alpha: -1.0, gap: [1, 0, 3], offset: [0, 1, 0], batch: 2, ..case });
            }
            let launched = gpu.launched.take();
            assert!(launched.contains(&"product_fp32_hopper"), "{launched:?}");
            assert_eq!(launched.contains(&"product_fp32_hopper_sum"), divided, "{launched:?}");
        }
    }
}

/// Blocks that have parts of a tile add them up to subnormal numbers, too.
#[test]
fn parts_of_tiles_may_be_subnormal() {
    let gpu = Noting { gpu: with_multiprocessors(3), launched: RefCell::default() };
    let entry = LADDER.get("fp32-hopper").unwrap();
    check(entry, &gpu, Case { alpha: f64::exp2(-140.0), transposed: [true, false], ..Case::new(132, 4, 1500) });
    assert!(gpu.launched.take().contains(&"product_fp32_hopper_sum"));
}

/// Products that overlap, with operands by boxes or by copies: under hostile orders no access is wrong, and clusters
/// and blocks that have parts of a tile give the same bits although the sums round.
#[test]
fn shared_tiles_overlap_and_give_the_same_bits() {
    for (multiprocessors, [m, n, k], transposed, sums) in [
        (2, [132, 36, 50], [true, false], 0),
        (4, [36, 132, 50], [false, false], 0),
        (5, [40, 36, 60], [false, true], 0),
        (10, [40, 36, 70], [true, false], 0),
        (3, [132, 4, 1500], [true, false], 3),
    ] {
        let mut random = Random(5);
        let mut draw =
            |n: u32| -> Vec<f32> { (0..n).map(|_| (random.next() >> 40) as f32 / (1 << 23) as f32 - 1.0).collect() };
        let (a, b) = (draw(m * k), draw(k * n));
        let first = RefCell::new(None);
        let checked = check_races(Check { schedules: 4, ..Check::default() }, || {
            let gpu: &dyn Launcher = &with_multiprocessors(multiprocessors);
            let (mut a, mut b) = (Buffer::new(&a, 0), Buffer::new(&b, 0));
            let mut cs = [0, 1].map(|_| Buffer::<f32>::poisoned((m * n) as usize, 0));
            let mut multiplier = LADDER.get("fp32-hopper").unwrap().multiplier(gpu, SMALL).unwrap();
            let matrix = |data, rows, columns, transposed| Matrix {
                stride: if transposed { rows } else { columns },
                transposed,
                ..Matrix::new(data, rows, columns, columns)
            };
            for i in [0, 1, 0] {
                let (a, b) = (matrix(a.view(), m, k, transposed[0]), matrix(b.view(), k, n, transposed[1]));
                multiplier.run(gpu, Product::new(a, b, matrix(cs[i].view(), m, n, false))).unwrap();
            }
            for c in &mut cs {
                let bits: Vec<u32> = c.slice().iter().map(|x| x.to_bits()).collect();
                let mut first = first.borrow_mut();
                assert!(*first.get_or_insert_with(|| bits.clone()) == bits, "{multiprocessors} SMs: other bits");
            }
        });
        assert!(checked.report.is_clean(), "{multiprocessors} SMs: {}", checked.report);
        let packs = if transposed == [true, false] { 0 } else { 3 };
        assert_eq!(checked.report.launches, 4 * (3 + packs + sums));
    }
}
