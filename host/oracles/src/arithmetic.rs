//! What the oracles of reductions and of scans compute with.

use crate::reduction::{self, Expected};
use rungs::Operation;
use rungs::data::Element;
use simt::Scalar;
use std::ops::Add;

/// A type whose elements are reduced and scanned.
pub trait Reducible: Element + Scalar {
    /// The identity of an operation, the result for no elements. Like [`combined`](Self::combined) it is written
    /// without the kernels' own [`Operator`](rungs_kernels::operator::Operator), which it judges.
    fn identity(operation: Operation) -> Self {
        // A conversion to integers ends at the smallest and at the largest of them.
        Self::of_f64(match operation {
            Operation::Sum => 0.0,
            Operation::Min => f64::INFINITY,
            Operation::Max => f64::NEG_INFINITY,
        })
    }
    /// Two elements combined; a NaN makes a NaN.
    fn combined(operation: Operation, a: Self, b: Self) -> Self {
        let nan = [a, b].into_iter().find(|v| v.to_f64().is_nan());
        match operation {
            Operation::Sum => Self::sum_of_two(a, b),
            Operation::Min => nan.unwrap_or(if b.order() < a.order() { b } else { a }),
            Operation::Max => nan.unwrap_or(if b.order() > a.order() { b } else { a }),
        }
    }
    /// A key that orders floats as numbers, -0 before +0.
    fn order(&self) -> Self::Word {
        self.to_word()
    }
    /// The expected result of a reduction.
    fn expected(all: &[Self], operation: Operation) -> Expected<Self>;
    /// All elements combined, from the first to the last.
    fn total(all: &[Self], operation: Operation) -> Self;
    /// Each element combined with all before it, the first with `start`; or those before it alone.
    fn prefixes(all: &[Self], start: Self, operation: Operation, exclusive: bool) -> Vec<Self>;
    /// The sum of two elements: of integers without the carry, of floats rounded.
    fn sum_of_two(a: Self, b: Self) -> Self;
    /// The sum of all elements; `None` for floats, whose sum depends on the order of the additions.
    fn integer_sum(all: &[Self]) -> Option<Self>;
    /// As a number of 64 bits.
    fn to_f64(self) -> f64;
    /// The nearest value of this type.
    fn of_f64(value: f64) -> Self;
    /// Floats: whole numbers are exact up to here.
    const EXACT_UP_TO: f64;
    /// Floats: the distance from 1 to the next number.
    const EPSILON: f64;
    /// Floats: the largest.
    const LARGEST: f64;
}

/// The loops over elements are compiled here, for each type, and so are optimised wherever they are called from.
macro_rules! reducible {
    ($($t:ident: $two:expr, $sum:expr, $exact:expr, $epsilon:expr;)*) => {$(
        impl Reducible for $t {
            fn expected(all: &[Self], operation: Operation) -> Expected<Self> {
                reduction::expected(all, operation)
            }
            fn total(all: &[Self], operation: Operation) -> Self {
                all.iter().fold(Self::identity(operation), |sum, &x| Self::combined(operation, sum, x))
            }
            fn prefixes(all: &[Self], start: Self, operation: Operation, exclusive: bool) -> Vec<Self> {
                let mut sum = start;
                let step = |&x: &Self| {
                    let before = sum;
                    sum = Self::combined(operation, sum, x);
                    if exclusive { before } else { sum }
                };
                all.iter().map(step).collect()
            }
            fn sum_of_two(a: $t, b: $t) -> $t {
                $two(a, b)
            }
            fn integer_sum(all: &[Self]) -> Option<Self> {
                $sum(all)
            }
            fn to_f64(self) -> f64 {
                self as f64
            }
            fn of_f64(value: f64) -> Self {
                value as $t
            }
            const EXACT_UP_TO: f64 = $exact;
            const EPSILON: f64 = $epsilon;
            const LARGEST: f64 = <$t>::MAX as f64;
        }
    )*};
}
reducible! {
    u32: u32::wrapping_add, integers, 0.0, 0.0;
    i32: i32::wrapping_add, integers, 0.0, 0.0;
    u64: u64::wrapping_add, integers, 0.0, 0.0;
    i64: i64::wrapping_add, integers, 0.0, 0.0;
    f32: f32::add, |_: &[f32]| None, (1u64 << f32::MANTISSA_DIGITS) as f64, f32::EPSILON as f64;
    f64: f64::add, |_: &[f64]| None, (1u64 << f64::MANTISSA_DIGITS) as f64, f64::EPSILON;
}

/// The sum of integers.
fn integers<T: Reducible>(all: &[T]) -> Option<T> {
    Some(all.iter().fold(T::of_f64(0.0), |sum, &v| T::sum_of_two(sum, v)))
}

/// What brings sums of the largest doubles back into their range.
pub const SCALE: f64 = 1.0 / (1u128 << 100) as f64;
