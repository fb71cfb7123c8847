//! The operations on the simulator, and the contents of their PTX.

use own_operations::{filled, nearest_first, open, ptx, scaled};
use rungs::DeviceChoice;

#[test]
fn elements_are_scaled() {
    let engine = open(DeviceChoice::Simulator).unwrap();
    for n in [0, 1, 257, 5000] {
        let data: Vec<f32> = (0..n).map(|i| i as f32).collect();
        let want: Vec<f32> = data.iter().map(|x| 0.5 * x).collect();
        assert_eq!(scaled(&engine, &data, 0.5).unwrap(), want, "{n} elements");
    }
}

/// Many elements have the same distance, on both sides of the point.
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

/// A name that exists already is refused, by the simulator too.
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

/// Our kernels have launch bounds, and there are none of the crates whose functions they use.
#[test]
fn ptx_has_our_kernels_only() {
    assert_eq!(ptx::PTX.is_empty(), !ptx::PTX_MISSING.is_empty(), "no PTX, and no reason");
    for (arch, text) in ptx::PTX {
        let heads: Vec<_> = text.split(".entry ").skip(1).map(|rest| rest.split('{').next().unwrap()).collect();
        let name = |head: &&str| head.split('(').next().unwrap().to_owned();
        let mut names: Vec<_> = heads.iter().map(name).collect();
        names.sort();
        let (sorts, others): (Vec<_>, Vec<_>) = names.into_iter().partition(|name| name.starts_with("nearest_"));
        let (operators, others): (Vec<_>, Vec<_>) = others.into_iter().partition(|name| name.starts_with("last_set_"));
        assert_eq!(others, ["scale"], "{arch}");
        // A scan that looks ahead needs compute capability 9.0.
        let has_look_ahead = *arch != "sm_80";
        assert_eq!(operators[..2], ["last_set_reduce", "last_set_scan"], "{arch}");
        assert_eq!(operators[2..].len(), usize::from(has_look_ahead), "{arch}: {operators:?}");
        let sorts: Vec<_> = sorts.iter().map(|name| name.strip_prefix("nearest_").unwrap()).collect();
        assert_eq!(sorts, SORTS, "{arch}");
        assert!(heads.iter().all(|head| head.contains(".maxntid ")), "{arch}: {heads:?}");
    }
}
