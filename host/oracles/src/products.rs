//! The right values of C = alpha·A·B + beta·C, and the comparison of a result with them.

use rayon::iter::{IntoParallelIterator, ParallelIterator};
use rungs_kernels::ladder::matmul::Precision;
use simt::{bf16, f16};
use std::ops::Range;
use std::sync::OnceLock;

/// A type of elements of matrices.
pub trait Number: Copy + Into<f64> + Send + Sync {
    /// The relative error of a number that is rounded to this type, where that is more than sums have.
    const ROUNDING: f64;

    /// The nearest element.
    fn nearest(x: f64) -> Self;

    /// Elements as numbers of 64 bits, all exactly; `to` is as long as `elements`.
    fn widen(elements: &[Self], to: &mut [f64]);

    /// A matrix of `rows` × `columns` by rows, made of one by columns.
    fn turned(by_columns: &[Self], rows: usize, columns: usize) -> Vec<Self>;
}

/// The loops are compiled here, for each type, and so are optimised wherever they are called from.
macro_rules! numbers {
    ($($T:ty: $rounding:expr, $nearest:expr;)*) => {$(
        impl Number for $T {
            const ROUNDING: f64 = $rounding;

            fn nearest(x: f64) -> Self {
                $nearest(x)
            }

            fn widen(elements: &[Self], to: &mut [f64]) {
                to.iter_mut().zip(elements).for_each(|(wide, &element)| *wide = element.into());
            }

            fn turned(by_columns: &[Self], rows: usize, columns: usize) -> Vec<Self> {
                (0..rows).flat_map(|row| (0..columns).map(move |column| by_columns[column * rows + row])).collect()
            }
        }
    )*};
}
numbers! {
    f32: 0.0, |x| x as f32;
    f64: 0.0, |x| x;
    f16: 1.0 / (1 << 11) as f64, Self::from_f64;
    bf16: 1.0 / (1 << 8) as f64, Self::from_f64;
}

/// A matrix of elements of any type, by rows.
trait Matrix: Sync {
    /// Elements.
    fn len(&self) -> usize;

    /// The elements from `start` on, as numbers of 64 bits.
    fn widen(&self, start: usize, to: &mut [f64]);
}

impl<T: Number> Matrix for &[T] {
    fn len(&self) -> usize {
        <[T]>::len(self)
    }

    fn widen(&self, start: usize, to: &mut [f64]) {
        T::widen(&self[start..][..to.len()], to);
    }
}

/// A product, all its matrices by rows.
pub struct Product<T> {
    /// Rows of A and C.
    pub m: usize,
    /// Columns of B and C.
    pub n: usize,
    /// Columns of A, rows of B.
    pub k: usize,
    /// A.
    pub a: Vec<T>,
    /// B.
    pub b: Vec<T>,
    /// What is in C before; empty if `beta` is 0.
    pub c: Vec<T>,
    /// The factor of A·B.
    pub alpha: f64,
    /// The factor of what is in C before.
    pub beta: f64,
    /// What is known of C: the matrices do not change once it has been compared.
    pub known: Known,
}

/// The rows of a product as they should be, from the first comparison on: a check compares once per schedule.
#[derive(Default)]
pub struct Known(OnceLock<Vec<Row>>);

/// A row of C as it should be, and the sums of the absolute values of all terms; of elements of 8 bits, the errors that
/// the sums may have.
type Row = (Vec<f64>, Vec<f64>);

/// Elements of C up to which rows are kept.
const KEPT: usize = 1 << 20;

/// Products up to this many multiply-adds are computed in full for comparison.
const FULL_ORACLE: usize = 1 << 31;

/// Rows of a larger product that are computed in full.
const SAMPLE: usize = 64;

/// How many times the error that is likely in a sum of elements of C is allowed to it. What is likely grows with the
/// square root of the number of roundings.
const UNLIKELY: f64 = 32.0;

