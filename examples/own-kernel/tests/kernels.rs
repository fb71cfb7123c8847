//! The kernels on the simulator, and the contents of their PTX.

use own_kernel::{expected, open, ptx, transposed};
use rungs::engine::DeviceChoice;
use simt::sim::stats::{Instruction, statistics};
use simt::sim::{Check, check};

/// A matrix whose elements are all different.
fn matrix(rows: u32, columns: u32) -> Vec<f32> {
    (0..rows * columns).map(|i| i as f32).collect()
}

#[test]
fn every_size_around_a_tile_is_right() {
    let engine = open(DeviceChoice::Simulator).unwrap();
    for (rows, columns) in [(0, 3), (1, 1), (1, 33), (31, 2), (32, 32), (33, 31), (64, 65), (100, 150)] {
        let matrix = matrix(rows, columns);
        let result = transposed(&engine, &matrix, rows, columns).unwrap();
        assert_eq!(result, expected(&matrix, rows, columns), "{rows} × {columns}");
    }
}

/// Races, memory that was never written, barriers, warp operations: under 32 orders of threads and blocks, some of them
/// hostile.
#[test]
fn checks_find_nothing() {
    let engine = open(DeviceChoice::Simulator).unwrap();
    let matrix = matrix(40, 70);
    let checked = check(Check { schedules: 32, ..Check::default() }, || transposed(&engine, &matrix, 40, 70).unwrap());
    assert!(checked.report.is_clean(), "{}", checked.report);
    // The result is the same in every order.
    assert!(checked.results.iter().all(|result| *result == expected(&matrix, 40, 70)));
}

/// The lanes of each warp access 128 neighbouring bytes, which are 4 sectors, and no two words of one bank.
#[test]
fn accesses_are_coalesced_and_without_bank_conflicts() {
    let engine = open(DeviceChoice::Simulator).unwrap();
    let (result, statistics) = statistics(|| transposed(&engine, &matrix(64, 96), 64, 96));
    result.unwrap();
    let launch = statistics.launches.iter().find(|launch| launch.kernel == "transpose").unwrap();
    let (loads, stores) = (launch.sum(|i| i == Instruction::GlobalLoad), launch.sum(|i| i == Instruction::GlobalStore));
    // 6 tiles of 32 warps.
    assert_eq!((loads.requests, loads.sectors), (6 * 32, 4 * 6 * 32));
    assert_eq!((stores.requests, stores.sectors), (6 * 32, 4 * 6 * 32));
    assert_eq!(launch.sum(Instruction::is_shared).conflicts(), 0);
}

/// The kernels have launch bounds, and there are no others.
#[test]
fn ptx_has_our_kernels_only() {
    assert_eq!(ptx::PTX.is_empty(), !ptx::PTX_MISSING.is_empty(), "no PTX, and no reason");
    for (arch, text) in ptx::PTX {
        let heads: Vec<_> = text.split(".entry ").skip(1).map(|rest| rest.split('{').next().unwrap()).collect();
        assert!(heads.iter().all(|head| head.contains(".maxntid ")), "{arch}: {heads:?}");
        let names: Vec<_> = heads.iter().map(|head| head.split('(').next().unwrap()).collect();
        assert_eq!(names, ["transpose"], "{arch}");
    }
}
