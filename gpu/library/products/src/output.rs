//! Writing the sums of products to C.
//!
//! The methods are made for each type by a macro, and not generic: LLVM makes more of some kernels if it has to see
//! through a trait's methods here.

use super::{Element, Matrix};
use simt::math::{fma, fma_f64, from_bf16, from_f16, to_bf16, to_f16};
use simt::{bf16, f16};

/// The matrix C, with the factors.
#[derive(Clone, Copy)]
pub struct Output<T: Element = f32> {
    pub(super) matrix: Matrix<T>,
    pub(super) alpha: T::Sum,
    pub(super) beta: T::Sum,
}

/// An element as a sum.
macro_rules! widened {
    (bf16, $x:expr) => {
        from_bf16($x)
    };
    (f16, $x:expr) => {
        from_f16($x)
    };
    ($t:ident, $x:expr) => {
        $x
    };
}

/// The nearest element to a sum.
macro_rules! rounded {
    (bf16, $x:expr) => {
        to_bf16($x)
    };
    (f16, $x:expr) => {
        to_f16($x)
    };
    ($t:ident, $x:expr) => {
        $x
    };
}

/// Four elements of a row, by one access.
macro_rules! get_4 {
    (f32, $from:expr, $i:expr) => {
        $from.get_pack($i)
    };
    ($t:ident, $from:expr, $i:expr) => {{
        let word = $from.cast::<u64>().get($i);
        [0, 16, 32, 48].map(|shift| $t::from_bits((word >> shift) as u16))
    }};
}

/// Writes what `get_4` reads.
macro_rules! set_4 {
    (f32, $to:expr, $i:expr, $four:expr) => {
        $to.set_pack($i, $four)
    };
    ($t:ident, $to:expr, $i:expr, $four:expr) => {{
        let [a, b, c, d] = $four.map(|x| x.to_bits() as u64);
        $to.cast::<u64>().set($i, a | b << 16 | c << 32 | d << 48);
    }};
}

/// The methods for elements of each type: its sums, zero, and multiply-add.
macro_rules! outputs {
    ($($t:ident: $sum:ident, $zero:expr, $fma:ident;)*) => {$(
        impl Output<$t> {
            /// Combines element (`row`, `column`) with the sum of its products; does nothing outside the matrix.
            #[simt::device]
            pub fn set(self, row: u32, column: u32, sum: $sum) {
                let c = self.matrix;
                if row < c.rows && column < c.columns {
                    let at = c.place(row, column);
                    let old = if self.beta != 0.0 { c.data.get(at) } else { $zero };
                    c.data.set(at, self.combined(old, sum));
                }
            }

            /// The new value of an element that was `old`; `old` is ignored when beta is 0.
            #[simt::device]
            pub(super) fn combined(self, old: $t, sum: $sum) -> $t {
                if self.beta != 0.0 {
                    rounded!($t, $fma(self.beta, widened!($t, old), self.alpha * sum))
                } else {
                    rounded!($t, self.alpha * sum)
                }
            }
        }
    )*};
}
outputs! {
    f32: f32, 0.0, fma;
    f64: f64, 0.0, fma_f64;
    bf16: f32, bf16::ZERO, fma;
    f16: f32, f16::ZERO, fma;
}

