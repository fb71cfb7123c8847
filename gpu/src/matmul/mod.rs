//! # Matrix product
//!
//! C = A·B for row-major matrices that may be parts of larger ones.

pub mod r1_naive;
pub mod r2_shared_tile;

use simt::Global;

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

impl Matrix {
    /// The matrix of that shape at the beginning of `data`.
    #[inline(always)]
    pub fn new(data: Global<f32>, rows: u32, columns: u32, stride: u32) -> Self {
        Self { data, rows, columns, stride }
    }

    /// The part of at most `rows` × `columns` elements whose first element is (`row`, `column`); empty if that lies
    /// outside.
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

    /// Writes element (`row`, `column`); outside the matrix it does nothing.
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
    use crate::ladder::matmul::*;

    /// The ladder, from the textbook up.
    pub static LADDER: Ladder<Matmul> = Ladder {
        family: "matmul",
        about: "matrix product C = A·B of floats",
        rungs: &[&r1_naive::launches::RUNG, &r2_shared_tile::launches::RUNG],
        default: &r2_shared_tile::launches::RUNG,
    };
}
