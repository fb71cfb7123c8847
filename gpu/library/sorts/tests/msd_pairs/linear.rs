//! Integers in a part of all words, by a linear map.

use super::*;
use rungs_sorts::msd_pairs::{LinearOrLast, SAMPLE};

/// The places of the keys of the sample among `n`; the first two are those of its ends in [`between`].
fn sampled(n: u32) -> impl Iterator<Item = usize> {
    (0..SAMPLE).map(move |i| ((u64::from(i.wrapping_mul(0x9e37_79b1)) * u64::from(n)) >> 32) as usize)
}

/// `n` keys of which the sample has the least and the greatest, and which are `others` elsewhere.
fn between(n: u32, [least, greatest]: [u32; 2], others: impl Fn(u64) -> u32) -> Vec<u32> {
    let mut keys: Vec<u32> = (0..n.into()).map(others).collect();
    let ends: Vec<usize> = sampled(n).take(2).collect();
    (keys[ends[0]], keys[ends[1]]) = (greatest, least);
    keys
}

/// From one key to another, and the order that they are in.
const SPANS: [([u32; 2], u32); 7] = [
    ([0, 999_999], UNSIGNED),
    ([0, 20_000], UNSIGNED | DESCENDING),
    ([1_700_000_000, 1_731_536_000], SIGNED | DESCENDING),
    ([(-999_999i32) as u32, 999_999], SIGNED),
    ([u32::MAX - 77_777, u32::MAX], UNSIGNED),
    ([1 << 31, u32::MAX], UNSIGNED),
    ([1 << 26, u32::MAX - (1 << 26)], UNSIGNED),
];

#[test]
fn msd_pairs_sorts_integers_of_a_span_by_buckets() {
    let n = BY_BUCKETS as u32 + 7;
    for ([least, greatest], order) in SPANS {
        let width = u64::from(greatest.wrapping_sub(least)) + 1;
        let keys = between(n, [least, greatest], |i| least.wrapping_add((random(i) % width) as u32));
        let what = format!("{least} to {greatest}");
        check_on(&WithoutPasses(with_multiprocessors(1)), &what, &keys, &[order]);
    }
}

/// The first and the last key of every bucket, and one between: rounding leaves none to a neighbour.
#[test]
fn msd_pairs_sorts_the_ends_of_all_buckets_of_a_span() {
    let n = BY_BUCKETS as u32;
    let bits = Plan::new(n, with_multiprocessors(1).device()).bits;
    for i in 0..4 {
        let ends = [random(2 * i) as u32, random(2 * i + 1) as u32];
        let [least, greatest] = if i % 2 == 0 { ends } else { [ends[0], ends[0].saturating_add(ends[1] >> 8)] };
        let [least, greatest] = [least.min(greatest), least.max(greatest)];
        let map = LinearOrLast::of_sample((least, greatest), bits);
        // The first key of the span in a bucket behind b, or the end of the span.
        let behind = |b: u32| {
            let (mut low, mut high) = (u64::from(least), u64::from(greatest) + 1);
            while low < high {
                let middle = (low + high) / 2;
                if map.bucket_of(middle as u32) > b { high = middle } else { low = middle + 1 }
            }
            low as u32
        };
        let of = [least, greatest].map(|key| map.bucket_of(key));
        let first: Vec<u32> = (of[0]..=of[1]).map(|b| if b == of[0] { least } else { behind(b - 1) }).collect();
        let key = |place: u64| {
            let b = (place / 3) as usize % first.len();
            let last = first.get(b + 1).map_or(greatest, |&next| next - 1);
            [first[b], last, first[b] / 2 + last / 2][place as usize % 3].clamp(least, greatest)
        };
        let keys = between(n, [least, greatest], key);
        let what = format!("ends in {least} to {greatest}");
        check_on(&WithoutPasses(with_multiprocessors(1)), &what, &keys, &[UNSIGNED]);
    }
}

/// A key that the sample has missed is outside of the span.
#[test]
fn msd_pairs_sorts_keys_outside_the_span_of_the_others() {
    let n = BY_BUCKETS as u32;
    let missed = (0..n as usize).find(|place| sampled(n).all(|sampled| sampled != *place)).unwrap();
    for ([least, greatest], outside) in [
        ([1000, 1_000_000], u32::MAX),
        ([1000, 1_000_000], 1_000_000 + (1_000_000 >> 7) + 2),
        ([1_000_000, 2_000_000], 1_000_000 - (1_000_000 >> 7) - 2),
        ([1 << 31, u32::MAX], 5),
        ([0, 1 << 31], (1 << 31) + (1 << 30)),
    ] {
        let width = u64::from(greatest - least) + 1;
        let mut keys = between(n, [least, greatest], |i| least + (random(i) % width) as u32);
        keys[missed] = outside;
        check(&format!("{outside} with {least} to {greatest}"), 1, &keys, &[UNSIGNED]);
    }
}

#[test]
fn a_linear_map_is_monotone_and_leaves_the_last_bucket_to_keys_outside() {
    for i in 0..2000 {
        let (a, b) = (random(3 * i) as u32 >> (i % 31), random(3 * i + 1) as u32 >> (i % 7));
        let (least, greatest, bits) = (a.min(b), a.max(b), 13 + (i % 4) as u32);
        let (map, last) = (LinearOrLast::of_sample((least, greatest), bits), (1 << bits) - 1);
        let keys = [0, least, least / 2 + greatest / 2, greatest, u32::MAX];
        let (found, whole) =
            (keys.map(|key| map.bucket_of(key)), keys.map(|key| LinearOrLast::whole(bits).bucket_of(key)));
        let what = format!("{least} to {greatest}, {bits} bits: {found:?}");
        assert!(found[1] <= found[2] && found[2] <= found[3], "{what}");
        if found != whole {
            let margin = ((greatest - least) >> 7) + 1;
            assert!(found[3] < last, "{what}");
            assert!(least <= margin || found[0] == last, "{what}");
            assert!(greatest >= u32::MAX - margin || found[4] == last, "{what}");
        }
    }
}
