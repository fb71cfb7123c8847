//! The oracle of reductions.

use crate::arithmetic::{Reducible, SCALE};
use rungs::Operation;

/// The expected result.
#[derive(Clone, Copy, Debug)]
pub enum Expected<T> {
    /// These bits, or any NaN for a NaN.
    Exactly(T),
    /// A sum of floats, which depends on the order of the additions.
    Near {
        /// The sum times `scale`, rounded once.
        sum: f64,
        /// The sum of the absolute values times `scale`, to which the rounding errors are proportional.
        size: f64,
        /// Less than 1 where the sum of the absolute values would be too large for a double.
        scale: f64,
    },
}

/// The oracle.
pub(crate) fn expected<T: Reducible>(all: &[T], operation: Operation) -> Expected<T> {
    let extreme = |largest: bool| {
        let nan = all.iter().copied().find(|v| v.to_f64().is_nan());
        let (smaller, larger) = (all.iter().copied().min_by_key(T::order), all.iter().copied().max_by_key(T::order));
        nan.or(if largest { larger } else { smaller }).unwrap_or(T::identity(operation))
    };
    match operation {
        Operation::Sum => T::integer_sum(all).map_or_else(|| float_sum(all), Expected::Exactly),
        Operation::Min => Expected::Exactly(extreme(false)),
        Operation::Max => Expected::Exactly(extreme(true)),
    }
}

/// The sum of floats: exact if every order of additions gives the same bits, otherwise with a tolerance.
fn float_sum<T: Reducible>(all: &[T]) -> Expected<T> {
    // Sums of the largest doubles leave the range of doubles on the way, though the last may be inside.
    let sizes: f64 = all.iter().map(|v| v.to_f64()).filter(|v| v.is_finite()).map(f64::abs).sum();
    let scale = if sizes.is_finite() { 1.0 } else { SCALE };
    let (mut sum, mut lost, mut size, mut whole, mut special) = (0.0f64, 0.0f64, 0.0f64, true, 0.0f64);
    for value in all.iter().map(|v| v.to_f64()) {
        if !value.is_finite() {
            special += value;
            continue;
        }
        let value = value * scale;
        // Neumaier's summation: the part that each addition rounds away is summed separately.
        let next = sum + value;
        lost += if sum.abs() >= value.abs() { (sum - next) + value } else { (value - next) + sum };
        sum = next;
        size += value.abs();
        whole &= value.fract() == 0.0;
    }
    if special != 0.0 && size <= T::LARGEST * scale {
        return Expected::Exactly(T::of_f64(special));
    }
    let sum = sum + lost + special;
    if whole && size <= T::EXACT_UP_TO {
        Expected::Exactly(T::of_f64(sum))
    } else {
        Expected::Near { sum, size, scale }
    }
}

impl<T: Reducible> Expected<T> {
    /// Whether `got` is right, after chains of at most `additions` roundings.
    pub fn admits(self, got: T, additions: f64) -> bool {
        match self {
            Self::Exactly(want) if want.to_f64().is_nan() => got.to_f64().is_nan(),
            Self::Exactly(want) => got.to_word() == want.to_word(),
            // Some orders may overflow on the way, and then even become NaN.
            Self::Near { size, scale, .. } if size > T::LARGEST * scale && !got.to_f64().is_finite() => true,
            Self::Near { sum, size, scale } => (got.to_f64() * scale - sum).abs() <= size * T::EPSILON * additions,
        }
    }

    /// For a message.
    pub fn show(self) -> String {
        match self {
            Self::Exactly(want) => want.show(),
            Self::Near { sum, scale, .. } => format!("about {}", sum / scale),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oracle_knows_the_corners() {
        let exactly = |all: &[f32], operation| match expected(all, operation) {
            Expected::Exactly(v) => v,
            near => panic!("{near:?}"),
        };
        assert_eq!(exactly(&[], Operation::Sum), 0.0);
        assert_eq!(exactly(&[], Operation::Min), f32::INFINITY);
        assert_eq!(exactly(&[2.0, -0.0, 0.0], Operation::Min).to_bits(), (-0.0f32).to_bits());
        assert_eq!(exactly(&[-2.0, 0.0, -0.0], Operation::Max).to_bits(), 0);
        assert!(exactly(&[1.0, f32::NAN], Operation::Max).is_nan());
        assert!(exactly(&[1.0, f32::NAN], Operation::Sum).is_nan());
        assert_eq!(exactly(&[1.0, 2.0, -4.0], Operation::Sum), -1.0);
        assert!(matches!(expected(&[u32::MAX, 2], Operation::Sum), Expected::Exactly(1)));
        assert!(matches!(expected::<i32>(&[], Operation::Max), Expected::Exactly(i32::MIN)));
        assert!(matches!(expected::<u64>(&[], Operation::Min), Expected::Exactly(u64::MAX)));
        assert_eq!(f64::identity(Operation::Max), f64::NEG_INFINITY);
        assert_eq!(u32::combined(Operation::Sum, u32::MAX, 2), 1);
        assert_eq!(f32::combined(Operation::Min, 0.0, -0.0).to_bits(), (-0.0f32).to_bits());
        assert_eq!(f32::combined(Operation::Max, -0.0, 0.0).to_bits(), 0);
        assert!(f32::combined(Operation::Max, f32::NAN, 1.0).is_nan());
    }

    #[test]
    fn sums_of_floats_are_held_to_their_rounding() {
        let all: Vec<f32> = (0..1000).map(|i| 0.1 + i as f32 * 1e-4).collect();
        let want = expected(&all, Operation::Sum);
        let sum: f32 = all.iter().sum();
        assert!(want.admits(sum, 1000.0));
        assert!(!want.admits(sum - all[0], 66.0), "a lost element goes unseen");
        let huge = expected(&[f32::MAX, f32::MAX], Operation::Sum);
        assert!(huge.admits(f32::INFINITY, 65.0) && !huge.admits(0.0, 65.0));
        // Larger on the way than any double, in one order; and not at the end.
        let (most, half) = (f64::MAX, f64::MAX / 2.0);
        let beyond = expected(&[most, half, -most], Operation::Sum);
        assert!(beyond.admits(half, 65.0) && beyond.admits(f64::INFINITY, 65.0), "{beyond:?}");
        assert!(!beyond.admits(half / 2.0, 65.0) && !beyond.admits(-half, 65.0), "{beyond:?}");
        let infinite = expected(&[f32::INFINITY, 1.5], Operation::Sum);
        assert!(infinite.admits(f32::INFINITY, 65.0) && !infinite.admits(1.5, 65.0), "{infinite:?}");
    }
}
