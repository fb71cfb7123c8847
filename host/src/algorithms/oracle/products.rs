//! The right values of C = alpha·A·B + beta·C, and the comparison of a result with them.

use rayon::iter::{IntoParallelIterator, ParallelIterator};
use rayon::slice::ParallelSlice;
use rungs_kernels::ladder::matmul::Precision;

/// A product, all its matrices by rows.
pub struct Product {
    /// Rows of A and C.
    pub m: usize,
    /// Columns of B and C.
    pub n: usize,
    /// Columns of A, rows of B.
    pub k: usize,
    /// A.
    pub a: Vec<f32>,
    /// B.
    pub b: Vec<f32>,
    /// What is in C before; empty if `beta` is 0.
    pub c: Vec<f32>,
    /// The factor of A·B.
    pub alpha: f32,
    /// The factor of what is in C before.
    pub beta: f32,
}

/// Products up to this many multiply-adds are computed in full for comparison.
const FULL_ORACLE: usize = 1 << 31;

/// Rows of a larger product that are computed in full.
const SAMPLE: usize = 64;

/// How many times the error that is likely in a sum of elements of C is allowed to it. What is likely grows with the
/// square root of the number of roundings.
const UNLIKELY: f64 = 32.0;

impl Product {
    /// The first element of C that is wrong for a product of this precision, with the expected value.
    ///
    /// A product of integers of any size is checked exactly: with integers x, C·x must equal A·(B·x), computed modulo
    /// 2⁶⁴, for several random x; a wrong row survives each with a probability below 2⁻⁵⁰. The row that fails is then
    /// computed in full. Other products are computed in full in `f64`, and compared within [`Precision::bound`]. If
    /// they are large, that is done for some rows, and all are compared by C·x as above, in `f64`, within [`UNLIKELY`]
    /// times [`Precision::likely`].
    pub fn first_difference(&self, c: &[f32], precision: Precision) -> Option<(usize, f64)> {
        let largest = |v: &[f32]| v.iter().fold(0.0f32, |most, x| most.max(x.abs())) as f64;
        let integers = |v: &[f32]| v.iter().all(|x| x.fract() == 0.0);
        let (of_a, of_b) = (largest(&self.a), largest(&self.b));
        let of_products = of_a * of_b * self.k as f64;
        let of_c = f64::from(self.beta.abs()) * largest(&self.c);
        // Every partial sum is then an integer that f32 holds exactly, also if a factor is applied to it.
        let exact = f64::from(self.alpha.abs().max(1.0)) * of_products + of_c <= (1 << 24) as f64
            && of_a.max(of_b) <= precision.exact_to()
            && integers(&[self.alpha, self.beta])
            && [&self.a, &self.b, &self.c].into_iter().all(|v| integers(v));
        let tolerance = if exact { 0.0 } else { precision.bound(self.k) };
        let row_difference = |row| self.row_difference(c, row, tolerance);
        if self.m * self.n * self.k <= FULL_ORACLE {
            return (0..self.m).find_map(row_difference);
        }
        if exact {
            return self.wrong_row(c).and_then(row_difference);
        }
        let sample = (0..SAMPLE).into_par_iter().filter_map(|i| row_difference(i * (self.m - 1) / (SAMPLE - 1)));
        sample.min_by_key(|(at, _)| *at).or_else(|| self.unlikely_row(c, precision))
    }

