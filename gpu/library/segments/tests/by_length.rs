//! Segmented sorts on the simulator, against the standard library's sort of each segment.

use rungs_common::keys::{DESCENDING, FLOAT, SIGNED, UNSIGNED, Word};
use rungs_common::ladder::segmented_sort::*;
use rungs_segments::by_length::items::Keys64;
use rungs_segments::by_length::launches::RUNG;
use rungs_segments::by_length::short::segmented_sort_by_length_short;
use rungs_segments::by_length::split::{sampled, segmented_sort_by_length_plan};
use rungs_segments::by_length::work::{BY_DIGITS, control_len, lists_len, rooms_len};
use rungs_segments::by_length::{BLOCK, IN_LANE, MOST_SPLIT, SHORT, in_block, in_warp, mean, tile};
use rungs_testing::{Buffer, for_kinds, inputs, launch, narrow, random, with_multiprocessors};
use simt::sim::{Check, check as check_races};
use std::fmt::Debug;
use std::ops::Range;

/// SMs of the device that the simulator stands for.
const MULTIPROCESSORS: u32 = 3;

/// Offsets of segments of these lengths that follow one another from `first` on.
fn offsets(first: u32, lens: &[u32]) -> Vec<u32> {
    let ends = lens.iter().scan(first, |end, len| {
        *end += len;
        Some(*end)
    });
    [first].into_iter().chain(ends).collect()
}

/// The segments of `n` keys.
fn segments(offsets: &[u32], n: usize) -> impl Iterator<Item = Range<usize>> {
    offsets.windows(2).map(move |pair| (pair[0] as usize).min(n)..(pair[1] as usize).min(n))
}

/// What the sort makes of keys, after checks of what must not be written.
fn sorted<W: SegmentWord>(what: &str, on: &dyn Launcher, keys: &[W], offsets: &[u32], order: u32) -> Vec<W> {
    let mut sequence = RUNG.sorter::<W>(on, keys.len() as u32).unwrap_or_else(|e| panic!("{what}: {e}"));
    let (mut buffer, mut at) = (Buffer::new(keys, 0), Buffer::new(offsets, 1));
    // Twice: scratch memory is used again.
    for _ in 0..2 {
        buffer.slice().copy_from_slice(keys);
        let args = Segments { keys: buffer.view(), offsets: at.view(), order };
        sequence.run(on, args).unwrap_or_else(|e| panic!("{what}: {e}"));
        buffer.check_guards(what);
        at.check_guards(what);
        assert_eq!(at.slice(), offsets, "{what}: wrote to the offsets");
    }
    buffer.slice().to_vec()
}

/// Panics unless each segment is sorted, and all other keys are where they were.
fn check<W: SegmentWord + Word + Ord + Debug>(what: &str, keys: &[W], offsets: &[u32], order: u32) {
    let on = &with_multiprocessors(MULTIPROCESSORS);
    let what = format!("{what}, {} bytes, n = {}, order {order}", size_of::<W>(), keys.len());
    let (got, mut want) = (sorted(&what, on, keys, offsets, order), keys.to_vec());
    segments(offsets, keys.len()).for_each(|range| want[range].sort_by_key(|key| key.encode(order)));
    compare(&what, &got, &want, offsets);
}

/// Names the first difference.
fn compare<T: PartialEq + Debug>(what: &str, got: &[T], want: &[T], offsets: &[u32]) {
    if let Some(i) = (0..want.len()).find(|&i| got[i] != want[i]) {
        let of = segments(offsets, want.len()).enumerate().find(|(_, range)| range.contains(&i));
        panic!("{what}: {:?} instead of {:?} at {i}, in segment {of:?}", got[i], want[i]);
    }
}

