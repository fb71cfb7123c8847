//! # Matrix product
//!
//! C = A·B for row-major matrices that may be parts of larger ones.

pub mod r1_naive;
pub mod r2_shared_tile;

use simt::{Global, thread};

/// A matrix inside a view: `rows` × `columns` elements, row-major, `stride` elements from one row to the next.
///
/// A sub-matrix is the same view with another start: see [`Matrix::sub`].
#[derive(Clone, Copy)]
pub struct Matrix {
    data: Global<f32>,
    rows: u32,
    columns: u32,
    stride: u32,
}

/// The sizes of the matrices of a product, and the distances of their rows.
#[simt::argument]
#[derive(Clone, Copy)]
pub struct Shape {
    /// Rows of A and C.
    pub m: u32,
    /// Columns of B and C.
    pub n: u32,
    /// Columns of A, rows of B.
    pub k: u32,
    /// Elements from one row of A to the next.
    pub lda: u32,
    /// Elements from one row of B to the next.
    pub ldb: u32,
    /// Elements from one row of C to the next.
    pub ldc: u32,
}

impl Shape {
    /// Square tiles of C with this side. They are numbered along x, row by row, because a grid has at most 65,535
    /// blocks along y.
    pub const fn tiles(&self, side: u32) -> u32 {
        self.m.div_ceil(side) * self.n.div_ceil(side)
    }

    /// The first row and column of the block's tile of C.
    #[inline(always)]
    fn tile_of_block(&self, side: u32) -> (u32, u32) {
        let (tile, along) = (thread::block_idx_x(), self.n.div_ceil(side));
        (tile / along * side, tile % along * side)
    }

    /// The views as A, B and C.
    #[inline(always)]
    fn matrices(&self, a: Global<f32>, b: Global<f32>, c: Global<f32>) -> (Matrix, Matrix, Matrix) {
        let Self { m, n, k, lda, ldb, ldc } = *self;
        (Matrix::new(a, m, k, lda), Matrix::new(b, k, n, ldb), Matrix::new(c, m, n, ldc))
    }
}

impl Matrix {
    /// The matrix of that shape at the beginning of `data`.
    #[inline(always)]
    pub fn new(data: Global<f32>, rows: u32, columns: u32, stride: u32) -> Self {
        Self { data, rows, columns, stride }
    }

    /// The part of at most `rows` × `columns` elements whose first element is (`row`, `column`); empty if that element
    /// lies outside.
    #[inline(always)]
    pub fn sub(self, row: u32, column: u32, rows: u32, columns: u32) -> Self {
        let (rows, columns) =
            (rows.min(self.rows.saturating_sub(row)), columns.min(self.columns.saturating_sub(column)));
        if rows == 0 || columns == 0 {
            return Self { rows: 0, columns: 0, ..self };
        }
        let start = row * self.stride + column;
        Self { data: self.data.slice(start, self.data.len() - start), rows, columns, ..self }
    }

    /// Element (`row`, `column`), zero outside.
    #[inline(always)]
    pub fn get(self, row: u32, column: u32) -> f32 {
        if row < self.rows && column < self.columns { self.data.get(row * self.stride + column) } else { 0.0 }
    }

    /// Writes element (`row`, `column`); does nothing outside the matrix.
    #[inline(always)]
    pub fn set(self, row: u32, column: u32, value: f32) {
        if row < self.rows && column < self.columns {
            self.data.set(row * self.stride + column, value);
        }
    }

    /// Columns of the matrix.
    #[inline(always)]
    pub fn columns(self) -> u32 {
        self.columns
    }
}

#[cfg(not(target_os = "cuda"))]
pub use host::LADDER;

#[cfg(not(target_os = "cuda"))]
mod host {
    use super::*;
    use crate::ladder::matmul::{Matrix as View, *};

    impl Shape {
        /// The shape of A, B and C, which fit each other.
        pub(super) const fn of(a: &View, b: &View, c: &View) -> Self {
            let (m, n, k) = (c.rows, c.columns, a.columns);
            Self { m, n, k, lda: a.stride, ldb: b.stride, ldc: c.stride }
        }
    }

    /// The ladder, from the textbook up.
    pub static LADDER: Ladder<Matmul> = Ladder {
        family: "matmul",
        about: "matrix product C = A·B of floats",
        rungs: &[&r1_naive::launches::RUNG, &r2_shared_tile::launches::RUNG],
        default: &r2_shared_tile::launches::RUNG,
    };
}
