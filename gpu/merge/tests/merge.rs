//! Merge sorts and sample sort on the simulator, against the standard library.

use rungs_common::ladder::Entry;
use rungs_common::ladder::sort::Sort;
use rungs_merge::r1_merge_path as r1;
use rungs_merge::r2_multi_way as r2;
use rungs_merge::r3_all_runs as r3;
use rungs_merge::r4_sample as r4;
use rungs_merge::{compares, sort_by_batcher, sort_by_neighbours};
use rungs_testing::{Buffer, Random, Sorting, inputs, launch, narrow, random, view};
use simt::Geometry;
use simt::sim::{Check, check as check_schedules};

/// Every input of every size up to a tile and over, of both widths.
fn check(rung: &'static Entry<Sort>, tiles: &[usize]) {
    let around = tiles.iter().flat_map(|&tile| [tile - 1, tile, tile + 1, 3 * tile + 17, 9 * tile]);
    for n in [0, 1, 2, 3, 16, 17, 18, 31, 32, 33, 1023, 1025].into_iter().chain(around) {
        for (name, keys) in inputs(n) {
            Sorting::by(rung).check_both(name, &narrow(&keys), &keys);
        }
    }
}

#[test]
fn merge_path_sorts_any_n() {
    check(&r1::launches::RUNG, &[r1::TILE as usize]);
    for n in [20_001, 100_003, 270_001] {
        for (name, keys) in inputs(n) {
            Sorting::by(&r1::launches::RUNG).check_both(name, &narrow(&keys), &keys);
        }
    }
}

#[test]
fn multi_way_sorts_any_n() {
    check(&r2::launches::RUNG, &[4352, 3840]);
}

/// Beyond small tiles: passes of eight ways.
#[test]
fn multi_way_sorts_in_large_tiles() {
    for n in [r2::launches::SMALL as usize + 1, 300_007] {
        for (name, keys) in inputs(n) {
            Sorting::by(&r2::launches::RUNG).check_both(name, &narrow(&keys), &keys);
        }
    }
}

/// Beyond that: splits are found by launches of their own.
#[test]
fn multi_way_sorts_millions() {
    let n = r2::launches::FUSED as usize + 12_345;
    let mut random = Random(7);
    let keys: Vec<u64> = (0..n).map(|_| random.next()).collect();
    assert!(!r2::launches::Plan::new::<u32>(n as u32).fused);
    Sorting::by(&r2::launches::RUNG).check_both("random", &narrow(&keys), &keys);
}

/// Keys that splitters get wrong: many equal ones, in several amounts.
fn skewed(n: usize) -> Vec<(&'static str, Vec<u64>)> {
    let mut source = Random(n as u64 + 3);
    let mut any = |f: &dyn Fn(u64) -> u64| (0..n).map(|_| f(source.next())).collect::<Vec<_>>();
    vec![
        ("one in a hundred", any(&|r| if r % 100 == 0 { r } else { 5 })),
        ("16 distinct", any(&|r| (r % 16) << 20 | 9)),
        ("growing rarer", any(&|r| 1 << (r & 0xffff_ffff).leading_zeros())),
        ("anded", any(&|r| r & random(r) & random(r ^ 99))),
    ]
}

#[test]
fn sample_sorts_skewed_and_other_keys() {
    let n = r4::launches::FEW as usize + 7;
    for (name, keys) in inputs(n).into_iter().chain(skewed(n)) {
        Sorting::by(&r4::launches::RUNG).check_both(name, &narrow(&keys), &keys);
    }
}

/// Few keys, as `all-runs` sorts them.
#[test]
fn sample_sorts_few_keys() {
    check(&r4::launches::RUNG, &[4352]);
}

#[test]
fn rounds_split_down_to_small_buckets() {
    for n in [r4::launches::FEW + 1, 1 << 24, (1 << 28) - 1, 1 << 28, (1 << 28) + 1, u32::MAX] {
        let rounds = r4::launches::rounds(n);
        let bits: u32 = rounds.iter().sum();
        assert!(
            rounds.len().is_multiple_of(2) && rounds.iter().all(|&bits| (1..=8).contains(&bits)),
            "{n}: {rounds:?}"
        );
        assert!(n.div_ceil(1 << bits) <= 4096 && n.div_ceil(1 << (bits - 1)) > 4096, "{n}: {rounds:?}");
    }
}

