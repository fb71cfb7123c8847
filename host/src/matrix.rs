//! Matrices on an engine, and their products.
//!
//! ```
//! use rungs::engine::Engine;
//! use rungs::matrix::{DeviceMatrix, Factors};
//!
//! # fn main() -> rungs::Result<()> {
//! let engine = Engine::simulator();
//! let a = DeviceMatrix::from_rows(&engine, 2, 3, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0])?;
//! let b = DeviceMatrix::from_rows(&engine, 3, 1, &[1.0, 0.0, -1.0])?;
//! let mut c = a.times(&b)?;
//! assert_eq!(c.to_rows()?, [-2.0, -2.0]);
//! // C = 2·A·B + C, with a part of A, and B as the transpose of what is stored.
//! let row = DeviceMatrix::from_rows(&engine, 1, 2, &[10.0, 100.0])?;
//! c.set_product(a.part(0..2, 1..3)?, row.transposed(), Factors { alpha: 2.0, beta: 1.0, ..Factors::default() })?;
//! assert_eq!(c.to_rows()?, [638.0, 1298.0]);
//! # Ok(())
//! # }
//! ```
//!
//! Products of one shape are one call: a matrix of six rows is also a batch of three matrices of two, and a factor that
//! is one matrix belongs to all products.
//!
//! ```
//! # use rungs::engine::Engine;
//! # use rungs::matrix::{DeviceMatrix, Factors};
//! # fn main() -> rungs::Result<()> {
//! # let engine = Engine::simulator();
//! let a = DeviceMatrix::from_rows(&engine, 6, 1, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0])?;
//! let b = DeviceMatrix::from_rows(&engine, 3, 2, &[1.0, 0.0, 0.0, 1.0, 10.0, 100.0])?;
//! let mut c = DeviceMatrix::uninit(&engine, 6, 2)?;
//! // Three products of 2 × 1 by 1 × 2; their matrices C are one below another, too.
//! c.set_product(a.batch(3, 2)?, b.batch(3, 1)?, Factors::default())?;
//! assert_eq!(c.to_rows()?, [1.0, 0.0, 2.0, 0.0, 0.0, 3.0, 0.0, 4.0, 50.0, 500.0, 60.0, 600.0]);
//! // The last row of B for all three.
//! c.set_product(a.batch(3, 2)?, b.part(2..3, 0..2)?, Factors::default())?;
//! assert_eq!(c.to_rows()?[..4], [10.0, 100.0, 20.0, 200.0]);
//! # Ok(())
//! # }
//! ```
//!
//! A product runs the rung that [`choice`](crate::vec::choice::PRODUCTS) names for the precision and the device.
//! Products of `f32` are as precise as that unless another [`Precision`] is asked for; [`Precision::Mixed`] is for
//! Hopper. Matrices may also be of `f64`, and on Hopper of [`f16`](simt::f16) and [`bf16`](simt::bf16), whose sums are
//! `f32`. Matrices of fp8 have a product of their own, [`DeviceMatrix::set_product_fp8`].

use crate::engine::{Buffer, Engine};
use crate::error::{Error, Result};
use crate::vec::choice;
use rungs_kernels::ladder::matmul::{self, Batch, Multiplied, Multiplier as _, Product, Sizes};
use simt::Scalar;
use std::ops::Range;

mod fp8;

pub use fp8::{Fp8, Fp8Sums, OfC, Times};
pub use rungs_kernels::ladder::matmul::Precision;

/// A matrix of `T` in the memory of an engine, stored by rows without gaps; at most 2³² - 1 elements. Freed when
/// dropped.
pub struct DeviceMatrix<T = f32> {
    engine: Engine,
    buffer: Buffer<T>,
    rows: u32,
    columns: u32,
}

