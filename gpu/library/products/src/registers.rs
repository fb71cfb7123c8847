//! Sums in the registers of a thread.

use super::Real;
use simt::unroll;

/// Adds the product of a column of A and a row of B, `M` × `N` products, to the sums of a thread.
///
/// Column after column, to and fro along the rows: neighbouring instructions share an operand, which then comes from
/// the cache of the register file instead of from its banks.
#[simt::device]
pub(super) fn add_outer<T: Real, const M: usize, const N: usize>(sums: &mut [[T; N]; M], a: &[T; M], b: &[T; N]) {
    unroll::<N>(|j| {
        unroll::<M>(|i| {
            let i = if j % 2 == 0 { i } else { M - 1 - i };
            sums[i][j] = a[i].fma(b[j], sums[i][j]);
        });
    });
}