    /// A row of C that differs from alpha·A·B + beta·C, by random vectors of integers.
    fn wrong_row(&self, c: &[f32]) -> Option<usize> {
        (1..=3u64).find_map(|round| {
            let draw = |i: usize| (i as u64 + (round << 40)).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(31) | 1;
            let x: Vec<u64> = (0..self.n).map(|i| draw(i).wrapping_mul(0xD6E8_FEB8_6659_FD93)).collect();
            let factor = |f: f32| f as i64 as u64;
            let integer = |sum: u64, a: f32, x: u64| sum.wrapping_add((a as i64 as u64).wrapping_mul(x));
            let bx = times(&self.b, self.n, &x, integer);
            let (abx, cx) = (times(&self.a, self.k, &bx, integer), times(c, self.n, &x, integer));
            let before = if self.c.is_empty() { vec![0; self.m] } else { times(&self.c, self.n, &x, integer) };
            let want = |i: usize| {
                abx[i].wrapping_mul(factor(self.alpha)).wrapping_add(before[i].wrapping_mul(factor(self.beta)))
            };
            let wrong = (0..self.m).find(|&i| cx[i] != want(i));
            // NaN and fractions become some integer above, and could by accident become the right one.
            wrong.or_else(|| c.iter().position(|v| v.fract() != 0.0 || v.is_nan()).map(|i| i / self.n))
        })
    }

    /// The first element of a row of C whose sum with random signs is further from the right one than is likely, and
    /// the right value of that element.
    fn unlikely_row(&self, c: &[f32], precision: Precision) -> Option<(usize, f64)> {
        let square = |sum: f64, a: f32, x: f64| sum + f64::from(a) * f64::from(a) * x;
        let plain = |sum: f64, a: f32, x: f64| sum + f64::from(a) * x;
        let (alpha, beta) = (f64::from(self.alpha), f64::from(self.beta));
        let of_c = |x: &[f64], f: fn(f64, f32, f64) -> f64| {
            if self.c.is_empty() { vec![0.0; self.m] } else { times(&self.c, self.n, x, f) }
        };
        let ones = vec![1.0; self.n];
        let squares = times(&self.a, self.k, &times(&self.b, self.n, &ones, square), square);
        let squares_c = of_c(&ones, |sum, a, x| sum + f64::from(a) * f64::from(a) * x);
        let row = (1..=3u64).find_map(|round| {
            let sign = |i: usize| (i as u64 + (round << 40)).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 63;
            let x: Vec<f64> = (0..self.n).map(|i| if sign(i) == 0 { 1.0 } else { -1.0 }).collect();
            let (abx, cx) =
                (times(&self.a, self.k, &times(&self.b, self.n, &x, plain), plain), times(c, self.n, &x, plain));
            let before = of_c(&x, |sum, a, x| sum + f64::from(a) * x);
            (0..self.m).find(|&i| {
                let likely = (alpha * alpha * squares[i] + beta * beta * squares_c[i]).sqrt();
                let error = (cx[i] - (alpha * abx[i] + beta * before[i])).abs();
                error > UNLIKELY * precision.likely(self.k) * likely || error.is_nan()
            })
        })?;
        // Which element it is: the one furthest from its right value.
        let (wants, _) = self.row(row);
        let error = |&i: &usize| (f64::from(c[row * self.n + i]) - wants[i]).abs();
        let worst = (0..self.n).max_by(|a, b| error(a).total_cmp(&error(b)))?;
        Some((row * self.n + worst, wants[worst]))
    }

    /// A row of C as it should be, and the sums of the absolute values of all terms.
    fn row(&self, row: usize) -> (Vec<f64>, Vec<f64>) {
        let a = &self.a[row * self.k..][..self.k];
        let (mut sums, mut sizes) = (vec![0.0f64; self.n], vec![0.0f64; self.n]);
        for (&a, b) in a.iter().zip(self.b.chunks(self.n.max(1))) {
            for ((sum, size), &b) in sums.iter_mut().zip(&mut sizes).zip(b) {
                let product = a as f64 * b as f64;
                *sum += product;
                *size += product.abs();
            }
        }
        let (alpha, beta) = (f64::from(self.alpha), f64::from(self.beta));
        for (i, (sum, size)) in sums.iter_mut().zip(&mut sizes).enumerate() {
            // With a factor of 0 there is nothing to multiply, not even NaN.
            let before = if self.c.is_empty() { 0.0 } else { beta * f64::from(self.c[row * self.n + i]) };
            let of_products = |x: f64| if alpha == 0.0 { 0.0 } else { alpha * x };
            (*sum, *size) = (of_products(*sum) + before, of_products(*size).abs() + before.abs());
        }
        (sums, sizes)
    }

