//! The oracle of scans.

use crate::arithmetic::{Reducible, SCALE};
use rungs::Operation;
use rungs::data::Element;
use simt::Scalar;

/// A type that can be scanned.
pub trait Scannable: Element + Scalar {
    /// A byte that no result of a scan consists of by accident.
    const POISON: u8;

    /// The first place where `got` is wrong, and the expected value.
    fn first_difference(input: &[Self], got: &[Self], operation: Operation, exclusive: bool)
    -> Option<(usize, String)>;
}

macro_rules! scannable {
    ($($T:ty: $poison:literal, $sums:ident;)*) => {$(
        impl Scannable for $T {
            const POISON: u8 = $poison;

            fn first_difference(
                input: &[$T],
                got: &[$T],
                operation: Operation,
                exclusive: bool,
            ) -> Option<(usize, String)> {
                match operation {
                    Operation::Sum => $sums(input, got, exclusive),
                    Operation::Min | Operation::Max => exact(input, got, operation, exclusive),
                }
            }
        }
    )*};
}
// All ones are NaN in a float, which differs from every number.
scannable! {
    u32: 0xA5, integer_sums;
    i32: 0xA5, integer_sums;
    u64: 0xA5, integer_sums;
    i64: 0xA5, integer_sums;
    f32: 0xFF, rounded_sums;
    f64: 0xFF, rounded_sums;
}

fn integer_sums<T: Reducible>(input: &[T], got: &[T], exclusive: bool) -> Option<(usize, String)> {
    exact(input, got, Operation::Sum, exclusive)
}

/// The first place where `got` differs in a bit from a scan from left to right; all NaNs count as equal.
fn exact<T: Reducible>(input: &[T], got: &[T], operation: Operation, exclusive: bool) -> Option<(usize, String)> {
    let mut sum = T::identity(operation);
    input.iter().zip(got).enumerate().find_map(|(i, (&x, &got))| {
        let before = sum;
        sum = T::combined(operation, sum, x);
        let want = if exclusive { before } else { sum };
        let nan = |v: T| v.partial_cmp(&v).is_none();
        let same = got.to_bits_64() == want.to_bits_64() || nan(got) && nan(want);
        (!same).then(|| (i, want.show()))
    })
}

/// The first place where `got` is further from the true sum than rounding explains.
fn rounded_sums<T: Reducible>(input: &[T], got: &[T], exclusive: bool) -> Option<(usize, String)> {
    let empty = Sums { whole: true, ..Sums::default() };
    let (mut sums, mut scaled) = (empty, empty);
    input.iter().zip(got).enumerate().find_map(|(i, (&x, &got))| {
        let before = (sums, scaled);
        let (x, got) = (x.to_f64(), got.to_f64());
        sums.add(x);
        if x.is_finite() {
            scaled.add(x * SCALE);
        }
        let (want, scaled) = if exclusive { before } else { (sums, scaled) };
        let right = if want.sizes <= T::LARGEST {
            want.allows::<T>(got)
        } else if got.is_finite() {
            // Another order of the additions stays in the range of the type, even where the one above does not.
            !want.special && scaled.allows::<T>(got * SCALE)
        } else {
            // A sum on the way may have been too large for the type.
            !want.sum.is_nan() || !want.special || got.is_nan()
        };
        (!right).then(|| (i, T::of_f64(want.value()).show()))
    })
}

/// The sum of a prefix, and the quantities that bound the error of a computed sum.
#[derive(Clone, Copy, Default)]
struct Sums {
    /// The sum in double precision, and the part that the additions rounded away.
    sum: f64,
    lost: f64,
    /// The sum of the absolute values, and the largest absolute value of a sum so far; of finite elements.
    sizes: f64,
    largest: f64,
    elements: f64,
    /// Whether an element is infinite or no number.
    special: bool,
    /// Whether all elements are whole numbers.
    whole: bool,
}

impl Sums {
    fn add(&mut self, x: f64) {
        let next = self.sum + x;
        if next.is_finite() {
            // Neumaier's summation: exact enough for sums of doubles too.
            self.lost += if self.sum.abs() >= x.abs() { (self.sum - next) + x } else { (x - next) + self.sum };
        }
        self.sum = next;
        if x.is_finite() {
            self.sizes += x.abs();
        } else {
            self.special = true;
        }
        if self.sum.is_finite() {
            self.largest = self.largest.max(self.sum.abs());
        }
        self.elements += 1.0;
        self.whole &= x.fract() == 0.0;
    }

