//! The order by the low 16 bits, the largest first.

use rayon::prelude::*;

/// The keys in that order; equivalent keys keep theirs.
pub fn sorted(keys: &[u32]) -> Vec<u32> {
    let mut sorted = keys.to_vec();
    sorted.par_sort_by_key(|&key| !key & 0xffff);
    sorted
}

/// The keys in that order, equivalent keys by their value.
pub fn in_one_order(keys: &[u32]) -> Vec<u32> {
    let mut sorted = keys.to_vec();
    sorted.par_sort_unstable_by_key(|&key| (!key & 0xffff, key));
    sorted
}

/// Whether the keys are in that order.
pub fn is_in_order(keys: &[u32]) -> bool {
    keys.par_windows(2).all(|pair| pair[0] & 0xffff >= pair[1] & 0xffff)
}

/// A sum over the keys that a change of some keys is unlikely to leave as it is.
pub fn checksum(keys: &[u32]) -> u64 {
    let mixed = |&key: &u32| {
        let z = (u64::from(key) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (z ^ (z >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 8
    };
    keys.par_iter().map(mixed).reduce(|| 0, u64::wrapping_add)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_sorts_are_found() {
        assert!(is_in_order(&[0x1_0002, 2, 1]) && !is_in_order(&[1, 2]) && !is_in_order(&[0x1_0001, 2]));
        assert_ne!(checksum(&[1, 2]), checksum(&[1, 1]));
        assert_ne!(checksum(&[1, 4]), checksum(&[2, 3]));
        assert_eq!(sorted(&[1, 0x1_0002, 2]), [0x1_0002, 2, 1]);
        assert_eq!(in_one_order(&[1, 0x1_0002, 2]), [2, 0x1_0002, 1]);
    }
}