/// Panics unless each segment is sorted with its values and equal keys keep their order.
fn check_pairs(what: &str, keys: &[u32], offsets: &[u32], order: u32) {
    let (n, on): (_, &dyn Launcher) = (keys.len(), &with_multiprocessors(MULTIPROCESSORS));
    let what = format!("{what}, pairs, n = {n}, order {order}");
    let mut sequence = RUNG.pair_sorter(on, n as u32).unwrap();
    let mut places: Vec<usize> = (0..n).collect();
    segments(offsets, n).for_each(|range| places[range].sort_by_key(|&i| keys[i].encode(order)));
    let mut inside = vec![false; n];
    segments(offsets, n).for_each(|range| inside[range].fill(true));
    let want: Vec<u32> = places.iter().map(|&i| keys[i]).collect();
    for values in [(0..n as u64).map(|i| random(i) as u32).collect::<Vec<_>>(), vec![]] {
        let (mut from, mut at) = (Buffer::new(&values, 1), Buffer::new(offsets, 0));
        let (mut buffer, mut moved) = (Buffer::new(keys, 3), Buffer::<u32>::poisoned(n, 2));
        let poison = moved.slice().first().copied();
        let views = (buffer.view(), from.view(), moved.view(), at.view());
        let args = SegmentedPairs { keys: views.0, values: views.1, moved: views.2, offsets: views.3, order };
        sequence.run(on, args).unwrap_or_else(|e| panic!("{what}: {e}"));
        buffer.check_guards(&what);
        moved.check_guards(&what);
        from.check_guards(&what);
        compare(&what, buffer.slice(), &want, offsets);
        let value = |i: usize| values.get(i).copied().unwrap_or(i as u32);
        // Values of keys in no segment are not written.
        let want = |at: usize| if inside[at] { value(places[at]) } else { poison.unwrap() };
        let want: Vec<u32> = (0..n).map(want).collect();
        compare(&what, moved.slice(), &want, offsets);
    }
}

/// Lengths around what a lane, a warp, a group of warps and a block take, for both sizes of words.
fn lengths() -> Vec<u32> {
    let around = |n: u32| [n - 1, n, n + 1];
    let mut all = vec![0, 1, 2, 3, 31, 32, 33, 1009];
    [IN_LANE / 2, IN_LANE, 16, 64, SHORT].into_iter().for_each(|n| all.extend(around(n)));
    let mut n = 2 * SHORT;
    while n <= in_block::<u32>() {
        all.extend(around(n));
        n *= 2;
    }
    // Not in order, so that neighbours are of different classes.
    all.sort_by_key(|&n| random(n.into()));
    all
}

/// Calls `f` with each kind of keys, as words of both sizes.
fn for_inputs(n: usize, mut f: impl FnMut(&str, &[u32], &[u64])) {
    inputs(n).iter().for_each(|(name, wide)| f(name, &narrow(wide), wide));
}

#[test]
fn every_length() {
    let lens = lengths();
    let (first, offsets) = (5, offsets(5, &lens));
    // Some keys before the first segment, and some behind the last.
    let n = offsets[lens.len()] + first + 2;
    for_kinds(&[u64::from(n)], |what, keys, wide| {
        check(what, keys, &offsets, UNSIGNED);
        check(what, wide, &offsets, FLOAT);
    });
    for_inputs(n as usize, |what, keys, _| check_pairs(what, keys, &offsets, UNSIGNED));
}

#[test]
fn one_segment_of_every_length() {
    for len in lengths().into_iter().filter(|&len| len < 1100).chain([in_block::<u32>() + 1, in_block::<u64>() + 1]) {
        let offsets = [0, len];
        let mut orders = [UNSIGNED, SIGNED, FLOAT, FLOAT | DESCENDING].into_iter().cycle();
        for_inputs(len as usize, |what, keys, wide| {
            let order = orders.next().unwrap();
            check(what, keys, &offsets, order);
            check(what, wide, &offsets, order);
            check_pairs(what, keys, &offsets, SIGNED | DESCENDING);
        });
    }
}

