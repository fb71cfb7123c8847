//! The kernels on the simulator, and what their PTX holds.

use own_kernel::{expected, filled, nearest_first, open, ptx, smooth_and_scale};
use rungs::engine::DeviceChoice;
use simt::sim::stats::{Instruction, statistics};
use simt::sim::{Check, check};

#[test]
fn every_length_around_a_block_is_right() {
    let engine = open(DeviceChoice::Simulator).unwrap();
    for n in [0, 1, 2, 255, 256, 257, 511, 512, 513, 5000] {
        let data: Vec<f32> = (0..n).map(|i| (i * 7 % 100) as f32).collect();
        assert_eq!(smooth_and_scale(&engine, &data, 0.5).unwrap(), expected(&data, 0.5), "{n} elements");
    }
}

/// Many elements have the same distance, on either side of the point.
#[test]
fn the_nearest_come_first() {
    let engine = open(DeviceChoice::Simulator).unwrap();
    for n in [0, 1, 2, 33, 4351, 5000] {
        let data: Vec<f32> = (0..n).map(|i| (i * 7919 % 101) as f32).collect();
        let mut want = data.clone();
        want.sort_by(|a, b| (a - 50.0).abs().total_cmp(&(b - 50.0).abs()));
        assert_eq!(nearest_first(&engine, &data, 50.0).unwrap(), want, "{n} elements");
    }
}

#[test]
fn gaps_are_filled() {
    let engine = open(DeviceChoice::Simulator).unwrap();
    for n in [0, 1, 2, 33, 4351, 5000] {
        let data: Vec<u32> = (0..n).map(|i| if i % 11 == 5 { i } else { 0 }).collect();
        let mut last = 0;
        let fill = |&x: &u32| {
            last = if x != 0 { x } else { last };
            last
        };
        let want: Vec<u32> = data.iter().map(fill).collect();
        assert_eq!(filled(&engine, &data).unwrap(), (want, last), "{n} elements");
    }
}

/// Races, memory that nobody wrote, barriers, warp operations: under 32 orders of threads and blocks, some of them
/// hostile.
#[test]
fn checks_find_nothing() {
    let engine = open(DeviceChoice::Simulator).unwrap();
    let data: Vec<f32> = (0..1000).map(|i| (i * 7 % 100) as f32).collect();
    let checked = check(Check { schedules: 32, ..Check::default() }, || smooth_and_scale(&engine, &data, 0.5).unwrap());
    assert!(checked.report.is_clean(), "{}", checked.report);
    // The result is the same, too, whatever the order.
    assert!(checked.results.iter().all(|result| *result == expected(&data, 0.5)));
}

/// What a GPU would do: neighbouring lanes access neighbouring words, and no two words of one bank.
#[test]
fn accesses_are_coalesced_and_without_conflicts() {
    let engine = open(DeviceChoice::Simulator).unwrap();
    let data = vec![1.0; 1024];
    let (result, statistics) = statistics(|| smooth_and_scale(&engine, &data, 0.5));
    result.unwrap();
    let smooth = statistics.launches.iter().find(|launch| launch.kernel == "smooth").unwrap();
    let (loads, stores) = (smooth.sum(|i| i == Instruction::GlobalLoad), smooth.sum(|i| i == Instruction::GlobalStore));
    // 32 warps, of 128 bytes each; and two words for each of 4 blocks, from its neighbours.
    assert_eq!((loads.requests, loads.sectors), (32 + 8, 4 * 32 + 8));
    assert_eq!((stores.requests, stores.sectors), (32, 4 * 32));
    assert_eq!(smooth.sum(Instruction::is_shared).conflicts(), 0);
}

/// A name that exists already is refused, on the simulator too.
#[test]
fn kernels_are_added_once() {
    let engine = open(DeviceChoice::Simulator).unwrap();
    let again = engine.add_kernels(ptx::PTX);
    assert_eq!(again.is_err(), !ptx::PTX.is_empty(), "{again:?}");
}

/// The kernels that `sort_kernels!` makes for one order.
const SORTS: [&str; 18] = [
    "buckets",
    "count",
    "merge4",
    "merge8",
    "merge_few",
    "merge_many",
    "middle_tile",
    "small_merge",
    "small_tile",
    "sort_large",
    "split4",
    "split8",
    "splitters",
    "stable_buckets",
    "stable_middle_tile",
    "stable_small_tile",
    "stable_sort_large",
    "tile",
];

/// Our kernels with their launch bounds, and no kernel of the crates that they use functions of.
#[test]
fn ptx_has_our_kernels_alone() {
    assert_eq!(ptx::PTX.is_empty(), !ptx::PTX_MISSING.is_empty(), "no PTX, and no reason");
    for (arch, text) in ptx::PTX {
        let heads: Vec<_> = text.split(".entry ").skip(1).map(|rest| rest.split('{').next().unwrap()).collect();
        let name = |head: &&str| head.split('(').next().unwrap().to_owned();
        let mut names: Vec<_> = heads.iter().map(name).collect();
        names.sort();
        let (sorts, others): (Vec<_>, Vec<_>) = names.into_iter().partition(|name| name.starts_with("nearest_"));
        let (operators, others): (Vec<_>, Vec<_>) = others.into_iter().partition(|name| name.starts_with("last_set_"));
        assert_eq!(others, ["scale", "smooth"], "{arch}");
        // Looking ahead takes compute capability 9.0.
        let looks_ahead = *arch != "sm_80";
        assert_eq!(operators[..2], ["last_set_reduce", "last_set_scan"], "{arch}");
        assert_eq!(operators[2..].len(), usize::from(looks_ahead), "{arch}: {operators:?}");
        let sorts: Vec<_> = sorts.iter().map(|name| name.strip_prefix("nearest_").unwrap()).collect();
        assert_eq!(sorts, SORTS, "{arch}");
        assert!(heads.iter().all(|head| head.contains(".maxntid ")), "{arch}: {heads:?}");
    }
}
