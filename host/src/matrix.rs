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
//! A product runs the rung that [`choice`](crate::vec::choice::PRODUCTS) names for the precision and the device.
//! Products of `f32` are as precise as that unless another [`Precision`] is asked for. Matrices may also be of `f64`,
//! and on Hopper of [`f16`](simt::f16) and [`bf16`](simt::bf16), whose sums are `f32`.

use crate::engine::{Buffer, Engine};
use crate::error::{Error, Result};
use crate::vec::choice;
use rungs_kernels::ladder::matmul::{self, Multiplied, Product, Sizes};
use std::ops::Range;

pub use rungs_kernels::ladder::matmul::Precision;

/// A matrix of `T` in the memory of an engine, stored by rows without gaps; at most 2³² - 1 elements. Freed when
/// dropped.
pub struct DeviceMatrix<T = f32> {
    engine: Engine,
    buffer: Buffer<T>,
    rows: u32,
    columns: u32,
}

/// A matrix to read: all of one, a part of it, or the transpose of either.
pub struct View<'a, T = f32> {
    of: &'a DeviceMatrix<T>,
    first: usize,
    rows: u32,
    columns: u32,
    transposed: bool,
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

impl<T: Multiplied> DeviceMatrix<T> {
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
        View { of: self, first: 0, rows: self.rows, columns: self.columns, transposed: false }
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
    /// # Errors
    /// [`Error::Usage`] if A and B are on other engines than C, or have other sizes than the product needs, or if the
    /// device has no rung of that precision or for that type; [`Error::OutOfMemory`] if scratch memory does not fit on
    /// the engine; [`Error::Launch`] or [`Error::Cuda`] if the launch, or a kernel before it, fails.
    pub fn set_product(&mut self, a: View<'_, T>, b: View<'_, T>, factors: Factors) -> Result<()> {
        if !a.of.engine.is(&self.engine) || !b.of.engine.is(&self.engine) {
            return Err(Error::Usage("matrices of different engines cannot be multiplied".into()));
        }
        let Factors { alpha, beta, precision } = factors;
        let [alpha, beta] = [alpha, beta].map(T::factor);
        let sizes = Sizes { m: self.rows, n: self.columns, k: a.columns };
        let entry = choice::choose_product::<T>(&self.engine, precision, self.buffer.len())?;
        let mut multiplier = entry.multiplier(&self.engine, sizes)?;
        let c = matmul::Matrix::new(self.buffer.view(), self.rows, self.columns, self.columns);
        Ok(multiplier.run(&self.engine, Product { alpha, beta, ..Product::new(a.matrix(), b.matrix(), c) })?)
    }
}

impl<'a, T: Multiplied> View<'a, T> {
    /// How many rows.
    pub fn rows(self) -> usize {
        self.rows as usize
    }

    /// How many columns.
    pub fn columns(self) -> usize {
        self.columns as usize
    }

    /// The transpose.
    pub fn transposed(self) -> View<'a, T> {
        View { rows: self.columns, columns: self.rows, transposed: !self.transposed, ..self }
    }

    /// Some of its rows and columns.
    ///
    /// # Errors
    /// [`Error::Usage`] if there are no such rows or columns.
    pub fn part(self, rows: Range<usize>, columns: Range<usize>) -> Result<View<'a, T>> {
        let is_in = |part: &Range<usize>, all: u32| part.start <= part.end && part.end <= all as usize;
        if !is_in(&rows, self.rows) || !is_in(&columns, self.columns) {
            let (of, wide) = (self.rows, self.columns);
            return Err(Error::Usage(format!("rows {rows:?} and columns {columns:?} of a matrix of {of} x {wide}")));
        }
        let [down, right] = if self.transposed { [columns.start, rows.start] } else { [rows.start, columns.start] };
        let first = self.first + down * self.of.columns() + right;
        Ok(View { first, rows: rows.len() as u32, columns: columns.len() as u32, ..self })
    }

    /// As the rungs take it.
    fn matrix(self) -> matmul::Matrix<T> {
        let Self { of, first, rows, columns, transposed } = self;
        // An empty part may begin behind the last element.
        let first = first.min(of.buffer.len());
        let data = of.buffer.slice(first, of.buffer.len() - first);
        matmul::Matrix { data, rows, columns, stride: of.columns, transposed }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        for (m, n, k) in [(0, 3, 4), (3, 0, 4), (3, 4, 0), (1, 1, 1), (2, 3, 5), (31, 33, 32), (130, 65, 17)] {
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