/// Tiles of the last round have more places than 32 bits count; their ids, four per word, are no more than that.
#[test]
fn the_ids_of_the_most_keys_fit() {
    let tiles = u32::MAX / r4::TILE + (1 << 15);
    assert!(u64::from(tiles) * u64::from(r4::TILE) > 1 << 32);
    assert_eq!(u64::from(r4::launches::id_words(tiles)), u64::from(tiles) * u64::from(r4::TILE) / 4);
}

/// Buckets that do not fit a block, which no input makes for sure.
#[test]
fn sample_sorts_buckets_that_do_not_fit_a_block() {
    let half = r4::bucket_keys::<u32>() as usize / 2;
    let mut source = Random(1);
    for n in [2 * half, 2 * half + 1, 3 * half, 5 * half - 1, 5 * half + 1] {
        let keys: Vec<u32> = (0..2 * n).map(|i| if i % 3 == 0 { i as u32 } else { source.next() as u32 }).collect();
        let mut buffer = Buffer::new(&keys, 0);
        let (mut starts, mut finals) = ([0, n as u32, 2 * n as u32], [0, 0]);
        let geometry = Geometry::linear(2, r4::BLOCK).shared(r4::launches::buckets_shared::<u32>());
        let args = (buffer.view(), view(&mut starts), view(&mut finals));
        launch(r4::merge_sample_buckets::<u32>::default(), geometry, args);
        let mut want = keys.clone();
        want[..n].sort_unstable();
        want[n..].sort_unstable();
        assert!(buffer.slice() == want, "n = {n}");
        buffer.check_guards("large buckets");
    }
}

/// No race, no read of memory that nobody wrote, under schedules that delay warps and lanes.
#[test]
fn schedules_show_no_mistake() {
    let mut source = Random(5);
    let keys: Vec<u32> = (0..20_001).map(|_| source.next() as u32).collect();
    for rung in [&r1::launches::RUNG, &r2::launches::RUNG, &r3::launches::RUNG] {
        for keys in [&keys[..9001], &keys] {
            let options = Check { schedules: 4, ..Check::default() };
            let checked = check_schedules(options, || Sorting::by(rung).check("random", keys));
            assert!(checked.report.is_clean(), "{}: {:?}", rung.rung.name, checked.report.kinds());
        }
    }
}

/// The same for the sort that distributes, of as few keys as it takes: most are in equality buckets, which are not
/// sorted again.
#[test]
fn schedules_show_no_mistake_in_a_sample_sort() {
    let n = r4::launches::FEW + 1;
    let keys: Vec<u32> = (0..n).map(|i| (random(i.into()) as u32) & 0xffff_03ff).collect();
    let one = Check { seed: 3, schedules: 1, ..Check::default() };
    let checked = check_schedules(one, || Sorting::by(&r4::launches::RUNG).check("few low halves", &keys));
    assert!(checked.report.is_clean(), "{:?}", checked.report.kinds());
}

/// The numbers of exchanges in the docs of the sorts are those of the algorithms, and both sort.
#[test]
fn a_thread_sorts_its_keys() {
    let exchanges = |run: usize, distance: usize| (0..17 - distance).filter(|&i| compares(i, distance, run)).count();
    let steps = (0..5).flat_map(|run| (0..=run).map(move |distance| (1 << run, 1 << distance)));
    assert_eq!(steps.map(|(run, distance)| exchanges(run, distance)).sum::<usize>(), 85);
    let keys: [u32; 17] = std::array::from_fn(|i| (i as u32).wrapping_mul(2_654_435_761) % 97);
    let (mut sorted, mut a, mut b) = (keys, keys, keys);
    sorted.sort_unstable();
    sort_by_batcher(&mut a);
    sort_by_neighbours(&mut b, 17);
    assert_eq!((a, b), (sorted, sorted));
}