/// How many times the largest error of rounding elements of C to 16 bits is allowed to a sum of elements of random
/// signs, relative to the root of the sum of their squares. These errors have known bounds, so that this is far.
const UNLIKELY_ROUNDING: f64 = 4.0;

/// Rows of C that are computed together at most: for them each row of B is widened once.
const GROUP: usize = 16;

impl<T: Number> Product<T> {
    /// The first element of C that is wrong for a product of this precision, with the expected value. C is of the type
    /// of A and B, or of another to which elements are rounded.
    ///
    /// A product of integers of any size is checked exactly, if C holds it without rounding: with integers x, C·x must
    /// equal A·(B·x), computed modulo 2⁶⁴, for several random x; a wrong row survives each with a probability below
    /// 2⁻⁵⁰. The row that fails is then computed in full. Other products are computed in full in `f64`, and compared
    /// within [`Precision::bound`], or for elements of 8 bits within what the partial sums allow. If they are large,
    /// that is done for some rows, and all are compared by C·x as above, in `f64`, within `UNLIKELY` times
    /// [`Precision::likely`]. So are integers where C is rounded; rows are then compared bit by bit.
    pub fn first_difference<C: Number>(&self, c: &[C], precision: Precision) -> Option<(usize, f64)> {
        let got = Got { c: &c, rounding: C::ROUNDING, nearest: |x| C::nearest(x).into() };
        self.with(|product| product.first_difference(&got, precision))
    }

    /// `work` with the matrices as those of no type: what it computes is compiled here, once.
    fn with<R>(&self, work: impl FnOnce(&Wide) -> R) -> R {
        let Self { m, n, k, alpha, beta, .. } = *self;
        let (a, b, c) = (&&self.a[..], &&self.b[..], &&self.c[..]);
        work(&Wide { m, n, k, a, b, c, alpha, beta, known: &self.known })
    }
}

/// A [`Product`] of elements of any type.
struct Wide<'a> {
    m: usize,
    n: usize,
    k: usize,
    a: &'a dyn Matrix,
    b: &'a dyn Matrix,
    c: &'a dyn Matrix,
    alpha: f64,
    beta: f64,
    known: &'a Known,
}

/// What is compared with a product.
struct Got<'a> {
    c: &'a dyn Matrix,
    /// [`Number::ROUNDING`] of its elements.
    rounding: f64,
    /// The nearest element, as a number of 64 bits.
    nearest: fn(f64) -> f64,
}

