//! Products of fp8.
//!
//! ```
//! use rungs::engine::Engine;
//! use rungs::matrix::{DeviceMatrix, Fp8, Fp8Sums};
//! use simt::{F8E4M3, F8E5M2, bf16};
//!
//! # fn main() -> rungs::Result<()> {
//! let engine = Engine::simulator();
//! // A is 2 × 16. B is 16 × 3 and stored by columns, as the transpose of a matrix of 3 rows.
//! let a = DeviceMatrix::from_rows(&engine, 2, 16, &[F8E4M3::from_f32(1.5); 32])?;
//! let b = DeviceMatrix::from_rows(&engine, 3, 16, &[F8E5M2::from_f32(2.0); 48])?;
//! let mut c = DeviceMatrix::<bf16>::uninit(&engine, 2, 3)?;
//! c.set_product_fp8(a.view(), b.transposed(), Fp8 { alpha: 0.5, ..Fp8::default() })?;
//! assert_eq!(c.to_rows()?, [bf16::from_f32(24.0); 6]);
//! // Elements with scales: one for each row of A and for each 128 columns of B, per 128 k.
//! let b = DeviceMatrix::from_rows(&engine, 3, 16, &[F8E4M3::from_f32(2.0); 48])?;
//! let (of_a, of_b) = ([1.0, 4.0], [0.25]);
//! let (of_a, of_b) = (DeviceMatrix::from_rows(&engine, 2, 1, &of_a)?, DeviceMatrix::from_rows(&engine, 1, 1, &of_b)?);
//! let mut c = DeviceMatrix::<f32>::uninit(&engine, 2, 3)?;
//! let scaled = Fp8 { sums: Fp8Sums::Scaled { a: &of_a, b: &of_b }, ..Fp8::default() };
//! c.set_product_fp8(a.view(), b.transposed(), scaled)?;
//! assert_eq!(c.to_rows()?, [12.0, 12.0, 12.0, 48.0, 48.0, 48.0]);
//! # Ok(())
//! # }
//! ```

use super::{DeviceMatrix, View};
use crate::error::{Error, Result};
use rungs_kernels::products::fp8::launches::{Adding, Product, sequence};
use rungs_kernels::products::fp8::{COLUMNS_SCALED, DEPTH};
use simt::Eight;

pub use rungs_kernels::products::fp8::launches::{OfC, Times};

/// How the products of an element of C are added up.
#[derive(Clone, Copy, Default)]
pub enum Fp8Sums<'a> {
    /// On the tensor cores, which keep about 14 bits of a sum. What is lost grows with k: on an H100, of elements in
    /// [0, 1), 0.05 % at k = 128 and 13 % at k = 8192.
    Fast,
    /// In `f32`, of sums of 128 k: no more is lost at large k than at 128.
    #[default]
    Promoted,
    /// The same, with a scale for each block of 128 k. A and B are of e4m3.
    Scaled {
        /// For each row of A a row of scales, one per 128 k.
        a: &'a DeviceMatrix<f32>,
        /// For each 128 columns of B a row of scales, one per 128 k.
        b: &'a DeviceMatrix<f32>,
    },
}

/// What a product of fp8 is multiplied with and added to, and how it is added up: C = alpha·A·B + beta·C.
#[derive(Clone, Copy)]
pub struct Fp8<'a> {
    /// The factor of the product: the scale of A times that of B, where each matrix has one.
    pub alpha: f32,
    /// The factor of what is in C before. If it is 0, C is not read.
    pub beta: f32,
    /// How products are added up.
    pub sums: Fp8Sums<'a>,
}

impl Default for Fp8<'_> {
    /// C = A·B, with promoted sums.
    fn default() -> Self {
        Self { alpha: 1.0, beta: 0.0, sums: Fp8Sums::Promoted }
    }
}

