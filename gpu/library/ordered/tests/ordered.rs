//! The kernels on the simulator: what they write in addition to their results, and races under several schedules.

use rungs_common::keys::{DESCENDING, FLOAT, SIGNED, UNSIGNED, Word};
use rungs_common::transform;
use rungs_ordered::BLOCK;
use rungs_ordered::bins::{self, Divides, MAX_BINS, OUTSIDE, bins_count, bins_even};
use rungs_ordered::bounds::bounds;
use rungs_ordered::merge::{self, merge_pairs, merge_split};
use rungs_ordered::moves::{geometry, moves_difference, moves_fill, moves_reverse, moves_scatter};
use rungs_ordered::small::{small_narrow, small_widen};
use rungs_testing::{Buffer, launch, random, same};
use simt::sim::{Check, check};
use simt::{Geometry, Global, Kernel};

/// Sizes around warps and tiles.
const SIZES: [usize; 10] =
    [0, 1, 2, 31, 33, 1009, merge::TILE as usize - 1, merge::TILE as usize, merge::TILE as usize + 1, 9001];

/// Keys of which many are equal, in an order.
fn sorted(n: usize, seed: u64, order: u32) -> Vec<u64> {
    let mut keys: Vec<u64> = (0..n as u64).map(|i| random(i ^ seed << 32) % (n as u64 / 2 + 1)).collect();
    // Both halves of the range, so that signs matter.
    keys.iter_mut().for_each(|key| *key = key.wrapping_mul(0x8000_0000_0000_0001));
    keys.sort_by_key(|key| key.encode(order));
    keys
}

/// Merges the keys with their places as values.
fn merged(a: &[u64], b: &[u64], order: u32, offset: usize) -> (Vec<u64>, Vec<u32>) {
    let n = a.len() + b.len();
    let tiles = merge::tiles(n as u32);
    let [mut left, mut right] = [(a, offset), (b, offset + 1)].map(|(keys, offset)| Buffer::new(keys, offset));
    let places: Vec<u32> = (0..n as u32).collect();
    let [mut of_a, mut of_b] = [&places[..a.len()], &places[a.len()..]].map(|places| Buffer::new(places, offset));
    let mut splits = Buffer::<u32>::poisoned(tiles as usize + 1, 0);
    let (mut keys, mut values) = (Buffer::<u64>::poisoned(n, 1), Buffer::<u32>::poisoned(n, 3));
    launch(merge_split::<u64>::default(), geometry(tiles + 1), (left.view(), right.view(), order, splits.view()));
    let shape = Geometry::linear(tiles, BLOCK).shared(merge::shared_bytes::<u64>(true));
    let from = (left.view(), right.view(), order, splits.view(), keys.view());
    let args = (from.0, from.1, from.2, from.3, from.4, of_a.view(), of_b.view(), values.view());
    launch(merge_pairs::<u64, u32>::default(), shape, args);
    splits.check_guards("splits");
    keys.check_guards("keys");
    values.check_guards("values");
    (keys.slice().to_vec(), values.slice().to_vec())
}

#[test]
fn merges_are_stable_in_every_order() {
    for n in SIZES {
        for m in [n, n / 5, 2305] {
            for order in [UNSIGNED, SIGNED, FLOAT, UNSIGNED | DESCENDING, FLOAT | DESCENDING] {
                let (a, b) = (sorted(n, 1, order), sorted(m, 2, order));
                let mut want: Vec<(u64, u32)> = a.iter().chain(&b).copied().zip(0..).collect();
                want.sort_by_key(|(key, _)| key.encode(order));
                let want: (Vec<u64>, Vec<u32>) = want.into_iter().unzip();
                assert!(merged(&a, &b, order, n % 3) == want, "{n} and {m} keys, order {order}");
            }
        }
    }
}

