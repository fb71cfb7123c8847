//! Matrix product.

use super::apart::Apart;
use super::upload::Uploaded;
use super::{
    Family, Kind, OpenProblem, Prepared, Problem, RateUnit, Rung, Size, Sizes, Work, Workload, entry, verdict,
};
use crate::data::{Data, Difference, Distribution, Dtype};
use crate::engine::{AnyBuffer, Buffer, Engine};
use crate::error::{Error, Result};
use rungs_kernels::ladder::Ladder;
use rungs_kernels::ladder::matmul::{Matmul, Matrix, Product};
use std::rc::Rc;

/// The family of a ladder of matrix products.
pub fn family(ladder: &'static Ladder<Matmul>, sizes: Sizes) -> Family {
    Family { dtypes: &[Dtype::F32], input: Distribution::Small, ..Family::new(ladder, Kind::Matmul, sizes, problem) }
}

/// A and B on the host. Elements drawn as `small` are integers from -4 to 4, so that every product and sum is exact in
/// `f32` and the whole of C can be compared without a tolerance.
struct MatmulProblem {
    ladder: &'static Ladder<Matmul>,
    m: usize,
    n: usize,
    k: usize,
    a: Vec<f32>,
    b: Vec<f32>,
    uploaded: Uploaded<f32>,
}

fn problem(ladder: &'static Ladder<Matmul>, workload: Workload) -> Result<Box<dyn Problem>> {
    let Size::Product { m, n, k } = workload.size else {
        return Err(Error::Usage("matmul takes m x n x k".into()));
    };
    for (what, rows, columns) in [("A", m, k), ("B", k, n), ("C", m, n)] {
        if rows.checked_mul(columns).is_none_or(|n| n > u32::MAX as u64) {
            let limit = u32::MAX;
            return Err(Error::Usage(format!("{what} would have {rows} x {columns} elements; the limit is {limit}")));
        }
    }
    let (a, b) = match workload.input {
        Some(input) => match <[Data; 2]>::try_from(input) {
            Ok([Data::F32(a), Data::F32(b)]) => (a, b),
            _ => return Err(Error::Usage("matmul takes two matrices of f32".into())),
        },
        None => {
            let draw = |elements, seed| workload.distribution.keys(elements, seed);
            (draw(m * k, workload.seed)?, draw(k * n, workload.seed.wrapping_add(1))?)
        }
    };
    Ok(Box::new(MatmulProblem {
        ladder,
        m: m as usize,
        n: n as usize,
        k: k as usize,
        a,
        b,
        uploaded: Uploaded::default(),
    }))
}

impl OpenProblem for MatmulProblem {
    fn input(&self, engine: &Engine) -> Result<Rc<dyn AnyBuffer>> {
        Ok(self.uploaded.get(engine, &[&self.a, &self.b])?)
    }

    fn check(&self, who: &str, output: &dyn AnyBuffer) -> Result<()> {
        let got = output.download_as::<f32>()?;
        let difference =
            |(index, want): (usize, f64)| Difference { index, left: got[index].to_string(), right: want.to_string() };
        verdict("matmul", who, self.n, self.first_difference(&got).map(difference))
    }
}

impl Problem for MatmulProblem {
    fn size(&self) -> Size {
        Size::Product { m: self.m as u64, n: self.n as u64, k: self.k as u64 }
    }

    fn work(&self) -> Work {
        let (m, n, k) = (self.m as f64, self.n as f64, self.k as f64);
        let flops = 2.0 * m * n * k;
        Work { amount: flops, unit: RateUnit::Gigaflops, bytes: 4.0 * (m * k + k * n + m * n), flops }
    }

    fn prepare(&self, engine: &Engine, rung: &Rung) -> Result<Box<dyn Prepared + '_>> {
        let mut launches = entry(self.ladder, rung)?.multiplier(engine)?;
        let ab = self.uploaded.get(engine, &[&self.a, &self.b])?;
        let (m, n, k) = (self.m as u32, self.n as u32, self.k as u32);
        // All ones are NaN, so an element that is never written is detected.
        Apart::prepare(self, rung, ab, (self.m * self.n, 0xFF), |_| {
            Ok(Box::new(move |ab: &Buffer<f32>, c: &Buffer<f32>| {
                let matrix = |buffer: &Buffer<f32>, start, rows, columns| {
                    let data = buffer.slice(start, rows as usize * columns as usize);
                    Matrix::new(data, rows, columns, columns)
                };
                let (a, b) = (matrix(ab, 0, m, k), matrix(ab, m as usize * k as usize, k, n));
                Ok(launches.run(ab.engine(), Product::new(a, b, matrix(c, 0, m, n)))?)
            }))
        })
    }

    fn open(&self) -> Option<&dyn OpenProblem> {
        Some(self)
    }
}