impl<C: OfC> DeviceMatrix<C> {
    /// C = alpha·A·B + beta·C, of which this matrix, of `f32` or `bf16`, is C; A, m × k, and B, k × n, are of
    /// [`F8E4M3`](simt::F8E4M3) or [`F8E5M2`](simt::F8E5M2), one of them at least of the former.
    ///
    /// A is stored by rows and B by columns: B is the [transpose](DeviceMatrix::transposed) of a matrix, or a part of
    /// one. Rows of what is stored begin on multiples of 16 elements: a matrix with another k is [a
    /// part](DeviceMatrix::part) of one that is wider. For Hopper.
    ///
    /// # Errors
    /// [`Error::Usage`] if A and B are on other engines than C, are batches, do not fit C, or are stored otherwise; if
    /// there are more or fewer scales than blocks; or if the device is not one for these products.
    /// [`Error::OutOfMemory`] if scratch memory does not fit on the engine; [`Error::Launch`] or [`Error::Cuda`] if the
    /// launch, or a kernel before it, fails.
    pub fn set_product_fp8<L, R>(&mut self, a: View<'_, L>, b: View<'_, R>, factors: Fp8<'_>) -> Result<()>
    where
        L: Times<R, C>,
        R: Eight,
    {
        let Fp8 { alpha, beta, sums } = factors;
        let scales = if let Fp8Sums::Scaled { a, b } = sums { Some((a, b)) } else { None };
        let on = |engine: &crate::engine::Engine| engine.is(&self.engine);
        if !on(&a.of.engine) || !on(&b.of.engine) || scales.is_some_and(|(a, b)| !on(&a.engine) || !on(&b.engine)) {
            return Err(Error::Usage("matrices of different engines cannot be multiplied".into()));
        }
        if a.count != 1 || b.count != 1 {
            return Err(Error::Usage("fp8 products take one A and one B, not a batch".into()));
        }
        let adding = match sums {
            Fp8Sums::Fast => Adding::OnTensorCores,
            Fp8Sums::Promoted => Adding::Promoted,
            Fp8Sums::Scaled { a: of_a, b: of_b } => {
                let steps = a.columns.div_ceil(DEPTH);
                for (what, rows, of) in [("A", a.rows, of_a), ("B", b.columns.div_ceil(COLUMNS_SCALED), of_b)] {
                    if [of.rows, of.columns] != [rows, steps] {
                        let (have, has) = (of.rows, of.columns);
                        return Err(Error::Usage(format!(
                            "{have} x {has} scales for {rows} x {steps} blocks of {what}"
                        )));
                    }
                }
                Adding::Scaled { a: of_a.buffer.view(), b: of_b.buffer.view() }
            }
        };
        let (m, n) = (self.rows, self.columns);
        let c = rungs_kernels::ladder::matmul::Matrix::new(self.buffer.view(), m, n, n);
        let product = Product { a: a.matrix(), b: b.matrix(), c, alpha, beta, adding };
        Ok(sequence(&self.engine)?.run(&self.engine, product)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Engine;
    use simt::{F8E4M3, F8E5M2};

    fn matrix(engine: &Engine, rows: usize, columns: usize) -> DeviceMatrix<F8E4M3> {
        DeviceMatrix::from_rows(engine, rows, columns, &vec![F8E4M3::from_f32(1.0); rows * columns]).unwrap()
    }

    /// A k that is no multiple of 16 is a part of more; so is a product of nothing.
    #[test]
    fn a_part_of_the_columns_is_multiplied() {
        let engine = Engine::simulator();
        let (a, b) = (matrix(&engine, 5, 48), matrix(&engine, 7, 32));
        for (k, want) in [(21, 21.0), (1, 1.0), (0, 0.0)] {
            for sums in [Fp8Sums::Fast, Fp8Sums::Promoted] {
                let mut c = DeviceMatrix::from_rows(&engine, 5, 7, &[f32::NAN; 35]).unwrap();
                let (of_a, of_b) = (a.part(0..5, 16..16 + k).unwrap(), b.part(0..7, 0..k).unwrap().transposed());
                c.set_product_fp8(of_a, of_b, Fp8 { sums, ..Fp8::default() }).unwrap();
                assert_eq!(c.to_rows().unwrap(), [want; 35], "{k}");
            }
        }
    }

    #[test]
    fn what_does_not_suit_is_refused_by_name() {
        let (engine, other) = (Engine::simulator(), Engine::simulator());
        let (a, b) = (matrix(&engine, 4, 32), matrix(&engine, 8, 32));
        let scales = |engine: &Engine, rows| DeviceMatrix::from_rows(engine, rows, 1, &vec![1.0f32; rows]).unwrap();
        let (four, one, elsewhere) = (scales(&engine, 4), scales(&engine, 1), scales(&other, 1));
        let mut c = DeviceMatrix::<f32>::uninit(&engine, 4, 8).unwrap();
        let plain = Fp8::default();
        let scaled = |a, b| Fp8 { sums: Fp8Sums::Scaled { a, b }, ..plain };
        c.set_product_fp8(a.view(), b.transposed(), scaled(&four, &one)).unwrap();
        let mut refused = |a: View<F8E4M3>, b: View<F8E4M3>, factors: Fp8, what: &str| {
            let why = c.set_product_fp8(a, b, factors).err().map(|e| e.to_string()).unwrap_or_default();
            assert!(why.contains(what), "{why:?} does not say {what:?}");
        };
        let square = matrix(&engine, 32, 32);
        refused(a.view(), square.part(0..32, 0..8).unwrap(), plain, "B by columns");
        refused(square.part(0..32, 0..4).unwrap().transposed(), b.transposed(), plain, "A by rows");
        refused(a.view(), b.view(), plain, "A of 4 x 32 times B of 8 x 32");
        let (narrow, wide) = (matrix(&engine, 4, 20), matrix(&engine, 8, 20));
        refused(narrow.view(), wide.transposed(), plain, "Store each run of 20 elements in 32 places");
        let (from, to) = (a.part(0..4, 8..24).unwrap(), b.part(0..8, 0..16).unwrap().transposed());
        refused(from, to, plain, "A begins at");
        refused(a.batch(2, 2).unwrap(), b.transposed(), plain, "not a batch");
        refused(a.view(), b.transposed(), scaled(&one, &one), "1 x 1 scales for 4 x 1 blocks of A");
        refused(a.view(), b.transposed(), scaled(&four, &four), "4 x 1 scales for 1 x 1 blocks of B");
        refused(a.view(), b.transposed(), scaled(&four, &elsewhere), "different engines");
        refused(a.view(), matrix(&other, 8, 32).transposed(), plain, "different engines");
        let others = DeviceMatrix::from_rows(&engine, 8, 32, &[F8E5M2::from_f32(1.0); 256]).unwrap();
        let why = c.set_product_fp8(a.view(), others.transposed(), scaled(&four, &one)).unwrap_err().to_string();
        assert!(why.contains("both of e4m3"), "{why}");
    }
}