/// Counts by edges, those outside at the end.
fn counts(keys: &[u32], edges: &[u32], order: u32) -> Vec<u32> {
    let (mut from, mut at) = (Buffer::new(keys, 1), Buffer::new(edges, 2));
    let mut counts = Buffer::new(&vec![0u32; edges.len() - 1 + OUTSIDE as usize], 1);
    let shape = Geometry::linear(bins::grid(keys.len() as u32, 2), BLOCK);
    let shape = shape.shared(bins::shared_bytes::<u32>(edges.len() as u32));
    launch(bins_count::<u32>::default(), shape, (from.view(), at.view(), order, counts.view()));
    counts.check_guards("counts");
    counts.slice().to_vec()
}

#[test]
fn floats_are_counted_as_numbers() {
    for n in SIZES {
        let keys: Vec<f32> = (0..n as u64).map(|i| f32::from_bits(random(i) as u32)).collect();
        let edges = [-1e30f32, -1.0, -0.0, 0.5, 0.5, 1e9, f32::INFINITY];
        let mut want = vec![0; edges.len() - 1 + OUTSIDE as usize];
        for key in &keys {
            let rank = edges.iter().filter(|edge| *edge <= key).count();
            let place = match rank {
                _ if key.is_nan() => edges.len() + 1,
                0 => edges.len() - 1,
                all if all == edges.len() => edges.len(),
                rank => rank - 1,
            };
            want[place] += 1;
        }
        let bits = |of: &[f32]| of.iter().map(|x| x.to_bits()).collect::<Vec<u32>>();
        assert_eq!(counts(&bits(&keys), &bits(&edges), FLOAT), want, "n = {n}");
    }
    // More counters than copies fit, and fewer.
    let keys: Vec<u32> = (0..5000).map(|i| random(i) as u32 % 6000).collect();
    for last in [1, 700, 4096] {
        let found = counts(&keys, &(0..=last).collect::<Vec<u32>>(), UNSIGNED);
        let of = |range: std::ops::Range<u32>| keys.iter().filter(|key| range.contains(key)).count() as u32;
        assert!((0..last).all(|i| found[i as usize] == of(i..i + 1)), "{last} bins");
        assert_eq!(found[last as usize..], [0, of(last..6000), 0], "{last} bins");
    }
}

/// The kernel's edges of a range; `edge`: edge i of a number of parts.
fn check_edges<T: Divides>([low, high]: [T; 2], edge: impl Fn(u32, u32) -> T)
where
    bins_even<T>: Kernel<Args = (Global<T>, u64, u64)>,
{
    for parts in [1, 2, 3, 31, 255, 256, 257, 1009, MAX_BINS - 1, MAX_BINS] {
        let mut edges = Buffer::<T>::poisoned(parts as usize + 1, 1);
        let args = (edges.view(), low.to_bits_64(), high.to_bits_64());
        launch(bins_even::<T>::default(), geometry(parts + 1), args);
        edges.check_guards("edges");
        let want: Vec<T> = (0..=parts).map(|i| edge(i, parts)).collect();
        assert!(edges.slice().iter().zip(&want).all(|(&got, &want)| same(got, want)), "{parts} parts");
        assert!(same(want[0], low) && same(want[parts as usize], high), "{parts} parts");
    }
}

/// Signed words, too, as unsigned ones.
macro_rules! check_whole_edges {
    ($($t:ty as $w:ty: $($range:expr),*;)*) => {$($(
        let (low, high): ($t, $t) = $range;
        check_edges([low as $w, high as $w], |i, parts| {
            (low as i128 + (high as i128 - low as i128) * i128::from(i) / i128::from(parts)) as $w
        });
    )*)*};
}

#[test]
fn edges_of_integers_are_rounded_down() {
    check_whole_edges! {
        u32 as u32: (0, u32::MAX), (7, 7), (1 << 20, 3 << 30), (u32::MAX - 5, u32::MAX);
        i32 as u32: (i32::MIN, i32::MAX), (-3, 4), (-1, 1);
        u64 as u64: (0, u64::MAX), (0, 0), (3, 1 << 33);
        i64 as u64: (i64::MIN, i64::MAX), (-2, 1 << 40);
    }
}

