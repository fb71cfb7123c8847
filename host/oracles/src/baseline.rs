//! Sorts on the host that rungs are compared with: on one core, timed by the wall clock.

use rungs::error::Result;
use rungs::verify::compare;
use std::hint::black_box;
use std::time::Instant;

/// Odd-even transposition on one core: the algorithm of the rungs of `bubble`, pair by pair instead of all at once.
pub fn odd_even(keys: &mut [u32]) {
    // Two phases per round; a key moves one place per phase and has at most n - 1 places to go.
    for _ in 0..keys.len().div_ceil(2) {
        phase(keys);
        if let [_, rest @ ..] = keys {
            phase(rest);
        }
    }
}

/// Puts the pairs (0, 1), (2, 3), … in order.
fn phase(keys: &mut [u32]) {
    for pair in keys.as_chunks_mut::<2>().0 {
        let [a, b] = *pair;
        *pair = [a.min(b), a.max(b)];
    }
}

/// The library's own sort.
pub fn std_sort(keys: &mut [u32]) {
    keys.sort_unstable();
}

/// Milliseconds that `sort`, called `name`, takes on a copy of `keys`, by the wall clock.
///
/// # Errors
/// [`Error::Mismatch`](rungs::Error::Mismatch) if the copy is not sorted afterwards.
pub fn timed(name: &str, keys: &[u32], sort: fn(&mut [u32])) -> Result<f64> {
    let mut sorted = keys.to_vec();
    let start = Instant::now();
    sort(black_box(&mut sorted));
    let ms = start.elapsed().as_secs_f64() * 1e3;
    let mut want = keys.to_vec();
    want.sort_unstable();
    compare("host", name, &sorted.into(), &want.into()).map(|()| ms)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rungs::data::Distribution;

    #[test]
    fn odd_even_sorts() {
        for n in [0, 1, 2, 3, 4, 5, 31, 32, 33, 257, 1024] {
            for seed in 0..3 {
                let keys = Distribution::Uniform.keys::<u32>(n, seed).unwrap();
                timed("odd-even", &keys, odd_even).unwrap_or_else(|e| panic!("seed {seed}: {e}"));
            }
            let unsorted = timed("nothing", &[2, 1, 3], |_| ()).unwrap_err();
            assert_eq!(unsorted.to_string(), "host nothing is wrong at n = 3: element 0: got 2, expected 1");
            let mut reversed: Vec<u32> = (0..n as u32).rev().collect();
            odd_even(&mut reversed);
            assert!(reversed.is_sorted(), "{n} reversed keys");
        }
    }
}