impl Wide<'_> {
    fn first_difference(&self, got: &Got, precision: Precision) -> Option<(usize, f64)> {
        let largest = |v| fold(v, 0.0f64, |most, x| most.max(x.abs()));
        let integers = |v| fold(v, true, |all, x| all && x.fract() == 0.0);
        let (of_a, of_b) = (largest(self.a), largest(self.b));
        let of_products = of_a * of_b * self.k as f64;
        let of_c = self.beta.abs() * largest(self.c);
        let whole = self.alpha.fract() == 0.0
            && self.beta.fract() == 0.0
            && [self.a, self.b, self.c].map(integers) == [true; 3];
        // Every partial sum is then an integer that sums hold exactly, also if a factor is applied to it.
        let exact = self.alpha.abs().max(1.0) * of_products + of_c <= precision.exact_sums_to()
            && of_a.max(of_b) <= precision.exact_to()
            && whole;
        let tolerance = match precision.depth(self.k) {
            _ if exact => 0.0,
            0 => precision.bound(self.k),
            _ => 1.0,
        };
        let difference = |rows: &[usize]| self.difference(got, rows, precision, tolerance);
        if self.m * self.n * self.k <= FULL_ORACLE {
            return difference(&(0..self.m).collect::<Vec<_>>());
        }
        // Sums of elements of 8 bits are mostly exact even where they need not be: their terms have two signs.
        if (exact || whole && precision.depth(self.k) > 0) && got.rounding == 0.0 {
            let wrong = self.wrong_row(got.c);
            if exact || wrong.is_none() {
                return wrong.and_then(|row| difference(&[row]));
            }
        }
        let sample: Vec<_> = (0..SAMPLE).map(|i| i * (self.m - 1) / (SAMPLE - 1)).collect();
        difference(&sample).or_else(|| self.unlikely_row(got, precision, tolerance))
    }

    /// A row of C that differs from alpha·A·B + beta·C, by random vectors of integers.
    fn wrong_row(&self, c: &dyn Matrix) -> Option<usize> {
        (1..=3u64).find_map(|round| {
            let draw = |i: usize| (i as u64 + (round << 40)).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(31) | 1;
            let x: Vec<u64> = (0..self.n).map(|i| draw(i).wrapping_mul(0xD6E8_FEB8_6659_FD93)).collect();
            let factor = |f: f64| f as i64 as u64;
            let integer = |sum: u64, a: f64, x: u64| sum.wrapping_add((a as i64 as u64).wrapping_mul(x));
            let bx = times(self.b, &x, integer);
            let (abx, cx, before) =
                (times(self.a, &bx, integer), times(c, &x, integer), self.of_c(|c| times(c, &x, integer)));
            let want = |i: usize| {
                abx[i].wrapping_mul(factor(self.alpha)).wrapping_add(before[i].wrapping_mul(factor(self.beta)))
            };
            let wrong = (0..self.m).find(|&i| cx[i] != want(i));
            // NaN and fractions become some integer above, and could by accident become the right one.
            wrong.or_else(|| {
                let odd = of_rows(c, self.n, |row| row.iter().any(|v| v.fract() != 0.0 || v.is_nan()));
                odd.into_iter().position(|odd| odd)
            })
        })
    }

    /// A number for each row of what is in C before; zeroes where that is nothing.
    fn of_c<R: Copy + Default>(&self, of: impl FnOnce(&dyn Matrix) -> Vec<R>) -> Vec<R> {
        if self.c.len() == 0 { vec![R::default(); self.m] } else { of(self.c) }
    }

    /// The first element of a row of C whose sum with random signs is further from the right one than is likely, and
    /// the right value of that element. Rows that have no such sum are compared within `tolerance`.
    fn unlikely_row(&self, got: &Got, precision: Precision, tolerance: f64) -> Option<(usize, f64)> {
        let square = |sum: f64, a: f64, x: f64| sum + a * a * x;
        let plain = |sum: f64, a: f64, x: f64| sum + a * x;
        let (alpha, beta, c) = (self.alpha, self.beta, got.c);
        // The sums here are as long as C is wide, and no more precise than those of f64 in C.
        let likely_error =
            UNLIKELY * precision.likely(self.k.max(if precision == Precision::F64 { self.n } else { 0 }));
        let ones = vec![1.0; self.n];
        let squares = times(self.a, &times(self.b, &ones, square), square);
        let squares_c = self.of_c(|c| times(c, &ones, square));
        let rounded = times(c, &ones, square);
        // A row with an element that is infinite or NaN has no sum to compare.
        let odd: Vec<_> = (0..self.m).filter(|&i| !rounded[i].is_finite()).collect();
        if let Some(found) = self.difference(got, &odd, precision, tolerance) {
            return Some(found);
        }
        let row = (1..=3u64).find_map(|round| {
            let sign = |i: usize| (i as u64 + (round << 40)).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 63;
            let x: Vec<f64> = (0..self.n).map(|i| if sign(i) == 0 { 1.0 } else { -1.0 }).collect();
            let (abx, cx) = (times(self.a, &times(self.b, &x, plain), plain), times(c, &x, plain));
            let before = self.of_c(|c| times(c, &x, plain));
            (0..self.m).filter(|&i| rounded[i].is_finite()).find(|&i| {
                let likely = (alpha * alpha * squares[i] + beta * beta * squares_c[i]).sqrt();
                let error = (cx[i] - (alpha * abx[i] + beta * before[i])).abs();
                let of_each = got.rounding + precision.usual_cut_off(self.k);
                let of_rounding = UNLIKELY_ROUNDING * of_each * rounded[i].sqrt();
                error > likely_error * likely + of_rounding || error.is_nan()
            })
        })?;
        // Which element it is: the one furthest from its right value.
        let (wants, _) = self.rows(&[row], precision).swap_remove(0);
        let row_of_c = part(c, row * self.n..(row + 1) * self.n);
        let error = |&i: &usize| (row_of_c[i] - wants[i]).abs();
        let worst = (0..self.n).max_by(|a, b| error(a).total_cmp(&error(b)))?;
        Some((row * self.n + worst, wants[worst]))
    }

    /// Rows of C. Each row of B is widened once for all of them.
    fn rows(&self, rows: &[usize], precision: Precision) -> Vec<Row> {
        if precision.depth(self.k) > 0 {
            return self.rows_of_eight(rows, precision);
        }
        let of_a: Vec<_> = rows.iter().map(|row| part(self.a, row * self.k..(row + 1) * self.k)).collect();
        let mut made = vec![(vec![0.0f64; self.n], vec![0.0f64; self.n]); rows.len()];
        let mut of_b = vec![0.0; self.n];
        for e in 0..self.k {
            self.b.widen(e * self.n, &mut of_b);
            for ((sums, sizes), a) in made.iter_mut().zip(&of_a) {
                let a = a[e];
                for ((sum, size), b) in sums.iter_mut().zip(sizes).zip(&of_b) {
                    let product = a * b;
                    *sum += product;
                    *size += product.abs();
                }
            }
        }
        let (alpha, beta) = (self.alpha, self.beta);
        for ((sums, sizes), row) in made.iter_mut().zip(rows) {
            let of_c = (self.c.len() > 0).then(|| part(self.c, row * self.n..(row + 1) * self.n));
            for (i, (sum, size)) in sums.iter_mut().zip(sizes).enumerate() {
                // With a factor of 0 there is nothing to multiply, not even NaN.
                let before = of_c.as_ref().map_or(0.0, |c| beta * c[i]);
                let of_products = |x: f64| if alpha == 0.0 { 0.0 } else { alpha * x };
                (*sum, *size) = (of_products(*sum) + before, of_products(*size).abs() + before.abs());
            }
        }
        made
    }

    /// [`Wide::rows`] with sums as the tensor cores add up elements of 8 bits. No error grows with the magnitudes of
    /// the terms alone, as it would in the bounds of other types: those of long sums would let anything pass.
    fn rows_of_eight(&self, rows: &[usize], precision: Precision) -> Vec<Row> {
        /// Products of one addition.
        const STEP: usize = 32;
        /// Sums of a row of C.
        #[derive(Clone)]
        struct Sums {
            /// Finished ones, and their errors.
            sums: Vec<f64>,
            errors: Vec<f64>,
            /// Those that the tensor cores hold, what they have cut off, and the largest product of the step.
            parts: Vec<f64>,
            lost: Vec<f64>,
            largest: Vec<f64>,
        }
        let whole = [self.a, self.b].map(|v| fold(v, true, |all, x| all && x.fract() == 0.0)) == [true; 2];
        let exact = |sum: f64, of: Precision| whole && sum < of.exact_sums_to();
        let depth = precision.depth(self.k);
        let of_a: Vec<_> = rows.iter().map(|row| part(self.a, row * self.k..(row + 1) * self.k)).collect();
        let zeroes = vec![0.0f64; self.n];
        let [sums, errors, parts, lost, largest] = std::array::from_fn(|_| zeroes.clone());
        let mut made = vec![Sums { sums, errors, parts, lost, largest }; rows.len()];
        let mut of_b = zeroes;
        for e in 0..self.k {
            self.b.widen(e * self.n, &mut of_b);
            let begins_step = (e % depth).is_multiple_of(STEP);
            let ends_part = e % depth == depth - 1 || e == self.k - 1;
            let ends_step = e % depth % STEP == STEP - 1 || ends_part;
            for (row, a) in made.iter_mut().zip(&of_a) {
                let a = a[e];
                if begins_step {
                    row.largest.iter_mut().zip(&row.parts).for_each(|(largest, part)| *largest = part.abs());
                }
                for ((part, largest), b) in row.parts.iter_mut().zip(&mut row.largest).zip(&of_b) {
                    let product = a * b;
                    *part += product;
                    *largest = largest.max(product.abs());
                }
                if ends_step {
                    for ((part, lost), largest) in row.parts.iter().zip(&mut row.lost).zip(&row.largest) {
                        let largest = largest.max(part.abs()) + *lost;
                        *lost += if exact(largest, Precision::Hardware) { 0.0 } else { Precision::CUT_OFF * largest };
                    }
                }
                if ends_part {
                    let sums = row.sums.iter_mut().zip(&mut row.errors);
                    for ((sum, error), (part, lost)) in sums.zip(row.parts.iter_mut().zip(&mut row.lost)) {
                        *sum += *part;
                        let rounding = sum.abs() * f64::from(f32::EPSILON);
                        *error += *lost + if exact(sum.abs(), Precision::F32) { 0.0 } else { rounding };
                        (*part, *lost) = (0.0, 0.0);
                    }
                }
            }
        }
        let alpha = self.alpha;
        let finished = |mut row: Sums| {
            row.sums.iter_mut().for_each(|sum| *sum = if alpha == 0.0 { 0.0 } else { alpha * *sum });
            row.errors.iter_mut().for_each(|error| *error = if alpha == 0.0 { 0.0 } else { alpha.abs() * *error });
            (row.sums, row.errors)
        };
        made.into_iter().map(finished).collect()
    }

    /// The first wrong element in some rows, which are in order.
    fn difference(&self, got: &Got, rows: &[usize], precision: Precision, tolerance: f64) -> Option<(usize, f64)> {
        if self.m * self.n <= KEPT {
            // On this thread: a thread of rayon's that waits for its part may begin another comparison.
            let of_group = |rows: &[usize]| self.rows(rows, precision);
            let all = (0..self.m).collect::<Vec<_>>();
            let known = self.known.0.get_or_init(|| all.chunks(GROUP).flat_map(of_group).collect());
            return rows.iter().find_map(|&row| self.row_difference(got, row, &known[row], tolerance));
        }
        let of_group = |rows: &[usize]| {
            let made = self.rows(rows, precision);
            rows.iter().zip(&made).find_map(|(&row, right)| self.row_difference(got, row, right, tolerance))
        };
        // Few rows have smaller groups, so that each core has one.
        let group = rows.len().div_ceil(rayon::current_num_threads()).clamp(1, GROUP);
        rows.chunks(group).collect::<Vec<_>>().into_par_iter().find_map_first(of_group)
    }

    fn row_difference(&self, got: &Got, row: usize, (sums, sizes): &Row, tolerance: f64) -> Option<(usize, f64)> {
        // Whatever is between the smallest and the largest sum that may be, each rounded as an element of C is.
        let of = got.nearest;
        let right = |got: f64, want: f64, size: f64| {
            let error = tolerance * size;
            got == of(want) || (of(want - error) <= got && got <= of(want + error)) || (got.is_nan() && want.is_nan())
        };
        let row_of_c = part(got.c, row * self.n..(row + 1) * self.n);
        let at = (0..self.n).find(|&i| !right(row_of_c[i], sums[i], sizes[i]))?;
        Some((row * self.n + at, of(sums[at])))
    }
}

