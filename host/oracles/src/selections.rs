//! The oracles of selections: the largest keys, the items below a pivot, the runs of equal items.

use rungs::data::{Data, Element, for_data};
use std::cmp::Reverse;

/// The `k` largest keys, the largest first.
pub fn largest(keys: Data, k: usize) -> Data {
    fn of<T: Element>(mut keys: Vec<T>, k: usize) -> Data {
        if k < keys.len() {
            keys.select_nth_unstable_by_key(k, |key| Reverse(key.to_word()));
            keys.truncate(k);
        }
        keys.sort_unstable_by_key(|key| Reverse(key.to_word()));
        keys.into()
    }
    for_data!(keys, keys => of(keys, k))
}

/// The items that are less than the one in the middle, or the others, in their order.
pub fn parted(items: &Data, less: bool) -> Data {
    fn of<T: Element>(items: &[T], less: bool) -> Data {
        let pivot = items.get(items.len() / 2);
        items.iter().filter(|item| (Some(*item) < pivot) == less).copied().collect::<Vec<_>>().into()
    }
    for_data!(items, items => of(items, less))
}

/// The first item of each run of items that are equal bit by bit, and how long the run is.
pub fn runs(items: &Data) -> (Data, Vec<u32>) {
    fn of<T: Element>(items: &[T]) -> (Data, Vec<u32>) {
        let runs = || items.chunk_by(|a, b| a.to_word() == b.to_word());
        (runs().map(|run| run[0]).collect::<Vec<_>>().into(), runs().map(|run| run.len() as u32).collect())
    }
    for_data!(items, items => of(items))
}

/// The sum modulo 2³² of the words of each run, by the runs' lengths.
pub fn sums(words: &[u32], lengths: &[u32]) -> Vec<u32> {
    let mut words = words.iter();
    let mut sum = |len: &u32| words.by_ref().take(*len as usize).fold(0u32, |sum, word| sum.wrapping_add(*word));
    lengths.iter().map(&mut sum).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oracles_know_the_corners() {
        let keys = || Data::from(vec![-1.0f32, f32::NAN, 2.0, -0.0, 0.0, f32::INFINITY]);
        assert_eq!(largest(keys(), 4), Data::from(vec![f32::NAN, f32::INFINITY, 2.0, 0.0]));
        assert_eq!(largest(keys(), 6), largest(keys(), 7));
        // The pivot is -0, which is no less than itself and +0; neither is NaN.
        assert_eq!(parted(&keys(), true), Data::from(vec![-1.0f32]));
        assert_eq!(parted(&keys(), false), Data::from(vec![f32::NAN, 2.0, -0.0, 0.0, f32::INFINITY]));
        let (items, lengths) = runs(&Data::from(vec![0.0f32, 0.0, -0.0, f32::NAN, f32::NAN, 0.0]));
        assert_eq!(items, Data::from(vec![0.0f32, -0.0, f32::NAN, 0.0]));
        assert_eq!(sums(&[1, u32::MAX, 3, 4, 5, 6], &lengths), [0, 3, 9, 6]);
        let nothing = Data::from(Vec::<u64>::new());
        assert_eq!((largest(nothing.clone(), 0), parted(&nothing, true)), (nothing.clone(), nothing.clone()));
        assert_eq!(runs(&nothing), (nothing, vec![]));
    }
}