/// A matrix to read: all of one, a part of it, or the transpose of either; or a batch of such matrices, all of one
/// shape and equally far apart.
pub struct View<'a, T = f32> {
    of: &'a DeviceMatrix<T>,
    first: usize,
    rows: u32,
    columns: u32,
    transposed: bool,
    /// Matrices.
    count: u32,
    /// Elements from one matrix to the next; 0 unless there are several.
    apart: u32,
}

impl<T> Clone for View<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for View<'_, T> {}

/// What a product is multiplied with and added to, and how precise it is: C = alpha·A·B + beta·C.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Factors {
    /// The factor of the product, rounded to `f32` unless matrices are of `f64`.
    pub alpha: f64,
    /// The factor of what is in C before, rounded likewise. If it is 0, C is not read.
    pub beta: f64,
    /// The precision of a product of matrices of `f32`; others have one that is their own.
    pub precision: Precision,
}

impl Default for Factors {
    /// C = A·B, with products and sums of `f32` where matrices are of `f32`.
    fn default() -> Self {
        Self { alpha: 1.0, beta: 0.0, precision: Precision::F32 }
    }
}

impl<T: Scalar> DeviceMatrix<T> {
    /// Room for a matrix; what is in it is unspecified.
    ///
    /// # Errors
    /// [`Error::Usage`] for more than 2³² - 1 elements, rows or columns; [`Error::OutOfMemory`] if they do not fit on
    /// the engine.
    pub fn uninit(engine: &Engine, rows: usize, columns: usize) -> Result<Self> {
        let too_many =
            || Error::Usage(format!("a matrix of {rows} x {columns} is too large; {} is the limit", u32::MAX));
        let small = |n: usize| u32::try_from(n).map_err(|_| too_many());
        let elements = rows.checked_mul(columns).ok_or_else(too_many)?;
        small(elements)?;
        let (rows, columns) = (small(rows)?, small(columns)?);
        Ok(Self { engine: engine.clone(), buffer: engine.alloc(elements)?, rows, columns })
    }

    /// A copy of `elements`, row by row.
    ///
    /// # Errors
    /// As for [`DeviceMatrix::uninit`]; [`Error::Usage`] if there are more or fewer elements than places.
    pub fn from_rows(engine: &Engine, rows: usize, columns: usize, elements: &[T]) -> Result<Self> {
        if rows.checked_mul(columns) != Some(elements.len()) {
            return Err(Error::Usage(format!("{} elements for a matrix of {rows} x {columns}", elements.len())));
        }
        let matrix = Self::uninit(engine, rows, columns)?;
        matrix.buffer.write(elements)?;
        Ok(matrix)
    }

    /// A copy of all elements, row by row, once everything asked of the engine before is done.
    ///
    /// # Errors
    /// [`Error::Cuda`] if the copy, or a kernel launched before it, fails.
    pub fn to_rows(&self) -> Result<Vec<T>> {
        self.buffer.download()
    }

    /// How many rows.
    pub fn rows(&self) -> usize {
        self.rows as usize
    }

    /// How many columns.
    pub fn columns(&self) -> usize {
        self.columns as usize
    }

    /// The engine whose memory this is.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// The address of the first element, for other libraries: one of the GPU's memory, or of the simulator's.
    pub fn as_ptr(&self) -> *mut T {
        self.buffer.as_ptr()
    }

    /// All of it.
    pub fn view(&self) -> View<'_, T> {
        let Self { rows, columns, .. } = *self;
        View { of: self, first: 0, rows, columns, transposed: false, count: 1, apart: 0 }
    }

    /// Its transpose; nothing is copied.
    pub fn transposed(&self) -> View<'_, T> {
        self.view().transposed()
    }

    /// Some of its rows and columns; nothing is copied.
    ///
    /// # Errors
    /// [`Error::Usage`] if there are no such rows or columns.
    pub fn part(&self, rows: Range<usize>, columns: Range<usize>) -> Result<View<'_, T>> {
        self.view().part(rows, columns)
    }

    /// It as `count` matrices of `rows` rows each, one below another; nothing is copied. See [`View::batch`].
    ///
    /// # Errors
    /// [`Error::Usage`] if it has not `count` times `rows` rows.
    pub fn batch(&self, count: usize, rows: usize) -> Result<View<'_, T>> {
        self.view().batch(count, rows)
    }
}

