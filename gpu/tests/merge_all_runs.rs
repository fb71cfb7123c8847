//! The merge of all runs at once on the simulator: sizes around its tiles, keys that its samples get wrong, functions
//! that are no order.

mod common;

use common::{Random, Sorting, inputs, narrow};
use rungs_kernels::ladder::Launcher;
use rungs_kernels::merge::r2_multi_way::launches::Own;
use rungs_kernels::merge::r3_all_runs::launches::{FEW, FEWEST, MOST, Plan, RUNG, sequence};
use rungs_kernels::merge::r3_all_runs::{FEW_KEYS, MANY_KEYS, most_keys};
use rungs_kernels::merge::r5_stable;
use rungs_kernels::order::{LowHalfDown, Order};
use simt::sim::{Check, Gpu, check as check_schedules};

/// Keys of a tile, of both widths.
const TILES: [usize; 2] = [4352, 3840];
/// Most keys that are sorted in these tiles.
const SMALL: [u32; 2] = [557_056, 491_520];

#[test]
fn sorts_any_n() {
    let around = TILES.iter().flat_map(|&tile| [tile - 1, tile, tile + 1, 2 * tile + 1, 7 * tile + 17]);
    for n in [0, 1, 2, 33, 1000].into_iter().chain(around).chain([65_537, 100_003]) {
        for (name, keys) in inputs(n) {
            Sorting::by(&RUNG).check_both(name, &narrow(&keys), &keys);
        }
    }
}

/// Where tiles, blocks and what follows beyond the most keys change.
#[test]
fn sorts_where_the_plan_changes() {
    for n in [FEWEST, FEWEST + 1, FEW, FEW + 1, SMALL[1], SMALL[1] + 1, SMALL[0], SMALL[0] + 1, MOST, MOST + 1] {
        let mut random = Random(n.into());
        let keys: Vec<u64> = (0..n).map(|_| random.next()).collect();
        Sorting::by(&RUNG).check_both("random", &narrow(&keys), &keys);
    }
}

/// Every run is the same; one run has almost all small keys; runs that rise in steps.
fn uneven(n: usize) -> Vec<(&'static str, Vec<u64>)> {
    let of = |f: &dyn Fn(u64) -> u64| (0..n as u64).map(f).collect::<Vec<_>>();
    vec![
        ("runs alike", of(&|i| (i % 4352) << 12)),
        ("wide runs alike", of(&|i| (i % 3840) << 40)),
        ("the first is small", of(&|i| if i < 4000 { i } else { u64::MAX - common::random(i) % 1000 })),
        ("steps", of(&|i| ((i % 4352 / 500) << 20) | (common::random(i) % 7))),
        ("half equal", of(&|i| if common::random(i) & 1 == 0 { 77 } else { common::random(i) })),
    ]
}

#[test]
fn sorts_what_samples_get_wrong() {
    for n in [40_000, 140_001] {
        for (name, keys) in uneven(n) {
            Sorting::by(&RUNG).check_both(name, &narrow(&keys), &keys);
        }
    }
}

/// A plan for few multiprocessors has larger parts, and never more keys per part than a block merges.
#[test]
fn parts_fit_a_block() {
    for multiprocessors in [1, 2, 16, 132, 1000] {
        for n in (1..=MOST).step_by(997).chain([1 << 16, MOST]) {
            let plan = Plan::new::<u32>(n, multiprocessors);
            let runs = n.div_ceil(plan.tile);
            assert!(runs <= 128 && n.div_ceil(Plan::new::<u64>(n, multiprocessors).tile) <= 128, "n = {n}: {plan:?}");
            assert_eq!(plan.parts == 0, runs <= 1, "n = {n}: {plan:?}");
            if runs > 1 {
                assert!(plan.samples >= 2, "n = {n}: {plan:?}");
                assert!(plan.parts >= multiprocessors.min(n.div_ceil(1024)), "n = {n}: {plan:?}");
                let items = if n <= FEW { FEW_KEYS } else { MANY_KEYS };
                let most = most_keys(runs.next_power_of_two(), plan.threads, items);
                assert!(n.div_ceil(plan.parts) <= most, "n = {n}: {plan:?}, {most} keys at most");
                assert!(plan.samples * runs <= most, "n = {n}: {plan:?}, {most} samples at most");
            }
        }
    }
}

/// The low halves of keys are equivalent where their high halves tell whether the order was kept.
#[test]
fn stable_keeps_the_order_of_equivalent_keys() {
    for n in [4353, 20_001, 140_003, FEW as usize + 1] {
        let keys: Vec<u32> = (0..n as u32).map(|i| i << 16 | (common::random(i.into()) as u32 % 97)).collect();
        let mut want = keys.clone();
        want.sort_by_key(|&key| !key & 0xffff);
        let mut buffer = common::Buffer::new(&keys, 0);
        let on: &dyn Launcher = &Gpu::default();
        let mut sort = r5_stable::launches::sequence::<Own<u32, LowHalfDown>>(on, n as u32).unwrap();
        sort(on, (buffer.view(), LowHalfDown)).unwrap();
        buffer.check_guards("stable");
        assert!(buffer.slice() == want, "n = {n}");
    }
}

/// Some keys are before others, by chance.
#[simt::argument]
#[derive(Clone, Copy)]
pub struct Chance;

impl Order<u32> for Chance {
    fn before(&self, a: u32, b: u32) -> bool {
        common::random(u64::from(a) << 32 | u64::from(b)) & 1 != 0
    }
}

rungs_kernels::sort_kernels!(pub mod chance: <u32, Chance>);

#[test]
fn what_is_no_order_leaves_a_permutation() {
    for n in [4353, 30_001, 140_003, FEW + 1] {
        let keys: Vec<u32> = (0..n).map(|i| common::random(i.into()) as u32).collect();
        let mut buffer = common::Buffer::new(&keys, 0);
        let on: &dyn Launcher = &Gpu::default();
        let mut sort = sequence::<chance::Kernels>(on, n).unwrap();
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
fn schedules_show_no_mistake() {
    let sort = |keys: &[u32]| {
        let mut buffer = common::Buffer::new(keys, 0);
        let on: &dyn Launcher = &Gpu::default();
        let mut sort = sequence::<Own<u32, LowHalfDown>>(on, keys.len() as u32).unwrap();
        sort(on, (buffer.view(), LowHalfDown)).unwrap();
    };
    let mixed: Vec<u32> = (0..20_001u32).map(|i| common::random(i.into()) as u32).collect();
    let alike: Vec<u32> = (0..20_001u32).map(|i| i % 4352).collect();
    for keys in [mixed, alike] {
        let checked = check_schedules(Check { schedules: 3, ..Check::default() }, || sort(&keys));
        assert!(checked.report.is_clean(), "{:?}", checked.report.kinds());
    }
}
