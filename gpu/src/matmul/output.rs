//! What the sums of products become in C.

use super::Matrix;
use simt::math::fma;

/// The matrix C, with the factors.
#[derive(Clone, Copy)]
pub struct Output {
    pub(super) matrix: Matrix,
    pub(super) alpha: f32,
    pub(super) beta: f32,
}

impl Output {
    /// Combines element (`row`, `column`) with the sum of its products; does nothing outside the matrix.
    #[inline(always)]
    pub fn set(self, row: u32, column: u32, sum: f32) {
        let c = self.matrix;
        if row < c.rows && column < c.columns {
            let at = c.place(row, column);
            let old = if self.beta != 0.0 { c.data.get(at) } else { 0.0 };
            c.data.set(at, self.combined(old, sum));
        }
    }

    /// [`Output::set`] for four elements of a row from (`row`, `column`) on, a multiple of 4: by one access if C
    /// `has_packs` and all are inside.
    #[inline(always)]
    pub(super) fn set_4(self, row: u32, column: u32, sums: [f32; 4], has_packs: bool) {
        let c = self.matrix;
        if has_packs && row < c.rows && column + 4 <= c.columns {
            let at = c.place(row, column) / 4;
            let old = if self.beta != 0.0 { c.data.get_pack(at) } else { [0.0; 4] };
            c.data.set_pack(at, [0, 1, 2, 3].map(|i| self.combined(old[i], sums[i])));
        } else {
            simt::unroll::<4>(|i| self.set(row, column + i as u32, sums[i]));
        }
    }

    /// [`Output::set_4`] where C has packs and all columns are inside, with beta = 0.
    #[inline(always)]
    pub(super) fn set_4_inside(self, row: u32, column: u32, sums: [f32; 4]) {
        let c = self.matrix;
        if row < c.rows {
            c.data.set_pack(c.place(row, column) / 4, sums.map(|sum| self.alpha * sum));
        }
    }

    /// Columns of C.
    #[inline(always)]
    pub(super) fn columns(self) -> u32 {
        self.matrix.columns
    }

    /// What becomes of an element that was `old`; with beta = 0 that is no matter of `old`.
    #[inline(always)]
    fn combined(self, old: f32, sum: f32) -> f32 {
        if self.beta != 0.0 { fma(self.beta, old, self.alpha * sum) } else { self.alpha * sum }
    }
}