#[test]
fn shapes() {
    let draw = |count: u64, len: &dyn Fn(u64) -> u64| (0..count).map(|i| len(random(i)) as u32).collect::<Vec<_>>();
    let power = |r: u64| (4.0 * (((r >> 11) + 1) as f64 / (1u64 << 53) as f64).powf(-1.0 / 1.2)).min(30_000.0) as u64;
    let shapes = [
        ("no segments", vec![]),
        ("none to three", draw(3000, &|r| r % 4)),
        ("many empty", draw(3000, &|r| if r % 16 == 0 { r >> 8 & 127 } else { 0 })),
        ("all empty", vec![0; 1000]),
        ("one to 32", draw(700, &|r| 1 + r % 32)),
        ("one to 64", draw(700, &|r| 1 + r % 64)),
        ("about 1000", draw(13, &|r| 900 + r % 201)),
        ("power law", draw(600, &power)),
        ("one huge among tiny", [draw(40, &|r| r % 5), vec![20_011], draw(40, &|r| r % 5)].concat()),
    ];
    for (name, lens) in shapes {
        let offsets = offsets(0, &lens);
        for_inputs(offsets[lens.len()] as usize, |what, keys, wide| {
            let what = format!("{name}, {what}");
            check(&what, keys, &offsets, SIGNED);
            check(&what, wide, &offsets, UNSIGNED);
            check_pairs(&what, keys, &offsets, FLOAT);
        });
    }
    // No offset at all.
    check("nothing", &[3u32, 1, 2], &[], UNSIGNED);
}

#[test]
fn long_segments() {
    let lens = [in_block::<u32>() + 1, 30_011, 0, 7, tile::<u32>() * 2, 3 * mean::<u32>(), 3 * mean::<u32>() + 1];
    let offsets = offsets(1, &lens);
    let n = u64::from(offsets[lens.len()]);
    for_kinds(&[n], |what, keys, wide| {
        check(what, keys, &offsets, UNSIGNED);
        check(what, wide, &offsets, UNSIGNED);
    });
    for_inputs(n as usize, |what, keys, _| check_pairs(what, keys, &offsets, UNSIGNED));
}

/// Too many buckets for splitters: even keys by ranges, others digit by digit.
#[test]
fn very_long_segments() {
    let len = MOST_SPLIT * mean::<u64>() + 1;
    let offsets = [0, 10, 10 + len, 60 + len];
    let keys: Vec<u64> = (0..u64::from(len) + 60).map(random).collect();
    check("uniform", &keys, &offsets, UNSIGNED);
    check_pairs("uniform", &narrow(&keys), &offsets, UNSIGNED);
    let skewed: Vec<u64> = keys.iter().map(|key| key & random(key % 7)).collect();
    check("skewed", &skewed, &offsets, SIGNED);
    check_pairs("skewed", &narrow(&skewed), &offsets, SIGNED);
    let narrow: Vec<u32> = (0..u64::from(2 * len) + 60).map(|i| random(i) as u32 % 1000).collect();
    check("few", &narrow, &[3, 10 + 2 * len], UNSIGNED);
}

/// How many segments the plan leaves to the sort by digits, of a very long one and a few others.
fn left_to_digits(key: impl Fn(u64) -> u64) -> u32 {
    let (len, multiprocessors) = (MOST_SPLIT * mean::<u64>() + 1, 2);
    let n = len + 20;
    let keys: Vec<u64> = (0..u64::from(n)).map(key).collect();
    let (mut keys, mut offsets) = (Buffer::new(&keys, 0), Buffer::new(&[0, 10, 10 + len, n], 0));
    let mut control = Buffer::new(&vec![0u32; control_len::<u64>(n, multiprocessors) as usize], 0);
    let mut lists = Buffer::<u64>::poisoned(lists_len::<u64>(n) as usize, 0);
    let mut rooms = Buffer::<u64>::poisoned(rooms_len::<u64>(n) as usize, 0);
    let (keys, none) = (keys.view(), offsets.view().slice(0, 0));
    let views = (control.view(), lists.view(), rooms.view());
    let short = segmented_sort_by_length_short::<Keys64, u64, u64>::default();
    let args = (keys, UNSIGNED, none, none, offsets.view(), views.0, views.1, views.2);
    launch(short, Geometry::linear(1, BLOCK), args);
    let plan = segmented_sort_by_length_plan::<Keys64, u64, u64>::default();
    launch(plan, Geometry::linear(2, BLOCK), (keys, UNSIGNED, none, none, views.0, views.1, views.2));
    control.slice()[BY_DIGITS as usize]
}