    fn row_difference(&self, c: &[f32], row: usize, tolerance: f64) -> Option<(usize, f64)> {
        let (sums, sizes) = self.row(row);
        let right = |got: f32, want: f64, size: f64| {
            (got as f64 - want).abs() <= tolerance * size || (got as f64 == want) || (got.is_nan() && want.is_nan())
        };
        let got = &c[row * self.n..][..self.n];
        let at = (0..self.n).find(|&i| !right(got[i], sums[i], sizes[i]))?;
        Some((row * self.n + at, sums[at]))
    }
}

/// A matrix times a vector: of each row, `add` folded over its elements and those of the vector.
fn times<T: Copy + Default + Send + Sync>(
    matrix: &[f32],
    columns: usize,
    x: &[T],
    add: impl Fn(T, f32, T) -> T + Sync,
) -> Vec<T> {
    let dot = |row: &[f32]| row.iter().zip(x).fold(T::default(), |sum, (&a, &x)| add(sum, a, x));
    matrix.par_chunks(columns.max(1)).map(dot).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Distribution;

    /// The check of a large product takes what is right, and finds a single wrong element anywhere.
    #[test]
    fn one_wrong_element_of_a_large_product_is_found() {
        let (m, n, k) = (1 << 10, 1 << 11, 1 << 11);
        for distribution in [Distribution::Small, Distribution::Uniform] {
            let draw = |elements: usize, seed| distribution.keys::<f32>(elements as u64, seed).unwrap();
            let (a, b, c) = (draw(m * k, 3), draw(k * n, 4), draw(m * n, 5));
            let product = Product { m, n, k, a, b, c, alpha: 2.0, beta: -1.0 };
            assert!(m * n * k > FULL_ORACLE);
            let rows = (0..m).into_par_iter().flat_map_iter(|row| product.row(row).0);
            let (mut c, precision) = (rows.map(|x| x as f32).collect::<Vec<f32>>(), Precision::F32);
            assert_eq!(product.first_difference(&c, precision), None, "{distribution:?}");
            for at in [0, n - 1, 777 * n + 5, m * n - 1] {
                for wrong in [f32::NAN, c[at] + 3.0, 0.5 - c[at], f32::INFINITY] {
                    let right = std::mem::replace(&mut c[at], wrong);
                    let found = product.first_difference(&c, precision).map(|(i, _)| i);
                    assert_eq!(found, Some(at), "{distribution:?}: {wrong} for {right}");
                    c[at] = right;
                }
            }
        }
    }

    /// A product of rounded elements is right where elements are rounded, and nowhere else; whole numbers that are not
    /// changed by that have exact products all the same.
    #[test]
    fn each_precision_has_its_own_bound() {
        let (m, n, k) = (16, 40, 70);
        let rounded = |v: &[f32]| v.iter().map(|x| f32::from_bits((x.to_bits() + 0x1000) & !0x1FFF)).collect();
        for (distribution, exact) in [(Distribution::Uniform, false), (Distribution::Small, true)] {
            let draw = |elements: usize, seed| distribution.keys::<f32>(elements as u64, seed).unwrap();
            let (a, b) = (draw(m * k, 3), draw(k * n, 4));
            let of = |a: Vec<f32>, b: Vec<f32>| Product { m, n, k, a, b, c: vec![], alpha: 1.0, beta: 0.0 };
            let of_rounded = of(rounded(&a), rounded(&b));
            let product = of(a, b);
            let mut c: Vec<f32> = (0..m).flat_map(|row| of_rounded.row(row).0).map(|x| x as f32).collect();
            assert_eq!(product.first_difference(&c, Precision::Tf32), None);
            assert_eq!(product.first_difference(&c, Precision::F32).is_none(), exact);
            assert_eq!(product.first_difference(&c, Precision::ThreeTf32).is_none(), exact);
            c[5] += 0.25;
            assert_eq!(product.first_difference(&c, Precision::Tf32).map(|(at, _)| at), Some(5));
        }
    }
}