/// Elements of a matrix.
fn part(matrix: &dyn Matrix, of: Range<usize>) -> Vec<f64> {
    let mut part = vec![0.0; of.len()];
    matrix.widen(of.start, &mut part);
    part
}

/// All elements of a matrix, folded.
fn fold<R>(matrix: &dyn Matrix, start: R, add: impl Fn(R, f64) -> R) -> R {
    /// Elements that are widened at a time.
    const PART: usize = 4096;
    let mut sum = start;
    for at in (0..matrix.len()).step_by(PART) {
        sum = part(matrix, at..(at + PART).min(matrix.len())).into_iter().fold(sum, &add);
    }
    sum
}

/// A matrix times a vector: of each row, `add` folded over its elements and those of the vector.
fn times<T: Copy + Default + Send + Sync>(matrix: &dyn Matrix, x: &[T], add: impl Fn(T, f64, T) -> T + Sync) -> Vec<T> {
    of_rows(matrix, x.len(), |row| row.iter().zip(x).fold(T::default(), |sum, (&a, &x)| add(sum, a, x)))
}

/// Something of each row of a matrix, on all cores.
fn of_rows<R: Send>(matrix: &dyn Matrix, columns: usize, of: impl Fn(&[f64]) -> R + Sync) -> Vec<R> {
    let rows = matrix.len() / columns.max(1);
    (0..rows).into_par_iter().map(|row| of(&part(matrix, row * columns..(row + 1) * columns))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rungs::data::{Distribution, Element};
    use simt::F8E4M3;

    impl<T: Number> Product<T> {
        /// The right values of the first rows of C.
        fn first_rows(&self, rows: usize, precision: Precision) -> Vec<f64> {
            let groups: Vec<_> = (0..rows).collect::<Vec<_>>().chunks(GROUP).map(Vec::from).collect();
            let of_group = |rows: Vec<usize>| self.with(|product| product.rows(&rows, precision));
            groups.into_par_iter().flat_map_iter(of_group).flat_map_iter(|(sums, _)| sums).collect()
        }
    }

    /// The sides m, n and k of a product that is little larger than one which is compared in full.
    const LARGE: (usize, usize, usize) = (1 << 10, 1 << 11, (1 << 10) + 32);
    const _: () = assert!(LARGE.0 * LARGE.1 * LARGE.2 > FULL_ORACLE && LARGE.0 * LARGE.1 > KEPT);

    /// The check of a large product takes what is right, and finds a single wrong element anywhere.
    #[test]
    fn one_wrong_element_of_a_large_product_is_found() {
        let (m, n, k) = LARGE;
        for distribution in [Distribution::Small, Distribution::Uniform] {
            let draw = |elements: usize, seed| distribution.keys::<f32>(elements as u64, seed).unwrap();
            let (a, b, c) = (draw(m * k, 3), draw(k * n, 4), draw(m * n, 5));
            let product = Product { m, n, k, a, b, c, alpha: 2.0, beta: -1.0, known: Known::default() };
            let (rows, precision) = (product.first_rows(m, Precision::F32), Precision::F32);
            let mut c: Vec<f32> = rows.into_iter().map(|x| x as f32).collect();
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

    /// The same where C is rounded to 16 bits. An element that is off by less than what the other elements of its row
    /// may be off together is found in some rows alone, so what is wrong here is larger.
    #[test]
    fn one_wrong_element_of_a_large_rounded_product_is_found() {
        fn check<T: Number + Element>() {
            let (m, n, k) = LARGE;
            for distribution in [Distribution::Small, Distribution::Uniform] {
                let draw = |elements: usize, seed| distribution.keys::<T>(elements as u64, seed).unwrap();
                let (a, b, c) = (draw(m * k, 3), draw(k * n, 4), draw(m * n, 5));
                let product = Product { m, n, k, a, b, c, alpha: 2.0, beta: -1.0, known: Known::default() };
                let (rows, precision) = (product.first_rows(m, Precision::Sixteen), Precision::Sixteen);
                let mut c: Vec<T> = rows.into_iter().map(T::nearest).collect();
                assert_eq!(product.first_difference(&c, precision), None, "{distribution:?}");
                let size = c.iter().fold(0.0f64, |most, &x| most.max(x.into().abs()));
                for at in [0, n - 1, 777 * n + 5, m * n - 1] {
                    for wrong in [f64::NAN, c[at].into() + size, c[at].into() - size, f64::INFINITY] {
                        let right = std::mem::replace(&mut c[at], T::nearest(wrong));
                        let found = product.first_difference(&c, precision).map(|(i, _)| i);
                        assert_eq!(found, Some(at), "{distribution:?}: {wrong}");
                        c[at] = right;
                    }
                }
            }
        }
        check::<f16>();
        check::<bf16>();
    }

    /// Sums of elements of 8 bits: what an H100 cuts off passes, and no more. Whole numbers are exact at any k if all
    /// partial sums are small.
    #[test]
    fn what_the_tensor_cores_cut_off() {
        let (m, n, k) = (3, 5, 2048);
        let of = |distribution: Distribution, positive: bool| {
            let draw = |elements: usize, seed| -> Vec<f32> {
                let drawn = distribution.keys::<f32>(elements as u64, seed).unwrap();
                drawn.into_iter().map(|x| F8E4M3::from_f32(if positive { x.abs() } else { x }).to_f32()).collect()
            };
            let (a, b, known) = (draw(m * k, 3), draw(k * n, 4), Known::default());
            Product { m, n, k, a, b, c: vec![], alpha: 1.0, beta: 0.0, known }
        };
        for precision in Precision::OF_EIGHT_BITS {
            let right = |distribution, positive, by: &dyn Fn(f64) -> f64| {
                let product = of(distribution, positive);
                let mut c: Vec<f32> = product.first_rows(m, precision).into_iter().map(|x| x as f32).collect();
                assert_eq!(product.first_difference(&c, precision), None);
                c[7] = by(c[7].into()) as f32;
                product.first_difference(&c, precision).is_none()
            };
            // The errors that were measured: 3.1e-2 and 5.1e-4 of positive numbers.
            let promoted = precision == Precision::Promoted;
            assert!(right(Distribution::Uniform, true, &|x| x * (1.0 - 6e-4)));
            assert_eq!(right(Distribution::Uniform, true, &|x| x * (1.0 - 3.1e-2)), !promoted);
            assert!(right(Distribution::Uniform, false, &|x| x * (1.0 + 1e-4)));
            for wrong in [0.0, 1.5, -1.0, f64::NAN, f64::INFINITY] {
                assert!(!right(Distribution::Uniform, true, &|x| x * wrong), "{precision:?} {wrong}");
            }
            assert!(!right(Distribution::Small, false, &|x| x + 1.0), "{precision:?}");
        }
    }

    /// A row that was never summed, or has the other sign, is found in a large product, where few rows are computed in
    /// full. What the tensor cores cut off of every element is not wrong. Of long sums of positive numbers that is so
    /// much that a row of the other sign may be found only among those few.
    #[test]
    fn a_wrong_row_of_a_large_product_of_eight_bits_is_found() {
        let (m, n, k) = LARGE;
        for (distribution, positive) in
            [(Distribution::Uniform, true), (Distribution::Uniform, false), (Distribution::Small, false)]
        {
            let draw = |elements: usize, seed| -> Vec<f32> {
                let drawn = distribution.keys::<f32>(elements as u64, seed).unwrap();
                drawn.into_iter().map(|x| F8E4M3::from_f32(if positive { x.abs() } else { x }).to_f32()).collect()
            };
            // All rows of A are one, so that there is one row of C to compute.
            let (a, b, known) = (draw(k, 3).repeat(m), draw(k * n, 4), Known::default());
            let product = Product { m, n, k, a, b, c: vec![], alpha: 1.0, beta: 0.0, known };
            let exact = product.first_rows(1, Precision::F32);
            for (precision, cut_off) in [(Precision::Promoted, 5e-4), (Precision::Hardware, 1.2e-2)] {
                let cut_off = if positive { cut_off } else { 0.0 };
                let right: Vec<f32> = exact.iter().map(|x| (x * (1.0 - cut_off)) as f32).collect();
                let mut c = right.repeat(m);
                assert_eq!(product.first_difference(&c, precision), None, "{precision:?} {distribution} {positive}");
                let factors: &[f32] = if positive && precision == Precision::Hardware { &[0.0] } else { &[0.0, -1.0] };
                for (row, factor) in [5, m - 2].into_iter().zip(factors) {
                    let row = row * n..(row + 1) * n;
                    c[row.clone()].iter_mut().for_each(|x| *x *= factor);
                    let found = product.first_difference(&c, precision).map(|(at, _)| at);
                    assert!(
                        found.is_some_and(|at| row.contains(&at)),
                        "{precision:?} {distribution} {positive} {factor}"
                    );
                    c[row].copy_from_slice(&right);
                }
            }
        }
    }

    /// A sum may be off by its own error, before an element is rounded and not behind that; what is too large for the
    /// type is infinite.
    #[test]
    fn elements_are_rounded_once() {
        let of = |a: f32, b: f32| {
            let [a, b] = [a, b].map(|x| vec![f16::from_f32(x)]);
            Product { m: 1, n: 1, k: 1, a, b, c: vec![], alpha: 1.0, beta: 0.0, known: Known::default() }
        };
        let right = |product: &Product<f16>, c: f16| product.first_difference(&[c], Precision::Sixteen).is_none();
        // 2049 is between 2048 and 2050, as whole numbers that are compared bit by bit.
        let product = of(683.0, 3.0);
        assert_eq!([2048.0, 2050.0, 2046.0].map(|c| right(&product, f16::from_f32(c))), [true, false, false]);
        let product = of(683.5, 3.25);
        let nearest = f16::from_f32(683.5 * 3.25);
        let beside = [1, !0].map(|by: u16| f16::from_bits(nearest.to_bits().wrapping_add(by)));
        assert_eq!([nearest, beside[0], beside[1]].map(|c| right(&product, c)), [true, false, false]);
        let product = of(300.0, 300.0);
        assert_eq!([f16::INFINITY, f16::MAX, f16::NAN].map(|c| right(&product, c)), [true, false, false]);
    }

    /// Sums of `f64` are exact up to 2⁵³, and have errors of their own beyond.
    #[test]
    fn products_of_f64() {
        let of = |a: Vec<f64>, b: Vec<f64>| Product {
            m: 1,
            n: 1,
            k: a.len(),
            a,
            b,
            c: vec![],
            alpha: 1.0,
            beta: 0.0,
            known: Known::default(),
        };
        let right = |product: &Product<f64>, c: f64| product.first_difference(&[c], Precision::F64).is_none();
        let whole = of(vec![67_108_863.0, 1.0], vec![67_108_865.0, 2.0]);
        let c = 67_108_863.0 * 67_108_865.0 + 2.0;
        assert_eq!([c, c + 1.0, c - 1.0].map(|c| right(&whole, c)), [true, false, false]);
        let fractions = of(vec![0.1; 100], vec![0.3; 100]);
        assert_eq!(
            [3.0, 3.0 + 1e-14, 3.0 + 1e-12, f64::from(3.0f32 + 3e-7)].map(|c| right(&fractions, c)),
            [true, true, false, false]
        );
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
            let of = |a: Vec<f32>, b: Vec<f32>| Product {
                m,
                n,
                k,
                a,
                b,
                c: vec![],
                alpha: 1.0,
                beta: 0.0,
                known: Known::default(),
            };
            let of_rounded = of(rounded(&a), rounded(&b));
            let product = of(a, b);
            let mut c: Vec<f32> = of_rounded.first_rows(m, Precision::Tf32).into_iter().map(|x| x as f32).collect();
            assert_eq!(product.first_difference(&c, Precision::Tf32), None);
            assert_eq!(product.first_difference(&c, Precision::F32).is_none(), exact);
            assert_eq!(product.first_difference(&c, Precision::ThreeTf32).is_none(), exact);
            assert_eq!(product.first_difference(&c, Precision::Mixed).is_none(), exact);
            c[5] += 0.25;
            assert_eq!(product.first_difference(&c, Precision::Tf32).map(|(at, _)| at), Some(5));
        }
    }
}