/// The methods for four elements of each type, aligned to the given number of bytes.
macro_rules! fours {
    ($($t:ident: $zero:expr, $bytes:literal;)*) => {$(
        impl Output<$t> {
            /// [`Output::set`] for four elements of a row from (`row`, `column`) on, a multiple of 4: by one access if
            /// C `has_packs` and all are inside.
            #[simt::device]
            pub(super) fn set_4(self, row: u32, column: u32, sums: [f32; 4], has_packs: bool) {
                let c = self.matrix;
                // Behind the last column, four more may be past the end of 32 bits.
                if has_packs && row < c.rows && column < c.columns & !3 {
                    let at = c.place(row, column) / 4;
                    let old = if self.beta != 0.0 { get_4!($t, c.data, at) } else { [$zero; 4] };
                    set_4!($t, c.data, at, [0, 1, 2, 3].map(|i| self.combined(old[i], sums[i])));
                } else {
                    simt::unroll::<4>(|i| self.set(row, column + i as u32, sums[i]));
                }
            }

            /// [`Output::set_4`] where C has packs and all columns are inside, with beta = 0.
            #[cfg(any(sm_90a, not(target_os = "cuda")))]
            #[simt::device]
            pub(super) fn set_4_inside(self, row: u32, column: u32, sums: [f32; 4]) {
                let c = self.matrix;
                if row < c.rows {
                    set_4!($t, c.data, c.place(row, column) / 4, sums.map(|sum| rounded!($t, self.alpha * sum)));
                }
            }

            /// Columns of C.
            #[cfg(any(sm_90a, not(target_os = "cuda")))]
            #[simt::device]
            pub(super) fn columns(self) -> u32 {
                self.matrix.columns
            }
        }

        impl Matrix<$t> {
            /// Whether rows are contiguous and each fourth element of a row begins four that are one access.
            #[simt::device]
            pub(super) fn has_packs(self) -> bool {
                let aligned = (self.data.as_ptr() as usize).is_multiple_of($bytes);
                aligned && self.column_step == 1 && self.row_step.is_multiple_of(4)
            }
        }
    )*};
}
fours! {
    f32: 0.0, 16;
}
// Rungs for compute capability 9.0 alone have them.
#[cfg(any(sm_90a, not(target_os = "cuda")))]
fours! {
    bf16: bf16::ZERO, 8;
    f16: f16::ZERO, 8;
}

/// Two elements that are neighbours in memory: of a column if C is stored by columns, or else of a row.
#[cfg(any(sm_90a, not(target_os = "cuda")))]
impl Output<f32> {
    /// Whether C is stored by columns.
    #[simt::device]
    pub(super) fn by_columns(self) -> bool {
        self.matrix.row_step == 1
    }

    /// Whether each second element of a row, or of a column, begins two that are one access.
    #[simt::device]
    pub(super) fn has_pairs(self) -> bool {
        let Matrix { data, row_step, column_step, .. } = self.matrix;
        let apart = if self.by_columns() { column_step } else { row_step };
        let neighbours = self.by_columns() || column_step == 1;
        neighbours && apart.is_multiple_of(2) && (data.as_ptr() as usize).is_multiple_of(8)
    }

    /// [`Output::set`] for the element at (`row`, `column`) and its neighbour, the next of the row, or of the column if
    /// `down`: by one access if C `has_pairs` and both are inside. The number of the first among them is even.
    #[simt::device]
    pub(super) fn set_2(self, (row, column): (u32, u32), down: bool, sums: [f32; 2], has_pairs: bool) {
        let c = self.matrix;
        let (last_row, last_column) = (row + down as u32, column + !down as u32);
        if has_pairs && last_row < c.rows && last_column < c.columns {
            let (pairs, at) = (c.data.cast::<u64>(), c.place(row, column) / 2);
            let old = if self.beta != 0.0 { pairs.get(at) } else { 0 };
            let new = [0, 1].map(|i| {
                let old = f32::from_bits((old >> (32 * i)) as u32);
                self.combined(old, sums[i]).to_bits() as u64
            });
            pairs.set(at, new[0] | new[1] << 32);
        } else {
            self.set(row, column, sums[0]);
            self.set(last_row, last_column, sums[1]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rungs_testing::view;

    /// Nothing is written there, outside of a kernel too.
    #[test]
    fn columns_behind_the_last_may_pass_the_end_of_32_bits() {
        fn output<T: Element>(none: &mut [T], columns: u32) -> Output<T>
        where
            T::Sum: Default,
        {
            let matrix = Matrix { data: view(none), rows: 1, columns, row_step: 0, column_step: 1 };
            Output { matrix, alpha: T::Sum::default(), beta: T::Sum::default() }
        }
        for columns in [u32::MAX - 3, u32::MAX - 7] {
            output::<f32>(&mut [], columns).set_4(0, u32::MAX - 3, [1.0; 4], true);
            output::<bf16>(&mut [], columns).set_4(0, u32::MAX - 3, [1.0; 4], true);
            output::<f64>(&mut [], columns).set_2(0, u32::MAX - 1, [1.0; 2], true);
        }
    }
}
