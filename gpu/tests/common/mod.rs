//! Every ladder, and what the tests of the families share.
#![allow(dead_code, reason = "each test file uses a part")]

use rungs_kernels::ladder::sift::Sift;
use rungs_kernels::ladder::sort::Sort;
use rungs_kernels::ladder::{Ladder, Rung};
use rungs_kernels::{bitonic, bubble, cubes, histogram, ladders, odd_even, reduce, saxpy, scan, selections};
pub use rungs_testing::*;

/// The ladders of sorts.
pub const SORTS: [&Ladder<Sort>; 5] =
    [&bitonic::LADDER, &bubble::LADDER, &odd_even::LADDER, &ladders::MERGE, &ladders::RADIX];

/// The ladders of the library alone.
pub const SIFTS: [&Ladder<&dyn Sift>; 4] =
    [&selections::PARTITION, &selections::UNIQUE, &selections::RUN_LENGTHS, &selections::REDUCE_BY_KEY];

/// Every ladder.
pub fn families() -> Vec<(&'static str, Vec<&'static Rung>)> {
    let others = [
        rungs_of(&reduce::LADDER),
        rungs_of(&scan::LADDER),
        rungs_of(&ladders::SELECT),
        rungs_of(&ladders::TOP_K),
        rungs_of(&rungs_kernels::segments::LADDER),
        rungs_of(&histogram::LADDER),
        rungs_of(&cubes::LADDER),
        rungs_of(&*ladders::MATMUL),
        rungs_of(&saxpy::LADDER),
    ];
    SORTS.map(rungs_of).into_iter().chain(others).chain(SIFTS.map(rungs_of)).collect()
}
