//! Merge sorts on the simulator, against the standard library: by `<`, by other orders, and by functions that are none.

mod common;

use common::{Buffer, Random, Sorting, inputs, narrow};
use rungs_kernels::ladder::sort::Sort;
use rungs_kernels::ladder::{Entry, Launcher, Launches, Result};
use rungs_kernels::merge::r1_merge_path as r1;
use rungs_kernels::merge::r2_multi_way as r2;
use rungs_kernels::merge::r3_sample as r3;
use rungs_kernels::order::{Greater, LowHalfDown, Order};
use simt::sim::Gpu;
use simt::{Global, Scalar};
use std::fmt::Debug;

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

/// Launches by an order, and what they are called.
type By<K, C> = fn(&dyn Launcher, u32) -> Result<Launches<(Global<K>, C)>>;

/// What a sort by an order makes of the keys.
fn sort_by<K: Scalar, C: Order<K>>(what: &str, by: By<K, C>, keys: &[K], order: C) -> Vec<K> {
    let mut buffer = Buffer::new(keys, 0);
    let on: &dyn Launcher = &Gpu::default();
    let mut sort = by(on, keys.len() as u32).unwrap_or_else(|e| panic!("{what}: {e}"));
    sort(on, (buffer.view(), order)).unwrap_or_else(|e| panic!("{what}: {e}"));
    buffer.check_guards(what);
    buffer.slice().to_vec()
}

/// Panics unless the sort makes the keys what the standard library makes of them; if not `stable`, up to the order of
/// equivalent keys.
fn check_by<K: Scalar + Debug + Ord, C: Order<K>>(what: &str, by: By<K, C>, keys: &[K], order: C, stable: bool) {
    let compare = |a: &K, b: &K| order.before(*b, *a).cmp(&order.before(*a, *b));
    let mut want = keys.to_vec();
    want.sort_by(compare);
    let mut got = sort_by(what, by, keys, order);
    if !stable {
        let wrong = got.windows(2).position(|w| order.before(w[1], w[0]));
        assert_eq!(wrong, None, "{what}, n = {}: a key stands before a smaller one", keys.len());
        // Equivalent keys in any order, but these keys and no others.
        want.sort();
        got.sort();
    }
    let wrong = (0..want.len()).find(|&i| got[i] != want[i]);
    assert_eq!(wrong, None, "{what}, n = {}", keys.len());
}

/// Sizes at which the passes differ.
const SIZES: [usize; 9] = [1, 2, 33, 1000, 4353, 9000, 20_001, 100_003, 270_001];

#[test]
fn greatest_first_and_weak_orders() {
    for n in SIZES {
        for (name, keys) in inputs(n) {
            let keys = narrow(&keys);
            check_by(name, r1::launches::sequence::<u32, Greater>, &keys, Greater, true);
            check_by(name, r1::launches::sequence::<u32, LowHalfDown>, &keys, LowHalfDown, true);
            check_by(name, r2::launches::sequence::<r2::launches::Own<u32, Greater>>, &keys, Greater, true);
            check_by(name, r2::launches::sequence::<r2::launches::Own<u32, LowHalfDown>>, &keys, LowHalfDown, false);
        }
    }
}

/// Keys that splitters get wrong: many equivalent ones, in several amounts.
fn skewed(n: usize) -> Vec<(&'static str, Vec<u64>)> {
    let mut random = Random(n as u64 + 3);
    let mut any = |f: &dyn Fn(u64) -> u64| (0..n).map(|_| f(random.next())).collect::<Vec<_>>();
    vec![
        ("one in a hundred", any(&|r| if r % 100 == 0 { r } else { 5 })),
        ("16 distinct", any(&|r| (r % 16) << 20 | 9)),
        ("growing rarer", any(&|r| 1 << (r & 0xffff_ffff).leading_zeros())),
        ("anded", any(&|r| r & common::random(r) & common::random(r ^ 99))),
    ]
}

#[test]
fn sample_sorts_skewed_and_other_keys() {
    let n = r3::launches::FEW as usize + 7;
    for (name, keys) in inputs(n).into_iter().chain(skewed(n)) {
        Sorting::by(&r3::launches::RUNG).check_both(name, &narrow(&keys), &keys);
    }
}

#[test]
fn sample_sorts_by_other_orders() {
    let n = r3::launches::FEW as usize + 100_003;
    for (name, keys) in inputs(n).into_iter().chain(skewed(n)) {
        let keys = narrow(&keys);
        check_by(name, r3::launches::sequence::<r2::launches::Own<u32, Greater>>, &keys, Greater, true);
        check_by(name, r3::launches::sequence::<r2::launches::Own<u32, LowHalfDown>>, &keys, LowHalfDown, false);
    }
}

#[test]
fn rounds_split_down_to_small_buckets() {
    for n in [r3::launches::FEW + 1, 1 << 24, (1 << 28) - 1, 1 << 28, (1 << 28) + 1, u32::MAX] {
        let rounds = r3::launches::rounds(n);
        let bits: u32 = rounds.iter().sum();
        assert!(rounds.len() % 2 == 0 && rounds.iter().all(|&bits| (1..=8).contains(&bits)), "{n}: {rounds:?}");
        assert!(n.div_ceil(1 << bits) <= 4096 && n.div_ceil(1 << (bits - 1)) > 4096, "{n}: {rounds:?}");
    }
}