#[test]
fn edges_of_floats_ascend_to_the_end() {
    for [low, high] in [[-0.9, 0.1], [0.0, 0.0], [-1e308, 7e307], [0.0, 5e-324], [-3.0, f64::MAX]] {
        let edge = |i, parts| if i == parts { high } else { low + (high - low) * (f64::from(i) / f64::from(parts)) };
        check_edges([low, high], |i, parts| edge(i, parts).min(high));
        assert!((0..=MAX_BINS).map(|i| edge(i, MAX_BINS)).is_sorted());
    }
    for [low, high] in [[-0.5f32, 0.75], [f32::MIN, f32::MAX], [1.0, 1.000_000_1], [-1e-45, 1e-40]] {
        let (start, end) = (f64::from(low), f64::from(high));
        check_edges([low, high], |i, parts| (start + (end - start) * (f64::from(i) / f64::from(parts))) as f32);
    }
}

#[test]
fn scatters_write_to_their_places_alone() {
    for n in SIZES {
        let items: Vec<u16> = (0..n as u64).map(|i| random(i) as u16).collect();
        // Every other place, in reverse; the last of them do not exist.
        let places: Vec<u32> = (0..n as u32).rev().map(|i| 2 * i).collect();
        let (mut from, mut at) = (Buffer::new(&items, 1), Buffer::new(&places, 0));
        let (mut to, mut fresh) = (Buffer::<u16>::poisoned(n, 5), Buffer::<u16>::poisoned(n, 5));
        launch(moves_scatter::<u16>::default(), geometry(n as u32), (from.view(), at.view(), to.view()));
        to.check_guards("scattered");
        for i in 0..n {
            let want = if i % 2 == 0 { items[n - 1 - i / 2] } else { fresh.slice()[i] };
            assert!(same(to.slice()[i], want), "place {i} of {n}");
        }
    }
}

#[test]
fn no_schedule_shows_a_race() {
    let n = 2 * merge::TILE as usize + 45;
    let (a, b) = (sorted(n, 1, UNSIGNED), sorted(n / 3, 2, UNSIGNED));
    let small: Vec<u16> = a.iter().map(|&key| key as u16).collect();
    let checked = check(Check { schedules: 8, ..Check::default() }, || {
        let (keys, places) = merged(&a, &b, UNSIGNED, 0);
        let (mut of_keys, mut of_needles) = (Buffer::new(&keys, 0), Buffer::new(&b, 1));
        let mut found = Buffer::<u32>::poisoned(b.len(), 0);
        let args = (of_keys.view(), of_needles.view(), UNSIGNED, 1, found.view());
        launch(bounds::<u64>::default(), geometry(b.len() as u32), args);
        let counted = counts(&places, &[0, 9, 1000, 5000], UNSIGNED);
        launch(moves_reverse::<u64>::default(), geometry(keys.len() as u32 / 2), (of_keys.view(),));
        let mut differences = Buffer::<u64>::poisoned(keys.len(), 0);
        let args = (of_keys.view(), differences.view());
        launch(moves_difference::<u64>::default(), geometry(keys.len() as u32), args);
        let (mut keys, mut words) = (Buffer::new(&small, 1), Buffer::<u32>::poisoned(n, 0));
        let shape = Geometry::linear(transform::grid(n as u32), transform::BLOCK);
        launch(small_widen::<u16>::default(), shape, (keys.view(), words.view()));
        launch(moves_fill::<u16>::default(), geometry(n as u32), (keys.view(), 7));
        launch(small_narrow::<u16>::default(), shape, (words.view(), keys.view()));
        assert_eq!(keys.slice(), small);
        (found.slice().to_vec(), counted, differences.slice()[0])
    });
    let findings: Vec<_> = checked.report.findings.iter().map(ToString::to_string).collect();
    assert!(findings.is_empty(), "{findings:#?}");
    let all = n + n / 3;
    let after = |needle: &u64| a.iter().chain(&b).filter(|key| *key <= needle).count() as u32;
    let last = *a.iter().chain(&b).max().unwrap();
    let want = (b.iter().map(after).collect::<Vec<_>>(), vec![9, 991, 4000, 0, all as u32 - 5000, 0], last);
    assert!(checked.results.iter().all(|result| *result == want));
    assert_eq!(checked.results.len(), 8);
}