    fn value(&self) -> f64 {
        if self.sum.is_finite() { self.sum + self.lost } else { self.sum }
    }

    /// Whether some order of the additions in type `T` gives `got`.
    ///
    /// Each addition rounds by at most half an epsilon of its result. Inside a tile an element goes through at most
    /// [`STEPS`] additions, whose results add up to at most [`STEPS`] times the sum of the absolute values; between
    /// tiles there is at most one addition per [`SHORTEST_TILE`] elements, with results that are differences of two
    /// prefixes. Whole numbers that the type holds exactly do not round at all.
    fn allows<T: Reducible>(&self, got: f64) -> bool {
        const STEPS: f64 = 48.0;
        const SHORTEST_TILE: f64 = 1024.0;
        let sum = self.value();
        if !sum.is_finite() {
            return if sum.is_nan() { got.is_nan() } else { got == sum };
        }
        let chain = (self.elements / SHORTEST_TILE).ceil() * 2.0 * self.largest;
        let rounds = !(self.whole && self.sizes <= T::EXACT_UP_TO);
        let slack = if rounds { T::EPSILON * 0.5 * (STEPS * self.sizes + chain) } else { 0.0 };
        // A NaN is not within any distance.
        (got - sum).abs() <= slack
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rungs::data::Distribution;

    #[test]
    fn wrong_sums_are_found() {
        let input: Vec<f32> = Distribution::Uniform.keys(1 << 16, 1).unwrap();
        let mut sum = 0.0f64;
        let add = |x: &f32| {
            sum += *x as f64;
            sum as f32
        };
        let mut sums: Vec<f32> = input.iter().map(add).collect();
        assert_eq!(rounded_sums(&input, &sums, false), None);
        assert!(rounded_sums(&input, &sums, true).is_some());
        // A tile whose predecessors' sum is lost, a NaN.
        let lost: Vec<f32> =
            sums.iter().enumerate().map(|(i, &s)| if i < 40_000 { s } else { s - sums[39_999] }).collect();
        assert_eq!(rounded_sums(&input, &lost, false).map(|(i, _)| i), Some(40_000));
        sums[60_000] = f32::NAN;
        assert_eq!(rounded_sums(&input, &sums, false).map(|(i, _)| i), Some(60_000));
        // Infinite and undefined sums stay so, whatever is added.
        let input = [1.0, f32::INFINITY, 2.0, f32::NEG_INFINITY, 5.0];
        let right = [1.0, f32::INFINITY, f32::INFINITY, f32::NAN, f32::NAN];
        assert_eq!(rounded_sums(&input, &right, false), None);
        assert_eq!(rounded_sums(&input, &[1.0; 5], false).map(|(i, _)| i), Some(1));
        // Sums on the way that are too large in one order, and not in another.
        let (most, half) = (f64::MAX, f64::MAX / 2.0);
        let input = [most, half, -most, -half, 1.0];
        for last in [0.0, 1.0] {
            assert_eq!(rounded_sums(&input, &[most, f64::INFINITY, half, 0.0, last], false), None);
        }
        assert_eq!(rounded_sums(&input, &[most, f64::INFINITY, f64::INFINITY, f64::NAN, f64::NAN], false), None);
        let wrong = rounded_sums(&input, &[most, f64::INFINITY, half / 2.0, 0.0, 0.0], false);
        assert_eq!(wrong.map(|(i, _)| i), Some(2));
        let wrong = rounded_sums(&[most, f64::INFINITY, most], &[most, f64::INFINITY, 1.0], false);
        assert_eq!(wrong.map(|(i, _)| i), Some(2));
        assert_eq!(exact(&[3.0, f32::NAN], &[3.0, f32::NAN], Operation::Min, false), None);
        assert_eq!(exact(&[0.0f32, -0.0], &[0.0, 0.0], Operation::Min, false), Some((1, "-0.0".into())));
    }
}
