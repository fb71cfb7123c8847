//! Inputs that no distribution draws, and elements put where a problem or a file has them.

use rungs::Result;
use rungs::data::{Data, Distribution, Dtype, Element, for_data, for_dtype};
use std::ops::Range;

/// The numbers of a range, as elements of a type: the places of keys.
pub fn places(dtype: Dtype, of: Range<u64>) -> Data {
    for_dtype!(dtype, T => of.map(T::from_pattern).collect::<Vec<T>>().into())
}

/// The elements from number `first` on, and then the others.
pub fn turned(elements: Data, first: usize) -> Data {
    fn of<T: Element>(mut elements: Vec<T>, first: usize) -> Data {
        elements.rotate_left(first);
        elements.into()
    }
    for_data!(elements, elements => of(elements, first))
}

/// `n` different keys in random order.
///
/// # Errors
/// [`Error::OutOfMemory`](rungs::Error::OutOfMemory) if they do not fit in free memory.
pub fn distinct(n: u64, seed: u64) -> Result<Vec<u32>> {
    let places = Distribution::Uniform.generate(Dtype::U32, n, seed)?.sorted_places(false);
    // Places of a random permutation, spread over all keys: multiplied by an odd number they stay different.
    Ok(places.into_iter().map(|place| place.wrapping_mul(0x9E37_79B1)).collect())
}

/// Drawn keys as numbers of bins: by scaling if the distribution fills the range of its type, otherwise by a remainder.
pub fn in_bins(keys: Data, bins: u32, distribution: Distribution) -> Data {
    let small = matches!(distribution, Distribution::Zipf | Distribution::Small | Distribution::LowBits(_));
    let scaled = |key: u32, bits: u32| {
        if small { key % bins } else { ((key as u64 * bins as u64) >> bits) as u32 }
    };
    match keys {
        // A byte has no more than 256 values to be scaled to.
        Data::U8(keys) if bins < 256 => Data::U8(keys.into_iter().map(|k| scaled(k.into(), 8) as u8).collect()),
        Data::U32(keys) => Data::U32(keys.into_iter().map(|k| scaled(k, 32)).collect()),
        other => other,
    }
}

/// The items, the one of which so large a fraction is less moved to the middle.
pub fn with_pivot(items: Data, fraction: f64) -> Data {
    fn of<T: Element>(mut items: Vec<T>, fraction: f64) -> Data {
        let (n, mut sorted) = (items.len(), items.clone());
        if n > 0 {
            let rank = ((fraction * n as f64) as usize).min(n - 1);
            let (_, nth, _) = sorted.select_nth_unstable_by_key(rank, |item| item.to_word());
            let (word, middle) = (nth.to_word(), n / 2);
            if let Some(place) = items.iter().position(|item| item.to_word() == word) {
                items.swap(place, middle);
            }
        }
        items.into()
    }
    for_data!(items, items => of(items, fraction))
}

/// The items in runs of equal ones, of `mean` items on average: the others take the place of the one before.
pub fn in_runs(items: Data, mean: u64, seed: u64) -> Data {
    fn of<T: Element>(mut items: Vec<T>, mean: u64, seed: u64) -> Data {
        for i in 1..items.len() {
            if !mix(i as u64 ^ seed << 32).is_multiple_of(mean) {
                items[i] = items[i - 1];
            }
        }
        items.into()
    }
    for_data!(items, items => of(items, mean, seed))
}

/// Words that belong to `n` items.
pub fn words(n: u64) -> Vec<u32> {
    (0..n).map(|i| mix(i) as u32).collect()
}

/// Number `i` of a sequence that looks random.
fn mix(i: u64) -> u64 {
    let i = (i ^ i >> 30).wrapping_add(0x9E37_79B9_7F4A_7C15).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let i = (i ^ i >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    i ^ i >> 31
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drawn_keys_reach_every_bin_and_no_further() {
        for bins in [1, 100, 4096] {
            for distribution in [Distribution::Uniform, Distribution::LowBits(14)] {
                let keys = in_bins(distribution.generate(Dtype::U32, 1 << 17, 1).unwrap(), bins, distribution);
                let Data::U32(keys) = keys else { unreachable!() };
                let mut seen = vec![false; bins as usize];
                keys.iter().for_each(|&k| seen[k as usize] = true);
                assert!(seen.iter().all(|&s| s), "{distribution} in {bins} bins");
            }
        }
    }
}