impl<T: Multiplied> DeviceMatrix<T> {
    /// The product with another matrix.
    ///
    /// # Errors
    /// As for [`DeviceMatrix::set_product`].
    pub fn times(&self, other: &Self) -> Result<Self> {
        let mut product = Self::uninit(&self.engine, self.rows(), other.columns())?;
        product.set_product(self.view(), other.view(), Factors::default())?;
        Ok(product)
    }

    /// C = alpha·A·B + beta·C, of which this matrix is C.
    ///
    /// A, m × k, and B, k × n, may be batches of `count` matrices. All `count` products are then computed in one call,
    /// and this matrix, `count`·m × n, has their results one below another. If A or B is one matrix, it is that factor
    /// of all products. Without products nothing happens.
    ///
    /// # Errors
    /// [`Error::Usage`] if A and B are on other engines than C, or have other sizes than the product needs, or are two
    /// batches of different counts, or if the device has no rung of that precision or for that type;
    /// [`Error::OutOfMemory`] if scratch memory does not fit on the engine; [`Error::Launch`] or [`Error::Cuda`] if the
    /// launch, or a kernel before it, fails.
    pub fn set_product(&mut self, a: View<'_, T>, b: View<'_, T>, factors: Factors) -> Result<()> {
        if !a.of.engine.is(&self.engine) || !b.of.engine.is(&self.engine) {
            return Err(Error::Usage("matrices of different engines cannot be multiplied".into()));
        }
        let count = if a.count == 1 { b.count } else { a.count };
        let rows = count as usize * a.rows();
        if [a.count, b.count].iter().any(|of| ![1, count].contains(of))
            || [a.columns(), rows, b.columns()] != [b.rows(), self.rows(), self.columns()]
        {
            let (a, b, m, n) = (a.describe(), b.describe(), self.rows, self.columns);
            return Err(Error::Usage(format!("A of {a} times B of {b} is not C of {m} x {n}")));
        }
        let Factors { alpha, beta, precision } = factors;
        let [alpha, beta] = [alpha, beta].map(T::factor);
        let (m, n, k) = (a.rows, self.columns, a.columns);
        let entry = choice::choose_product::<T>(&self.engine, precision, self.buffer.len())?;
        if count == 0 {
            return Ok(());
        }
        let mut multiplier = entry.multiplier(&self.engine, Sizes { m, n, k })?;
        let c = matmul::Matrix::new(self.buffer.view(), m, n, n);
        let batch = Batch { count, a: a.apart, b: b.apart, c: m * n };
        Ok(multiplier.run(&self.engine, Product { alpha, beta, batch, ..Product::new(a.matrix(), b.matrix(), c) })?)
    }
}

impl<'a, T: Scalar> View<'a, T> {
    /// How many rows; of a batch, those of each matrix.
    pub fn rows(self) -> usize {
        self.rows as usize
    }

    /// How many columns; of a batch, those of each matrix.
    pub fn columns(self) -> usize {
        self.columns as usize
    }

    /// How many matrices: 1 unless it is a batch.
    pub fn count(self) -> usize {
        self.count as usize
    }