/// Products up to this many multiply-adds are computed in full for comparison.
const FULL_ORACLE: usize = 1 << 31;

impl MatmulProblem {
    /// The first wrong element of C, with the expected value.
    ///
    /// A drawn product of any size is checked exactly: with integers x, C·x must equal A·(B·x), computed modulo 2⁶⁴,
    /// for several random x; a wrong row survives each with a probability below 2⁻⁵⁰. The row that fails is then
    /// computed in full. A product of given matrices is computed in full in `f64`, and compared within the rounding
    /// that k additions in `f32` can make.
    fn first_difference(&self, c: &[f32]) -> Option<(usize, f64)> {
        let largest = |v: &[f32]| v.iter().fold(0.0f32, |most, x| most.max(x.abs()));
        let integers = |v: &[f32]| v.iter().all(|x| x.fract() == 0.0);
        // Every partial sum is then an integer that f32 holds exactly.
        let exact = largest(&self.a) as f64 * largest(&self.b) as f64 * self.k as f64 <= (1 << 24) as f64
            && integers(&self.a)
            && integers(&self.b);
        if exact && self.m * self.n * self.k > FULL_ORACLE {
            return self.wrong_row(c).and_then(|row| self.row_difference(c, row, exact));
        }
        (0..self.m).find_map(|row| self.row_difference(c, row, exact))
    }

    /// A row of C that differs from A·B, by random vectors.
    fn wrong_row(&self, c: &[f32]) -> Option<usize> {
        (1..=3u64).find_map(|round| {
            let draw = |i: usize| (i as u64 + (round << 40)).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(31) | 1;
            let x: Vec<u64> = (0..self.n).map(|i| draw(i).wrapping_mul(0xD6E8_FEB8_6659_FD93)).collect();
            let bx = times(&self.b, self.n, &x);
            let (abx, cx) = (times(&self.a, self.k, &bx), times(c, self.n, &x));
            let wrong = abx.iter().zip(&cx).position(|(a, c)| a != c);
            // NaN and fractions become some integer above, and could by accident become the right one.
            wrong.or_else(|| c.iter().position(|v| v.fract() != 0.0 || v.is_nan()).map(|i| i / self.n))
        })
    }

    fn row_difference(&self, c: &[f32], row: usize, exact: bool) -> Option<(usize, f64)> {
        let a = &self.a[row * self.k..][..self.k];
        let (mut sums, mut sizes) = (vec![0.0f64; self.n], vec![0.0f64; self.n]);
        for (&a, b) in a.iter().zip(self.b.chunks(self.n.max(1))) {
            for ((sum, size), &b) in sums.iter_mut().zip(&mut sizes).zip(b) {
                let product = a as f64 * b as f64;
                *sum += product;
                *size += product.abs();
            }
        }
        let tolerance = if exact { 0.0 } else { f32::EPSILON as f64 * (self.k as f64 + 1.0) };
        let right = |got: f32, want: f64, size: f64| {
            (got as f64 - want).abs() <= tolerance * size || (got as f64 == want) || (got.is_nan() && want.is_nan())
        };
        let got = &c[row * self.n..][..self.n];
        let at = (0..self.n).find(|&i| !right(got[i], sums[i], sizes[i]))?;
        Some((row * self.n + at, sums[at]))
    }
}

/// A matrix of integers times a vector, modulo 2⁶⁴.
fn times(matrix: &[f32], columns: usize, x: &[u64]) -> Vec<u64> {
    let dot =
        |row: &[f32]| row.iter().zip(x).fold(0u64, |sum, (&a, &x)| sum.wrapping_add((a as i64 as u64).wrapping_mul(x)));
    matrix.chunks(columns.max(1)).map(dot).collect()
}