#[test]
fn uniform_keys_are_cut_into_even_ranges() {
    assert_eq!(left_to_digits(random), 0);
    assert_eq!(left_to_digits(|i| random(i) & random(i + 7)), 1);
    assert_eq!(left_to_digits(|_| 5), 1);
}

/// Keys of which the sample sees nothing: one bucket has nearly all, more than there is room for.
#[test]
fn a_sample_that_misses() {
    fn keys<W: Word + From<u32>>(begin: u32, len: u32) -> Vec<W> {
        let mut keys = vec![W::from(77_777_777); (begin + len) as usize];
        (0..in_block::<W>())
            .for_each(|i| keys[sampled(i, begin, len) as usize] = W::from(random(i.into()) as u32 >> 1));
        keys
    }
    let (begin, len) = (9, 100_003);
    check("one value", &keys::<u32>(begin, len), &[begin, begin + len], UNSIGNED);
    check("one value", &keys::<u64>(begin, len), &[begin, begin + len], UNSIGNED);
}

/// Offsets beyond the end count as the end; where they descend, nothing but keys is written.
#[test]
fn offsets_that_are_wrong() {
    // More keys than two launches sort.
    let n = 12_000;
    for_inputs(n, |what, keys, wide| {
        check(what, keys, &[0, 10, 6000, u32::MAX, u32::MAX], UNSIGNED);
        check(what, wide, &[11_900, 12_001, 12_500], UNSIGNED);
        let on = &with_multiprocessors(MULTIPROCESSORS);
        for period in [2, 3, 7] {
            let offsets: Vec<u32> = (0..300).map(|i| (random(i % period) % 18_000) as u32).collect();
            sorted(what, on, keys, &offsets, UNSIGNED);
            sorted(what, on, wide, &offsets, UNSIGNED);
        }
    });
    let descending: Vec<u32> = (0..200).rev().map(|i| i * 60).collect();
    let keys: Vec<u32> = (0..n as u32).rev().collect();
    assert_eq!(sorted("descending", &with_multiprocessors(2), &keys, &descending, UNSIGNED), keys);
}

/// No race, and no read of what nobody wrote, in any of several schedules.
#[test]
fn nothing_races() {
    let lens = [0, 3, 8, 20, 40, 100, 200, 400, 1000, 2000, in_block::<u64>() + 9, 5, in_warp::<u32>() * 9];
    let offsets = offsets(2, &lens);
    let wide: Vec<u64> = (0..u64::from(offsets[lens.len()]) + 3).map(random).collect();
    let mut want = wide.clone();
    segments(&offsets, wide.len()).for_each(|range| want[range].sort_unstable());
    let schedules = Check { schedules: 2, ..Check::default() };
    let checked = check_races(schedules, || sorted("checked", &with_multiprocessors(2), &wide, &offsets, UNSIGNED));
    let findings: Vec<_> = checked.report.findings.iter().map(ToString::to_string).collect();
    assert!(findings.is_empty(), "{findings:#?}");
    checked.results.iter().for_each(|got| compare("checked", got, &want, &offsets));
}

#[test]
fn too_many_keys_are_refused() {
    let (n, on) = (rungs_segments::by_length::MAX_KEYS + 1, &with_multiprocessors(1));
    let refusal = RUNG.sorter::<u32>(on, n).err().unwrap().to_string();
    assert!(refusal.contains(&n.to_string()), "{refusal}");
}