    /// The matrix as a batch of `count` matrices of `rows` rows each, one below another.
    ///
    /// The transpose of a transpose's batch is a batch of matrices next to each other, and a part of a batch leaves
    /// rows or columns between them:
    ///
    /// ```
    /// # use rungs::engine::Engine;
    /// # use rungs::matrix::DeviceMatrix;
    /// # fn main() -> rungs::Result<()> {
    /// let wide = DeviceMatrix::<f32>::uninit(&Engine::simulator(), 5, 4 * 8)?;
    /// let adjacent = wide.transposed().batch(4, 8)?.transposed().part(0..5, 0..7)?;
    /// assert_eq!((adjacent.count(), adjacent.rows(), adjacent.columns()), (4, 5, 7));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Usage`] if it has not `count` times `rows` rows, or is a batch of several matrices already.
    pub fn batch(self, count: usize, rows: usize) -> Result<View<'a, T>> {
        let small = |n: usize| u32::try_from(n).ok();
        let fits = self.count == 1 && count.checked_mul(rows) == Some(self.rows());
        let (Some(count), Some(rows), true) = (small(count), small(rows), fits) else {
            let all = self.describe();
            return Err(Error::Usage(format!("a matrix of {all} is no batch of {count} of {rows} rows")));
        };
        // From one row of the view to the next. The product is that of some rows of a matrix, which has 2³² - 1
        // elements at most.
        let step = if self.transposed { 1 } else { self.of.columns };
        Ok(View { rows, count, apart: if count > 1 { rows * step } else { 0 }, ..self })
    }

    /// The transpose; of a batch, each matrix's.
    pub fn transposed(self) -> View<'a, T> {
        View { rows: self.columns, columns: self.rows, transposed: !self.transposed, ..self }
    }

    /// Some of its rows and columns; of a batch, the same of each matrix.
    ///
    /// # Errors
    /// [`Error::Usage`] if there are no such rows or columns.
    pub fn part(self, rows: Range<usize>, columns: Range<usize>) -> Result<View<'a, T>> {
        let is_in = |part: &Range<usize>, all: u32| part.start <= part.end && part.end <= all as usize;
        if !is_in(&rows, self.rows) || !is_in(&columns, self.columns) {
            let of = self.describe();
            return Err(Error::Usage(format!("rows {rows:?} and columns {columns:?} of a matrix of {of}")));
        }
        let [down, right] = if self.transposed { [columns.start, rows.start] } else { [rows.start, columns.start] };
        let first = self.first + down * self.of.columns() + right;
        Ok(View { first, rows: rows.len() as u32, columns: columns.len() as u32, ..self })
    }

    /// Its size in a message.
    fn describe(self) -> String {
        let Self { rows, columns, count, .. } = self;
        if count == 1 { format!("{rows} x {columns}") } else { format!("{count} x ({rows} x {columns})") }
    }

    /// As the rungs take it; of a batch the first matrix, with the elements of all.
    fn matrix(self) -> matmul::Matrix<T> {
        let Self { of, first, rows, columns, transposed, .. } = self;
        // An empty part may begin behind the last element.
        let first = first.min(of.buffer.len());
        let data = of.buffer.slice(first, of.buffer.len() - first);
        matmul::Matrix { data, rows, columns, stride: of.columns, transposed }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use simt::{bf16, f16};

    /// Small whole numbers, whose products and sums are exact in every precision.
    fn numbers(n: usize, seed: usize) -> Vec<f32> {
        (0..n).map(|i| ((i * 7 + seed * 3) % 11) as f32 - 5.0).collect()
    }

    /// Element (i, j) of a matrix that is given by a function, times another.
    fn product(
        m: usize,
        n: usize,
        k: usize,
        a: impl Fn(usize, usize) -> f32,
        b: impl Fn(usize, usize) -> f32,
    ) -> Vec<f32> {
        let element = |i, j| (0..k).map(|e| a(i, e) * b(e, j)).sum();
        (0..m).flat_map(|i| (0..n).map(move |j| (i, j))).map(|(i, j)| element(i, j)).collect()
    }

    #[test]
    fn products_of_every_shape_and_precision() {
        let engine = Engine::simulator();
        for (m, n, k) in
            [(0, 3, 4), (3, 0, 4), (3, 4, 0), (1, 1, 1), (2, 3, 5), (31, 33, 32), (130, 65, 17), (3, 2, 2049)]
        {
            let (x, y) = (numbers(m * k, 1), numbers(k * n, 2));
            let a = DeviceMatrix::from_rows(&engine, m, k, &x).unwrap();
            let b = DeviceMatrix::from_rows(&engine, k, n, &y).unwrap();
            let want = product(m, n, k, |i, e| x[i * k + e], |e, j| y[e * n + j]);
            assert_eq!(a.times(&b).unwrap().to_rows().unwrap(), want, "{m} x {n} x {k}");
            for precision in Precision::ALL {
                let mut c = DeviceMatrix::from_rows(&engine, m, n, &vec![f32::NAN; m * n]).unwrap();
                let factors = Factors { precision, ..Factors::default() };
                c.set_product(a.view(), b.view(), factors).unwrap();
                assert_eq!(c.to_rows().unwrap(), want, "{m} x {n} x {k}, {precision:?}");
            }
        }
    }

    #[test]
    fn parts_transposes_and_factors() {
        let engine = Engine::simulator();
        let (x, y) = (numbers(40 * 50, 3), numbers(60 * 45, 4));
        let a = DeviceMatrix::from_rows(&engine, 40, 50, &x).unwrap();
        let b = DeviceMatrix::from_rows(&engine, 60, 45, &y).unwrap();
        let before = numbers(20 * 33, 5);
        // A is rows 7 to 40 and columns 10 to 30, transposed; B rows 2 to 35 and columns 1 to 34, its own transpose.
        let of_a = a.part(7..40, 10..30).unwrap().transposed();
        let of_b = b.transposed().part(1..34, 2..35).unwrap();
        assert_eq!((of_a.rows(), of_a.columns(), of_b.rows(), of_b.columns()), (20, 33, 33, 33));
        let mut c = DeviceMatrix::from_rows(&engine, 20, 33, &before).unwrap();
        c.set_product(of_a, of_b, Factors { alpha: -2.0, beta: 3.0, ..Factors::default() }).unwrap();
        let of = product(20, 33, 33, |i, e| x[(7 + e) * 50 + 10 + i], |e, j| y[(2 + j) * 45 + 1 + e]);
        let want: Vec<f32> = of.iter().zip(&before).map(|(new, old)| 3.0 * old - 2.0 * new).collect();
        assert_eq!(c.to_rows().unwrap(), want);
        // The last row and column, and a part of nothing behind them.
        let corner = a.part(39..40, 49..50).unwrap();
        let mut c = DeviceMatrix::uninit(&engine, 1, 1).unwrap();
        c.set_product(corner, corner.transposed(), Factors::default()).unwrap();
        assert_eq!(c.to_rows().unwrap(), [x[1999] * x[1999]]);
        let nothing = a.part(40..40, 50..50).unwrap();
        let mut c = DeviceMatrix::uninit(&engine, 0, 0).unwrap();
        c.set_product(nothing, nothing.transposed(), Factors::default()).unwrap();
    }

    /// How the matrices of a factor are stored.
    #[derive(Clone, Copy, Debug)]
    struct Layout {
        /// One next to another, not below.
        beside: bool,
        /// By columns.
        transposed: bool,
        /// A row above and two columns before each matrix that do not belong to it.
        gaps: bool,
        /// One matrix for all products.
        shared: bool,
    }

    /// The matrices of a factor: their elements as they are stored.
    struct Stored<T> {
        layout: Layout,
        matrices: usize,
        /// Rows and columns of a matrix with its gaps.
        around: [usize; 2],
        size: [usize; 2],
        all: Vec<T>,
        there: DeviceMatrix<T>,
    }

    impl<T: Multiplied + Into<f64>> Stored<T> {
        fn new(engine: &Engine, layout: Layout, count: usize, size: [usize; 2], of: &impl Fn(f64) -> T) -> Self {
            let matrices = if layout.shared { 1 } else { count };
            let around = if layout.gaps { [size[0] + 1, size[1] + 2] } else { size };
            let [down, along] = if layout.transposed { [around[1], around[0]] } else { around };
            let [down, along] = if layout.beside { [down, matrices * along] } else { [matrices * down, along] };
            let all: Vec<T> = numbers(down * along, down).into_iter().map(|x| of(x.into())).collect();
            let there = DeviceMatrix::from_rows(engine, down, along, &all).unwrap();
            Self { layout, matrices, around, size, all, there }
        }

        fn view(&self) -> View<'_, T> {
            let (Layout { beside, transposed, gaps, shared }, [rows, columns]) = (self.layout, self.around);
            let each = if beside == transposed { rows } else { columns };
            let all = if beside { self.there.transposed() } else { self.there.view() };
            let batch = if shared { all } else { all.batch(self.matrices, each).unwrap() };
            let batch = if beside == transposed { batch } else { batch.transposed() };
            let [top, left] = if gaps { [1, 2] } else { [0, 0] };
            batch.part(top..top + self.size[0], left..left + self.size[1]).unwrap()
        }

        /// Element (i, j) of the matrix for this product.
        fn at(&self, product: usize, i: usize, j: usize) -> f64 {
            let (number, [rows, columns]) = (if self.layout.shared { 0 } else { product }, self.around);
            let [i, j] = if self.layout.gaps { [i + 1, j + 2] } else { [i, j] };
            let [i, j, rows, columns] =
                if self.layout.transposed { [j, i, columns, rows] } else { [i, j, rows, columns] };
            let place = match self.layout.beside {
                false => (number * rows + i) * columns + j,
                true => (i * self.matrices + number) * columns + j,
            };
            self.all[place].into()
        }
    }

    /// Batches of `T`, of every layout of A and of B: each C against sums computed here.
    fn batches_of<T: Multiplied + PartialEq + std::fmt::Debug + Into<f64>>(of: impl Fn(f64) -> T) {
        let engine = Engine::simulator();
        let layouts = (0..16).map(|bits| [1, 2, 4, 8].map(|bit| bits & bit != 0));
        for [beside, transposed, gaps, shared] in layouts {
            let a = Layout { beside, transposed, gaps, shared };
            // The second size has rows of multiples of 16 bytes, which GPUs copy by tensor maps.
            let b = [Layout { beside, gaps: !gaps, ..a }, Layout { transposed: !transposed, shared: !shared, ..a }];
            for (b, count, [m, n, k], alpha, beta) in [
                (b[0], 3, [5, 6, 7], 2.0, -1.0),
                (b[1], 2, [16, 24, 8], 1.0, 0.0),
                (b[1], 1, [4, 3, 2], 1.0, 1.0),
                (b[1], 2, [2, 3, 0], 1.0, 3.0),
                (b[0], 2, [0, 3, 2], 1.0, 0.0),
                (b[1], 0, [4, 3, 2], 1.0, 0.0),
            ] {
                let what = format!("{} of {}, {m} x {n} x {k}, {a:?}, {b:?}", count, T::NAME);
                // Without a shared factor of both, the products of a batch are as many as one of the factors has.
                let count = if a.shared && b.shared { 1 } else { count };
                let x = Stored::new(&engine, a, count, [m, k], &of);
                let y = Stored::new(&engine, b, count, [k, n], &of);
                let before: Vec<T> = numbers(count * m * n, 9).into_iter().map(|x| of(x.into())).collect();
                let mut c = DeviceMatrix::from_rows(&engine, count * m, n, &before).unwrap();
                let factors = Factors { alpha, beta, ..Factors::default() };
                c.set_product(x.view(), y.view(), factors).unwrap_or_else(|e| panic!("{what}: {e}"));
                let want = (0..count * m * n).map(|place| {
                    let (product, i, j) = (place / (m * n), place / n % m, place % n);
                    let sum: f64 = (0..k).map(|e| x.at(product, i, e) * y.at(product, e, j)).sum();
                    of(alpha * sum + if beta == 0.0 { 0.0 } else { beta * before[place].into() })
                });
                assert_eq!(c.to_rows().unwrap(), want.collect::<Vec<T>>(), "{what}");
            }
        }
    }

    #[test]
    fn batches_of_every_type_and_layout() {
        batches_of::<f32>(|x| x as f32);
        batches_of::<f64>(|x| x);
        batches_of::<bf16>(bf16::from_f64);
        batches_of::<f16>(f16::from_f64);
    }

    #[test]
    fn batches_that_do_not_fit_are_refused() {
        let engine = Engine::simulator();
        let a = DeviceMatrix::<f32>::uninit(&engine, 6, 4).unwrap();
        let b = DeviceMatrix::<f32>::uninit(&engine, 12, 5).unwrap();
        let why = |view: Result<View<f32>>| view.err().unwrap().to_string();
        assert!(why(a.batch(4, 2)).contains("6 x 4 is no batch of 4 of 2 rows"), "{}", why(a.batch(4, 2)));
        let twice = why(a.batch(3, 2).unwrap().batch(2, 1));
        assert!(twice.contains("3 x (2 x 4) is no batch of 2 of 1 rows"), "{twice}");
        let many = 1 << 40;
        assert!(a.batch(0, 6).is_err() && a.batch(many, many).is_err() && a.batch(usize::MAX, 2).is_err());
        assert!(a.part(0..0, 0..4).unwrap().batch(0, many).is_err());
        // A part of each matrix, not of all.
        assert!(a.batch(3, 2).unwrap().part(0..3, 0..4).is_err());
        let refused = |rows, a: View<f32>, b: View<f32>| {
            let mut c = DeviceMatrix::uninit(&engine, rows, 5).unwrap();
            c.set_product(a, b, Factors::default()).err().unwrap().to_string()
        };
        let (three, two) = (a.batch(3, 2).unwrap(), a.batch(2, 3).unwrap());
        let of_b = b.batch(3, 4).unwrap();
        let text = refused(7, three, of_b);
        assert!(text.contains("A of 3 x (2 x 4) times B of 3 x (4 x 5) is not C of 7 x 5"), "{text}");
        // Two of A and three of B; three times all of A; a shared factor of another size; none, but with a C.
        refused(6, two, of_b);
        refused(6, a.view(), of_b);
        refused(6, three, b.view());
        refused(6, a.part(0..0, 0..4).unwrap().batch(0, 2).unwrap(), b.part(0..4, 0..5).unwrap());
        let mut c = DeviceMatrix::uninit(&engine, 18, 5).unwrap();
        c.set_product(a.view(), of_b, Factors::default()).unwrap();
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let (engine, other) = (Engine::simulator(), Engine::simulator());
        let matrix = |engine: &Engine, rows, columns| DeviceMatrix::uninit(engine, rows, columns).unwrap();
        let (a, b) = (matrix(&engine, 3, 4), matrix(&engine, 3, 4));
        let why = |result: Result<DeviceMatrix>| result.err().unwrap().to_string();
        assert!(why(a.times(&b)).contains("A of 3 x 4 times B of 3 x 4"), "{}", why(a.times(&b)));
        assert!(why(a.times(&matrix(&other, 4, 3))).contains("different engines"));
        let mut c = matrix(&engine, 3, 4);
        assert!(c.set_product(a.view(), b.transposed(), Factors::default()).is_err());
        assert!(why(DeviceMatrix::from_rows(&engine, 2, 2, &[0.0; 3])).contains("3 elements"));
        assert!(why(DeviceMatrix::uninit(&engine, 1 << 20, 1 << 20)).contains("too large"));
        assert!(why(DeviceMatrix::uninit(&engine, usize::MAX, 2)).contains("too large"));
        assert!(why(DeviceMatrix::uninit(&engine, 1 << 40, 0)).contains("too large"));
        assert!(a.part(0..4, 0..4).is_err() && a.part(0..3, 3..5).is_err());
        #[allow(clippy::reversed_empty_ranges)]
        let reversed = a.part(2..1, 0..1);
        assert!(reversed.is_err());
    }
}
