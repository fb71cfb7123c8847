//! Sums in the registers of a thread.

use simt::math::fma;
use simt::unroll;

/// Adds the product of a column of A and a row of B, `M` × `N` products, to the sums of a thread.
///
/// Column after column, to and fro along the rows: neighbouring instructions share an operand, which then comes from
/// the cache of the register file instead of from its banks.
#[inline(always)]
pub(super) fn add_outer<const M: usize, const N: usize>(sums: &mut [[f32; N]; M], a: &[f32; M], b: &[f32; N]) {
    unroll::<N>(|j| {
        unroll::<M>(|i| {
            let i = if j % 2 == 0 { i } else { M - 1 - i };
            sums[i][j] = fma(a[i], b[j], sums[i][j]);
        });
    });
}
