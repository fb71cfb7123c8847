//! The oracles of counts, of sums of cubes, and of the sum of a scaled vector and another.

use rungs::data::Data;

/// How often each number below `bins` occurs among keys.
///
/// # Panics
/// If the keys are not of type `u8` or `u32`.
pub fn counts(keys: &Data, bins: u32) -> Vec<u64> {
    fn of<T: Copy + Into<u64>>(keys: &[T], bins: u32) -> Vec<u64> {
        let mut counts = vec![0; bins as usize];
        for &key in keys {
            if let Some(count) = counts.get_mut(key.into() as usize) {
                *count += 1;
            }
        }
        counts
    }
    match keys {
        Data::U8(keys) => of(keys, bins),
        Data::U32(keys) => of(keys, bins),
        other => panic!("keys of {} are numbers of no bins", other.dtype()),
    }
}

/// The sum of all words, modulo 2⁶⁴.
pub fn total(words: &[u64]) -> u64 {
    words.iter().copied().fold(0, u64::wrapping_add)
}

/// The sum of the cubes, modulo 2⁶⁴.
pub fn of_cubes(values: &[u32]) -> u64 {
    let cube = |&v: &u32| (v as u64).wrapping_mul(v as u64).wrapping_mul(v as u64);
    values.iter().map(cube).fold(0, u64::wrapping_add)
}

/// The first place where `got` differs from `a` times `x` plus `y`, and the right value.
pub fn first_difference(a: f32, (x, y): (&[f32], &[f32]), got: &[f32]) -> Option<(usize, f32)> {
    got.iter().zip(x.iter().zip(y)).enumerate().find_map(|(i, (got, (&x, &y)))| {
        let want = a.mul_add(x, y);
        // Both sides round once, so every bit is known; only the bits of a NaN depend on the machine.
        let same = got.to_bits() == want.to_bits() || got.is_nan() && want.is_nan();
        (!same).then_some((i, want))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_sums_are_found() {
        let (x, y) = ([1.0, f32::NAN, 0.0], [0.5, 1.0, -0.0]);
        assert_eq!(first_difference(2.0, (&x, &y), &[2.5, -f32::NAN, 0.0]), None);
        assert_eq!(first_difference(2.0, (&x, &y), &[2.5, f32::NAN, -0.0]), Some((2, 0.0)));
        assert_eq!(first_difference(2.0, (&x, &y), &[2.0, 1.0, 0.0]), Some((0, 2.5)));
        assert_eq!((of_cubes(&[u32::MAX, 2]), total(&[u64::MAX, 3])), (u64::from(u32::MAX).wrapping_pow(3) + 8, 2));
        assert_eq!(counts(&Data::from(vec![2_u8, 0, 2, 3]), 3), [1, 0, 2]);
    }
}
