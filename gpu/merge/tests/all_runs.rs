//! The merge of all runs at once on the simulator: sizes around its tiles, keys that its samples get wrong.

use rungs_merge::part_keys;
use rungs_merge::r3_all_runs::launches::{FEW, FEWEST, MOST, Plan, RUNG};
use rungs_merge::r3_all_runs::{FEW_KEYS, MANY_KEYS};
use rungs_testing::{Random, Sorting, inputs, narrow, random};
use simt::sim::{Check, check as check_schedules};

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

/// Where tiles and blocks change, and the most keys.
#[test]
fn sorts_where_the_plan_changes() {
    for n in [FEWEST, FEWEST + 1, FEW, FEW + 1, SMALL[1], SMALL[1] + 1, SMALL[0], SMALL[0] + 1, MOST] {
        let mut source = Random(n.into());
        let keys: Vec<u64> = (0..n).map(|_| source.next()).collect();
        Sorting::by(&RUNG).check_both("random", &narrow(&keys), &keys);
    }
}

/// Every run is the same; one run has almost all small keys; runs that rise in steps.
fn uneven(n: usize) -> Vec<(&'static str, Vec<u64>)> {
    let of = |f: &dyn Fn(u64) -> u64| (0..n as u64).map(f).collect::<Vec<_>>();
    vec![
        ("runs alike", of(&|i| (i % 4352) << 12)),
        ("wide runs alike", of(&|i| (i % 3840) << 40)),
        ("the first is small", of(&|i| if i < 4000 { i } else { u64::MAX - random(i) % 1000 })),
        ("steps", of(&|i| ((i % 4352 / 500) << 20) | (random(i) % 7))),
        ("half equal", of(&|i| if random(i) & 1 == 0 { 77 } else { random(i) })),
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

/// A plan for few SMs has larger parts, and never more keys per part than a block merges.
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
                let most = part_keys(runs.next_power_of_two(), plan.threads, items);
                assert!(n.div_ceil(plan.parts) <= most, "n = {n}: {plan:?}, {most} keys at most");
                assert!(plan.samples * runs <= most, "n = {n}: {plan:?}, {most} samples at most");
            }
        }
    }
}

/// No race, no read of memory that nobody wrote, under schedules that delay warps and lanes; with equal parts, and with
/// parts that a block merges in several rounds.
#[test]
fn schedules_show_no_mistake() {
    let mixed: Vec<u32> = (0..20_001u32).map(|i| random(i.into()) as u32).collect();
    let alike: Vec<u32> = (0..20_001u32).map(|i| i % 4352).collect();
    for keys in [mixed, alike] {
        let checked =
            check_schedules(Check { schedules: 3, ..Check::default() }, || Sorting::by(&RUNG).check("parts", &keys));
        assert!(checked.report.is_clean(), "{:?}", checked.report.kinds());
    }
}
