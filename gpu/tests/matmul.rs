//! Matrix products on the simulator: every rung, with all that BLAS knows of a product, whole results compared with
//! sums computed here.

mod common;

use common::{Buffer, Random, with_multiprocessors};
use rungs_kernels::ladder::matmul::{Batch, Matmul, Matrix, Precision, Product, Sizes};
use rungs_kernels::ladder::{Entry, Launcher};
use rungs_kernels::matmul::LADDER;

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
    alpha: f32,
    beta: f32,
    batch: u32,
}

impl Case {
    const fn new(m: u32, n: u32, k: u32) -> Self {
        let (transposed, gap, offset) = ([false; 2], [0; 3], [0; 3]);
        Self { m, n, k, transposed, gap, offset, alpha: 1.0, beta: 0.0, batch: 1 }
    }
}

/// The matrices of a batch in one buffer, between elements that belong to none.
struct Stored {
    buffer: Buffer<f32>,
    rows: u32,
    columns: u32,
    transposed: bool,
    stride: u32,
    apart: u32,
}

impl Stored {
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
                self.buffer.slice()[at] = (random.next() % 9) as f32 - 4.0;
            }
        }
    }

    fn places(&self) -> impl Iterator<Item = (u32, u32)> + use<> {
        let columns = self.columns;
        (0..self.rows).flat_map(move |row| (0..columns).map(move |column| (row, column)))
    }

    fn matrix(&mut self) -> Matrix {
        let Self { rows, columns, stride, transposed, .. } = *self;
        Matrix { data: self.buffer.view(), rows, columns, stride, transposed }
    }
}

/// Multiplies twice by one sequence, and compares all that there is in C's buffer.
fn check(entry: &Entry<Matmul>, on: &dyn Launcher, case: Case) {
    let Case { m, n, k, transposed: [ta, tb], gap, offset, alpha, beta, batch } = case;
    let what = format!("{}, {case:?}", entry.rung.name);
    let mut random = Random(u64::from(m * 31 + n * 7 + k));
    let mut a = Stored::new(m, k, ta, gap[0], offset[0], batch);
    let mut b = Stored::new(k, n, tb, gap[1], offset[1], batch);
    let mut c = Stored::new(m, n, false, gap[2], offset[2], batch);
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
            for (row, column) in c.places() {
                let term = |e: u32| from_a[a.place(number, row, e)] * from_b[b.place(number, e, column)];
                let sum: f32 = (0..k).map(term).sum();
                let at = c.place(number, row, column);
                want[at] = alpha * sum + if beta == 0.0 { 0.0 } else { beta * want[at] };
            }
        }
        let batch = Batch { count: batch, a: a.apart, b: b.apart, c: c.apart };
        let product = Product { a: a.matrix(), b: b.matrix(), c: c.matrix(), alpha, beta, batch };
        sequence.run(on, product).unwrap_or_else(|e| panic!("{what}: {e}"));
        let got = c.buffer.slice();
        // By bits, for the poison between the rows is NaN.
        let wrong = (0..want.len()).find(|&i| got[i].to_bits() != want[i].to_bits() && got[i] != want[i]);
        assert!(wrong.is_none(), "{what}: place {wrong:?} has {}, not {}", got[wrong.unwrap()], want[wrong.unwrap()]);
        c.buffer.check_guards(&what);
    }
}

/// Every rung, on as few multiprocessors as let blocks have several tiles.
fn check_all(cases: &[Case]) {
    let gpu = with_multiprocessors(3);
    for entry in LADDER.rungs {
        cases.iter().for_each(|&case| check(entry, &gpu, case));
    }
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

/// A grid has at most 65,535 blocks along y and z, and one block more than that has a tile of 16 rows here.
#[test]
fn more_rows_of_tiles_than_a_grid_has_along_y() {
    let gpu = with_multiprocessors(3);
    for name in ["naive", "coalesced", "shared-tile"] {
        check(LADDER.get(name).unwrap(), &gpu, Case::new(65_535 * 16 + 1, 1, 2));
    }
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

/// With alpha = 0, BLAS does not read A and B: NaN there changes nothing.
#[test]
fn without_alpha_nothing_is_multiplied() {
    for entry in LADDER.rungs {
        let (mut a, mut b) = (Buffer::new(&[f32::NAN; 6], 0), Buffer::new(&[f32::INFINITY; 6], 0));
        let mut c = Buffer::new(&[1.0f32, 2.0, 3.0, 4.0], 0);
        let matrix = |buffer: &mut Buffer<f32>, rows, columns| Matrix::new(buffer.view(), rows, columns, columns);
        let product = Product::new(matrix(&mut a, 2, 3), matrix(&mut b, 3, 2), matrix(&mut c, 2, 2));
        let gpu: &dyn Launcher = &with_multiprocessors(3);
        entry.multiplier(gpu, SMALL).unwrap().run(gpu, Product { alpha: 0.0, beta: 2.0, ..product }).unwrap();
        assert_eq!(c.slice(), [2.0, 4.0, 6.0, 8.0], "{}", entry.rung.name);
    }
}

/// Rows of B behind the last are not multiplied with the zeros that A is filled up with: they may be infinite.
#[test]
fn what_lies_outside_is_not_multiplied() {
    for entry in LADDER.rungs {
        let (mut a, mut b) = (vec![1.0f32; 4 * 12], vec![1.0f32; 12 * 8]);
        (0..4).for_each(|row| a[row * 12 + 9..][..3].fill(f32::INFINITY));
        b[9 * 8..].fill(f32::NAN);
        let (mut a, mut b, mut c) = (Buffer::new(&a, 0), Buffer::new(&b, 0), Buffer::<f32>::poisoned(32, 0));
        let product = Product::new(
            Matrix::new(a.view(), 4, 9, 12),
            Matrix::new(b.view(), 9, 8, 8),
            Matrix::new(c.view(), 4, 8, 8),
        );
        let gpu: &dyn Launcher = &with_multiprocessors(3);
        entry.multiplier(gpu, SMALL).unwrap().run(gpu, product).unwrap();
        assert_eq!(c.slice(), [9.0; 32], "{}", entry.rung.name);
    }
}

/// The work of a persistent rung is divided in every way there is: fewer tiles than blocks, one round, some more. The
/// tiles of the others become smaller where there are too few.
#[test]
fn any_number_of_multiprocessors() {
    for name in ["producer-consumer", "three-tf32", "tensor-group", "three-tf32-group"] {
        let entry = LADDER.get(name).unwrap();
        for multiprocessors in [1, 2, 3, 4, 5, 7, 16, 132] {
            let gpu = with_multiprocessors(multiprocessors);
            for case in [Case::new(300, 400, 24), Case::new(256, 128, 100), Case::new(5, 7, 9), Case::new(600, 130, 17)]
            {
                check(entry, &gpu, case);
                check(entry, &gpu, Case { beta: -1.0, alpha: 2.0, ..case });
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
    for entry in LADDER.rungs {
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
        assert_eq!(of_f32, entry.run.precision() != Precision::Tf32, "{}: {largest:e}", entry.rung.name);
    }
}
