//! Sorts that compare on the simulator, against the standard library: by `<`, by other orders, and by functions that
//! are none.

use rungs_common::ladder::sort::Sort;
use rungs_common::ladder::{Entry, Launcher, Launches, Result};
use rungs_common::order::{Greater, Less, LowHalfDown, Order};
use rungs_sorts::by_order::merge_by_less_u64::Kernels as WideLess;
use rungs_sorts::by_order::merge_by_low_half::Kernels as LowHalf;
use rungs_sorts::by_order::{all_runs, multi_way, network, sample};
use rungs_sorts::digits::LAST_EPOCH;
use rungs_sorts::stable;
use rungs_testing::{Buffer, Random, Sorting, inputs, narrow, random};
use simt::sim::{Check, Gpu, check as check_schedules};
use simt::{Global, Scalar};
use std::cell::Cell;
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
            check_by(name, multi_way::launches::sequence::<greater::Kernels>, &keys, Greater, true);
            check_by(name, multi_way::launches::sequence::<LowHalf>, &keys, LowHalfDown, false);
        }
    }
}

/// Keys that splitters get wrong: many equivalent ones, in several amounts.
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
fn sample_sorts_by_other_orders() {
    let n = sample::launches::FEW as usize + 100_003;
    for (name, keys) in inputs(n).into_iter().chain(skewed(n)) {
        let keys = narrow(&keys);
        check_by(name, sample::launches::sequence::<greater::Kernels>, &keys, Greater, true);
        check_by(name, sample::launches::sequence::<LowHalf>, &keys, LowHalfDown, false);
    }
}

#[test]
fn rounds_split_down_to_small_buckets() {
    for n in [sample::launches::FEW + 1, 1 << 24, (1 << 28) - 1, 1 << 28, (1 << 28) + 1, u32::MAX] {
        let rounds = sample::launches::rounds(n);
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
    let tiles = u32::MAX / sample::TILE + (1 << 15);
    assert!(u64::from(tiles) * u64::from(sample::TILE) > 1 << 32);
    assert_eq!(u64::from(sample::id_words(tiles)), u64::from(tiles) * u64::from(sample::TILE) / 4);
}

/// Whether the first key is less than half way round ahead of the second: of three keys each may be before the next.
#[simt::argument]
#[derive(Clone, Copy)]
pub struct Circle;

impl Order<u32> for Circle {
    fn before(&self, a: u32, b: u32) -> bool {
        b.wrapping_sub(a).wrapping_sub(1) < 1 << 31
    }
}

/// Every key is before every key, itself too.
#[simt::argument]
#[derive(Clone, Copy)]
pub struct Always;

impl Order<u32> for Always {
    fn before(&self, _: u32, _: u32) -> bool {
        true
    }
}

/// Some keys are before others, by chance.
#[simt::argument]
#[derive(Clone, Copy)]
pub struct Chance;

impl Order<u32> for Chance {
    fn before(&self, a: u32, b: u32) -> bool {
        random(u64::from(a) << 32 | u64::from(b)) & 1 != 0
    }
}

/// `<` on floats: NaN is equivalent to everything, which makes keys equivalent that are not.
#[simt::argument]
#[derive(Clone, Copy)]
pub struct FloatLess;

impl Order<f32> for FloatLess {
    fn before(&self, a: f32, b: f32) -> bool {
        a < b
    }
}

rungs_sorts::sort_kernels!(pub mod greater: <u32, Greater>);
rungs_sorts::sort_kernels!(pub mod circle: <u32, Circle>);
rungs_sorts::sort_kernels!(pub mod always: <u32, Always>);
rungs_sorts::sort_kernels!(pub mod chance: <u32, Chance>);
rungs_sorts::sort_kernels!(pub mod float_less: <f32, FloatLess>);

/// Panics unless a sort by what is no order ends with a permutation of the keys.
fn check_permutation<K: Scalar, C: Order<K>>(what: &str, by: By<K, C>, keys: &[K], order: C) {
    let bits = |keys: &[K]| {
        let mut bits: Vec<u64> = keys.iter().map(|key| key.to_bits_64()).collect();
        bits.sort_unstable();
        bits
    };
    let got = sort_by(what, by, keys, order);
    assert!(bits(&got) == bits(keys), "{what}, n = {}: the keys are not those that were given", keys.len());
}

#[test]
fn what_is_no_order_leaves_a_permutation() {
    let large = sample::launches::FEW as usize + 20_011;
    for n in [2, 17, 18, 40, 1000, 4353, 9000, 30_001, 100_003, 270_001, large] {
        let mut source = Random(n as u64);
        let keys: Vec<u32> = (0..n).map(|_| source.next() as u32).collect();
        let floats: Vec<f32> = keys.iter().map(|&k| if k % 50 == 0 { f32::NAN } else { k as f32 }).collect();
        if n < large {
            check_permutation("circle", multi_way::launches::sequence::<circle::Kernels>, &keys, Circle);
            check_permutation("always", multi_way::launches::sequence::<always::Kernels>, &keys, Always);
        }
        check_permutation("chance", multi_way::launches::sequence::<chance::Kernels>, &keys, Chance);
        check_permutation("NaN", multi_way::launches::sequence::<float_less::Kernels>, &floats, FloatLess);
        check_permutation("stable NaN", stable::launches::sequence::<float_less::Kernels>, &floats, FloatLess);
        if n == large {
            check_permutation("stable circle", stable::launches::sequence::<circle::Kernels>, &keys, Circle);
            check_permutation("stable chance", stable::launches::sequence::<chance::Kernels>, &keys, Chance);
        }
        check_permutation("circle", sample::launches::sequence::<circle::Kernels>, &keys, Circle);
        check_permutation("always", sample::launches::sequence::<always::Kernels>, &keys, Always);
        check_permutation("chance", sample::launches::sequence::<chance::Kernels>, &keys, Chance);
        check_permutation("NaN", sample::launches::sequence::<float_less::Kernels>, &floats, FloatLess);
    }
}

/// Splits by launches of their own, in passes that find that the order is none.
#[test]
fn what_is_no_order_leaves_a_permutation_of_millions() {
    let n = multi_way::launches::FUSED as usize + 54_321;
    let mut source = Random(11);
    let keys: Vec<u32> = (0..n).map(|_| source.next() as u32).collect();
    check_permutation("circle", multi_way::launches::sequence::<circle::Kernels>, &keys, Circle);
    check_permutation("chance", multi_way::launches::sequence::<chance::Kernels>, &keys, Chance);
}

#[test]
fn stable_sorts_any_n() {
    check(&stable::launches::RUNG, &[4352, 3840]);
    // The last one in larger tiles.
    for (name, keys) in SIZES.into_iter().chain([600_011]).flat_map(inputs) {
        let keys = narrow(&keys);
        check_by(name, stable::launches::sequence::<LowHalf>, &keys, LowHalfDown, true);
    }
}

/// From `FEW` + 1 keys on they are distributed, many of them equivalent.
#[test]
fn stable_distributes_keys_in_their_order() {
    let few = sample::launches::FEW as usize;
    for n in [few + 1, few + 100_003] {
        for (name, keys) in inputs(n).into_iter().chain(skewed(n)) {
            // In which half a key differs decides whether it is equivalent to others.
            let mut keys = narrow(&keys);
            if n > few + 1 {
                (0..).zip(&mut keys).for_each(|(i, key)| *key = *key & 0xff | i << 8);
            }
            check_by(name, stable::launches::sequence::<LowHalf>, &keys, LowHalfDown, true);
        }
    }
    let n = few + 4099;
    let keys: Vec<u64> = (0..n as u64).map(|i| random(i) % 1000).collect();
    check_by("64 bits", stable::launches::sequence::<WideLess>, &keys, Less, true);
}

/// What tiles publish carries a number; where the numbers end, all is cleared and they begin again.
#[test]
fn stable_begins_its_numbers_anew() {
    let n = sample::launches::FEW + 9;
    let keys: Vec<u32> = (0..n).map(|i| random(i.into()) as u32 & 0xffff_0fff).collect();
    let mut want = keys.clone();
    want.sort_by_key(|key| std::cmp::Reverse(key & 0xffff));
    let on: &dyn Launcher = &Gpu::default();
    // Each sort has two moves: the numbers end between those of the second sort.
    let mut sort = stable::launches::sequence_from::<LowHalf>(on, n, LAST_EPOCH - 2).unwrap();
    for number in 1..=3 {
        let mut buffer = Buffer::new(&keys, 0);
        sort(on, (buffer.view(), LowHalfDown)).unwrap();
        assert!(buffer.slice() == want, "sort {number}");
    }
}

/// No race, no read of memory that nobody wrote, under schedules that delay warps and lanes.
#[test]
fn schedules_show_no_mistake() {
    let mut source = Random(5);
    let keys: Vec<u32> = (0..20_001).map(|_| source.next() as u32).collect();
    let options = || Check { schedules: 4, ..Check::default() };
    let rungs: [(&str, By<u32, LowHalfDown>); 3] = [
        ("all runs", all_runs::launches::sequence::<LowHalf>),
        ("multi-way", multi_way::launches::sequence::<LowHalf>),
        ("stable", stable::launches::sequence::<LowHalf>),
    ];
    for (name, by) in rungs {
        let checked = check_schedules(options(), || sort_by(name, by, &keys[..9001], LowHalfDown));
        assert!(checked.report.is_clean(), "{name}: {:?}", checked.report.kinds());
        let checked = check_schedules(options(), || sort_by(name, by, &keys, LowHalfDown));
        assert!(checked.report.is_clean(), "{name}: {:?}", checked.report.kinds());
    }
}

/// The same for the sorts that distribute, of as few keys as they take: most are in equality buckets, which are not
/// sorted again.
#[test]
fn schedules_show_no_mistake_in_a_sample_sort() {
    let n = sample::launches::FEW + 1;
    let keys: Vec<u32> = (0..n).map(|i| (random(i.into()) as u32) & 0xffff_03ff).collect();
    let sorts: [(&str, By<u32, LowHalfDown>); 2] =
        [("sample", sample::launches::sequence::<LowHalf>), ("stable", stable::launches::sequence::<LowHalf>)];
    for (name, by) in sorts {
        let one = Check { seed: 3, schedules: 1, ..Check::default() };
        let checked = check_schedules(one, || sort_by(name, by, &keys, LowHalfDown));
        assert!(checked.report.is_clean(), "{name}: {:?}", checked.report.kinds());
    }
}

/// The low halves of keys are equivalent where their high halves tell whether the order was kept.
#[test]
fn stable_keeps_the_order_of_equivalent_keys() {
    for n in [4353, 20_001, 140_003, all_runs::launches::FEW as usize + 1] {
        let keys: Vec<u32> = (0..n as u32).map(|i| i << 16 | (random(i.into()) as u32 % 97)).collect();
        let mut want = keys.clone();
        want.sort_by_key(|&key| !key & 0xffff);
        let mut buffer = Buffer::new(&keys, 0);
        let on: &dyn Launcher = &Gpu::default();
        let mut sort = stable::launches::sequence::<LowHalf>(on, n as u32).unwrap();
        sort(on, (buffer.view(), LowHalfDown)).unwrap();
        buffer.check_guards("stable");
        assert!(buffer.slice() == want, "n = {n}");
    }
}

#[test]
fn all_runs_leave_a_permutation_of_what_is_no_order() {
    for n in [4353, 30_001, 140_003, all_runs::launches::FEW + 1] {
        let keys: Vec<u32> = (0..n).map(|i| random(i.into()) as u32).collect();
        let mut buffer = Buffer::new(&keys, 0);
        let on: &dyn Launcher = &Gpu::default();
        let mut sort = all_runs::launches::sequence::<chance::Kernels>(on, n).unwrap();
        sort(on, (buffer.view(), Chance)).unwrap();
        buffer.check_guards("chance");
        let [mut got, mut want] = [buffer.slice().to_vec(), keys];
        got.sort_unstable();
        want.sort_unstable();
        assert!(got == want, "n = {n}: the keys are not those that were given");
    }
}

/// No race, no read of memory that nobody wrote, under schedules that delay warps and lanes; with equal parts, and with
/// parts that a block merges in several rounds.
#[test]
fn schedules_show_no_mistake_in_a_merge_of_all_runs() {
    let sort_all = |keys: &[u32]| {
        let mut buffer = Buffer::new(keys, 0);
        let on: &dyn Launcher = &Gpu::default();
        let mut sort = all_runs::launches::sequence::<LowHalf>(on, keys.len() as u32).unwrap();
        sort(on, (buffer.view(), LowHalfDown)).unwrap();
    };
    let mixed: Vec<u32> = (0..20_001u32).map(|i| random(i.into()) as u32).collect();
    let alike: Vec<u32> = (0..20_001u32).map(|i| i % 4352).collect();
    for keys in [mixed, alike] {
        let checked = check_schedules(Check { schedules: 3, ..Check::default() }, || sort_all(&keys));
        assert!(checked.report.is_clean(), "{:?}", checked.report.kinds());
    }
}

/// The smallest first; counts how often it was asked.
#[derive(Clone, Copy)]
struct Counting<'a>(&'a Cell<u32>);

impl Order<u32> for Counting<'_> {
    fn before(&self, a: u32, b: u32) -> bool {
        self.0.set(self.0.get() + 1);
        a < b
    }
}

/// The exchanges of both sorts of a thread's `N` keys, which they sort.
fn exchanges<const N: usize>() -> [u32; 2] {
    let keys: [u32; N] = std::array::from_fn(|i| (i as u32).wrapping_mul(2_654_435_761) % 97);
    let (mut sorted, mut a, mut b) = (keys, keys, keys);
    sorted.sort_unstable();
    let [fewest, stable] = [Cell::new(0), Cell::new(0)];
    network::sort(&mut a, Counting(&fewest));
    network::sort_stable(&mut b, N as u32, Counting(&stable));
    assert_eq!((a, b), (sorted, sorted));
    [fewest.get(), stable.get()]
}

/// The numbers that the head of `stable` gives, and a known one.
#[test]
fn networks_have_so_many_exchanges() {
    assert_eq!(exchanges::<17>(), [85, 144]);
    assert_eq!(exchanges::<23>(), [127, 264]);
    assert_eq!(exchanges::<32>()[0], 191);
}
